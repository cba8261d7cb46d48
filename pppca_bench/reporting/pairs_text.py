"""Comparisons on one problem as text, Markdown or JSON."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Literal

from pppca_bench.reporting.number_text import SIGNED, number, printed
from pppca_bench.reporting.pairs import Comparison, Pairs
from pppca_bench.reporting.rendering import text_table
from pppca_bench.runs import described

TITLES = {"tau": "At equal τ", "dimensionality": "At equal dimensionality"}
HEADERS = ("First − second", "Means", "Features", "Difference", "95 % interval", "n", "p", "p (Holm)", "Verdict")


def render_pairs(pairs: Pairs, form: Literal["terminal", "markdown", "json"] = "terminal") -> str:
    """Render comparisons as ``terminal`` text, ``markdown`` or ``json``."""
    if form == "json":
        return json.dumps(_plain(asdict(pairs)), indent=1, ensure_ascii=False)
    title = f"{described(pairs.quantity).title} on {pairs.problem}"
    parts = [f"## {title}" if form == "markdown" else f"{title}\n{'=' * len(title)}"]
    for at, heading in TITLES.items():
        rows = [_row(one) for one in pairs.comparisons if at in one.at]
        body = text_table(HEADERS, rows, form) if rows else "No two settings."
        parts.append(f"{heading}\n\n{body}")
    return "\n\n".join([*parts, *_remarks(pairs)])


def _row(one: Comparison) -> tuple[str, ...]:
    test = one.test
    interval = "–" if math.isnan(test.low) else f"{printed(test.low, SIGNED)} to {printed(test.high, SIGNED)}"
    sizes = ", ".join(number(size, 1) for size in one.dimensionalities)
    means = ", ".join(number(mean, 2) for mean in one.means)
    p_values = ["–" if math.isnan(p) else f"{p:.2g}" for p in (test.p, one.p_holm)]
    difference = "–" if math.isnan(test.difference) else printed(test.difference, SIGNED)
    return (f"{one.first} − {one.second}", means, sizes, difference, interval, str(test.n), *p_values, one.verdict)


def _remarks(pairs: Pairs) -> list[str]:
    if pairs.n_splits > 1:
        how = (
            f"Paired over the {pairs.n_splits} splits, which overlap: corrected resampled t-test (Nadeau and Bengio"
            f" 2003), n_test / n_train = {pairs.ratio:.2f}."
        )
    else:
        how = (
            "Paired over the repeats on one split: Wilcoxon's signed-rank test, and Student's interval of the mean"
            " difference. They tell how seeds vary, not how other examples of the same kind would."
        )
    found = [
        f"{how} Holm's correction is over all pairs; the intervals are of each pair alone.",
        "At equal τ a method that has none, or chooses it, is compared with all, one whose number of features is given"
        " with none. Of equal dimensionality are the settings of two methods whose mean numbers of features are nearest"
        " to each other, at most 0.5 features or 5 % apart.",
    ]
    if pairs.left_out:
        found.append(f"With too few results to compare: {'; '.join(pairs.left_out)}.")
    return found


def _plain(value: object) -> object:
    """Return what JSON has: None for nan."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and math.isnan(value) else value
