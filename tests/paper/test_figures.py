"""Figures of the slides: means, removed nodes, missing runs, and files with the drawn numbers."""

import csv
import io
import itertools
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import matplotlib
import numpy as np
import pytest
from full_results import CONFIG, FACTS, snapshot_and_figures
from matplotlib.colors import to_rgb
from matplotlib.text import Text
from stored_runs import cell_of, run_of

from pppca_bench.pages.figure_data import LEAST_LOSS, Figure
from pppca_bench.pages.figure_drawing import STYLES, draw, to_images, write_figures
from pppca_bench.pages.html import inline_svg
from pppca_bench.runs import RunResult, RunSpec

T_975_1 = 12.706204736  # 97.5 % quantile of Student's t with one degree of freedom, printed tables
NAN = np.nan


class Runs:
    """Runs with invented numbers, in a store of their own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._runs: list[tuple[RunSpec, RunResult | None]] = []

    def add(
        self,
        problem: str,
        method: str,
        fraction: float | None = None,
        *,
        tau: float | None = 10.0,
        error: float = 20.0,
        n_nodes: int = 2,
        status: str = "done",
        settings: Mapping[str, float] = MappingProxyType({}),
        **history: object,
    ) -> "Runs":
        parameters = {"centre": True, "tau": tau, **settings}
        parameters |= {} if fraction is None else {"data_fraction": fraction}
        cell, values = cell_of(problem, method, parameters, {}), {"dimensionality": n_nodes}
        spec, result = run_of(cell, len(self._runs), test_error_percent=error, **values)
        curves = {name: np.array(curve) for name, curve in history.items()}
        if "variances" in curves:
            curves["direction_variances"] = curves["variances"]
        result = replace(result, status=status, history=curves)
        self._runs.append((spec, None if status == "planned" else result))
        return self

    def figures(self, config: str = CONFIG) -> dict[str, Figure]:
        # the others are those of F8 and of F9 alone
        configs = dict.fromkeys((config, "pseudo_pca", "streaming_curves"), self._runs)
        facts = FACTS | {"proben1:heart": FACTS["heart1"]}
        return {one.figure: one for one in snapshot_and_figures(self._folder, configs, facts)[1]}


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


def rows(figure: Figure) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(figure.numbers().to_csv(index=False))))


def column(figure: Figure, name: str, **where: str) -> list[float]:
    chosen = [row for row in rows(figure) if all(row[key] == value for key, value in where.items())]
    return [float(row[name]) for row in chosen]


class TestNumbers:
    def test_a_curve_is_the_mean_over_repeats_with_its_95_percent_interval(self, runs):
        tracked = {"track_optimality": True}
        for optimality in ([0.4, 0.25], [0.6, 0.25]):
            runs.add("cancer1", "dgha", tau=15.0, settings=tracked, optimality=optimality)
        figure = runs.figures()["F8"]
        # Two values 0.1 from their mean: sd 0.1 √2, standard error 0.1.
        half = 0.1 * T_975_1
        expected = {"mean": [0.5, 0.25], "low": [0.5 - half, 0.25], "high": [0.5 + half, 0.25]}
        expected |= {"n": [2, 2], "step": [0, 1]}
        assert {name: column(figure, name) for name in expected} == {
            name: pytest.approx(values) for name, values in expected.items()
        }

    def test_failed_and_planned_runs_do_not_count_and_a_single_repeat_has_no_interval(self, runs):
        runs.add("cancer1", "ne_ppca", mean_dimensionality=[4.5, 1.8])
        runs.add("cancer1", "ne_ppca", status="failed", mean_dimensionality=[9.0, 9.0])
        figure = runs.add("cancer1", "ne_ppca", status="planned").figures()["F1"]
        assert column(figure, "mean", curve="cancer1 (9)") == pytest.approx([50.0, 20.0])
        assert [(row["low"], row["high"]) for row in rows(figure)] == [("", ""), ("", "")]
        assert figure.repeats == "a single repeat"

    def test_other_thresholds_configs_and_several_settings_do_not_count(self, runs):
        runs.add("cancer1", "ne_ppca", mean_dimensionality=[4.5, 1.8])
        runs.add("cancer1", "ne_ppca", tau=5.0, mean_dimensionality=[9.0, 9.0])
        assert runs.figures("mine")["F1"].panels == ()
        assert column(runs.figures()["F1"], "mean") == [50.0, 20.0]
        runs.add(
            "cancer1", "ne_ppca", settings={"n_generations": 7}, mean_dimensionality=[9.0, 9.0]
        )
        assert runs.figures()["F1"].missing == ("cancer1", "diabetes1", "glass1", "heart1")

    def test_a_removed_node_counts_as_zero_until_all_repeats_removed_it(self, runs):
        first = [[4.0, 1.0], [4.0, NAN], [5.0, NAN], [5.0, NAN]]
        second = [[1.0, 2.0], [3.0, 4.0], [NAN, 7.0], [NAN, 7.0]]
        for variances in (first, second):
            runs.add("cancer1", "dgha", 100.0, variances=variances)
        figure = runs.figures()["F3"]
        assert column(figure, "mean", component="1") == [3.0, 4.0, 6.0, 6.0]
        assert column(figure, "mean", component="2") == [1.0, 1.5, 0.0]
        assert column(figure, "step", component="2") == [0, 1, 2]

    def test_losses_by_samples_start_with_equal_components_and_epochs_count_all_samples(self, runs):
        three = {"n_components": 3, "track_optimality": True}
        stream = {"samples": [1, 2, 4, 8], "dimensionality": [1, 2, 3, 3]}
        for method, optimality, settings, history in (
            ("ccipca", [0.5, 0.6, 0.9, 1.0], {"n_samples": 8}, stream),
            ("ccipca", [0.5, 0.6, 0.6, 1.0], {"n_samples": 8}, stream),
            ("gha", [0.1, 0.8, 0.9], {}, {"dimensionality": [3, 3, 3]}),
        ):
            own = {"settings": three | settings, "optimality": optimality, **history}
            runs.add("proben1:heart", method, tau=None, **own)
        figure, n_train = runs.figures()["F9"], FACTS["heart1"].n_train
        assert column(figure, "step", curve="CCIPCA") == [4, 8]
        assert column(figure, "mean", curve="CCIPCA") == pytest.approx([20.0, LEAST_LOSS])
        assert column(figure, "step", curve="GHA") == [n_train, 2 * n_train]
        assert column(figure, "mean", curve="GHA") == pytest.approx([20.0, 10.0])


def test_a_figure_without_runs_is_omitted_and_lists_them_as_missing(runs, tmp_path):
    figures = runs.add("cancer1", "dgha", 25.0, tau=5.0, variances=[[1.0]]).figures()
    assert figures["F8"].missing[0] == "cancer1", "a panel without any curve"
    assert list(figures) == ["F1", "F2", "F3", "F4", "F8", "F9", "F5"]
    assert figures["F1"].missing == ("cancer1", "diabetes1", "glass1", "heart1")
    assert figures["F2"].missing == ("cancer1",)
    assert write_figures([figures[name] for name in ("F1", "F2", "F4")], [], tmp_path / "new") == []
    assert list(tmp_path.glob("new/*")) == []


class TestComparison:
    def test_a_point_has_the_published_number_and_our_mean(self, runs):
        runs.add("cancer1", "ne_ppca", tau=5.0, error=2.0, n_nodes=1)
        figure = runs.add("cancer1", "ne_ppca", tau=5.0, error=3.0, n_nodes=2).figures()["F5"]
        titles = [panel.title for panel in figure.panels]
        assert titles == ["a) test error", "b) nodes left"]
        # The slide prints 2.30 (1).
        expected = [("2.3", "2.5", "2"), ("1.0", "1.5", "2")]
        assert [(row["published"], row["mean"], row["n"]) for row in rows(figure)] == expected
        # The margin is a standard deviation: ours, since the slide prints none.
        assert column(figure, "margin_low") == pytest.approx([2.3 - 0.5**0.5, 1.0 - 0.5**0.5])
        assert column(figure, "margin_high") == pytest.approx([2.3 + 0.5**0.5, 1.0 + 0.5**0.5])

    def test_the_outermost_means_beyond_the_margin_are_named(self, runs):
        for error, tau in itertools.product((8.9, 9.1), (5.0, 10.0, 15.0)):
            runs.add("cancer1", "ne_ppca", tau=tau, error=error)
        figure = runs.figures()["F5"]
        ax = draw(figure).axes[0]
        named = {text.get_text(): text.xy for text in ax.texts}
        assert len(named) == 2
        assert named.keys() < {f"cancer1 (9), τ = {tau}" for tau in (5, 10, 15)}
        points = [line for line in ax.get_lines() if line.get_marker() == STYLES[0]["marker"]]
        assert {*named.values()} < {tuple(point) for line in points for point in line.get_xydata()}

    def test_a_run_that_three_tables_show_is_one_point_and_series_without_runs_are_named(
        self, runs
    ):
        figure = runs.add("heart1", "ne_ppca", tau=15.0).figures()["F5"]
        assert [row["table"] for row in rows(figure)] == ["T1", "T1"]
        assert ("DGHA" in figure.missing, "NE-pPCA" in figure.missing) == (True, False)


class TestDrawing:
    @pytest.fixture(scope="class")
    @staticmethod
    def figure(tmp_path_factory: pytest.TempPathFactory) -> Figure:
        """Return F3, of three repeats on four parts of the data."""
        runs, rng = Runs(tmp_path_factory.mktemp("drawing")), np.random.default_rng(0)
        for fraction in (100.0, 50.0, 25.0, 10.0) * 3:
            variances = np.sort(rng.uniform(0.01, 0.5, size=(12, 9)))[:, ::-1]
            runs.add("cancer1", "dgha", fraction, variances=variances)
        return runs.figures()["F3"]

    def test_the_csv_holds_the_drawn_curves_and_the_bands_of_the_first_curves(self, figure):
        (ax,) = draw(figure).axes
        drawn = np.float32([y for line in ax.get_lines() for y in line.get_ydata()])
        labels = [line.get_label() for line in ax.get_lines() for _ in line.get_xdata()]
        assert labels == [row["curve"] for row in rows(figure)]
        hidden = np.isnan(drawn)
        assert 0 < hidden.sum() < 0.1 * len(hidden), "random curves rarely coincide"
        assert (drawn[~hidden] == np.float32(column(figure, "mean"))[~hidden]).all()
        bands = [y for band in ax.collections for y in band.get_paths()[0].vertices[:, 1]]
        ends = [column(figure, name, curve="100 %") for name in ("low", "high")]
        assert {*np.float32(bands)} == {*np.float32(ends).flat}

    def test_curves_of_a_component_are_drawn_once_where_they_coincide(self, runs):
        first = np.array([0.4, 0.4, 0.4, 0.4, 0.2, 0.2])
        other = np.append(first * [1.0, 1.0, 1.01, 1.0, 1.5, 1.0], 0.2)
        for fraction, variances in ((100.0, first), (50.0, other)):
            runs.add("cancer1", "dgha", fraction, variances=variances[:, None])
        (ax,) = draw(runs.figures()["F3"]).axes
        curves = {line.get_label(): line.get_ydata() for line in ax.get_lines()}
        assert curves["100 %"] == pytest.approx(first)
        # from the step before a difference to the step after it, and on from the end of the first curve
        assert np.isfinite(curves["50 %"]).tolist() == [False] * 3 + [True] * 4

    def test_titles_name_the_source_of_a_data_set_where_its_name_alone_does_not_differ(self, runs):
        settings = {"n_components": 3, "track_optimality": True, "n_samples": 8}
        history = {"optimality": [0.5, 0.9], "dimensionality": [3, 3], "samples": [1, 200_000]}
        runs.add("proben1:heart", "ccipca", tau=None, settings=settings, **history)
        figure = runs.figures()["F9"]
        for titles, printed in (
            (["uci:heart", "proben1:heart"], ["uci:heart", "proben1:heart"]),
            (["uci:heart", "proben1:card"], ["heart", "card"]),
            (["a: heart", "b: card"], ["a: heart", "b: card"]),
        ):
            panels = [figure.panels[0]._replace(title=title) for title in titles]
            axes = draw(figure._replace(panels=panels)).axes
            assert [ax.get_title() for ax in axes] == printed
        assert [tick.get_text() for tick in axes[0].get_xticklabels()] == ["1", "100", "10⁴"]

    def test_texts_have_at_least_7_points_and_labels_of_near_curves_do_not_overlap(self, runs):
        for problem in ("cancer1", "diabetes1", "glass1", "heart1"):
            runs.add(problem, "ne_ppca", mean_dimensionality=[FACTS[problem].n_features] * 3)
        drawing = draw(runs.figures()["F1"])
        assert min(text.get_fontsize() for text in drawing.findobj(Text)) >= 7.0
        labels = [text.get_window_extent() for text in drawing.axes[0].texts]
        assert len(labels) == 4
        assert not any(a.overlaps(b) for a, b in itertools.combinations(labels, 2))

    def test_on_a_page_black_is_the_colour_of_the_text_and_nothing_is_behind(self, figure):
        page = inline_svg(to_images(draw, figure, for_page=True)["svg"], "F3", "Variances")
        assert "currentColor" in page
        assert not re.search("#000000|#ffffff", page)

    def test_curves_and_points_differ_without_their_colours(self):
        assert len({style["marker"] for style in STYLES}) == len(STYLES)
        assert len({style["linestyle"] for style in STYLES}) == len(STYLES)

    @pytest.mark.parametrize("page", ["#ffffff", "#16181d"])
    def test_colours_but_black_are_readable_on_white_and_on_a_dark_page(self, page):
        for style in STYLES[1:]:
            light, dark = sorted(map(luminance, (style["color"], page)), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 3.0, style["color"]

    def test_bytes_depend_on_the_numbers_alone_and_settings_of_matplotlib_stay(self, figure):
        before, settings = to_images(draw, figure), dict(matplotlib.rcParams)
        with matplotlib.rc_context({"font.size": 20.0, "lines.linewidth": 9.0}):
            assert to_images(draw, figure) == before
        assert dict(matplotlib.rcParams) == settings
        assert b"<dc:date>" not in before["svg"]
        assert matplotlib.__version__.encode() not in before["png"]


def luminance(color: str) -> float:
    """Return the relative luminance of a colour (WCAG 2.2)."""
    parts = np.array(to_rgb(color))
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))
