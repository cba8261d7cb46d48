"""The file of a results database: it is opened, asked and changed, and what SQLite refuses is told in a line."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pppca_bench.errors import StoreError
from pppca_bench.store.opening import connect, remedy, set_older_version_aside
from pppca_bench.store.schema import SCHEMA_VERSION, is_older, prepare, read_version


class Database:
    """The SQLite file of a results database: queries, and changes that are made whole or not at all.

    Parameters
    ----------
    path : Path
        The SQLite file; it and its folder are made when they do not exist.
    read_only : bool, default False
        Refuse to create or to change anything.

    Attributes
    ----------
    was_emptied : bool
        Whether the file was there without a byte, which then is a new database. Choice: that is no error, since there
        is nothing left that could be lost, and a run that was killed at its start leaves such a file, too.
    moved_to : Path or None
        Where what stood here, a database of an older version, is now.

    Raises
    ------
    StoreError
        The file cannot be opened, is empty though it is to be read, is no results database, or was written by another
        version.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        if read_only and not path.exists():
            raise StoreError(f"no results in {path}: run `pppca run CONFIG` first, or name the folder with --results.")
        self.was_emptied = False
        self.moved_to: Path | None = None
        with self._explained():
            if not read_only:
                path.parent.mkdir(parents=True, exist_ok=True)
                self.moved_to = set_older_version_aside(path)
            had_no_byte = path.exists() and path.stat().st_size == 0
            self._connection = connect(path, read_only)
            with ExitStack() as on_failure:
                on_failure.callback(self.close)
                self._prepare(read_only, had_no_byte)
                on_failure.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the database; what was recorded is safe without it."""
        self._connection.close()

    def rows(self, query: str, *values: object) -> list[Any]:
        """Return the rows that a query of the tables (`pppca_bench.store.schema`) finds."""
        with self._explained():
            return self._connection.execute(query, values).fetchall()

    def stream(self, query: str, *values: object) -> Iterator[Any]:
        """Yield the rows that a query finds, one after another, however many they are."""
        with self._explained():
            yield from self._connection.execute(query, values)

    def _prepare(self, read_only: bool, had_no_byte: bool) -> None:
        if read_only:
            if had_no_byte and read_version(self._connection) == 0:
                raise StoreError(
                    f"{self.path}: expected a results database, got a file of 0 bytes: no run has written to it yet, or"
                    " what it held is lost. Take it back from a copy; else the next run begins it anew."
                )
        else:
            with self.transaction() as connection:
                # Asked under the lock: where two begin a database at once, one finds the other's file, and then tables.
                self.was_emptied = prepare(connection) and had_no_byte
        version = read_version(self._connection)
        if version != SCHEMA_VERSION:
            moves = "The next `pppca run` moves it aside and begins anew"
            remedy = moves if is_older(version) else "Use the pppca that wrote it"
            raise StoreError(
                f"{self.path}: expected a results database of version {SCHEMA_VERSION}, got version {version}."
                f" {remedy}, or name another folder (--results)."
            )

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Make all changes within, or none where it raises; one that is opened within another is part of it."""
        is_part = self._connection.in_transaction
        with self._explained():
            if not is_part:
                self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                if not is_part:
                    self._connection.execute("COMMIT")
            finally:
                # Still open after an error, unless it ended the transaction itself, as a full disk does.
                if not is_part and self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                f"{self.path}: cannot be used as the results database ({error}). {remedy(error)}"
            ) from error
