"""Choice of settings within a run, by validation error or retained variance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from pppca_bench.experiments import cell as cells
from pppca_bench.problems import Problem
from pppca_bench.runs import RunResult, RunSpec, Settings, candidates, failed_result, grouped
from pppca_bench.store.choices import Values, best_candidate, choice_of


def with_settings(spec: RunSpec, chosen: Settings) -> RunSpec:
    """Return a run with the chosen settings; its key and seed are unchanged."""
    cell = spec.cell
    parameters = {**cell.parameters, **chosen}
    return replace(spec, cell=replace(cell, parameters=parameters, choose={}))


def with_choice(spec: RunSpec, result: RunResult) -> RunSpec:
    """Return a completed run with the settings that it chose."""
    return with_settings(spec, result.choice.get("chosen", {}))


def choose_and_run(specs: Sequence[RunSpec], problems: Sequence[Problem]) -> list[RunResult]:
    """Run repeats of a cell as `cell.run_group` does, after they have chosen their settings.

    The candidates of a run have its seed. Their problem has a copy of the validation split in place of the test split,
    so that the choice cannot depend on the test split; then the chosen candidate learns again, and is tested.

    `best_candidate` chooses; failed candidates are ignored. The results have the choice, with the values of all
    candidates that were compared.
    """
    cell = specs[0].cell
    if not cell.choose:
        return cells.run_group(specs, problems)
    among = candidates(cell)
    tried = _try_all(specs, problems, among)
    no_value = f"no candidate has a value of {cell.choose['by']}"
    results, compared = list[RunResult](), list[list[Values]]()
    for spec, *outcomes in zip(specs, *tried, strict=True):
        results.append(failed_result(spec, outcomes[0].error or no_value))
        compared.append([outcome.values for outcome in outcomes])
    best = [best_candidate(cell.choose, values) for values in compared]
    for choice, indices in grouped(range(len(specs)), best.__getitem__).items():
        if choice is None:
            continue
        again = [with_settings(specs[index], among[choice]) for index in indices]
        tested = cells.run_group(again, [problems[index] for index in indices])
        for index, result in zip(indices, tested, strict=True):
            results[index] = result
            if result.status == "done":
                chosen = choice_of(cell, choice, compared[index])
                results[index] = replace(result, choice=chosen)
    return results


def _try_all(
    specs: Sequence[RunSpec], problems: Sequence[Problem], among: Sequence[Settings]
) -> list[list[RunResult]]:
    """Return the results of the runs with each candidate, without the test split."""
    blinded = cache(
        lambda problem: replace(problem, X_test=problem.X_validation, y_test=problem.y_validation)
    )
    blind = list(map(blinded, problems))
    only_method = specs[0].cell.choose["by"] == "retained_variance"
    tried = []
    for candidate in among:
        runs = [with_settings(spec, candidate) for spec in specs]
        tried.append(cells.run_group(runs, blind, only_method=only_method))
    return tried
