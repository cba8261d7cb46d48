"""Advice on a problem: the best setting on the validation splits, and whether it is better than the baselines."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import NamedTuple

from pppca_bench.methods.lookup import stored_method
from pppca_bench.quantities import described, error_of
from pppca_bench.results.frames import Runs, Values
from pppca_bench.results.statistics import PairedTest, corrected_t
from pppca_bench.runs import Facts, Parameters, ProblemFacts, candidates, grouped
from pppca_bench.store.choices import recommended, score_to_choose_by
from pppca_bench.verdicts.pairs import by_split


class Validated(NamedTuple):
    """Cell with its values on the validation splits, both of ``setting`` if its runs choose."""

    number: int
    setting: Parameters
    values: Values  # of the quantity, by repeat
    size: float  # mean number of features
    is_baseline: bool

    @property
    def mean(self) -> float:
        """Return the mean of the values."""
        return fmean(self.values.values())

    @property
    def is_constant(self) -> bool:
        """Return whether it reads no feature, so that its answer is always the same."""
        return self.size == 0.0


class Advice(NamedTuple):
    """Best settings of a problem by a quantity of the validation splits.

    Attributes
    ----------
    problem, quantity : str
    matters : float
        The difference that matters, in the quantity's unit.
    best : Validated
        The best cell that is no baseline.
    gains : tuple of (Validated, PairedTest)
        The baselines, and by how much the best cell is better than each.
    taken : Validated or None
        The recommended cell: the best, a baseline of all features, or none.
    smallest : Validated or None
        The cell with the fewest features whose mean is within ``matters`` of the recommended cell's; None if that is
        the recommended cell, or if there is none.
    """

    problem: str
    quantity: str
    matters: float
    best: Validated
    gains: tuple[tuple[Validated, PairedTest], ...]
    taken: Validated | None
    smallest: Validated | None


def advice_on(runs: Runs, facts: Facts, cells: Iterable[int]) -> list[Advice]:
    """Return the advice on each problem of some cells on which a method has done runs.

    Settings are compared by the score of `score_to_choose_by`, if all have it, otherwise by the validation error; test
    errors decide nothing. A cell whose runs choose their settings has the values of the setting that is the
    best over all runs.

    Choices: the best method is recommended if it is better than every baseline by the paired test on the validation
    splits, and by more than the difference that matters than a constant answer. If it is not better than all features,
    these are recommended, unless they are no better than a constant answer. The tests have no correction, since a
    recommendation needs all of them (an intersection-union test).
    """
    done = [number for number in cells if runs.counts[number]["n_done"]]
    advice = list[Advice]()
    for problem, numbers in grouped(done, lambda number: runs.cells[number].problem).items():
        of_problem = _advice(runs, facts[problem], numbers)
        if of_problem:
            advice.append(of_problem)
    return advice


def _advice(runs: Runs, known: ProblemFacts, numbers: Sequence[int]) -> Advice | None:
    """Return the advice on a problem; None without values of a method."""
    score = score_to_choose_by(runs.cells[number] for number in numbers)
    quantity = f"validation_{score}"
    if not all(quantity in runs.measured[number] for number in numbers):
        quantity = error_of(runs.measured[numbers[0]], "validation")
    compared = [_validated(runs, number, quantity) for number in numbers]
    validated = _with_baselines(runs, [cell for cell in compared if cell])
    sign = 1.0 if described(quantity).more_is_better else -1.0
    ranked = sorted(validated, key=lambda cell: (-sign * cell.mean, cell.size))
    methods = [cell for cell in ranked if not cell.is_baseline]
    if not methods:
        return None
    best, matters = methods[0], described(quantity).matters
    baselines = [cell for cell in ranked if cell.is_baseline]

    def worth(cell: Validated, others: Iterable[Validated]) -> bool:
        """Return whether a cell is better than all others, and by more than matters than a constant answer."""
        least = [(_gain(cell, other, sign, known), other.is_constant) for other in others]
        return all(gain.low > (matters if constant else 0.0) for gain, constant in least)

    constants = [cell for cell in baselines if cell.is_constant]
    of_all_features = [cell for cell in baselines if not cell.is_constant]
    taken = None
    if baselines and worth(best, baselines):
        taken = best
    elif of_all_features and worth(of_all_features[0], constants):
        taken = of_all_features[0]
    smallest = None
    if taken:
        near = [cell for cell in ranked if sign * (taken.mean - cell.mean) <= matters]
        fewer = [cell for cell in near if cell.size < taken.size and worth(cell, constants)]
        smallest = min(fewer, key=lambda cell: cell.size, default=None)
    gains = tuple((cell, _gain(best, cell, sign, known)) for cell in baselines)
    return Advice(known.name, quantity, matters, best, gains, taken, smallest)


def _with_baselines(runs: Runs, cells: Sequence[Validated]) -> list[Validated]:
    """Return cells of which those with all features are baselines only of methods with the same classifier."""
    classifiers = [runs.cells[one.number].classifier for one in cells if not one.is_baseline]
    marked = []
    for one in cells:
        has_method = one.is_constant or runs.cells[one.number].classifier in classifiers
        marked.append(one._replace(is_baseline=one.is_baseline and has_method))
    return marked


def _validated(runs: Runs, number: int, quantity: str) -> Validated | None:
    """Return a cell with its values on the validation splits; None without any."""
    cell, done = runs.cells[number], runs.done(number)
    values, size = runs.values(number, quantity), runs.mean(number, "dimensionality")
    setting: Parameters = ()
    best = recommended(cell, runs.choices(number))
    if best:
        setting, size = tuple(best[0].items()), best[1]["dimensionality"]
        place, values = candidates(cell).index(dict(best[0])), {}
        for repeat, text in zip(done["repeat"].tolist(), done["choice"], strict=True):
            tried = json.loads(text)["candidates"][place]["values"]
            values |= {repeat: tried[quantity]} if quantity in tried else {}
    entry = stored_method(cell.method)
    is_baseline = entry is not None and entry.is_baseline
    return (
        Validated(number, setting, values, size, is_baseline)
        if values and size is not None
        else None
    )


def _gain(cell: Validated, other: Validated, sign: float, known: ProblemFacts) -> PairedTest:
    """Return by how much a cell is better than another, paired over the splits, or over the repeats of one split.

    Choice: where all differences are equal, as those of a deterministic method over seeds, they are their interval.
    """
    first, second = by_split(cell.values, known.n_splits), by_split(other.values, known.n_splits)
    differences = [sign * (first[split] - second[split]) for split in first if split in second]
    ratio = known.n_validation / known.n_train if known.n_splits > 1 else 0.0
    gain = corrected_t(differences, ratio)
    if gain.n > 1 and math.isnan(gain.low):
        return gain._replace(low=gain.difference, high=gain.difference)
    return gain
