"""User-defined tables as problems: task, inputs, leaks and splits."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pppca_bench.errors import OwnDataError, listed, nearest
from pppca_bench.files import printable
from pppca_bench.problems.columns import (
    CLASS_NULLS,
    FEW_CATEGORIES,
    MAX_CATEGORIES,
    Column,
    ColumnError,
    Remedy,
    check_none,
    infer,
)
from pppca_bench.problems.declaration import OwnData
from pppca_bench.problems.problem import Problem, Targets, Task
from pppca_bench.problems.read_table import RawTable, read_raw
from pppca_bench.problems.splits import SPLITS, Indices, split_at_random, split_by_column

if TYPE_CHECKING:
    from sklearn.compose import ColumnTransformer

    from pppca_bench.problems.columns import Series, Typed
    from pppca_bench.problems.encode import RowEncoder, TrainingRange


_FILL = "take them out", "fill them in"
_EXCLUSIVE = (
    *(("target", key) for key in ("drop", "inputs", "group", "split")),
    *itertools.combinations(("categorical", "text", "dates"), 2),
    ("inputs", "drop"),
)
"""Keys that exclude each other."""


class DataSet:
    """A validated table, which provides the problem of each split.

    A target of text, true/false or few whole numbers (at most 40, and at most half as many as rows) has classes; other
    numbers are approximated. A declared task decides.

    Parameters
    ----------
    own : OwnData
        Declaration.
    table : RawTable, optional
        Rows; read if not given.

    Attributes
    ----------
    targets : tuple of str
        Names of the target columns.
    inputs : tuple of Column
    feature_names : tuple of str
        Names of the encoded inputs.
    task : {"classification", "approximation"}
    classes : tuple of str
        Class names, in the order of the class indices; () for approximation.
    class_values : array of shape (n_classes,)
        Classes in the type of the table: text, number or boolean.
    y : int64 array of shape (n_rows,) or float64 array of shape (n_rows, n_outputs)
        Class indices, or unscaled targets.
    notices : list of str
        Lines on what was inferred, and on possible leaks.

    Raises
    ------
    DataError
        If a column is missing or unusable.
    """

    def __init__(self, own: OwnData, table: RawTable | None = None) -> None:
        import pandas as pd

        from pppca_bench.problems.encode import make_encoder

        self.own, self.table = own, read_raw(own) if table is None else table
        self.targets = own.target or self.table.targets
        self.notices: list[str] = []
        self.classes: tuple[str, ...] = ()
        self.class_values: NDArray[Any] = np.empty(0)
        self._check_names()
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
        with self._explained():
            _check(len(columns), "at least one column beside the target", "none", "drop fewer columns")
        self.inputs, self.frame = tuple(columns), pd.DataFrame(values)
        self._raw = self.table.frame
        self._groups = self._find_groups()
        self._look_for_leaks()
        self._check_split()
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
            "rule": asdict(self.own.rule),
            "encoding": ENCODING_VERSION,
            "task": self.task,
            "targets": self.targets,
            "classes": self.classes,
            "columns": [[column.name, column.kind, column.labels] for column in self.inputs],
        }
        digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
        for column, values in self.frame.items():
            digest.update(str(column).encode() + _bytes_of(values))
        digest.update(np.asarray(self.y + 0, dtype="<f8").tobytes())
        for words in (self._groups, self._split_words):
            digest.update("\n".join(map(str, [] if words is None else words)).encode())
        return digest.hexdigest()

    def problem(self, number: int = 0) -> Problem:
        """Return the problem of a split, encoded by statistics of its training rows; number < ``own.rule.n_splits``."""
        parts, encoder, n_features = self.rows(number), self.encoder(number), len(self.feature_names)
        # A split column may leave a split empty; the encoder rejects an empty split.
        X = [encoder.transform(self.frame.iloc[part]) if len(part) else np.empty((0, n_features)) for part in parts]
        y: list[Targets] = [self.y[part] for part in parts]
        if self.task == "approximation":
            scaler = self.target_range(number)
            y = [scaler.transform(part.astype(np.float64)) if len(part) else part for part in y]
        return Problem.of_splits(
            X,
            y,
            name=self.own.label,
            task=self.task,
            n_classes=len(self.classes) or None,
            sha256=self.sha256,
            feature_names=self.feature_names,
            classes=tuple(self.class_values.tolist()),
        )

    def encoder(self, number: int) -> ColumnTransformer:
        """Return the encoder of the inputs, fitted on the training rows of a split."""
        from sklearn.base import clone

        return clone(self._encoder).fit(self.frame.iloc[self.rows(number)[0]])

    def row_encoder(self, number: int, *, unseen: str = "refuse") -> RowEncoder:
        """Return the encoder of raw rows by the statistics of a split; ``unseen`` is that of `RowEncoder`."""
        from pppca_bench.problems.encode import RowEncoder

        return RowEncoder(self.inputs, self.encoder(number), self.own.reading(), unseen=unseen)

    def target_range(self, number: int) -> TrainingRange:
        """Return the scaler of the targets of an approximation, fitted on the training rows of a split."""
        from pppca_bench.problems.encode import TrainingRange

        scaler: TrainingRange = TrainingRange().fit(self.y[self.rows(number)[0]])
        return scaler

    def rows(self, number: int) -> tuple[Indices, Indices, Indices]:
        """Return the indices of training, validation and test rows of a split."""
        if self._split_words is not None:
            return split_by_column(self._split_words.to_numpy(dtype=str))
        stratified = self.task == "classification"
        return split_at_random(self.own.rule, self.y, number, stratified=stratified, groups=self._groups)

    @cached_property
    def _split_words(self) -> Series | None:
        """Return the split of each row by the split column, or None."""
        if not self.own.rule.column:
            return None
        words = self._raw[self.own.rule.column].astype(object).map(str, na_action="ignore")
        return words.str.strip().str.lower().fillna("")

    @contextmanager
    def _explained(self, column: str = "", *more: Remedy) -> Iterator[None]:
        """Turn ColumnError into an error for the user, with more remedies."""
        try:
            yield
        except ColumnError as error:
            raise self.own.error(error, column, *more) from None

    def _column(self, name: str) -> Typed:
        """Return type and values of a column; raise ColumnError if it is unusable."""
        if isinstance(typed := self.table.columns[name], ColumnError):
            raise typed
        return typed

    def _input_names(self) -> list[str]:
        """Return the names of the input columns; other targets of the source are no inputs unless declared."""
        own = self.own
        if own.inputs:
            return list(own.inputs)
        left_out = {*self.targets, *own.drop, own.rule.column, own.group}
        names = [name for name in self.table.frame.columns if name not in left_out]
        if siblings := [name for name in self.table.targets if name not in left_out]:
            self.notices.append(
                f"other targets of the data set are no inputs: {', '.join(siblings)}. {own.key('inputs', names)} takes"
                " them."
            )
        return [name for name in names if name not in siblings]

    def _check_names(self) -> None:
        """Raise DataError if a named column or the target is missing, or a column is named twice or has two uses."""
        columns, names = {**self.own.columns, "target": self.targets}, list(self.table.frame.columns)
        with self._explained():
            for key, name in ((key, name) for key, named in columns.items() for name in named):
                if name not in names:
                    known = listed(list(map(printable, names)), name) + nearest(name, names)
                    raise ColumnError(f"a column {name!r}", f"the columns {known}", "correct the name")
                _check(columns[key].count(name) == 1, f"each column once in {key}", f"{name!r} again", "name it once")
            for key, other in _EXCLUSIVE:
                for name in columns[key]:
                    expected, remedy = f"a column in {key} or {other}", f"take it out of `{other}`"
                    _check(name not in columns[other], expected, f"{name!r} in both", remedy)
            last = printable(names[-1])
            _check(len(self.targets), "the name of the target's column", "none", ("name it, such as", "target", last))

    def _read_targets(self) -> tuple[Task, Targets]:
        """Return the task, and class indices or numbers; raise DataError for unusable targets."""
        from sklearn.utils.multiclass import type_of_target

        n_targets, name = len(self.targets), self.targets[0]
        if self.own.task == "classification":
            got = f"{n_targets}: {', '.join(self.targets)}"
            with self._explained():
                _check(n_targets == 1, "one column of classes", got, "name a single column as target")
        if n_targets == 1 and self.own.task != "approximation" and self._has_classes(name):
            return "classification", self._classes(name)
        y = np.column_stack([self._numbers(target) for target in self.targets])
        if self.own.task is None and type_of_target(y) == "multilabel-indicator":
            advice = self.own.key("task", "approximation")
            self.notices.append(f"the {n_targets} targets of 0 and 1 are approximated, not classified. Set {advice}.")
        return "approximation", y

    def _has_classes(self, name: str) -> bool:
        """Return whether a target has classes by its values, unless they are declared."""
        own = self.own
        if own.task is not None or name in own.categorical:
            return True
        if isinstance(typed := self.table.columns[name], ColumnError):
            with self._explained(name):
                self._as_classes(name)
            raise own.error(typed, name, ("set", "task", "classification"))
        column, values = typed
        if column.kind != "number":
            return column.kind != "date"
        numbers = np.unique(values.dropna())
        is_whole = bool((numbers == np.round(numbers)).all()) and len(numbers) > 1
        is_few = len(numbers) <= min(FEW_CATEGORIES, len(values) / 2)
        if is_whole and not own.is_named:  # the outputs of named data are what they look like
            kind, other = ("classes", "approximation") if is_few else ("numbers to approximate", "classification")
            found = f"the {len(numbers)} whole numbers of {name!r} are {kind}"
            self.notices.append(f"{found}. {own.key('task', other)} decides otherwise.")
        return is_whole and is_few

    def _as_classes(self, name: str) -> Typed:
        """Return type and codes of a column of classes, where None and NA are names."""
        return infer(self.table.frame[name], self.own.reading(CLASS_NULLS), "category")

    def _classes(self, name: str) -> NDArray[np.int64]:
        """Return the class indices, and set the classes; raise DataError for fewer than two."""
        series, typed = self.table.frame[name], self.table.columns[name]
        with self._explained(name):
            if isinstance(typed, ColumnError) or typed[0].kind not in ("number", "boolean"):
                typed = self._as_classes(name)
            column, values = typed
            check_none(values[values.isna()], "a target", *_FILL)
            codes, first, y = np.unique(values, return_index=True, return_inverse=True)
            self.classes = tuple(map(column.text, codes))
            _check(len(codes) > 1, "at least two classes", f"one, {self.classes[0]!r}", "Is it the right column?")
        self.class_values = _in_own_type(column, series, codes, first)
        return y.astype(np.int64)

    def _numbers(self, name: str) -> NDArray[np.float64]:
        """Return the targets of an approximation; raise DataError for text and constant targets."""
        with self._explained(name):
            column, values = self._column(name)
            remedy: Remedy = ("set", "task", "classification")
            remedy = remedy if len(self.targets) == 1 else "name a single column as target"
            _check(column.kind in ("number", "boolean"), "numbers to approximate", column.kind, remedy)
            check_none(values[values.isna()], "a target", *_FILL)
            low, high = values.min(), values.max()
            _check(low < high, "at least two values", f"{low:g} alone", "Is it the right column?")
        return values.to_numpy(np.float64)

    def _input(self, name: str) -> Typed:
        """Return an input column and its values; raise DataError if it is unusable."""
        own, series = self.own, self.table.frame[name]
        is_declared = str(series.dtype) == "category" or name in (*own.categorical, *own.text, *own.columns["dates"])
        with self._explained(name, ("leave it out,", "drop", [name])):
            column, values = self._column(name)
            is_other = column.kind != "date" or is_declared
            got = f"dates ({column.form or 'typed'})"
            _check(is_other, "numbers or text", got, ("encode them,", "dates", [name]))
            n, most = len(column.labels), MAX_CATEGORIES if is_declared else FEW_CATEGORIES
            remedies = ("take them for categories,", "categorical", [name]), ("encode them as text,", "text", [name])
            _check(n <= most, f"at most {most} categories, each an input", f"{n}", *remedies[n > MAX_CATEGORIES :])
            n_gaps, n_words = values.isna().sum(), (series[values.isna()].dropna() == "None").sum()
            if column.kind == "category" and n_words and "None" not in own.reading(frozenset()).nulls:
                ways = {"keep_default_na": False}, {"na_values": ["None"]}
                as_category, as_gaps = ({**dict(own.read_keys), **way} for way in ways)
                got = f"{n_words} texts 'None' beside {n_gaps - n_words} other gaps"
                ways_out = ("take them for a category,", "read", as_category), ("for gaps,", "read", as_gaps)
                _check(n_words == n_gaps, "one kind of gaps", got, *ways_out)
                advice = own.key("read", as_category)
                self.notices.append(f"{n_words} texts 'None' of {name!r} are gaps. {advice} takes them for a category.")
        return column, values

    def _find_groups(self) -> Indices | None:
        """Return the number of each row's group, or None; drop copies of rows or make them groups, if declared."""
        import pandas as pd

        own = self.own
        rows = self.frame.assign(**{f" y{place}": part for place, part in enumerate(np.atleast_2d(self.y.T))})
        copies = rows.duplicated().to_numpy()
        if own.duplicates == "drop":
            self._raw, self.frame, self.y = self._raw[~copies], self.frame[~copies], self.y[~copies]
        elif own.duplicates is None and copies.any():
            ways = " or ".join(own.key("duplicates", way) for way in ("drop", "group", "keep"))
            self.notices.append(
                f"{copies.sum()} of {len(copies)} rows are copies of other rows, so that test rows may be training"
                f" rows. Set {ways}."
            )
        if own.duplicates == "group":
            return rows.groupby(list(rows.columns), dropna=False, sort=False).ngroup().to_numpy().astype(np.int64)
        if not own.group:
            return None
        with self._explained(own.group):
            names = self._raw[own.group].astype(object).map(str, na_action="ignore")
            names = names.mask(names.str.strip().isin(own.reading(CLASS_NULLS).nulls))
            check_none(names[names.isna()], "a group", *_FILL)
        return pd.factorize(names)[0].astype(np.int64)

    def _look_for_leaks(self) -> None:
        """Add notices on identifiers, and on rows that are sorted by an input."""
        is_random = self._groups is None and not self.own.rule.column
        for column in self.inputs:
            values = self.frame[column.name]
            # Whole numbers that differ may be measurements; identifiers have no holes.
            is_whole = column.kind == "number" and (values == np.round(values)).all()
            is_name = is_whole and values.max() - values.min() == len(values) - 1
            if (is_name or column.kind in ("category", "text")) and values.is_unique and len(values) > 1:
                advice = self.own.key("drop", [column.name])
                self.notices.append(f"{column.name!r} differs in every row: an identifier? {advice} leaves it out.")
            elif (
                is_random
                and column.kind in ("number", "date")
                and values.is_monotonic_increasing
                and values.nunique() > 2
            ):
                self.notices.append(
                    f"rows are sorted by {column.name!r}: random splits put neighbours into training and test. A split"
                    " column or `group` keeps them apart."
                )

    def _check_split(self) -> None:
        """Raise DataError for invalid names of splits, and for too few rows, groups or members of a class."""
        rule, words = self.own.rule, self._split_words
        if words is not None:
            with self._explained(rule.column):
                check_none(words[~words.isin(SPLITS)].replace("", None), " or ".join(SPLITS), "correct it")
                train = self.rows(0)[0]
                _check(len(train), "rows to train on", "none", "split again")
                n_classes = len(np.unique(self.y[train])) if self.classes else 2
                _check(n_classes > 1, "at least two classes to train on", "one", "split again")
            return
        self._check_size("rows", len(self.y), "", "add rows")
        if self._groups is not None:
            self._check_size("groups", len(np.unique(self._groups)), "", "take another column, or fewer folds")
        if self.classes:
            counts = np.bincount(self.y.astype(np.int64), minlength=len(self.classes))
            is_number = self.class_values.dtype.kind in "if"
            ways: list[Remedy] = ["take its rows out", "join it to another class"]
            ways += [("set", "task", "approximation")] * is_number
            self._check_size("rows of each class", counts.min(), f" of {self.classes[int(counts.argmin())]!r}", *ways)

    def _check_size(self, kind: str, n: int, of: str, *ways: Remedy) -> None:
        """Raise DataError if there are fewer members of a kind than parts of a split."""
        n_parts = self.own.rule.n_parts
        with self._explained(self.targets[0] if of else ""):
            _check(n >= n_parts, f"at least {n_parts} {kind}, one for each part of a split", f"{n}{of}", *ways)


def _check(is_right: object, expected: str, got: str, *remedies: Remedy) -> None:
    """Raise ColumnError unless a condition is met."""
    if not is_right:
        raise ColumnError(expected, got, *remedies)


def _in_own_type(column: Column, series: Series, codes: Any, first: Indices) -> NDArray[Any]:
    """Return the classes in the type that the source gives them; numbers of texts are whole numbers if they can."""
    if column.kind == "boolean":
        return np.asarray(codes, dtype=np.bool_)
    if column.kind == "number":
        is_whole = bool((codes == np.round(codes)).all()) and series.dtype.kind != "f"
        return np.asarray(codes, dtype=np.int64 if is_whole else np.float64)
    raw = series.iloc[first].tolist()
    return np.array(raw if all(isinstance(value, int | float) for value in raw) else column.labels)


def _bytes_of(values: Series) -> bytes:
    """Return the same bytes for the same values on all machines."""
    if values.dtype == np.float64:
        numbers = values.to_numpy() + 0.0  # no negative zero
        return np.where(np.isnan(numbers), np.nan, numbers).astype("<f8").tobytes()
    return json.dumps(values.astype(str).tolist()).encode()
