"""Carry out a plan: skip what is done, fan out over processes, record as results come, survive."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cache
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING

from pppca_bench.errors import ConfigError
from pppca_bench.problems import Problem, load_problem
from pppca_bench.provenance import describe
from pppca_bench.records import ProblemFacts, RunResult, RunSpec, failed

if TYPE_CHECKING:
    from pppca_bench.store import Store

GROUP_SIZE = 16
"""Runs of a cell that train together: two full sets of the classifier's lanes, and little to lose in a crash."""

TIMED_METHODS = frozenset({"dgha_speedup"})
"""Methods whose times are their result, unless they have ``timed: false``: nothing else may run beside them."""

Group = tuple[RunSpec, ...]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Count what a call of `run` did.

    Attributes
    ----------
    n_planned, n_reused, n_done, n_failed : int
        Runs asked for, found in the store, computed now, and failed now.
    n_outdated : int
        Runs in the store that were computed from other data and are computed anew.
    first_error : str or None
        Last line of the first failed run's traceback, after the run's description.
    """

    n_planned: int
    n_reused: int
    n_done: int
    n_failed: int
    n_outdated: int
    first_error: str | None


def available_cores() -> int:
    """Return the number of processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def load_problems(names: Iterable[str], data_dir: Path | None) -> dict[str, Problem]:
    """Load the problems that a plan names.

    Raises
    ------
    DataError
        A file is missing or damaged.
    ConfigError
        A problem is none of classification.
    """
    problems = {name: load_problem(name, data_dir) for name in dict.fromkeys(names)}
    for name, problem in problems.items():
        if problem.task != "classification":
            raise ConfigError(
                f"{name}: expected a classification problem, got {problem.task}. Take it out of `problems:`."
            )
    return problems


def pending(specs: Sequence[RunSpec], store: Store, data_sha256: Mapping[str, str]) -> tuple[list[RunSpec], int]:
    """Return the runs that the store lacks, and how many of them it holds from other data."""
    done = store.done(spec.key for spec in specs)
    wanted = [spec for spec in specs if done.get(spec.key) != data_sha256[spec.problem]]
    outdated = [spec.key for spec in wanted if spec.key in done]
    return wanted, len(outdated)


def run(
    specs: Sequence[RunSpec],
    store: Store,
    *,
    data_dir: Path | None = None,
    workers: int = 1,
    fresh: bool = False,
    progress: Progress | None = None,
) -> Outcome:
    """Compute the runs that the store lacks; each result is recorded as soon as its group is done.

    Parameters
    ----------
    specs : sequence of RunSpec
        Planned runs, already known to the store (``Store.plan``).
    store : Store
        Where results go; only this process writes to it.
    data_dir : Path, optional
        First place to look for Proben1 files.
    workers : int, default 1
        Number of worker processes; 0 computes in this process. No result depends on it.
    fresh : bool, default False
        Compute again what the store has.
    progress : callable(n_finished, n_total), optional
        Called at the start and after every group.

    Returns
    -------
    Outcome
    """
    _problem.cache_clear()
    problems = load_problems((spec.problem for spec in specs), data_dir)
    digests = {name: problem.sha256 for name, problem in problems.items()}
    store.describe_problems([_facts(name, problem) for name, problem in problems.items()])
    missing, n_outdated = (list(specs), 0) if fresh else pending(specs, store, digests)
    progress = progress or (lambda *_: None)
    progress(0, len(missing))
    provenance = describe()
    groups = _groups(sorted(missing, key=_is_timed))
    wanted = groups if fresh else (_still_missing(group, store, digests) for group in groups)
    n_failed, first_error = 0, None
    finished: set[str] = set()
    for group, results in _execute(filter(None, wanted), workers, data_dir):
        store.record(results, provenance, replace=fresh)
        failures = [result for result in results if result.status == "failed"]
        n_failed += len(failures)
        first_error = first_error or (_first_error(group, failures[0]) if failures else None)
        finished.update(spec.key for spec in group)
        progress(len(finished), len(missing))
    n_done = len(finished) - n_failed
    return Outcome(len(specs), len(specs) - len(finished), n_done, n_failed, n_outdated, first_error)


def _facts(name: str, problem: Problem) -> ProblemFacts:
    sizes = (len(problem.X_train), len(problem.X_validation), len(problem.X_test))
    return ProblemFacts(name, problem.sha256, problem.n_features, problem.n_outputs, *sizes)


def _groups(specs: Iterable[RunSpec]) -> Iterator[Group]:
    """Cut each cell's runs into groups of at most GROUP_SIZE, in the plan's order."""
    cells: dict[tuple[object, ...], list[RunSpec]] = {}
    for spec in specs:
        cells.setdefault(spec.cell, []).append(spec)
    for cell in cells.values():
        for start in range(0, len(cell), GROUP_SIZE):
            yield tuple(cell[start : start + GROUP_SIZE])


def _is_timed(spec: RunSpec) -> bool:
    return spec.method in TIMED_METHODS and dict(spec.parameters).get("timed") is not False


def _still_missing(group: Group, store: Store, data_sha256: Mapping[str, str]) -> Group:
    """Drop what another process has done since the plan was made."""
    return tuple(pending(group, store, data_sha256)[0])


def _first_error(group: Group, failure: RunResult) -> str:
    spec = next(spec for spec in group if spec.key == failure.key)
    cause = (failure.error or "unknown cause").strip().splitlines()[-1]
    setting = f"tau {spec.tau:g}, " if spec.tau is not None else ""
    return f"{spec.problem}, {spec.method}, {setting}repeat {spec.repeat}: {cause}"


def _execute(groups: Iterable[Group], workers: int, data_dir: Path | None) -> Iterator[tuple[Group, list[RunResult]]]:
    """Run the groups, those of timed methods last, one after another in a process of their own."""
    for timed, some in itertools.groupby(groups, key=lambda group: _is_timed(group[0])):
        if workers == 0:
            yield from ((group, _run_group(group, data_dir)) for group in some)
        else:
            yield from _execute_in_processes(some, 1 if timed else workers, data_dir)


def _execute_in_processes(
    groups: Iterator[Group], workers: int, data_dir: Path | None
) -> Iterator[tuple[Group, list[RunResult]]]:
    pool = _new_pool(workers)
    in_flight: dict[Future[list[RunResult]], Group] = {}
    try:
        while True:
            for group in itertools.islice(groups, 2 * workers - len(in_flight)):
                in_flight[_submit(pool, group, data_dir)] = group
            if not in_flight:
                break
            finished, _ = wait(in_flight, return_when=FIRST_COMPLETED)
            lost: list[Group] = []
            for future in finished:
                group = in_flight.pop(future)
                if isinstance(future.exception(), BrokenProcessPool):
                    lost.append(group)
                else:
                    yield group, future.result()
            if lost:
                lost.extend(in_flight.values())
                in_flight.clear()
                yield from _run_alone(lost, data_dir)
                pool = _new_pool(workers)
    finally:
        _stop(pool)


def _submit(pool: ProcessPoolExecutor, group: Group, data_dir: Path | None) -> Future[list[RunResult]]:
    """Hand a group to the pool; a worker that died since the last look is told by the future, as any other."""
    try:
        return pool.submit(_run_group, group, data_dir)
    except BrokenProcessPool as error:
        lost: Future[list[RunResult]] = Future()
        lost.set_exception(error)
        return lost


def _run_alone(groups: Iterable[Group], data_dir: Path | None) -> Iterator[tuple[Group, list[RunResult]]]:
    """Run one by one what was under way when a worker died, to find the run that kills its worker."""
    pool = _new_pool(1)
    try:
        for spec in itertools.chain.from_iterable(groups):
            try:
                yield (spec,), pool.submit(_run_group, (spec,), data_dir).result()
            except BrokenProcessPool:
                digest = load_problem(spec.problem, data_dir).sha256
                yield (
                    (spec,),
                    [failed(spec, digest, "the worker process died (killed, or out of memory)")],
                )
                pool = _new_pool(1)
    finally:
        _stop(pool)


def _new_pool(workers: int) -> ProcessPoolExecutor:
    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
    if context.get_start_method() == "forkserver":
        context.set_forkserver_preload(["pppca_bench.experiment"])
    return ProcessPoolExecutor(workers, mp_context=context, initializer=_prepare_worker)


def _stop(pool: ProcessPoolExecutor) -> None:
    pool.shutdown(wait=False, cancel_futures=True)
    for child in multiprocessing.active_children():
        child.kill()


def _prepare_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: BaseProcess) -> None:
    """End this worker when its parent is gone, so that a killed run leaves nothing behind."""
    parent.join()
    os._exit(1)


def _run_group(group: Group, data_dir: Path | None) -> list[RunResult]:
    # Slow to import, and not needed where nothing is left to do.
    from threadpoolctl import threadpool_limits

    from pppca_bench import experiment

    problem = _problem(group[0].problem, data_dir)
    try:
        with threadpool_limits(1):  # sums of several threads round differently
            if group[0].method not in _warmed:
                experiment.warm_up(group[0])
                _warmed.add(group[0].method)
            return experiment.run_group(group, problem)
    except Exception:  # noqa: BLE001 the boundary: one broken run must not end the others
        return [failed(spec, problem.sha256, traceback.format_exc()) for spec in group]


_problem = cache(load_problem)
_warmed: set[str] = set()
