"""Names of cells: unique within a table, and with the fewest distinguishing parameters."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from stored_runs import PIVOT, cell_of

from pppca_bench.reporting.labels import distinct_labels, method_label, value_text
from pppca_bench.runs import Cell, Scalar


def cell(method: str = "dgha", classifier: Mapping = PIVOT, problem: str = "cancer1", **parameters: Scalar) -> Cell:
    return cell_of(problem, method, parameters, classifier, data="a" * 64)


def names(*cells: Cell, with_tau: bool = True) -> list[str]:
    return list(distinct_labels(cells, with_tau=with_tau).values())


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
    assert names(own) == [label], "alone it needs no more"


def test_close_thresholds_have_different_names():
    cells = [cell(tau=tau) for tau in (5.0000001, 5.0000002, 5.0)]
    assert names(*cells) == ["DGHA, τ = 5.0000001", "DGHA, τ = 5.0000002", "DGHA, τ = 5"]


def test_files_of_one_name_are_distinguished_by_the_digest_of_their_data():
    one, other = cell(problem="x.dt"), replace(cell(problem="x.dt"), data_sha256="b" * 64)
    assert names(one, other) == ["DGHA, data aaaaaaaa", "DGHA, data bbbbbbbb"]


def test_versions_of_an_algorithm_are_distinguished():
    newer = replace(cell(), algorithms=(("dgha", 2), ("rprop", 1)))
    older = replace(cell(), algorithms=(("dgha", 1), ("rprop", 1)))
    assert names(older, newer) == ["DGHA, dgha version = 1", "DGHA, dgha version = 2"]


def test_the_most_frequent_value_is_not_named():
    cells = [cell(decay=5, n_epochs=36), cell(decay=None, n_epochs=36), cell(decay=None, n_epochs=3)]
    assert names(*cells) == ["DGHA, decay = 5", "DGHA", "DGHA, n_epochs = 3"]
    assert names(*cells[1:]) == ["DGHA, n_epochs = 36", "DGHA, n_epochs = 3"]


def test_a_missing_parameter_is_named():
    assert names(cell(), cell(), cell(head_start=0)) == ["DGHA, no head_start", "DGHA, head_start = 0"]


def test_storage_options_are_named_only_where_nothing_else_differs():
    drawn = cell("pca", tau=5.0, portrait=True, predictions=True)
    assert names(drawn, cell("pca", problem="horse1", tau=5.0), cell("pca", problem="wine", tau=5.0))[0] == "PCA, τ = 5"
    assert names(drawn, cell("pca", tau=5.0))[0] == "PCA, τ = 5, portrait = true, predictions = true"


def test_a_setting_is_named_alike_at_every_problem():
    cells = [cell("gha", problem=problem, learning_rate=0.02) for problem in ("cancer1", "glass1", "horse1")]
    other = cell("gha", problem="heart1", learning_rate=0.5)
    assert names(*cells, other) == ["GHA", "GHA", "GHA", "GHA, learning_rate = 0.5"]


def test_changed_settings_are_named_on_request():
    own = cell(tau=15.0, learning_rate=0.5)
    assert distinct_labels([own], changed={own: ("learning_rate", "tau", "classifier.rule")}) == {
        own: "DGHA, learning_rate = 0.5"
    }


def test_classifiers_other_than_the_usual_are_named_by_the_fewest_parameters():
    wide = {"hidden": (16,), "max_epochs": 9, "rule": "rprop", "shortcuts": True}
    online = {"hidden": (50,), "rule": "backprop"}
    cells = [cell(), cell("gha"), cell(classifier=wide), cell(classifier=online)]
    assert names(*cells) == ["DGHA", "GHA", "DGHA, classifier (rprop, hidden = 16)", "DGHA, classifier (backprop)"]


def test_names_may_leave_out_the_threshold():
    assert names(cell(tau=5.0), cell(tau=10.0), with_tau=False) == ["DGHA", "DGHA"]
    assert names(cell(tau=5.0, n_epochs=3), cell(tau=10.0, n_epochs=4), with_tau=False) == [
        "DGHA, n_epochs = 3",
        "DGHA, n_epochs = 4",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (15.0, "15"),
        (0.0586, "0.0586"),
        (1e-6, "1e-06"),
        (0.1 + 0.2, "0.30000000000000004"),
        (7, "7"),
        (True, "true"),
        (None, "null"),
        ((4, 2), "4 + 2"),
        ((), "none"),
        ("pivot", "pivot"),
    ],
)
def test_values_are_written_as_in_configs_but_layers_with_plus_signs(value, text):
    assert value_text(value) == text


SCALARS = st.one_of(st.none(), st.booleans(), st.integers(2, 9), st.floats(10.25, 11.0), st.just(()), st.just((4, 2)))
SETTINGS = st.dictionaries(st.sampled_from(["a", "b", "centre", "tau", "data_fraction"]), SCALARS, max_size=3)
CELLS = st.builds(
    Cell,
    problem=st.sampled_from(["cancer1", "x.dt"]),
    data_sha256=st.sampled_from(["a" * 64, "b" * 64]),
    method=st.sampled_from(["dgha", "all_features", "mine"]),
    parameters=SETTINGS.map(lambda settings: tuple(sorted(settings.items()))),
    classifier=SETTINGS.map(lambda settings: tuple(sorted(settings.items()))),
    algorithms=st.sampled_from([(), (("dgha", 1),), (("dgha", 2),), (("dgha", 2), ("rprop", 1))]),
)


BARE = cell(classifier={})


@example(cells=[BARE, cell(classifier={"a": None})])
@example(cells=[BARE, cell(classifier={}, tau=None)])
@given(cells=st.lists(CELLS, unique=True, max_size=8))
@settings(max_examples=200)
def test_names_never_coincide_within_a_problem(cells):
    labels = distinct_labels(cells, with_tau=True)
    assert list(labels) == cells
    assert len({(own.problem, label) for own, label in labels.items()}) == len(cells)


@given(cells=st.lists(CELLS, unique=True, max_size=8))
@settings(max_examples=200)
def test_without_thresholds_names_coincide_only_at_different_ones(cells):
    labels = distinct_labels(cells)
    places = [(own.problem, label, value_text(dict(own.parameters).get("tau"))) for own, label in labels.items()]
    assert len(set(places)) == len(cells)
