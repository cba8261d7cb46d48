"""User-defined tables as problems: task, inputs, groups and splits."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pppca_bench.errors import OwnDataError
from pppca_bench.problems import notices
from pppca_bench.problems.columns import (
    FEW_CATEGORIES,
    MAX_CATEGORIES,
    Column,
    ColumnError,
    Remedy,
    check,
    check_none,
    infer,
    label_of,
    place_of,
    plain_values,
    similar_labels,
)
from pppca_bench.problems.declaration import OwnData, RawTable
from pppca_bench.problems.problem import Problem, Targets, Task, are_imbalanced
from pppca_bench.problems.splits import SPLITS, Indices, Parts, split_at_random, split_by_column

if TYPE_CHECKING:
    from sklearn.compose import ColumnTransformer

    from pppca_bench.problems.columns import Series, Typed
    from pppca_bench.problems.encode import TrainingRange

_LEAST = "at least {} {}, one for each part of a split"


class DataSet:
    """A validated table, which provides the problem of each split.

    A target of text, true/false or few whole numbers (at most 40, and at most half as many as rows) has classes; other
    numbers are approximated. A declared task decides.

    ``table`` is read if not given. ``inputs`` are the columns, and ``feature_names`` the names of the encoded inputs.
    ``classes`` are the labels in the order of the class indices, in ``class_values`` in the type of the table: text as
    it is written, number or boolean; both are empty for approximation. ``y`` has class indices, int64 of shape
    (n_rows,), or unscaled targets, float64 of shape (n_rows, n_outputs). ``notices`` are lines on what was inferred,
    and on possible leaks. Raises DataError if a column is missing or unusable.
    """

    def __init__(self, own: OwnData, table: RawTable | None = None) -> None:
        from pppca_bench.problems.encode import make_encoder

        self.own, self.table = own, own.read() if table is None else table
        self.targets = own.target or self.table.targets
        self.notices: list[str] = []
        self.classes: tuple[str, ...] = ()
        self.class_values: NDArray[Any] = np.empty(0)
        own.check_names(list(self.table.columns), self.targets)
        self._read_columns()
        self._raw = self.table.frame
        self._groups = self._find_groups()
        self._split_words = self._find_split()
        is_random = self._groups is None and self._split_words is None
        for column in self.inputs:
            values = self.frame[column.name]
            self.notices += notices.of_leaks(column, values, own, is_random=is_random)
        self._check_sizes()
        if self.task == "classification":
            self._check_classes()
        self._encoder, self.feature_names = make_encoder(self.inputs, scaled=not own.rule.is_whole)

    @cached_property
    def sha256(self) -> str:
        """Return the digest of names, types and values, and of the settings and code that affect the numbers.

        It is independent of the source and its format.
        """
        from pppca_bench.problems.encode import ENCODING_VERSION

        settings = {
            "duplicates": self.own.duplicates,
            "rule": self.own.rule.settings,
            "encoding": ENCODING_VERSION,
            "task": self.task,
            "targets": self.targets,
            "classes": self.classes,
            "columns": [[column.name, column.kind, column.labels] for column in self.inputs],
        }
        digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
        for column, values in self.frame.items():
            digest.update(str(column).encode())
            numbers = values.to_numpy() + 0.0  # no negative zero
            # the same bytes for the same values on all machines
            digest.update(np.where(np.isnan(numbers), np.nan, numbers).astype("<f8").tobytes())
        digest.update(np.asarray(self.y + 0, dtype="<f8").tobytes())
        for words in (self._groups, self._split_words):
            digest.update("\n".join(map(str, [] if words is None else words)).encode())
        return digest.hexdigest()

    def problem(self, parts: int | Parts = 0) -> Problem:
        """Return the problem of a split, encoded by statistics of its training rows.

        ``parts`` are the split's training, validation and test rows, or its number, below ``own.rule.n_splits``.
        """
        parts = self.rows(parts) if isinstance(parts, int) else parts
        X = np.asarray(self.encoder(parts[0]).transform(self.frame))
        y = self.y
        if not self.classes:
            y = self.target_range(parts[0]).transform(y.astype(np.float64))
        return Problem.of_splits(
            [X[part] for part in parts],
            [y[part] for part in parts],
            name=self.own.label,
            task=self.task,
            n_classes=len(self.classes) or None,
            sha256=self.sha256,
            feature_names=self.feature_names,
            classes=tuple(self.class_values.tolist()),
        )

    def encoder(self, train: Indices) -> ColumnTransformer:
        """Return the encoder of the inputs, fitted on training rows."""
        from sklearn.base import clone

        return clone(self._encoder).fit(self.frame.iloc[train])

    def target_range(self, train: Indices) -> TrainingRange:
        """Return the scaler of the targets of an approximation, fitted on training rows."""
        from pppca_bench.problems.encode import TrainingRange

        scaler: TrainingRange = TrainingRange().fit(self.y[train])
        return scaler

    def rows(self, number: int) -> Parts:
        """Return the indices of training, validation and test rows of a split."""
        if self.own.rule.is_whole:
            none = np.arange(0)
            return np.arange(len(self.y)), none, none
        if self._split_words is not None:
            return split_by_column(self._split_words)
        stratified = self.task == "classification"
        return split_at_random(
            self.own.rule, self.y, number, stratified=stratified, groups=self._groups
        )

    def _read_columns(self) -> None:
        """Set task, targets and inputs; raise DataError with a line for each unusable column."""
        import pandas as pd

        errors, columns, values = list[str](), list[Column](), dict[str, Any]()
        try:
            self.task, self.y = self._read_targets()
        except OwnDataError as error:
            errors.append(str(error))
        names = self._input_names()
        for name in names:
            try:
                column, values[name] = self._input(name, is_alone=len(names) == 1)
                columns.append(column)
            except OwnDataError as error:
                errors.append(str(error))
        if errors:
            raise OwnDataError("\n".join(errors))
        with self.own.explained():
            check(columns, "at least one column beside the target", "none")
        self.inputs, self.frame = tuple(columns), pd.DataFrame(values)

    def _input_names(self) -> list[str]:
        """Return the names of the input columns; other targets of the source are no inputs unless declared."""
        own = self.own
        if own.inputs:
            return list(own.inputs)
        left_out = {*self.targets, *own.drop, own.rule.column, own.group}
        names = [name for name in self.table.columns if name not in left_out]
        siblings = [name for name in self.table.targets if name not in left_out]
        if siblings:
            advice = own.key("inputs", names)
            self.notices.append(
                f"other targets of the data set are no inputs: {', '.join(siblings)}. {advice} takes them."
            )
        return [name for name in names if name not in siblings]

    def _read_targets(self) -> tuple[Task, Targets]:
        """Return the task, and class indices or numbers; raise DataError for unusable targets."""
        from sklearn.utils.multiclass import type_of_target

        own, targets = self.own, self.targets
        is_single = len(targets) == 1
        if own.task == "classification":
            with own.explained():
                got = f"{len(targets)}: {', '.join(targets)}"
                check(is_single, "one column of classes", got)
        if is_single and own.task != "approximation" and self._has_classes(targets[0]):
            return "classification", self._classes(targets[0])
        y = np.column_stack([self._numbers(target) for target in targets])
        if own.task is None and type_of_target(y) == "multilabel-indicator":
            advice = own.key("task", "approximation")
            self.notices.append(
                f"the {len(targets)} targets of 0 and 1 are approximated, not classified. Set {advice}."
            )
        return "approximation", y

    def _has_classes(self, name: str) -> bool:
        """Return whether a target has classes by its values, unless they are declared."""
        own, typed = self.own, self.table.columns[name]
        if own.task is not None or name in own.categorical or isinstance(typed, ColumnError):
            return True
        column, values = typed
        if column.kind != "number":
            return True
        n = values.nunique()
        is_whole = n > 1 and bool((values.dropna() % 1 == 0).all())
        is_few = n <= min(FEW_CATEGORIES, len(values) / 2)
        # The outputs of named data are what they look like.
        if is_whole and not own.is_named:
            kind, other = "numbers to approximate", "classification"
            if is_few:
                kind, other = "classes", "approximation"
            advice = own.key("task", other)
            self.notices.append(
                f"the {n} whole numbers of {name!r} are {kind}. {advice} decides otherwise."
            )
        return is_whole and is_few

    def _classes(self, name: str) -> NDArray[np.int64]:
        """Return the class indices, and set the classes; raise DataError for fewer than two."""
        series, read = self.table.frame[name], self.own.read_keys
        with self.own.explained(name):
            column, values = infer(series, read, is_declared=True)
            check_none(values[values.isna()], "a target")
            n_classes = f"one, {''.join(column.labels)!r}"
            check(
                len(column.labels) > 1, "at least two classes", n_classes, "Is it the right column?"
            )
            for other, label in similar_labels(column.labels):
                texts = plain_values(series, read).astype(object).map(label_of)
                at = place_of(texts[texts == label], 0)
                raise ColumnError(f"one spelling of {other!a}", ascii(label), at=at)
        self.notices += notices.of_labels(column, self.table.frame, self.own)
        y: NDArray[np.int64] = values.to_numpy().astype(np.int64)
        self.classes = column.labels
        self.class_values = _in_own_type(column, series, np.unique(y, return_index=True)[1])
        return y

    def _numbers(self, name: str) -> NDArray[np.float64]:
        """Return the targets of an approximation; raise DataError for text and constant targets."""
        with self.own.explained(name):
            column, values = self.table.typed(name)
            remedies: list[Remedy] = []
            counts = self.table.frame[name].value_counts()
            if len(self.targets) == 1 and counts.min() >= self.own.rule.n_parts:
                remedies.append(("set", "task", "classification"))
            is_number = column.kind != "category"
            check(is_number, "numbers to approximate", column.kind, *remedies)
            check_none(values[values.isna()], "a target")
            low, high = values.min(), values.max()
            check(low < high, "at least two values", f"{low:g} alone", "Is it the right column?")
        return values.to_numpy(np.float64)

    def _input(self, name: str, *, is_alone: bool) -> Typed:
        """Return an input column and its values; raise DataError if it is unusable."""
        own = self.own
        is_declared = self.table.frame[name].dtype == "category" or name in own.categorical
        without: list[Remedy] = [] if is_alone else [("leave it out,", "drop", [name])]
        with own.explained(name, *without):
            column, values = self.table.typed(name)
            n, most = len(column.labels), MAX_CATEGORIES if is_declared else FEW_CATEGORIES
            remedies: list[Remedy] = []
            if n <= MAX_CATEGORIES:
                remedies = [("take them for categories,", "categorical", [name])]
            check(n <= most, f"at most {most} categories, each an input", f"{n}", *remedies)
        self.notices += notices.of_labels(column, self.table.frame, own)
        return column, values

    def _find_groups(self) -> Indices | None:
        """Return the number of each row's group, or None; drop copies of rows or make them groups, if declared."""
        import pandas as pd

        own, targets = self.own, pd.DataFrame(self.y, self.frame.index)
        rows = pd.concat([self.frame, targets], axis=1, ignore_index=True)
        copies = rows.duplicated().to_numpy()
        if own.duplicates == "drop":
            self._raw, self.frame, self.y = self._raw[~copies], self.frame[~copies], self.y[~copies]
        elif own.duplicates is None and not own.rule.is_whole:
            self.notices += notices.of_copies(copies, own)
        if own.duplicates == "group":
            numbers = rows.groupby(list(rows.columns), dropna=False, sort=False).ngroup()
            return numbers.to_numpy().astype(np.int64)
        if not own.group:
            return None
        with own.explained(own.group):
            names = plain_values(self._raw[own.group], own.read_keys)
            check_none(names[names.isna()], "a group")
        return pd.factorize(names)[0].astype(np.int64)

    def _find_split(self) -> NDArray[Any] | None:
        """Return the split of each row by the split column, or None; raise DataError for other words."""
        name = self.own.rule.column
        if not name:
            return None
        with self.own.explained(name):
            words = plain_values(self._raw[name], self.own.read_keys).astype(object)
            words = words.map(str, na_action="ignore").str.strip().str.lower()
            check_none(words[~words.isin(SPLITS)], " or ".join(SPLITS))
        return words.to_numpy(dtype=str)

    def _check_classes(self) -> None:
        """Add a notice on imbalanced classes; raise DataError for a class with fewer rows than a split has parts."""
        counts, rule = np.bincount(self.y.astype(np.int64)), self.own.rule
        ways: list[Remedy] = []
        typed = self.table.columns[self.targets[0]]
        if (
            not isinstance(typed, ColumnError)
            and typed[0].kind == "number"
            and not typed[0].has_gaps
        ):
            ways.append(("set", "task", "approximation"))
        with self.own.explained(self.targets[0]):
            check(
                rule.column or counts.min() >= rule.n_parts,
                _LEAST.format(rule.n_parts, "rows of each class"),
                f"{counts.min()} of {self.classes[int(counts.argmin())]!r}",
                *ways,
            )
        if are_imbalanced(counts):
            self.notices.append(notices.of_imbalance(self.classes, counts))

    def _check_sizes(self) -> None:
        """Raise DataError for too few rows or groups."""
        rule = self.own.rule
        if rule.column:
            train = self.rows(0)[0]
            with self.own.explained(rule.column):
                check(len(train), "rows to train on", "none")
                is_varied = not self.classes or len(np.unique(self.y[train])) > 1
                check(is_varied, "at least two classes to train on", "one")
            return
        sizes = {"rows": len(self.y)}
        if self._groups is not None:
            sizes["groups"] = len(np.unique(self._groups))
        for kind, n in sizes.items():
            with self.own.explained():
                check(n >= rule.n_parts, _LEAST.format(rule.n_parts, kind), f"{n}")


def _in_own_type(column: Column, series: Series, first: Indices) -> NDArray[Any]:
    """Return the classes as the source has them: numbers and true/false, or labels; ``first`` is a row of each."""
    values = series.iloc[first].tolist()
    is_typed = all(isinstance(value, int | float) for value in values)
    return np.array(values if is_typed else column.labels)
