"""Carrying out a plan: what is skipped, repeated, recorded and survived, and that no worker changes a number."""

import json
import multiprocessing
import os
import platform
import random
import subprocess
import sys
import threading
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dying_workers
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from pppca_bench.config.experiment import Config
from pppca_bench.config.plan import expand
from pppca_bench.engines import GHA
from pppca_bench.errors import ConfigError, DataError
from pppca_bench.experiments import cell as experiment
from pppca_bench.experiments import queue as worklist
from pppca_bench.experiments import runner
from pppca_bench.experiments.queue import GROUP_SIZE
from pppca_bench.experiments.runner import Outcome, available_cores, run
from pppca_bench.problems import load_problem
from pppca_bench.runs import ProblemFacts, RunResult, RunSpec
from pppca_bench.store.database import Store

METHODS = [
    {"method": "gha", "n_epochs": 10},
    {"method": "dgha", "n_epochs": 10, "data_fraction": [50]},
    {"method": "ne_ppca", "n_generations": 5},
]


def planned(
    *, repeats: int = 4, problem: str = "iris", methods: list[dict] = METHODS[2:], tau: tuple[float, ...] = (5, 20)
) -> list[RunSpec]:
    values = {
        "name": "a",
        "problems": [problem],
        "repeats": repeats,
        "seed": 1,
        "tau": list(tau),
        "methods": methods,
        "classifier": {"hidden": [4], "max_epochs": 20},
    }
    return expand(Config.model_validate(values, context={"problems": ["iris", "wine"]}))


@pytest.fixture
def open_store(tmp_path):
    """Open a store, a new one for each name, with the runs planned."""
    stores = []

    def opened(specs: list[RunSpec], name: str = "a") -> Store:
        stores.append(Store(tmp_path / f"{name}.sqlite"))
        stores[-1].plan("a", specs)
        return stores[-1]

    yield opened
    for store in stores:
        store.close()


def timeless(store: Store) -> dict[str, tuple]:
    """Return all that is stored, by key and without times, in a form that tells every bit."""
    runs = store.runs()
    curves = store.histories([spec.key for spec, _ in runs])
    found = {}
    for spec, result in runs:
        numbers = asdict(replace(result, fit_time_ms=None, classifier_time_ms=None, history={})) if result else None
        bits = {name: np.asarray(curve).tobytes() for name, curve in curves.get(spec.key, {}).items()}
        found[spec.key] = (numbers, bits)
    return found


def write_dt(path: Path, *, n_features: int = 3, task: str = "bool", shift: float = 0.0) -> Path:
    """Write a small Proben1 file of two classes that the first feature tells apart."""
    rng = np.random.default_rng(0)
    lines = ["bool_in=0", f"real_in={n_features}"]
    lines += ["bool_out=2", "real_out=0"] if task == "bool" else ["bool_out=0", "real_out=2"]
    lines += ["training_examples=20", "validation_examples=10", "test_examples=10"]
    for row in rng.uniform(0, 0.9, size=(40, n_features)):
        outputs = "1 0" if row[0] > 0.45 else "0 1"
        lines.append(" ".join(f"{value + shift:.4f}" for value in row) + f" {outputs}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("workers", [1, 2, pytest.param(5, marks=pytest.mark.slow)])
def test_no_number_depends_on_the_number_of_workers(open_store, workers):
    specs = planned(repeats=GROUP_SIZE + 2, methods=METHODS)
    here, elsewhere = open_store(specs, "0"), open_store(specs, "n")
    assert run(specs, here, workers=0).n_done == len(specs)
    assert run(specs, elsewhere, workers=workers).n_done == len(specs)
    assert timeless(here) == timeless(elsewhere)


def test_linear_algebra_uses_one_thread_without_workers_too(open_store, monkeypatch):
    n_threads = set()

    def run_group(group, problem):
        n_threads.update(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")
        return original(group, problem)

    original = experiment.run_group
    monkeypatch.setattr(experiment, "run_group", run_group)
    with threadpool_limits(2):
        run(specs := planned(repeats=1), open_store(specs), workers=0)
        assert {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"} == {2}
    assert n_threads == {1}


def test_no_number_depends_on_order_or_on_an_earlier_interruption(open_store):
    specs = planned(repeats=5, methods=METHODS)
    whole, pieces = open_store(specs, "whole"), open_store(specs, "pieces")
    run(specs, whole, workers=0)
    run(specs[3:11:2], pieces, workers=0)
    run(specs[::-1], pieces, workers=0)
    assert timeless(whole) == timeless(pieces)


@pytest.mark.parametrize("size", [1, 3])
def test_no_number_depends_on_which_runs_train_together(open_store, computed, monkeypatch, size):
    specs = planned(repeats=5, methods=METHODS)
    together, shuffled = open_store(specs, "together"), open_store(specs, "shuffled")
    run(specs, together, workers=0)
    del computed[:]
    monkeypatch.setattr(worklist, "GROUP_SIZE", size)
    run(random.Random(size).sample(specs, len(specs)), shuffled, workers=0)
    assert max(map(len, computed)) == size
    assert timeless(together) == timeless(shuffled)


def test_what_is_done_is_not_done_again(open_store, monkeypatch):
    specs = planned()
    store = open_store(specs)
    assert run(specs, store, workers=0) == Outcome(8, 0, 8, 0, 0, None)
    before = timeless(store)
    monkeypatch.setattr(runner, "_run_group", None)
    assert run(specs, store, workers=0) == Outcome(8, 8, 0, 0, 0, None)
    assert timeless(store) == before


def test_more_repeats_run_only_what_is_new(open_store):
    store = open_store(planned(repeats=6))
    run(planned(repeats=4), store, workers=0)
    assert run(planned(repeats=6), store, workers=0) == Outcome(12, 8, 4, 0, 0, None)


def test_fresh_runs_replace_what_is_done(open_store, monkeypatch):
    specs = planned(methods=METHODS[:1])
    store = open_store(specs)
    run(specs, store, workers=0)
    monkeypatch.setitem(experiment.METHODS, "gha", lambda **given: GHA(**given | {"n_epochs": 3}))
    assert run(specs, store, workers=0, fresh=True) == Outcome(4, 0, 4, 0, 0, None)
    assert {result.n_epochs for _, result in store.runs()} == {3}


def test_progress_tells_finished_and_total_from_the_start(open_store):
    specs = planned(repeats=GROUP_SIZE + 1)
    store, calls = open_store(specs), []
    run(specs[:1], store, workers=0)
    run(specs, store, workers=0, progress=lambda *counts: calls.append(counts))
    assert calls == [(0, 33), (16, 33), (32, 33), (33, 33)]


def test_runs_that_another_process_finishes_meanwhile_are_left_to_it(open_store, tmp_path):
    specs = planned(tau=(5, 10, 20))
    store = open_store(specs)
    theirs = [RunResult(spec.key, "done", load_problem("iris").sha256, n_epochs=99) for spec in specs if spec.tau == 20]

    def meanwhile(n_finished: int, _: int) -> None:
        if n_finished == 4:
            with Store(tmp_path / "a.sqlite") as other:
                other.record(theirs, "{}")

    assert run(specs, store, workers=0, progress=meanwhile) == Outcome(12, 4, 8, 0, 0, None)
    assert [spec.tau for spec, result in store.runs() if result.n_epochs == 99] == [20.0] * 4


def test_a_group_holds_at_most_sixteen_runs_of_one_cell(open_store, monkeypatch):
    specs = planned(repeats=40)
    groups = []

    def remember(group, *source):
        groups.append(group)
        return original(group, *source)

    original = runner._run_group
    monkeypatch.setattr(runner, "_run_group", remember)
    run(specs, open_store(specs), workers=0)
    assert [len(group) for group in groups] == [16, 16, 8] * 2
    assert all(len({spec.cell for spec in group}) == 1 for group in groups)
    assert [spec for group in groups for spec in group] == specs


def test_a_failed_run_is_recorded_with_its_traceback_and_tried_again(open_store, monkeypatch):
    specs = planned(methods=METHODS[:1])
    store = open_store(specs)

    class Fails(GHA):
        def fit(self, X, y=None):
            if self.random_state % 2 == 0:
                raise ValueError("learning_rate is too large")
            return super().fit(X, y)

    monkeypatch.setitem(experiment.METHODS, "gha", Fails)
    first = run(specs, store, workers=0)
    failures = [result for _, result in store.runs() if result.status == "failed"]
    assert 0 < first.n_failed == len(failures) < 4
    assert first.first_error.startswith("iris, gha, repeat ")
    assert first.first_error.endswith(": ValueError: learning_rate is too large")
    assert all(result.error.startswith("Traceback (most recent call last):") for result in failures)

    monkeypatch.setitem(experiment.METHODS, "gha", GHA)
    assert run(specs, store, workers=0) == Outcome(4, 4 - first.n_failed, first.n_failed, 0, 0, None)
    assert {result.status for _, result in store.runs()} == {"done"}
    assert {result.error for _, result in store.runs()} == {None}


def test_a_mistake_in_one_method_does_not_end_the_others(open_store, monkeypatch):
    specs = planned(methods=[METHODS[0], METHODS[2]])
    store = open_store(specs)
    monkeypatch.setattr(runner, "_warmed", set())
    monkeypatch.setitem(experiment.METHODS, "gha", lambda **_: None)
    outcome = run(specs, store, workers=0)
    assert (outcome.n_done, outcome.n_failed) == (8, 4)
    assert "AttributeError" in outcome.first_error
    assert {spec.method for spec, result in store.runs() if result.status == "failed"} == {"gha"}


def test_the_first_error_names_the_run(open_store, monkeypatch):
    specs = planned(tau=(5,), repeats=1)
    monkeypatch.setitem(experiment.METHODS, "ne_ppca", lambda **_: 1 / 0)
    outcome = run(specs, open_store(specs), workers=0)
    assert outcome.first_error == "iris, ne_ppca, tau 5, repeat 0: ZeroDivisionError: division by zero"


def test_a_run_that_kills_its_worker_fails_alone(open_store, monkeypatch):
    specs = planned(repeats=5)
    expected, store = open_store(specs, "expected"), open_store(specs)
    run(specs, expected, workers=0)
    with monkeypatch.context() as patched:
        patched.setattr(runner, "_run_group", dying_workers.die_at_repeat_3)
        outcome = run(specs, store, workers=2)
    message = "the worker process died (killed, or out of memory)"
    assert outcome == Outcome(10, 0, 9, 1, 0, f"iris, ne_ppca, tau 5, repeat 3: {message}")
    (lost,) = [(spec, result) for spec, result in store.runs() if result.status == "failed"]
    assert (lost[0].tau, lost[0].repeat, lost[1].error) == (5, 3, message)
    assert run(specs, store, workers=0) == Outcome(10, 9, 1, 0, 0, None)
    assert timeless(store) == timeless(expected)


def test_a_worker_that_is_killed_once_loses_no_run(open_store, monkeypatch, tmp_path):
    specs = planned(repeats=3, tau=(3, 5, 10, 15, 20, 30))
    store = open_store(specs)
    monkeypatch.setattr(runner, "_run_group", dying_workers.die_once)
    assert run(specs, store, workers=1, data_dir=tmp_path) == Outcome(18, 0, 18, 0, 0, None)
    assert (tmp_path / "died").exists()


def test_a_worker_found_dead_when_work_is_handed_out_is_told_as_any_other(open_store, monkeypatch):
    specs = planned(repeats=2)
    store = open_store(specs)
    pools = []

    def break_first(workers):
        pools.append(original(workers))
        if len(pools) == 1:
            pools[0].submit(os._exit, 9).exception()
        return pools[-1]

    original = runner._new_pool
    monkeypatch.setattr(runner, "_new_pool", break_first)
    assert run(specs, store, workers=1) == Outcome(4, 0, 4, 0, 0, None)


class FailsAtFirst(GHA):
    """GHA that fails so many times, whatever the run."""

    failures_left = 0

    def fit(self, X, y=None):
        if FailsAtFirst.failures_left:
            FailsAtFirst.failures_left -= 1
            raise ValueError("not yet")
        return super().fit(X, y)


@pytest.fixture
def failing(monkeypatch):
    """Let the next runs of GHA fail, so many of them."""
    monkeypatch.setitem(experiment.METHODS, "gha", FailsAtFirst)
    monkeypatch.setattr(runner, "_warmed", {"gha"})

    def fail(n_times: int) -> None:
        monkeypatch.setattr(FailsAtFirst, "failures_left", n_times)

    return fail


@pytest.mark.parametrize(
    ("n_failures", "retries", "n_failed"), [(3, 1, 0), (4, 1, 0), (8, 1, 4), (5, 2, 0), (12, 2, 4)]
)
def test_a_failed_run_is_tried_again_as_often_as_asked_for(open_store, failing, n_failures, retries, n_failed):
    specs = planned(methods=METHODS[:1])
    store, expected = open_store(specs), open_store(specs, "expected")
    run(specs, expected, workers=0)
    failing(n_failures)
    outcome = run(specs, store, workers=0, retries=retries)
    assert (outcome.n_done, outcome.n_failed, outcome.n_left) == (4 - n_failed, n_failed, 0)
    assert FailsAtFirst.failures_left == 0
    assert (timeless(store) == timeless(expected)) == (n_failed == 0)


def test_progress_counts_a_run_once_however_often_it_is_tried(open_store, failing):
    specs, calls = planned(methods=METHODS[:1]), []
    failing(6)
    run(specs, open_store(specs), workers=0, retries=2, progress=lambda *counts: calls.append(counts))
    assert calls[0] == (0, 4)
    assert calls[-1] == (4, 4)
    assert calls == sorted(calls)


def test_a_run_whose_worker_died_is_tried_again_too(open_store, monkeypatch, tmp_path):
    specs = planned(repeats=2, tau=(5,))
    once, twice, expected = open_store(specs, "once"), open_store(specs, "twice"), open_store(specs, "expected")
    run(specs, expected, workers=0)
    monkeypatch.setattr(runner, "_run_group", dying_workers.die_twice)
    for store, retries, n_failed in ((once, 0, 1), (twice, 1, 0)):
        folder = tmp_path / str(retries)
        folder.mkdir()
        outcome = run(specs, store, workers=1, data_dir=folder, retries=retries)
        assert (outcome.n_failed, outcome.n_done) == (n_failed, 2 - n_failed)
    assert timeless(twice) == timeless(expected)


def test_failing_fast_stops_at_the_first_failure_and_keeps_what_is_done(open_store, failing):
    specs = planned(repeats=3, methods=[METHODS[2], {**METHODS[0], "n_epochs": 3}, METHODS[0]], tau=(5,))
    store = open_store(specs)
    failing(1)
    outcome = run(specs, store, workers=0, fail_fast=True)
    assert outcome == Outcome(9, 0, 5, 1, 0, "iris, gha, repeat 0: ValueError: not yet", 3)
    statuses = [result.status if result else None for _, result in store.runs()]
    assert (statuses.count("done"), statuses.count("failed"), statuses.count(None)) == (5, 1, 3)
    assert run(specs, store, workers=0) == Outcome(9, 5, 4, 0, 0, None)


def test_failing_fast_waits_for_the_last_attempt(open_store, failing):
    specs = planned(methods=METHODS[:1])
    failing(4)
    assert run(specs, open_store(specs), workers=0, fail_fast=True, retries=1) == Outcome(4, 0, 4, 0, 0, None)


def test_no_thread_that_waits_for_workers_outlives_a_run(open_store):
    before = set(threading.enumerate())
    run(specs := planned(repeats=1), open_store(specs), workers=1)
    assert set(threading.enumerate()) <= before


def test_failing_fast_ends_the_workers(open_store, monkeypatch):
    specs = planned(repeats=5)
    monkeypatch.setattr(runner, "_run_group", dying_workers.die_at_repeat_3)
    outcome = run(specs, open_store(specs), workers=2, fail_fast=True)
    assert outcome.n_failed == 1
    assert outcome.n_reused == 0
    assert outcome.n_done + outcome.n_left == 9
    assert multiprocessing.active_children() == []


def claimed_by(store: Store, process: str, specs: list[RunSpec]) -> None:
    store._connection.executemany("INSERT INTO claims VALUES (?, ?)", [(spec.key, process) for spec in specs])


def order_of(run_group_calls: list, specs: list[RunSpec]) -> list[int]:
    return [specs.index(spec) for group in run_group_calls for spec in group]


@pytest.fixture
def computed(monkeypatch) -> list:
    """Return the groups that are computed, in order."""
    groups = []

    def remember(group, *source):
        groups.append(group)
        return original(group, *source)

    original = runner._run_group
    monkeypatch.setattr(runner, "_run_group", remember)
    return groups


def test_what_another_process_has_under_way_comes_last_and_is_done_all_the_same(open_store, computed):
    specs = planned(repeats=2, tau=(5, 10, 20))
    store = open_store(specs)
    claimed_by(store, f"{os.getppid()} {platform.node()}", specs[:3])
    assert run(specs, store, workers=0) == Outcome(6, 0, 6, 0, 0, None)
    assert order_of(computed, specs) == [3, 4, 5, 0, 1, 2]


def test_what_another_process_finished_in_the_meantime_is_left_to_it(open_store, computed, tmp_path):
    specs = planned(repeats=2, tau=(5, 20))
    store = open_store(specs)
    claimed_by(store, f"{os.getppid()} {platform.node()}", specs[:2])
    theirs = [RunResult(spec.key, "done", load_problem("iris").sha256, n_epochs=99) for spec in specs[:2]]

    def meanwhile(n_finished: int, _: int) -> None:
        if n_finished == 2:
            with Store(tmp_path / "a.sqlite") as other:
                other.record(theirs, "{}")

    assert run(specs, store, workers=0, progress=meanwhile) == Outcome(4, 2, 2, 0, 0, None)
    assert order_of(computed, specs) == [2, 3]


@pytest.mark.parametrize("process", ["{ended} {here}", "{me} {here}", "nonsense {here}"])
def test_what_no_other_process_has_under_way_keeps_its_turn(open_store, computed, process):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    specs = planned(repeats=2, tau=(5, 20))
    store = open_store(specs)
    claimed_by(store, process.format(ended=ended.pid, me=os.getpid(), here=platform.node()), specs[:2])
    run(specs, store, workers=0)
    assert order_of(computed, specs) == [0, 1, 2, 3]


def test_nothing_is_under_way_once_a_run_has_ended(open_store, failing):
    specs = planned(methods=METHODS[:1])
    store = open_store(specs)
    failing(2)
    run(specs, store, workers=0, fail_fast=True)
    assert store._connection.execute("SELECT * FROM claims").fetchall() == []


def test_each_result_tells_when_it_was_computed_and_from_which_configs(open_store):
    specs = planned(repeats=2, tau=(5,))
    store = open_store(specs)
    before = datetime.now(UTC)
    run(specs, store, workers=0, configs={"a": "f" * 64})
    rows = store._connection.execute(
        "SELECT started_at, duration_ms, finished_at, description FROM runs JOIN provenances ON id = provenance"
    ).fetchall()
    assert len(rows) == 2
    for started_at, duration_ms, finished_at, description in rows:
        started, finished = datetime.fromisoformat(started_at), datetime.fromisoformat(finished_at)
        assert before - timedelta(milliseconds=1) <= started <= finished
        assert 0 < duration_ms <= 1e3 * (finished - started).total_seconds() + 2
        assert json.loads(description)["configs"] == {"a": "f" * 64}


def test_a_problem_without_test_examples_is_refused(open_store, tmp_path):
    path = write_dt(tmp_path / "own.dt")
    path.write_text(
        path.read_text()
        .replace("validation_examples=10", "validation_examples=20")
        .replace("test_examples=10", "test_examples=0")
    )
    specs = planned(problem=str(path))
    with pytest.raises(
        ConfigError, match=r"own\.dt: expected training, validation and test examples, got 20 / 20 / 0\. Split"
    ):
        run(specs, open_store(specs), workers=0)


def test_a_file_of_ones_own_is_read_from_where_it_is_said_to_be(open_store, tmp_path):
    path = write_dt(tmp_path / "elsewhere.dt")
    specs = planned(problem="own.dt", repeats=2)
    for workers in (0, 1):
        store = open_store(specs, str(workers))
        assert run(specs, store, workers=workers, own_files={"own.dt": path}).n_done == 4
        assert {result.data_sha256 for _, result in store.runs()} == {load_problem(str(path)).sha256}


def test_results_of_other_data_are_computed_anew(open_store, tmp_path):
    path = write_dt(tmp_path / "own.dt")
    specs = planned(problem=str(path), tau=(20,), methods=METHODS)
    store = open_store(specs)
    assert run(specs, store, workers=0) == Outcome(12, 0, 12, 0, 0, None)
    before = {result.data_sha256 for _, result in store.runs()}
    write_dt(path, shift=0.1)
    assert run(specs, store, workers=0) == Outcome(12, 0, 12, 0, 12, None)
    after = {result.data_sha256 for _, result in store.runs()}
    assert after == {load_problem(str(path)).sha256}
    assert after.isdisjoint(before)
    assert run(specs, store, workers=0).n_reused == 12


def test_the_sizes_of_the_problems_are_kept(open_store):
    specs = planned(repeats=1)
    store = open_store(specs)
    run(specs, store, workers=0)
    sha256 = load_problem("iris").sha256
    assert store.problems() == {"iris": ProblemFacts("iris", sha256, 4, 3, 75, 38, 37)}


def test_an_approximation_problem_is_refused(open_store, tmp_path):
    path = write_dt(tmp_path / "flare.dt", task="real")
    specs = planned(problem=str(path))
    with pytest.raises(ConfigError, match=r"flare\.dt: expected a classification problem, got approximation\. Take it"):
        run(specs, open_store(specs), workers=0)


def test_missing_data_are_told_before_anything_runs(open_store, tmp_path):
    specs = planned(problem=str(tmp_path / "none.dt"))
    store = open_store(specs)
    with pytest.raises(DataError, match=r"none\.dt: expected a \.dt file, got none there"):
        run(specs, store, workers=1)
    assert all(result is None for _, result in store.runs())


def test_the_cores_are_those_that_this_process_may_use():
    expected = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert available_cores() == expected
