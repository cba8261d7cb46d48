"""User-defined tables: specification, validation and splits."""

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

from pppca_bench.errors import OwnDataError, listed, nearest
from pppca_bench.files import printable
from pppca_bench.problems.problem import FloatArray, Problem, Targets, Task
from pppca_bench.problems.table import Column, Table, load_saved

if TYPE_CHECKING:
    from sklearn.compose import ColumnTransformer

    from pppca_bench.problems.encode import TrainingRange

Source = Literal["csv", "parquet", "sklearn", "proben1", "openml", "given"]
Indices = NDArray[np.int64]

MAX_CATEGORIES = 256
"""Largest number of categories, each an input. Choice: columns with more are mostly names or identifiers."""

_LARGEST = 1e150
"""Larger values overflow float64 when squared."""

_QUARTERS = 4
"""Parts of a split by share: two quarters for training, a quarter for validation and testing each, as in Proben1."""

_SPLITS = ("train", "validation", "test")
_SEED = 1994


@dataclass(frozen=True, slots=True)
class SplitRule:
    """Rule that splits the rows of a table.

    Attributes
    ----------
    column : str
        Column with ``train``, ``validation`` or ``test`` for each row; "" for random splits.
    folds : int
        Number of folds, at least 3, where each fold is the test split once; 0 for shares of 50, 25 and 25 percent.
    splits : int
        Number of random partitions.
    """

    column: str = ""
    folds: int = 0
    splits: int = 1

    @property
    def n_splits(self) -> int:
        """Return the number of splits; repeat r uses split r modulo this number."""
        return self.splits * max(1, self.folds)

    @property
    def n_parts(self) -> int:
        """Return the number of parts of a random partition."""
        return self.folds or _QUARTERS

    def __str__(self) -> str:
        """Return a description for tables."""
        if self.column:
            return f"by the column {self.column!r}"
        if self.folds:
            again = f", repeated {self.splits} times" if self.splits > 1 else ""
            return f"{self.folds} folds: one for testing, the next for validation, the others for training{again}"
        return f"50 / 25 / 25 %, {f'{self.splits} random splits' if self.splits > 1 else 'a single random split'}"


@dataclass(frozen=True, slots=True)
class OwnData:
    """Specification of a table, and of the problem from this table.

    Attributes
    ----------
    source : {"csv", "parquet", "sklearn", "proben1", "openml", "given"}
        Kind of table; ``"given"`` is a data frame of the caller, saved in a file.
    place : str
        Path of the file, name of the scikit-learn data set, Proben1 family, or number of the openml.org data set.
    target : tuple of str
        Target columns; () for the declared targets of the data set.
    task : {"classification", "approximation"} or None
        None infers the task from the type of the target: text, booleans and integers are classes, other numbers
        are approximated.
    categorical : tuple of str
        Numeric columns to treat as categories.
    drop : tuple of str
        Columns to leave out.
    rule : SplitRule
        Rule that splits the rows.
    name : str
        Name of the problem in tables; "" for the name of the file.
    decimal : {".", ","}
        Decimal mark of a CSV file.
    """

    source: Source
    place: str
    target: tuple[str, ...] = ()
    task: Task | None = None
    categorical: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    rule: SplitRule = SplitRule()
    name: str = ""
    decimal: str = "."

    @property
    def is_file(self) -> bool:
        """Return whether `place` is the path of a file."""
        return self.source in ("csv", "parquet")

    @property
    def label(self) -> str:
        """Return the problem's name in tables: `name`, the file's name, or for example ``"sklearn:digits"``."""
        return self.name or (Path(self.place).name if self.is_file else f"{self.source}:{self.place}")

    def read(self, data_dir: str | Path | None = None, *, only_local: bool = False) -> Table:
        """Read the table; see the readers for their exceptions."""
        from pppca_bench.problems.read_table import read_csv, read_openml, read_parquet, read_proben1, read_sklearn

        if self.source == "openml":
            return read_openml(self.place, data_dir, only_local=only_local)
        if self.source == "csv":
            return read_csv(self.place, self.decimal)
        readers = {"parquet": read_parquet, "sklearn": read_sklearn, "proben1": read_proben1, "given": load_saved}
        return readers[self.source](self.place)


class DataSet:
    """A validated table, which provides the problem of each split.

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

    Raises
    ------
    DataError
        If a column is missing or unusable.
    """

    def __init__(self, own: OwnData, table: Table) -> None:
        from pppca_bench.problems.encode import make_encoder

        self.own, self.table = own, table
        self.targets = own.target or table.targets
        self._check_names()
        self.task: Task = own.task or self._infer_task()
        self.classes: tuple[str, ...] = ()
        self.class_values: NDArray[Any] = np.empty(0)
        self.y: Targets = np.empty(0)
        errors, inputs = [*table.wrong_lines], list[tuple[Column, FloatArray]]()
        try:
            self.y = self._classes() if self.task == "classification" else self._numbers()
        except OwnDataError as error:
            errors.append(str(error))
        left_out = {*self.targets, *own.drop, own.rule.column}
        for name in (name for name in table.names if name not in left_out):
            try:
                inputs.append(self._input(name))
            except OwnDataError as error:
                errors.append(str(error))
        if errors:
            raise OwnDataError("\n".join(errors))
        if not inputs:
            raise table.error("at least one column beside the target", "none", "Drop fewer columns.")
        columns, values = zip(*inputs, strict=True)
        self.inputs: tuple[Column, ...] = columns
        self._values = np.column_stack(values)
        self.has_gaps: list[bool] = np.isnan(self._values).any(axis=0).tolist()
        self._encoder, self.feature_names = make_encoder(columns, self.has_gaps)
        if own.rule.column:
            self._check_split_column()
        else:
            self._check_counts()

    @cached_property
    def sha256(self) -> str:
        """Return the digest of table, settings that affect the numbers, and encoding version."""
        from pppca_bench.problems.encode import ENCODING_VERSION

        settings = asdict(self.own)
        for name in ("source", "place", "name", "decimal"):
            del settings[name]
        settings |= {"target": self.targets, "task": self.task, "encoding": ENCODING_VERSION}
        return hashlib.sha256(f"{self.table.sha256} {json.dumps(settings, sort_keys=True)}".encode()).hexdigest()

    def problem(self, number: int = 0) -> Problem:
        """Return the problem of a split, encoded by statistics of its training rows; number < ``own.rule.n_splits``."""
        parts, encoder, n_features = self.rows(number), self.encoder(number), len(self.feature_names)
        # A split column may leave a split empty; the encoder rejects an empty split.
        X = [encoder.transform(self._values[part]) if len(part) else np.empty((0, n_features)) for part in parts]
        y: list[Targets] = [self.y[part] for part in parts]
        if self.task == "approximation":
            scaler = self.target_range(number)
            y = [scaler.transform(part.astype(np.float64)) if len(part) else part for part in y]
        about = {"name": self.own.label, "task": self.task, "n_classes": len(self.classes) or None}
        return Problem.of_splits(X, y, **about, sha256=self.sha256, feature_names=self.feature_names)

    def encoder(self, number: int) -> ColumnTransformer:
        """Return the encoder of the inputs, fitted on the training rows of a split."""
        from sklearn.base import clone

        return clone(self._encoder).fit(self._values[self.rows(number)[0]])

    def target_range(self, number: int) -> TrainingRange:
        """Return the scaler of the targets of an approximation, fitted on the training rows of a split."""
        from pppca_bench.problems.encode import TrainingRange

        scaler: TrainingRange = TrainingRange().fit(self.y[self.rows(number)[0]])
        return scaler

    def rows(self, number: int) -> tuple[Indices, Indices, Indices]:
        """Return the indices of training, validation and test rows of a split."""
        if not self.own.rule.column:
            return split_at_random(self.own.rule, self.y, number, stratified=self.task == "classification")
        column, codes = self.table.column(self.own.rule.column)
        words = np.array([column.text(code).lower() for code in codes])
        return _shuffled([np.flatnonzero(words == split) for split in _SPLITS], _SEED)

    def _check_names(self) -> None:
        """Raise DataError if a named column or the target is missing."""
        own, names = self.own, self.table.names
        for name in (*own.target, *own.categorical, *own.drop, *filter(None, [own.rule.column])):
            if name not in names:
                known = listed(list(map(printable, names)), name) + nearest(name, names)
                raise self.table.error(f"a column {name!r}", f"the columns {known}", "Correct the name.")
        if dropped := [name for name in self.targets if name in own.drop]:
            raise self.table.error("a target that is not dropped", f"drop: [{dropped[0]}]", "Take it out of `drop`.")
        if not self.targets:
            remedy = f"Name it, such as `target: {printable(names[-1])}`."
            raise self.table.error("the name of the target's column", "none", remedy)

    def _infer_task(self) -> Task:
        column, _ = self.table.column(self.targets[0])
        are_labels = column.kind in ("category", "boolean", "integer") or column.name in self.own.categorical
        return "classification" if len(self.targets) == 1 and are_labels else "approximation"

    def _classes(self) -> NDArray[np.int64]:
        """Return the class indices, and set the classes; raise DataError for fewer than two."""
        if len(self.targets) > 1:
            got = f"{len(self.targets)}: {', '.join(self.targets)}"
            raise self.table.error("one column of classes", got, "Name a single column as target.")
        column, values = self._target(self.targets[0])
        codes, y = np.unique(values, return_inverse=True)
        self.classes = tuple(map(column.text, codes))
        if len(codes) < 2:
            got = f"one, {self.classes[0]!r}"
            raise self.table.error("at least two classes", got, "Is it the right column?", column=column.name)
        types = {"integer": np.int64, "boolean": np.bool_, "real": np.float64}
        self.class_values = codes.astype(types[column.kind]) if column.kind in types else np.array(self.classes)
        return y.astype(np.int64)

    def _numbers(self) -> FloatArray:
        """Return the targets of an approximation; raise DataError for text and constant targets."""
        targets = []
        for column, values in map(self._target, self.targets):
            if column.kind == "category":
                remedy = "Set `task: classification`, with a single target."
                raise self.table.error("numbers to approximate", "text", remedy, column=column.name)
            if np.ptp(values) == 0.0:
                got = f"{values[0]:g} alone"
                raise self.table.error("at least two values", got, "Is it the right column?", column=column.name)
            targets.append(values)
        return np.column_stack(targets)

    def _target(self, name: str) -> tuple[Column, FloatArray]:
        """Return a target and its values; raise DataError if it is unusable or has gaps."""
        column, values = self._usable(name)
        gaps = np.flatnonzero(np.isnan(values))
        if gaps.size:
            remedy = f"There are {gaps.size} such rows: take them out, or fill them in."
            raise self.table.error("a target", "a gap", remedy, row=int(gaps[0]), column=name)
        return column, values

    def _input(self, name: str) -> tuple[Column, FloatArray]:
        """Return an input column and its values; raise DataError if it is unusable."""
        column, values = self._usable(name)
        if name in self.own.categorical and column.kind in ("integer", "real"):
            is_there = ~np.isnan(values)
            numbers, values[is_there] = np.unique(values[is_there], return_inverse=True)
            column = Column(name, "category", tuple(map(column.text, numbers)))
        elif column.kind == "category" and name not in self.own.categorical:
            self.table.check_text(column, values, self.own.decimal)
        if column.kind == "category" and len(column.labels) > MAX_CATEGORIES:
            expected, got = f"at most {MAX_CATEGORIES} categories, each an input", f"{len(column.labels)}"
            raise self.table.error(expected, got, f"Leave it out: `drop: [{name}]`.", column=name)
        return column, values

    def _usable(self, name: str) -> tuple[Column, FloatArray]:
        """Return a column and its values; raise DataError for unusable types, two spellings and too large numbers."""
        column, values = self.table.column(name)
        if column.kind == "other":
            remedy = f"Turn it into numbers, or leave it out: `drop: [{name}]`."
            raise self.table.error("numbers, text or true/false", column.labels[0], remedy, column=name)
        if column.kind == "category":
            self.table.check_spelling(column, values)
        wrong = np.flatnonzero(np.abs(values) > _LARGEST)  # NaN, a gap, compares as False
        if wrong.size:
            expected, got = f"a number within ±{_LARGEST:g}", f"{values[wrong[0]]:g}"
            remedy = "Correct it, or leave it empty as a gap."
            raise self.table.error(expected, got, remedy, row=int(wrong[0]), column=name)
        return column, values

    def _check_split_column(self) -> None:
        """Raise DataError for invalid names of splits, and for too few training rows."""
        column, codes = self.table.column(self.own.rule.column)
        for row, code in enumerate(codes):
            if np.isnan(code) or column.text(code).lower() not in _SPLITS:
                got = "a gap" if np.isnan(code) else repr(column.text(code))
                raise self.table.error(" or ".join(_SPLITS), got, "Correct it.", row=row, column=column.name)
        train = self.rows(0)[0]
        if not len(train):
            raise self.table.error("rows to train on", "none", "Split again.", column=column.name)
        if self.classes and len(np.unique(self.y[train])) < 2:
            raise self.table.error("at least two classes to train on", "one", "Split again.", column=column.name)

    def _check_counts(self) -> None:
        """Raise DataError if the table or a class has too few rows for a random split."""
        n_parts = self.own.rule.n_parts
        if len(self.y) < n_parts:
            expected = f"at least {n_parts} rows, one for each part of a split"
            raise self.table.error(expected, f"{len(self.y)}", "Add rows.")
        if not self.classes:
            return
        counts = np.bincount(self.y.astype(np.int64))
        if counts.min() < n_parts:
            column, _ = self.table.column(self.targets[0])
            got = f"{counts.min()} of {self.classes[int(counts.argmin())]!r}"
            remedy = "Take its rows out, or join it to another class"
            remedy += ", or say `task: approximation`." if column.kind == "integer" else "."
            expected = f"at least {n_parts} rows of each class, one for each part of a split"
            raise self.table.error(expected, got, remedy, column=column.name)


def split_at_random(rule: SplitRule, y: Targets, number: int, *, stratified: bool) -> tuple[Indices, Indices, Indices]:
    """Split rows at random into training, validation and test examples.

    The rows are partitioned into equal parts (scikit-learn's StratifiedKFold or KFold): quarters or folds. A part is
    the test split, the next part the validation split, and the others are the training split.

    Choice: the seed is 1994 plus the number of the partition, independent of the config's seed, so that all configs and
    methods use the same splits of the same data.

    Returns the rows of split ``number``, below ``rule.n_splits``, in random order, since methods that use a fraction
    of the training split take the first rows. With ``stratified``, each class has at least ``rule.n_parts`` rows.
    """
    from sklearn.model_selection import KFold, StratifiedKFold

    partition, test = divmod(number, rule.folds) if rule.folds else (number, _QUARTERS - 1)
    folds = (StratifiedKFold if stratified else KFold)(rule.n_parts, shuffle=True, random_state=_SEED + partition)
    parts = [part for _, part in folds.split(np.zeros(len(y)), y if stratified else None)]
    validation = (test + 1) % rule.n_parts
    train = np.concatenate([part for place, part in enumerate(parts) if place not in (test, validation)])
    return _shuffled([train, parts[validation], parts[test]], _SEED + number)


def _shuffled(parts: Sequence[Indices], seed: int) -> tuple[Indices, Indices, Indices]:
    rng = np.random.RandomState(seed)  # frozen stream: the same split in all NumPy versions
    train, validation, test = (rng.permutation(np.sort(part)) for part in parts)
    return train, validation, test
