"""What the commands that compute have in common: their options, and how they stop."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

if TYPE_CHECKING:
    from pppca_bench.store.database import Store

DATABASE = "results.sqlite"
STUDIES = "studies"
"""Folder, in that of the results, of a folder for each study, with a database of its own."""

EXIT_INTERRUPTED, EXIT_TERMINATED = 130, 143

results_option = click.option(
    "--results",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("results"),
    show_default=True,
    help="Folder of the results database.",
)
workers_option = click.option(
    "--workers", type=click.IntRange(0, 1024), help="Worker processes [default: all cores]; 0 uses none."
)


class Terminated(BaseException):
    """SIGTERM arrived."""


def tell_what_was_found(store: Store) -> None:
    """Say that a database was found that cannot be continued, and what became of it."""
    if store.moved_to is not None:
        click.echo(
            f"{store.path} was of an older version, which does not tie results to their data well enough to go on with"
            f" them: it is now {store.moved_to}, and everything is computed anew.",
            err=True,
        )
    if store.was_emptied:
        click.echo(
            f"{store.path} had 0 bytes and is begun anew. If it held results, they are lost: take it back from a copy.",
            err=True,
        )


@contextmanager
def stoppable(results: Path) -> Iterator[None]:
    """Stop on Ctrl-C and SIGTERM with what is done kept, and say how to go on."""

    def terminate(*_: object) -> NoReturn:
        raise Terminated

    previous = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    except (KeyboardInterrupt, Terminated) as stop:
        for number in (signal.SIGINT, signal.SIGTERM):  # an impatient second one would only spoil the message
            signal.signal(number, signal.SIG_IGN)
        again = shlex.join(["pppca", *(argument for argument in sys.argv[1:] if argument != "--fresh")])
        click.echo(f"\nStopped. What was done is kept in {results}; go on with `{again}`.", err=True)
        sys.exit(EXIT_INTERRUPTED if isinstance(stop, KeyboardInterrupt) else EXIT_TERMINATED)
    finally:
        signal.signal(signal.SIGTERM, previous)
