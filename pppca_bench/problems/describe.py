"""Description of problems: columns, gaps, classes, sizes, splits and digest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pppca_bench.errors import OwnDataError, UnknownProblemError, nearest, printable
from pppca_bench.problems.columns import ColumnError, infer
from pppca_bench.problems.declaration import NAMED, OwnData, Source, format_of
from pppca_bench.problems.load import open_problem
from pppca_bench.problems.own_data import DataSet
from pppca_bench.problems.proben1 import find_user_file
from pppca_bench.problems.problem import Problem, registered

if TYPE_CHECKING:
    from pppca_bench.problems.columns import Typed

_SHOWN_LABELS = 5

FactRows = list[tuple[str, str]]
ColumnRows = list[tuple[str, str, str, str]]


def own_data_of(text: str, /, **declared: Any) -> str | OwnData:
    """Return the data of an argument: a known problem, a file, ``sklearn:NAME``, ``proben1:FAMILY``,
    ``uci:NAME`` or ``openml:NUMBER``; raise DataError for other arguments. ``declared`` are attributes of `OwnData`.
    """
    source, _, name = text.partition(":")
    if source in NAMED or (source == "openml" and name.isdigit()):
        return OwnData(cast("Source", source), name, by_options=True, **declared)
    if kind := format_of(text):
        return OwnData(kind, str(find_user_file(text)), by_options=True, **declared)
    if Path(text).suffix.lower() == ".dt" or text in registered():
        return text
    raise UnknownProblemError(
        "problem: expected a name that `pppca data list` prints, a .csv, .parquet, .arff or .dt file, sklearn:NAME,"
        f" proben1:FAMILY, uci:NAME, openml:NUMBER or a config, got {text!r}{nearest(text, registered())}."
    )


def describe_problem(
    requested: str | OwnData, data_dir: Path | None = None
) -> tuple[FactRows, ColumnRows, list[str], str]:
    """Return facts about a problem, and the columns of a table.

    Facts are names and values, such as ``("task", "classification")``, only a few for tables without a target. Columns
    are names, types, numbers of gaps, and ranges or categories, [] for other problems than tables. The notices of
    `DataSet` follow, and the errors of an unusable table, a line for each column.
    """
    if isinstance(requested, str):
        source, problem = open_problem(requested, data_dir)
        return _facts(source.name, problem), [], [], ""
    table = requested.read(data_dir)
    typed = dict(table.columns)
    facts, notices, errors = [("problem", requested.label), ("rows", str(len(table.frame)))], [], ""
    if requested.target or table.targets:
        try:
            data = DataSet(requested, table)
        except OwnDataError as error:
            errors = str(error)
        else:
            facts, notices = _facts(requested.label, data.problem(), data), data.notices
            if data.classes:
                (target,) = data.targets
                typed[target] = infer(table.frame[target], requested.read_keys, is_declared=True)
    else:
        facts.append(("target", "unknown: name it with --target"))
    return facts, [_described(name, column) for name, column in typed.items()], notices, errors


def _facts(name: str, problem: Problem, data: DataSet | None = None) -> FactRows:
    y = problem.y_train, problem.y_validation, problem.y_test
    sizes = list(map(len, y))
    facts = [("problem", name), ("task", problem.task)]
    if data is not None:
        facts.append(("target", ", ".join(map(printable, data.targets))))
    facts += [
        ("rows", str(sum(sizes))),
        ("inputs", str(problem.n_features)),
        ("outputs", str(problem.n_outputs)),
    ]
    if problem.n_classes is not None:
        names = map(printable, data.classes) if data is not None else range(problem.n_classes)
        counts = np.bincount(np.concatenate(y).astype(np.int64), minlength=problem.n_classes)
        facts.append(
            ("classes", ", ".join(f"{name} ({n})" for name, n in zip(names, counts, strict=True)))
        )
    rule = "the same in every run" if data is None else data.own.rule
    facts.append(
        ("split", f"{' / '.join(map(str, sizes))} for training, validation and test: {rule}")
    )
    return [*facts, ("SHA-256", problem.sha256)]


def _described(name: str, typed: Typed | ColumnError) -> tuple[str, str, str, str]:
    """Return name, type, number of gaps, and the range of numbers or the first categories."""
    if isinstance(typed, ColumnError):
        return printable(name), "refused", "", printable(typed.got)
    column, values = typed
    present = values.dropna()
    if not len(present):
        content = "empty"
    elif column.kind == "category":
        content = ", ".join(map(printable, column.labels[:_SHOWN_LABELS]))
        n_more = len(column.labels) - _SHOWN_LABELS
        content += f" and {n_more} more" if n_more > 0 else ""
    elif column.kind == "boolean":
        content = "False, True"
    else:
        low, high = present.min(), present.max()
        content = f"{low:g}, constant" if low == high else f"{low:g} to {high:g}"
    return printable(name), column.kind, str(len(values) - len(present) or ""), content
