"""Tables of runs that fill cells of the slides and the report: differences, marks, variants, other settings."""

import re

import pytest
import runs_on_cancer1
from full_results import REFERENCES, layouts, plans_of
from runs_on_cancer1 import labels_of, mean_errors, ours, rows_of, run, text
from stored_runs import PIVOT, cell_of, run_of

from pppca_bench.pages.comparison import render_comparison
from pppca_bench.pages.index_page import verdict_lines
from pppca_bench.pages.snapshot import Snapshot
from pppca_bench.runs import StoredRun

NO_SHORTCUTS = {**PIVOT, "shortcuts": False}
PLACE = "cancer1, 100%", "tau=15"


def snapshot_of(**runs: list[StoredRun]) -> Snapshot:
    """Return the tables of runs by config."""
    return runs_on_cancer1.snapshot_of(REFERENCES, **runs)


def test_a_table_states_its_mean_differences_and_on_request_standard_deviations():
    runs = [
        run("ne_ppca", 0, tau=5.0, error=2.0, size=1),
        run("ne_ppca", 1, tau=5.0, error=2.6, size=1),
    ]
    runs += [run("ne_ppca", 0, tau=10.0, error=1.0, size=1), run("ne_ppca", 1, tau=10.0, size=2)]
    found = snapshot_of(cancer1=runs)
    # Ours 2.30 and 1.50, published 2.30 and 2.82; 1 and 1.5 components, published 1 and 1.2.
    said = "Ours − published, on average: test error −0.66 (1 of 2 below), dimensionality +0.2 (0 of 2 below)."
    assert said in found.table("T1").notes
    assert not any("on average" in note for note in found.table("T0").notes)
    lines = text(found, "T1", sd=True).split("Published")[0].splitlines()
    (cancer1,) = [re.split(r"  +", line) for line in lines if line.startswith("cancer1")]
    assert cancer1[1] == "2.30 ± 0.42 (1.0 ± 0.0)"
    assert "±" not in text(found, "T1")


def test_a_quantity_without_repeats_is_not_missing():
    """Three repeats or less have no correlation."""
    own = cell_of("cancer1", "all_features")
    names = ("validation_squared_error_percent", "test_squared_error_percent")
    runs = [run_of(own, repeat, **dict.fromkeys(names, repeat)) for repeat in range(3)]
    complete = text(snapshot_of(proben1_no_shortcuts=runs, proben1_pivot=runs), "P8")
    assert "ρ" in complete
    assert "*" not in complete
    late = text(snapshot_of(proben1_pivot=[*runs, run_of(own, 3)]), "P8")
    assert "* 1 of the planned repeats are missing" in late


def test_without_runs_every_table_is_published_numbers_alone():
    empty = snapshot_of()
    assert not any(empty.shows_runs(name) for name in empty.names)
    assert set(empty.with_runs) <= {layout.id for layout in layouts()}
    shown = text(empty, "T1")
    assert "2.30 (1)" in shown
    assert "Difference" not in shown


def test_of_several_thresholds_the_retained_variance_is_shown_at_the_slides_own():
    found = snapshot_of(cancer1=[run("dgha", tau=5.0), run("dgha"), run("ne_ppca", tau=5.0)])
    assert ours(found, "R")[2].split("  ")[0] == "cancer1 (9), DGHA, τ = 15"
    assert ours(found, "R")[2].split()[-5:] == ["2.00", "3.0", "91.5", "97.2", "0.0123"]
    assert [label.rpartition(", ")[2] for label in labels_of(found, "R")] == ["τ = 15", "τ = 5"]


VARIANTS = [run("dgha", repeat, n_epochs=n) for n in (36, 3) for repeat in (0, 1)]


@pytest.mark.parametrize(("config", "n"), [({}, 0), ({"cancer1": VARIANTS[:2]}, 2)])
def test_variants_have_their_own_table_even_if_one_of_them_fills_the_slides_cell(config, n):
    found = snapshot_of(**config, ablation=VARIANTS)
    expected = [f"DGHA, n_epochs = {n}, τ = 15" for n in (36, 3)]
    assert rows_of(found, "variants_ablation") == expected
    assert found.means("T5")[1].set_index(["row", "column"]).sort_index()["n"][PLACE].max() == n
    assert found.has_runs("R") == bool(config)


def test_networks_of_different_tables_are_no_variants():
    runs = [run("all_features", tau=None, network=network) for network in (PIVOT, NO_SHORTCUTS)]
    found = snapshot_of(mine=runs, **plans_of(runs))
    assert {*found.with_runs} & {"variants_mine", "X"} == set()
    assert {*found.with_runs} >= {"P8", "P10"}


def test_cells_that_published_tables_show_are_listed_beside_the_others():
    runs = [run("dgha"), run("reducers:Halves", tau=None)]
    found = snapshot_of(cancer1=runs)
    assert found.has_runs("T5")
    assert rows_of(found, "X") == ["DGHA", "Halves"]
    assert not snapshot_of(cancer1=runs[:1]).has_runs("X")


def test_a_config_has_a_line_with_the_counts_of_the_verdicts_on_its_numbers():
    found = snapshot_of(cancer1=[run("dgha", error=1.44), run("reducers:Halves", tau=None)])
    counts = "0 reproduced, 0 consistent, 0 differ, 2 cannot tell"
    assert verdict_lines("cancer1", found) == [f"cancer1: of 2 numbers {counts}."]
    assert verdict_lines("mine", snapshot_of(mine=[run("reducers:Halves", tau=None)])) == []


class TestOtherSettings:
    def test_another_config_does_not_take_the_slides_place(self):
        slides = run("dgha", error=1.0)
        mine = run("dgha", error=9.0, learning_rate=0.5)
        found = snapshot_of(c2=[mine], cancer1=[slides])
        assert mean_errors(found, "T5") == {PLACE: 1.0}
        row = "cancer1 (9), DGHA, learning_rate = 0.5"
        assert mean_errors(found, "X") == {(row, "tau=15"): 9.0}

    def test_a_cell_of_several_settings_is_empty_and_refers_to_their_table(self):
        one, other = run("dgha", learning_rate=1.0), run("dgha", learning_rate=0.5)
        found = snapshot_of(cancer1=[one], dgha_partial_data=[other])
        assert found.means("T5")[1]["n"].max() == 0
        line = "No number is shown for cancer1, 100% at τ = 15, because several settings were run: see X."
        assert line in text(found, "T5").splitlines()
        assert "several settings were run" in render_comparison(
            found.numbers, "terminal", wide=True
        )
        expected = ["DGHA, learning_rate = 1", "DGHA, learning_rate = 0.5"]
        assert rows_of(found, "X") == expected

    def test_the_line_names_cells_row_by_row_and_every_table_once(self):
        runs = [run("ne_ppca", tau=tau, n_generations=n) for tau in (5.0, 10.0) for n in (3, 4)]
        said = (
            "for cancer1 at τ = 5, τ = 10, because several settings were run: see variants_cancer1."
        )
        assert said in text(snapshot_of(cancer1=runs), "T1")


def test_a_number_that_is_missing_is_a_dash_in_its_place():
    spec, _ = run("ne_ppca", tau=5.0)
    found = snapshot_of(cancer1=[run_of(spec.cell, dimensionality=3.0)])
    assert ours(found, "T1")[2].split("  ")[2].strip() == "– (3.0)"
