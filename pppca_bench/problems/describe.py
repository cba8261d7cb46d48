"""Description of problems: columns, gaps, classes, sizes, splits and digest."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import numpy as np

from pppca_bench.errors import OwnDataError, UnknownProblemError
from pppca_bench.files import printable
from pppca_bench.problems.load import find_user_file, open_problem
from pppca_bench.problems.own_data import DataSet, OwnData, Source
from pppca_bench.problems.problem import Problem, Task, registered, suggest
from pppca_bench.problems.table import Column

_SUFFIXES: dict[str, Source] = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".pq": "parquet"}
_SHOWN_LABELS = 5

Facts = list[tuple[str, str]]
Columns = list[tuple[str, str, str, str]]


def own_data_of(
    text: str, target: tuple[str, ...] = (), task: Task | None = None, drop: tuple[str, ...] = ()
) -> str | OwnData:
    """Return the data of an argument: a known problem, a file, ``sklearn:NAME``, ``proben1:FAMILY`` or
    ``openml:NUMBER``; raise DataError for other arguments.
    """
    source, _, place = text.partition(":")
    if source in ("sklearn", "proben1") or (source == "openml" and place.isdigit()):
        return OwnData(cast("Source", source), place, target, task, drop=drop)
    suffix = Path(text).suffix.lower()
    if suffix in _SUFFIXES:
        return OwnData(_SUFFIXES[suffix], str(find_user_file(text)), target, task, drop=drop)
    if suffix == ".dt" or text in registered():
        return text
    raise UnknownProblemError(
        "problem: expected a name that `pppca data list` prints, a .csv, .parquet or .dt file, sklearn:NAME,"
        f" proben1:FAMILY, openml:NUMBER or a config, got {text!r}. {suggest(text)}"
    )


def describe_problem(asked: str | OwnData, data_dir: Path | None = None) -> tuple[Facts, Columns, str]:
    """Return facts about a problem, such as ``("task", "classification")``, and the columns of a table.

    Returns
    -------
    list of (str, str)
        Name and value of each fact; only a few for tables without a target.
    list of (str, str, str, str)
        Name, type, number of gaps, and range or categories of each column; [] for other problems.
    str
        Errors of an unusable table, a line for each column; "" for a usable table.
    """
    if isinstance(asked, str):
        source, problem = open_problem(asked, data_dir)
        return _facts(source.name, problem), [], ""
    table = asked.read(data_dir)
    columns = [_described(column, table.values[:, place]) for place, column in enumerate(table.columns)]
    facts = [("problem", asked.label), ("rows", str(len(table.values)))]
    if not (asked.target or table.targets):
        return [*facts, ("target", "unknown: name it with --target")], columns, ""
    try:
        data = DataSet(asked, table)
    except OwnDataError as error:
        return facts, columns, str(error)
    return _facts(asked.label, data.problem(), data), columns, ""


def _facts(name: str, problem: Problem, data: DataSet | None = None) -> Facts:
    y = problem.y_train, problem.y_validation, problem.y_test
    sizes = list(map(len, y))
    facts = [("problem", name), ("task", problem.task)]
    if data is not None:
        facts.append(("target", ", ".join(map(printable, data.targets))))
    facts += [("rows", str(sum(sizes))), ("inputs", str(problem.n_features)), ("outputs", str(problem.n_outputs))]
    if problem.n_classes is not None:
        names = map(printable, data.classes) if data is not None else range(problem.n_classes)
        counts = np.bincount(np.concatenate(y).astype(np.int64), minlength=problem.n_classes)
        facts.append(("classes", ", ".join(f"{name} ({n})" for name, n in zip(names, counts, strict=True))))
    rule = "the same in every run" if data is None else data.own.rule
    facts.append(("split", f"{' / '.join(map(str, sizes))} for training, validation and test: {rule}"))
    return [*facts, ("SHA-256", problem.sha256)]


def _described(column: Column, values: np.ndarray) -> tuple[str, str, str, str]:
    """Return name, type, number of gaps, and the range of numbers or the first categories."""
    there = values[~np.isnan(values)]
    content = ""
    if column.labels:
        content = ", ".join(map(printable, column.labels[:_SHOWN_LABELS]))
        n_more = len(column.labels) - _SHOWN_LABELS
        content += f" and {n_more} more" if n_more > 0 else ""
    elif there.size:
        low, high = there.min(), there.max()
        content = f"{low:g}, constant" if low == high else f"{low:g} to {high:g}"
    else:
        content = "empty"
    if column.kind in ("integer", "category") and len(np.unique(values)) == len(values) > 1:
        content += "; all different: an identifier?"
    return printable(column.name), column.kind, str(len(values) - len(there) or ""), content
