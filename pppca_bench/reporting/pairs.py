"""Settings of methods compared two by two on one problem: difference, interval, p, and whether it matters."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

from pppca_bench.errors import StoreError, check_known
from pppca_bench.reporting.paired_tests import PairedTest, corrected_t, holm, signed_rank
from pppca_bench.reporting.ranking_columns import Column, columns
from pppca_bench.runs import AUTO, Cell, ProblemFacts, described
from pppca_bench.store.columns import CellRuns

ALPHA = 0.05
MOST_PAIRS = 500
"""Comparisons on one problem: more than anybody reads, and each weakens the others by Holm's correction."""

EQUAL_FEATURES, EQUAL_SHARE = 0.5, 0.05
"""Mean dimensionalities count as equal that differ by at most so many features, or so much of the larger one."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Hold what two settings gave.

    Attributes
    ----------
    first, second : str
        Their names.
    at : tuple of {"tau", "dimensionality"}
        In what they are alike.
    means : (float, float)
        Of the quantity, over the pairs.
    dimensionalities : (float or None, float or None)
        Mean numbers of features.
    test : PairedTest
    p_holm : float
        p with Holm's correction over all comparisons; nan where there is no test.
    verdict : str
        Such as ``"PCA, τ = 10 is better, by more than 1"``, ``"alike within 1"`` or ``"undecided"``.
    exceeds : bool
        Whether the difference is significant and its whole interval beyond the difference that matters.
    """

    first: str
    second: str
    at: tuple[str, ...]
    means: tuple[float, float]
    dimensionalities: tuple[float | None, float | None]
    test: PairedTest
    p_holm: float = math.nan
    verdict: str = "undecided"
    exceeds: bool = False


@dataclass(frozen=True, slots=True)
class Pairs:
    """Hold the comparisons on one problem.

    Attributes
    ----------
    problem, quantity : str
        On what, and by what.
    matters : float
        The difference that matters, in the quantity's unit.
    n_splits : int
        Splits of the problem; with one, the repeats differ by their seeds alone.
    ratio : float
        Test examples of a split over training examples.
    comparisons : tuple of Comparison
        In the order of the plans.
    left_out : tuple of str
        Settings without two repeats, or splits, that are done.
    """

    problem: str
    quantity: str
    matters: float
    n_splits: int
    ratio: float
    comparisons: tuple[Comparison, ...]
    left_out: tuple[str, ...] = field(default=())


def compare_pairs(
    cells: Mapping[Cell, CellRuns],
    facts: Mapping[str, ProblemFacts],
    problem: str,
    *,
    quantity: str = "test_error_percent",
    matters: float = 1.0,
) -> Pairs:
    """Compare settings on one problem, those of equal threshold and those of equal dimensionality.

    Choice: of equal threshold are settings with the same tau; one that chooses it, or whose method has none, is
    compared with all of them, and one with a given number of features in the place of tau with none. Of equal
    dimensionality are, of two methods (or other parameters of one), those whose mean dimensionalities are nearest to
    each other, seen from both sides, and differ by at most 0.5 features or 5 %. Holm's correction is over all of them,
    each counted once.

    Parameters
    ----------
    cells : mapping of Cell to CellRuns
        Those of other problems do not count.
    facts : mapping of str to ProblemFacts
        By problem, for its sizes and the number of its splits.
    problem : str
        On what.
    quantity : str
        What is compared.
    matters : float, default 1.0
        The difference that matters, in the quantity's unit.

    Raises
    ------
    UnknownNameError
        Nothing was run on the problem.
    StoreError
        Fewer than two settings have two repeats, or splits, with the quantity; or the data are several.
    """
    own, known = _on(problem, cells, facts)
    settings = columns(own)
    found = {_label(column, settings): column for column in settings}
    values = {name: _by_split(column, quantity, known.n_splits) for name, column in found.items()}
    done = {name: column for name, column in found.items() if len(values[name]) > 1}
    if len(done) < 2:
        unit = "splits" if known.n_splits > 1 else "repeats"
        raise StoreError(
            f"{problem}: expected at least two methods, or settings of one, with two {unit} or more that have"
            f" {quantity}, got {len(done)}.{_remedy(quantity)}"
        )
    pairs = _pairs(done)
    if len(pairs) > MOST_PAIRS:
        raise StoreError(
            f"{problem}: expected at most {MOST_PAIRS} pairs to compare, got {len(pairs)} of {len(done)} settings."
            " Name a config, or take some with --only, such as --only tau=15."
        )
    ratio = known.n_test / known.n_train
    overlap = ratio if known.n_splits > 1 else None
    compared = [_compared(pair, at, done, values, overlap) for pair, at in pairs.items()]
    better = -1.0 if described(quantity).more_is_better else 1.0
    judged = [
        _judged(one, p, matters, better) for one, p in zip(compared, holm([c.test.p for c in compared]), strict=True)
    ]
    left_out = tuple(name for name in found if name not in done)
    return Pairs(problem, quantity, matters, known.n_splits, ratio, tuple(judged), left_out)


def _on(
    problem: str, cells: Mapping[Cell, CellRuns], facts: Mapping[str, ProblemFacts]
) -> tuple[dict[Cell, CellRuns], ProblemFacts]:
    """Return the cells on a problem, which are on the same data, and what is known of these."""
    check_known("problem", [problem], list(dict.fromkeys(cell.problem for cell in cells)))
    own = {cell: runs for cell, runs in cells.items() if cell.problem == problem}
    known = facts.get(problem)
    if known is None or {cell.data_sha256 for cell in own} != {known.data_sha256}:
        raise StoreError(
            f"{problem}: expected runs on the same data, the last that were run, got others of that name, too."
            " Name one config, or run it again."
        )
    return own, known


def _label(column: Column, others: Sequence[Column]) -> str:
    """Name a setting, with its classifier where there are several."""
    several = len({one.classifier for one in others} - {""}) > 1
    return f"{column.name}, {column.classifier}" if several and column.classifier else column.name


def _remedy(quantity: str) -> str:
    if quantity == "test_error_percent":
        return " Run more, or name other configs."
    return " Does the config say `predictions: true`, and is it for such targets?"


def _by_split(column: Column, quantity: str, n_splits: int) -> dict[int, float]:
    """Return a setting's values by split, each the mean over its repeats; of one split, by repeat."""
    (cell,) = column.cells.values()
    by_repeat = cell.values.get(quantity, {})
    if n_splits == 1:
        return dict(by_repeat)
    splits: dict[int, list[float]] = {}
    for repeat, value in by_repeat.items():
        splits.setdefault(repeat % n_splits, []).append(value)
    return {split: fmean(values) for split, values in splits.items()}


def _dimensionality(column: Column) -> float | None:
    (cell,) = column.cells.values()
    summary = cell.quantities.get("dimensionality")
    return None if summary is None else summary.mean


def _pairs(found: Mapping[str, Column]) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the pairs that are compared, with what they have in common."""
    near = _nearest(found)
    alike: dict[tuple[str, str], tuple[str, ...]] = {}
    for first, second in itertools.combinations(found, 2):
        taus = [found[name].tau for name in (first, second)]
        is_equal = None not in taus and (taus[0] == taus[1] or AUTO in taus)
        at = (*(["tau"] if is_equal else []), *(["dimensionality"] if (first, second) in near else []))
        if at:
            alike[first, second] = at
    return alike


def _nearest(found: Mapping[str, Column]) -> set[tuple[str, str]]:
    """Return the pairs of different families whose mean dimensionalities are nearest to each other."""
    families: dict[object, dict[str, float]] = {}
    for name, column in found.items():
        if (dimensionality := _dimensionality(column)) is not None:
            families.setdefault(column.family, {})[name] = dimensionality
    near: set[tuple[str, str]] = set()
    for ours, theirs in itertools.combinations(families.values(), 2):
        for name, size in ours.items():
            other = _closest(size, theirs)
            limit = max(EQUAL_FEATURES, EQUAL_SHARE * max(size, theirs[other]))
            if _closest(theirs[other], ours) == name and abs(theirs[other] - size) <= limit:
                near |= {(name, other), (other, name)}
    return near


def _closest(size: float, sizes: Mapping[str, float]) -> str:
    return min(sizes, key=lambda name: abs(sizes[name] - size))


def _compared(
    pair: tuple[str, str],
    at: tuple[str, ...],
    found: Mapping[str, Column],
    values: Mapping[str, Mapping[int, float]],
    ratio: float | None,
) -> Comparison:
    """Compare two settings over what both have; without a ratio the splits do not overlap, since there is one."""
    first, second = (values[name] for name in pair)
    both = [place for place in first if place in second]
    differences = [first[place] - second[place] for place in both]
    test = signed_rank(differences) if ratio is None else corrected_t(differences, ratio)
    means = [fmean(own[place] for place in both) if both else math.nan for own in (first, second)]
    sizes = [_dimensionality(found[name]) for name in pair]
    return Comparison(*pair, at, (means[0], means[1]), (sizes[0], sizes[1]), test)


def _judged(one: Comparison, p_holm: float, matters: float, better: float) -> Comparison:
    """Return a comparison with its verdict; ``better`` is the sign of a difference in favour of the second setting."""
    test = one.test
    within = -matters < test.low and test.high < matters
    exceeds = test.low > matters or test.high < -matters
    if p_holm < ALPHA:
        name = one.second if better * test.difference > 0.0 else one.first
        size = f", by more than {matters:g}" if exceeds else f", by less than {matters:g}" if within else ""
        return replace(one, p_holm=p_holm, verdict=f"{name} is better{size}", exceeds=exceeds)
    return replace(one, p_holm=p_holm, verdict=f"alike within {matters:g}" if within else "undecided")
