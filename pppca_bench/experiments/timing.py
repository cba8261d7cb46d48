"""Undisturbed timing: one measurement at a time on a machine, and a check of what else runs."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

Result = TypeVar("Result")

LOCK_FOLDER = Path("/tmp") if os.name == "posix" else Path(tempfile.gettempdir())
"""The same for all users and jobs of a machine, whose own temporary folders may differ."""

LOCK_NAME = "pppca-timed.lock"

LOST_SHARE, LOST_S = 0.05, 0.5e-3
"""Share of its time, and seconds, that a measurement may wait for the processor: clock ticks, short interrupts."""


@contextmanager
def machine_lock() -> Iterator[None]:
    """Hold the machine's lock, once no other process does; go on without it where there is none."""
    held = _open_lock()
    if isinstance(held, str):
        yield
        return
    import fcntl

    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)


def hindrance() -> str | None:
    """Return why timed runs may be disturbed or have to wait; None if nothing is in the way."""
    lock = _open_lock()
    if isinstance(lock, str):
        return f"times are measured without a lock against other measurements ({lock}). Run no other beside them."
    import fcntl

    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return "another process measures times on this machine: each group of timed runs waits for it."
    finally:
        os.close(lock)
    if (n_others := n_running_beside()) >= n_processors():
        return (
            f"{n_others} processes run beside these timed runs: rounds that they disturb are repeated, and counted"
            " as disturbed_rounds where they stay so. Better measure on an idle machine."
        )
    return None


def watched(call: Callable[[], Result]) -> tuple[Result, bool]:
    """Return the result of a call, and whether something disturbed it.

    Choice: a call is disturbed if it waited for the processor longer than `LOST_SHARE` of its time and `LOST_S`, or if
    before or after it so many other threads were running that two had to share a processor. Other processes that
    leave it a whole processor do not count, though memory and clock rate are shared.
    """
    n_others = n_running_beside()
    start, start_cpu = time.perf_counter(), time.thread_time()
    result = call()
    elapsed, computed = time.perf_counter() - start, time.thread_time() - start_cpu
    waited = elapsed - computed > LOST_SHARE * elapsed + LOST_S
    return result, waited or max(n_others, n_running_beside()) >= n_processors()


def n_running_beside() -> int:
    """Return how many other threads run or are ready to run on this machine now; 0 without Linux's /proc."""
    try:
        fields = Path("/proc/loadavg").read_text(encoding="ascii").split()
        return max(0, int(fields[3].partition("/")[0]) - 1)
    except (OSError, ValueError, IndexError):
        return 0


def n_processors() -> int:
    """Return the processors of the machine, of which this process may have fewer."""
    return os.cpu_count() or 1


def _open_lock() -> int | str:
    """Return an open file to lock, or why there is none."""
    if os.name != "posix":
        return "this system has none"
    path = LOCK_FOLDER / LOCK_NAME
    try:
        try:
            # Another user's file may be read, and locked, but neither written nor named in a call that might create it.
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            return os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    except OSError as error:
        return f"{path}: {error.strerror}"
