"""Runs for other programs: a flat record of each, all of them as a data frame, and all that is known of one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pppca_bench.errors import UnknownNameError
from pppca_bench.runs import QUANTITIES, Parameters, Scalar, StoredRun
from pppca_bench.store import DATABASE
from pppca_bench.store.database import Store

if TYPE_CHECKING:
    import pandas as pd

_ORIGIN = ("version", "commit", "started_at", "finished_at", "duration_ms")
IDENTITY = ("key", "configs", "problem", "data_sha256", "method", "repeat", "seed", "status", *_ORIGIN, "error")
"""Columns that every run has, the first ones."""

_SPANS = (
    "SELECT key, description, started_at, finished_at, duration_ms,"
    " count(*) OVER (PARTITION BY started_at, duration_ms) FROM runs"
    " LEFT JOIN provenances ON provenances.id = provenance"
)
"""Runs that were computed together have one span."""


def load_results(folder: str | Path = "results", configs: Sequence[str] | None = None) -> pd.DataFrame:
    """Load the runs of a results folder, a row each.

    Parameters
    ----------
    folder : path
        Where ``results.sqlite`` is.
    configs : sequence of str, optional
        Names of the configs whose runs are loaded; all by default.

    Returns
    -------
    pandas.DataFrame
        First what every run has (`IDENTITY`): ``configs`` holds the names of the configs that ask for it, with spaces
        between; ``status`` is ``"done"``, ``"failed"`` or ``"planned"``; ``duration_ms`` is the run's share of the
        time of those that were computed together. Then its settings, as ``method.tau`` and ``classifier.hidden``, and
        its numbers by the names of `pppca_bench.runs.QUANTITIES`, percent and milliseconds where the names say so.
        What a run has not is missing. Choice: the settings of a method have a prefix, since a number may have the
        same name (``n_epochs``). A setting of several types, or with lists, is text as configs have it: ``"pivot"``,
        ``"[8, 4]"``.

    Raises
    ------
    StoreError
        There are no results, or the file cannot be read.
    UnknownConfigError
        A config of that name was never run into the folder.
    """
    import pandas as pd

    with Store(Path(folder) / DATABASE, read_only=True) as store:
        records = run_records(store, configs)
    found = dict.fromkeys(name for record in records for name in record)
    settings = sorted((name for name in found if "." in name), key=lambda name: (name.startswith("classifier."), name))
    numbers = [name for name in QUANTITIES if name in found]
    others = sorted(found.keys() - {*IDENTITY, *settings, *numbers})
    names = (*IDENTITY, *settings, *numbers, *others)
    columns: dict[str, Any] = {name: [record.get(name) for record in records] for name in names}
    for name in settings:
        given = [value for value in columns[name] if value is not None]
        if given and all(isinstance(value, bool) for value in given):
            columns[name] = pd.array(columns[name], dtype="boolean")
        elif not all(isinstance(value, int | float) and not isinstance(value, bool) for value in given):
            columns[name] = list(map(_text, columns[name]))
    return pd.DataFrame(columns)


def run_records(store: Store, configs: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Return a flat record of each run that the configs (all by default) ask for; see `load_results`."""
    asking: dict[str, list[str]] = {}
    for config, keys in store.plans().items():
        for key in keys:
            asking.setdefault(key, []).append(config)
    origins = {key: _origin(*row) for key, *row in store.rows(_SPANS)}
    return [_record(run, asking[run[0].key], origins[run[0].key]) for run in store.runs(configs)]


def find_run(store: Store, text: str) -> str:
    """Return the key of the run that a text names.

    Parameters
    ----------
    store : Store
        The results.
    text : str
        A key, its beginning, or ``config/problem/method/repeat``.

    Raises
    ------
    UnknownNameError
        It names no run, or several: the message lists some of them.
    """
    keys = store.rows("SELECT key FROM runs WHERE substr(key, 1, ?) = ? ORDER BY key", len(text), text)
    if not keys and text.count("/") >= 3:
        config, _, rest = text.partition("/")
        problem, method, repeat = rest.rsplit("/", 2)
        keys = store.rows(
            "SELECT runs.key FROM runs JOIN cells ON cells.id = cell JOIN plans ON plans.key = runs.key"
            " WHERE config = ? AND problem = ? AND method = ? AND CAST(repeat AS TEXT) = ? ORDER BY runs.key",
            *(config, problem, method, repeat),
        )
    if len(keys) == 1:
        return str(keys[0][0])
    expected = "expected a key, its beginning, or CONFIG/PROBLEM/METHOD/REPEAT"
    if not keys:
        raise UnknownNameError(f"no run {text!r} in {store.path}: {expected}. `pppca export` lists the keys.")
    some = "; ".join(_told_apart(store, [key for (key,) in keys])[:4]) + ("; …" if len(keys) > 4 else "")
    raise UnknownNameError(f"{len(keys)} runs match {text!r} in {store.path}: {expected} of one run, such as {some}.")


def run_details(store: Store, key: str) -> dict[str, Any]:
    """Return all that is known of a run, as plain values: the traceback of a failed one under ``error``.

    Parameters
    ----------
    store : Store
        The results.
    key : str
        The run's, which is there.
    """
    ((_, description, started_at, finished_at, duration_ms, n_together),) = store.rows(
        f"SELECT * FROM ({_SPANS}) WHERE key = ?", key
    )
    spec, result = store.runs_by_key([key])[key]
    cell, facts = spec.cell, store.problems().get(spec.cell.problem)
    of_these_data = facts is not None and facts.data_sha256 == cell.data_sha256
    problem = asdict(facts) if facts and of_these_data else {"name": cell.problem, "data_sha256": cell.data_sha256}
    configs = store.configs_of(key)
    provenance = json.loads(description) if description else {}
    if "configs" in provenance:  # those that were run in one command with the run's own say nothing of it
        provenance["configs"] = {name: digest for name, digest in provenance["configs"].items() if name in configs}
    return {
        "key": key,
        "status": result.status if result else "planned",
        "configs": configs,
        "problem": problem,
        "method": cell.method,
        "parameters": _plain(cell.parameters),
        "classifier": _plain(cell.classifier),
        "not_default": list(spec.changed),
        "algorithm_versions": dict(cell.algorithms),
        "repeat": spec.repeat,
        "seed": spec.seed,
        "started_at": started_at,
        "finished_at": finished_at,
        "duration_ms": duration_ms,
        "runs_in_this_time": n_together if started_at else None,
        "values": dict(result.values) if result else {},
        "histories": {
            name: " × ".join(map(str, curve.shape)) for name, curve in store.histories([key]).get(key, {}).items()
        },
        "provenance": provenance,
        "error": result.error if result else None,
    }


def _told_apart(store: Store, keys: Sequence[str]) -> list[str]:
    """Return the keys of some runs, with the settings in which those of one method on one problem differ."""
    cells = {key: spec.cell for key, (spec, _) in store.runs_by_key(keys).items()}
    if len({(cell.problem, cell.method) for cell in cells.values()}) > 1:
        return list(keys)
    settings = {key: cell.settings for key, cell in cells.items()}
    names = dict.fromkeys(name for one in settings.values() for name in one)
    differing = [name for name in names if len({one.get(name) for one in settings.values()}) > 1]
    told = {
        key: ", ".join(f"{name} = {str(_text(one.get(name))).removesuffix('.0')}" for name in differing)
        for key, one in settings.items()
    }
    return [f"{key} ({told[key]})" if told[key] else key for key in keys]


def _origin(
    description: str | None, started_at: str | None, finished_at: str | None, duration_ms: float | None, n_together: int
) -> dict[str, Any]:
    version, _, commit = json.loads(description)["pppca"].partition("+") if description else ("", "", "")
    share = None if duration_ms is None else duration_ms / n_together
    return dict(zip(_ORIGIN, (version or None, commit or None, started_at, finished_at, share), strict=True))


def _record(run: StoredRun, configs: Sequence[str], origin: Mapping[str, Any]) -> dict[str, Any]:
    spec, result = run
    cell = spec.cell
    return {
        "key": spec.key,
        "configs": " ".join(configs),
        "problem": cell.problem,
        "data_sha256": cell.data_sha256,
        "method": cell.method,
        "repeat": spec.repeat,
        "seed": spec.seed,
        "status": result.status if result else "planned",
        **origin,
        "error": result.error if result else None,
        **{f"method.{name}": value for name, value in cell.parameters},
        **{f"classifier.{name}": value for name, value in cell.classifier},
        **(result.values if result else {}),
    }


def _plain(values: Parameters) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values}


def _text(value: Scalar) -> str | None:
    """Return a setting as configs have it."""
    return value if value is None or isinstance(value, str) else json.dumps(value)
