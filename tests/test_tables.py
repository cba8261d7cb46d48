"""Tables of runs made by hand: layout, cell form, marks, and the settings that a table or a row is about."""

import re
from collections.abc import Mapping
from typing import Any

import pandas as pd
import pytest
from full_results import REFERENCES, layouts, plans_of
from stored_runs import PIVOT, cell_of, results_by_config, run_of

from pppca_bench.methods.lookup import title_of
from pppca_bench.pages.document import printed, render_documents
from pppca_bench.pages.index_page import not_run
from pppca_bench.pages.means import document_of
from pppca_bench.pages.snapshot import Snapshot
from pppca_bench.references.layout import Layout
from pppca_bench.runs import Label, ProblemFacts, StoredRun
from pppca_bench.verdicts.judge import judge
from pppca_bench.verdicts.numbers import frame_of, has_runs, trimmed

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
    **parameters: object,
) -> StoredRun:
    """Return a run on cancer1."""
    given = parameters | ({} if tau is None else {"tau": tau})
    fixed = {"data_fraction": 100.0, "centre": True} if method == "dgha" else {"centre": True}
    own = cell_of("cancer1", method, fixed | given, network)
    label = Label(title_of(method), tuple(given.items()))
    values = MEASURED | {"dimensionality": size, "test_error_percent": error}
    return run_of(own, repeat, label, **values)


def snapshot_of(**runs: list[StoredRun]) -> Snapshot:
    """Return the tables of runs by config."""
    return Snapshot(results_by_config(runs), FACTS, REFERENCES)


def text(found: Snapshot, table: str, **options: Any) -> str:
    """Return a table as text in the terminal."""
    return render_documents([found.table(table, **options)], "terminal")


def ours(found: Snapshot, table: str) -> list[str]:
    """Return the lines of a table's first grid in the terminal."""
    return text(found, table).split("\n\n")[1].splitlines()


def labels_of(found: Snapshot, table: str) -> list[str]:
    """Return the labels of a table's rows."""
    return [row.label for row in found.means(table)[0].rows]


def columns_of(found: Snapshot, table: str) -> dict[str, str]:
    """Return the labels of a table's columns by key."""
    return {column.key: column.label for column in found.means(table)[0].columns}


def mean_errors(found: Snapshot, table: str) -> dict[tuple[str, str], float]:
    """Return our mean of each error that a table prints, by row and column."""
    numbers = found.means(table)[1].query("quantity.str.endswith('error_percent') and n > 0")
    means: dict[tuple[str, str], float] = numbers.set_index(["row", "column"])["mean"].to_dict()
    return means


def test_a_table_states_its_mean_differences_and_on_request_standard_deviations():
    runs = [
        run("ne_ppca", 0, tau=5.0, error=2.0, size=1),
        run("ne_ppca", 1, tau=5.0, error=2.6, size=1),
    ]
    runs += [run("ne_ppca", 0, tau=10.0, error=1.0, size=1), run("ne_ppca", 1, tau=10.0, size=2)]
    found = snapshot_of(cancer1=runs)
    # Ours 2.30 and 1.50, published 2.30 and 2.82; 1 and 1.5 components, published 1 and 1.2.
    said = "Ours − published, on average: error −0.66 (1 of 2 below), dimensionality +0.2 (0 of 2 below)."
    assert said in found.table("T1").notes
    assert not any("on average" in note for note in found.table("T0").notes)
    lines = text(found, "T1", sd=True).split("Published")[0].splitlines()
    (cancer1,) = [re.split(r"  +", line) for line in lines if line.startswith("cancer1")]
    assert cancer1[1] == "2.30 ± 0.42 (1.0 ± 0.0)"
    assert "±" not in text(found, "T1")


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
    complete = text(snapshot_of(proben1_no_shortcuts=runs, proben1_pivot=runs), "P8")
    assert "ρ" in complete
    assert "*" not in complete
    late = text(snapshot_of(proben1_pivot=[*runs, run_of(own, 3)]), "P8")
    assert "* 1 of the planned repeats are missing" in late


@pytest.mark.parametrize("table", ["X", "R"])
def test_a_table_of_our_own_counts_the_missing_repeats_of_each_setting_once(table):
    done = [run(method) for method in ("pca", "dgha")]
    late = [run_of(spec.cell, 1, spec.label) for spec, _ in done]
    found = snapshot_of(mine=done + late)
    assert "* 2 of the planned repeats are missing" in text(found, table)
    (line,) = not_run(found, [table], [])
    assert line.endswith(": 2 repeats, in 2 cells")


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


def rows_of(found: Snapshot, table: str) -> list[str]:
    """Return the labels of a table's rows after the problem."""
    return [label.partition(", ")[2] for label in labels_of(found, table)]


VARIANTS = [run("dgha", repeat, n_epochs=n) for n in (36, 3) for repeat in (0, 1)]


@pytest.mark.parametrize(("config", "n"), [({}, 0), ({"cancer1": VARIANTS[:2]}, 2)])
def test_variants_have_their_own_table_even_if_one_of_them_fills_the_slides_cell(config, n):
    found = snapshot_of(**config, ablation=VARIANTS)
    expected = [f"DGHA, n_epochs = {n}, τ = 15" for n in (36, 3)]
    assert rows_of(found, "variants_ablation") == expected
    assert found.means("T5")[1].set_index(["row", "column"])["n"][PLACE].max() == n
    assert found.has_runs("R") == bool(config)


def test_networks_of_different_tables_are_no_variants():
    runs = [run("all_features", tau=None, network=network) for network in (PIVOT, NO_SHORTCUTS)]
    found = snapshot_of(mine=runs, **plans_of(runs))
    assert {*found.with_runs} & {"variants_mine", "X"} == set()
    assert {*found.with_runs} >= {"P8", "P10"}


def test_a_single_setting_of_a_config_is_no_variant():
    one, other = (run("gha", tau=None, learning_rate=rate) for rate in (0.1, 0.2))
    found = snapshot_of(mine=[one], ablation=[one, other])
    assert rows_of(found, "X") == ["GHA, learning_rate = 0.1"]
    assert len(rows_of(found, "variants_ablation")) == 2


class TestTablesOfASingleConfig:
    def test_user_defined_and_registered_methods_share_a_table(self):
        halves = [run("reducers:Halves", tau=None, power=power) for power in (1.0, 2.0)]
        found = snapshot_of(own=[run("dgha", tau=10.0), run("pca", tau=10.0), *halves])
        expected = ["DGHA", "PCA", "Halves, power = 1", "Halves, power = 2"]
        assert (found.table("X").title, rows_of(found, "X")) == ("Results of own", expected)
        assert len(rows_of(found, "R")) == 4
        assert "variants_own" not in found.with_runs

    def test_cells_that_published_tables_show_are_listed_beside_the_others(self):
        runs = [run("dgha"), run("reducers:Halves", tau=None)]
        found = snapshot_of(cancer1=runs)
        assert found.has_runs("T5")
        assert rows_of(found, "X") == ["DGHA", "Halves"]
        assert not snapshot_of(cancer1=runs[:1]).has_runs("X")

    def test_a_threshold_that_is_no_number_has_a_column_after_the_others(self):
        found = snapshot_of(mine=[run("pca", tau=tau) for tau in ("auto", 15.0, 2.5, None)])
        assert list(columns_of(found, "X").values()) == ["no τ", "τ = 2.5", "τ = 15", "τ = auto"]
        assert len(mean_errors(found, "X")) == 4

    def test_measures_of_a_method_that_is_not_installed_are_left_out_of_other_columns(self):
        found = snapshot_of(mine=[run_of(cell_of("cancer1", "spectral"), gap=1.0)])
        assert ours(found, "X")[2].split()[-1] == "–"

    def test_each_error_has_a_column(self):
        squared = {"test_squared_error_percent": 3.0, "retained_variance_percent": 90.0}
        both = {"test_error_percent": 5.0, **squared}
        cells = {"numbers": squared, "classes": both}
        runs = [run_of(cell_of(name, "pca", {"tau": 15.0}), **own) for name, own in cells.items()]
        found = snapshot_of(mine=runs)
        assert columns_of(found, "X")["tau=15, squared error"] == "τ = 15, squared error, %"
        assert list(columns_of(found, "R").values())[:2] == ["Error, %", "Squared error, %"]
        assert mean_errors(found, "X") == {
            ("numbers, PCA", "tau=15, squared error"): 3.0,
            ("classes, PCA", "tau=15"): 5.0,
        }
        assert mean_errors(found, "R") == {
            ("numbers, PCA, τ = 15", "test_squared_error_percent"): 3.0,
            ("classes, PCA, τ = 15", "test_error_percent"): 5.0,
        }


class TestOtherSettings:
    def test_another_config_does_not_take_the_slides_place(self):
        slides = run("dgha", error=1.0)
        mine = run("dgha", error=9.0, learning_rate=0.5)
        found = snapshot_of(c2=[mine], cancer1=[slides])
        assert mean_errors(found, "T5") == {PLACE: 1.0}
        row = "cancer1 (9), DGHA, learning_rate = 0.5"
        assert mean_errors(found, "X") == {(row, "tau=15"): 9.0}

    def test_other_speedups_are_in_the_table_of_measures(self):
        own = cell_of("cancer1", "dgha_speedup", {"tau": 15.0}, {})
        runs = [run_of(own, speedup_operations=3.0, share=0.25)]
        header, _, row = ours(snapshot_of(mine=runs), "M")
        assert header.split()[-4:] == ["Speed-up", "in", "multiply-adds", "share"]
        assert row.split()[-2:] == ["3.00", "0.25"]

    def test_a_cell_of_several_settings_is_empty_and_refers_to_their_table(self):
        one, other = run("dgha", learning_rate=1.0), run("dgha", learning_rate=0.5)
        found = snapshot_of(cancer1=[one], dgha_partial_data=[other])
        assert found.means("T5")[1]["n"].max() == 0
        line = "No number is shown for cancer1, 100% at τ = 15, because several settings were run: see X."
        assert line in text(found, "T5").splitlines()
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


def layout_of(*columns: str, label: str = "a") -> Layout:
    """Return the layout of a table of dimensionalities with a row."""
    return Layout(
        id="T",
        title="t",
        place="page 1",
        row_header=label,
        rows=({"key": "a", "label": label},),
        columns=tuple({"key": column, "label": label} for column in columns),
        shows=("dimensionality",),
    )


def numbers_of(**columns: Mapping[str, object]) -> pd.DataFrame:
    """Return the printed numbers of a table with a row, given the facts of each column."""
    place = {"table": "T", "row": "a", "quantity": "dimensionality", "shown": "cell", "form": "{}"}
    return judge(frame_of([place | {"column": name, **own} for name, own in columns.items()]))


CITED = {"printed": "4", "published": 4.0, "half_unit": 0.5}
RUN = CITED | {"fillable": True, "mean": 3.0, "n": 1}


def test_numbers_that_are_only_cited_are_printed_alone_or_beside_runs():
    numbers = numbers_of(b=CITED)
    assert trimmed(numbers).equals(numbers)
    document = document_of(layout_of("b"), numbers)
    csv = render_documents([document], "csv").splitlines()
    assert csv[1].startswith("T,a,b,dimensionality,4.0,")
    assert "Published: page 1." in render_documents([document], "terminal")
    both = numbers_of(b=CITED, c=RUN)
    assert trimmed(both).equals(both)
    unrun = numbers_of(b=CITED, c=CITED | {"fillable": True})
    assert (has_runs(unrun), len(trimmed(unrun))) == (False, 0)


def test_names_of_files_break_no_table():
    layout = layout_of("b", label=r"a|b & 50% of_x#{1}^~$\.dt")
    document = document_of(layout, numbers_of(b=RUN))
    markdown = render_documents([document], "markdown").splitlines()
    rows = [line for line in markdown if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {3}
    latex = render_documents([document], "latex").splitlines()
    line = next(line for line in latex if r"a\textbar{}b" in line)
    assert line.count("&") == line.count(r"\&") + 1
    assert not re.search(r"(?<!\\)[%#_$]", line)
    assert r"\textbackslash{}.dt" in line
