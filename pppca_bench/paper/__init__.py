"""The paper on the slides and the Proben1 report: claims, experiments, and documents of the report's own.

The instrument compares any methods with any reference; only the command line imports the paper, by these names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path

from pppca_bench.paper.architecture_search import CONFIG as SEARCH
from pppca_bench.paper.architecture_search import search_documents
from pppca_bench.paper.claims import judge_claims, main_results
from pppca_bench.paper.evidence import Evidence, Role
from pppca_bench.paper.experiment import ENDINGS, experiment_documents, experiment_figure, experiments
from pppca_bench.paper.findings_page import advice_of, render_findings
from pppca_bench.paper.fitness_times import CONFIG as FITNESS_TIME
from pppca_bench.paper.fitness_times import fitness_times_document
from pppca_bench.paper.lines import read_lines
from pppca_bench.paper.report_documents import DISTRIBUTION_CONFIGS, PRINTED, distribution_document, training_document
from pppca_bench.paper.significance import significance_document
from pppca_bench.references.proben1_tables import published_searches
from pppca_bench.references.reference import Reference
from pppca_bench.reporting.document import Answers, Document
from pppca_bench.reporting.figure_data import Figure
from pppca_bench.reporting.snapshot import Builder, Paper, Snapshot
from pppca_bench.reporting.summary import Results
from pppca_bench.runs import Cell, Facts

__all__ = ["advice_of", "findings", "paper", "render_findings"]


def paper(results: Results, facts: Facts, references: Sequence[Reference]) -> Paper:
    """Return documents of the Proben1 report and of NE-pPCA's times, and documents and figures of the experiments."""
    searches = cache(partial(search_documents, results, facts))
    builders: dict[str, Builder] = {
        "P5": lambda: searches()[0],
        "P6": lambda: searches()[1],
        "P7": lambda: searches()[2],
        "P12": partial(significance_document, results),
        "P_training": partial(training_document, results, facts, references),
        **{f"D_{config}": partial(distribution_document, config, results) for config in DISTRIBUTION_CONFIGS},
        "fitness_times": partial(fitness_times_document, results),
    }
    for experiment in experiments():
        documents = cache(partial(experiment_documents, experiment, results, facts))
        for place, ending in enumerate(ENDINGS):
            builders[f"{experiment.id}{ending}"] = partial(_item, documents, place)
    figures = [partial(experiment_figure, experiment, results, facts) for experiment in experiments()]
    return Paper(builders, _shown(results), figures)


def _item(documents: Callable[[], Sequence[Document]], place: int) -> Document:
    return documents()[place]


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


def findings(snapshot: Snapshot, figures: Sequence[Figure], *, experiment: Path | None = None) -> Answers:
    """Answer the slides' claims by the tables of a snapshot, its figures, and the tables of the last experiment.

    ``experiment`` is the folder of the experiment's tables; without it, claims that need them are not run.
    """
    tables, drawn = {table.id: table for table in snapshot.of_means}, {figure.figure: figure for figure in figures}
    compared = read_lines(experiment) if experiment else ()
    evidence = Evidence(snapshot.results, snapshot.facts, tables, drawn, _claims(snapshot.references), compared)
    claims = judge_claims(evidence)
    return Answers(main_results(evidence, claims), claims)


def _claims(references: Sequence[Reference]) -> Mapping[str, Mapping[str, Role]]:
    return {reading: roles for reference in references for reading, roles in reference.claims.items()}
