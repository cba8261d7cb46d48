"""Main results in three sentences, for the README, the index of the results and the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from pppca_bench.reporting.claims import Finding, Verdict
from pppca_bench.reporting.comparison import Comparison
from pppca_bench.reporting.comparison import Verdict as ComparisonVerdict

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


_OTHERS: Mapping[ComparisonVerdict, str] = {"close": "are close", "differs": "differ", "undecided": "are undecided"}


def _joined(texts: Sequence[str]) -> str:
    *others, last = texts
    return f"{', '.join(others)} and {last}" if others else last
