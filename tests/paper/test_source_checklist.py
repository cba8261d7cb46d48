"""The checklist of the five source documents: every row works in a place that the gallery, a config or a test runs."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from pppca_bench.methods.protocol import section_of
from pppca_bench.methods.registry import CLASSIFIERS, METHODS

ROOT = Path(__file__).parents[2]
CHECKLIST = yaml.safe_load(
    Path(__file__).with_name("source_checklist.yaml").read_text(encoding="utf-8")
)
LEAST = {"slides": 41, "notebook": 17, "reduction notes": 33, "lecture notes": 58, "Bishop": 13}
"""Numbers of rows that a reading of the documents found before this one."""

ROWS = [(document, *row) for document, rows in CHECKLIST.items() for row in rows]
PLACES = sorted({place for *_, places in ROWS for place in places})


@cache
def programs() -> dict[str, str]:
    """Return the programs of the gallery, which `make docs` executes."""
    return {path.stem: path.read_text(encoding="utf-8") for path in ROOT.glob("examples/plot_*.py")}


@cache
def configs() -> dict[str, Any]:
    return {
        path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))
        for path in ROOT.glob("configs/*.yaml")
    }


@cache
def names_of_tests() -> set[str]:
    sources = [path.read_text(encoding="utf-8") for path in ROOT.glob("tests/*/test_*.py")]
    return {name for source in sources for name in re.findall(r"def (test_\w+)\(", source)}


def sections(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the sections of methods and classifiers in a config, with their names."""
    if isinstance(value, dict):
        yield value
    children = (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    )
    for child in children:
        yield from ({"method": child},) if isinstance(child, str) else sections(child)


def set_keys(name: str) -> set[str]:
    """Return the keys that shipped configs set for a method or classifier; "" if they name it."""
    keys = set[str]()
    for config in configs().values():
        for section in sections(config):
            if name in (section.get("method"), section.get("rule")):
                keys |= {"", *section}
                keys |= {"tau"} & config.keys()
    return keys


def entry_of(name: str) -> Any:
    return METHODS.get(name) or CLASSIFIERS[name]


def is_used(name: str, key: str = "") -> bool:
    """Return whether a shipped config or a program of the gallery uses a method or classifier, and its key."""
    if key in set_keys(name):
        return True
    made = entry_of(name).estimator.partition(":")[2]
    return any(re.search(rf"\b{made}\b", text) and key in text for text in programs().values())


def works(place: str) -> bool:
    kind, _, name = place.partition(" ")
    name, _, words = name.partition(": ")
    match kind:
        case "method" | "rule":
            return name in (METHODS if kind == "method" else CLASSIFIERS) and is_used(name)
        case "option":
            name, _, key = name.partition(".")
            return key in section_of(entry_of(name)) and is_used(name, key)
        case "config":
            return name in configs()
        case "table":
            return (ROOT / "results" / "tables" / f"{name}.md").is_file()
        case "figure":
            return (ROOT / "results" / "figures" / f"{name}.svg").is_file()
        case "example":
            return words != "" and words in programs()[name]
        case "test":
            return name in names_of_tests()
    raise AssertionError(place)


@pytest.mark.parametrize("place", PLACES)
def test_a_place_of_the_checklist_exists_and_is_executed(place):
    assert works(place), place


def test_every_row_has_a_place_and_is_listed_once():
    assert all(places for *_, places in ROWS)
    stated = [(document, section, what) for document, section, what, _ in ROWS]
    assert len(set(stated)) == len(stated)


@pytest.mark.parametrize(("document", "least"), LEAST.items())
def test_the_checklist_has_at_least_as_many_rows_as_were_found_before(document, least):
    assert len(CHECKLIST[document]) >= least


def test_every_document_of_the_registry_is_in_the_checklist():
    entries = [*METHODS.values(), *CLASSIFIERS.values()]
    assert {passage[0] for entry in entries for passage in entry.passages} == CHECKLIST.keys()
