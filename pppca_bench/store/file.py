"""SQLite file of the results database: tables, connection, transactions, errors, processes that share it."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shlex
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

from pppca_bench.errors import StoreError

SCHEMA_VERSION = 7
BUSY_TIMEOUT_S = 60.0

_TABLES = """
CREATE TABLE cells (
    id INTEGER PRIMARY KEY, problem TEXT NOT NULL, data_sha256 TEXT NOT NULL, method TEXT NOT NULL,
    settings TEXT NOT NULL, algorithms TEXT NOT NULL, UNIQUE (problem, data_sha256, method, settings, algorithms)
) STRICT;
CREATE TABLE runs (
    key TEXT PRIMARY KEY, cell INTEGER NOT NULL REFERENCES cells (id), repeat INTEGER NOT NULL, seed INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('planned', 'done', 'failed')), error TEXT,
    measured TEXT NOT NULL DEFAULT '{}', choice TEXT, provenance INTEGER REFERENCES provenances (id), finished_at TEXT
) STRICT;
CREATE INDEX runs_of_a_cell ON runs (cell);
CREATE TABLE problems (
    name TEXT NOT NULL, data_sha256 TEXT NOT NULL, task TEXT NOT NULL, family TEXT NOT NULL,
    n_features INTEGER NOT NULL, n_outputs INTEGER NOT NULL,
    n_train INTEGER NOT NULL, n_validation INTEGER NOT NULL, n_test INTEGER NOT NULL,
    n_splits INTEGER NOT NULL DEFAULT 1,
    classes TEXT NOT NULL DEFAULT '[]', PRIMARY KEY (name, data_sha256)
) STRICT;
CREATE TABLE histories (key TEXT PRIMARY KEY REFERENCES runs (key), curves BLOB NOT NULL) STRICT;
CREATE TABLE provenances (id INTEGER PRIMARY KEY, description TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE configs (
    name TEXT PRIMARY KEY, planned_at TEXT NOT NULL, sha256 TEXT NOT NULL, text TEXT NOT NULL
) STRICT;
CREATE TABLE plans (
    config TEXT NOT NULL, key TEXT NOT NULL REFERENCES runs (key), place INTEGER NOT NULL, PRIMARY KEY (config, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX plans_of_a_run ON plans (key);
CREATE TABLE labels (
    config TEXT NOT NULL, cell INTEGER NOT NULL REFERENCES cells (id), label TEXT NOT NULL, PRIMARY KEY (config, cell)
) STRICT, WITHOUT ROWID;
CREATE TABLE reservations (key TEXT PRIMARY KEY REFERENCES runs (key), process TEXT NOT NULL) STRICT;
"""


class Database:
    """The SQLite file of a results database; it and its folder are created if they do not exist.

    With ``read_only``, nothing is created or changed, and all queries see the database as it was at the first query.
    Raises StoreError if the file cannot be opened, is no results database, or has another version; for writing, also if
    a row refers to a row that does not exist. What is readable of such a file can be read (`check_references`).
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        if read_only and not path.exists():
            raise StoreError(
                f"no results in {path}: run `pppca run CONFIG` first, or name the folder with --results."
            )
        with self._explained(), ExitStack() as on_failure:
            if not read_only:
                path.parent.mkdir(parents=True, exist_ok=True)
            # After a killed run, the next reader rolls its unfinished transaction back, which needs the right to write.
            uri = f"{path.absolute().as_uri()}?mode={'rw' if read_only else 'rwc'}"
            self._connection = sqlite3.connect(
                uri, uri=True, timeout=BUSY_TIMEOUT_S, isolation_level=None
            )
            on_failure.callback(self.close)
            self._prepare(read_only)
            self._check_version()
            if not read_only:
                self.check_references()
            on_failure.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; recorded results are on the disk already."""
        self._connection.close()

    def rows(self, query: str, *values: object) -> list[Any]:
        """Return the rows of a query with `bound` values."""
        with self._explained():
            return self._connection.execute(query, bound(*values)).fetchall()

    def _prepare(self, read_only: bool) -> None:
        """Set up the connection, and create the tables in an empty database.

        Choice: SQLite's rollback journal, flushed to the disk with every transaction (``synchronous = EXTRA``). A
        killed process or a power cut loses at most the groups of runs that were not recorded yet, the file alone is
        the whole database, and it can be read in a read-only folder; a write-ahead log is faster by milliseconds a
        group, but gives all of that up.
        """
        if read_only:
            self.rows("PRAGMA query_only = ON")
            self.rows("BEGIN")
            return
        self.rows("PRAGMA synchronous = EXTRA")
        # KiB, for the keys of a million runs; allocated as it is used
        self.rows("PRAGMA cache_size = -131072")
        with self.transaction():
            # under the lock: another process may have created the tables since
            if not self.rows("SELECT name FROM sqlite_master"):
                for statement in (*_TABLES.split(";"), f"PRAGMA user_version = {SCHEMA_VERSION}"):
                    self.rows(statement)

    def _check_version(self) -> None:
        """Raise StoreError for a database of another version or program."""
        ((version,),) = self.rows("PRAGMA user_version")
        if version == SCHEMA_VERSION:
            return
        remedy = (
            "Use the pppca that wrote it"
            if version > SCHEMA_VERSION
            else "Move it away and run the configs again"
        )
        raise StoreError(
            f"{self.path}: expected a results database of version {SCHEMA_VERSION}, got version {version}. {remedy}, or"
            " name another folder (--results)."
        )

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Commit all changes of the block, or none if it raises; a nested transaction is part of the outer."""
        with self._explained():
            if self._connection.in_transaction:
                yield self._connection
                return
            with self._connection:  # commits, or rolls back after an error
                self._connection.execute("BEGIN IMMEDIATE")
                yield self._connection

    def check_integrity(self) -> None:
        """Raise StoreError for the first damage that SQLite finds in the whole file."""
        ((verdict,), *_) = self.rows("PRAGMA integrity_check")
        if verdict != "ok":
            raise self._damaged(verdict.splitlines()[0])

    def check_references(self) -> None:
        """Raise StoreError if a row refers to a missing row, such as a run to its cell: no table shows it."""
        broken = self.rows("PRAGMA foreign_key_check")
        if broken:
            table, _, parent, _ = broken[0]
            n_broken = sum(row[0] == table for row in broken)
            raise self._damaged(f"{parent} are missing that {n_broken} of its {table} refer to")

    @contextmanager
    def decoding(self, content: str) -> Iterator[None]:
        """Turn the errors of undecodable content into StoreError."""
        try:
            yield
        except (ValueError, TypeError) as error:
            raise self._damaged(f"{content}: {error}") from error

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
            cause = error.__cause__ or error  # pandas chains its own error to SQLite's
            name = getattr(cause, "sqlite_errorname", "")
            is_damaged = name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))
            # a text of the file, which SQLite may also quote in a message
            is_no_text = isinstance(cause, UnicodeDecodeError) or "decode to UTF-8" in str(cause)
            if is_damaged or is_no_text:
                raise self._damaged(str(cause)) from error
            remedy = "Check the disk and the file, or name another folder with --results."
            if name in ("SQLITE_FULL", "SQLITE_IOERR_WRITE"):
                remedy = "Recorded results are kept: free some space on the disk, then run the same command again."
            raise StoreError(
                f"{self.path}: cannot be used as the results database ({cause}). {remedy}"
            ) from error

    def _damaged(self, cause: str) -> StoreError:
        aside = shlex.join(["mv", str(self.path), f"{self.path}.damaged"])
        remedy = (
            f"Restore it from a backup, or move it aside (`{aside}`) and run the configs again."
        )
        return StoreError(f"{self.path}: no intact results database ({cause}). {remedy}")


def bound(*values: Any) -> list[Any]:
    """Return values of a query, collections as JSON, whose items SQLite's `json_each` lists."""
    return [
        json.dumps(list(value))
        if isinstance(value, Iterable) and not isinstance(value, str)
        else value
        for value in values
    ]


def this_process() -> str:
    """Return the name of this process: its number and a digest of its machine's name."""
    return f"{os.getpid()} {machine_digest()}"


def machine_digest() -> str:
    """Return a digest of this machine's name, so that a published database does not reveal the name."""
    return hashlib.sha256(platform.node().encode()).hexdigest()[:12]


def is_running(process: str) -> bool:
    """Return whether a process of that name is running; processes of other machines are assumed to be running."""
    number, _, machine = process.partition(" ")
    if machine != machine_digest() or os.name != "posix":
        return True
    try:
        os.kill(int(number), 0)
    except (ProcessLookupError, ValueError, OverflowError):
        return False
    except PermissionError:  # another user's process
        pass
    return True
