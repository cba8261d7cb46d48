"""The command line called in this process or another, and a config whose run is long enough to be interrupted."""

import os
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner, Result

from pppca_bench.cli.main import cli

# Quick first, then a run that would take minutes: a good moment to be interrupted.
LONG = """\
name: long
problems: [wdbc]
repeats: 1
seed: 1
methods:
  - {method: gha, n_epochs: 1}
  - {method: gha, n_epochs: 1000000}
classifier: {hidden: [], max_epochs: 5}
"""


def pppca(*arguments: object) -> Result:
    """Return what a command printed, and its exit code."""
    return CliRunner().invoke(cli, [str(argument) for argument in arguments], prog_name="pppca")


def printed(*arguments: object, code: int = 0) -> str:
    """Return what a command that ends with this exit code prints: the errors, then the rest."""
    result = pppca(*arguments)
    assert result.exit_code == code, result.output
    return result.stderr + result.stdout


def pppca_process(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own."""
    command = [sys.executable, "-m", "pppca_bench", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, **options
    )  # type: ignore[call-overload]


def output_of(program: str, **environment: str) -> str:
    """Return what a Python program prints in a process of its own, without errors, with more environment variables."""
    call, pipes = [sys.executable, "-c", program], {"capture_output": True, "text": True}
    done = subprocess.run(call, env=os.environ | environment, check=True, **pipes)
    assert done.stderr == ""
    return done.stdout


def offline(*command: object, folder: Path, **environment: str) -> str:
    """Return what a command prints that succeeds in a folder, without a way to the network."""
    hidden, nowhere = ("PPPCA_DATA", "PYTHONPATH"), "http://127.0.0.1:9"
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    kept |= {"HTTPS_PROXY": nowhere, "HTTP_PROXY": nowhere} | environment
    pipes = {"capture_output": True, "text": True, "check": False}
    done = subprocess.run(list(map(str, command)), cwd=folder, env=kept, **pipes)  # type: ignore[call-overload]
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
