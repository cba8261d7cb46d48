"""Documents: formats and scores."""

import json

import pandas as pd
import pytest
from stored_runs import results_by_config

from pppca_bench.pages.comparison import render_scores, score_frame
from pppca_bench.pages.document import (
    Agreement,
    Document,
    none_if_nan,
    render_documents,
    ten_digits,
)
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
