"""Parts shared by commands: help and errors, options, completion, results databases, interruption, progress."""

from __future__ import annotations

import errno
import inspect
import shlex
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click
from click.shell_completion import CompletionItem

from pppca_bench.cli.terminal import escaping_streams
from pppca_bench.errors import PppcaError, StoreError
from pppca_bench.store import DATABASE as DATABASE
from pppca_bench.store import RESULTS
from pppca_bench.version import __version__

if TYPE_CHECKING:
    from pppca_bench.pages.snapshot import Snapshot
    from pppca_bench.store.database import Store

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

EXIT_INTERRUPTED, EXIT_TERMINATED = 130, 143

_DAMAGES = f"{__name__}.damages"
"""Key of click's `Context.meta`: for each results folder that a command has read, an error or None."""

FOLDER = click.Path(file_okay=False, path_type=Path)
FILE = click.Path(dir_okay=False, path_type=Path)


def notify(text: object) -> None:
    """Print a message on standard error, beside the results on standard output."""
    click.echo(text, err=True)


SECTIONS = {
    "Everyday": ("run", "status", "compare", "tables", "report", "predict"),
    "Look": ("list", "show", "rank", "figures", "rules", "data", "methods"),
    "Share": ("export", "merge", "render", "cite", "bundle"),
    "Advanced": ("init", "schema", "doctor"),
}
"""Commands by the sections of the help; any other command is listed last."""


class Command(click.Command):
    """Command whose docstring ends with examples, which are the end of its help."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        text, heading, examples = inspect.cleandoc(self.help or "").partition("Examples:\n")
        self.help, self.epilog = text, f"\b\n{heading}{examples}"


class Commands(Command, click.Group):
    """Group of commands that turns errors into a line and an exit code."""

    command_class = Command
    group_class = type  # nested groups are of this class, too

    def __init__(
        self, *args: Any, sections: Mapping[str, Sequence[str]] | None = None, **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self._sections = sections or {}

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by sections, each with the first paragraph of its help."""
        rows = dict[str, tuple[str, str]]()
        for name, command in sorted(self.commands.items()):
            first = (command.help or "").partition("\n\n")[0]
            rows[name] = name, " ".join(first.split())
        by_section = dict[str, list[tuple[str, str]]]()
        for title, names in self._sections.items():
            by_section[title] = [rows.pop(name) for name in names if name in rows]
        by_section["Commands"] = list(rows.values())
        for title, listed in by_section.items():
            if listed:
                with formatter.section(title):
                    formatter.write_dl(listed)

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command line with `escaping_streams`."""
        with escaping_streams():
            return super().main(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command, and end with the exit code of an error, also of one that `read_store` has noted."""
        try:
            returned = super().invoke(ctx)
            for damage in ctx.meta.get(_DAMAGES, {}).values():
                if damage is not None:
                    raise damage
            return returned
        except PppcaError as error:
            notify(f"Error: {error}")
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
            notify(f"Error: {f'the system refused a call ({cause}).' if where is None else line}")
            ctx.exit(1)


@click.group(
    cls=Commands, sections=SECTIONS, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="pppca")
def cli() -> None:
    """Run GHA, DGHA, NE-pPCA and other methods, and compare the results with published numbers.

    Examples:
      pppca list --shipped
      pppca run cancer1
      pppca compare cancer1
    """


configs_argument = click.argument("configs", nargs=-1)
named_argument = click.argument("named", nargs=-1, metavar="[NAMES]...")
results_option = click.option(
    "--results",
    type=FOLDER,
    default=RESULTS,
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
data_option = click.option(
    "--data", "data_dir", type=FOLDER, help="First folder to look for Proben1 files."
)


def format_option(*forms: str) -> Callable[[Decorated], Decorated]:
    """Return the option for the format of the output, the first by default."""
    return click.option(
        "--format", "form", type=click.Choice(forms), default=forms[0], show_default=True
    )


def completion(
    known_names: Callable[[], Iterable[str]], *, files: bool = False
) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """Return the function that completes an argument in the shell, from known names and files."""

    def complete(
        _context: click.Context, _parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        names = [CompletionItem(name) for name in known_names() if name.startswith(incomplete)]
        return [CompletionItem("", type="file"), *names] if files else names

    return complete


def read_store(results: Path) -> Store:
    """Open the database of a results folder for reading.

    If it has runs that cannot be shown, the command shows the others, and then ends with this error.
    """
    from pppca_bench.store.database import Store

    store = Store(results / DATABASE, read_only=True)
    context = click.get_current_context(silent=True)
    damages = {} if context is None else context.meta.setdefault(_DAMAGES, {})
    if results not in damages:
        damages[results] = None
        try:
            store.check_references()
        except StoreError as damage:
            damages[results] = damage
    return store


def read_snapshot(
    store: Store,
    configs: Sequence[str] = (),
    problems: Sequence[str] = (),
    methods: Sequence[str] = (),
    references: Sequence[Path] = (),
) -> Snapshot:
    """Read the results of the given configs, problems and methods (all by default), with further references.

    Raise StoreError if there are no results.
    """
    from pppca_bench.cli.references import check_reference
    from pppca_bench.methods.third_party import extend_sys_path
    from pppca_bench.pages.snapshot import take_snapshot
    from pppca_bench.references.reference import installed_references, read_reference

    added = [read_reference(folder, is_added=True) for folder in dict.fromkeys(references)]
    extend_sys_path(references)
    planned = store.planned_cells() if added else {}
    for reference in added:
        check_reference(reference, planned)
    snapshot = take_snapshot(
        store, [*installed_references(), *added], configs, problems=problems, methods=methods
    )
    if not snapshot.runs.cells:
        which = "of these problems and methods " if problems or methods else ""
        raise StoreError(f"no runs {which}in {store.path}: run `pppca run CONFIG` first.")
    return snapshot


class Terminated(KeyboardInterrupt):
    """SIGTERM arrived. No run takes it for its own error, in contrast to SystemExit."""


@contextmanager
def resume_hint_on_interrupt(results: Path) -> Iterator[None]:
    """Turn Ctrl-C and SIGTERM into an exit code and a line with the command to resume."""

    def terminate(*_: object) -> NoReturn:
        raise Terminated

    previous = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    except KeyboardInterrupt as stop:
        for number in (signal.SIGINT, signal.SIGTERM):
            # a second signal would interrupt the message
            signal.signal(number, signal.SIG_IGN)
        again = shlex.join(["pppca", *(word for word in sys.argv[1:] if word != "--fresh")])
        notify(f"\nStopped. Completed runs are saved in {results}. Resume with `{again}`.")
        sys.exit(EXIT_TERMINATED if isinstance(stop, Terminated) else EXIT_INTERRUPTED)
    finally:
        signal.signal(signal.SIGTERM, previous)


class Display:
    """A progress bar of tqdm, and warnings on stderr."""

    def __init__(self, bar: Any) -> None:
        self._bar = bar

    def __call__(self, n_finished: int, n_total: int) -> None:
        """Show the progress."""
        self._bar.total = n_total
        self._bar.update(n_finished - self._bar.n)

    def stage(self, text: str) -> None:
        """Show the name of a step before the runs, or "" at its end; its time does not count, only that of runs."""
        self._bar.set_description_str(text, refresh=bool(text))
        self._bar.unpause()

    def warn(self, text: str) -> None:
        """Print a warning."""
        self._bar.write(text, file=sys.stderr)


@contextmanager
def progress_bar(*, quiet: bool = False) -> Iterator[Display]:
    """Show a progress bar on stderr after a fifth of a second, unless ``quiet``, and yield its display."""
    from tqdm import tqdm  # needed only here, and start-up time counts

    with tqdm(
        unit="run", file=sys.stderr, dynamic_ncols=True, leave=False, delay=0.2, disable=quiet
    ) as bar:
        yield Display(bar)
