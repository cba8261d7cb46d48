"""Answers to the claims of sources, and their page."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pppca_bench.pages.document import Document, environment
from pppca_bench.pages.figure_data import Figure
from pppca_bench.runs import Names


class Finding(NamedTuple):
    """Answer to a claim, and the evidence."""

    claim: str
    place: str  # where the source makes the claim
    answer: str = ""  # a sentence with counts; "" without runs
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


def joined(answers: Iterable[Answers]) -> Answers:
    """Return the answers of several sources, with the headings of the only source that has claims."""
    several = [source for source in answers if source != Answers()]
    if len(several) == 1:
        return several[0]
    results, claims = list[str](), list[Finding]()
    experiments = list[tuple[Document, Figure]]()
    introductions, rules, closings = list[str](), list[str](), list[str]()
    sources = list[str]()
    for source in several:
        results += source.results
        claims += source.claims
        experiments += source.experiments
        introductions.append(source.introduction)
        rules.append(source.rule)
        closings.append(source.closing)
        sources += source.sources
    return Answers(
        results,
        claims,
        experiments,
        introduction=" ".join(filter(None, introductions)),
        rule="\n\n".join(filter(None, rules)),
        closing="\n\n".join(filter(None, closings)),
        sources=sources,
    )


def render_list(sentences: Iterable[str], width: int = 120) -> str:
    """Return sentences as a list in Markdown, in lines of at most ``width`` characters."""
    items = []
    for sentence in sentences:
        lines = textwrap.wrap(
            f"- {sentence}",
            width,
            subsequent_indent="  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        items.append("\n".join(lines))
    return "\n".join(items)


def render_findings(headline: Sequence[str], answers: Answers, links: Mapping[str, str]) -> str:
    """Render main results and answers as Markdown; only files with a link are linked to."""
    return (
        environment()
        .get_template("findings.md")
        .render(headline=headline, answers=answers, links=links)
    )
