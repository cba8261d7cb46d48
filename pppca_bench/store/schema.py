"""The tables of the results database, and the way from an older form of them to today's."""

from __future__ import annotations

import sqlite3

SCHEMA_VERSION = 2
READABLE_VERSIONS = (1, 2)
"""Version 1 lacks what version 2 writes alone: when a run was computed, and by which process it is under way."""

_TABLES = """
CREATE TABLE runs (
    key TEXT PRIMARY KEY, problem TEXT NOT NULL, method TEXT NOT NULL, parameters TEXT NOT NULL,
    tau REAL, data_fraction REAL, repeat INTEGER NOT NULL, seed INTEGER NOT NULL, classifier TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('planned', 'done', 'failed')),
    data_sha256 TEXT, error TEXT, dimensionality INTEGER, fit_time_ms REAL, classifier_time_ms REAL,
    n_epochs INTEGER, total_epochs INTEGER, relevant_epochs INTEGER,
    train_error_percent REAL, validation_error_percent REAL, test_error_percent REAL, measures TEXT,
    provenance INTEGER REFERENCES provenances (id), finished_at TEXT
) STRICT;
CREATE TABLE problems (
    name TEXT PRIMARY KEY, data_sha256 TEXT NOT NULL, n_features INTEGER NOT NULL, n_classes INTEGER NOT NULL,
    n_train INTEGER NOT NULL, n_validation INTEGER NOT NULL, n_test INTEGER NOT NULL
) STRICT;
CREATE TABLE histories (key TEXT PRIMARY KEY REFERENCES runs (key), curves BLOB NOT NULL) STRICT;
CREATE TABLE provenances (id INTEGER PRIMARY KEY, description TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE configs (name TEXT PRIMARY KEY, planned_at TEXT NOT NULL, sequence INTEGER NOT NULL) STRICT;
CREATE TABLE plans (
    config TEXT NOT NULL, key TEXT NOT NULL REFERENCES runs (key), PRIMARY KEY (config, key)
) STRICT, WITHOUT ROWID;
"""
_FROM_1_TO_2 = """
ALTER TABLE runs ADD COLUMN started_at TEXT;
ALTER TABLE runs ADD COLUMN duration_ms REAL;
CREATE TABLE claims (key TEXT PRIMARY KEY REFERENCES runs (key), process TEXT NOT NULL) STRICT;
"""


def bring_up_to_date(connection: sqlite3.Connection) -> bool:
    """Create the tables in an empty database, or add to an older one what it lacks, within a transaction.

    A database of another program, or of a newer version, is left as it is.

    Returns
    -------
    bool
        Whether the database was empty.
    """
    version = read_version(connection)
    is_empty = version == 0 and connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    statements = ""
    if is_empty:
        statements = _TABLES + _FROM_1_TO_2
    elif version == 1:
        statements = _FROM_1_TO_2
    for statement in filter(str.strip, statements.split(";")):
        connection.execute(statement)
    if statements:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    return is_empty


def read_version(connection: sqlite3.Connection) -> int:
    """Return the version of the tables, 0 for a database that is not ours."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
