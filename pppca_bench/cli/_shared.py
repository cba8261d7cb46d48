"""Parts shared by commands: options, progress, interruption, reading results."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from pppca_bench.cli.terminal import Guarded, printable
from pppca_bench.store import DATABASE as DATABASE

if TYPE_CHECKING:
    from pppca_bench.reporting.snapshot import Snapshot
    from pppca_bench.store.database import Store

STUDIES = "studies"
"""Subfolder of the results with a folder, and a database, for each study."""

EXIT_INTERRUPTED, EXIT_TERMINATED = 130, 143

FOLDER = click.Path(file_okay=False, path_type=Path)
FILE = click.Path(dir_okay=False, path_type=Path)

results_option = click.option(
    "--results",
    type=FOLDER,
    default="results",
    show_default=True,
    help="Folder of the results database.",
)
references_option = click.option(
    "--reference",
    "references",
    type=FOLDER,
    multiple=True,
    help="Folder with published numbers of your own: reference.yaml and numbers.csv (repeatable).",
)
workers_option = click.option(
    "--workers", type=click.IntRange(0, 1024), help="Worker processes [default: all cores]; 0 uses none."
)


class Terminated(BaseException):
    """SIGTERM arrived."""


def warn_of_emptied(store: Store) -> None:
    """Warn that the results database had no content and was created again."""
    if store.was_emptied:
        click.echo(
            f"{store.path} had 0 bytes and was created again. If it held results, restore it from a backup.",
            err=True,
        )


def warn_of_network(results: Path) -> None:
    """Warn that a results folder is on a network file system."""
    from pppca_bench.store.file import NETWORK_REMEDY, network_file_system

    if (network := network_file_system(results)) is not None:
        click.echo(f"{results} is on a network file system ({network}). {NETWORK_REMEDY}", err=True)


@contextmanager
def stoppable(results: Path) -> Iterator[None]:
    """Turn Ctrl-C and SIGTERM into an exit code and a line that says how to resume."""

    def terminate(*_: object) -> NoReturn:
        raise Terminated

    previous = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    except (KeyboardInterrupt, Terminated) as stop:
        for number in (signal.SIGINT, signal.SIGTERM):  # a second signal would only spoil the message
            signal.signal(number, signal.SIG_IGN)
        again = shlex.join(["pppca", *(argument for argument in sys.argv[1:] if argument != "--fresh")])
        click.echo(f"\nStopped. Completed runs are saved in {results}. Resume with `{again}`.", err=True)
        sys.exit(EXIT_INTERRUPTED if isinstance(stop, KeyboardInterrupt) else EXIT_TERMINATED)
    finally:
        signal.signal(signal.SIGTERM, previous)


class Display:
    """A progress bar on stderr, and warnings.

    Parameters
    ----------
    bar : tqdm or None
        None shows nothing but warnings.
    """

    def __init__(self, bar: Any) -> None:
        self._bar = bar
        self._warned: set[str] = set()

    def __call__(self, n_finished: int, n_total: int) -> None:
        """Show the progress."""
        if self._bar is not None:
            self._bar.total = n_total
            self._bar.update(n_finished - self._bar.n)

    def stage(self, text: str) -> None:
        """Show the name of a step before the runs; with "" the time, and the estimate of the rest, begin now."""
        if self._bar is not None:
            n_finished = self._bar.n
            self._bar.set_description_str(text, refresh=bool(text))
            self._bar.reset()
            self._bar.initial = self._bar.n = self._bar.last_print_n = n_finished

    def warn(self, text: str) -> None:
        """Print a warning, once however often it is given."""
        if text not in self._warned:
            self._warned.add(text)
            if self._bar is None:
                click.echo(text, err=True)
            else:
                self._bar.write(printable(text), file=self._bar.fp)


@contextmanager
def progress_bar(unit: str, *, quiet: bool = False) -> Iterator[Display]:
    """Show one progress bar on stderr after a fifth of a second, and yield its display.

    Parameters
    ----------
    unit : str
        Name of the counted items.
    quiet : bool, default False
        Show nothing but warnings.
    """
    if quiet:
        yield Display(None)
        return
    from tqdm import tqdm  # needed only here, and start-up time counts

    stream: Any = sys.stderr.steering() if isinstance(sys.stderr, Guarded) else sys.stderr
    with tqdm(unit=unit, file=stream, dynamic_ncols=True, leave=False, delay=0.2) as bar:
        yield Display(bar)


def read_snapshot(
    results: Path,
    configs: Sequence[str] = (),
    problems: Sequence[str] = (),
    methods: Sequence[str] = (),
    references: Sequence[Path] = (),
) -> Snapshot:
    """Read the results of some configs, problems and methods, or of all, with further references of some folders."""
    from pppca_bench.references.reference import own_references, read_reference
    from pppca_bench.reporting.snapshot import take_snapshot
    from pppca_bench.store.database import Store

    added = [read_reference(folder) for folder in dict.fromkeys(references)]
    with Store(results / DATABASE, read_only=True) as store:
        return take_snapshot(store, own_references(), configs, problems=problems, methods=methods, added=added)


def examples(*lines: str) -> str:
    """Return the end of a command's help: examples of its use, one per line."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
