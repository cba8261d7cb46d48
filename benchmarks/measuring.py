"""Alternating measurements: contestants take turns in a process; the result is the median ratio of the turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
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
    unit : str
        Unit of the times, such as "net and epoch".
    target, ratio : float or None
        Ratio to reach and ratio reached; a ratio of None was not measured, and ``note`` says why.
    ours_us, peer_us : float or None
        Medians of the times of one unit, in microseconds.
    note : str
    """

    what: str
    peer: str
    unit: str
    target: float | None
    ratio: float | None
    ours_us: float | None = None
    peer_us: float | None = None
    note: str = ""

    @property
    def verdict(self) -> str:
        """Return "met", "short" or "not run"; "" without a target."""
        if self.target is None:
            return ""
        if self.ratio is None:
            return "not run"
        return "met" if self.ratio >= self.target else "short"


def seconds(call: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the time of a call by a clock, in seconds."""
    start = clock()
    call()
    return clock() - start


def alternate(
    contestants: Mapping[str, Contestant], *, budget_s: float = 4.0, clock: Callable[[], float] = time.perf_counter
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
    what: str, unit: str, ours: Contestant, peers: Mapping[str, tuple[Contestant, float | None]], **options: float
) -> list[Row]:
    """Measure our code against peers with their targets; return a row for each peer."""
    times = alternate({"ours": ours} | {name: peer for name, (peer, _) in peers.items()}, **options)
    own = 1e6 * median(times["ours"])
    return [
        Row(what, name, unit, target, median_ratio(times[name], times["ours"]), own, 1e6 * median(times[name]))
        for name, (_, target) in peers.items()
    ]
