"""Answers to the slides' claims in two readings: as written, and with fitted settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from statistics import fmean, geometric_mean
from typing import Any, NamedTuple

from pppca_bench.pages.document import join_words
from pppca_bench.pages.figure_data import Figure
from pppca_bench.pages.findings import Answers, Finding
from pppca_bench.pages.snapshot import Snapshot
from pppca_bench.paper.evidence import (
    READINGS,
    ClaimReading,
    Evidence,
    read_comparisons,
    read_experiment,
)
from pppca_bench.paper.experiment import experiments
from pppca_bench.paper.losses import ClaimVerdict, LossComparison, losses, tested_losses
from pppca_bench.paper.texts import read, rendered
from pppca_bench.quantities import DECIMALS
from pppca_bench.references.selection import Text, Texts
from pppca_bench.results.statistics import holm, summarise
from pppca_bench.runs import grouped
from pppca_bench.verdicts.pairs import ALPHA
from pppca_bench.yaml_files.section import Section

_ROUNDING = 1e-6


class Claim(Section):
    """Claim: its text, its place in the source, and how it is answered; see claims.yaml."""

    id: Text
    short: Text  # template of the claim in a list of claims
    claim: Text
    place: Text
    basis: dict[Text, Text]  # estimand, data and test
    sources: Texts
    answer: Text  # template
    evidence: Text  # template of sentences, a paragraph each
    counted: bool = True  # false for an identity


class _ClaimsFile(Section):
    """Content of claims.yaml: texts of the page by name (see `Answers`), main results, and the claims."""

    page: dict[Text, Text]
    experiment: Text  # whose comparisons answer the claims
    main: Text  # template
    claims: tuple[Claim, ...]


class Answer(NamedTuple):
    """Verdicts on the parts of a claim in a reading, and the numbers of its texts."""

    verdicts: Sequence[ClaimVerdict] = ()
    numbers: Mapping[str, Any] = {}


Judge = Callable[[Evidence, ClaimReading], Answer]


@cache
def _claims_file() -> _ClaimsFile:
    return _ClaimsFile.read(read("claims.yaml"))


def claims(snapshot: Snapshot, figures: Sequence[Figure]) -> Answers:
    """Answer the slides' claims by the tables of a snapshot, its figures, and the tables of an experiment.

    Without the experiment's tables in the folder of the results, claims that need them are not run.
    """
    drawn = {figure.figure: figure for figure in figures}
    roles = {
        reading: by_role
        for reference in snapshot.references
        for reading, by_role in reference.claims.items()
    }
    newest_first = [
        (experiment, snapshot.folder / experiment.configs[0] / "tables")
        for experiment in reversed(experiments())
    ]
    answering = next(own for own in newest_first if own[0].id == _claims_file().experiment)
    compared = read_comparisons(*answering)
    evidence = Evidence(snapshot.runs, snapshot.facts, snapshot.numbers, drawn, roles, compared)
    judged, advice = judge_claims(evidence), advice_of(snapshot.folder / "benchmarks.md")
    findings = [finding for finding, _ in judged.values()]
    read = [read_experiment(*own) for own in newest_first]
    return Answers(
        main_results(evidence, judged),
        findings,
        [item for item in read if item],
        closing=advice,
        **_claims_file().page,
    )


_RIGHT_TOOL = "When is each the right tool?"


def advice_of(benchmarks: Path) -> str:
    """Return the section on when to use each method from the page of benchmarks; "" if the page lacks it."""
    text = benchmarks.read_text(encoding="utf-8") if benchmarks.is_file() else ""
    advice = text.partition(f"**{_RIGHT_TOOL}**")[2].partition("\n\n")[0].strip()
    return f"## {_RIGHT_TOOL}\n\n{advice}\n\nNumbers: results/benchmarks.md." if advice else ""


Judged = Mapping[str, tuple[Finding, str]]
"""Answer to each claim by its id, and the claim in a list of claims; "" if it was not run."""


def judge_claims(evidence: Evidence) -> Judged:
    """Answer the claims, each in both readings; a claim without the runs that it needs is "not run"."""
    judged = dict[str, tuple[Finding, str]]()
    for claim in _claims_file().claims:
        answers = {reading: JUDGES[claim.id](evidence, reading) for reading in READINGS}
        verdicts: dict[str, ClaimVerdict] = {
            reading: overall_verdict(outcome.verdicts) for reading, outcome in answers.items()
        }
        (written, fitted), (verdict, with_fitted) = answers.values(), verdicts.values()
        word = _WORDS[verdict]
        word += f" (with fitted settings: {with_fitted})" if with_fitted != verdict else ""
        numbers = {"verdict": word, "written": written.numbers, "fitted": fitted.numbers}
        is_run = "not run" not in verdicts.values()
        answer, short = (
            " ".join(rendered(template, numbers)) if is_run else ""
            for template in (claim.answer, claim.short)
        )
        by_reading = {f"{reading.capitalize()}: ": outcome for reading, outcome in answers.items()}
        sentences = [
            f"{start}{text}"
            for start, outcome in ({"": written} if written == fitted else by_reading).items()
            if outcome.verdicts
            for text in rendered(claim.evidence, outcome.numbers)
        ]
        finding = Finding(
            claim.claim,
            claim.place,
            answer or "Not run.",
            verdicts,
            tuple(claim.basis.items()),
            tuple(sentences),
            claim.sources,
        )
        judged[claim.id] = finding, short
    return judged


_WORDS: Mapping[ClaimVerdict, str] = {
    "holds": "Yes",
    "holds in part": "In part",
    "does not hold": "No",
    "undecided": "Undecided",
    "not run": "Not run",
}


def overall_verdict(verdicts: Sequence[ClaimVerdict]) -> ClaimVerdict:
    """Return the verdict on a claim, given the verdicts on its parts; without parts it was not run.

    If all parts have the same verdict, this is the claim's verdict. Otherwise the claim does not hold if more than half
    of the parts do not hold; it holds in part if at least half of the parts hold or hold in part; else it is undecided.
    """
    if len(set(verdicts)) <= 1:
        return verdicts[0] if verdicts else "not run"
    if 2 * verdicts.count("does not hold") > len(verdicts):
        return "does not hold"
    n_holding = verdicts.count("holds") + verdicts.count("holds in part")
    return "holds in part" if 2 * n_holding >= len(verdicts) else "undecided"


def _share_verdict(n_agreeing: int, n: int) -> ClaimVerdict:
    """Return the verdict on a claim about every problem or data set, of which some agree."""
    return "holds" if n_agreeing == n else "holds in part" if n_agreeing else "does not hold"


def _cutting(evidence: Evidence, reading: ClaimReading) -> Answer:
    """Name the data sets on which the loss by the reduction is significantly below, and above, 1 point.

    Holm's correction is over the data sets of all comparisons.
    """
    lines = evidence.lines("cutting", reading)
    tested = [(line, name, p) for line in lines for name, p in line.within.items()]
    below = holm([p for *_, p in tested])
    above = holm([1.0 - p for *_, p in tested])

    def significant(adjusted: Sequence[float], lines: Sequence[LossComparison]) -> str:
        found = zip(tested, adjusted, strict=True)
        names = [name for (line, name, _), p in found if p < ALPHA and line in lines]
        return join_words(list(dict.fromkeys(names)))

    cuts = [(line, significant(below, [line]), significant(above, [line])) for line in lines]
    verdicts: list[ClaimVerdict] = ["holds" if names else "undecided" for _, names, _ in cuts]
    return Answer(verdicts, {"cuts": cuts, "cases": significant(below, lines)})


def _compared(claim: str, evidence: Evidence, reading: ClaimReading) -> Answer:
    """Judge a claim by the comparisons of the experiment that belong to it."""
    lines = evidence.lines(claim, reading)
    return Answer([line.verdict for line in lines], {"lines": lines})


_OPPOSITE: Mapping[ClaimVerdict, ClaimVerdict] = {
    "holds": "does not hold",
    "does not hold": "holds",
}


def _exact_pca(evidence: Evidence, reading: ClaimReading) -> Answer:
    """Judge the advantage over exact PCA: it holds where exact PCA loses."""
    lines = evidence.lines("exact_pca", reading)
    verdicts = [_OPPOSITE.get(line.verdict, line.verdict) for line in lines]
    return Answer(verdicts, {"lines": lines})


def _one_pass(evidence: Evidence, _: ClaimReading) -> Answer:
    """Compare errors, and the optimality after one pass with DGHA's."""
    shares = {
        evidence.title(role, "today"): evidence.by_data_set(
            role, "today", "optimality_percent", ("streaming",)
        )
        for role in ("one pass", "subspace in one pass", "dynamical")
    }
    texts = [f"{title} {fmean(means.values()):.1f} %" for title, means in shares.items() if means]
    optimality = f"Mean optimality at τ = 15 on the data sets of S1: {join_words(texts)}."
    answer = _compared("one_pass", evidence, "fitted")
    numbers = {**answer.numbers, "optimality": optimality if len(texts) > 1 else ""}
    return answer._replace(numbers=numbers)


def _resource(evidence: Evidence, reading: ClaimReading) -> Answer:
    method = evidence.role("evolved", reading).get("method")
    errors = [
        abs(record["retained_variance_percent"] - 100.0)
        for number, cell in evidence.runs.cells.items()
        if cell.method == method and cell.problem in evidence.facts
        for record in evidence.runs.records(number)
        if record.get("dimensionality") == evidence.facts[cell.problem].n_features
        and "retained_variance_percent" in record
    ]
    if not errors:
        return Answer()
    largest = f"{max(*errors, 10.0**-DECIMALS):.1g}"
    verdict: ClaimVerdict = "holds" if max(errors) < _ROUNDING else "does not hold"
    return Answer([verdict], {"n": len(errors), "largest": largest})


def _self_repair(evidence: Evidence, reading: ClaimReading) -> Answer:
    """Compare the final optimality with its minimum after removals, and with learning without removal."""
    # in F8, NE-pPCA's curves are of both readings, DGHA's fitted
    by_method: dict[str, list[float]] = {}
    for panel in evidence.figures["F8"].panels if "F8" in evidence.figures else ():
        for label, curve in panel.series.items():
            least, last = float(curve["mean"].min()), float(curve["mean"].iloc[-1])
            if least < 1.0 - _ROUNDING:
                share = 100.0 * (last - least) / (1.0 - least)
                by_method.setdefault(label.partition(",")[0], []).append(share)
    fitted = evidence.title("dynamical", "fitted")
    if reading != "fitted":
        by_method.pop(fitted, None)
    regained, verdicts = list[tuple[object, ...]](), list[ClaimVerdict]()
    for method, shares in by_method.items():
        n_half, n = sum(share >= 50.0 for share in shares), len(shares)
        regained.append((method, summarise(shares), n_half, n))
        verdicts.append(_share_verdict(n_half, n))
    kept, unremoved = (
        evidence.by_data_set(role, reading, "optimality_percent")
        for role in ("dynamical", "dynamical unremoved")
    )
    # Optimality is better if larger: the loss is the optimality without removal minus the optimality with removal.
    lost = tested_losses(
        {("DGHA, optimality without removal", "with removal"): losses(unremoved, kept)}
    )
    verdicts += [line.verdict for line in lost]
    return Answer(verdicts, {"regained": regained, "fitted": fitted, "lost": lost})


def _time_in_fitness(evidence: Evidence, _: ClaimReading) -> Answer:
    """Judge whether the fitness takes more than half of the multiply-adds, on the problems of T0."""
    numbers_of_sizes = evidence.numbers[evidence.numbers["table"] == "T0"]
    shares = {}
    for problem in numbers_of_sizes["row"].unique():
        if known := evidence.facts.get(problem):
            # the share grows with the number of nodes
            least = fitness_operations_percent(known.n_train, known.n_features, 1)
            most = fitness_operations_percent(known.n_train, known.n_features, known.n_features)
            shares[problem] = least, most
    if not shares:
        return Answer()
    least_of_all = min(least for least, _ in shares.values())
    most_of_all = max(most for _, most in shares.values())
    n_above_half = sum(least > 50.0 for least, _ in shares.values())
    numbers = {"shares": shares, "least": least_of_all, "most": most_of_all}
    return Answer([_share_verdict(n_above_half, len(shares))], numbers)


def fitness_operations_percent(n_samples: int, n_features: int, n_nodes: int) -> float:
    """Return the share of the fitness in the multiply-adds of the slides' NE-pPCA for a child, in percent.

    Source: slides 'Fitness evaluation' and 'Special crossing operator', as plain loops over N samples, m features and l
    nodes. Choice: the Gram–Schmidt process belongs to the fitness; the rest, crossing and mutation, is breeding.
    """
    # m l²: two sums of m terms for each pair of nodes, and a norm for each node
    gram_schmidt = n_features * n_nodes**2
    # N (m + 1) l: y = W x of each sample, and the squares of the variances
    responses = n_samples * (n_features + 1) * n_nodes
    # 4 m l: ‖w_i − w_j‖², the step along w_i − w_j, and two for the noise of a weight
    breeding = 4 * n_features * n_nodes
    fitness = gram_schmidt + responses
    return 100.0 * fitness / (fitness + breeding)


def _speed(evidence: Evidence, reading: ClaimReading) -> Answer:
    """Compare operation counts, then errors with part of the data and without removal."""
    roles = ("speed-up", "speed-up by part")
    all_data, part = (evidence.by_data_set(role, reading, "speedup_operations") for role in roles)
    shared = [name for name in all_data if name in part]
    by_part, removed, kept = (
        evidence.by_data_set(role, reading)
        for role in ("dynamical by part", "dynamical", "hebbian")
    )
    tested = tested_losses(
        {
            ("DGHA with 10 % of the data", "with all the data"): losses(by_part, removed),
            (evidence.title("dynamical", reading), "GHA with all nodes"): losses(removed, kept),
        }
    )
    if not shared or len(tested) < 2:
        return Answer()
    n_faster = sum(part[name] > all_data[name] > 1.0 for name in shared)
    by_table = _speedups_by_table(evidence) if reading == "fitted" else {}
    faster: list[ClaimVerdict] = [
        "holds" if part > whole > 1.0 else "does not hold" for whole, part in by_table.values()
    ]
    numbers = {
        "whole": geometric_mean(all_data[name] for name in shared),
        "part": geometric_mean(part[name] for name in shared),
        "n_faster": n_faster,
        "n": len(shared),
        "by_table": by_table,
        "lines": tested,
    }
    verdicts = [_share_verdict(n_faster, len(shared)), *faster, *(line.verdict for line in tested)]
    return Answer(verdicts, numbers)


def _speedups_by_table(evidence: Evidence) -> dict[str, tuple[float, float]]:
    """Return by problem of T4 and T6 the speed-ups with all the data, and with 10 % of it: geometric means over τ."""
    quantity, means = "speedup_operations", {}
    for table, problem in (("T4", "cancer1"), ("T6", "horse1")):
        in_table = evidence.numbers["table"] == table
        run = evidence.numbers[in_table & (evidence.numbers["n"] > 0)]
        of_rows = run[run["quantity"] == quantity].groupby("row")["mean"]
        by_row = {str(row): geometric_mean(values) for row, values in of_rows}
        whole, part = f"{problem}, 100%", f"{problem}, 10%"
        if whole in by_row and part in by_row:
            means[problem] = by_row[whole], by_row[part]
    return means


JUDGES: Mapping[str, Judge] = {
    "cutting": _cutting,
    "resource": _resource,
    "self_repair": _self_repair,
    "time_in_fitness": _time_in_fitness,
    "accuracy": partial(_compared, "accuracy"),
    "speed": _speed,
    "exact_pca": _exact_pca,
    "one_pass": _one_pass,
}


def main_results(evidence: Evidence, judged: Judged) -> list[str]:
    """Return the results in short: whether to use exact PCA, and which claims hold."""
    lines = [
        line
        for reading in READINGS
        for line in evidence.lines("exact_pca", reading)
        if "as many as" in line.method
    ]
    counted = [judged[claim.id] for claim in _claims_file().claims if claim.counted]
    by_verdict = grouped(counted, lambda item: item[0].verdicts["as written"])
    return rendered(_claims_file().main, {"lines": lines, "by_verdict": by_verdict})
