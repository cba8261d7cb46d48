"""Cells that combine the runs of several settings: formulas, statistics of the repeats, verdicts."""

import itertools
import math
import statistics
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from own_reference import with_table, written
from scipy.stats import norm
from stored_runs import cell_of, results_of, run_of

from pppca_bench.references.reference import read_reference
from pppca_bench.references.selection import CellKeys, Formula, select
from pppca_bench.results.statistics import summarise
from pppca_bench.runs import Selector, StoredRun
from pppca_bench.verdicts.numbers import OURS, cells_of, has_runs, published_numbers

ERROR = "test_error_percent"
IRIS, WINE = Selector("iris", "pca"), Selector("wine", "pca")


@pytest.mark.parametrize(
    ("formula", "values", "expected"),
    [
        (Formula((IRIS, WINE)), (1.0, 4.0), 2.5),
        (Formula((IRIS, WINE, WINE), combine="median"), (1.0, 9.0, 2.0), 2.0),
        (Formula((IRIS, WINE), (WINE, IRIS)), (5.0, 4.0, 1.0, 2.0), 3.0),
        (Formula((IRIS, WINE), (WINE, IRIS), "ratio"), (6.0, 4.0, 2.0, 1.0), 3.5),
        (Formula((IRIS,), (WINE,), "ratio"), (1.0, 0.0), math.nan),
        (Formula((IRIS, WINE), combine="count", threshold=2.0), (2.0, 2.1), 1.0),
        (Formula((IRIS, WINE), (WINE, IRIS), combine="count", threshold=0.0), (1, 3, 2, 2), 1.0),
        (Formula((IRIS,), statistic="share", threshold=2.0), (2.0,), 100.0),
        (Formula((IRIS, WINE), statistic="share", threshold=2.0), (1.0, 4.0), 0.0),
    ],
)
def test_a_formula_pairs_combines_and_counts_the_numbers_of_a_repeat(formula, values, expected):
    found = formula.of_repeat(values, more_is_better=False)
    assert found == pytest.approx(expected, nan_ok=True)


def test_successes_of_a_score_are_at_least_the_threshold():
    formula = Formula((IRIS, WINE), combine="count", threshold=90.0)
    assert formula.of_repeat((90.0, 80.0), more_is_better=True) == 1.0


def test_the_median_has_the_standard_error_of_normal_values():
    values = norm.ppf((np.arange(1000) + 0.5) / 1000).tolist()
    own = summarise(values, "median")
    assert own.mean == statistics.median(values)
    assert own.sd == pytest.approx(math.sqrt(math.pi / 2.0), rel=0.02)
    assert own.high - own.mean == pytest.approx(own.mean - own.low)


def test_a_share_of_all_repeats_has_an_error():
    own = summarise([100.0] * 16, "share")
    assert (own.mean, own.n) == (100.0, 16)
    assert own.sd == pytest.approx(100.0 * math.sqrt(0.9 * 0.1))


@pytest.mark.parametrize("more", [False, True])
def test_the_best_is_that_of_all_subsets(more):
    values, best = [3.0, 1.0, 4.0, 1.5], max if more else min
    own = summarise(values, "best", best_of=2, more_is_better=more)
    assert own.mean == pytest.approx(statistics.fmean(map(best, itertools.combinations(values, 2))))
    draws = [best(pair) for pair in itertools.product(values, repeat=2)]
    assert own.sd == pytest.approx(math.sqrt(2.0) * statistics.pstdev(draws))
    assert summarise(values, "best", best_of=9, more_is_better=more).mean == best(values)


ROW = {"key": "errors", "runs": {"method": "pca"}}
OVER = {"over": {"problem": ["iris", "wine"]}}


def filled(folder: Path, runs: list[StoredRun], printed: float, column: dict) -> pd.DataFrame:
    """Return the numbers of a table of a single cell with a printed number and the keys of its column."""
    document = with_table(rows=[ROW], columns=[{"key": "all", **column}])
    document["verdicts"] = [{"margin": 0.5, "runs": 20}]
    numbers = f"table,row,column,quantity,value,sd\nA1,errors,all,{ERROR},{printed:.2f},"
    reference = read_reference(written(folder, document, numbers))
    return published_numbers([reference], results_of(runs), {})


def test_the_settings_of_a_baseline_add_up_over_the_levels():
    table = CellKeys(runs={"problem": "iris", "method": "dgha"}, ratio_to={"method": "gha"})
    row, column = CellKeys(ratio_to={"tau": 5}), CellKeys(ratio_to={"tau": 10, "rate": 1.0})
    found = select([table, row, column], "the cell")
    assert isinstance(found, Formula)
    settings = (("rate", 1.0), ("tau", 10))
    assert found.baselines == (Selector("iris", "gha", settings),)


def runs_of(problem: str, method: str, mean: float, n: int = 40) -> list[StoredRun]:
    """Return runs with errors of a normal distribution of standard deviation 1, in a random order."""
    errors = norm.ppf((np.arange(n) + 0.5) / n) + mean
    np.random.default_rng([ord(problem[0]), ord(method[0])]).shuffle(errors)
    cell = cell_of(problem, method)
    return [run_of(cell, repeat, test_error_percent=x) for repeat, x in enumerate(errors)]


MEANS = {
    ("iris", "pca"): 10.0,
    ("wine", "pca"): 20.0,
    ("iris", "dgha"): 8.0,
    ("wine", "dgha"): 10.0,
}
RUNS = [run for place, mean in MEANS.items() for run in runs_of(*place, mean)]


@pytest.mark.parametrize(
    ("column", "right", "wrong"),
    [
        (OVER, 15.0, 16.0),
        (OVER | {"difference_from": {"method": "dgha"}}, 6.0, 7.0),
        (OVER | {"ratio_to": {"method": "dgha"}, "combine": "median"}, 1.65, 3.0),
        (OVER | {"combine": "count", "threshold": 15.0}, 1.0, 2.0),
        ({"runs": {"problem": "iris"}, "statistic": "median"}, 10.0, 12.0),
        ({"runs": {"problem": "iris"}, "best_of": 20}, 8.13, 6.0),
        ({"runs": {"problem": "iris"}, "statistic": "share", "threshold": 10.0}, 50.0, 5.0),
    ],
    ids=str,
)
def test_a_right_number_of_a_formula_holds_and_a_wrong_one_differs(tmp_path, column, right, wrong):
    verdicts = [filled(tmp_path, RUNS, n, column)["verdict"].item() for n in (right, wrong)]
    assert verdicts[0] in ("reproduced", "consistent", "cannot tell")
    assert verdicts[1] == "differs"


def test_a_cell_over_problems_has_the_repeats_that_all_of_them_have(tmp_path):
    iris, wine = runs_of("iris", "pca", 10.0, n=3), runs_of("wine", "pca", 20.0, n=2)
    numbers = filled(tmp_path, iris + wine, 15.0, OVER)
    pairs = zip(iris, wine, strict=False)
    means = [0.5 * (one.values[ERROR] + other.values[ERROR]) for (_, one), (_, other) in pairs]
    (number,) = numbers.itertuples()
    assert numbers[OURS].iloc[0].tolist() == list(summarise(means))
    assert (number.n, number.n_planned, cells_of(numbers)["incomplete"].item()) == (2, 2, False)


def test_a_cell_over_problems_is_not_run_until_all_of_them_are(tmp_path):
    numbers = filled(tmp_path, runs_of("iris", "pca", 10.0), 15.0, OVER)
    (number,) = numbers.itertuples()
    assert (number.n, number.fillable, number.verdict) == (0, True, "not run")
    assert not has_runs(numbers)


def test_of_several_settings_a_formula_takes_those_that_it_lists(tmp_path):
    cells = [cell_of("iris", "pca", {"tau": tau}) for tau in (5, 10, 15)]
    runs = [run_of(cell, test_error_percent=n) for n, cell in enumerate(cells)]
    over = {"problem": ["iris"], "tau": [10, 15]}
    (number,) = filled(tmp_path, runs, 15.0, {"over": over}).itertuples()
    assert number.mean == 1.5
    (number,) = filled(tmp_path, runs, 15.0, {"over": {"problem": ["iris"]}}).itertuples()
    assert (number.n, number.fillable, len(number.listed)) == (0, True, 3)
