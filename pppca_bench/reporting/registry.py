"""Registry of tables: a builder for each identifier."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial

from pppca_bench.references.proben1_tables import published_searches
from pppca_bench.references.reference import Reference
from pppca_bench.reporting.architecture_search import CONFIG as SEARCH
from pppca_bench.reporting.architecture_search import search_documents
from pppca_bench.reporting.choices import choices_document
from pppca_bench.reporting.distributions import CONFIGS, distribution_document
from pppca_bench.reporting.document import Document
from pppca_bench.reporting.own_tables import OwnTables
from pppca_bench.reporting.significance import significance_document
from pppca_bench.reporting.summary import Results
from pppca_bench.reporting.table import Table
from pppca_bench.reporting.tables import fill_table
from pppca_bench.reporting.training_evidence import PRINTED, training_document
from pppca_bench.runs import Cell, ProblemFacts


class Tables(Mapping[str, Table | Document]):
    """All tables of some results by identifier, in the order of print, each built when it is first asked for.

    The references' tables come first, then tables of texts, then tables of our own; also those that nothing fills.

    Parameters
    ----------
    results : Results
        What was run.
    facts : mapping of str to ProblemFacts
        Sizes of the problems, by name.
    references : sequence of Reference
        The references whose tables are filled.

    Attributes
    ----------
    builders : dict of str to callable
        Returns the table, by identifier.
    """

    def __init__(self, results: Results, facts: Mapping[str, ProblemFacts], references: Sequence[Reference]) -> None:
        own = OwnTables(results, facts, references, _cells_in_documents(results))
        searches = cache(partial(search_documents, results, facts))
        self.builders: dict[str, Callable[[], Table | Document]] = {
            **{
                layout.id: partial(fill_table, layout, reference, results, facts, homes=lambda: own.homes)
                for reference in references
                for layout in reference.layouts
            },
            "P5": lambda: searches()[0],
            "P6": lambda: searches()[1],
            "P7": lambda: searches()[2],
            "P12": partial(significance_document, results),
            "P_training": partial(training_document, results, facts, references),
            **{f"D_{config}": partial(distribution_document, config, results) for config in CONFIGS},
            "C": partial(choices_document, results),
            **own.builders(),
        }
        self._built: dict[str, Table | Document] = {}

    def __getitem__(self, identifier: str) -> Table | Document:
        if identifier not in self._built:
            self._built[identifier] = self.builders[identifier]()
        return self._built[identifier]

    def __iter__(self) -> Iterator[str]:
        return iter(self.builders)

    def __len__(self) -> int:
        return len(self.builders)

    @property
    def of_means(self) -> list[Table]:
        """Return the references' tables, and our own that something fills."""
        tables = [table for table in self.values() if isinstance(table, Table)]
        return [table for table in tables if table.reference or table.was_run]

    @property
    def of_texts(self) -> list[Document]:
        """Return the tables of texts, also those that nothing fills."""
        return [table for table in self.values() if isinstance(table, Document)]


def _cells_in_documents(results: Results) -> dict[str, list[Cell]]:
    """Return the cells that a table of texts shows, so that no list has to, by its identifier."""
    documents = {"P7": SEARCH, "P_training": PRINTED} | {f"D_{config}": config for config in CONFIGS}
    shown = {
        document: [cell for cell, runs in results.cells.items() if config in runs.configs]
        for document, config in documents.items()
    }
    return shown | {"P7": [cell for cell in shown["P7"] if cell.problem in published_searches()]}
