"""The slides' claims, judged by the results."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import fmean, geometric_mean
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from pppca_bench.methods.registry import METHODS
from pppca_bench.reporting.document import SIGNED, environment, printed
from pppca_bench.reporting.figure_data import Figure
from pppca_bench.reporting.summary import Results, Summary, summarise, summarise_runs
from pppca_bench.reporting.table import Table
from pppca_bench.runs import ProblemFacts

Verdict = Literal["holds", "holds in part", "does not hold", "undecided", "not run"]

COMPARED = "permutations"
"""The config that runs every method at one threshold on all permutations, with the same classifier."""

MATTERS = 1.0
"""Difference of test errors, in points, that matters: the tolerance of the slides' numbers."""

PSEUDO = ("evolved", "dynamical")
"""Roles of the slides' methods in the claims."""

Parts = Iterator[tuple[Verdict, str]]
"""Verdicts on the parts of a claim, each with a sentence of evidence; "not run" where that only explains."""

_EXACT = 1e-6


class Finding(NamedTuple):
    """Verdict on a claim, with sentences of evidence and the tables and figures that hold the numbers.

    ``place`` is where the slides make the claim, ``conclusion`` the advice that follows, in a sentence, or "".
    """

    claim: str
    place: str
    verdict: Verdict
    evidence: tuple[str, ...]
    sources: tuple[str, ...]
    conclusion: str = ""


class Evidence(NamedTuple):
    """Results on which the claims are judged; ``claims`` has their methods by role, see `Reference.claims`."""

    results: Results
    facts: Mapping[str, ProblemFacts]
    tables: Mapping[str, Table]
    figures: Mapping[str, Figure]
    claims: Mapping[str, str]

    def title(self, role: str) -> str:
        """Return the title of the method that has a role."""
        entry = METHODS.get(self.claims.get(role, ""))
        return entry.title if entry else role

    def by_data_set(self, role: str, quantity: str = "test_error_percent") -> dict[str, float]:
        """Return a method's means in the comparison of methods, by data set; its permutations are averaged."""
        means: dict[str, list[float]] = {}
        for cell, runs in self.results.of_config(COMPARED).items():
            if cell.method == self.claims.get(role) and (mean := summarise_runs(runs).quantities.get(quantity)):
                family = self.facts[cell.problem].family if cell.problem in self.facts else cell.problem
                means.setdefault(family, []).append(mean.mean)
        return {name: fmean(values) for name, values in means.items()}

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
        """Summarise each repeat's geometric mean along a row of a table; None for fewer than two repeats."""
        cells = self.tables[table].cells.values() if table in self.tables else ()
        values = [cell.values.get(quantity, {}) for cell in cells if cell.row == row]
        repeats = set(values[0]).intersection(*values[1:]) if values else ()
        means = [geometric_mean(own[repeat] for own in values) for repeat in sorted(repeats)]
        return summarise(means) if len(means) > 1 else None

    def curves(self, figure: str) -> Iterator[tuple[str, str, pd.Series[float]]]:
        """Yield a figure's curves: title of the panel, label and means."""
        for panel in self.figures[figure].panels if figure in self.figures else ():
            yield from ((panel.title, label, curve["mean"]) for label, curve in panel.series.items())


def _cutting(evidence: Evidence) -> Parts:
    whole = evidence.by_data_set("untouched")
    for role in PSEUDO:
        sentence = f"{evidence.title(role)} against all features, at τ = 15 and before the same classifier: the error"
        sentence += " differs by {}."
        if near := evidence.by_data_set(role, "optimality_percent").values():
            sentence += (
                f" The features retain {fmean(near):.1f} % of the variance that as many exact components retain"
                f" ({min(near):.1f} % on the worst data set)."
            )
        yield from _no_worse(evidence.by_data_set(role), whole, sentence)


def _finite_resource(evidence: Evidence) -> Parts:
    errors = []
    for cell, runs in evidence.results.cells.items():
        known = evidence.facts.get(cell.problem)
        if cell.method == evidence.claims.get("evolved") and known is not None:
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
    roles = {evidence.claims.get(role) for role in PSEUDO}
    parts = []
    for table, line in (("T2", "column"), ("T3", "row")):
        cells = evidence.tables[table].cells.values() if table in evidence.tables else ()
        methods = {getattr(cell, line): cell.selector.method for cell in cells if cell.selector}
        own = [name for name, method in methods.items() if method in roles]
        for mine, other in itertools.product(own, [name for name in methods if name not in own]):
            ours, theirs = (evidence.line(table, **{line: name}) for name in (mine, other))
            compared = _no_worse(ours, theirs, f"{table}, {mine} against {other}: {{}}")
            parts += [(verdict, f"{sentence}: {verdict}.") for verdict, sentence in compared]
    if parts:
        yield (
            "not run",
            f"Each difference is our test error minus theirs. A loss of up to {MATTERS:g} point is allowed.",
        )
    yield from parts


def _speed(evidence: Evidence) -> Parts:
    """Compare speed-ups with all and with part of the data (T4 and T6), and the errors (T5 and T7)."""
    for table, errors, problem in (("T4", "T5", "cancer1"), ("T6", "T7", "horse1")):
        whole, part = f"{problem}, 100%", f"{problem}, 10%"
        names = ("speedup_operations", "speedup", "speedup_fast")
        lines = [evidence.line(table, row=row, quantity=name).values() for name in names for row in (whole, part)]
        if not (lines[0] and lines[1]):
            continue
        ratios = [geometric_mean(line) if line else math.nan for line in lines]
        own = evidence.over_repeats(table, part, "speedup_operations")
        interval = f" (95 % interval of the latter {own.low:.1f} to {own.high:.1f})" if own else ""
        yield (
            "holds" if ratios[1] > ratios[0] > 1.0 else "does not hold",
            f"{problem}, speed-up over GHA with all the data and with 10 % (geometric means over τ): in multiply-adds"
            f" {ratios[0]:.1f} and {ratios[1]:.1f}{interval}; in the time of the literal kernel {ratios[2]:.1f} and"
            f" {ratios[3]:.1f}; in the time of the fast kernel, whose cost grows with the number of nodes, not with its"
            f" square, {ratios[4]:.1f} and {ratios[5]:.1f}.",
        )
        compared = evidence.line(errors, row=part), evidence.line(errors, row=whole)
        sentence = f"{problem}, 10 % of the data against all: the error differs by {{}}."
        yield from _no_worse(*compared, sentence, "thresholds")
    sentence = "DGHA against GHA with all its nodes, at τ = 15: the error differs by {}."
    yield from _no_worse(evidence.by_data_set("dynamical"), evidence.by_data_set("hebbian"), sentence)


def _against_pca(evidence: Evidence) -> Parts:
    """Compare exact PCA with pseudo-PCA, both with the same criterion."""
    for title, difference, dimensions, times in _beside_pca(evidence):
        yield (
            "holds" if difference.low > 0.0 else "does not hold" if difference.high < MATTERS else "undecided",
            f"Exact PCA against {title}, both at τ = 15: the error differs by {difference_text(difference)}."
            f" {title} keeps {dimensions:.2f} times as many dimensions and takes {times:.0f} times as long"
            " (geometric means).",
        )


def _pca_advice(evidence: Evidence) -> str:
    """Return when exact PCA is the better tool."""
    comparisons = list(_beside_pca(evidence))
    if not comparisons or any(difference.low > 0.0 for _, difference, *_ in comparisons):
        return ""
    parts = " and ".join(
        f"{times:.0f} times as fast as {title} with {1.0 / dimensions:.2f} times as many features"
        for title, _, dimensions, times in comparisons
    )
    errors = " and ".join(printed(difference.mean, SIGNED) for _, difference, *_ in comparisons)
    return (
        f"Exact PCA is the better tool where time or few features count: under the same criterion it is {parts}, and"
        f" its test error does not differ significantly over {comparisons[0][1].n} data sets ({errors} points)."
    )


def _beside_pca(evidence: Evidence) -> Iterator[tuple[str, Summary, float, float]]:
    """Yield title, difference of errors to exact PCA, and ratios of dimensions and times of each pseudo-PCA."""
    exact = evidence.by_data_set("exact")
    for role in PSEUDO:
        if difference := paired_difference(exact, evidence.by_data_set(role)):
            ratios = []
            for quantity in ("dimensionality", "fit_time_ms"):
                ours, theirs = evidence.by_data_set(role, quantity), evidence.by_data_set("exact", quantity)
                ratios.append(geometric_mean(ours[name] / theirs[name] for name in ours if theirs.get(name, 0.0) > 0.0))
            yield evidence.title(role), difference, ratios[0], ratios[1]


def _no_worse(ours: Mapping[str, float], theirs: Mapping[str, float], sentence: str, over: str = "data sets") -> Parts:
    """Judge that our errors are no worse; the difference goes into the sentence. Nothing where too few are shared."""
    if difference := paired_difference(ours, theirs):
        yield no_worse(difference), sentence.format(difference_text(difference, over))


class Claim(NamedTuple):
    """Claim of the slides: where they make it, the tables and figures with its numbers, and how it is judged."""

    text: str
    place: str
    sources: tuple[str, ...]
    judge: Callable[[Evidence], Parts]
    advise: Callable[[Evidence], str] = lambda _: ""


CLAIMS = (
    Claim(
        "Low-informative subspaces can be cut without knowing the exact components.",
        'slides "Pseudo-PCA"',
        ("T1", "T1b", "R", "F6"),
        _cutting,
    ),
    Claim(
        "The sum of variances is a finite resource, the same for any orthogonal basis.",
        "slides, proposition before criterion (1)",
        ("R",),
        _finite_resource,
    ),
    Claim(
        "Pseudo-PCA repairs itself: the variance of removed nodes is regained by the rest.",
        'slides "Change of averaged variance of projections"',
        ("F8", "F2", "F3"),
        _self_repair,
    ),
    Claim("Fitness takes most of NE-pPCA's time.", 'slides "Future Research"', ("F1",), _time_in_fitness),
    Claim(
        "Classification accuracy does not suffer, against the Proben1 networks, GA, pruning and feature selection.",
        'slides "Comparison"',
        ("T2", "T3"),
        _accuracy,
    ),
    Claim(
        "DGHA is much faster than GHA, more so with part of the data, without loss.",
        'slides "Speed-up and Accuracy"',
        ("T4", "T5", "T6", "T7"),
        _speed,
    ),
    Claim(
        "Pseudo-PCA buys something that cheap exact PCA under the same criterion does not.",
        "a question that the slides leave",
        ("T1", "T1b", "F6"),
        _against_pca,
        _pca_advice,
    ),
)


def judge_claims(evidence: Evidence) -> list[Finding]:
    """Judge the slides' claims; a claim holds as its parts do."""
    findings = []
    for claim in CLAIMS:
        parts = list(claim.judge(evidence))
        verdict, sentences = all_of(verdict for verdict, _ in parts), tuple(sentence for _, sentence in parts)
        findings.append(Finding(claim.text, claim.place, verdict, sentences, claim.sources, claim.advise(evidence)))
    return findings


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


RIGHT_TOOL = "When is each the right tool?"


def advice_of(benchmarks: str) -> str:
    """Return the paragraph on when to use each method from the page of benchmarks; "" where there is none."""
    _, heading, rest = benchmarks.partition(f"**{RIGHT_TOOL}**")
    return rest.partition("\n\nMeasured: ")[0].strip() if heading else ""


def render_findings(findings: Sequence[Finding], links: Mapping[str, str], advice: str = "") -> str:
    """Render findings, and the advice of `advice_of`, as Markdown; tables and figures without a link are only named."""
    template = environment().get_template("findings.md")
    return template.render(findings=findings, links=links, advice=advice, right_tool=RIGHT_TOOL, matters=MATTERS)
