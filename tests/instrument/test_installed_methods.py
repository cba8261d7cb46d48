"""Methods of a third-party distribution: installed, run by name, and uninstalled."""

import json
import os
import shutil
import subprocess

import pytest
from builders import small, write_config
from command_line import pppca_process

ENTRY_POINTS = """\
[pppca_bench.methods]
every_other = throwaway:EVERY_OTHER
plain = throwaway:EveryOther
broken = throwaway_missing:Gone

[pppca_bench.classifiers]
first_class = throwaway:FirstClass
"""
MODULE = """
from pppca_bench import Method

class EveryOther:
    def __init__(self, step: int = 2):
        self.step = step

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X[:, :: self.step]

class FirstClass:
    def fit(self, X, y):
        self.first_ = y.min()
        return self

    def predict(self, X):
        return [self.first_] * len(X)

EVERY_OTHER = Method(
    name="every_other",
    title="every other feature",
    does="keeps each second feature",
    source="nobody",
    estimator="throwaway:EveryOther",
)
"""
METHODS = [{"method": "every_other", "parameters": {"step": [2, 3]}}, "plain"]


@pytest.mark.slow
def test_a_package_is_installed_run_and_uninstalled_and_its_results_are_still_read(tmp_path):
    installed = tmp_path / "installed"
    metadata = installed / "throwaway_reducers-0.3.dist-info"
    metadata.mkdir(parents=True)
    (installed / "throwaway.py").write_text(MODULE)
    (metadata / "METADATA").write_text("Name: throwaway-reducers\nVersion: 0.3\n")
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS)
    (metadata / "RECORD").write_text("throwaway.py,,\n")
    write_config(tmp_path, small(*METHODS, name="own", classifier="first_class"))
    environment = {**os.environ, "PYTHONPATH": str(installed)}

    def pppca(command: str) -> subprocess.CompletedProcess[str]:
        return pppca_process(*command.split(), cwd=tmp_path, env=environment)

    listed = pppca("methods --format json")
    rows = {row["name"]: row["title"] for row in json.loads(listed.stdout)}
    expected = ("every other feature", "EveryOther", "FirstClass")
    assert (rows["every_other"], rows["plain"], rows["first_class"]) == expected
    assert "broken" not in rows
    assert listed.returncode == 0
    assert listed.stderr == (
        "broken, the entry point of throwaway-reducers in pppca_bench.methods: throwaway_missing:Gone: expected"
        " module:Class that can be imported, got No module named 'throwaway_missing'.\n"
    )
    told = pppca("methods every_other").stdout
    said = "method every_other: every other feature. keeps each second feature (nobody)."
    assert told.startswith(said)
    assert "version 0.3\n" in told
    assert ["step", "an", "integer", "2"] in map(str.split, told.splitlines())

    done = pppca("run own.yaml --workers 2")
    assert "6 runs done, 0 were already stored." in done.stderr, done.stderr
    assert "every other feature, step = 3" in pppca("tables own").stdout

    shutil.rmtree(installed)
    for command in ("tables own", "rank own", "compare", "render", "rules own.yaml", "methods"):
        gone = pppca(command)
        assert (gone.returncode, "Traceback" in gone.stderr) == (0, False), gone.stderr
    assert "every other feature, step = 3" in pppca("tables own").stdout, "labels are stored"
    refused = pppca("run own.yaml")
    assert refused.returncode == 2
    said = "methods[0].method: expected a name that `pppca methods` prints, "
    assert said in refused.stderr
    assert "got 'every_other'; if a package gave it, install it." in refused.stderr
