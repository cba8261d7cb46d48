"""Sheets: their formats, their place among the tables, scores, files and index, and the spread of test errors."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
from command_line import pppca
from report_runs import FACTS, cell_of, network_runs, results_by_config, run_of, search_runs

from pppca_bench.references.reference import own_references
from pppca_bench.reporting.comparison import render_scores, scores
from pppca_bench.reporting.distributions import Distribution, describe_spread, distribution_sheets
from pppca_bench.reporting.document import rendered, together_as_csv
from pppca_bench.reporting.index_page import not_run, render_index
from pppca_bench.reporting.sheet import Agreement, Sheet, joined_agreements
from pppca_bench.reporting.sheets import build_sheets, in_order
from pppca_bench.reporting.tables import build_tables
from pppca_bench.runs import Plan
from pppca_bench.store.database import Store

REFERENCES = own_references()
PROBLEMS = ["cancer1", "building1"]
RUNS = {
    "proben1_search": list(search_runs(PROBLEMS)),
    "proben1_linear": list(network_runs("proben1_linear", PROBLEMS, 10, seed=1)),
    "proben1_pivot": list(network_runs("proben1_pivot", PROBLEMS, seed=2)),
    "proben1_no_shortcuts": list(network_runs("proben1_no_shortcuts", PROBLEMS, seed=3)),
}
ODD = Sheet(
    "Z1",
    "Odd & even",
    "",
    ("Name", "a|b, %"),
    (("x_1", "−2"), ("y", "–")),
    ("A note of 5 %.",),
    ({"row": "x_1", "a": 2, "b": None}, {"row": "y", "a": None, "b": 0.5}),
    shown=(cell_of("cancer1", ()),),
)


@pytest.fixture(scope="module")
def stored(tmp_path_factory) -> Path:
    """Return a results folder with the made-up runs of the report's experiments."""
    folder = tmp_path_factory.mktemp("stored")
    with Store(folder / "results.sqlite") as store:
        store.describe_problems([FACTS[problem] for problem in PROBLEMS])
        for name, runs in RUNS.items():
            store.plan(Plan(name, "", "", tuple(spec for spec, _ in runs)))
            store.record([result for _, result in runs], "{}")
    return folder


class TestText:
    def test_terminal_text_has_a_heading_rows_and_notes(self):
        text = rendered(ODD, "terminal")
        assert text.startswith("Z1. Odd & even\n==============\n\nName")
        assert text.endswith("y              –\n\nA note of 5 %.\n")

    def test_markdown_and_latex_are_escaped_as_tables_are(self):
        assert r"a\|b, %" in rendered(ODD, "markdown")
        latex = rendered(ODD, "latex")
        assert r"x\_1" in latex
        assert r"a\textbar{}b, \%" in latex
        assert r"\caption[Odd \& even]{Odd \& even. A note of 5 \%.}" in latex

    def test_csv_and_json_hold_plain_records(self):
        assert rendered(ODD, "csv") == "table,row,a,b\nZ1,x_1,2,\nZ1,y,,0.5\n"
        assert json.loads(rendered(ODD, "json"))[1] == {"table": "Z1", "row": "y", "a": None, "b": 0.5}

    def test_runs_that_are_not_in_are_told(self):
        late = Sheet(**{name: getattr(ODD, name) for name in ("id", "title", "place", "headers", "rows")}, n_missing=3)
        assert "* 3 of the runs asked for are not in: `pppca run` adds them." in rendered(late, "terminal")


class TestAgreements:
    def test_those_of_one_name_are_one_score(self):
        first, second = Agreement("same", 30, 3, 1, 0.5), Agreement("same", 12, 1, 1)
        sheets = [Sheet("a", "", "", (), (), agreements=(one,)) for one in (first, second)]
        assert joined_agreements(sheets) == [Agreement("same", 42, 4, 2, 0.5)]
        (score,) = scores([], sheets)
        assert (score.n_cells, score.n_run, score.share, score.share_target, score.met) == (42, 4, 0.5, 0.5, True)

    def test_a_share_below_its_target_is_not_met_and_one_without_runs_says_nothing(self):
        sheets = [
            Sheet("a", "", "", (), (), agreements=(Agreement("x", 42, 42, 35, 36 / 42), Agreement("y", 42, 0, 0, 1.0)))
        ]
        assert [score.met for score in scores([], sheets)] == [False, None]
        assert json.loads(render_scores([], "json", sheets))[1]["share"] is None

    def test_36_of_42_is_enough(self):
        sheets = [Sheet("a", "", "", (), (), agreements=(Agreement("x", 42, 42, 36, 36 / 42),))]
        assert scores([], sheets)[0].met

    def test_every_sheet_of_the_report_is_scored(self):
        names = [one.name for one in joined_agreements(build_sheets(results_by_config(RUNS), FACTS, REFERENCES))]
        assert names == ["P5 + P6 same best network", "P7 same pivot", "P12 same verdict"]


class TestSpread:
    def test_quartiles_and_the_best_run_by_hand(self):
        found = describe_spread([4.0, 1.0, 3.0, 2.0, 5.0], [9.0, 9.0, 1.0, 2.0, 1.0])
        assert found == Distribution(3.0, 1.0, 2.0, 3.0, 4.0, 5.0)

    def test_a_single_run_is_all_of_them(self):
        assert describe_spread([4.0], [1.0]) == Distribution(4.0, 4.0, 4.0, 4.0, 4.0, 4.0)

    def test_without_validation_errors_no_run_is_the_best(self):
        assert describe_spread([4.0, 2.0]).best is None

    def test_each_config_has_a_sheet_with_a_row_for_each_problem(self):
        sheets = distribution_sheets(results_by_config(RUNS))
        assert [sheet.id for sheet in sheets] == ["D_proben1_linear", "D_proben1_pivot", "D_proben1_no_shortcuts"]
        assert [[row[0] for row in sheet.rows] for sheet in sheets] == [PROBLEMS] * 3
        assert sheets[0].rows[0][1] == "10"
        assert sheets[0].rows[1][-6:] == ("–",) * 6  # building1 has no classes

    def test_the_best_run_is_that_of_the_least_validation_error(self):
        cell = cell_of("cancer1", ())
        runs = [
            run_of(cell, k, validation_squared_error_percent=v, test_squared_error_percent=t, test_error_percent=e)
            for k, (v, t, e) in enumerate([(3.0, 1.0, 5.0), (2.0, 8.0, 9.0), (4.0, 2.0, 6.0)])
        ]
        record = distribution_sheets(results_by_config({"proben1_linear": runs}))[0].records[0]
        assert (record["test_squared_error_percent_best"], record["test_error_percent_best"]) == (8.0, 9.0)
        assert record["test_error_percent_minimum"] == 5.0


class TestPlaces:
    def test_sheets_stand_after_the_references_tables_and_before_ours(self):
        other = run_of(cell_of("cancer1", (5,)), 0, "other", test_error_percent=1.0)
        results = results_by_config({**RUNS, "other": [other]})
        sheets = build_sheets(results, FACTS, REFERENCES)
        names = [one.id for one in in_order(build_tables(results, FACTS, own_references(), sheets=sheets), sheets)]
        first = names.index("P5")
        d = ["D_proben1_linear", "D_proben1_pivot", "D_proben1_no_shortcuts"]
        assert names[first : first + 7] == ["P5", "P6", "P7", "P12", *d]
        assert {"T0", "P3", "P4", "P8", "P9", "P10", "P11"} <= set(names[:first])
        assert names[first + 7 :] == ["X"]

    def test_the_search_stands_in_no_list_of_settings(self):
        results = results_by_config({"proben1_search": RUNS["proben1_search"]})
        sheets = build_sheets(results, FACTS, REFERENCES)
        shown = {one.id for one in build_tables(results, FACTS, own_references(), sheets=sheets) if one.was_run}
        assert shown <= {"T0"}
        assert "variants_proben1_search" in {one.id for one in build_tables(results, FACTS, own_references())}

    def test_one_csv_holds_tables_and_sheets(self):
        results = results_by_config(RUNS)
        sheets = build_sheets(results, FACTS, REFERENCES)
        tables = build_tables(results, FACTS, own_references(), sheets=sheets)
        rows = list(csv.DictReader(io.StringIO(together_as_csv(in_order(tables, sheets)))))
        assert {"P3", "P5", "P12"} <= {row["table"] for row in rows}
        assert {None} == {row.get(None) for row in rows}

    def test_what_was_not_run_of_them_is_named(self):
        lines = not_run([], [], build_sheets(results_by_config({}), FACTS, REFERENCES))
        assert "P12. t-test comparison of pivot and no-shortcut results: all of it" in lines
        assert not any(line.startswith("D_") for line in lines)

    def test_they_stand_in_the_index(self):
        index = render_index([], [], [], [ODD])
        assert re.findall(r"\]\(#([^)]+)\)", index) == ["Z1"]
        assert "[CSV](tables/Z1.csv)" in index
        assert rendered(ODD, "markdown").rstrip() in index


class TestCommands:
    def test_tables_prints_them_in_every_format(self, stored):
        text = pppca("tables", "--results", stored)
        assert text.exit_code == 0, text.output
        assert "P12. t-test comparison" in text.stdout
        assert "## P7. Pivot architectures" in pppca("tables", "--results", stored, "--format", "markdown").stdout
        assert "% P5. " in pppca("tables", "--results", stored, "--format", "latex").stdout
        tables = {row["table"] for row in json.loads(pppca("tables", "--results", stored, "--format", "json").stdout)}
        assert {"P3", "P5", "P6", "P7", "P12", "D_proben1_pivot"} <= tables
        rows = csv.DictReader(io.StringIO(pppca("tables", "--results", stored, "--format", "csv").stdout))
        assert {row["table"] for row in rows} == tables

    def test_tables_writes_a_file_for_each(self, stored, tmp_path):
        assert pppca("tables", "--results", stored, "--format", "csv", "--out", tmp_path).exit_code == 0
        assert {"P5.csv", "P12.csv", "D_proben1_linear.csv"} <= {path.name for path in tmp_path.iterdir()}

    def test_of_one_config_only_its_sheets_are_printed(self, stored):
        text = pppca("tables", "proben1_search", "--results", stored).stdout
        assert re.findall(r"^([A-Z]\w*)\. ", text, re.MULTILINE) == ["T0", "P5", "P6", "P7"]

    def test_scores_have_a_row_for_each_agreement(self, stored):
        result = pppca("compare", "--scores", "--results", stored, "--format", "json")
        assert result.exit_code == 0, result.output
        found = {score["name"]: score for score in json.loads(result.stdout)}
        assert (found["P12 same verdict"]["n_run"], found["P7 same pivot"]["share_target"]) == (2, None)
