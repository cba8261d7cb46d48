"""The runs that are still to be computed: in groups that train together, without those done or reserved elsewhere."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from pppca_bench.methods.lookup import find_method
from pppca_bench.runs import Cell, RunResult, RunSpec
from pppca_bench.store.database import Store

GROUP_SIZE = 16
"""Runs of a cell that train together: two full sets of the classifier's lanes, and little to lose in a crash."""

Group = tuple[RunSpec, ...]


class Queue:
    """Hand out groups of runs, those that another process has under way last.

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
    split_of : callable(spec) -> int, optional
        Gives the number of a run's split: those of one group learn from the same rows. One split by default.

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
        split_of: Callable[[RunSpec], int] = lambda _: 0,
    ) -> None:
        self.n_done_elsewhere = 0
        self._store = store
        self._fresh = fresh
        self._retries = retries
        self._waiting = {
            timed: deque(_groups((spec for spec in specs if is_timed(spec.cell) == timed), split_of))
            for timed in (False, True)
        }
        self._deferred: dict[bool, deque[Group]] = {False: deque(), True: deque()}
        self._n_attempts = Counter[str]()

    def next(self, *, timed: bool) -> Group | None:
        """Return the next group of timed runs, or of others; None when there is none left."""
        while self._waiting[timed]:
            if group := self._reserved(self._waiting[timed].popleft()):
                return group
        while self._deferred[timed]:
            if group := self._missing(self._deferred[timed].popleft()):
                return group
        return None

    def put_back(self, group: Group, result: RunResult) -> bool:
        """Take a failed run back, unless it was tried often enough; return whether it was taken."""
        self._n_attempts[result.key] += 1
        again = result.status == "failed" and self._n_attempts[result.key] <= self._retries
        if again:
            spec = spec_of(group, result)
            self._waiting[is_timed(spec.cell)].appendleft((spec,))
        return again

    def _reserved(self, group: Group) -> Group:
        if self._fresh:
            return group
        held = self._store.reserve([spec.key for spec in group])
        if held:
            self._deferred[is_timed(group[0].cell)].append(tuple(spec for spec in group if spec.key in held))
        # Only now, for what was done before it was reserved could not be done between.
        return self._missing(tuple(spec for spec in group if spec.key not in held))

    def _missing(self, group: Group) -> Group:
        done = self._store.done(spec.key for spec in group)
        self.n_done_elsewhere += len(done)
        return tuple(spec for spec in group if spec.key not in done)


def is_timed(cell: Cell) -> bool:
    """Tell whether a cell's result is the time that it took."""
    parameter = find_method(cell.method).timed_by
    return bool(parameter) and bool(dict(cell.parameters)[parameter])


def spec_of(group: Group, result: RunResult) -> RunSpec:
    """Return what a result of the group is the result of."""
    return next(spec for spec in group if spec.key == result.key)


def _groups(specs: Iterable[RunSpec], split_of: Callable[[RunSpec], int]) -> Iterator[Group]:
    """Cut each cell's runs on each split into groups of at most GROUP_SIZE, in the plan's order."""
    cells: dict[tuple[Cell, int], list[RunSpec]] = {}
    for spec in specs:
        cells.setdefault((spec.cell, split_of(spec)), []).append(spec)
    for cell in cells.values():
        for start in range(0, len(cell), GROUP_SIZE):
            yield tuple(cell[start : start + GROUP_SIZE])
