"""Timed runs on a shared machine, and killed servers of workers."""

import multiprocessing
import os
from dataclasses import replace
from pathlib import Path

import dying_workers
import pytest
from builders import opened, plan_of, small, specs_of

from pppca_bench.experiments import runner, worker
from pppca_bench.experiments.runner import Outcome
from pppca_bench.runs import RunSpec
from pppca_bench.store.database import Store

IRIS = opened(["iris"])
POSIX = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")


def planned(*methods: dict[str, object], repeats: int = 1) -> list[RunSpec]:
    return specs_of(small(*methods, repeats=repeats, tau=5))


def run(
    specs: list[RunSpec], store: Store, problems: runner.OpenProblems = IRIS, **given: object
) -> Outcome:
    store.plan(plan_of(specs))
    return runner.run(specs, store, problems, **given)  # type: ignore[arg-type]


@POSIX
@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_killed_fork_server_is_started_again_and_loses_no_run(
    store, tmp_path, monkeypatch, workers
):
    monkeypatch.setattr(runner, "compute", dying_workers.kill_the_server_once)
    specs = planned({"method": "gha", "n_epochs": 5}, {"method": "all_features"}, repeats=3)
    marked = {
        name: (replace(source, data_dir=tmp_path), one) for name, (source, one) in IRIS.items()
    }
    assert run(specs, store, marked, workers=workers) == Outcome(6, 0, 6, 0, None)
    assert multiprocessing.active_children() == []


TIMED = {"method": "dgha_speedup", "n_epochs": 3}


@pytest.fixture
def lock(monkeypatch, tmp_path) -> Path:
    path = tmp_path / "timed.lock"
    monkeypatch.setattr(worker, "LOCK", path)
    return path


@POSIX
def test_timed_runs_hold_the_lock_of_the_machine_and_others_do_not(store, lock, monkeypatch):
    held = {}

    def look(group: object, *given: object) -> object:
        held[group[0].cell.method] = worker.disturbance() is not None  # type: ignore[index]
        return original(group, *given)

    original = worker._computed
    monkeypatch.setattr(worker, "_computed", look)
    assert run(planned(TIMED, {"method": "gha", "n_epochs": 3}), store, workers=0).n_done == 2
    assert held == {"dgha_speedup": True, "gha": False}
    assert worker.disturbance() is None
    assert lock.exists()


@POSIX
def test_a_timed_run_warns_while_it_waits_for_the_lock(store, lock):
    import fcntl

    held = os.open(lock, os.O_CREAT)
    fcntl.flock(held, fcntl.LOCK_EX)
    said = []

    def release(text: str) -> None:
        said.append(text)
        os.close(held)

    assert run(planned(TIMED), store, workers=0, warn=release).n_done == 1
    assert said == [
        "another process measures times on this machine: each group of timed runs waits for it."
    ]


@POSIX
@pytest.mark.parametrize("place", [lambda lock: lock.symlink_to(lock), os.mkfifo, Path.mkdir])
def test_times_are_measured_without_a_lock_with_a_warning(store, lock, place):
    place(lock)
    said: list[str] = []
    assert run(planned(TIMED), store, workers=0, warn=said.append).n_done == 1
    (text,) = said
    assert text.startswith(f"times are measured without a lock ({lock}: ")
