"""Names of cells and of settings: unique among those listed together, and with the fewest distinguishing parameters."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from stored_runs import NOTHING, PIVOT, cell_of, run_of, runs_by_cell

from pppca_bench.methods.protocol import section_of
from pppca_bench.methods.registry import METHODS
from pppca_bench.reporting.labels import (
    Setting,
    distinct_labels,
    method_label,
    settings_of,
    value_text,
)
from pppca_bench.runs import Cell, Parameters, Scalar, StoredRun


def cell(
    method: str = "dgha",
    classifier: Mapping = PIVOT,
    problem: str = "cancer1",
    **parameters: Scalar,
) -> Cell:
    return cell_of(problem, method, parameters, classifier, data="a" * 64)


def of_version(number: int) -> Cell:
    return replace(cell(), algorithms=(("dgha", number), ("rprop", 1)))


@pytest.mark.parametrize(
    ("own", "label"),
    [
        (cell(tau=15.0, data_fraction=100.0, centre=False), "DGHA (autocor), 100%, τ = 15"),
        (cell("all_features"), "all features"),
        (cell("mypackage:Spectral", tau=2.5), "Spectral, τ = 2.5"),
        (cell("no_longer_installed", tau=2.5), "no_longer_installed, τ = 2.5"),
    ],
)
def test_a_method_is_named_with_its_thresholds(own, label):
    assert method_label(own, with_tau=True) == label
    assert distinct_labels([own], with_tau=True) == {own: label}, "alone it needs no more"


WIDE = {"hidden": (16,), "max_epochs": 9, "rule": "rprop", "shortcuts": True}
ONLINE = {"hidden": (50,), "rule": "backprop"}
DECAYING = [cell(decay=5, n_epochs=36), cell(decay=None, n_epochs=36), cell(decay=None, n_epochs=3)]
SLOW, FAST = {"learning_rate": 0.02}, {"learning_rate": 0.5}
STORING = cell("pca", tau=5.0, portrait=True, predictions=True)
LABELS = {
    "close thresholds": (
        [cell(tau=tau) for tau in (5.0000001, 5.0000002, 5.0)],
        ["DGHA, τ = 5.0000001", "DGHA, τ = 5.0000002", "DGHA, τ = 5"],
    ),
    "data of one name": (
        [cell(problem="x.dt"), replace(cell(problem="x.dt"), data_sha256="b" * 64)],
        ["DGHA, data aaaaaaaa", "DGHA, data bbbbbbbb"],
    ),
    "versions": (
        [of_version(1), of_version(2)],
        ["DGHA, dgha version = 1", "DGHA, dgha version = 2"],
    ),
    "all but the most frequent value": (
        DECAYING,
        ["DGHA, decay = 5", "DGHA", "DGHA, n_epochs = 3"],
    ),
    "equally frequent values": (DECAYING[1:], ["DGHA, n_epochs = 36", "DGHA, n_epochs = 3"]),
    "a missing parameter": ([cell(), cell(head_start=0)], ["DGHA", "DGHA, head_start = 0"]),
    "no storage option": (
        [STORING, *(cell("pca", problem=problem, tau=5.0) for problem in ("horse1", "wine"))],
        ["PCA, τ = 5"] * 3,
    ),
    "storage options where nothing else differs": (
        [STORING, cell("pca", tau=5.0)],
        ["PCA, τ = 5, portrait = true, predictions = true", "PCA, τ = 5"],
    ),
    "a setting alike at every problem": (
        [
            cell(problem=f"{name}1", **own)
            for name, own in (("card", SLOW), ("gene", SLOW), ("horse", FAST))
        ],
        ["DGHA", "DGHA", "DGHA, learning_rate = 0.5"],
    ),
    "no input scaling that the network's name implies": (
        [cell(), cell(problem="wine", classifier={**PIVOT, "input_scaling": "pivot"})],
        ["DGHA", "DGHA"],
    ),
    "classifiers by the fewest parameters": (
        [cell(), cell("gha"), cell(classifier=WIDE), cell(classifier=ONLINE)],
        ["DGHA", "GHA", "DGHA, classifier (rprop, hidden = 16)", "DGHA, classifier (backprop)"],
    ),
}


@pytest.mark.parametrize(("cells", "expected"), LABELS.values(), ids=LABELS)
def test_a_label_has_what_distinguishes_the_cell(cells, expected):
    assert list(distinct_labels(cells, with_tau=True).values()) == expected


def test_changed_settings_are_named_on_request_and_thresholds_left_out():
    own = cell(tau=15.0, learning_rate=0.5)
    changed = {own: ("learning_rate", "tau", "classifier.rule")}
    assert distinct_labels([own], changed=changed) == {own: "DGHA, learning_rate = 0.5"}
    assert set(distinct_labels([cell(tau=5.0), cell(tau=10.0)]).values()) == {"DGHA"}


def test_values_are_written_as_in_configs_but_layers_with_plus_signs():
    values = [15.0, 0.0586, 1e-6, 0.1 + 0.2, 7, True, None, (4, 2), (), "pivot"]
    numbers = ["15", "0.0586", "1e-06", "0.30000000000000004", "7"]
    expected = [*numbers, "true", "null", "4 + 2", "none", "pivot"]
    assert list(map(value_text, values)) == expected


SCALARS = st.none() | st.booleans() | st.integers(2, 9) | st.floats(10.25, 11.0)
SCALARS |= st.sampled_from([(), (4, 2)])
SETTINGS = st.dictionaries(
    st.sampled_from(["a", "b", "centre", "tau", "data_fraction"]), SCALARS, max_size=3
).map(lambda settings: tuple(sorted(settings.items())))
CELLS = st.builds(
    Cell,
    problem=st.sampled_from(["cancer1", "x.dt"]),
    data_sha256=st.sampled_from(["a" * 64, "b" * 64]),
    method=st.sampled_from(["dgha", "all_features", "mine"]),
    parameters=SETTINGS,
    classifier=SETTINGS,
    algorithms=st.sampled_from([(), (("dgha", 1),), (("dgha", 2),), (("dgha", 2), ("rprop", 1))]),
)
BARE = cell(classifier={})


@example(cells=[BARE, cell(classifier={"a": None})])
@example(cells=[BARE, cell(classifier={}, tau=None)])
@given(cells=st.lists(CELLS, unique=True, max_size=8))
def test_names_never_coincide_within_a_problem_and_threshold(cells):
    labels = distinct_labels(cells, with_tau=True)
    assert list(labels) == cells
    assert len({(own.problem, label) for own, label in labels.items()}) == len(cells)
    without = {
        (own.problem, label, value_text(dict(own.parameters).get("tau")))
        for own, label in distinct_labels(cells).items()
    }
    assert len(without) == len(cells)


NETWORK: Parameters = (("hidden", (50,)), ("rule", "backprop"))


def run(
    problem: str = "cancer1",
    method: str = "gha",
    parameters: Mapping[str, Scalar] = NOTHING,
    classifier: Parameters = NETWORK,
    *,
    error: float | None = 1.0,
    **other: int | str,
) -> StoredRun:
    """Return a run; one without an error failed."""
    own = cell_of(problem, method, parameters, dict(classifier), **other)
    usual = section_of(METHODS[method])
    changed = [name for name, value in parameters.items() if usual[name].default != value]
    spec, done = run_of(own, 0, changed, test_error_percent=error or 0.0, dimensionality=1)
    return spec, replace(done, status="failed", values={}) if error is None else done


def settings_by_name(runs: Sequence[StoredRun]) -> list[Setting]:
    return settings_of(runs_by_cell(runs))


def errors(setting: Setting) -> dict[str, float]:
    means = {problem: runs.mean("test_error_percent") for problem, runs in setting.cells.items()}
    return {problem: mean for problem, mean in means.items() if mean}


def names(runs: Sequence[StoredRun]) -> list[tuple[str, str]]:
    return [(setting.name, setting.classifier) for setting in settings_by_name(runs)]


def rprop(hidden: tuple[int, ...] | str, **others: float | bool) -> Parameters:
    return tuple(sorted({"hidden": hidden, "rule": "rprop", "shortcuts": False, **others}.items()))


def test_settings_of_a_method_are_settings_of_their_own_named_by_what_is_no_default():
    slow, usual = {"centre": True, "learning_rate": 0.02}, {"centre": True, "learning_rate": None}
    runs = [run("cancer1", "gha", usual, error=2.0)]
    runs += [run(problem, "gha", slow) for problem in ("cancer1", "glass1")]
    assert {setting.name: errors(setting) for setting in settings_by_name(runs)} == {
        "GHA": {"cancer1": 2.0},
        "GHA, learning_rate = 0.02": {"cancer1": 1.0, "glass1": 1.0},
    }


UNUSUAL = {"data_fraction": 50.0, "head_start": 0.0, "tau": 5.0}


@pytest.mark.parametrize(
    ("method", "parameters", "name"),
    [
        ("ne_ppca", {"n_jobs": 1, "tau": 15.0, "tol": 0.01}, "NE-pPCA, τ = 15, tol = 0.01"),
        ("dgha", UNUSUAL, "DGHA, 50%, τ = 5, head_start = 0"),
        ("rfe_svm", {"C": section_of(METHODS["rfe_svm"])["C"].default}, "RFESVM"),
    ],
)
def test_a_setting_is_named_by_method_threshold_and_unusual_parameters(method, parameters, name):
    assert names([run("cancer1", method, parameters)]) == [(name, "")]


def test_classifiers_of_settings_are_named_if_there_are_several():
    networks = (NETWORK, rprop((16,), max_epochs=9), rprop(()), rprop((16,), shortcuts=True))
    runs = [run(classifier=network) for network in networks]
    runs += [run(method="rfe_svm", classifier=())]
    assert names(runs) == [
        ("GHA", "backprop"),
        ("GHA", "rprop, hidden = 16, shortcuts = false"),
        ("GHA", "rprop, hidden = none"),
        ("GHA", "rprop, hidden = 16, shortcuts = true"),
        ("RFESVM", ""),
    ]
    scaled = [run(classifier=rprop((8,), **own)) for own in ({}, {"input_scaling": True})]
    expected = ["input_scaling not set", "input_scaling = true"]
    assert [classifier for _, classifier in names(scaled)] == expected
    assert names(runs[:1]) == [("GHA", "")], "the only one needs no name"


def test_a_width_that_is_some_problems_pivot_is_a_setting_beside_the_pivots():
    networks = {"card1": "pivot", "glass1": "pivot", "cancer1": (32,), "heart1": (32,)}
    runs = [run(problem, classifier=rprop(hidden)) for problem, hidden in networks.items()]
    found = {setting.classifier: list(errors(setting)) for setting in settings_by_name(runs)}
    expected = {"hidden = pivot": ["card1", "glass1"], "hidden = 32": ["cancer1", "heart1"]}
    assert found == expected


def test_pivots_of_networks_of_systems_and_of_ensembles_are_one_setting_on_all_problems():
    """Only cells of other problems than Proben1's store the scaling of the pivot network."""
    scaled = {"cancer1": {}, "card1": {}, "iris": {"input_scaling": "pivot"}}
    of_networks = [run(name, classifier=rprop("pivot", **own)) for name, own in scaled.items()]
    ensemble: Parameters = (("base.hidden", "pivot"), ("rule", "bagging"))
    of_ensembles = [run(problem, classifier=ensemble) for problem in scaled]
    of_systems = [run(name, "ga_mlp", {"hidden": "pivot"}, classifier=()) for name in scaled]
    for runs in (of_networks, of_ensembles, of_systems):
        assert [list(errors(setting)) for setting in settings_by_name(runs)] == [list(scaled)]


def test_versions_and_old_and_new_defaults_are_settings_of_their_own():
    """Both values were defaults when they were planned, so that neither is named for itself."""
    of_versions = [run(version=1), run(version=2)]
    assert names(of_versions) == [("GHA, gha version = 1", ""), ("GHA, gha version = 2", "")]
    of_defaults = [
        run_of(cell("gha", head_start=start), test_error_percent=1.0) for start in (0.1, 0.2)
    ]
    assert names(of_defaults) == [("GHA, head_start = 0.1", ""), ("GHA, head_start = 0.2", "")]


def test_a_file_of_the_same_name_with_other_data_is_a_problem_of_its_own():
    (setting,) = settings_by_name([run("x.dt", error=1.0), run("x.dt", data="b" * 64, error=5.0)])
    assert errors(setting) == {"x.dt, data a": 1.0, "x.dt, data bbbbbbbb": 5.0}


def test_failed_and_timed_runs_have_no_error():
    (setting,) = settings_by_name([run(error=None), run("glass1"), run(method="dgha_speedup")])
    assert errors(setting) == {"glass1": 1.0}
    assert setting.cells["cancer1"].n_failed == 1
