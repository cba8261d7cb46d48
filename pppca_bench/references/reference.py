"""Published tables of a source: a folder with ``reference.yaml`` (layouts and the runs that fill each cell) and
``numbers.csv`` (numbers as printed).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from pppca_bench.documents import Section, raise_errors, read_yaml
from pppca_bench.errors import ConfigError, OwnDataError
from pppca_bench.references.layout import (
    CurveLayout,
    Layout,
    NotNegative,
    PortraitLayout,
    Scored,
    Text,
    Texts,
    check_once,
)
from pppca_bench.references.numbers import Number, Published, Tolerance, Unit, read_numbers

PROBEN1_REPORT, SLIDES = "proben1_report", "slides"
HEBBIAN_IRIS, TEXTBOOKS = "hebbian_iris", "textbooks"


class _Verdict(Section):
    """A `Tolerance`, as ``reference.yaml`` states it."""

    within: NotNegative
    close: NotNegative
    unit: Unit
    least: NotNegative = 0.0
    moves: NotNegative | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.close < self.within:
            raise_errors([(("close",), f"expected at least within, {self.within:g}, got {self.close:g}")])
        return self


class _Document(Section):
    """The content of ``reference.yaml``; its attributes are named as those of `Reference`."""

    title: Text
    citation: Text
    verdicts: dict[Text, _Verdict]
    layouts: tuple[Layout, ...] = Field(alias="tables")
    configs: Texts = ()
    series: dict[Text, Text] = Field(default_factory=dict)
    claims: dict[Text, Text] = Field(default_factory=dict)
    scored: tuple[Scored, ...] = Field((), alias="scores")
    figures: tuple[CurveLayout, ...] = ()
    portraits: tuple[PortraitLayout, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_once("tables", [layout.id for layout in self.layouts])
        layouts = {layout.id: layout for layout in self.layouts}
        for table in self.series:
            if table not in layouts:
                raise_errors([(("series", table), f"expected one of {', '.join(layouts)}, got {table!r}")])
        for index, group in enumerate(self.scored):
            named = [layouts[table] for table in group.tables if table in layouts]
            known = {
                "tables": list(layouts),
                "rows": [line.key for layout in named for line in layout.rows],
                "columns": [line.key for layout in named for line in layout.columns],
            }
            for key, keys in known.items():
                for name in getattr(group, key):
                    if name not in keys:
                        text = f"expected some of {'; '.join(dict.fromkeys(keys))}, got {name!r}"
                        raise_errors([(("scores", index, key), text)])
        return self


@dataclass(frozen=True)
class Reference:
    """Published tables of a source.

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
        Label of each table's series in the figure of published against measured numbers; tables may share a label.
    claims : mapping of str to str
        Methods of the source's claims, by their role in them.
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
        """Return the number of features that a table prints for a problem, or None."""
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
        A file is missing or malformed; the message names file, line and place.
    """
    try:
        document = _Document.read(read_yaml(folder / "reference.yaml"))
    except ConfigError as error:
        raise OwnDataError(str(error)) from None
    return Reference(
        folder.resolve().name,
        numbers=read_numbers(folder / "numbers.csv", document.layouts),
        tolerances={name: Tolerance(**dict(rule)) for name, rule in document.verdicts.items()},
        **{name: value for name, value in document if name != "verdicts"},
    )
