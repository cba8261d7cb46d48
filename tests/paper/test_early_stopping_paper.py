"""Reference of Prechelt 1998: tables of hand-made runs, and the runs of its published numbers."""

from pathlib import Path

import numpy as np
import pytest
from builders import config_of, expanded
from command_line import printed
from stored_runs import cell_of, results_by_config, run_of

from pppca_bench.config.shipped import find_experiment
from pppca_bench.pages.plug_in import module_of
from pppca_bench.pages.snapshot import Snapshot, take_snapshot
from pppca_bench.references.reference import installed_references
from pppca_bench.results.frames import Runs
from pppca_bench.store.database import Store
from pppca_bench.verdicts.shares import ALL
from pppca_bench.yaml_files.source import read_yaml

(REFERENCE,) = (one for one in installed_references() if one.name == "early_stopping")
early_stopping = module_of(REFERENCE)
ALL_NAMES = [name for names in early_stopping.NAMES.values() for name in names]
EPOCHS, ERROR = early_stopping.EPOCHS, early_stopping.ERROR
criteria, stops = early_stopping.criteria, early_stopping.stops
criteria_document = early_stopping.criteria_document
problems_document = early_stopping.problems_document

RUNS = {
    "cancer1": {"GL_1": (10, 2.0), "GL_5": (40, 1.0), "UP_8": (80, 1.0)},
    "glass1": {"GL_1": (20, 3.0), "GL_5": (20, 3.0), "UP_8": (60, 3.3)},
}
"""Epochs and test error of each criterion, a run for each problem."""


def results_of_criteria() -> Runs:
    runs = []
    for problem, of_problem in RUNS.items():
        values = {"slowdown": 4.0, "gain_percent": 50.0}
        for name, (epochs, error) in of_problem.items():
            values |= {f"{EPOCHS}{name}": epochs, f"{ERROR}{name}": error}
        cell = cell_of(problem, "all_features")
        runs += [run_of(cell, **values), run_of(cell, repeat=1)]
    return results_by_config({early_stopping.CONFIG: runs})


def test_each_criterion_is_met_above_its_limit_and_after_enough_increases():
    met = early_stopping.criteria_met
    assert met(2.0, 4.0, 2) == ["GL_1", "UP_2"]
    assert met(2.1, 4.0, 3) == ["GL_1", "GL_2", "PQ_0.5", "UP_2", "UP_3"]
    assert met(0.0, 0.0, 0) == []


def test_criteria_are_read_off_the_curves():
    # losses 0, 0, 0.5, 1.5 and 10 %; up to three successive increases; progress 500 in each strip
    validation = [110.0, 100.0, 100.5, 101.5, 110.0]
    training = [1.0, 2.0, 1.5, 1.5, 1.5] * 5
    test = [9.0, 8.0, 8.0, 8.0, 7.0]
    strips = early_stopping.stopping_strips(training, validation)
    assert (strips["GL_1"], strips["GL_2"], strips["UP_2"], strips["UP_3"]) == (3, 4, 3, 4)
    assert strips["PQ_0.5"] == strips["UP_8"] == 4  # not met: they stop at the end
    numbers = early_stopping.measures_of(training, validation, test)
    assert (numbers["epochs_GL_1"], numbers["epochs_UP_8"]) == (20.0, 25.0)
    assert numbers["test_squared_error_percent_GL_1"] == 8.0
    # GL: 25 / 20, PQ: 1, UP: 25 / 20; errors 7 / 8, 1, 7 / 8
    assert numbers["slowdown"] == pytest.approx((1.25 + 1.0 + 1.25) / 3.0)
    assert numbers["gain_percent"] == pytest.approx(100.0 * (1.0 - (0.875 + 1.0 + 0.875) / 3.0))


def test_the_ratio_of_the_slowest_to_the_fastest_is_a_mean_over_the_classes():
    ratio = early_stopping.slowest_to_fastest
    values = dict.fromkeys(ALL_NAMES, 1.0) | {"GL_5": 2.0, "PQ_3": 3.0, "UP_8": 4.0}
    assert ratio(values) == 3.0
    assert np.isnan(ratio(values | {"GL_1": 0.0}))


@pytest.mark.usefixtures("isolated_folders")
def test_the_measures_of_a_run_are_those_of_its_stored_curves():
    only = "problem=cancer1,classifier.hidden=[2],classifier.output_activation=linear"
    options = ("--only", only, "--repeats", 1, "--workers", 0, "--quiet", "--no-tables")
    printed("run", "early_stopping", *options)
    with Store(Path("pppca-results", "results.sqlite"), read_only=True) as store:
        runs = take_snapshot(store, [REFERENCE]).runs
        (curves,) = store.histories(runs.frame["key"].tolist()).values()
    (numbers,) = (runs.records(cell) for cell in runs.cells)
    least = int(np.argmin(curves["validation_curve"]))
    # the last criterion keeps the network that the run itself keeps
    assert numbers[0]["test_squared_error_percent"] == curves["test_curve"][least]
    last = max(ALL_NAMES, key=lambda name: numbers[0][f"{EPOCHS}{name}"])
    assert numbers[0][f"{ERROR}{last}"] == numbers[0]["test_squared_error_percent"]
    assert numbers[0][f"{EPOCHS}{last}"] == numbers[0]["total_epochs"]


def test_slowness_and_badness_are_relative_to_the_best_criterion_of_each_run():
    document = criteria_document(results_of_criteria())
    assert [tuple(row) for row in document.rows] == [
        ("GL_1", "2", "1.00", "1.500", "50", "yes"),
        ("GL_5", "2", "2.50", "1.000", "100", "yes"),
        ("UP_8", "2", "5.50", "1.050", "50", "no"),
    ]


def test_the_interval_of_the_badness_is_by_students_t():
    own = criteria(stops(results_of_criteria()))
    # The standard deviation of 2 and 1 is √½, so that the standard error of their mean is ½;
    # the quantile of Student's t with one degree of freedom is 12.706.
    assert own.loc["GL_1", "high"] == pytest.approx(1.5 + 12.7062 / 2.0, abs=1e-4)
    assert own.loc["GL_1", "low"] == pytest.approx(1.5 - 12.7062 / 2.0, abs=1e-4)


def test_each_problem_has_its_ratios_and_its_best_criterion_and_misses_its_planned_runs():
    document = problems_document(results_of_criteria())
    expected = [("cancer1", "1", "4.00", "50.00", "GL_5"), ("glass1", "1", "4.00", "50.00", "GL_1")]
    assert [tuple(row) for row in document.rows] == expected
    assert document.n_missing == 2


def test_a_problem_on_which_all_criteria_have_the_same_errors_says_so():
    values = {"slowdown": 4.0, "gain_percent": 0.0}
    for name, epochs in {"GL_1": 10, "GL_5": 40}.items():
        values |= {f"{EPOCHS}{name}": epochs, f"{ERROR}{name}": 2.0}
    runs = [run_of(cell_of("horse1", "all_features"), **values)]
    document = problems_document(results_by_config({early_stopping.CONFIG: runs}))
    assert [row[-1] for row in document.rows] == ["all equal"]


def test_tables_without_runs_have_no_rows():
    results = results_by_config({})
    assert criteria_document(results).rows == problems_document(results).rows == []


def test_a_program_with_two_hidden_nodes_everywhere_is_distinguished():
    document = read_yaml(find_experiment(Path("early_stopping"))).value
    rng, runs = np.random.default_rng(3), []
    for cell in {spec.cell for spec in expanded(config_of(document))}:
        is_small = dict(cell.classifier)["hidden"] == (2,)
        for repeat in range(5):
            slowdown = (12.0 if is_small else 3.0) + rng.normal(0.0, 0.1)
            gain = (9.0 if is_small else 2.0) + rng.normal(0.0, 0.1)
            runs.append(run_of(cell, repeat, slowdown=slowdown, gain_percent=gain))
    snapshot = Snapshot(results_by_config({early_stopping.CONFIG: runs}), {}, [REFERENCE])
    shares = snapshot.shares_of_parts
    shares = shares[shares["quantity"] == ALL].set_index("program")
    assert shares.loc["ours", "ours"] == shares.loc["a correct program", "reproduced"] == 2
    assert shares.loc["two hidden nodes", ["reproduced", "tells"]].tolist() == [0.0, "yes"]


def test_the_published_numbers_have_the_runs_of_the_config_and_all_of_them():
    document = read_yaml(find_experiment(Path("early_stopping"))).value
    cells = {spec.cell for spec in expanded(config_of(document))}
    (layout,) = REFERENCE.layouts
    for column in layout.columns:
        parts = layout.selector(layout.rows[0], column).parts
        matched = [cell for part in parts for cell in cells if part.matches(cell)]
        assert len(matched) == len(parts) == len(cells) == 12 * 12 * 2
        assert set(matched) == cells
