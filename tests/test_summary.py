"""Summaries of repeats, and which runs a table cell takes."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pppca_bench.reporting.summary import QUANTITIES, Results, student_t_975, summarise
from pppca_bench.runs import RunResult, RunSpec, Source

CENTRED = (("parameter.centre", True),)


def spec(repeat: int = 0, **changes) -> RunSpec:
    values = {
        "key": "",
        "problem": "cancer1",
        "method": "dgha",
        "parameters": (("centre", True), ("n_epochs", 10)),
        "tau": 15.0,
        "data_fraction": 100.0,
        "repeat": repeat,
        "seed": 0,
        "classifier": (("hidden", (4, 2)), ("shortcuts", True)),
    } | changes
    return RunSpec(**values | {"key": str(hash(tuple(values.items())))})


def result(error: float, dimensionality: int = 4, **changes) -> RunResult:
    values = {
        "test_error_percent": error,
        "dimensionality": dimensionality,
        "validation_error_percent": 1.0,
        "fit_time_ms": 2.0,
        "total_epochs": 30,
        "relevant_epochs": 20,
    }
    return RunResult("", "done", "a", **values | changes)


FAILED = RunResult("", "failed", "a", error="Traceback")


def test_mean_spread_and_interval_are_those_worked_out_by_hand():
    # 1, 2, 3, 4: mean 2.5, sum of squares 2.25 + 0.25 + 0.25 + 2.25 = 5, sd = sqrt(5 / 3);
    # t(0.975, 3 degrees) = 3.182446 (printed tables), half width = 3.182446 * sd / 2 = 2.054260.
    summary = summarise([1.0, 2.0, 3.0, 4.0])
    assert (summary.mean, summary.n) == (2.5, 4)
    assert summary.sd == pytest.approx(1.2909944, abs=1e-7)
    assert summary.low == pytest.approx(2.5 - 2.054260, abs=1e-5)
    assert summary.high == pytest.approx(2.5 + 2.054260, abs=1e-5)


@pytest.mark.parametrize(("degrees", "quantile"), [(1, 12.706), (2, 4.303), (9, 2.262), (29, 2.045), (59, 2.001)])
def test_students_quantile_is_that_of_printed_tables(degrees, quantile):
    assert student_t_975(degrees) == pytest.approx(quantile, abs=5e-4)


@given(
    values=st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40).filter(
        lambda values: max(values) - min(values) > 1e-3
    )
)
def test_the_interval_is_scipys(values):
    summary = summarise(values)
    low, high = stats.t.interval(0.95, len(values) - 1, loc=summary.mean, scale=stats.sem(values))
    assert summary.low == pytest.approx(low, rel=1e-6, abs=1e-6)
    assert summary.high == pytest.approx(high, rel=1e-6, abs=1e-6)
    assert summary.sd == pytest.approx(stats.tstd(values), rel=1e-6)


@given(values=st.lists(st.floats(0, 100), min_size=1, max_size=30), seed=st.randoms())
def test_a_summary_does_not_depend_on_the_order_of_repeats(values, seed):
    shuffled = values.copy()
    seed.shuffle(shuffled)
    one, two = summarise(values), summarise(shuffled)
    assert one.mean == two.mean
    assert one.sd == two.sd or math.isnan(one.sd)


def test_equal_values_have_no_spread():
    summary = summarise([25.0] * 10)
    assert (summary.mean, summary.sd, summary.low, summary.high) == (25.0, 0.0, 25.0, 25.0)


def test_a_single_value_has_a_mean_alone():
    summary = summarise([2.3])
    assert (summary.mean, summary.n) == (2.3, 1)
    assert all(math.isnan(value) for value in (summary.sd, summary.low, summary.high))


def test_no_values_are_refused():
    with pytest.raises(ValueError, match="summary of a cell: expected at least one value, got none"):
        summarise([])


SOURCE = Source("cancer1", "dgha", 15.0, 100.0, CENTRED)


def test_a_cell_summarises_each_quantity_over_the_repeats_that_are_done():
    cell = Results([(spec(0), result(1.0, 3)), (spec(1), result(2.0, 4)), (spec(2), FAILED), (spec(3), None)]).cell(
        SOURCE
    )
    assert cell.quantities.keys() == QUANTITIES.keys()
    assert (cell.quantities["error_percent"].mean, cell.quantities["error_percent"].n) == (1.5, 2)
    assert cell.quantities["dimensionality"].mean == 3.5
    assert cell.quantities["total_epochs"].mean == 30
    assert (cell.n_planned, cell.n_failed) == (4, 1)
    assert cell.values["error_percent"] == {0: 1.0, 1: 2.0}


def test_a_cell_without_finished_runs_has_no_quantities():
    cell = Results([(spec(0), FAILED), (spec(1), None)]).cell(SOURCE)
    assert (cell.quantities, cell.n_planned, cell.n_failed) == ({}, 2, 1)


def test_a_cell_that_nobody_asked_for_is_empty():
    cell = Results([]).cell(SOURCE)
    assert (cell.quantities, cell.n_planned, cell.n_failed) == ({}, 0, 0)


def test_a_quantity_that_a_method_does_not_measure_is_left_out():
    cell = Results([(spec(0), result(1.0, fit_time_ms=None))]).cell(SOURCE)
    assert cell.quantities.keys() == QUANTITIES.keys() - {"fit_time_ms"}


@pytest.mark.parametrize(
    "other",
    [
        {"problem": "horse1"},
        {"method": "gha"},
        {"tau": 10.0},
        {"data_fraction": 50.0},
        {"parameters": (("centre", False), ("n_epochs", 10))},
        {"parameters": ()},
    ],
    ids=str,
)
def test_a_cell_takes_only_runs_of_its_place_and_settings(other):
    results = Results([(spec(0), result(1.0)), (spec(0, **other), result(9.0))])
    assert results.cell(SOURCE).quantities["error_percent"].mean == 1.0


def test_settings_may_name_the_classifiers_parameters():
    linear = (("hidden", ()), ("shortcuts", True))
    results = Results([(spec(0), result(1.0)), (spec(0, classifier=linear), result(9.0))])
    source = replace(SOURCE, settings=(("classifier.hidden", ()),))
    assert results.cell(source).quantities["error_percent"].mean == 9.0
    assert results.cell(replace(SOURCE, settings=(("classifier.hidden", (4, 2)),))).n_planned == 1
    assert results.cell(replace(SOURCE, settings=(("classifier.no_such", 1),))).n_planned == 0


def test_settings_are_never_mixed_and_those_planned_last_count():
    slow = (("centre", True), ("n_epochs", 99))
    older = [(spec(repeat), result(1.0)) for repeat in range(5)]
    newer = [(spec(repeat, parameters=slow), result(2.0)) for repeat in range(3)]
    cell = Results(older + newer).cell(SOURCE)
    assert (cell.quantities["error_percent"].mean, cell.n_planned) == (2.0, 3)
    assert Results(newer + older).cell(SOURCE).n_planned == 5


def test_a_repeat_that_two_plans_ask_for_with_their_own_seeds_counts_once():
    runs = [(spec(0, seed=1), result(1.0)), (spec(1, seed=1), result(3.0)), (spec(0, seed=2), result(5.0))]
    cell = Results(runs).cell(Source("cancer1", "dgha", 15.0, 100.0))
    assert (cell.n_planned, cell.quantities["error_percent"].n) == (2, 2)
    assert cell.values["error_percent"] == {0: 5.0, 1: 3.0}


def test_every_planned_cell_has_a_source_that_finds_it_again():
    specs = [
        spec(0),
        spec(1),
        spec(0, tau=5.0),
        spec(0, method="all_features", parameters=(), tau=None, data_fraction=None),
    ]
    specs.append(spec(0, parameters=(("centre", False),)))
    results = Results([(one, None) for one in specs])
    sources = results.sources()
    assert len(sources) == len(set(sources)) == 4
    assert sorted(len(results.runs(source)) for source in sources) == [1, 1, 1, 2]
