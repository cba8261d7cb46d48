"""Figures of the slides: means, removed nodes, missing runs, and files with the drawn numbers."""

import csv
import io
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import matplotlib
import numpy as np
import pytest
from full_results import CONFIG, tables_and_figures
from stored_runs import cell_of, run_of

from pppca_bench.paper.today import at_powers
from pppca_bench.reporting.figure_data import Figure
from pppca_bench.reporting.figure_drawing import STYLES, draw, to_images, write_figures
from pppca_bench.runs import RunResult, RunSpec

T_975_1 = (
    12.706204736  # 97.5 % quantile of Student's t with one degree of freedom, from printed tables
)
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
        spec, result = run_of(
            cell, len(self._runs), dimensionality=n_nodes, test_error_percent=error
        )
        curves = {name: np.array(curve) for name, curve in history.items()}
        if "variances" in curves:
            curves["direction_variances"] = curves["variances"]
        result = replace(result, status=status, history=curves)
        self._runs.append((spec, None if status == "planned" else result))
        return self

    def figures(self, config: str = CONFIG) -> dict[str, Figure]:
        # the second is that of F8 alone
        configs = dict.fromkeys((config, "pseudo_pca"), self._runs)
        return {one.figure: one for one in tables_and_figures(self._folder, configs, {})[1]}


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
        runs.add("heart1", "ne_ppca", mean_dimensionality=[4.0, 2.5])
        figure = runs.add("heart1", "ne_ppca", mean_dimensionality=[6.0, 2.5]).figures()["F1"]
        assert column(figure, "mean") == [5.0, 2.5]
        # Two values one from their mean: sd √2, standard error 1.
        assert column(figure, "low") == pytest.approx([5.0 - T_975_1, 2.5])
        assert column(figure, "high") == pytest.approx([5.0 + T_975_1, 2.5])
        assert column(figure, "n") == [2, 2]
        assert column(figure, "step") == [0, 1]

    def test_failed_and_planned_runs_do_not_count_and_a_single_repeat_has_no_interval(self, runs):
        runs.add("cancer1", "ne_ppca", mean_dimensionality=[3.0, 1.0])
        runs.add("cancer1", "ne_ppca", status="failed", mean_dimensionality=[9.0, 9.0])
        figure = runs.add("cancer1", "ne_ppca", status="planned").figures()["F1"]
        assert column(figure, "mean") == [3.0, 1.0]
        assert [(row["low"], row["high"]) for row in rows(figure)] == [("", ""), ("", "")]
        assert figure.repeats == "a single repeat"

    def test_other_thresholds_and_fractions_do_not_count(self, runs):
        runs.add("cancer1", "dgha", 50.0, variances=[[2.0, 1.0]])
        figure = runs.add("cancer1", "dgha", 50.0, tau=5.0, variances=[[8.0, 9.0]]).figures()["F3"]
        assert [panel.title for panel in figure.panels] == ["b) 50 % of the data"]
        assert column(figure, "mean", curve="estimate 1") == [2.0]

    def test_other_configs_and_several_settings_do_not_count(self, runs):
        runs.add("cancer1", "ne_ppca", mean_dimensionality=[3.0, 1.0])
        assert runs.figures("mine")["F1"].panels == ()
        runs.add(
            "cancer1", "ne_ppca", settings={"n_generations": 7}, mean_dimensionality=[9.0, 9.0]
        )
        assert runs.figures()["F1"].missing == ("cancer1", "diabetes1", "glass1", "heart1")

    def test_estimates_are_ranked_and_a_removed_node_counts_as_zero_until_all_repeats_removed_it(
        self, runs
    ):
        runs.add(
            "cancer1", "dgha", 100.0, variances=[[4.0, 1.0], [4.0, NAN], [5.0, NAN], [5.0, NAN]]
        )
        runs.add(
            "cancer1", "dgha", 100.0, variances=[[1.0, 2.0], [3.0, 4.0], [NAN, 7.0], [NAN, 7.0]]
        )
        figure = runs.figures()["F3"]
        assert column(figure, "mean", curve="estimate 1") == [3.0, 4.0, 6.0, 6.0]
        assert column(figure, "mean", curve="estimate 2") == [1.0, 1.5, 0.0]
        assert column(figure, "step", curve="estimate 2") == [0, 1, 2]
        assert column(figure, "removed", curve="estimate 2") == [0.0, 0.5, 1.0]
        marks = [
            line.get_xydata().tolist()
            for line in draw(figure).axes[0].get_lines()
            if len(line.get_xdata()) == 1
        ]
        assert marks == [[[1.0, 0.0]]], "where half of the repeats have removed it"


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
    def figure(tmp_path_factory: pytest.TempPathFactory) -> Figure:
        """Return F3, of three repeats on four parts of the data."""
        runs, rng = Runs(tmp_path_factory.mktemp("drawing")), np.random.default_rng(0)
        for fraction in (100.0, 50.0, 25.0, 10.0) * 3:
            variances = np.sort(rng.uniform(0.01, 0.5, size=(12, 9)))[:, ::-1]
            runs.add("cancer1", "dgha", fraction, variances=variances)
        return runs.figures()["F3"]

    def test_the_csv_holds_exactly_the_drawn_curves_and_bands(self, figure):
        drawn, bands = [], []
        for panel, ax in zip(figure.panels, draw(figure).axes, strict=True):
            lines = [(line.get_label(), line.get_xydata()) for line in ax.get_lines()]
            drawn += [
                (panel.title, name, int(x), np.float32(y))
                for name, points in lines
                for x, y in points
            ]
            bands += [y for band in ax.collections for y in band.get_paths()[0].vertices[:, 1]]
        written = [
            (row["panel"], row["curve"], int(row["step"]), np.float32(row["mean"]))
            for row in rows(figure)
        ]
        assert drawn == written
        assert {*np.float32(bands)} == {*np.float32(column(figure, "low") + column(figure, "high"))}

    def test_curves_and_points_differ_without_their_colours(self):
        assert len({style["marker"] for style in STYLES}) == len(STYLES)
        assert len({style["linestyle"] for style in STYLES}) == len(STYLES)

    def test_bytes_depend_on_the_numbers_alone_and_settings_of_matplotlib_stay(self, figure):
        before, settings = to_images(draw, figure), dict(matplotlib.rcParams)
        with matplotlib.rc_context({"font.size": 20.0, "lines.linewidth": 9.0}):
            assert to_images(draw, figure) == before
        assert dict(matplotlib.rcParams) == settings
        assert b"<dc:date>" not in before["svg"]
        assert matplotlib.__version__.encode() not in before["png"]


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
