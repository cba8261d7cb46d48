"""The slides' claims, each with what the results say of it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from pppca_bench.methods.registry import METHODS
from pppca_bench.reporting.curves import Curve
from pppca_bench.reporting.figure_data import CurvePanel, Figure
from pppca_bench.reporting.finding import (
    MATTERS,
    Finding,
    Verdict,
    all_of,
    geometric_mean,
    no_worse,
    paired_difference,
    told,
)
from pppca_bench.reporting.number_text import printed
from pppca_bench.reporting.summary import Results, Summary, summarise, summarise_runs
from pppca_bench.reporting.table import Table
from pppca_bench.runs import ProblemFacts

COMPARED = "permutations"
"""The config that runs every method at one threshold on all permutations, before one classifier."""

_EXACT = 1e-6


@dataclass(frozen=True)
class Evidence:
    """Hold what findings are drawn from.

    Attributes
    ----------
    results : Results
    facts : mapping of str to ProblemFacts
    tables : mapping of str to Table
    figures : mapping of str to Figure
        By identifier.
    claims : mapping of str to str
        The methods that the claims speak of, see `Reference.claims`.
    """

    results: Results
    facts: Mapping[str, ProblemFacts]
    tables: Mapping[str, Table]
    figures: Mapping[str, Figure]
    claims: Mapping[str, str]

    def title(self, part: str) -> str:
        """Return the title of the method that plays a part in the claims."""
        entry = METHODS.get(self.claims.get(part, ""))
        return entry.title if entry else part

    def is_named(self, method: str, *parts: str) -> bool:
        """Tell whether a method plays one of some parts."""
        return method in {self.claims.get(part) for part in parts}

    def by_data_set(self, part: str, quantity: str = "test_error_percent") -> dict[str, float]:
        """Return a method's means in the comparison of methods, by data set; permutations of one are averaged."""
        found: dict[str, list[float]] = {}
        for cell, runs in self.results.of_config(COMPARED).items():
            if not self.is_named(cell.method, part):
                continue
            summary = summarise_runs(runs).quantities.get(quantity)
            if summary is not None:
                family = self.facts[cell.problem].family if cell.problem in self.facts else cell.problem
                found.setdefault(family, []).append(summary.mean)
        return {name: fmean(values) for name, values in found.items()}

    def line(
        self, table: str, *, row: str = "", column: str = "", quantity: str = "test_error_percent"
    ) -> dict[str, float]:
        """Return our means of a row of a table by its columns, or of a column by its rows."""
        cells = self.tables[table].cells.values() if table in self.tables else ()
        return {
            cell.column if row else cell.row: cell.ours[quantity].mean
            for cell in cells
            if quantity in cell.ours and (cell.row == row or cell.column == column)
        }

    def over_repeats(self, table: str, row: str, quantity: str) -> Summary | None:
        """Summarise each repeat's geometric mean along a row of a table; None of fewer than two repeats."""
        cells = self.tables[table].cells.values() if table in self.tables else ()
        values = [cell.values.get(quantity, {}) for cell in cells if cell.row == row]
        repeats = set(values[0]).intersection(*values[1:]) if values else ()
        means = [geometric_mean(one[repeat] for one in values) for repeat in sorted(repeats)]
        return summarise(means) if len(means) > 1 else None

    def beside_others(self, table: str, *, by_column: bool) -> Iterator[tuple[str, dict[str, float], dict[str, float]]]:
        """Yield each line of a table whose method the claims name, beside each other line: names and means."""
        cells = self.tables[table].cells.values() if table in self.tables else ()
        methods = {cell.column if by_column else cell.row: cell.selector.method for cell in cells if cell.selector}
        own = [line for line, method in methods.items() if self.is_named(method, "evolved", "dynamical")]
        for mine, other in itertools.product(own, [line for line in methods if line not in own]):
            means = [self.line(table, **{"column" if by_column else "row": line}) for line in (mine, other)]
            yield f"{table}, {mine} against {other}", means[0], means[1]

    def curves(self, figure: str) -> Iterator[tuple[str, Curve]]:
        """Yield a figure's curves, each with the title of its panel."""
        for panel in self.figures[figure].panels if figure in self.figures else ():
            if isinstance(panel, CurvePanel):
                yield from ((panel.title, curve) for curve in panel.curves)


def find(evidence: Evidence) -> list[Finding]:
    """Judge the slides' claims.

    Parameters
    ----------
    evidence : Evidence
        What was run.
    """
    return [
        _cutting(evidence),
        _finite_resource(evidence),
        _self_repair(evidence),
        _time_in_fitness(evidence),
        _accuracy(evidence),
        _speed(evidence),
        _beside_pca(evidence),
    ]


def _cutting(evidence: Evidence) -> Finding:
    """Cut features cost no accuracy, and what is kept is near to what exact components keep."""
    whole, verdicts, sentences = evidence.by_data_set("untouched"), list[Verdict](), list[str]()
    for part in ("evolved", "dynamical"):
        difference = paired_difference(evidence.by_data_set(part), whole)
        verdicts.append(no_worse(difference))
        near = evidence.by_data_set(part, "optimality_percent")
        if difference:
            sentences.append(
                f"{evidence.title(part)} against all features, at τ = 15 and before the same classifier: the error"
                f" differs by {told(difference)}."
            )
        if difference and near:
            sentences[-1] += (
                f" The features retain {fmean(near.values()):.1f} % of the variance that as many exact components"
                f" retain ({min(near.values()):.1f} % on the worst data set)."
            )
    return Finding(
        "Low-informative subspaces can be cut without knowing the exact components.",
        'slides "Pseudo-PCA"',
        all_of(verdicts),
        tuple(sentences),
        ("T1", "T1b", "R", "F6"),
    )


def _finite_resource(evidence: Evidence) -> Finding:
    """Any complete orthonormal basis holds the whole variance."""
    errors = []
    for cell, runs in evidence.results.cells.items():
        known = evidence.facts.get(cell.problem)
        if evidence.is_named(cell.method, "evolved") and known is not None:
            values = [result.values for _, result in runs if result is not None]
            errors += [
                abs(one["retained_variance_percent"] - 100.0)
                for one in values
                if one.get("dimensionality") == known.n_features and "retained_variance_percent" in one
            ]
    verdict: Verdict = "not run" if not errors else "holds" if max(errors) < _EXACT else "does not hold"
    evidence_text = (
        f"In {len(errors)} runs NE-pPCA kept as many orthonormal nodes as there are features. The share of the variance"
        f" that they retain differs from 100 % by {max(errors):.1g} points at most."
        if errors
        else ""
    )
    return Finding(
        "The sum of variances is a finite resource, the same for any orthogonal basis.",
        "slides, proposition before criterion (1)",
        verdict,
        tuple(filter(None, [evidence_text])),
        ("R",),
    )


def _self_repair(evidence: Evidence) -> Finding:
    """Optimality falls by removals; what is regained by the end?"""
    regained: dict[str, list[float]] = {}
    for panel, curve in evidence.curves("F8"):
        least, last = float(curve.mean.min()), float(curve.mean[-1])
        if least < 1.0 - _EXACT:
            regained.setdefault(panel.partition(") ")[2].partition(",")[0], []).append((last - least) / (1.0 - least))
    verdicts: list[Verdict] = []
    sentences = []
    for method, shares in regained.items():
        half, mean = sum(share >= 0.5 for share in shares), summarise(shares)
        low, average, high = (printed(100.0 * share, ".0f") for share in (mean.low, mean.mean, mean.high))
        interval = f" (95 % interval {low} to {high} %)" if len(shares) > 1 else ""
        verdicts.append("holds" if half == len(shares) else "holds in part" if half else "does not hold")
        sentences.append(
            f"{method}: removals lower the optimality. By the end, {average} % of the largest loss is regained on"
            f" average{interval}, and at least half of it on {half} of {len(shares)} problems."
        )
    return Finding(
        "Pseudo-PCA repairs itself: the variance of removed nodes is regained by the rest.",
        'slides "Change of averaged variance of projections"',
        all_of(verdicts),
        tuple(sentences),
        ("F8", "F2", "F3"),
    )


def _time_in_fitness(evidence: Evidence) -> Finding:
    """Count multiply-adds of the slides' literal algorithm along the measured dimensionalities."""
    published = (75.0, 80.0)
    shares = {}
    for _, curve in evidence.curves("F1"):
        known = evidence.facts.get(curve.label)
        if known is not None:
            nodes = np.asarray(curve.mean, dtype=np.float64)
            responses = (known.n_train * nodes * (known.n_features + 1)).sum()
            gram_schmidt = (nodes**2 * known.n_features).sum()
            breeding = (4.0 * nodes * known.n_features).sum()
            shares[curve.label] = 100.0 * responses / (responses + gram_schmidt + breeding)
    verdict: Verdict = "not run"
    sentences = list[str]()
    if shares:
        least, most = min(shares.values()), max(shares.values())
        verdict = "holds" if least >= published[0] else "does not hold"
        sentences.append(
            "Multiply-adds are counted along the measured dimensionalities (τ = 10). The responses of all samples and"
            f" their variances take {_span(least, most)} %; Gram–Schmidt, crossing and mutation take the rest. The"
            f" slides say {published[0]:.0f} to {published[1]:.0f} %. This program computes the variances from the"
            " covariance matrix, so that its own cost does not depend on the number of samples. The benchmarks time"
            " this share in NumPy (results/benchmarks.md)."
        )
    return Finding(
        "Fitness takes most of NE-pPCA's time.",
        'slides "Future Research"',
        verdict,
        tuple(sentences),
        ("F1",),
    )


def _span(least: float, most: float) -> str:
    """Write a range of whole numbers, or the one number that both ends round to."""
    ends = dict.fromkeys(f"{end:.0f}" for end in (least, most))
    return " to ".join(ends)


def _accuracy(evidence: Evidence) -> Finding:
    """NE-pPCA beside the other systems of T2, both of ours beside the selections of T3."""
    pairs = [*evidence.beside_others("T2", by_column=True), *evidence.beside_others("T3", by_column=False)]
    verdicts, sentences = list[Verdict](), list[str]()
    for name, ours, theirs in pairs:
        difference = paired_difference(ours, theirs)
        verdicts.append(no_worse(difference))
        if difference:
            sentences.append(f"{name}: {told(difference)}: {verdicts[-1]}.")
    introduction = f"Each difference is our test error minus theirs. A loss of up to {MATTERS:g} point is allowed."
    return Finding(
        "Classification accuracy does not suffer, against the Proben1 networks, GA, pruning and feature selection.",
        'slides "Comparison"',
        all_of(verdicts),
        (introduction, *sentences) if sentences else (),
        ("T2", "T3"),
    )


def _speed(evidence: Evidence) -> Finding:
    """Speed-ups of T4 and T6, and the errors of T5 and T7 with part of the data."""
    sentences, verdicts = list[str](), list[Verdict]()
    for table, errors, problem in (("T4", "T5", "cancer1"), ("T6", "T7", "horse1")):
        whole, part = (
            {
                q: geometric_mean(evidence.line(table, row=f"{problem}, {r}%", quantity=q).values())
                for q in ("speedup", "speedup_operations", "speedup_fast")
            }
            for r in (100, 10)
        )
        if math.isnan(part["speedup_operations"]) or math.isnan(whole["speedup_operations"]):
            continue
        verdicts.append("holds" if part["speedup_operations"] > whole["speedup_operations"] > 1.0 else "does not hold")
        sentences.append(
            f"{problem}, speed-up over GHA with all the data and with 10 % (geometric means over τ): in multiply-adds"
            f" {whole['speedup_operations']:.1f} and {part['speedup_operations']:.1f}"
            f"{_interval(evidence, table, f'{problem}, 10%')}; in the time of the literal kernel"
            f" {whole['speedup']:.1f} and {part['speedup']:.1f}; in the time of the fast kernel, whose cost grows with"
            f" the number of nodes, not with its square, {whole['speedup_fast']:.1f} and {part['speedup_fast']:.1f}."
        )
        difference = paired_difference(
            evidence.line(errors, row=f"{problem}, 10%"), evidence.line(errors, row=f"{problem}, 100%")
        )
        verdicts.append(no_worse(difference))
        if difference:
            sentences.append(
                f"{problem}, 10 % of the data against all: the error differs by {told(difference, 'thresholds')}."
            )
    loss = paired_difference(evidence.by_data_set("dynamical"), evidence.by_data_set("hebbian"))
    verdicts.append(no_worse(loss))
    if loss:
        sentences.append(f"DGHA against GHA with all its nodes, at τ = 15: the error differs by {told(loss)}.")
    return Finding(
        "DGHA is much faster than GHA, more so with part of the data, without loss.",
        'slides "Speed-up and Accuracy"',
        all_of(verdicts),
        tuple(sentences),
        ("T4", "T5", "T6", "T7"),
    )


def _interval(evidence: Evidence, table: str, row: str) -> str:
    found = evidence.over_repeats(table, row, "speedup_operations")
    return f" (95 % interval of the latter {found.low:.1f} to {found.high:.1f})" if found else ""


def _beside_pca(evidence: Evidence) -> Finding:
    """What pseudo-PCA buys beside exact PCA under the same criterion."""
    exact, sizes = evidence.by_data_set("exact"), evidence.by_data_set("exact", "dimensionality")
    time = evidence.by_data_set("exact", "fit_time_ms")
    sentences, verdicts = list[str](), list[Verdict]()
    for part in ("evolved", "dynamical"):
        difference = paired_difference(exact, evidence.by_data_set(part))
        if difference is None:
            continue
        verdicts.append(
            "holds" if difference.low > 0.0 else "does not hold" if difference.high < MATTERS else "undecided"
        )
        ratio = _ratio(evidence.by_data_set(part, "dimensionality"), sizes)
        slower = _ratio(evidence.by_data_set(part, "fit_time_ms"), time)
        sentences.append(
            f"Exact PCA against {evidence.title(part)}, both at τ = 15: the error differs by {told(difference)}."
            f" {evidence.title(part)} keeps {ratio:.2f} times as many dimensions and takes {slower:.0f} times as long"
            " (geometric means)."
        )
    return Finding(
        "Pseudo-PCA buys something that cheap exact PCA under the same criterion does not.",
        "a question that the slides leave",
        all_of(verdicts),
        tuple(sentences),
        ("T1", "T1b", "F6"),
    )


def _ratio(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    return geometric_mean(one[name] / other[name] for name in one if other.get(name, 0.0) > 0.0)


RIGHT_TOOL = "When is each the right tool?"


def advice_of(benchmarks: str) -> str:
    """Return what the page of the benchmarks says of when each method is the right tool; "" where it says nothing."""
    _, heading, rest = benchmarks.partition(f"**{RIGHT_TOOL}**")
    return rest.partition("\n\nMeasured: ")[0].strip() if heading else ""


def render_findings(findings: Sequence[Finding], links: Mapping[str, str], advice: str = "") -> str:
    """Render findings as Markdown.

    Parameters
    ----------
    findings : sequence of Finding
    links : mapping of str to str
        Where the page finds each table and figure, by identifier; one without is named only.
    advice : str, default ""
        See `advice_of`.
    """
    rows = [f"| {number} | {one.claim} | **{one.verdict}** |" for number, one in enumerate(findings, 1)]
    parts = [
        "# What holds",
        "The slides' claims, and what the results say of each. `pppca render` writes this page; no number is typed."
        " A claim about errors is judged by the 95 % interval of the mean difference, over data sets or thresholds:"
        f" it holds if the interval ends below {MATTERS:g} point, does not hold if it begins above, and is undecided"
        " otherwise.",
        "\n".join(["| | claim | verdict |", "|---|---|---|", *rows]),
    ]
    for number, one in enumerate(findings, 1):
        where = ", ".join(f"[{name}]({links[name]})" if name in links else name for name in one.sources)
        parts.append(f"## {number}. {one.claim}\n\n**{one.verdict.capitalize()}.** Source: {one.place}.")
        parts.append(
            "\n".join(f"- {sentence}" for sentence in one.evidence)
            or "What this claim needs was not run, or not all of it."
        )
        parts.append(f"Numbers: {where}.")
    if advice:
        parts.append(f"## {RIGHT_TOOL}\n\n{advice}\n\nNumbers: results/benchmarks.md.")
    return "\n\n".join(parts) + "\n"
