"""Published tables of a source: a folder with ``reference.yaml`` (layouts and the runs that fill each cell) and
``numbers.csv`` (numbers as printed).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

from pydantic import Field, model_validator

from pppca_bench.errors import ConfigError, OwnDataError, nearest
from pppca_bench.references.claims import Claim
from pppca_bench.references.layout import (
    CurveLayout,
    Identifier,
    Layout,
    NamedPart,
    PartOfTables,
    Placebo,
    RankingSpec,
    Scored,
    Searched,
    check_keys,
)
from pppca_bench.references.numbers import Number, Published, VerdictRule, read_numbers
from pppca_bench.references.paper import Paper
from pppca_bench.references.selection import Text, Texts
from pppca_bench.runs import Names, Scalar, Selector
from pppca_bench.yaml_files.section import Section, broken_rule
from pppca_bench.yaml_files.source import Location, YamlSource, read_yaml

Part = TypeVar("Part", bound=PartOfTables)
Shown = TypeVar("Shown", Layout, CurveLayout, RankingSpec)

REFERENCE_GROUP = "pppca_bench.references"
"""Group of the entry points of installed packages with references: each is a sequence of their folders."""


class _ReferenceFile(Section):
    """Content of ``reference.yaml``; layouts are in the order of print."""

    title: Text
    citation: Text  # where it was published
    paper: Paper | None = None  # for BibTeX and metadata
    # the first that applies
    rules: tuple[VerdictRule, ...] = Field(alias="verdicts")
    not_compared: Texts = ()  # quantities without a rule
    layouts: tuple[Layout, ...] = Field(alias="tables")
    configs: Texts = ()  # names of the configs whose runs count; empty for all
    # Parts whose verdicts are counted together. A number is in the first part that has it.
    parts: tuple[NamedPart, ...] = ()
    # Identifier of the figure of the parts' published numbers against ours, which references may share.
    parts_figure: Identifier = "published_against_ours"
    within: str = ""  # its margins in words, for the sentence on its reproduced numbers
    claims: tuple[Claim, ...] = ()
    # By reading and role, the methods of the claims of the module and the settings that select their runs.
    roles: dict[Text, dict[Text, dict[Text, Scalar]]] = Field(default_factory=dict)
    scored: tuple[Scored, ...] = Field((), alias="scores")
    searched: tuple[Searched, ...] = ()
    module: str = (
        ""  # dotted path of a module with further tables, figures and claims (`pages.plug_in`)
    )
    placebos: tuple[Placebo, ...] = ()
    # The threshold at which the source compares methods; table R has the runs at it.
    compared_tau: float | None = None
    figures: tuple[CurveLayout, ...] = ()
    rankings: tuple[RankingSpec, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_keys("tables", [layout.id for layout in self.layouts])
        layouts = {layout.id: layout for layout in self.layouts}
        named: dict[str, Sequence[PartOfTables | Claim]] = {
            "verdicts": self.rules,
            "parts": self.parts,
            "scores": self.scored,
            "searched": self.searched,
            "placebos": self.placebos,
            "claims": self.claims,
        }
        for name, parts in named.items():
            for index, part in enumerate(parts):
                for key, text in part.unknown_names(layouts):
                    raise broken_rule(text, name, index, key)
        return self


class Asked(NamedTuple):
    """Runs that a table's cell or a curve asks for: what shows them, where in the file, and which they are."""

    shown: str  # identifier of the table or figure
    text: str  # such as "table T1, iris, PCA"
    levels: tuple[Location, ...]  # table, row, column and cell, or figure, panel and curve
    configs: Names  # whose runs count; empty for all
    selector: Selector
    quantities: Names = ()


class Reference(_ReferenceFile):
    """Published tables of a source."""

    folder: Path
    source: YamlSource
    is_added: bool = False  # whether it is user-defined, not of an installed package
    numbers: Published  # by cell and quantity

    @property
    def name(self) -> str:
        """Return the name of its folder."""
        return self.folder.name

    def rule(self, table: str, row: str, quantity: str) -> VerdictRule | None:
        """Return the rule of the verdicts on a number of a table, or None."""
        return next((rule for rule in self.rules if rule.applies(table, row, quantity)), None)

    def printed_size(self, problem: str) -> int | None:
        """Return the number of features that a table prints for a problem, or None."""
        sizes = (
            cell.get("n_features") for (_, row, _), cell in self.numbers.items() if row == problem
        )
        return next((int(size.value) for size in sizes if size), None)

    def published(self, table: str, row: str, column: str) -> Mapping[str, Number]:
        """Return the published numbers of a cell, by quantity."""
        return self.numbers.get((table, row, column), {})

    def renamed(self, tables: Mapping[str, str], figures: Mapping[str, str]) -> Reference:
        """Return the reference with other identifiers of its tables and figures, by those that it has."""

        def of_part(part: Part) -> Part:
            update: dict[str, Any] = {"tables": tuple(tables[name] for name in part.tables)}
            if isinstance(part, Placebo) and part.table:
                update["table"] = tables[part.table]
            return part.model_copy(update=update)

        def with_id(shown: Shown, names: Mapping[str, str]) -> Shown:
            return shown.model_copy(update={"id": names[shown.id]})

        update = {
            "layouts": tuple(with_id(layout, tables) for layout in self.layouts),
            "figures": tuple(with_id(figure, figures) for figure in self.figures),
            "rankings": tuple(with_id(ranking, figures) for ranking in self.rankings),
            "claims": tuple(
                claim.model_copy(update={"table": tables[claim.table]}) for claim in self.claims
            ),
            "numbers": {(tables[table], *rest): of for (table, *rest), of in self.numbers.items()},
        }
        for name in ("rules", "parts", "scored", "searched", "placebos"):
            update[name] = tuple(map(of_part, getattr(self, name)))
        return self.model_copy(update=update)

    def configs_of(self, shown: Layout | CurveLayout) -> Names:
        """Return the configs whose runs count in a table or figure; empty for all of them."""
        return shown.configs or self.configs

    def selectors(self) -> Iterator[Asked]:
        """Yield the selector of all runs that tables and figures show."""
        for index, layout in enumerate(self.layouts):
            table, configs = ("tables", index), self.configs_of(layout)
            for row, column in itertools.product(layout.rows, layout.columns):
                selection = layout.selector(row, column)
                text = f"table {layout.id}, {row.key}, {column.key}"
                quantities = (*layout.quantities(row, column), *layout.also)
                row_place = (*table, "rows", layout.rows.index(row))
                column_place = (*table, "columns", layout.columns.index(column))
                cells = [
                    (*table, "cells", number)
                    for number, cell in enumerate(layout.cells)
                    if (cell.row, cell.column) == (row.key, column.key)
                ]
                levels = (table, row_place, column_place, *cells)
                for selector in selection.parts if selection else ():
                    yield Asked(layout.id, text, levels, configs, selector, quantities)
        for index, figure in enumerate(self.figures):
            place, configs = ("figures", index), self.configs_of(figure)
            for i, (title, curves) in enumerate(figure.panels.items()):
                for j, (label, selector) in enumerate(curves.items()):
                    text = ", ".join(filter(None, (f"figure {figure.id}", title, label)))
                    levels = (place, (*place, "panels", i), (*place, "curves", j))
                    yield Asked(figure.id, text, levels, configs, selector)


def qualified(name: str, reference: Reference) -> str:
    """Return an identifier with the name of its reference's folder, such as ``slides-T1``."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", f"{reference.name}-{name}")


def distinct(references: Sequence[Reference], reserved: Iterable[str] = ()) -> list[Reference]:
    """Return references whose tables and figures have different identifiers, none of which is reserved.

    Of those that share an identifier, a user-defined reference keeps it, the first of several; the others are
    `qualified`.
    """
    tables, figures = set(reserved), set[str]()
    renamed = dict[int, Reference]()
    for index in sorted(range(len(references)), key=lambda index: not references[index].is_added):
        reference = references[index]
        own_tables = [layout.id for layout in reference.layouts]
        own_figures = [figure.id for figure in reference.figures]
        own_figures += [ranking.id for ranking in reference.rankings]
        new_tables = _distinct_names(own_tables, tables, reference)
        new_figures = _distinct_names(own_figures, figures, reference)
        renamed[index] = reference.renamed(new_tables, new_figures)
    return [renamed[index] for index in range(len(references))]


def _distinct_names(names: Iterable[str], taken: set[str], reference: Reference) -> dict[str, str]:
    """Return the identifiers that take the place of some, and add them to those that are taken."""
    new = {name: qualified(name, reference) if name in taken else name for name in names}
    taken.update(new.values())
    return new


@cache
def installed_references() -> tuple[Reference, ...]:
    """Return the references of installed packages, by the names of their entry points.

    Raises OwnDataError if an entry point does not work, or one of its references is malformed.
    """
    references = list[Reference]()
    for point in sorted(entry_points(group=REFERENCE_GROUP), key=lambda point: point.name):
        try:
            folders = [Path(folder) for folder in point.load()]
        except (ImportError, AttributeError, TypeError) as error:
            raise OwnDataError(
                f"{point.name}, entry point of {REFERENCE_GROUP}: expected folders of references at {point.value}, got"
                f" {type(error).__name__}: {error}. Repair or uninstall the package."
            ) from None
        references += map(read_reference, folders)
    return tuple(references)


def read_reference(folder: Path, *, is_added: bool = False) -> Reference:
    """Read a reference; raise OwnDataError with file, line and place if a file is missing or malformed."""
    try:
        source = read_yaml(folder / "reference.yaml")
        document = _ReferenceFile.read(source)
    except ConfigError as error:
        raise OwnDataError(str(error)) from None
    numbers = read_numbers(folder / "numbers.csv", document.layouts)
    reference = Reference.model_construct(
        is_added=is_added, folder=folder.resolve(), source=source, numbers=numbers, **dict(document)
    )
    _check_rules(reference, source)
    return reference


def _check_rules(reference: Reference, source: YamlSource) -> None:
    """Check that each number of a cell with runs has a rule or is not compared.

    Of the numbers of a rule in sd, all or none must have deviations.
    """
    compared: dict[int, dict[bool, str]] = {}
    for layout in reference.layouts:
        for row, column in itertools.product(layout.rows, layout.columns):
            published = reference.published(layout.id, row.key, column.key)
            for name in published if layout.selector(row, column) else ():
                rule = reference.rule(layout.id, row.key, name)
                location = f"{name} of {layout.id}, {row.key}, {column.key}"
                if rule is None and name not in reference.not_compared:
                    raise OwnDataError(
                        f"{source.where(('verdicts',))}: expected a rule for each number that runs can fill, got none"
                        f" for {location}."
                    )
                if rule and rule.unit == "sd" and rule.compare != "correlations":
                    places = compared.setdefault(reference.rules.index(rule), {})
                    places.setdefault(published[name].sd is None, location)
    shown = {name for layout in reference.layouts for name in layout.all_quantities}
    for index, name in enumerate(reference.not_compared):
        if name not in shown:
            raise OwnDataError(
                f"{source.where(('not_compared', index))}: expected some of {', '.join(sorted(shown))}, got"
                f" {name!r}{nearest(name, shown)}."
            )
    for index, places in compared.items():
        if len(places) == 2:
            raise OwnDataError(
                f"{source.where(('verdicts', index))}: expected standard deviations of all numbers of the rule or of"
                f" none, got none of {places[True]}, but of {places[False]}. Give such numbers a rule of their own."
            )
