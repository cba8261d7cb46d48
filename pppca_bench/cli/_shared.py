"""What commands have in common: their options, progress, how they stop, and how they read results."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

if TYPE_CHECKING:
    from pppca_bench.reporting.snapshot import Snapshot
    from pppca_bench.store.database import Store

DATABASE = "results.sqlite"
STUDIES = "studies"
"""Folder, in that of the results, of a folder for each study, with a database of its own."""

EXIT_INTERRUPTED, EXIT_TERMINATED = 130, 143

FOLDER = click.Path(file_okay=False, path_type=Path)

results_option = click.option(
    "--results",
    type=FOLDER,
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


@contextmanager
def progress_bar(unit: str, *, quiet: bool = False) -> Iterator[Callable[[int, int], None] | None]:
    """Show one bar on stderr, once there is something to wait for.

    Parameters
    ----------
    unit : str
        What is counted.
    quiet : bool, default False
        Show nothing.

    Yields
    ------
    callable(n_finished, n_total) or None
        To be called with every step; None where nothing is shown.
    """
    if quiet:
        yield None
        return
    from tqdm import tqdm  # needed only here, and start-up time counts

    with tqdm(unit=unit, file=sys.stderr, dynamic_ncols=True, leave=False, delay=0.2) as bar:

        def show(n_finished: int, n_total: int) -> None:
            bar.total = n_total
            bar.update(n_finished - bar.n)

        yield show


def read_snapshot(results: Path, configs: Sequence[str] = ()) -> Snapshot:
    """Read the results of some configs, or of all."""
    from pppca_bench.references.reference import own_references
    from pppca_bench.reporting.snapshot import take_snapshot
    from pppca_bench.store.database import Store

    with Store(results / DATABASE, read_only=True) as store:
        return take_snapshot(store, own_references(), configs)
