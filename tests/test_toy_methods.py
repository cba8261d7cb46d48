"""The recipe of docs/development.md for a new method, in a copy of the package."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest
from command_line import pppca_process

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[1]

REDUCER = '''
"""Random projections."""

from typing import Any

import numpy as np

from pppca_bench.base.parameters import Count


class RandomProjection:
    """Project on directions that are drawn."""

    def __init__(self, n_components: Count = 2, *, random_state: Any = None) -> None:
        self.n_components, self.random_state = n_components, random_state

    def fit(self, X, y):
        rng = np.random.default_rng(self.random_state)
        self.rows_ = rng.standard_normal((self.n_components, X.shape[1]))
        self.measures_ = {"largest_weight": np.abs(self.rows_).max()}
        return self

    def transform(self, X):
        return X @ self.rows_.T
'''
CLASSIFIER = '''
"""Nearest means."""

import numpy as np

from pppca_bench.base.parameters import Probability


class NearestMean:
    """The class of the nearest mean."""

    def __init__(self, shrink: Probability = 0.0) -> None:
        self.shrink = shrink

    def fit(self, X, y, *, classes):
        means = np.array([X[y == one].mean(axis=0) for one in classes])
        self.means_ = (1 - self.shrink) * means + self.shrink * X.mean(axis=0)
        return self

    def predict(self, X):
        return ((X[:, None] - self.means_) ** 2).sum(axis=2).argmin(axis=1)
'''
TABLES = """
[methods.random_projection]
title = "random projection"
does = "directions that are drawn"
source = "Johnson & Lindenstrauss 1984"
estimator = "pppca_bench.reducers.random_projection:RandomProjection"

[classifiers.nearest_mean]
title = "nearest mean"
does = "the class whose mean is nearest"
source = "Rocchio 1971"
estimator = "pppca_bench.classifiers.nearest_mean:NearestMean"
"""
CONFIG = """\
name: toys
problems: [iris, wine, wdbc]
repeats: 3
seed: 1
methods:
  - {method: random_projection, n_components: [1, 3]}
  - {method: all_features}
  - {method: pca, variance_ratio: 0.9}
classifier: {rule: nearest_mean, shrink: 0.1}
"""
N_RUNS = 3 * 3 * 4


def printed(folder: Path, *arguments: str) -> str:
    """Return what a command of the copy in a folder prints."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    done = pppca_process(*arguments, cwd=folder, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_a_file_and_an_entry_add_a_method_that_runs_and_is_tabulated_by_title_with_its_settings(
    tmp_path,
):
    package = tmp_path / "pppca_bench"
    shutil.copytree(ROOT / "pppca_bench", package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "reducers" / "random_projection.py").write_text(REDUCER)
    (package / "classifiers" / "nearest_mean.py").write_text(CLASSIFIER)
    with (package / "methods" / "registry.toml").open("a", encoding="utf-8") as registry:
        registry.write(TABLES)
    (tmp_path / "toys.yaml").write_text(CONFIG)
    said = printed(tmp_path, "run", "toys.yaml", "--workers", "2", "--no-tables")
    assert said.endswith(f"{N_RUNS} runs done, 0 were already stored.\n")
    records = [
        record
        for record in json.loads(printed(tmp_path, "tables", "--format", "json"))
        if "time" not in record["quantity"]
    ]
    rows = {record["row"] for record in records if "random projection" in record["row"]}
    assert {re.sub(r" \(\d+\)", "", row).partition(",")[0] for row in rows} == {
        "iris",
        "wine",
        "wdbc",
    }
    assert all(re.search(r"n_components = [13]", row) for row in rows)
    assert all(record["n"] == 3 and record["n_failed"] == 0 for record in records)
