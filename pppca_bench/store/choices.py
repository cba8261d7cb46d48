"""Choice of settings: the best candidate of a run, and over all runs of a cell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import cast

from pppca_bench.quantities import BALANCED_SCORES, DECIMALS, error_of
from pppca_bench.runs import CHOOSE_BY, CHOOSE_RETAIN, Cell, Parameters, Scalar, candidates, written

Values = Mapping[str, float]


def score_to_choose_by(cells: Iterable[Cell]) -> str | None:
    """Return the name of the score that any cells choose their settings by, such as ``"macro_f1_percent"``."""
    rules = {dict(cell.parameters).get(CHOOSE_BY) for cell in cells}
    return next((name for name in BALANCED_SCORES if name.removesuffix("_percent") in rules), None)


def best_candidate(rule: Mapping[str, Scalar], tried: Sequence[Values]) -> int | None:
    """Return the index of the best of several candidates, given their values; None if none has the value to compare.

    ``rule`` has the values of `CHOOSE_BY` and `CHOOSE_RETAIN`.

    Choice: of the candidates with the least validation error, or the largest validation score, the first with the
    fewest features is the best. By retained variance, it is the candidate with the fewest features that retains enough
    or, if no candidate does, the candidate that retains most.
    """
    name = _criterion(rule, tried)
    sizes = {
        index: values["dimensionality"] for index, values in enumerate(tried) if name in values
    }

    def rank(index: int) -> tuple[float, ...]:
        value = round(tried[index][name], DECIMALS)
        if rule[CHOOSE_BY] == "retained_variance":
            is_enough = value >= cast("float", rule[CHOOSE_RETAIN])
            return (0, sizes[index], -value) if is_enough else (1, -value)
        return (value if rule[CHOOSE_BY] == "validation_error" else -value), sizes[index]

    return min(sizes, key=rank, default=None)


def _criterion(rule: Mapping[str, Scalar], tried: Sequence[Values]) -> str:
    """Return the name of the value by which candidates are compared."""
    by = rule[CHOOSE_BY]
    if by == "validation_error":
        return error_of(set[str]().union(*tried), "validation")
    return f"{by}_percent" if by == "retained_variance" else f"validation_{by}_percent"


def values_of_candidates(cell: Cell, tried: Sequence[Values]) -> dict[str, float]:
    """Return the values of all candidates of a run by which they are compared, to be stored with the run.

    They have names such as ``"validation_error_percent at tau=10"``.
    """
    names = _criterion(dict(cell.parameters), tried), "dimensionality"
    return {
        f"{name} at {_text(candidate)}": values[name]
        for candidate, values in zip(candidates(cell), tried, strict=True)
        for name in names
        if name in values
    }


def recommended(cell: Cell, runs: Sequence[Values]) -> tuple[Parameters, Values] | None:
    """Return the candidate that is the best over all runs of a cell, and its mean values; None if it cannot be known.

    Choice: as in scikit-learn's GridSearchCV, the means over all splits are compared, so that a candidate that is often
    second can be the best; a candidate that failed in a run is left out.
    """
    among, rule = candidates(cell), dict(cell.parameters)
    if among == [()] or not runs:
        return None
    names, tried = (_criterion(rule, runs), "dimensionality"), list[Values]()
    for end in (f" at {_text(candidate)}" for candidate in among):
        of_runs = {name: [run[name + end] for run in runs if name + end in run] for name in names}
        tried.append(
            {name: fmean(values) for name, values in of_runs.items() if len(values) == len(runs)}
        )
    best = best_candidate(rule, tried)
    return None if best is None else (among[best], tried[best])


def _text(candidate: Parameters) -> str:
    return ", ".join(f"{name}={written(value)}" for name, value in candidate)
