"""User-defined tables: their specification, validation and splits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from pppca_bench.errors import UnknownColumnError, nearest
from pppca_bench.problems.problem import FloatArray, Problem, Targets
from pppca_bench.problems.registry import Task
from pppca_bench.problems.split import SPLIT_NAMES, Indices, SplitRule, by_column, deal
from pppca_bench.problems.table import Column, Table, load_saved, printable

if TYPE_CHECKING:
    from sklearn.compose import ColumnTransformer

    from pppca_bench.problems.encode import TrainingRange

Source = Literal["csv", "parquet", "sklearn", "openml", "given"]

MOST_CATEGORIES = 256
"""Most categories of a column. Choice: each becomes an input; columns with more are mostly names or identifiers."""

_SHOWN_NAMES = 10

_LARGEST = 1e150
"""Larger values overflow float64 when squared."""

_ONCE = SplitRule()


@dataclass(frozen=True, slots=True)
class OwnData:
    """Specification of a table and of the problem made from it.

    Attributes
    ----------
    source : {"csv", "parquet", "sklearn", "openml", "given"}
        Kind of table; ``"given"`` is a data frame of the caller, saved to a file.
    place : str
        Path of the file, name of scikit-learn's data set, or number of openml.org's.
    target : tuple of str
        Target columns; () for the targets that the data set declares.
    task : {"classification", "approximation"} or None
        None infers it from the target's type: text, booleans and integers are classes, other numbers are
        approximated.
    categorical : tuple of str
        Numeric columns to treat as categories.
    drop : tuple of str
        Columns to leave out.
    rule : SplitRule
        How the rows are split.
    name : str
        Name of the problem in tables; "" for the name of the file.
    """

    source: Source
    place: str
    target: tuple[str, ...] = ()
    task: Task | None = None
    categorical: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    rule: SplitRule = _ONCE
    name: str = ""

    @property
    def is_file(self) -> bool:
        """Return whether `place` is the path of a file."""
        return self.source in ("csv", "parquet")

    @property
    def label(self) -> str:
        """Return the problem's name in tables: its own, that of the file, or for example ``"sklearn:digits"``."""
        return self.name or (Path(self.place).name if self.is_file else f"{self.source}:{self.place}")

    def read(self, data_dir: str | Path | None = None, *, only_local: bool = False) -> Table:
        """Read the table; see the readers for their exceptions."""
        from pppca_bench.problems import openml, read_table

        if self.source == "openml":
            return openml.read_openml(self.place, data_dir, only_local=only_local)
        readers = {
            "csv": read_table.read_csv,
            "parquet": read_table.read_parquet,
            "sklearn": read_table.read_sklearn,
            "given": load_saved,
        }
        return readers[self.source](self.place)


class DataSet:
    """A validated table, which provides the problem of each split.

    Parameters
    ----------
    own : OwnData
        Specification of the table.
    table : Table
        The table.

    Attributes
    ----------
    inputs : tuple of Column
    has_gaps : tuple of bool
        Whether each input has missing values.
    task : {"classification", "approximation"}
    classes : tuple of str
        Class names, in the order of the class indices; () for approximation.
    class_values : array of shape (n_classes,)
        The classes with the table's own type: text, number or boolean.
    y : int64 array of shape (n_rows,) or float64 array of shape (n_rows, n_outputs)
        Class indices, or unscaled targets.

    Raises
    ------
    DataError
        If a column is missing or unusable, or the targets are invalid.
    """

    def __init__(self, own: OwnData, table: Table) -> None:
        self.own, self.table = own, table
        self._check_columns()
        targets = own.target or table.targets
        self.task: Task = own.task or self._infer_task(targets)
        if self.task == "classification" and len(targets) > 1:
            raise table.error("one column of classes", f"{len(targets)}: {', '.join(targets)}", "Name one as target.")
        self.y: Targets
        self.class_values: NDArray[Any] = np.empty(0)
        self.y, self.classes = self._classes(targets[0]) if self.task == "classification" else self._numbers(targets)
        left_out = {*targets, *own.drop, own.rule.column}
        self._places = [place for place, name in enumerate(table.names) if name not in left_out]
        self.inputs: tuple[Column, ...] = ()
        if not self._places:
            raise table.error("at least one column beside the target", "none", "Drop fewer columns.")
        self._values = np.ascontiguousarray(table.values[:, self._places])
        self.inputs = tuple(self._input(index, place) for index, place in enumerate(self._places))
        self.has_gaps: tuple[bool, ...] = tuple(bool(gaps.any()) for gaps in np.isnan(self._values).T)
        self._check_parts()

    @cached_property
    def sha256(self) -> str:
        """Return the digest of the table, of all settings that affect the numbers, and of the encoding version."""
        from pppca_bench.problems.encode import ENCODING_VERSION

        settings = asdict(self.own)
        for name in ("source", "place", "name"):
            del settings[name]
        settings |= {"target": self.own.target or self.table.targets, "task": self.task, "encoding": ENCODING_VERSION}
        return hashlib.sha256(f"{self.table.sha256} {json.dumps(settings, sort_keys=True)}".encode()).hexdigest()

    def problem(self, number: int = 0) -> Problem:
        """Return the problem of a split, with inputs encoded by statistics of its training rows.

        Parameters
        ----------
        number : int, default 0
            Number of the split, below ``own.rule.n_splits``.
        """
        from pppca_bench.problems.encode import feature_names

        parts = self.rows(number)
        encoder, names = self.encoder(number), feature_names(self.inputs, self.has_gaps)
        # A split column may leave a split empty; the encoder rejects an empty split.
        X = [encoder.transform(self._values[part]) if len(part) else np.empty((0, len(names))) for part in parts]
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
            feature_names=names,
        )

    def encoder(self, number: int = 0) -> ColumnTransformer:
        """Return the encoder of the inputs, fitted on the training rows of a split."""
        from pppca_bench.problems.encode import make_encoder

        return make_encoder(self.inputs, self.has_gaps).fit(self._values[self.rows(number)[0]])

    def target_range(self, number: int = 0) -> TrainingRange:
        """Return the scaler of the targets of an approximation, fitted on the training rows of a split."""
        from pppca_bench.problems.encode import TrainingRange

        scaler: TrainingRange = TrainingRange().fit(self.y[self.rows(number)[0]])
        return scaler

    def rows(self, number: int) -> tuple[Indices, Indices, Indices]:
        """Return the rows of a split's training, validation and test examples."""
        if self.own.rule.column:
            return by_column(self._split_names())
        return deal(self.own.rule, self.y, number, stratified=self.task == "classification")

    def _check_columns(self) -> None:
        """Raise DataError if a named column or the target is missing."""
        own, names = self.own, self.table.names
        for name in (*own.target, *own.categorical, *own.drop, *filter(None, [own.rule.column])):
            if name not in names:
                known = ", ".join(map(printable, names[:_SHOWN_NAMES]))
                known += f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
                raise UnknownColumnError(
                    f"{self.table.source}: expected a column {name!r}, got the columns {known}{nearest(name, names)}."
                    " Correct the name."
                )
        if not own.target and not self.table.targets:
            remedy = f"Name it, such as `target: {printable(names[-1])}`."
            raise self.table.error("the name of the target's column", "none", remedy)

    def _infer_task(self, targets: Sequence[str]) -> Task:
        is_class = len(targets) == 1 and (
            self._column(targets[0]).kind in ("category", "boolean", "integer") or targets[0] in self.own.categorical
        )
        return "classification" if is_class else "approximation"

    def _column(self, name: str) -> Column:
        return self.table.columns[self.table.names.index(name)]

    def _target(self, name: str) -> FloatArray:
        """Return the values of a target; raise DataError for missing ones."""
        values: FloatArray = self.table.values[:, self.table.names.index(name)]
        if self._column(name).kind == "other":
            raise self._cannot_use(self._column(name))
        gaps = np.flatnonzero(np.isnan(values))
        if gaps.size:
            remedy = f"There are {gaps.size} such rows: take them out, or fill them in."
            raise self.table.error("a target", "a gap", remedy, row=int(gaps[0]), column=name)
        self._check_finite(values, name)
        return values

    def _classes(self, name: str) -> tuple[NDArray[np.int64], tuple[str, ...]]:
        column = self._column(name)
        found, y = np.unique(self._target(name), return_inverse=True)
        labels = tuple(column.labels[int(code)] if column.labels else f"{code:g}" for code in found)
        if len(labels) < 2:
            raise self.table.error(
                "at least two classes", f"one, {labels[0]!r}", "Is it the right column?", column=name
            )
        kinds: dict[str, Any] = {"integer": np.int64, "boolean": bool, "real": np.float64}
        self.class_values = found.astype(kinds[column.kind]) if column.kind in kinds else np.array(labels)
        return y.astype(np.int64), labels

    def _numbers(self, names: Sequence[str]) -> tuple[FloatArray, tuple[str, ...]]:
        for name in names:
            if self._column(name).kind == "category":
                remedy = "Say `task: classification`, with one target."
                raise self.table.error("numbers to approximate", "text", remedy, column=name)
            if np.ptp(values := self._target(name)) == 0.0:
                remedy = "Is it the right column?"
                raise self.table.error("at least two values", f"{values[0]:g} alone", remedy, column=name)
        return np.column_stack([self._target(name) for name in names]), ()

    def _input(self, index: int, place: int) -> Column:
        """Return the column of an input to be encoded, or raise DataError if it is unusable."""
        column, values = self.table.columns[place], self._values[:, index]
        if column.kind == "other":
            raise self._cannot_use(column)
        if column.name in self.own.categorical and column.kind in ("integer", "real"):
            self._check_finite(values, column.name)
            is_there = ~np.isnan(values)
            found, codes = np.unique(values[is_there], return_inverse=True)
            values[is_there] = codes
            column = Column(column.name, "category", tuple(f"{value:g}" for value in found))
        if column.kind != "category":
            self._check_finite(values, column.name)
            return column
        if column.name not in self.own.categorical:
            self._check_text(column, values)
        if len(column.labels) > MOST_CATEGORIES:
            expected, got = f"at most {MOST_CATEGORIES} categories, each an input", f"{len(column.labels)}"
            raise self.table.error(expected, got, f"Leave it out: `drop: [{column.name}]`.", column=column.name)
        return column

    def _check_text(self, column: Column, values: FloatArray) -> None:
        """Raise DataError for text in a mostly numeric column, and for decimal commas."""
        with_comma = [label for label in column.labels if "," in label and _is_number(label.replace(",", ".", 1))]
        if 2 * len(with_comma) > len(column.labels):
            remedy = f"Write points, or take the column for text: `categorical: [{column.name}]`."
            row = int(np.flatnonzero(values == column.labels.index(with_comma[0]))[0])
            raise self.table.error("a decimal point", repr(with_comma[0][:40]), remedy, row=row, column=column.name)
        is_number = np.array([_is_number(label) for label in column.labels], dtype=bool)
        rows = np.flatnonzero(~np.isnan(values))
        numbers = is_number[values[rows].astype(np.int64)] if len(rows) else np.zeros(0, dtype=bool)
        if numbers.any() and not numbers.all() and 2 * numbers.sum() > len(numbers):
            row = int(rows[np.flatnonzero(~numbers)[0]])
            got = repr(column.labels[int(values[row])][:40])
            remedy = f"Correct it, or take the column for text: `categorical: [{column.name}]`."
            raise self.table.error("a number, as in most rows", got, remedy, row=row, column=column.name)

    def _check_finite(self, values: FloatArray, name: str) -> None:
        wrong = np.flatnonzero(np.abs(values) > _LARGEST)  # NaN, a gap, compares as False
        if wrong.size:
            got = f"{values[wrong[0]]:g}"
            remedy = "Correct it, or leave it empty as a gap."
            raise self.table.error(f"a number within ±{_LARGEST:g}", got, remedy, row=int(wrong[0]), column=name)

    def _cannot_use(self, column: Column) -> Exception:
        remedy = f"Turn it into numbers, or leave it out: `drop: [{column.name}]`."
        return self.table.error("numbers, text or true/false", column.labels[0], remedy, column=column.name)

    def _check_parts(self) -> None:
        """Raise DataError if the table or a class has too few rows for a split."""
        rule, n_parts = self.own.rule, self.own.rule.n_parts
        if rule.column:
            train = self.rows(0)[0]
            if not len(train):
                raise self.table.error("rows to train on", "none", "Split anew.", column=rule.column)
            if self.classes and len(np.unique(self.y[train])) < 2:
                raise self.table.error("at least two classes to train on", "one", "Split anew.", column=rule.column)
            return
        if len(self.y) < n_parts:
            raise self.table.error(
                f"at least {n_parts} rows, one for each part of a split", f"{len(self.y)}", "Add rows."
            )
        if not self.classes:
            return
        counts = np.bincount(self.y.astype(np.int64).ravel())
        if counts.min() < n_parts:
            name = (self.own.target or self.table.targets)[0]
            label = self.classes[int(counts.argmin())]
            expected = f"at least {n_parts} rows of each class, one for each part of a split"
            remedy = "Take its rows out, or join it to another class"
            remedy += ", or say `task: approximation`." if self._column(name).kind == "integer" else "."
            raise self.table.error(expected, f"{counts.min()} of {label!r}", remedy, column=name)

    def _split_names(self) -> NDArray[np.str_]:
        """Return the values of the split column; raise DataError for unknown ones."""
        name = self.own.rule.column
        column, values = self._column(name), self.table.values[:, self.table.names.index(name)]
        words = ["" if np.isnan(code) or not column.labels else column.labels[int(code)].lower() for code in values]
        for row, word in enumerate(words):
            if word not in SPLIT_NAMES:
                got = repr(word) if word else "a gap" if column.labels else "a number"
                raise self.table.error(" or ".join(SPLIT_NAMES), got, "Correct it.", row=row, column=name)
        return np.array(words)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
