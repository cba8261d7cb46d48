"""Identity of stored numbers: the digests of the config and of the data that were read."""

import hashlib
import os
import sqlite3
import threading
from contextlib import closing

import pytest
from command_line import pppca

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
