"""Computation of a group of runs in a worker: data, warm-up, one thread for linear algebra, failures."""

from __future__ import annotations

import io
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import redirect_stdout, suppress

from pppca_bench.compiled import cache
from pppca_bench.config.plan import algorithms_of
from pppca_bench.experiments.queue import Group, same_problem
from pppca_bench.methods.registry import CLASSIFIERS, METHODS
from pppca_bench.problems import Problem
from pppca_bench.runs import Cell, RunResult, RunSpec, by_cell, candidates, failed_result

Computed = list[RunResult]
Loads = Mapping[Hashable, Callable[[], Problem]]
"""Functions that load the problems of a group, by `same_problem`."""

SHARE_S = 1.0
"""Time of third-party runs in a group, in seconds: saving a run takes 0.04 s, so that short runs are saved together."""

_warmed: set[Hashable] = set()
"""Methods that this process has warmed up, with their classifiers and kernels."""


def needed_families(specs: Iterable[RunSpec]) -> set[str]:
    """Return the families of kernels that runs call, by the registry entries of their methods and classifiers."""
    names = {name for cell in by_cell(specs) for name, _ in cell.algorithms}
    entries = [table[name] for table in (METHODS, CLASSIFIERS) for name in names if name in table]
    return {family for entry in entries for family in entry.kernels}


def compile_kernels(family: str) -> None:
    """Compile a family of kernels; a failure is recorded by the runs that call the kernels."""
    with suppress(Exception):
        cache.compile_family(family)


def third_party_group(cell: Cell) -> Hashable:
    """Return the names of a cell's third-party code and data, which share workers with no others, or None."""
    names = tuple(name for name, version in cell.algorithms if isinstance(version, str))
    return (names, cell.problem, cell.data_sha256) if names else None


def prepare(group: Group, loads: Loads) -> None:
    """Load the data of a group and warm up, so that this counts for no time limit; `compute` records the failures."""
    with suppress(Exception):
        problems = _opened(group, loads)
        _warm_up_once(group, problems[0])


def compute(group: Group, loads: Loads) -> Computed:
    """Compute a group; an exception gives failed results with the traceback.

    After an exception each cell is computed by itself.
    Runs of third-party code, which may be slow, are computed one by one: after `SHARE_S` only the first runs of a group
    have results, so that these are saved.
    """
    if len(group) > 1 and group[0].cell.is_third_party:
        results, end = list[RunResult](), time.perf_counter() + SHARE_S
        while len(results) < len(group) and (not results or time.perf_counter() < end):
            results += compute((group[len(results)],), loads)
        return results
    try:
        return _computed(group, loads)
    except BaseException as error:  # the boundary: one broken run must not end the others
        if (
            isinstance(error, KeyboardInterrupt)
            and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
        ):
            raise  # Ctrl-C, which workers ignore
        cells = by_cell(group).values()
        if len(cells) > 1:
            return [result for specs in cells for result in compute(tuple(specs), loads)]
        return [failed_result(spec, traceback.format_exc()) for spec in group]


def check_versions(cell: Cell) -> None:
    """Raise ValueError if the third-party code in this process differs from the code with which runs were planned."""
    now = dict(algorithms_of(cell.method, cell.classifier))
    for name, version in cell.algorithms:
        if isinstance(version, str) and version != (loaded := now.get(name)):
            raise ValueError(
                f"{name}: expected the code {version}, which was planned, got {loaded}, which this process has loaded."
                " Start the workers again."
            )


def _computed(group: Group, loads: Loads) -> list[RunResult]:
    # Slow to import, and not needed if no run is left to do.
    from threadpoolctl import threadpool_limits

    from pppca_bench.experiments.choosing import choose_and_run

    check_versions(group[0].cell)
    problems = _opened(group, loads)
    _warm_up_once(group, problems[0])
    with threadpool_limits(1):  # sums over several threads round differently
        return choose_and_run(group, problems)


def _opened(group: Group, loads: Loads) -> list[Problem]:
    """Return the problem of each run, each loaded once."""
    opened = {of: loads[of]() for of in set(map(same_problem, group))}
    return [opened[same_problem(spec)] for spec in group]


def _warm_up_once(group: Group, problem: Problem) -> None:
    """Warm up the kernels of a group's method and classifier, unless this process has done so."""
    from threadpoolctl import threadpool_limits

    families = needed_families(group)
    cell = group[0].cell
    called = cell.method, cell.classifier.get("rule"), frozenset(families)
    if families and called not in _warmed:
        with threadpool_limits(1):
            _warm_up(group[0], problem)
        _warmed.add(called)


def _warm_up(spec: RunSpec, problem: Problem) -> None:
    """Warm up a run's method and classifier, which may reject the random data, warn, or print."""
    from pppca_bench.experiments.cell import warm_up
    from pppca_bench.experiments.choosing import with_settings

    with (
        suppress(Exception, SystemExit),
        warnings.catch_warnings(action="ignore"),
        redirect_stdout(io.StringIO()),
    ):
        warm_up(with_settings(spec, candidates(spec.cell)[0]), problem)
