"""What a stored number came from is what was read, whatever it was read from and written with."""

import hashlib
import os
import sqlite3
import threading
from contextlib import closing

import numpy as np
import pytest
from click.testing import CliRunner
from planning import specs_of

from pppca_bench.cli.main import cli
from pppca_bench.runs import Plan, RunResult
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


def test_trust_a_history_holds_its_curves_alone_with_any_numpy(tmp_path, monkeypatch):
    def of_numpy_1_26(file: object, *arrays: np.ndarray, **named: np.ndarray) -> None:
        assert not arrays
        write(file, **{name: np.asanyarray(array) for name, array in named.items()})

    write = np.savez_compressed
    monkeypatch.setattr(np, "savez_compressed", of_numpy_1_26)
    (spec,) = specs_of(
        {
            "name": "a",
            "problems": ["iris"],
            "repeats": 1,
            "seed": 1,
            "methods": [{"method": "all_features"}],
            "classifier": {"hidden": []},
        }
    )
    with Store(tmp_path / "a.sqlite") as store:
        store.plan(Plan("a", "", "", (spec,)))
        store.record([RunResult(spec.key, "done", history={"variances": np.ones(3)})], "{}")
        assert list(store.histories([spec.key])[spec.key]) == ["variances"]
