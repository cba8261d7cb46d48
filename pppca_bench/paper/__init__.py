"""The paper on the slides and the Proben1 report: claims, experiments, and documents of the report's own.

The instrument compares any methods with any reference; only the command line imports the paper, by these names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial

from pppca_bench.paper.architecture_search import CONFIG as SEARCH
from pppca_bench.paper.architecture_search import search_documents
from pppca_bench.paper.claims import advice_of, judge_claims, render_findings
from pppca_bench.paper.evidence import COMPARED, Evidence, Role
from pppca_bench.paper.experiment import CONFIGS as EXPERIMENT
from pppca_bench.paper.experiment import experiment_documents
from pppca_bench.paper.fitness_times import CONFIG as FITNESS_TIME
from pppca_bench.paper.fitness_times import fitness_times_document
from pppca_bench.paper.report_documents import DISTRIBUTION_CONFIGS, PRINTED, distribution_document, training_document
from pppca_bench.paper.significance import significance_document
from pppca_bench.references.proben1_tables import published_searches
from pppca_bench.references.reference import Reference
from pppca_bench.reporting.document import Finding
from pppca_bench.reporting.figure_data import Figure
from pppca_bench.reporting.snapshot import Builders, Paper, Snapshot
from pppca_bench.reporting.summary import Results
from pppca_bench.runs import Cell, Facts

__all__ = ["advice_of", "findings", "paper", "render_findings"]


def paper(results: Results, facts: Facts, references: Sequence[Reference]) -> Paper:
    """Return the documents of the Proben1 report, of NE-pPCA's times and of the registered experiment."""
    searches = cache(partial(search_documents, results, facts))
    experiment = cache(lambda: experiment_documents(Evidence(results, facts, {}, {}, _claims(references), EXPERIMENT)))
    builders: Builders = {
        "P5": lambda: searches()[0],
        "P6": lambda: searches()[1],
        "P7": lambda: searches()[2],
        "P12": partial(significance_document, results),
        "P_training": partial(training_document, results, facts, references),
        **{f"D_{config}": partial(distribution_document, config, results) for config in DISTRIBUTION_CONFIGS},
        "fitness_times": partial(fitness_times_document, results),
        "E": lambda: experiment()[0],
        "E_losses": lambda: experiment()[1],
        "E_tests": lambda: experiment()[2],
    }
    return Paper(builders, _shown(results))


def _shown(results: Results) -> dict[Cell, str]:
    """Return the document that shows the runs of each cell, for the cells of the documents' configs."""
    documents = {SEARCH: "P7", PRINTED: "P_training", FITNESS_TIME: "fitness_times"}
    documents |= {config: f"D_{config}" for config in DISTRIBUTION_CONFIGS}
    return {
        cell: document
        for config, document in documents.items()
        for cell, runs in results.cells.items()
        if config in runs.configs and (config != SEARCH or cell.problem in published_searches())
    }


def findings(snapshot: Snapshot, figures: Sequence[Figure]) -> list[Finding]:
    """Judge the slides' claims by the tables of a snapshot and its figures."""
    tables, drawn = {table.id: table for table in snapshot.of_means}, {figure.figure: figure for figure in figures}
    claims = _claims(snapshot.references)
    return judge_claims(Evidence(snapshot.results, snapshot.facts, tables, drawn, claims, COMPARED))


def _claims(references: Sequence[Reference]) -> Mapping[str, Mapping[str, Role]]:
    return {reading: roles for reference in references for reading, roles in reference.claims.items()}
