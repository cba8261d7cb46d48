"""Pairwise comparisons of settings on a problem: paired tests with intervals, Holm's correction, and verdicts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pppca_bench.errors import StoreError, check_known
from pppca_bench.methods.lookup import stored_method
from pppca_bench.quantities import ERRORS, described, error_of
from pppca_bench.results.frames import Runs, problems_of
from pppca_bench.results.labels import names_of, settings_of
from pppca_bench.results.statistics import corrected_t, holm, signed_rank
from pppca_bench.runs import AUTO, THRESHOLD, Cell, Facts, Names, ProblemFacts, Scalar, grouped
from pppca_bench.store.choices import score_to_choose_by

ALPHA = 0.05
"""Level of the tests."""

MAX_PAIRS = 500
"""Largest number of pairs; by Holm's correction each pair weakens the tests of the others."""

MARGIN = 1.0
"""Largest loss, in points, that does not matter, unless the command names another."""

EQUAL_FEATURES, EQUAL_SHARE = 0.5, 0.05
"""Largest differences of mean dimensionalities that count as equal: a number of features, or a share."""

COLUMNS = {
    "first": "object",  # names of the two settings
    "second": "object",
    "equal_tau": "bool",  # facts that are equal for both
    "equal_dimensionality": "bool",
    "first_mean": "float64",  # of the quantity, over the pairs of values
    "second_mean": "float64",
    "first_dimensionality": "float64",  # mean number of features, nan where unknown
    "second_dimensionality": "float64",
    "n": "int64",  # number of pairs of values, and their `PairedTest`
    "difference": "float64",
    "low": "float64",
    "high": "float64",
    "p": "float64",
    "p_holm": "float64",  # with Holm's correction over all pairs; nan without a test
    "better": "object",  # "first" or "second" if the difference is significant, else ""
    "exceeds": "bool",  # whether it is and the whole interval is beyond the difference that matters
    "within": "bool",  # whether the whole interval is within the difference that matters
    "verdict": "object",  # such as "PCA, τ = 10 is better, by more than 1", "alike within 1" or "undecided"
}
"""Columns of the comparisons, and their types."""

Row = dict[str, Any]


class Pairs(NamedTuple):
    """Comparisons on a problem."""

    problem: str
    quantity: str
    matters: float  # the difference that matters, in the quantity's unit
    n_splits: int
    ratio: float  # test examples of a split over training examples
    comparisons: pd.DataFrame  # a row for each pair, in the order of the plans, with `COLUMNS`
    left_out: Names = ()  # settings with fewer than two completed repeats, or splits


def compare_pairs(
    runs: Runs,
    facts: Facts,
    problem: str,
    *,
    quantity: str | None = None,
    matters: float | None = None,
) -> Pairs:
    """Compare settings of equal threshold, and settings of equal dimensionality, on a problem; see `Pairs`.

    Runs of other problems do not count; the quantity is, by default, the score that runs of the problem choose by or,
    without such runs, the error of its task, and ``matters`` the difference that matters of the quantity. Choice:
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
    check_known("problem", [problem], problems_of(runs))
    runs, known = runs.of_cells(runs.of_problem(problem)), facts[problem]
    _check_data(runs, known)
    quantity = quantity or _usual_quantity(runs)
    matters = described(quantity).matters if matters is None else matters
    values = dict[str, dict[int, float]]()
    cells, sizes, left_out = dict[str, Cell](), dict[str, float | None](), list[str]()
    settings = settings_of(runs)
    for setting, name in names_of(runs, settings).items():
        number = settings[setting][problem]
        of_setting = by_split(runs.values(number, quantity), known.n_splits)
        if len(of_setting) < 2:
            left_out.append(name)
            continue
        values[name] = of_setting
        cells[name] = runs.cells[number]
        sizes[name] = runs.mean(number, "dimensionality")
    rows = _comparable(cells, sizes)
    _check_sizes(known, quantity, len(cells), len(rows))
    for row in rows:
        row |= _test(values[row["first"]], values[row["second"]], known)
    comparisons = _judged(rows, matters, more_is_better=described(quantity).more_is_better)
    splits = known.n_splits, known.test_ratio
    return Pairs(problem, quantity, matters, *splits, comparisons, tuple(left_out))


def _check_data(runs: Runs, known: ProblemFacts) -> None:
    if {cell.data_sha256 for cell in runs.cells.values()} != {known.data_sha256}:
        raise StoreError(
            f"{known.name}: expected all runs on the data that were run last, got runs on other data of this name, too."
            " Name a single config, or run it again."
        )


def _check_sizes(known: ProblemFacts, quantity: str, n_settings: int, n_pairs: int) -> None:
    if n_settings < 2:
        unit = "splits" if known.n_splits > 1 else "repeats"
        remedy = "Run more, or name other configs."
        if quantity not in ERRORS:
            remedy = (
                "Set `predictions: true` in the config, and choose a score for its type of targets."
            )
        raise StoreError(
            f"{known.name}: expected at least two methods, or settings of a method, with two {unit} or more that have"
            f" {quantity}, got {n_settings}. {remedy}"
        )
    if n_pairs > MAX_PAIRS:
        raise StoreError(
            f"{known.name}: expected at most {MAX_PAIRS} pairs to compare, got {n_pairs} of {n_settings} settings."
            " Name a config, or take some with --only, such as --only tau=15."
        )


def _usual_quantity(runs: Runs) -> str:
    """Return the score that any runs choose their settings by or, without such runs, the error of their task."""
    known = set[str]().union(*runs.measured.values())
    return score_to_choose_by(runs.cells.values()) or error_of(known)


def by_split(values: Mapping[int, float], n_splits: int) -> dict[int, float]:
    """Return values by split, each the mean over the repeats of that split; by repeat if there is a single split.

    Repeat r has split r modulo ``n_splits``.
    """
    if n_splits == 1:
        return dict(values)
    means = {}
    for split, repeats in grouped(values, lambda repeat: repeat % n_splits).items():
        means[split] = fmean(values[repeat] for repeat in repeats)
    return means


def _comparable(cells: Mapping[str, Cell], sizes: Mapping[str, float | None]) -> list[Row]:
    """Return the pairs to compare, with their names, dimensionalities, and the facts that both have in common."""
    near = _nearest(cells, {name: size for name, size in sizes.items() if size is not None})
    taus = {name: _threshold(cell) for name, cell in cells.items()}
    pairs = list[Row]()
    for first, second in itertools.combinations(cells, 2):
        of_both = {taus[first], taus[second]}
        pair = {
            "first": first,
            "second": second,
            "equal_tau": None not in of_both and len(of_both - {AUTO}) < 2,
            "equal_dimensionality": {first, second} in near,
            "first_dimensionality": sizes[first],
            "second_dimensionality": sizes[second],
        }
        if pair["equal_tau"] or pair["equal_dimensionality"]:
            pairs.append(pair)
    return pairs


def _threshold(cell: Cell) -> Scalar:
    """Return the threshold of a cell: None if another parameter replaces it, `AUTO` if runs choose it or have none."""
    tau: Scalar = cell.parameters.get(THRESHOLD)
    if tau is not None:
        return tau
    entry = stored_method(cell.method)
    replacing = entry.instead_of_tau if entry else ()
    is_replaced = any(cell.parameters.get(name) is not None for name in replacing)
    return None if is_replaced else AUTO


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
    shared = {**cell.parameters, THRESHOLD: None, "n_components": None}
    return replace(cell, parameters=shared, choose={})


def _test(first: Mapping[int, float], second: Mapping[int, float], known: ProblemFacts) -> Row:
    """Return the means of two settings over the splits, or repeats, that both have, and the paired test."""
    splits = [split for split in first if split in second]
    differences = [first[split] - second[split] for split in splits]
    test = signed_rank(differences)
    if known.n_splits > 1:
        test = corrected_t(differences, known.test_ratio)
    means = {"first_mean": math.nan, "second_mean": math.nan}
    if splits:
        means["first_mean"] = fmean(first[split] for split in splits)
        means["second_mean"] = fmean(second[split] for split in splits)
    return means | test._asdict()


def _judged(rows: Iterable[Row], matters: float, *, more_is_better: bool) -> pd.DataFrame:
    """Return comparisons with corrected p values and verdicts, given the difference that matters."""
    pairs = pd.DataFrame(list(rows), columns=list(COLUMNS))
    low, high = pairs["low"], pairs["high"]
    pairs["p_holm"] = holm(pairs["p"].tolist())
    differs = pairs["p_holm"] < ALPHA
    is_first_better = (pairs["difference"] > 0.0) == more_is_better
    pairs["better"] = np.select(
        [differs & is_first_better, differs & ~is_first_better], ["first", "second"], ""
    )
    pairs["exceeds"] = differs & ((low > matters) | (high < -matters))
    pairs["within"] = (low > -matters) & (high < matters)
    pairs["verdict"] = [
        verdict_text(pair, matters, pair["first"], pair["second"])
        for pair in pairs.to_dict("records")
    ]
    return pairs.astype(COLUMNS)


def verdict_text(pair: Mapping[Any, Any], matters: float, first: str, second: str) -> str:
    """Return the verdict on a row of the comparisons as text, given the names of the settings in it."""
    if not pair["better"]:
        return f"alike within {matters:g}" if pair["within"] else "undecided"
    names = {"first": first, "second": second}
    text = f"{names[pair['better']]} is better"
    if pair["exceeds"]:
        text += f", by more than {matters:g}"
    elif pair["within"]:
        text += f", by less than {matters:g}"
    return text
