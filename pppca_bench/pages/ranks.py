"""Rankings of methods as text: the table of mean ranks, the differing pairs, and what is left out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from pppca_bench.pages.document import Document, in_json, text_table
from pppca_bench.pages.formats import Format
from pppca_bench.quantities import ERRORS, described
from pppca_bench.references.layout import RankingSpec
from pppca_bench.verdicts.pairs import ALPHA
from pppca_bench.verdicts.ranking import Ranking

MAX_NAMES = 6
"""Largest number of methods left out, and of cells with too few repeats, that the text names."""


def render_ranking(ranking: Ranking, form: Format = "terminal") -> str:
    """Render a ranking as ``terminal`` text, ``markdown`` or ``json``."""
    if form == "json":
        return in_json(_plain(ranking))
    table = text_table(_headers(ranking), _rows(ranking), form)
    return "\n\n".join([table, *_remarks(ranking)])


def ranking_document(spec: RankingSpec, ranking: Ranking) -> Document:
    """Return the ranking of a reference as a document."""
    identifier, headers, rows = f"{spec.id}-ranks", _headers(ranking), _rows(ranking)
    return Document(identifier, spec.title, "", headers, rows, _remarks(ranking))


def _headers(ranking: Ranking) -> list[str]:
    title = described(ranking.quantity).title
    if title != "R²":
        title = f"{title[0].lower()}{title[1:]}"
    return ["Method", "Mean rank", f"Mean {title}", "p against the best"]


def _rows(ranking: Ranking) -> list[list[str]]:
    best, rows = ranking.mean_ranks.index[0], []
    means = ranking.errors.mean().to_dict()
    for method, rank in ranking.mean_ranks.items():
        mean = f"{means[method]:{described(ranking.quantity).form}}"
        p = f"{ranking.p(best, method):.2g}" if method != best else ""
        rows.append([str(method), f"{rank:.2f}", mean, p])
    return rows


def _remarks(ranking: Ranking) -> list[str]:
    """Return the paragraphs below the table of a ranking."""
    remarks = [_explanation(ranking), _differing(ranking)]
    if len(ranking.missing_runs):
        remarks.append(f"Fewer repeats than planned: {_first(_missing(ranking))}.")
    if ranking.other_problems:
        (other,) = {*ERRORS} - {ranking.quantity}
        names = _first(ranking.other_problems)
        remarks.append(
            f"Not ranked, since they have another error: {names}. Rank them with `--quantity {other}`."
        )
    if ranking.left_out:
        names = _first(ranking.left_out)
        remarks.append(f"Not ranked, since not run on all of these data sets: {names}.")
    return remarks


def _explanation(ranking: Ranking) -> str:
    """Return the sentences below a ranking: its size, Friedman's test, and the meaning and limit of pairwise tests."""
    n_data_sets, n_methods = ranking.errors.shape
    sizes = f"{n_methods} methods on {n_data_sets} data sets"
    if ranking.n_problems > n_data_sets:
        sizes += f" ({ranking.n_problems} problems: a data set's error is the mean over its permutations)"
    friedman = limit = ""
    if math.isfinite(ranking.friedman_p):
        friedman = f" Friedman's chi-squared {ranking.friedman_statistic:.2f}, p = {ranking.friedman_p:.2g}."
    # 2⁻ⁿ⁺¹ is Wilcoxon's least p value, before Holm's correction: with few data sets, no pair can differ.
    least = math.comb(n_methods, 2) * 2.0 ** (1 - n_data_sets)
    if least >= ALPHA:
        limit = f", which cannot be below {min(1.0, least):.2g} with this number of data sets, whatever the errors"
    return (
        f"{sizes}.{friedman} Mean ranks that differ by more than {ranking.critical_difference:.2f} differ by Nemenyi's"
        f" test (α = {ALPHA}); p values are of paired Wilcoxon tests with Holm's correction{limit}."
    )


def _differing(ranking: Ranking) -> str:
    """Return the sentence with the pairs of methods that differ, the better first."""
    pairs = []
    for better, worse in itertools.combinations(ranking.mean_ranks.index, 2):
        p = ranking.p(better, worse)
        if p < ALPHA:
            pairs.append(f"{better} before {worse} (p = {p:.2g})")
    return f"Differing pairs (Wilcoxon, Holm): {'; '.join(pairs) or 'none'}."


def _missing(ranking: Ranking) -> list[str]:
    """Return texts such as ``"GHA on glass1 (9 of 10, 1 failed)"``."""
    texts = []
    for cell in ranking.missing_runs.to_dict("records"):
        failed = f", {cell['n_failed']} failed" if cell["n_failed"] else ""
        n_done = f"{cell['n_done']} of {cell['n_planned']}{failed}"
        texts.append(f"{cell['method']} on {cell['problem']} ({n_done})")
    return texts


def _first(names: Sequence[str]) -> str:
    text = "; ".join(names[:MAX_NAMES])
    if len(names) > MAX_NAMES:
        text += f" and {len(names) - MAX_NAMES} more"
    return text


def _plain(ranking: Ranking) -> dict[str, object]:
    friedman = None
    if math.isfinite(ranking.friedman_p):
        friedman = {"statistic": ranking.friedman_statistic, "p": ranking.friedman_p}
    return {
        "mean_ranks": ranking.mean_ranks.to_dict(),
        "quantity": ranking.quantity,
        "means": ranking.errors.to_dict(orient="index"),
        "friedman": friedman,
        "critical_difference": ranking.critical_difference,
        "nemenyi_p": ranking.nemenyi.to_dict(),
        "wilcoxon_holm_p": ranking.wilcoxon.to_dict(),
        "n_problems": ranking.n_problems,
        "left_out": list(ranking.left_out),
        "fewer_repeats_than_planned": ranking.missing_runs.to_dict("records"),
    }
