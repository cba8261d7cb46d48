"""Tables of the results database."""

from __future__ import annotations

import sqlite3

from pppca_bench.runs import QUANTITIES

SCHEMA_VERSION = 3

_TABLES = f"""
CREATE TABLE cells (
    id INTEGER PRIMARY KEY, problem TEXT NOT NULL, data_sha256 TEXT NOT NULL, method TEXT NOT NULL,
    parameters TEXT NOT NULL, classifier TEXT NOT NULL, algorithms TEXT NOT NULL, changed TEXT NOT NULL,
    UNIQUE (problem, data_sha256, method, parameters, classifier, algorithms)
) STRICT;
CREATE TABLE runs (
    key TEXT PRIMARY KEY, cell INTEGER NOT NULL REFERENCES cells (id), repeat INTEGER NOT NULL, seed INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('planned', 'done', 'failed')), error TEXT,
    measures TEXT, provenance INTEGER REFERENCES provenances (id),
    started_at TEXT, duration_ms REAL, finished_at TEXT, {", ".join(f"{name} REAL" for name in QUANTITIES)}
) STRICT;
CREATE INDEX runs_of_a_cell ON runs (cell);
CREATE TABLE problems (
    name TEXT NOT NULL, data_sha256 TEXT NOT NULL, task TEXT NOT NULL, family TEXT NOT NULL,
    n_features INTEGER NOT NULL, n_outputs INTEGER NOT NULL,
    n_train INTEGER NOT NULL, n_validation INTEGER NOT NULL, n_test INTEGER NOT NULL,
    n_splits INTEGER NOT NULL DEFAULT 1, PRIMARY KEY (name, data_sha256)
) STRICT;
CREATE TABLE histories (key TEXT PRIMARY KEY REFERENCES runs (key), curves BLOB NOT NULL) STRICT;
CREATE TABLE provenances (id INTEGER PRIMARY KEY, description TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE configs (
    name TEXT PRIMARY KEY, planned_at TEXT NOT NULL, sequence INTEGER NOT NULL, sha256 TEXT NOT NULL, text TEXT NOT NULL
) STRICT;
CREATE TABLE plans (
    config TEXT NOT NULL, key TEXT NOT NULL REFERENCES runs (key), PRIMARY KEY (config, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX plans_of_a_run ON plans (key);
CREATE TABLE reservations (key TEXT PRIMARY KEY REFERENCES runs (key), process TEXT NOT NULL) STRICT;
"""


def create_tables(connection: sqlite3.Connection) -> bool:
    """Create the tables in an empty database, within a transaction; return whether it was empty."""
    is_empty = connection.execute("SELECT name FROM sqlite_master LIMIT 1").fetchone() is None
    if is_empty and read_version(connection) == 0:
        for statement in filter(str.strip, _TABLES.split(";")):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    return is_empty


def version_error(connection: sqlite3.Connection) -> str | None:
    """Return what was expected of the tables, what was got, and the remedy; None for today's tables."""
    version = read_version(connection)
    missing = set(QUANTITIES) - {name for _, name, *_ in connection.execute("PRAGMA table_info(runs)")}
    if version == SCHEMA_VERSION and not missing:
        return None
    got = f"version {version}"
    if version == SCHEMA_VERSION:
        got = f"an older one without columns for {', '.join(sorted(missing))}"
    remedy = "Use the pppca that wrote it" if version > SCHEMA_VERSION else "Move it away and run the configs again"
    return f"expected a results database of version {SCHEMA_VERSION}, got {got}. {remedy}"


def read_version(connection: sqlite3.Connection) -> int:
    """Return the version of the tables; 0 for a database of another program."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
