"""Numbers of runs of each config by status."""

import os
import sqlite3
from contextlib import closing
from typing import Any

import click
import pytest
from builders import done, failed, plan_of
from command_line import pppca, printed

from pppca_bench.runs import Cell, ProblemFacts, RunSpec
from pppca_bench.store.database import Store
from pppca_bench.store.file import machine_digest

GHA, DGHA = (
    [
        RunSpec(f"{method}{repeat}", Cell("iris", "a" * 64, method, {}, {}), repeat, repeat)
        for repeat in range(3)
    ]
    for method in ("gha", "dgha")
)


def statuses(store: Store) -> list[str]:
    lines = printed("status", "--results", store.path.parent).splitlines()[2:]
    return [" ".join(line.split()) for line in lines]


def test_runs_are_counted_while_another_process_writes(store):
    store.plan(plan_of([*GHA, *DGHA], "c"))
    store.record([done(GHA[0]), done(GHA[1]), failed(DGHA[0])], "{}")
    with store.transaction():
        assert statuses(store) == ["c 2 1 3 0"]


def test_all_configs_are_counted_last_and_each_run_once(store):
    said = printed("status", "--results", store.path.parent)
    assert said.startswith("No run is planned yet: a new `pppca run` first opens its data.\n")
    store.plan(plan_of(GHA, "known"))
    store.plan(plan_of([*GHA, *DGHA], "both"))
    store.record([done(GHA[0])], "{}")
    expected = ["both 1 0 5 0", "known 1 0 2 0", "(all) 1 0 5 0"]
    assert statuses(store) == expected


def test_reservations_of_running_processes_count_as_under_way(store):
    store.plan(plan_of(GHA, "c"))
    store.reserve(["gha0"])
    others = [("gha1", f"{2**30} {machine_digest()}"), ("gha2", f"{os.getpid()} elsewhere")]
    with store.transaction() as connection:
        connection.executemany("INSERT INTO reservations VALUES (?, ?)", others)
    assert statuses(store) == ["c 0 0 3 2"]


COMMANDS = ["status", "list", "list --failed", "show gha0", "export", "tables", "compare", "rank"]


@pytest.mark.parametrize("command", [*COMMANDS, "rules c"])
def test_no_command_prints_while_it_reads(store, monkeypatch, command):
    """Otherwise a pager that waits would keep the lock, and stop a `pppca run` that writes."""
    store.plan(plan_of([*GHA, *DGHA], "c"))
    facts = ProblemFacts("iris", "a" * 64, "classification", "iris", 4, 3, 75, 38, 37)
    store.describe_problems([facts])
    results = [done(spec, test_error_percent=1.0) for spec in (*GHA, *DGHA[1:])]
    store.record([*results, failed(DGHA[0])], '{"pppca": "0.1.0"}')
    echo, texts = click.echo, []

    def echo_under_lock(text: str, **options: Any) -> None:
        with closing(sqlite3.connect(store.path, timeout=0)) as other:
            other.execute("BEGIN EXCLUSIVE")
        texts.append(text)
        echo(text, **options)

    monkeypatch.setattr(click, "echo", echo_under_lock)
    pppca(*command.split(), "--results", store.path.parent)
    assert texts
