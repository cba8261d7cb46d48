"""``pppca tables``, ``render``, ``report`` and ``rules``: our results and the published numbers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pppca_bench.cli._shared import (
    FILE,
    FOLDER,
    cli,
    completion,
    format_option,
    named_argument,
    read_snapshot,
    read_store,
    references_option,
    results_option,
)
from pppca_bench.cli.filling import check_filled, read_named
from pppca_bench.config.shipped import shipped_experiments
from pppca_bench.files import atomic_write, remove_stale
from pppca_bench.pages.formats import EXTENSIONS, RECORDS, Format
from pppca_bench.runs import Names
from pppca_bench.store import BY_CONFIG

if TYPE_CHECKING:
    from pppca_bench.pages.document import Document
    from pppca_bench.pages.methods_section import MethodsFormat
    from pppca_bench.pages.snapshot import Snapshot
    from pppca_bench.store.database import Store

MAIN_RESULTS = "main_results"
"""Mark of the list of the main results in a Markdown file."""

SECONDARY = ("R", "verdict_shares")
"""Tables that are printed only if they are named: retained variance, and the shares of correct and wrong programs."""

KEPT_FORMATS: tuple[Format, ...] = ("markdown", "latex", "csv")
"""Formats of the tables in a results folder."""


@cli.command()
@named_argument
@results_option
@references_option
@click.option("--table", "tables_", multiple=True, help="Only this table, such as X (repeatable).")
@click.option(
    "--problem", "problems", multiple=True, help="Only runs on this problem (repeatable)."
)
@click.option("--method", "methods", multiple=True, help="Only runs of this method (repeatable).")
@click.option("--all", "show_all", is_flag=True, help="Also show rows and columns without runs.")
@format_option(*EXTENSIONS)
@click.option(
    "--sd", is_flag=True, help="Print mean ± standard deviation. CSV and JSON always have both."
)
@click.option(
    "--out", type=FOLDER, help="Write a file for each table into this folder instead of printing."
)
def tables(
    named: Names,
    results: Path,
    references: tuple[Path, ...],
    tables_: Names,
    problems: Names,
    methods: Names,
    show_all: bool,
    form: Format,
    sd: bool,
    out: Path | None,
) -> None:
    """Print the tables: our results and the published numbers.

    NAMES are configs that were run and identifiers of tables, such as X. By default, all tables with runs are printed,
    except R (retained variance) and verdict_shares (what other programs would reproduce). LaTeX needs the packages
    booktabs, graphicx and longtable.

    Examples:
      pppca tables cancer1
      pppca tables X --problem cancer1 --method dgha
      pppca tables --format latex --out manuscript/tables
    """
    from pppca_bench.pages.document import render_documents

    configs, names = read_named(results, (*named, *tables_))
    with read_store(results) as store:
        snapshot = read_snapshot(store, configs, problems, methods, references)
    if form in RECORDS:
        _ = snapshot.numbers  # which numbers are of the same runs is known of all tables together
    shown = _shown(snapshot, names, show_all)
    if names and len(shown) < len(set(names)):
        known = _shown(snapshot, snapshot.names, show_all)
        check_filled("table", names, known, results, snapshot.references)
    with_shares = form not in RECORDS
    chosen = snapshot.tables(shown, whole=show_all, sd=sd, with_shares=with_shares)
    if out is not None:
        write_tables(chosen, form, out)
        click.echo(f"Wrote {len(chosen)} tables to {out}.")
    else:
        click.echo(render_documents(chosen, form), nl=False)


def _shown(snapshot: Snapshot, names: Collection[str], show_all: bool) -> list[str]:
    """Return the named tables that have runs, by default all with runs but `SECONDARY`.

    Tables of texts may have planned runs without any result.
    """
    if names:
        run = [name for name in snapshot.names if name in names and snapshot.has_runs(name)]
    else:
        with_runs = [name for name in snapshot.with_runs if name not in SECONDARY]
        run = [name for name in with_runs if show_all or snapshot.shows_runs(name)]
    shown = []
    for name in run:
        is_means = show_all or snapshot.is_of_means(name)
        if is_means or snapshot.text(name).trimmed() is not None:
            shown.append(name)
    return shown


@cli.command()
@results_option
@references_option
@click.option(
    "--findings",
    type=FILE,
    help="File for the answers to the claims [default: RESULTS/findings.md].",
)
@click.option(
    "--verdicts",
    type=FILE,
    help="Markdown file whose table of the shares of the verdicts is to be written again.",
)
@click.option(
    "--readme",
    type=FILE,
    help="Markdown file whose list of the main results is to be written again.",
)
def render(
    results: Path,
    references: tuple[Path, ...],
    findings: Path | None,
    verdicts: Path | None,
    readme: Path | None,
) -> None:
    """Write all tables and figures into the results folder.

    Its README.md links to all of them; findings.md has the answers to the claims.

    Examples:
      pppca render
      pppca render --findings docs/findings.md
    """
    import os

    from pppca_bench.pages.figure_drawing import write_figures
    from pppca_bench.pages.findings import render_findings, render_list
    from pppca_bench.pages.index_page import headline, programs_text, render_index
    from pppca_bench.verdicts.shares import SHARES

    with read_store(results) as store:
        snapshot = read_snapshot(store, references=references)
        drawn, rankings = snapshot.figures(store), snapshot.rankings()
    built = snapshot.tables(snapshot.with_runs, with_shares=True)
    written = [
        path for form in KEPT_FORMATS for path in write_tables(built, form, results / "tables")
    ]
    images = write_figures(drawn, rankings, results / "figures")
    answers = snapshot.answers(drawn)
    main = headline(snapshot, answers)
    index = render_index(snapshot, built, drawn, rankings, answers, main)
    atomic_write(results / "README.md", index)
    remove_stale(results, [*written, *images])
    shown = [figure.figure for figure in drawn if figure.panels] + [spec.id for spec, _ in rankings]
    files = {table.id: results / "tables" / f"{table.id}.md" for table in built}
    files |= {name: results / "figures" / f"{name}.svg" for name in shown}
    # of experiments with databases of their own
    files |= {path.stem: path for path in results.glob("*/tables/*.md")}
    page = findings or results / "findings.md"
    links = {
        name: Path(os.path.relpath(file, page.parent)).as_posix() for name, file in files.items()
    }
    atomic_write(page, render_findings(main, answers, links))
    if verdicts:
        _write_between_marks(verdicts, SHARES, programs_text(snapshot))
    if readme:
        _write_between_marks(readme, MAIN_RESULTS, render_list(answers.results))
    click.echo(
        f"Wrote {len(built)} tables, {len(images) // 3} figures and their index to {results}, and {page}."
    )


@cli.command()
@results_option
@references_option
@click.option("--out", type=FILE, help="File to write [default: RESULTS/report.html].")
def report(results: Path, references: tuple[Path, ...], out: Path | None) -> None:
    """Write all results on a single HTML page.

    The page begins with the answer and the claims; then it has the tables and figures of each source, and provenance.
    Without runs of published numbers it compares the methods. It needs no other file and no network, and
    can be read without scripts.

    Examples:
      pppca report
      pppca report --results all --out report.html
    """
    path = out or results / "report.html"
    with read_store(results) as store:
        snapshot = read_snapshot(store, references=references)
        page = report_page(snapshot, store)
    atomic_write(path, page)
    click.echo(f"Wrote {path} ({len(page.encode()) / 1e3:,.0f} kB).")


@cli.command()
@click.argument("config", shell_complete=completion(shipped_experiments, files=True))
@results_option
@format_option("markdown", "latex")
def rules(config: str, results: Path, form: MethodsFormat) -> None:
    """Describe how CONFIG was run, for a methods section.

    The text states what the Proben1 report asks authors for: problems, data sets, networks, initialisation, algorithms,
    termination, errors and runs, with all settings, and the versions of the software. CONFIG is the name of a config
    that was run, or the path of its file.

    Examples:
      pppca rules cancer1
      pppca rules cancer1 --format latex > setup.tex
    """
    from pppca_bench.pages.methods_section import describe_config, render_methods
    from pppca_bench.results.frames import read_runs
    from pppca_bench.yaml_files.source import read_yaml

    if config.endswith((".yaml", ".yml")):
        document = read_yaml(Path(config)).value
        config = str(document.get("name", config)) if isinstance(document, dict) else config
    with read_store(results) as store:
        runs = read_runs(store, [config])
        origins = store.origins([config])
        described = describe_config(runs, store.problems(), _addresses(), origins)
    click.echo(render_methods(config, described, form), nl=False)


def report_page(snapshot: Snapshot, store: Store) -> str:
    """Return all results of a snapshot of a database on a single HTML page."""
    from pppca_bench.pages.html import render_report

    titles = {name: _title_in(name, text) for name, text in store.config_texts().items()}
    return render_report(snapshot, store, _addresses(), _run_command, titles)


def _title_in(name: str, text: str) -> str:
    """Return the title in the text of a config, by default its name."""
    from pppca_bench.yaml_files.source import parse_yaml

    document = parse_yaml(Path(f"{name}.yaml"), text).value
    return str(document.get("title", name)) if isinstance(document, dict) else name


def _run_command(name: str) -> list[str]:
    """Return the command that runs a config: a shipped config, or a file of that name, with the changes by --set."""
    config, *changes = name.split("+")
    config = config if config in shipped_experiments() else f"{config}.yaml"
    return ["pppca", "run", config, *(word for change in changes for word in ("--set", change))]


def _addresses() -> dict[str, str]:
    """Return the sources of the known problems' data."""
    from pppca_bench.problems.problem import PROBEN1_URL, registered

    of_source = {
        "proben1": f"Proben1 ({PROBEN1_URL}, for example cancer/cancer1.dt; the last digit is the variant)",
        "bundled": "the problems bundled with pppca-bench (data sets of scikit-learn, and a synthetic circle)",
    }
    return {name: of_source[info.source] for name, info in registered().items()}


def _write_between_marks(page: Path, mark: str, text: str) -> None:
    """Write a text between the two comments of a Markdown page that name it."""
    line = f"<!-- {mark} -->\n"
    parts = page.read_text(encoding="utf-8").split(line) if page.is_file() else []
    if len(parts) != 3:
        got = f"{len(parts) - 1} of them" if parts else "no file"
        raise click.UsageError(
            f"{page}: expected two lines {line.strip()}, got {got}. The text goes between them."
        )
    atomic_write(page, f"{parts[0]}{line}\n{text}\n\n{line}{parts[2]}")


def write_tables(tables: Sequence[Document], form: Format, folder: Path) -> list[Path]:
    """Write a file for each table into a folder, which is created if it is missing, and return the files."""
    from pppca_bench.pages.document import render_documents

    paths = [folder / f"{table.id}.{EXTENSIONS[form]}" for table in tables]
    for path, table in zip(paths, tables, strict=True):
        atomic_write(path, render_documents([table], form))
    return paths


def write_by_config(config: str, results: Path) -> tuple[Snapshot, list[Document], Path]:
    """Write the tables of a config's runs into its folder, and remove other tables there.

    Choice: the sizes of data sets are left out, since no run fills them, and the shares of the verdicts, since
    placebos are runs of other configs.
    """
    from pppca_bench.verdicts.shares import SHARES

    with read_store(results) as store:
        snapshot = read_snapshot(store, [config])
    _ = snapshot.numbers  # all tables at once are filled faster than each alone
    names = [name for name in snapshot.names if name != SHARES and snapshot.shows_runs(name)]
    tables = snapshot.tables(names, whole=False)
    folder = results / BY_CONFIG / config
    remove_stale(
        folder, [path for form in KEPT_FORMATS for path in write_tables(tables, form, folder)]
    )
    return snapshot, tables, folder
