"""Results database: plans, results, lookup of finished runs.

One SQLite file. ``cells`` has a row for each setting on one problem's data; ``runs`` a row for each run, from the
moment it is planned; ``histories`` the learning curves; ``plans`` the runs that the last expansion of each config asked
for, so that the tables of a changed config never mix in results of its older form (which stay in the database);
``labels`` the label that each config gives a cell.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import astuple
from typing import TYPE_CHECKING, Any

from pppca_bench.errors import ConfigError, UnknownConfigError, listed, nearest
from pppca_bench.runs import (
    Cell,
    Curves,
    Label,
    Plan,
    ProblemFacts,
    RunResult,
    RunSpec,
    StoredRun,
    by_cell,
)
from pppca_bench.store import columns
from pppca_bench.store.columns import CELL_COLUMNS, RUN_COLUMNS, to_json
from pppca_bench.store.file import Database, bound, is_running, this_process

if TYPE_CHECKING:
    import pandas as pd

CHUNK = 20_000
"""Number of rows that are read at a time."""

_NOW = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"
_AMONG = "IN (SELECT value FROM json_each(?))"
_INSERT_CELL = (
    f"INSERT INTO cells ({', '.join(CELL_COLUMNS)}) VALUES (?, ?, ?, ?, ?)"
    # without an update, nothing is returned
    " ON CONFLICT DO UPDATE SET problem = problem RETURNING id"
)

_ORIGIN = "(SELECT description FROM provenances WHERE id = provenance) AS origin"
_ORDER = ("first", "place", "repeat", "number")
_ASKED = (
    f"SELECT key, cell, repeat, seed, status, error, choice, {_ORIGIN}, configs, measured, first, place,"
    " runs.rowid AS number"
    # SQLite takes `place` from the row of the first config.
    " FROM runs JOIN (SELECT plans.key, group_concat(config, char(10)) AS configs, min(asked.key) AS first,"
    " max(place, -1 - place) AS place"
    " FROM plans JOIN json_each(?) AS asked ON asked.value = config GROUP BY plans.key) USING (key)"
)
"""Query of the runs that any of a list of configs asks for, with the columns by which they are ordered."""


class Store(Database):
    """A results database, opened for reading and, unless ``read_only``, for appending; see `Database`."""

    def plan(self, plan: Plan) -> int:
        """Record the runs that a config asks for now; results stay untouched.

        The places of runs of other shards are -1 - place, until a merge or another command asks for them.

        Returns
        -------
        int
            Number of completed runs that another text under this name asked for, and this text does not.

        Raises
        ------
        ConfigError
            Another config asks for the same repeat of a cell, with another seed.
        """
        kept = self.done(spec.key for spec in plan.all_repeats)
        before = dict(self.rows("SELECT key, place FROM plans WHERE config = ?", plan.name))
        last = self.rows("SELECT sha256 FROM configs WHERE name = ?", plan.name)
        kept |= before.keys() & {spec.key for spec in plan.left_out}
        others = (spec for spec in (*plan.all_repeats, *plan.left_out) if spec.key in kept)
        wanted = {spec.key: spec for spec in (*plan.specs, *others)}
        elsewhere = plan.elsewhere - kept
        specs = by_cell(wanted.values())
        with self.transaction() as connection:
            cells = self._insert_cells(specs)
            labels = []
            for cell, specs_of_cell in specs.items():
                labels.append((plan.name, cells[cell], to_json(specs_of_cell[0].label)))
            connection.execute("DELETE FROM labels WHERE config = ?", (plan.name,))
            connection.executemany("INSERT INTO labels VALUES (?, ?, ?)", labels)
            places = {
                key: -1 - spec.place if key in elsewhere else spec.place
                for key, spec in wanted.items()
            }
            if places != before:
                self._plan_runs(plan.name, specs, cells, places)
                self.check_seeds(cells.values())
            connection.execute(
                f"INSERT OR REPLACE INTO configs VALUES (?, {_NOW}, ?, ?)",
                (plan.name, plan.sha256, plan.text),
            )
        is_same = last == [(plan.sha256,)]
        return 0 if is_same else len(self.done(before.keys() - wanted.keys()))

    def _insert_cells(self, cells: Iterable[Cell]) -> dict[Cell, int]:
        """Insert cells that are not stored yet, and return the numbers of all."""
        numbers = dict[Cell, int]()
        for cell in cells:
            ((numbers[cell],),) = self.rows(_INSERT_CELL, *columns.cell_row(cell))
        return numbers

    def _plan_runs(
        self,
        config: str,
        specs: Mapping[Cell, Sequence[RunSpec]],
        cells: Mapping[Cell, int],
        places: Mapping[str, int],
    ) -> None:
        """Record new runs of cells by their numbers, and the places of all runs of a config, in a transaction."""
        rows = (
            (spec.key, cells[cell], spec.repeat, spec.seed)
            for cell, specs_of_cell in specs.items()
            for spec in specs_of_cell
        )
        with self.transaction() as connection:
            connection.executemany(
                "INSERT INTO runs (key, cell, repeat, seed, status) VALUES (?, ?, ?, ?, 'planned')"
                " ON CONFLICT DO NOTHING",
                rows,
            )
            connection.execute("DELETE FROM plans WHERE config = ?", (config,))
            # Sorted as the table is: SQLite would write each page many times for unsorted keys.
            connection.executemany(
                "INSERT INTO plans VALUES (?, ?, ?)",
                ((config, *row) for row in sorted(places.items())),
            )

    def check_seeds(self, cells: Iterable[int]) -> None:
        """Raise ConfigError if plans ask for a repeat of a cell with several seeds: a table could show either."""
        conflicts = self.rows(
            "SELECT problem, method, repeat, json_group_array(DISTINCT config) FROM runs"
            " JOIN plans ON plans.key = runs.key JOIN cells ON cells.id = cell"
            f" WHERE cell {_AMONG} GROUP BY cell, repeat HAVING min(seed) < max(seed) LIMIT 1",
            cells,
        )
        for problem, method, repeat, configs in conflicts:
            raise ConfigError(
                f"{method} on {problem}, repeat {repeat}: expected one seed for the same settings, got several, of the"
                f" configs {' and '.join(sorted(json.loads(configs)))}. Give the configs one seed, or take another"
                " folder with --results."
            )

    def describe_problems(self, facts: Sequence[ProblemFacts]) -> None:
        """Store the sizes of problems as read from their data."""
        with self.transaction() as connection:
            rows = [(*astuple(fact)[:-1], json.dumps(fact.classes)) for fact in facts]
            connection.executemany(
                "INSERT OR REPLACE INTO problems VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows
            )

    def problems(self) -> dict[str, ProblemFacts]:
        """Return the sizes of every stored problem by name; if it has several data, of the data that were run last."""
        rows = self.rows("SELECT * FROM problems ORDER BY rowid")
        return {
            name: ProblemFacts(*(name, *facts, tuple(json.loads(text))))
            for name, *facts, text in rows
        }

    def record(
        self, results: Sequence[RunResult], provenance: str, *, replace: bool = False
    ) -> None:
        """Append finished runs in one transaction; a run that is done stays as it is, unless ``replace``.

        ``provenance`` is JSON text with the versions of code and libraries, and the machine.
        """
        update = (
            f"UPDATE runs SET status = ?, error = ?, measured = ?, choice = ?, finished_at = {_NOW},"
            " provenance = (SELECT id FROM provenances WHERE description = ?)"
            " WHERE key = ? AND (? OR status != 'done')"
        )
        with self.transaction() as connection:
            connection.execute(
                "INSERT INTO provenances (description) VALUES (?) ON CONFLICT DO NOTHING",
                (provenance,),
            )
            for result in results:
                choice = to_json(result.choice) if result.choice else None
                row = (result.status, result.error, to_json(dict(result.values)), choice)
                if connection.execute(update, (*row, provenance, result.key, replace)).rowcount:
                    connection.execute("DELETE FROM histories WHERE key = ?", (result.key,))
                    if result.history:
                        curves = columns.pack(result.history)
                        connection.execute(
                            "INSERT INTO histories VALUES (?, ?)", (result.key, curves)
                        )
                connection.execute("DELETE FROM reservations WHERE key = ?", (result.key,))

    def reserve(self, keys: Collection[str]) -> set[str]:
        """Reserve runs for this process; return the runs that another running process has reserved.

        Choice: a reservation is advice, never a lock. A run that another process has reserved comes last, and is then
        computed if it is still not done. So a killed or hanging process cannot block a run.
        """
        me = this_process()
        with self.transaction() as connection:
            rows = self.rows(f"SELECT key, process FROM reservations WHERE key {_AMONG}", keys)
            held = {key for key, process in rows if process != me and is_running(process)}
            free = [(key, me) for key in keys if key not in held]
            connection.executemany("INSERT OR REPLACE INTO reservations VALUES (?, ?)", free)
        return held

    def release(self) -> None:
        """Release the runs that this process, or a process that has ended, has reserved."""
        with self.transaction() as connection:
            for (process,) in self.rows("SELECT DISTINCT process FROM reservations"):
                if process == this_process() or not is_running(process):
                    connection.execute("DELETE FROM reservations WHERE process = ?", (process,))

    def statuses(self) -> list[tuple[str, int, int, int, int]]:
        """Count the runs that each config, and all configs at the end, ask for, without runs of other shards.

        Returns
        -------
        list of (str, int, int, int, int)
            Name, and the numbers of runs that are done, failed and planned, and of the failed or planned runs those
            that a running process has reserved.
        """
        reserved = self.rows("SELECT key, process FROM reservations")
        # places of runs of other shards are negative, see `plan`
        return self.rows(
            "SELECT config, sum(status = 'done'), sum(status = 'failed'), sum(status = 'planned'),"
            f" sum(status != 'done' AND key {_AMONG})"
            " FROM (SELECT config, key, 0 AS is_sum FROM plans WHERE place >= 0"
            " UNION SELECT '(all)', key, 1 FROM plans WHERE place >= 0)"
            " JOIN runs USING (key) JOIN cells ON cells.id = cell GROUP BY is_sum, config ORDER BY is_sum, config",
            [key for key, process in reserved if is_running(process)],
        )

    def failures(self) -> list[tuple[str, str, str, int, str]]:
        """Return key, problem, method, repeat and error of the failed runs that configs ask for."""
        return self.rows(
            "SELECT key, problem, method, repeat, error FROM runs JOIN cells ON cells.id = cell"
            " WHERE status = 'failed' AND key IN (SELECT key FROM plans) ORDER BY cell, repeat"
        )

    def configs(self) -> list[tuple[str, str, int, int, int, int]]:
        """Return name, time of the last run, and numbers of problems, methods, settings and runs of each config."""
        return self.rows(
            "SELECT name, substr(replace(planned_at, 'T', ' '), 1, 16), count(DISTINCT problem),"
            " count(DISTINCT method), count(DISTINCT cell), count(*)"
            " FROM configs JOIN plans ON plans.config = name JOIN runs ON runs.key = plans.key"
            " JOIN cells ON cells.id = cell GROUP BY name ORDER BY planned_at"
        )

    def check_content(self) -> None:
        """Raise StoreError for the first damage of the file, or content that cannot be decoded."""
        self.check_integrity()
        self.check_references()
        self.read()
        for (key,) in self.rows("SELECT key FROM histories"):
            self.histories([key])

    def done(self, keys: Iterable[str]) -> set[str]:
        """Return the given keys whose runs are done."""
        query = f"SELECT key FROM runs JOIN cells ON cells.id = cell WHERE status = 'done' AND key {_AMONG}"
        return {key for (key,) in self.rows(query, keys)}

    def origins(
        self, configs: Sequence[str] | None = None
    ) -> list[tuple[str, str, str | None, int]]:
        """Count the runs that the configs (all by default) ask for, by method, status and provenance."""
        wanted = self.config_texts() if configs is None else configs
        return self.rows(
            "SELECT method, status, description, count(*) FROM runs JOIN cells ON cells.id = cell"
            " LEFT JOIN provenances ON provenances.id = provenance"
            f" WHERE key IN (SELECT key FROM plans WHERE config {_AMONG}) GROUP BY 1, 2, 3 ORDER BY 1, 2, 3",
            wanted,
        )

    def configs_of(self, key: str) -> list[str]:
        """Return the names of the configs that ask for a run, the latest run config last."""
        asking = (
            "SELECT name FROM plans JOIN configs ON name = config WHERE key = ? ORDER BY planned_at"
        )
        return [name for (name,) in self.rows(asking, key)]

    def config_texts(self) -> dict[str, str]:
        """Return the text of each config that was ever planned, by name, sorted."""
        return dict(self.rows("SELECT name, text FROM configs ORDER BY name"))

    def planned_cells(self) -> dict[str, list[Cell]]:
        """Return the cells of the runs that each config asks for, by its name."""
        query = "SELECT DISTINCT config, cell FROM plans JOIN runs USING (key)"
        pairs = self.rows(query)
        cells = self._cells({number for _, number in pairs})
        planned = dict[str, list[Cell]]()
        for config, number in pairs:
            if number in cells:
                planned.setdefault(config, []).append(cells[number])
        return planned

    def read(
        self, configs: Sequence[str] | None = None
    ) -> tuple[pd.DataFrame, dict[int, Cell], dict[int, dict[str, Label]]]:
        """Return the runs that the configs (all by default) ask for, in the order of the configs' names and plans.

        Runs that refer to no cell, which `check_references` reports, are left out.

        Returns
        -------
        pandas.DataFrame
            A row for each run: `columns.RUN_COLUMNS`, of which ``choice`` is JSON text or None, and a float64 column
            for each quantity that any run has, nan where a run has none.
        dict of int to Cell
            The cells, by number.
        dict of int to dict of str to Label
            The labels of each cell by config, in the order of the configs' names.

        Raises
        ------
        UnknownConfigError
            A config of that name was never run into this store.
        StoreError
            The file is damaged.
        """
        import pandas as pd

        known = list(self.config_texts())
        for name in configs or ():
            if name not in known:
                expected = listed(known, name) or "none yet"
                raise UnknownConfigError(
                    f"no runs of config {name!r} in {self.path}: expected one of {expected}{nearest(name, known)}."
                    " Run it first with `pppca run`."
                )
        # equal texts share an object
        types: Any = dict.fromkeys(["origin", "configs"], "category")
        types |= {"status": pd.CategoricalDtype([*columns.STATUSES])}
        types |= dict.fromkeys(["measured", "choice"], "object")
        asked = known if configs is None else sorted(configs)
        runs, numbers = [], []
        with self._explained():
            for part in pd.read_sql_query(
                _ASKED, self._connection, params=bound(asked), chunksize=CHUNK, dtype=types
            ):
                numbers.append(self._numbers(part["key"].tolist(), part.pop("measured").tolist()))
                runs.append(part)
        frame = pd.concat(runs, ignore_index=True)
        self._check_texts("provenance", frame["origin"].unique())
        self._check_texts("choice", frame["choice"].unique())
        order = frame.sort_values(list(_ORDER)).index
        frame = pd.concat([frame[list(RUN_COLUMNS)], pd.concat(numbers, ignore_index=True)], axis=1)
        frame = frame.take(order.to_numpy()).reset_index(drop=True)
        cells = self._cells(frame["cell"].unique().tolist())
        frame = frame[frame["cell"].isin(cells)].reset_index(drop=True)
        return frame, cells, self._labels(asked, cells)

    def runs_by_key(self, keys: Collection[str]) -> dict[str, StoredRun]:
        """Return runs by their keys, whether or not a config asks for them now."""
        return {run[0].key: run for run in self._runs(f"key {_AMONG}", keys)}

    def runs_of_cell(self, key: str) -> list[StoredRun]:
        """Return the runs with the same settings and data as a run, itself among them, that a config asks for."""
        of_cell = "cell = (SELECT cell FROM runs WHERE key = ?) AND key IN (SELECT key FROM plans)"
        return self._runs(of_cell, key)

    def histories(self, keys: Collection[str]) -> dict[str, Curves]:
        """Return the learning curves of the runs that have any, by key."""
        curves = dict[str, Curves]()
        for key, blob in self.rows(f"SELECT key, curves FROM histories WHERE key {_AMONG}", keys):
            with self.decoding(f"learning curves of run {key}"):
                curves[key] = columns.unpack(blob)
        return curves

    def _labels(
        self, configs: Sequence[str], numbers: Collection[int]
    ) -> dict[int, dict[str, Label]]:
        """Return the labels that the configs give each cell, by the numbers of the cells."""
        labels = dict[int, dict[str, Label]]()
        query = f"SELECT cell, config, label FROM labels WHERE config {_AMONG} ORDER BY config"
        for number, config, text in self.rows(query, configs):
            with self.decoding(f"label of cell {number}"):
                labels.setdefault(number, {})[config] = columns.read_label(text)
        if missing := set(numbers) - labels.keys():
            raise self._damaged(f"cell {min(missing)} has no label")
        return labels

    def _cells(self, numbers: Iterable[int]) -> dict[int, Cell]:
        """Return cells by their numbers in the tables."""
        cells = dict[int, Cell]()
        query = f"SELECT id, {', '.join(CELL_COLUMNS)} FROM cells WHERE id {_AMONG}"
        for number, *row in self.rows(query, numbers):
            with self.decoding(f"cell {number}"):
                cells[number] = columns.read_cell(row)
        return cells

    def _runs(self, which: str, value: object) -> list[StoredRun]:
        """Return the runs for which a condition with a value holds."""
        names = f"key, cell, repeat, seed, status, error, measured, choice, {_ORIGIN}"
        rows = self.rows(f"SELECT {names} FROM runs WHERE {which}", value)
        cells = self._cells({number for _, number, *_ in rows})
        self._check_texts("provenance", {origin for *_, origin in rows})
        runs = list[StoredRun]()
        for key, number, repeat, seed, status, error, measured, choice, origin in rows:
            if number not in cells:
                raise self._damaged(f"run {key} refers to no cell")
            result = None
            if status != columns.PLANNED:
                with self.decoding(f"numbers of run {key}"):
                    values, chosen = dict(json.loads(measured)), dict(json.loads(choice or "{}"))
                result = RunResult(key, status, error, values, choice=chosen, origin=origin or "")
            runs.append((RunSpec(key, cells[number], repeat, seed), result))
        return runs

    def _numbers(self, keys: Collection[str], texts: Sequence[str]) -> pd.DataFrame:
        """Return the numbers of runs by columns."""
        with self.decoding("numbers of a run"):
            try:
                return columns.read_numbers(texts)
            except (ValueError, TypeError):
                self.runs_by_key(keys)  # names the damaged run
                raise

    def _check_texts(self, content: str, texts: Iterable[object]) -> None:
        """Raise StoreError for a JSON text that others, who do not know this file, could not decode."""
        with self.decoding(f"{content} of a run"):
            for text in texts:
                if isinstance(text, str):
                    json.loads(text)
