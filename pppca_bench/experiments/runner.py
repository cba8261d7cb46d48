"""Carry out a plan: skip what is done, fan out over processes, record as results come, survive."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, partial
from multiprocessing.process import BaseProcess
from pathlib import Path

from pppca_bench.errors import ConfigError
from pppca_bench.experiments.provenance import describe
from pppca_bench.experiments.queue import Group, Worklist, pending, spec_of
from pppca_bench.problems import Problem, load_problem
from pppca_bench.runs import ProblemFacts, RunResult, RunSpec, failed
from pppca_bench.store.database import Span, Store

Progress = Callable[[int, int], None]
Computed = tuple[list[RunResult], Span | None]


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
    n_left : int
        Runs that were not tried because another one had failed.
    """

    n_planned: int
    n_reused: int
    n_done: int
    n_failed: int
    n_outdated: int
    first_error: str | None
    n_left: int = 0


def available_cores() -> int:
    """Return the number of processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def load_problems(
    names: Iterable[str], data_dir: Path | None, own_files: Mapping[str, Path] | None = None
) -> dict[str, Problem]:
    """Load the problems that a plan names.

    Raises
    ------
    DataError
        A file is missing or damaged.
    ConfigError
        A problem is none of classification, or lacks examples to validate or to test with.
    """
    problems = {name: load_problem(_file(name, own_files), data_dir) for name in dict.fromkeys(names)}
    for name, problem in problems.items():
        if problem.task != "classification":
            raise ConfigError(
                f"{name}: expected a classification problem, got {problem.task}. Take it out of `problems:`."
            )
        sizes = len(problem.X_train), len(problem.X_validation), len(problem.X_test)
        if 0 in sizes:
            raise ConfigError(
                f"{name}: expected training, validation and test examples, got {' / '.join(map(str, sizes))}."
                " Split its examples anew, or take it out of `problems:`."
            )
    return problems


def run(
    specs: Sequence[RunSpec],
    store: Store,
    *,
    data_dir: Path | None = None,
    own_files: Mapping[str, Path] | None = None,
    configs: Mapping[str, str] | None = None,
    workers: int = 1,
    fresh: bool = False,
    retries: int = 0,
    fail_fast: bool = False,
    progress: Progress | None = None,
) -> Outcome:
    """Compute the runs that the store lacks; each result is recorded as soon as its group is done.

    Parameters
    ----------
    specs : sequence of RunSpec
        Planned runs, already known to the store (``Store.plan``).
    store : Store
        Where results go; of the processes of this call, only this one writes to it.
    data_dir : Path, optional
        First place to look for Proben1 files.
    own_files : mapping of str to Path, optional
        Where the user's own ``.dt`` files are, by their names in ``specs``; by default, where the names say.
    configs : mapping of str to str, optional
        SHA-256 of each config behind ``specs``, by its name, for the results' provenance.
    workers : int, default 1
        Number of worker processes; 0 computes in this process. No result depends on it.
    fresh : bool, default False
        Compute again what the store has.
    retries : int, default 0
        Further attempts at a run that failed or whose worker died.
    fail_fast : bool, default False
        Stop at the first run that failed and has no attempt left; what is done by then is kept.
    progress : callable(n_finished, n_total), optional
        Called at the start and after every group.

    Returns
    -------
    Outcome
    """
    _problem.cache_clear()
    problems = load_problems((spec.problem for spec in specs), data_dir, own_files)
    digests = {name: problem.sha256 for name, problem in problems.items()}
    store.describe_problems([_facts(name, problem) for name, problem in problems.items()])
    missing, n_outdated = (list(specs), 0) if fresh else pending(specs, store, digests)
    # The largest problems first: a long group begun last would leave the other workers idle.
    missing.sort(key=lambda spec: problems[spec.problem].X_train.size, reverse=True)
    work = Worklist(missing, store, digests, fresh=fresh, retries=retries)
    sources = {name: (_file(name, own_files), data_dir) for name in problems}
    progress = progress or (lambda *_: None)
    progress(0, len(missing))
    provenance = describe(configs)
    tally = _Tally()
    with closing(_execute(work, workers, sources)) as computed:
        for group, (results, span) in computed:
            store.record(results, provenance, replace=fresh, span=span)
            tally.add(group, [result for result in results if not work.put_back(group, result)])
            progress(len(tally.finished), len(missing))
            if fail_fast and tally.n_failed:
                break
    store.release_claims()
    return tally.outcome(len(specs), len(specs) - len(missing) + work.n_done_elsewhere, n_outdated)


def _facts(name: str, problem: Problem) -> ProblemFacts:
    sizes = (len(problem.X_train), len(problem.X_validation), len(problem.X_test))
    return ProblemFacts(name, problem.sha256, problem.n_features, problem.n_outputs, *sizes)


def _file(name: str, own_files: Mapping[str, Path] | None) -> str:
    return str((own_files or {}).get(name, name))


@dataclass
class _Tally:
    """Count what became of the runs."""

    finished: set[str] = field(default_factory=set)
    n_failed: int = 0
    first_error: str | None = None

    def add(self, group: Group, results: Sequence[RunResult]) -> None:
        """Count the last results of a group's runs."""
        self.finished.update(result.key for result in results)
        failures = [result for result in results if result.status == "failed"]
        self.n_failed += len(failures)
        if failures and self.first_error is None:
            self.first_error = _error_line(spec_of(group, failures[0]), failures[0])

    def outcome(self, n_planned: int, n_reused: int, n_outdated: int) -> Outcome:
        """Sum up."""
        n_left = n_planned - n_reused - len(self.finished)
        n_done = len(self.finished) - self.n_failed
        return Outcome(n_planned, n_reused, n_done, self.n_failed, n_outdated, self.first_error, n_left)


def _error_line(spec: RunSpec, failure: RunResult) -> str:
    cause = (failure.error or "unknown cause").strip().splitlines()[-1]
    setting = f"tau {spec.tau:g}, " if spec.tau is not None else ""
    return f"{spec.problem}, {spec.method}, {setting}repeat {spec.repeat}: {cause}"


Sources = Mapping[str, tuple[str, Path | None]]
"""What to load each problem by: its name or file, and the first folder to look in."""


def _execute(work: Worklist, workers: int, sources: Sources) -> Generator[tuple[Group, Computed]]:
    """Run the groups, those of timed methods last, one after another in a process of their own."""
    for timed in (False, True):
        take = partial(work.take, timed=timed)
        if workers == 0:
            for group in iter(take, None):
                yield group, _run_group(group, *sources[group[0].problem])
        else:
            yield from _execute_in_processes(take, 1 if timed else workers, sources)


def _execute_in_processes(
    take: Callable[[], Group | None], workers: int, sources: Sources
) -> Iterator[tuple[Group, Computed]]:
    in_flight: dict[Future[Computed], Group] = {}
    pool: ProcessPoolExecutor | None = None
    try:
        while True:
            while len(in_flight) < 2 * workers and (group := take()):
                pool = pool or _new_pool(workers)
                in_flight[_submit(pool, group, sources)] = group
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
                pool = None
                yield from _run_alone(lost, sources)
        if pool is not None:
            pool.shutdown()  # its thread has to end before the interpreter does, or it may complain
    except GeneratorExit:
        raise
    except BaseException:  # Ctrl-C or SIGTERM
        _stop_fork_server()
        raise
    finally:
        _stop(pool)


def _submit(pool: ProcessPoolExecutor, group: Group, sources: Sources) -> Future[Computed]:
    """Hand a group to the pool; a worker that died since the last look is told by the future, as any other."""
    try:
        return pool.submit(_run_group, group, *sources[group[0].problem])
    except BrokenProcessPool as error:
        lost: Future[Computed] = Future()
        lost.set_exception(error)
        return lost


def _run_alone(groups: Iterable[Group], sources: Sources) -> Iterator[tuple[Group, Computed]]:
    """Run one by one what was under way when a worker died, to find the run that kills its worker."""
    pool = _new_pool(1)
    try:
        for spec in itertools.chain.from_iterable(groups):
            future = _submit(pool, (spec,), sources)
            if isinstance(future.exception(), BrokenProcessPool):
                digest = load_problem(*sources[spec.problem]).sha256
                yield (spec,), ([failed(spec, digest, "the worker process died (killed, or out of memory)")], None)
                pool = _new_pool(1)
            else:
                yield (spec,), future.result()
        pool.shutdown()
    finally:
        _stop(pool)


def _new_pool(workers: int) -> ProcessPoolExecutor:
    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
    if context.get_start_method() == "forkserver":
        context.set_forkserver_preload(["pppca_bench.experiments.cell"])
        _start_fork_server()
    return ProcessPoolExecutor(workers, mp_context=context, initializer=_prepare_worker)


def _start_fork_server() -> None:
    """Start the server that forks the workers, deaf to Ctrl-C: a terminal sends it to every process."""
    from multiprocessing import forkserver, resource_tracker

    resource_tracker.ensure_running()  # first, since it unblocks the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _stop_fork_server() -> None:
    """End the server at once: still starting, it would fork workers for a parent that is gone, which then complain."""
    from multiprocessing import forkserver

    # Its number is none of the public interface: where it is not found, the workers may complain.
    number = getattr(getattr(forkserver, "_forkserver", None), "_forkserver_pid", None)
    if number is not None:
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)


def _stop(pool: ProcessPoolExecutor | None) -> None:
    if pool is not None:
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


def _run_group(group: Group, source: str, data_dir: Path | None) -> Computed:
    problem = _problem(source, data_dir)
    started_at, start = datetime.now(UTC).isoformat(timespec="milliseconds"), time.perf_counter()
    try:
        results = _computed(group, problem)
    except Exception:  # noqa: BLE001 the boundary: one broken run must not end the others
        results = [failed(spec, problem.sha256, traceback.format_exc()) for spec in group]
    return results, Span(started_at, 1e3 * (time.perf_counter() - start))


def _computed(group: Group, problem: Problem) -> list[RunResult]:
    # Slow to import, and not needed where nothing is left to do.
    from threadpoolctl import threadpool_limits

    from pppca_bench.experiments import cell as experiment

    with threadpool_limits(1):  # sums of several threads round differently
        if group[0].method not in _warmed:
            experiment.warm_up(group[0])
            _warmed.add(group[0].method)
        return experiment.run_group(group, problem)


_problem = cache(load_problem)
_warmed: set[str] = set()
