"""The recipe of docs/development.md for a new method, in a copy of the package."""

import json
import os
import shutil
from pathlib import Path

import pytest
from command_line import pppca_process

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[1]

REDUCER = """
from pppca_bench.base.parameters import Count


class LastFeatures:
    def __init__(self, n_components: Count = 2) -> None:
        self.n_components = n_components

    def fit(self, X, y):
        self.measures_ = {"largest_input": X.max()}
        return self

    def transform(self, X):
        return X[:, -self.n_components :]
"""
CLASSIFIER = """
from pppca_bench.base.parameters import Probability


class NearestMean:
    def __init__(self, shrink: Probability = 0.0) -> None:
        self.shrink = shrink

    def fit(self, X, y, *, classes):
        self.means_ = [(1 - self.shrink) * X[y == one].mean(axis=0) for one in classes]
        return self

    def predict(self, X):
        return ((X[:, None] - self.means_) ** 2).sum(axis=2).argmin(axis=1)
"""
TABLES = """
[methods.last_features]
title = "last features"
does = "keeps the last features"
source = "this test"
estimator = "pppca_bench.reducers.last_features:LastFeatures"

[classifiers.nearest_mean]
title = "nearest mean"
does = "the class whose mean is nearest"
source = "Rocchio 1971"
estimator = "pppca_bench.classifiers.nearest_mean:NearestMean"
"""
CONFIG = """
name: toys
problems: [iris]
repeats: 2
seed: 1
methods: [{method: last_features, n_components: [1, 3]}]
classifier: {rule: nearest_mean, shrink: 0.1}
"""


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
    (package / "reducers" / "last_features.py").write_text(REDUCER)
    (package / "classifiers" / "nearest_mean.py").write_text(CLASSIFIER)
    with (package / "methods" / "registry.toml").open("a", encoding="utf-8") as registry:
        registry.write(TABLES)
    (tmp_path / "toys.yaml").write_text(CONFIG)
    said = printed(tmp_path, "run", "toys.yaml", "--workers", "2", "--no-tables")
    assert said.endswith("4 runs done, 0 were already stored.\n")
    tables = json.loads(printed(tmp_path, "tables", "--format", "json"))
    counts = {(one["row"], one["n"]) for one in tables if one["quantity"] == "test_error_percent"}
    assert counts == {(f"iris, last features, n_components = {n}", 2) for n in (1, 3)}
