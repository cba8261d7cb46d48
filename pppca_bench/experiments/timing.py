"""Undisturbed timing: one measurement at a time on a machine, and a check of other running processes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOCK_FOLDER = Path("/tmp") if os.name == "posix" else Path(tempfile.gettempdir())
"""The same for all users and jobs of a machine, whose own temporary folders may differ."""

LOCK_NAME = "pppca-timed.lock"


@contextmanager
def machine_lock() -> Iterator[None]:
    """Hold the machine's lock, once no other process does; systems without locks need none."""
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
    if (n_others := n_running_beside()) >= (os.cpu_count() or 1):
        return (
            f"{n_others} processes run beside these timed runs, whose times may be disturbed. Better measure on an idle"
            " machine."
        )
    return None


def n_running_beside() -> int:
    """Return how many other threads run or are ready to run on this machine now; 0 without Linux's /proc."""
    try:
        fields = Path("/proc/loadavg").read_text(encoding="ascii").split()
        return max(0, int(fields[3].partition("/")[0]) - 1)
    except (OSError, ValueError, IndexError):
        return 0


def _open_lock() -> int | str:
    """Return an open file to lock, or the reason why it cannot be locked."""
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
