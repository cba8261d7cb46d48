"""Task queue: groups of runs that train together, in order, shared with other processes."""

from __future__ import annotations

import itertools
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from operator import attrgetter

from pppca_bench.runs import RunResult, RunSpec, by_cell, grouped
from pppca_bench.store.database import Store

GROUP_SIZE = 16
"""Largest number of runs in a group: two full sets of the classifier's lanes, with little to lose in a crash."""

MAX_CELLS = 3
"""Largest number of cells in a group, such as the cells of a problem's three permutations."""

_SETTINGS = attrgetter("method", "identity")

Group = tuple[RunSpec, ...]
"""Runs with the same settings, on data of the same shape, that train together."""

DataOf = Callable[[RunSpec], Hashable]
"""Returns the properties of a run's data that all runs of a group must share."""


def same_problem(spec: RunSpec) -> Hashable:
    """Return the data set of a run."""
    return spec.cell.problem, spec.cell.data_sha256


def groups(specs: Iterable[RunSpec], data_of: DataOf = same_problem) -> Iterator[Group]:
    """Yield runs in groups of at most GROUP_SIZE, in the order of the first runs of each cell.

    A group has runs of one cell, or all runs of up to MAX_CELLS cells with the same settings and equal ``data_of``.
    """
    ordered = itertools.chain.from_iterable(by_cell(specs).values())
    for alike in grouped(ordered, lambda spec: (_SETTINGS(spec.cell), data_of(spec))).values():
        cells = list(by_cell(alike).values())
        n_cells = min(MAX_CELLS, max(1, GROUP_SIZE // max(map(len, cells))))
        for first in range(0, len(cells), n_cells):
            together = list(itertools.chain.from_iterable(cells[first : first + n_cells]))
            for start in range(0, len(together), GROUP_SIZE):
                yield tuple(together[start : start + GROUP_SIZE])


def shard(specs: Sequence[RunSpec], number: int, n_shards: int) -> set[str]:
    """Return the keys of the runs of shard ``number`` (from 1) of a plan; all shards together are the plan.

    Choice: the runs of each cell are dealt in groups, in the order of their first keys. A key is a digest, so the
    shards are the same on any machine, have equal numbers of groups, and share each method and problem fairly.
    """
    dealt = sorted(groups(specs), key=lambda group: group[0].key)[number - 1 :: n_shards]
    return {spec.key for group in dealt for spec in group}


class Queue:
    """Queue of groups of runs, see `groups`; runs that another process has reserved come last.

    The store is queried again before each group, since another process may have computed the group meanwhile:
    ``n_done_meanwhile`` runs in all. ``fresh`` returns completed runs, too. A failed run is put back ``retries`` times.
    """

    def __init__(
        self, specs: Sequence[RunSpec], store: Store, data_of: DataOf, *, fresh: bool, retries: int
    ) -> None:
        self.n_done_meanwhile = 0
        self._store, self._fresh, self._retries = store, fresh, retries
        self._waiting = deque((group, False) for group in groups(specs, data_of))
        self._n_attempts = Counter[str]()

    def next(self) -> Group | None:
        """Return the next group; None if no group is left."""
        while self._waiting:
            group, was_reserved = self._waiting.popleft()
            if not self._fresh:
                keys = [spec.key for spec in group]
                reserved = set() if was_reserved else self._store.reserve(keys)
                if reserved:
                    self._waiting.append(
                        (tuple(spec for spec in group if spec.key in reserved), True)
                    )
                # after the reservation, so that nothing is done in between
                done = self._store.done(keys) - reserved
                self.n_done_meanwhile += len(done)
                group = tuple(spec for spec in group if spec.key not in done | reserved)
            if group:
                return group
        return None

    def put_back(self, spec: RunSpec, result: RunResult) -> bool:
        """Put a failed run back if it has attempts left; return whether it was put back."""
        self._n_attempts[result.key] += 1
        again = result.status == "failed" and self._n_attempts[result.key] <= self._retries
        if again:
            self._waiting.appendleft(((spec,), False))
        return again
