"""``pppca init``, ``cite``, ``schema`` and ``methods``: shipped configs, citations, keys of configs and methods."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pppca_bench.cli._shared import FOLDER, cli, format_option, notify, references_option
from pppca_bench.errors import ConfigError, OwnDataError, PppcaError, UnknownNameError

if TYPE_CHECKING:
    from pppca_bench.methods.entry import Entry
    from pppca_bench.references.reference import Reference


@cli.command()
@click.argument("folder", type=FOLDER, required=False)
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@click.option(
    "--reference",
    type=FOLDER,
    help="Write a reference to this folder instead: published numbers, a config that runs them, comments.",
)
def init(folder: Path | None, force: bool, reference: Path | None) -> None:
    """Copy the shipped configs to FOLDER, by default ./configs, so that you can edit them; existing files are kept.

    With --reference, write the files of a comparison with published numbers, to be changed to yours.

    Examples:
      pppca init
      pppca init my_configs
      pppca init --reference my_paper
    """
    from pppca_bench.config.shipped import shipped_experiments, shipped_folder

    if reference is not None:
        if folder is not None:
            raise click.UsageError("expected FOLDER or --reference, got both.")
        _init_reference(reference, force=force)
        return
    folder = folder or Path("configs")
    if folder.resolve() == shipped_folder():
        raise ConfigError(
            f"{folder}: expected a folder to copy the shipped configs to, got theirs. Name another."
        )
    texts = {path.name: path.read_text(encoding="utf-8") for path in shipped_experiments().values()}
    _write_files(folder, texts, force=force)
    click.echo(f"Next: `pppca run {folder / 'demo.yaml'}` (10 to 60 seconds).")
    click.echo(
        "Or copy a config, change its `name`, edit it and run it. Results go to ./pppca-results (--results)."
    )


def _init_reference(folder: Path, *, force: bool) -> None:
    """Write a reference and a config, named as the folder, and print the commands that use them."""
    from pppca_bench.config.shipped import TEMPLATE

    name = re.sub(r"[^A-Za-z0-9_]+", "_", folder.resolve().name).strip("_") or "paper"
    texts = {}
    for path in sorted(TEMPLATE.iterdir()):
        texts[path.name] = path.read_text(encoding="utf-8").replace("NAME", name)
    _write_files(folder, texts, force=force)
    given = shlex.quote(str(folder))
    click.echo("Next, and after each change of the files:")
    click.echo(f"  pppca compare --reference {given} --check")
    click.echo(f"  pppca run {shlex.quote(str(folder / 'config.yaml'))}")
    click.echo(f"  pppca compare --reference {given}")


def _write_files(folder: Path, texts: Mapping[str, str], *, force: bool) -> None:
    """Write files by name, keep existing files unless ``force``, and print how many."""
    folder.mkdir(parents=True, exist_ok=True)
    n_written, n_kept = 0, 0
    for name, text in texts.items():
        try:
            with (folder / name).open("w" if force else "x", encoding="utf-8") as file:
                file.write(text)
            n_written += 1
        except FileExistsError:
            n_kept += 1
    kept = f", {n_kept} existing files kept (--force overwrites them)" if n_kept else ""
    click.echo(f"{folder}: {n_written} files written{kept}.")


@cli.command()
@references_option
def cite(references: tuple[Path, ...]) -> None:
    """Print BibTeX entries of this program and of the works that it is based on.

    With --reference, print only the entries of these references: `paper:` in their reference.yaml.

    Examples:
      pppca cite
      pppca cite > pppca.bib
      pppca cite --reference theirs
    """
    import yaml

    from pppca_bench.config.shipped import shipped
    from pppca_bench.references.reference import read_reference

    if references:
        entries = [_entry_of(read_reference(folder)) for folder in dict.fromkeys(references)]
    else:
        program = yaml.safe_load(shipped("CITATION.cff").read_text(encoding="utf-8"))
        entries = [_bibtex(work) for work in (program, *program["references"])]
    click.echo("\n\n".join(entries))


def _entry_of(reference: Reference) -> str:
    """Return the BibTeX entry of a reference; raise OwnDataError without its paper."""
    if reference.paper is None:
        raise OwnDataError(
            f"{reference.folder / 'reference.yaml'}: expected the key `paper` with title and authors for BibTeX, got"
            " none. Add `paper: {title: …, authors: [{name: …}], year: …, doi: …}`."
        )
    return reference.paper.entry


def _bibtex(work: Mapping[str, Any]) -> str:
    """Return the BibTeX entry of a work of a citation file (CFF 1.2)."""
    from pppca_bench.references.paper import bibtex_entry

    authors = [
        f"{author['family-names']}, {author['given-names']}"
        if "family-names" in author
        else f"{{{author['name']}}}"
        for author in work["authors"]
    ]
    fields = {
        "author": " and ".join(authors),
        "title": f"{{{work['title']}}}",
        "institution": work.get("institution", {}).get("name"),
        "number": work.get("number"),
        "version": work.get("version"),
        "year": work.get("year") or str(work.get("date-released", ""))[:4],
        "url": work.get("repository-code"),
        "note": work.get("notes"),
    }
    kinds = {"report": "techreport", "slides": "unpublished"}
    return bibtex_entry(kinds.get(work["type"], "misc"), work["title"], fields)


@cli.command()
def schema() -> None:
    """Print the JSON schema of a config, for editors.

    The sections of methods and classifiers are not part of it; `pppca methods NAME` lists their parameters.

    Examples:
      pppca schema > schema.json
    """
    import json

    from pppca_bench.config.experiment import Config

    click.echo(json.dumps(Config.model_json_schema(), indent=1, ensure_ascii=False))


@cli.command()
@click.argument("name", required=False)
@format_option("terminal", "markdown", "json")
def methods(name: str | None, form: str) -> None:
    """List the methods and classifiers that a config can name.

    With NAME, list its parameters and their defaults. NAME may also be the module:Class of another package.

    Examples:
      pppca methods
      pppca methods dgha
      pppca methods sklearn.svm:SVC --format json
    """
    from pppca_bench.methods.lookup import (
        classifier_names,
        find_classifier,
        find_method,
        method_names,
    )
    from pppca_bench.methods.third_party import extend_sys_path

    extend_sys_path([Path.cwd()])
    known = (
        ("method", find_method, method_names()),
        ("classifier", find_classifier, classifier_names()),
    )
    entries: list[tuple[str, Entry]] = []
    refusals: list[PppcaError] = []
    for kind, find, names in known:
        for entry_name in names if name is None else [name]:
            try:
                entries.append((kind, find(entry_name)))
            except (ConfigError, UnknownNameError) as error:
                # a broken entry point; other entries are listed
                refusals.append(error)
    if name is None:
        for refusal in refusals:
            notify(refusal)
        _print([_described(kind, entry) for kind, entry in entries], form)
    elif entries:
        _print_parameters(entries, form)
    else:
        raise min(refusals, key=lambda error: isinstance(error, UnknownNameError))


def _described(kind: str, entry: Entry) -> dict[str, Any]:
    return {
        "kind": kind,
        "name": entry.name,
        "title": entry.title,
        "does": entry.does,
        "source": entry.source,
    }


def _print_parameters(entries: Sequence[tuple[str, Entry]], form: str) -> None:
    """Print the description of entries and their parameters in a config."""
    from pppca_bench.methods.protocol import describe_parameters

    if form == "json":
        rows = [
            _described(kind, entry)
            | {"estimator": entry.estimator, "parameters": describe_parameters(entry)}
            for kind, entry in entries
        ]
        _print(rows, form)
        return
    for kind, entry in entries:
        click.echo(f"{kind} {entry.name}: {entry.title}. {entry.does} ({entry.source}).")
        click.echo(f"{entry.estimator}, version {entry.version}\n")
        _print(describe_parameters(entry), form)
        if entry.foreign:
            click.echo("\nIn a config, its parameters are listed under `parameters:`.")
        click.echo()


def _print(rows: Sequence[Mapping[str, Any]], form: str) -> None:
    if form == "json":
        import json

        click.echo(json.dumps(rows, indent=1, ensure_ascii=False))
    else:
        from tabulate import tabulate

        click.echo(
            tabulate(rows, headers="keys", tablefmt="pipe" if form == "markdown" else "simple")
        )
