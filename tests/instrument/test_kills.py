"""Runs that are killed and resumed, or shared by two processes: complete and without repetition."""

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
from builders import OF_THEIR_ORDER, runs_in, small, stored_rows, write_config

from pppca_bench.store import DATABASE, RESULTS
from pppca_bench.store.database import Store

METHODS = [
    {"method": "gha", "tau": None, "n_epochs": 3},
    {"method": "dgha", "n_epochs": 3, "data_fraction": [100, 10]},
    {"method": "ne_ppca", "n_generations": 3},
    {"method": "all_features"},
]
PROBLEMS = ["cancer1", "glass1"]
N_RUNS_OF_A_PROBLEM = 96 * (1 + 2 * 2 + 2 + 1)
N_RUNS = len(PROBLEMS) * N_RUNS_OF_A_PROBLEM
N_KILLS = 20
pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")]


class Folder:
    """A folder with configs and results, in which `pppca` can be started and killed."""

    def __init__(self, path: Path, data: Path) -> None:
        self.path, self.log = path, path / "log"
        self.log.touch()
        self.environment = {**os.environ, "COUNTED_RUNS": str(self.log), "PPPCA_DATA": str(data)}
        for name, problems in (("killed", PROBLEMS), ("glass", ["glass1"])):
            changes = {"name": name, "problems": problems, "repeats": 96, "tau": [5, 20]}
            write_config(path, small(*METHODS, **changes))

    def start(self, *arguments: str) -> subprocess.Popen:
        path = f"import sys; sys.path.insert(0, {str(Path(__file__).parents[1])!r})"
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
        if not (self.path / RESULTS).exists():
            return {}
        copied = self.path / "copied"
        shutil.rmtree(copied, ignore_errors=True)
        shutil.copytree(self.path / RESULTS, copied)
        with closing(sqlite3.connect(copied / DATABASE)) as connection:
            has_tables = connection.execute("PRAGMA table_info(runs)").fetchall()
        return stored_rows(copied / DATABASE, aside=()) if has_tables else {}

    def without_times(self) -> dict[str, dict[str, object]]:
        return stored_rows(self.path / RESULTS / DATABASE, aside=OF_THEIR_ORDER)

    def planned(self) -> dict[str, int]:
        """Return the number of runs that each config asks for, of which none is reserved."""
        with Store(self.path / RESULTS / DATABASE, read_only=True) as store:
            assert store.rows("SELECT * FROM reservations") == []
            return {name: len(runs_in(store, [name])) for name in store.config_texts()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, proben1_dir):
    return lambda name: Folder(tmp_path_factory.mktemp(name), proben1_dir)


@pytest.fixture(scope="module")
def uninterrupted(folder) -> Folder:
    """Return the results of both problems, run at once."""
    whole = folder("whole")
    whole.pppca("run", "killed.yaml", "--workers", "2", "--quiet")
    assert len(whole.rows()) == N_RUNS
    return whole


def wait_for_progress(running: subprocess.Popen, n_wanted: int) -> None:
    """Read the progress of a run until a number of runs are done in all, and at least one more."""
    text = ""
    while character := running.stderr.read(1):
        text += character
        shown = re.search(r"(\d+)/(\d+) \[", text)
        if shown is not None:
            n_done, n_missing = map(int, shown.groups())
            if n_done > 0 and N_RUNS - n_missing + n_done >= n_wanted:
                return
            text = ""


def kill_after(running: subprocess.Popen, seconds: float) -> None:
    try:
        running.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        running.kill()
    # The pipes end when every process that holds them has: the workers too are gone.
    running.communicate(timeout=60)


def test_a_run_killed_twenty_times_does_nothing_twice_and_loses_nothing(folder, uninterrupted):
    killed, chance = folder("killed"), random.Random(6)
    # Half of the runs at most: the last of them are recorded so many at a time that a kill may come too late.
    moments = sorted(chance.random() * 0.5 for _ in range(N_KILLS))
    done: dict[str, dict[str, object]] = {}
    n_killed = 0
    for number, moment in enumerate(moments):
        offset = killed.log.stat().st_size
        running = killed.start("run", "killed.yaml", "--workers", "2")
        if number % 5 in (1, 3):  # while it computes and records …
            wait_for_progress(running, int(moment * N_RUNS))
            kill_after(running, chance.uniform(0, 0.05))
        else:  # … or at any moment of its start
            kill_after(running, chance.uniform(0, 1.2))
        n_killed += running.returncode == -9
        assert done.keys().isdisjoint(killed.begun(offset))
        before, done = done, killed.rows()
        assert {key: done.get(key) for key in before} == before
    assert n_killed >= 0.9 * N_KILLS
    assert len(done) < N_RUNS
    offset = killed.log.stat().st_size
    said = f"{N_RUNS - len(done)} runs done, {len(done)} were already stored"
    assert said in killed.pppca("run", "killed.yaml", "--no-tables")
    assert sorted(killed.begun(offset)) == sorted(uninterrupted.rows().keys() - done.keys())
    assert killed.without_times() == uninterrupted.without_times()
    assert killed.planned() == {"killed": N_RUNS}


@pytest.mark.parametrize("configs", [("killed", "killed"), ("killed", "glass")])
def test_two_runs_on_one_store_share_it_and_leave_each_run_once(folder, uninterrupted, configs):
    shared = folder("shared")
    processes = [shared.start("run", f"{config}.yaml", "--workers", "1") for config in configs]
    printed = [process.communicate(timeout=300) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], printed
    assert shared.without_times() == uninterrupted.without_times()
    begun = Counter(shared.begun())
    assert begun.keys() == shared.rows().keys()
    # What one has in flight, two tasks of about a second, may be done by the other too that has nothing else left.
    assert max(begun.values()) <= 2
    assert begun.total() - len(begun) < len(begun) / 2  # all of them, if nothing were shared
    sizes = {"killed": N_RUNS, "glass": N_RUNS_OF_A_PROBLEM}
    assert shared.planned() == {name: sizes[name] for name in configs}
