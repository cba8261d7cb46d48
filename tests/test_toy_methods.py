"""The recipe of docs/development.md for a new method, in a copy of the package."""

import filecmp
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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


class Checkout:
    """A copy of the package, in whose folder its command is run."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.package = folder, folder / "pppca_bench"
        shutil.copytree(ROOT / "pppca_bench", self.package, ignore=shutil.ignore_patterns("__pycache__"))

    def add(self, file: str, module: str, entry: str, last_of: str) -> None:
        """Write a module, and put an entry at the end of a table of the registry."""
        (self.package / file).write_text(module.lstrip())
        registry = self.package / "methods" / "registry.py"
        head, beginning, rest = registry.read_text().partition(f"\n{last_of} = (\n")
        entries, end, tail = rest.partition("\n)\n")
        registry.write_text(head + beginning + entries + entry.rstrip() + end + tail)

    def pppca(self, *arguments: str) -> subprocess.CompletedProcess:
        environment = {**os.environ, "PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-m", "pppca_bench", *arguments]
        return subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=300, check=False
        )

    def printed(self, *arguments: str) -> str:
        done = self.pppca(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    made = Checkout(tmp_path_factory.mktemp("checkout"))
    made.add("reducers/random_projection.py", REDUCER, REDUCER_ENTRY, "_METHODS")
    made.add("classifiers/nearest_mean.py", CLASSIFIER, CLASSIFIER_ENTRY, "_CLASSIFIERS")
    (made.folder / "toys.yaml").write_text(CONFIG)
    said = made.printed("run", "toys.yaml", "--workers", "2", "--no-tables")
    assert said.endswith(f"{N_RUNS} runs done, 0 were there already.\n")
    return made


def test_a_file_and_an_entry_each_are_all_that_was_added(checkout):
    added, changed = set(), set()
    for path in (path for path in checkout.package.rglob("*.*") if path.parent.name != "__pycache__"):
        original = ROOT / path.relative_to(checkout.folder)
        if not original.exists():
            added.add(path.relative_to(checkout.package).as_posix())
        elif not filecmp.cmp(path, original, shallow=False):
            changed.add(path.relative_to(checkout.package).as_posix())
    assert added == {"reducers/random_projection.py", "classifiers/nearest_mean.py"}
    assert changed == {"methods/registry.py"}


def records(checkout: Checkout) -> list[dict]:
    """Return what the tables hold, but for times."""
    stored = json.loads(checkout.printed("tables", "--format", "json"))
    return [record for record in stored if "time" not in record["quantity"]]


def test_added_entries_are_tabulated_by_title_with_all_settings(checkout):
    rows = {record["row"] for record in records(checkout) if "random projection" in record["row"]}
    assert {re.sub(r" \(\d+\)", "", row).partition(",")[0] for row in rows} == {"iris", "wine", "wdbc"}
    assert all(re.search(r"n_components = [13]", row) for row in rows)
    assert all(record["n"] == 3 and record["n_failed"] == 0 for record in records(checkout))


def test_a_new_version_computes_results_again_with_a_message(checkout):
    registry = checkout.package / "methods" / "registry.py"
    before = registry.read_text()
    registry.write_text(before.replace('name="random_projection",', 'name="random_projection",\n        version=2,'))
    planned = checkout.pppca("run", "toys.yaml", "--dry-run")
    registry.write_text(before)
    assert planned.stdout == f"{N_RUNS} runs planned, 18 done, 18 to run in 6 cells.\n"
    assert planned.stderr == ("18 stored results of random_projection are of version 1 (now 2) and computed again.\n")
