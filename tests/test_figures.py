"""Figures of the slides: means, removed nodes, missing runs, and files with the drawn numbers."""

import csv
import io
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import matplotlib
import numpy as np
import pytest
from full_results import CONFIG, tables_and_figures
from matplotlib.figure import Figure as Drawing
from stored_runs import cell_of, run_of

from pppca_bench.reporting.figure_data import Figure, at_powers
from pppca_bench.reporting.figure_drawing import STYLES, draw, to_images, write_figures
from pppca_bench.runs import RunResult, RunSpec

T_975_1 = 12.706204736  # 97.5 % quantile of Student's t with one degree of freedom, from printed tables
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
        tau: float = 10.0,
        error: float = 20.0,
        n_nodes: int = 2,
        status: str = "done",
        settings: Mapping[str, float] = MappingProxyType({}),
        **history: object,
    ) -> "Runs":
        parameters = {"centre": True, "tau": tau, **settings}
        parameters |= {} if fraction is None else {"data_fraction": fraction}
        cell = cell_of(problem, method, parameters, {})
        spec, result = run_of(cell, len(self._runs), dimensionality=n_nodes, test_error_percent=error)
        curves = {name: np.array(curve) for name, curve in history.items()}
        if "variances" in curves:
            curves["direction_variances"] = curves["variances"]
        result = replace(result, status=status, history=curves)
        self._runs.append((spec, None if status == "planned" else result))
        return self

    def figures(self, config: str = CONFIG) -> dict[str, Figure]:
        configs = dict.fromkeys((config, "pseudo_pca"), self._runs)  # the second is that of F8 alone
        return {one.figure: one for one in tables_and_figures(self._folder, configs, {})[1]}


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


def rows(figure: Figure) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(figure.numbers().to_csv(index=False))))


def column(figure: Figure, name: str, **where: str) -> list[float]:
    chosen = [row for row in rows(figure) if all(row[key] == value for key, value in where.items())]
    return [float(row[name]) for row in chosen]


def two_estimates(runs: Runs) -> Runs:
    runs.add("cancer1", "dgha", 100.0, variances=[[4.0, 1.0], [4.0, NAN], [5.0, NAN], [5.0, NAN]])
    return runs.add("cancer1", "dgha", 100.0, variances=[[1.0, 2.0], [3.0, 4.0], [NAN, 7.0], [NAN, 7.0]])


class TestNumbers:
    def test_a_curve_is_the_mean_over_repeats_with_its_95_percent_interval(self, runs):
        runs.add("heart1", "ne_ppca", mean_dimensionality=[4.0, 2.5])
        figure = runs.add("heart1", "ne_ppca", mean_dimensionality=[6.0, 2.5]).figures()["F1"]
        assert column(figure, "mean") == [5.0, 2.5]
        # Two values one from their mean: sd √2, standard error 1.
        assert column(figure, "low") == pytest.approx([5.0 - T_975_1, 2.5])
        assert column(figure, "high") == pytest.approx([5.0 + T_975_1, 2.5])
        assert column(figure, "n") == [2, 2]
        assert column(figure, "step") == [0, 1]

    def test_ne_ppca_dimensionality_is_the_population_mean_and_dgha_its_own(self, runs):
        runs.add("glass1", "ne_ppca", mean_dimensionality=[8.5, 7.5], dimensionality=[9, 7])
        figures = runs.add("glass1", "dgha", 100.0, dimensionality=[9, 4]).figures()
        assert column(figures["F1"], "mean") == [8.5, 7.5]
        assert column(figures["F4"], "mean") == [9.0, 4.0]

    def test_failed_and_planned_runs_do_not_count(self, runs):
        runs.add("cancer1", "ne_ppca", mean_dimensionality=[3.0, 1.0])
        runs.add("cancer1", "ne_ppca", status="failed", mean_dimensionality=[9.0, 9.0])
        figure = runs.add("cancer1", "ne_ppca", status="planned").figures()["F1"]
        assert column(figure, "mean") == [3.0, 1.0]
        assert figure.repeats == "a single repeat"

    def test_other_thresholds_and_fractions_do_not_count(self, runs):
        runs.add("cancer1", "dgha", 50.0, variances=[[2.0, 1.0]])
        figure = runs.add("cancer1", "dgha", 50.0, tau=5.0, variances=[[8.0, 9.0]]).figures()["F3"]
        assert [panel.title for panel in figure.panels] == ["b) 50 % of the data"]
        assert column(figure, "mean", curve="estimate 1") == [2.0]

    def test_other_configs_and_several_settings_do_not_count(self, runs):
        runs.add("cancer1", "ne_ppca", mean_dimensionality=[3.0, 1.0])
        assert runs.figures("mine")["F1"].panels == ()
        runs.add("cancer1", "ne_ppca", settings={"n_generations": 7}, mean_dimensionality=[9.0, 9.0])
        assert runs.figures()["F1"].missing == ("cancer1", "diabetes1", "glass1", "heart1")

    def test_a_removed_node_counts_as_zero_and_estimates_are_ranked_at_each_step(self, runs):
        figure = two_estimates(runs).figures()["F3"]
        assert column(figure, "mean", curve="estimate 1") == [3.0, 4.0, 6.0, 6.0]
        assert column(figure, "mean", curve="estimate 2")[:3] == [1.0, 1.5, 0.0]

    def test_a_curve_ends_where_every_repeat_removed_the_node(self, runs):
        figure = two_estimates(runs).figures()["F3"]
        assert column(figure, "step", curve="estimate 1") == [0, 1, 2, 3]
        assert column(figure, "step", curve="estimate 2") == [0, 1, 2]
        assert column(figure, "removed", curve="estimate 2") == [0.0, 0.5, 1.0]
        marks = [line.get_xydata().tolist() for line in draw(figure).axes[0].get_lines() if len(line.get_xdata()) == 1]
        assert marks == [[[1.0, 0.0]]], "where half of the repeats have removed it"

    def test_ne_ppca_shows_three_estimates_and_dgha_nine(self, runs):
        variances = [[10.0 - node for node in range(9)]] * 2
        runs.add("cancer1", "ne_ppca", variances=variances)
        figures = runs.add("cancer1", "dgha", 10.0, variances=variances).figures()
        assert list(figures["F2"].panels[0].series) == ["estimate 1", "estimate 2", "estimate 3"]
        assert list(figures["F3"].panels[0].series) == [f"estimate {number}" for number in range(1, 10)]

    def test_a_single_repeat_has_no_interval(self, runs):
        figure = runs.add("cancer1", "ne_ppca", mean_dimensionality=[3.0, 1.0]).figures()["F1"]
        assert [(row["low"], row["high"]) for row in rows(figure)] == [("", ""), ("", "")]
        assert to_images(draw, figure)["png"]


class TestMissingRuns:
    def test_a_figure_without_runs_is_omitted_and_lists_them_as_missing(self, runs, tmp_path):
        runs.add("cancer1", "dgha", 25.0, tau=5.0, variances=[[1.0]])
        figures = runs.figures()
        assert list(figures) == ["F1", "F2", "F3", "F4", "F8", "F5", "E1", "E2", "E3"]
        assert figures["F1"].missing == ("cancer1", "diabetes1", "glass1", "heart1")
        assert figures["F2"].missing == ("cancer1",)
        curves = [figures[name] for name in ("F1", "F2", "F3", "F4", "F8")]
        assert write_figures(curves, [], tmp_path / "figures") == []
        assert list(tmp_path.glob("figures/*")) == []

    def test_a_figure_with_some_of_its_runs_shows_them_and_names_the_rest(self, runs):
        figure = runs.add("glass1", "ne_ppca", mean_dimensionality=[9.0, 6.0]).figures()["F1"]
        assert list(figure.panels[0].series) == ["glass1"]
        assert figure.missing == ("cancer1", "diabetes1", "heart1")


class TestComparison:
    def test_a_point_has_the_published_number_and_our_mean(self, runs):
        runs.add("cancer1", "ne_ppca", tau=5.0, error=2.0, n_nodes=1)
        figure = runs.add("cancer1", "ne_ppca", tau=5.0, error=3.0, n_nodes=2).figures()["F5"]
        assert [panel.title for panel in figure.panels] == ["a) test error", "b) dimensionality"]
        # The slide prints 2.30 (1).
        assert [(row["published"], row["mean"], row["n"]) for row in rows(figure)] == [
            ("2.3", "2.5", "2"),
            ("1.0", "1.5", "2"),
        ]

    def test_a_run_that_three_tables_show_is_one_point(self, runs):
        figure = runs.add("heart1", "ne_ppca", tau=15.0).figures()["F5"]
        assert [row["table"] for row in rows(figure)] == ["T1", "T1"]

    def test_series_without_runs_are_named(self, runs):
        figure = runs.add("horse1", "dgha", 10.0).figures()["F5"]
        assert "DGHA" not in figure.missing
        assert "NE-pPCA" in figure.missing


class TestDrawing:
    @pytest.fixture(scope="class")
    @staticmethod
    def figures(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Figure]]:
        runs, rng = Runs(tmp_path_factory.mktemp("drawing")), np.random.default_rng(0)
        for _ in range(3):
            for problem in ("cancer1", "diabetes1", "glass1", "heart1"):
                variances = np.sort(rng.uniform(0.01, 0.5, size=(12, 9)))[:, ::-1]
                runs.add(problem, "ne_ppca", mean_dimensionality=rng.uniform(1, 9, 12), variances=variances)
                for fraction in (100.0, 50.0, 25.0, 10.0):
                    runs.add(problem, "dgha", fraction, variances=variances, dimensionality=range(12, 0, -1))
            for method, setting in (("ne_ppca", {"result": "final"}), ("dgha", {"track_optimality": True})):
                fraction = 100.0 if method == "dgha" else None
                runs.add(
                    "cancer1", method, fraction, tau=15.0, settings=setting, optimality=rng.uniform(0.5, 1.0, size=12)
                )
        return runs.figures()

    @pytest.fixture(scope="class")
    @staticmethod
    def drawings(figures: dict[str, Figure]) -> dict[str, Drawing]:
        return {name: draw(figure) for name, figure in figures.items() if figure.panels}

    @pytest.mark.parametrize("name", ["F1", "F2", "F3", "F4", "F8"])
    def test_the_csv_holds_exactly_the_drawn_curves(self, figures, drawings, name):
        drawn = [
            (panel.title, line.get_label(), int(x), np.float32(y))
            for panel, ax in zip(figures[name].panels, drawings[name].axes, strict=True)
            for line in ax.get_lines()
            for x, y in line.get_xydata()
        ]
        written = [
            (row["panel"], row["curve"], int(row["step"]), np.float32(row["mean"])) for row in rows(figures[name])
        ]
        assert drawn == written

    def test_the_csv_holds_exactly_the_drawn_bands(self, figures, drawings):
        band = drawings["F1"].axes[0].collections[0].get_paths()[0].vertices
        low = column(figures["F1"], "low", curve="cancer1")
        high = column(figures["F1"], "high", curve="cancer1")
        assert set(np.float32(band[:, 1])) == set(np.float32(low + high))

    def test_dgha_panels_are_lettered_and_share_their_scale(self, drawings):
        axes = drawings["F3"].axes
        titles = ["a) 100 % of the data", "b) 50 % of the data", "c) 25 % of the data", "d) 10 % of the data"]
        assert [ax.get_title() or ax.get_title(loc="left") for ax in axes] == titles
        assert len({ax.get_ylim() for ax in axes}) == 1

    def test_the_note_states_how_removed_nodes_and_repeats_count(self, drawings):
        for name in ("F2", "F3"):
            note = drawings[name].get_supxlabel().replace("\n", " ")
            assert "A removed node counts as 0" in note
            assert "Mean of 3 repeats." in note
            assert "95 % interval of the mean" in note

    def test_axes_are_labelled_with_units(self, drawings):
        dimensionality, comparison = drawings["F1"].axes[0], drawings["F5"].axes[0]
        assert dimensionality.get_xlabel() == "generation"
        assert dimensionality.get_ylabel() == "mean dimensionality (nodes left)"
        assert drawings["F3"].get_supylabel() == "projection variance, wᵀCw / ‖w‖² (squared input units)"
        assert comparison.get_xlabel() == "published test error (%)"
        assert comparison.get_ylabel() == "our test error (%)"

    def test_curves_and_points_differ_without_their_colours(self, drawings):
        assert len({style["marker"] for style in STYLES}) == len(STYLES)
        assert len({style["linestyle"] for style in STYLES}) == len(STYLES)
        lines = drawings["F3"].axes[0].get_lines()
        assert len({line.get_marker() for line in lines}) == 9

    def test_files_are_svg_png_and_csv_named_for_the_figure(self, figures, tmp_path):
        paths = write_figures([figures["F2"]], [], tmp_path)
        assert [path.name for path in paths] == ["F2.svg", "F2.png", "F2.csv"]
        starts = [path.read_bytes()[:8] for path in paths]
        assert starts == [b"<?xml ve", b"\x89PNG\r\n\x1a\n", b"panel,cu"]

    def test_bytes_depend_on_the_numbers_alone(self, figures):
        before = to_images(draw, figures["F2"])
        with matplotlib.rc_context({"font.size": 20.0, "lines.linewidth": 9.0}):
            after = to_images(draw, figures["F2"])
        assert before == after
        assert b"<dc:date>" not in before["svg"]
        assert matplotlib.__version__.encode() not in before["png"]

    def test_drawing_leaves_the_settings_of_matplotlib_alone(self, figures):
        before = dict(matplotlib.rcParams)
        to_images(draw, figures["F2"])
        assert dict(matplotlib.rcParams) == before


def test_the_last_measurement_before_a_power_of_two_counts_within_the_curve():
    shares = at_powers(np.array([2, 5, 9]), np.array([0.5, 0.8, 1.0]))
    # 1 is before the first; 2, 4; 8 after 5; 16 after the end.
    np.testing.assert_array_equal(shares[:5], [np.nan, 0.5, 0.5, 0.8, np.nan])


@pytest.mark.slow
def test_only_drawing_imports_matplotlib_and_none_of_it_needs_numba_or_pyplot():
    code = """
import sys
sys.modules["numba"] = None
import pppca_bench.reporting.figure_data, pppca_bench.reporting.index_page, pppca_bench.cli.main
assert "matplotlib" not in sys.modules
import pppca_bench.reporting.figure_drawing
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
