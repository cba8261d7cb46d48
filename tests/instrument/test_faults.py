"""Failures of disk, folder and store: error messages and undamaged results."""

import random
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from builders import small, write_config
from click.testing import Result
from command_line import pppca, printed

from pppca_bench import load_results
from pppca_bench.store import RESULTS

METHODS = [
    {"method": "gha", "tau": None, "n_epochs": 20},
    {"method": "dgha", "n_epochs": 20, "data_fraction": [100, 10]},
]
NETWORK = {"hidden": [], "max_epochs": 5}
CONFIG = small(*METHODS, name="small", repeats=4, tau=[5, 15], classifier=NETWORK)
N_RUNS = 4 * (1 + 2 * 2)


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """Return a folder with a config and its results."""
    folder = tmp_path_factory.mktemp("finished")
    path = write_config(folder, CONFIG)
    printed("run", path, "--results", folder / RESULTS, "--workers", "0")
    return folder


@pytest.fixture
def folder(finished, tmp_path, monkeypatch) -> Path:
    """Return a copy of the folder, as the working directory."""
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def assert_refused(
    result: Result | subprocess.CompletedProcess, pattern: str, code: int = 1
) -> None:
    assert code == (result.exit_code if isinstance(result, Result) else result.returncode), result
    (line,) = [line for line in re.split(r"[\r\n]", result.stderr) if line.startswith("Error")]
    assert re.search(pattern, line), line
    assert "Traceback" not in result.stderr


# Be root without the rights (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH) to write and to read anything: PR_CAPBSET_DROP.
AS_ANYONE = """\
import ctypes, os, sys
if os.geteuid() == 0 and any(ctypes.CDLL(None).prctl(24, right, 0, 0, 0) for right in (1, 2)):
    sys.exit(77)
os.execv(sys.executable, [sys.executable, "-m", "pppca_bench", *sys.argv[1:]])
"""


def as_anyone(*arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", AS_ANYONE, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode == 77:
        pytest.skip("the administrator may write anywhere")
    return done


@pytest.fixture
def unwritable(folder):
    """Return the working directory, which may only be read."""
    paths = [folder, *folder.rglob("*")]
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield folder
    for path in paths:
        path.chmod(0o755)


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="rights of Linux")
def test_results_that_may_only_be_read_can_be_read_and_what_may_not_be_is_named(unwritable):
    before = {path: path.read_bytes() for path in unwritable.rglob("*.sqlite")}
    tables = as_anyone("tables")
    assert (tables.returncode, tables.stderr) == (0, "")
    assert tables.stdout == pppca("tables").stdout
    refused = r"(readonly database|unable to open|Permission denied).* Check the disk and the file, or name another"
    assert_refused(as_anyone("run", "small.yaml", "--workers", "0"), refused)
    assert_refused(as_anyone("run", "small.yaml", "--workers", "0", "--results", "new"), refused)
    assert_refused(as_anyone("render"), r"results/tables/X.md: .*\(Permission denied\)")
    doctor = as_anyone("doctor")
    assert doctor.returncode == 1
    said = "!!  results: pppca-results: cannot be written (Permission denied). Name another folder with --results."
    assert said in doctor.stdout
    assert {path: path.read_bytes() for path in unwritable.rglob("*.sqlite")} == before
    unwritable.chmod(0o755)
    Path("own.dt").write_text("")
    write_config(unwritable, CONFIG | {"name": "other", "problems": ["own.dt"]})
    for name in ("own.dt", "small.yaml"):
        Path(name).chmod(0)
    assert_refused(as_anyone("run", "small.yaml"), r"Path 'small\.yaml' is not readable", code=2)
    assert_refused(as_anyone("run", "other.yaml"), r"own\.dt.*Permission denied", code=2)


def test_a_truncated_store_is_left_unchanged_and_its_message_has_a_remedy_that_works(folder):
    path = folder / RESULTS / "results.sqlite"
    path.write_bytes(before := path.read_bytes()[: path.stat().st_size // 2])
    refused = pppca("tables")
    damaged = (
        r"results\.sqlite: no intact results database \(.*\)\. Restore it from a backup, or move it"
    )
    assert_refused(refused, damaged)
    assert path.read_bytes() == before
    move = refused.stderr.split("`")[1]
    subprocess.run(move, shell=True, check=True)
    again = pppca("run", "small.yaml", "--workers", 0).stderr
    assert f"{N_RUNS} runs done, 0 were already stored.\n" in again


COMMANDS = ("status", "tables", "export", "list", "run small.yaml --workers 0 --no-tables")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_flipped_bit_in_the_schema_is_a_line(folder, command):
    path = folder / RESULTS / "results.sqlite"
    content = bytearray(path.read_bytes())
    content[content.index(b"INTEGER")] ^= 0x80
    path.write_bytes(content)
    refused = pppca(*command.split())
    assert_refused(refused, r"results\.sqlite: no intact results database \('utf-8' codec can't")
    assert refused.stdout == ""
    doctor = printed("doctor", code=1)
    assert "!!  database: pppca-results/results.sqlite: no intact results database" in doctor


MISSING = r"no intact results database \(cells are missing that 1 of its runs refer to\)\. Restore"


@pytest.fixture
def without_a_cell(folder) -> Path:
    """Return the database, in which a run refers to a cell that does not exist."""
    path = folder / RESULTS / "results.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE runs SET cell = 9999 WHERE rowid = 5")
    return path


def test_a_run_without_a_cell_is_a_line_after_all_that_can_be_read(without_a_cell):
    status, export, doctor = pppca("status"), pppca("export"), pppca("doctor")
    for refused in (status, export, pppca("tables"), pppca("run", "small.yaml", "--dry-run")):
        assert_refused(refused, MISSING)
    assert status.stdout.splitlines()[-1].split() == ["small", str(N_RUNS - 1), "0", "0", "0"]
    assert len(export.stdout.splitlines()) == N_RUNS
    assert re.search(MISSING, doctor.stdout)
    with pytest.warns(UserWarning, match=MISSING):
        assert len(load_results(without_a_cell.parent)) == N_RUNS - 1


def test_nothing_is_added_to_a_database_with_a_run_without_a_cell(without_a_cell, folder):
    before = without_a_cell.read_bytes()
    assert_refused(pppca("run", "small.yaml", "--workers", "0"), MISSING)
    assert_refused(pppca("merge", folder / RESULTS, "--results", "merged"), MISSING)
    assert_refused(pppca("merge", "copied"), "no results in copied", code=2)
    assert without_a_cell.read_bytes() == before


@pytest.mark.slow
def test_a_damaged_database_never_ends_in_a_traceback(folder):
    path, chance = folder / RESULTS / "results.sqlite", random.Random(1)
    intact = path.read_bytes()
    for _ in range(12):
        damaged = bytearray(intact)
        place = chance.randrange(len(damaged))
        damaged[place] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        for command in ("status", "export", "doctor"):
            done = pppca(command)
            assert done.exit_code in (0, 1)
            assert done.exception is None or isinstance(done.exception, SystemExit), place


def test_a_strict_comparison_fails_without_recorded_repeats(folder):
    (folder / "recorded.csv.xz").write_bytes(b"")
    refused = printed("compare", "--strict", "--against", folder, code=1)
    assert "expected recorded repeats, got something else" in refused
