"""Runs of a table cell: selection, numbers of the repeats, digest of settings."""

from dataclasses import replace
from functools import partial

import pytest
from stored_runs import PIVOT, cell_of, results_by_config, results_of, runs_by_cell

from pppca_bench.config.overrides import parse_filter
from pppca_bench.reporting.summary import NO_RUNS, Results, source_of
from pppca_bench.runs import Cell, Names, RunResult, RunSpec, Selector

SETTINGS = {"centre": True, "n_epochs": 10, "tau": 15.0, "data_fraction": 100.0}
cell = partial(cell_of, parameters=SETTINGS)


def spec(repeat: int = 0, of: Cell | None = None) -> RunSpec:
    own = of or cell()
    return RunSpec(repr((own, repeat)), own, repeat, 0)


def result(error: float, dimensionality: int = 4, **changes: float) -> RunResult:
    values = {
        "test_error_percent": error,
        "dimensionality": dimensionality,
        "validation_error_percent": 1.0,
        "fit_time_ms": 2.0,
        "total_epochs": 30,
        "relevant_epochs": 20,
    }
    return RunResult("", "done", values=values | changes)


FAILED = RunResult("", "failed", error="Traceback")


CENTRED = Selector("cancer1", "dgha", (("centre", True), ("data_fraction", 100), ("tau", 15)))


def mean_error(results: Results, selector: Selector = CENTRED, configs: Names = ()) -> float | None:
    return results.summary(selector, configs).mean("test_error_percent")


def test_a_cell_summarises_each_quantity_over_the_repeats_that_are_done():
    runs = [(spec(0), result(1.0, 3)), (spec(1), result(2.0, 4)), (spec(2), FAILED), (spec(3), None)]
    found = results_of(runs).summary(CENTRED)
    assert found.quantities.keys() == result(1.0).values.keys()
    assert (found.quantities["test_error_percent"].mean, found.quantities["test_error_percent"].n) == (1.5, 2)
    assert found.quantities["dimensionality"].mean == 3.5
    assert found.quantities["total_epochs"].mean == 30
    assert (found.n_planned, found.n_failed) == (4, 1)
    assert found.values("test_error_percent") == {0: 1.0, 1: 2.0}


def test_a_cell_without_completed_runs_has_no_quantities():
    unfinished = results_of([(spec(0), FAILED), (spec(1), None)]).summary(CENTRED)
    assert (unfinished.quantities, unfinished.n_planned, unfinished.n_failed) == ({}, 2, 1)
    nothing = results_of([]).summary(CENTRED)
    assert (nothing.quantities, nothing.n_planned, nothing.n_failed, nothing.settings) == ({}, 0, 0, "")


@pytest.mark.parametrize(
    "other",
    [cell(problem="horse1"), cell(method="gha"), cell(parameters=SETTINGS | {"tau": 10.0}), cell(parameters={})],
    ids=str,
)
def test_a_cell_takes_only_runs_of_its_place_and_settings(other):
    results = results_of([(spec(0), result(1.0)), (spec(0, other), result(9.0))])
    assert mean_error(results) == 1.0


def test_settings_may_name_the_classifiers_parameters():
    results = results_of([(spec(0), result(1.0)), (spec(0, cell(classifier={**PIVOT, "hidden": ()})), result(9.0))])

    def selected(*settings: tuple) -> float | None:
        return mean_error(results, replace(CENTRED, settings=settings))

    assert selected(("classifier.hidden", ())) == 9.0
    assert selected(("classifier.hidden", "pivot")) == 1.0
    assert selected(("classifier.no_such", None)) is None


SLOW = cell(parameters=SETTINGS | {"n_epochs": 99})


OURS = [(spec(repeat), result(1.0)) for repeat in range(3)]
OTHER = [(spec(repeat, SLOW), result(2.0)) for repeat in range(3)]


class TestSelection:
    def test_settings_are_never_mixed_whatever_the_order_of_plans(self):
        for results in (results_by_config({"a": OURS, "b": OTHER}), results_by_config({"b": OTHER, "a": OURS})):
            assert results.summary(CENTRED) is NO_RUNS
            assert set(results.matching(CENTRED)) == {cell(), SLOW}
            errors = [mean_error(results, configs=configs) for configs in (("a",), ("b", "c"), ("c",), ("a", "b"))]
            assert errors == [1.0, 2.0, None, None]

    def test_a_config_has_the_repeats_alone_that_it_asks_for(self):
        results = results_by_config({"a": OURS[:2], "b": OURS})
        assert [results.summary(CENTRED, configs).n_planned for configs in (("a",), ("b",), ())] == [2, 3, 3]
        assert results.cells[cell()].configs == {"a", "b"}

    @pytest.mark.parametrize("other", [cell(data="b"), cell(version=2)], ids=["other data", "another version"])
    def test_runs_on_other_data_and_of_other_versions_are_settings_of_their_own(self, other):
        assert results_by_config({"a": OURS, "b": [(spec(0, other), result(9.0))]}).summary(CENTRED) is NO_RUNS


class TestDigestOfSettings:
    """What a baseline is held against."""

    def digest(self, of: Cell) -> str:
        return runs_by_cell([(spec(0, of), result(1.0))])[of].settings

    def test_digests_differ_by_settings_classifier_and_data(self):
        cells = [cell(), SLOW, cell(classifier={}), cell(data="b"), cell(method="gha")]
        assert len({self.digest(one) for one in cells}) == 5

    def test_digests_ignore_the_problems_name_the_version_and_timing(self):
        assert self.digest(cell(problem="other")) == self.digest(cell(version=2)) == self.digest(cell())
        timed = [cell(method="dgha_speedup", parameters=SETTINGS | {"timed": value}) for value in (True, False)]
        assert len({self.digest(one) for one in timed}) == 1


def test_the_selection_of_a_cell_takes_its_runs_alone():
    cells = [
        *(cell("iris", parameters={"tau": tau, "data_fraction": part}) for tau in (5.0, 7.5) for part in (100.0, 10.0)),
        *(
            cell("iris", parameters={"tau": 5.0, "data_fraction": 100.0}, classifier={"hidden": own})
            for own in ((8,), ())
        ),
        *(cell("iris", "gha", parameters={"centre": value}) for value in (True, False)),
        cell("wine", "gha", parameters={"decay_epochs": None}),
    ]
    runs = [(spec(0, own), result(1.0)) for own in cells]
    results = results_by_config({"a": runs, "b": runs[:1]})
    for own in cells:
        source = source_of(own, results, ["a"])
        taken = parse_filter([source.selection])
        assert [other for other in cells if taken.matches(other)] == [own]
        assert (source.config, source.versions) == ("a", f"{own.method} 1")
    alone = source_of(cells[0], results, ["none", "b"])
    assert (alone.config, alone.only) == ("b", {"problem": "iris", "method": "dgha"})
