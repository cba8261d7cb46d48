"""Answers to the slides' claims in two readings: as written, and with fitted settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from statistics import fmean, geometric_mean
from typing import Any, NamedTuple

import numpy as np

from pppca_bench.paper.evidence import READINGS, Evidence, Reading
from pppca_bench.paper.fitness_times import MEAN, mean_shares
from pppca_bench.paper.lines import Line
from pppca_bench.paper.losses import Losses, Verdict, judge_losses, losses, size_text, typical_loss
from pppca_bench.quantities import DECIMALS
from pppca_bench.references.layout import Text, Texts
from pppca_bench.reporting.document import SIGNED, Finding, environment, listed, printed
from pppca_bench.reporting.pairs import ALPHA
from pppca_bench.reporting.statistics import holm, summarise
from pppca_bench.runs import grouped
from pppca_bench.yaml_files.section import Section
from pppca_bench.yaml_files.source import read_yaml

_ROUNDING = 1e-6
_ONE_PASS = "one pass", "subspace in one pass", "dynamical"
_AS_MANY = "as many as"


class Claim(Section):
    """Claim: its text, its place in the source, and how it is answered; see claims.yaml."""

    id: Text
    short: Text  # template of the claim in a list of claims
    claim: Text
    place: Text
    estimand: Text
    data: Text
    test: Text
    sources: Texts
    answer: Text
    counted: bool = True  # false for an identity


class _Document(Section):
    claims: tuple[Claim, ...]


class Part(NamedTuple):
    """Part of a claim: a sentence of evidence and its verdict; "not run" marks a sentence that only explains."""

    sentence: str
    verdict: Verdict = "not run"


class Answer(NamedTuple):
    """Parts of a claim in a reading, and the numbers of its answer."""

    parts: Sequence[Part]
    numbers: Mapping[str, Any]


_NOT_RUN = Answer((), {})


@cache
def claims() -> tuple[Claim, ...]:
    """Return the claims."""
    folder = Path(str(files("pppca_bench.references"))) / "slides"
    return _Document.read(read_yaml(folder / "claims.yaml")).claims


def judge_claims(evidence: Evidence) -> list[Finding]:
    """Answer the claims, each in both readings; a claim without the runs that it needs is "not run"."""
    findings = []
    for claim in claims():
        written, fitted = (JUDGES[claim.id](evidence, reading) for reading in READINGS)
        verdict, with_fitted = (overall_verdict([part.verdict for part in own.parts]) for own in (written, fitted))
        word = _WORDS[verdict] + (f" (with fitted settings: {with_fitted})" if with_fitted != verdict else "")
        numbers = {"verdict": word, "written": written.numbers, "fitted": fitted.numbers}
        is_run = "not run" not in (verdict, with_fitted)
        text = _rendered(claim.answer, numbers) if is_run else "Not run."
        if written == fitted:
            sentences = [part.sentence for part in written.parts]
        else:
            both = zip(READINGS, (written, fitted), strict=True)
            sentences = [f"{reading.capitalize()}: {part.sentence}" for reading, own in both for part in own.parts]
        basis = (("Estimand", claim.estimand), ("Data", claim.data), ("Test", claim.test))
        judged = verdict, with_fitted, basis, tuple(sentences)
        short = _rendered(claim.short, numbers) if is_run else ""
        findings.append(Finding(claim.claim, short, claim.place, text, *judged, claim.sources))
    return findings


def _rendered(template: str, numbers: Mapping[str, object]) -> str:
    return " ".join(environment().from_string(template).render(numbers).split())


_WORDS: Mapping[Verdict, str] = {
    "holds": "Yes",
    "holds in part": "In part",
    "does not hold": "No",
    "undecided": "Undecided",
    "not run": "Not run",
}


def overall_verdict(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the verdict on a claim, given the verdicts on its parts; parts that were not run do not count.

    If all parts have the same verdict, this is the claim's verdict. Otherwise the claim does not hold if more than half
    of the parts do not hold; it holds in part if at least half of the parts hold or hold in part; else it is undecided.
    """
    run = [verdict for verdict in verdicts if verdict != "not run"]
    if len(set(run)) <= 1:
        return run[0] if run else "not run"
    if 2 * run.count("does not hold") > len(run):
        return "does not hold"
    return "holds in part" if 2 * (run.count("holds") + run.count("holds in part")) >= len(run) else "undecided"


def _share_verdict(n_agreeing: int, n: int) -> Verdict:
    """Return the verdict on a claim about every problem or data set, of which some agree."""
    return "holds" if n_agreeing == n else "holds in part" if n_agreeing else "does not hold"


class _Cut(NamedTuple):
    """Comparison with all features: where the loss is significantly below, and above, 1 point, as text."""

    method: str
    n: int
    size: str
    below: str
    above: str


def _cutting(evidence: Evidence, reading: Reading) -> Answer:
    """Name the data sets on which the loss by the reduction is significantly below, and above, 1 point."""
    lines = evidence.lines("cutting", reading)
    below, above = _beyond(lines, 1.0), _beyond(lines, -1.0)
    parts, cuts = list[Part](), list[_Cut]()
    for line in lines:
        where = [listed(own[line.name]) or "no data set" for own in (below, above)]
        sentence = (
            f"{line.name}: significantly below 1 point on {where[0]}, significantly above on {where[1]}, of {line.n}."
        )
        parts += [Part(sentence, "holds" if below[line.name] else "undecided"), Part(line.text)]
        cuts.append(_Cut(line.method, line.n, line.size, *where))
    cases = listed(list(dict.fromkeys(case for own in below.values() for case in own)))
    return Answer(parts, {"cuts": cuts, "cases": cases}) if lines else _NOT_RUN


def _beyond(lines: Sequence[Line], side: float) -> dict[str, list[str]]:
    """Return by comparison the data sets with a loss below (side 1) or above (side −1) 1 point, significantly.

    Holm's correction is over the data sets of all comparisons.
    """
    tested = [(line.name, name, p if side > 0.0 else 1.0 - p) for line in lines for name, p in line.within.items()]
    found: dict[str, list[str]] = {line.name: [] for line in lines}
    for (comparison, data_set, _), p in zip(tested, holm([p for *_, p in tested]), strict=True):
        if p < ALPHA:
            found[comparison].append(data_set)
    return found


def _compared(claim: str) -> Callable[[Evidence, Reading], Answer]:
    """Return the judge of a claim by the comparisons of the experiment that belong to it."""

    def judge(evidence: Evidence, reading: Reading) -> Answer:
        lines = evidence.lines(claim, reading)
        if not lines:
            return _NOT_RUN
        groups = {verdict: [line for line in lines if line.verdict == verdict] for verdict in _WORDS}
        larger = [line for line in groups["undecided"] if line.low > 0.0]
        held, failed, above = (
            "; ".join(f"{line.name} ({printed(line.typical, SIGNED)})" for line in own)
            for own in (groups["holds"], groups["does not hold"], larger)
        )
        ends = [end((line.typical for line in groups["undecided"]), default=0.0) for end in (min, max)]
        between = "from " + " to ".join(printed(end, SIGNED) for end in ends) if groups["undecided"] else ""
        numbers = {"lines": lines, "held": held, "failed": failed, "larger": above, "undecided": between}
        return Answer([Part(line.text, line.verdict) for line in lines], numbers)

    return judge


def _exact_pca(evidence: Evidence, reading: Reading) -> Answer:
    """Judge the advantage over exact PCA: it holds where exact PCA loses."""
    answer = _compared("exact_pca")(evidence, reading)
    inverse: Mapping[Verdict, Verdict] = {"holds": "does not hold", "does not hold": "holds"}
    return answer._replace(
        parts=[part._replace(verdict=inverse.get(part.verdict, part.verdict)) for part in answer.parts]
    )


def _one_pass(evidence: Evidence, reading: Reading) -> Answer:
    """Compare errors, and the optimality after one pass with DGHA's."""
    answer = _compared("one_pass")(evidence, "fitted")
    own = evidence._replace(configs=("streaming",), claims={reading: evidence.claims.get("today", {})})
    shares = {role: own.by_data_set(role, reading, "optimality_percent") for role in _ONE_PASS}
    texts = [f"{own.title(role, reading)} {fmean(each.values()):.1f} %" for role, each in shares.items() if each]
    optimality = f"Mean optimality at τ = 15 on the data sets of S1: {listed(texts)}." if len(texts) > 1 else ""
    parts = [*answer.parts, *([Part(optimality)] if optimality else [])]
    return Answer(parts, {**answer.numbers, "optimality": optimality}) if answer.parts else _NOT_RUN


def _resource(evidence: Evidence, reading: Reading) -> Answer:
    method, errors = evidence.role("evolved", reading).get("method"), list[float]()
    for cell, runs in evidence.results.cells.items():
        known = evidence.facts.get(cell.problem)
        if cell.method == method and known is not None:
            kept, retained = (runs.values(name) for name in ("dimensionality", "retained_variance_percent"))
            errors += [abs(retained[n] - 100.0) for n in retained if kept.get(n) == known.n_features]
    if not errors:
        return _NOT_RUN
    largest = f"{max(*errors, 10.0**-DECIMALS):.1g}"
    sentence = f"Of {len(errors)} runs with all nodes, the largest difference from 100 % is {largest} points or less."
    verdict: Verdict = "holds" if max(errors) < _ROUNDING else "does not hold"
    return Answer([Part(sentence, verdict)], {"n": len(errors), "largest": largest})


class _Regained(NamedTuple):
    """Regained shares of the largest loss of a method: mean with interval as text, problems with at least half."""

    method: str
    share: str
    n_half: int
    n: int


def _self_repair(evidence: Evidence, reading: Reading) -> Answer:
    """Compare the final optimality with its minimum after removals, and with learning without removal."""
    by_method: dict[str, list[float]] = {}  # in F8, NE-pPCA's curves are of both readings, DGHA's fitted
    for panel, _, means in evidence.curves("F8"):
        least, last = float(means.min()), float(means.iloc[-1])
        if least < 1.0 - _ROUNDING:
            method = panel.partition(") ")[2].partition(",")[0]
            by_method.setdefault(method, []).append(100.0 * (last - least) / (1.0 - least))
    if reading != "fitted":
        by_method.pop(evidence.title("dynamical", reading), None)
    parts, regained = [], []
    for method, shares in by_method.items():
        mean, n_half = summarise(shares), sum(share >= 50.0 for share in shares)
        low, average, high = (printed(value, ".0f") for value in (mean.low, mean.mean, mean.high))
        share = f"{average} % (95 % interval {low} to {high} %)"
        is_fitted = method == evidence.title("dynamical", "fitted")
        regained.append(_Regained(f"{method} (fitted)" if is_fitted else method, share, n_half, len(shares)))
        sentence = (
            f"{method} regains {share} of the largest loss, and half or more on {n_half} of {len(shares)} problems."
        )
        parts.append(Part(sentence, _share_verdict(n_half, len(shares))))
    kept, whole = (
        evidence.by_data_set(role, reading, "optimality_percent") for role in ("dynamical", "dynamical unremoved")
    )
    # Optimality is better if larger: the loss is the optimality without removal minus the optimality with removal.
    lost = _judged({"DGHA, optimality without removal − with removal": losses(whole, kept)})
    return Answer([*parts, *(part for part, _ in lost)], {"regained": regained, "loss": lost[0][1] if lost else None})


def _judged(samples: Mapping[str, Losses | None]) -> list[tuple[Part, str]]:
    """Test losses over the data sets, with Holm's correction, and return the typical losses; None is left out."""
    known = {name: own for name, own in samples.items() if own}
    judged = judge_losses(list(known.values()), "signed-rank test")
    tested = []
    for (name, own), (p, verdict) in zip(known.items(), judged, strict=True):
        size = size_text(*typical_loss(np.array(list(own.by_data_set.values()))))
        sentence = f"{name}: typical loss {size} on {len(own.by_data_set)} data sets; p (Holm) {p:.2g}: {verdict}."
        tested.append((Part(sentence, verdict), size))
    return tested


def _time_in_fitness(evidence: Evidence, _: Reading) -> Answer:
    """Judge whether the fitness takes more than half of the literal algorithm's time."""
    means = mean_shares(evidence.results)
    if not means:
        return _NOT_RUN
    whole = means.pop(MEAN)
    shares = {problem: own["fitness_time_percent"] for problem, own in means.items()}
    n_most = sum(share > 50.0 for share in shares.values())
    by_problem = ", ".join(f"{problem} {share:.1f}" for problem, share in shares.items())
    operations = [own["fitness_operations_percent"] for own in means.values()]
    parts = [
        Part(f"Share of the fitness in the time, in percent: {by_problem}.", _share_verdict(n_most, len(shares))),
        Part(
            f"On average the responses of all samples take {whole['responses_time_percent']:.1f} % of the time, the"
            f" Gram–Schmidt process {whole['gram_schmidt_time_percent']:.1f} %, breeding"
            f" {whole['breeding_time_percent']:.1f} %. Of the multiply-adds, the fitness takes {min(operations):.1f} to"
            f" {max(operations):.1f} %."
        ),
    ]
    ends = {"mean": whole["fitness_time_percent"], "least": min(shares.values()), "most": max(shares.values())}
    return Answer(parts, {name: f"{value:.1f}" for name, value in ends.items()})


def _speed(evidence: Evidence, reading: Reading) -> Answer:
    """Compare operation counts and times, then errors with part of the data and without removal."""
    roles = ("speed-up", "speed-up by part")
    whole, part = (evidence.by_data_set(role, reading, "speedup_operations") for role in roles)
    shared = [name for name in whole if name in part]
    errors = {role: evidence.by_data_set(role, reading) for role in ("dynamical", "dynamical by part", "hebbian")}
    by_part, by_removal = (losses(errors[one], errors[other]) for one, other in _SPEED_LOSSES.values())
    if not shared or not by_part or not by_removal:
        return _NOT_RUN
    n_faster = sum(part[name] > whole[name] > 1.0 for name in shared)
    means = [f"{geometric_mean(own[name] for name in shared):.1f}" for own in (whole, part)]
    sentence = (
        f"Speed-up in multiply-adds: {means[0]} with all the data, {means[1]} with 10 % of the data (geometric means);"
        f" both above 1, and larger with 10 %, on {n_faster} of {len(shared)} data sets."
    )
    verdict = _share_verdict(n_faster, len(shared))
    tested = _judged(dict(zip(_SPEED_LOSSES, (by_part, by_removal), strict=True)))
    numbers = {"whole": means[0], "part": means[1], "n_faster": n_faster, "n": len(shared)}
    numbers |= {"by_part": tested[0][1], "by_removal": tested[1][1]}
    times = _measured_times(evidence) if reading == "fitted" else ()
    return Answer([Part(sentence, verdict), *times, *(part for part, _ in tested)], numbers)


_SPEED_LOSSES = {
    "DGHA with 10 % of the data − with all the data": ("dynamical by part", "dynamical"),
    "DGHA − GHA with all nodes": ("dynamical", "hebbian"),
}


def _measured_times(evidence: Evidence) -> Iterator[Part]:
    for table, problem in (("T4", "cancer1"), ("T6", "horse1")):
        rows = f"{problem}, 100%", f"{problem}, 10%"
        names = ("speedup_operations", "speedup", "speedup_fast")
        lines = [evidence.line(table, row, name).values() for name in names for row in rows]
        if not all(lines):
            continue
        ratios = [geometric_mean(line) for line in lines]
        yield Part(
            f"Speed-up on {problem} with all the data, and with 10 % of the data (geometric means over τ): in"
            f" multiply-adds {ratios[0]:.1f}, and {ratios[1]:.1f}; in time with the literal kernel {ratios[2]:.1f}, and"
            f" {ratios[3]:.1f}; in time with the fast kernel, whose cost is linear, not quadratic, in the number of"
            f" nodes, {ratios[4]:.1f}, and {ratios[5]:.1f}.",
            "holds" if ratios[1] > ratios[0] > 1.0 else "does not hold",
        )


JUDGES: Mapping[str, Callable[[Evidence, Reading], Answer]] = {
    "cutting": _cutting,
    "resource": _resource,
    "self_repair": _self_repair,
    "time_in_fitness": _time_in_fitness,
    "accuracy": _compared("accuracy"),
    "speed": _speed,
    "exact_pca": _exact_pca,
    "one_pass": _one_pass,
}


def main_results(evidence: Evidence, findings: Sequence[Finding]) -> list[str]:
    """Return the results in short: which method to use, which claims hold, and what is new."""
    by_id = dict(zip((claim.id for claim in claims()), findings, strict=True))
    verdicts = grouped(
        (claim for claim in claims() if by_id[claim.id].verdict != "not run" and claim.counted),
        lambda claim: by_id[claim.id].verdict,
    )
    texts = [
        f"{word}: {'; '.join(by_id[claim.id].short for claim in verdicts[name])}."
        for name, word in _COUNTED.items()
        if name in verdicts
    ]
    judged = f"The slides' claims, and two questions that they leave open. {' '.join(texts)}" if texts else ""
    new, question = by_id["one_pass"], "One pass of a streaming method instead of DGHA's many epochs?"
    streaming = f"{question} {new.answer}" if new.verdict != "not run" else ""
    return list(filter(None, [_use_pca(evidence), judged, streaming]))


_COUNTED = {
    "holds": "Confirmed",
    "holds in part": "Confirmed in part",
    "does not hold": "Refuted",
    "undecided": "Undecided",
}


def _use_pca(evidence: Evidence) -> str:
    """Return the advice on exact PCA with as many components as pseudo-PCA keeps; "" if it was not run."""
    lines = [line for reading in READINGS for line in evidence.lines("exact_pca", reading) if _AS_MANY in line.method]
    if not lines:
        return ""
    high, ends = max(line.high for line in lines), [end(line.typical for line in lines) for end in (min, max)]
    sizes = f"typical losses from {' to '.join(printed(end, SIGNED) for end in ends)} points"
    within = next((margin for margin in (0.25, 0.5, 1.0) if high < margin), None)
    if within is None:
        return f"Whether exact PCA loses against pseudo-PCA with the same number of components is open: {sizes}."
    margin, end = f"{within:g} {'point' if within == 1.0 else 'points'}", printed(high, SIGNED)
    return (
        f"Use exact PCA. On typical data sets its test error is less than {margin} above pseudo-PCA's with the same"
        f" number of components ({sizes}, 95 % intervals up to {end})."
    )
