"""All sheets: what tables of means cannot show of the Proben1 report's experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pppca_bench.references.reference import Reference
from pppca_bench.reporting.architecture_search import search_sheets
from pppca_bench.reporting.choices import choices_sheet
from pppca_bench.reporting.distributions import distribution_sheets
from pppca_bench.reporting.sheet import Sheet
from pppca_bench.reporting.significance import significance_sheet
from pppca_bench.reporting.summary import Results
from pppca_bench.reporting.table import Table
from pppca_bench.reporting.training_evidence import training_sheet
from pppca_bench.runs import ProblemFacts


def build_sheets(results: Results, facts: Mapping[str, ProblemFacts], references: Sequence[Reference]) -> list[Sheet]:
    """Return all sheets, also those that nothing fills.

    Parameters
    ----------
    results : Results
        What was run.
    facts : mapping of str to ProblemFacts
        Sizes of the problems, by name.
    references : sequence of Reference
        Whose tables are filled.
    """
    return [
        *search_sheets(results, facts),
        significance_sheet(results),
        training_sheet(results, facts, references),
        *distribution_sheets(results),
        choices_sheet(results),
    ]


def in_order(tables: Sequence[Table], sheets: Sequence[Sheet]) -> list[Table | Sheet]:
    """Return those that something fills: the references' tables, the sheets, then the tables of our own."""
    filled = [table for table in tables if table.was_run]
    return [
        *(table for table in filled if table.reference is not None),
        *(sheet for sheet in sheets if sheet.was_run),
        *(table for table in filled if table.reference is None),
    ]
