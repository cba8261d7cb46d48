"""Configs, the runs that they request, their results, and small data.

Cells and results that no config asks for are those of `stored_runs`.
"""

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from sklearn.datasets import load_iris

from pppca_bench.config.experiment import Config, parse_config
from pppca_bench.config.plan import Identity, expand
from pppca_bench.experiments.runner import OpenProblems
from pppca_bench.problems import DataSet, OwnData, open_problem
from pppca_bench.quantities import TIMINGS
from pppca_bench.runs import Plan, RunResult, RunSpec, StoredRun
from pppca_bench.store.database import Store
from pppca_bench.yaml_files.source import to_source


def config_of(document: Mapping[str, Any]) -> Config:
    """Return a config of a document's values."""
    return parse_config(to_source(document, Path("a.yaml")))


def write_config(folder: Path, document: Mapping[str, Any]) -> Path:
    """Write a document as NAME.yaml, and return its path."""
    path = folder / f"{document['name']}.yaml"
    path.write_text(
        yaml.safe_dump(dict(document), sort_keys=False, allow_unicode=True), encoding="utf-8"
    )
    return path


def small(*methods: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    """Return a document of methods on iris, with two repeats and a small classifier, and with changes."""
    document = {
        "name": "a",
        "problems": ["iris"],
        "repeats": 2,
        "seed": 1,
        "methods": list(methods),
    }
    return document | {"classifier": {"hidden": [4], "max_epochs": 20}} | changes


def expanded(config: Config, *, repeats: int | None = None) -> list[RunSpec]:
    """Return a config's runs on data that nobody opens."""
    labels = {entry: entry if isinstance(entry, str) else entry.label for entry in config.problems}
    identities = {
        entry: Identity(label, f"data of {label}", label) for entry, label in labels.items()
    }
    return expand(config, identities, repeats=repeats)


def specs_of(document: Mapping[str, Any]) -> list[RunSpec]:
    """Return the runs that a document asks for, of the bundled problems as they are."""
    config = config_of(document)
    return expand(
        config, {name: Identity(name, _opened(name)[0].sha256, name) for name in config.problems}
    )


def plan_of(specs: Sequence[RunSpec], name: str = "a", **others: Any) -> Plan:
    """Return the plan of a config that asks for runs."""
    return Plan(
        name, **{"sha256": "c" * 64, "text": f"name: {name}\n", "specs": tuple(specs)} | others
    )


def done(spec: RunSpec, history: Mapping[str, Any] | None = None, **values: float) -> RunResult:
    """Return the result of a run that is done."""
    return RunResult(spec.key, "done", values=values, history=history or {})


def failed(spec: RunSpec, error: str = "ValueError: no") -> RunResult:
    """Return the result of a run that failed."""
    return RunResult(spec.key, "failed", error=error)


def opened(names: Sequence[str] = ("iris", "wine")) -> OpenProblems:
    """Return bundled problems as the runner wants them."""
    return {
        (name, source.sha256): (source, problem)
        for name in names
        for source, problem in [_opened(name)]
    }


_opened = cache(open_problem)


def flowers() -> pd.DataFrame:
    """Return iris with columns of text and of truth values, gaps, and the names of the classes as the column kind."""
    iris = load_iris(as_frame=True)
    X = iris.data.assign(
        stem=np.where(iris.target > 1, "long", "short"), wild=np.arange(150) % 2 == 0
    )
    X = X.mask(np.arange(150)[:, np.newaxis] % 29 == np.arange(6))
    return X.assign(kind=iris.target_names[iris.target])


def csv_of(n_rows: int, *, sep: str = ",", **columns: Sequence[object]) -> str:
    """Return a CSV file of columns by name, each of which repeats its values."""
    rows = ([values[n % len(values)] for values in columns.values()] for n in range(n_rows))
    return "".join(sep.join(map(str, row)) + "\n" for row in [columns, *rows])


def data_of(folder: Path, content: str, *target: str, **settings: Any) -> DataSet:
    """Return the data set of a CSV file, whose target is y by default."""
    (folder / "t.csv").write_text(content)
    return DataSet(OwnData("csv", str(folder / "t.csv"), target or ("y",), **settings))


def write_dt(path: Path, *, n_features: int = 3, task: str = "bool", shift: float = 0.0) -> Path:
    """Write a small Proben1 file of two classes that the first feature separates."""
    rng = np.random.default_rng(0)
    lines = ["bool_in=0", f"real_in={n_features}"]
    lines += ["bool_out=2", "real_out=0"] if task == "bool" else ["bool_out=0", "real_out=2"]
    lines += ["training_examples=20", "validation_examples=10", "test_examples=10"]
    for row in rng.uniform(0, 0.9, size=(40, n_features)):
        outputs = "1 0" if row[0] > 0.45 else "0 1"
        lines.append(" ".join(f"{value + shift:.4f}" for value in row) + f" {outputs}")
    path.write_text("\n".join(lines) + "\n")
    return path


def runs_in(store: Store, configs: Sequence[str] | None = None) -> list[StoredRun]:
    """Return the runs that configs (all by default) ask for, in the order of the configs' names and plans."""
    frame, *_ = store.read(configs)
    runs = store.runs_by_key(frame["key"])
    return [runs[key] for key in frame["key"]]


OF_THEIR_MOMENT = frozenset({"finished_at", "provenance", "measured", *TIMINGS})
"""Columns and numbers of runs that differ each time they are computed."""
OF_THEIR_ORDER = OF_THEIR_MOMENT | {"cell", "id"}
"""Columns of runs that also depend on the order in which cells were planned."""


def stored_rows(
    database: Path, *, aside: Collection[str] = OF_THEIR_MOMENT
) -> dict[str, dict[str, Any]]:
    """Return the done runs of a database that is whole, with cells, curves and numbers, by key in their order."""
    with closing(sqlite3.connect(database)) as connection:
        connection.row_factory = sqlite3.Row
        assert [tuple(row) for row in connection.execute("PRAGMA integrity_check")] == [("ok",)]
        rows = connection.execute(
            "SELECT * FROM runs JOIN cells ON cells.id = cell LEFT JOIN histories USING (key) WHERE status = 'done'"
            " ORDER BY runs.rowid"
        ).fetchall()
    facts = {row["key"]: {**row, **json.loads(row["measured"])} for row in rows}
    return {
        key: {name: value for name, value in row.items() if name not in aside}
        for key, row in facts.items()
    }
