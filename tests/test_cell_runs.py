"""Runs read by columns against records."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from builders import done, failed, plan_of, runs_in
from command_line import printed

from pppca_bench.reporting.summary import CellRuns, split_by_cell
from pppca_bench.runs import Cell, RunSpec
from pppca_bench.store import database
from pppca_bench.store.database import Store

CELL = Cell("iris", "a" * 64, "dgha", (("tau", 5.0),), (("hidden", (2,)),), (("dgha", 1),))
OTHER = replace(CELL, parameters=(("tau", 15.0),))
MEASURING = Cell("iris", "a" * 64, "pppca:Own", (), (), (("pppca:Own", "0123456789ab"),))


def specs(cell: Cell, n: int) -> list[RunSpec]:
    name = f"{cell.method}{dict(cell.parameters).get('tau')}"
    return [
        RunSpec(f"{name}-{repeat}", cell, repeat, 2**63 - 1 - repeat, ("tau",))
        for repeat in range(n)
    ]


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
    store.record([failed(FEW[2]), done(OWN[1], purity=0.5, chosen_tau=5.0)], "{}")
    return store


def runs_by_cell(store: Store, configs: Sequence[str] | None = None) -> dict[Cell, CellRuns]:
    return split_by_cell(*store.read(configs))


@pytest.mark.parametrize("configs", [None, ["first"], ["second"], ["third", "second"]])
def test_runs_by_cell_are_the_planned_runs(shared, configs):
    records, found = runs_in(shared, configs), runs_by_cell(shared, configs)
    assert list(found) == list(dict.fromkeys(spec.cell for spec, _ in records))
    done = {spec.key: result is not None and result.status == "done" for spec, result in records}
    assert MANY[-1].key not in done, "nobody asks for it now"
    for cell, runs in found.items():
        keys = [spec.key for spec, _ in records if spec.cell == cell]
        assert runs.columns["key"].tolist() == keys
        assert runs.of_done("key").tolist() == [key for key in keys if done[key]]


def test_runs_know_their_configs(shared):
    found = runs_by_cell(shared)
    expected = {CELL: {"first", "second"}, OTHER: {"first", "third"}, MEASURING: {"second"}}
    assert {cell: runs.configs for cell, runs in found.items()} == expected
    assert found[CELL].asked_by(["second"]).columns["repeat"].tolist() == [1, 2]
    for config, n_planned in {"third": 5, "first": 44, "second": 0}.items():
        assert found[OTHER].asked_by([config]).n_planned == n_planned


def test_numbers_are_those_of_done_runs_by_repeat(shared):
    found = runs_by_cell(shared)
    assert found[CELL].values("test_error_percent") == {0: 12.5, 1: 12.5}
    assert found[MEASURING].values("purity") == {1: 0.5}
    assert found[MEASURING].values("test_error_percent") == {}
    assert found[OTHER].values("fit_time_ms") == {7: 0.1}
    assert (found[OTHER].n_done, found[CELL].n_done, found[CELL].n_failed) == (44, 2, 1)
    assert (found[OTHER].differing, found[CELL].differing) == (("code",), ())


def test_equal_cells_in_two_rows_are_read_as_one(store):
    """A parameter without a type may be 1 in one config and 1.0 in another: two rows, and one cell."""
    whole, real = (replace(MEASURING, parameters=(("gamma", gamma),)) for gamma in (1, 1.0))
    one = specs(whole, 3)
    other = [replace(spec, key=f"other-{spec.repeat}") for spec in specs(real, 5)[3:]]
    store.plan(plan_of(one, "a"))
    store.plan(plan_of(other, "b"))
    assert store.rows("SELECT count(*) FROM cells") == [(2,)]
    ((cell, runs),) = runs_by_cell(store).items()
    assert cell == whole == real
    assert runs.columns["repeat"].tolist() == [0, 1, 2, 3, 4]
    assert runs.configs == {"a", "b"}


def test_a_missing_provenance_does_not_differ(shared):
    with shared.transaction() as connection:
        connection.execute("DELETE FROM provenances WHERE description = ?", ('{"pppca": "2"}',))
    assert runs_by_cell(shared)[OTHER].differing == ()
    assert {result.origin for spec, result in runs_in(shared) if spec.key == MANY[7].key} == {""}


def test_tables_note_the_cells_whose_repeats_were_computed_with_different_code(shared):
    noted = printed("tables", "first", "--results", shared.path.parent)
    assert "In 1 cells, the repeats were computed with different code." in noted
