"""Figure of a table of means: panels, places, and our means beside the published numbers."""

from pathlib import Path
from typing import Any

import pytest
from stored_runs import cell_of, results_of, run_of

from pppca_bench.pages.figure_data import Figure
from pppca_bench.pages.figure_drawing import draw, to_images
from pppca_bench.pages.snapshot import Snapshot
from pppca_bench.references.layout import Layout
from pppca_bench.references.numbers import Number, VerdictRule
from pppca_bench.references.reference import Reference

TAUS = tuple({"key": f"{tau:g}", "runs": {"tau": tau}} for tau in (5.0, 10.0))
PROBLEMS = tuple({"key": name, "runs": {"problem": name}} for name in ("cancer1", "card1"))
ERROR, NODES = "test_error_percent", "dimensionality"


def snapshot_of(rows: Any, columns: Any, **keys: Any) -> Snapshot:
    """Return runs of DGHA on two problems at two thresholds, and a table of them whose first cell was published."""
    runs = []
    for n_problem, problem in enumerate(("cancer1", "card1")):
        for tau in (5.0, 10.0):
            for repeat in range(3):
                numbers = {ERROR: tau + repeat, NODES: 10.0 * n_problem + repeat}
                runs.append(run_of(cell_of(problem, "dgha", {"tau": tau}), repeat, **numbers))
    texts = {"id": "Z", "title": "t", "place": "p", "row_header": "a", "form": "{} ({})"}
    layout = Layout(**texts, rows=rows, columns=columns, **keys)
    numbers = {("Z", layout.rows[0].key, layout.columns[0].key): {ERROR: Number("6.5")}}
    reference = Reference.model_construct(
        folder=Path("mine"),
        title="Mine",
        numbers=numbers,
        rules=[VerdictRule(quantities=(ERROR, NODES), margin=1.0)],
        layouts=(layout,),
    )
    return Snapshot(results_of(runs, {"mine": [spec.key for spec, _ in runs]}), {}, [reference])


def places(figure: Figure) -> list[tuple[str, str, list[str]]]:
    return [
        (panel.title, panel.data["quantity"].iloc[0], panel.data["place"].tolist())
        for panel in figure.panels
    ]


def test_a_row_is_a_group_and_a_column_a_place():
    runs = {"runs": {"method": "dgha"}, "shows": (ERROR, NODES)}
    figure = snapshot_of(PROBLEMS, TAUS, **runs).figure_of("Z")
    expected = [
        (problem, quantity, ["5", "10"])
        for problem in ("cancer1", "card1")
        for quantity in (ERROR, NODES)
    ]
    assert places(figure) == expected
    first, second = figure.panels[0].data.to_dict("records")
    assert (first["mean"], first["published"], first["n"]) == (6.0, 6.5, 3)
    assert (first["margin_low"], first["margin_high"]) == pytest.approx((5.5, 7.5))
    assert second["published"] != second["published"], "not published"


def test_a_column_is_a_group_where_columns_are_problems():
    figure = snapshot_of(TAUS, PROBLEMS, runs={"method": "dgha"}, shows=(ERROR,)).figure_of("Z")
    assert places(figure) == [("cancer1", ERROR, ["5", "10"]), ("card1", ERROR, ["5", "10"])]


def test_a_quantity_of_a_single_column_has_a_place_for_each_row():
    columns = ({"key": "e", "shows": (ERROR,)}, {"key": "n", "shows": (NODES,)})
    runs = {"method": "dgha", "tau": 5.0}
    figure = snapshot_of(PROBLEMS, columns, runs=runs).figure_of("Z")
    expected = ["cancer1", "card1"]
    assert places(figure) == [("", ERROR, expected), ("", NODES, expected)]


def test_means_are_drawn_with_intervals_beside_published_numbers_and_places_are_named_once():
    runs = {"runs": {"method": "dgha"}, "shows": (ERROR, NODES)}
    figure = snapshot_of(PROBLEMS, TAUS, **runs).figure_of("Z")
    axes = draw(figure).axes
    assert [ax.get_xlabel() for ax in axes] == ["Test error, %", "Dimensionality"] * 2
    named = [
        [label.get_text() for label in ax.get_yticklabels() if label.get_text()] for ax in axes
    ]
    assert named[0] == ["5", "10"]
    assert [ax.yaxis.get_tick_params()["labelleft"] for ax in axes] == [True, False] * 2
    published, ours = axes[0].get_legend_handles_labels()[0]
    assert published.get_xdata()[0] == 6.5
    assert ours[0].get_xdata().tolist() == [6.0, 11.0]
    assert to_images(draw, figure) == to_images(draw, figure)


def test_a_table_without_means_of_runs_cannot_be_drawn():
    sizes = ({"key": "f", "shows": ("n_features",)},)
    snapshot = snapshot_of(PROBLEMS, sizes)
    assert not snapshot.can_be_drawn("Z")
