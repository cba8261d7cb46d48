"""What the configs of one results database must not disagree in."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable

from pppca_bench.errors import ConfigError


def refuse_other_seeds(connection: sqlite3.Connection, cells: Iterable[int]) -> None:
    """Refuse plans that ask for one setting with several seeds: a table could show either.

    Parameters
    ----------
    connection : Connection
        The database, within a transaction that holds the new plans.
    cells : iterable of int
        Ids of the cells that these ask for.

    Raises
    ------
    ConfigError
        Two plans ask for the same repeat of a cell, with different seeds.
    """
    found = connection.execute(
        "SELECT problem, method, repeat, json_group_array(DISTINCT config) FROM runs"
        " JOIN plans ON plans.key = runs.key JOIN cells ON cells.id = cell"
        " WHERE cell IN (SELECT value FROM json_each(?))"
        " GROUP BY cell, repeat HAVING min(seed) < max(seed) LIMIT 1",
        (json.dumps(sorted(cells)),),
    ).fetchone()
    if found is not None:
        problem, method, repeat, configs = found
        raise ConfigError(
            f"{method} on {problem}, repeat {repeat}: expected one seed for the same settings, got several, of the"
            f" configs {' and '.join(sorted(json.loads(configs)))}. Give the configs one seed, or take another folder"
            " with --results."
        )
