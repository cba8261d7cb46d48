"""Comparison with a recorded baseline: every repeat counts, changed verdicts, and the file."""

import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from builders import expanded
from full_results import REFERENCES, full_runs, tables_of, with_values

from pppca_bench.config.experiment import parse_config
from pppca_bench.errors import StoreError
from pppca_bench.quantities import SIZES, described
from pppca_bench.reporting.baseline import (
    Change,
    RecordedCell,
    changes,
    differences,
    read_baseline,
    record,
    render_changes,
    write_baseline,
)
from pppca_bench.reporting.comparison import Place, compare
from pppca_bench.runs import PROBLEM_AND_METHOD, RunSpec, StoredRun, grouped
from pppca_bench.yaml_files.source import read_yaml

N_REPEATS = 10
RUNS = full_runs(N_REPEATS)
SOME = [run for run in RUNS if run[0].cell.problem in ("cancer1", "card1", "glass1")]
Recorded = dict[Place, RecordedCell]


def place_of(spec: RunSpec) -> tuple:
    return (spec.cell.problem, spec.cell.method, dict(spec.cell.parameters).get("tau"))


@pytest.fixture(scope="module")
def synthetic() -> Recorded:
    return record(tables_of(RUNS))


@pytest.fixture(scope="module")
def some() -> Recorded:
    return record(tables_of(SOME))


CELL = ("glass1", "ne_ppca", 5)
LACKS = "lacks repeat 2, and 1 other repeats"
ERROR, FEATURES = BOTH = [
    ("T1", "glass1", "tau=5", name) for name in ("test_error_percent", "dimensionality")
]


def edited(
    change: Callable[[RunSpec, dict[str, float]], dict[str, float] | None],
) -> list[StoredRun]:
    """Return the runs with other values in `CELL`, without the runs for which the change returns None."""
    changed = [
        (
            spec,
            change(spec, dict(result.values)) if place_of(spec) == CELL else result.values,
            result,
        )
        for spec, result in SOME
    ]
    return [(s, replace(r, values=values)) for s, values, r in changed if values is not None]


def moved(name: str, by: Callable[[int], float]) -> list[StoredRun]:
    return edited(lambda spec, values: values | {name: values[name] + by(spec.repeat)})


class TestDifferences:
    @pytest.mark.parametrize("n_repeats", [1, 3, None])
    def test_the_same_repeats_pass(self, some, n_repeats):
        runs = [run for run in SOME if n_repeats is None or run[0].repeat < n_repeats]
        assert differences(tables_of(runs), some, n_repeats) == {}

    @pytest.mark.parametrize(
        ("runs", "places", "reason"),
        [
            (moved(ERROR[3], lambda n: 1e-6 * (n == 7)), [ERROR], "in repeat 7, recorded was"),
            (moved(FEATURES[3], lambda n: n == 4), [FEATURES], "in repeat 4, recorded was"),
            (moved(ERROR[3], lambda _: 50.0), [ERROR], ", and 9 other repeats"),
            (edited(lambda s, values: None if s.repeat in (2, 9) else values), BOTH, LACKS),
            (edited(lambda _spec, _values: None), BOTH, "was not run"),
        ],
        ids=["one by 1e-6", "features", "all by 50", "missing", "not run"],
    )
    def test_a_cell_with_another_repeat_is_named(self, some, runs, places, reason):
        reasons = differences(tables_of(runs), some)
        assert reasons.keys() == set(places)
        assert all(reason in said for said in reasons.values())

    def test_more_repeats_than_recorded_pass_if_only_the_first_are_compared(self, some):
        known = {
            place: cell._replace(values={n: value for n, value in cell.values.items() if n < 2})
            for place, cell in some.items()
        }
        assert differences(tables_of(SOME), known, 5) == {}
        reasons = differences(tables_of(SOME), known).values()
        assert all("which was not recorded" in reason for reason in reasons)

    def test_a_cell_without_a_record_is_named(self, some):
        known = {place: cell for place, cell in some.items() if place != ERROR}
        assert differences(tables_of(SOME), known) == {ERROR: "was not recorded"}

    def test_differences_within_the_tolerance_are_rounding(self, some):
        tables = tables_of(moved("test_error_percent", lambda _: 1e-6))
        assert differences(tables, some, tolerance=1e-6) == {}
        assert differences(tables, some, tolerance=1e-9).keys() == {ERROR}

    def test_other_times_at_the_same_operations_pass(self, some):
        timed = [(s, with_values(r, speedup=99.0)) for s, r in SOME if "speedup" in r.values]
        assert differences(tables_of([*SOME, *timed]), some) == {}

    def test_a_cell_with_failed_runs_fails_though_the_others_pass(self, some):
        keys = [s.key for s, _ in SOME if place_of(s) == CELL][:2]
        runs = [(s, replace(r, status="failed") if s.key in keys else r) for s, r in SOME]
        assert differences(tables_of(runs), some) == dict.fromkeys(BOTH, "has 2 failed runs")

    def test_a_cell_with_other_settings_than_recorded_fails_though_its_numbers_agree(self, some):
        classifier = (("hidden", (7,)),)
        runs = [
            (
                replace(s, cell=replace(s.cell, classifier=classifier))
                if place_of(s) == CELL
                else s,
                r,
            )
            for s, r in SOME
        ]
        reason = "was run with other settings, or on other data, than recorded"
        assert differences(tables_of(runs), some) == dict.fromkeys(BOTH, reason)


class TestRecord:
    def test_every_cell_that_our_runs_can_fill_is_recorded_but_sizes(self, synthetic):
        recorded = {place[3] for place in synthetic}
        assert recorded.isdisjoint(SIZES)
        assert {name for name in recorded if described(name).is_timing} == {"speedup"}
        of_slides = {place for place in synthetic if place[0].startswith("T") and place[0] < "TB"}
        assert len({place for place in of_slides if place[3] != "dimensionality"}) == 145
        assert {len(cell.values) for cell in synthetic.values()} == {N_REPEATS}

    def test_a_time_is_recorded_as_its_operation_count(self, synthetic):
        cells = ((s, r) for s, r in RUNS if place_of(s) == ("cancer1", "dgha_speedup", 5))
        of_all = (r for s, r in cells if ("data_fraction", 100) in s.cell.parameters)
        ratios = [result.values["speedup_operations"] for result in of_all]
        assert list(synthetic["T4", "cancer1, 100%", "tau=5", "speedup"].values.values()) == ratios


def unobstructed(runs: list[StoredRun], baseline: Recorded, n: int | None = None) -> list[Change]:
    return [one for one in changes(tables_of(runs), baseline, n) if not one.obstacle]


class TestChanges:
    def test_the_recorded_verdicts_are_those_of_the_recorded_runs(self, some):
        judged = {one.place: one for one in compare(tables_of(SOME)) if one.is_result}
        found = unobstructed(SOME, some)
        expected = {place for place, one in judged.items() if one.n}
        assert {before.place for before, _ in found} == expected
        assert all(before == now for before, now in found)
        # Timed speed-ups are recorded as operation counts.
        assert {now.table for _, now in found if now != judged[now.place]} == {"T4"}

    def test_a_changed_verdict_is_listed_with_both_means_and_counted(self, some):
        every = changes(tables_of(moved(ERROR[3], lambda _: 50.0)), some)
        ((before, now),) = [change for change in every if change.direction != "unchanged"]
        expected = (ERROR, "differs", pytest.approx(before.mean + 50.0))
        assert (now.place, now.verdict, now.mean) == expected
        text, n = render_changes(every, "terminal"), sum(not change.obstacle for change in every)
        rows = [re.split("  +", row) for row in text.splitlines() if row.startswith("T1 ")]
        means = [f"{before.published:g}", f"{before.mean:.2f}", f"{now.mean:.2f}"]
        assert [*ERROR, *means, before.verdict, "differs"] in rows
        apart = [now.difference for _, now in every if now.place[::3] == ERROR[::3] and now.n]
        below = str(sum(difference < 0 for difference in apart))
        counts = ["12", "1", "0", "11", f"+{math.fsum(apart) / 12:.2f}", below]
        assert ["T1", ERROR[3], *counts] in rows
        assert f"\n1 of {n} verdicts change: 1 fell, 0 rose." in text
        back = render_changes([Change(now, before) for before, now in every], "markdown")
        assert f"\n1 of {n} verdicts change: 0 fell, 1 rose." in back

    def test_json_has_every_compared_number(self, some):
        every = changes(tables_of(SOME), some)
        records = json.loads(render_changes(every, "json"))
        assert len(records) == sum(not change.obstacle for change in every)
        assert all(item["recorded_mean"] == item["mean"] for item in records)

    @pytest.mark.parametrize(
        ("known", "reason"),
        [
            (
                {"values": {0: 1.0}},
                "recorded with another number of repeats (`--repeats N` takes the first N of them)",
            ),
            ({"settings": "b"}, "recorded with other settings, on other data, or not at all"),
        ],
    )
    def test_a_number_of_other_repeats_or_settings_is_left_out_with_why(self, some, known, reason):
        every = changes(tables_of(SOME), some | {ERROR: some[ERROR]._replace(**known)})
        said = f"Not compared: 1 numbers {reason}, such as {', '.join(ERROR)}."
        assert said in render_changes(every, "terminal")

    def test_numbers_that_were_not_run_are_counted(self, some):
        others = [run for run in SOME if place_of(run[0]) != CELL]
        every = changes(tables_of(others), some)
        assert ERROR not in {change.now.place for change in every if not change.obstacle}
        said = r"Not compared: \d+ numbers without runs, or with too few, such as T1, "
        assert re.search(said, render_changes(every, "terminal"))

    def test_fewer_repeats_are_compared_with_the_recorded_ones_as_the_message_proposes(self, some):
        fewer = [run for run in SOME if run[0].repeat < 4]
        said = r"of our runs, got none\. .*`--repeats N` takes the first N of them"
        with pytest.raises(StoreError, match=said):
            render_changes(changes(tables_of(fewer), some), "terminal")
        found = {(before.n, before == now) for before, now in unobstructed(fewer, some, 4)}
        assert found == {(4, True)}


ANYTHING = r"a baseline, got something else \(.+\)"
WHOLE = dict(
    zip(("table", "row", "column", "quantity"), ERROR, strict=True), settings="", values={"0": 1}
)


class TestFile:
    def test_a_baseline_has_a_line_per_cell_and_is_read_back_exactly(self, synthetic, tmp_path):
        path = tmp_path / "baseline.json"
        write_baseline(synthetic, path)
        assert read_baseline(path) == synthetic
        assert len(path.read_text().splitlines()) == len(synthetic) + 2

    def test_fewer_cells_are_recorded_only_by_force_and_none_never(self, synthetic, tmp_path):
        path = tmp_path / "baseline.json"
        write_baseline(synthetic, path)
        first = dict([next(iter(synthetic.items()))])
        with pytest.raises(
            StoreError, match=rf"none for {len(synthetic) - 1}, such as .*`--force`"
        ):
            write_baseline(first, path)
        assert read_baseline(path) == synthetic
        write_baseline(first, path, force=True)
        for force in (False, True):
            with pytest.raises(StoreError, match="got none: nothing was recorded"):
                write_baseline({}, path, force=force)
        assert read_baseline(path) == first

    def test_a_missing_file_is_an_error(self, tmp_path):
        said = r"none\.json: the baseline cannot be read \(No such file or directory\)\. "
        with pytest.raises(StoreError, match=said):
            read_baseline(tmp_path / "none.json")

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("", ANYTHING),
            ('{"format": 4, "cells": 3}', ANYTHING),
            ('{"format": 4, "cells": [{}]}', ANYTHING),
            (json.dumps({"format": 4, "cells": [WHOLE | {"values": {"0": math.nan}}]}), ANYTHING),
            ('{"format": 3, "cells": []}', "a baseline of format 4, got 3"),
        ],
        ids=str,
    )
    def test_a_file_that_is_no_baseline_is_an_error(self, tmp_path, text, expected):
        path = tmp_path / "baseline.json"
        path.write_text(text)
        said = rf"expected {expected}\. Delete it, and write it again with"
        with pytest.raises(StoreError, match=said):
            read_baseline(path)


def test_reseed_runs_every_published_number_of_slides_and_report():
    root = Path(__file__).parents[1]
    makefile = (root / "Makefile").read_text()
    (names,) = re.findall(r"^RESEEDED := .*%.yaml,([^)]+)\)", makefile, re.MULTILINE)
    configs = [root / f"configs/{name}.yaml" for name in names.replace("\\", "").split()]
    specs = [s for path in configs for s in expanded(parse_config(read_yaml(path)), repeats=1)]
    cells = grouped({spec.cell for spec in specs}, PROBLEM_AND_METHOD)
    unfilled = [
        (layout.id, row.key, column.key)
        for reference in REFERENCES[:2]
        for layout in reference.layouts
        for row in layout.rows
        for column in layout.columns
        if reference.published(layout.id, row.key, column.key)
        and (own := layout.selector(row, column))
        and not any(map(own.matches, cells.get((own.problem, own.method), ())))
    ]
    assert unfilled == []
