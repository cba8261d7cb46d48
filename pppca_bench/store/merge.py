"""Several results databases to one: every run of theirs once, or nothing where two of them contradict each other."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pppca_bench.errors import ConfigError, StoreError
from pppca_bench.runs import MEASURES, QUANTITIES
from pppca_bench.store.conflicts import refuse_other_seeds
from pppca_bench.store.database import Store
from pppca_bench.store.rows import CELL_COLUMNS, unpack

_NUMBERS = tuple(name for name, quantity in QUANTITIES.items() if not quantity.is_timing)
_TIMINGS = tuple(name for name, quantity in MEASURES.items() if quantity.is_timing)
_FIXED = ("key", "cell", "repeat", "seed", "status", "error", "measures", "provenance")
_COLUMNS = (*_FIXED, "started_at", "duration_ms", "finished_at", *QUANTITIES)
_OF_A_RESULT = _COLUMNS[_COLUMNS.index("status") :]
_UNTIMED = f"json_remove({{}}.measures{''.join(f', {chr(39)}$.{name}{chr(39)}' for name in _TIMINGS)})"
_REFUSED = "Nothing was merged."


@dataclass(frozen=True, slots=True)
class Merged:
    """Count what one database brought.

    Attributes
    ----------
    source : Path
    n_taken : int
        Runs, done or failed, whose result was not there yet.
    n_known : int
        Done runs that were there already, with the same numbers.
    """

    source: Path
    n_taken: int
    n_known: int


def merge(store: Store, sources: Sequence[Path]) -> list[Merged]:
    """Bring all that other results databases hold into one, in a single transaction.

    Plans, configs, problems, learning curves and provenances come along, runs in the order in which their plans have
    them. A run that is done stays as it is; one that failed gives way to one that is done.

    Parameters
    ----------
    store : Store
        Where everything goes; it may hold something already, such as the same databases from an earlier call.
    sources : sequence of Path
        The other files, which are only read; runs may go on in them.

    Raises
    ------
    StoreError
        A file cannot be read or is of another version; two have different numbers (times aside) for one run, different
        texts of one config, or different data, algorithms or seeds for one setting. Then nothing is merged.
    """
    for source in sources:
        if source.resolve() == store.path.resolve():
            raise StoreError(f"{source}: expected another database than the one that is merged into, got the same.")
    found = []
    with store.transaction() as connection:
        for source in sources:
            with Store(source, read_only=True) as other:
                found.append(_take(connection, other))
    return found


def _take(connection: sqlite3.Connection, other: Store) -> Merged:
    _refuse_other_texts(connection, other)
    _bring(connection, other)
    _refuse_other_numbers(connection, other)
    new = {key for (key,) in connection.execute(f"SELECT incoming.key FROM {_TOGETHER} WHERE {_IS_NEW}")}
    n_known = _count(connection, f"{_TOGETHER} WHERE known.status = 'done' AND incoming.status = 'done'")
    columns = ", ".join(_COLUMNS)
    # The order of the rows is that of the plans, and a row that is there keeps its place.
    connection.execute(
        f"INSERT INTO runs ({columns}) SELECT {columns} FROM incoming WHERE true ORDER BY rowid"
        f" ON CONFLICT (key) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _OF_A_RESULT)}"
        " WHERE (runs.status = 'planned' AND excluded.status != 'planned')"
        " OR (runs.status = 'failed' AND excluded.status = 'done')"
    )
    _take_histories(connection, other, new)
    connection.executemany("INSERT OR IGNORE INTO plans VALUES (?, ?)", other.stream("SELECT config, key FROM plans"))
    _refuse_other_origins(connection, other)
    try:
        refuse_other_seeds(connection, (cell for (cell,) in connection.execute("SELECT id FROM incoming_cells")))
    except ConfigError as error:
        raise StoreError(f"{other.path}: {error} {_REFUSED}") from None
    for table in ("incoming", "incoming_cells", "incoming_provenances"):
        connection.execute(f"DROP TABLE temp.{table}")
    return Merged(other.path, len(new), n_known)


_TOGETHER = "temp.incoming AS incoming LEFT JOIN main.runs AS known ON known.key = incoming.key"
_IS_NEW = (
    "(incoming.status = 'done' AND coalesce(known.status, '') != 'done')"
    " OR (incoming.status = 'failed' AND coalesce(known.status, 'planned') = 'planned')"
)


def _bring(connection: sqlite3.Connection, other: Store) -> None:
    """Take over problems, configs, cells and provenances, and put the runs into a temporary table of their own."""
    facts = _columns(other, "problems")
    connection.executemany(
        f"INSERT OR IGNORE INTO problems ({', '.join(facts)}) VALUES ({', '.join('?' * len(facts))})",
        other.stream(f"SELECT {', '.join(facts)} FROM problems ORDER BY rowid"),
    )
    connection.executemany(
        "INSERT OR IGNORE INTO configs VALUES (?, ?, (SELECT coalesce(max(sequence), 0) + 1 FROM configs), ?, ?)",
        other.stream("SELECT name, planned_at, sha256, text FROM configs ORDER BY sequence"),
    )
    for table, known, columns in (
        ("cells", f"{CELL_COLUMNS}, changed", CELL_COLUMNS),
        ("provenances", *["description"] * 2),
    ):
        connection.execute(f"CREATE TEMP TABLE incoming_{table} (number INTEGER PRIMARY KEY, id INTEGER)")
        places, same = ", ".join("?" * len(known.split(", "))), " AND ".join(f"{c} = ?" for c in columns.split(", "))
        for number, *values in other.stream(f"SELECT id, {known} FROM {table} ORDER BY id"):
            connection.execute(f"INSERT OR IGNORE INTO {table} ({known}) VALUES ({places})", values)
            connection.execute(
                f"INSERT INTO incoming_{table} VALUES (?, (SELECT id FROM {table} WHERE {same}))",
                (number, *values[: same.count("?")]),
            )
    connection.execute(f"CREATE TEMP TABLE incoming AS SELECT {', '.join(_COLUMNS)} FROM main.runs WHERE false")
    theirs = _columns(other, "runs")
    asked = ", ".join(name if name in theirs else f"NULL AS {name}" for name in _COLUMNS)
    places = ", ".join("?" * len(_COLUMNS))
    connection.executemany(
        f"INSERT INTO incoming VALUES ({places})", other.stream(f"SELECT {asked} FROM runs ORDER BY rowid")
    )
    connection.execute(
        "UPDATE incoming SET cell = (SELECT id FROM incoming_cells WHERE number = cell),"
        " provenance = (SELECT id FROM incoming_provenances WHERE number = provenance)"
    )


def _columns(store: Store, table: str) -> list[str]:
    """Return the names of a table's columns: a database that was begun earlier has fewer."""
    return [name for _, name, *_ in store.rows(f"PRAGMA table_info({table})")]


def _take_histories(connection: sqlite3.Connection, other: Store, new: set[str]) -> None:
    for key, curves in other.stream("SELECT key, curves FROM histories"):
        if key in new:
            connection.execute("INSERT OR REPLACE INTO histories VALUES (?, ?)", (key, curves))
            continue
        known = connection.execute("SELECT curves FROM histories WHERE key = ?", (key,)).fetchone()
        if known is not None and known[0] != curves and not _are_same(key, known[0], curves):
            raise StoreError(
                f"{other.path}: expected the learning curves of run {key} that were merged before, got others."
                f" {_REMEDY}"
            )


def _are_same(key: str, one: bytes, other: bytes) -> bool:
    """Tell whether learning curves are the same, however they were compressed."""
    a, b = unpack(key, one), unpack(key, other)
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name], equal_nan=True) for name in a)


_REMEDY = (
    "Other processors or library versions may round differently: see `pppca show RUN` in both folders, and remove or"
    f" recompute (`pppca run --fresh`) one of them. {_REFUSED}"
)


def _refuse_other_numbers(connection: sqlite3.Connection, other: Store) -> None:
    """Raise StoreError where a run is done in both with other numbers; times may differ."""
    names = ("cell", "repeat", "seed", *_NUMBERS)
    differs = [f"known.{name} IS NOT incoming.{name}" for name in names]
    differs.append(f"{_UNTIMED.format('known')} IS NOT {_UNTIMED.format('incoming')}")
    where = f"known.status = 'done' AND incoming.status = 'done' AND ({' OR '.join(differs)})"
    pairs = ", ".join(f"known.{name}, incoming.{name}" for name in (*names, "measures"))
    row = connection.execute(f"SELECT incoming.key, {pairs} FROM {_TOGETHER} WHERE {where} LIMIT 1").fetchone()
    if row is None:
        return
    key, *values = row
    found = dict(zip(names, zip(values[:-2:2], values[1:-2:2], strict=True), strict=True))
    ours, theirs = (json.loads(text or "{}") for text in values[-2:])
    found |= {name: (ours.get(name), theirs.get(name)) for name in sorted({*ours, *theirs} - {*_TIMINGS})}
    name, (old, new) = next((name, pair) for name, pair in found.items() if pair[0] != pair[1])
    problem, method = connection.execute(
        "SELECT problem, method FROM runs JOIN cells ON cells.id = cell WHERE key = ?", (key,)
    ).fetchone()
    n_more = _count(connection, f"{_TOGETHER} WHERE {where}") - 1
    more = f" {n_more} more run{' differs' if n_more == 1 else 's differ'}." if n_more else ""
    raise StoreError(
        f"{other.path}: run {key} ({method} on {problem}, repeat {found['repeat'][0]}): expected {name} {old}, as it"
        f" was merged before, got {new}.{more} {_REMEDY}"
    )


def _refuse_other_texts(connection: sqlite3.Connection, other: Store) -> None:
    known = dict(connection.execute("SELECT name, sha256 FROM configs").fetchall())
    for name, sha256 in other.stream("SELECT name, sha256 FROM configs"):
        if known.get(name, sha256) != sha256:
            raise StoreError(
                f"{other.path}: config {name}: expected the text that was merged before (SHA-256"
                f" {known[name][:12]}...), got another ({sha256[:12]}...). Give one of the two configs"
                " another name, run it, and merge again."
                f" {_REFUSED}"
            )


def _refuse_other_origins(connection: sqlite3.Connection, other: Store) -> None:
    """Raise StoreError where the plans ask for one setting on other data, or by other versions of the algorithms."""
    found = connection.execute(
        "SELECT problem, method, min(data_sha256), max(data_sha256), min(algorithms), max(algorithms)"
        f" FROM {_PLANNED_CELLS} GROUP BY problem, method, parameters, classifier HAVING count(*) > 1 LIMIT 1"
    ).fetchone()
    if found is None:
        return
    problem, method, data, other_data, algorithms, other_algorithms = found
    if data != other_data:
        what, one, two = "the same data", f"SHA-256 {data[:12]}...", f"{other_data[:12]}..."
    else:
        what, one, two = "the same versions of the algorithms", algorithms, other_algorithms
    raise StoreError(
        f"{other.path}: {method} on {problem}: expected {what} in all databases, got {one} and {two}."
        f" Run the older one again with this version of pppca and these data. {_REFUSED}"
    )


_PLANNED_CELLS = "cells WHERE id IN (SELECT cell FROM runs WHERE key IN (SELECT key FROM plans))"


def _count(connection: sqlite3.Connection, what: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {what}").fetchone()[0])
