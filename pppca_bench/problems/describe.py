"""Description of problems: columns, gaps, classes, sizes, splits and digest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pppca_bench.errors import DataError, OwnDataError, UnknownProblemError, nearest, printable
from pppca_bench.files import atomic_write
from pppca_bench.problems.columns import ColumnError
from pppca_bench.problems.declaration import NAMED, Source
from pppca_bench.problems.load import open_problem
from pppca_bench.problems.own_data import DataSet
from pppca_bench.problems.proben1 import find_user_file
from pppca_bench.problems.problem import Problem, registered
from pppca_bench.problems.read_table import OwnData, RawTable, format_of

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
        return OwnData(cast("Source", source), name, **declared)
    if kind := format_of(text):
        return OwnData(kind, str(find_user_file(text)), **declared)
    if Path(text).suffix.lower() == ".dt" or text in registered():
        return text
    raise UnknownProblemError(
        "problem: expected a name that `pppca data list` prints, a .csv, .parquet, .arff or .dt file, sklearn:NAME,"
        f" proben1:FAMILY, uci:NAME, openml:NUMBER or a config, got {text!r}{nearest(text, registered())}."
    )


def describe_problem(
    requested: str | OwnData, data_dir: Path | None = None, *, page: Path | None = None
) -> tuple[FactRows, ColumnRows, list[str], str]:
    """Return facts about a problem, and the columns of a table; write skrub's report on a table to ``page``.

    Facts are names and values, such as ``("task", "classification")``, only a few for tables without a target. Columns
    are names, types, numbers of gaps, and ranges or categories, [] for other problems than tables. The notices of
    `DataSet` follow, and the errors of an unusable table, a line for each column.
    """
    if isinstance(requested, str):
        source, problem = open_problem(requested, data_dir)
        return _facts(source.name, problem), [], [], ""
    table = requested.read(data_dir)
    if page is not None:
        _report(table, page)
    columns = [_described(name, typed) for name, typed in table.columns.items()]
    facts = [("problem", requested.label), ("rows", str(len(table.frame)))]
    if not (requested.target or table.targets):
        return [*facts, ("target", "unknown: name it with --target")], columns, [], ""
    try:
        data = DataSet(requested, table)
    except OwnDataError as error:
        return facts, columns, [], str(error)
    return _facts(requested.label, data.problem(), data), columns, data.notices, ""


def _report(table: RawTable, page: Path) -> None:
    """Write skrub's report on a table; raise DataError without skrub."""
    try:
        from skrub import TableReport
    except ImportError as error:
        raise DataError(
            f"--html: expected skrub, got {error}. Install it: `pip install skrub`."
        ) from None
    typed = dict[str, Any]()
    for name, column in table.columns.items():
        if not isinstance(column, ColumnError) and column[0].kind in ("number", "date"):
            typed[name] = column[1]
    report = TableReport(table.frame.assign(**typed), title=table.own.label, verbose=0)
    atomic_write(page, report.html())


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
    """Return name, type, number of gaps, and the range of numbers and dates or the first categories."""
    if isinstance(typed, ColumnError):
        return printable(name), "mixed", "", printable(typed.got)
    column, values = typed
    present = values.dropna()
    if column.kind == "category":
        content = ", ".join(map(printable, column.labels[:_SHOWN_LABELS]))
        n_more = len(column.labels) - _SHOWN_LABELS
        content += f" and {n_more} more" if n_more > 0 else ""
    elif column.kind == "boolean":
        content = "False, True"
    elif not len(present):
        content = "empty"
    elif column.kind == "text":
        content = f"{present.nunique()} different texts"
    else:
        low, high = (
            value.isoformat() if column.kind == "date" else f"{value:g}"
            for value in (present.min(), present.max())
        )
        content = f"{low}, constant" if low == high else f"{low} to {high}"
    return printable(name), column.kind, str(len(values) - len(present) or ""), content
