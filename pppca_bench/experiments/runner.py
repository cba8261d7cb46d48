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
from pppca_bench.experiments.worker import Computed, compile_kernels, compute, needed_families
from pppca_bench.problems import Problem, ProblemSource
from pppca_bench.runs import (
    THRESHOLD,
    Plan,
    ProblemFacts,
    RunResult,
    RunSpec,
    cause_of,
    failed_result,
    n_trainings,
)
from pppca_bench.store.database import Store

ProgressCallback = Callable[[int, int], None]
Notify = Callable[[str], None]
COMPILING = "compiling kernels"
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
    # Planned runs are always of known problems, also if this process is killed.
    store.describe_problems([_facts(name, *opened) for (name, _), opened in problems.items()])
    for plan in plans:
        if n_dropped := store.plan(plan):
            warn(
                f"{plan.name}: the tables leave out {n_dropped} completed runs, which another text of this name asked"
                " for. Rename the config to have both."
            )
    done = set() if fresh else store.done(spec.key for spec in specs)
    # the largest problems first: a long group that starts last would run alone
    missing = sorted(
        (spec for spec in specs if spec.key not in done),
        key=lambda spec: -_opened(spec, problems)[1].X_train.size,
    )
    by_key = {spec.key: spec for spec in missing}
    data_of: DataOf = partial(_shared_properties, problems=problems)
    if workers.timeout is not None:
        # Choice: each run is a group of its own, so that the limit holds for each
        data_of = attrgetter("key")
    queue = Queue(missing, store, data_of, fresh=fresh, retries=retries)
    provenance, n_finished, failures = "", 0, list[RunResult]()
    n_trained, n_to_train = 0, sum(n_trainings(spec.cell) for spec in missing)
    progress(0, n_to_train)
    _compile(needed_families(missing), workers, stage, warn)
    for computed in _execute(queue, workers, problems):
        # while the workers compute
        provenance = provenance or provenance_text({plan.name: plan.sha256 for plan in plans})
        store.record(computed, provenance, replace=fresh)
        for result in computed:
            if not queue.put_back(by_key[result.key], result):
                n_finished += 1
                n_trained += n_trainings(by_key[result.key].cell)
                if result.status == "failed":
                    failures.append(result)
        progress(n_trained, n_to_train)
        if fail_fast and failures:
            workers.renew()
            break
    store.release()
    first_error = (
        f"{_described(by_key[failures[0].key])}: {cause_of(failures[0].error)}"
        if failures
        else None
    )
    n_reused = len(specs) - len(missing) + queue.n_done_meanwhile
    return Outcome(len(specs), n_reused, n_finished - len(failures), len(failures), first_error)


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
    return problem.task, problem.X_train.shape, len(problem.X_validation), problem.n_outputs


def _described(spec: RunSpec) -> str:
    tau = spec.cell.settings.get(THRESHOLD)
    setting = f"tau {tau:g}, " if isinstance(tau, float) else ""
    return f"{spec.cell.problem}, {spec.cell.method}, {setting}repeat {spec.repeat}"


def _execute(queue: Queue, backend: Workers, problems: OpenProblems) -> Iterator[Computed]:
    """Keep every worker busy, and yield the results of groups that finish together.

    After Ctrl-C or SIGTERM, which wait until yielded results are recorded, groups that are finished are yielded first.
    """
    in_flight: dict[Future[Computed], tuple[Group, float]] = {}
    rest, lost, tried = deque[Group](), list[RunSpec](), set[str]()
    try:
        while True:
            while len(in_flight) < backend.n_in_flight:
                # Others may have taken the memory of a lost run: it is tried once more by itself, at the end.
                group = (
                    rest.popleft()
                    if rest
                    else queue.next() or ((lost.pop(0),) if lost and not in_flight else None)
                )
                if group is None:
                    break
                in_flight[_submit(group, backend, problems)] = group, time.perf_counter()
            if not in_flight:
                return
            wait(in_flight, return_when=FIRST_COMPLETED)
            computed: Computed = []
            finished = [future for future in in_flight if future.done()]
            for future in finished:
                group, start = in_flight[future]
                if not backend.is_lost(future):
                    results = future.result()
                    computed += results
                    # slow: each to any worker
                    rest.extend((spec,) for spec in group[len(results) :])
                elif cause := _cause_of_loss(
                    group, time.perf_counter() - start, backend.timeout, tried
                ):
                    computed += [failed_result(spec, cause) for spec in group]
                else:
                    lost += group
                    tried |= {spec.key for spec in group}
            with uninterrupted():
                for future in finished:
                    del in_flight[future]
                yield computed
    except KeyboardInterrupt:
        with uninterrupted():
            ended = (future for future in in_flight if future.done() and not future.cancelled())
            kept = [future for future in ended if not future.exception()]
            yield [result for future in kept for result in future.result()]
        raise


def _cause_of_loss(
    group: Group, elapsed_s: float, timeout: float | None, tried: Container[str]
) -> str | None:
    """Return the cause by which runs whose worker died have failed; None for runs to try again, each by itself."""
    if timeout and elapsed_s >= timeout:
        return f"timed out after {timeout:g} s"
    is_last = len(group) == 1 and group[0].key in tried
    return "the worker process died (killed, or out of memory)" if is_last else None


def _submit(group: Group, backend: Workers, problems: OpenProblems) -> Future[Computed]:
    loads: dict[Hashable, Callable[[], Problem]] = {}
    for spec in group:
        source, problem = _opened(spec, problems)
        loads[same_problem(spec)] = backend.loader(source.of_repeat(spec.repeat), problem)
    return backend.submit(compute, group, loads, backend.timeout)
