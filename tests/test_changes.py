"""Changes of verdicts against a baseline, as of another seed."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
from builders import expanded
from full_results import REFERENCES, full_runs, tables_of

from pppca_bench.config.experiment import parse_config
from pppca_bench.errors import StoreError
from pppca_bench.reporting.baseline import RecordedCell, record
from pppca_bench.reporting.changes import Change, changes, render_changes
from pppca_bench.reporting.comparison import Place, compare
from pppca_bench.runs import PROBLEM_AND_METHOD, Cell, Selector, StoredRun, grouped
from pppca_bench.yaml_files.source import read_yaml

RUNS = [run for run in full_runs(10) if run[0].cell.problem in ("cancer1", "glass1")]
Recorded = dict[Place, RecordedCell]
BASELINE: Recorded = record(tables_of(RUNS))
PLACE = ("T1", "glass1", "tau=5", "test_error_percent")


def moved(by: float) -> list[StoredRun]:
    """Return the runs with another error in the cell of `PLACE`."""
    return [
        (s, replace(r, values={**r.values, PLACE[3]: r.values[PLACE[3]] + by})) if is_of_place(s.cell) else (s, r)
        for s, r in RUNS
    ]


def is_of_place(cell: Cell) -> bool:
    return (cell.problem, cell.method, dict(cell.parameters).get("tau")) == ("glass1", "ne_ppca", 5)


def compared(runs: list[StoredRun], baseline: Recorded = BASELINE, n_repeats: int | None = None) -> list[Change]:
    return [change for change in changes(tables_of(runs), baseline, n_repeats) if not change.obstacle]


class TestChanges:
    def test_the_recorded_verdicts_are_those_of_the_recorded_runs(self):
        found, judged = compared(RUNS), {item.place: item for item in compare(tables_of(RUNS)) if item.is_result}
        assert {before.place for before, _ in found} == {place for place, item in judged.items() if item.n}
        assert all(before == now for before, now in found)
        # Timed speed-ups are recorded as operation counts.
        assert {now.table for _, now in found if now != judged[now.place]} == {"T4"}
        assert ("P8", "cancer1", "correlation", "correlation") in judged

    def test_a_changed_verdict_is_listed_with_both_means_and_counted(self):
        every = changes(tables_of(moved(50.0)), BASELINE)
        ((before, now),) = [change for change in every if change.direction != "unchanged"]
        assert (now.place, now.verdict, now.mean) == (PLACE, "differs", pytest.approx(before.mean + 50.0))
        text, n = render_changes(every, "terminal"), sum(not change.obstacle for change in every)
        means = rf"{before.published:g} +{before.mean:.2f} +{now.mean:.2f} +{before.verdict} +differs$"
        assert re.search(rf"^T1 +glass1 +tau=5 +test_error_percent +{means}", text, re.MULTILINE)
        differences = [now.difference for _, now in every if now.place[::3] == PLACE[::3] and now.n]
        mean, n_below = math.fsum(differences) / 8, sum(difference < 0 for difference in differences)
        assert re.search(rf"^T1 +test_error_percent +8 +1 +0 +7 +\+{mean:.2f} +{n_below}$", text, re.MULTILINE)
        assert f"\n1 of {n} verdicts change: 1 fell, 0 rose." in text
        back = render_changes([Change(now, before) for before, now in every], "markdown")
        assert f"\n1 of {n} verdicts change: 0 fell, 1 rose." in back

    def test_json_has_every_compared_number(self):
        every = changes(tables_of(RUNS), BASELINE)
        records = json.loads(render_changes(every, "json"))
        assert len(records) == sum(not change.obstacle for change in every)
        assert all(item["recorded_mean"] == item["mean"] for item in records)

    @pytest.mark.parametrize(
        ("known", "reason"),
        [
            (BASELINE[PLACE]._replace(values={0: 1.0}), "recorded with another number of repeats"),
            (BASELINE[PLACE]._replace(settings="b"), "recorded with other settings, on other data, or not at all"),
        ],
    )
    def test_a_number_with_other_repeats_or_settings_is_left_out_with_the_reason(self, known, reason):
        text = render_changes(changes(tables_of(RUNS), BASELINE | {PLACE: known}), "terminal")
        assert re.search(
            rf"Not compared: 1 numbers {reason}[^,]*(, or not at all)?, such as {', '.join(PLACE)}\.", text
        )

    def test_numbers_that_were_not_run_are_counted(self):
        others = [run for run in RUNS if not is_of_place(run[0].cell)]
        assert PLACE not in {now.place for _, now in compared(others)}
        text = render_changes(changes(tables_of(others), BASELINE), "terminal")
        assert re.search(r"Not compared: \d+ numbers without runs, or with too few, such as T1, ", text)

    def test_fewer_repeats_are_compared_with_the_recorded_ones_as_the_message_proposes(self):
        fewer = [run for run in RUNS if run[0].repeat < 4]
        with pytest.raises(StoreError, match=r"of our runs, got none\. .*`--repeats N` takes the first N of them"):
            render_changes(changes(tables_of(fewer), BASELINE), "terminal")
        assert {(before.n, before == now) for before, now in compared(fewer, n_repeats=4)} == {(4, True)}


def test_reseed_runs_every_published_number_of_slides_and_report():
    root = Path(__file__).parents[1]
    (names,) = re.findall(r"^RESEEDED := .*%.yaml,([^)]+)\)", (root / "Makefile").read_text(), re.MULTILINE)
    specs = [
        spec
        for name in names.replace("\\", "").split()
        for spec in expanded(parse_config(read_yaml(root / f"configs/{name}.yaml")), repeats=1)
    ]
    cells = grouped({spec.cell for spec in specs}, PROBLEM_AND_METHOD)

    def is_run(selector: Selector) -> bool:
        return any(map(selector.matches, cells.get((selector.problem, selector.method), ())))

    unfilled = [
        (layout.id, row.key, column.key)
        for reference in REFERENCES[:2]
        for layout in reference.layouts
        for row in layout.rows
        for column in layout.columns
        if reference.published(layout.id, row.key, column.key)
        and (selector := layout.selector(row, column))
        and not is_run(selector)
    ]
    assert unfilled == []
