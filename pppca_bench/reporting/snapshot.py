"""Snapshot of the results: runs, and a registry of the tables that they fill."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

from pppca_bench.errors import OwnDataError, StoreError, check_known
from pppca_bench.methods.lookup import method_names
from pppca_bench.references.layout import RankingSpec
from pppca_bench.references.reference import Reference, check_selectors
from pppca_bench.reporting.comparison import Comparison, compare
from pppca_bench.reporting.document import Document
from pppca_bench.reporting.figure_data import Figure, build_figures
from pppca_bench.reporting.findings import Answers, joined
from pppca_bench.reporting.own_tables import OwnTables
from pppca_bench.reporting.plug_in import attempted, checked, from_module
from pppca_bench.reporting.ranking import Ranking, rank
from pppca_bench.reporting.recommendation import choices_document
from pppca_bench.reporting.summary import Results, split_by_cell
from pppca_bench.reporting.table import MeansTable, fill_table
from pppca_bench.reporting.verdict_shares import (
    SHARES,
    Shares,
    shares_document,
    verdict_shares,
    with_shares,
)
from pppca_bench.runs import Facts
from pppca_bench.store import RESULTS
from pppca_bench.store.database import Store

Builder = Callable[[], MeansTable | Document]
"""Function that returns a table."""


class Snapshot(Mapping[str, MeansTable | Document]):
    """Results, and all tables by identifier, each built on first access.

    In the order of print: the references' tables, the tables of their modules, our own tables. Tables without runs are
    included. ``facts`` are the sizes of the problems, by name; ``builders`` return the tables, ``sources`` are the
    references of those that are not our own. ``folder`` has the database, and perhaps other results.

    Raises
    ------
    OwnDataError
        Two tables have the same identifier, or a module of a reference does not work.
    """

    def __init__(
        self,
        results: Results,
        facts: Facts,
        references: Sequence[Reference],
        folder: Path = Path(RESULTS),
    ) -> None:
        self.results, self.facts, self.references, self.folder = results, facts, references, folder
        shown = self._from_modules("shown")
        own_tables = OwnTables(
            results,
            facts,
            references,
            {cell: name for _, cells in shown for cell, name in cells.items()},
        )
        fill = partial(fill_table, shown_in=lambda: own_tables.shown_in)
        published: list[tuple[Reference, str, Builder]] = [
            (reference, layout.id, partial(fill, layout, reference, results, facts))
            for reference in references
            for layout in reference.layouts
        ]
        of_modules: list[tuple[Reference, str, Builder]] = [
            (reference, name, partial(attempted, reference, partial(_built, build)))
            for reference, builders in self._from_modules("tables")
            for name, build in builders.items()
        ]
        others: dict[str, Builder] = {
            "C": partial(choices_document, results),
            SHARES: lambda: shares_document(self.all_shares),
            **own_tables.builders(),
        }
        self.shares = cache(self._shares)
        self.sources: dict[str, Reference] = {}
        for reference, name, _ in (*published, *of_modules):
            if name in self.sources or name in others:
                raise OwnDataError(
                    f"{reference.name}/reference.yaml: expected identifiers that no other table has, got {name!r}. Give"
                    " the table another id."
                )
            self.sources[name] = reference
        self._published, self._of_modules = (
            {name: build for _, name, build in entries} for entries in (published, of_modules)
        )
        builders = self._published | self._of_modules | others
        self.builders = {name: cache(build) for name, build in builders.items()}

    def _from_modules(self, function: str, *arguments: object) -> list[tuple[Reference, Any]]:
        """Return what a function of the references' modules returns, where it is not empty."""
        values = (
            (reference, from_module(reference, function, self, *arguments))
            for reference in self.references
        )
        return [(reference, value) for reference, value in values if value]

    def __getitem__(self, identifier: str) -> MeansTable | Document:
        return self.builders[identifier]()

    def __iter__(self) -> Iterator[str]:
        return iter(self.builders)

    def __len__(self) -> int:
        return len(self.builders)

    def _shares(self, identifier: str) -> Shares:
        """Return the shares of the verdicts in a table of means; see `verdict_shares`."""
        table = self[identifier]
        return (
            verdict_shares(table, self.__getitem__, self.results)
            if isinstance(table, MeansTable)
            else []
        )

    @property
    def all_shares(self) -> Shares:
        """Return the shares of the verdicts in the published tables."""
        return [record for name in self._published for record in self.shares(name)]

    @property
    def of_means(self) -> list[MeansTable]:
        """Return the references' tables, and our own tables with runs."""
        others = (self[name] for name in self if name not in (*self._of_modules, SHARES))
        tables = [table for table in others if isinstance(table, MeansTable)]
        return [table for table in tables if table.reference or table.has_runs]

    @property
    def of_texts(self) -> list[Document]:
        """Return the tables of texts, with runs or without, but not the shares of the verdicts."""
        return [
            table for name in (*self._of_modules, "C") if isinstance(table := self[name], Document)
        ]

    def with_shares(self, tables: Iterable[MeansTable | Document]) -> list[MeansTable | Document]:
        """Return tables, the published tables with the shares of their verdicts."""
        return [
            with_shares(table, self.shares(table.id)) if isinstance(table, MeansTable) else table
            for table in tables
        ]

    @property
    def with_runs(self) -> list[MeansTable | Document]:
        """Return the tables with planned runs."""
        return [table for table in self.values() if table.has_runs]

    @property
    def ranking_specs(self) -> list[RankingSpec]:
        """Return the rankings of the references, with runs or without."""
        return [spec for reference in self.references for spec in reference.rankings]

    def rankings(self) -> list[tuple[RankingSpec, Ranking]]:
        """Return the references' rankings with enough runs."""
        rankings = []
        for spec in self.ranking_specs:
            others = self.results.cells if spec.missing else {}
            cells = self.results.of_config(*spec.configs) or others
            with suppress(StoreError):
                rankings.append((spec, rank(cells, self.facts, labels=spec.labels)))
        return rankings

    def figures(self, store: Store) -> list[Figure]:
        """Return the figures; their learning curves are read from the database."""
        figures = build_figures(self.results, store, self.facts, self.of_means, self.references)
        return [
            *figures,
            *(figure for _, drawn in self._from_modules("figures", store) for figure in drawn),
        ]

    def answers(self, figures: Sequence[Figure]) -> Answers:
        """Return the answers to the claims of the references.

        Choice: without runs of any published number of a reference, its claims are left out.
        """
        return joined(
            answers
            for reference, answers in self._from_modules("claims", figures)
            if reference.title in self.run_sources or not reference.numbers
        )

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """Return the comparisons with the published numbers."""
        return compare(self.of_means)

    @property
    def run_sources(self) -> set[str]:
        """Return the titles of the references of which a published number was run."""
        return {item.source for item in self.comparisons if item.is_result and item.n}


def _built(build: Builder) -> MeansTable | Document:
    table: MeansTable | Document = checked(build(), MeansTable | Document)
    return table


def take_snapshot(
    store: Store,
    references: Sequence[Reference],
    configs: Sequence[str] = (),
    *,
    problems: Sequence[str] = (),
    methods: Sequence[str] = (),
    added: Sequence[Reference] = (),
) -> Snapshot:
    """Read the runs of some configs, problems and methods, all by default, from a results database.

    The tables of the user-defined references ``added`` come last.

    Raises
    ------
    UnknownConfigError
        The database has no config of that name.
    UnknownNameError
        The configs have no run of that problem or method.
    DataError
        An added reference has the identifier of another table, a cell without runs, or a module that does not work.
    """
    cells = split_by_cell(*store.read(configs or None))
    check_known("problem", problems, dict.fromkeys(cell.problem for cell in cells))
    check_known("method", methods, dict.fromkeys(cell.method for cell in cells))
    kept = {
        cell: runs
        for cell, runs in cells.items()
        if (not problems or cell.problem in problems) and (not methods or cell.method in methods)
    }
    results = Results(kept)
    known = store.problems()
    facts = {
        name: known[name] for name in dict.fromkeys(cell.problem for cell in kept) if name in known
    }
    check_selectors(added, results.cells, method_names(), lambda cell: results.cells[cell].numbers)
    return Snapshot(results, facts, [*references, *added], store.path.parent)
