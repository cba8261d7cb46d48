"""Computation on a Dask cluster: equal numbers, and lost workers and schedulers."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import dying_workers
import numpy as np
import pytest
from builders import opened, plan_of, small, specs_of, stored_rows, write_config
from command_line import LONG, pppca, pppca_process, printed
from test_merge import DOCUMENT
from test_runner import without_times

from pppca_bench.errors import ClusterError
from pppca_bench.experiments import dask_cluster, provenance, runner
from pppca_bench.experiments.dask_cluster import DaskCluster
from pppca_bench.experiments.executors import Workers
from pppca_bench.store import DATABASE
from pppca_bench.store.database import Store

IRIS = opened(["iris"])
SPECS = specs_of(small({"method": "ne_ppca", "n_generations": 2}, repeats=18, tau=[5, 15]))


def test_the_error_without_dask_names_the_installation_command(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.delitem(sys.modules, "pppca_bench.experiments.dask_cluster")
    path = write_config(tmp_path, DOCUMENT)
    said = printed("run", path, "--executor", "dask", "--quiet", code=2)
    assert said.startswith("Error: --executor dask needs Dask, which is not installed (")
    assert said.endswith("`pip install distributed`.\n")


def test_an_unreachable_scheduler_is_an_error(monkeypatch):
    monkeypatch.setattr(dask_cluster, "TIMEOUT_S", 0.2)
    cluster = DaskCluster(1, "tcp://127.0.0.1:9")
    said = r"^no Dask scheduler answers at tcp://127\.0\.0\.1:9 \(.*--scheduler\.$"
    with pytest.raises(ClusterError, match=said):
        cluster.submit(os.getpid)


def test_a_worker_finds_modules_in_the_folders_of_the_command(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "beside_the_config.py").write_text("NUMBER = 7\n")
    call = (provenance.fingerprint(), [str(tmp_path)], None, None, import_module)
    assert dask_cluster._checked_call(*call, "beside_the_config").NUMBER == 7


def test_the_fingerprint_depends_on_the_libraries_and_the_code_that_workers_enter(
    monkeypatch, tmp_path
):
    assert provenance.fingerprint()["numpy"] == np.__version__
    monkeypatch.setattr(provenance, "PACKAGE", tmp_path)
    changed = []
    of_reports = ("cli/a.py", "results/a.py", "verdicts/a.py", "pages/a.py")
    of_runs = ("a.py", "paper/references/a.csv", "engines/a.py")
    for name in (*of_reports, *of_runs):
        before = provenance.fingerprint.__wrapped__()
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("a = 1\n")
        after = provenance.fingerprint.__wrapped__()
        changed.append([fact for fact in before if before[fact] != after[fact]])
    assert changed == [[]] * len(of_reports) + [["sources of pppca"]] * len(of_runs)


@pytest.fixture
def planned(tmp_path) -> Iterator[Store]:
    with Store(tmp_path / "a.sqlite") as store:
        store.plan(plan_of(SPECS))
        yield store


SPLITS = {name: value for name, value in DOCUMENT.items() if name != "repeats"}
SPLITS |= {"splits": 3, "problems": ["wine", {"sklearn": "iris"}]}


@pytest.mark.slow
def test_results_on_dask_equal_local_results_bit_for_bit(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_config(tmp_path, SPLITS)
    there = pppca_process(
        "run", "small.yaml", "--executor", "dask", "--workers", 2, "--results", "there"
    )
    assert re.search(
        r"^Dask's dashboard: http://127\.0\.0\.1:\d+/status$", there.stderr, re.MULTILINE
    )
    pppca("run", "small.yaml", "--workers", 0, "--results", "here", "--quiet")
    assert stored_rows(Path("there", DATABASE)) == stored_rows(Path("here", DATABASE))


@pytest.mark.slow
def test_a_killed_worker_loses_nothing_and_data_travel_once(planned, tmp_path, monkeypatch):
    monkeypatch.setenv("DIED", str(tmp_path / "died"))
    monkeypatch.setattr(runner, "compute", dying_workers.die_once_loading)
    sent = []
    register = dask_cluster.Client.register_plugin
    monkeypatch.setattr(
        dask_cluster.Client,
        "register_plugin",
        lambda *given, name: (sent.append(name), register(*given, name=name)),
    )
    with DaskCluster(2) as cluster:
        outcome = runner.run(SPECS, planned, IRIS, cluster)
    assert (tmp_path / "died").exists()
    assert (outcome.n_done, outcome.n_failed) == (len(SPECS), 0)
    ((_, sha256),) = IRIS
    assert sent == [f"pppca data {sha256} 0"]
    with Store(tmp_path / "b.sqlite") as here:
        here.plan(plan_of(SPECS))
        monkeypatch.undo()
        runner.run(SPECS, here, IRIS, Workers(0))
        assert without_times(here) == without_times(planned)


@pytest.mark.slow
def test_a_run_that_exceeds_the_time_limit_fails_alone(planned, monkeypatch):
    specs = [spec for spec in SPECS if spec.repeat < 4]
    monkeypatch.setattr(runner, "compute", dying_workers.hang_at_repeat_3)
    with DaskCluster(1, timeout=2) as cluster:
        outcome = runner.run(specs, planned, IRIS, cluster)
    assert outcome == runner.Outcome(
        8, 0, 7, 1, "iris, ne_ppca, tau 5, repeat 3: timed out after 2 s"
    )


@pytest.mark.slow
def test_a_worker_of_other_code_is_refused_at_the_start_and_when_it_joins_later(monkeypatch):
    cluster = DaskCluster(1)
    cluster.submit(os.getpid).result(timeout=60)
    try:
        monkeypatch.setattr(provenance, "__version__", "9.9")
        provenance.fingerprint.cache_clear()
        expected = r"^worker tcp://.*: expected pppca 9\.9, as here, got \S+\. Its numbers could differ: install the"
        with pytest.raises(ClusterError, match=expected):
            cluster._check_workers()
        future = cluster.submit(os.getpid)
        future.exception(timeout=60)
        with pytest.raises(ClusterError, match=expected):
            cluster.is_lost(future)
    finally:
        monkeypatch.undo()
        provenance.fingerprint.cache_clear()
        cluster.__exit__(None)


@contextmanager
def started(*arguments: str, cwd: Path) -> Iterator[subprocess.Popen]:
    """Start a command of Dask's, and kill it at the end."""
    command = [sys.executable, "-m", "dask", *arguments]
    with subprocess.Popen(
        command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def n_done(path: Path) -> int:
    with Store(path, read_only=True) as store:
        return dict(row[:2] for row in store.statuses()).get("(all)", 0)


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_a_lost_scheduler_ends_the_run_and_keeps_results(tmp_path, end):
    (tmp_path / "long.yaml").write_text(LONG)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    options = ["--executor", "dask", "--scheduler", address, "--quiet", "--results", "r"]
    run = [sys.executable, "-m", "pppca_bench", "run", "long.yaml", *options]
    host = ("--host", "127.0.0.1", "--port", str(port), "--dashboard-address", "127.0.0.1:0")
    with (
        started("scheduler", *host, cwd=tmp_path) as scheduler,
        started("worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard", cwd=tmp_path),
        subprocess.Popen(run, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as running,
    ):
        try:
            deadline = time.monotonic() + 300
            database = tmp_path / "r" / DATABASE
            while not (database.exists() and database.stat().st_size and n_done(database)):
                assert time.monotonic() < deadline, "no run was done in five minutes"
                assert running.poll() is None, running.stderr.read()
                time.sleep(0.1)
            scheduler.send_signal(end)
            message = running.communicate(timeout=90)[1]
        finally:
            running.kill()
    assert running.returncode == 1
    assert message == (
        f"Error: the Dask scheduler at {address} is gone. Completed runs are saved: start it again, and run the same"
        " command.\n"
    )
    assert n_done(database) > 0
