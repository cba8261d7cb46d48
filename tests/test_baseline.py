"""Comparison with a recorded baseline: detected changes, and the file."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from full_results import full_runs, published, tables_of, with_values

from pppca_bench.errors import StoreError
from pppca_bench.references.reference import own_references
from pppca_bench.reporting.baseline import RecordedCell, read_baseline, record, regression, regressions, write_baseline
from pppca_bench.reporting.comparison import Place
from pppca_bench.runs import SIZES, RunSpec, described

N_REPEATS = 30
STORED = Path(__file__).parents[1] / "results" / "baseline.json"
RUNS = full_runs(N_REPEATS)
SOME = [run for run in RUNS if run[0].cell.problem in ("cancer1", "card1", "glass1")]
TOLERANCES = {table.id: one.tolerances for one in own_references() for table in one.layouts}
Recorded = dict[Place, RecordedCell]
Values = dict[Place, dict[int, float]]


def changed(values: Mapping[Place, Mapping[int, float]], recorded: Recorded) -> dict[Place, str]:
    """Return the reason of each place whose values became worse."""
    reasons = {
        place: regression(cell, values.get(place, {}), published(*place), TOLERANCES[place[0]][place[3]])
        for place, cell in recorded.items()
    }
    return {place: reason for place, reason in reasons.items() if reason}


def place_of(spec: RunSpec) -> tuple:
    return (spec.cell.problem, spec.cell.method, dict(spec.cell.parameters).get("tau"))


def in_cells(spec: RunSpec, **changes: object) -> RunSpec:
    return replace(spec, cell=replace(spec.cell, **changes))


def _stored() -> Recorded:
    if not STORED.exists():
        pytest.skip("needs results/baseline.json, which a full run records")
    return read_baseline(STORED)


@pytest.fixture(scope="module", params=["synthetic", pytest.param("stored", marks=pytest.mark.slow)])
def baseline(request) -> Recorded:
    """Return a baseline of every cell: made by hand, and the versioned one where there is one."""
    return record(tables_of(RUNS)) if request.param == "synthetic" else _stored()


@pytest.fixture(scope="module")
def synthetic() -> Recorded:
    return record(tables_of(RUNS))


@pytest.fixture(scope="module")
def some() -> Recorded:
    return record(tables_of(SOME))


def first(recorded: Mapping[Place, RecordedCell], n_repeats: int) -> Values:
    return {place: dict(list(cell.values.items())[:n_repeats]) for place, cell in recorded.items()}


def standard_error(cell: RecordedCell) -> float:
    """Return the standard error of a cell's mean; 0 for a single repeat, whose method is deterministic."""
    if len(cell.values) == 1:
        return 0.0
    return float(np.std(list(cell.values.values()), ddof=1)) / len(cell.values) ** 0.5


def shifted(values: Values, place: Place, by: float) -> Values:
    return {place: {repeat: value + by for repeat, value in values[place].items()}}


@pytest.mark.parametrize("n_repeats", [1, 3, N_REPEATS])
def test_the_first_repeats_of_a_baseline_pass(baseline, n_repeats):
    assert changed(first(baseline, n_repeats), baseline) == {}


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_shift_of_two_standard_errors_of_any_one_cell_is_caught(baseline, sign):
    values = first(baseline, 3)
    varying = {place: se for place, cell in baseline.items() if (se := standard_error(cell)) > 1e-9}
    assert len(varying) > 100
    for place, error in varying.items():
        values |= shifted(values, place, sign * 2 * error)
    assert changed(values, baseline).keys() == varying.keys()


CELL = ("T1", "cancer1", "tau=5", "test_error_percent")  # published: 2.30


class TestRule:
    def reason(self, recorded: list[float], *ours: float, start: int = 0) -> str | None:
        """Return the reason of `CELL`, recorded as reproduced."""
        baseline = {CELL: RecordedCell("reproduced", dict(enumerate(recorded)))}
        return changed({CELL: dict(enumerate(ours, start))}, baseline).get(CELL)

    def test_one_and_a_half_standard_errors_are_allowed(self):
        recorded = [2.0, 2.0, 3.0, 3.0]  # standard deviation sqrt(1 / 3), standard error 0.288675, allowed 0.433013
        assert self.reason(recorded, 2.43, 2.43, 3.43, 3.43) is None
        assert self.reason(recorded, 2.44, 2.44, 3.44, 3.44) == "shifted by +0.44 over 4 repeats (allowed: 0.433)"
        assert self.reason(recorded, 1.56, 1.56, 2.56) == "shifted by -0.44 over 3 repeats (allowed: 0.433)"

    def test_repeats_that_never_varied_may_not_shift_beyond_rounding(self):
        assert self.reason([2.0] * 4, 2.0 + 1e-9, 2.0, 2.0) is None
        assert self.reason([2.0] * 4, 2.1, 2.1, 2.1) == "shifted by +0.1 over 3 repeats (allowed: 2e-09)"

    def test_a_worse_verdict_fails(self):
        # Four times 3.29 at a published 2.30 are reproduced, 1 point and a hair more are close.
        near = [3.09, 3.29, 3.39, 3.29]
        assert self.reason(near, 3.12, 3.32, 3.42) is None
        # The mean, 3.265, may rise by 0.095; the interval reaches down to 3.065.
        assert self.reason(near, 3.13, 3.33, 3.43) == "would be 'close', recorded was 'reproduced'"

    def test_only_repeats_of_both_count(self):
        assert self.reason([2.0, 2.0, 3.0, 3.0]) == "was not run"
        assert self.reason([2.0, 2.0, 3.0, 3.0], 2.0, start=7) == "was not run"
        assert self.reason([2.0, 2.0, 3.0, 3.0], 2.0, 2.0, 3.0, 3.0, 99.0) is None


class TestRecord:
    def test_every_cell_that_our_runs_can_fill_is_recorded_but_sizes(self, synthetic):
        recorded = {place[3] for place in synthetic}
        assert recorded.isdisjoint(SIZES)
        assert {name for name in recorded if described(name).is_timing} == {"speedup"}
        assert sum(place[0].startswith("T") and place[0] < "TB" for place in synthetic) == 235  # of the slides
        assert {len(cell.values) for cell in synthetic.values()} == {N_REPEATS}

    def test_a_time_is_recorded_as_its_operation_count(self, synthetic):
        ratios = [
            result.values["speedup_operations"]
            for spec, result in RUNS
            if place_of(spec) == ("cancer1", "dgha_speedup", 5) and ("data_fraction", 100) in spec.cell.parameters
        ]
        assert list(synthetic["T4", "cancer1, 100%", "tau=5", "speedup"].values.values()) == ratios

    def test_fewer_repeats_and_other_times_at_the_same_operations_pass(self, some):
        few = [run for run in SOME if run[0].repeat < 3]
        slower = [(s, with_values(r, speedup=99.0) if "speedup" in r.values else r) for s, r in few]
        assert regressions(tables_of(slower), some) == {}

    @pytest.mark.parametrize(("n_failed", "reason"), [(1, "has 1 failed run"), (30, "has 30 failed runs")])
    def test_a_cell_with_failed_runs_fails_though_the_others_pass(self, some, n_failed, reason):
        keys = [s.key for s, _ in SOME if place_of(s) == ("glass1", "ne_ppca", 5)][:n_failed]
        runs = [(s, replace(r, status="failed") if s.key in keys else r) for s, r in SOME]
        assert regressions(tables_of(runs), some) == {
            ("T1", "glass1", "tau=5", quantity): reason for quantity in ("test_error_percent", "dimensionality")
        }


WHOLE = dict(
    zip(("table", "row", "column", "quantity"), CELL, strict=True), settings="", verdict="close", values={"0": 1}
)


class TestFile:
    def test_a_baseline_has_a_line_per_cell_and_is_read_back_to_the_last_digit(self, synthetic, tmp_path):
        path = tmp_path / "baseline.json"
        write_baseline(synthetic, path)
        assert read_baseline(path) == synthetic
        assert len(path.read_text().splitlines()) == len(synthetic) + 2

    def test_a_missing_file_is_an_error(self, tmp_path):
        with pytest.raises(
            StoreError, match=r"none\.json: the baseline cannot be read \(No such file or directory\)\. "
        ):
            read_baseline(tmp_path / "none.json")

    @pytest.mark.parametrize(
        "cells", [3, [{}], [WHOLE | {"verdict": "fine"}], [WHOLE | {"values": {"0": float("nan")}}]], ids=str
    )
    def test_a_damaged_cell_is_an_error(self, tmp_path, cells):
        self.refused(tmp_path, json.dumps({"format": 3, "cells": cells}), r"a baseline, got something else \(.+\)")

    def test_a_file_that_is_no_baseline_is_an_error(self, tmp_path):
        self.refused(tmp_path, "", r"a baseline, got something else \(.+\)")
        self.refused(tmp_path, '{"format": 2, "cells": []}', "a baseline of format 3, got 2")

    def refused(self, folder: Path, text: str, expected: str) -> None:
        path = folder / "baseline.json"
        path.write_text(text)
        with pytest.raises(StoreError, match=rf"expected {expected}\. Delete it, and write it again with"):
            read_baseline(path)


class TestOtherSettings:
    def test_a_cell_with_other_settings_than_recorded_fails_though_its_numbers_are_the_same(self, some):
        runs = [
            (in_cells(s, classifier=(("hidden", (7,)),)) if place_of(s) == ("glass1", "ne_ppca", 5) else s, r)
            for s, r in SOME
        ]
        found = regressions(tables_of(runs), some)
        assert set(found.values()) == {"was run with other settings, or on other data, than recorded"}
        assert {place[:3] for place in found} == {("T1", "glass1", "tau=5")}

    def test_a_cell_on_other_data_fails_but_not_a_cell_that_was_also_timed(self, some):
        def other(spec: RunSpec) -> RunSpec:
            if spec.cell.method == "dgha_speedup":
                return in_cells(spec, parameters=(*spec.cell.parameters, ("timed", False)))
            return in_cells(spec, data_sha256="b") if spec.cell.problem == "card1" else spec

        found = regressions(tables_of([(other(s), r) for s, r in SOME]), some)
        assert {place[1] for place in found} == {"card1"}
