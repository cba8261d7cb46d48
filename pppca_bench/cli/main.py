"""The ``pppca`` command: its subcommands, and exit codes (0 done, 1 something failed, 2 wrong usage or config).

Commands import heavy modules when they are called, so that ``pppca --help`` answers at once.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path

from pppca_bench.cli import bundle, compare, configs, data, figures, predict, results, run, tables  # noqa: F401 they add commands
from pppca_bench.cli._shared import cli as cli


def main() -> None:
    """Run the command line."""
    os.environ["MPLBACKEND"] = (
        "agg"  # figures are only written; a notebook's backend may not be installed here
    )
    # imports allocate much and free little: by default, garbage collection takes 0.3 s
    gc.set_threshold(100_000)
    before = _children()
    try:
        cli(prog_name="pppca")
    except SystemExit as end:
        _end_what_is_left(before, int(end.code or 0))
        raise


def _children() -> set[int]:
    """Return the child processes of this process; none if the system is not Linux."""
    files = Path("/proc/self/task").glob("*/children")
    return {int(number) for file in files for number in file.read_text(encoding="ascii").split()}


def _end_what_is_left(before: set[int], code: int) -> None:
    """End processes that third-party code has started here, and this process if threads would hold it for ever."""
    for number in _children() - before:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(number, signal.SIGTERM)
    held = [
        thread
        for thread in threading.enumerate()
        if not thread.daemon and thread is not threading.main_thread()
    ]
    if held or multiprocessing.active_children():
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
