"""Command line: output, exit codes, examples of the help, and processes."""

import io
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import ClassVar
from unittest.mock import Mock

import click
import pytest
from builders import runs_in, small, write_config
from command_line import LONG, pppca, printed
from tqdm import tqdm

from pppca_bench.cli._shared import Display, progress_bar
from pppca_bench.cli.main import cli
from pppca_bench.engines import GHA
from pppca_bench.methods.registry import CLASSIFIERS, METHODS
from pppca_bench.problems import known_problems
from pppca_bench.runs import StoredRun
from pppca_bench.store import DATABASE, RESULTS
from pppca_bench.store.database import Store

SMALL = small(
    {"method": "gha", "tau": None, "n_epochs": 10},
    {"method": "dgha", "n_epochs": 10, "data_fraction": [100, 10]},
    {"method": "ne_ppca", "n_generations": 5},
    **{"name": "small", "problems": ["iris", "wine"], "tau": [5, 15]},
)
N_RUNS = 2 * 2 * (1 + 2 * 2 + 2)
POSIX = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
SIGNALS = pytest.mark.parametrize(
    ("number", "exit_code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
)


pytestmark = pytest.mark.usefixtures("isolated_folders")


@pytest.fixture
def config(tmp_path) -> Path:
    return write_config(tmp_path, SMALL)


def stored(results: Path) -> list[StoredRun]:
    with Store(results / DATABASE, read_only=True) as store:
        return runs_in(store)


class TestDisplay:
    def test_stages_are_shown_and_not_timed_and_keep_what_was_counted(self, monkeypatch):
        bar = tqdm(file=io.StringIO(), total=8)
        monkeypatch.setattr(bar, "_time", lambda: bar.now, raising=False)
        bar.now = bar.start_t = bar.last_print_t = 0.0
        show = Display(bar)
        show(0, 8)
        show.stage("compiling")
        assert bar.fp.getvalue().rpartition("\r")[2].startswith("compiling:")
        bar.now = 1000.0
        show.stage("")
        bar.now = 1004.0
        show(2, 8)
        assert "2/8 [00:04<00:12" in str(bar)
        show.stage("compiling")
        show.stage("")
        assert bar.n == 2
        bar.close()

    def test_a_warning_is_printed_and_nothing_else_if_quiet(self, capsys):
        with progress_bar(quiet=True) as show:
            show.warn("slow")
            show.stage("unseen")
            show(1, 2)
        assert capsys.readouterr() == ("", "slow\n")


class _Fails(GHA):
    fits: ClassVar[list[int]] = []

    def fit(self, X, y=None):  # noqa: ARG002
        self.fits.append(self.random_state)
        raise ValueError("learning_rate is too large")


class _Signals(GHA):
    number: ClassVar = signal.SIGINT

    def fit(self, X, y=None):
        os.kill(os.getpid(), self.number)
        return super().fit(X, y)


class TestRun:
    def test_the_first_run_does_everything_the_second_nothing_and_a_dry_run_leaves_no_trace(
        self, config, tmp_path
    ):
        planned = f"Reading {config} and the data.\n"
        planned += f"{N_RUNS} runs planned, 0 done, {N_RUNS} to run in 14 cells.\n"
        assert printed("run", config, "--dry-run") == planned
        assert list(tmp_path.iterdir()) == [config]
        first = pppca("run", config, "--workers", 0)
        assert first.exit_code == 0
        assert f"{N_RUNS} runs done, 0 were already stored.\n\nNext: " in first.stderr
        before = stored(Path(RESULTS))
        assert [result.status for _, result in before] == ["done"] * N_RUNS
        assert printed("run", config, "--dry-run", "--fresh") == planned
        second = pppca("run", config, "--workers", 0)
        assert f"Nothing to do: all {N_RUNS} runs are in pppca-results.\n" in second.stderr
        assert (second.exit_code, second.stdout) == (0, first.stdout)
        assert stored(Path(RESULTS)) == before

    def test_failed_runs_are_reported_with_exit_code_1_and_tried_as_often_as_asked(
        self, config, register
    ):
        register(replace(METHODS["gha"], estimator=f"{__name__}:_Fails"))
        result = pppca("run", config, "--workers", 0)
        assert (result.exit_code, "(4 failed)" in result.stdout) == (1, True)
        assert (
            f"4 of {N_RUNS} runs failed, the first: wine, gha, repeat 0: ValueError: learning_rate is too large\n"
            "Their tracebacks are in pppca-results: `pppca list --failed` lists the runs, `pppca show RUN` prints a"
            " run. The next `pppca run` tries them again.\n"
        ) in result.stderr
        assert f"{N_RUNS - 4} runs done, 0 were already stored.\n" in result.stderr
        n_fits = len(_Fails.fits)
        printed("run", config, "--workers", 0, "--retry", 1, code=1)
        assert len(_Fails.fits) == 2 * n_fits + 4, "each run once more, by itself"
        elsewhere = ("--fail-fast", "--results", "other")
        stopped = printed("run", config, "--workers", 0, *elsewhere, code=1)
        assert f"Stopped at this failure (--fail-fast), with {N_RUNS - 2} runs left.\n" in stopped
        assert "`pppca list --failed --results other` lists the runs" in stopped

    @POSIX
    @SIGNALS
    def test_a_signal_stops_a_run_in_this_process_and_is_no_failed_run(
        self, config, register, monkeypatch, request, number, exit_code
    ):
        monkeypatch.setattr(_Signals, "number", number)
        register(replace(METHODS["gha"], estimator=f"{__name__}:_Signals"))
        restore = partial(signal.signal, signal.SIGINT, signal.default_int_handler)
        request.addfinalizer(restore)  # a stopped command ignores it
        stopped = printed("run", config, "--workers", 0, code=exit_code)
        assert "Stopped. Completed runs are saved in pppca-results." in stopped
        assert all(result.status == "done" for _, result in stored(Path(RESULTS)) if result)


@pytest.mark.parametrize(
    ("problem", "code", "start", "end"),
    [
        ("irsi", 2, "Error: {config}:", "(did you mean 'iris'?).\n"),
        ("cancer1", 1, "Error: cancer1.dt, line 1: expected 'bool_in=<count>'", "\n"),
    ],
)
def test_an_invalid_config_or_damaged_data_end_a_run_before_it_starts(
    config, problem, code, start, end
):
    Path("mine").mkdir()
    Path("mine/cancer1.dt").write_text("damaged")
    write_config(config.parent, SMALL | {"problems": [problem]})
    refused = printed("run", config, "--data", "mine", code=code)
    assert refused.startswith(start.format(config=config))
    assert refused.endswith(end)
    assert refused.count("\n") == 1
    assert not Path("pppca-results").exists()


def test_tables_of_an_empty_store_are_an_error():
    with Store(Path("pppca-results/results.sqlite")):
        pass
    said = "Error: no runs in pppca-results/results.sqlite: run `pppca run CONFIG` first.\n"
    assert printed("tables", code=1) == said


def test_each_method_and_classifier_is_listed_with_its_source():
    rows = json.loads(printed("methods", "--format", "json"))
    assert {row["name"] for row in rows} == METHODS.keys() | CLASSIFIERS.keys()
    lines = printed("methods").splitlines()
    assert len(lines) == len(rows) + 2
    assert any("dgha" in line and "slides" in line for line in lines)


class TestData:
    def test_the_list_names_every_problem_and_where_it_is(self):
        lines = printed("data", "list").splitlines()
        names = [line.split()[0] for line in lines[2:]]
        assert [name for name in names if not name.startswith("uci:")] == known_problems()
        (cancer1,) = [line for line in lines if line.startswith("cancer1 ")]
        assert " ".join(cancer1.split()) == "cancer1 classification 9 2 350 / 175 / 174 packaged"
        assert sum(line.endswith("scikit-learn") for line in lines) == 8

    def test_the_path_is_where_downloads_go(self, tmp_path):
        assert pppca("data", "path").stdout == f"{tmp_path / 'cache' / 'pppca'}\n"
        assert pppca("data", "path", "--data", "mine").stdout == "mine\n"

    def test_exported_files_are_listed_with_their_folder(self):
        assert printed("data", "export", "mine", "cancer1", "horse2") == "mine: 2 files written.\n"
        assert "mine/cancer1.dt" in printed("data", "list", "--data", "mine")


def process(*arguments: object, **options) -> subprocess.Popen:
    """Start the command as a process of its own."""
    command = [sys.executable, "-m", "pppca_bench", *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, **pipes, **options)


def read_until(stream: io.TextIOBase, mark: str) -> str:
    text = ""
    while mark not in text:
        character = stream.read(1)
        assert character, f"ended before {mark!r}: {text}"
        text += character
    return text


class TestProcess:
    @POSIX
    @SIGNALS
    @pytest.mark.slow
    def test_a_stopped_run_keeps_results_and_prints_how_to_resume(
        self, tmp_path, number, exit_code
    ):
        (tmp_path / "long.yaml").write_text(LONG)
        options = ("--results", "kept", "--workers", 1)
        running = process("run", "long.yaml", *options, "--fresh", cwd=tmp_path)
        read_until(running.stderr, "1/2")
        running.send_signal(number)
        # The pipes end when every process that holds them has: the workers too are gone.
        _, errors = running.communicate(timeout=60)
        assert running.returncode == exit_code
        assert "Traceback" not in errors
        assert errors.endswith(
            "\nStopped. Completed runs are saved in kept."
            " Resume with `pppca run long.yaml --results kept --workers 1`.\n"
        )
        (_, first), (_, second) = stored(tmp_path / "kept")
        assert (first.status, second) == ("done", None)

    @POSIX
    @pytest.mark.parametrize(
        "whole_group", [True, False], ids=["a terminal's Ctrl-C", "the parent alone"]
    )
    @pytest.mark.slow
    def test_a_run_stopped_while_workers_start_prints_only_how_to_resume(
        self, tmp_path, whole_group
    ):
        # No run is done, and so no progress shown, however late the signal comes.
        (tmp_path / "long.yaml").write_text(LONG.replace("n_epochs: 1}", "n_epochs: 999999}"))
        running = process("run", "long.yaml", "--workers", 2, cwd=tmp_path, start_new_session=True)
        while not (tmp_path / "pppca-results" / "results.sqlite").exists():
            # the workers are asked for right after it
            assert running.poll() is None
            time.sleep(0.01)
        (os.killpg if whole_group else os.kill)(running.pid, signal.SIGINT)
        _, errors = running.communicate(timeout=60)
        assert running.returncode == 130
        assert errors.strip() == (
            "Stopped. Completed runs are saved in pppca-results. Resume with `pppca run long.yaml --workers 2`."
        )


def commands(command: click.Command, *names: str) -> Iterator[tuple[str, ...]]:
    yield names
    for name, part in getattr(command, "commands", {}).items():
        yield from commands(part, *names, name)


def examples_of(*names: str) -> list[str]:
    """Return the calls at the end of a command's help, as it prints them."""
    _, heading, end = printed(*names, "--help").rpartition("\n  Examples:\n")
    assert heading, f"{names} has no examples"
    return [line.strip() for line in end.splitlines()]


def parse(arguments: list[str]) -> click.Context:
    """Parse a call as the command line does, and run nothing."""
    command, context = cli, cli.make_context("pppca", list(arguments))
    while isinstance(command, click.Group):
        name, command, arguments = command.resolve_command(
            context, context._protected_args + context.args
        )
        context = command.make_context(name, list(arguments), parent=context)
    return context


@pytest.mark.parametrize("names", list(commands(cli)), ids=lambda names: " ".join(names) or "pppca")
def test_examples_of_the_help_are_valid_calls(names):
    calls = examples_of(*names)
    for call in calls:
        program, *arguments = shlex.split(call.partition(" > ")[0])
        assert program == "pppca", call
        parse(arguments)
    assert any(call.startswith(" ".join(["pppca", *names])) for call in calls)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (OSError(24, "Too many open files"), "the system refused a call (Too many open files)."),
        (
            FileNotFoundError(2, "No such file or directory", "x.csv"),
            "x.csv: cannot be read or written (No such file or directory). Check the path and the disk.",
        ),
    ],
)
def test_an_error_of_the_system_names_its_own_file_or_none(monkeypatch, error, line):
    monkeypatch.setattr("pppca_bench.cli.results.read_store", Mock(side_effect=error))
    assert printed("status", code=1) == f"Error: {line}\n"
