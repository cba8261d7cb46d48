"""Runs of a table cell: selection, numbers of the repeats, digest of settings."""

from dataclasses import replace
from functools import partial

import pytest
from stored_runs import PIVOT, cell_of, results_by_config, results_of, run_of, runs_by_cell

from pppca_bench.config.overrides import parse_filter
from pppca_bench.reporting.summary import NO_RUNS, Results
from pppca_bench.runs import Cell, Names, RunResult, Selector, StoredRun

SETTINGS = {"centre": True, "n_epochs": 10, "tau": 15.0, "data_fraction": 100.0}
CENTRED = Selector("cancer1", "dgha", (("centre", True), ("data_fraction", 100), ("tau", 15)))
cell = partial(cell_of, parameters=SETTINGS)
SLOW = cell(parameters=SETTINGS | {"n_epochs": 99})
ERROR = "test_error_percent"


def runs(*errors: float | str | None, of: Cell | None = None) -> list[StoredRun]:
    """Return a repeat for each error; it is planned for None, and failed for a text."""
    found = []
    for repeat, error in enumerate(errors):
        values = {ERROR: error, "dimensionality": 3 + repeat} if isinstance(error, float) else {}
        spec, result = run_of(of or cell(), repeat, **values)
        failed = RunResult(spec.key, "failed", error) if isinstance(error, str) else None
        found.append((spec, failed or result))
    return found


def mean_error(results: Results, selector: Selector = CENTRED, configs: Names = ()) -> float | None:
    return results.repeats(selector, configs).mean(ERROR)


def test_a_cell_summarises_each_quantity_over_the_repeats_that_are_done():
    found = results_of(runs(1.0, 2.0, "Traceback", None)).repeats(CENTRED)
    expected = {ERROR: (1.5, 2), "dimensionality": (3.5, 2)}
    assert {name: (own.mean, own.n) for name, own in found.quantities.items()} == expected
    assert (found.n_planned, found.n_done, found.n_failed) == (4, 2, 1)
    assert found.values(ERROR) == {0: 1.0, 1: 2.0}


@pytest.mark.parametrize(("planned", "counts"), [(("Traceback", None), (2, 1)), ((), (0, 0))])
def test_a_cell_without_completed_runs_has_no_quantities(planned, counts):
    found = results_of(runs(*planned)).repeats(CENTRED)
    assert (found.quantities, found.settings, found.n_planned, found.n_failed) == ({}, "", *counts)


@pytest.mark.parametrize(
    "other",
    [
        {"problem": "horse1"},
        {"method": "gha"},
        {"parameters": SETTINGS | {"tau": 10.0}},
        {"parameters": {}},
    ],
    ids=str,
)
def test_a_cell_takes_only_runs_of_its_place_and_settings(other):
    assert mean_error(results_of(runs(1.0) + runs(9.0, of=cell(**other)))) == 1.0


@pytest.mark.parametrize(
    ("setting", "error"),
    [
        (("classifier.hidden", ()), 9.0),
        (("classifier.hidden", "pivot"), 1.0),
        (("classifier.no_such", None), None),
    ],
)
def test_settings_may_name_the_classifiers_parameters(setting, error):
    results = results_of(runs(1.0) + runs(9.0, of=cell(classifier={**PIVOT, "hidden": ()})))
    assert mean_error(results, replace(CENTRED, settings=(setting,))) == error


class TestSelection:
    OURS, OTHER = runs(1.0, 1.0, 1.0), runs(2.0, 2.0, of=SLOW)

    def test_settings_are_never_mixed_whatever_the_order_of_plans(self):
        plans = {"a": self.OURS, "b": self.OTHER}
        for results in (results_by_config(plans), results_by_config(dict(reversed(plans.items())))):
            assert results.repeats(CENTRED) is NO_RUNS
            assert set(results.matching(CENTRED)) == {cell(), SLOW}
            of_configs = {("a",): 1.0, ("b", "c"): 2.0, ("c",): None, ("a", "b"): None}
            assert {own: mean_error(results, configs=own) for own in of_configs} == of_configs

    def test_a_config_has_the_repeats_alone_that_it_asks_for(self):
        results = results_by_config({"a": self.OURS[:2], "b": self.OURS})
        found = [results.repeats(CENTRED, configs).n_planned for configs in (("a",), ("b",), ())]
        assert found == [2, 3, 3]
        assert results.cells[cell()].configs == {"a", "b"}

    @pytest.mark.parametrize("other", [{"data": "b"}, {"version": 2}], ids=str)
    def test_runs_on_other_data_and_of_other_versions_are_settings_of_their_own(self, other):
        results = results_by_config({"a": self.OURS, "b": runs(9.0, of=cell(**other))})
        assert results.repeats(CENTRED) is NO_RUNS


def digest(of: Cell) -> str:
    return runs_by_cell(runs(1.0, of=of))[of].settings


def test_digests_differ_by_settings_classifier_and_data():
    cells = [cell(), SLOW, cell(classifier={}), cell(data="b"), cell(method="gha")]
    assert len(set(map(digest, cells))) == 5


def test_digests_ignore_the_problems_name_the_version_and_timing():
    assert digest(cell(problem="other")) == digest(cell(version=2)) == digest(cell())
    settings = [SETTINGS | {"timed": value} for value in (True, False)]
    assert len({digest(cell(method="dgha_speedup", parameters=own)) for own in settings}) == 1


def test_the_selection_of_a_cell_takes_its_runs_alone():
    usual = {"tau": 5.0, "data_fraction": 100.0}
    cells = [
        cell("iris", parameters=usual | own) for own in ({}, {"tau": 7.5}, {"data_fraction": 10.0})
    ]
    cells += [cell("iris", parameters=usual, classifier={"hidden": own}) for own in ((8,), ())]
    cells += [cell("iris", "gha", parameters={"centre": value}) for value in (True, False)]
    cells.append(cell("wine", "gha", parameters={"decay_epochs": None}))
    planned = [run for own in cells for run in runs(1.0, of=own)]
    results = results_by_config({"a": planned, "b": planned[:1]})
    for own in cells:
        source = results.source(own, ("a",))
        taken = parse_filter([source.only])
        assert [other for other in cells if taken.matches(other)] == [own]
        assert (source.config, source.versions) == ("a", f"{own.method} 1")
    alone = results.source(cells[0], ("none", "b"))
    assert (alone.config, alone.only) == ("b", "problem=iris,method=dgha")
