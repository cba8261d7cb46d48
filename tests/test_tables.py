"""The slides' tables from small stores made by hand: layout, cell form and marks."""

import math
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from full_results import REFERENCES, layouts, plans_of, tables_of
from stored_runs import PIVOT, cell_of, results_by_config, results_of, run_of, store_runs

from pppca_bench.reporting.document import escaped, printed
from pppca_bench.reporting.own_tables import OwnTables
from pppca_bench.reporting.snapshot import Snapshot
from pppca_bench.reporting.statistics import summarise
from pppca_bench.reporting.summary import Results, split_by_cell
from pppca_bench.reporting.table import Table, TableCell
from pppca_bench.reporting.table_text import notes, records, render
from pppca_bench.runs import Cell, ProblemFacts, RunResult, StoredRun
from pppca_bench.store.database import Store

FACTS = [
    ProblemFacts("cancer1", "a", "classification", "cancer", 9, 2, 350, 175, 174),
    ProblemFacts("iris", "a", "classification", "iris", 4, 3, 75, 38, 37),
]
NO_SHORTCUTS = {**PIVOT, "shortcuts": False}
LINEAR = {**PIVOT, "hidden": ()}
CENTRED = {"centre": True}


def ne_ppca(tau: float) -> Cell:
    return cell_of("cancer1", "ne_ppca", CENTRED | {"tau": tau})


def network(error: float, train: float, validation: float, test: float) -> dict[str, float]:
    """Return the measures of a run: the error of the test split, and squared errors of all splits."""
    return {
        "dimensionality": 9,
        "train_squared_error_percent": train,
        "validation_squared_error_percent": validation,
        "test_squared_error_percent": test,
        "test_error_percent": error,
        "overfit_percent": 10 * validation,
        "total_epochs": round(100 * train),
        "relevant_epochs": round(50 * train),
    }


# A cell, then its repeats: (error, dimensionality), "failed", or measures.
RUNS = [
    (ne_ppca(5.0), [(2.0, 1), (2.6, 1)]),
    (ne_ppca(10.0), [(1.0, 1), (2.0, 2), "failed"]),
    (
        cell_of("cancer1", "all_features"),
        [network(1.5, 2.8, 2.0, 1.6), network(1.6, 3.0, 1.8, 1.4), network(1.5, 2.4, 2.4, 1.9), network(1, 2, 3, 4)],
    ),
]


def build(folder: Path) -> list[Table]:
    runs: list[StoredRun] = []
    for place, repeats in RUNS:
        for repeat, outcome in enumerate(repeats):
            values = outcome if isinstance(outcome, dict) else {}
            if isinstance(outcome, tuple):
                values = dict(zip(("test_error_percent", "dimensionality"), outcome, strict=True))
            spec, result = run_of(place, repeat, **values)
            runs.append((spec, RunResult(spec.key, "failed", error="Traceback") if outcome == "failed" else result))
    with Store(folder / "results.sqlite") as store:
        store_runs(store, plans_of(runs))
        store.describe_problems(FACTS)
        return Snapshot(Results(split_by_cell(*store.read())), store.problems(), REFERENCES).of_means


def filled(tables: list[Table]) -> list[Table]:
    return [table for table in tables if table.has_runs]


@pytest.fixture(scope="module")
def tables(tmp_path_factory) -> dict[str, Table]:
    return {table.id: table for table in build(tmp_path_factory.mktemp("tiny"))}


def ours(table: Table) -> list[str]:
    """Return the lines of a table's first grid in the terminal."""
    return render(table, form="terminal").split("\n\n")[1].splitlines()


def test_a_table_states_its_mean_differences_over_repeats(tables):
    # Ours 2.30 and 1.50, published 2.30 and 2.82; 1 and 1.5 components, published 1 and 1.2.
    said = "Ours − published, on average: error −0.66 (1 of 2 below), dimensionality +0.2 (0 of 2 below)."
    assert said in notes(tables["T1"])
    assert not any("on average" in note for name in ("T0", "N1") for note in notes(tables[name]))


def test_the_correlation_is_of_validation_and_test_errors(tables):
    # Validation errors 2, 1.8, 2.4, 3, test errors 1.6, 1.4, 1.9, 4.
    correlation = tables["P8"].cells["cancer1", "correlation"].ours["correlation"].mean
    assert correlation == pytest.approx(1.81 / math.sqrt(0.84 * 4.3275))


APPROXIMATED = [
    f"{family}{permutation}" for family in ("building", "flare", "hearta", "heartac") for permutation in "123"
]
MEASURES = "Training set|Validation set|Test set|ρ|Overfit|Total epochs|Relevant epochs"


# The guard pins the other tables. T0 lacks soybean1 on the slides, ours has it between horse1 and thyroid1.
@pytest.mark.parametrize(
    ("table", "header", "columns", "rows"),
    [
        ("T6", "Method", "τ = 5|τ = 10|τ = 15|τ = 20", [f"horse1, {part}%" for part in (100, 50, 25, 10)]),
        ("T7", "Method", "τ = 5|τ = 10|τ = 15|τ = 20", [f"horse1, {part}%" for part in (100, 50, 25, 10)]),
        ("P9", "Problem", MEASURES, APPROXIMATED),
        ("P11", "Problem", MEASURES, APPROXIMATED),
    ],
)
def test_rows_and_columns_are_those_of_the_sources(tables, table, header, columns, rows):
    assert tables[table].row_header == header
    assert list(tables[table].column_labels.values()) == columns.split("|")
    assert list(tables[table].row_labels) == list(rows)
    assert list(tables[table].cells) == [(row, column) for row in rows for column in tables[table].column_labels]


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [
        (-0.004, "+.2f", "0.00"),
        (0.004, "+.2f", "0.00"),
        (-0.0, ".1f", "0.0"),
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
    networks = [network(1.0, 1.0, 2.0 + k, 3.0) for k in range(3)]
    own = cell_of("cancer1", "all_features")
    runs = [run_of(own, repeat, **values) for repeat, values in enumerate(networks)]
    table = by_name(**plans_of(runs))["P8"]
    assert "ρ" in render(table, form="terminal")
    assert "*" not in render(table, form="terminal")
    late = by_name(**plans_of([*runs, run_of(own, 3)]))["P8"]
    assert "* 1 of the planned repeats are missing" in render(late, form="terminal")


def test_standard_deviations_are_shown_on_request(tables):
    lines = render(tables["T1"], form="terminal", sd=True).split("Published")[0].splitlines()
    (cancer1,) = [re.split(r"  +", line) for line in lines if line.startswith("cancer1")]
    assert cancer1[1] == "2.30 ± 0.42 (1.0 ± 0.0)"
    assert "±" not in render(tables["T1"], form="terminal")
    assert r"2.30 $\pm$ 0.42 (1.0 $\pm$ 0.0)" in render(tables["T1"], form="latex", sd=True)
    assert render(tables["P8"], form="terminal", sd=True) == render(tables["P8"], form="terminal")


def test_without_runs_every_table_is_published_numbers_alone():
    empty = tables_of([], {})
    assert [table.id for table in empty] == [layout.id for layout in layouts()]
    assert filled(empty) == []
    text = render(empty[1], form="terminal")
    assert "2.30 (1)" in text
    assert "Difference" not in text


MEASURED = {"retained_variance_percent": 91.5, "optimality_percent": 97.2, "reconstruction_error": 0.0123}


def run(
    method: str,
    repeat: int = 0,
    *,
    tau: float | None = 15.0,
    error: float = 2.0,
    network: Mapping[str, object] = PIVOT,
    changed: tuple[str, ...] = (),
    **parameters: object,
) -> StoredRun:
    """Return a run on cancer1."""
    given = {} if tau is None else {"tau": tau, "centre": True}
    given |= {"data_fraction": 100.0} if method == "dgha" else {}
    own = cell_of("cancer1", method, given | parameters, network)
    return run_of(own, repeat, changed, dimensionality=3, fit_time_ms=1.5, test_error_percent=error, **MEASURED)


def by_name(**runs: list[StoredRun]) -> dict[str, Table]:
    """Return the tables of runs by config."""
    facts = {fact.name: fact for fact in FACTS}
    return {table.id: table for table in Snapshot(results_by_config(runs), facts, REFERENCES).of_means}


class TestWhatFeaturesRetain:
    def test_each_method_has_a_row_with_error_dimensionality_and_loss(self):
        table = by_name(cancer1=[run("dgha"), run("ne_ppca")])["R"]
        assert ours(table)[2].split("  ")[0] == "cancer1 (9), DGHA, 100%, τ = 15"
        assert ours(table)[2].split()[-6:] == ["2.00", "3.0", "91.5", "97.2", "0.0123", "1.5"]
        assert len(table.row_labels) == 2

    def test_of_several_thresholds_it_shows_the_slides_own(self):
        table = by_name(cancer1=[run("dgha", tau=5.0), run("dgha"), run("ne_ppca", tau=5.0)])["R"]
        assert [label.rpartition(", ")[2] for label in table.row_labels] == ["τ = 15", "τ = 5"]


class TestVariants:
    """One config that asks for several settings of a method."""

    def test_variants_have_their_own_table(self):
        runs = [run("dgha", repeat, n_epochs=n) for n in (36, 3) for repeat in (0, 1)]
        found = by_name(ablation=runs)
        assert list(found["variants_ablation"].row_labels) == [
            "cancer1, DGHA, 100%, τ = 15, n_epochs = 36",
            "cancer1, DGHA, 100%, τ = 15, n_epochs = 3",
        ]
        assert found["T5"].cells["cancer1, 100%", "tau=15"].n == 0
        assert "R" not in found

    def test_another_config_that_asks_for_one_of_them_fills_the_slides_cell(self):
        one, other = run("dgha", n_epochs=36), run("dgha", n_epochs=3)
        found = by_name(cancer1=[one], ablation=[one, other])
        assert found["T5"].cells["cancer1, 100%", "tau=15"].n == 1
        assert len(found["variants_ablation"].row_labels) == 2

    def test_networks_of_different_tables_are_no_variants(self):
        runs = [run("all_features", tau=None, network=network) for network in (PIVOT, NO_SHORTCUTS)]
        found = by_name(mine=runs, **plans_of(runs))
        assert found.keys() & {"variants_mine", "X"} == set()
        assert all(found[table].has_runs for table in ("P8", "P10"))

    def test_a_single_setting_of_a_config_is_no_variant(self):
        one, other = run("gha", tau=None, learning_rate=0.1), run("gha", tau=None, learning_rate=0.2)
        found = by_name(mine=[one], ablation=[one, other])
        assert list(found["X"].row_labels) == ["cancer1 (9), GHA, learning_rate = 0.1"]
        assert len(found["variants_ablation"].row_labels) == 2


class TestTablesOfASingleConfig:
    def test_user_defined_and_registered_methods_share_a_table(self):
        halves = [run("reducers:Halves", tau=None, power=power) for power in (1.0, 2.0)]
        runs = [run("dgha", tau=10.0), run("pca", tau=10.0), *halves]
        found = by_name(own=runs)
        assert found["X"].title == "Results of own"
        rows = ["DGHA, 100%", "PCA", "Halves, power = 1", "Halves, power = 2"]
        assert list(found["X"].row_labels) == [f"cancer1 (9), {row}" for row in rows]
        assert len(found["R"].row_labels) == 4
        assert "variants_own" not in found

    def test_cells_that_published_tables_show_are_listed_beside_the_others(self):
        runs = [run("dgha"), run("reducers:Halves", tau=None)]
        found = by_name(cancer1=runs)
        assert found["T5"].has_runs
        assert list(found["X"].row_labels) == ["cancer1 (9), DGHA, 100%", "cancer1 (9), Halves"]
        assert not by_name(cancer1=runs[:1]).keys() & {"X"}

    def test_settings_that_make_a_label_long_are_numbered_and_explained_below(self):
        long = {"learning_rate": 0.0123456, "decay_epochs": 12, "head_start": 0.25}
        runs = [run("gha", tau=tau, changed=tuple(long), **long) for tau in (5.0, 10.0)] + [run("ne_ppca")]
        table = by_name(mine=runs)["X"]
        full = "decay_epochs = 12, head_start = 0.25, learning_rate = 0.0123456"
        assert table.row_labels[f"cancer1 (9), GHA, {full}"] == "cancer1 (9), GHA, setting 1"
        assert f"Setting 1: {full}." in render(table, form="markdown").splitlines()
        assert {record["row"] for record in records(table)} == table.row_labels.keys()


PLACE = "cancer1, 100%", "tau=15"


class TestOtherSettings:
    """Runs whose settings no config of the slides states."""

    def test_another_config_does_not_take_the_slides_place(self):
        slides, mine = run("dgha", error=1.0), run("dgha", error=9.0, learning_rate=0.5, changed=("learning_rate",))
        found = by_name(c2=[mine], cancer1=[slides])
        assert found["T5"].cells[PLACE].ours["test_error_percent"].mean == 1.0
        assert list(found["X"].row_labels) == ["cancer1 (9), DGHA, 100%, learning_rate = 0.5"]
        assert found["X"].cells[next(iter(found["X"].row_labels)), "tau=15"].ours["test_error_percent"].mean == 9.0

    def test_other_speedups_are_in_the_table_of_measures(self):
        own = cell_of("cancer1", "dgha_speedup", {"tau": 15.0}, {})
        table = by_name(mine=[run_of(own, speedup=3.0, share=0.25)])["M"]
        assert ours(table)[0].split("  ")[0] == "Problem, method"
        assert ours(table)[0].split()[-2:] == ["Speed-up", "share"]
        assert ours(table)[2].split()[-2:] == ["3.00", "0.25"]

    def test_a_list_fits_a_terminal_by_short_titles_that_are_explained_below(self):
        table = by_name(cancer1=[run("dgha"), run("ne_ppca")])["R"]
        terminal, markdown = render(table, form="terminal"), render(table, form="markdown")
        assert max(map(len, terminal.splitlines())) <= 100
        assert "Dim.    Var., %    Opt., %    Rec. error" in terminal
        assert "Opt.: optimality; Rec. error: reconstruction error." in terminal
        meaning = "Optimality is the retained variance relative to exact PCA with as many features."
        assert meaning in terminal
        assert meaning in markdown
        assert "Optimality, %" in markdown
        assert "Rec. error" not in markdown

    def test_a_threshold_that_is_no_number_has_a_column_after_the_others(self):
        runs = [run("pca", tau=tau) for tau in ("auto", 15.0, 2.5, None)]
        found = by_name(mine=runs)
        assert list(found["X"].column_labels.values()) == ["no τ", "τ = 2.5", "τ = 15", "τ = auto"]
        assert len(found["X"].cells) == 4


class TestSeveralSettings:
    """Two configs of the slides that do not agree on a cell."""

    def test_a_cell_of_several_settings_is_empty_and_refers_to_their_table(self):
        one, other = run("dgha", learning_rate=1.0), run("dgha", learning_rate=0.5)
        found = by_name(cancer1=[one], dgha_partial_data=[other])
        assert found["T5"].cells[PLACE].ours == {}
        assert found["T5"].cells[PLACE].listed_in == ("X",)
        for form in ("terminal", "markdown"):
            line = "No number is shown for cancer1, 100% at τ = 15, because several settings were run: see X."
            assert line in render(found["T5"], form=form).splitlines()
        assert f" {escaped(line, 'latex')}" in render(found["T5"], form="latex")
        assert list(found["X"].row_labels) == [
            "cancer1 (9), DGHA, 100%, learning_rate = 1",
            "cancer1 (9), DGHA, 100%, learning_rate = 0.5",
        ]

    def test_the_line_names_cells_row_by_row_and_every_table_once(self):
        runs = [run("ne_ppca", tau=tau, n_generations=n) for tau in (5.0, 10.0) for n in (3, 4)]
        found = by_name(cancer1=runs)
        text = "for cancer1 at τ = 5, τ = 10, because several settings were run: see variants_cancer1."
        assert text in render(found["T1"], form="terminal")


def test_measures_of_a_method_that_is_not_installed_are_left_out_of_other_columns():
    found = by_name(mine=[run_of(cell_of("cancer1", "spectral"), gap=1.0)])
    assert ours(found["X"])[2].split()[-1] == "–"


class TestCells:
    def test_a_number_that_is_missing_is_a_dash_in_its_place(self):
        own = TableCell(
            "a", "b", ("test_error_percent", "dimensionality"), "{} ({})", {"dimensionality": summarise([3.0])}
        )
        table = Table("T", "", "", "", {"a": "a"}, {"b": "b"}, {("a", "b"): own})
        assert ours(table)[2].endswith("  – (3.0)")

    def test_names_of_files_break_no_table(self):
        odd = r"a|b & 50% of_x#{1}^~$\.dt"
        own = TableCell("a", "b", ("dimensionality",), "{}", {"dimensionality": summarise([3.0])})
        table = Table("T", "", "", odd, {"a": odd}, {"b": odd}, {("a", "b"): own})
        rows = [line for line in render(table, form="markdown").splitlines() if line.startswith("|")]
        assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {3}
        (line, *_) = [line for line in render(table, form="latex").splitlines() if r"a\textbar{}b" in line]
        assert line.count("&") == line.count(r"\&") + 1
        assert not re.search(r"(?<!\\)[%#_$]", line)
        assert r"\textbackslash{}.dt" in line


def test_own_tables_have_a_column_for_each_error():
    squared = {"test_squared_error_percent": 3.0, "dimensionality": 2.0, "retained_variance_percent": 90.0}
    plain = {"test_error_percent": 5.0, "test_squared_error_percent": 4.0, "retained_variance_percent": 80.0}
    cells = {"own_numbers": squared, "own_classes": plain | {"dimensionality": 3.0}}
    runs = [
        run_of(cell_of(problem, "pca", {"tau": 15.0}), repeat, **values)
        for problem, values in cells.items()
        for repeat in (0, 1)
    ]
    results = results_of(runs)
    tables = {name: build() for name, build in OwnTables(results, {}, (), {}).builders().items()}
    shown = {
        (cell.row.split(",")[0], cell.column): [cell.ours[name].mean for name in cell.shows]
        for cell in tables["X"].cells.values()
    }
    assert shown == {("own_numbers", "tau=15, squared error"): [3.0, 2.0], ("own_classes", "tau=15"): [5.0, 3.0]}
    assert tables["X"].column_labels["tau=15, squared error"] == "τ = 15, squared error, %"
    retained = tables["R"]
    assert list(retained.column_labels.values())[:2] == ["Error, %", "Squared error, %"]
    means = {
        (row.split(",")[0], name): own.ours[name].mean
        for (row, name), own in retained.cells.items()
        if name in own.ours
    }
    assert {place: mean for place, mean in means.items() if "error" in place[1]} == {
        ("own_numbers", "test_squared_error_percent"): 3.0,
        ("own_classes", "test_error_percent"): 5.0,
    }
