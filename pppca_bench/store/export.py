"""Export: data frames of runs and predictions, details of a run."""

from __future__ import annotations

import json
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pppca_bench.errors import StoreError, UnknownNameError
from pppca_bench.quantities import described, in_order
from pppca_bench.runs import Cell, Scalar, flattened, selections
from pppca_bench.store import DATABASE, RESULTS
from pppca_bench.store.columns import PLANNED, RUN_COLUMNS
from pppca_bench.store.database import Store

if TYPE_CHECKING:
    import pandas as pd

IDENTITY = (
    *("key", "configs", "problem", "data_sha256", "method", "repeat", "seed", "status"),
    *("version", "commit", "finished_at", "error"),
)
"""Columns that every run has; they come first."""

TARGETS, PREDICTED, PROBABILITIES = "test_targets", "test_predicted", "test_probabilities"
"""Names of a run's predictions among its learning curves, in single precision."""


def load_results(
    folder: str | Path = RESULTS, configs: Sequence[str] | None = None
) -> pd.DataFrame:
    """Load the runs of a results folder, as a table with a row for each run that is done or has failed.

    Parameters
    ----------
    folder : path, default "pppca-results"
        Folder of ``results.sqlite``.
    configs : sequence of str, optional
        Names of the configs whose runs are loaded; all by default.

    Returns
    -------
    pandas.DataFrame
        First the columns that every run has (`IDENTITY`): ``configs`` has the names of the configs that ask for it,
        separated by spaces; ``status`` is ``"done"`` or ``"failed"``. Then its settings, as
        ``method.tau`` and ``classifier.hidden``, those that runs choose as ``chosen.tau``, and its numbers as in
        `pppca_bench.quantities.QUANTITIES`; names end in the unit, percent or ms. Choice: settings have a prefix, since
        a number may have the same name (``n_epochs``). A setting of several types, or with lists, is text as in
        configs: ``"pivot"``, ``"[8, 4]"``. With ``chosen.tau``, ``candidates`` is JSON text: the settings of each
        candidate, and the values by which a run compared them.

    Raises
    ------
    StoreError
        There are no results, or the file cannot be read.
    UnknownConfigError
        A config of that name was never run into the folder.

    Warns
    -----
    UserWarning
        The file is damaged, and the table has only the runs that can be read.
    """
    with Store(Path(folder) / DATABASE, read_only=True) as store:
        try:
            store.check_references()
        except StoreError as damage:
            warnings.warn(str(damage), stacklevel=2)
        return runs_table(store, configs)


def runs_table(store: Store, configs: Sequence[str] | None = None) -> pd.DataFrame:
    """Return the runs of an open database as `load_results` does, without a warning."""
    import pandas as pd

    frame, cells, _ = store.read(configs)
    frame = frame[frame["status"] != PLANNED].reset_index(drop=True)
    asking = dict(store.rows("SELECT key, group_concat(config, ' ') FROM plans GROUP BY key"))
    finished = dict(store.rows("SELECT key, finished_at FROM runs"))
    run_cells = [cells[number] for number in frame["cell"]]
    columns: dict[str, Any] = {
        name: [getattr(cell, name, None) for cell in run_cells] for name in IDENTITY
    }
    columns |= {name: frame[name].tolist() for name in ("key", "repeat", "seed", "status", "error")}
    columns["configs"], columns["finished_at"] = (
        list(map(of.get, columns["key"])) for of in (asking, finished)
    )
    columns["version"], columns["commit"] = (
        [_code(text)[index] for text in frame["origin"]] for index in (0, 1)
    )
    columns |= _settings(frame, cells)
    for name in in_order(set(frame.columns) - set(RUN_COLUMNS)):
        is_whole = described(name).is_count and frame[name].notna().all()
        columns[name] = frame[name].astype("int64") if is_whole else frame[name]
    return pd.DataFrame(columns)


def _settings(frame: pd.DataFrame, cells: Mapping[int, Cell]) -> dict[str, Any]:
    """Return columns of the settings of runs, and of those that runs choose, by dotted name."""
    flat = dict[int, dict[str, Any]]()
    for number, cell in cells.items():
        sections = {"method": cell.parameters, "classifier": cell.classifier, "choose": cell.choose}
        flat[number] = flattened(sections)
    numbers = frame["cell"].tolist()
    columns = dict[str, Any]()
    for part in ("method.", "classifier.", "choose."):
        names = {name for settings in flat.values() for name in settings if name.startswith(part)}
        for name in sorted(names):
            columns[name] = _typed([flat[number].get(name) for number in numbers])
    choices = [json.loads(text) if isinstance(text, str) else {} for text in frame["choice"]]
    if any(choices):
        chosen = [choice.get("chosen", {}) for choice in choices]
        for name in sorted(set().union(*chosen)):
            columns[f"chosen.{name}"] = _typed([settings.get(name) for settings in chosen])
        tried = [choice.get("candidates") for choice in choices]
        columns["candidates"] = [each and json.dumps(each) for each in tried]
    return columns


@cache
def _code(origin: object) -> tuple[str | None, str | None]:
    """Return the version and the commit of a provenance."""
    version, _, commit = (
        json.loads(origin)["pppca"].partition("+") if isinstance(origin, str) else ("", "", "")
    )
    return version or None, commit or None


def _typed(values: list[Any]) -> Any:
    """Return the values of a setting: numbers or booleans if all of them are, otherwise text as in configs."""
    import pandas as pd

    types = {type(value) for value in values if value is not None}
    if types == {bool}:
        return pd.array(values, dtype="boolean")
    return values if types <= {int, float} else list(map(_text, values))


def _text(value: Scalar) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)


def find_run(store: Store, text: str) -> str:
    """Return the key of a run, given the key, its beginning, or ``config/problem/method/repeat``.

    Raises UnknownNameError if no run or several runs have that name: the message lists some of them.
    """
    rows = store.rows(
        "SELECT key FROM runs WHERE substr(key, 1, ?) = ? ORDER BY key", len(text), text
    )
    if not rows and text.count("/") >= 3:
        config, _, rest = text.partition("/")
        rows = store.rows(
            "SELECT runs.key FROM runs JOIN cells ON cells.id = cell JOIN plans ON plans.key = runs.key"
            " WHERE config = ? AND problem = ? AND method = ? AND CAST(repeat AS TEXT) = ? ORDER BY runs.key",
            *(config, *rest.rsplit("/", 2)),
        )
    keys = [str(key) for (key,) in rows]
    if len(keys) == 1:
        return keys[0]
    expected = "expected a key, its beginning, or CONFIG/PROBLEM/METHOD/REPEAT"
    if not keys:
        raise UnknownNameError(
            f"no run {text!r} in {store.path}: {expected}. `pppca list` lists the configs that were run,"
            " `pppca export` their keys."
        )
    cells = {key: spec.cell for key, (spec, _) in store.runs_by_key(keys).items()}
    settings = selections(cells.values())
    texts = [f"{key} ({','.join(map('='.join, settings[cells[key]].items()))})" for key in keys[:4]]
    some = "; ".join(texts) + ("; …" if len(keys) > 4 else "")
    raise UnknownNameError(
        f"{len(keys)} runs match {text!r} in {store.path}: {expected} of one run, such as {some}."
    )


def run_details(store: Store, key: str) -> dict[str, Any]:
    """Return all facts of a stored run as plain values, the traceback of a failed run under ``error``."""
    ((finished_at,),) = store.rows("SELECT finished_at FROM runs WHERE key = ?", key)
    spec, result = store.runs_by_key([key])[key]
    cell, configs = spec.cell, store.configs_of(key)
    values = result.values if result else {}
    problem: dict[str, Any] = {"name": cell.problem, "data_sha256": cell.data_sha256}
    facts = store.problems().get(cell.problem)
    if facts is not None and facts.data_sha256 == cell.data_sha256:
        problem = asdict(facts)
    provenance = json.loads(result.origin) if result and result.origin else {}
    if "configs" in provenance:  # other configs of the same command do not concern this run
        provenance["configs"] = {
            name: digest for name, digest in provenance["configs"].items() if name in configs
        }
    curves = store.histories([key]).get(key, {})
    return {
        "key": key,
        "status": result.status if result else "planned",
        "configs": configs,
        "problem": problem,
        "method": cell.method,
        "parameters": dict(cell.parameters),
        "classifier": dict(cell.classifier),
        "choose": dict(cell.choose),
        "predictions": cell.predictions,
        "algorithm_versions": dict(cell.algorithms),
        "repeat": spec.repeat,
        "seed": spec.seed,
        "finished_at": finished_at,
        "values": {name: values[name] for name in in_order(values)},
        "choice": dict(result.choice) if result else {},
        "histories": {name: " × ".join(map(str, curve.shape)) for name, curve in curves.items()},
        "provenance": provenance,
        "error": result.error if result else None,
    }


def last_day(store: Store, keys: Collection[str]) -> str:
    """Return the day on which the last of some runs was finished, such as ``"2026-11-27"``."""
    query = "SELECT max(finished_at) FROM runs WHERE key IN (SELECT value FROM json_each(?))"
    ((finished_at,),) = store.rows(query, keys)
    return str(finished_at).partition("T")[0]


def load_predictions(run: str, results: str | Path = RESULTS) -> pd.DataFrame:
    """Load the predictions of a stored run for the test split.

    Parameters
    ----------
    run : str
        A key, its beginning, or ``config/problem/method/repeat``.
    results : path, default "pppca-results"
        Folder of ``results.sqlite``.

    Returns
    -------
    pandas.DataFrame
        A row for each test example, in the split's order: ``target`` and ``predicted`` (targets, or classes: labels
        of a table in its type, otherwise class numbers), and ``probability_<class>`` if there are class probabilities.
        With several targets, ``target_0``, ``predicted_0`` and so on.

    Raises
    ------
    UnknownNameError
        No run, or several, have that name.
    StoreError
        There are no results, or the run stores no predictions.
    """
    import pandas as pd

    with Store(Path(results) / DATABASE, read_only=True) as store:
        key = find_run(store, run)
        arrays = store.histories([key]).get(key, {})
        known = store.rows(
            "SELECT classes FROM runs JOIN cells ON cells.id = cell"
            " JOIN problems ON problems.name = problem AND problems.data_sha256 = cells.data_sha256 WHERE key = ?",
            key,
        )
    if TARGETS not in arrays:
        raise StoreError(
            f"run {key}: expected predictions, got none. Set `predictions: true` in the config to store them."
        )
    labels = [label for (text,) in known for label in json.loads(text)]
    columns = {}
    for name, array in (("target", arrays[TARGETS]), ("predicted", arrays[PREDICTED])):
        if array.ndim == 1:
            numbers = array.astype(np.int64)
            columns[name] = pd.Series(labels).take(numbers).to_numpy() if labels else numbers
        else:
            several = array.shape[1] > 1
            columns |= {
                f"{name}_{index}" if several else name: column
                for index, column in enumerate(array.T)
            }
    probabilities = enumerate(arrays.get(PROBABILITIES, np.empty(0)).T)
    columns |= {
        f"probability_{labels[index] if labels else index}": column
        for index, column in probabilities
    }
    return pd.DataFrame(columns)
