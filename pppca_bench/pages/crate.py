"""Metadata of a bundle: RO-Crate with the profile Process Run Crate, and the CODECHECK configuration."""

from __future__ import annotations

import hashlib
import mimetypes
import platform
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

from pppca_bench.references.paper import Author, Paper
from pppca_bench.references.reference import Reference
from pppca_bench.version import __version__

PROFILE = "https://w3id.org/ro/wfrun/process/0.6"
"""Profile Process Run Crate 0.6, which extends RO-Crate 1.3."""

CODECHECK = "https://codecheck.org.uk/spec/config/2.0/"
"""Specification of the CODECHECK configuration."""

_FORMATS = {
    ".cff": "text/yaml",
    ".parquet": "application/vnd.apache.parquet",
    ".whl": "application/zip",
}
_FORMATS |= {
    ".md": "text/markdown",
    ".sh": "application/x-sh",
    ".yaml": "text/yaml",
    ".yml": "text/yaml",
}
_FORMATS |= {".tex": "application/x-tex", ".xz": "application/x-xz"}


_OF_THE_CHECKER = ("codechecker", "certificate", "report", "summary")


def write_crate(
    folder: Path,
    title: str,
    description: str,
    *,
    described: Mapping[str, str],
    times: tuple[str, str],
    data: Mapping[str, str],
    license_id: str,
    address: str,
    agent: Author | None,
    paper: Paper | None,
) -> None:
    """Write ``ro-crate-metadata.json``, which describes every file of a bundle, and its preview.

    Parameters
    ----------
    folder : Path
        Folder with all other files: a wheel, the tool; ``configs`` and ``reference``, what it read; ``results``, what
        it made.
    title, description : str
    described : mapping of str to str
        Content of files, by the beginnings of their paths.
    times : tuple of str
        Beginning and end of the computation (ISO 8601).
    data : mapping of str to str
        SHA-256 digests of the problems' data, by name.
    license_id : str
        SPDX identifier.
    address : str
        Web address of the tool, "" if it is not known.
    agent : Author, optional
        Who ran the computation.
    paper : Paper, optional
    """
    from rocrate.rocrate import ROCrate

    crate = ROCrate(gen_preview=True)
    root = crate.root_dataset
    _describe_root(crate, title, description, license_id)
    files = _add_files(crate, folder, described)
    (tool,) = (file for name, file in files.items() if name.endswith(".whl"))
    tool["softwareRequirements"] = files["constraints.txt"]
    python = {"name": "Python", "url": _PYTHON, "version": platform.python_version()}
    tool["programmingLanguage"] = _entity(crate, _PYTHON, "ComputerLanguage", **python)
    if address:
        tool["url"] = address
    run = _entity(crate, "#run", "CreateAction", name=title, description=description)
    run["startTime"], run["endTime"] = times
    run["instrument"] = tool
    sets = []
    for name, digest in data.items():
        properties = {"name": name, "sha256": digest, "description": "data of a problem"}
        sets.append(_entity(crate, f"#data-{name}", "CreativeWork", **properties))
    read = [file for name, file in files.items() if name.startswith(_READ)]
    run["object"] = _compact([*read, *sets])
    run["result"] = _compact([file for name, file in files.items() if name.startswith(_MADE)])
    if agent is not None:
        run["agent"] = root["author"] = _person(crate, agent)
    root["mentions"] = run
    if paper is not None:
        # a citation must have an address
        root.append_to("citation" if paper.doi else "mentions", _article(crate, paper))
    crate.preview["name"] = f"Preview of {title}"
    crate.preview.write(folder)
    crate.metadata.write(folder)


def _describe_root(crate: Any, title: str, description: str, license_id: str) -> None:
    """Add title, date, licence and profile to the root of a crate."""
    root = crate.root_dataset
    root["name"], root["description"] = title, description
    root["datePublished"] = date.today().isoformat()
    terms = {"name": license_id, "description": f"SPDX licence {license_id}"}
    address_of_terms = f"https://spdx.org/licenses/{license_id}"
    root["license"] = _entity(crate, address_of_terms, "CreativeWork", **terms)
    profile = {"name": "Process Run Crate", "version": "0.6"}
    root["conformsTo"] = _entity(crate, PROFILE, ["CreativeWork", "Profile"], **profile)


_PYTHON = "https://www.python.org/"
_READ, _MADE = ("configs/", "reference/"), "results/"


def _add_files(crate: Any, folder: Path, described: Mapping[str, str]) -> dict[str, Any]:
    """Add all files of a folder to a crate, and return their entities by path."""
    files = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name, content = path.relative_to(folder).as_posix(), path.read_bytes()
        kind = _FORMATS.get(path.suffix) or mimetypes.guess_type(name)[0] or "text/plain"
        properties: dict[str, Any] = {"name": path.name, "encodingFormat": kind}
        properties["contentSize"] = str(len(content))
        properties["sha256"] = hashlib.sha256(content).hexdigest()
        if path.suffix == ".whl":
            # Choice: no SoftwareApplication, which must have an address, and ours may be unknown.
            properties["@type"] = ["File", "SoftwareSourceCode"]
            properties |= {"name": "pppca-bench", "version": __version__}
        for place, text in described.items():
            if name.startswith(place):
                properties["description"] = text
        files[name] = crate.add_file(path, name, properties=properties)
    return files


def _entity(crate: Any, identifier: str, kind: str | list[str], **properties: Any) -> Any:
    """Add a contextual entity to a crate, whose identifier gets the escapes of an address."""
    from rocrate.model.contextentity import ContextEntity

    escaped = quote(identifier, safe=":/#%")
    return crate.add(ContextEntity(crate, escaped, {"@type": kind, **properties}))


def _compact(entities: list[Any]) -> Any:
    """Return entities as the value of a property: one alone stands without a list."""
    return entities[0] if len(entities) == 1 else entities


def _person(crate: Any, person: Author) -> Any:
    identifier = f"https://orcid.org/{person.orcid}" if person.orcid else f"#{person.name}"
    return _entity(crate, identifier, "Person", name=person.name)


def _article(crate: Any, paper: Paper) -> Any:
    identifier = f"https://doi.org/{paper.doi}" if paper.doi else "#paper"
    article = _entity(crate, identifier, "ScholarlyArticle", name=paper.title)
    article["author"] = _compact([_person(crate, author) for author in paper.authors])
    if paper.year is not None:
        article["datePublished"] = str(paper.year)
    return article


def codecheck_text(
    reference: Reference, manifest: Sequence[str], check: Mapping[str, Any]
) -> tuple[str, list[str]]:
    """Return the CODECHECK configuration 2.0, and what it must have that is not known.

    Parameters
    ----------
    reference : Reference
    manifest : sequence of str
        Relative paths of the files that a check makes again.
    check : mapping of str to value
        What the checker gives: ``codechecker`` (persons), ``certificate``, ``report`` and ``summary``.
    """
    paper = reference.paper
    missing = [name for name in _OF_THE_CHECKER if not check.get(name)]
    described: dict[str, Any] = {"title": reference.title}
    if paper is None:
        missing.append("the authors of the paper")
    else:
        described = {"title": paper.title, "authors": _persons(paper.authors)}
        missing += [f"the ORCID of {one.name}" for one in paper.authors if not one.orcid]
    described["reference"] = (
        f"https://doi.org/{paper.doi}" if paper and paper.doi else reference.citation
    )
    document: dict[str, Any] = {
        "version": CODECHECK,
        "manifest": [{"file": file} for file in manifest],
        "paper": described,
    }
    for name, value in check.items():
        if value:
            document[name] = _persons(value) if name == "codechecker" else value
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, explicit_start=True)
    return text, missing


def _persons(persons: Sequence[Author]) -> list[dict[str, str]]:
    """Return persons as the configuration has them."""
    plain = []
    for person in persons:
        orcid = {"ORCID": person.orcid} if person.orcid else {}
        plain.append({"name": person.name, **orcid})
    return plain
