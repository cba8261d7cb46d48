"""Comparisons of settings in pairs as text: tables, a sentence, and remarks on the tests."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import pandas as pd

from pppca_bench.pages.document import (
    EMPTY,
    SIGNED,
    Document,
    heading,
    in_json,
    printed,
    text_table,
)
from pppca_bench.quantities import described
from pppca_bench.verdicts.pairs import Pairs, verdict_text

TITLES = {"equal_tau": "At equal τ", "equal_dimensionality": "At equal dimensionality"}
HEADERS = (
    "First − second",
    "Means",
    "Features",
    "Difference",
    "95 % interval",
    "n",
    "p",
    "p (Holm)",
    "Verdict",
)

_EQUAL = {"equal_tau": "τ", "equal_dimensionality": "features"}
_MOST_NAMED = 3


def render_pairs(pairs: Pairs, form: Literal["terminal", "markdown", "json"] = "terminal") -> str:
    """Render comparisons as ``terminal`` text, ``markdown`` or ``json``."""
    if form == "json":
        return in_json(pairs._asdict() | {"comparisons": pairs.comparisons.to_dict("records")})
    parts = [heading(f"{described(pairs.quantity).title} on {pairs.problem}", form)]
    for fact, title in TITLES.items():
        compared = pairs.comparisons[pairs.comparisons[fact]]
        rows = [[*_numbers(pair), pair["verdict"]] for pair in compared.to_dict("records")]
        table = text_table(HEADERS, rows, form) if rows else "No two settings."
        parts.append(f"{title}\n\n{table}")
    return "\n\n".join([*parts, *_remarks(pairs)])


def pairs_document(pairs: Pairs) -> Document:
    """Return the comparisons on a problem as a document, each once; verdicts call the settings first and second."""
    title = f"Pairs of settings on {pairs.problem}: {described(pairs.quantity).title}"
    rows = []
    for pair in pairs.comparisons.to_dict("records"):
        verdict = verdict_text(pair, pairs.matters, "first", "second")
        equal = [word for fact, word in _EQUAL.items() if pair[fact]]
        rows.append([*_numbers(pair), verdict, " and ".join(equal)])
    headers = (*HEADERS, "Equal")
    return Document(f"pairs_{pairs.problem}", title, "", headers, rows, _remarks(pairs))


def pairs_sentence(pairs: Pairs) -> str:
    """Return the ranges of the compared means, and the pairs that differ, those of the least p by name.

    Pairs with a setting without features, which always gives the same answer, are left out.
    """
    name, _, unit = described(pairs.quantity).title.partition(", ")
    sizes = pairs.comparisons[["first_dimensionality", "second_dimensionality"]]
    compared = pairs.comparisons[(sizes != 0.0).all(axis="columns")]
    if compared.empty:
        return f"{pairs.problem}: no two settings with features at equal τ or dimensionality."
    text = f"{pairs.problem}: {name[0].lower()}{name[1:]}"
    low, high = _range(compared, "first_mean", "second_mean")
    if not math.isnan(low):
        text += f" from {low:.2f} to {high:.2f} {unit}".rstrip()
    low, high = _range(compared, "first_dimensionality", "second_dimensionality")
    if not math.isnan(low):
        text += f" with {low:.1f} to {high:.1f} features"
    differs = compared["better"] != ""
    n_alike = int((compared["within"] & ~differs).sum())
    text += f"; {differs.sum()} of {len(compared)} pairs of settings differ significantly"
    text += f", {n_alike} of {len(compared)} are alike within {pairs.matters:g}"
    least = compared[differs].sort_values("p_holm", kind="stable").head(_MOST_NAMED)
    named = [
        f"{pair['verdict']} ({pair['first']} − {pair['second']}: {printed(pair['difference'], SIGNED)})"
        for pair in least.to_dict("records")
    ]
    return f"{'; '.join([text, *named])}."


def _range(comparisons: pd.DataFrame, *columns: str) -> tuple[float, float]:
    """Return the least and the largest value of some columns; nan if none is known."""
    values = comparisons[list(columns)]
    return float(values.min().min()), float(values.max().max())


def _numbers(pair: Mapping[Any, Any]) -> list[str]:
    """Return the entries of a row of the comparisons, up to its verdict."""
    means = printed(pair["first_mean"], ".2f"), printed(pair["second_mean"], ".2f")
    sizes = (
        printed(pair["first_dimensionality"], ".1f"),
        printed(pair["second_dimensionality"], ".1f"),
    )
    interval = p = p_holm = EMPTY
    if not math.isnan(pair["low"]):
        interval = f"{printed(pair['low'], SIGNED)} to {printed(pair['high'], SIGNED)}"
    if not math.isnan(pair["p"]):
        p, p_holm = f"{pair['p']:.2g}", f"{pair['p_holm']:.2g}"
    return [
        f"{pair['first']} − {pair['second']}",
        ", ".join(means),
        ", ".join(sizes),
        printed(pair["difference"], SIGNED),
        interval,
        str(pair["n"]),
        p,
        p_holm,
    ]


def _remarks(pairs: Pairs) -> list[str]:
    how = (
        "Paired over the repeats on one split: Wilcoxon's signed-rank test, and Student's interval of the mean"
        " difference. The corrected p decides whether two settings differ; the interval shows by how much. They may"
        " disagree. Both reflect the variation over seeds, not over new examples."
    )
    if pairs.n_splits > 1:
        how = (
            f"Paired over the {pairs.n_splits} splits, which overlap: corrected resampled t-test (Nadeau and Bengio"
            f" 2003), n_test / n_train = {pairs.ratio:.2f}."
        )
    remarks = [
        f"{how} Holm's correction is over all pairs; the intervals are of each pair alone.",
        "At equal τ, a method that has no τ, or chooses it, is compared with all methods; a method with a given number"
        " of features is not compared. Settings of two methods have equal dimensionality if their mean numbers of"
        " features are nearest to each other and differ by at most 0.5 features or 5 %.",
    ]
    if pairs.left_out:
        remarks.append(f"Not compared, for lack of results: {'; '.join(pairs.left_out)}.")
    return remarks
