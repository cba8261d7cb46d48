"""The tables of the results database."""

from __future__ import annotations

import sqlite3

from pppca_bench.runs import QUANTITIES

SCHEMA_VERSION = 3
"""Versions 1 and 2 knew runs by a key without the digest of their data, and had no cells."""

_TABLES = """
CREATE TABLE cells (
    id INTEGER PRIMARY KEY, problem TEXT NOT NULL, data_sha256 TEXT NOT NULL, method TEXT NOT NULL,
    parameters TEXT NOT NULL, classifier TEXT NOT NULL, algorithms TEXT NOT NULL, changed TEXT NOT NULL,
    UNIQUE (problem, data_sha256, method, parameters, classifier, algorithms)
) STRICT;
CREATE TABLE runs (
    key TEXT PRIMARY KEY, cell INTEGER NOT NULL REFERENCES cells (id), repeat INTEGER NOT NULL, seed INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('planned', 'done', 'failed')), error TEXT,
    measures TEXT, provenance INTEGER REFERENCES provenances (id),
    started_at TEXT, duration_ms REAL, finished_at TEXT
) STRICT;
CREATE INDEX runs_of_a_cell ON runs (cell);
CREATE TABLE problems (
    name TEXT NOT NULL, data_sha256 TEXT NOT NULL, task TEXT NOT NULL, family TEXT NOT NULL,
    n_features INTEGER NOT NULL, n_outputs INTEGER NOT NULL,
    n_train INTEGER NOT NULL, n_validation INTEGER NOT NULL, n_test INTEGER NOT NULL,
    PRIMARY KEY (name, data_sha256)
) STRICT;
CREATE TABLE histories (key TEXT PRIMARY KEY REFERENCES runs (key), curves BLOB NOT NULL) STRICT;
CREATE TABLE provenances (id INTEGER PRIMARY KEY, description TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE configs (
    name TEXT PRIMARY KEY, planned_at TEXT NOT NULL, sequence INTEGER NOT NULL, sha256 TEXT NOT NULL, text TEXT NOT NULL
) STRICT;
CREATE TABLE plans (
    config TEXT NOT NULL, key TEXT NOT NULL REFERENCES runs (key), PRIMARY KEY (config, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE reservations (key TEXT PRIMARY KEY REFERENCES runs (key), process TEXT NOT NULL) STRICT;
"""


def prepare(connection: sqlite3.Connection) -> bool:
    """Create the tables in an empty database, or the columns and the index that an older one lacks.

    A database of another program, or of another version, is left as it is. Call it within a transaction.

    Returns
    -------
    bool
        Whether the database was empty.
    """
    version = read_version(connection)
    is_empty = version == 0 and connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    if is_empty:
        for statement in filter(str.strip, _TABLES.split(";")):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    if is_empty or version == SCHEMA_VERSION:
        for name in sorted(set(QUANTITIES) - quantity_columns(connection), key=list(QUANTITIES).index):
            connection.execute(f"ALTER TABLE runs ADD COLUMN {name} REAL")
        if "n_splits" not in {name for _, name, *_ in connection.execute("PRAGMA table_info(problems)")}:
            connection.execute("ALTER TABLE problems ADD COLUMN n_splits INTEGER NOT NULL DEFAULT 1")
        connection.execute("CREATE INDEX IF NOT EXISTS plans_of_a_run ON plans (key)")
    return is_empty


def quantity_columns(connection: sqlite3.Connection) -> set[str]:
    """Return the names of the quantities that have a column."""
    columns = {name for _, name, *_ in connection.execute("PRAGMA table_info(runs)")}
    return columns & set(QUANTITIES)


def read_version(connection: sqlite3.Connection) -> int:
    """Return the version of the tables, 0 for a database that is not ours."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def is_older(version: int) -> bool:
    """Tell whether an earlier pppca wrote a database of this version."""
    return 0 < version < SCHEMA_VERSION
