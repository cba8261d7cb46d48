"""Answers to the claims of sources, and their page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pppca_bench.pages.document import Document, environment
from pppca_bench.pages.figure_data import Figure
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

    ``sources`` are the titles of the references whose reproduced numbers the main results count. ``experiments`` are
    tests and figures of experiments that have databases of their own, read from their tables.
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
    sources: Sequence[str] = ()

    @property
    def readings(self) -> list[str]:
        """Return the readings with verdicts."""
        readings = dict[str, None]()
        for finding in self.claims:
            readings |= dict.fromkeys(finding.verdicts)
        return list(readings)


def joined(answers: Iterable[Answers]) -> Answers:
    """Return the answers of several sources, with the headings of the only source that has claims."""
    several = [source for source in answers if source != Answers()]
    if len(several) == 1:
        return several[0]
    results, claims = list[str](), list[Finding]()
    experiments = list[tuple[Document, Figure]]()
    introductions, rules, closings = list[str](), list[str](), list[str]()
    for source in several:
        results += source.results
        claims += source.claims
        experiments += source.experiments
        introductions.append(source.introduction)
        rules.append(source.rule)
        closings.append(source.closing)
    return Answers(
        results,
        claims,
        experiments,
        introduction=" ".join(filter(None, introductions)),
        rule="\n\n".join(filter(None, rules)),
        closing="\n\n".join(filter(None, closings)),
    )


def render_findings(headline: Sequence[str], answers: Answers, links: Mapping[str, str]) -> str:
    """Render main results and answers as Markdown; only files with a link are linked to."""
    return (
        environment()
        .get_template("findings.md")
        .render(headline=headline, answers=answers, links=links)
    )
