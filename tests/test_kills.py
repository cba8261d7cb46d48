"""Runs that are killed and resumed, or shared by two processes: complete and without repetition."""

import csv
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from builders import OF_THEIR_ORDER, runs_in, stored_rows

from pppca_bench.store.database import Store

CONFIG = """\
name: {name}
problems: [{problems}]
repeats: 96
seed: 7
tau: [5, 20]
methods:
  - {{method: gha, n_epochs: 3}}
  - {{method: dgha, n_epochs: 3, data_fraction: [100, 10]}}
  - {{method: ne_ppca, n_generations: 3}}
  - {{method: all_features}}
classifier: {{hidden: [4], max_epochs: 20}}
"""
N_RUNS_OF_A_PROBLEM = 96 * (1 + 2 * 2 + 2 + 1)
N_KILLS = 20
pytestmark = [pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")]


class Folder:
    """A folder with results, in which `pppca` can be started and killed."""

    def __init__(self, path: Path, data: Path) -> None:
        self.path, self.log = path, path / "log"
        self.log.touch()
        self.environment = {**os.environ, "COUNTED_RUNS": str(self.log), "PPPCA_DATA": str(data)}

    def write_config(self, name: str, problems: str) -> None:
        (self.path / f"{name}.yaml").write_text(CONFIG.format(name=name, problems=problems))

    def start(self, *arguments: str) -> subprocess.Popen:
        path = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})"
        program = f"{path}; from counted_runs import main; main()"
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        command = [sys.executable, "-c", program, *arguments]
        return subprocess.Popen(command, cwd=self.path, env=self.environment, **pipes)

    def pppca(self, *arguments: str) -> str:
        running = self.start(*arguments)
        printed, errors = running.communicate(timeout=300)
        assert running.returncode == 0, errors
        return printed + errors

    def begun(self, offset: int = 0) -> list[str]:
        """Return the keys of the runs that workers began, from a place in the log on."""
        return self.log.read_bytes()[offset:].decode().split()

    def rows(self) -> dict[str, dict[str, object]]:
        """Return what is stored of each done run, from a copy, so that the next run meets the store as it was left."""
        copied = self.path / "copied"
        shutil.rmtree(copied, ignore_errors=True)
        if not (self.path / "pppca-results").exists():
            return {}
        shutil.copytree(self.path / "pppca-results", copied)
        with closing(sqlite3.connect(copied / "results.sqlite")) as connection:
            has_tables = connection.execute(
                "SELECT * FROM sqlite_master WHERE name = 'runs'"
            ).fetchall()
        return stored_rows(copied / "results.sqlite", aside=()) if has_tables else {}

    def without_times(self) -> dict[str, dict[str, object]]:
        """Return `rows` without the columns `OF_THEIR_ORDER`."""
        return {
            key: {name: row[name] for name in row.keys() - OF_THEIR_ORDER}
            for key, row in self.rows().items()
        }

    def tables(self) -> list[str]:
        """Return the tables' lines but those of times."""
        lines = self.pppca("tables", "--format", "csv").splitlines()
        return [line for line in lines if next(csv.reader([line]))[3] != "fit_time_ms"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, proben1_dir):
    def made(name: str) -> Folder:
        return Folder(tmp_path_factory.mktemp(name), proben1_dir)

    return made


@pytest.fixture(scope="module")
def uninterrupted(folder) -> Folder:
    """Return the results of both problems, run at once."""
    whole = folder("whole")
    whole.write_config("killed", "cancer1, glass1")
    whole.pppca("run", "killed.yaml", "--workers", "2", "--quiet")
    assert len(whole.rows()) == 2 * N_RUNS_OF_A_PROBLEM
    return whole


def wait_for_progress(running: subprocess.Popen, n_wanted: int, n_total: int) -> None:
    """Read the progress of a run until a number of runs are done in all, and at least one more."""
    text = ""
    while character := running.stderr.read(1):
        text += character
        shown = re.search(r"(\d+)/(\d+) \[", text)
        if shown is not None:
            n_done, n_missing = map(int, shown.groups())
            if n_done > 0 and n_total - n_missing + n_done >= n_wanted:
                return
            text = ""


def kill_after(running: subprocess.Popen, seconds: float) -> None:
    try:
        running.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        running.kill()
    # The pipes end when every process that holds them has: the workers too are gone.
    running.communicate(timeout=60)


@pytest.mark.slow
def test_a_run_killed_twenty_times_does_nothing_twice_and_loses_nothing(folder, uninterrupted):
    killed, chance, n_total = folder("killed"), random.Random(6), 2 * N_RUNS_OF_A_PROBLEM
    killed.write_config("killed", "cancer1, glass1")
    # Half of the runs at most: the last of them are recorded so many at a time that a kill may come too late.
    moments = sorted(chance.random() * 0.5 for _ in range(N_KILLS))
    done: dict[str, dict[str, object]] = {}
    n_killed = 0
    for number, moment in enumerate(moments):
        offset = killed.log.stat().st_size
        running = killed.start("run", "killed.yaml", "--workers", "2")
        if number % 5 in (1, 3):  # while it computes and records …
            wait_for_progress(running, int(moment * n_total), n_total)
            kill_after(running, chance.uniform(0, 0.05))
        else:  # … or at any moment of its start
            kill_after(running, chance.uniform(0, 1.2))
        n_killed += running.returncode == -9
        assert done.keys().isdisjoint(killed.begun(offset))
        before, done = done, killed.rows()
        assert {key: done.get(key) for key in before} == before
    assert n_killed >= 0.9 * N_KILLS
    assert len(done) < n_total
    offset = killed.log.stat().st_size
    said = f"{n_total - len(done)} runs done, {len(done)} were already stored"
    assert said in killed.pppca("run", "killed.yaml", "--no-tables")
    assert sorted(killed.begun(offset)) == sorted(uninterrupted.rows().keys() - done.keys())
    assert killed.without_times() == uninterrupted.without_times()
    assert killed.tables() == uninterrupted.tables()
    with Store(killed.path / "pppca-results" / "results.sqlite", read_only=True) as store:
        assert store.rows("SELECT * FROM reservations") == []


@pytest.mark.slow
@pytest.mark.parametrize("configs", [("killed", "killed"), ("killed", "glass")])
def test_two_runs_on_one_store_share_it_and_leave_each_run_once(folder, uninterrupted, configs):
    shared = folder("shared")
    shared.write_config("killed", "cancer1, glass1")
    shared.write_config("glass", "glass1")
    processes = [shared.start("run", f"{config}.yaml", "--workers", "1") for config in configs]
    printed = [process.communicate(timeout=300) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], printed
    assert shared.without_times() == uninterrupted.without_times()
    begun = Counter(shared.begun())
    assert begun.keys() == shared.rows().keys()
    # What one has in flight, two tasks of about a second, may be done by the other too that has nothing else left.
    assert max(begun.values()) <= 2
    assert begun.total() - len(begun) < len(begun) / 2  # all of them, if nothing were shared
    with Store(shared.path / "pppca-results" / "results.sqlite", read_only=True) as store:
        assert store.rows("SELECT * FROM reservations") == []
        sizes = {"killed": 2 * N_RUNS_OF_A_PROBLEM, "glass": N_RUNS_OF_A_PROBLEM}
        expected = {name: sizes[name] for name in configs}
        assert {name: len(runs_in(store, [name])) for name in store.config_texts()} == expected
