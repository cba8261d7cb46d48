"""One moment of a results database: its runs, the problems' sizes, and the tables that they fill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pppca_bench.errors import StoreError, check_known
from pppca_bench.references.reference import Reference
from pppca_bench.reporting.claims import Evidence, Finding, judge_claims
from pppca_bench.reporting.figure_data import Figure, build_figures
from pppca_bench.reporting.ranking import CONTESTS, Contest, Ranking, rank
from pppca_bench.reporting.reference_check import check_references
from pppca_bench.reporting.sheet import Sheet
from pppca_bench.reporting.sheets import build_sheets, in_order
from pppca_bench.reporting.summary import Results
from pppca_bench.reporting.table import Table
from pppca_bench.reporting.tables import build_tables
from pppca_bench.runs import ProblemFacts
from pppca_bench.store.database import Store


@dataclass(frozen=True)
class Snapshot:
    """Hold what a results database held at one moment.

    Attributes
    ----------
    facts : mapping of str to ProblemFacts
        Sizes of the problems, by name.
    results : Results
        The runs by cell.
    tables : list of Table
        All tables, also those that nothing fills.
    references : sequence of Reference
        Whose tables they are.
    sheets : list of Sheet
        All sheets, also those that nothing fills.
    """

    facts: Mapping[str, ProblemFacts]
    results: Results
    tables: list[Table]
    references: Sequence[Reference]
    sheets: list[Sheet] = field(default_factory=list)

    @property
    def filled(self) -> list[Table | Sheet]:
        """Return the tables and sheets of which something was asked for, in their order."""
        return in_order(self.tables, self.sheets)

    def rankings(self) -> list[tuple[Contest, Ranking]]:
        """Rank the methods in each contest; one of which too little was run is left out."""
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
        tables, drawn = {table.id: table for table in self.tables}, {one.figure: one for one in figures}
        claims = {part: method for one in self.references for part, method in one.claims.items()}
        return judge_claims(Evidence(self.results, self.facts, tables, drawn, claims))

    def figures(self, store: Store) -> list[Figure]:
        """Gather the figures, whose learning curves are read from the database."""
        return build_figures(self.results, store, self.tables, self.references)


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
        Whose tables are filled.
    configs : sequence of str, optional
        Names of the configs whose runs count; all by default.
    problems, methods : sequence of str, optional
        Names of the problems and methods whose runs count; all by default.
    added : sequence of Reference, optional
        Those of other people, whose tables stand after the others.

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
    taken = {
        cell: runs
        for cell, runs in cells.items()
        if (not problems or cell.problem in problems) and (not methods or cell.method in methods)
    }
    results = Results(taken, [name for name in store.configs() if not configs or name in configs])
    if added:
        check_references(added, references, results)
        references = [*references, *added]
    named = {cell.problem for cell in results.cells}
    facts = {name: fact for name, fact in store.problems().items() if name in named}
    sheets = build_sheets(results, facts, references)
    return Snapshot(facts, results, build_tables(results, facts, references, sheets=sheets), references, sheets)
