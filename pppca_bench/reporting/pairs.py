"""Pairwise comparisons of methods on a problem: paired tests with intervals, Holm's correction, and verdicts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Literal, NamedTuple

from pppca_bench.errors import StoreError, check_known
from pppca_bench.quantities import ERRORS, described, error_of
from pppca_bench.reporting.document import EMPTY, SIGNED, Document, in_json, printed, text_table
from pppca_bench.reporting.labels import setting_labels, settings_of
from pppca_bench.reporting.statistics import PairedTest, corrected_t, holm, signed_rank
from pppca_bench.reporting.summary import CellRuns
from pppca_bench.runs import AUTO, CHOOSE, THRESHOLD, Cell, Facts, Names, grouped
from pppca_bench.store.choices import score_to_choose_by

ALPHA = 0.05
MAX_PAIRS = 500
"""Largest number of pairs; by Holm's correction each pair weakens the tests of the others."""

MARGIN = 1.0
"""Largest loss, in points, that does not matter: the tolerance of the slides' numbers."""

EQUAL_FEATURES, EQUAL_SHARE = 0.5, 0.05
"""Largest differences of mean dimensionalities that count as equal: a number of features, or a share."""

TITLES = {"tau": "At equal τ", "dimensionality": "At equal dimensionality"}
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


class Pair(NamedTuple):
    """Comparison of two settings."""

    first: str
    second: str
    at: Names  # "tau", "dimensionality": facts that are equal for both
    means: tuple[float, ...]  # of the quantity, over the pairs of values
    dimensionalities: tuple[float | None, ...]  # mean numbers of features, None where unknown
    test: PairedTest
    p_holm: float = math.nan  # with Holm's correction over all pairs; nan without a test
    # such as "PCA, τ = 10 is better, by more than 1", "alike within 1" or "undecided"
    verdict: str = ""
    # whether the whole interval is beyond the difference that matters, and the difference significant
    exceeds: bool = False


class Pairs(NamedTuple):
    """Comparisons on a problem, in the order of the plans."""

    problem: str
    quantity: str
    matters: float  # the difference that matters, in the quantity's unit
    n_splits: int
    ratio: float  # test examples of a split over training examples
    comparisons: tuple[Pair, ...]
    left_out: Names = ()  # settings with fewer than two completed repeats, or splits


def compare_pairs(
    cells: Mapping[Cell, CellRuns],
    facts: Facts,
    problem: str,
    *,
    quantity: str | None = None,
    matters: float | None = None,
) -> Pairs:
    """Compare settings of equal threshold, and settings of equal dimensionality, on a problem; see `Pairs`.

    Cells of other problems do not count; the quantity is, by default, the score that runs of the problem choose by
    or, without such runs, the error of its task, and ``matters`` the difference that matters of the quantity. Choice:
    settings with the same tau have equal thresholds. A setting that chooses tau, or whose method has no tau, is
    compared with all settings; a setting with a given number of features instead of tau is not compared at equal tau.
    Settings of two methods (or of a method with other parameters) have equal dimensionality if their mean
    dimensionalities are mutually nearest and differ by at most 0.5 features or 5 %. Holm's correction is over all
    pairs, each counted once.

    Raises
    ------
    UnknownNameError
        Nothing was run on the problem.
    StoreError
        Fewer than two settings have two repeats, or splits, with the quantity; or the runs are on different data.
    """
    check_known("problem", [problem], list(dict.fromkeys(cell.problem for cell in cells)))
    runs_of_problem = {cell: runs for cell, runs in cells.items() if cell.problem == problem}
    known = facts[problem]
    if {cell.data_sha256 for cell in runs_of_problem} != {known.data_sha256}:
        raise StoreError(
            f"{problem}: expected all runs on the data that were run last, got runs on other data of this name, too."
            " Name a single config, or run it again."
        )
    quantity = (
        quantity
        or score_to_choose_by(runs_of_problem)
        or error_of({name for runs in runs_of_problem.values() for name in runs.quantities})
    )
    matters = described(quantity).matters if matters is None else matters
    settings = settings_of(runs_of_problem)
    runs = {
        name: setting.cells[problem]
        for name, setting in zip(setting_labels(settings), settings, strict=True)
    }
    values = {name: by_split(runs[name].values(quantity), known.n_splits) for name in runs}
    sizes = {name: runs[name].mean("dimensionality") for name in runs if len(values[name]) > 1}
    common = _comparable({name: runs[name].cell for name in sizes}, sizes)
    _check_sizes(problem, quantity, known.n_splits, len(sizes), len(common))
    compared = []
    for pair, at in common.items():
        splits = [split for split in values[pair[0]] if split in values[pair[1]]]
        first, second = ([values[name][split] for split in splits] for name in pair)
        differences = [value - other for value, other in zip(first, second, strict=True)]
        test = signed_rank(differences)
        if known.n_splits > 1:
            test = corrected_t(differences, known.test_ratio)
        means = (fmean(first), fmean(second)) if splits else (math.nan, math.nan)
        compared.append(Pair(*pair, at, means, (sizes[pair[0]], sizes[pair[1]]), test))
    p_values = holm([pair.test.p for pair in compared])
    more_is_better = described(quantity).more_is_better
    judged = [
        _judged(pair, p, matters, more_is_better=more_is_better)
        for pair, p in zip(compared, p_values, strict=True)
    ]
    left_out = tuple(name for name in runs if name not in sizes)
    return Pairs(
        problem, quantity, matters, known.n_splits, known.test_ratio, tuple(judged), left_out
    )


def _check_sizes(problem: str, quantity: str, n_splits: int, n_settings: int, n_pairs: int) -> None:
    if n_settings < 2:
        unit = "splits" if n_splits > 1 else "repeats"
        remedy = "Run more, or name other configs."
        if quantity not in ERRORS:
            remedy = (
                "Set `predictions: true` in the config, and choose a score for its type of targets."
            )
        raise StoreError(
            f"{problem}: expected at least two methods, or settings of a method, with two {unit} or more that have"
            f" {quantity}, got {n_settings}. {remedy}"
        )
    if n_pairs > MAX_PAIRS:
        raise StoreError(
            f"{problem}: expected at most {MAX_PAIRS} pairs to compare, got {n_pairs} of {n_settings} settings."
            " Name a config, or take some with --only, such as --only tau=15."
        )


def by_split(values: Mapping[int, float], n_splits: int) -> dict[int, float]:
    """Return values by split, each the mean over the repeats of that split; by repeat if there is a single split."""
    splits = grouped(values, lambda repeat: repeat % n_splits if n_splits > 1 else repeat)
    return {split: fmean(values[repeat] for repeat in repeats) for split, repeats in splits.items()}


def _comparable(
    cells: Mapping[str, Cell], sizes: Mapping[str, float | None]
) -> dict[tuple[str, str], Names]:
    """Return the pairs to compare, each with the facts that both settings have in common."""
    near = _nearest(cells, {name: size for name, size in sizes.items() if size is not None})
    # None if another parameter replaces tau; `AUTO` if runs choose it or the method has no tau.
    taus = {name: dict(cell.parameters).get(THRESHOLD, AUTO) for name, cell in cells.items()}
    common: dict[tuple[str, str], Names] = {}
    for pair in itertools.combinations(cells, 2):
        first, second = (taus[name] for name in pair)
        is_equal = None not in (first, second) and (first == second or AUTO in (first, second))
        if at := (*(["tau"] if is_equal else []), *(["dimensionality"] if {*pair} in near else [])):
            common[pair] = at
    return common


def _nearest(cells: Mapping[str, Cell], sizes: Mapping[str, float]) -> list[set[str]]:
    """Return the pairs of different families whose mean dimensionalities are nearest to each other."""

    def closest(name: str, others: Sequence[str]) -> str:
        return min(others, key=lambda other: abs(sizes[other] - sizes[name]))

    near = []
    families = grouped(sizes, lambda name: _family(cells[name])).values()
    for family, other_family in itertools.combinations(families, 2):
        for name in family:
            other = closest(name, other_family)
            limit = max(EQUAL_FEATURES, EQUAL_SHARE * max(sizes[name], sizes[other]))
            if closest(other, family) == name and abs(sizes[other] - sizes[name]) <= limit:
                near.append({name, other})
    return near


def _family(cell: Cell) -> Cell:
    """Return a cell without the parameters that set the number of features that are kept, or the candidates for it."""
    kept = (
        item
        for item in cell.parameters
        if item[0] not in (THRESHOLD, "n_components") and not item[0].startswith(CHOOSE)
    )
    return replace(cell, parameters=tuple(kept))


def _judged(pair: Pair, p_holm: float, matters: float, *, more_is_better: bool) -> Pair:
    """Return a comparison with its corrected p and its verdict, given the difference that matters."""
    test, exceeds = pair.test, False
    within = -matters < test.low and test.high < matters
    verdict = f"alike within {matters:g}" if within else "undecided"
    if p_holm < ALPHA:
        exceeds = test.low > matters or test.high < -matters
        is_first_better = (test.difference > 0.0) == more_is_better
        verdict = f"{pair.first if is_first_better else pair.second} is better"
        if exceeds or within:
            verdict += f", by {'more' if exceeds else 'less'} than {matters:g}"
    return pair._replace(p_holm=p_holm, verdict=verdict, exceeds=exceeds)


def render_pairs(pairs: Pairs, form: Literal["terminal", "markdown", "json"] = "terminal") -> str:
    """Render comparisons as ``terminal`` text, ``markdown`` or ``json``."""
    if form == "json":
        compared = [pair._asdict() | {"test": pair.test._asdict()} for pair in pairs.comparisons]
        return in_json(pairs._asdict() | {"comparisons": compared})
    title = f"{described(pairs.quantity).title} on {pairs.problem}"
    parts = [f"## {title}" if form == "markdown" else f"{title}\n{'=' * len(title)}"]
    for at, heading in TITLES.items():
        rows = [_row(pair) for pair in pairs.comparisons if at in pair.at]
        parts.append(
            f"{heading}\n\n{text_table(HEADERS, rows, form) if rows else 'No two settings.'}"
        )
    return "\n\n".join([*parts, *_remarks(pairs)])


def pairs_document(pairs: Pairs) -> Document:
    """Return the comparisons on a problem as a document, each once; verdicts call the settings first and second."""
    title = f"Pairs of settings on {pairs.problem}: {described(pairs.quantity).title}"
    rows = [
        (*_row(pair)[:-1], _short(pair), " and ".join(map(_EQUAL.__getitem__, pair.at)))
        for pair in pairs.comparisons
    ]
    headers = (*HEADERS, "Equal")
    return Document(f"pairs_{pairs.problem}", title, "", headers, rows, _remarks(pairs))


def _short(pair: Pair) -> str:
    better, *rest = pair.verdict.partition(" is better")
    return "".join([{pair.first: "first", pair.second: "second"}.get(better, better), *rest])


_EQUAL = {"tau": "τ", "dimensionality": "features"}
_MOST_NAMED = 3


def pairs_sentence(pairs: Pairs) -> str:
    """Return the ranges of the compared means, and the pairs that differ, those of the least p by name.

    Pairs with a setting without features, which always gives the same answer, are left out.
    """
    name, _, unit = described(pairs.quantity).title.partition(", ")
    compared = [pair for pair in pairs.comparisons if 0.0 not in pair.dimensionalities]
    if not compared:
        return f"{pairs.problem}: no two settings with features at equal τ or dimensionality."
    means = [mean for pair in compared for mean in pair.means if not math.isnan(mean)]
    sizes = [size for pair in compared for size in pair.dimensionalities if size is not None]
    text = f"{pairs.problem}: {name[0].lower()}{name[1:]}"
    text += f" from {min(means):.2f} to {max(means):.2f} {unit}".rstrip() if means else ""
    text += f" with {min(sizes):.1f} to {max(sizes):.1f} features" if sizes else ""
    differing = sorted(
        (pair for pair in compared if pair.p_holm < ALPHA), key=lambda pair: pair.p_holm
    )
    n_alike = sum(pair.verdict.startswith("alike") for pair in compared)
    text += f"; {len(differing)} of {len(compared)} pairs of settings differ significantly"
    text += f", {n_alike} of {len(compared)} are alike within {pairs.matters:g}"
    named = [
        f"{pair.verdict} ({pair.first} − {pair.second}: {printed(pair.test.difference, SIGNED)})"
        for pair in differing[:_MOST_NAMED]
    ]
    return f"{'; '.join([text, *named])}."


def _row(pair: Pair) -> Names:
    test = pair.test
    difference, low, high = (
        printed(value, SIGNED) for value in (test.difference, test.low, test.high)
    )
    interval = low if low == EMPTY else f"{low} to {high}"
    sizes = ", ".join(printed(size, ".1f") for size in pair.dimensionalities)
    means = ", ".join(printed(mean, ".2f") for mean in pair.means)
    p_values = (EMPTY if math.isnan(p) else f"{p:.2g}" for p in (test.p, pair.p_holm))
    return (
        f"{pair.first} − {pair.second}",
        means,
        sizes,
        difference,
        interval,
        str(test.n),
        *p_values,
        pair.verdict,
    )


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
