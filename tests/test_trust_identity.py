"""What a stored number came from is what was read, whatever it was read from and written with."""

import hashlib
import os
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from planning import write_dt

from pppca_bench.cli.main import cli
from pppca_bench.store.database import Store

CONFIG = """\
name: piped
problems: [iris]
repeats: 1
seed: 1
methods: [{method: all_features}]
classifier: {hidden: [], max_epochs: 2}
"""


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="a file system of open files")  # noqa: PTH110
def test_trust_a_config_from_a_pipe_is_known_by_the_digest_of_what_was_read(tmp_path):
    reader, writer = os.pipe()

    def fill() -> None:
        os.write(writer, CONFIG.encode())
        os.close(writer)

    threading.Thread(target=fill).start()
    arguments = ["run", f"/dev/fd/{reader}", "--results", str(tmp_path), "--workers", "0"]
    done = CliRunner().invoke(cli, arguments, prog_name="pppca")
    os.close(reader)
    assert done.exit_code == 0, done.output
    sha256 = hashlib.sha256(CONFIG.encode()).hexdigest()
    with closing(sqlite3.connect(tmp_path / "results.sqlite")) as connection:
        assert connection.execute("SELECT sha256, text FROM configs").fetchall() == [(sha256, CONFIG)]
    with Store(tmp_path / "results.sqlite", read_only=True) as store:
        ((_, _, provenance, _),) = store.origins()
    assert f'"piped": "{sha256}"' in provenance


OWN = CONFIG.replace("piped", "own").replace("iris", "d.dt").replace("repeats: 1", "repeats: 2")


def pppca(*arguments: object) -> str:
    done = CliRunner().invoke(cli, [str(one) for one in arguments], prog_name="pppca")
    assert done.exit_code == 0, done.output
    return done.stdout


def run_own(folder: Path, results: Path, *arguments: object, text: str = OWN, shift: float = 0.0) -> str:
    """Write a folder's config and data, and run them."""
    folder.mkdir(exist_ok=True)
    (folder / "own.yaml").write_text(text)
    write_dt(folder / "d.dt", shift=shift)
    return pppca("run", folder / "own.yaml", "--results", results, "--workers", 0, *arguments)


def repeats_by_data(results: Path) -> list[tuple[int, str]]:
    """Return how many runs are done of each cell, the older first, and the digest of its data."""
    with closing(sqlite3.connect(results / "results.sqlite")) as connection:
        return connection.execute(
            "SELECT count(*), data_sha256 FROM runs JOIN cells ON cells.id = cell WHERE status = 'done'"
            " GROUP BY cells.id ORDER BY cells.id"
        ).fetchall()


def test_trust_a_cell_never_mixes_the_data_of_an_edited_file(tmp_path):
    first = run_own(tmp_path / "a", tmp_path, "--no-tables")
    mixed = run_own(tmp_path / "a", tmp_path, "--repeats", 1, shift=0.05)
    (n_old, old), (n_new, new) = repeats_by_data(tmp_path)
    assert first == ""
    assert (n_old, n_new) == (2, 1)
    assert old != new
    assert "A single repeat." in mixed  # the older data's two are not among them
    assert "1 done, 1 to run" in run_own(tmp_path / "a", tmp_path, "--dry-run", shift=0.05)


def test_trust_files_of_one_name_in_two_folders_keep_their_results(tmp_path):
    run_own(tmp_path / "a", tmp_path, "--no-tables")
    run_own(tmp_path / "b", tmp_path, "--no-tables", text=OWN.replace("own", "other"), shift=0.05)
    assert [n for n, _ in repeats_by_data(tmp_path)] == [2, 2]
    rows = [line for line in pppca("tables", "--results", tmp_path, "--table", "X").splitlines() if "d.dt" in line]
    assert len(rows) == len(set(rows)) == 2
    assert "2 done, 0 to run" in run_own(tmp_path / "a", tmp_path, "--dry-run")


def test_trust_the_spelling_of_a_path_changes_no_number(tmp_path):
    run_own(tmp_path / "a", tmp_path, "--no-tables")
    for spelling in (str(tmp_path / "a" / "d.dt"), "../a/d.dt"):
        told = run_own(tmp_path / "a", tmp_path, "--dry-run", text=OWN.replace("d.dt", f'"{spelling}"'))
        assert "2 done, 0 to run" in told, spelling


def test_trust_thresholds_that_are_close_have_columns_of_their_own(tmp_path):
    text = OWN.replace("{method: all_features}", "{method: pca, tau: [5.0000001, 5.0000002, 5]}")
    header = next(line for line in run_own(tmp_path / "a", tmp_path, text=text).splitlines() if "τ" in line)
    assert [column.strip() for column in header.split("  ") if "τ" in column] == [
        "τ = 5",
        "τ = 5.0000001",
        "τ = 5.0000002",
    ]
