"""The slides' tables: their rows, columns, cell form, and which runs fill each cell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from pppca_bench.references.published import pivot_hidden
from pppca_bench.runs import Source

Form = Literal["size", "error", "error (dimensionality)", "speed-up", "list"]

PROBLEMS = ("cancer1", "card1", "diabetes1", "glass1", "heart1", "horse1", "soybean1", "thyroid1")
TAUS = (5, 10, 15, 20)
FRACTIONS = (100, 50, 25, 10)
CENTRED = (("parameter.centre", True),)
NOT_CENTRED = (("parameter.centre", False),)


@dataclass(frozen=True, slots=True)
class Layout:
    """Say how a table looks and where its cells come from.

    Attributes
    ----------
    table : str
        Identifier, T0 to T7 or P1 to P3.
    row_header : str
        Header of the first column.
    rows, columns : tuple of str
        Keys of rows and columns, in the order of print, as in the published numbers.
    form : str
        What a cell shows.
    source : callable(row, column) -> Source or None
        The runs behind a cell; None where no run can fill it.
    """

    table: str
    row_header: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    form: Form
    source: Callable[[str, str], Source | None]


def tau_of(column: str) -> float:
    """Return the threshold of a column such as ``tau=5``."""
    return float(column.removeprefix("tau="))


def _no_source(row: str, column: str) -> None:  # noqa: ARG001
    return None


def _ne_ppca(row: str, column: str) -> Source:
    return Source(row, "ne_ppca", tau_of(column), settings=CENTRED)


def _other_approaches(row: str, column: str) -> Source:
    if column == "NE-pPCA":
        return _ne_ppca(row, "tau=15")
    if column == "Proben1":
        # The slides' column is the report's table 10, but for these two problems its table 8.
        return _report(row, shortcuts=row in ("soybean1", "thyroid1"))
    return Source(row, {"GA": "ga_mlp", "Pruning": "pruned_mlp"}[column])


def _feature_selection(row: str, column: str) -> Source:
    sources = {
        "DGHA": Source(column, "dgha", 15.0, 100.0, CENTRED),
        "DGHA (autocor)": Source(column, "dgha", 15.0, 100.0, NOT_CENTRED),
        "FLGP": Source(column, "flgp"),
        "RFENN": Source(column, "rfe"),
        "RFESVM": Source(column, "rfe_svm"),
        "NE pPCA": _ne_ppca(column, "tau=15"),
    }
    return sources[row]


def _partial_data(row: str, column: str, method: str = "dgha") -> Source:
    problem, fraction = row.removesuffix("%").split(", ")
    return Source(problem, method, tau_of(column), float(fraction), CENTRED)


def _speedup(row: str, column: str) -> Source:
    return _partial_data(row, column, "dgha_speedup")


def _report(row: str, *, shortcuts: bool) -> Source:
    return Source(
        row,
        "all_features",
        settings=(("classifier.hidden", pivot_hidden(row)), ("classifier.shortcuts", shortcuts)),
    )


def _report_linear(row: str, column: str) -> Source:  # noqa: ARG001
    return Source(row, "all_features", settings=(("classifier.hidden", ()),))


def _report_shortcuts(row: str, column: str) -> Source:  # noqa: ARG001
    return _report(row, shortcuts=True)


def _report_no_shortcuts(row: str, column: str) -> Source:  # noqa: ARG001
    return _report(row, shortcuts=False)


_TAU_COLUMNS = tuple(f"tau={tau}" for tau in TAUS)
_SIZES = ("features", "classes", "sizes")
_METHODS = ("DGHA", "DGHA (autocor)", "FLGP", "RFENN", "RFESVM", "NE pPCA")
_BOTH: Form = "error (dimensionality)"


def _fractions_of(problem: str) -> tuple[str, ...]:
    return tuple(f"{problem}, {fraction}%" for fraction in FRACTIONS)


LAYOUTS = (
    Layout("T0", "Proben1 problem name", PROBLEMS, _SIZES, "size", _no_source),
    Layout("T1", "Problem", PROBLEMS, _TAU_COLUMNS, _BOTH, _ne_ppca),
    Layout("T2", "Problem", PROBLEMS, ("Proben1", "GA", "Pruning", "NE-pPCA"), _BOTH, _other_approaches),
    Layout("T3", "Method", _METHODS, ("cancer1", "diabetes1", "heart1"), _BOTH, _feature_selection),
    Layout("T4", "Method", _fractions_of("cancer1"), _TAU_COLUMNS, "speed-up", _speedup),
    Layout("T5", "Method", _fractions_of("cancer1"), _TAU_COLUMNS, _BOTH, _partial_data),
    Layout("T6", "Method", _fractions_of("horse1"), _TAU_COLUMNS, "speed-up", _speedup),
    Layout("T7", "Method", _fractions_of("horse1"), _TAU_COLUMNS, _BOTH, _partial_data),
    Layout("P1", "Problem", PROBLEMS, ("test error",), "error", _report_linear),
    Layout("P2", "Problem", PROBLEMS, ("test error",), "error", _report_shortcuts),
    Layout("P3", "Problem", PROBLEMS, ("test error",), "error", _report_no_shortcuts),
)
"""All tables that are reproduced, in the order of the slides, then the report's."""
