"""Results made by hand for every cell that our own runs can answer, so that no test has to run them all."""

from dataclasses import replace

import numpy as np

from pppca_bench.references.layouts import LAYOUTS, PROBLEMS
from pppca_bench.references.published import published
from pppca_bench.reporting.summary import Results
from pppca_bench.reporting.tables import Table, build_tables
from pppca_bench.runs import ProblemFacts, RunResult, RunSpec, Source

PIVOT = (("hidden", (4, 2)), ("shortcuts", True))
ERROR_STEP = 100 / 172


def published_sizes(problem: str) -> ProblemFacts:
    """Return a problem's sizes as the slides print them; made up where they print none."""
    places = {"features": "features", "classes": "classes"} | dict.fromkeys(("train", "validation", "test"), "sizes")
    numbers = [published("T0", problem, column, quantity) for quantity, column in places.items()]
    return ProblemFacts(problem, "a", *(9 if number is None else int(number.value) for number in numbers))


FACTS = {problem: published_sizes(problem) for problem in PROBLEMS}


def full_runs(n_repeats: int, seed: int = 0) -> list[tuple[RunSpec, RunResult]]:
    """Return runs of every source of the layouts, spread about the published numbers.

    Errors stand on the grid of 172 test examples, dimensionalities are whole, operation ratios any number.
    """
    rng = np.random.default_rng(seed)
    centres: dict[Source, dict[str, float]] = {}
    for layout in LAYOUTS:
        for row in layout.rows:
            for column in layout.columns:
                source = layout.source(row, column)
                if source is not None:
                    centre = centres.setdefault(source, {})
                    for quantity in ("error_percent", "dimensionality", "speedup"):
                        number = published(layout.table, row, column, quantity)
                        if number is not None:
                            centre.setdefault(quantity, number.value)
    return [
        run
        for index, (source, centre) in enumerate(centres.items())
        for run in _runs_of(source, centre, index, n_repeats, rng)
    ]


def _runs_of(
    source: Source, centre: dict[str, float], index: int, n_repeats: int, rng: np.random.Generator
) -> list[tuple[RunSpec, RunResult]]:
    settings = {
        kind: tuple(s for s in source.settings if s[0].startswith(kind)) for kind in ("parameter", "classifier")
    }
    parameters, network = (tuple((name.partition(".")[2], value) for name, value in s) for s in settings.values())
    place = (source.problem, source.method, parameters, source.tau, source.data_fraction)
    error_spread, spread = rng.uniform(0.5, 3), rng.uniform(0.02, 0.15)
    runs = []
    for repeat in range(n_repeats):
        spec = RunSpec(f"{index:04x}{repeat:028x}", *place, repeat, repeat, network or PIVOT)
        error = max(0, round(rng.normal(centre.get("error_percent", 5), error_spread) / ERROR_STEP)) * ERROR_STEP
        size = centre.get("dimensionality", 5)
        operations = centre.get("speedup", 5) * rng.normal(1, spread)
        result = RunResult(
            spec.key,
            "done",
            "a",
            dimensionality=max(1, round(rng.normal(size, spread * size))),
            test_error_percent=error,
            measures={"speedup": 1.1 * operations, "speedup_operations": operations}
            if source.method == "dgha_speedup"
            else {},
        )
        runs.append((spec, result))
    return runs


def full_tables(n_repeats: int, seed: int = 0) -> list[Table]:
    """Return the filled tables of `full_runs`."""
    return build_tables(Results(full_runs(n_repeats, seed)), FACTS)


def with_changed_run(runs: list[tuple[RunSpec, RunResult]], index: int, **changes: object) -> list:
    """Return the runs with one result changed."""
    return [(s, replace(r, **changes)) if i == index else (s, r) for i, (s, r) in enumerate(runs)]
