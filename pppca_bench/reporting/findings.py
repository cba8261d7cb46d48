"""Answers to the claims of sources, and their page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pppca_bench.reporting.document import Document, environment
from pppca_bench.reporting.figure_data import Figure
from pppca_bench.runs import Names


class Finding(NamedTuple):
    """Answer to a claim, verdicts, and the evidence."""

    claim: str
    place: str  # where the source makes the claim
    answer: str  # sentences
    verdicts: Mapping[str, str]  # by reading of the source, such as {"as written": "holds"}
    basis: Sequence[tuple[str, str]] = ()  # such as estimand, data and test, each with its title
    evidence: Names = ()  # sentences
    sources: Names = ()  # tables and figures with the numbers


class Answers(NamedTuple):
    """Main results as sentences, the answers to claims, and texts of their page.

    ``experiments`` are tests and figures of experiments that have databases of their own, read from their tables.
    """

    results: Sequence[str] = ()
    claims: Sequence[Finding] = ()
    experiments: Sequence[tuple[Document, Figure]] = ()
    title: str = ""  # of the report
    heading: str = "Claims"
    caption: str = "Claims"
    introduction: str = ""  # of the page
    rule: str = ""  # paragraph below the list of claims
    closing: str = ""  # sections below the claims, in Markdown

    @property
    def readings(self) -> list[str]:
        """Return the readings with verdicts."""
        return list(
            dict.fromkeys(reading for finding in self.claims for reading in finding.verdicts)
        )


def joined(answers: Iterable[Answers]) -> Answers:
    """Return the answers of several sources, with the headings of the only source that has claims."""
    several = [source for source in answers if source != Answers()]
    if len(several) == 1:
        return several[0]
    return Answers(
        [sentence for source in several for sentence in source.results],
        [finding for source in several for finding in source.claims],
        [experiment for source in several for experiment in source.experiments],
        introduction=" ".join(filter(None, (source.introduction for source in several))),
        rule="\n\n".join(filter(None, (source.rule for source in several))),
        closing="\n\n".join(filter(None, (source.closing for source in several))),
    )


def render_findings(headline: Sequence[str], answers: Answers, links: Mapping[str, str]) -> str:
    """Render main results and answers as Markdown; only files with a link are linked to."""
    return (
        environment()
        .get_template("findings.md")
        .render(headline=headline, answers=answers, links=links)
    )
