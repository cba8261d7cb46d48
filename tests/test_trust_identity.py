"""Identity of stored numbers: the digests of the config and of the data that were read."""

import hashlib
import os
import sqlite3
import threading
from contextlib import closing

import pytest
from command_line import pppca
from planning import write_dt

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
    done = pppca("run", f"/dev/fd/{reader}", "--results", tmp_path, "--workers", 0)
    os.close(reader)
    assert done.exit_code == 0, done.output
    sha256 = hashlib.sha256(CONFIG.encode()).hexdigest()
    with closing(sqlite3.connect(tmp_path / "results.sqlite")) as connection:
        assert connection.execute("SELECT sha256, text FROM configs").fetchall() == [(sha256, CONFIG)]
    with Store(tmp_path / "results.sqlite", read_only=True) as store:
        ((_, _, provenance, _),) = store.origins()
    assert f'"piped": "{sha256}"' in provenance


def test_trust_a_cell_never_mixes_the_data_of_an_edited_file(tmp_path):
    (tmp_path / "own.yaml").write_text(CONFIG.replace("iris", "d.dt").replace("repeats: 1", "repeats: 2"))
    run = ("run", tmp_path / "own.yaml", "--results", tmp_path, "--workers", 0)
    write_dt(tmp_path / "d.dt")
    assert pppca(*run, "--no-tables").exit_code == 0
    write_dt(tmp_path / "d.dt", shift=0.05)
    assert "A single repeat." in pppca(*run, "--repeats", 1).stdout, "the two of the older data are not among them"
    assert "1 done, 1 to run" in pppca(*run, "--dry-run").stdout
    with closing(sqlite3.connect(tmp_path / "results.sqlite")) as connection:
        cells = connection.execute("SELECT count(*), data_sha256 FROM runs JOIN cells ON cells.id = cell GROUP BY cell")
        (n_old, old), (n_new, new) = cells.fetchall()
    assert (n_old, n_new, old == new) == (2, 1, False)
