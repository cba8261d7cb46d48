"""Alternating measurements: contestants take turns in a process; the result is the median ratio of the turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median

LEAST_ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Contestant:
    """A call to time and its units of work."""

    call: Callable[[], object]
    units: float


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table of results.

    Attributes
    ----------
    what, peer : str
    ratio : float or None
        The peer's time by ours, a limit by what was measured, or a share; None if there is none.
    ours : str
        What was measured of ours, with its unit.
    target : float or None
        Ratio to reach.
    """

    what: str
    peer: str
    ratio: float | None
    ours: str = ""
    target: float | None = None

    @property
    def is_short(self) -> bool:
        """Whether the ratio misses its target."""
        return self.target is not None and (self.ratio is None or self.ratio < self.target)


def seconds(call: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the time of a call by a clock, in seconds."""
    start = clock()
    call()
    return clock() - start


def alternate(
    contestants: Mapping[str, Contestant],
    *,
    budget_s: float = 2.0,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Time the contestants in turns, after a warm-up turn; return seconds per unit.

    Parameters
    ----------
    contestants : mapping of str to Contestant
    budget_s : float
        Rounds are made until this time is used up, at least ``LEAST_ROUNDS``.
    clock : callable
        Wall time, or `time.process_time`, which excludes other processes.
    """
    for contestant in contestants.values():
        contestant.call()
    times: dict[str, list[float]] = {name: [] for name in contestants}
    end = time.perf_counter() + budget_s
    while len(next(iter(times.values()))) < LEAST_ROUNDS or time.perf_counter() < end:
        for name, contestant in contestants.items():
            times[name].append(seconds(contestant.call, clock) / contestant.units)
    return times


def median_ratio(peer: list[float], ours: list[float]) -> float:
    """Return the median over rounds of the peer's time by ours."""
    return median(theirs / own for theirs, own in zip(peer, ours, strict=True))


def compare(
    what: str, ours: Contestant, peers: Mapping[str, tuple[Contestant, float | None]]
) -> Iterator[Row]:
    """Measure our code against peers with their targets; yield a row for each peer."""
    times = alternate(
        {"ours": ours} | {name: peer for name, (peer, _) in peers.items()}, budget_s=4.0
    )
    own = time_text(median(times["ours"]))
    for name, (_, target) in peers.items():
        yield Row(what, name, median_ratio(times[name], times["ours"]), own, target)


def time_text(taken_s: float) -> str:
    """Return a time with three digits and the unit that suits it."""
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if taken_s >= size:
            return f"{taken_s / size:.3g} {unit}"
    return f"{1e9 * taken_s:.3g} ns"
