"""Documents: formats, scores, the spread of test errors, and the registry of tables."""

import json

import pytest
from report_runs import FACTS, cell_of, network_runs, search_runs
from stored_runs import results_by_config, run_of

from pppca_bench.paper.proben1_report import distribution_document
from pppca_bench.references.reference import own_references
from pppca_bench.reporting.comparison import render_scores, scores
from pppca_bench.reporting.document import Agreement, Document
from pppca_bench.reporting.snapshot import Snapshot
from pppca_bench.reporting.table_text import render_tables

RECORDS = ({"row": "x_1", "a": 2, "b": None}, {"row": "y", "a": None, "b": 0.5})
ROWS = (("x_1", "−2"), ("y", "–"))
ODD = Document(
    "Z1", "Odd & even", "", ("Name", "a|b, %"), ROWS, ("A note of 5 %.",), RECORDS, n_missing=3
)


def tables(**runs) -> Snapshot:
    return Snapshot(results_by_config(runs), FACTS, own_references())


class TestText:
    def test_terminal_text_has_a_heading_rows_and_notes(self):
        text = render_tables(ODD, form="terminal")
        assert text.startswith("Z1. Odd & even\n==============\n\nName")
        late = "* 3 of the planned runs are missing: `pppca run` adds them.\n"
        assert text.endswith(f"y              –\n\nA note of 5 %.\n\n{late}")

    def test_csv_and_json_hold_the_records_of_all_tables(self):
        other = ODD._replace(id="Z2", records=({"row": "x", "c": -0.1},))
        csv = "table,row,a,b,c\nZ1,x_1,2,,\nZ1,y,,0.5,\nZ2,x,,,-0.1\n"
        assert render_tables(ODD, other, form="csv") == csv
        expected = {"table": "Z1", "row": "y", "a": None, "b": 0.5}
        assert json.loads(render_tables(ODD, form="json"))[1] == expected
        assert render_tables(ODD._replace(records=()), form="csv") == "table\n"

    def test_a_column_is_a_template_of_a_record_whose_marks_are_not_exported(self):
        records = [{"row": "a", "low": -1.04, "_mark": "*"}, {"row": "b", "low": None, "_mark": ""}]
        made = Document.of_records(
            "Z2", "", [("Name", "{row}"), ("Low", "{low:+.1f} %{_mark}")], records
        )
        assert (made.headers, made.rows) == (["Name", "Low"], [("a", "−1.0 %*"), ("b", "–")])
        assert made.records == [{"row": "a", "low": -1.04}, {"row": "b", "low": None}]

    def test_a_row_without_a_number_of_ours_goes(self):
        records = ({"row": "a", "n": 3, "better": "pivot", "published_better": "pivot"},)
        records += ({"row": "b", "n": 3, "better": None, "published_better": "none"},)
        trimmed = ODD._replace(records=records).trimmed()
        assert (trimmed.rows, trimmed.records) == ([*ROWS[:1]], [*records[:1]])
        assert ODD._replace(rows=ROWS[1:], records=records[1:]).trimmed() is None


@pytest.mark.parametrize(
    ("same", "target", "score"),
    [
        ((True, None, False), 0.5, (3, 2, 0.5, True)),
        ([True] * 35 + [False] * 7, 0.9, (42, 42, 35 / 42, False)),
        ([None] * 42, 1.0, (42, 0, None, None)),
    ],
)
def test_an_agreement_is_a_score_of_the_cells_that_were_run(same, target, score):
    documents = [Document("a", "", "", (), (), agreement=Agreement("same", same, target))]
    (found,) = scores([], documents)
    assert (found.n_cells, found.n_run, found.share, found.met) == score
    assert json.loads(render_scores([], "json", documents))[0]["share"] == score[2]


@pytest.mark.parametrize(("without", "best"), [(0, (8.0, 9.0)), (1, (None, None))])
def test_the_best_run_is_the_first_of_the_least_validation_error(without, best):
    measured = [(3.0, 1.0, 5.0), (2.0, 8.0, 9.0), (4.0, 2.0, 6.0), (2.0, 7.0, 4.0)]
    names = [f"{kind}_error_percent" for kind in ("validation_squared", "test_squared", "test")]
    cell = cell_of("cancer1", ())
    runs = [
        run_of(cell, repeat, **dict(list(zip(names, values, strict=True))[without:]))
        for repeat, values in enumerate(measured)
    ]
    results = results_by_config({"proben1_linear": runs})
    record = distribution_document("proben1_linear", results).records[0]
    assert tuple(record[f"{name}_best"] for name in names[1:]) == best
    assert record["test_error_percent_minimum"] == 4.0


class TestRegistry:
    @pytest.mark.parametrize("identifier", ["T5", "P12", "X"])
    def test_a_table_is_built_alone_and_once(self, identifier, monkeypatch):
        registry, built = tables(proben1_pivot=list(network_runs("proben1_pivot", ["cancer1"]))), []
        for name, builder in registry.builders.items():
            counted = lambda name=name, builder=builder: built.append(name) or builder()  # noqa: E731
            monkeypatch.setitem(registry.builders, name, counted)
        assert registry[identifier] is registry[identifier]
        assert registry[identifier].id == identifier
        assert set(built) == {identifier}

    def test_an_ambiguous_cell_names_the_tables_of_its_settings_without_building_them(self):
        cells = [cell_of("cancer1", "pivot", output) for output in ("linear", "softsign")]
        found = tables(proben1_pivot=[run_of(cell, test_error_percent=1.0) for cell in cells])
        assert found["P8"].cells["cancer1", "test"].listed_in == ("D_proben1_pivot",)

    def test_runs_of_the_search_are_in_no_list_of_settings(self):
        shown = tables(proben1_search=list(search_runs(["cancer1", "building1"])))
        assert [name for name, table in shown.items() if table.has_runs] == ["T0", "P5", "P6", "P7"]
