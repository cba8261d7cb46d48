"""Carry out a plan: skip what is done, hand the rest to workers, record results as they come, survive."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Collection, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ALL_COMPLETED, Future
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial

from pppca_bench.compiled import cache
from pppca_bench.experiments import quiet
from pppca_bench.experiments.backends import PRELOAD, Backend, LocalProcesses, ThisProcess
from pppca_bench.experiments.provenance import describe
from pppca_bench.experiments.queue import TASK_S, Group, Queue, Task, same_problem, spec_of
from pppca_bench.experiments.watch import Watch
from pppca_bench.experiments.worker import Computed, Loads, compile_kernels, compute, compute_task, needed_families
from pppca_bench.problems import Problem, ProblemSource, load_again
from pppca_bench.runs import ProblemFacts, RunResult, RunSpec, by_cell, cause_of, failed
from pppca_bench.store.database import Store

Progress = Callable[[int, int], None]
Tell = Callable[[str], None]
Finished = list[tuple[Group, Computed]]
COMPILING = "compiling kernels, once"
ATTEMPTS_ALONE = 2
"""How often a run is tried alone whose worker dies: what dies once may have been killed for the sake of another."""
OpenProblems = Mapping[tuple[str, str], tuple[ProblemSource, Problem]]
"""Problems by the name and the digest that cells have of them."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Count what a call of `run` did.

    Attributes
    ----------
    n_planned, n_reused, n_done, n_failed : int
        Runs asked for, found in the store, computed now, and failed now.
    first_error : str or None
        Last line of the first failed run's traceback, after the run's description.
    n_left : int
        Runs that were not tried because another one had failed.
    """

    n_planned: int
    n_reused: int
    n_done: int
    n_failed: int
    first_error: str | None
    n_left: int = 0


def available_cores() -> int:
    """Return the number of processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run(
    specs: Sequence[RunSpec],
    store: Store,
    problems: OpenProblems,
    *,
    configs: Mapping[str, str] | None = None,
    workers: int = 1,
    new_backend: Callable[[], Backend] | None = None,
    backend: Backend | None = None,
    fresh: bool = False,
    retries: int = 0,
    fail_fast: bool = False,
    progress: Progress | None = None,
    stage: Tell | None = None,
    warn: Tell | None = None,
) -> Outcome:
    """Compute the runs that the store lacks; each result is recorded as soon as its group is done.

    Parameters
    ----------
    specs : sequence of RunSpec
        Planned runs, already known to the store (``Store.plan``).
    store : Store
        Where results go; of the processes of this call, only this one writes to it.
    problems : mapping of (str, str) to (ProblemSource, Problem)
        The problems of the specs' cells, by name and digest; of those with several splits the first.
    configs : mapping of str to str, optional
        SHA-256 of each config behind ``specs``, by its name, for the results' provenance.
    workers : int, default 1
        Number of worker processes; 0 computes in this process. No result depends on it.
    new_backend : callable(), optional
        Makes what computes instead, such as the workers of any executor (`backends.Executors`), where something is to
        be computed; it is closed at the end.
    backend : Backend, optional
        Computes instead, and stays open for further calls.
    fresh : bool, default False
        Compute again what the store has.
    retries : int, default 0
        Further attempts at a run that failed or whose worker died.
    fail_fast : bool, default False
        Stop at the first run that failed and has no attempt left; what is done by then is kept.
    progress : callable(n_finished, n_total), optional
        Called at the start and after every group.
    stage : callable(text), optional
        Called with what is done before the runs where that takes time, and with "" when they begin.
    warn : callable(text), optional
        Called with what makes the runs slower than they need be.

    Returns
    -------
    Outcome
    """
    store.describe_problems([_facts(name, *opened) for (name, _), opened in problems.items()])
    missing = _missing(specs, set() if fresh else store.done(spec.key for spec in specs), problems)
    progress = progress or (lambda *_: None)
    progress(0, len(missing))
    provenance, tally, warn = describe(configs), _Tally(), warn or _unheard
    backends: AbstractContextManager[Backend] = (
        nullcontext(backend) if backend else ended(new_backend() if new_backend and missing else local(workers))
    )
    with backends as used:
        n_workers = used.n_workers
        queue = Queue(
            missing,
            store,
            fresh=fresh,
            retries=retries,
            data_of=lambda spec: _shape_of(spec, problems),
            # Of groups that are handed over together all are computed, whatever fails.
            task_s=0.0 if fail_fast else TASK_S,
            n_workers=n_workers,
        )
        watch = Watch(used, warn)
        _compile(needed_families(missing), watch, stage or _unheard, warn)
        for finished in _execute(queue, watch, problems, warn):
            with store.transaction():
                for _, (results, span) in finished:
                    store.record(results, provenance, replace=fresh, span=span)
            for group, (results, span) in finished:
                tally.add(group, [result for result in results if not queue.put_back(group, result)])
                if span is not None:
                    queue.learn(group, span.duration_ms / 1e3)
            progress(len(tally.finished), len(missing))
            if fail_fast and tally.n_failed:
                if backend is None:
                    used.kill()
                else:
                    used.renew(n_workers)
                break
        if backend is not None and used.n_workers != n_workers:  # timed runs had one alone
            used.renew(n_workers)
    store.release()
    return tally.outcome(len(specs), len(specs) - len(missing) + queue.n_done_elsewhere)


def _missing(specs: Iterable[RunSpec], done: Collection[str], problems: OpenProblems) -> list[RunSpec]:
    """Return the runs that are to be computed.

    The largest problems come first: a long group begun last would leave the other workers idle.
    """
    cells = by_cell(spec for spec in specs if spec.key not in done)
    largest_first = sorted(cells.values(), key=lambda own: _of(own[0], problems)[1].X_train.size, reverse=True)
    return list(itertools.chain.from_iterable(largest_first))


def local(workers: int) -> Backend:
    """Return what computes in so many processes of this machine; with 0 in this one."""
    return LocalProcesses(workers, PRELOAD) if workers else ThisProcess()


@contextmanager
def ended(backend: Backend) -> Iterator[Backend]:
    """Close what computes; it is killed at Ctrl-C, SIGTERM, or when the store cannot be written."""
    with ExitStack() as on_failure:
        on_failure.callback(backend.kill)
        yield backend
        backend.close()
        on_failure.pop_all()


def _compile(families: Container[str], watch: Watch, stage: Tell, warn: Tell) -> None:
    """Compile what is not kept of the families, side by side, so that workers find it and nobody compiles it twice.

    Where nothing can be kept, each worker has to compile its own, before its first run.
    """
    # In the table's order, the longest first: one begun last would leave the other workers idle.
    missing = [family for family in cache.FAMILIES if family in families and not cache.is_compiled(family)]
    if not missing:
        return
    if (refusal := cache.refusal()) is not None:
        warn(refusal)
        return
    for path in cache.damaged():
        warn(f"{path} is damaged: its kernel is compiled anew.")
    stage(COMPILING)
    backend = watch.backend
    futures = [backend.submit(compile_kernels, family) for family in missing]
    watch.wait(futures, ALL_COMPLETED)
    if any(map(backend.has_lost, futures)):  # the runs will tell whether it was for lack of memory
        backend.renew(backend.n_workers)
    stage("")


def _unheard(_text: str) -> None:
    """Do nothing."""


def _facts(name: str, source: ProblemSource, problem: Problem) -> ProblemFacts:
    return ProblemFacts(
        name,
        problem.sha256,
        problem.task,
        family=name if source.is_own else source.family,
        n_features=problem.n_features,
        n_outputs=problem.n_outputs,
        n_train=len(problem.X_train),
        n_validation=len(problem.X_validation),
        n_test=len(problem.X_test),
        n_splits=source.n_splits,
    )


def _of(spec: RunSpec, problems: OpenProblems) -> tuple[ProblemSource, Problem]:
    return problems[spec.cell.problem, spec.cell.data_sha256]


def _shape_of(spec: RunSpec, problems: OpenProblems) -> Hashable:
    """Return what data must have in common for networks to train on them side by side."""
    source, problem = _source_of(spec, problems), _of(spec, problems)[1]
    if source.is_own:  # several tables of one's own may not fit into memory
        return same_problem(spec), source.split
    return problem.task, problem.X_train.shape, len(problem.X_validation), problem.n_outputs


def _source_of(spec: RunSpec, problems: OpenProblems) -> ProblemSource:
    """Return the source of the split that a run has."""
    return _of(spec, problems)[0].of_repeat(spec.repeat)


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

    def outcome(self, n_planned: int, n_reused: int) -> Outcome:
        """Sum up."""
        n_left = n_planned - n_reused - len(self.finished)
        return Outcome(n_planned, n_reused, len(self.finished) - self.n_failed, self.n_failed, self.first_error, n_left)


def _error_line(spec: RunSpec, failure: RunResult) -> str:
    tau = spec.cell.settings.get("tau")
    setting = f"tau {tau:g}, " if isinstance(tau, float) else ""
    return f"{spec.cell.problem}, {spec.cell.method}, {setting}repeat {spec.repeat}: {cause_of(failure.error)}"


def _execute(queue: Queue, watch: Watch, problems: OpenProblems, warn: Tell) -> Iterator[Finished]:
    """Compute the groups; timed ones last, one after another, with nothing beside them."""
    yield from _fan_out(lambda: queue.next(timed=False), watch, problems)
    if first := queue.next(timed=True):
        if (hindrance := quiet.hindrance()) is not None:
            warn(hindrance)
        watch.backend.renew(1)
        waiting = itertools.chain([first], iter(lambda: queue.next(timed=True), None))
        yield from _fan_out(lambda: next(waiting, None), watch, problems)


def _fan_out(take: Callable[[], Task | None], watch: Watch, problems: OpenProblems) -> Iterator[Finished]:
    """Keep every worker busy, and yield what is finished together."""
    backend = watch.backend
    in_flight: dict[Future[list[Computed]], Task] = {}
    while True:
        while len(in_flight) < backend.n_held and (task := take()):
            in_flight[_submit(task, backend, problems)] = task
        if not in_flight:
            return
        lost: list[Group] = []
        finished: Finished = []
        for future in watch.wait(in_flight):
            task = in_flight.pop(future)
            if backend.has_lost(future):
                lost.extend(task)
            else:
                finished.extend(zip(task, future.result(), strict=True))
        if finished:
            yield finished
        if lost:
            # Which of the groups under way killed the worker is unknown: each run is tried again, alone.
            lost.extend(group for task in in_flight.values() for group in task)
            in_flight.clear()
            yield from _run_alone(lost, watch, problems)


def _run_alone(groups: Iterable[Group], watch: Watch, problems: OpenProblems) -> Iterator[Finished]:
    backend, n_workers = watch.backend, watch.backend.n_workers
    backend.renew(1)
    for spec in itertools.chain.from_iterable(groups):
        for _ in range(ATTEMPTS_ALONE):
            future = _submit(((spec,),), backend, problems)
            watch.wait([future])
            if not backend.has_lost(future):
                yield [((spec,), future.result()[0])]
                break
            backend.renew(1)
        else:
            yield [((spec,), ([failed(spec, "the worker process died (killed, or out of memory)")], None))]
    backend.renew(n_workers)


def _submit(task: Task, backend: Backend, problems: OpenProblems) -> Future[list[Computed]]:
    return backend.submit(compute_task, compute, task, [_loads(group, backend, problems) for group in task])


def _loads(group: Group, backend: Backend, problems: OpenProblems) -> Loads:
    """Return how a worker gets the data of a group's problems."""
    sources = {same_problem(spec): (_source_of(spec, problems), _of(spec, problems)[1]) for spec in group}
    return {
        of: backend.loader(source, problem) or partial(load_again, source) for of, (source, problem) in sources.items()
    }
