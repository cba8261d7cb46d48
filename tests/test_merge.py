"""Shards of a plan and their merging: equality with a single run, and contradictions."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from builders import done, failed, plan_of, runs_in, specs_of, stored_rows
from command_line import pppca, printed

from pppca_bench.errors import StoreError
from pppca_bench.experiments.queue import GROUP_SIZE, shard
from pppca_bench.runs import RunResult, RunSpec
from pppca_bench.store import DATABASE
from pppca_bench.store.database import Store
from pppca_bench.store.merge import merge

DOCUMENT = {
    "name": "small",
    "problems": ["iris", "wine"],
    "repeats": GROUP_SIZE + 2,
    "seed": 1,
    "tau": [5, 15],
    "methods": [{"method": "gha", "n_epochs": 2}, {"method": "ne_ppca", "n_generations": 2}],
    "classifier": {"hidden": [], "max_epochs": 3},
}
SPECS = specs_of(DOCUMENT)
YAML = yaml.safe_dump(DOCUMENT, default_flow_style=None)


def test_a_folder_without_results_is_refused_before_a_database_is_created(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = "Error: no results in nowhere/results.sqlite: name folders that `pppca run` wrote to.\n"
    assert printed("merge", "nowhere", "--results", "all", code=2) == said
    assert list(tmp_path.iterdir()) == []


def result(spec: RunSpec, error: float = 1 / 3, time_ms: float = 5.0) -> RunResult:
    times = dict.fromkeys(("fit_time_ms", "evolution_time_ms"), time_ms)
    return done(spec, {"variances": np.arange(3.0)}, test_error_percent=error, own=2.0, **times)


@pytest.fixture
def made(tmp_path):
    """Write a database of some results, and return its path."""

    def make(
        name: str,
        results: Sequence[RunResult],
        specs: Sequence[RunSpec] = SPECS,
        sha256: str = "c",
        config: str = "a",
    ) -> Path:
        with Store(tmp_path / name / DATABASE) as store:
            store.plan(plan_of(specs, config, sha256=sha256))
            store.record(results, f'{{"from": "{name}"}}')
        return tmp_path / name / DATABASE

    return make


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "all" / DATABASE) as store:
        yield store


def content(store: Store) -> list[list[tuple]]:
    """Return all that a database holds, in its order."""
    tables = ("cells", "runs", "problems", "histories", "provenances", "configs", "plans")
    return [store.rows(f"SELECT * FROM {table}") for table in tables]


@pytest.mark.parametrize("n", [1, 3, 50])
def test_shards_are_whole_groups_disjoint_and_together_the_plan(n):
    shards = [
        [spec for spec in SPECS if spec.key in shard(SPECS, number, n)]
        for number in range(1, n + 1)
    ]
    keys = [spec.key for part in shards for spec in part]
    assert sorted(keys) == sorted(spec.key for spec in SPECS)
    groups = [{(spec.cell, spec.repeat // GROUP_SIZE) for spec in part} for part in shards]
    assert len(set().union(*groups)) == sum(map(len, groups)), "no group is in two shards"
    assert max(map(len, groups)) - min(map(len, groups)) <= 1


@pytest.mark.parametrize("text", ["0/4", "5/4", "3"])
def test_an_invalid_shard_is_refused(text):
    said = f"expected I/N with 1 ≤ I ≤ N, such as 3/8, got '{text}'."
    assert said in printed("run", "demo", "--shard", text, code=2)


def test_four_shards_merged_equal_one_run_row_by_row_and_so_do_their_tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("small.yaml").write_text(YAML)
    printed("run", "small.yaml", "--workers", "0", "--results", "one")
    done = {}
    for number in (2, 4, 1, 3):
        options = ("--shard", f"{number}/4", "--results", f"s{number}")
        shard = pppca("run", "small.yaml", "--workers", "0", *options)
        assert (shard.exit_code, shard.stdout) == (0, ""), "a shard has no tables"
        status = printed("status", "--results", f"s{number}").split()
        done[number] = int(status[-4])
        assert status[-3:] == ["0", "0", "0"], "the runs of other shards are not to do"
    folders = [f"s{number}" for number in range(1, 5)]
    merged = printed("merge", *folders, "--results", "all")
    assert merged.endswith("all has 108 runs done, 0 failed and 0 to do.\n")
    assert sum(done.values()) == 108
    part = printed("merge", "s1", "--results", "part")
    assert part.endswith(f"part has {done[1]} runs done, 0 failed and {108 - done[1]} to do.\n")
    found = list(stored_rows(Path("all", DATABASE)).items())
    assert found == list(stored_rows(Path("one", DATABASE)).items())
    found = printed("tables", "--results", "all", "--format", "csv")
    assert found == printed("tables", "--results", "one", "--format", "csv")
    again = printed("run", "small.yaml", "--workers", "0", "--results", "all", "--no-tables")
    assert again.endswith("Nothing to do: all 108 runs are in all.\n")


def test_merging_again_changes_nothing(store, made):
    paths = [made("one", [result(SPECS[0]), failed(SPECS[1])]), made("two", [result(SPECS[1])])]
    assert merge(store, paths) == [(2, 0), (1, 0)]
    before = content(store)
    assert merge(store, paths) == [(0, 1), (0, 1)]
    assert content(store) == before


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


OTHER_CELLS = {
    "data": other_cell(SPECS[0], data_sha256="f" * 64),
    "version": other_cell(SPECS[0], algorithms=(("gha", 99),)),
    "seed": replace(SPECS[0], key="other", seed=1),
}
CONTRADICTIONS = {
    "error": {"results": [result(spec, 0.5) for spec in SPECS[:3]]},
    "measure": {"results": [OWN]},
    "curve": {"results": [CURVES]},
    "text": {"results": [], "sha256": "d"},
    **{name: {"results": [], "specs": [spec], "config": "b"} for name, spec in OTHER_CELLS.items()},
}
MESSAGES = {
    "error": r"gha on iris, repeat 0\): expected test_error_percent 0.333.*got 0.5\. Runs that differ: 3\. Other proc",
    "measure": r"expected own 2\.0, as it was merged before, got 2\.5\.",
    "curve": rf"run {SPECS[0].key} .*expected the learning curve 'variances' of SHA-256 .*got ",
    "text": r"config a: expected the text.*SHA-256 c\.\.\.\), got another \(d\.\.\.\)",
    "data": r"gha on iris: expected the same data in all databases, got SHA-256 .* and ",
    "version": r"gha on iris: expected the same versions of the algorithms .*\"gha\": .* and .*99",
    "seed": r"gha on iris, repeat 0: expected one seed for the same settings, got several, of the configs a and b\.",
}


@pytest.mark.parametrize("kind", CONTRADICTIONS)
def test_a_contradiction_is_named_and_nothing_is_merged(store, made, kind):
    merge(store, [made("one", [result(SPECS[0]), result(SPECS[2])])])
    before = content(store)
    fine, bad = made("two", [result(SPECS[1])]), made("bad", **CONTRADICTIONS[kind])
    said = rf"bad.{DATABASE}: .*{MESSAGES[kind]}.* Nothing was merged\.$"
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


def test_the_target_is_refused_as_a_source(store):
    with pytest.raises(StoreError, match="expected another database than the target of the merge"):
        merge(store, [store.path])
