"""Texts of this package: templates of sentences, and the tables of tables.yaml."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pppca_bench.pages.document import Document, environment, paragraphs, printed
from pppca_bench.yaml_files.source import YamlSource, read_yaml

if TYPE_CHECKING:
    from jinja2 import Template


def read(name: str) -> YamlSource:
    """Read a file of this package."""
    return read_yaml(Path(str(files(__package__))) / name)


@cache
def _layouts() -> Any:
    return read("tables.yaml").value


@cache
def _compiled(template: str) -> Template:
    templates = environment()
    templates.filters["printed"] = printed
    return templates.from_string(template)


def rendered(template: str, numbers: Mapping[str, Any]) -> list[str]:
    """Render a template; return its paragraphs, each in a line."""
    return paragraphs(_compiled(template).render(numbers))


def fill(
    layout: str,
    records: Sequence[Mapping[Any, Any]],
    numbers: Mapping[str, Any] = MappingProxyType({}),
    **others: Any,
) -> Document:
    """Fill a table of tables.yaml, whose title and notes are templates.

    ``others`` are further arguments of `Document.of_records`, or in place of those of the file.
    """
    arguments = {"id": layout, **_layouts()[layout], **others}
    arguments["title"] = " ".join(rendered(arguments["title"], numbers))
    arguments["notes"] = [
        text for note in arguments.get("notes", ()) for text in rendered(note, numbers)
    ]
    return Document.of_records(records=records, **arguments)


def builders_of(
    names: Iterable[str], build: Callable[[], Sequence[Document]]
) -> dict[str, Callable[[], Document]]:
    """Return a builder of each of some tables that are built together."""
    built = cache(build)

    def item(index: int) -> Document:
        return built()[index]

    return {name: partial(item, index) for index, name in enumerate(names)}
