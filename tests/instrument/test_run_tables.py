"""Tables at the end of ``pppca run``."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from builders import small, write_config
from click.testing import Result
from command_line import pppca, printed

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.usefixtures("isolated_folders")


def run(*arguments: object) -> Result:
    return pppca("run", *arguments, "--workers", 0)


def written(folder: Path, name: str = "small") -> Path:
    methods = [{"method": method, "n_epochs": 5} for method in ("gha", "dgha")]
    return write_config(folder, small(*methods, name=name, repeats=1, tau=[5, 15]))


@pytest.fixture
def config(tmp_path) -> Path:
    return written(tmp_path)


def table_of(done: Result) -> str:
    """Return the printed table without the conclusions below."""
    return done.stdout.partition("\nBest by ")[0]


FOLDER = "pppca-results/by_config/small"


def files() -> set[str]:
    return {path.name for path in Path(FOLDER).iterdir()}


class TestRun:
    def test_a_run_prints_its_tables_and_writes_three_formats(self, config):
        done = run(config)
        assert pppca("tables", "small").stdout == table_of(done)
        assert table_of(done).startswith("X. Results of small\n")
        assert done.stdout.count("Best by the validation error, ") == 1
        tables = {f"{table}.{ending}" for table in ("X", "R") for ending in ("md", "tex", "csv")}
        assert files() == {*tables, ".rendered"}
        pppca("tables", "small", "X", "R", "--format", "markdown", "--out", "again")
        for name in ("X.md", "R.md"):
            assert Path(FOLDER, name).read_text() == Path("again", name).read_text()
        assert done.stderr.endswith(
            f"\nNext: `pppca tables small` prints all tables, which are also in {FOLDER}.\n"
            "      `pppca report` shows all results on one page.\n"
        )

    def test_without_tables_none_are_written_and_a_quiet_run_writes_them_silently(self, config):
        assert run(config, "--no-tables").stdout == ""
        assert not Path("pppca-results/by_config").exists()
        done = run(config, "--quiet")
        assert (done.stdout, done.stderr) == ("", "")
        assert "X.md" in files()

    @pytest.mark.slow
    def test_the_folders_of_the_tables_of_several_configs_are_printed(self, tmp_path):
        configs = [written(tmp_path, name) for name in "abcd"]
        assert run(*configs).stdout == "".join(
            f"{name}: 2 tables in pppca-results/by_config/{name}\n" for name in "abcd"
        )
        lines = run(*configs[:2]).stdout.splitlines()
        assert [line for line in lines if line.startswith("Results of")] == [
            "Results of a",
            "Results of b",
        ]

    def test_unwritable_tables_are_an_error_after_the_runs(self, config):
        Path("pppca-results").mkdir()
        Path("pppca-results/by_config").write_text("no folder")
        done = run(config)
        assert done.exit_code == 1
        lines = done.stderr.splitlines()[-2:]
        assert lines[0] == "4 runs done, 0 were already stored."
        assert lines[1].startswith("Error: pppca-results/by_config/small/X.md: ")

    @pytest.mark.slow
    def test_a_closed_pipe_ends_a_run_silently_with_tables_written(self, config):
        assert run(config, "--no-tables").exit_code == 0
        command = f"{sys.executable} -m pppca_bench run {config} --workers 0 | head -1"
        pipes = {"shell": True, "capture_output": True, "text": True}
        done = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(ROOT)}, **pipes)
        assert done.stdout == "X. Results of small\n"
        assert "Traceback" not in done.stderr
        assert "R.csv" in files()


@pytest.mark.slow
def test_part_of_a_config_is_run_and_what_was_run_before_stays_in_its_tables(config):
    only = ("--only", "method=dgha,tau=15")
    assert "1 runs planned, 0 done, 1 to run" in printed("run", config, *only, "--dry-run")
    first = run(config, *only)
    assert "τ = 15" in first.stdout
    assert not any(text in first.stdout for text in ("τ = 5 ", "GHA,  ", "no τ"))
    whole = table_of(run(config))
    assert "Nothing to do: all 1 runs" in run(config, *only).stderr
    assert printed("tables", "small").startswith(whole)


def test_runs_that_a_changed_text_no_longer_asks_for_leave_the_tables_with_a_warning(config):
    run(config)
    config.write_text(config.read_text(encoding="utf-8").replace("15", "16"), encoding="utf-8")
    assert "the tables leave out " in run(config).stderr


@pytest.mark.slow
def test_a_config_changed_by_set_has_its_own_tables(config):
    before, changed = (
        table_of(run(config, *options))
        for options in ((), ("--set", "dgha.n_epochs=6", "--only", "method=dgha"))
    )
    names = ["small", "small+dgha.n_epochs=6"]
    assert [line.split()[0] for line in printed("list").splitlines()[2:]] == names
    for name, table in zip(names, (before, changed), strict=True):
        assert printed("tables", name).startswith(table)
    assert "n_epochs: 6" in printed("list", "--text", names[1])
