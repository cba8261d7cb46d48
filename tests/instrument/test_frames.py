"""Runs read as a frame against records."""

from dataclasses import replace

import pytest
from builders import done, failed, plan_of, runs_in
from command_line import printed
from stored_runs import cell_of, number_of, results_by_config, run_of

from pppca_bench.results.frames import read_runs
from pppca_bench.results.timings import estimated_s, time_in_words
from pppca_bench.runs import Cell, RunSpec
from pppca_bench.store import database
from pppca_bench.store.database import Store

CELL = Cell("iris", "a" * 64, "dgha", {"tau": 5.0}, {"hidden": (2,)}, (("dgha", 1),))
OTHER = replace(CELL, parameters={"tau": 15.0})
MEASURING = Cell("iris", "a" * 64, "pppca:Own", {}, {}, (("pppca:Own", "0123456789ab"),))


def specs(cell: Cell, n: int) -> list[RunSpec]:
    name = f"{cell.method}{cell.parameters.get('tau')}"
    return [RunSpec(f"{name}-{repeat}", cell, repeat, 2**63 - 1 - repeat) for repeat in range(n)]


FEW, MANY, OWN = specs(CELL, 3), specs(OTHER, 45), specs(MEASURING, 2)


@pytest.fixture
def shared(store, monkeypatch) -> Store:
    """Return a store of three configs that share runs; some are done, some failed, one is asked for by none."""
    monkeypatch.setattr(database, "CHUNK", 20)
    store.plan(plan_of([*FEW, *MANY], "first"))
    store.plan(plan_of([*OWN, *FEW[1:]], "second"))
    store.plan(plan_of(MANY[:5], "third"))
    store.plan(plan_of([*FEW, *MANY[:-1]], "first"))
    for specs, origin in (([FEW[0], *MANY], "{}"), ([FEW[1]], '{"a": "2"}')):
        results = [done(spec, test_error_percent=12.5, dimensionality=3) for spec in specs]
        store.record(results, f'{{"pppca": "1", "configs": {origin}}}')
    store.record([done(MANY[7], fit_time_ms=0.1)], '{"pppca": "2"}', replace=True)
    store.record([failed(FEW[2]), done(OWN[1], purity=0.5, waste=5.0)], "{}")
    return store


@pytest.mark.parametrize("configs", [None, ["first"], ["second"], ["third", "second"]])
def test_runs_by_cell_are_the_planned_runs(shared, configs):
    records, found = runs_in(shared, configs), read_runs(shared, configs)
    assert list(found.cells.values()) == list(dict.fromkeys(spec.cell for spec, _ in records))
    done = {spec.key: result is not None and result.status == "done" for spec, result in records}
    assert MANY[-1].key not in done, "nobody asks for it now"
    for number, cell in found.cells.items():
        keys = [spec.key for spec, _ in records if spec.cell == cell]
        assert found.rows(number)["key"].tolist() == keys
        assert found.done(number)["key"].tolist() == [key for key in keys if done[key]]


def test_runs_know_their_configs(shared):
    found = read_runs(shared)
    expected = {CELL: {"first", "second"}, OTHER: {"first", "third"}, MEASURING: {"second"}}
    assert {cell: found.configs(number) for number, cell in found.cells.items()} == expected
    assert found.all_configs == ["first", "second", "third"]
    of_second = found.of_configs(("second",))
    assert of_second.rows(number_of(found, CELL))["repeat"].tolist() == [1, 2]
    other = number_of(found, OTHER)
    for config, n_planned in {"third": 5, "first": 44}.items():
        assert found.of_configs((config,)).counts[other]["n_planned"] == n_planned
    assert OTHER not in of_second.cells.values()


def test_numbers_are_those_of_done_runs_by_repeat(shared):
    found = read_runs(shared)
    few, many, own = (number_of(found, cell) for cell in (CELL, OTHER, MEASURING))
    assert found.values(few, "test_error_percent") == {0: 12.5, 1: 12.5}
    assert found.values(own, "purity") == {1: 0.5}
    assert found.values(own, "test_error_percent") == {}
    assert found.values(many, "fit_time_ms") == {7: 0.1}
    assert found.counts[many] == {"n_planned": 44, "n_done": 44, "n_failed": 0}
    assert found.counts[few] == {"n_planned": 3, "n_done": 2, "n_failed": 1}
    assert (found.differing(many), found.differing(few)) == (["code"], [])


def test_the_records_of_a_cell_have_the_quantities_that_each_done_run_has(shared):
    found = read_runs(shared)
    assert found.records(number_of(found, MEASURING)) == [{"purity": 0.5, "waste": 5.0}]
    records = found.records(number_of(found, OTHER))
    usual = {"test_error_percent": 12.5, "dimensionality": 3.0}
    assert records == [*[usual] * 7, {"fit_time_ms": 0.1}, *[usual] * 36]


def test_equal_cells_in_two_rows_are_read_as_one(store):
    """A parameter without a type may be 1 in one config and 1.0 in another: two rows, and one cell."""
    whole, real = (replace(MEASURING, parameters={"gamma": gamma}) for gamma in (1, 1.0))
    one = specs(whole, 3)
    other = [replace(spec, key=f"other-{spec.repeat}") for spec in specs(real, 5)[3:]]
    store.plan(plan_of(one, "a"))
    store.plan(plan_of(other, "b"))
    assert store.rows("SELECT count(*) FROM cells") == [(2,)]
    found = read_runs(store)
    ((number, cell),) = found.cells.items()
    assert cell == whole == real
    assert found.rows(number)["repeat"].tolist() == [0, 1, 2, 3, 4]
    assert found.configs(number) == {"a", "b"}


def test_a_missing_provenance_does_not_differ(shared):
    with shared.transaction() as connection:
        connection.execute("DELETE FROM provenances WHERE description = ?", ('{"pppca": "2"}',))
    found = read_runs(shared)
    assert found.differing(number_of(found, OTHER)) == []
    assert {result.origin for spec, result in runs_in(shared) if spec.key == MANY[7].key} == {""}


def test_tables_note_the_cells_whose_repeats_were_computed_with_different_code(shared):
    noted = printed("tables", "first", "--results", shared.path.parent)
    assert "In 1 cells, the repeats were computed with different code." in noted


def test_the_time_of_a_config_is_that_of_all_its_runs_or_unknown():
    cell = cell_of("wine", "pca", {"tau": 5.0}, {})
    done = [run_of(cell, n, fit_time_ms=1500.0, classifier_time_ms=500.0) for n in (0, 1)]
    runs = results_by_config({"a": done, "b": [run_of(cell_of("iris", "pca", {}, {}))]})
    assert estimated_s(runs, "a", 2) == 4.0
    assert estimated_s(runs, "a", 3) is None, "of a part of its runs"
    assert estimated_s(runs, "b", 1) is None, "without times"
    assert estimated_s(runs, "other", 1) is None
    times = {0.2: "< 1 s", 59.6: "60 s", 120.0: "2 min", 7200.0: "2 h"}
    assert {seconds: time_in_words(seconds) for seconds in times} == times
