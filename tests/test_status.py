"""Progress of configs: numbers of runs by status, and the time left."""

import os

import pytest
from command_line import pppca

from pppca_bench.cli import results as results_module
from pppca_bench.cli.results import ConfigStatus, _time, config_statuses
from pppca_bench.runs import Cell, Plan, RunResult, RunSpec
from pppca_bench.store.database import Span, Store
from pppca_bench.store.file import machine_digest


def specs(method: str, problem: str, n: int, **parameters: object) -> list[RunSpec]:
    cell = Cell(problem, "a" * 64, method, tuple(sorted(parameters.items())), ())
    return [RunSpec(f"{method} {problem} {parameters} {repeat}", cell, repeat, repeat) for repeat in range(n)]


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "results.sqlite") as store:
        yield store


def plan(store: Store, name: str, *groups: list[RunSpec]) -> None:
    store.plan(Plan(name, "", "", tuple(spec for group in groups for spec in group)))


def record(store: Store, runs: list[RunSpec], seconds: float, started: str = "1", status: str = "done") -> None:
    error = None if status == "done" else "ValueError: no"
    store.record([RunResult(spec.key, status, error) for spec in runs], "{}", span=Span(started, 1000.0 * seconds))


def test_runs_are_counted_and_last_as_long_as_those_of_their_method_and_problem(store):
    gha, dgha = specs("gha", "iris", 10), specs("dgha", "iris", 3)
    plan(store, "c", gha, dgha)
    record(store, gha[:4], 8.0)  # 2 s each
    record(store, gha[4:5], 7.0, "2")  # with them (8 + 7) / 5 = 3 s
    record(store, dgha[:1], 10.0)
    record(store, dgha[1:2], 99.0, status="failed")
    # 5 of 3 s, and of 10 s the failed one and the other one
    assert config_statuses(store, 1) == [ConfigStatus("c", 6, 1, 6, 0, 5 * 3.0 + 2 * 10.0)]
    assert config_statuses(store, 5)[0].seconds_left == pytest.approx(7.0)
    assert config_statuses(store, 0) == config_statuses(store, 1)


def test_runs_on_several_problems_that_trained_together_share_their_time(store):
    iris, wine = specs("gha", "iris", 3), specs("gha", "wine", 4)
    plan(store, "c", iris, wine)
    record(store, [*iris[:1], *wine[:3]], 8.0)
    assert config_statuses(store, 1)[0].seconds_left == (2 + 1) * 2.0


def test_time_left_is_estimated_from_other_problems_or_unknown(store):
    plan(store, "known", specs("gha", "iris", 1), specs("gha", "wine", 2))
    plan(store, "unknown", specs("gha", "iris", 1), specs("dgha", "iris", 1))
    record(store, specs("gha", "iris", 1), 5.0)
    known, unknown, everything = config_statuses(store, 1)
    assert (known.seconds_left, unknown.seconds_left) == (10.0, None)
    assert everything == ConfigStatus("all", 1, 0, 3, 0, None)


def test_runs_whose_result_is_their_time_are_computed_alone(store):
    timed = specs("dgha_speedup", "iris", 3, timed=True)
    plan(store, "c", timed, specs("gha", "iris", 5))
    record(store, timed[:1], 4.0)
    record(store, specs("gha", "iris", 1), 6.0)
    assert config_statuses(store, 4)[0].seconds_left == 2 * 4.0 + 4 * 6.0 / 4


def test_completed_runs_take_no_time(store):
    plan(store, "c", specs("gha", "iris", 1))
    record(store, specs("gha", "iris", 1), 4.0)
    assert config_statuses(store, 1) == [ConfigStatus("c", 1, 0, 0, 0, 0.0)]


def test_reservations_of_running_processes_count_as_under_way(store):
    gha = specs("gha", "iris", 3)
    plan(store, "c", gha)
    store.reserve([gha[0].key])
    with store.transaction() as connection:
        connection.execute("INSERT INTO reservations VALUES (?, ?)", (gha[1].key, f"{2**30} {machine_digest()}"))
        connection.execute("INSERT INTO reservations VALUES (?, ?)", (gha[2].key, f"{os.getpid()} elsewhere"))
    assert config_statuses(store, 1)[0].n_under_way == 2


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "?"),
        (0.0, "–"),
        (0.2, "under 1 min"),
        (60.0, "1 min"),
        (61.0, "2 min"),
        (7140.5, "2 h 0 min"),
        (9000.0, "2 h 30 min"),
    ],
)
def test_times_are_rounded_up_to_minutes(seconds, text):
    assert _time(seconds) == text


def test_the_command_prints_a_line_a_config_while_another_process_writes(store, tmp_path):
    plan(store, "c", specs("gha", "iris", 300))
    record(store, specs("gha", "iris", 100), 100.0)
    with store.transaction():
        shown = pppca("status", "--results", tmp_path, "--workers", 2)
    assert shown.exit_code == 0, shown.output
    assert shown.stdout.splitlines()[2].split() == ["c", "100", "0", "200", "0", "2", "min"]


@pytest.fixture
def pauses(monkeypatch):
    """Return a list of what happens in each pause of a watch, in place of waiting."""
    happens = []
    monkeypatch.setattr(results_module.threading.Event, "wait", lambda *_: happens.pop(0)())
    return happens


def watched(store: Store, *seconds: str):
    return pppca("status", "--results", store.path.parent, "--watch", *seconds)


@pytest.mark.parametrize("seconds", [(), ("0.5",)])
def test_watching_ends_when_no_run_is_left(store, pauses, seconds):
    runs = specs("gha", "iris", 3)
    plan(store, "c", runs)
    pauses += [lambda: record(store, runs[:1], 1.0), lambda: record(store, runs[1:], 1.0, status="failed")]
    done = watched(store, *seconds)
    assert done.exit_code == 0
    counts = [line.split()[:4] for line in done.stdout.splitlines() if line.startswith("c ")]
    assert counts == [["c", "0", "0", "3"], ["c", "1", "0", "2"], ["c", "1", "2", "0"]]


def test_watching_finished_runs_reads_once(store, pauses):
    plan(store, "c", runs := specs("gha", "iris", 1))
    record(store, runs, 1.0)
    assert watched(store).stdout.count("time left") == 1
    assert pauses == []


def test_an_interrupted_watch_ends_silently(store, pauses):
    def interrupt():
        raise KeyboardInterrupt

    plan(store, "c", specs("gha", "iris", 1))
    pauses.append(interrupt)
    done = watched(store)
    assert (done.exit_code, done.stderr) == (130, "")
