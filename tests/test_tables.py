"""Tables of runs made by hand: layout, cell form, marks, and the settings that a table or a row is about."""

import re
from collections.abc import Mapping

import pytest
from full_results import REFERENCES, layouts, plans_of
from stored_runs import PIVOT, cell_of, results_by_config, run_of

from pppca_bench.references.numbers import Number
from pppca_bench.reporting.document import printed
from pppca_bench.reporting.snapshot import Snapshot
from pppca_bench.reporting.statistics import summarise
from pppca_bench.reporting.table import MeansTable, TableCell
from pppca_bench.reporting.table_text import notes, render_tables, table_records
from pppca_bench.runs import ProblemFacts, StoredRun

FACTS = {"cancer1": ProblemFacts("cancer1", "a", "classification", "cancer", 9, 2, 350, 175, 174)}
NO_SHORTCUTS = {**PIVOT, "shortcuts": False}
MEASURED = {
    "retained_variance_percent": 91.5,
    "optimality_percent": 97.2,
    "reconstruction_error": 0.0123,
}
PLACE = "cancer1, 100%", "tau=15"


def run(
    method: str,
    repeat: int = 0,
    *,
    tau: float | str | None = 15.0,
    error: float = 2.0,
    size: int = 3,
    network: Mapping[str, object] = PIVOT,
    changed: tuple[str, ...] = (),
    **parameters: object,
) -> StoredRun:
    """Return a run on cancer1."""
    given = {} if tau is None else {"tau": tau, "centre": True}
    given |= {"data_fraction": 100.0} if method == "dgha" else {}
    own = cell_of("cancer1", method, given | parameters, network)
    values = MEASURED | {"dimensionality": size, "test_error_percent": error}
    return run_of(own, repeat, changed, **values)


def by_name(**runs: list[StoredRun]) -> dict[str, MeansTable]:
    """Return the tables of runs by config."""
    tables = Snapshot(results_by_config(runs), FACTS, REFERENCES).of_means
    return {table.id: table for table in tables}


def ours(table: MeansTable) -> list[str]:
    """Return the lines of a table's first grid in the terminal."""
    return render_tables(table, form="terminal").split("\n\n")[1].splitlines()


def test_a_table_states_its_mean_differences_and_on_request_standard_deviations():
    runs = [
        run("ne_ppca", 0, tau=5.0, error=2.0, size=1),
        run("ne_ppca", 1, tau=5.0, error=2.6, size=1),
    ]
    runs += [run("ne_ppca", 0, tau=10.0, error=1.0, size=1), run("ne_ppca", 1, tau=10.0, size=2)]
    found = by_name(cancer1=runs)
    # Ours 2.30 and 1.50, published 2.30 and 2.82; 1 and 1.5 components, published 1 and 1.2.
    said = "Ours − published, on average: error −0.66 (1 of 2 below), dimensionality +0.2 (0 of 2 below)."
    assert said in notes(found["T1"])
    assert not any("on average" in note for note in notes(found["T0"]))
    lines = render_tables(found["T1"], form="terminal", sd=True).split("Published")[0].splitlines()
    (cancer1,) = [re.split(r"  +", line) for line in lines if line.startswith("cancer1")]
    assert cancer1[1] == "2.30 ± 0.42 (1.0 ± 0.0)"
    assert "±" not in render_tables(found["T1"], form="terminal")


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [
        (-0.004, "+.2f", "0.00"),
        (0.004, "+.2f", "0.00"),
        (-0.4, "+.0f", "0"),
        (-0.005001, "+.2f", "−0.01"),
        (-1e-9, "+.3g", "−1e−09"),
        (float("nan"), ".2f", "–"),
    ],
)
def test_a_number_that_rounds_to_zero_has_no_sign(value, form, text):
    assert printed(value, form) == text


def test_a_quantity_without_repeats_is_not_missing():
    """Three repeats or less have no correlation."""
    own = cell_of("cancer1", "all_features")
    names = ("validation_squared_error_percent", "test_squared_error_percent")
    runs = [run_of(own, repeat, **dict.fromkeys(names, repeat)) for repeat in range(3)]
    text = render_tables(
        by_name(proben1_no_shortcuts=runs, proben1_pivot=runs)["P8"], form="terminal"
    )
    assert "ρ" in text
    assert "*" not in text
    late = by_name(proben1_pivot=[*runs, run_of(own, 3)])["P8"]
    assert "* 1 of the planned repeats are missing" in render_tables(late, form="terminal")


def test_without_runs_every_table_is_published_numbers_alone():
    empty = by_name()
    assert list(empty) == [layout.id for layout in layouts()]
    assert not any(table.shows_runs for table in empty.values())
    text = render_tables(empty["T1"], form="terminal")
    assert "2.30 (1)" in text
    assert "Difference" not in text


def test_of_several_thresholds_the_retained_variance_is_shown_at_the_slides_own():
    table = by_name(cancer1=[run("dgha", tau=5.0), run("dgha"), run("ne_ppca", tau=5.0)])["R"]
    assert ours(table)[2].split("  ")[0] == "cancer1 (9), DGHA, 100%, τ = 15"
    assert ours(table)[2].split()[-5:] == ["2.00", "3.0", "91.5", "97.2", "0.0123"]
    assert [label.rpartition(", ")[2] for label in table.row_labels] == ["τ = 15", "τ = 5"]


def rows_of(table: MeansTable) -> list[str]:
    """Return the labels of a table's rows after the problem."""
    return [label.partition(", ")[2] for label in table.row_labels]


VARIANTS = [run("dgha", repeat, n_epochs=n) for n in (36, 3) for repeat in (0, 1)]


@pytest.mark.parametrize(("config", "n"), [({}, 0), ({"cancer1": VARIANTS[:2]}, 2)])
def test_variants_have_their_own_table_even_if_one_of_them_fills_the_slides_cell(config, n):
    found = by_name(**config, ablation=VARIANTS)
    expected = [f"DGHA, 100%, τ = 15, n_epochs = {n}" for n in (36, 3)]
    assert rows_of(found["variants_ablation"]) == expected
    assert found["T5"].cells[PLACE].n == n
    assert ("R" in found) == bool(config)


def test_networks_of_different_tables_are_no_variants():
    runs = [run("all_features", tau=None, network=network) for network in (PIVOT, NO_SHORTCUTS)]
    found = by_name(mine=runs, **plans_of(runs))
    assert found.keys() & {"variants_mine", "X"} == set()
    assert all(found[table].has_runs for table in ("P8", "P10"))


def test_a_single_setting_of_a_config_is_no_variant():
    one, other = (run("gha", tau=None, learning_rate=rate) for rate in (0.1, 0.2))
    found = by_name(mine=[one], ablation=[one, other])
    assert rows_of(found["X"]) == ["GHA, learning_rate = 0.1"]
    assert len(found["variants_ablation"].row_labels) == 2


class TestTablesOfASingleConfig:
    def test_user_defined_and_registered_methods_share_a_table(self):
        halves = [run("reducers:Halves", tau=None, power=power) for power in (1.0, 2.0)]
        found = by_name(own=[run("dgha", tau=10.0), run("pca", tau=10.0), *halves])
        expected = ["DGHA, 100%", "PCA", "Halves, power = 1", "Halves, power = 2"]
        assert (found["X"].title, rows_of(found["X"])) == ("Results of own", expected)
        assert len(found["R"].row_labels) == 4
        assert "variants_own" not in found

    def test_cells_that_published_tables_show_are_listed_beside_the_others(self):
        runs = [run("dgha"), run("reducers:Halves", tau=None)]
        found = by_name(cancer1=runs)
        assert found["T5"].has_runs
        assert rows_of(found["X"]) == ["DGHA, 100%", "Halves"]
        assert not by_name(cancer1=runs[:1]).keys() & {"X"}

    def test_settings_that_make_a_label_long_are_numbered_and_explained_below(self):
        long = {"learning_rate": 0.0123456, "decay_epochs": 12, "head_start": 0.25}
        runs = [run("gha", tau=tau, changed=tuple(long), **long) for tau in (5.0, 10.0)]
        table = by_name(mine=[*runs, run("ne_ppca")])["X"]
        full = "decay_epochs = 12, head_start = 0.25, learning_rate = 0.0123456"
        assert table.row_labels[f"cancer1 (9), GHA, {full}"] == "cancer1 (9), GHA, setting 1"
        assert f"Setting 1: {full}." in render_tables(table, form="markdown").splitlines()
        assert {record["row"] for record in table_records(table)} == table.row_labels.keys()

    def test_a_threshold_that_is_no_number_has_a_column_after_the_others(self):
        table = by_name(mine=[run("pca", tau=tau) for tau in ("auto", 15.0, 2.5, None)])["X"]
        assert list(table.column_labels.values()) == ["no τ", "τ = 2.5", "τ = 15", "τ = auto"]
        assert len(table.cells) == 4

    def test_measures_of_a_method_that_is_not_installed_are_left_out_of_other_columns(self):
        table = by_name(mine=[run_of(cell_of("cancer1", "spectral"), gap=1.0)])["X"]
        assert ours(table)[2].split()[-1] == "–"

    def test_each_error_has_a_column(self):
        squared = {"test_squared_error_percent": 3.0, "retained_variance_percent": 90.0}
        both = {"test_error_percent": 5.0, **squared}
        cells = {"numbers": squared, "classes": both}
        runs = [run_of(cell_of(name, "pca", {"tau": 15.0}), **own) for name, own in cells.items()]
        found = by_name(mine=runs)
        assert found["X"].column_labels["tau=15, squared error"] == "τ = 15, squared error, %"
        assert list(found["R"].column_labels.values())[:2] == ["Error, %", "Squared error, %"]
        shown = {
            (table, *place): cell.ours[cell.shows[0]].mean
            for table in ("X", "R")
            for place, cell in found[table].cells.items()
            if "error_percent" in cell.shows[0] and cell.ours
        }
        assert shown == {
            ("X", "numbers, PCA", "tau=15, squared error"): 3.0,
            ("X", "classes, PCA", "tau=15"): 5.0,
            ("R", "numbers, PCA, τ = 15", "test_squared_error_percent"): 3.0,
            ("R", "classes, PCA, τ = 15", "test_error_percent"): 5.0,
        }


class TestOtherSettings:
    def test_another_config_does_not_take_the_slides_place(self):
        slides = run("dgha", error=1.0)
        mine = run("dgha", error=9.0, learning_rate=0.5, changed=("learning_rate",))
        found = by_name(c2=[mine], cancer1=[slides])
        assert found["T5"].cells[PLACE].ours["test_error_percent"].mean == 1.0
        (row,) = found["X"].row_labels
        assert row == "cancer1 (9), DGHA, 100%, learning_rate = 0.5"
        assert found["X"].cells[row, "tau=15"].ours["test_error_percent"].mean == 9.0

    def test_other_speedups_are_in_the_table_of_measures(self):
        own = cell_of("cancer1", "dgha_speedup", {"tau": 15.0}, {})
        header, _, row = ours(by_name(mine=[run_of(own, speedup=3.0, share=0.25)])["M"])
        assert header.split()[-2:] == ["Speed-up", "share"]
        assert row.split()[-2:] == ["3.00", "0.25"]

    def test_a_cell_of_several_settings_is_empty_and_refers_to_their_table(self):
        one, other = run("dgha", learning_rate=1.0), run("dgha", learning_rate=0.5)
        found = by_name(cancer1=[one], dgha_partial_data=[other])
        assert found["T5"].cells[PLACE].ours == {}
        line = "No number is shown for cancer1, 100% at τ = 15, because several settings were run: see X."
        assert line in render_tables(found["T5"], form="terminal").splitlines()
        expected = ["DGHA, 100%, learning_rate = 1", "DGHA, 100%, learning_rate = 0.5"]
        assert rows_of(found["X"]) == expected

    def test_the_line_names_cells_row_by_row_and_every_table_once(self):
        runs = [run("ne_ppca", tau=tau, n_generations=n) for tau in (5.0, 10.0) for n in (3, 4)]
        said = (
            "for cancer1 at τ = 5, τ = 10, because several settings were run: see variants_cancer1."
        )
        assert said in render_tables(by_name(cancer1=runs)["T1"], form="terminal")


def table_of_a_cell(label: str, *shows: str) -> MeansTable:
    cell = TableCell("a", "b", shows, "{} ({})", {"dimensionality": summarise([3.0])})
    return MeansTable("T", "", "", label, {"a": label}, {"b": label}, {("a", "b"): cell})


def test_a_number_that_is_missing_is_a_dash_in_its_place():
    table = table_of_a_cell("a", "test_error_percent", "dimensionality")
    assert ours(table)[2].endswith("  – (3.0)")


def test_numbers_that_are_only_cited_are_printed_alone_or_beside_runs():
    shown = {"dimensionality": Number("4")}
    cited = TableCell("a", "b", ("dimensionality",), "{}", published=shown)
    run = cited._replace(column="c", ours={"dimensionality": summarise([3.0])}, fillable=True)
    table = MeansTable("T", "", "page 1", "", {"a": "a"}, {"b": "b"}, {("a", "b"): cited})
    assert table.trimmed() == table
    assert render_tables(table, form="csv").splitlines()[1].startswith("T,a,b,dimensionality,4.0,")
    assert "Published: page 1." in render_tables(table, form="terminal")
    cells = {("a", "b"): cited, ("a", "c"): run}
    both = table._replace(column_labels={"b": "b", "c": "c"}, cells=cells)
    assert both.trimmed() == both
    unrun = both._replace(cells=cells | {("a", "c"): run._replace(ours={})})
    assert (unrun.has_runs, unrun.trimmed()) == (False, None)


def test_names_of_files_break_no_table():
    table = table_of_a_cell(r"a|b & 50% of_x#{1}^~$\.dt", "dimensionality")
    rows = [
        line for line in render_tables(table, form="markdown").splitlines() if line.startswith("|")
    ]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {3}
    latex = render_tables(table, form="latex").splitlines()
    line = next(line for line in latex if r"a\textbar{}b" in line)
    assert line.count("&") == line.count(r"\&") + 1
    assert not re.search(r"(?<!\\)[%#_$]", line)
    assert r"\textbackslash{}.dt" in line
