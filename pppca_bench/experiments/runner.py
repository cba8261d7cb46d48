"""Runner: from plans to recorded results, with recovery from dead workers and failed runs."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Container, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, as_completed, wait
from dataclasses import dataclass
from functools import partial
from operator import attrgetter

from pppca_bench.compiled import cache
from pppca_bench.experiments.executors import Workers, uninterrupted
from pppca_bench.experiments.provenance import provenance_text
from pppca_bench.experiments.queue import DataOf, Group, Queue, same_problem
from pppca_bench.experiments.worker import (
    Computed,
    compile_kernels,
    compute,
    needed_families,
    prepare,
    third_party_group,
)
from pppca_bench.problems import Problem, ProblemSource
from pppca_bench.runs import (
    THRESHOLD,
    Plan,
    ProblemFacts,
    RunResult,
    RunSpec,
    cause_of,
    failed_result,
    grouped,
    n_trainings,
)
from pppca_bench.store.database import Store

ProgressCallback = Callable[[int, int], None]
Notify = Callable[[str], None]
COMPILING = "compiling kernels once (5 to 20 s)"
OpenProblems = Mapping[tuple[str, str], tuple[ProblemSource, Problem]]
"""Problems by name and data digest, as in cells."""


def ignore(*_: object) -> None:
    """Ignore a notice of `run`."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Counts of a call of `run`.

    Attributes
    ----------
    n_planned, n_reused, n_done, n_failed : int
        Runs asked for, already in the store, computed now, and failed now.
    first_error : str or None
        Last line of the first failed run's traceback, after the run's description.
    """

    n_planned: int
    n_reused: int
    n_done: int
    n_failed: int
    first_error: str | None

    @property
    def n_left(self) -> int:
        """Number of runs that were not tried because another run had failed."""
        return self.n_planned - self.n_reused - self.n_done - self.n_failed


def run(
    specs: Sequence[RunSpec],
    store: Store,
    problems: OpenProblems,
    workers: Workers,
    *,
    plans: Sequence[Plan] = (),
    fresh: bool = False,
    retries: int = 0,
    fail_fast: bool = False,
    progress: ProgressCallback = ignore,
    stage: Notify = ignore,
    warn: Notify = ignore,
) -> Outcome:
    """Compute the runs that the store lacks; each result is recorded as soon as its group is done.

    Parameters
    ----------
    specs, plans
        Runs, and the plans that contain them. Plans are recorded first, and named in the provenance of the results;
        without plans, the store must already contain the runs.
    store : Store
        Workers do not write to it.
    problems : mapping of (str, str) to (ProblemSource, Problem)
        The problems of the specs' cells, by name and digest; a problem with several splits is its first split.
    workers : Workers
        They stay open for further calls. No result depends on their number; if they have a time limit, a run that
        exceeds it has failed.
    fresh : bool, default False
        Compute completed runs again.
    retries : int, default 0
        Further attempts at a run that failed or whose worker died.
    fail_fast : bool, default False
        Stop at the first run that failed and has no attempt left; completed runs are recorded.
    progress : callable(n_finished, n_total), optional
        Called at the start and after every group. A run that chooses its settings counts as all of its trainings.
    stage, warn : callable(text), optional
        ``stage`` is called with the name of a slow step before the runs, then with ""; ``warn`` with each warning.
    """
    _record_plans(store, problems, plans, warn)
    done = set() if fresh else store.done(spec.key for spec in specs)
    missing = _in_order([spec for spec in specs if spec.key not in done], problems)
    data_of: DataOf = partial(_shared_properties, problems=problems)
    if workers.timeout is not None:
        # Choice: each run is a group of its own, so that the limit holds for each
        data_of = attrgetter("key")
    queue = Queue(missing, store, data_of, fresh=fresh, retries=retries)
    counts = _Counts(missing, progress)
    _compile(needed_families(missing), workers, stage, warn)
    provenance = ""
    for computed in _execute(queue, workers, problems):
        # while the workers compute
        provenance = provenance or provenance_text({plan.name: plan.sha256 for plan in plans})
        store.record(computed, provenance, replace=fresh)
        counts.add(computed, queue)
        if fail_fast and counts.failures:
            workers.renew()
            break
    store.release()
    return counts.outcome(len(specs), len(specs) - len(missing) + queue.n_done_meanwhile)


def _record_plans(
    store: Store, problems: OpenProblems, plans: Sequence[Plan], warn: Notify
) -> None:
    """Record problems, then plans: planned runs are always of known problems, also if this process is killed."""
    store.describe_problems([_facts(name, *opened) for (name, _), opened in problems.items()])
    for plan in plans:
        if n_dropped := store.plan(plan):
            warn(
                f"{plan.name}: the tables leave out {n_dropped} completed runs, which another text of this name asked"
                " for. Rename the config to have both."
            )


class _Counts:
    """Runs of a call of `run` that are finished, and its progress in trainings."""

    def __init__(self, missing: Sequence[RunSpec], progress: ProgressCallback) -> None:
        self.failures: list[RunResult] = []
        self._by_key = {spec.key: spec for spec in missing}
        self._n_finished = self._n_trained = 0
        self._n_to_train = sum(n_trainings(spec.cell) for spec in missing)
        self._progress = progress
        progress(0, self._n_to_train)

    def add(self, computed: Computed, queue: Queue) -> None:
        """Add results, except those that the queue tries again."""
        for result in computed:
            spec = self._by_key[result.key]
            if queue.put_back(spec, result):
                continue
            self._n_finished += 1
            self._n_trained += n_trainings(spec.cell)
            if result.status == "failed":
                self.failures.append(result)
        self._progress(self._n_trained, self._n_to_train)

    def outcome(self, n_planned: int, n_reused: int) -> Outcome:
        """Return the counts."""
        first_error = None
        if self.failures:
            first = self.failures[0]
            first_error = f"{_described(self._by_key[first.key])}: {cause_of(first.error)}"
        n_failed = len(self.failures)
        return Outcome(n_planned, n_reused, self._n_finished - n_failed, n_failed, first_error)


def _in_order(specs: Sequence[RunSpec], problems: OpenProblems) -> list[RunSpec]:
    """Return runs in the order in which they are computed.

    The largest problems come first: a long group that starts last would run alone. Our own methods come before the
    runs of third-party code, which follow class by class, since workers are fresh for each class and its data.
    """
    largest_first = sorted(specs, key=lambda spec: -_opened(spec, problems)[1].X_train.size)
    groups = grouped(largest_first, lambda spec: third_party_group(spec.cell))
    own = groups.pop(None, [])
    return [*own, *(spec for group in groups.values() for spec in group)]


def _compile(families: Container[str], backend: Workers, stage: Notify, warn: Notify) -> None:
    """Compile the kernels of families that are not cached, each once, side by side.

    Without a cache, each worker compiles its kernels before its first run.
    """
    # In the table's order, the slowest first.
    missing = [
        family for family in cache.FAMILIES if family in families and not cache.is_compiled(family)
    ]
    if not missing:
        return
    if (refusal := cache.cache_problem()) is not None:
        warn(refusal)
        return
    stage(f"{COMPILING}: 0 of {len(missing)}")
    futures = [backend.submit(compile_kernels, family) for family in missing]
    for n_compiled, _ in enumerate(as_completed(futures), start=1):
        stage(f"{COMPILING}: {n_compiled} of {len(missing)}")
    stage("")


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
        classes=problem.classes,
    )


def _opened(spec: RunSpec, problems: OpenProblems) -> tuple[ProblemSource, Problem]:
    return problems[spec.cell.problem, spec.cell.data_sha256]


def _shared_properties(spec: RunSpec, problems: OpenProblems) -> Hashable:
    """Return the properties that the data of runs must share for their networks to train side by side."""
    source, problem = _opened(spec, problems)
    if source.is_own:  # several user-defined tables may not fit into memory
        return same_problem(spec), source.of_repeat(spec.repeat).split
    if spec.cell.is_third_party:
        return same_problem(spec)
    return problem.task, problem.X_train.shape, len(problem.X_validation), problem.n_outputs


def _described(spec: RunSpec) -> str:
    tau = spec.cell.settings.get(THRESHOLD)
    setting = f"tau {tau:g}, " if isinstance(tau, float) else ""
    return f"{spec.cell.problem}, {spec.cell.method}, {setting}repeat {spec.repeat}"


def _execute(queue: Queue, backend: Workers, problems: OpenProblems) -> Iterator[Computed]:
    """Keep every worker busy, and yield the results of groups that finish together.

    After Ctrl-C or SIGTERM, which wait until yielded results are recorded, groups that are finished are yielded first.
    """
    flight = _Flight(queue, backend, problems)
    try:
        while flight.fill():
            computed, finished = flight.land()
            with uninterrupted():
                for future in finished:
                    del flight.calls[future]
                yield computed
    except KeyboardInterrupt:
        with uninterrupted():
            ended = [future for future in flight.calls if future.done() and not future.cancelled()]
            kept = [future for future in ended if not future.exception()]
            yield [result for future in kept for result in future.result()]
        raise


class _Flight:
    """Calls in flight, each with its group and the time of its submission, and groups that come before the queue's."""

    def __init__(self, queue: Queue, backend: Workers, problems: OpenProblems) -> None:
        self.calls: dict[Future[Computed], tuple[Group, float]] = {}
        self._queue, self._backend, self._problems = queue, backend, problems
        self._rest = deque[Group]()
        self._lost = deque[RunSpec]()
        self._tried = set[str]()

    def fill(self) -> bool:
        """Submit groups until every worker has enough; return whether any call is in flight."""
        while len(self.calls) < self._backend.n_in_flight:
            group = self._next()
            if group is None:
                break
            self.calls[self._submit(group)] = group, time.perf_counter()
        return bool(self.calls)

    def land(self) -> tuple[Computed, list[Future[Computed]]]:
        """Wait for a call, and return the results of all that are finished, and these calls."""
        wait(self.calls, return_when=FIRST_COMPLETED)
        computed: Computed = []
        finished = [future for future in self.calls if future.done()]
        for future in finished:
            group, start = self.calls[future]
            if self._backend.is_lost(future):
                computed += self._failed(future, group, time.perf_counter() - start)
                continue
            results = future.result()
            computed += results
            # slow: each to any worker
            self._rest.extend((spec,) for spec in group[len(results) :])
        return computed, finished

    def _next(self) -> Group | None:
        if self._rest:
            return self._rest.popleft()
        group = self._queue.next()
        if group is None and self._lost and not self.calls:
            # Others may have taken the memory of a lost run: it is tried once more by itself, at the end.
            return (self._lost.popleft(),)
        return group

    def _submit(self, group: Group) -> Future[Computed]:
        loads: dict[Hashable, Callable[[], Problem]] = {}
        for spec in group:
            source, problem = _opened(spec, self._problems)
            of_repeat = source.of_repeat(spec.repeat)
            loads[same_problem(spec)] = self._backend.loader(of_repeat, problem)
        code = third_party_group(group[0].cell)
        return self._backend.submit(compute, group, loads, group=code, before=prepare)

    def _failed(self, future: Future[Computed], group: Group, elapsed_s: float) -> Computed:
        """Return the failed results of a group whose worker died; none for runs to try again, each by itself."""
        cause = "the worker process died (killed, or out of memory)"
        if self._backend.has_timed_out(future, elapsed_s):
            cause = f"timed out after {self._backend.timeout:g} s"
        elif len(group) > 1 or group[0].key not in self._tried:
            self._lost.extend(group)
            self._tried |= {spec.key for spec in group}
            return []
        return [failed_result(spec, cause) for spec in group]
