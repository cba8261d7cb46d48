"""Results database at one moment: its runs, the sizes of the problems, and the tables that they fill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pppca_bench.errors import StoreError, check_known
from pppca_bench.references.reference import Reference
from pppca_bench.reporting.document import Document
from pppca_bench.reporting.registry import Tables
from pppca_bench.reporting.summary import Results
from pppca_bench.reporting.table import Table
from pppca_bench.runs import ProblemFacts
from pppca_bench.store.database import Store

if TYPE_CHECKING:
    from pppca_bench.reporting.claims import Finding
    from pppca_bench.reporting.figure_data import Figure
    from pppca_bench.reporting.ranking import Contest, Ranking


@dataclass(frozen=True)
class Snapshot:
    """Results of some configs at one moment.

    Attributes
    ----------
    facts : mapping of str to ProblemFacts
        Sizes of the problems, by name.
    results : Results
        The runs by cell.
    references : sequence of Reference
        The references whose tables are filled.
    """

    facts: Mapping[str, ProblemFacts]
    results: Results
    references: Sequence[Reference]

    @cached_property
    def tables(self) -> Tables:
        """Return all tables, each of which is built when it is first asked for."""
        return Tables(self.results, self.facts, self.references)

    @property
    def filled(self) -> list[Table | Document]:
        """Return the tables of which something was planned, in the order of print."""
        return [table for table in self.tables.values() if table.was_run]

    def rankings(self) -> list[tuple[Contest, Ranking]]:
        """Rank the methods in each contest of which enough was run."""
        from pppca_bench.reporting.ranking import CONTESTS, rank

        found = []
        for contest in CONTESTS:
            cells = self.results.of_config(*contest.configs)
            try:
                found.append((contest, rank(cells or (self.results.cells if contest.missing else {}), self.facts)))
            except StoreError:
                continue
        return found

    def findings(self, figures: Sequence[Figure]) -> list[Finding]:
        """Judge the slides' claims, given the figures."""
        from pppca_bench.reporting.claims import Evidence, judge_claims

        tables = {table.id: table for table in self.tables.of_means}
        drawn = {figure.figure: figure for figure in figures}
        claims = {part: method for reference in self.references for part, method in reference.claims.items()}
        return judge_claims(Evidence(self.results, self.facts, tables, drawn, claims))

    def figures(self, store: Store) -> list[Figure]:
        """Gather the figures, whose learning curves are read from the database."""
        from pppca_bench.reporting.figure_data import build_figures

        return build_figures(self.results, store, self.tables.of_means, self.references)


def take_snapshot(
    store: Store,
    references: Sequence[Reference],
    configs: Sequence[str] = (),
    *,
    problems: Sequence[str] = (),
    methods: Sequence[str] = (),
    added: Sequence[Reference] = (),
) -> Snapshot:
    """Read a results database.

    Parameters
    ----------
    store : Store
        The database.
    references : sequence of Reference
        The package's references.
    configs : sequence of str, optional
        Names of the configs whose runs count; all by default.
    problems, methods : sequence of str, optional
        Names of the problems and methods whose runs count; all by default.
    added : sequence of Reference, optional
        User-defined references, whose tables come after the others.

    Raises
    ------
    UnknownConfigError
        A config of that name was never run into the database.
    UnknownNameError
        None of the configs' runs is of that problem or method.
    DataError
        An added reference has a table's identifier that is taken, or a cell that names no run.
    """
    cells = store.runs_by_cell(configs or None)
    check_known("problem", problems, dict.fromkeys(cell.problem for cell in cells))
    check_known("method", methods, dict.fromkeys(cell.method for cell in cells))
    kept = {
        cell: runs
        for cell, runs in cells.items()
        if (not problems or cell.problem in problems) and (not methods or cell.method in methods)
    }
    results = Results(kept, [name for name in store.configs() if not configs or name in configs])
    if added:
        from pppca_bench.reporting.reference_check import check_references

        check_references(added, references, results)
        references = [*references, *added]
    names = {cell.problem for cell in results.cells}
    return Snapshot({name: facts for name, facts in store.problems().items() if name in names}, results, references)
