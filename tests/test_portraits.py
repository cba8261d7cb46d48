"""Figures of single runs: stored arrays, panels, and the textbooks' examples."""

import numpy as np
import pytest
from builders import small, specs_of
from numpy.testing import assert_allclose, assert_array_equal

from pppca_bench.experiments.cell import run_group
from pppca_bench.problems import load_problem
from pppca_bench.problems.bundled import draw_noisy_circle, draw_three_circles
from pppca_bench.reporting.figure_data import portrait_panels, retained_percent
from pppca_bench.runs import RunSpec


def planned(problem: str = "iris", **method: object) -> RunSpec:
    (spec,) = specs_of(small(method, problems=[problem], repeats=1))
    return spec


def test_a_portrait_holds_what_is_rebuilt_of_the_training_samples_alone():
    iris, spec = load_problem("iris"), planned(method="pca", n_components=2, portrait=True)
    portrait = run_group([spec], [iris])[0].history
    assert_array_equal(portrait["portrait_inputs"], iris.X_train.astype(np.float32))
    assert_array_equal(portrait["portrait_targets"], iris.y_train)
    mean, rows = iris.X_train.mean(axis=0), portrait["portrait_components"]
    projected = (iris.X_train - mean) @ rows.T
    assert_allclose(portrait["portrait_features"], projected, atol=1e-6)
    assert_allclose(portrait["portrait_rebuilt"], mean + projected @ rows, atol=1e-6)
    assert len(portrait["portrait_eigenvalues"]) == 4


def test_a_portrait_changes_no_number_and_has_a_key_of_its_own():
    iris, method = load_problem("iris"), {"method": "pca", "n_components": 2}
    plain, drawn = planned(**method), planned(**method, portrait=True)
    assert plain.key == planned(**method, portrait=False).key != drawn.key
    assert drawn.changed == plain.changed
    one, two = (run_group([spec], [iris])[0] for spec in (plain, drawn))
    exact = {name for name in one.values if "time" not in name}
    assert {name: one.values[name] for name in exact} == {name: two.values[name] for name in exact}
    assert dict(one.history) == {}


class TestPanels:
    INPUTS = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0]], np.float32)

    def made(self, **more: np.ndarray) -> dict[str, np.ndarray]:
        rebuilt = self.INPUTS * [1.0, 0.0] + np.array([0.0, 1.0])  # the second input by its mean
        given = {"inputs": self.INPUTS, "rebuilt": rebuilt, "features": self.INPUTS}
        given |= {"targets": np.array([0, 0, 1, 1])} | more
        return {f"portrait_{name}": np.asarray(one, np.float32) for name, one in given.items()}

    def test_one_of_two_inputs_of_equal_variance_retains_half(self):
        assert retained_percent(self.made()) == pytest.approx(50.0)

    def test_images_are_the_first_sample_of_each_class_and_the_components_of_the_richest_run(self):
        inputs = np.arange(16.0).reshape(4, 4)
        same = dict.fromkeys(("inputs", "rebuilt", "features"), inputs)
        few, many = (self.made(components=np.full((n, 4), float(n)), **same) for n in (1, 3))
        panels = portrait_panels("images", {"1 component": few, "3 components": many})
        assert {panel.kind for panel in panels} == {"images"}
        expected = ["inputs", "1 component", "3 components", "components 1 to 2"]
        assert [panel.title.split(":")[0] for panel in panels] == expected
        shown = inputs[[0, 2]]
        places = [[n, *divmod(place, 2), value] for (n, place), value in np.ndenumerate(shown)]
        assert_array_equal(panels[0].data, places)
        assert (panels[-1].data["value"] == 3.0).all()


@pytest.mark.parametrize(("drawn", "n"), [(draw_noisy_circle, 1), (draw_three_circles, 3)])
def test_points_of_circles_lie_near_them_evenly_all_round(drawn, n):
    X, y = drawn()
    radii, quarter = np.linalg.norm(X, axis=1), np.arctan2(*X.T[::-1]) % (2 * np.pi) // (np.pi / 2)
    if n == 1:
        assert_array_equal(y, quarter)
    for number in range(n):
        own = (y == number) | (n == 1)
        assert radii[own].mean() == pytest.approx(1 + 2 * number, abs=0.01)
        assert radii[own].std() == pytest.approx(0.05, rel=0.2)
        assert np.bincount(quarter[own].astype(int)) == pytest.approx(own.sum() / 4, abs=0.5)
