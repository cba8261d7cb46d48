"""Results database: planning, recording, replacing, reading, and refused files."""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from pppca_bench.errors import ConfigError, StoreError
from pppca_bench.runs import QUANTITIES, Cell, Plan, ProblemFacts, RunResult, RunSpec
from pppca_bench.store.database import Store
from pppca_bench.store.file import SCHEMA_VERSION

CLASSIFIER = (("hidden", (4, 2)), ("initial_step_range", (0.005, 0.02)), ("rule", "rprop"), ("shortcuts", True))
PARAMETERS = (
    ("centre", True),
    ("data_fraction", 100.0),
    ("decay_epochs", None),
    ("join_by", "node"),
    ("learning_rate", 0.1 + 0.2),
    ("tau", 5.0),
)
CELL = Cell("iris", "a" * 64, "dgha", PARAMETERS, CLASSIFIER, (("dgha", 2), ("rprop", 1)))
SPECS = [RunSpec(f"key{repeat}", CELL, repeat, 2**63 - 1 - repeat, ("learning_rate", "tau")) for repeat in range(3)]
GHA = RunSpec("gha", Cell("own/a.dt", "b" * 64, "gha", (), (("hidden", ()),)), 0, 0)


def plan(name: str, specs: Sequence[RunSpec], all_repeats: Sequence[RunSpec] = ()) -> Plan:
    return Plan(name, "c" * 64, f"name: {name}\n", tuple(specs), tuple(all_repeats))


def done(spec: RunSpec, error: float = 12.5, **curves) -> RunResult:
    values = {
        "dimensionality": 3,
        "fit_time_ms": 1 / 3,
        "classifier_time_ms": 2.5,
        "n_epochs": 252,
        "total_epochs": 100,
        "relevant_epochs": 60,
        "train_error_percent": 1.1,
        "validation_error_percent": 2.2,
        "test_error_percent": error,
    }
    return RunResult(spec.key, "done", values=values, history=curves)


def failed(spec: RunSpec) -> RunResult:
    return RunResult(spec.key, "failed", error="Traceback: é\nValueError: no")


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "results" / "results.sqlite"


@pytest.fixture
def store(path):
    with Store(path) as store:
        yield store


@pytest.fixture
def planned(store) -> Store:
    store.plan(plan("a", SPECS))
    return store


def test_a_new_store_makes_its_folder_and_is_empty(store, path):
    assert path.is_file()
    assert store.runs() == []
    assert list(store.config_texts()) == []
    assert store.problems() == {}
    assert store.done(["key0"]) == set()


def test_planned_runs_are_read_back_as_they_were_planned(store, path):
    store.plan(plan("a", [*SPECS, GHA]))
    with Store(path, read_only=True) as reader:
        assert reader.runs() == [(SPECS[0], None), (GHA, None), (SPECS[1], None), (SPECS[2], None)]


def test_results_are_read_back_to_the_last_bit(planned, path):
    planned.record([done(SPECS[1]), failed(SPECS[2])], "{}")
    with Store(path, read_only=True) as reader:
        assert reader.runs() == [(SPECS[0], None), (SPECS[1], done(SPECS[1])), (SPECS[2], failed(SPECS[2]))]


def test_measures_of_a_method_are_read_back_under_its_names(planned):
    values = {"test_error_percent": 1.5, "n_tried": 3, "a b; DROP TABLE runs": 1 / 3, "none": -0.0}
    assert QUANTITIES.keys() & values == {"test_error_percent"}
    planned.record([RunResult("key0", "done", values=values)], "{}")
    found = planned.runs()[0][1].values
    assert found == values
    assert {name: type(value) for name, value in found.items()} == {name: type(one) for name, one in values.items()}


def test_neither_numbers_nor_curves_are_left_of_a_result_that_was_replaced(planned):
    planned.record([done(SPECS[0], curve=np.zeros(2))], "{}")
    planned.record([RunResult("key0", "done", values={"n_tried": 3})], "{}", replace=True)
    planned.record([RunResult("key0", "done", values={"speedup": 2.0})], "{}", replace=True)
    assert planned.runs()[0][1].values == {"speedup": 2.0}
    planned.record([failed(SPECS[0])], "{}", replace=True)
    assert planned.runs()[0][1] == failed(SPECS[0])
    assert planned.histories(["key0"]) == {}


def test_counts_are_read_back_as_integers_and_other_numbers_as_floats(planned):
    planned.record([done(SPECS[0])], "{}")
    found = planned.runs()[0][1].values
    counts = {name for name, value in found.items() if type(value) is int}
    assert counts == {name for name in found if QUANTITIES[name].is_count} != set()


def test_only_done_runs_count_as_done(planned):
    planned.record([done(SPECS[1]), failed(SPECS[2])], "{}")
    assert planned.done(spec.key for spec in SPECS) == {"key1"}
    assert planned.done(["key0"]) == set()


def test_learning_curves_come_back_in_single_precision_and_shape(planned):
    variances = np.array([[1.0, np.nan], [1 / 3, -1e-8]])
    planned.record([done(SPECS[0], dimensionality=np.array([3, 2, 2]), variances=variances), done(SPECS[1])], "{}")
    found = planned.histories(["key0", "key1", "nothing"])
    assert found.keys() == {"key0"}
    assert found["key0"].keys() == {"dimensionality", "variances"}
    assert_array_equal(found["key0"]["dimensionality"], [3, 2, 2])
    assert_array_equal(found["key0"]["variances"], variances.astype(np.float32))


@pytest.mark.parametrize("replaces", [False, True])
def test_a_done_run_is_replaced_on_request_alone(planned, replaces):
    planned.record([done(SPECS[0], error=0.0, curve=np.zeros(2))], "{}")
    planned.record([done(SPECS[0], error=1.0, curve=np.ones(2))], "{}", replace=replaces)
    planned.record([failed(SPECS[0])], "{}")
    assert planned.runs()[0][1].values["test_error_percent"] == replaces
    assert_array_equal(planned.histories(["key0"])["key0"]["curve"], [replaces, replaces])


def test_a_failed_run_is_replaced_by_whatever_comes_next(planned):
    planned.record([failed(SPECS[0])], "{}")
    planned.record([done(SPECS[0])], "{}")
    assert planned.runs()[0] == (SPECS[0], done(SPECS[0]))


def test_each_result_has_its_provenance_and_time(planned):
    planned.record([done(SPECS[0])], '{"pppca": "1"}')
    planned.record([done(SPECS[1]), done(SPECS[2])], '{"pppca": "2"}')
    rows = planned.rows(
        "SELECT key, description, finished_at FROM runs JOIN provenances ON provenances.id = provenance ORDER BY key"
    )
    assert [json.loads(description)["pppca"] for _, description, _ in rows] == ["1", "2", "2"]
    assert all(time.endswith("Z") and time[4] == "-" for _, _, time in rows)
    assert planned.rows("SELECT count(*) FROM provenances") == [(2,)]


def test_a_changed_config_replaces_its_plan_and_keeps_results(planned):
    planned.record([done(SPECS[0]), done(SPECS[1])], "{}")
    planned.plan(plan("a", [SPECS[1], GHA]))
    assert planned.runs() == [(GHA, None), (SPECS[1], done(SPECS[1]))]
    assert planned.done(["key0"]) == {"key0"}
    planned.plan(plan("a", SPECS))
    assert [result for _, result in planned.runs()] == [done(SPECS[0]), done(SPECS[1]), None]


class TestOtherSeeds:
    """Two configs that ask for one setting with two seeds."""

    OTHER = tuple(replace(spec, key=f"other{spec.repeat}", seed=spec.seed - 100) for spec in SPECS)

    def test_they_are_refused_and_nothing_is_lost(self, planned):
        planned.record([done(SPECS[0])], "{}")
        before = planned.runs()
        with pytest.raises(ConfigError, match=r"^dgha on iris, repeat 0: expected one seed .* of the configs a and b"):
            planned.plan(plan("b", [GHA, self.OTHER[0]]))
        assert (list(planned.config_texts()), planned.runs()) == (["a"], before)

    def test_the_same_seed_and_other_repeats_are_fine(self, planned):
        planned.plan(plan("b", SPECS))
        planned.plan(plan("c", [replace(self.OTHER[0], key="late", repeat=7)]))
        assert list(planned.config_texts()) == ["a", "b", "c"]

    def test_other_settings_may_have_another_seed(self, planned):
        cell = replace(CELL, parameters=(("tau", 6.0),))
        planned.plan(plan("b", [replace(spec, cell=cell) for spec in self.OTHER]))
        assert list(planned.config_texts()) == ["a", "b"]

    def test_a_config_may_change_its_own_seed_and_then_another_may_have_it(self, planned):
        planned.plan(plan("a", self.OTHER))
        assert [spec.seed for spec, _ in planned.runs()] == [spec.seed for spec in self.OTHER]
        planned.plan(plan("b", self.OTHER))
        with pytest.raises(ConfigError, match="of the configs a and b"):
            planned.plan(plan("a", SPECS))


def test_runs_are_in_the_order_of_the_configs_names_and_their_plans_whenever_they_were_planned(store):
    first, second, last = (replace(spec, place=place) for place, spec in enumerate([GHA, *SPECS[:2]]))
    store.plan(plan("b", [second, last]))
    store.plan(plan("a", [last]))
    assert [spec.key for spec, _ in store.runs()] == [last.key, second.key]
    store.plan(plan("b", [first, second, last]))
    assert [spec.key for spec, _ in store.runs()] == [last.key, first.key, second.key]
    assert [spec.key for spec, _ in store.runs(["b"])] == [first.key, second.key, last.key]
    store.plan(plan("b", [replace(spec, place=-spec.place) for spec in (first, second, last)]))
    assert [spec.key for spec, _ in store.runs(["b"])] == [last.key, second.key, first.key]


@pytest.mark.parametrize(("planned_names", "listed"), [([], "none yet"), (["a", "b"], "a, b")])
def test_runs_of_an_unknown_config_are_refused(store, planned_names, listed):
    for name in planned_names:
        store.plan(plan(name, SPECS))
    with pytest.raises(StoreError, match=rf"no runs of config 'x' in \S+: expected one of {listed}\. Run it first"):
        store.runs(["x"])


def test_the_sizes_of_a_problem_are_those_of_the_data_that_ran_last(store):
    old = ProblemFacts("own.dt", "a" * 64, "classification", "own.dt", 4, 3, 75, 38, 37)
    new, wine = replace(old, data_sha256="b" * 64, n_train=10), replace(old, name="wine")
    for facts in (old, new, old, replace(old, n_train=80)):
        store.describe_problems([facts, wine])
        assert store.problems() == {"own.dt": facts, "wine": wine}


def test_reading_needs_an_existing_store(path):
    with pytest.raises(StoreError, match=r"no results in \S+results\.sqlite: run `pppca run CONFIG` first, or name"):
        Store(path, read_only=True)
    assert not path.parent.exists()


def test_a_store_opened_for_reading_changes_nothing(planned, path):
    before = path.read_bytes()
    with Store(path, read_only=True) as reader:
        with pytest.raises(StoreError, match="readonly database"):
            reader.plan(plan("b", SPECS))
        with pytest.raises(StoreError, match="readonly database"):
            reader.record([done(SPECS[0])], "{}")
    assert path.read_bytes() == before
    assert planned.runs() == [(spec, None) for spec in SPECS]


def test_an_empty_file_is_refused_by_readers_and_initialised_by_writers(path):
    path.parent.mkdir(exist_ok=True)
    path.touch()
    with pytest.raises(StoreError, match=r"expected a results database of version \d, got version 0\. Move it away"):
        Store(path, read_only=True)
    assert path.stat().st_size == 0
    with Store(path) as store:
        assert store.runs() == []


@pytest.mark.parametrize("read_only", [False, True])
def test_a_file_of_another_kind_is_refused_and_left_unchanged(tmp_path, read_only):
    path = tmp_path / "notes.sqlite"
    path.write_text("These are my notes, not a database. " * 10)
    with pytest.raises(
        StoreError, match=r"notes\.sqlite: no intact results database \(file is not a database\)\. Restore it from"
    ):
        Store(path, read_only=read_only)
    assert path.read_text() == "These are my notes, not a database. " * 10


@pytest.mark.parametrize("keep", [100, 3000, 9000])
def test_a_truncated_store_is_refused(planned, path, keep):
    planned.close()
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(StoreError, match=r"no intact results database \("), Store(path) as store:
        store.runs()


DAMAGES = {
    "cell 1": "UPDATE cells SET parameters = '{' WHERE id = 1",
    "cell 1: 'int' object": "UPDATE cells SET changed = '3' WHERE id = 1",
    "measures or provenance of a run": "UPDATE runs SET measures = 'x' WHERE key = 'key0'",
    "Could not decode to UTF-8": "UPDATE runs SET measures = CAST(x'ff' AS TEXT) WHERE key = 'key0'",
}


@pytest.mark.parametrize("content", DAMAGES)
def test_damaged_text_is_named_and_other_runs_stay_readable(planned, content):
    planned.plan(plan("b", [GHA]))
    planned.rows(DAMAGES[content])
    with pytest.raises(StoreError, match=rf"results\.sqlite: no intact results database \({content}.*\)\. Restore it"):
        planned.runs(["a"])
    assert planned.runs(["b"]) == [(GHA, None)]


def test_damaged_curves_are_named_and_runs_stay_readable(planned):
    planned.record([done(SPECS[0], curve=np.zeros(2))], "{}")
    planned.rows("UPDATE histories SET curves = x'0102'")
    with pytest.raises(StoreError, match=r"\(learning curves of run key0: .*\)\. Restore it"):
        planned.histories(["key0"])
    assert planned.runs()[0] == (SPECS[0], done(SPECS[0]))


def test_a_folder_that_cannot_be_created_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(
        StoreError, match=r"file/results/r\.sqlite: cannot be used .*Check the disk and the file, or name"
    ):
        Store(tmp_path / "file" / "results" / "r.sqlite")


def test_a_full_disk_loses_no_recorded_result(planned):
    planned.record([done(SPECS[0])], "{}")
    ((pages,),) = planned.rows("PRAGMA page_count")
    planned.rows(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreError, match=r"\(database or disk is full\)"):
        planned.record([done(SPECS[1], curve=np.random.default_rng(0).normal(size=10_000))], "{}")
    assert [result for _, result in planned.runs()] == [done(SPECS[0]), None, None]
    assert planned.rows("PRAGMA integrity_check") == [("ok",)]


def test_results_are_recorded_all_or_none_and_the_store_stays_usable(planned):
    def interrupted():
        yield done(SPECS[0])
        raise KeyboardInterrupt

    unstorable = replace(done(SPECS[1]), values={"dimensionality": "many"})
    for results, error in (([done(SPECS[0]), unstorable], StoreError), (interrupted(), KeyboardInterrupt)):
        with pytest.raises(error):
            planned.record(results, "{}")
        assert planned.done(["key0", "key1"]) == set()
    planned.record([done(SPECS[0])], "{}")
    assert planned.done(["key0"]) == {"key0"}


_WRITER = """
import sys
from pathlib import Path
from pppca_bench.runs import Cell, Plan, RunResult, RunSpec
from pppca_bench.store.database import Store

path, name = Path(sys.argv[1]), sys.argv[2]
cell = Cell("iris", "a", "gha", (), ())
specs = [RunSpec(f"{name}{i}", cell, i, i) for i in range(100)]
shared = [RunSpec(f"shared{i}", cell, i, i) for i in range(100)]
print("ready", flush=True)
sys.stdin.readline()
with Store(path) as store:
    store.plan(Plan(name, "", "", tuple(specs + shared)))
    for pair in zip(specs, shared):
        store.record([RunResult(spec.key, "done", values={"test_error_percent": 1.0}) for spec in pair], "{}")
"""


def test_processes_that_create_a_store_at_once_lose_and_duplicate_nothing(path):
    command = [sys.executable, "-c", _WRITER, str(path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    writers = [subprocess.Popen([*command, name], **pipes) for name in ("a", "b")]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.stdin.write("\n")
        writer.stdin.flush()
    for writer in writers:
        assert (*writer.communicate(timeout=60), writer.returncode) == ("", "", 0)
    with Store(path, read_only=True) as store:
        runs = store.runs()
    assert len(runs) == len({spec.key for spec, _ in runs}) == 300
    assert all(result is not None for _, result in runs)


def test_done_repeats_of_a_config_stay_in_a_plan_with_fewer_repeats(planned):
    planned.record([done(SPECS[1])], "{}")
    planned.plan(plan("a", SPECS[:1], all_repeats=SPECS))
    assert [spec.key for spec, _ in planned.runs()] == ["key0", "key1"]


def test_runs_left_out_by_a_command_stay_planned(planned):
    planned.plan(plan("a", SPECS[:2]))
    planned.plan(Plan("a", "c" * 64, "name: a\n", (), tuple(SPECS), tuple(SPECS)))
    assert [spec.key for spec, _ in planned.runs()] == ["key0", "key1"]


def test_repeats_share_a_row_of_their_cell(planned):
    planned.plan(plan("b", [*SPECS, GHA]))
    assert planned.rows("SELECT problem, method, count(*) FROM cells JOIN runs ON cell = id GROUP BY id") == [
        ("iris", "dgha", 3),
        ("own/a.dt", "gha", 1),
    ]


def test_cells_that_differ_in_any_property_have_separate_rows(store):
    changes = (
        {"problem": "wine"},
        {"data_sha256": "b" * 64},
        {"method": "gha"},
        {"parameters": PARAMETERS[1:]},
        {"classifier": (("hidden", (4,)), *CLASSIFIER[1:])},
        {"algorithms": (("dgha", 3), ("rprop", 1))},
    )
    cells = [CELL, *(replace(CELL, **change) for change in changes)]
    store.plan(plan("a", [RunSpec(str(number), cell, 0, 0) for number, cell in enumerate(cells)]))
    assert [spec.cell for spec, _ in store.runs()] == cells


@pytest.mark.parametrize("value", [0.1 + 0.2, 1e-300, float("inf"), 2**53 + 1, -1, True, None, "é '\"", (), (1, 2.5)])
def test_settings_are_read_back_as_the_same_values(store, value):
    spec = RunSpec("a", Cell("iris", "", "gha", (("x", value),), ()), 0, 0)
    store.plan(plan("a", [spec]))
    ((found, _),) = store.runs()
    assert found == spec
    assert type(found.cell.settings["x"]) is type(value)


def test_changed_settings_are_those_of_the_last_plan(planned):
    planned.plan(plan("b", [replace(spec, changed=("centre",)) for spec in SPECS]))
    assert {spec.changed for spec, _ in planned.runs()} == {("centre",)}


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize(
    ("change", "got"),
    [
        ("PRAGMA user_version = 2", "version 2. Move it away and run the configs again"),
        (
            "ALTER TABLE runs DROP COLUMN optimality_percent",
            "an older database without columns for optimality_percent. Move it away and run the configs again",
        ),
        (f"PRAGMA user_version = {SCHEMA_VERSION + 1}", f"version {SCHEMA_VERSION + 1}. Use the pppca that wrote it"),
        ("PRAGMA user_version = 0", "version 0. Move it away and run the configs again"),
    ],
)
def test_a_database_of_another_version_is_refused_and_left_unchanged(planned, path, change, got, read_only):
    planned.rows(change)
    planned.close()
    before = path.read_bytes()
    with pytest.raises(StoreError) as caught:
        Store(path, read_only=read_only)
    expected = f"expected a results database of version {SCHEMA_VERSION}"
    assert str(caught.value) == f"{path}: {expected}, got {got}, or name another folder (--results)."
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]
