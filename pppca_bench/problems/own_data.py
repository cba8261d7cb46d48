"""User-defined tables as problems: task, inputs, leaks and splits."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pppca_bench.errors import OwnDataError, printable
from pppca_bench.problems.columns import (
    CLASS_NULLS,
    FEW_CATEGORIES,
    MAX_CATEGORIES,
    Column,
    ColumnError,
    Remedy,
    check,
    check_none,
)
from pppca_bench.problems.infer import infer
from pppca_bench.problems.problem import Problem, Targets, Task, are_imbalanced
from pppca_bench.problems.read_table import OwnData, RawTable
from pppca_bench.problems.splits import SPLITS, Indices, Parts, split_at_random, split_by_column

if TYPE_CHECKING:
    from sklearn.compose import ColumnTransformer

    from pppca_bench.problems.columns import Series, Typed
    from pppca_bench.problems.encode import TrainingRange


_FILL = "take them out", "fill them in"
_LEAST = "at least {} {}, one for each part of a split"

_SHOWN_CLASSES = 5
"""Largest number of classes whose shares a notice names."""


class DataSet:
    """A validated table, which provides the problem of each split.

    A target of text, true/false or few whole numbers (at most 40, and at most half as many as rows) has classes; other
    numbers are approximated. A declared task decides.

    ``table`` is read if not given. ``inputs`` are the columns, and ``feature_names`` the names of the encoded inputs.
    ``classes`` are in the order of the class indices, in ``class_values`` in the type of the table: text, number or
    boolean; both are empty for approximation. ``y`` has class indices, int64 of shape (n_rows,), or unscaled targets,
    float64 of shape (n_rows, n_outputs). ``notices`` are lines on what was inferred, and on possible leaks. Raises
    DataError if a column is missing or unusable.
    """

    def __init__(self, own: OwnData, table: RawTable | None = None) -> None:
        import pandas as pd

        from pppca_bench.problems.encode import make_encoder

        self.own, self.table = own, own.read() if table is None else table
        self.targets = own.target or self.table.targets
        self.notices: list[str] = []
        self.classes: tuple[str, ...] = ()
        self.class_values: NDArray[Any] = np.empty(0)
        own.check_names(list(self.table.columns), self.targets)
        errors, columns, values = list[str](), list[Column](), dict[str, Any]()
        try:
            self.task, self.y = self._read_targets()
        except OwnDataError as error:
            errors.append(str(error))
        for name in self._input_names():
            try:
                column, values[name] = self._input(name)
                columns.append(column)
            except OwnDataError as error:
                errors.append(str(error))
        if errors:
            raise OwnDataError("\n".join(errors))
        with own.explained():
            check(columns, "at least one column beside the target", "none", "drop fewer columns")
        self.inputs, self.frame, self._raw = tuple(columns), pd.DataFrame(values), self.table.frame
        self._groups = self._find_groups()
        self._split_words = self._find_split()
        self._look_for_leaks()
        self._check_sizes()
        if self.task == "classification":
            self._look_at_classes()
        self._encoder, self.feature_names = make_encoder(self.inputs, self.frame)

    @cached_property
    def sha256(self) -> str:
        """Return the digest of names, types and values, and of the settings and code that affect the numbers.

        It is independent of the source and its format.
        """
        from pppca_bench.problems.encode import ENCODING_VERSION

        settings = {
            "text": self.own.text,
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
            # the same bytes for the same values on all machines
            if values.dtype == np.float64:
                numbers = values.to_numpy() + 0.0  # no negative zero
                digest.update(np.where(np.isnan(numbers), np.nan, numbers).astype("<f8").tobytes())
            else:
                digest.update(json.dumps(values.astype(str).tolist()).encode())
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
        y = (
            self.y
            if self.classes
            else self.target_range(parts[0]).transform(self.y.astype(np.float64))
        )
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
        if self._split_words is not None:
            return split_by_column(self._split_words)
        stratified = self.task == "classification"
        return split_at_random(
            self.own.rule, self.y, number, stratified=stratified, groups=self._groups
        )

    def _input_names(self) -> list[str]:
        """Return the names of the input columns; other targets of the source are no inputs unless declared."""
        declaration = self.own
        if declaration.inputs:
            return list(declaration.inputs)
        left_out = {*self.targets, *declaration.drop, declaration.rule.column, declaration.group}
        names = [name for name in self.table.columns if name not in left_out]
        siblings = [name for name in self.table.targets if name not in left_out]
        if siblings:
            advice = declaration.key("inputs", names)
            self.notices.append(
                f"other targets of the data set are no inputs: {', '.join(siblings)}. {advice} takes them."
            )
        return [name for name in names if name not in siblings]

    def _read_targets(self) -> tuple[Task, Targets]:
        """Return the task, and class indices or numbers; raise DataError for unusable targets."""
        from sklearn.utils.multiclass import type_of_target

        declaration, targets = self.own, self.targets
        if declaration.task == "classification":
            with declaration.explained():
                got = f"{len(targets)}: {', '.join(targets)}"
                check(
                    len(targets) == 1,
                    "one column of classes",
                    got,
                    "name a single column as target",
                )
        if (
            len(targets) == 1
            and declaration.task != "approximation"
            and self._has_classes(targets[0])
        ):
            return "classification", self._classes(targets[0])
        y = np.column_stack([self._numbers(target) for target in targets])
        if declaration.task is None and type_of_target(y) == "multilabel-indicator":
            advice = declaration.key("task", "approximation")
            self.notices.append(
                f"the {len(targets)} targets of 0 and 1 are approximated, not classified. Set {advice}."
            )
        return "approximation", y

    def _has_classes(self, name: str) -> bool:
        """Return whether a target has classes by its values, unless they are declared."""
        declaration = self.own
        if declaration.task is not None or name in declaration.categorical:
            return True
        if isinstance(self.table.columns[name], ColumnError):
            with declaration.explained(name):
                self._as_classes(name)
        with declaration.explained(name, ("set", "task", "classification")):
            column, values = self.table.typed(name)
        if column.kind != "number":
            return column.kind != "date"
        n = values.nunique()
        is_whole = n > 1 and bool((values.dropna() % 1 == 0).all())
        is_few = n <= min(FEW_CATEGORIES, len(values) / 2)
        # The outputs of named data are what they look like.
        if is_whole and not declaration.is_named:
            kind, other = "numbers to approximate", "classification"
            if is_few:
                kind, other = "classes", "approximation"
            advice = declaration.key("task", other)
            self.notices.append(
                f"the {n} whole numbers of {name!r} are {kind}. {advice} decides otherwise."
            )
        return is_whole and is_few

    def _as_classes(self, name: str) -> Typed:
        """Return type and codes of a column of classes, where None and NA are names."""
        return infer(self.table.frame[name], self.own.reading(CLASS_NULLS), "category")

    def _classes(self, name: str) -> NDArray[np.int64]:
        """Return the class indices, and set the classes; raise DataError for fewer than two."""
        typed = self.table.columns[name]
        with self.own.explained(name):
            if isinstance(typed, ColumnError) or typed[0].kind not in ("number", "boolean"):
                typed = self._as_classes(name)
            column, values = typed
            check_none(values[values.isna()], "a target", *_FILL)
            codes, first, y = np.unique(values, return_index=True, return_inverse=True)
            self.classes = tuple(map(column.text, codes))
            check(
                len(codes) > 1,
                "at least two classes",
                f"one, {self.classes[0]!r}",
                "Is it the right column?",
            )
        self.class_values = _in_own_type(column, self.table.frame[name], codes, first)
        return y.astype(np.int64)

    def _numbers(self, name: str) -> NDArray[np.float64]:
        """Return the targets of an approximation; raise DataError for text and constant targets."""
        with self.own.explained(name):
            column, values = self.table.typed(name)
            is_single = len(self.targets) == 1
            remedy: Remedy = (
                ("set", "task", "classification") if is_single else "name a single column as target"
            )
            check(
                column.kind in ("number", "boolean"), "numbers to approximate", column.kind, remedy
            )
            check_none(values[values.isna()], "a target", *_FILL)
            low, high = values.min(), values.max()
            check(low < high, "at least two values", f"{low:g} alone", "Is it the right column?")
        return values.to_numpy(np.float64)

    def _input(self, name: str) -> Typed:
        """Return an input column and its values; raise DataError if it is unusable."""
        declaration, series = self.own, self.table.frame[name]
        is_declared = series.dtype == "category" or name in (
            *declaration.categorical,
            *declaration.text,
            *declaration.columns["dates"],
        )
        with declaration.explained(name, ("leave it out,", "drop", [name])):
            column, values = self.table.typed(name)
            if column.kind == "date":
                got = f"dates ({column.form or 'typed'})"
                check(is_declared, "numbers or text", got, ("encode them,", "dates", [name]))
            n, most = len(column.labels), MAX_CATEGORIES if is_declared else FEW_CATEGORIES
            remedies = (
                ("take them for categories,", "categorical", [name]),
                ("encode them as text,", "text", [name]),
            )
            check(
                n <= most,
                f"at most {most} categories, each an input",
                f"{n}",
                *remedies[n > MAX_CATEGORIES :],
            )
            gaps = series[values.isna()]
            n_gaps, n_words = len(gaps), int((gaps.dropna() == "None").sum())
            is_marker = "None" in declaration.reading(frozenset()).nulls
            if column.kind == "category" and n_words and not is_marker:
                as_category, as_gaps = (
                    dict(declaration.read_keys) | way
                    for way in ({"keep_default_na": False}, {"na_values": ["None"]})
                )
                check(
                    n_words == n_gaps,
                    "one kind of gaps",
                    f"{n_words} texts 'None' beside {n_gaps - n_words} other gaps",
                    ("take them for a category,", "read", as_category),
                    ("for gaps,", "read", as_gaps),
                )
                advice = declaration.key("read", as_category)
                self.notices.append(
                    f"{n_words} texts 'None' of {name!r} are gaps. {advice} takes them for a category."
                )
        return column, values

    def _find_groups(self) -> Indices | None:
        """Return the number of each row's group, or None; drop copies of rows or make them groups, if declared."""
        import pandas as pd

        declaration = self.own
        rows = pd.concat(
            [self.frame, pd.DataFrame(self.y, self.frame.index)], axis=1, ignore_index=True
        )
        copies = rows.duplicated().to_numpy()
        if declaration.duplicates == "drop":
            self._raw, self.frame, self.y = self._raw[~copies], self.frame[~copies], self.y[~copies]
        elif declaration.duplicates is None and copies.any():
            ways = " or ".join(
                declaration.key("duplicates", way) for way in ("drop", "group", "keep")
            )
            self.notices.append(
                f"{copies.sum()} of {len(copies)} rows are copies of other rows, so that test rows may be training"
                f" rows. Set {ways}."
            )
        if declaration.duplicates == "group":
            return (
                rows.groupby(list(rows.columns), dropna=False, sort=False)
                .ngroup()
                .to_numpy()
                .astype(np.int64)
            )
        if not declaration.group:
            return None
        with declaration.explained(declaration.group):
            names = self._raw[declaration.group].astype(object).map(str, na_action="ignore")
            names = names.mask(names.str.strip().isin(declaration.reading(CLASS_NULLS).nulls))
            check_none(names[names.isna()], "a group", *_FILL)
        return pd.factorize(names)[0].astype(np.int64)

    def _find_split(self) -> NDArray[Any] | None:
        """Return the split of each row by the split column, or None; raise DataError for other words."""
        name = self.own.rule.column
        if not name:
            return None
        words = (
            self._raw[name]
            .astype(object)
            .map(str, na_action="ignore")
            .str.strip()
            .str.lower()
            .replace("", None)
        )
        with self.own.explained(name):
            check_none(words[~words.isin(SPLITS)], " or ".join(SPLITS), "correct it")
        return words.to_numpy(dtype=str)

    def _look_for_leaks(self) -> None:
        """Add notices on identifiers, and on rows that are sorted by an input."""
        is_random = self._groups is None and self._split_words is None
        for column in self.inputs:
            values = self.frame[column.name]
            # Whole numbers that differ may be measurements; identifiers have no holes.
            is_whole = column.kind == "number" and (values == np.round(values)).all()
            is_name = is_whole and values.max() - values.min() == len(values) - 1
            if (
                (is_name or column.kind in ("category", "text"))
                and column.name not in self.own.text
                and values.is_unique
                and len(values) > 1
            ):
                advice = self.own.key("drop", [column.name])
                self.notices.append(
                    f"{column.name!r} differs in every row: an identifier? {advice} leaves it out."
                )
                continue
            is_ordered = column.kind in ("number", "date") and values.is_monotonic_increasing
            if is_random and is_ordered and values.nunique() > 2:
                self.notices.append(
                    f"rows are sorted by {column.name!r}: random splits put neighbours into training and test. A split"
                    " column or `group` keeps them apart."
                )

    def _look_at_classes(self) -> None:
        """Add a notice on imbalanced classes; raise DataError for a class with fewer rows than a split has parts."""
        counts, rule = np.bincount(self.y.astype(np.int64)), self.own.rule
        ways: list[Remedy] = ["take its rows out", "join it to another class"]
        ways += [("set", "task", "approximation")] * (self.class_values.dtype.kind in "if")
        with self.own.explained(self.targets[0]):
            check(
                rule.column or counts.min() >= rule.n_parts,
                _LEAST.format(rule.n_parts, "rows of each class"),
                f"{counts.min()} of {self.classes[int(counts.argmin())]!r}",
                *ways,
            )
        if are_imbalanced(counts):
            order = np.argsort(-counts, kind="stable")[:_SHOWN_CLASSES]
            shares = [
                f"{printable(self.classes[index])} {100 * counts[index] / counts.sum():.3g} %"
                for index in order
            ]
            more = ", …" if len(counts) > len(order) else ""
            self.notices.append(
                f"the classes are imbalanced ({', '.join(shares)}{more}): always {printable(self.classes[order[0]])!r}"
                f" has an error of {100 - 100 * counts.max() / counts.sum():.3g} %. Read balanced accuracy and recall,"
                " and choose settings `by: balanced_accuracy` or macro_f1."
            )

    def _check_sizes(self) -> None:
        """Raise DataError for too few rows or groups."""
        rule = self.own.rule
        if rule.column:
            train = self.rows(0)[0]
            with self.own.explained(rule.column):
                check(len(train), "rows to train on", "none", "split again")
                is_varied = not self.classes or len(np.unique(self.y[train])) > 1
                check(is_varied, "at least two classes to train on", "one", "split again")
            return
        sizes = [("rows", len(self.y), "add rows")]
        if self._groups is not None:
            n_groups = len(np.unique(self._groups))
            sizes.append(("groups", n_groups, "take another column, or fewer folds"))
        for kind, n, remedy in sizes:
            with self.own.explained():
                check(n >= rule.n_parts, _LEAST.format(rule.n_parts, kind), f"{n}", remedy)


def _in_own_type(column: Column, series: Series, codes: Any, first: Indices) -> NDArray[Any]:
    """Return the classes in the type that the source gives them; numbers of texts are whole numbers if they can."""
    if column.kind == "boolean":
        return np.asarray(codes, dtype=np.bool_)
    if column.kind == "number":
        is_whole = bool((codes == np.round(codes)).all()) and series.dtype.kind != "f"
        return np.asarray(codes, dtype=np.int64 if is_whole else np.float64)
    raw = series.iloc[first].tolist()
    return np.array(raw if all(isinstance(value, int | float) for value in raw) else column.labels)
