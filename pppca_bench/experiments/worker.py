"""Computation of a group of runs in a worker: data, warm-up, one thread for linear algebra, failures."""

from __future__ import annotations

import io
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import nullcontext, redirect_stdout, suppress
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from pppca_bench.compiled import cache
from pppca_bench.experiments.queue import Group, is_timed, same_problem
from pppca_bench.experiments.timing import machine_lock
from pppca_bench.methods.registry import CLASSIFIERS, METHODS
from pppca_bench.problems import Problem
from pppca_bench.runs import RunResult, RunSpec, by_cell, failed
from pppca_bench.store.database import Span

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

Computed = tuple[list[RunResult], Span | None]
Loads = Mapping[Hashable, Callable[[], Problem]]
"""Functions that return the problems of a group, by `same_problem`."""

_warmed: set[Hashable] = set()
"""Methods that this process has called, with their classifiers and kernels."""


def needed_families(specs: Iterable[RunSpec]) -> set[str]:
    """Return the families of kernels that runs call, by the registry entries of their methods and classifiers."""
    names = {name for cell in by_cell(specs) for name, _ in cell.algorithms}
    entries = [table[name] for table in (METHODS, CLASSIFIERS) for name in names if name in table]
    return {family for entry in entries for family in entry.kernels}


def compile_kernels(family: str) -> None:
    """Compile a family of kernels; the runs that call them record a failure."""
    with suppress(Exception):
        cache.compile_family(family)


def compute(group: Group, loads: Loads) -> Computed:
    """Compute a group; an exception gives failed results with the traceback."""
    with machine_lock() if is_timed(group[0].cell) else nullcontext():
        started_at, start = datetime.now(UTC).isoformat(timespec="milliseconds"), time.perf_counter()
        results = _results(group, loads)
        return results, Span(started_at, 1e3 * (time.perf_counter() - start))


def _results(group: Group, loads: Loads) -> list[RunResult]:
    """Return the results of a group; after an exception each cell is computed apart."""
    try:
        opened = {of: loads[of]() for of in set(map(same_problem, group))}
        return _computed(group, [opened[same_problem(spec)] for spec in group])
    except (Exception, SystemExit):  # noqa: BLE001 the boundary: one broken run must not end the others
        cells = by_cell(group).values()
        if len(cells) > 1:
            return [result for own in cells for result in _results(tuple(own), loads)]
        return [failed(spec, traceback.format_exc()) for spec in group]


def _computed(group: Group, problems: Sequence[Problem]) -> list[RunResult]:
    # Slow to import, and not needed where nothing is left to do.
    from pppca_bench.experiments.choosing import run_group

    with _thread_pools(len(sys.modules)).limit(limits=1):  # sums of several threads round differently
        cell, families = group[0].cell, needed_families(group)
        called = cell.method, dict(cell.classifier).get("rule"), frozenset(families)
        if called not in _warmed:
            if families:
                _warm_up(group[0], problems[0])
            _warmed.add(called)
        return run_group(group, problems)


@lru_cache(maxsize=1)
def _thread_pools(_n_modules: int) -> ThreadpoolController:
    """Return the libraries that compute in threads, looked up again whenever a module was imported."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _warm_up(spec: RunSpec, problem: Problem) -> None:
    """Warm up a run's method and classifier.

    Third-party estimators may reject the warm-up data, warn of them, or print; ignore that.
    """
    from pppca_bench.experiments.cell import warm_up
    from pppca_bench.experiments.choosing import candidates, settled

    call = partial(warm_up, settled(spec, candidates(spec.cell)[0]), problem)
    if all(name in METHODS or name in CLASSIFIERS for name, _ in spec.cell.algorithms):
        call()
        return
    with suppress(Exception, SystemExit), warnings.catch_warnings(action="ignore"), redirect_stdout(io.StringIO()):
        call()
