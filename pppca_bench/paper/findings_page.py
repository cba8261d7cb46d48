"""Page of findings: main results, answers to the claims, and advice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pppca_bench.reporting.document import Answers, environment

RIGHT_TOOL = "When is each the right tool?"


def advice_of(benchmarks: str) -> str:
    """Return the paragraph on when to use each method from the page of benchmarks; "" if the page lacks it."""
    *_, rest = benchmarks.partition(f"**{RIGHT_TOOL}**")
    return rest.partition("\n\n")[0].strip()


def render_findings(headline: Sequence[str], answers: Answers, links: Mapping[str, str], advice: str = "") -> str:
    """Render main results, answers and the advice of `advice_of` as Markdown; only files with a link are linked to."""
    template = environment().get_template("findings.md")
    return template.render(
        headline=headline, findings=answers.claims, links=links, advice=advice, right_tool=RIGHT_TOOL
    )
