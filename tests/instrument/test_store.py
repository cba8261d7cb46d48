"""Results database: planning, recording, replacing, reading, and refused files."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import worker_calls
from builders import done, failed, plan_of, runs_in
from numpy.testing import assert_array_equal

from pppca_bench.errors import ConfigError, StoreError
from pppca_bench.results.frames import read_runs
from pppca_bench.runs import Cell, Label, ProblemFacts, RunResult, RunSpec
from pppca_bench.store.columns import RUN_COLUMNS
from pppca_bench.store.database import Store
from pppca_bench.store.file import SCHEMA_VERSION

CLASSIFIER = {
    "hidden": (4, 2),
    "initial_step_range": (0.005, 0.02),
    "rule": "rprop",
    "shortcuts": True,
}
PARAMETERS = {
    "centre": True,
    "decay_epochs": None,
    "join_by": "node",
    "learning_rate": 0.1 + 0.2,
    "tau": 5.0,
}
CELL = Cell("iris", "a" * 64, "dgha", PARAMETERS, CLASSIFIER, (("dgha", 2), ("rprop", 1)))
SPECS = [
    RunSpec(
        f"key{repeat}",
        CELL,
        repeat,
        2**63 - 1 - repeat,
        Label("DGHA", (("learning_rate", 0.5), ("tau", 15.0))),
    )
    for repeat in range(3)
]
GHA = RunSpec("gha", Cell("own/a.dt", "b" * 64, "gha", {}, {"hidden": ()}), 0, 0)
VALUES = {"dimensionality": 3, "fit_time_ms": 1 / 3, "n_epochs": 252, "test_error_percent": 12.5}
VALUES |= {"of a method; DROP TABLE runs": 1 / 3, "n_tried": 3, "none": -0.0}
DONE = [done(spec, **VALUES) for spec in SPECS]
FAILED = failed(SPECS[2], "Traceback: é\nValueError: no")


@pytest.fixture
def planned(store) -> Store:
    store.plan(plan_of(SPECS))
    return store


def keys(store: Store, *configs: str) -> list[str]:
    return [spec.key for spec, _ in runs_in(store, configs or None)]


def test_runs_are_read_back_as_planned_and_recorded_to_the_last_bit(store):
    store.plan(plan_of([*SPECS, GHA]))
    store.record([DONE[1], FAILED], "{}")
    assert store.done(spec.key for spec in SPECS) == {"key1"}, "only done runs count as done"
    with Store(store.path, read_only=True) as reader:
        runs = runs_in(reader)
    assert runs == [(SPECS[0], None), (GHA, None), (SPECS[1], DONE[1]), (SPECS[2], FAILED)]
    types = {name: type(value) for name, value in runs[2][1].values.items()}
    assert types == {name: type(value) for name, value in VALUES.items()}


def test_nested_settings_and_choices_are_read_back(store):
    choose = {"by": "macro_f1", "retain": None, "among": {"tau": (5.0, 10)}}
    ensemble = {"rule": "bagging", "base": {"rule": "rprop", "hidden": (4, 2)}}
    cell = Cell("iris", "a", "pca", {"tau": "auto"}, ensemble, (), choose, True)
    spec = RunSpec("a", cell, 0, 1)
    choice = {"chosen": {"tau": 10}, "candidates": [{"settings": {"tau": 10}, "values": {"n": 1}}]}
    store.plan(plan_of([spec]))
    store.record([replace(done(spec, n=1.0), choice=choice)], "{}")
    ((found, result),) = runs_in(store)
    assert (found.cell.classifier, found.cell.choose) == (ensemble, choose)
    assert (found.cell, found.cell.predictions, result.choice) == (cell, True, choice)
    store.rows("UPDATE runs SET choice = '{'")
    with pytest.raises(StoreError, match=r"no intact results database \(choice of a run: "):
        store.read()


def test_numbers_of_any_name_are_columns_of_the_same_floats(planned):
    of_today = {"new": 0.1 + 0.2, "small": 5e-324, "large": 1.7976931348623157e308}
    planned.record([DONE[0], done(SPECS[1], **of_today)], "{}")
    frame, *_ = planned.read()
    numbers = frame.drop(columns=list(RUN_COLUMNS))
    expected = pd.DataFrame([VALUES, of_today, {}], dtype="float64")
    pd.testing.assert_frame_equal(numbers, expected, check_exact=True, check_like=True)
    assert np.signbit(numbers["none"][0])


def test_neither_numbers_nor_curves_are_left_of_a_result_that_was_replaced(planned):
    planned.record([replace(DONE[0], history={"curve": np.zeros(2)})], "{}")
    planned.record([RunResult("key0", "done", values={"n_tried": 3})], "{}", replace=True)
    planned.record([RunResult("key0", "done", values={"correlation": 0.5})], "{}", replace=True)
    assert runs_in(planned)[0][1].values == {"correlation": 0.5}
    planned.record([failed(SPECS[0])], "{}", replace=True)
    assert runs_in(planned)[0][1] == failed(SPECS[0])
    assert planned.histories(["key0"]) == {}


def test_learning_curves_come_back_in_single_precision_and_shape(planned):
    curves = {
        "dimensionality": np.array([3, 2, 2]),
        "variances": np.array([[1.0, np.nan], [1 / 3, -1e-8]]),
    }
    planned.record([replace(DONE[0], history=curves), DONE[1]], "{}")
    found = planned.histories(["key0", "key1", "nothing"])
    assert found.keys() == {"key0"}
    for name, curve in curves.items():
        assert_array_equal(found["key0"][name], curve.astype(np.float32))


@pytest.mark.parametrize("replaces", [False, True])
def test_a_done_run_is_replaced_on_request_alone_and_a_failed_run_by_anything(planned, replaces):
    first, second = (
        done(SPECS[0], {"curve": np.full(2, n)}, test_error_percent=float(n)) for n in (0, 1)
    )
    for results, given in (
        ([failed(SPECS[0]), first], {}),
        ([second], {"replace": replaces}),
        ([failed(SPECS[0])], {}),
    ):
        planned.record(results, "{}", **given)
    assert runs_in(planned)[0][1].values["test_error_percent"] == replaces
    assert_array_equal(planned.histories(["key0"])["key0"]["curve"], [replaces, replaces])


def test_each_result_has_its_provenance_and_time(planned):
    planned.record([DONE[0]], '{"pppca": "1"}')
    planned.record([DONE[1], FAILED], '{"pppca": "2"}')
    rows = planned.rows(
        "SELECT description, finished_at FROM runs JOIN provenances ON provenances.id = provenance ORDER BY key"
    )
    assert [json.loads(description)["pppca"] for description, _ in rows] == ["1", "2", "2"]
    assert all(time.endswith("Z") and time[4] == "-" for _, time in rows)
    assert planned.rows("SELECT count(*) FROM provenances") == [(2,)]


def test_a_changed_config_replaces_its_plan_and_keeps_results(planned):
    planned.record(DONE[:2], "{}")
    planned.plan(plan_of([SPECS[1], GHA]))
    assert runs_in(planned) == [(GHA, None), (SPECS[1], DONE[1])]
    assert planned.done(["key0"]) == {"key0"}
    planned.plan(plan_of(SPECS))
    assert [result for _, result in runs_in(planned)] == [*DONE[:2], None]


def test_runs_that_a_plan_omits_stay_in_it_if_they_are_done_or_left_out_by_a_command(planned):
    planned.record([DONE[1]], "{}")
    planned.plan(plan_of(SPECS[:1], all_repeats=tuple(SPECS)))
    assert keys(planned) == ["key0", "key1"]
    planned.plan(plan_of([], all_repeats=tuple(SPECS), left_out=tuple(SPECS)))
    assert keys(planned) == ["key0", "key1"]


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        (plan_of([GHA], sha256="first"), 0),  # the same text, whose data or versions changed
        (plan_of([GHA], sha256="second"), 2),
        (plan_of([GHA], "other"), 0),
    ],
)
def test_a_plan_counts_the_completed_runs_of_another_text_that_it_leaves_out(store, plan, expected):
    assert store.plan(plan_of([*SPECS, GHA], sha256="first")) == 0
    store.record([*DONE[:2], FAILED], "{}")
    assert store.plan(plan) == expected


OTHERS = [replace(spec, key=f"other{spec.repeat}", seed=spec.seed - 100) for spec in SPECS]


def test_two_seeds_for_one_setting_are_refused_and_nothing_is_lost(planned):
    planned.record([DONE[0]], "{}")
    before = runs_in(planned)
    said = r"^dgha on iris, repeat 0: expected one seed .* of the configs a and b"
    with pytest.raises(ConfigError, match=said):
        planned.plan(plan_of([GHA, OTHERS[0]], "b"))
    assert (list(planned.config_texts()), runs_in(planned)) == (["a"], before)


def test_the_same_seed_and_other_seeds_for_other_repeats_and_settings_are_fine(planned):
    planned.plan(plan_of(SPECS, "b"))
    planned.plan(plan_of([replace(OTHERS[0], key="late", repeat=7)], "c"))
    cell = replace(CELL, parameters={"tau": 6.0})
    planned.plan(plan_of([replace(spec, cell=cell) for spec in OTHERS], "d"))
    assert list(planned.config_texts()) == ["a", "b", "c", "d"]


def test_a_config_may_change_its_own_seed_and_then_another_may_have_it(planned):
    planned.plan(plan_of(OTHERS))
    assert [spec for spec, _ in runs_in(planned)] == OTHERS
    planned.plan(plan_of(OTHERS, "b"))
    with pytest.raises(ConfigError, match="of the configs a and b"):
        planned.plan(plan_of(SPECS))


def test_runs_are_in_the_order_of_configs_names_and_plans_whenever_planned(store):
    specs = [replace(spec, place=place) for place, spec in enumerate([GHA, *SPECS[:2]])]
    first, second, last = (spec.key for spec in specs)
    store.plan(plan_of(specs[1:], "b"))
    store.plan(plan_of(specs[2:], "a"))
    assert keys(store) == [last, second]
    store.plan(plan_of(specs, "b"))
    assert keys(store) == [last, first, second]
    assert keys(store, "b") == [first, second, last]
    store.plan(plan_of([replace(spec, place=2 - spec.place) for spec in specs], "b"))
    assert keys(store, "b") == [last, second, first]


@pytest.mark.parametrize(("names", "listed"), [("", "none yet"), ("ab", "a, b")])
def test_runs_of_an_unknown_config_are_refused(store, names, listed):
    for name in names:
        store.plan(plan_of(SPECS, name))
    said = rf"no runs of config 'x' in \S+: expected one of {listed}\. Run it first"
    with pytest.raises(StoreError, match=said):
        runs_in(store, ["x"])


def test_the_sizes_of_a_problem_are_those_of_the_data_that_ran_last(store):
    old = ProblemFacts("own.dt", "a" * 64, "classification", "own.dt", 4, 3, 75, 38, 37)
    new, wine = replace(old, data_sha256="b" * 64, n_train=10), replace(old, name="wine")
    for facts in (old, new, old, replace(old, n_train=80)):
        store.describe_problems([facts, wine])
        assert store.problems() == {"own.dt": facts, "wine": wine}


def test_a_store_opened_for_reading_changes_nothing_and_sees_one_moment(planned):
    before = planned.path.read_bytes()
    with Store(planned.path, read_only=True) as reader:
        for write in (lambda: reader.plan(plan_of(SPECS, "b")), lambda: reader.record(DONE, "{}")):
            with pytest.raises(StoreError, match="readonly database"):
                write()
        assert list(reader.config_texts()) == ["a"]
        planned.rows("PRAGMA busy_timeout = 0")
        with pytest.raises(StoreError, match="locked"):
            planned.plan(plan_of(SPECS, "b"))
    assert planned.path.read_bytes() == before
    assert runs_in(planned) == [(spec, None) for spec in SPECS]


def test_what_is_recorded_outlives_a_power_cut(store):
    found = [store.rows(f"PRAGMA {name}") for name in ("journal_mode", "synchronous", "page_size")]
    assert found == [[("delete",)], [(3,)], [(4096,)]]


def test_an_empty_file_is_refused_by_readers_and_initialised_by_writers(tmp_path):
    path = tmp_path / "empty.sqlite"
    path.touch()
    said = r"expected a results database of version \d, got version 0\. Move it away"
    with pytest.raises(StoreError, match=said):
        Store(path, read_only=True)
    assert path.stat().st_size == 0
    with Store(path) as store:
        assert runs_in(store) == []


NOT_A_DATABASE = r"notes: no intact results database \(file is not a database\)\. Restore it from"


@pytest.mark.parametrize(
    ("name", "read_only", "expected"),
    [
        (
            "none.sqlite",
            True,
            r"^no results in \S+none\.sqlite: run `pppca run CONFIG` first, or name",
        ),
        ("notes", True, NOT_A_DATABASE),
        ("notes", False, NOT_A_DATABASE),
        (
            "notes/r.sqlite",
            False,
            r"notes/r\.sqlite: cannot be used .*Check the disk and the file,",
        ),
    ],
)
def test_a_path_of_another_kind_is_refused_and_left_unchanged(tmp_path, name, read_only, expected):
    notes = "These are my notes, not a database. " * 10
    (tmp_path / "notes").write_text(notes)
    with pytest.raises(StoreError, match=expected):
        Store(tmp_path / name, read_only=read_only)
    assert [path.read_text() for path in tmp_path.iterdir()] == [notes]


def test_a_truncated_store_is_refused(planned):
    planned.close()
    planned.path.write_bytes(planned.path.read_bytes()[:9000])
    refused = pytest.raises(StoreError, match=r"no intact results database \(")
    with refused, Store(planned.path) as store:
        runs_in(store)


DAMAGES = {
    "cell 1": "UPDATE cells SET settings = '{' WHERE id = 1",
    "cell 1 has no label": "DELETE FROM labels WHERE cell = 1",
    "label of cell 1: not enough values": "UPDATE labels SET label = '[1]' WHERE cell = 1",
    "numbers of run key0: Expecting value": "UPDATE runs SET measured = '' WHERE key = 'key0'",
    "numbers of run key0: 'int' object": "UPDATE runs SET measured = '1' WHERE key = 'key0'",
    "numbers of a run: could not convert": "UPDATE runs SET measured = '{\"a\": \"x\"}' WHERE key = 'key0'",
    "Could not decode to UTF-8": "UPDATE runs SET measured = CAST(x'ff' AS TEXT) WHERE key = 'key0'",
    "provenance of a run": "UPDATE provenances SET description = 'x'",
    "learning curves of run key0": "UPDATE histories SET curves = x'0102'",
}


@pytest.mark.parametrize("content", DAMAGES)
def test_damaged_content_is_named_and_other_runs_stay_readable(planned, content):
    planned.plan(plan_of([GHA], "b"))
    planned.record([replace(DONE[0], history={"curve": np.zeros(2)})], "{}")
    planned.rows(DAMAGES[content])
    said = rf"results\.sqlite: no intact results database \({content}.*\)\. Restore it"
    with pytest.raises(StoreError, match=said):
        planned.check_content()
    assert runs_in(planned, ["b"]) == [(GHA, None)]


def test_a_full_disk_loses_no_recorded_result(planned):
    planned.record([DONE[0]], "{}")
    ((pages,),) = planned.rows("PRAGMA page_count")
    planned.rows(f"PRAGMA max_page_count = {pages}")
    large = {"curve": np.random.default_rng(0).normal(size=10_000)}
    said = r"\(database or disk is full\)\. Recorded results are kept: free some space on the disk, then"
    with pytest.raises(StoreError, match=said):
        planned.record([replace(DONE[1], history=large)], "{}")
    assert [result for _, result in runs_in(planned)] == [DONE[0], None, None]
    assert planned.rows("PRAGMA integrity_check") == [("ok",)]


def test_results_are_recorded_all_or_none_and_the_store_stays_usable(planned):
    def interrupted():
        yield DONE[0]
        raise KeyboardInterrupt

    unstorable = replace(DONE[1], status="unknown")
    for results, error in (([DONE[0], unstorable], StoreError), (interrupted(), KeyboardInterrupt)):
        with pytest.raises(error):
            planned.record(results, "{}")
        assert planned.done(["key0", "key1"]) == set()
    planned.record([DONE[0]], "{}")
    assert planned.done(["key0"]) == {"key0"}


def test_processes_that_create_a_store_at_once_lose_and_duplicate_nothing(workers, tmp_path):
    path, two = tmp_path / "shared.sqlite", workers(2)
    for writing in [two.submit(worker_calls.write_runs, path, *names) for names in ("ab", "ba")]:
        writing.result(timeout=60)
    with Store(path, read_only=True) as store:
        runs = runs_in(store)
    assert len(runs) == len({spec.key for spec, _ in runs}) == 90
    assert all(result is not None for _, result in runs)


def test_repeats_share_the_row_of_their_cell_and_other_cells_have_their_own(store):
    changes = (
        {"problem": "wine"},
        {"data_sha256": "b" * 64},
        {"method": "gha"},
        {"parameters": {"tau": 5.0}},
        {"classifier": {**CLASSIFIER, "hidden": (4,)}},
        {"algorithms": (("dgha", 3), ("rprop", 1))},
    )
    cells = [CELL, *(replace(CELL, **change) for change in changes)]
    runs = enumerate(cells * 2)
    store.plan(plan_of([RunSpec(str(n), cell, n // len(cells), 0) for n, cell in runs]))
    assert [spec.cell for spec, _ in runs_in(store)] == cells * 2
    assert store.rows("SELECT count(*) FROM cells") == [(len(cells),)]


def test_settings_are_read_back_as_the_same_values(store):
    values = [0.1 + 0.2, 1e-300, float("inf"), 2**53 + 1, -1, True, None, "é '\"", (), (1, 2.5)]
    cell = Cell("iris", "", "gha", {f"x{n}": value for n, value in enumerate(values)}, {})
    store.plan(plan_of([RunSpec("a", cell, 0, 0)]))
    ((found, _),) = runs_in(store)
    assert found.cell == cell
    assert list(map(type, found.cell.parameters.values())) == list(map(type, values))


def test_a_cell_has_the_label_of_the_last_plan_of_each_config(store):
    labels = [Label("GHA"), Label("GHA", (("hidden", (8, 4)), ("tau", 15.0))), Label("mine")]
    for label, name in zip(labels, "bbc", strict=True):
        store.plan(plan_of([replace(SPECS[0], label=label)], name))
    assert store.read()[2] == {1: {"b": labels[1], "c": labels[2]}}
    runs = read_runs(store)
    assert runs.labels == {1: labels[1]}
    assert runs.of_configs(("c",)).labels == read_runs(store, ["c"]).labels == {1: labels[2]}


NEXT = SCHEMA_VERSION + 1
AGAIN = "Move it away and run the configs again"


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize(
    ("change", "got"),
    [
        (f"PRAGMA user_version = {SCHEMA_VERSION - 1}", f"version {SCHEMA_VERSION - 1}. {AGAIN}"),
        (f"PRAGMA user_version = {NEXT}", f"version {NEXT}. Use the pppca that wrote it"),
    ],
)
def test_a_database_of_another_version_is_refused_unchanged(planned, change, got, read_only):
    planned.rows(change)
    planned.close()
    before = planned.path.read_bytes()
    with pytest.raises(StoreError) as caught:
        Store(planned.path, read_only=read_only)
    said = f"{planned.path}: expected a results database of version {SCHEMA_VERSION}, got {got}"
    assert str(caught.value) == f"{said}, or name another folder (--results)."
    assert planned.path.read_bytes() == before
    assert list(planned.path.parent.iterdir()) == [planned.path]
