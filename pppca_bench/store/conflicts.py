"""What two configs of one results database must not disagree in."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence

from pppca_bench.errors import ConfigError
from pppca_bench.runs import Cell, RunSpec


def refuse_other_seeds(
    connection: sqlite3.Connection,
    config: str,
    specs: Mapping[Cell, Sequence[RunSpec]],
    cells: Mapping[Cell, int],
) -> None:
    """Refuse a setting that another config asks for with another seed: a table could show either.

    Parameters
    ----------
    connection : Connection
        The database, within a transaction.
    config : str
        Name of the config that is planned.
    specs : mapping of Cell to sequence of RunSpec
        Its runs, by cell.
    cells : mapping of Cell to int
        Their cells, with the numbers that the database has for them.

    Raises
    ------
    ConfigError
        Both ask for the same repeat of a cell, with different seeds.
    """
    names = {number: cell for cell, number in cells.items()}
    rows = connection.execute(
        "SELECT cell, repeat, seed, config FROM runs JOIN plans ON plans.key = runs.key"
        " WHERE config != ? AND cell IN (SELECT value FROM json_each(?))",
        (config, json.dumps(sorted(names))),
    )
    seeds: dict[int, dict[int, int]] = {}
    for number, repeat, seed, other in rows:
        if number not in seeds:
            seeds[number] = {spec.repeat: spec.seed for spec in specs[names[number]]}
        if seeds[number].get(repeat, seed) != seed:
            raise ConfigError(
                f"{config}: expected the seed that {other} has for {names[number].method} on {names[number].problem},"
                " got another one for the same settings. Give both configs one seed, or take another folder with"
                " --results."
            )
