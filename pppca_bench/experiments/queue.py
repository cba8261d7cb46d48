"""The runs that are still to be computed: in groups that train together, without those done or reserved elsewhere.

Small groups are handed out together, once it is known how long such runs take.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

from pppca_bench.methods.lookup import find_method
from pppca_bench.runs import Cell, RunResult, RunSpec, by_cell
from pppca_bench.store.database import Store

GROUP_SIZE = 16
"""Runs that train together: two full sets of the classifier's lanes, and little to lose in a crash."""

MOST_CELLS = 3
"""Cells whose runs train together where they are few, as those of a problem's three permutations may be."""

TASK_S = 1.0
"""How long a task is to take at least, so that handing it over and recording it cost little beside it."""

LEAST_TASK_S = 0.1
"""How long even the last tasks are to take, which are smaller so that all workers end together."""

MOST_GROUPS = 256
"""Groups of a task at most, since what the next ones take is only expected."""

Group = tuple[RunSpec, ...]
"""Runs with the same settings, on data of the same shape, that train together."""

Task = tuple[Group, ...]
"""Groups on data that count as the same, handed over together."""

DataOf = Callable[[RunSpec], Hashable]
"""Tells which data runs learn from, so far as it matters for what is computed together."""


def same_problem(spec: RunSpec) -> Hashable:
    """Return the data set of a run."""
    return spec.cell.problem, spec.cell.data_sha256


class Queue:
    """Hand out tasks of one or several groups of runs, those that another process has under way last.

    Parameters
    ----------
    specs : sequence of RunSpec
        What is to be computed.
    store : Store
        Asked again before each group, since another process may have computed it meanwhile.
    fresh : bool, default False
        Hand out everything, whatever the store holds.
    retries : int, default 0
        How often a failed run may be put back.
    data_of : callable(spec) -> hashable, optional
        Tells which data runs learn from: those of one group or task learn from equal ones. By default the data set.
    task_s : float, default TASK_S
        Seconds that a task is to take at least, as long as enough is left; 0 hands out every group alone.
    n_workers : int, default 1
        Tasks that are computed at a time.

    Attributes
    ----------
    n_done_elsewhere : int
        Runs that were dropped because another process had done them.
    """

    def __init__(
        self,
        specs: Sequence[RunSpec],
        store: Store,
        *,
        fresh: bool = False,
        retries: int = 0,
        data_of: DataOf = same_problem,
        task_s: float = TASK_S,
        n_workers: int = 1,
    ) -> None:
        self.n_done_elsewhere = 0
        self._store = store
        self._fresh = fresh
        self._retries = retries
        self._data_of = data_of
        self._waiting: dict[bool, deque[Group]] = {False: deque(), True: deque()}
        for group in groups(specs, data_of):
            self._waiting[is_timed(group[0].cell)].append(group)
        self._deferred: dict[bool, deque[Group]] = {False: deque(), True: deque()}
        self._n_attempts = Counter[str]()
        self._task_s = task_s
        self._n_workers = n_workers
        self._seconds_a_run: dict[tuple[str, str], float] = {}

    def next(self, *, timed: bool) -> Task | None:
        """Return the next task of timed runs, or of others; None when there is none left."""
        while self._waiting[timed]:
            if task := self._reserved(self._pop_together(self._waiting[timed], timed)):
                return task
        while self._deferred[timed]:
            if task := self._missing((self._deferred[timed].popleft(),)):
                return task
        return None

    def learn(self, group: Group, seconds: float) -> None:
        """Learn how long a group took: the next of the same method on the same problem is expected to take as long."""
        self._seconds_a_run[_kind(group)] = seconds / len(group)

    def put_back(self, group: Group, result: RunResult) -> bool:
        """Take a failed run back, unless it was tried often enough; return whether it was taken."""
        self._n_attempts[result.key] += 1
        again = result.status == "failed" and self._n_attempts[result.key] <= self._retries
        if again:
            spec = spec_of(group, result)
            self._waiting[is_timed(spec.cell)].appendleft((spec,))
        return again

    def _pop_together(self, waiting: deque[Group], timed: bool) -> Task:
        """Take groups on equal data until they are expected to take long enough; a timed one is taken alone."""
        task = [waiting.popleft()]
        expected_s = self._expected_s(task[0])
        data = self._data_of(task[0][0])
        if timed or expected_s >= self._task_s or not waiting or self._data_of(waiting[0][0]) != data:
            return tuple(task)
        enough_s = self._enough_s(itertools.chain(task, waiting))
        while expected_s < enough_s and len(task) < MOST_GROUPS and waiting and self._data_of(waiting[0][0]) == data:
            task.append(waiting.popleft())
            expected_s += self._expected_s(task[-1])
        return tuple(task)

    def _enough_s(self, waiting: Iterable[Group]) -> float:
        """Return how long a task is to take at least: towards the end a part of what is left."""
        left_s = 0.0
        for group in waiting:
            left_s += self._expected_s(group)
            if left_s >= self._n_workers * self._task_s:
                return self._task_s
        return max(left_s / self._n_workers, min(LEAST_TASK_S, self._task_s))

    def _expected_s(self, group: Group) -> float:
        return len(group) * self._seconds_a_run.get(_kind(group), math.inf)

    def _reserved(self, task: Task) -> Task:
        if self._fresh:
            return task
        held = self._store.reserve([spec.key for group in task for spec in group])
        if held:
            parts = (tuple(spec for spec in group if spec.key in held) for group in task)
            self._deferred[is_timed(task[0][0].cell)].extend(filter(None, parts))
        # Only now, for what was done before it was reserved could not be done between.
        return self._missing(tuple(tuple(spec for spec in group if spec.key not in held) for group in task))

    def _missing(self, task: Task) -> Task:
        done = self._store.done(spec.key for group in task for spec in group)
        self.n_done_elsewhere += len(done)
        left = (tuple(spec for spec in group if spec.key not in done) for group in task)
        return tuple(filter(None, left))


def _kind(group: Group) -> tuple[str, str]:
    return group[0].cell.problem, group[0].cell.method


def is_timed(cell: Cell) -> bool:
    """Tell whether a cell's result is the time that it took."""
    parameter = find_method(cell.method).timed_by
    return bool(parameter) and bool(dict(cell.parameters)[parameter])


def spec_of(group: Group, result: RunResult) -> RunSpec:
    """Return what a result of the group is the result of."""
    return next(spec for spec in group if spec.key == result.key)


def groups(specs: Iterable[RunSpec], data_of: DataOf = same_problem) -> Iterator[Group]:
    """Cut runs into groups of at most GROUP_SIZE, in the order of the first runs of each cell.

    They are runs of one cell, or all runs of up to MOST_CELLS cells that have the same settings on data that count as
    the same.
    """
    alike: dict[Hashable, list[list[RunSpec]]] = {}
    for cell, own in by_cell(specs).items():
        splits: dict[Hashable, list[RunSpec]] = {}
        for spec in own:
            splits.setdefault(data_of(spec), []).append(spec)
        for data, runs in splits.items():
            alike.setdefault((cell.method, cell.parameters, cell.classifier, data), []).append(runs)
    for cells in alike.values():
        n_cells = min(MOST_CELLS, max(1, GROUP_SIZE // max(map(len, cells))))
        for first in range(0, len(cells), n_cells):
            together = list(itertools.chain.from_iterable(cells[first : first + n_cells]))
            for start in range(0, len(together), GROUP_SIZE):
                yield tuple(together[start : start + GROUP_SIZE])
