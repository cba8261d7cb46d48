"""Settings of methods: their runs and names."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from stored_runs import cell_of, run_of, runs_by_cell

from pppca_bench.methods.protocol import section_of
from pppca_bench.methods.registry import METHODS
from pppca_bench.reporting.labels import Setting, settings_of
from pppca_bench.runs import Parameters, StoredRun

DEFAULT_C = section_of(METHODS["rfe_svm"])["C"].default
NETWORK: Parameters = (("hidden", (50,)), ("rule", "backprop"))


def run(
    problem: str = "cancer1",
    method: str = "gha",
    parameters: Parameters = (),
    classifier: Parameters = NETWORK,
    *,
    data: str = "a",
    version: int = 1,
    error: float | None = 1.0,
) -> StoredRun:
    """Return a run; one without an error failed."""
    cell = cell_of(problem, method, dict(parameters), dict(classifier), data=data, version=version)
    usual = {name: one.default for name, one in section_of(METHODS[method]).items()} if method in METHODS else {}
    changed = [name for name, value in parameters if usual.get(name) != value]
    spec, done = run_of(cell, 0, changed, test_error_percent=error or 0.0, dimensionality=1)
    return spec, replace(done, status="failed", values={}) if error is None else done


def settings(runs: Sequence[StoredRun]) -> list[Setting]:
    return settings_of(runs_by_cell(runs))


def errors(setting: Setting) -> dict[str, float]:
    return {problem: mean for problem, runs in setting.cells.items() if (mean := runs.mean("test_error_percent"))}


def names(runs: Sequence[StoredRun]) -> list[tuple[str, str]]:
    return [(setting.name, setting.classifier) for setting in settings(runs)]


def rprop(hidden: tuple[int, ...] | str, **others: float | bool) -> Parameters:
    return tuple(sorted({"hidden": hidden, "rule": "rprop", "shortcuts": False, **others}.items()))


def test_settings_of_a_method_are_settings_of_their_own_named_by_what_is_no_default():
    slow, usual = (("centre", True), ("learning_rate", 0.02)), (("centre", True), ("learning_rate", None))
    found = settings([run("cancer1", "gha", usual, error=2.0), run("cancer1", "gha", slow), run("glass1", "gha", slow)])
    assert [(setting.name, errors(setting)) for setting in found] == [
        ("GHA", {"cancer1": 2.0}),
        ("GHA, learning_rate = 0.02", {"cancer1": 1.0, "glass1": 1.0}),
    ]


@pytest.mark.parametrize(
    ("method", "parameters", "name"),
    [
        ("ne_ppca", (("n_jobs", 1), ("tau", 15.0), ("tol", 0.01)), "NE-pPCA, τ = 15, tol = 0.01"),
        ("dgha", (("data_fraction", 50.0), ("head_start", 0.0), ("tau", 5.0)), "DGHA, 50%, τ = 5, head_start = 0"),
        ("rfe_svm", (("C", DEFAULT_C),), "RFESVM"),
    ],
)
def test_a_setting_is_named_by_method_threshold_and_unusual_parameters(method, parameters, name):
    assert names([run("cancer1", method, parameters)]) == [(name, "")]


def test_classifiers_are_named_by_the_fewest_distinguishing_parameters():
    wide, linear, linked = rprop((16,), max_epochs=9), rprop(()), rprop((16,), shortcuts=True)
    runs = [run(classifier=network) for network in (NETWORK, wide, linear, linked)]
    assert names(runs) == [
        ("GHA", "backprop"),
        ("GHA", "rprop, hidden = 16, shortcuts = false"),
        ("GHA", "rprop, hidden = none"),
        ("GHA", "rprop, hidden = 16, shortcuts = true"),
    ]
    assert names(runs[:1]) == [("GHA", "")], "the only one needs no name"


def test_a_system_that_classifies_by_itself_has_no_classifier_to_name():
    runs = [run(), run(classifier=rprop((8,))), run(method="rfe_svm", classifier=())]
    assert names(runs) == [("GHA", "backprop"), ("GHA", "rprop"), ("RFESVM", "")]


def test_a_width_that_is_some_problems_pivot_is_a_setting_beside_the_pivots():
    pivots = [run(problem, "all_features", classifier=rprop("pivot")) for problem in ("card1", "glass1")]
    wide = [run(problem, "all_features", classifier=rprop((32,))) for problem in ("cancer1", "card1")]
    found = {setting.classifier: list(errors(setting)) for setting in settings(pivots + wide)}
    assert found == {"hidden = pivot": ["card1", "glass1"], "hidden = 32": ["cancer1", "card1"]}


def test_pivots_of_systems_and_of_the_networks_of_ensembles_are_one_setting():
    ensemble: Parameters = (("base.hidden", "pivot"), ("rule", "bagging"))
    problems = ("cancer1", "card1")
    ensembles = [run(problem, classifier=ensemble) for problem in problems]
    evolved = [run(problem, "ga_mlp", (("hidden", "pivot"),), classifier=()) for problem in problems]
    assert [(setting.name, list(errors(setting))) for setting in settings(ensembles + evolved)] == [
        ("GHA", list(problems)),
        ("GA", list(problems)),
    ]


def test_results_of_two_versions_of_an_algorithm_are_two_settings():
    runs = [run(version=1), run(version=2, error=3.0)]
    found = [(setting.name, errors(setting)) for setting in settings(runs)]
    assert found == [("GHA, gha version = 1", {"cancer1": 1.0}), ("GHA, gha version = 2", {"cancer1": 3.0})]


def test_an_old_and_a_new_default_are_distinguished():
    """Both were defaults when they were planned, so that neither is named for itself."""
    (older, one), (newer, other) = run(parameters=(("head_start", 0.1),)), run(parameters=(("head_start", 0.2),))
    runs = [(replace(older, changed=()), one), (replace(newer, changed=()), other)]
    assert names(runs) == [("GHA, head_start = 0.1", ""), ("GHA, head_start = 0.2", "")]


def test_a_file_of_the_same_name_with_other_data_is_a_problem_of_its_own():
    (setting,) = settings([run("x.dt", error=1.0), run("x.dt", data="b" * 64, error=5.0)])
    assert errors(setting) == {"x.dt, data a": 1.0, "x.dt, data bbbbbbbb": 5.0}


def test_failed_and_timed_runs_have_no_error():
    (setting,) = settings([run(error=None), run("glass1"), run(method="dgha_speedup")])
    assert errors(setting) == {"glass1": 1.0}
    assert setting.cells["cancer1"].n_failed == 1
