"""Fixtures shared by all tests."""

import os
import shutil
import signal
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from sklearn.datasets import load_iris
from third_party import module  # noqa: F401 a fixture

from pppca_bench.experiments import doctor
from pppca_bench.experiments.doctor import CheckResult
from pppca_bench.experiments.executors import Workers
from pppca_bench.methods.entry import Method
from pppca_bench.methods.registry import CLASSIFIERS, METHODS
from pppca_bench.problems import export_files
from pppca_bench.store.database import Store

pytest.register_assert_rewrite("architecture")

# The same examples each time, however slow the machine; what an example writes to a folder, the next one overwrites.
NOT_CHECKED = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile(
    "tests", deadline=None, derandomize=True, suppress_health_check=NOT_CHECKED
)
settings.load_profile("tests")

# A shell lets what it starts in the background ignore Ctrl-C, which some tests raise.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def proben1_dir(tmp_path_factory) -> Path:
    """Return a folder with the Proben1 files."""
    folder = tmp_path_factory.mktemp("proben1")
    export_files(None, folder)
    return folder


@pytest.fixture(scope="module")
def iris():
    """Return standardised training and validation data: X, y, X_val, y_val."""
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = (X[order] - X.mean(axis=0)) / X.std(axis=0), y[order]
    return X[:90], y[:90], X[90:], y[90:]


def required_program(name: str, variable: str) -> str:
    """Return the path of a program, or skip; fail instead where the environment variable is 1."""
    path = shutil.which(name)
    if path is None and os.environ.get(variable) == "1":
        pytest.fail(f"{name} is required ({variable}=1) but missing")
    if path is None:
        pytest.skip(f"needs {name}")
    return path


@pytest.fixture
def isolated_folders(tmp_path, monkeypatch):
    """Let the test find data and results in its own folders alone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PPPCA_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def store(tmp_path):
    """Return a new results database, open."""
    with Store(tmp_path / "results.sqlite") as store:
        yield store


@pytest.fixture
def workers():
    """Return a function that makes workers, which end with the test."""
    with ExitStack() as stack:
        yield lambda n_workers: stack.enter_context(Workers(n_workers))


@pytest.fixture
def register(monkeypatch):
    """Return a function that puts an entry into the registry, for the time of a test and in this process alone."""

    def put(entry):
        monkeypatch.setitem(
            METHODS if isinstance(entry, Method) else CLASSIFIERS, entry.name, entry
        )
        return entry

    return put


@pytest.fixture
def quick_doctor(monkeypatch):
    """Let `pppca doctor` check neither the environment nor the data."""
    monkeypatch.setattr(doctor, "_environment", lambda: CheckResult("environment", "Good."))
    monkeypatch.setattr(doctor, "_data", lambda _: iter(()))
