"""The results database: plan runs, append results, look up what is done.

One SQLite file. ``runs`` has a row per run, from the moment it is planned; ``histories`` the learning curves;
``plans`` says which runs the last expansion of each config asked for, so that the tables of a changed config
never mix in results of its older form (which stay in the store).
"""

from __future__ import annotations

import io
import json
import os
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import astuple, fields
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from pppca_bench.errors import StoreError, UnknownConfigError
from pppca_bench.runs import Parameters, ProblemFacts, RunResult, RunSpec, StoredRun
from pppca_bench.store import reservations as claims
from pppca_bench.store.schema import READABLE_VERSIONS, SCHEMA_VERSION, bring_up_to_date, read_version

if TYPE_CHECKING:
    from numpy.typing import NDArray

BUSY_TIMEOUT_S = 60.0

_SPEC_COLUMNS = "key, problem, method, parameters, tau, data_fraction, repeat, seed, classifier"
_RESULT_COLUMNS = tuple(f.name for f in fields(RunResult) if f.name not in ("key", "measures", "history"))
_NOW = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"


class Span(NamedTuple):
    """When the computation of a group of runs began, in UTC and ISO 8601, and how long it took."""

    started_at: str
    duration_ms: float


class Store:
    """A results database, opened for reading and, unless ``read_only``, for appending.

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

    Raises
    ------
    StoreError
        The file cannot be opened, is empty though it is to be read, is no results database, or was written by a newer
        version.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        if read_only and not path.exists():
            raise StoreError(f"no results in {path}: run `pppca run CONFIG` first, or name the folder with --results.")
        self.was_emptied = False
        with self._explained():
            had_no_byte = path.exists() and path.stat().st_size == 0
            if not read_only:
                path.parent.mkdir(parents=True, exist_ok=True)
            uri = f"{path.absolute().as_uri()}?mode={_access_mode(path, read_only)}"
            self._connection = sqlite3.connect(uri, uri=True, timeout=BUSY_TIMEOUT_S, isolation_level=None)
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

    def plan(self, config_name: str, specs: Sequence[RunSpec], *, all_repeats: Sequence[RunSpec] = ()) -> None:
        """Record ``specs`` as what the config named ``config_name`` now asks for; results stay untouched.

        Parameters
        ----------
        config_name : str
            The config's ``name``.
        specs : sequence of RunSpec
            What is to be run now.
        all_repeats : sequence of RunSpec, optional
            What the config asks for at its own repeats: those that are done stay in its tables.
        """
        done = self.done(spec.key for spec in all_repeats)
        wanted = {spec.key: spec for spec in (*specs, *(spec for spec in all_repeats if spec.key in done))}
        rows = [_spec_row(spec) for spec in wanted.values()]
        with self._transaction() as connection:
            connection.executemany(
                f"INSERT INTO runs ({_SPEC_COLUMNS}, status)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'planned') ON CONFLICT DO NOTHING",
                rows,
            )
            connection.execute("DELETE FROM plans WHERE config = ?", (config_name,))
            connection.executemany("INSERT INTO plans VALUES (?, ?)", [(config_name, key) for key in wanted])
            connection.execute(
                "INSERT OR REPLACE INTO configs"
                f" VALUES (?, {_NOW}, (SELECT coalesce(max(sequence), 0) + 1 FROM configs))",
                (config_name,),
            )

    def describe_problems(self, facts: Sequence[ProblemFacts]) -> None:
        """Keep the sizes of the problems as they were read from the data."""
        with self._transaction() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO problems VALUES (?, ?, ?, ?, ?, ?, ?)",
                [astuple(fact) for fact in facts],
            )

    def problems(self) -> dict[str, ProblemFacts]:
        """Return the sizes of every problem that was ever run into this store, by name."""
        with self._explained():
            rows = self._connection.execute("SELECT * FROM problems").fetchall()
        return {row[0]: ProblemFacts(*row) for row in rows}

    def record(
        self, results: Sequence[RunResult], provenance: str, *, replace: bool = False, span: Span | None = None
    ) -> None:
        """Append finished runs in one transaction; a run that was done with the same data stays as it is.

        Parameters
        ----------
        results : sequence of RunResult
            Results of planned runs.
        provenance : str
            JSON text that tells code, library versions and machine.
        replace : bool, default False
            Put the new results in the place of stored ones.
        span : Span, optional
            When the group was computed that these runs belong to.
        """
        columns = (*_RESULT_COLUMNS, "measures", "started_at", "duration_ms")
        assignments = ", ".join(f"{column} = ?" for column in columns)
        with self._transaction() as connection:
            connection.execute("INSERT INTO provenances (description) VALUES (?) ON CONFLICT DO NOTHING", (provenance,))
            for result in results:
                values = [getattr(result, column) for column in _RESULT_COLUMNS]
                changed = connection.execute(
                    f"UPDATE runs SET {assignments}, finished_at = {_NOW},"
                    " provenance = (SELECT id FROM provenances WHERE description = ?)"
                    " WHERE key = ? AND (? OR status != 'done' OR data_sha256 != ?)",
                    (
                        *(*values, _json(result.measures), *(span or (None, None))),
                        *(provenance, result.key, replace, result.data_sha256),
                    ),
                ).rowcount
                if changed:
                    connection.execute("DELETE FROM histories WHERE key = ?", (result.key,))
                if changed and result.history:
                    connection.execute("INSERT INTO histories VALUES (?, ?)", (result.key, _pack(result.history)))
                connection.execute("DELETE FROM claims WHERE key = ?", (result.key,))

    def claim(self, keys: Collection[str]) -> set[str]:
        """Mark runs as under way in this process, and return those that another running process has under way."""
        with self._transaction() as connection:
            return claims.claim(connection, keys)

    def release_claims(self) -> None:
        """Give back the runs that are marked as under way in this process, or in one that is gone."""
        with self._transaction() as connection:
            claims.release(connection)

    def claimed(self) -> list[tuple[str, str]]:
        """Return the keys of the runs that are marked as under way, and the processes that marked them."""
        if self.schema_version() < SCHEMA_VERSION:
            return []
        with self._explained():
            return self._connection.execute("SELECT key, process FROM claims").fetchall()

    def schema_version(self) -> int:
        """Return the version of the tables, an older one only in a store that is opened for reading."""
        with self._explained():
            return read_version(self._connection)

    def done(self, keys: Iterable[str]) -> dict[str, str]:
        """Return the SHA-256 of the data behind each of the ``keys`` whose run is done."""
        with self._explained():
            rows = self._connection.execute(
                "SELECT key, data_sha256 FROM runs WHERE key IN (SELECT value FROM json_each(?)) AND status = 'done'",
                (json.dumps(list(keys)),),
            )
            return dict(rows.fetchall())

    def superseded(self, specs: Sequence[RunSpec]) -> list[tuple[RunSpec, str | None]]:
        """Return those of the specs that are stored under another key, by an older algorithm, with its provenance."""
        wanted = {_spec_row(spec)[1:]: spec for spec in specs}
        with self._explained():
            rows = self._connection.execute(
                f"SELECT {_SPEC_COLUMNS}, description FROM runs LEFT JOIN provenances ON provenances.id = provenance"
                " WHERE status = 'done' AND key NOT IN (SELECT value FROM json_each(?))",
                (json.dumps([spec.key for spec in specs]),),
            ).fetchall()
        return [(wanted[identity], description) for _, *row, description in rows if (identity := tuple(row)) in wanted]

    def integrity_errors(self) -> list[str]:
        """Return what SQLite's check of the whole file finds, nothing where all is well."""
        with self._explained():
            found = [line for (line,) in self._connection.execute("PRAGMA integrity_check")]
        return [] if found == ["ok"] else found

    def origins(self) -> list[tuple[str, str, str | None, int]]:
        """Count the runs that configs ask for, by method, status and provenance."""
        with self._explained():
            return self._connection.execute(
                "SELECT method, status, description, count(*) FROM runs"
                " LEFT JOIN provenances ON provenances.id = provenance"
                " WHERE key IN (SELECT key FROM plans) GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
            ).fetchall()

    def configs(self) -> list[str]:
        """Return the names of all configs that were ever planned, the latest last."""
        with self._explained():
            return [name for (name,) in self._connection.execute("SELECT name FROM configs ORDER BY sequence")]

    def runs(self, configs: Sequence[str] | None = None) -> list[StoredRun]:
        """Return the runs that the configs ask for, those of later planned configs last.

        Parameters
        ----------
        configs : sequence of str, optional
            Names of configs; all by default.

        Raises
        ------
        UnknownConfigError
            A config of that name was never run into this store.
        """
        known = self.configs()
        for name in configs or ():
            if name not in known:
                raise UnknownConfigError(
                    f"no runs of config {name!r} in {self.path}: expected one of {', '.join(known) or 'none yet'}."
                    " Run it first with `pppca run`."
                )
        wanted = [name for name in known if configs is None or name in configs]
        order = {name: position for position, name in enumerate(wanted)}
        latest: dict[str, int] = {}
        with self._explained():
            for config, key in self._connection.execute("SELECT config, key FROM plans"):
                if config in order:
                    latest[key] = max(latest.get(key, 0), order[config])
            rows = self._connection.execute(
                f"SELECT {_SPEC_COLUMNS}, {', '.join(_RESULT_COLUMNS)}, measures FROM runs"
            ).fetchall()
        found = [_stored_run(row) for row in rows if row[0] in latest]
        return sorted(found, key=lambda run: (latest[run[0].key], run[0].repeat))

    def plans(self, configs: Sequence[str] | None = None) -> dict[str, list[str]]:
        """Return the keys of the runs that each config asks for, by name, the latest planned config last."""
        wanted = [name for name in self.configs() if configs is None or name in configs]
        with self._explained():
            rows = self._connection.execute("SELECT config, key FROM plans").fetchall()
        found: dict[str, list[str]] = {name: [] for name in wanted}
        for config, key in rows:
            if config in found:
                found[config].append(key)
        return found

    def histories(self, keys: Collection[str]) -> dict[str, Mapping[str, NDArray]]:  # type: ignore[type-arg]
        """Return the learning curves of those of the runs that have some."""
        with self._explained():
            rows = [
                self._connection.execute("SELECT key, curves FROM histories WHERE key = ?", (key,)).fetchone()
                for key in keys
            ]
        return {row[0]: _unpack(row[1]) for row in rows if row is not None}

    def _prepare(self, read_only: bool, had_no_byte: bool) -> None:
        self._connection.execute(f"PRAGMA busy_timeout = {int(BUSY_TIMEOUT_S * 1000)}")
        if read_only:
            self._connection.execute("PRAGMA query_only = ON")
            if had_no_byte and read_version(self._connection) == 0:
                raise StoreError(
                    f"{self.path}: expected a results database, got a file of 0 bytes: no run has written to it yet, or"
                    " what it held is lost. Take it back from a copy; else the next run begins it anew."
                )
        else:
            with self._transaction() as connection:
                # Asked under the lock: where two begin a database at once, one finds the other's file, and then tables.
                self.was_emptied = bring_up_to_date(connection) and had_no_byte
        version = read_version(self._connection)
        if version not in (READABLE_VERSIONS if read_only else (SCHEMA_VERSION,)):
            raise StoreError(
                f"{self.path}: expected a results database of version {SCHEMA_VERSION}, got version {version}."
                " Use the version of pppca that wrote it, or another folder (--results)."
            )

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._explained():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            finally:
                # Still open after an error, unless it ended the transaction itself, as a full disk does.
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                f"{self.path}: cannot be used as the results database ({error}). {_remedy(error)}"
            ) from error


def _remedy(error: Exception) -> str:
    if getattr(error, "sqlite_errorname", None) in ("SQLITE_FULL", "SQLITE_IOERR_WRITE"):
        return "What was recorded is kept: free some space on the disk, then run the same command again."
    return "Check the disk and the file, or name another folder with --results."


def _access_mode(path: Path, read_only: bool) -> str:
    if not read_only:
        return "rwc"
    # After a killed run the next reader has to roll its unfinished transaction back, which takes the right to write.
    return "rw" if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK) else "ro"


def _spec_row(spec: RunSpec) -> tuple[object, ...]:
    key, problem, method, parameters, tau, data_fraction, repeat, seed, classifier = astuple(spec)
    return (key, problem, method, _json(dict(parameters)), tau, data_fraction, repeat, seed, _json(dict(classifier)))


def _json(values: Mapping[str, object]) -> str:
    return json.dumps(values, sort_keys=True)


def _parameters(text: str) -> Parameters:
    values = json.loads(text)
    return tuple((name, tuple(value) if isinstance(value, list) else value) for name, value in sorted(values.items()))


def _stored_run(row: Sequence[Any]) -> StoredRun:
    *row, measures = row
    n_spec = len(row) - len(_RESULT_COLUMNS)
    key, problem, method, parameters, tau, data_fraction, repeat, seed, classifier = row[:n_spec]
    settings = _parameters(parameters), tau, data_fraction, repeat, seed, _parameters(classifier)
    spec = RunSpec(key, problem, method, *settings)
    given = dict(zip(_RESULT_COLUMNS, row[n_spec:], strict=True))
    return spec, None if given["status"] == "planned" else RunResult(key, measures=json.loads(measures), **given)


def _pack(history: Mapping[str, NDArray]) -> bytes:  # type: ignore[type-arg]
    import numpy as np

    buffer = io.BytesIO()
    np.savez_compressed(
        buffer, allow_pickle=False, **{name: np.asarray(curve, np.float32) for name, curve in history.items()}
    )
    return buffer.getvalue()


def _unpack(blob: bytes) -> Mapping[str, NDArray]:  # type: ignore[type-arg]
    import numpy as np

    with np.load(io.BytesIO(blob), allow_pickle=False) as curves:
        return {name: curves[name] for name in curves.files}
