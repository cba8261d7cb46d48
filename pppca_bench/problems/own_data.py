"""User-defined tables as problems: task, inputs, leaks and splits."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pppca_bench.errors import OwnDataError, listed, nearest
from pppca_bench.files import printable
from pppca_bench.problems.columns import (
    FEW_CATEGORIES,
    MAX_CATEGORIES,
    Column,
    ColumnError,
    Reading,
    infer,
    two_spellings,
)
from pppca_bench.problems.declaration import OwnData
from pppca_bench.problems.problem import Problem, Targets, Task
from pppca_bench.problems.read_table import RawTable, read_own
from pppca_bench.problems.splits import SPLITS, Indices, split_at_random, split_by_column

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.compose import ColumnTransformer

    from pppca_bench.problems.encode import TrainingRange

_LARGEST = 1e150
"""Larger values overflow float64 when squared."""


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

        self.own, self.table = own, read_own(own) if table is None else table
        self.reading = reading_of(own)
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
        if not columns:
            raise self.table.error("at least one column beside the target", "none", "Drop fewer columns.")
        self.inputs = tuple(columns)
        self.frame = pd.DataFrame(values)
        self.has_gaps: list[bool] = self.frame.isna().any().tolist()
        self._groups = self._find_groups()
        self._look_for_leaks()
        if own.rule.column:
            self._check_split_column()
        else:
            self._check_counts()
        self._encoder, self.feature_names = make_encoder(self.inputs, self.has_gaps, self.frame)

    @cached_property
    def sha256(self) -> str:
        """Return the digest of names, types and values, and of the settings and code that affect the numbers.

        It is independent of the source and its format.
        """
        from pppca_bench.problems.encode import ENCODING_VERSION

        settings = {name: getattr(self.own, name) for name in ("text", "duplicates")}
        settings |= {"rule": asdict(self.own.rule), "encoding": ENCODING_VERSION, "task": self.task}
        settings |= {"targets": self.targets, "classes": self.classes}
        settings |= {"columns": [[column.name, column.kind, column.labels] for column in self.inputs]}
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
        about: dict[str, Any] = {"name": self.own.label, "task": self.task, "n_classes": len(self.classes) or None}
        about |= {"feature_names": self.feature_names, "classes": tuple(self.class_values.tolist())}
        return Problem.of_splits(X, y, **about, sha256=self.sha256)

    def encoder(self, number: int) -> ColumnTransformer:
        """Return the encoder of the inputs, fitted on the training rows of a split."""
        from sklearn.base import clone

        return clone(self._encoder).fit(self.frame.iloc[self.rows(number)[0]])

    def target_range(self, number: int) -> TrainingRange:
        """Return the scaler of the targets of an approximation, fitted on the training rows of a split."""
        from pppca_bench.problems.encode import TrainingRange

        scaler: TrainingRange = TrainingRange().fit(self.y[self.rows(number)[0]])
        return scaler

    def rows(self, number: int) -> tuple[Indices, Indices, Indices]:
        """Return the indices of training, validation and test rows of a split."""
        if self._split_words is not None:
            return split_by_column(self._split_words)
        stratified = self.task == "classification"
        return split_at_random(self.own.rule, self.y, number, stratified=stratified, groups=self._groups)

    @cached_property
    def _split_words(self) -> NDArray[Any] | None:
        """Return the split of each row by the split column, or None."""
        if not self.own.rule.column:
            return None
        words = self.table.frame[self.own.rule.column].astype(object).map(str, na_action="ignore")
        return words.str.strip().str.lower().fillna("").to_numpy(dtype=str)

    def _input_names(self) -> list[str]:
        """Return the names of the input columns; other targets of the source are no inputs unless declared."""
        own = self.own
        if own.inputs:
            return list(own.inputs)
        left_out = {*self.targets, *own.drop, own.rule.column, own.group}
        if siblings := [name for name in self.table.targets if name not in left_out]:
            advice = own.key("inputs", [name for name in self.table.names if name not in left_out])
            self.notices.append(
                f"other targets of the data set are no inputs: {', '.join(siblings)}. {advice} takes them."
            )
        return [name for name in self.table.names if name not in left_out and name not in siblings]

    def _check_names(self) -> None:
        """Raise DataError if a named column or the target is missing, or a column has two uses."""
        table, names = self.table, self.table.names
        for name in (name for columns in self.own.columns.values() for name in columns):
            if name not in names:
                known = listed(list(map(printable, names)), name) + nearest(name, names)
                raise table.error(f"a column {name!r}", f"the columns {known}", "Correct the name.")
        for key in ("drop", "inputs", "group"):
            if twice := [name for name in self.targets if name in self.own.columns[key]]:
                got = f"{key}: [{twice[0]}]"
                raise table.error(f"a target that is not in {key}", got, f"Take it out of `{key}`.")
        if not self.targets:
            remedy = f"Name it, such as {self.own.key('target', printable(names[-1]))}."
            raise table.error("the name of the target's column", "none", remedy)

    def _read_targets(self) -> tuple[Task, Targets]:
        """Return the task, and class indices or numbers; raise DataError for unusable targets."""
        own, table, name = self.own, self.table, self.targets[0]
        if own.task == "classification" and len(self.targets) > 1:
            got = f"{len(self.targets)}: {', '.join(self.targets)}"
            raise table.error("one column of classes", got, "Name a single column as target.")
        if own.task == "classification" or (len(self.targets) == 1 and self._has_classes(name)):
            return "classification", self._classes(name)
        return "approximation", np.column_stack([self._numbers(target) for target in self.targets])

    def _has_classes(self, name: str) -> bool:
        """Return whether a target has classes by its values, unless the task is declared."""
        own, series = self.own, self.table.frame[name]
        if own.task is not None or name in own.categorical:
            return own.task != "approximation"
        try:
            column, values = infer(series, self.reading)
        except ColumnError as error:
            remedy = f"{error.remedy}, or s" if error.remedy else "S"
            remedy += f"et {own.key('task', 'classification')}."
            raise self._explained(error, name, remedy) from None
        if column.kind != "number":
            return column.kind != "date"
        numbers = np.unique(values.dropna())
        is_whole = bool((numbers == np.round(numbers)).all()) and len(numbers) > 1
        is_few = len(numbers) <= min(FEW_CATEGORIES, len(series) / 2)
        if is_whole:
            kind, other = ("classes", "approximation") if is_few else ("numbers to approximate", "classification")
            found = f"the {len(numbers)} whole numbers of {name!r} are {kind}"
            self.notices.append(f"{found}. {own.key('task', other)} decides otherwise.")
        return is_whole and is_few

    def _classes(self, name: str) -> NDArray[np.int64]:
        """Return the class indices, and set the classes; raise DataError for fewer than two."""
        series = self.table.frame[name]
        try:
            column, values = infer(series, self.reading, "category" if name in self.own.categorical else "")
        except ColumnError:
            column = None
        if column is None or column.kind not in ("number", "boolean"):  # None and NA are names of classes
            column, values = infer(series, self.reading.of_classes, "category")
        self._check_gaps(values, name)
        self._check_values(column, values)
        codes, first, y = np.unique(values, return_index=True, return_inverse=True)
        self.classes = tuple(map(column.text, codes))
        if len(codes) < 2:
            raise self.table.error(
                "at least two classes", f"one, {self.classes[0]!r}", "Is it the right column?", column=name
            )
        self.class_values = _in_own_type(column, series, codes, first)
        return y.astype(np.int64)

    def _numbers(self, name: str) -> NDArray[np.float64]:
        """Return the targets of an approximation; raise DataError for text and constant targets."""
        try:
            column, values = infer(self.table.frame[name], self.reading)
        except ColumnError as error:
            raise self._explained(error, name, f"{error.remedy or 'Correct it'}.") from None
        if column.kind not in ("number", "boolean"):
            remedy = f"Set {self.own.key('task', 'classification')}, with a single target."
            raise self.table.error("numbers to approximate", column.kind, remedy, column=name)
        self._check_gaps(values, name)
        self._check_values(column, values)
        if values.min() == values.max():
            raise self.table.error(
                "at least two values", f"{values.iloc[0]:g} alone", "Is it the right column?", column=name
            )
        return values.to_numpy(np.float64)

    def _check_gaps(self, values: pd.Series[Any], name: str) -> None:
        gaps = np.flatnonzero(values.isna())
        if gaps.size:
            remedy = f"There are {gaps.size} such rows: take them out, or fill them in."
            raise self.table.error("a target", "a gap", remedy, row=int(gaps[0]), column=name)

    def _input(self, name: str) -> tuple[Column, pd.Series[Any]]:
        """Return an input column and its values; raise DataError if it is unusable."""
        own = self.own
        declared = next((key for key in ("categorical", "text", "dates") if name in own.columns[key]), "")
        kind = {"categorical": "category", "text": "text", "dates": "date"}.get(declared, "")
        leave_out = own.key("drop", [name])
        try:
            column, values = infer(self.table.frame[name], self.reading, kind, dict(own.dates).get(name, ""))
        except ColumnError as error:
            remedy = f"{error.remedy}, or t" if error.remedy else "T"
            remedy += f"ake it for categories, {own.key('categorical', [name])}, or leave it out, {leave_out}."
            raise self._explained(error, name, remedy) from None
        if column.kind == "date" and not declared:
            remedy = f"Encode them, {own.key('dates', [name])}, or leave it out, {leave_out}."
            raise self.table.error("numbers or text", f"dates ({column.form or 'typed'})", remedy, column=name)
        n_labels, most = len(column.labels), MAX_CATEGORIES if declared else FEW_CATEGORIES
        if n_labels > most and not _is_declared(self.table.frame[name]):
            remedy = f"Encode them as text, {own.key('text', [name])}, or leave it out, {leave_out}."
            if n_labels <= MAX_CATEGORIES:
                remedy = f"Take them for categories, {own.key('categorical', [name])}. {remedy}"
            raise self.table.error(f"at most {most} categories, each an input", str(n_labels), remedy, column=name)
        self._check_values(column, values)
        return column, values

    def _check_values(self, column: Column, values: pd.Series[Any]) -> None:
        """Raise DataError for two spellings of a label and for too large numbers."""
        if column.kind == "category" and (pair := two_spellings(column.labels)) is not None:
            row = int(np.flatnonzero(values == column.labels.index(pair[1]))[0])
            expected = f"one spelling of {pair[0]!a}"
            raise self.table.error(expected, ascii(pair[1]), "Correct one of them.", row=row, column=column.name)
        wrong = np.flatnonzero(np.abs(values) > _LARGEST) if column.kind == "number" else np.empty(0)
        if wrong.size:
            expected, got = f"a number within ±{_LARGEST:g}", f"{values.iloc[wrong[0]]:g}"
            remedy = "Correct it, or leave it empty as a gap."
            raise self.table.error(expected, got, remedy, row=int(wrong[0]), column=column.name)

    def _explained(self, error: ColumnError, name: str, remedy: str) -> OwnDataError:
        return self.table.error(error.expected, error.got, remedy, row=error.row, column=name)

    def _find_groups(self) -> Indices | None:
        """Return the number of each row's group, or None; drop copies of rows or make them groups, if declared."""
        import pandas as pd

        rows = self.frame.assign(**{f" y{place}": part for place, part in enumerate(np.atleast_2d(self.y.T))})
        copies = rows.duplicated().to_numpy()
        if self.own.duplicates == "drop":
            kept = np.flatnonzero(~copies)
            lines = None if self.table.lines is None else self.table.lines[kept]
            self.table = replace(self.table, frame=self.table.frame.iloc[kept].reset_index(drop=True), lines=lines)
            self.frame, self.y = self.frame.iloc[kept].reset_index(drop=True), self.y[kept]
        elif self.own.duplicates is None and copies.any():
            ways = " or ".join(self.own.key("duplicates", way) for way in ("drop", "group", "keep"))
            self.notices.append(
                f"{copies.sum()} of {len(copies)} rows are copies of other rows, so that test rows may be training"
                f" rows. Set {ways}."
            )
        if self.own.duplicates == "group":
            return rows.groupby(list(rows.columns), dropna=False, sort=False).ngroup().to_numpy().astype(np.int64)
        if not self.own.group:
            return None
        codes, _ = pd.factorize(self.table.frame[self.own.group].astype(object).map(str, na_action="ignore"))
        if (codes < 0).any():
            row = int(np.argmin(codes))
            raise self.table.error("a group", "a gap", "Fill it in.", row=row, column=self.own.group)
        return codes.astype(np.int64)

    def _look_for_leaks(self) -> None:
        """Add notices on identifiers, and on rows that are sorted by an input."""
        is_random = self._groups is None and not self.own.rule.column
        for column in self.inputs:
            values = self.frame[column.name]
            is_name = column.kind in ("category", "text") or (
                column.kind == "number" and not values.isna().any() and bool((values == np.round(values)).all())
            )
            if is_name and values.is_unique and len(values) > 1:
                advice = self.own.key("drop", [column.name])
                self.notices.append(f"{column.name!r} differs in every row: an identifier? {advice} leaves it out.")
            elif is_random and column.kind in ("number", "date") and _is_sorted(values):
                self.notices.append(
                    f"rows are sorted by {column.name!r}: random splits put neighbours into training and test. A split"
                    " column or `group` keeps them apart."
                )

    def _check_split_column(self) -> None:
        """Raise DataError for invalid names of splits, and for too few training rows."""
        name, words = self.own.rule.column, self._split_words
        for row, word in enumerate([] if words is None else words):
            if word not in SPLITS:
                got = repr(str(word)) if word else "a gap"
                raise self.table.error(" or ".join(SPLITS), got, "Correct it.", row=row, column=name)
        train = self.rows(0)[0]
        if not len(train):
            raise self.table.error("rows to train on", "none", "Split again.", column=name)
        if self.classes and len(np.unique(self.y[train])) < 2:
            raise self.table.error("at least two classes to train on", "one", "Split again.", column=name)

    def _check_counts(self) -> None:
        """Raise DataError if the table, a class or the groups are too few for a random split."""
        n_parts = self.own.rule.n_parts
        if len(self.y) < n_parts:
            expected = f"at least {n_parts} rows, one for each part of a split"
            raise self.table.error(expected, f"{len(self.y)}", "Add rows.")
        if self._groups is not None and (n_groups := len(np.unique(self._groups))) < n_parts:
            expected = f"at least {n_parts} groups, one for each part of a split"
            raise self.table.error(expected, f"{n_groups}", "Take another column, or fewer folds.")
        if not self.classes:
            return
        counts = np.bincount(self.y.astype(np.int64))
        if counts.min() < n_parts:
            name, least = self.targets[0], int(counts.argmin())
            got = f"{counts.min()} of {self.classes[least]!r}"
            remedy = "Take its rows out, or join it to another class"
            if self.class_values.dtype.kind in "if":
                remedy += f", or set {self.own.key('task', 'approximation')}"
            expected = f"at least {n_parts} rows of each class, one for each part of a split"
            raise self.table.error(expected, got, f"{remedy}.", column=name)


def reading_of(own: OwnData) -> Reading:
    """Return the meaning of texts that a table declares."""
    return Reading.of(dict(own.read_keys))


def _is_sorted(values: pd.Series[Any]) -> bool:
    """Return whether more than two different values are sorted."""
    return bool(values.is_monotonic_increasing and values.nunique() > 2)


def _is_declared(series: pd.Series[Any]) -> bool:
    """Return whether the source declares a column of categories."""
    return str(series.dtype) == "category" and series.nunique() <= MAX_CATEGORIES


def _in_own_type(column: Column, series: pd.Series[Any], codes: Any, first: Indices) -> NDArray[Any]:
    """Return the classes in the type that the source gives them; numbers of texts are whole numbers if they can."""
    if column.kind == "boolean":
        return np.asarray(codes, dtype=np.bool_)
    if column.kind == "number":
        is_whole = bool((codes == np.round(codes)).all()) and series.dtype.kind != "f"
        return np.asarray(codes, dtype=np.int64 if is_whole else np.float64)
    raw = series.iloc[first].tolist()
    return np.array(column.labels) if any(isinstance(value, str) for value in raw) else np.array(raw)


def _bytes_of(values: pd.Series[Any]) -> bytes:
    """Return the same bytes for the same values on all machines."""
    if values.dtype == np.float64:
        numbers = values.to_numpy() + 0.0  # no negative zero
        return np.where(np.isnan(numbers), np.nan, numbers).astype("<f8").tobytes()
    return json.dumps(values.astype(str).tolist()).encode()
