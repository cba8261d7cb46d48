"""Main results in sentences, for the README, the index of the results, the report and the end of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from pppca_bench.reporting.claims import MATTERS, Finding, Verdict
from pppca_bench.reporting.comparison import Comparison
from pppca_bench.reporting.comparison import Verdict as ComparisonVerdict
from pppca_bench.reporting.number_text import number_text
from pppca_bench.reporting.table import Table, TableCell

_VERBS: Mapping[Verdict, tuple[str, str]] = {
    "holds": ("holds", "hold"),
    "holds in part": ("holds in part", "hold in part"),
    "does not hold": ("does not hold", "do not hold"),
    "undecided": ("is undecided", "are undecided"),
}


def headline(comparisons: Sequence[Comparison], findings: Sequence[Finding]) -> list[str]:
    """Return the numbers reproduced, the verdicts on the claims, and the conclusions of the claims that have any.

    Parameters
    ----------
    comparisons : sequence of Comparison
        Verdicts on published numbers; numbers that the sources print again are not counted.
    findings : sequence of Finding
        Verdicts on the slides' claims.
    """
    counts = Counter[ComparisonVerdict](one.verdict for one in comparisons if one.is_result and one.n)
    sentences = []
    if counts:
        others = [f"{counts[verdict]:,} {verb}" for verdict, verb in _OTHERS.items() if counts[verdict]]
        rest = f"; {_joined(others)}" if others else ""
        sentences.append(f"{counts['reproduced']:,} of {counts.total():,} published numbers are reproduced{rest}.")
    verdicts = Counter(one.verdict for one in findings)
    if judged := [f"{verdicts[name]} {verbs[verdicts[name] > 1]}" for name, verbs in _VERBS.items() if verdicts[name]]:
        sentences.append(f"Of the slides' {len(findings)} claims, {_joined(judged)}.")
    return [*sentences, *(one.conclusion for one in findings if one.conclusion)]


def least_errors(table: Table) -> list[str]:
    """Return the least test error on each problem of a list of runs, and the fewest features within a point of it.

    Parameters
    ----------
    table : Table
        Table of our own with errors and dimensionalities, such as X.
    """
    cells: dict[str, list[TableCell]] = {}
    for cell in table.cells.values():
        if cell.source and {"test_error_percent", "dimensionality"} <= cell.ours.keys():
            cells.setdefault(cell.source.only["problem"], []).append(cell)
    best, fewest = [], []
    for own in cells.values():
        least = min(own, key=lambda cell: cell.ours["test_error_percent"].mean)
        limit = least.ours["test_error_percent"].mean + MATTERS
        near = [cell for cell in own if cell.ours["test_error_percent"].mean <= limit]
        smallest = min(near, key=lambda cell: cell.ours["dimensionality"].mean)
        best.append(f"{number_text('test_error_percent', limit - MATTERS)} % ({_place(table, least)})")
        n_features = number_text("dimensionality", smallest.ours["dimensionality"].mean)
        fewest.append(f"{n_features} ({_place(table, smallest)})")
    if not best:
        return []
    return [
        f"Least test error: {'; '.join(best)}.",
        f"Fewest features with an error at most {MATTERS:g} point higher: {'; '.join(fewest)}.",
    ]


def _place(table: Table, cell: TableCell) -> str:
    return f"{table.row_labels[cell.row]}, {table.column_labels[cell.column]}"


_OTHERS: Mapping[ComparisonVerdict, str] = {"close": "are close", "differs": "differ", "undecided": "are undecided"}


def _joined(texts: Sequence[str]) -> str:
    *others, last = texts
    return f"{', '.join(others)} and {last}" if others else last
