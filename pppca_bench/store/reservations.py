"""Which process has which runs under way, so that two that share a results database divide its runs.

A claim is advice, never a lock: a run that another process has claimed comes last, and is then computed if it still
is not done. So neither a killed process nor one that hangs can keep a run from being computed.
"""

from __future__ import annotations

import json
import os
import platform
import sqlite3
from collections.abc import Collection


def this_process() -> str:
    """Return the name of this process, as claims hold it."""
    return f"{os.getpid()} {platform.node()}"


def claim(connection: sqlite3.Connection, keys: Collection[str]) -> set[str]:
    """Claim runs for this process, but those that another running process has claimed, and return these.

    Parameters
    ----------
    connection : sqlite3.Connection
        Within a transaction.
    keys : collection of str
        Keys of runs.
    """
    me = this_process()
    rows = connection.execute(
        "SELECT key, process FROM claims WHERE key IN (SELECT value FROM json_each(?))", (json.dumps(list(keys)),)
    ).fetchall()
    held = {key for key, process in rows if process != me and is_running(process)}
    free = [(key, me) for key in keys if key not in held]
    connection.executemany("INSERT OR REPLACE INTO claims VALUES (?, ?)", free)
    return held


def release(connection: sqlite3.Connection) -> None:
    """Give back what this process has claimed, and what processes have that are gone."""
    for (process,) in connection.execute("SELECT DISTINCT process FROM claims").fetchall():
        if process == this_process() or not is_running(process):
            connection.execute("DELETE FROM claims WHERE process = ?", (process,))


def is_running(process: str) -> bool:
    """Tell whether a process that claimed runs is still there; one of another machine is taken to be."""
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
