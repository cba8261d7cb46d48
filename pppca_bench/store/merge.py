"""Merging of results databases."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pppca_bench.errors import ConfigError, StoreError
from pppca_bench.quantities import TIMINGS
from pppca_bench.store import DATABASE
from pppca_bench.store.columns import CELL_COLUMNS
from pppca_bench.store.database import Store

_REFUSED = "Nothing was merged."
_REMEDY = (
    "Other processors or library versions may round differently: see `pppca show RUN` in both folders, and remove or"
    f" recompute (`pppca run --fresh`) one of them. {_REFUSED}"
)
_RESULT = ("status", "error", "measured", "choice", "finished_at")
_COLUMNS = ", ".join(("key", "cell", "repeat", "seed", "provenance", *_RESULT))
_CELL = ", ".join(CELL_COLUMNS)

# Facts that runs refer to, then a view of the other database's runs with our numbers of cells and provenances.
_COPY_FACTS = (
    "INSERT OR IGNORE INTO main.problems SELECT * FROM other.problems ORDER BY rowid",
    "INSERT OR IGNORE INTO main.configs SELECT * FROM other.configs",
    f"INSERT OR IGNORE INTO main.cells ({_CELL}) SELECT {_CELL} FROM other.cells ORDER BY id",
    "INSERT OR IGNORE INTO main.provenances (description) SELECT description FROM other.provenances ORDER BY id",
    "CREATE TEMP VIEW incoming AS SELECT theirs.rowid AS number, theirs.key, cells.id AS cell, theirs.repeat,"
    " theirs.seed, provenances.id AS provenance, "
    + ", ".join(f"theirs.{name}" for name in _RESULT)
    + " FROM"
    " other.runs AS theirs LEFT JOIN other.cells AS their_cells ON their_cells.id = theirs.cell"
    f" LEFT JOIN main.cells USING ({_CELL})"
    " LEFT JOIN other.provenances AS origins ON origins.id = theirs.provenance"
    " LEFT JOIN main.provenances USING (description)",
)
_JOINED = "incoming LEFT JOIN main.runs AS known ON known.key = incoming.key"
_IS_NEW = (
    "(incoming.status = 'done' AND coalesce(known.status, '') != 'done'"
    " OR incoming.status = 'failed' AND coalesce(known.status, 'planned') = 'planned')"
)
_BOTH_DONE = "(known.status = 'done' AND incoming.status = 'done')"
_COPY_RUNS = (
    "INSERT OR REPLACE INTO main.histories SELECT key, curves FROM other.histories"
    f" WHERE key IN (SELECT incoming.key FROM {_JOINED} WHERE {_IS_NEW})",
    f"INSERT INTO main.runs ({_COLUMNS}) SELECT {_COLUMNS} FROM incoming WHERE true ORDER BY number"
    f" ON CONFLICT (key) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in ('provenance', *_RESULT))}"
    " WHERE (runs.status = 'planned' AND excluded.status != 'planned')"
    " OR (runs.status = 'failed' AND excluded.status = 'done')",
    # of all shards
    "INSERT OR IGNORE INTO main.plans SELECT config, key, max(place, -1 - place) FROM other.plans",
    "INSERT OR IGNORE INTO main.labels SELECT config, cells.id, label FROM other.labels"
    f" JOIN other.cells AS theirs ON theirs.id = cell JOIN main.cells USING ({_CELL})",
)
_TIMES = ", ".join(f"'$.{name}'" for name in TIMINGS)
# Only `Store` names the run of a damaged text.
_NUMBERS = f"iif(json_valid({{0}}.measured), json_remove({{0}}.measured, {_TIMES}), {{0}}.measured)"
_DIFFER = (
    "known.cell IS NOT incoming.cell OR known.repeat IS NOT incoming.repeat OR known.seed IS NOT incoming.seed"
    f" OR {_NUMBERS.format('known')} IS NOT {_NUMBERS.format('incoming')}"
    " OR known.choice IS NOT incoming.choice"
    " OR (SELECT curves FROM main.histories WHERE key = known.key)"
    " IS NOT (SELECT curves FROM other.histories WHERE key = known.key)"
)
"""Whether two rows of a run may contradict each other; equal numbers may have different texts, curves other bytes."""


def merge(store: Store, sources: Sequence[Path]) -> list[tuple[int, int]]:
    """Merge results databases into one: all of them, or none if two contradict each other.

    Plans, configs, problems, learning curves and provenances are merged too, runs in the order of their plans. A done
    run stays as it is; a failed run is replaced by a done run. ``sources`` are only read, and may be in use by runs.
    Returns, for each of them, the number of its runs that were added, and of its done runs that were stored before.

    Raises
    ------
    StoreError
        A file cannot be read or has another version, or two files have different numbers (except times) for a run,
        texts for a config, or data, algorithms or seeds for a setting. Then nothing is merged.
    """
    for source in sources:
        if source.resolve() == store.path.resolve():
            raise StoreError(
                f"{source}: expected another database than the target of the merge, got the same."
            )
    # SQLite attaches few databases at a time, and detaches none within a transaction.
    with TemporaryDirectory(prefix=".merge-", dir=store.path.parent) as folder:
        with Store(Path(folder) / DATABASE) as merged:
            _, *counts = [_merge_source(merged, source) for source in (store.path, *sources)]
        _merge_source(store, merged.path)
    return counts


def _merge_source(store: Store, source: Path) -> tuple[int, int]:
    """Merge a database, or nothing of it on an error; return the numbers of runs added, and of done runs known."""
    with Store(source, read_only=True) as other:
        # Once attached, errors of a damaged file would name the target.
        other.check_integrity()
        other.check_references()
        store.rows("ATTACH ? AS other", f"{source.absolute().as_uri()}?mode=ro")
        try:
            with store.transaction():
                return _merge_attached(store, other)
        # A setting has another seed in the other database.
        except ConfigError as error:
            raise StoreError(f"{source}: {error} {_REFUSED}") from None
        finally:
            store.rows("DETACH other")


def _merge_attached(store: Store, other: Store) -> tuple[int, int]:
    """Merge the attached database ``other``; return the numbers of runs added, and of done runs known."""
    _refuse_other_texts(store, other)
    for statement in _COPY_FACTS:
        store.rows(statement)
    _refuse_other_results(store, other)
    ((n_new, n_known),) = store.rows(f"SELECT total({_IS_NEW}), total({_BOTH_DONE}) FROM {_JOINED}")
    for statement in _COPY_RUNS:
        store.rows(statement)
    _refuse_other_versions(store, other)
    store.check_seeds(cell for (cell,) in store.rows("SELECT DISTINCT cell FROM incoming"))
    store.rows("DROP VIEW incoming")
    return int(n_new), int(n_known)


def _refuse_other_texts(store: Store, other: Store) -> None:
    """Raise StoreError for a config that has different texts."""
    for name, merged, incoming in store.rows(
        "SELECT name, ours.sha256, theirs.sha256 FROM main.configs AS ours JOIN other.configs AS theirs USING (name)"
        " WHERE ours.sha256 != theirs.sha256 LIMIT 1"
    ):
        raise StoreError(
            f"{other.path}: config {name}: expected the text that was merged before (SHA-256 {merged[:12]}...), got"
            f" another ({incoming[:12]}...). Give one of the two configs another name, run it, and merge again."
            f" {_REFUSED}"
        )


def _refuse_other_results(store: Store, other: Store) -> None:
    """Raise StoreError for runs that are done in both databases with different numbers (except times) or curves."""
    keys = [
        key
        for (key,) in store.rows(
            f"SELECT incoming.key FROM {_JOINED} WHERE {_BOTH_DONE} AND ({_DIFFER})"
        )
    ]
    merged, incoming = _facts(store, keys), _facts(other, keys)
    different = [key for key in keys if merged[key] != incoming[key]]
    for key in different:
        our, their = merged[key], incoming[key]
        name = next(name for name in our | their if our.get(name) != their.get(name))
        raise StoreError(
            f"{other.path}: run {key} ({our['cell'].method} on {our['cell'].problem}, repeat {our['repeat']}): expected"
            f" {name} {our.get(name)}, as it was merged before, got {their.get(name)}. Runs that differ:"
            f" {len(different)}. {_REMEDY}"
        )


def _facts(store: Store, keys: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the parts of each run that two databases must share, with digests in place of learning curves."""
    histories, facts = store.histories(keys), {}
    for key, (spec, result) in store.runs_by_key(keys).items():
        shared: dict[str, Any] = {"cell": spec.cell, "repeat": spec.repeat, "seed": spec.seed}
        shared |= {
            name: value
            for name, value in (result.values if result else {}).items()
            if name not in TIMINGS
        }
        if result and result.choice:
            shared["the choice"] = result.choice
        for name, curve in histories.get(key, {}).items():
            digest = hashlib.sha256(repr(curve.tolist()).encode()).hexdigest()
            shared[f"the learning curve {name!r} of SHA-256"] = f"{digest[:12]}..."
        facts[key] = shared
    return facts


def _refuse_other_versions(store: Store, other: Store) -> None:
    """Raise StoreError for a planned setting that has different data, or different versions of the algorithms."""
    for problem, method, data, other_data, algorithms, other_algorithms in store.rows(
        "SELECT problem, method, min(data_sha256), max(data_sha256), min(algorithms), max(algorithms)"
        " FROM main.cells WHERE id IN (SELECT cell FROM main.runs WHERE key IN (SELECT key FROM main.plans))"
        " GROUP BY problem, method, settings HAVING count(*) > 1 LIMIT 1"
    ):
        expected = "the same versions of the algorithms"
        got = f"{algorithms} and {other_algorithms}"
        if data != other_data:
            expected, got = "the same data", f"SHA-256 {data[:12]}... and {other_data[:12]}..."
        raise StoreError(
            f"{other.path}: {method} on {problem}: expected {expected} in all databases, got {got}. Run the older"
            f" setting again with this version of pppca and these data. {_REFUSED}"
        )
