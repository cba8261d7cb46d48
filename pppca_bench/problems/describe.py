"""Description of a problem: columns, gaps, classes, sizes, splits and digest."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pppca_bench.errors import UnknownProblemError
from pppca_bench.problems.load import find_own_file
from pppca_bench.problems.own_data import DataSet, OwnData, Source
from pppca_bench.problems.problem import Problem
from pppca_bench.problems.registry import Task, registered, suggest
from pppca_bench.problems.source import ProblemSource, open_problem
from pppca_bench.problems.table import printable

_SUFFIXES: dict[str, Source] = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".pq": "parquet"}
_SHOWN_LABELS = 5


@dataclass(frozen=True)
class Description:
    """Facts and columns of a problem.

    Attributes
    ----------
    facts : tuple of (str, str)
        Names and values, such as ``("task", "classification")``.
    columns : tuple of (str, str, str, str)
        Name, type, number of gaps, and range or categories of each column; () for problems that are not tables.
    """

    facts: tuple[tuple[str, str], ...]
    columns: tuple[tuple[str, str, str, str], ...] = ()


def own_data_of(text: str, *, target: tuple[str, ...] = (), task: Task | None = None) -> str | OwnData:
    """Return the data that an argument refers to: a known problem, a file, ``sklearn:NAME`` or ``openml:NUMBER``.

    Raises
    ------
    DataError
        If it refers to nothing; see `find_own_file`.
    """
    source, _, place = text.partition(":")
    if source == "openml" and place.isdigit():
        return OwnData("openml", place, target, task)
    if source == "sklearn":
        return OwnData("sklearn", place, target, task)
    suffix = Path(text).suffix.lower()
    if suffix in _SUFFIXES:
        return OwnData(_SUFFIXES[suffix], str(find_own_file(text)), target, task)
    if suffix == ".dt" or text in registered():
        return text
    raise UnknownProblemError(
        "problem: expected a name that `pppca data list` prints, a .csv, .parquet or .dt file, sklearn:NAME or"
        f" openml:NUMBER, got {text!r}. {suggest(text)}"
    )


def describe_problem(asked: str | OwnData, data_dir: Path | None = None) -> Description:
    """Return the description of a problem; only the columns of a table without a target.

    Raises
    ------
    DataError
        If the data are missing or unusable.
    """
    if isinstance(asked, str):
        return Description(_facts(*open_problem(asked, data_dir)))
    table = asked.read(data_dir)
    gaps = np.isnan(table.values).sum(axis=0)
    columns = tuple(
        (
            printable(column.name),
            column.kind,
            str(n_gaps) if n_gaps else "",
            _content(column.labels, table.values[:, place]),
        )
        for place, (column, n_gaps) in enumerate(zip(table.columns, gaps, strict=True))
    )
    if not asked.target and not table.targets:
        rows = (
            ("problem", asked.label),
            ("rows", str(len(table.values))),
            ("target", "unknown: name it with --target"),
        )
        return Description(rows, columns)
    data = DataSet(asked, table)
    source = ProblemSource(asked.label, data_dir, data.sha256, asked)
    return Description(_facts(source, data.problem(), data), columns)


def _facts(source: ProblemSource, problem: Problem, data: DataSet | None = None) -> tuple[tuple[str, str], ...]:
    sizes = [len(part) for part in (problem.y_train, problem.y_validation, problem.y_test)]
    facts = [("problem", source.name), ("task", problem.task)]
    if data is not None:
        facts.append(("target", ", ".join(map(printable, data.own.target or data.table.targets))))
    facts += [("rows", str(sum(sizes))), ("inputs", str(problem.n_features)), ("outputs", str(problem.n_outputs))]
    if problem.n_classes is not None:
        names = data.classes if data is not None else tuple(map(str, range(problem.n_classes)))
        y = np.concatenate([problem.y_train, problem.y_validation, problem.y_test])
        counts = np.bincount(y.astype(np.int64), minlength=problem.n_classes)
        facts.append(("classes", ", ".join(f"{printable(name)} ({n})" for name, n in zip(names, counts, strict=True))))
    rule = "the same in every run" if data is None else str(data.own.rule)
    facts.append(("split", f"{' / '.join(map(str, sizes))} for training, validation and test: {rule}"))
    return (*facts, ("SHA-256", source.sha256))


def _content(labels: tuple[str, ...], values: np.ndarray) -> str:
    """Return the range of numbers, or the first categories and the number of others."""
    if labels:
        labels = tuple(map(printable, labels))
        more = f" and {len(labels) - _SHOWN_LABELS} more" if len(labels) > _SHOWN_LABELS else ""
        return ", ".join(labels[:_SHOWN_LABELS]) + more
    there = values[~np.isnan(values)]
    if not there.size:
        return ""
    low, high = there.min(), there.max()
    return f"{low:g}, constant" if low == high else f"{low:g} to {high:g}"
