"""Documents: formats, scores, the spread of test errors, and the registry of tables."""

import json

import pandas as pd
import pytest
from report_runs import FACTS, cell_of, network_runs, search_runs
from stored_runs import results_by_config, run_of

from pppca_bench.pages.comparison import render_scores, score_frame
from pppca_bench.pages.document import (
    Agreement,
    Document,
    none_if_nan,
    render_documents,
    ten_digits,
)
from pppca_bench.pages.snapshot import Snapshot
from pppca_bench.paper import proben1_report
from pppca_bench.paper.proben1_report import distribution_document
from pppca_bench.references.reference import installed_references
from pppca_bench.verdicts.numbers import published_numbers

RECORDS = ({"row": "x_1", "a": 2, "b": None}, {"row": "y", "a": None, "b": 0.5})
ROWS = (("x_1", "−2"), ("y", "–"))
HEADERS, NOTES = ("Name", "a|b, %"), ("A note of 5 %.",)


def frame_of(*records: dict[str, object]) -> pd.DataFrame:
    return pd.DataFrame(list(records), dtype=object)


def records_of(document: Document) -> list[dict[str, object]]:
    """Return the records of a document, with None for missing values."""
    records = document.frame.to_dict("records")
    return [{name: none_if_nan(value) for name, value in one.items()} for one in records]


ODD = Document("Z1", "Odd & even", "", HEADERS, ROWS, NOTES, frame_of(*RECORDS), n_missing=3)


def tables(**runs) -> Snapshot:
    return Snapshot(results_by_config(runs), FACTS, installed_references())


class TestText:
    def test_terminal_text_has_a_heading_rows_and_notes(self):
        text = render_documents([ODD], "terminal")
        assert text.startswith("Z1. Odd & even\n==============\n\nName")
        late = "* 3 of the planned runs are missing: `pppca run` adds them.\n"
        assert text.endswith(f"y              –\n\nA note of 5 %.\n\n{late}")

    def test_csv_and_json_hold_the_records_of_all_tables(self):
        other = ODD._replace(id="Z2", frame=frame_of({"row": "x", "c": -0.1}))
        csv = "table,row,a,b,c\nZ1,x_1,2,,\nZ1,y,,0.5,\nZ2,x,,,-0.1\n"
        assert render_documents([ODD, other], "csv") == csv
        expected = {"table": "Z1", "row": "y", "a": None, "b": 0.5}
        assert json.loads(render_documents([ODD], "json"))[1] == expected
        assert render_documents([ODD._replace(frame=frame_of())], "csv") == "table\n"

    def test_a_column_is_a_template_of_a_record_whose_marks_are_not_exported(self):
        records = [{"row": "a", "low": -1.04, "_mark": "*"}, {"row": "b", "low": None, "_mark": ""}]
        made = Document.of_records(
            "Z2", "", [("Name", "{row}"), ("Low", "{low:+.1f} %{_mark}")], records
        )
        assert (made.headers, made.rows) == (["Name", "Low"], [("a", "−1.0 %*"), ("b", "–")])
        assert records_of(made) == [{"row": "a", "low": -1.04}, {"row": "b", "low": None}]

    def test_a_row_without_a_number_of_ours_goes(self):
        records = ({"row": "a", "n": 3, "better": "pivot", "published_better": "pivot"},)
        records += ({"row": "b", "n": 3, "better": None, "published_better": "none"},)
        trimmed = ODD._replace(frame=frame_of(*records)).trimmed()
        assert (trimmed.rows, records_of(trimmed)) == ([*ROWS[:1]], [*records[:1]])
        assert ODD._replace(rows=ROWS[1:], frame=frame_of(*records[1:])).trimmed() is None


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
    scored = score_frame(published_numbers((), results_by_config({}), {}), (), documents)
    (found,) = scored.itertuples()
    assert (found.n_cells, found.n_run, none_if_nan(found.share), found.met) == score
    assert json.loads(render_scores(scored, "json"))[0]["share"] == ten_digits(score[2])


@pytest.mark.parametrize(("without", "best"), [(0, (8.0, 9.0)), (1, (None, None))])
def test_the_best_run_is_the_first_of_the_least_validation_error(without, best):
    measured = [(3.0, 1.0, 5.0), (2.0, 8.0, 9.0), (4.0, 2.0, 6.0), (2.0, 7.0, 4.0)]
    names = [f"{kind}_error_percent" for kind in ("validation_squared", "test_squared", "test")]
    cell = cell_of("cancer1", ())
    runs = [
        run_of(cell, repeat, **dict(list(zip(names, values, strict=True))[without:]))
        for repeat, values in enumerate(measured)
    ]
    found = results_by_config({"proben1_linear": runs})
    (record,) = records_of(distribution_document("proben1_linear", found))
    assert tuple(record[f"{name}_best"] for name in names[1:]) == best
    assert record["test_error_percent_minimum"] == 4.0


class TestRegistry:
    @pytest.mark.parametrize("identifier", ["T5", "X"])
    def test_a_table_of_means_is_built_once(self, identifier):
        registry = tables(proben1_pivot=list(network_runs("proben1_pivot", ["cancer1"])))
        (layout, numbers), again = registry.means(identifier), registry.means(identifier)
        assert layout.id == identifier
        assert (layout is again[0], numbers is again[1]) == (True, True)

    @pytest.mark.parametrize("identifier", ["P12", "X"])
    def test_a_table_is_built_without_the_published_numbers(self, identifier, monkeypatch):
        monkeypatch.setattr(Snapshot, "numbers", property(pytest.fail))
        registry = tables(proben1_pivot=list(network_runs("proben1_pivot", ["cancer1"])))
        assert registry.table(identifier).id == identifier

    def test_a_table_of_texts_is_built_alone_and_once(self, monkeypatch):
        for other in ("search_documents", "training_document", "distribution_document"):
            monkeypatch.setattr(proben1_report, other, pytest.fail)
        registry = tables(proben1_pivot=list(network_runs("proben1_pivot", ["cancer1"])))
        assert registry.text("P12") is registry.text("P12")

    def test_an_ambiguous_cell_names_the_tables_of_its_settings_without_building_them(
        self, monkeypatch
    ):
        monkeypatch.setattr(proben1_report, "distribution_document", pytest.fail)
        cells = [cell_of("cancer1", "pivot", output) for output in ("linear", "softsign")]
        found = tables(proben1_pivot=[run_of(cell, test_error_percent=1.0) for cell in cells])
        (note,) = (note for note in found.table("P8").notes if "several settings" in note)
        assert note.endswith("because several settings were run: see D_proben1_pivot.")

    def test_runs_of_the_search_are_in_no_list_of_settings(self):
        shown = tables(proben1_search=list(search_runs(["cancer1", "building1"])))
        assert shown.with_runs == ["T0", "P5", "P6", "P7"]
