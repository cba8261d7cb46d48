"""The ``pppca`` command: its subcommands, and exit codes (0 done, 1 something failed, 2 wrong usage or config).

Commands import heavy modules when they are called, so that ``pppca --help`` answers at once.
"""

from __future__ import annotations

import errno
import gc
import multiprocessing
import os
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from pppca_bench.cli._shared import examples
from pppca_bench.cli.compare import compare, rank
from pppca_bench.cli.configs import cite, init, methods, schema
from pppca_bench.cli.data import data
from pppca_bench.cli.results import doctor, export, list_, merge, show, status
from pppca_bench.cli.run import run
from pppca_bench.cli.tables import figures, render, report, rules, tables
from pppca_bench.cli.terminal import escaping_streams
from pppca_bench.errors import PppcaError
from pppca_bench.version import __version__


class _Commands(click.Group):
    """Group of commands that turns errors into a line and an exit code."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        with escaping_streams():
            return super().main(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except PppcaError as error:
            click.echo(f"Error: {error}", err=True)
            ctx.exit(error.exit_code)
        except OSError as error:
            if error.errno == errno.EPIPE:
                # the reader, such as `head`, has stopped: click exits silently
                raise
            where = error.filename or (
                "the working directory" if error.errno == errno.ENOENT else None
            )
            cause = error.strerror or error
            line = f"{where}: cannot be read or written ({cause}). Check the path and the disk."
            click.echo(
                f"Error: {f'the system refused a call ({cause}).' if where is None else line}",
                err=True,
            )
            ctx.exit(1)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples("pppca run cancer1", "pppca status", "pppca tables cancer1"),
)
@click.version_option(__version__, prog_name="pppca")
def cli() -> None:
    """Run GHA, DGHA, NE-pPCA and other methods, and compare the results with published numbers."""


for _command in (
    *(
        init,
        run,
        merge,
        status,
        list_,
        show,
        tables,
        compare,
        figures,
        render,
        report,
        rules,
        rank,
        export,
    ),
    *(methods, schema, data, cite, doctor),
):
    cli.add_command(_command)


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
