"""The slides' claims, judged by the results."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

import numpy as np
import pandas as pd

from pppca_bench.methods.registry import METHODS
from pppca_bench.reporting.figure_data import Figure
from pppca_bench.reporting.number_text import SIGNED, printed
from pppca_bench.reporting.summary import Results, Summary, summarise, summarise_runs
from pppca_bench.reporting.table import Table, TableCell
from pppca_bench.runs import ProblemFacts

Verdict = Literal["holds", "holds in part", "does not hold", "undecided", "not run"]

COMPARED = "permutations"
"""The config that runs every method at one threshold on all permutations, with the same classifier."""

MATTERS = 1.0
"""Difference of test errors, in points, that matters: the tolerance of the slides' numbers."""

_EXACT = 1e-6


@dataclass(frozen=True, slots=True)
class Finding:
    """Verdict on a claim.

    Attributes
    ----------
    claim, place : str
        The claim, and where the slides make it.
    verdict : str
    evidence : tuple of str
        Sentences with the measured numbers.
    sources : tuple of str
        Tables and figures that hold them.
    conclusion : str
        Advice that follows from the evidence, in a sentence; "" if there is none.
    """

    claim: str
    place: str
    verdict: Verdict
    evidence: tuple[str, ...]
    sources: tuple[str, ...]
    conclusion: str = ""


@dataclass(frozen=True)
class Evidence:
    """Results on which the claims are judged.

    Attributes
    ----------
    results : Results
    facts : mapping of str to ProblemFacts
    tables : mapping of str to Table
    figures : mapping of str to Figure
        By identifier.
    claims : mapping of str to str
        The methods that the claims refer to, see `Reference.claims`.
    """

    results: Results
    facts: Mapping[str, ProblemFacts]
    tables: Mapping[str, Table]
    figures: Mapping[str, Figure]
    claims: Mapping[str, str]

    def title(self, part: str) -> str:
        """Return the title of the method that plays a part."""
        entry = METHODS.get(self.claims.get(part, ""))
        return entry.title if entry else part

    def plays(self, method: str, *parts: str) -> bool:
        """Return whether a method plays any of the parts."""
        return method in {self.claims.get(part) for part in parts}

    def by_data_set(self, part: str, quantity: str = "test_error_percent") -> dict[str, float]:
        """Return a method's means in the comparison of methods, by data set; its permutations are averaged."""
        means: dict[str, list[float]] = {}
        for cell, runs in self.results.of_config(COMPARED).items():
            if self.plays(cell.method, part) and (summary := summarise_runs(runs).quantities.get(quantity)):
                family = self.facts[cell.problem].family if cell.problem in self.facts else cell.problem
                means.setdefault(family, []).append(summary.mean)
        return {name: fmean(values) for name, values in means.items()}

    def line(
        self, table: str, *, row: str = "", column: str = "", quantity: str = "test_error_percent"
    ) -> dict[str, float]:
        """Return our means of a row of a table by its columns, or of a column by its rows."""
        return {
            cell.column if row else cell.row: cell.ours[quantity].mean
            for cell in self._cells(table)
            if quantity in cell.ours and (cell.row == row or cell.column == column)
        }

    def over_repeats(self, table: str, row: str, quantity: str) -> Summary | None:
        """Summarise each repeat's geometric mean along a row of a table; None for fewer than two repeats."""
        values = [cell.values.get(quantity, {}) for cell in self._cells(table) if cell.row == row]
        repeats = set(values[0]).intersection(*values[1:]) if values else ()
        means = [geometric_mean(own[repeat] for own in values) for repeat in sorted(repeats)]
        return summarise(means) if len(means) > 1 else None

    def against_others(
        self, table: str, *, by_column: bool
    ) -> Iterator[tuple[str, dict[str, float], dict[str, float]]]:
        """Yield each line of a table whose method the claims name, with each other line: names and means."""
        cells = self._cells(table)
        methods = {cell.column if by_column else cell.row: cell.selector.method for cell in cells if cell.selector}
        own = [line for line, method in methods.items() if self.plays(method, "evolved", "dynamical")]
        for mine, other in itertools.product(own, [line for line in methods if line not in own]):
            means = [self.line(table, **{"column" if by_column else "row": line}) for line in (mine, other)]
            yield f"{table}, {mine} against {other}", means[0], means[1]

    def curves(self, figure: str) -> Iterator[tuple[str, str, pd.Series[float]]]:
        """Yield a figure's curves: title of the panel, label and means."""
        for panel in self.figures[figure].panels if figure in self.figures else ():
            yield from ((panel.title, label, curve["mean"]) for label, curve in panel.series.items())

    def _cells(self, table: str) -> Sequence[TableCell]:
        return list(self.tables[table].cells.values()) if table in self.tables else []


def judge_claims(evidence: Evidence) -> list[Finding]:
    """Judge the slides' claims; a claim holds as its parts do."""
    findings = []
    for claim, place, judge, sources in _CLAIMS:
        parts = list(judge(evidence))
        verdict = all_of([verdict for verdict, _ in parts])
        conclusion = _pca_advice(evidence) if judge is _against_pca else ""
        findings.append(Finding(claim, place, verdict, tuple(sentence for _, sentence in parts), sources, conclusion))
    return findings


Parts = Iterator[tuple[Verdict, str]]
"""Verdicts on the parts of a claim, each with a sentence of evidence."""


def _cutting(evidence: Evidence) -> Parts:
    whole = evidence.by_data_set("untouched")
    for part in ("evolved", "dynamical"):
        if difference := paired_difference(evidence.by_data_set(part), whole):
            sentence = (
                f"{evidence.title(part)} against all features, at τ = 15 and before the same classifier: the error"
                f" differs by {difference_text(difference)}."
            )
            if near := evidence.by_data_set(part, "optimality_percent").values():
                sentence += (
                    f" The features retain {fmean(near):.1f} % of the variance that as many exact components retain"
                    f" ({min(near):.1f} % on the worst data set)."
                )
            yield no_worse(difference), sentence


def _finite_resource(evidence: Evidence) -> Parts:
    errors = []
    for cell, runs in evidence.results.cells.items():
        known = evidence.facts.get(cell.problem)
        if evidence.plays(cell.method, "evolved") and known is not None:
            kept, retained = (runs.of_done(name) for name in ("dimensionality", "retained_variance_percent"))
            errors += [abs(retained[n] - 100.0) for n in retained if kept.get(n) == known.n_features]
    if errors:
        yield (
            "holds" if max(errors) < _EXACT else "does not hold",
            f"In {len(errors)} runs NE-pPCA kept as many orthonormal nodes as there are features. The share of the"
            f" variance that they retain differs from 100 % by {max(errors):.1g} points at most.",
        )


def _self_repair(evidence: Evidence) -> Parts:
    """Compare the optimality at the end with its least value, after removals."""
    regained: dict[str, list[float]] = {}
    for panel, _, means in evidence.curves("F8"):
        least, last = float(means.min()), float(means.iloc[-1])
        if least < 1.0 - _EXACT:
            method = panel.partition(") ")[2].partition(",")[0]
            regained.setdefault(method, []).append((last - least) / (1.0 - least))
    for method, shares in regained.items():
        half, mean = sum(share >= 0.5 for share in shares), summarise(shares)
        low, average, high = (printed(100.0 * share, ".0f") for share in (mean.low, mean.mean, mean.high))
        interval = f" (95 % interval {low} to {high} %)" if len(shares) > 1 else ""
        yield (
            "holds" if half == len(shares) else "holds in part" if half else "does not hold",
            f"{method}: removals lower the optimality. By the end, {average} % of the largest loss is regained on"
            f" average{interval}, and at least half of it on {half} of {len(shares)} problems.",
        )


def _time_in_fitness(evidence: Evidence) -> Parts:
    """Count multiply-adds of the slides' literal algorithm along the measured dimensionalities."""
    published = (75.0, 80.0)
    shares = []
    for _, problem, means in evidence.curves("F1"):
        if (known := evidence.facts.get(problem)) is not None:
            nodes = means.to_numpy(dtype=np.float64)
            responses = (known.n_train * nodes * (known.n_features + 1)).sum()
            gram_schmidt = (nodes**2 * known.n_features).sum()
            breeding = (4.0 * nodes * known.n_features).sum()
            shares.append(100.0 * responses / (responses + gram_schmidt + breeding))
    if shares:
        ends = dict.fromkeys(f"{end:.0f}" for end in (min(shares), max(shares)))
        yield (
            "holds" if min(shares) >= published[0] else "does not hold",
            "Multiply-adds are counted along the measured dimensionalities (τ = 10). The responses of all samples and"
            f" their variances take {' to '.join(ends)} %; Gram–Schmidt, crossing and mutation take the rest. The"
            f" slides say {published[0]:.0f} to {published[1]:.0f} %. This program computes the variances from the"
            " covariance matrix, so that its own cost does not depend on the number of samples. The benchmarks time"
            " this share in NumPy (results/benchmarks.md).",
        )


def _accuracy(evidence: Evidence) -> Parts:
    """Compare NE-pPCA with the other systems of T2, and NE-pPCA and DGHA with the selections of T3."""
    pairs = [*evidence.against_others("T2", by_column=True), *evidence.against_others("T3", by_column=False)]
    compared = [(name, difference) for name, *errors in pairs if (difference := paired_difference(*errors))]
    if compared:
        yield (
            "not run",
            f"Each difference is our test error minus theirs. A loss of up to {MATTERS:g} point is allowed.",
        )
    for name, difference in compared:
        verdict = no_worse(difference)
        yield verdict, f"{name}: {difference_text(difference)}: {verdict}."


def _speed(evidence: Evidence) -> Parts:
    """Compare speed-ups with all and with part of the data (T4 and T6), and the errors (T5 and T7)."""
    names = ("speedup", "speedup_operations", "speedup_fast")
    for table, errors, problem in (("T4", "T5", "cancer1"), ("T6", "T7", "horse1")):
        rows = f"{problem}, 100%", f"{problem}, 10%"
        whole, part = (
            {name: geometric_mean(evidence.line(table, row=row, quantity=name).values()) for name in names}
            for row in rows
        )
        if math.isnan(part["speedup_operations"]) or math.isnan(whole["speedup_operations"]):
            continue
        own = evidence.over_repeats(table, rows[1], "speedup_operations")
        interval = f" (95 % interval of the latter {own.low:.1f} to {own.high:.1f})" if own else ""
        yield (
            "holds" if part["speedup_operations"] > whole["speedup_operations"] > 1.0 else "does not hold",
            f"{problem}, speed-up over GHA with all the data and with 10 % (geometric means over τ): in multiply-adds"
            f" {whole['speedup_operations']:.1f} and {part['speedup_operations']:.1f}{interval}; in the time of the"
            f" literal kernel {whole['speedup']:.1f} and {part['speedup']:.1f}; in the time of the fast kernel, whose"
            " cost grows with the number of nodes, not with its square,"
            f" {whole['speedup_fast']:.1f} and {part['speedup_fast']:.1f}.",
        )
        if difference := paired_difference(*(evidence.line(errors, row=row) for row in reversed(rows))):
            text = difference_text(difference, "thresholds")
            yield no_worse(difference), f"{problem}, 10 % of the data against all: the error differs by {text}."
    if loss := paired_difference(evidence.by_data_set("dynamical"), evidence.by_data_set("hebbian")):
        yield (
            no_worse(loss),
            f"DGHA against GHA with all its nodes, at τ = 15: the error differs by {difference_text(loss)}.",
        )


def _against_pca(evidence: Evidence) -> Parts:
    """Compare exact PCA with pseudo-PCA, both with the same criterion."""
    for title, difference, dimensions, times in _pca_comparisons(evidence):
        yield (
            "holds" if difference.low > 0.0 else "does not hold" if difference.high < MATTERS else "undecided",
            f"Exact PCA against {title}, both at τ = 15: the error differs by {difference_text(difference)}."
            f" {title} keeps {dimensions:.2f} times as many dimensions and takes {times:.0f} times as long"
            " (geometric means).",
        )


def _pca_comparisons(evidence: Evidence) -> Iterator[tuple[str, Summary, float, float]]:
    """Yield title, difference of errors to exact PCA, and ratios of dimensions and times of each pseudo-PCA."""
    exact = evidence.by_data_set("exact")
    for part in ("evolved", "dynamical"):
        difference = paired_difference(exact, evidence.by_data_set(part))
        if not difference:
            continue
        ratios = []
        for quantity in ("dimensionality", "fit_time_ms"):
            ours, theirs = evidence.by_data_set(part, quantity), evidence.by_data_set("exact", quantity)
            ratios.append(geometric_mean(ours[name] / theirs[name] for name in ours if theirs.get(name, 0.0) > 0.0))
        yield evidence.title(part), difference, ratios[0], ratios[1]


def _pca_advice(evidence: Evidence) -> str:
    """Return when exact PCA is the better tool."""
    comparisons = list(_pca_comparisons(evidence))
    if not comparisons or any(difference.low > 0.0 for _, difference, *_ in comparisons):
        return ""
    parts = [
        f"{times:.0f} times as fast as {title} with {1.0 / dimensions:.2f} times as many features"
        for title, _, dimensions, times in comparisons
    ]
    errors = " and ".join(printed(difference.mean, SIGNED) for _, difference, *_ in comparisons)
    n = comparisons[0][1].n
    return (
        "Exact PCA is the better tool where time or few features count: under the same criterion it is"
        f" {' and '.join(parts)}, and its test error does not differ significantly over {n} data sets"
        f" ({errors} points)."
    )


_CLAIMS: tuple[tuple[str, str, Callable[[Evidence], Parts], tuple[str, ...]], ...] = (
    (
        "Low-informative subspaces can be cut without knowing the exact components.",
        'slides "Pseudo-PCA"',
        _cutting,
        ("T1", "T1b", "R", "F6"),
    ),
    (
        "The sum of variances is a finite resource, the same for any orthogonal basis.",
        "slides, proposition before criterion (1)",
        _finite_resource,
        ("R",),
    ),
    (
        "Pseudo-PCA repairs itself: the variance of removed nodes is regained by the rest.",
        'slides "Change of averaged variance of projections"',
        _self_repair,
        ("F8", "F2", "F3"),
    ),
    ("Fitness takes most of NE-pPCA's time.", 'slides "Future Research"', _time_in_fitness, ("F1",)),
    (
        "Classification accuracy does not suffer, against the Proben1 networks, GA, pruning and feature selection.",
        'slides "Comparison"',
        _accuracy,
        ("T2", "T3"),
    ),
    (
        "DGHA is much faster than GHA, more so with part of the data, without loss.",
        'slides "Speed-up and Accuracy"',
        _speed,
        ("T4", "T5", "T6", "T7"),
    ),
    (
        "Pseudo-PCA buys something that cheap exact PCA under the same criterion does not.",
        "a question that the slides leave",
        _against_pca,
        ("T1", "T1b", "F6"),
    ),
)
"""Each claim with its place, the function that judges it, and its sources."""


def paired_difference(one: Mapping[str, float], other: Mapping[str, float]) -> Summary | None:
    """Summarise one − other over the keys that both have; None where they share fewer than two."""
    shared = [name for name in one if name in other]
    return summarise([one[name] - other[name] for name in shared]) if len(shared) > 1 else None


def no_worse(difference: Summary) -> Verdict:
    """Judge that an error is higher by `MATTERS` at most, by the 95 % interval of the mean difference."""
    if difference.high <= MATTERS:
        return "holds"
    return "does not hold" if difference.low > MATTERS else "undecided"


def all_of(verdicts: Iterable[Verdict]) -> Verdict:
    """Join the verdicts on the parts of a claim; those of parts that were not run are left out."""
    kinds = set(verdicts) - {"not run"}
    if len(kinds) <= 1:
        return next(iter(kinds), "not run")
    if "holds" in kinds or "holds in part" in kinds:
        return "holds in part"
    return "does not hold" if "does not hold" in kinds else "undecided"


def difference_text(difference: Summary, over: str = "data sets") -> str:
    """Return a mean difference in points with its interval and the number of values behind it."""
    low, mean, high = (printed(value, SIGNED) for value in (difference.low, difference.mean, difference.high))
    return f"{mean} points (95 % interval {low} to {high}, {difference.n} {over})"


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean of positive numbers; nan for none."""
    logarithms = [math.log(value) for value in values]
    return math.exp(math.fsum(logarithms) / len(logarithms)) if logarithms else math.nan


RIGHT_TOOL = "When is each the right tool?"


def advice_of(benchmarks: str) -> str:
    """Return the paragraph on when to use each method from the page of benchmarks; "" where there is none."""
    _, heading, rest = benchmarks.partition(f"**{RIGHT_TOOL}**")
    return rest.partition("\n\nMeasured: ")[0].strip() if heading else ""


def render_findings(findings: Sequence[Finding], links: Mapping[str, str], advice: str = "") -> str:
    """Render findings as Markdown.

    Parameters
    ----------
    findings : sequence of Finding
    links : mapping of str to str
        Links to tables and figures, by identifier; others are only named.
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
        sources = ", ".join(f"[{name}]({links[name]})" if name in links else name for name in one.sources)
        parts += [
            f"## {number}. {one.claim}\n\n**{one.verdict.capitalize()}.** Source: {one.place}.",
            "\n".join(f"- {sentence}" for sentence in one.evidence)
            or "What this claim needs was not run, or not all of it.",
            f"Numbers: {sources}.",
        ]
    if advice:
        parts.append(f"## {RIGHT_TOOL}\n\n{advice}\n\nNumbers: results/benchmarks.md.")
    return "\n\n".join(parts) + "\n"
