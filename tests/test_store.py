"""The results database: what is planned, recorded, replaced and found again, and how it refuses other files."""

import json
import os
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pppca_bench.errors import StoreError
from pppca_bench.runs import ProblemFacts, RunResult, RunSpec
from pppca_bench.store import database as store_module
from pppca_bench.store.database import Store
from pppca_bench.store.schema import SCHEMA_VERSION

CLASSIFIER = (("hidden", (4, 2)), ("initial_step_range", (0.005, 0.02)), ("shortcuts", True))
PARAMETERS = (("centre", True), ("decay_epochs", None), ("initial_rows", "direction"), ("learning_rate", 0.1 + 0.2))
SPECS = [
    RunSpec(f"key{repeat}", "iris", "dgha", PARAMETERS, 5.0, 100.0, repeat, 2**63 - 1 - repeat, CLASSIFIER)
    for repeat in range(3)
]
GHA = RunSpec("gha", "own/a.dt", "gha", (), None, None, 0, 0, (("hidden", ()),))


def done(spec: RunSpec, error: float = 12.5, sha256: str = "a" * 64, **curves) -> RunResult:
    numbers = (None, 3, 1 / 3, 2.5, 252, 100, 60, 1.1, 2.2, error)
    return RunResult(spec.key, "done", sha256, *numbers, history=curves)


def failed(spec: RunSpec) -> RunResult:
    return RunResult(spec.key, "failed", "a" * 64, error="Traceback: é\nValueError: no")


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "results" / "results.sqlite"


@pytest.fixture
def store(path):
    with Store(path) as store:
        yield store


@pytest.fixture
def planned(store) -> Store:
    store.plan("a", SPECS)
    return store


def test_a_new_store_makes_its_folder_and_is_empty(store, path):
    assert path.is_file()
    assert not store.was_emptied
    assert store.runs() == []
    assert store.configs() == []
    assert store.problems() == {}
    assert store.done(["key0"]) == {}


def test_planned_runs_are_read_back_as_they_were_planned(store, path):
    store.plan("a", [*SPECS, GHA])
    with Store(path, read_only=True) as reader:
        assert reader.runs() == [(SPECS[0], None), (GHA, None), (SPECS[1], None), (SPECS[2], None)]


def test_results_are_read_back_to_the_last_bit(planned, path):
    planned.record([done(SPECS[1]), failed(SPECS[2])], "{}")
    with Store(path, read_only=True) as reader:
        assert reader.runs() == [(SPECS[0], None), (SPECS[1], done(SPECS[1])), (SPECS[2], failed(SPECS[2]))]


def test_further_measures_are_read_back_by_name(planned):
    timed = replace(done(SPECS[0]), measures={"speedup": 1 / 3, "gha_time_ms": 218.74})
    planned.record([timed, done(SPECS[1])], "{}")
    assert [result for _, result in planned.runs()] == [timed, done(SPECS[1]), None]


def test_only_done_runs_count_as_done_and_their_data_are_known(planned):
    planned.record([done(SPECS[1], sha256="b" * 64), failed(SPECS[2])], "{}")
    assert planned.done(spec.key for spec in SPECS) == {"key1": "b" * 64}
    assert planned.done(["key0"]) == {}


def test_learning_curves_come_back_in_single_precision_and_shape(planned):
    variances = np.array([[1.0, np.nan], [1 / 3, -1e-8]])
    planned.record([done(SPECS[0], dimensionality=np.array([3, 2, 2]), variances=variances), done(SPECS[1])], "{}")
    found = planned.histories(["key0", "key1", "nothing"])
    assert found.keys() == {"key0"}
    assert found["key0"].keys() == {"dimensionality", "variances"}
    np.testing.assert_array_equal(found["key0"]["dimensionality"], [3, 2, 2])
    np.testing.assert_array_equal(found["key0"]["variances"], variances.astype(np.float32))


def test_a_done_run_stays_as_it_is(planned):
    planned.record([done(SPECS[0], error=1.0, curve=np.zeros(2))], "{}")
    planned.record([done(SPECS[0], error=2.0, curve=np.ones(2)), failed(SPECS[0])], "{}")
    assert planned.runs()[0][1].test_error_percent == 1.0
    np.testing.assert_array_equal(planned.histories(["key0"])["key0"]["curve"], [0, 0])


def test_a_done_run_is_replaced_on_request(planned):
    planned.record([done(SPECS[0], error=1.0, curve=np.zeros(2))], "{}")
    planned.record([done(SPECS[0], error=2.0, curve=np.ones(2))], "{}", replace=True)
    assert planned.runs()[0][1].test_error_percent == 2.0
    np.testing.assert_array_equal(planned.histories(["key0"])["key0"]["curve"], [1, 1])


def test_a_done_run_is_replaced_by_one_of_other_data(planned):
    planned.record([done(SPECS[0], error=1.0)], "{}")
    planned.record([done(SPECS[0], error=2.0, sha256="b" * 64)], "{}")
    assert planned.done(["key0"]) == {"key0": "b" * 64}
    assert planned.runs()[0][1].test_error_percent == 2.0


def test_a_failed_run_is_replaced_by_whatever_comes_next(planned):
    planned.record([failed(SPECS[0])], "{}")
    planned.record([done(SPECS[0])], "{}")
    assert planned.runs()[0] == (SPECS[0], done(SPECS[0]))


def test_no_curves_are_left_of_a_result_that_was_replaced(planned):
    planned.record([done(SPECS[0], curve=np.zeros(2))], "{}")
    planned.record([failed(SPECS[0])], "{}", replace=True)
    assert planned.histories(["key0"]) == {}


def test_each_result_has_its_provenance_and_time(planned, path):
    planned.record([done(SPECS[0])], '{"pppca": "1"}')
    planned.record([done(SPECS[1]), done(SPECS[2])], '{"pppca": "2"}')
    rows = _query(
        path,
        "SELECT key, description, finished_at FROM runs JOIN provenances ON provenances.id = provenance ORDER BY key",
    )
    assert [json.loads(description)["pppca"] for _, description, _ in rows] == ["1", "2", "2"]
    assert all(time.endswith("Z") and time[4] == "-" for _, _, time in rows)
    assert _query(path, "SELECT count(*) FROM provenances") == [(2,)]


def test_the_plan_of_a_changed_config_takes_the_place_of_its_older_one_and_results_stay(planned):
    planned.record([done(SPECS[0]), done(SPECS[1])], "{}")
    planned.plan("a", [SPECS[1], GHA])
    assert planned.runs() == [(GHA, None), (SPECS[1], done(SPECS[1]))]
    assert planned.done(["key0"]) == {"key0": "a" * 64}
    planned.plan("a", SPECS)
    assert [result for _, result in planned.runs()] == [done(SPECS[0]), done(SPECS[1]), None]


def test_runs_of_later_planned_configs_come_last_and_shared_runs_once(store):
    store.plan("a", SPECS[:2])
    store.plan("b", [GHA])
    assert [spec.key for spec, _ in store.runs()] == ["key0", "key1", "gha"]
    store.plan("a", SPECS[:2])
    assert store.configs() == ["b", "a"]
    assert [spec.key for spec, _ in store.runs()] == ["gha", "key0", "key1"]
    store.plan("c", [GHA])
    assert [spec.key for spec, _ in store.runs()] == ["key0", "key1", "gha"]


def test_runs_can_be_limited_to_configs(store):
    store.plan("a", SPECS[:2])
    store.plan("b", [GHA, SPECS[0]])
    assert {spec.key for spec, _ in store.runs(["a"])} == {"key0", "key1"}
    assert {spec.key for spec, _ in store.runs(["b"])} == {"gha", "key0"}


@pytest.mark.parametrize(("planned_names", "listed"), [([], "none yet"), (["a", "b"], "a, b")])
def test_runs_of_an_unknown_config_are_refused(store, planned_names, listed):
    for name in planned_names:
        store.plan(name, SPECS)
    with pytest.raises(StoreError, match=rf"no runs of config 'x' in \S+: expected one of {listed}\. Run it first"):
        store.runs(["x"])


def test_problem_sizes_are_kept_and_renewed(store):
    facts = ProblemFacts("iris", "a" * 64, 4, 3, 75, 38, 37)
    store.describe_problems([facts, replace(facts, name="wine")])
    store.describe_problems([replace(facts, n_train=80)])
    assert store.problems() == {"iris": replace(facts, n_train=80), "wine": replace(facts, name="wine")}


def test_reading_needs_an_existing_store(path):
    with pytest.raises(StoreError, match=r"no results in \S+results\.sqlite: run `pppca run CONFIG` first, or name"):
        Store(path, read_only=True)
    assert not path.parent.exists()


def test_a_store_opened_for_reading_changes_nothing(planned, path):
    before = path.read_bytes()
    with Store(path, read_only=True) as reader:
        with pytest.raises(StoreError, match="readonly database"):
            reader.plan("b", SPECS)
        with pytest.raises(StoreError, match="readonly database"):
            reader.record([done(SPECS[0])], "{}")
    assert path.read_bytes() == before
    assert planned.runs() == [(spec, None) for spec in SPECS]


@pytest.mark.parametrize("read_only", [False, True])
def test_a_store_of_a_newer_version_is_refused_and_left_alone(planned, path, read_only):
    planned.close()
    newer = SCHEMA_VERSION + 1
    _query(path, f"PRAGMA user_version = {newer}")
    before = path.read_bytes()
    with pytest.raises(
        StoreError, match=rf"expected a results database of version {SCHEMA_VERSION}, got version {newer}"
    ):
        Store(path, read_only=read_only)
    assert path.read_bytes() == before


def test_a_file_without_a_byte_is_refused_to_readers_and_begun_anew_by_writers(path):
    path.parent.mkdir(exist_ok=True)
    path.touch()
    with pytest.raises(StoreError, match=r"expected a results database, got a file of 0 bytes: .* Take it back from"):
        Store(path, read_only=True)
    assert path.stat().st_size == 0
    with Store(path) as store:
        assert store.was_emptied
        store.plan("a", SPECS)
    with Store(path) as again:
        assert not again.was_emptied
        assert len(again.runs()) == len(SPECS)


@pytest.mark.parametrize("read_only", [False, True])
def test_a_file_that_another_process_is_just_beginning_is_no_emptied_one(path, monkeypatch, read_only):
    def other_begins(*arguments: object) -> str:
        monkeypatch.undo()
        Store(path).close()
        return store_module._access_mode(*arguments)

    path.parent.mkdir(exist_ok=True)
    path.touch()
    monkeypatch.setattr(store_module, "_access_mode", other_begins)
    with Store(path, read_only=read_only) as store:
        assert not store.was_emptied
        assert store.runs() == []


@pytest.mark.parametrize("read_only", [False, True])
def test_another_programs_database_is_refused_and_left_alone(tmp_path, read_only):
    path = tmp_path / "other.sqlite"
    _query(path, "CREATE TABLE recipes (name TEXT)")
    before = path.read_bytes()
    with pytest.raises(StoreError, match="expected a results database of version 2, got version 0"):
        Store(path, read_only=read_only)
    assert path.read_bytes() == before


@pytest.mark.parametrize("read_only", [False, True])
def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path, read_only):
    path = tmp_path / "notes.sqlite"
    path.write_text("These are my notes, not a database. " * 10)
    with pytest.raises(
        StoreError, match=r"notes\.sqlite: cannot be used as the results database \(file is not a database"
    ):
        Store(path, read_only=read_only)
    assert path.read_text() == "These are my notes, not a database. " * 10


@pytest.mark.parametrize("keep", [100, 3000, 9000])
def test_a_truncated_store_is_refused(planned, path, keep):
    planned.close()
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(StoreError, match=r"cannot be used as the results database \("), Store(path) as store:
        store.runs()


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(
        StoreError, match=r"file/results/r\.sqlite: cannot be used .*Check the disk and the file, or name"
    ):
        Store(tmp_path / "file" / "results" / "r.sqlite")


def test_a_full_disk_is_told_as_such_and_loses_nothing(planned, path):
    planned.record([done(SPECS[0])], "{}")
    pages = _query(path, "PRAGMA page_count")[0][0]
    planned._connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreError, match=r"\(database or disk is full\)"):
        planned.record([done(SPECS[1], curve=np.random.default_rng(0).normal(size=10_000))], "{}")
    assert [result for _, result in planned.runs()] == [done(SPECS[0]), None, None]
    assert _query(path, "PRAGMA integrity_check") == [("ok",)]


def test_results_are_recorded_all_or_none(planned):
    unstorable = replace(done(SPECS[1]), dimensionality="many")
    with pytest.raises(StoreError):
        planned.record([done(SPECS[0]), unstorable], "{}")
    assert planned.done(["key0", "key1"]) == {}
    planned.record([done(SPECS[0])], "{}")
    assert planned.done(["key0"]).keys() == {"key0"}


def test_an_interruption_while_recording_records_nothing_and_leaves_the_store_usable(planned):
    def interrupted():
        yield done(SPECS[0])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        planned.record(interrupted(), "{}")
    assert planned.done(["key0"]) == {}
    planned.record([done(SPECS[0])], "{}")
    assert planned.done(["key0"]).keys() == {"key0"}


_WRITER = """
import sys
from pathlib import Path
from pppca_bench.runs import RunResult, RunSpec
from pppca_bench.store.database import Store

path, name = Path(sys.argv[1]), sys.argv[2]
specs = [RunSpec(f"{name}{i}", "iris", "gha", (), None, None, i, i, ()) for i in range(100)]
shared = [RunSpec(f"shared{i}", "iris", "gha", (), None, None, i, i, ()) for i in range(100)]
print("ready", flush=True)
sys.stdin.readline()
with Store(path) as store:
    store.plan(name, specs + shared)
    for pair in zip(specs, shared):
        store.record([RunResult(spec.key, "done", "a", test_error_percent=1.0) for spec in pair], name)
"""


def test_two_processes_write_at_once_without_loss_or_repetition(path):
    command = [sys.executable, "-c", _WRITER, str(path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    writers = [subprocess.Popen([*command, name], **pipes) for name in ("a", "b")]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.stdin.write("\n")
        writer.stdin.flush()
    for writer in writers:
        _, errors = writer.communicate(timeout=60)
        assert (writer.returncode, errors) == (0, "")
    with Store(path, read_only=True) as store:
        runs = store.runs()
    assert len(runs) == len({spec.key for spec, _ in runs}) == 300
    assert all(result is not None for _, result in runs)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="the administrator may write anywhere")
def test_a_store_in_a_read_only_folder_can_be_read(planned, path):
    planned.close()
    path.chmod(0o444)
    path.parent.chmod(0o555)
    try:
        with Store(path, read_only=True) as store:
            assert len(store.runs()) == 3
        with pytest.raises(StoreError, match="readonly"):
            Store(path).plan("b", SPECS)
    finally:
        path.parent.chmod(0o755)


def _query(path: Path, statement: str) -> list[tuple]:
    connection = sqlite3.connect(path)
    try:
        with connection:
            return connection.execute(statement).fetchall()
    finally:
        connection.close()


def test_the_runs_of_each_plan_are_known_by_its_name(tmp_path):
    one, two, three = (replace(GHA, key=key) for key in ("1", "2", "3"))
    with Store(tmp_path / "results.sqlite") as store:
        store.plan("first", [one, two])
        store.plan("second", [two, three])
        store.plan("first", [one])
        assert {name: sorted(keys) for name, keys in store.plans().items()} == {
            "second": ["2", "3"],
            "first": ["1"],
        }
        assert list(store.plans()) == ["second", "first"]
        assert store.plans(["first"]) == {"first": ["1"]}
