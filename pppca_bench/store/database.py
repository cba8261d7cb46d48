"""The results database: plan runs, append results, look up what is done.

One SQLite file. ``cells`` has a row per setting on one problem's data; ``runs`` a row per run, from the moment it is
planned; ``histories`` the learning curves; ``plans`` says which runs the last expansion of each config asked for, so
that the tables of a changed config never mix in results of its older form (which stay in the store).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple
from typing import TYPE_CHECKING, NamedTuple

from pppca_bench.errors import StoreError, UnknownConfigError, listed, nearest
from pppca_bench.runs import QUANTITIES, Cell, Plan, ProblemFacts, RunResult, StoredRun, by_cell
from pppca_bench.store import reservations
from pppca_bench.store.conflicts import refuse_other_seeds
from pppca_bench.store.file import Database
from pppca_bench.store.rows import (
    CELL_COLUMNS,
    CellRow,
    RowError,
    insert_cells,
    intact,
    pack,
    pair_superseded,
    read_cells,
    read_run,
    to_json,
    unpack,
)
from pppca_bench.store.schema import quantity_columns

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pppca_bench.store.columns import CellRuns

_RUN_COLUMNS = ("key", "cell", "repeat", "seed", "status", "error", "measures", "provenance")
_NOW = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"
_CHUNK = 20_000
"""Rows that are read at a time."""
_AMONG = "IN (SELECT value FROM json_each(?))"


class Span(NamedTuple):
    """When the computation of a group of runs began, in UTC and ISO 8601, and how long it took."""

    started_at: str
    duration_ms: float


class Store(Database):
    """A results database, opened for reading and, unless ``read_only``, for appending; see `Database`."""

    def plan(self, plan: Plan) -> None:
        """Record a plan as what its config now asks for; results stay untouched."""
        kept = self.done(spec.key for spec in plan.all_repeats)
        before = {key for (key,) in self.rows("SELECT key FROM plans WHERE config = ?", plan.name)}
        kept |= before.intersection(spec.key for spec in plan.left_out)
        others = (spec for spec in (*plan.all_repeats, *plan.left_out) if spec.key in kept)
        wanted = {spec.key: spec for spec in (*plan.specs, *others)}
        specs = by_cell(wanted.values())
        with self.transaction() as connection:
            cells = insert_cells(connection, specs)
            if wanted.keys() != before:
                rows = ((one.key, cells[cell], one.repeat, one.seed) for cell, own in specs.items() for one in own)
                connection.executemany(
                    "INSERT INTO runs (key, cell, repeat, seed, status) VALUES (?, ?, ?, ?, 'planned')"
                    " ON CONFLICT DO NOTHING",
                    rows,
                )
                connection.execute("DELETE FROM plans WHERE config = ?", (plan.name,))
                # Sorted as the table is: many keys out of order would be written page by page, again and again.
                connection.executemany("INSERT INTO plans VALUES (?, ?)", [(plan.name, key) for key in sorted(wanted)])
                refuse_other_seeds(connection, cells.values())
            connection.execute(
                f"INSERT OR REPLACE INTO configs VALUES (?, {_NOW},"
                " (SELECT coalesce(max(sequence), 0) + 1 FROM configs), ?, ?)",
                (plan.name, plan.sha256, plan.text),
            )

    def describe_problems(self, facts: Sequence[ProblemFacts]) -> None:
        """Keep the sizes of the problems as they were read from the data."""
        with self.transaction() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO problems VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [astuple(fact) for fact in facts],
            )

    def problems(self) -> dict[str, ProblemFacts]:
        """Return the sizes of every problem that was ever run into this store, by name; the latest data count."""
        rows = self.rows("SELECT * FROM problems ORDER BY rowid")
        return {row[0]: ProblemFacts(*row) for row in rows}

    def record(
        self, results: Sequence[RunResult], provenance: str, *, replace: bool = False, span: Span | None = None
    ) -> None:
        """Append finished runs in one transaction; a run that is done stays as it is.

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
        columns = ("status", "error", "measures", *QUANTITIES, "started_at", "duration_ms")
        update = (
            f"UPDATE runs SET {', '.join(f'{column} = ?' for column in columns)}, finished_at = {_NOW},"
            " provenance = (SELECT id FROM provenances WHERE description = ?)"
            " WHERE key = ? AND (? OR status != 'done')"
        )
        with self.transaction() as connection:
            connection.execute("INSERT INTO provenances (description) VALUES (?) ON CONFLICT DO NOTHING", (provenance,))
            for result in results:
                known = [result.values.get(name) for name in QUANTITIES]
                others = {name: value for name, value in result.values.items() if name not in QUANTITIES}
                row = (result.status, result.error, to_json(others), *known, *(span or (None, None)))
                if connection.execute(update, (*row, provenance, result.key, replace)).rowcount:
                    connection.execute("DELETE FROM histories WHERE key = ?", (result.key,))
                    if result.history:
                        connection.execute("INSERT INTO histories VALUES (?, ?)", (result.key, pack(result.history)))
                connection.execute("DELETE FROM reservations WHERE key = ?", (result.key,))

    def reserve(self, keys: Collection[str]) -> set[str]:
        """Mark runs as under way in this process, and return those that another running process has under way."""
        with self.transaction() as connection:
            return reservations.reserve(connection, keys)

    def release(self) -> None:
        """Give back the runs that are marked as under way in this process, or in one that is gone."""
        with self.transaction() as connection:
            reservations.release(connection)

    def reserved(self) -> list[tuple[str, str]]:
        """Return the keys of the runs that are marked as under way, and the processes that marked them."""
        return self.rows("SELECT key, process FROM reservations")

    def done(self, keys: Iterable[str]) -> set[str]:
        """Return those of the keys whose run is done."""
        asked = set(keys)
        ((n_runs,),) = self.rows("SELECT max(rowid) FROM runs")
        if len(asked) > (n_runs or 0) / 10:  # to read all is faster than to look so many up
            return asked.intersection(key for (key,) in self.stream("SELECT key FROM runs WHERE status = 'done'"))
        found = self.rows(f"SELECT key FROM runs WHERE key {_AMONG} AND status = 'done'", json.dumps(list(asked)))
        return {key for (key,) in found}

    def superseded(self, cells: Collection[Cell]) -> list[tuple[Cell, Cell, int]]:
        """Return stored cells that differ from wanted ones in their data or algorithms alone.

        Returns
        -------
        list of (Cell, Cell, int)
            The wanted cell, the stored one, and how many runs of the stored one are done.
        """
        rows = self.rows(
            "SELECT cells.id, count(*) FROM cells JOIN runs ON runs.cell = cells.id"
            " WHERE status = 'done' GROUP BY cells.id ORDER BY cells.id"
        )
        return pair_superseded(cells, self._cells(), rows)

    def integrity_errors(self) -> list[str]:
        """Return what SQLite's check of the whole file finds, nothing where all is well."""
        found = [line for (line,) in self.rows("PRAGMA integrity_check")]
        return [] if found == ["ok"] else found

    def origins(self, configs: Sequence[str] | None = None) -> list[tuple[str, str, str | None, int]]:
        """Count the runs that the configs (all by default) ask for, by method, status and provenance."""
        wanted = json.dumps([name for name in self.configs() if configs is None or name in configs])
        return self.rows(
            "SELECT method, status, description, count(*) FROM runs JOIN cells ON cells.id = cell"
            " LEFT JOIN provenances ON provenances.id = provenance"
            f" WHERE key IN (SELECT key FROM plans WHERE config {_AMONG}) GROUP BY 1, 2, 3 ORDER BY 1, 2, 3",
            wanted,
        )

    def configs(self) -> list[str]:
        """Return the names of all configs that were ever planned, the latest last."""
        return [name for (name,) in self.rows("SELECT name FROM configs ORDER BY sequence")]

    def configs_of(self, key: str) -> list[str]:
        """Return the names of the configs that ask for a run, the latest planned one last."""
        asking = "SELECT name FROM plans JOIN configs ON name = config WHERE key = ? ORDER BY sequence"
        return [name for (name,) in self.rows(asking, key)]

    def config_texts(self) -> dict[str, str]:
        """Return the text of each config that was ever planned, by name, the latest last."""
        return dict(self.rows("SELECT name, text FROM configs ORDER BY sequence"))

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
        return self._read(
            "JOIN plans ON plans.key = runs.key JOIN configs ON configs.name = plans.config"
            f" WHERE configs.name {_AMONG} GROUP BY runs.key ORDER BY max(sequence), repeat, runs.rowid",
            json.dumps(self._known_configs(configs)),
        )

    def runs_by_cell(self, configs: Sequence[str] | None = None) -> dict[Cell, CellRuns]:
        """Return what `runs` returns by cell and by columns, the cells of later planned configs last.

        Raises
        ------
        UnknownConfigError
            A config of that name was never run into this store.
        """
        from pppca_bench.store import columns  # NumPy, which a look at what is done does without

        names, quantities = self._known_configs(configs), self._quantities()
        which, asked = (f" WHERE config {_AMONG}", (json.dumps(names),)) if configs else ("", ())
        rows = self.stream(
            f"SELECT rowid, {', '.join((*_RUN_COLUMNS, *quantities))} FROM runs"
            f" WHERE key IN (SELECT key FROM plans{which})",
            *asked,
        )
        with self._located():
            found = columns.read_columns(iter(lambda: list(itertools.islice(rows, _CHUNK)), []), quantities)
            cells = self._cells(set(found.cells.tolist()))
            return columns.part_by_cell(found, {name: self._asked_by(name) for name in names}, cells, self._origins())

    def _known_configs(self, configs: Sequence[str] | None) -> list[str]:
        known = self.configs()
        for name in configs or ():
            if name not in known:
                expected = listed(known, name) or "none yet"
                raise UnknownConfigError(
                    f"no runs of config {name!r} in {self.path}: expected one of {expected}{nearest(name, known)}."
                    " Run it first with `pppca run`."
                )
        return [name for name in known if configs is None or name in configs]

    def _asked_by(self, config: str) -> NDArray[np.int64]:
        """Return the numbers of the rows of the runs that a config asks for."""
        import numpy as np

        found = self.stream(
            "SELECT runs.rowid FROM plans CROSS JOIN runs ON runs.key = plans.key WHERE config = ?", config
        )
        return np.fromiter(itertools.chain.from_iterable(found), dtype=np.int64)

    def runs_by_key(self, keys: Collection[str]) -> dict[str, StoredRun]:
        """Return runs by their keys, whichever config asks for them now."""
        return {run[0].key: run for run in self._read(f"WHERE runs.key {_AMONG}", json.dumps(list(keys)))}

    def wrong_rows(self) -> dict[str, RowError]:
        """Return the keys of the runs whose row, cell or learning curves no run can have written, and what is wrong."""
        found: dict[str, RowError] = {}
        known = self._cells(), self._origins(), self._quantities()
        for row in self.rows(f"SELECT {', '.join((*_RUN_COLUMNS, *known[-1]))} FROM runs"):
            try:
                read_run(row, *known)
            except RowError as error:
                found[row[0]] = error
        for key, curves in self._connection.execute("SELECT key, curves FROM histories"):
            try:
                unpack(key, curves)
            except RowError as error:
                found.setdefault(key, error)
        return found

    def remove(self, keys: Collection[str]) -> None:
        """Remove runs, with all that belongs to them, and the cells that no run is left of."""
        asked = json.dumps(list(keys))
        with self.transaction() as connection:
            for table in ("histories", "plans", "reservations", "runs"):
                connection.execute(f"DELETE FROM {table} WHERE key {_AMONG}", (asked,))
            connection.execute("DELETE FROM cells WHERE id NOT IN (SELECT cell FROM runs)")

    def plans(self, configs: Sequence[str] | None = None) -> dict[str, list[str]]:
        """Return the keys of the runs that each config asks for, by name, the latest planned config last."""
        wanted = [name for name in self.configs() if configs is None or name in configs]
        found: dict[str, list[str]] = {name: [] for name in wanted}
        for config, key in self.rows("SELECT config, key FROM plans"):
            if config in found:
                found[config].append(key)
        return found

    def histories(self, keys: Collection[str]) -> dict[str, Mapping[str, NDArray]]:  # type: ignore[type-arg]
        """Return the learning curves of those of the runs that have some."""
        rows = self.rows(f"SELECT key, curves FROM histories WHERE key {_AMONG}", json.dumps(list(keys)))
        return {key: unpack(key, curves) for key, curves in rows}

    def cells(self) -> dict[int, Cell]:
        """Return every cell by its number in the tables.

        Raises
        ------
        StoreError
            A cell's row holds what no run can have written.
        """
        with self._located():
            return {number: intact(found)[0] for number, found in self._cells().items()}

    def _cells(self, numbers: Collection[int] | None = None) -> dict[int, CellRow | RowError]:
        asked = () if numbers is None else (json.dumps(list(numbers)),)
        which = f" WHERE id {_AMONG}" if asked else ""
        return read_cells(self.rows(f"SELECT id, {CELL_COLUMNS}, changed FROM cells{which}", *asked))

    def _read(self, which: str, *values: object) -> list[StoredRun]:
        quantities = self._quantities()
        rows = self.rows(f"SELECT runs.{', '.join((*_RUN_COLUMNS, *quantities))} FROM runs {which}", *values)
        known = self._cells({row[_RUN_COLUMNS.index("cell")] for row in rows}), self._origins(), quantities
        with self._located():
            return [read_run(row, *known) for row in rows]

    def _origins(self) -> dict[int, str]:
        return dict(self.rows("SELECT id, description FROM provenances"))

    def _quantities(self) -> list[str]:
        return [name for name in QUANTITIES if name in quantity_columns(self._connection)]

    @contextmanager
    def _located(self) -> Iterator[None]:
        """Say in which database a row is that cannot be read."""
        try:
            yield
        except RowError as error:
            raise StoreError(f"{self.path}: {error}") from error
