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

from pppca_bench.parameters import Count


class RandomProjection:
    """Project on directions that are drawn."""

    def __init__(self, n_components: Count = 2, *, random_state: Any = None) -> None:
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X, y):
        """Draw the directions."""
        rng = np.random.default_rng(self.random_state)
        self.rows_ = rng.standard_normal((self.n_components, X.shape[1]))
        self.measures_ = {"largest_weight": np.abs(self.rows_).max()}
        return self

    def transform(self, X):
        """Return the projections."""
        return X @ self.rows_.T
'''
REDUCER_ENTRY = """
    Method(
        name="random_projection",
        title="random projection",
        does="directions that are drawn",
        source="Johnson & Lindenstrauss 1984",
        estimator="pppca_bench.reducers.random_projection:RandomProjection",
    ),
"""
CLASSIFIER = '''
"""Nearest means."""

import numpy as np

from pppca_bench.parameters import Probability


class NearestMean:
    """Tell a sample's class by the nearest mean."""

    def __init__(self, shrink: Probability = 0.0) -> None:
        self.shrink = shrink

    def fit(self, X, y, *, classes):
        """Take the means, each drawn towards that of all."""
        means = np.array([X[y == one].mean(axis=0) for one in classes])
        self.means_ = (1 - self.shrink) * means + self.shrink * X.mean(axis=0)
        return self

    def predict(self, X):
        """Return the class of the nearest mean."""
        return ((X[:, None] - self.means_) ** 2).sum(axis=2).argmin(axis=1)
'''
CLASSIFIER_ENTRY = """
    Classifier(
        name="nearest_mean",
        title="nearest mean",
        does="the class whose mean is nearest",
        source="Rocchio 1971",
        estimator="pppca_bench.classifiers.nearest_mean:NearestMean",
    ),
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


def add(package: Path, file: str, module: str, entry: str, last_of: str) -> None:
    """Write a module, and put an entry at the end of a table of the registry."""
    (package / file).write_text(module.lstrip())
    registry = package / "methods" / "registry.py"
    head, beginning, rest = registry.read_text().partition(f"\n{last_of} = (\n")
    entries, end, tail = rest.partition("\n)\n")
    registry.write_text(head + beginning + entries + entry.rstrip() + end + tail)


def printed(folder: Path, *arguments: str) -> str:
    """Return what a command of the copy in a folder prints."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    done = pppca_process(*arguments, cwd=folder, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_a_file_and_an_entry_add_a_method_that_runs_and_is_tabulated_by_title_with_its_settings(tmp_path):
    package = tmp_path / "pppca_bench"
    shutil.copytree(ROOT / "pppca_bench", package, ignore=shutil.ignore_patterns("__pycache__"))
    add(package, "reducers/random_projection.py", REDUCER, REDUCER_ENTRY, "_METHODS")
    add(package, "classifiers/nearest_mean.py", CLASSIFIER, CLASSIFIER_ENTRY, "_CLASSIFIERS")
    (tmp_path / "toys.yaml").write_text(CONFIG)
    said = printed(tmp_path, "run", "toys.yaml", "--workers", "2", "--no-tables")
    assert said.endswith(f"{N_RUNS} runs done, 0 were already stored.\n")
    records = [
        record
        for record in json.loads(printed(tmp_path, "tables", "--format", "json"))
        if "time" not in record["quantity"]
    ]
    rows = {record["row"] for record in records if "random projection" in record["row"]}
    assert {re.sub(r" \(\d+\)", "", row).partition(",")[0] for row in rows} == {"iris", "wine", "wdbc"}
    assert all(re.search(r"n_components = [13]", row) for row in rows)
    assert all(record["n"] == 3 and record["n_failed"] == 0 for record in records)
