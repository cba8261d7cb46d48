"""Snapshot of the results: runs, and a registry of the tables that they fill."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from typing import NamedTuple

from pppca_bench.errors import StoreError, check_known
from pppca_bench.methods.lookup import method_names
from pppca_bench.references.reference import Reference, check_added
from pppca_bench.reporting.document import Document
from pppca_bench.reporting.figure_data import Figure, build_figures, streaming_figure
from pppca_bench.reporting.own_tables import OwnTables, choices_document
from pppca_bench.reporting.ranking import CONTESTS, Ranking, RankingSpec, rank
from pppca_bench.reporting.summary import Results, split_by_cell
from pppca_bench.reporting.table import Table, fill_table
from pppca_bench.reporting.verdict_shares import SHARES, Shares, shares_document, verdict_shares, with_shares
from pppca_bench.runs import Cell, Facts
from pppca_bench.store.database import Store

Builder = Callable[[], Table | Document]
Builders = Mapping[str, Builder]
"""Functions that return tables, by identifier."""


class Paper(NamedTuple):
    """A paper's own documents and figures: their builders, and the cells whose runs a document of that name shows."""

    builders: Builders
    shown: Mapping[Cell, str]
    figures: Sequence[Callable[[], Figure]] = ()


WithPaper = Callable[[Results, Facts, Sequence[Reference]], Paper]


def without_paper(_results: Results, _facts: Facts, _references: Sequence[Reference]) -> Paper:
    """Return no documents."""
    return Paper({}, {})


class Snapshot(Mapping[str, Table | Document]):
    """Results, and all tables by identifier, each built on first access.

    In the order of print: the references' tables, documents of the paper, our own tables. Tables without runs are
    included. ``facts`` are the sizes of the problems, by name; ``builders`` return the tables.
    """

    def __init__(
        self, results: Results, facts: Facts, references: Sequence[Reference], with_paper: WithPaper = without_paper
    ) -> None:
        self.results, self.facts, self.references = results, facts, references
        paper = with_paper(results, facts, references)
        self._paper_figures = paper.figures
        own = OwnTables(results, facts, references, paper.shown)
        published: Builders = {
            layout.id: partial(fill_table, layout, reference, results, facts, shown_in=lambda: own.shown_in)
            for reference in references
            for layout in reference.layouts
        }
        of_texts: Builders = {**paper.builders, "C": partial(choices_document, results)}
        self.shares = cache(self._shares)
        self._published, self._of_texts = tuple(published), tuple(of_texts)
        self.builders = {
            identifier: cache(build)
            for identifier, build in {
                **published,
                **of_texts,
                SHARES: lambda: shares_document(self.all_shares),
                **own.builders(),
            }.items()
        }

    def __getitem__(self, identifier: str) -> Table | Document:
        return self.builders[identifier]()

    def __iter__(self) -> Iterator[str]:
        return iter(self.builders)

    def __len__(self) -> int:
        return len(self.builders)

    def _shares(self, identifier: str) -> Shares:
        """Return the shares of the verdicts in a table of means; see `verdict_shares`."""
        table = self[identifier]
        return verdict_shares(table, self.__getitem__, self.results) if isinstance(table, Table) else []

    @property
    def all_shares(self) -> Shares:
        """Return the shares of the verdicts in the published tables."""
        return [record for name in self._published for record in self.shares(name)]

    @property
    def of_means(self) -> list[Table]:
        """Return the references' tables, and our own tables with runs."""
        others = (self[name] for name in self if name not in (*self._of_texts, SHARES))
        tables = [table for table in others if isinstance(table, Table)]
        return [table for table in tables if table.reference or table.has_runs]

    @property
    def of_texts(self) -> list[Document]:
        """Return the tables of texts, with runs or without, but not the shares of the verdicts."""
        return [table for name in self._of_texts if isinstance(table := self[name], Document)]

    def with_shares(self, tables: Iterable[Table | Document]) -> list[Table | Document]:
        """Return tables, the published tables with the shares of their verdicts."""
        return [with_shares(table, self.shares(table.id)) if isinstance(table, Table) else table for table in tables]

    @property
    def with_runs(self) -> list[Table | Document]:
        """Return the tables with planned runs."""
        return [table for table in self.values() if table.has_runs]

    def rankings(self) -> list[tuple[RankingSpec, Ranking]]:
        """Rank the methods of each contest with enough runs."""
        rankings = []
        for contest in CONTESTS:
            cells = self.results.of_config(*contest.configs)
            with suppress(StoreError):
                rankings.append((contest, rank(cells or (self.results.cells if contest.missing else {}), self.facts)))
        return rankings

    def figures(self, store: Store) -> list[Figure]:
        """Return the figures; their learning curves are read from the database."""
        figures = build_figures(self.results, store, self.of_means, self.references)
        own = [figure for build in self._paper_figures if (figure := build()).panels]
        return [*figures, streaming_figure(self.results, store, self.facts), *own]


def take_snapshot(
    store: Store,
    references: Sequence[Reference],
    configs: Sequence[str] = (),
    *,
    problems: Sequence[str] = (),
    methods: Sequence[str] = (),
    added: Sequence[Reference] = (),
    with_paper: WithPaper = without_paper,
) -> Snapshot:
    """Read a results database.

    Parameters
    ----------
    store : Store
        The database.
    references, added : sequence of Reference
        The package's references, and user-defined references, whose tables come last.
    with_paper : callable(results, facts, references) -> Paper, optional
        Returns the documents of a paper.
    configs, problems, methods : sequence of str, optional
        Names of the configs, problems and methods whose runs count; all by default.

    Raises
    ------
    UnknownConfigError
        The database has no config of that name.
    UnknownNameError
        The configs have no run of that problem or method.
    DataError
        An added reference has the identifier of another table, or a cell without runs.
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
    facts = {name: known[name] for name in dict.fromkeys(cell.problem for cell in kept) if name in known}
    check_added(added, Snapshot(results, facts, references, with_paper).builders, results.cells, method_names())
    return Snapshot(results, facts, [*references, *added], with_paper)
