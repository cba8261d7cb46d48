"""Which process has which runs under way, so that two that share a results database divide its runs.

A reservation is advice, never a lock: a run that another process has reserved comes last, and is then computed if it is
still not done. So neither a killed process nor one that hangs can keep a run from being computed.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection

from pppca_bench.processes import is_running, this_process


def reserve(connection: sqlite3.Connection, keys: Collection[str]) -> set[str]:
    """Reserve runs for this process, except those that another running process has reserved; return the latter.

    Parameters
    ----------
    connection : sqlite3.Connection
        Within a transaction.
    keys : collection of str
        Keys of runs.
    """
    me = this_process()
    rows = connection.execute(
        "SELECT key, process FROM reservations WHERE key IN (SELECT value FROM json_each(?))", (json.dumps(list(keys)),)
    ).fetchall()
    held = {key for key, process in rows if process != me and is_running(process)}
    free = [(key, me) for key in keys if key not in held]
    connection.executemany("INSERT OR REPLACE INTO reservations VALUES (?, ?)", free)
    return held


def release(connection: sqlite3.Connection) -> None:
    """Give back what this process has reserved, and what processes have reserved that are gone."""
    for (process,) in connection.execute("SELECT DISTINCT process FROM reservations").fetchall():
        if process == this_process() or not is_running(process):
            connection.execute("DELETE FROM reservations WHERE process = ?", (process,))
