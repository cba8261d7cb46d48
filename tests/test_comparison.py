"""Comparison with published numbers: bounds of the verdicts, compared cells and scores."""

import json
import math
import re
from collections import Counter

import pytest
from full_results import full_tables, tables_of
from stored_runs import PIVOT, cell_of, run_of
from test_references import N_REPORT

from pppca_bench.references.numbers import Number
from pppca_bench.references.reference import own_references
from pppca_bench.reporting.comparison import (
    Comparison,
    Score,
    compare,
    render_comparisons,
    render_scores,
    scores,
    tally,
)
from pppca_bench.reporting.statistics import summarise
from pppca_bench.reporting.table import MeansTable
from pppca_bench.runs import StoredRun

COUNTS = {"T1": 64, "T3": 36, "T4": 17, "T6": 17, "T5": 32, "T7": 32} | N_REPORT
T1 = ("T1", "cancer1", "tau=5")
REPORT = own_references()[1]


@pytest.fixture(scope="module")
def everything() -> list[MeansTable]:
    """Return the tables of a store in which every run is in."""
    return full_tables(4)


class TestComparison:
    def judged(self, *ours: float) -> Comparison:
        (table,) = [table for table in tables_of([], {}) if table.id == "T1"]
        own = {"test_error_percent": summarise(ours)} if ours else {}
        published = {"test_error_percent": Number("2.30")}
        cell = table.cells[T1[1:]]._replace(ours=own, published=published)
        (result,) = compare([table._replace(cells={T1[1:]: cell})])
        return result

    def test_the_numbers_are_those_of_the_summary(self):
        result, own = self.judged(1.0, 2.0, 3.0, 4.0), summarise([1.0, 2.0, 3.0, 4.0])
        assert (result.mean, result.sd, result.n) == (own.mean, own.sd, 4)
        expected = (pytest.approx(0.2), (*T1, "test_error_percent"))
        assert (result.difference, result.place) == expected
        assert self.judged()[5:13] == (None, None, 0, *[None] * 5)
        single = self.judged(2.5)
        expected = (2.5, 1, None, None, None, "consistent")
        found = (single.mean, single.n, single.sd, single.low, single.high, single.verdict)
        assert found == expected


def test_every_published_cell_of_a_full_store_is_run_and_of_an_empty_store_is_not(everything):
    compared, nothing = compare(everything), compare(tables_of([], {}))
    counts = Counter(one.table for one in compared)
    assert {table: counts[table] for table in COUNTS} == COUNTS
    assert [one.place for one in compared if one.verdict == "not run"] == []
    judged = [one for one in compared if one.table in COUNTS and one.verdict != "not compared"]
    assert {one.n for one in judged} == {4}
    assert len({one.place for one in compared}) == len(compared)
    assert [one.place for one in nothing] == [one.place for one in compared]
    expected = {"not run": len(nothing) - 2, "not compared": 2}
    assert Counter(one.verdict for one in nothing) == expected


def run(
    method: str = "ne_ppca", hidden: object = "pivot", tau: float | None = None, **values: float
) -> StoredRun:
    parameters = {} if tau is None else {"centre": True, "tau": tau}
    parameters |= {"data_fraction": 100.0} if method == "dgha_speedup" else {}
    return run_of(cell_of("cancer1", method, parameters, {**PIVOT, "hidden": hidden}), **values)


# Published: error 2.30 (dimensionality 1) at tau = 5, 1.78 (4.6) at 15; speed-up 5.67. P3: classification error
# 2.93 (standard deviation 0.18), test error 3.52 (0.04). So |ln(2 / 1)| = 0.693, |ln(4 / 4.6)| = 0.140.
LINEAR = {"test_error_percent": 3.68, "test_squared_error_percent": 3.56, "overfit_percent": 0.55}
TABLES = tables_of(
    [
        run(tau=5.0, test_error_percent=3.30, dimensionality=2),
        run(tau=15.0, test_error_percent=1.28, dimensionality=4),
        run("all_features", (), **LINEAR),
        run("dgha_speedup", tau=5.0, speedup=2.835, speedup_operations=5.67 * math.e),
    ]
)
SCORES = {
    "T1 dimensionality": (32, 2, 0.416455, math.log(2), "|ln ratio|", None),
    "T1 error": (32, 2, 0.75, 1.0, "points", None),
    "P3 classification error": (31, 1, *[math.log(3.68 / 2.93)] * 2, "|ln ratio|", 0.0),
    "P3 + P4 test error": (31 + 12, 1, *[math.log(3.56 / 3.52)] * 2, "|ln ratio|", 1.0),
    "T4 + T6 speed-up, time of the literal kernel": (32, 1, *[math.log(2)] * 2, "|ln ratio|", None),
    "T4 + T6 speed-up, operation count": (32, 1, 1.0, 1.0, "|ln ratio|", None),
    "T3 error, own rows": (9, 1, 0.5, 0.5, "points", None),
    "T3 dimensionality, DGHA rows": (6, 0, None, None, "|ln ratio|", None),
}


@pytest.mark.parametrize("name", SCORES)
def test_a_score_is_the_mean_distance_in_its_unit_and_the_share_within_a_standard_deviation(name):
    (found,) = [one for one in scores(TABLES) if one.name == name]
    *numbers, unit, share = SCORES[name]
    got = [found.n_cells, found.n_run, found.score, found.worst]
    assert got == [pytest.approx(number, abs=1e-6) for number in numbers]
    assert (found.unit, found.share) == (unit, share)


def test_each_form_shows_every_score():
    records = json.loads(render_scores(TABLES, "json"))
    text = render_scores(TABLES, "markdown")
    assert set(records[0]) == set(Score._fields)
    assert all(record["name"] in text for record in records)
    rows = [re.split(r" +\| ", line.strip("| ")) for line in text.splitlines()]
    assert ["T1 error", "32", "2", "0.750", "1.000", "points"] in [row[:6] for row in rows]
    (row,) = (row for row in rows if row[0] == "P3 classification error")
    assert row[1:5] == ["31", "1", "0.228", "0.228"]
    assert row[6:] == ["0.030", "0 %", "85 %", "no"]


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
    assert Score("", 1, 1, score, score, "|ln ratio|", target, share, share_target).met is met


def test_numbers_that_a_search_looked_at_are_marked():
    searched = {item.place for item in compare(TABLES) if item.searched}
    own = {place for place in searched if place[0] not in ("T2", "T3")}
    expected = {"T1", "T4", "T5", "T6", "T7", *(f"P{n}" for n in (3, 4, 8, 9, 10, 11))}
    assert {table for table, *_ in own} == expected
    # No error of T7 decided, nor a test error of the pivot networks, whose search looked at eleven problems.
    of_test = {table for table, _, _, quantity in own if quantity.startswith("test")}
    assert of_test == {"T1", "T5", "P3", "P4"}
    assert len({row for table, row, *_ in own if table in ("P8", "P9", "P10", "P11")}) == 11
    # T2 and T3 show errors again that the search looked at in T1 and T5.
    assert ("T3", "DGHA", "cancer1", "test_error_percent") in searched


def test_a_number_printed_twice_carries_the_place_of_the_first(everything):
    compared = compare(everything)
    # NE-pPCA at tau = 15 on heart1 is in T1, T2 and T3.
    found = {one.place[:3]: one.same_as for one in compared if one.quantity == "test_error_percent"}
    assert found["T1", "heart1", "tau=15"] == found["T1", "heart1", "tau=10"] == ""
    assert found["T2", "heart1", "NE-pPCA"] == "T1, heart1, tau=15"
    assert found["T3", "NE pPCA", "heart1"] == "T1, heart1, tau=15"
    results = {(", ".join(one.place[:3]), one.quantity) for one in compared if one.is_result}
    repeated = [(one.same_as, one.quantity) for one in compared if one.same_as]
    assert set(repeated) <= results
    assert len(results) + len(repeated) + 35 + 2 == len(compared)  # sizes, and two times of GHA


ONE = Comparison(*T1, "test_error_percent", 2.3, source="A")


def test_the_tally_counts_results_by_verdict_and_the_other_numbers():
    size = ONE._replace(table="T0", quantity="n_features", verdict="reproduced")
    again = ONE._replace(table="T2", same_as="T1, cancer1, tau=5")
    assert tally([ONE, ONE._replace(row="card1", verdict="consistent", searched=True)]) == (
        "A: 2 published results, 1 consistent, 1 not run. A search for settings looked at 1 of them:"
        " 1 consistent. No search looked at the other 1: 1 not run."
    )
    assert tally([size, ONE, again]) == (
        "A: 1 published results, 1 not run. Not counted: 2 numbers that repeat another number or are sizes of data"
        " sets."
    )


def test_sizes_and_numbers_that_were_not_run_are_counted_in_the_last_line_unless_asked_for():
    run = ONE._replace(row="card1", verdict="reproduced", mean=2.3, n=3)
    size = run._replace(row="heart1", quantity="n_features")
    numbers = [ONE, run, size, ONE._replace(source="B")]
    short, full = (
        render_comparisons(numbers, "terminal", show_all=show_all) for show_all in (False, True)
    )
    left_out = "3 numbers without runs or of the sizes of data sets. `pppca compare --all`"
    assert short.endswith(f"\nLeft out: {left_out} lists them.")
    for name in ("cancer1", "heart1", "B: 1 published results"):
        assert (name in short, name in full) == (False, True)


class TestDistancesWithoutARatio:
    """A group of one published number."""

    def scored(self, number: Number, ours: float) -> list[MeansTable]:
        (table,) = [table for table in TABLES if table.id == "P3"]
        place, name = ("cancer1", "classification"), "test_error_percent"
        cell = table.cells[place]._replace(published={name: number}, ours={name: summarise([ours])})
        groups = tuple(group for group in REPORT.scored if group.tables == ("P3",))
        reference = REPORT.model_copy(update={"scored": groups})
        return [table._replace(cells={place: cell}, reference=reference)]

    @pytest.mark.parametrize(
        ("number", "ours"),
        [(Number("0.00"), 1.0), (Number("1.00", 0.5), 0.0), (Number("1.00", 0.5), -1.0)],
        ids=["of nothing", "to nothing", "to less"],
    )
    def test_an_undefined_ratio_is_an_infinite_distance_and_null_in_json(self, number, ours):
        tables = self.scored(number, ours)
        assert scores(tables)[0].score == math.inf
        assert json.loads(render_scores(tables, "json"))[0]["score"] is None
        assert " inf " in render_scores(tables, "terminal")

    @pytest.mark.parametrize(("ours", "share"), [(0.0, 1.0), (0.005, 1.0), (0.006, 0.0)])
    def test_a_printed_0_has_no_ratio_and_counts_for_the_share_alone(self, ours, share):
        (score,) = scores(self.scored(Number("0.00", 0.0), ours))
        assert (score.n_cells, score.n_run, score.score, score.share) == (1, 1, None, share)

    def test_a_number_smaller_than_its_standard_deviation_is_not_scored(self):
        found = [scores(self.scored(Number("0.55", sd), 0.6))[0].n_cells for sd in (0.55, 0.59)]
        assert found == [1, 0]

    def test_a_number_for_which_the_reference_has_no_rule_is_not_compared(self):
        (table,) = self.scored(Number("2.93", 0.1), 3.0)
        table = table._replace(reference=table.reference.model_copy(update={"rules": ()}))
        assert [item.verdict for item in compare([table])] == ["not compared"]

    def test_the_distance_of_equal_numbers_is_0(self):
        assert scores(self.scored(Number("0.00"), 0.0))[0].score == 0.0
        assert scores(self.scored(Number("6.56", 0.0), 6.56))[0].score == 0.0
