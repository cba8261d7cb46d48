"""Choice of settings: the best candidate of a run, and over all runs of a cell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from pppca_bench.quantities import BALANCED_SCORES, DECIMALS, error_of
from pppca_bench.runs import Cell, Settings, candidates

Values = Mapping[str, float]
Choice = Mapping[str, Any]
"""Choice of a run (`choice_of`)."""


def score_to_choose_by(cells: Iterable[Cell]) -> str | None:
    """Return the name of the score that any cells choose their settings by, such as ``"macro_f1_percent"``.

    Choice: without such cells, it is balanced accuracy if a network gives the classes equal weights, since its error
    grows; None otherwise.
    """
    known = list(cells)
    rules = {cell.choose.get("by") for cell in known}
    for name in BALANCED_SCORES:
        if name.removesuffix("_percent") in rules:
            return name
    weights = ("classifier.class_weight", "classifier.base.class_weight")
    is_weighted = any(cell.settings.get(name) for cell in known for name in weights)
    return BALANCED_SCORES[0] if is_weighted else None


def best_candidate(choose: Settings, tried: Sequence[Values]) -> int | None:
    """Return the index of the best of several candidates, given their values; None if none has the value to compare.

    ``choose`` is that of `Cell`.

    Choice: of the candidates with the least validation error, or the largest validation score, the first with the
    fewest features is the best. By retained variance, it is the candidate with the fewest features that retains enough
    or, if no candidate does, the candidate that retains most.
    """
    name = _criterion(choose["by"], tried)
    sizes = {
        index: values["dimensionality"] for index, values in enumerate(tried) if name in values
    }

    def rank(index: int) -> tuple[float, ...]:
        value = round(tried[index][name], DECIMALS)
        if choose["by"] == "retained_variance":
            is_enough = value >= choose["retain"]
            return (0, sizes[index], -value) if is_enough else (1, -value)
        return (value if choose["by"] == "validation_error" else -value), sizes[index]

    return min(sizes, key=rank, default=None)


def _criterion(by: str, tried: Sequence[Values]) -> str:
    """Return the name of the value by which candidates are compared."""
    if by == "validation_error":
        return error_of(set[str]().union(*tried), "validation")
    return f"{by}_percent" if by == "retained_variance" else f"validation_{by}_percent"


def choice_of(cell: Cell, best: int, tried: Sequence[Values]) -> dict[str, Any]:
    """Return the choice of a run, to be stored with it, given the best candidate and the values of all.

    ``chosen`` are the settings of the best; ``candidates`` lists the settings of each, in the order of `candidates`,
    and its values that were compared, none if it failed.
    """
    among = candidates(cell)
    names = (_criterion(cell.choose["by"], tried), "dimensionality")
    compared = []
    for settings, values in zip(among, tried, strict=True):
        kept = {name: values[name] for name in names if name in values}
        compared.append({"settings": settings, "values": kept})
    return {"chosen": among[best], "candidates": compared}


def recommended(cell: Cell, choices: Sequence[Choice]) -> tuple[Settings, Values] | None:
    """Return the candidate that is the best over all runs of a cell, and its mean values; None if it cannot be known.

    Choice: as in scikit-learn's GridSearchCV, the means over all splits are compared, so that a candidate that is often
    second can be the best; a candidate that failed in a run is left out.
    """
    if not choices:
        return None
    of_runs = [[tried["values"] for tried in choice["candidates"]] for choice in choices]
    means = [_means(values) for values in zip(*of_runs, strict=True)]
    best = best_candidate(cell.choose, means)
    return None if best is None else (candidates(cell)[best], means[best])


def _means(runs: Sequence[Values]) -> dict[str, float]:
    """Return the means of the values that all runs have."""
    shared = [name for name in runs[0] if all(name in values for values in runs)]
    return {name: fmean(values[name] for values in runs) for name in shared}
