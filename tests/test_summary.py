"""Summaries of repeats, and the runs of a table cell."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from stored_runs import PIVOT, cell_of, results_by_config, results_of, runs_by_cell

from pppca_bench.config.overrides import parse_filter
from pppca_bench.reporting import summary as summaries
from pppca_bench.reporting.summary import CellSummary, source_of, summarise
from pppca_bench.runs import Cell, RunResult, RunSpec, Selector, StoredRun

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


def test_mean_spread_and_interval_are_those_worked_out_by_hand():
    # 1, 2, 3, 4: mean 2.5, sum of squares 2.25 + 0.25 + 0.25 + 2.25 = 5, sd = sqrt(5 / 3);
    # t(0.975, 3 degrees) = 3.182446 (printed tables), half width = 3.182446 * sd / 2 = 2.054260.
    summary = summarise([1.0, 2.0, 3.0, 4.0])
    assert (summary.mean, summary.n) == (2.5, 4)
    assert summary.sd == pytest.approx(1.2909944, abs=1e-7)
    assert summary.low == pytest.approx(2.5 - 2.054260, abs=1e-5)
    assert summary.high == pytest.approx(2.5 + 2.054260, abs=1e-5)


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


def test_rounding_errors_are_no_spread():
    assert summarise([100.0, 100.0 + 4e-12, 100.0 - 3e-12]).sd == 0.0
    assert summarise([1e-9, 2e-9, 3e-9]).sd == pytest.approx(1e-9)


def test_a_single_value_has_a_mean_alone():
    summary = summarise([2.3])
    assert (summary.mean, summary.n) == (2.3, 1)
    assert all(math.isnan(value) for value in (summary.sd, summary.low, summary.high))


CENTRED = Selector("cancer1", "dgha", (("centre", True), ("data_fraction", 100), ("tau", 15)))


def summarise_runs(runs: Sequence[StoredRun]) -> CellSummary:
    """Summarise the runs of one cell."""
    (own,) = runs_by_cell(runs).values()
    return summaries.summarise_runs(own)


def mean_error(runs: list[StoredRun]) -> float:
    return summarise_runs(runs).quantities["test_error_percent"].mean


def test_a_cell_summarises_each_quantity_over_the_repeats_that_are_done():
    runs = [(spec(0), result(1.0, 3)), (spec(1), result(2.0, 4)), (spec(2), FAILED), (spec(3), None)]
    found = results_of(runs).summary(CENTRED)
    assert found.quantities.keys() == result(1.0).values.keys()
    assert (found.quantities["test_error_percent"].mean, found.quantities["test_error_percent"].n) == (1.5, 2)
    assert found.quantities["dimensionality"].mean == 3.5
    assert found.quantities["total_epochs"].mean == 30
    assert (found.n_planned, found.n_failed) == (4, 1)
    assert found.values("test_error_percent") == {0: 1.0, 1: 2.0}


VALIDATION, TEST = [2.0, 1.5, 3.0, 2.5, 1.0], [4.0, 5.0, 6.5, 6.0, 3.0]


def correlated(validation: list[float], test: list[float]) -> list[StoredRun]:
    """Return runs with these errors of the two splits."""
    return [
        (spec(k), result(1.0, validation_squared_error_percent=one, test_squared_error_percent=other))
        for k, (one, other) in enumerate(zip(validation, test, strict=True))
    ]


class TestCorrelation:
    """Of the squared errors of validation and test split over the repeats."""

    def test_the_correlation_is_pearsons(self):
        summarised = summarise_runs(correlated(VALIDATION, TEST))
        assert not summarised.values("correlation"), "no repeat has a correlation"
        found = summarised.quantities["correlation"]
        # Means 2 and 4.9; sums of products 0 + -0.05 + 1.6 + 0.55 + 1.9 = 4, of squares 2.5 and 8.2.
        r = 4.0 / math.sqrt(2.5 * 8.2)
        assert found.mean == pytest.approx(r)
        assert found.mean == pytest.approx(np.corrcoef(VALIDATION, TEST)[0, 1])
        assert (found.n, math.isnan(found.sd)) == (5, True)

    @pytest.mark.parametrize("tails", [math.inf, 5.0])
    def test_the_interval_of_a_correlation_is_as_wide_as_correlations_of_other_runs_spread(self, tails):
        rng, n = np.random.default_rng(1), 240

        def drawn() -> tuple[list[float], list[float]]:
            scale = 1.0 if math.isinf(tails) else np.sqrt(rng.chisquare(tails, n) / tails)
            x, noise = rng.standard_normal((2, n)) / scale
            return x, 0.5 * x + noise

        summaries = [summarise_runs(correlated(*drawn())).quantities["correlation"] for _ in range(200)]
        spread = np.std([math.atanh(each.mean) for each in summaries])
        halves = [0.5 * (math.atanh(each.high) - math.atanh(each.low)) for each in summaries]
        assert np.mean(halves) / 1.97 == pytest.approx(spread, rel=0.12)

    @pytest.mark.parametrize("sign", [1, -1])
    def test_collinear_errors_have_correlation_one(self, sign):
        found = summarise_runs(correlated(VALIDATION, [9 + sign * 2 * value for value in VALIDATION]))
        summary = found.quantities["correlation"]
        assert (summary.mean, summary.low, summary.high) == pytest.approx((sign, sign, sign), abs=1e-9)

    @pytest.mark.parametrize(
        "errors", [(VALIDATION[:3], TEST[:3]), ([2.0] * 5, TEST), (VALIDATION, [2.0] * 5)], ids=["few", "one", "other"]
    )
    def test_few_or_constant_errors_have_no_correlation(self, errors):
        assert "correlation" not in summarise_runs(correlated(*errors)).quantities

    def test_repeats_that_failed_or_lack_one_of_the_errors_do_not_count(self):
        runs = correlated(VALIDATION, TEST)
        more = [(spec(7), FAILED), (spec(8), None), (spec(9), result(1.0, validation_squared_error_percent=9.0))]
        quantities = summarise_runs(runs + more).quantities
        assert quantities["correlation"] == summarise_runs(runs).quantities["correlation"]
        assert quantities["validation_squared_error_percent"].n == 6


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
    assert mean_error(results.select(CENTRED)) == 1.0


def test_settings_may_name_the_classifiers_parameters():
    results = results_of([(spec(0), result(1.0)), (spec(0, cell(classifier={**PIVOT, "hidden": ()})), result(9.0))])

    def selected(*settings: tuple) -> list[StoredRun]:
        return results.select(replace(CENTRED, settings=settings))

    assert mean_error(selected(("classifier.hidden", ()))) == 9.0
    assert mean_error(selected(("classifier.hidden", "pivot"))) == 1.0
    assert not selected(("classifier.no_such", None))


SLOW = cell(parameters=SETTINGS | {"n_epochs": 99})


OURS = [(spec(repeat), result(1.0)) for repeat in range(3)]
OTHER = [(spec(repeat, SLOW), result(2.0)) for repeat in range(3)]


class TestSelection:
    def test_settings_are_never_mixed_whatever_the_order_of_plans(self):
        for results in (results_by_config({"a": OURS, "b": OTHER}), results_by_config({"b": OTHER, "a": OURS})):
            assert not results.select(CENTRED)
            assert set(results.matching(CENTRED)) == {cell(), SLOW}

    def test_of_named_configs_only_what_they_ask_for_counts(self):
        for results in (results_by_config({"a": OURS, "b": OTHER}), results_by_config({"b": OTHER, "a": OURS})):
            assert mean_error(results.select(CENTRED, ("a",))) == 1.0
            assert mean_error(results.select(CENTRED, ("b", "c"))) == 2.0
            assert not results.select(CENTRED, ("c",))
            assert not results.select(CENTRED, ("a", "b"))

    def test_a_setting_that_several_configs_ask_for_is_one_cell(self):
        results = results_by_config({"a": OURS[:2], "b": OURS})
        assert len(results.select(CENTRED, ("b",))) == 3
        assert len(results.select(CENTRED, ("a",))) == 2, "a config's tables know nothing of another's repeats"
        assert results.cells[cell()].configs == {"a", "b"}

    def test_a_summary_is_that_of_the_runs_that_the_named_configs_ask_for(self):
        results = results_by_config({"a": OURS[:2], "b": OURS})
        for configs, n in ((("a",), 2), (("b",), 3), ((), 3)):
            summary = results.summary(CENTRED, configs)
            assert summary.quantities == summarise_runs(results.select(CENTRED, configs)).quantities
            assert summary.n_planned == n

    @pytest.mark.parametrize("other", [cell(data="b"), cell(version=2)], ids=["other data", "another version"])
    def test_runs_on_other_data_and_of_other_versions_are_settings_of_their_own(self, other):
        assert not results_by_config({"a": OURS, "b": [(spec(0, other), result(9.0))]}).select(CENTRED)


class TestDigestOfSettings:
    """What a baseline is held against."""

    def digest(self, of: Cell) -> str:
        return summarise_runs([(spec(0, of), result(1.0))]).settings

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
