"""Shards of a plan and their merging: equality with a single run, and contradictions."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from builders import done, failed, plan_of, runs_in, small, specs_of, stored_rows, write_config
from command_line import pppca, printed

from pppca_bench.errors import StoreError
from pppca_bench.experiments.queue import GROUP_SIZE, shard
from pppca_bench.runs import RunResult, RunSpec
from pppca_bench.store import DATABASE
from pppca_bench.store.database import Store
from pppca_bench.store.merge import merge

DOCUMENT = small(
    {"method": "gha", "tau": None, "n_epochs": 2},
    {"method": "ne_ppca", "n_generations": 2},
    name="small",
    problems=["iris", "wine"],
    repeats=GROUP_SIZE + 2,
    tau=[5, 15],
    classifier={"hidden": [], "max_epochs": 3},
)
SPECS = specs_of(DOCUMENT)


def result(spec: RunSpec, error: float = 1 / 3, time_ms: float = 5.0) -> RunResult:
    times = dict.fromkeys(("fit_time_ms", "classifier_time_ms"), time_ms)
    return done(spec, {"variances": np.arange(3.0)}, test_error_percent=error, own=2.0, **times)


@pytest.fixture
def made(tmp_path):
    """Write a database of some results, and return its path."""

    def make(
        name: str,
        results: Sequence[RunResult] = (),
        specs: Sequence[RunSpec] = SPECS,
        sha256: str = "c",
        config: str = "a",
    ) -> Path:
        with Store(tmp_path / name / DATABASE) as store:
            store.plan(plan_of(specs, config, sha256=sha256))
            store.record(results, f'{{"from": "{name}"}}')
        return tmp_path / name / DATABASE

    return make


def content(store: Store) -> list[list[tuple]]:
    """Return all that a database holds, in its order."""
    tables = ("cells", "runs", "problems", "histories", "provenances", "configs", "plans")
    return [store.rows(f"SELECT * FROM {table}") for table in (*tables, "labels")]


@pytest.mark.parametrize("n", [1, 3, 50])
def test_shards_are_whole_groups_disjoint_and_together_the_plan(n):
    keys = [shard(SPECS, number, n) for number in range(1, n + 1)]
    shards = [[spec for spec in SPECS if spec.key in own] for own in keys]
    assert sorted(key for own in keys for key in own) == sorted(spec.key for spec in SPECS)
    groups = [{(spec.cell, spec.repeat // GROUP_SIZE) for spec in part} for part in shards]
    assert len(set().union(*groups)) == sum(map(len, groups)), "no group is in two shards"
    assert max(map(len, groups)) - min(map(len, groups)) <= 1


def test_four_shards_merged_equal_one_run_row_by_row(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = ("run", write_config(tmp_path, DOCUMENT), "--workers", 0, "--results")
    printed(*run, "one")
    folders, done = ["s2", "s4", "s1", "s3"], {}
    for folder in folders:
        shard = pppca(*run, folder, "--shard", f"{folder[1]}/4")
        assert (shard.exit_code, shard.stdout) == (0, ""), "a shard has no tables"
        *_, n_done, n_failed, n_left, n_reserved = printed("status", "--results", folder).split()
        assert (n_failed, n_left, n_reserved) == ("0", "0", "0"), "of other shards nothing is to do"
        done[folder] = int(n_done)
    part = printed("merge", "s1", "--results", "part")
    n_left = 108 - done["s1"]
    assert part.endswith(f"part has {done['s1']} runs done, 0 failed and {n_left} to do.\n")
    merged = printed("merge", *sorted(folders), "--results", "all")
    assert merged.endswith("all has 108 runs done, 0 failed and 0 to do.\n")
    one, found = (list(stored_rows(Path(name, DATABASE)).items()) for name in ("one", "all"))
    assert found == one
    again = printed(*run, "all", "--no-tables")
    assert again.endswith("Nothing to do: all 108 runs are in all.\n")


def test_merging_again_changes_nothing(store, made):
    paths = [made("one", [result(SPECS[0]), failed(SPECS[1])]), made("two", [result(SPECS[1])])]
    assert merge(store, paths) == [(2, 0), (1, 0)]
    before = content(store)
    assert merge(store, paths) == [(0, 1), (0, 1)]
    assert content(store) == before


def test_cells_keep_their_labels_whatever_their_numbers(store, made):
    merge(store, [made("one", specs=SPECS[:1]), made("two", specs=SPECS[::-1], config="b")])
    _, cells, labels = store.read()
    found = {cell: next(iter(labels[number].values())) for number, cell in cells.items()}
    assert found == {spec.cell: spec.label for spec in SPECS}


def test_merging_takes_all_data_of_a_run_and_keeps_done_runs(store, made):
    one = made("one", [result(SPECS[0], time_ms=1.0), failed(SPECS[1]), failed(SPECS[2])])
    two = made("two", [result(SPECS[0], time_ms=9.0), result(SPECS[1]), result(SPECS[3])])
    merge(store, [one, two])
    runs = {spec.key: (spec, found) for spec, found in runs_in(store)}
    assert [spec for spec, _ in runs.values()] == SPECS, "in the order of the plan"
    found = [runs[spec.key][1] for spec in SPECS[:4]]
    assert [one and one.status for one in found] == ["done", "done", "failed", "done"]
    assert found[0].values["fit_time_ms"] == 1.0
    assert [one.origin for one in found] == 2 * ['{"from": "one"}', '{"from": "two"}']
    assert store.histories([SPECS[3].key])[SPECS[3].key]["variances"].tolist() == [0.0, 1.0, 2.0]
    assert store.rows("SELECT name, sha256, text FROM configs") == [("a", "c", "name: a\n")]


def test_plans_are_united(store, made):
    made_a = [made("one", [], SPECS[:2]), made("two", [], SPECS[1:3])]
    merge(store, [*made_a, made("b", [], SPECS[:1], config="b")])
    plans = {
        name: {spec.key for spec, _ in runs_in(store, [name])} for name in store.config_texts()
    }
    assert plans == {"a": {spec.key for spec in SPECS[:3]}, "b": {SPECS[0].key}}


def other_cell(spec: RunSpec, **changes: object) -> RunSpec:
    return replace(spec, key="other", cell=replace(spec.cell, **changes))


CURVES = replace(result(SPECS[0]), history={"variances": np.ones(3)})
OWN = replace(result(SPECS[0]), values={**result(SPECS[0]).values, "own": 2.5})
CONTRADICTIONS = [
    (
        {"results": [result(spec, 0.5) for spec in SPECS[:3]]},
        r"gha on iris, repeat 0\): expected test_error_percent 0.333.*got 0.5\. Runs that differ: 3\. Other proc",
    ),
    ({"results": [OWN]}, r"expected own 2\.0, as it was merged before, got 2\.5\."),
    (
        {"results": [CURVES]},
        rf"run {SPECS[0].key} .*expected the learning curve 'variances' of SHA-256 .*got ",
    ),
    ({"sha256": "d"}, r"config a: expected the text.*SHA-256 c\.\.\.\), got another \(d\.\.\.\)"),
    (
        {"specs": [other_cell(SPECS[0], data_sha256="f" * 64)], "config": "b"},
        r"gha on iris: expected the same data in all databases, got SHA-256 .* and ",
    ),
    (
        {"specs": [other_cell(SPECS[0], algorithms=(("gha", 99),))], "config": "b"},
        r"gha on iris: expected the same versions of the algorithms .*\"gha\": .* and .*99",
    ),
    (
        {"specs": [replace(SPECS[0], key="other", seed=1)], "config": "b"},
        r"gha on iris, repeat 0: expected one seed for the same settings, got several, of the configs a and b\.",
    ),
]


@pytest.mark.parametrize(("other", "message"), CONTRADICTIONS)
def test_a_contradiction_is_named_and_nothing_is_merged(store, made, other, message):
    merge(store, [made("one", [result(SPECS[0]), result(SPECS[2])])])
    before = content(store)
    fine, bad = made("two", [result(SPECS[1])]), made("bad", **other)
    said = rf"bad.{DATABASE}: .*{message}.* Nothing was merged\.$"
    with pytest.raises(StoreError, match=said):
        merge(store, [fine, bad])
    assert content(store) == before


def test_curves_compressed_by_another_library_are_equal(store, made):
    path = made("two", [result(SPECS[0])])
    merge(store, [made("one", [result(SPECS[0])])])
    with closing(sqlite3.connect(path)) as connection, connection:
        # what is behind a ZIP is skipped
        connection.execute("UPDATE histories SET curves = CAST(curves || x'00' AS BLOB)")
    assert merge(store, [path]) == [(0, 1)]


def test_a_damaged_source_is_named_and_nothing_is_merged(store, made):
    bad = made("bad", [result(SPECS[0])])
    bad.write_bytes(bad.read_bytes()[:-8192])
    before = content(store)
    with pytest.raises(StoreError, match=rf"^{bad}: no intact results database"):
        merge(store, [bad])
    assert content(store) == before


def test_damaged_numbers_are_named_with_their_file_and_run(store, made):
    bad = made("bad", [result(SPECS[0])])
    merge(store, [made("one", [result(SPECS[0])])])
    with closing(sqlite3.connect(bad)) as connection, connection:
        connection.execute("UPDATE runs SET measured = 'x' WHERE status = 'done'")
    said = rf"^{bad}: no intact results database \(numbers of run {SPECS[0].key}: "
    with pytest.raises(StoreError, match=said):
        merge(store, [bad])


def test_other_choices_of_a_run_are_refused(store, made):
    for name, tau in (("one", 5.0), ("two", 10.0)):
        other = made(name, [replace(result(SPECS[0]), choice={"chosen": {"tau": tau}})])
        if name == "one":
            merge(store, [other])
    with pytest.raises(
        StoreError, match=r"expected the choice {'chosen': {'tau': 5\.0}}, as it was"
    ):
        merge(store, [other])


def test_the_target_is_refused_as_a_source(store):
    with pytest.raises(StoreError, match="expected another database than the target of the merge"):
        merge(store, [store.path])
