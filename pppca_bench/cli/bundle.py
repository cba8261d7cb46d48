"""``pppca bundle``: a folder in which a reader can check the results of a reference."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from contextlib import chdir
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from pppca_bench.cli import bundle_files as files
from pppca_bench.cli._shared import cli, notify, read_store, results_option
from pppca_bench.errors import PppcaError, UnknownNameError

if TYPE_CHECKING:
    from pppca_bench.references.paper import Author
    from pppca_bench.references.reference import Reference
    from pppca_bench.store.database import Store

ORCID = " or 'NAME, ORCID'"


def _read_person(context: click.Context, parameter: click.Parameter, text: str | None) -> Any:
    """Return the person of a text such as ``"Josiah Carberry, 0000-0002-1825-0097"``."""
    from pppca_bench.references.paper import Author, is_orcid

    if text is None:
        return None
    name, comma, orcid = (part.strip() for part in text.partition(","))
    if not name or (comma and not is_orcid(orcid)):
        expected = "expected NAME or 'NAME, ORCID', such as 'Josiah Carberry, 0000-0002-1825-0097'"
        raise click.BadParameter(f"{expected}, got {text!r}.", context, parameter)
    return Author(name=name, orcid=orcid or None)


def _read_persons(
    context: click.Context, parameter: click.Parameter, texts: Sequence[str]
) -> list[Author]:
    return [_read_person(context, parameter, text) for text in texts]


def _read_certificate(
    context: click.Context, parameter: click.Parameter, text: str | None
) -> str | None:
    if text is not None and not re.fullmatch(r"\d{4}-\d{3,}", text):
        expected = "expected YYYY-NNN, the identifier in the CODECHECK register"
        raise click.BadParameter(f"{expected}, got {text!r}.", context, parameter)
    return text


@cli.command()
@click.argument("out", type=click.Path(path_type=Path))
@click.option(
    "--reference",
    "given",
    required=True,
    metavar="NAME|FOLDER",
    help="Published numbers: an installed reference, or a folder with reference.yaml and numbers.csv.",
)
@results_option
@click.option(
    "--repeats",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Repeats of each cell that verify.sh computes again.",
)
@click.option(
    "--agent", callback=_read_person, metavar="NAME", help=f"Who ran the configs: NAME{ORCID}."
)
@click.option(
    "--license",
    "license_id",
    default="MIT",
    show_default=True,
    metavar="SPDX",
    help="Licence of the bundle, as an SPDX identifier.",
)
@click.option(
    "--codechecker",
    multiple=True,
    callback=_read_persons,
    metavar="NAME",
    help=f"Who checked the results by CODECHECK: NAME{ORCID} (repeatable).",
)
@click.option(
    "--certificate", callback=_read_certificate, metavar="YYYY-NNN", help="CODECHECK certificate."
)
@click.option("--report", metavar="URL", help="Address or DOI of the certificate's report.")
@click.option("--summary", help="Summary of the certificate.")
def bundle(
    out: Path,
    given: str,
    results: Path,
    repeats: int,
    agent: Author | None,
    license_id: str,
    **check: Any,
) -> None:
    """Write all that a reader needs to check the results of a reference into OUT, a new folder or .zip file.

    OUT is an RO-Crate (1.3, profile Process Run Crate 0.6) with the configs, the published numbers, the runs, tables,
    verdicts, the versions of all packages and the wheel of this program. Its verify.sh computes some repeats of each
    cell again, in an environment of its own, and compares each with the recorded repeat.

    codecheck.yml is the configuration of a CODECHECK; without all that belongs to the checker it is a draft. Configs
    find data and modules of yours only in the folder of the reference.

    Examples:
      pppca bundle checked --reference my_paper
      pppca bundle checked.zip --reference my_paper --agent 'Josiah Carberry, 0000-0002-1825-0097'
    """
    if find_spec("rocrate") is None:
        raise PppcaError("A bundle needs rocrate, which is not installed: `pip install rocrate`.")
    if out.exists():
        raise click.UsageError(f"expected a new folder or file, got {out}, which exists.")
    reference, is_installed = _find_reference(given)
    with read_store(results) as store, TemporaryDirectory() as name:
        root = Path(name, out.stem).resolve()
        root.mkdir()
        with chdir(root):  # so that nothing outside the bundle is found
            lacking = _fill(
                reference, store, repeats, check, license_id, agent, is_installed=is_installed
            )
        if out.suffix == ".zip":
            shutil.make_archive(str(out.with_suffix("")), "zip", root)
        else:
            shutil.copytree(root, out)
    click.echo(f"Wrote {out}, under the licence {license_id} (--license).")
    if agent is None:
        notify("Left out: who ran the configs (--agent).")
    if lacking:
        notify(f"codecheck-draft.yml is not yet a codecheck.yml, which has {', '.join(lacking)}.")
    folder = out.with_suffix("") if out.suffix == ".zip" else out
    click.echo(f"Next: `cd {shlex.quote(str(folder))} && bash verify.sh`")


def _find_reference(given: str) -> tuple[Reference, bool]:
    """Return a reference, given its folder or the name of an installed one, and whether it is installed."""
    from pppca_bench.references.reference import installed_references, read_reference

    installed = {one.name: one for one in installed_references()}
    folder = Path(given)
    if folder.is_dir():
        reference = read_reference(folder)
        return reference, reference.folder in [one.folder for one in installed.values()]
    if given not in installed:
        expected = f"a folder with reference.yaml, or one of {', '.join(installed) or 'none'}"
        raise UnknownNameError(f"--reference: expected {expected}, got {given!r}.")
    return installed[given], True


def _fill(
    reference: Reference,
    store: Store,
    repeats: int,
    check: Mapping[str, Any],
    license_id: str,
    agent: Author | None,
    *,
    is_installed: bool,
) -> list[str]:
    """Write the bundle into the working directory, and return what its CODECHECK configuration lacks."""
    from pppca_bench.pages.crate import codecheck_text, write_crate

    texts = files.texts_of(reference, store)
    names = list(texts)
    done = files.done_runs(store, names)
    place = Path("reference", reference.name)
    commands = files.write_configs(reference, texts, set(done["key"]), repeats)
    added = [] if is_installed else [place]
    words = files.write_results(reference, store, done, names, added)
    for folder in added:
        words += ["--reference", folder.as_posix()]
    title = f"Reproduction of {reference.title}"
    description = f"{len(done)} runs of {', '.join(names)}, compared with {reference.citation}."
    facts = {
        "title": title,
        "description": description,
        "repeats": repeats,
        "requirements": files.write_environment(store, done, names),
        "commands": commands,
        "compared": shlex.join(words),
    }
    address = files.write_citation()
    made = sorted(path.as_posix() for path in files.MADE.rglob("*") if path.is_file())
    text, lacking = codecheck_text(reference, made, check)
    Path("codecheck-draft.yml" if lacking else "codecheck.yml").write_text(text, encoding="utf-8")
    files.write_programs(facts)
    for cache in Path().rglob("__pycache__"):
        shutil.rmtree(cache)
    write_crate(
        Path(),
        title,
        description,
        described=files.DESCRIBED,
        times=files.times_of(store, done, names),
        data=files.data_of(done),
        license_id=license_id,
        address=address,
        agent=agent,
        paper=reference.paper,
    )
    return lacking
