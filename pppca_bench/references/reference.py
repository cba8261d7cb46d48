"""A source's published tables, as data: a folder with ``reference.yaml`` (what each table looks like and which runs
fill its cells) and ``numbers.csv`` (what was printed).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path

from pppca_bench.references.document import read_document
from pppca_bench.references.layout import CurveLayout, Layout, PortraitLayout, Scored
from pppca_bench.references.numbers import Number, Published, Tolerance, read_numbers

PROBEN1_REPORT, SLIDES = "proben1_report", "slides"
HEBBIAN_IRIS, TEXTBOOKS = "hebbian_iris", "textbooks"


@dataclass(frozen=True)
class Reference:
    """Hold a source's published tables.

    Attributes
    ----------
    name, title, citation : str
        Name of the folder, title, and where it was published.
    configs : tuple of str
        Names of the configs whose runs count; empty for all.
    layouts : tuple of Layout
        The tables, in the order of print.
    tolerances : mapping of str to Tolerance
        Rule of verdict, by quantity; any other quantity is not compared.
    numbers : mapping of (table, row, column) to mapping of str to Number
        By cell and quantity.
    series : mapping of str to str
        Series of the figure that holds published numbers against ours, in order: the table that each is of.
    claims : mapping of str to str
        The methods that the source's claims speak of, by the part that each plays in them.
    scored : tuple of Scored
        Groups of numbers whose mean distance is a score.
    figures : tuple of CurveLayout
    portraits : tuple of PortraitLayout
        In the order of print.
    """

    name: str
    title: str
    citation: str
    configs: tuple[str, ...]
    layouts: tuple[Layout, ...]
    tolerances: Mapping[str, Tolerance]
    numbers: Published
    series: Mapping[str, str] = field(default_factory=dict)
    claims: Mapping[str, str] = field(default_factory=dict)
    scored: tuple[Scored, ...] = ()
    figures: tuple[CurveLayout, ...] = ()
    portraits: tuple[PortraitLayout, ...] = ()

    def printed_size(self, problem: str) -> int | None:
        """Return the number of features that a table prints for a problem, or None where none does."""
        return self._printed_sizes.get(problem)

    @cached_property
    def _printed_sizes(self) -> Mapping[str, int]:
        sizes: dict[str, int] = {}
        for (_, row, _), cell in self.numbers.items():
            if "n_features" in cell:
                sizes.setdefault(row, int(cell["n_features"].value))
        return sizes

    def published(self, table: str, row: str, column: str) -> Mapping[str, Number]:
        """Return the published numbers of a cell, by quantity."""
        return self.numbers.get((table, row, column), {})


@cache
def own_references() -> tuple[Reference, ...]:
    """Return the references that come with the package: the slides, the Proben1 report, the notebook, the textbooks."""
    folder = Path(str(files(__package__)))
    return tuple(read_reference(folder / name) for name in (SLIDES, PROBEN1_REPORT, HEBBIAN_IRIS, TEXTBOOKS))


def read_reference(folder: Path) -> Reference:
    """Read a reference from its folder.

    Raises
    ------
    OwnDataError
        A file is missing or malformed; the message names file and place.
    """
    document = read_document(folder / "reference.yaml")
    numbers = read_numbers(folder / "numbers.csv", document["layouts"])
    return Reference(folder.resolve().name, numbers=numbers, **document)
