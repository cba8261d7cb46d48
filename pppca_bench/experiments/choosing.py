"""Runs that choose settings for themselves: every candidate learns, one is kept, and that one is tested."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from pppca_bench.experiments import cell as cells
from pppca_bench.methods.sections import STORED_BESIDE
from pppca_bench.problems import Problem
from pppca_bench.runs import (
    CHOOSE,
    CHOOSE_BY,
    CHOOSE_RETAIN,
    CHOSEN,
    Cell,
    Parameters,
    RunResult,
    RunSpec,
    Scalar,
    failed,
)

_NUMBERS = {"validation_error": "validation_error_percent", "retained_variance": "retained_variance_percent"}
"""What a candidate is judged by."""

_ROUNDING = 1e-6
"""Percent of the variance that rounding may take from features that retain all of it."""

Values = Mapping[str, float]


def candidates(cell: Cell) -> list[Parameters]:
    """Return what a cell's runs choose among, as parameters by name: every combination; one without any of others."""
    given = {name: value for name, value in cell.parameters if name.startswith(CHOOSE)}
    grids: dict[str, Any] = {
        name.removeprefix(CHOOSE): value for name, value in given.items() if name not in (CHOOSE_BY, CHOOSE_RETAIN)
    }
    return [tuple(zip(grids, values, strict=True)) for values in itertools.product(*grids.values())]


def settled(spec: RunSpec, chosen: Parameters) -> RunSpec:
    """Return a run with its settings chosen, under its own key and seed."""
    left = {name: value for name, value in spec.cell.parameters if not name.startswith(CHOOSE)}
    parameters: dict[str, Scalar] = left | dict(chosen)
    return replace(spec, cell=replace(spec.cell, parameters=tuple(sorted(parameters.items()))))


def chosen_by(spec: RunSpec, result: RunResult) -> RunSpec:
    """Return a done run with the settings that it chose."""
    chosen = [one for one in candidates(spec.cell) if all(result.values[f"{CHOSEN}{name}"] == v for name, v in one)]
    return settled(spec, chosen[0])


def run_group(specs: Sequence[RunSpec], problem: Problem | Sequence[Problem]) -> list[RunResult]:
    """Run repeats of a table cell as `cell.run_group` does; those that choose their settings do so first.

    The candidates of a run have its seed. They learn from a problem whose test split is a copy of the validation split,
    so that nothing of the test split can reach the choice; then the one that is chosen learns again, and is tested.

    Choice: of candidates with the same validation error that with the fewest features is taken, then the first; one
    that failed is none. By retained variance it is the one with the fewest features that retains enough, or, where none
    does, the one that retains most.

    Parameters
    ----------
    specs : sequence of RunSpec
        Runs with the same settings.
    problem : Problem or sequence of Problem
        That of all runs, or one for each. Of its test split, the test errors of what was chosen.

    Returns
    -------
    list of RunResult
        In the order of ``specs``, with ``chosen_tau`` and so on among the values.
    """
    among, rule = candidates(specs[0].cell), dict(specs[0].cell.parameters)
    if among == [()]:
        return cells.run_group(specs, problem)
    problems = cells.each(problem, specs)
    distinct = {id(one): one for one in problems}.items()
    blinded = {key: replace(one, X_test=one.X_validation, y_test=one.y_validation) for key, one in distinct}
    blind = [blinded[id(one)] for one in problems]
    attempt = _reduce if rule[CHOOSE_BY] == "retained_variance" else cells.run_group
    tried = [attempt([_storing_nothing(settled(spec, one)) for spec in specs], blind) for one in among]
    found: dict[str, RunResult] = {}
    groups: dict[Parameters, list[cells.Job]] = {}
    n_failed: dict[str, int] = {}
    for spec, own, *outcomes in zip(specs, problems, *tried, strict=True):
        best = _best(rule, [one.values for one in outcomes])
        n_failed[spec.key] = sum(one.status == "failed" for one in outcomes)
        if best is None:
            found[spec.key] = failed(
                spec, outcomes[0].error or f"no candidate has a number to choose {rule[CHOOSE_BY]} by"
            )
        else:
            groups.setdefault(among[best], []).append((spec, own))
    for chosen, group in groups.items():
        told: dict[str, Any] = {f"{CHOSEN}{name}": value for name, value in chosen}
        for result in cells.run_group([settled(spec, chosen) for spec, _ in group], [own for _, own in group]):
            choice = told | {"failed_candidates": n_failed[result.key]}
            is_done = result.status == "done"
            found[result.key] = replace(result, values={**result.values, **choice}) if is_done else result
    return [found[spec.key] for spec in specs]


def _storing_nothing(spec: RunSpec) -> RunSpec:
    parameters = tuple(item for item in spec.cell.parameters if item[0] not in STORED_BESIDE)
    return replace(spec, cell=replace(spec.cell, parameters=parameters))


def _reduce(specs: Sequence[RunSpec], problems: Sequence[Problem]) -> list[RunResult]:
    """Fit the runs' methods alone, and return what these measure of the training split."""
    outcomes = [outcome for job in zip(specs, problems, strict=True) for outcome in cells.learn([job])]
    return [
        one if isinstance(one, RunResult) else RunResult(one.spec.key, "done", values=one.values) for one in outcomes
    ]


def _best(rule: Mapping[str, Scalar], tried: Sequence[Values]) -> int | None:
    """Return the place of the candidate to take; None where none has the number that it is chosen by."""
    number = _NUMBERS[str(rule[CHOOSE_BY])]
    known = {place: values for place, values in enumerate(tried) if number in values}
    if not known:
        return None
    if number == "validation_error_percent":
        return min(known, key=lambda place: (known[place][number], known[place]["dimensionality"], place))
    retain = cast("float", rule[CHOOSE_RETAIN])
    enough = [place for place, values in known.items() if values[number] >= retain - _ROUNDING]
    if not enough:
        return max(known, key=lambda place: (known[place][number], -place))
    return min(enough, key=lambda place: (known[place]["dimensionality"], -known[place][number], place))
