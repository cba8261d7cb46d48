"""Choice of settings within a run, by validation error or retained variance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from pppca_bench.experiments import cell as cells
from pppca_bench.problems import Problem
from pppca_bench.runs import (
    CHOOSE,
    CHOOSE_BY,
    CHOSEN,
    Parameters,
    RunResult,
    RunSpec,
    Scalar,
    candidates,
    failed_result,
    grouped,
)
from pppca_bench.store.choices import best_candidate, values_of_candidates


def with_settings(spec: RunSpec, chosen: Parameters) -> RunSpec:
    """Return a run with the chosen settings; its key and seed are unchanged."""
    given = {name: value for name, value in spec.cell.parameters if not name.startswith(CHOOSE)}
    parameters: dict[str, Scalar] = given | dict(chosen)
    return replace(spec, cell=replace(spec.cell, parameters=tuple(sorted(parameters.items()))))


def with_choice(spec: RunSpec, result: RunResult) -> RunSpec:
    """Return a completed run with the settings that it chose."""
    return next(
        with_settings(spec, candidate)
        for candidate in candidates(spec.cell)
        if all(result.values[f"{CHOSEN}{name}"] == value for name, value in candidate)
    )


def choose_and_run(specs: Sequence[RunSpec], problems: Sequence[Problem]) -> list[RunResult]:
    """Run repeats of a cell as `cell.run_group` does, after they have chosen their settings.

    The candidates of a run have its seed. Their problem has a copy of the validation split in place of the test split,
    so that the choice cannot depend on the test split; then the chosen candidate learns again, and is tested.

    `best_candidate` chooses; failed candidates are ignored. Choices such as ``chosen_tau``, and the values of all
    candidates that were compared, are among the values of the results.
    """
    among, rule = candidates(specs[0].cell), dict(specs[0].cell.parameters)
    if among == [()]:
        return cells.run_group(specs, problems)
    blinded = cache(
        lambda problem: replace(problem, X_test=problem.X_validation, y_test=problem.y_validation)
    )
    blind = list(map(blinded, problems))
    only_method = rule[CHOOSE_BY] == "retained_variance"
    tried = [
        cells.run_group(
            [with_settings(spec, candidate) for spec in specs], blind, only_method=only_method
        )
        for candidate in among
    ]
    results = [
        failed_result(spec, first.error or f"no candidate has a value of {rule[CHOOSE_BY]}")
        for spec, first in zip(specs, tried[0], strict=True)
    ]
    compared = [[outcome.values for outcome in outcomes] for outcomes in zip(*tried, strict=True)]
    best = [best_candidate(rule, values) for values in compared]
    for choice, indices in grouped(range(len(specs)), best.__getitem__).items():
        if choice is None:
            continue
        chosen: dict[str, Any] = {f"{CHOSEN}{name}": value for name, value in among[choice]}
        again = [with_settings(specs[index], among[choice]) for index in indices]
        tested = cells.run_group(again, [problems[index] for index in indices])
        for index, result in zip(indices, tested, strict=True):
            results[index] = result
            if result.status == "done":
                n_failed = sum(outcomes[index].status == "failed" for outcomes in tried)
                values = {**result.values, **chosen, "failed_candidates": n_failed}
                values |= values_of_candidates(specs[index].cell, compared[index])
                results[index] = replace(result, values=values)
    return results
