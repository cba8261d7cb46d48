"""Names of processes, to be left on what they hold, and whether a process that left one is still running."""

from __future__ import annotations

import os
import platform


def this_process() -> str:
    """Return the name of this process: its number and its machine."""
    return f"{os.getpid()} {platform.node()}"


def is_running(process: str) -> bool:
    """Tell whether a process of that name is still there; one on another machine is taken to be."""
    number, _, machine = process.partition(" ")
    if machine != platform.node() or os.name != "posix":
        return True
    try:
        os.kill(int(number), 0)
    except (ProcessLookupError, ValueError, OverflowError):
        return False
    except PermissionError:  # another user's
        return True
    return True
