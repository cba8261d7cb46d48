"""Comparison with published numbers: bounds of the verdicts, compared cells and scores."""

import json
import math
import re
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from full_results import REFERENCES, full_snapshot, snapshot_of
from printed_numbers import judged, number_of
from stored_runs import PIVOT, cell_of, run_of
from test_printed_tables import N_REPORT

from pppca_bench.pages.comparison import (
    compared_numbers,
    render_comparison,
    render_scores,
    score_frame,
    tally,
)
from pppca_bench.references.numbers import Number
from pppca_bench.results.statistics import summarise
from pppca_bench.runs import StoredRun
from pppca_bench.verdicts.numbers import DEVIATIONS, NOT_RUN, PLACE, results_of, with_first_places
from pppca_bench.verdicts.scores import COLUMNS, score_group, with_targets

COUNTS = {"T1": 64, "T3": 36, "T4": 16, "T6": 16, "T5": 32, "T7": 32} | N_REPORT
SLIDES, REPORT = REFERENCES[:2]
ERROR = "test_error_percent"
RULE = SLIDES.rule("T1", "cancer1", ERROR)


@pytest.fixture(scope="module")
def everything() -> pd.DataFrame:
    """Return the numbers of a store in which every run is in."""
    return full_snapshot(4).numbers


def places_of(numbers: pd.DataFrame) -> list[tuple[str, ...]]:
    return list(numbers[PLACE].itertuples(index=False, name=None))


class TestComparedNumbers:
    def compared(self, *ours: float) -> pd.Series:
        own = summarise(ours) if ours else NOT_RUN
        return compared_numbers(judged([number_of(Number("2.30"), own, RULE)])).iloc[0]

    def test_the_numbers_are_those_of_the_summary(self):
        result, own = self.compared(1.0, 2.0, 3.0, 4.0), summarise([1.0, 2.0, 3.0, 4.0])
        assert (result["mean"], result["sd"], result["n"]) == (own.mean, own.sd, 4)
        assert result["difference"] == pytest.approx(0.2)
        nothing = self.compared()
        assert (nothing["n"], nothing["verdict"]) == (0, "not run")
        unknown = ["mean", "sd", "difference", "difference_low", "difference_high", "margin", "p"]
        assert nothing[unknown].isna().all()
        single = self.compared(2.5)
        assert (single["mean"], single["n"], single["verdict"]) == (2.5, 1, "cannot tell")
        assert single[["sd", "difference_low", "difference_high"]].isna().all()

    def test_without_a_rule_our_number_is_left_out(self):
        (result,) = compared_numbers(
            judged([number_of(Number("2.93", 0.1), summarise([3.0, 3.1]))])
        ).itertuples()
        assert (result.verdict, result.published, result.n) == ("not compared", 2.93, 0)
        assert math.isnan(result.mean)


def test_every_published_cell_of_a_full_store_is_run_and_of_an_empty_store_is_not(everything):
    compared, nothing = (
        compared_numbers(numbers) for numbers in (everything, snapshot_of([], {}).numbers)
    )
    assert compared["table"].value_counts()[list(COUNTS)].to_dict() == COUNTS
    assert places_of(compared[compared["verdict"] == "not run"]) == []
    is_judged = compared["table"].isin(list(COUNTS)) & (compared["verdict"] != "not compared")
    assert set(compared.loc[is_judged, "n"]) == {4}
    assert not compared.duplicated(PLACE).any()
    assert places_of(nothing) == places_of(compared)
    assert Counter(nothing["verdict"]) == {"not run": len(nothing)}


def run(
    method: str = "ne_ppca", hidden: object = "pivot", tau: float | None = None, **values: float
) -> StoredRun:
    parameters = {} if tau is None else {"centre": True, "tau": tau}
    parameters |= {"data_fraction": 100.0} if method == "dgha_speedup" else {}
    return run_of(cell_of("cancer1", method, parameters, {**PIVOT, "hidden": hidden}), **values)


# Published: error 2.30 (dimensionality 1) at tau = 5, 1.78 (4.6) at 15; speed-up 5.67. P3: classification error
# 2.93 (standard deviation 0.18), test error 3.52 (0.04). So |ln(2 / 1)| = 0.693, |ln(4 / 4.6)| = 0.140.
LINEAR = {"test_error_percent": 3.68, "test_squared_error_percent": 3.56, "overfit_percent": 0.55}
NUMBERS = snapshot_of(
    [
        run(tau=5.0, test_error_percent=3.30, dimensionality=2),
        run(tau=15.0, test_error_percent=1.28, dimensionality=4),
        run("all_features", (), **LINEAR),
        run("dgha_speedup", tau=5.0, speedup_operations=5.67 * math.e),
    ]
).numbers
SCORES = {
    "T1 dimensionality": (32, 2, 0.416455, math.log(2), "|ln ratio|", None),
    "T1 error": (32, 2, 0.75, 1.0, "points", None),
    "P3 classification error": (31, 1, *[math.log(3.68 / 2.93)] * 2, "|ln ratio|", 0.0),
    "P3 + P4 test error": (31 + 12, 1, *[math.log(3.56 / 3.52)] * 2, "|ln ratio|", 1.0),
    "T4 + T6 speed-up, operation count": (32, 1, 1.0, 1.0, "|ln ratio|", None),
    "T3 error, own rows": (9, 1, 0.5, 0.5, "points", None),
    "T3 dimensionality, DGHA rows": (6, 0, None, None, "|ln ratio|", None),
}


@pytest.fixture(scope="module")
def scored() -> pd.DataFrame:
    return score_frame(NUMBERS, REFERENCES)


@pytest.mark.parametrize("name", SCORES)
def test_a_score_is_the_mean_distance_in_its_unit_and_the_share_within_a_standard_deviation(
    scored, name
):
    (found,) = scored[scored["name"] == name].replace({np.nan: None}).itertuples()
    *numbers, unit, share = SCORES[name]
    got = [found.n_cells, found.n_run, found.score, found.worst]
    assert got == [pytest.approx(number, abs=1e-6) for number in numbers]
    assert (found.unit, found.share) == (unit, share)


def test_each_form_shows_every_score(scored):
    records, text = json.loads(render_scores(scored, "json")), render_scores(scored, "markdown")
    assert list(records[0]) == COLUMNS
    assert all(record["name"] in text for record in records)
    rows = [re.split(r" +\| ", line.strip("| ")) for line in text.splitlines()]
    assert ["T1 error", "32", "2", "0.750", "1.000", "points"] in [row[:6] for row in rows]
    (row,) = (row for row in rows if row[0] == "P3 classification error")
    assert row[1:5] == ["31", "1", "0.228", "0.228"]
    assert row[6:] == ["0.030", "0 %", "85 %", "no"]


def test_scores_are_those_of_the_references_of_the_numbers():
    scored = score_frame(NUMBERS[NUMBERS["table"] == "T5"], REFERENCES)
    assert list(scored["name"]) == [group.name for group in SLIDES.scored]
    assert score_frame(NUMBERS[:0], REFERENCES).empty


@pytest.mark.parametrize(
    ("target", "score", "share_target", "share", "met"),
    [
        (0.1, 0.1, 0.95, 0.95, True),
        (0.1, 0.11, 0.95, 1.0, False),
        (0.1, 0.05, 0.95, 0.94, False),
        (0.1, None, 0.95, None, None),
        (None, 0.5, None, None, None),
    ],
)
def test_a_score_is_met_where_both_targets_are_reached(target, score, share_target, share, met):
    row = {"n_cells": 1, "n_run": 1, "score": score, "target": target}
    (found,) = with_targets([row | {"share": share, "share_target": share_target}])["met"]
    assert found is met


def test_numbers_that_a_search_looked_at_are_marked():
    searched = set(places_of(NUMBERS[NUMBERS["searched"] & NUMBERS["published"].notna()]))
    own = {place for place in searched if place[0] not in ("T2", "T3")}
    expected = {"T1", "T4", "T5", "T6", "T7", *(f"P{n}" for n in (3, 4, 8, 9, 10, 11))}
    assert {table for table, *_ in own} == expected
    # No error of T7 decided, nor a test error of the pivot networks, whose search looked at eleven problems.
    of_test = {table for table, _, _, quantity in own if quantity.startswith("test")}
    assert of_test == {"T1", "T5", "P3", "P4"}
    assert len({row for table, row, *_ in own if table in ("P8", "P9", "P10", "P11")}) == 11
    # T2 and T3 show errors again that the search looked at in T1 and T5.
    assert ("T3", "DGHA", "cancer1", ERROR) in searched


def test_a_number_printed_twice_carries_the_place_of_the_first(everything):
    published = everything[everything["published"].notna()]
    # NE-pPCA at tau = 15 on heart1 is in T1, T2 and T3.
    errors = published[published["quantity"] == ERROR]
    found = errors.set_index(["table", "row", "column"])["same_as"]
    assert found["T1", "heart1", "tau=15"] == found["T1", "heart1", "tau=10"] == ""
    assert found["T2", "heart1", "NE-pPCA"] == "T1, heart1, tau=15"
    assert found["T3", "NE pPCA", "heart1"] == "T1, heart1, tau=15"
    results = {(", ".join(place), name) for *place, name in places_of(results_of(everything))}
    repeats = published[published["same_as"] != ""]
    repeated = list(zip(repeats["same_as"], repeats["quantity"], strict=True))
    assert set(repeated) <= results
    assert len(results) + len(repeated) + 35 == len(published)  # sizes
    # In a comparison of T3 alone, none of its numbers repeats another one.
    of_t3 = with_first_places(everything[everything["table"] == "T3"])
    assert set(of_t3["same_as"]) == {""}
    assert len(results_of(of_t3)) == COUNTS["T3"]
    again = of_t3[(of_t3["row"] == "NE pPCA") & (of_t3["column"] == "heart1")]
    assert again["searched"].all(), "a search looked at it in T1"


ONE = number_of(Number("2.3"), rule=RULE, source="A", row="cancer1")
REPRODUCED = ONE | summarise([2.3, 2.3])._asdict()


def test_the_tally_counts_results_by_verdict_and_the_other_numbers():
    single = ONE | summarise([2.3])._asdict() | {"row": "card1", "searched": True}
    assert tally(judged([ONE, single])) == [
        "A: 2 published results, 1 cannot tell, 1 not run. A search for settings looked at 1 of them:"
        " 1 cannot tell. No search looked at the other 1: 1 not run."
    ]
    size = REPRODUCED | {"table": "T0", "quantity": "n_features"}
    again = judged([size, ONE, ONE | {"table": "T2"}])
    assert tally(again.assign(same_as=["", "", "T1, cancer1, b"])) == [
        "A: 1 published results, 1 not run.",
        "Not counted: 2 numbers that repeat another number or are sizes of data sets.",
    ]
    cited = number_of(Number("2.3"), source="A", fillable=False, selection=None)
    assert tally(judged([ONE, cited])) == [
        "A: 1 published results, 1 not run.",
        "Not compared: 1 numbers for which the reference has no rule, or no runs.",
    ]


def test_verdicts_on_standard_deviations_are_counted_in_a_sentence_and_listed_in_records():
    numbers = judged([REPRODUCED, REPRODUCED | {"row": "b"}, REPRODUCED | {"row": "c"}])
    ratios = dict.fromkeys(DEVIATIONS[:-1], 1.5)
    both = numbers.assign(**ratios, sd_verdict=["differs", "cannot tell", ""])
    said = "Its 2 published standard deviations: 1 differ, 1 cannot tell."
    assert tally(both)[0].endswith(said)
    assert "standard deviations" not in " ".join(tally(numbers))
    assert '"sd_verdict": "differs"' in render_comparison(both, "json")
    header, *_, last = render_comparison(both, "csv").splitlines()
    assert ",sd_ratio,sd_low,sd_high,sd_p,sd_verdict," in header
    assert ",1.5,1.5,1.5,1.5,," in last


def test_sizes_and_numbers_that_were_not_run_are_counted_in_the_last_line_unless_asked_for():
    run = REPRODUCED | {"row": "card1"}
    size = run | {"row": "heart1", "quantity": "n_features"}
    numbers = judged([ONE, run, size, ONE | {"source": "B"}])
    short, full = (
        render_comparison(numbers, "terminal", show_all=show_all) for show_all in (False, True)
    )
    left_out = "3 numbers without runs or of the sizes of data sets. `pppca compare --all`"
    assert short.replace("\n", " ").endswith(f" Left out: {left_out} lists them.")
    for name in ("cancer1", "heart1", "B: 1 published results"):
        assert (name in short, name in full) == (False, True)


class TestDistancesWithoutARatio:
    """A group of one published number."""

    def scored(self, number: Number, ours: float) -> pd.DataFrame:
        (group,) = (group for group in REPORT.scored if group.name == "P3 classification error")
        row = number_of(number, summarise([ours]), RULE, table="P3", column="classification")
        return with_targets([score_group(judged([row]), group)])

    @pytest.mark.parametrize(
        ("number", "ours"),
        [(Number("0.00"), 1.0), (Number("1.00", 0.5), 0.0), (Number("1.00", 0.5), -1.0)],
        ids=["of nothing", "to nothing", "to less"],
    )
    def test_an_undefined_ratio_is_an_infinite_distance_and_null_in_json(self, number, ours):
        scored = self.scored(number, ours)
        assert scored["score"][0] == math.inf
        assert json.loads(render_scores(scored, "json"))[0]["score"] is None
        assert " inf " in render_scores(scored, "terminal")

    @pytest.mark.parametrize(("ours", "share"), [(0.0, 1.0), (0.005, 1.0), (0.006, 0.0)])
    def test_a_printed_0_has_no_ratio_and_counts_for_the_share_alone(self, ours, share):
        (score,) = self.scored(Number("0.00", 0.0), ours).itertuples()
        assert (score.n_cells, score.n_run, score.score, score.share) == (1, 1, None, share)

    def test_a_number_smaller_than_its_standard_deviation_is_not_scored(self):
        found = [self.scored(Number("0.55", sd), 0.6)["n_cells"][0] for sd in (0.55, 0.59)]
        assert found == [1, 0]

    def test_the_distance_of_equal_numbers_is_0(self):
        assert self.scored(Number("0.00"), 0.0)["score"][0] == 0.0
        assert self.scored(Number("6.56", 0.0), 6.56)["score"][0] == 0.0


def test_terminal_text_begins_with_the_counts_and_fits_80_columns_unless_it_is_wide():
    long = ["a long name of a row of a table in a paper " * 2, "and of a column"]
    numbers = judged([REPRODUCED | dict(zip(("row", "column"), long, strict=True))])
    narrow = render_comparison(numbers, "terminal").splitlines()
    assert narrow[0] == "A: 1 published results, 1 cannot tell."
    assert max(map(len, narrow)) <= 80
    wide = render_comparison(numbers, "terminal", wide=True)
    assert long[0].strip() in wide
    assert "95 % interval" in wide


def test_latex_of_a_comparison_is_a_table_with_a_column_of_verdicts():
    text = render_comparison(judged([REPRODUCED]), "latex")
    assert r"\begin{tabular}{lrrrr}" in text
    assert text.count(r"& cannot tell \\") == 1


def test_our_numbers_have_the_decimals_of_the_published_numbers_or_more():
    number = number_of(Number("2.3456"), rule=RULE, source="A") | summarise([2.3, 2.4])._asdict()
    text = render_comparison(judged([number, REPRODUCED]), "markdown")
    assert "| 2.3456      | 2.3500 | +0.0044 |" in text
    assert "| 2.3         | 2.30   | 0.00 " in text
