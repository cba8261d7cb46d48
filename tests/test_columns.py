"""Columns of a ranking: which runs are one setting, and how settings are told apart."""

from collections.abc import Sequence

import pytest

from pppca_bench.reporting.ranking_columns import columns
from pppca_bench.runs import Parameters, RunResult, RunSpec, StoredRun

NETWORK: Parameters = (("hidden", (50,)), ("rule", "backprop"))
PIVOTS = {"cancer1": (4, 2), "card1": (32,), "diabetes1": (32,), "glass1": (16, 8)}


def run(
    problem: str = "cancer1",
    method: str = "gha",
    parameters: Parameters = (),
    tau: float | None = None,
    classifier: Parameters = NETWORK,
    *,
    repeat: int = 0,
    seed: int = 1,
    error: float | None = 1.0,
) -> StoredRun:
    """Return a run; one without an error failed."""
    key = repr((problem, method, parameters, tau, classifier, repeat, seed))
    spec = RunSpec(key, problem, method, parameters, tau, None, repeat, seed, classifier)
    if error is None:
        return spec, RunResult(key, "failed", "a", error="diverged")
    return spec, RunResult(key, "done", "a", test_error_percent=error, dimensionality=1)


def names(runs: Sequence[StoredRun]) -> list[tuple[str, str]]:
    return [(column.name, column.classifier) for column in columns(runs)]


def rprop(hidden: tuple[int, ...], **others: float | bool) -> Parameters:
    return tuple(sorted({"hidden": hidden, "rule": "rprop", "shortcuts": False, **others}.items()))


def test_settings_of_a_method_are_columns_of_their_own_named_by_what_is_no_default():
    slow, usual = (("centre", True), ("learning_rate", 0.02)), (("centre", True), ("learning_rate", 0.0586))
    found = columns([run("cancer1", "gha", usual, error=2.0), run("cancer1", "gha", slow), run("glass1", "gha", slow)])
    assert [(column.name, column.errors) for column in found] == [
        ("GHA", {"cancer1": 2.0}),
        ("GHA, learning_rate = 0.02", {"cancer1": 1.0, "glass1": 1.0}),
    ]


@pytest.mark.parametrize(
    ("method", "parameters", "tau", "name"),
    [
        ("ne_ppca", (("n_jobs", 1), ("tol", 0.01)), 15.0, "NE-pPCA, τ = 15, tol = 0.01"),
        ("dgha", (("centre", False), ("decay_epochs", None)), 5.0, "DGHA (autocor), τ = 5"),
        ("dgha", (("sort_initial", False),), 5.0, "DGHA, τ = 5, sort_initial = false"),
        ("gha", (("learning_rate", 0.05860001),), None, "GHA, learning_rate = 0.05860001"),
        ("rfe_svm", (("C", (0.01, 0.1, 1.0)),), None, "RFESVM"),
    ],
)
def test_a_column_is_named_by_method_threshold_and_unusual_parameters(method, parameters, tau, name):
    assert names([run("cancer1", method, parameters, tau)]) == [(name, "")]


def test_a_classifier_is_named_by_as_little_as_tells_it_from_others():
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


def test_the_reports_pivot_networks_are_one_column():
    pivots = [run(problem, "all_features", classifier=rprop(hidden)) for problem, hidden in PIVOTS.items()]
    linear = [run(problem, "all_features", classifier=rprop(())) for problem in PIVOTS]
    found = columns(pivots + linear)
    assert [(column.classifier, list(column.errors)) for column in found] == [
        ("hidden = pivot", list(PIVOTS)),
        ("hidden = none", list(PIVOTS)),
    ]


def test_a_width_that_all_problems_have_keeps_those_whose_pivot_it_is():
    pivots = [run(problem, "all_features", classifier=rprop(hidden)) for problem, hidden in PIVOTS.items()]
    wide = [run(problem, "all_features", classifier=rprop((32,))) for problem in ("cancer1", "glass1")]
    found = {column.classifier: list(column.errors) for column in columns(pivots + wide)}
    assert found == {"hidden = pivot": list(PIVOTS), "hidden = 32": ["card1", "diabetes1", "cancer1", "glass1"]}


def test_problems_of_one_pivot_width_have_a_width():
    runs = [run(problem, "all_features", classifier=rprop((32,))) for problem in ("card1", "diabetes1")]
    linear = run("card1", "all_features", classifier=rprop(()))
    assert names([*runs, linear]) == [("all features", "hidden = 32"), ("all features", "hidden = none")]


def test_pivots_of_systems_and_of_the_networks_of_ensembles_are_one_column():
    ensembles = [
        run(problem, classifier=(("base.hidden", hidden), ("rule", "bagging"))) for problem, hidden in PIVOTS.items()
    ]
    evolved = [run(problem, "ga_mlp", (("hidden", hidden),), classifier=()) for problem, hidden in PIVOTS.items()]
    assert [(column.name, list(column.errors)) for column in columns(ensembles + evolved)] == [
        ("GHA", list(PIVOTS)),
        ("GA", list(PIVOTS)),
    ]


def test_a_default_that_an_older_version_did_not_store_is_the_same_setting_and_the_last_planned_counts():
    old, new = run(error=9.0), run(parameters=(("centre", True), ("decay_epochs", None)), error=3.0)
    for runs in ([old, new], [new, old]):
        (column,) = columns(runs)
        assert column.errors == {"cancer1": runs[-1][1].test_error_percent}
        assert column.cells["cancer1"].n_planned == 1


def test_a_repeat_that_was_planned_with_two_seeds_counts_once():
    (column,) = columns([run(error=9.0), run(seed=2, error=3.0), run(seed=2, repeat=1, error=4.0)])
    assert column.errors == {"cancer1": 3.5}
    assert column.cells["cancer1"].n_planned == 2


def test_failed_and_timed_runs_have_no_error():
    (column,) = columns([run(error=None), run("glass1"), run(method="dgha_speedup")])
    assert column.errors == {"glass1": 1.0}
    assert column.cells["cancer1"].n_failed == 1
