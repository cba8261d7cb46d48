"""Tables of runs made by hand: layout, cell form, marks, and the settings that a table or a row is about."""

import re
from collections.abc import Mapping
from types import SimpleNamespace

import pandas as pd
import pytest
from runs_on_cancer1 import columns_of, mean_errors, ours, rows_of, run, snapshot_of, text
from stored_runs import cell_of, run_of

from pppca_bench.pages.cell_texts import number_text
from pppca_bench.pages.document import printed, render_documents
from pppca_bench.pages.index_page import not_run
from pppca_bench.pages.means import document_of
from pppca_bench.references.layout import Layout
from pppca_bench.verdicts.judge import judge
from pppca_bench.verdicts.numbers import frame_of, has_runs, trimmed


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


@pytest.mark.parametrize("table", ["X", "R"])
def test_a_table_of_our_own_counts_the_missing_repeats_of_each_setting_once(table):
    done = [run(method) for method in ("pca", "dgha")]
    late = [run_of(spec.cell, 1, spec.label) for spec, _ in done]
    found = snapshot_of(mine=done + late)
    assert "* 2 of the planned repeats are missing" in text(found, table)
    (line,) = not_run(found, [table], [])
    assert line.endswith(": 2 repeats, in 2 cells")


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

    def test_a_threshold_that_is_no_number_has_a_column_after_the_others(self):
        found = snapshot_of(mine=[run("pca", tau=tau) for tau in ("auto", 15.0, 2.5, None)])
        assert list(columns_of(found, "X").values()) == ["no τ", "τ = 2.5", "τ = 15", "τ = auto"]
        assert len(mean_errors(found, "X")) == 4

    def test_measures_without_errors_are_in_the_table_of_measures_whatever_the_method(self):
        found = snapshot_of(mine=[run_of(cell_of("cancer1", "spectral"), gap=1.0)])
        assert ours(found, "M")[2].split()[-1] == "1"
        assert not found.has_runs("X")

    def test_each_error_has_a_column(self):
        squared = {"test_squared_error_percent": 3.0, "retained_variance_percent": 90.0}
        both = {"test_error_percent": 5.0, **squared}
        cells = {"numbers": squared, "classes": both}
        runs = [run_of(cell_of(name, "pca", {"tau": 15.0}), **own) for name, own in cells.items()]
        found = snapshot_of(mine=runs)
        assert columns_of(found, "X")["tau=15, squared error"] == "τ = 15, squared error, %"
        assert list(columns_of(found, "R").values())[:2] == [
            "Test error, %",
            "Test squared error, %",
        ]
        assert mean_errors(found, "X") == {
            ("numbers, PCA", "tau=15, squared error"): 3.0,
            ("classes, PCA", "tau=15"): 5.0,
        }
        assert mean_errors(found, "R") == {
            ("numbers, PCA, τ = 15", "test_squared_error_percent"): 3.0,
            ("classes, PCA, τ = 15", "test_error_percent"): 5.0,
        }


def test_other_speedups_are_in_the_table_of_measures():
    own = cell_of("cancer1", "dgha_speedup", {"tau": 15.0}, {})
    runs = [run_of(own, speedup_operations=3.0, share=0.25)]
    header, _, row = ours(snapshot_of(mine=runs), "M")
    assert header.split()[-4:] == ["Speed-up", "in", "multiply-adds", "share"]
    assert row.split()[-2:] == ["3.00", "0.25"]


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


@pytest.mark.parametrize(
    ("form", "published", "text"),
    [("", "3", "2.35"), ("", "2.3461", "2.3456"), (".1f", "2.3461", "2.3"), (".3g", "2", "2.35")],
)
def test_a_number_has_its_own_format_or_the_decimals_of_the_published_number(form, published, text):
    number = SimpleNamespace(quantity="test_error_percent", format=form, printed=published)
    assert number_text(number, 2.34561) == text
