"""Snapshot of the results: runs, the frame of printed numbers, and all tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import pandas as pd

from pppca_bench.errors import OwnDataError, check_known
from pppca_bench.pages.claim_texts import declared_findings
from pppca_bench.pages.document import Document
from pppca_bench.pages.figure_data import Figure, build_figures
from pppca_bench.pages.findings import Answers, joined
from pppca_bench.pages.means import document_of
from pppca_bench.pages.plug_in import attempted, checked, from_module
from pppca_bench.pages.recommendation import choices_document
from pppca_bench.pages.share_texts import share_paragraphs, shares_document
from pppca_bench.pages.table_figures import drawn_numbers, table_figure
from pppca_bench.references.layout import Layout, RankingSpec
from pppca_bench.references.planned import check_quantities
from pppca_bench.references.reference import Reference, distinct, qualified
from pppca_bench.results.frames import Runs, problems_of, read_runs
from pppca_bench.runs import Facts
from pppca_bench.store import RESULTS
from pppca_bench.store.database import Store
from pppca_bench.verdicts.deviations import judge_deviations
from pppca_bench.verdicts.numbers import has_runs, published_numbers, results_of, trimmed
from pppca_bench.verdicts.own_tables import RETAINED, SCORED, OwnTables
from pppca_bench.verdicts.ranking import Ranking, rankings_of
from pppca_bench.verdicts.recorded import RESEEDED, changes, read_recorded
from pppca_bench.verdicts.shares import (
    SHARES,
    Programs,
    shares_of_parts,
    shares_of_tables,
    simulate,
)


class Snapshot:
    """Results of a database, with all tables by identifier; numbers and tables are built on first access.

    Parameters
    ----------
    runs : Runs
    facts : mapping of str to ProblemFacts
        Sizes of problems, by name.
    references : sequence of Reference
        Each has its own identifiers: of two with the same table, the user-defined has its identifier, and the other is
        printed with the name of its folder, such as ``slides-T1``.
    folder : Path
        Folder of the database, and perhaps of other results.

    Attributes
    ----------
    names : list of str
        Identifiers of all tables, with runs or without, in the order of print: the references' tables, the tables of
        their modules, our own tables.
    layouts : dict of str to Layout
        Layouts of the references' tables of means.
    sources : dict of str to Reference
        References of the tables that are not our own.

    Raises
    ------
    OwnDataError
        A module of a reference does not work, or has an identifier that two references have.
    """

    def __init__(
        self,
        runs: Runs,
        facts: Facts,
        references: Sequence[Reference],
        *,
        folder: Path = Path(RESULTS),
    ) -> None:
        self.runs, self.facts, self.folder = runs, facts, folder
        self.references = distinct(references, ("X", RETAINED, "M", SCORED, "C", SHARES))
        self.layouts: dict[str, Layout] = {}
        self.sources: dict[str, Reference] = {}
        shown = dict[int, str]()
        for _, cells in self._from_modules("shown"):
            shown |= cells
        self.shares = cache(self._shares)
        # some tables by themselves are filled faster than all of them
        self._some = cache(lambda *names: self._numbers_of(names))
        self._own = OwnTables(runs, facts, self.references, shown)
        self._own_builders = {name: cache(build) for name, build in self._own.builders().items()}
        self._texts: dict[str, Callable[[], Document]] = {
            "C": cache(partial(choices_document, runs)),
            SHARES: cache(lambda: shares_document(self.shares())),
        }
        for reference in self.references:
            for layout in reference.layouts:
                self._add(layout.id, reference)
                self.layouts[layout.id] = layout
        of_modules, names_of_modules = self._from_modules("tables"), list[str]()
        for reference, builders in of_modules:
            for name, build in builders.items():
                table = self._free(name, reference)
                self._add(table, reference)
                built = partial(_built, build, table)
                self._texts[table] = cache(partial(attempted, reference, built))
                names_of_modules.append(table)
        self.names = [*self.layouts, *names_of_modules, "C", SHARES, *self._own_builders]

    def _free(self, name: str, reference: Reference) -> str:
        """Return the identifier of a table of a reference's module: with its name, if another reference has it."""
        is_taken = self.sources.get(name, reference) is not reference
        return qualified(name, reference) if is_taken or name in self._own_builders else name

    def _add(self, name: str, reference: Reference) -> None:
        """Record the reference of a table; raise OwnDataError if another table has its identifier."""
        if name in {*self.sources, *self._own_builders}:
            raise OwnDataError(
                f"{reference.name}/reference.yaml: expected identifiers that no other table has, got {name!r}. Give the"
                " table another id, or the folder another name."
            )
        self.sources[name] = reference

    def _from_modules(self, function: str, *arguments: object) -> list[tuple[Reference, Any]]:
        """Return what a function of the references' modules returns, where it is not empty."""
        values = []
        for reference in self.references:
            value = from_module(reference, function, self, *arguments)
            if value:
                values.append((reference, value))
        return values

    @cached_property
    def numbers(self) -> pd.DataFrame:
        """Printed numbers of the references' tables, see `verdicts.numbers`."""
        return self._numbers_of(None)

    def _numbers_of(self, tables: Collection[str] | None) -> pd.DataFrame:
        numbers = published_numbers(self.references, self.runs, self.facts, tables=tables)
        return judge_deviations(numbers, self.runs)

    @cached_property
    def _numbers_by_table(self) -> dict[str, pd.DataFrame]:
        return {str(table): rows for table, rows in self.numbers.groupby("table", sort=False)}

    def is_of_means(self, name: str) -> bool:
        """Return whether a table is of means; the others are documents of texts."""
        return name in self.layouts or name in self._own_builders

    def means(self, name: str) -> tuple[Layout, pd.DataFrame]:
        """Return the layout and the printed numbers of a table of means."""
        if name not in self.layouts:
            return self._own_builders[name]()
        if "numbers" in self.__dict__:  # of all tables
            return self.layouts[name], self._numbers_by_table[name]
        return self.layouts[name], self._some(name)

    def text(self, name: str) -> Document:
        """Return a table of texts."""
        return self._texts[name]()

    def has_runs(self, name: str) -> bool:
        """Return whether a table has planned runs, or sizes of data sets, or only cites numbers."""
        if self.is_of_means(name):
            return has_runs(self.means(name)[1])
        return self.text(name).has_runs

    def shows_runs(self, name: str) -> bool:
        """Return whether a table shows runs, not only sizes of data sets."""
        if not self.is_of_means(name):
            return self.text(name).has_runs
        numbers = self.means(name)[1]
        return bool(((numbers["n_planned"] > 0) | (numbers["listed"].map(len) > 0)).any())

    @property
    def with_runs(self) -> list[str]:
        """Return the identifiers of the tables with planned runs."""
        _ = self.numbers  # all tables at once are filled faster than each alone
        return [name for name in self.names if self.has_runs(name)]

    def table(
        self,
        name: str,
        *,
        whole: bool = True,
        sd: bool = False,
        paired: bool = True,
        texts: tuple[str, str] = ("", ""),
    ) -> Document | None:
        """Return a table as a document; see `pages.means.document_of`.

        Rows and columns without runs are left out unless it is ``whole``; None if nothing is left.
        """
        if not self.is_of_means(name):
            document = self.text(name)
            return document if whole else document.trimmed()
        layout, numbers = self.means(name)
        if not whole:
            numbers = trimmed(numbers)
            if not has_runs(numbers):
                return None
        return document_of(
            layout,
            numbers,
            reference=self.sources.get(name),
            facts=self.facts,
            sd=sd,
            paired=paired,
            texts=texts,
            listed_in=lambda cell: self._own.shown_in.get(cell, ()),
        )

    def tables(
        self, names: Collection[str], *, with_shares: bool = False, **options: Any
    ) -> list[Document]:
        """Return tables, as `table` does, without those of which nothing is left.

        With shares, paragraphs on the shares of the verdicts stand above and below published tables.
        """
        published = [name for name in names if name in self.layouts]
        shares = None
        if with_shares:
            has_all = "numbers" in self.__dict__
            shares = self.shares() if has_all else self.shares(*published)
        documents = list[Document]()
        for name in names:
            if shares is not None and name in published:
                options["texts"] = self.share_texts(name, shares[shares["row"] == name])
            if document := self.table(name, **options):
                documents.append(document)
            options.pop("texts", None)
        return documents

    def _shares(self, *tables: str) -> pd.DataFrame:
        """Return the shares of the verdicts in published tables, by default in all of them."""
        if not tables:
            return shares_of_tables(self.numbers, self._programs)
        placebos = [placebo for reference in self.references for placebo in reference.placebos]
        others = {one.table for one in placebos if not set(one.tables).isdisjoint(tables)} - {""}
        numbers = self._some(*sorted(others.union(tables)))
        programs = simulate(numbers, self.references, self.runs, tables)
        return shares_of_tables(numbers, programs, tables)

    @cached_property
    def reseeded(self) -> pd.DataFrame:
        """Numbers with their verdicts with another seed, see `recorded.changes`: none without `RESEEDED`."""
        path = self.folder / RESEEDED
        if not path.is_file():
            return self.numbers[:0]
        found = changes(self.numbers, self.runs, read_recorded(path))
        return found[found["obstacle"] == ""]

    @cached_property
    def _programs(self) -> Programs:
        return simulate(self.numbers, self.references, self.runs)

    @cached_property
    def shares_of_parts(self) -> pd.DataFrame:
        """Shares of the verdicts in the parts of each reference, and in all its numbers."""
        return shares_of_parts(self.numbers, self._programs, self.references)

    def share_texts(self, name: str, shares: pd.DataFrame) -> tuple[str, str]:
        """Return the paragraphs on the shares of the verdicts in a published table."""
        selections = self.means(name)[1]["selection"].dropna()
        methods = {part.method for selection in selections for part in selection.parts}
        return share_paragraphs(shares, methods)

    @property
    def documents(self) -> list[Document]:
        """Return the tables of texts, with runs or without, but not the shares of the verdicts."""
        return [build() for name, build in self._texts.items() if name != SHARES]

    @property
    def ranking_specs(self) -> list[RankingSpec]:
        """Return the rankings of the references, with runs or without."""
        return [spec for reference in self.references for spec in reference.rankings]

    def rankings(self) -> list[tuple[RankingSpec, Ranking]]:
        """Return the references' rankings with enough runs."""
        return rankings_of(self.ranking_specs, self.runs, self.facts)

    def figures(self, store: Store) -> list[Figure]:
        """Return the figures; their learning curves are read from the database."""
        figures = build_figures(self.runs, store, self.facts, self.numbers, self.references)
        for reference, drawn in self._from_modules("figures", store):
            figures += [figure._replace(source=reference.title) for figure in drawn]
        return figures

    def can_be_drawn(self, name: str) -> bool:
        """Return whether a table has means of runs, which `figure_of` draws."""
        return self.is_of_means(name) and len(drawn_numbers(self.means(name)[1])) > 0

    def figure_of(self, name: str) -> Figure:
        """Return the figure of a table of means."""
        return table_figure(*self.means(name), self.sources.get(name), self.facts)

    def answers(self, figures: Sequence[Figure]) -> Answers:
        """Return the answers to the claims of the references.

        Choice: without runs of any published number of a reference, its claims are left out.
        """
        several, run_sources = list[Answers](), self.run_sources
        for reference in self.references:
            if reference.claims and reference.title in run_sources:
                several.append(Answers(claims=declared_findings(reference, self.numbers)))
        for reference, answers in self._from_modules("claims", figures):
            if reference.title in run_sources or not reference.numbers:
                several.append(answers)
        return joined(several)

    @property
    def is_own(self) -> bool:
        """Return whether no published number of an installed reference was run, so that methods are compared."""
        installed = {one.title for one in self.references if not one.is_added}
        return self.run_sources.isdisjoint(installed)

    @property
    def run_sources(self) -> set[str]:
        """Return the titles of the references of which a published number was run."""
        results = results_of(self.numbers)
        return set(results.loc[results["n"] > 0, "source"])


def _built(build: Callable[[], Document], name: str) -> Document:
    table: Document = checked(build(), Document)
    return table._replace(id=name)


def take_snapshot(
    store: Store,
    references: Sequence[Reference],
    configs: Sequence[str] = (),
    *,
    problems: Sequence[str] = (),
    methods: Sequence[str] = (),
) -> Snapshot:
    """Read the runs of some configs, problems and methods, all by default, from a results database.

    Raises
    ------
    UnknownConfigError
        The database has no config of that name.
    UnknownNameError
        The configs have no run of that problem or method.
    DataError
        A user-defined reference has a quantity that its runs lack, or a module that does not work.
    """
    runs = read_runs(store, configs or None)
    for reference in references:
        if numbers := from_module(reference, "measures", runs, store):
            runs = runs.with_numbers(numbers)
    check_known("problem", problems, problems_of(runs))
    check_known("method", methods, dict.fromkeys(cell.method for cell in runs.cells.values()))
    kept = runs.cells
    if problems:
        kept = {number: cell for number, cell in kept.items() if cell.problem in problems}
    if methods:
        kept = {number: cell for number, cell in kept.items() if cell.method in methods}
    if len(kept) < len(runs.cells):
        runs = runs.of_cells(kept)
    known = store.problems()
    facts = {name: known[name] for name in problems_of(runs) if name in known}
    for reference in references:
        if reference.is_added:
            check_quantities(reference, runs.cells, runs.measured)
    return Snapshot(runs, facts, references, folder=store.path.parent)
