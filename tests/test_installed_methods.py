"""Methods of a third-party distribution: installed, run by name, and uninstalled."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from command_line import pppca_process

pytestmark = pytest.mark.slow

ENTRY_POINTS = """\
[pppca_bench.methods]
every_other = throwaway:EVERY_OTHER
plain = throwaway:EveryOther
broken = throwaway_missing:Gone

[pppca_bench.classifiers]
first_class = throwaway:FirstClass
"""
MODULE = '''
"""A reducer and a classifier that know nothing of pppca, and a description for it."""

from pppca_bench import Method


class EveryOther:
    """Keep every step-th feature."""

    def __init__(self, step: int = 2):
        self.step = step

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X[:, :: self.step]


class FirstClass:
    """Tell the first class, always."""

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
'''
CONFIG = """\
name: own
problems: [iris, wine]
repeats: 2
seed: 1
methods:
  - {method: every_other, parameters: {step: [2, 3]}}
  - plain
classifier: first_class
"""


class Machine:
    """A folder with an installed distribution, and a folder to work in."""

    def __init__(self, folder: Path) -> None:
        self.work, self.installed = folder / "work", folder / "installed"
        metadata = self.installed / "throwaway_reducers-0.3.dist-info"
        for made in (self.work, metadata):
            made.mkdir(parents=True)
        (self.installed / "throwaway.py").write_text(MODULE)
        (metadata / "METADATA").write_text("Name: throwaway-reducers\nVersion: 0.3\n")
        (metadata / "entry_points.txt").write_text(ENTRY_POINTS)
        (metadata / "RECORD").write_text("throwaway.py,,\n")

    def pppca(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(self.installed)}
        return pppca_process(*arguments, cwd=self.work, env=environment)


def words(printed: str) -> list[str]:
    """Return the words of tables, without their rules, whose lengths follow the names."""
    return [word for word in printed.split() if set(word) - set("-=")]


def test_a_package_is_installed_run_and_uninstalled_and_its_results_are_still_read(tmp_path):
    machine = Machine(tmp_path)
    (machine.work / "own.yaml").write_text(CONFIG)

    listed = machine.pppca("methods", "--format", "json")
    rows = {row["name"]: row["title"] for row in json.loads(listed.stdout)}
    expected = ("every other feature", "EveryOther", "FirstClass")
    assert (rows["every_other"], rows["plain"], rows["first_class"]) == expected
    assert "broken" not in rows
    assert listed.returncode == 0
    assert listed.stderr == (
        "broken, the entry point of throwaway-reducers in pppca_bench.methods: throwaway_missing:Gone: expected"
        " module:Class that can be imported, got No module named 'throwaway_missing'.\n"
    )
    told = machine.pppca("methods", "every_other").stdout
    assert told.startswith(
        "method every_other: every other feature. keeps each second feature (nobody)."
    )
    assert "version 0.3 " in told
    assert ["step", "an", "integer", "2"] in map(str.split, told.splitlines())

    done = machine.pppca("run", "own.yaml", "--workers", "2")
    assert "12 runs done, 0 were already stored." in done.stderr, done.stderr
    there = machine.pppca("tables", "own")
    assert "every other feature, step = 3" in there.stdout

    shutil.rmtree(machine.installed)
    for command in ("tables own", "rank own", "compare", "render", "rules own.yaml", "methods"):
        gone = machine.pppca(*command.split())
        assert (gone.returncode, "Traceback" in gone.stderr) == (0, False), gone.stderr
        if command == "tables own":
            renamed = there.stdout.replace("every other feature", "every_other").replace(
                "EveryOther", "plain"
            )
            assert words(gone.stdout) == words(renamed)
    refused = machine.pppca("run", "own.yaml")
    assert refused.returncode == 2
    said = "own.yaml:6: methods[0].method: expected a name that `pppca methods` prints, "
    assert said in refused.stderr
    assert "got 'every_other'; if a package gave it, install it." in refused.stderr
