"""Documents: formats, order among the tables, scores, and the spread of test errors."""

import json

import pytest
from report_runs import FACTS, cell_of, network_runs, search_runs
from stored_runs import results_by_config, run_of

from pppca_bench.paper import paper
from pppca_bench.paper.report_documents import DISTRIBUTION_CONFIGS, distribution_document
from pppca_bench.references.reference import own_references
from pppca_bench.reporting.comparison import render_scores, scores
from pppca_bench.reporting.document import Agreement, Document
from pppca_bench.reporting.index_page import not_run
from pppca_bench.reporting.snapshot import Snapshot
from pppca_bench.reporting.table_text import render

REFERENCES = own_references()
PROBLEMS = ["cancer1", "building1"]
RUNS = {
    "proben1_search": list(search_runs(PROBLEMS)),
    "proben1_linear": list(network_runs("proben1_linear", PROBLEMS, 10, seed=1)),
    "proben1_pivot": list(network_runs("proben1_pivot", PROBLEMS, seed=2)),
    "proben1_no_shortcuts": list(network_runs("proben1_no_shortcuts", PROBLEMS, seed=3)),
}
ODD = Document(
    "Z1",
    "Odd & even",
    "",
    ("Name", "a|b, %"),
    (("x_1", "−2"), ("y", "–")),
    ("A note of 5 %.",),
    ({"row": "x_1", "a": 2, "b": None}, {"row": "y", "a": None, "b": 0.5}),
    has_runs=True,
)


def tables(runs=RUNS) -> Snapshot:
    return Snapshot(results_by_config(runs), FACTS, REFERENCES, paper)


class TestText:
    def test_terminal_text_has_a_heading_rows_and_notes(self):
        text = render(ODD, form="terminal")
        assert text.startswith("Z1. Odd & even\n==============\n\nName")
        assert text.endswith("y              –\n\nA note of 5 %.\n")

    def test_csv_and_json_hold_plain_records(self):
        assert render(ODD, form="csv") == "table,row,a,b\nZ1,x_1,2,\nZ1,y,,0.5\n"
        assert json.loads(render(ODD, form="json"))[1] == {"table": "Z1", "row": "y", "a": None, "b": 0.5}

    def test_a_column_is_a_template_of_a_record_whose_marks_are_not_exported(self):
        records = [{"row": "a", "low": -1.04, "_mark": "*"}, {"row": "b", "low": None, "_mark": ""}]
        made = Document.of_records("Z2", "", [("Name", "{row}"), ("Low", "{low:+.1f} %{_mark}")], records)
        assert (made.headers, made.rows) == (["Name", "Low"], [("a", "−1.0 %*"), ("b", "–")])
        assert made.records == [{"row": "a", "low": -1.04}, {"row": "b", "low": None}]

    def test_missing_runs_are_noted(self):
        late = ODD._replace(n_missing=3)
        assert "* 3 of the planned runs are missing: `pppca run` adds them." in render(late, form="terminal")


class TestAgreements:
    @staticmethod
    def score(agreement):
        (score,) = scores([], [Document("a", "", "", (), (), agreement=agreement)])
        return score

    def test_an_agreement_is_a_score_of_the_cells_that_were_run(self):
        score = self.score(Agreement("same", (True, None, False), 0.5))
        assert (score.n_cells, score.n_run, score.share, score.share_target, score.met) == (3, 2, 0.5, 0.5, True)

    def test_a_share_below_its_target_is_not_met_and_without_runs_undefined(self):
        assert self.score(Agreement("x", [True] * 35 + [False] * 7, 0.9)).met is False
        assert self.score(Agreement("y", [None] * 42, 1.0)).met is None
        sheets = [Document("a", "", "", (), (), agreement=Agreement("y", [None]))]
        assert json.loads(render_scores([], "json", sheets))[0]["share"] is None

    def test_every_table_of_texts_of_the_report_is_scored(self):
        assert [score.name for score in scores([], tables().of_texts)] == [
            "P5 + P6 same best network",
            "P7 same pivot",
            "P12 same verdict",
        ]


class TestSpread:
    def test_each_config_has_a_table_with_a_row_for_each_problem(self):
        sheets = [distribution_document(config, results_by_config(RUNS)) for config in DISTRIBUTION_CONFIGS]
        assert [sheet.id for sheet in sheets] == ["D_proben1_linear", "D_proben1_pivot", "D_proben1_no_shortcuts"]
        assert [[row[0] for row in sheet.rows] for sheet in sheets] == [PROBLEMS] * 3
        assert sheets[0].rows[0][1] == "10"
        assert sheets[0].rows[1][-6:] == ("–",) * 6  # building1 has no classes

    def test_the_best_run_is_that_of_the_least_validation_error(self):
        cell = cell_of("cancer1", ())
        runs = [
            run_of(cell, k, validation_squared_error_percent=v, test_squared_error_percent=t, test_error_percent=e)
            for k, (v, t, e) in enumerate([(3.0, 1.0, 5.0), (2.0, 8.0, 9.0), (4.0, 2.0, 6.0), (2.0, 7.0, 4.0)])
        ]
        record = distribution_document("proben1_linear", results_by_config({"proben1_linear": runs})).records[0]
        assert (record["test_squared_error_percent_best"], record["test_error_percent_best"]) == (8.0, 9.0)
        assert record["test_error_percent_minimum"] == 4.0

    def test_without_validation_errors_no_run_is_the_best(self):
        runs = [run_of(cell_of("cancer1", ()), k, test_error_percent=5.0) for k in range(2)]
        record = distribution_document("proben1_linear", results_by_config({"proben1_linear": runs})).records[0]
        assert (record["test_error_percent_best"], record["test_error_percent_median"]) == (None, 5.0)


class TestRegistry:
    @pytest.mark.parametrize("identifier", ["T5", "P12", "X"])
    def test_a_table_is_built_alone_and_once(self, identifier, monkeypatch):
        registry, built = tables(), []
        for name, builder in registry.builders.items():
            counted = lambda name=name, builder=builder: built.append(name) or builder()  # noqa: E731
            monkeypatch.setitem(registry.builders, name, counted)
        assert registry[identifier] is registry[identifier]
        assert registry[identifier].id == identifier
        assert set(built) == {identifier}

    def test_an_ambiguous_cell_names_the_tables_of_its_settings_without_building_them(self):
        runs = [
            run_of(cell_of("cancer1", "pivot", output), 0, test_error_percent=1.0) for output in ("linear", "softsign")
        ]
        registry = tables({"proben1_pivot": runs})
        assert registry["P8"].cells["cancer1", "test"].listed_in == ("D_proben1_pivot",)

    def test_tables_of_texts_come_after_the_references_tables_and_before_our_own(self):
        other = run_of(cell_of("cancer1", (5,)), test_error_percent=1.0)
        names = [name for name, table in tables({**RUNS, "other": [other]}).items() if table.has_runs]
        first = names.index("P5")
        d = ["D_proben1_linear", "D_proben1_pivot", "D_proben1_no_shortcuts"]
        assert names[first : first + 7] == ["P5", "P6", "P7", "P12", *d]
        assert {"T0", "P3", "P4", "P8", "P9", "P10", "P11"} <= set(names[:first])
        assert names[first + 7 :] == ["verdict_shares", "X"]

    def test_runs_of_the_search_are_in_no_list_of_settings(self):
        shown = tables({"proben1_search": RUNS["proben1_search"]})
        assert [name for name, table in shown.items() if table.has_runs] == ["T0", "P5", "P6", "P7"]

    def test_one_csv_holds_tables_of_means_and_of_texts(self):
        header, *lines = render(*tables().values(), form="csv").splitlines()
        assert {"P3", "P5", "P12"} <= {line.partition(",")[0] for line in lines}
        assert {"mean", "published_network", "n_planned"} <= set(header.split(","))

    def test_what_was_not_run_of_them_is_named(self):
        lines = not_run(tables({}).of_texts, [])
        assert "P12. t-test comparison of pivot and no-shortcut results: all of it" in lines
        assert not any(line.startswith("D_") for line in lines)
