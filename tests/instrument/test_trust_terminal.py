"""Terminals of other encodings, control characters, and closed or full standard streams."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from builders import small, write_config, write_dt

from pppca_bench.cli._shared import progress_bar
from pppca_bench.cli.terminal import EscapingStream, escaping_streams
from pppca_bench.errors import printable

POSIX = pytest.mark.skipif(os.name == "nt", reason="shells and devices of POSIX")


def shell(
    arguments: str, folder: Path, redirection: str = "", encoding: str = "utf-8"
) -> subprocess.CompletedProcess:
    """Let a shell run a command, with its streams redirected and their encoding set."""
    options = {"cwd": folder, "env": {**os.environ, "PYTHONIOENCODING": encoding}}
    command = f"exec {sys.executable} -m pppca_bench {arguments} {redirection}"
    return subprocess.run(command, shell=True, capture_output=True, timeout=120, **options)


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """Return a folder with a config, one whose problem's file has a name that clears the screen, and their results."""
    folder = tmp_path_factory.mktemp("finished")
    evil = write_dt(folder / "\x1b[2J\x9bé.dt").name
    method = {"method": "dgha", "n_epochs": 2, "tau": 5}
    for name, problem in (("small", "iris"), ("evil", evil)):
        write_config(folder, small(method, name=name, problems=[problem], repeats=1))
    done = shell("run small.yaml evil.yaml --workers 0", folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
@POSIX
def test_trust_an_old_encoding_is_no_error(finished):
    done = shell("compare small --all --format markdown", finished, encoding="cp1252")
    assert (done.returncode, done.stderr) == (0, b"")
    assert "tau=5" in done.stdout.decode("cp1252")


def test_trust_characters_that_an_encoding_lacks_are_escaped(monkeypatch):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, "latin-1", write_through=True))
    with escaping_streams():
        sys.stdout.write("é × τ \u4e2d \udc80")
    assert written.getvalue() == b"\xe9 \xd7 \\u03c4 \\u4e2d \\udc80"


@pytest.mark.slow
@POSIX
@pytest.mark.parametrize(
    "arguments", ["tables evil", "run evil.yaml --dry-run", "run $'x\\e[2J.yaml'", "$'\\e[2J'"]
)
def test_trust_control_characters_of_a_files_name_never_reach_the_terminal(finished, arguments):
    # A terminal instead of a pipe: click removes colours from any other output.
    import pty

    ours, theirs = pty.openpty()
    command = ["bash", "-c", f"exec {sys.executable} -m pppca_bench {arguments}"]
    done = subprocess.Popen(command, cwd=finished, stdout=theirs, stderr=theirs, stdin=theirs)
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65_536):
            shown += piece
    except OSError:  # Linux: the other end is closed
        pass
    os.close(ours)
    done.wait(timeout=120)
    text = shown.decode().replace("\r\n", "\n")
    assert text == printable(text, keep="\n\t")
    assert r"\x1b[2J" in text or "planned" in text


def test_trust_a_progress_bar_steers_and_its_warnings_do_not(monkeypatch):
    written = io.StringIO()
    monkeypatch.setattr(sys, "stderr", written)
    with escaping_streams(), progress_bar() as progress:
        progress(0, 2)
        progress.stage("compiling")
        progress.warn("a \x1b[2J b")
    assert "\r" in written.getvalue()
    assert r"a \x1b[2J b" in written.getvalue()
    assert "\x1b[2J" not in written.getvalue()


class Full(io.StringIO):
    """A stream on a full disk."""

    def write(self, text: str) -> int:  # noqa: ARG002
        raise OSError(28, "No space left on device")


def test_trust_stderr_that_fails_is_given_up_and_stdout_is_not():
    err, out = EscapingStream(Full(), needed=False), EscapingStream(Full(), needed=True)
    for _ in range(2):
        err.write("a")
        err.flush()
    with pytest.raises(OSError, match="No space"):
        out.write("a")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full device")
def test_trust_a_run_without_stderr_completes_and_a_full_stdout_is_an_error(finished):
    for results, redirection in (("closed", "<&- 2>&-"), ("full", "2>/dev/full")):
        run = f"run small.yaml --results {results} --workers 0"
        done = shell(run, finished, redirection)
        assert done.returncode == 0, done.stdout
        assert b"Results of small" in done.stdout
    done = shell("tables", finished, ">/dev/full")
    assert done.returncode != 0
    assert b"Traceback" not in done.stderr
