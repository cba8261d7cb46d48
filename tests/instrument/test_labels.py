"""Labels of cells that are listed together, and the settings whose runs are compared over problems."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stored_runs import PIVOT, cell_of, results_of, run_of

from pppca_bench.results.labels import distinct, names_of, settings_of
from pppca_bench.runs import Cell, Label, Scalar, StoredRun

DGHA = Label("DGHA", (("tau", 15.0),))
SLIDES = {"hidden": (50,), "rule": "slides_mlp"}


def cell(
    problem: str = "cancer1",
    method: str = "dgha",
    classifier: Mapping[str, Scalar] = PIVOT,
    **parameters: Scalar,
) -> Cell:
    return cell_of(problem, method, parameters, classifier, data="a" * 64)


def test_a_label_is_a_title_and_settings_in_their_order():
    settings = {"decay": None, "data_fraction": 50.0, "opposite": (1, 4), "tau": 2.5}
    label = Label("DGHA", tuple(settings.items()))
    assert label.text == "DGHA, decay = null, 50%, opposite = [1, 4], τ = 2.5"
    assert Label("PCA", (("data_fraction", "auto"),)).text == "PCA, data_fraction = auto"


NAMESAKES = {
    "problems": ([cell(), cell("card1")], ["", ""]),
    "settings, those of the classifier last": (
        [cell(b=1, a=2), cell(b=2, a=2), cell(b=2, a=2, classifier={**PIVOT, "hidden": (8, 4)})],
        [
            ", b = 1, classifier.hidden = pivot",
            ", b = 2, classifier.hidden = pivot",
            ", b = 2, classifier.hidden = [8, 4]",
        ],
    ),
    "classifiers before their settings": (
        [cell(a=1, classifier=SLIDES), cell(a=1), cell(a=2)],
        [
            ", classifier.rule = slides_mlp",
            ", classifier.rule = rprop, a = 1",
            ", classifier.rule = rprop, a = 2",
        ],
    ),
    "a setting that one of them lacks": ([cell(), cell(kind="linear")], ["", ", kind = linear"]),
    "methods": (
        [cell(method="one:A"), cell(method="two:A", a=1)],
        [", method = one:A", ", method = two:A"],
    ),
    "data": (
        [cell(), replace(cell(), data_sha256="b" * 64)],
        [", data = aaaaaaaa", ", data = bbbbbbbb"],
    ),
    "versions": (
        [replace(cell(), algorithms=(("dgha", n),)) for n in (1, 2)],
        [", dgha version = 1", ", dgha version = 2"],
    ),
}


@pytest.mark.parametrize(("cells", "expected"), NAMESAKES.values(), ids=NAMESAKES)
def test_namesakes_get_what_distinguishes_them(cells, expected):
    found = distinct(dict.fromkeys(cells, DGHA))
    assert list(found.values()) == [f"DGHA, τ = 15{text}" for text in expected]


def test_labels_leave_out_the_columns_of_a_table():
    cells = [cell(tau=5.0), cell(tau=15.0), cell(tau=15.0, a=1)]
    found = distinct(
        {own: Label("DGHA", (("tau", own.parameters["tau"]),)) for own in cells}, ("tau",)
    )
    assert list(found.values()) == ["DGHA", "DGHA", "DGHA, a = 1"]


def test_cells_that_differ_in_columns_alone_have_one_label_whatever_their_configs_give():
    cells = [cell(data_fraction=100.0, tau=tau) for tau in (5.0, 15.0)]
    given, default = [
        Label("DGHA", tuple(own.parameters.items())[n:]) for n, own in enumerate(cells)
    ]
    labels = dict(zip(cells, (given, default), strict=True))
    assert list(distinct(labels).values()) == ["DGHA, 100%, τ = 5", "DGHA, τ = 15"]
    assert list(distinct(labels, ("tau",)).values()) == ["DGHA, 100%", "DGHA, 100%"]


SETTINGS = st.dictionaries(
    st.sampled_from(["a", "b", "rule", "tau"]),
    st.none() | st.booleans() | st.integers(2, 9) | st.sampled_from([(), (4, 2), 0.5]),
    max_size=3,
)
CELLS = st.builds(
    Cell,
    problem=st.sampled_from(["cancer1", "x.dt"]),
    data_sha256=st.sampled_from(["a" * 64, "b" * 64]),
    method=st.sampled_from(["dgha", "mine"]),
    parameters=SETTINGS,
    classifier=SETTINGS,
    algorithms=st.sampled_from([(), (("dgha", 1),), (("dgha", 2),)]),
)


@given(cells=st.lists(CELLS, unique=True, max_size=8), n_labels=st.integers(1, 2))
def test_no_two_cells_of_a_problem_have_the_same_label(cells, n_labels):
    labels = {own: (DGHA, Label("PCA"))[n % n_labels] for n, own in enumerate(cells)}
    for columns in ((), ("tau",)):
        found = distinct(labels, columns)
        places = {
            (own.problem, text, *(str(own.settings.get(name)) for name in columns))
            for own, text in found.items()
        }
        assert len(places) == len(cells)


def run(
    problem: str = "cancer1", *, error: float | None = 1.0, label: Label | None = None, **of: object
) -> StoredRun:
    """Return a run; one without an error failed."""
    spec, done = run_of(cell_of(problem, **of), 0, label, test_error_percent=error or 0.0)
    return spec, replace(done, status="failed", values={}) if error is None else done


def errors(runs: Sequence[StoredRun]) -> dict[str, dict[str, float | None]]:
    """Return the mean error of each setting on each problem."""
    found = results_of(runs)

    def of(cells: Mapping[str, int]) -> dict[str, float | None]:
        return {name: found.mean(number, "test_error_percent") for name, number in cells.items()}

    settings = settings_of(found)
    return {name: of(settings[setting]) for setting, name in names_of(found, settings).items()}


def test_the_cells_of_a_setting_are_its_runs_on_all_problems():
    slow = {"learning_rate": 0.02}
    runs = [run(error=2.0), run(parameters=slow), run("glass1", parameters=slow)]
    assert errors([*runs, run("glass1", method="dgha_speedup")]) == {
        "DGHA": {"cancer1": 2.0},
        "DGHA, learning_rate = 0.02": {"cancer1": 1.0, "glass1": 1.0},
    }
    assert errors([run(error=None)]) == {"DGHA": {"cancer1": None}}


@pytest.mark.parametrize(
    ("own", "other", "names"),
    [
        ({"version": 1}, {"version": 2}, ["DGHA, dgha version = 1", "DGHA, dgha version = 2"]),
        (
            {"classifier": SLIDES},
            {"classifier": PIVOT},
            ["DGHA, classifier.rule = slides_mlp", "DGHA, classifier.rule = rprop"],
        ),
    ],
)
def test_other_classifiers_and_versions_are_other_settings(own, other, names):
    assert list(errors([run(**own), run("glass1", **own), run("heart1", **other)])) == names


def test_a_file_of_the_same_name_with_other_data_is_a_problem_of_its_own():
    found = errors([run("x.dt"), run("x.dt", data="b" * 64, error=5.0)])
    assert found == {"DGHA": {"x.dt, data a": 1.0, "x.dt, data bbbbbbbb": 5.0}}
