"""Answers to the claims that references declare as sentences."""

from __future__ import annotations

import pandas as pd

from pppca_bench.pages.findings import Finding
from pppca_bench.quantities import described, in_sentence, unitless
from pppca_bench.references.claims import Claim
from pppca_bench.references.layout import Layout
from pppca_bench.references.reference import Reference
from pppca_bench.verdicts.claims import Count, count_claim


def declared_findings(reference: Reference, numbers: pd.DataFrame) -> list[Finding]:
    """Return the answers to the claims of ``reference.yaml``, given the printed numbers of all tables."""
    layouts = {layout.id: layout for layout in reference.layouts}
    findings = []
    for claim in reference.claims:
        layout = layouts[claim.table]
        count = count_claim(claim, layout, numbers)
        answer = _answer(claim, layout, count)
        findings.append(Finding(claim.claim, claim.place, answer, sources=(layout.id,)))
    return findings


def _answer(claim: Claim, layout: Layout, count: Count) -> str:
    """Return the verdict and the counts as a sentence; "" without runs."""
    verdict = count.verdict(claim.expected)
    if not verdict:
        return ""
    lines = layout.columns if claim.by == "rows" else layout.rows
    labels = {line.key: line.label for line in lines}
    first, second = (labels[key] for key in claim.compare)
    *_, quantity = claim.cells(layout)[0]
    title = in_sentence(unitless(described(quantity).title))
    missing = f" that were run, of {count.n}" if count.n_known < count.n else ""
    return (
        f"{verdict}: {first} has {claim.count} {title} than {second} in {count.counted} of {count.n_known}"
        f" {claim.by}{missing}; the source says {claim.expected}. The 95 % intervals of the means are apart in"
        f" {count.clearly} of them, and in {count.clearly_not} of the others."
    )
