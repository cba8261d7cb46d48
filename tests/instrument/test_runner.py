"""Runner: reuse, retries, failures, groups, times, kernels, and equal numbers with any number of workers."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Executor, Future
from contextlib import nullcontext
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import dying_workers
import pytest
from builders import (
    OF_THEIR_ORDER,
    done,
    opened,
    plan_of,
    runs_in,
    small,
    specs_of,
    stored_rows,
    write_config,
    write_dt,
)
from threadpoolctl import threadpool_info, threadpool_limits

from pppca_bench.errors import DataError
from pppca_bench.experiments import cell as experiment
from pppca_bench.experiments import executors, runner, worker
from pppca_bench.experiments import queue as queues
from pppca_bench.experiments.queue import GROUP_SIZE
from pppca_bench.experiments.request import read_request
from pppca_bench.experiments.runner import Outcome
from pppca_bench.problems import load_problem
from pppca_bench.runs import ProblemFacts, RunSpec, failed_result
from pppca_bench.store.database import Store
from pppca_bench.store.file import machine_digest

METHODS = [
    {"method": "gha", "tau": None, "n_epochs": 10},
    {"method": "dgha", "n_epochs": 10, "data_fraction": [50]},
    {"method": "ne_ppca", "n_generations": 5},
]


ONLINE = {"rule": "backprop", "hidden": [2]}
BAGGED = {"rule": "bagging", "base": {"rule": "rprop", "hidden": [2]}}
IRIS = opened(["iris"])


def run(
    specs: Sequence[RunSpec],
    store: Store,
    problems: runner.OpenProblems = IRIS,
    *,
    workers: int | executors.Workers = 0,
    **options: Any,
) -> Outcome:
    """Compute runs by given workers, or by a number of new workers."""
    is_number = isinstance(workers, int)
    with executors.Workers(workers) if is_number else nullcontext(workers) as used:
        return runner.run(specs, store, problems, used, **options)


def planned(
    *, repeats: int = 4, methods: list[dict] = METHODS[2:], tau: tuple[float, ...] = (5, 20)
) -> list[RunSpec]:
    return specs_of(small(*methods, repeats=repeats, tau=list(tau)))


def tau_of(spec: RunSpec) -> object:
    return spec.cell.settings["tau"]


@pytest.fixture
def open_store(tmp_path):
    """Open a store, a new one for each name, with the runs planned."""
    stores = []

    def opened(specs: list[RunSpec], name: str = "a") -> Store:
        stores.append(Store(tmp_path / f"{name}.sqlite"))
        stores[-1].plan(plan_of(specs))
        return stores[-1]

    yield opened
    for store in stores:
        store.close()


def without_times(store: Store) -> dict[str, dict[str, object]]:
    return stored_rows(store.path, aside=OF_THEIR_ORDER)


def test_results_do_not_depend_on_workers_on_order_or_interruption(open_store):
    specs = planned(repeats=GROUP_SIZE + 2, methods=METHODS)
    here, elsewhere = open_store(specs, "0"), open_store(specs, "n")
    assert run(specs, here).n_done == len(specs)
    assert run(specs[3:11:2], elsewhere).n_done == 4
    assert run(specs[::-1], elsewhere, workers=2).n_done == len(specs) - 4
    assert without_times(here) == without_times(elsewhere)


def n_blas_threads() -> set[int]:
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


def test_linear_algebra_uses_one_thread_without_workers_too(open_store, monkeypatch):
    used, original = [], experiment.run_group

    def run_group(*given):
        used.append(n_blas_threads())
        return original(*given)

    monkeypatch.setattr(experiment, "run_group", run_group)
    with threadpool_limits(2):
        run(specs := planned(repeats=1), open_store(specs))
        assert n_blas_threads() == {2}
    assert used == [{1}, {1}]


def test_completed_runs_are_reused_and_fresh_runs_replace_them(open_store):
    specs = planned(methods=METHODS[:1])
    store = open_store(specs)
    store.record([done(spec, n_epochs=3) for spec in specs], "{}")
    for fresh, expected in ((False, Outcome(4, 4, 0, 0, None)), (True, Outcome(4, 0, 4, 0, None))):
        assert run(specs, store, fresh=fresh) == expected
        n_epochs = {result.values["n_epochs"] for _, result in runs_in(store)}
        assert n_epochs == {10 if fresh else 3}


def test_progress_has_the_finished_and_all_runs_from_the_start(open_store):
    specs = planned(repeats=GROUP_SIZE + 1)
    store, calls = open_store(specs), []
    run(specs[:1], store)
    run(specs, store, progress=lambda *counts: calls.append(counts))
    counts, totals = zip(*calls, strict=True)
    assert (counts[0], counts[-1], set(totals)) == (0, 33, {33})
    assert list(counts) == sorted(set(counts))


def test_a_run_that_kills_its_worker_fails_alone(open_store, monkeypatch):
    specs = planned(repeats=5)
    expected, store = open_store(specs, "expected"), open_store(specs)
    run(specs, expected)
    with monkeypatch.context() as patched:
        patched.setattr(runner, "compute", dying_workers.die_at_repeat_3)
        outcome = run(specs, store, workers=2)
    message = "the worker process died (killed, or out of memory)"
    assert outcome == Outcome(10, 0, 9, 1, f"iris, ne_ppca, tau 5, repeat 3: {message}")
    (lost,) = [(spec, result) for spec, result in runs_in(store) if result.status == "failed"]
    assert (tau_of(lost[0]), lost[0].repeat, lost[1].error) == (5, 3, message)
    assert run(specs, store) == Outcome(10, 9, 1, 0, None)
    assert without_times(store) == without_times(expected)


def test_a_run_over_the_time_limit_fails_alone_even_if_compiled(open_store, monkeypatch):
    specs = planned(repeats=4)
    store = open_store(specs)
    with monkeypatch.context() as patched, executors.Workers(0, timeout=2) as backend:
        patched.setattr(runner, "compute", dying_workers.hang_at_repeat_3)
        outcome = run(specs, store, workers=backend)
    assert outcome == Outcome(8, 0, 7, 1, "iris, ne_ppca, tau 5, repeat 3: timed out after 2 s")
    assert run(specs, store) == Outcome(8, 7, 1, 0, None)


def test_ctrl_c_keeps_what_workers_have_finished(open_store):
    specs, pending = planned(repeats=2, tau=(5, 10, 15)), []
    store = open_store(specs)

    class Late(Executor):
        """Finishes the first call at once, and the second while the first is being recorded."""

        def submit(self, call, /, *arguments, **_):
            future = Future()
            pending.append((future, call(*arguments)))
            if len(pending) == 1:
                future.set_result(pending[0][1])
            return future

    def interrupt(n_finished: int, _: int) -> None:
        if n_finished and not pending[1][0].done():
            pending[1][0].set_result(pending[1][1])
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run(specs, store, workers=executors.Workers(1, lambda _: Late()), progress=interrupt)
    assert [result is not None for _, result in runs_in(store)] == [True] * 4 + [False] * 2


@pytest.fixture
def failing(monkeypatch):
    """Return a function that lets the first attempts at each run of GHA fail."""

    def fail(n_times: int) -> None:
        attempts = Counter()

        def compute(group, loads):
            attempts.update(spec.key for spec in group if spec.cell.method == "gha")
            failed = [spec for spec in group if 0 < attempts[spec.key] <= n_times]
            return [failed_result(spec, "ValueError: not yet") for spec in failed] or original(
                group, loads
            )

        monkeypatch.setattr(runner, "compute", compute)

    original = runner.compute
    return fail


@pytest.mark.parametrize(("n_failures", "retries", "n_failed"), [(1, 1, 0), (2, 1, 4)])
def test_a_failed_run_is_retried_as_asked(open_store, failing, n_failures, retries, n_failed):
    specs = planned(methods=METHODS[:1])
    store, expected = open_store(specs), open_store(specs, "expected")
    run(specs, expected)
    failing(n_failures)
    calls = []
    outcome = run(specs, store, retries=retries, progress=lambda *counts: calls.append(counts))
    assert (calls[0], calls[-1], calls) == ((0, 4), (4, 4), sorted(calls)), "each run counts once"
    assert (outcome.n_done, outcome.n_failed, outcome.n_left) == (4 - n_failed, n_failed, 0)
    assert (without_times(store) == without_times(expected)) == (n_failed == 0)


def test_failing_fast_stops_at_the_first_failure_and_keeps_what_is_done(open_store, failing):
    specs = planned(
        repeats=3, methods=[METHODS[2], {**METHODS[0], "n_epochs": 3}, METHODS[0]], tau=(5,)
    )
    store = open_store(specs)
    failing(1)
    outcome = run(specs, store, fail_fast=True)
    assert outcome == Outcome(9, 0, 3, 3, "iris, gha, repeat 0: ValueError: not yet")
    assert outcome.n_left == 3
    assert store.statuses()[-1] == ("(all)", 3, 3, 3, 0)
    assert store.rows("SELECT * FROM reservations") == []
    failing(0)
    assert run(specs, store) == Outcome(9, 3, 6, 0, None)


def test_failing_fast_waits_for_retries_and_ends_the_workers(open_store, failing, monkeypatch):
    specs = planned(methods=METHODS[:1])
    failing(1)
    found = run(specs, open_store(specs), fail_fast=True, retries=1)
    assert found == Outcome(4, 0, 4, 0, None)
    specs = planned(repeats=5)
    monkeypatch.setattr(runner, "compute", dying_workers.die_at_repeat_3)
    outcome = run(specs, open_store(specs, "b"), workers=2, fail_fast=True)
    assert (outcome.n_failed, outcome.n_reused, outcome.n_done + outcome.n_left) == (1, 0, 9)
    assert multiprocessing.active_children() == []


def reserved_by(store: Store, process: int | str, specs: list[RunSpec]) -> None:
    rows = [(spec.key, f"{process} {machine_digest()}") for spec in specs]
    store._connection.executemany("INSERT INTO reservations VALUES (?, ?)", rows)


def order_of(run_group_calls: list, specs: list[RunSpec]) -> list[int]:
    return [specs.index(spec) for group in run_group_calls for spec in group]


@pytest.mark.parametrize(
    ("repeats", "expected"),
    [
        (2, (list("aabbccdd"), ["abc", "d", "abc", "d"])),
        (GROUP_SIZE // 2, (list("aabbccdd"), ["ab", "cd", "ab", "cd"])),
        (GROUP_SIZE + 1, (list("aaaabbbbccccdddd"), list("aabbccdd") * 2)),
    ],
)
def test_runs_with_equal_settings_are_grouped(repeats, expected):
    specs = [spec for name in "abcd" for spec in on(name, planned(repeats=repeats))]
    for data_of in (queues.same_problem, lambda _: "equal"):
        found = list(queues.groups(specs, data_of))
        got = sorted(spec.key for group in found for spec in group)
        assert got == sorted(spec.key for spec in specs)
        assert all(len({(tau_of(spec), data_of(spec)) for spec in group}) == 1 for group in found)
        got = [problems_of(group) for group in found]
        assert got == expected[data_of is not queues.same_problem]


def problems_of(group: tuple[RunSpec, ...]) -> str:
    return "".join(dict.fromkeys(spec.cell.problem for spec in group))


def on(name: str, specs: list[RunSpec]) -> list[RunSpec]:
    """Return runs like others on another problem."""
    return [
        replace(spec, key=f"{name} {spec.key}", cell=replace(spec.cell, problem=name))
        for spec in specs
    ]


def test_missing_data_fail_only_their_own_runs():
    group = tuple(spec for name in "ab" for spec in on(name, planned(repeats=2, tau=(5,))))
    (iris,) = (problem for _, problem in IRIS.values())
    gone = Mock(side_effect=DataError("b is gone."))
    loads = {of: gone if of[0] == "b" else lambda: iris for of in map(queues.same_problem, group)}
    results = worker.compute(group, loads)
    assert [result.key for result in results] == [spec.key for spec in group]
    assert [result.status for result in results] == ["done", "done", "failed", "failed"]
    assert "b is gone." in str(results[-1].error)


@pytest.fixture
def computed(monkeypatch) -> list:
    """Return the groups that are computed, in order."""
    groups, original = [], runner.compute

    def remember(group, *given):
        groups.append(group)
        return original(group, *given)

    monkeypatch.setattr(runner, "compute", remember)
    return groups


def test_runs_reserved_by_another_process_are_computed_last(open_store, computed):
    specs = planned(repeats=2, tau=(5, 10, 20))
    store = open_store(specs)
    reserved_by(store, os.getppid(), specs[:3])
    assert run(specs, store) == Outcome(6, 0, 6, 0, None)
    assert order_of(computed, specs) == [3, 4, 5, 0, 1, 2]


@pytest.mark.parametrize("reserves", [False, True])
def test_runs_of_another_process_are_not_computed(open_store, computed, tmp_path, reserves):
    specs = planned(tau=(5, 10, 20))
    store = open_store(specs)
    of_others = [spec for spec in specs if tau_of(spec) == (5 if reserves else 20)]
    if reserves:
        reserved_by(store, os.getppid(), of_others)

    def meanwhile(n_finished: int, _: int) -> None:
        if n_finished == 4:
            with Store(tmp_path / "a.sqlite") as other:
                other.record([done(spec, n_epochs=99) for spec in of_others], "{}")

    assert run(specs, store, progress=meanwhile) == Outcome(12, 4, 8, 0, None)
    expected = [spec for spec in specs if spec not in of_others]
    assert [spec for group in computed for spec in group] == expected
    assert [spec for spec, result in runs_in(store) if result.values["n_epochs"] == 99] == of_others


def test_reservations_of_this_or_an_ended_process_change_no_order(open_store, computed):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    specs = planned(repeats=2, tau=(5, 20))
    store = open_store(specs)
    for name, spec in zip((ended.pid, os.getpid(), "nonsense"), specs, strict=False):
        reserved_by(store, name, [spec])
    run(specs, store)
    assert order_of(computed, specs) == [0, 1, 2, 3]


def test_each_result_names_its_configs(open_store):
    specs = planned(repeats=2, tau=(5,))
    store = open_store(specs)
    run(specs, store, plans=[plan_of(specs, sha256="f" * 64)])
    found = [json.loads(result.origin)["configs"] for _, result in runs_in(store)]
    assert found == [{"a": "f" * 64}] * 2


def test_workers_read_a_user_defined_file_from_its_path_and_its_sizes_are_kept(
    open_store, tmp_path
):
    (tmp_path / "elsewhere").mkdir()
    path = write_dt(tmp_path / "elsewhere" / "own.dt")
    document = small(METHODS[0], problems=["elsewhere/own.dt"], baselines=False)
    request = read_request([write_config(tmp_path, document)])
    store = open_store(request.specs)
    assert run(request.specs, store, request.problems, workers=1).n_done == 2
    sha256 = load_problem(str(path)).sha256
    facts = ProblemFacts("own.dt", sha256, "classification", "own.dt", 3, 2, 20, 10, 10)
    assert store.problems() == {"own.dt": facts}


def test_workers_that_are_given_serve_further_calls(open_store):
    """Also after a run that was stopped at a failure."""
    specs = planned(repeats=1, methods=METHODS[:2])
    store = open_store(specs)
    with executors.Workers(2) as backend:
        assert run(specs, store, workers=backend).n_done == 3
        assert backend.n_in_flight == 4
        failing = planned(repeats=2, methods=[{"method": "gha", "learning_rate": 1e6}])
        store.plan(plan_of(failing, "failing"))
        assert run(failing, store, workers=backend, fail_fast=True).n_failed
        assert run(specs, store, workers=backend, fresh=True).n_done == 3


class TestKernels:
    """Compilation of kernels before the first run, and its failures."""

    @pytest.fixture
    def events(self, monkeypatch):
        """Return what happens in order, with a cache that keeps nothing but names of families."""
        events, original = [], worker._computed

        def computed(*given):
            events.append("runs")
            return original(*given)

        monkeypatch.setattr(worker, "_computed", computed)
        monkeypatch.setattr(runner.cache, "is_compiled", events.__contains__)
        monkeypatch.setattr(runner.cache, "cache_problem", lambda: None)
        monkeypatch.setattr(runner.cache, "compile_family", events.append)
        return events

    @pytest.fixture
    def compute(self, open_store, events):
        """Return a function that runs methods and sends their stages and warnings to the events."""

        def compute(methods=METHODS[2:], **options: object) -> None:
            specs = planned(repeats=1, methods=methods, tau=(5,))
            done = run(specs, open_store(specs), stage=events.append, warn=events.append, **options)
            assert (done.n_failed, done.n_left) == (0, 0)

        return compute

    def test_kernels_are_compiled_once_before_the_first_run(self, compute, events, monkeypatch):
        compute(METHODS)
        stages = [f"{runner.COMPILING}: {n} of 4" for n in range(5)]
        families = ["evolution", "hebbian", "batch_training", "linear_algebra"]
        assert events == [stages[0], *families, *stages[1:], "", "runs", "runs", "runs"]
        del events[:]
        monkeypatch.setattr(runner.cache, "is_compiled", lambda _: False)
        compute(METHODS)
        assert events == [], "kernels of runs that are done are not needed"
        monkeypatch.setattr(runner.cache, "is_compiled", lambda _: True)
        compute(METHODS, fresh=True)
        assert events == ["runs"] * 3

    def test_an_error_in_a_kernel_is_left_to_the_runs(self, compute, events, monkeypatch):
        monkeypatch.setattr(runner.cache, "compile_family", Mock(side_effect=TypeError))
        compute()
        assert events == [*(f"{runner.COMPILING}: {n} of 3" for n in range(4)), "", "runs"]

    def test_workers_that_die_compiling_are_replaced(self, compute, events, monkeypatch):
        monkeypatch.setattr(runner, "compile_kernels", dying_workers.die_compiling)
        compute(workers=2)
        assert (events[0].startswith(runner.COMPILING), events[-1]) == (True, "")

    def test_a_missing_cache_is_a_warning_and_runs_go_on(self, compute, events, monkeypatch):
        monkeypatch.setattr(runner.cache, "cache_problem", lambda: "nowhere")
        compute()
        assert events == ["nowhere", "runs"]

    @pytest.mark.parametrize(
        ("section", "families"),
        [
            ({"method": "gha"}, ["linear_algebra", "hebbian", "batch_training"]),
            ({"method": "rfe_svm"}, []),
            ({"method": "all_features", "classifier": ONLINE}, ["online_training"]),
            ({"method": "all_features", "classifier": BAGGED}, ["batch_training"]),
        ],
    )
    def test_needed_families_are_those_of_method_and_classifier(self, section, families):
        assert worker.needed_families(specs_of(small(section))) == set(families)
