"""The table of methods by document in docs/concepts.md, against the registry."""

from collections.abc import Iterator
from pathlib import Path

from pppca_bench.methods.registry import CLASSIFIERS, METHODS

PAGE = Path(__file__).parents[2] / "docs" / "concepts.md"
HEADER = "| document | section | in the document as | in pppca as |\n|---|---|---|---|\n"
DOCUMENTS = ("slides", "notebook", "reduction notes", "lecture notes", "Bishop", "other sources")
KEYS = [("method", METHODS.values()), ("rule", CLASSIFIERS.values())]


def rows() -> Iterator[tuple[str, str, str, str]]:
    """Yield a row for each passage of an entry; the source alone for an entry of no document."""
    for key, entries in KEYS:
        for entry in entries:
            passages = entry.passages or [("other sources", entry.source, entry.title)]
            for document, section, name in passages:
                yield document, section, name, f"`{key}: {entry.name}`"


def test_the_table_of_methods_by_document_is_that_of_the_registry():
    by_document = sorted(rows(), key=lambda row: DOCUMENTS.index(row[0]))
    table = HEADER + "".join(f"| {' | '.join(row)} |\n" for row in by_document)
    shown = PAGE.read_text(encoding="utf-8").partition(HEADER)[2].partition("\n\n")[0]
    assert HEADER + shown.rstrip("\n") + "\n" == table, (
        f"docs/concepts.md needs this table:\n{table}"
    )
