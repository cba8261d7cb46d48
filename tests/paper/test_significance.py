"""Table 12: outliers, the test of Cochran and Cox, verdicts and the document."""

import math
from statistics import fmean, variance

import numpy as np
import pytest
from report_runs import cell_of, network_runs
from scipy import stats
from stored_runs import results_by_config, run_of

from pppca_bench.paper.networks import published_tests
from pppca_bench.paper.significance import (
    NO_SHORTCUTS_CONFIG,
    PIVOT_CONFIG,
    QUANTITY,
    cochran_cox,
    compare_errors,
    significance_document,
    without_outliers,
)


def normal_values(n: int, mean: float = 0.0, sd: float = 1.0) -> list[float]:
    """Return values whose ranks are those of a normal distribution."""
    return stats.norm.ppf((np.arange(n) + 0.5) / n, mean, sd).tolist()


def errors_of(*heaps: tuple[int, float, float]) -> list[float]:
    """Return errors whose logarithms are normal values of given numbers, means and deviations."""
    return [math.exp(value) for heap in heaps for value in normal_values(*heap)]


TWO_HEAPS = errors_of((30, 0, 0.01), (30, 9, 0.01))


@pytest.mark.parametrize(("values", "is_normal"), [(normal_values(60), True), ([1.5] * 60, False)])
def test_a_normal_sample_keeps_all_its_values_and_values_that_do_not_vary_are_not_normal(
    values, is_normal
):
    sample = without_outliers(values)
    assert (len(sample.values), sample.n_low, sample.n_high) == (60, 0, 0)
    assert sample.is_normal == is_normal


def test_outliers_are_removed_on_their_side_until_the_rest_is_normal():
    sample = without_outliers([*normal_values(56), 9.0, 12.0, 15.0, -14.0])
    assert (sample.n_low, sample.n_high, sample.is_normal) == (1, 3, True)
    assert sample.values == tuple(normal_values(56))


def test_no_more_than_a_tenth_is_removed_and_then_none():
    outliers = [10.0 * 2**k for k in range(7)]
    six = without_outliers([*normal_values(54), *outliers[:6]])
    assert (six.n_high, six.is_normal) == (6, True)
    seven = without_outliers([*normal_values(53), *outliers])
    assert (seven.n_high, seven.is_normal, len(seven.values)) == (0, False, 60)


def test_equal_sizes_have_the_p_of_n_minus_1_degrees():
    first, second = normal_values(30, 0.0, 1.0), normal_values(30, 0.7, 3.0)
    t, p = cochran_cox(first, second)
    assert t == pytest.approx(
        (fmean(first) - fmean(second)) / math.sqrt((variance(first) + variance(second)) / 30)
    )
    assert p == pytest.approx(2 * stats.t.sf(abs(t), 29), rel=1e-9)


def test_a_case_worked_by_hand():
    # Of 1 and of 2 degrees of freedom the critical values are cot(pi p / 2) and sqrt(2 / (p (2 - p)) - 2): at p = 0.5
    # they are 1 and 0.816497. Both samples have s^2 / n = 1, so that t' must be their mean, 0.908248.
    gap = 0.5 * (1.0 + math.sqrt(2.0 / 3.0)) * math.sqrt(2.0)
    t, p = cochran_cox([gap, gap + 2.0], [1.0 - math.sqrt(3.0), 1.0, 1.0 + math.sqrt(3.0)])
    assert t == pytest.approx(0.908248, abs=1e-6)
    assert p == pytest.approx(0.5, abs=1e-9)


def test_the_weights_are_the_variances_of_the_means():
    # As above at p = 0.2, where the critical values are 3.077684 and 1.885618; s^2 / n is 1 and 9.
    critical = (1.0 / math.tan(0.1 * math.pi) + 9.0 * math.sqrt(2.0 / 0.36 - 2.0)) / 10.0
    step = math.sqrt(27.0)
    t, p = cochran_cox(
        [0.0, 2.0], [1.0 + critical * math.sqrt(10.0) + k * step for k in (-1, 0, 1)]
    )
    assert (t, p) == (pytest.approx(-2.004825, abs=1e-6), pytest.approx(0.2, abs=1e-9))


def test_samples_that_do_not_vary_are_equal_or_surely_different():
    assert cochran_cox([1.0, 1.0], [1.0, 1.0, 1.0]) == (0.0, 1.0)
    assert cochran_cox([1.0, 1.0], [2.0, 2.0, 2.0]) == (-math.inf, 0.0)


@pytest.mark.parametrize("gap", [1e-9, 5.0, 1e6])
def test_one_sample_without_variance_leaves_the_degrees_of_the_other(gap):
    t, p = cochran_cox([0.0] * 5, [value + gap for value in normal_values(20)])
    assert p == pytest.approx(2 * stats.t.sf(abs(t), 19), rel=1e-6)


def test_the_smaller_mean_logarithm_is_better():
    low, high = (errors_of((60, mean, 0.1)) for mean in (1.0, 1.2))
    pairs = ((low, high), (high, low), (low, low))
    found = [compare_errors(*pair).better for pair in pairs]
    assert found == ["pivot", "no_shortcut", "none"]


@pytest.mark.parametrize("errors", [[1.0, 2.0], [0.0, 2.0, 3.0]], ids=["too few", "no logarithm"])
def test_errors_without_a_logarithm_or_too_few_are_not_compared(errors):
    assert compare_errors(errors, [1.0, 2.0, 3.0]) is None


def test_a_sample_that_is_not_normal_makes_a_test_unreliable():
    test = compare_errors(TWO_HEAPS, errors_of((60, 0, 1)))
    assert (test.is_reliable, len(test.pivot.values)) == (False, 60)


def runs_of(config: str, problem: str, errors: list[float]) -> list:
    cell = cell_of(problem, "pivot", shortcuts=config == PIVOT_CONFIG)
    return [run_of(cell, repeat, **{QUANTITY: error}) for repeat, error in enumerate(errors)]


def test_the_table_has_ours_beside_the_published_verdicts_and_counts_outliers():
    errors = errors_of((60, 1.0, 0.1))
    better = [*errors_of((58, 0.5, 0.1)), math.exp(3.0), math.exp(4.0)]
    pivots = runs_of(PIVOT_CONFIG, "cancer1", errors) + runs_of(PIVOT_CONFIG, "gene2", TWO_HEAPS)
    others = runs_of(NO_SHORTCUTS_CONFIG, "cancer1", better) + runs_of(
        NO_SHORTCUTS_CONFIG, "gene2", errors
    )
    sheet = significance_document(
        results_by_config({PIVOT_CONFIG: pivots, NO_SHORTCUTS_CONFIG: others})
    )
    rows = {row[0]: row for row in sheet.rows}
    assert rows["cancer1"][:4] == ("cancer1", "N 0.0", "N 0.0", "yes")
    assert rows["cancer1"][-2:] == ("0 + 0", "0 + 2")
    assert rows["gene2"][1].startswith("(N ")
    assert rows["building1"] == ("building1", "–", "(–)", *["–"] * 5)
    same = sheet.agreement.same
    assert (len(same), same.count(None), same.count(True)) == (42, 40, 2)
    assert sheet.agreement.target == pytest.approx(36 / 42)
    said = "2 of 240 errors (0.8 %); of the pivot networks 0 too low and 0 too high, of the "
    assert said in sheet.notes[1]
    assert sheet.notes[1].endswith(" networks without shortcuts 0 and 2.")


def test_published_verdicts_are_those_that_the_report_counts():
    counts = [test.better for test in published_tests().values()]
    assert [counts.count(name) for name in ("none", "pivot", "no_shortcut")] == [10, 9, 23]


def test_ours_is_empty_where_nothing_was_run():
    sheet = significance_document(results_by_config({}))
    assert not sheet.has_runs
    assert sheet.frame[["better", "p_percent"]].isna().all(axis=None)


def test_a_problem_of_several_settings_is_not_compared():
    runs = {
        config: list(network_runs(config, ["cancer1"]))
        for config in (PIVOT_CONFIG, NO_SHORTCUTS_CONFIG)
    }
    assert significance_document(results_by_config(runs)).agreement.same.count(None) == 41
    runs[PIVOT_CONFIG] += [run_of(cell_of("cancer1", (4,)), **{QUANTITY: 1.0})]
    assert significance_document(results_by_config(runs)).agreement.same.count(None) == 42
