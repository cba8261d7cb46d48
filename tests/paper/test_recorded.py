"""Comparison with recorded repeats: every repeat counts, changed verdicts, and the file."""

import json
import lzma
import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from builders import expanded
from full_results import REFERENCES, full_runs, snapshot_of

from pppca_bench.config.experiment import parse_config
from pppca_bench.errors import StoreError
from pppca_bench.pages.changes import render_changes
from pppca_bench.pages.snapshot import Snapshot
from pppca_bench.quantities import SIZES
from pppca_bench.runs import PROBLEM_AND_METHOD, RunSpec, StoredRun, grouped
from pppca_bench.verdicts.numbers import PLACE, results_of
from pppca_bench.verdicts.recorded import (
    COLUMNS,
    RECORDED,
    changes,
    differences,
    read_recorded,
    repeats,
    write_recorded,
)
from pppca_bench.yaml_files.source import read_yaml

N_REPEATS = 10
RUNS = full_runs(N_REPEATS)
SOME = [run for run in RUNS if run[0].cell.problem in ("cancer1", "card1", "glass1")]


def place_of(spec: RunSpec) -> tuple:
    return (spec.cell.problem, spec.cell.method, spec.cell.parameters.get("tau"))


def recorded_of(snapshot: Snapshot) -> pd.DataFrame:
    return repeats(snapshot.numbers, snapshot.runs)


def differing(
    runs: list[StoredRun], recorded: pd.DataFrame, *options: int, **named: float
) -> dict[tuple[str, ...], str]:
    """Return how runs differ from recorded repeats, by place."""
    snapshot = snapshot_of(runs)
    return differences(snapshot.numbers, snapshot.runs, recorded, *options, **named)


def at(recorded: pd.DataFrame, place: tuple[str, ...]) -> "pd.Series[bool]":
    """Return which recorded repeats are of a place."""
    return (recorded[PLACE] == list(place)).all(axis="columns")


@pytest.fixture(scope="module")
def synthetic() -> pd.DataFrame:
    return recorded_of(snapshot_of(RUNS))


@pytest.fixture(scope="module")
def some() -> pd.DataFrame:
    return recorded_of(snapshot_of(SOME))


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
        assert differing(runs, some, n_repeats) == {}

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
        reasons = differing(runs, some)
        assert reasons.keys() == set(places)
        assert all(reason in said for said in reasons.values())

    def test_more_repeats_than_recorded_pass_if_only_the_first_are_compared(self, some):
        known = some[some["repeat"] < 2]
        assert differing(SOME, known, 5) == {}
        reasons = differing(SOME, known).values()
        assert all("which was not recorded" in reason for reason in reasons)

    def test_a_cell_without_a_record_is_named(self, some):
        assert differing(SOME, some[~at(some, ERROR)]) == {ERROR: "was not recorded"}

    def test_differences_within_the_tolerance_are_rounding(self, some):
        runs = moved("test_error_percent", lambda _: 1e-6)
        assert differing(runs, some, tolerance=1e-6) == {}
        assert differing(runs, some, tolerance=1e-9).keys() == {ERROR}

    def test_a_cell_with_failed_runs_fails_though_the_others_pass(self, some):
        keys = [s.key for s, _ in SOME if place_of(s) == CELL][:2]
        runs = [(s, replace(r, status="failed") if s.key in keys else r) for s, r in SOME]
        assert differing(runs, some) == dict.fromkeys(BOTH, "has 2 failed runs")

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
        assert differing(runs, some) == dict.fromkeys(BOTH, reason)


class TestRepeats:
    def test_every_cell_that_our_runs_can_fill_is_recorded_but_sizes(self, synthetic):
        recorded = set(synthetic["quantity"])
        assert recorded.isdisjoint(SIZES)
        assert "speedup_operations" in recorded, "though no rule compares it"
        places = synthetic[PLACE].drop_duplicates()
        of_slides = places["table"].str.startswith("T") & (places["table"] < "TB")
        assert (of_slides & (places["quantity"] != "dimensionality")).sum() == 145
        assert set(synthetic.groupby(PLACE).size()) == {N_REPEATS}


def changes_of(
    runs: list[StoredRun], recorded: pd.DataFrame, n_repeats: int | None = None
) -> pd.DataFrame:
    """Return the results of runs beside those of recorded repeats."""
    snapshot = snapshot_of(runs)
    return changes(snapshot.numbers, snapshot.runs, recorded, n_repeats)


class TestChanges:
    def test_the_recorded_verdicts_are_those_of_the_recorded_runs(self, some):
        judged = results_of(snapshot_of(SOME).numbers)
        every = changes_of(SOME, some)
        found = every[every["obstacle"] == ""]
        assert list(found.index) == list(judged[judged["n"] > 0].index)
        assert (found["recorded_verdict"] == judged["verdict"][found.index]).all()
        assert (found["recorded_mean"] == judged["mean"][found.index]).all()
        assert set(found["direction"]) == {"unchanged"}

    def test_a_changed_verdict_is_listed_with_both_means_and_counted(self, some):
        every = changes_of(moved(ERROR[3], lambda _: 50.0), some)
        (found,) = every[every["direction"] != "unchanged"].itertuples()
        assert (found.table, found.row, found.column, found.quantity) == ERROR
        expected = ("differs", pytest.approx(found.recorded_mean + 50.0))
        assert (found.verdict, found.mean) == expected
        text, n = render_changes(every, "terminal"), (every["obstacle"] == "").sum()
        rows = [re.split("  +", row) for row in text.splitlines() if row.startswith("T1 ")]
        means = [f"{found.published:g}", f"{found.recorded_mean:.2f}", f"{found.mean:.2f}"]
        assert [*ERROR, *means, found.recorded_verdict, "differs"] in rows
        of_table = every[(every["table"] == "T1") & (every["quantity"] == ERROR[3])]
        apart = of_table["difference"].dropna()
        below = str((apart < 0).sum())
        counts = ["12", "1", "0", "11", f"+{math.fsum(apart) / 12:.2f}", below]
        assert ["T1", ERROR[3], *counts] in rows
        assert f"\n1 of {n} verdicts change: 1 fell, 0 rose." in text

    def test_totals_before_and_now_are_by_source_and_part(self, some):
        every = changes_of(moved(ERROR[3], lambda _: 50.0), some)
        text = render_changes(every, "terminal", REFERENCES)
        rows = [re.split("  +", row) for row in text.splitlines()]
        own = every[(every["obstacle"] == "") & (every["table"] == "T1")]
        verdicts = own["recorded_verdict"].tolist(), own["verdict"].tolist()
        n_reproduced = [str(each.count("reproduced")) for each in verdicts]
        n_differing = [str(each.count("differs")) for each in verdicts]
        counts = [str(len(own)), *n_reproduced, *n_differing, "1", "0"]
        assert ["– NE-pPCA", *counts] in rows
        (of_slides,) = [row for row in rows if row[0] == REFERENCES[0].title]
        (changed,) = [row for row in rows if row[0] == "– DGHA"]
        assert int(of_slides[1]) > len(own)
        assert changed[-2:] == ["0", "0"]

    def test_a_verdict_that_was_worse_on_the_recorded_repeats_rose(self):
        worse = recorded_of(snapshot_of(moved(ERROR[3], lambda _: 50.0)))
        every = changes_of(SOME, worse)
        (found,) = every[every["direction"] != "unchanged"].itertuples()
        assert (found.direction, found.recorded_verdict) == ("rose", "differs")
        n = (every["obstacle"] == "").sum()
        said = f"\n1 of {n} verdicts change: 0 fell, 1 rose."
        assert said in render_changes(every, "markdown")

    def test_json_has_every_compared_number(self, some):
        every = changes_of(SOME, some)
        records = json.loads(render_changes(every, "json"))
        assert len(records) == (every["obstacle"] == "").sum()
        assert all(item["recorded_mean"] == item["mean"] for item in records)

    @pytest.mark.parametrize(
        ("n_repeats", "settings", "reason"),
        [
            (
                1,
                "",
                "recorded with another number of repeats (`--repeats N` takes the first N of them)",
            ),
            (N_REPEATS, "b", "recorded with other settings, on other data, or not at all"),
        ],
    )
    def test_a_number_of_other_repeats_or_settings_is_left_out_with_why(
        self, some, n_repeats, settings, reason
    ):
        of_error = at(some, ERROR)
        known = some[~of_error | (some["repeat"] < n_repeats)]
        if settings:
            known = known.assign(settings=known["settings"].mask(of_error, settings))
        said = f"Not compared: 1 numbers {reason}, such as {', '.join(ERROR)}."
        assert said in render_changes(changes_of(SOME, known), "terminal")

    def test_numbers_that_were_not_run_are_counted(self, some):
        every = changes_of([run for run in SOME if place_of(run[0]) != CELL], some)
        (found,) = every[at(every, ERROR)].itertuples()
        assert found.obstacle == "without runs, or with too few"
        said = r"Not compared: \d+ numbers without runs, or with too few, such as T1, "
        assert re.search(said, render_changes(every, "terminal"))

    def test_fewer_repeats_are_compared_with_the_recorded_ones_as_the_message_proposes(self, some):
        fewer = [run for run in SOME if run[0].repeat < 4]
        said = r"of our runs, got none\. .*`--repeats N` takes the first N of them"
        with pytest.raises(StoreError, match=said):
            render_changes(changes_of(fewer, some), "terminal")
        every = changes_of(fewer, some, 4)
        found = every[every["obstacle"] == ""]
        assert set(found["recorded_n"]) == {4}
        assert (found["recorded_mean"] == found["mean"]).all()
        assert (found["recorded_verdict"] == found["verdict"]).all()


ANYTHING = r"recorded repeats, got something else \(.+\)"
HEADER = ",".join(COLUMNS)
WHOLE = ",".join([*ERROR, "0012", "0"])


class TestFile:
    def test_recorded_repeats_are_read_back_exactly(self, synthetic, tmp_path):
        path = tmp_path / RECORDED
        write_recorded(synthetic.assign(settings="0012"), path)
        pd.testing.assert_frame_equal(
            read_recorded(path), synthetic.assign(settings="0012"), check_exact=True
        )

    def test_fewer_cells_are_not_recorded(self, synthetic, tmp_path):
        path = tmp_path / RECORDED
        write_recorded(synthetic, path)
        n_lost = len(synthetic[PLACE].drop_duplicates()) - 1
        said = (
            rf"none for {n_lost}, such as .*: nothing was recorded\. Run the configs of these numbers, or delete the"
            r" file\."
        )
        before = path.read_bytes()
        with pytest.raises(StoreError, match=said):
            write_recorded(synthetic[at(synthetic, ERROR)], path)
        with pytest.raises(StoreError, match="got none: nothing was recorded"):
            write_recorded(synthetic[:0], path)
        assert path.read_bytes() == before

    def test_more_cells_replace_the_recorded_ones(self, synthetic, tmp_path):
        path = tmp_path / RECORDED
        write_recorded(synthetic[at(synthetic, ERROR)], path)
        write_recorded(synthetic, path)
        assert len(read_recorded(path)) == len(synthetic)

    def test_a_missing_file_is_an_error(self, tmp_path):
        said = r"none\.csv\.xz: recorded repeats cannot be read \(No such file or directory\)\. "
        with pytest.raises(StoreError, match=said):
            read_recorded(tmp_path / "none.csv.xz")

    @pytest.mark.parametrize(
        ("content", "expected"),
        [
            (b"", ANYTHING),
            (b"no such compression", ANYTHING),
            (lzma.compress(b""), ANYTHING),
            (lzma.compress(f"{HEADER}\n{WHOLE},1.5\n".encode())[:-20], ANYTHING),
            (lzma.compress(b"table,row\nT1,a\n"), ANYTHING),
            (lzma.compress(f"{HEADER}\n{WHOLE},much\n".encode()), ANYTHING),
            (lzma.compress(f"{HEADER}\n{WHOLE},nan\n".encode()), "repeats with finite values"),
            (lzma.compress(f"{HEADER}\n{WHOLE},inf\n".encode()), "repeats with finite values"),
            (lzma.compress(f"{HEADER}\n".encode()), "repeats with finite values"),
        ],
        ids=["empty", "text", "no lines", "cut", "columns", "a word", "nan", "inf", "no repeats"],
    )
    def test_a_file_without_recorded_repeats_is_an_error(self, tmp_path, content, expected):
        path = tmp_path / RECORDED
        path.write_bytes(content)
        said = rf"expected {expected}.*\. Write it with `pppca compare --record`\."
        with pytest.raises(StoreError, match=said):
            read_recorded(path)


def test_reseed_runs_every_published_number_of_slides_and_report():
    root = Path(__file__).parents[2]
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
