"""Answers to the slides' claims in two readings: as written, and with fitted settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from statistics import fmean, geometric_mean
from typing import Any, NamedTuple

from pppca_bench.paper.evidence import READINGS, Evidence, Reading, read_experiment, read_lines
from pppca_bench.paper.experiment import experiments
from pppca_bench.paper.losses import Line, Verdict, losses, tested_lines
from pppca_bench.paper.today import MEAN, mean_shares
from pppca_bench.quantities import DECIMALS
from pppca_bench.references.selection import Text, Texts
from pppca_bench.reporting.document import SIGNED, environment, listed, printed
from pppca_bench.reporting.figure_data import Figure
from pppca_bench.reporting.findings import Answers, Finding
from pppca_bench.reporting.pairs import ALPHA
from pppca_bench.reporting.snapshot import Snapshot
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
    """Content of claims.yaml: texts of the page by name (see `Answers`), and the claims."""

    page: dict[Text, Text]
    claims: tuple[Claim, ...]


class Part(NamedTuple):
    """Part of a claim: a sentence of evidence and its verdict; "not run" marks a sentence that only explains."""

    text: str
    verdict: Verdict = "not run"


class Answer(NamedTuple):
    """Parts of a claim in a reading, and the numbers of its answer."""

    parts: Sequence[Part | Line]
    numbers: Mapping[str, Any]


_NOT_RUN = Answer((), {})

Judge = Callable[[Evidence, Reading], Answer]


@cache
def _document() -> _Document:
    return _Document.read(
        read_yaml(Path(str(files("pppca_bench.references"))) / "slides" / "claims.yaml")
    )


def claims(snapshot: Snapshot, figures: Sequence[Figure]) -> Answers:
    """Answer the slides' claims by the tables of a snapshot, its figures, and the tables of the last experiment.

    Without the experiment's tables in the folder of the results, claims that need them are not run.
    """
    tables = {table.id: table for table in snapshot.of_means}
    drawn = {figure.figure: figure for figure in figures}
    roles = {
        reading: own
        for reference in snapshot.references
        for reading, own in reference.claims.items()
    }
    folders = {own: snapshot.folder / own.configs[0] / "tables" for own in experiments()}
    compared = read_lines(folders[experiments()[-1]])
    evidence = Evidence(snapshot.results, snapshot.facts, tables, drawn, roles, compared)
    judged, advice = judge_claims(evidence), advice_of(snapshot.folder / "benchmarks.md")
    findings = [finding for finding, _ in judged.values()]
    read = [read_experiment(*own) for own in reversed(folders.items())]
    return Answers(
        main_results(evidence, judged),
        findings,
        [own for own in read if own],
        closing=advice,
        **_document().page,
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
    for claim in _document().claims:
        written, fitted = answers = [JUDGES[claim.id](evidence, reading) for reading in READINGS]
        verdict, with_fitted = (
            overall_verdict([part.verdict for part in own.parts]) for own in answers
        )
        word = _WORDS[verdict] + (
            f" (with fitted settings: {with_fitted})" if with_fitted != verdict else ""
        )
        numbers = {"verdict": word, "written": written.numbers, "fitted": fitted.numbers}
        is_run = "not run" not in (verdict, with_fitted)
        text, short = (
            _rendered(template, numbers) if is_run else ""
            for template in (claim.answer, claim.short)
        )
        if written == fitted:
            sentences = [part.text for part in written.parts]
        else:
            sentences = [
                f"{reading.capitalize()}: {part.text}"
                for reading, own in zip(READINGS, answers, strict=True)
                for part in own.parts
            ]
        basis = (("Estimand", claim.estimand), ("Data", claim.data), ("Test", claim.test))
        verdicts = {"as written": verdict, "fitted": with_fitted}
        finding = Finding(
            claim.claim,
            claim.place,
            text or "Not run.",
            verdicts,
            basis,
            tuple(sentences),
            claim.sources,
        )
        judged[claim.id] = finding, short
    return judged


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
    return (
        "holds in part"
        if 2 * (run.count("holds") + run.count("holds in part")) >= len(run)
        else "undecided"
    )


def _share_verdict(n_agreeing: int, n: int) -> Verdict:
    """Return the verdict on a claim about every problem or data set, of which some agree."""
    return "holds" if n_agreeing == n else "holds in part" if n_agreeing else "does not hold"


def _cutting(evidence: Evidence, reading: Reading) -> Answer:
    """Name the data sets on which the loss by the reduction is significantly below, and above, 1 point."""
    lines = evidence.lines("cutting", reading)
    below, above = _beyond(lines, 1.0), _beyond(lines, -1.0)
    parts, cuts = list[Part](), list[Mapping[str, object]]()
    for line in lines:
        where = [listed(own[line.name]) or "no data set" for own in (below, above)]
        sentence = (
            f"{line.name}: significantly below 1 point on {where[0]}, significantly above on"
            f" {where[1]}, of {line.n}."
        )
        parts += [Part(sentence, "holds" if below[line.name] else "undecided"), Part(line.text)]
        cuts.append(
            {
                "method": line.method,
                "n": line.n,
                "size": line.size,
                "below": where[0],
                "above": where[1],
            }
        )
    cases = listed(list(dict.fromkeys(case for own in below.values() for case in own)))
    return Answer(parts, {"cuts": cuts, "cases": cases}) if lines else _NOT_RUN


def _beyond(lines: Sequence[Line], side: float) -> dict[str, list[str]]:
    """Return by comparison the data sets with a loss below (side 1) or above (side −1) 1 point, significantly.

    Holm's correction is over the data sets of all comparisons.
    """
    tested = [
        (line.name, name, p if side > 0.0 else 1.0 - p)
        for line in lines
        for name, p in line.within.items()
    ]
    found: dict[str, list[str]] = {line.name: [] for line in lines}
    for (comparison, data_set, _), p in zip(tested, holm([p for *_, p in tested]), strict=True):
        if p < ALPHA:
            found[comparison].append(data_set)
    return found


def _compared(claim: str) -> Judge:
    """Return the judge of a claim by the comparisons of the experiment that belong to it."""

    def judge(evidence: Evidence, reading: Reading) -> Answer:
        lines = evidence.lines(claim, reading)
        of = {verdict: [line for line in lines if line.verdict == verdict] for verdict in _WORDS}
        larger = [line for line in of["undecided"] if line.low > 0.0]
        numbers = {
            name: "; ".join(f"{line.name} ({printed(line.typical, SIGNED)})" for line in own)
            for name, own in {
                "held": of["holds"],
                "failed": of["does not hold"],
                "larger": larger,
            }.items()
        }
        undecided = f"from {_ends(of['undecided'])}" if of["undecided"] else ""
        return (
            Answer(lines, {"lines": lines, "undecided": undecided, **numbers})
            if lines
            else _NOT_RUN
        )

    return judge


def _ends(lines: Sequence[Line]) -> str:
    """Return the least and the largest typical loss."""
    return " to ".join(printed(end(line.typical for line in lines), SIGNED) for end in (min, max))


def _exact_pca(evidence: Evidence, reading: Reading) -> Answer:
    """Judge the advantage over exact PCA: it holds where exact PCA loses."""
    answer = _compared("exact_pca")(evidence, reading)
    inverse: Mapping[Verdict, Verdict] = {"holds": "does not hold", "does not hold": "holds"}
    parts = [Part(part.text, inverse.get(part.verdict, part.verdict)) for part in answer.parts]
    return answer._replace(parts=parts)


def _one_pass(evidence: Evidence, reading: Reading) -> Answer:
    """Compare errors, and the optimality after one pass with DGHA's."""
    answer = _compared("one_pass")(evidence, "fitted")
    own = evidence._replace(
        configs=("streaming",), claims={reading: evidence.claims.get("today", {})}
    )
    shares = {role: own.by_data_set(role, reading, "optimality_percent") for role in _ONE_PASS}
    texts = [
        f"{own.title(role, reading)} {fmean(each.values()):.1f} %"
        for role, each in shares.items()
        if each
    ]
    optimality = (
        f"Mean optimality at τ = 15 on the data sets of S1: {listed(texts)}."
        if len(texts) > 1
        else ""
    )
    parts = [*answer.parts, *([Part(optimality)] if optimality else [])]
    return Answer(parts, {**answer.numbers, "optimality": optimality}) if answer.parts else _NOT_RUN


def _resource(evidence: Evidence, reading: Reading) -> Answer:
    method, errors = evidence.role("evolved", reading).get("method"), list[float]()
    for cell, runs in evidence.results.cells.items():
        known = evidence.facts.get(cell.problem)
        if cell.method == method and known is not None:
            kept, retained = (
                runs.values(name) for name in ("dimensionality", "retained_variance_percent")
            )
            errors += [
                abs(retained[n] - 100.0) for n in retained if kept.get(n) == known.n_features
            ]
    if not errors:
        return _NOT_RUN
    largest = f"{max(*errors, 10.0**-DECIMALS):.1g}"
    sentence = f"Of {len(errors)} runs with all nodes, the largest difference from 100 % is {largest} points or less."
    verdict: Verdict = "holds" if max(errors) < _ROUNDING else "does not hold"
    return Answer([Part(sentence, verdict)], {"n": len(errors), "largest": largest})


def _self_repair(evidence: Evidence, reading: Reading) -> Answer:
    """Compare the final optimality with its minimum after removals, and with learning without removal."""
    # in F8, NE-pPCA's curves are of both readings, DGHA's fitted
    by_method: dict[str, list[float]] = {}
    for panel in evidence.figures["F8"].panels if "F8" in evidence.figures else ():
        for label, curve in panel.series.items():
            method = label.partition(",")[0]
            least, last = float(curve["mean"].min()), float(curve["mean"].iloc[-1])
            if least < 1.0 - _ROUNDING:
                by_method.setdefault(method, []).append(100.0 * (last - least) / (1.0 - least))
    if reading != "fitted":
        by_method.pop(evidence.title("dynamical", reading), None)
    parts, regained = list[Part](), list[Mapping[str, object]]()
    for method, shares in by_method.items():
        mean, n_half, n = summarise(shares), sum(share >= 50.0 for share in shares), len(shares)
        low, average, high = (printed(value, ".0f") for value in (mean.low, mean.mean, mean.high))
        share = f"{average} % (95 % interval {low} to {high} %)"
        fitted = " (fitted)" if method == evidence.title("dynamical", "fitted") else ""
        regained.append({"method": f"{method}{fitted}", "share": share, "n_half": n_half, "n": n})
        sentence = f"{method} regains {share} of the largest loss, and half or more on {n_half} of {n} problems."
        parts.append(Part(sentence, _share_verdict(n_half, n)))
    kept, whole = (
        evidence.by_data_set(role, reading, "optimality_percent")
        for role in ("dynamical", "dynamical unremoved")
    )
    # Optimality is better if larger: the loss is the optimality without removal minus the optimality with removal.
    lost = tested_lines({("DGHA, optimality without removal", "with removal"): losses(whole, kept)})
    return Answer([*parts, *lost], {"regained": regained, "loss": lost[0].size if lost else None})


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
        Part(
            f"Share of the fitness in the time, in percent: {by_problem}.",
            _share_verdict(n_most, len(shares)),
        ),
        Part(
            f"On average the responses of all samples take {whole['responses_time_percent']:.1f} % of the time, the"
            f" Gram–Schmidt process {whole['gram_schmidt_time_percent']:.1f} %, breeding"
            f" {whole['breeding_time_percent']:.1f} %. Of the multiply-adds, the fitness takes {min(operations):.1f} to"
            f" {max(operations):.1f} %."
        ),
    ]
    ends = {
        "mean": whole["fitness_time_percent"],
        "least": min(shares.values()),
        "most": max(shares.values()),
    }
    return Answer(parts, {name: f"{value:.1f}" for name, value in ends.items()})


def _speed(evidence: Evidence, reading: Reading) -> Answer:
    """Compare operation counts and times, then errors with part of the data and without removal."""
    roles = ("speed-up", "speed-up by part")
    whole, part = (evidence.by_data_set(role, reading, "speedup_operations") for role in roles)
    shared = [name for name in whole if name in part]
    by_part, removed, kept = (
        evidence.by_data_set(role, reading)
        for role in ("dynamical by part", "dynamical", "hebbian")
    )
    tested = tested_lines(
        {
            ("DGHA with 10 % of the data", "with all the data"): losses(by_part, removed),
            (evidence.title("dynamical", reading), "GHA with all nodes"): losses(removed, kept),
        }
    )
    if not shared or len(tested) < 2:
        return _NOT_RUN
    n_faster = sum(part[name] > whole[name] > 1.0 for name in shared)
    means = [f"{geometric_mean(own[name] for name in shared):.1f}" for own in (whole, part)]
    sentence = (
        f"Speed-up in multiply-adds: {means[0]} with all the data, {means[1]} with 10 % of the data (geometric means);"
        f" both above 1, and larger with 10 %, on {n_faster} of {len(shared)} data sets."
    )
    parts = [Part(sentence, _share_verdict(n_faster, len(shared)))]
    parts += _measured_times(evidence) if reading == "fitted" else ()
    numbers = {"whole": means[0], "part": means[1], "n_faster": n_faster, "n": len(shared)}
    numbers |= {"by_part": tested[0].size, "by_removal": tested[1].size}
    return Answer([*parts, *tested], numbers)


def _measured_times(evidence: Evidence) -> Iterator[Part]:
    for table, problem in (("T4", "cancer1"), ("T6", "horse1")):
        cells = list(evidence.tables[table].cells.values()) if table in evidence.tables else []
        of_rows = [
            [cell.ours for cell in cells if cell.row == f"{problem}, {share}%"]
            for share in (100, 10)
        ]
        names = ("speedup_operations", "speedup", "speedup_fast")
        lines = [
            [ours[name].mean for ours in row if name in ours] for name in names for row in of_rows
        ]
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


JUDGES: Mapping[str, Judge] = {
    "cutting": _cutting,
    "resource": _resource,
    "self_repair": _self_repair,
    "time_in_fitness": _time_in_fitness,
    "accuracy": _compared("accuracy"),
    "speed": _speed,
    "exact_pca": _exact_pca,
    "one_pass": _one_pass,
}


def main_results(evidence: Evidence, judged: Judged) -> list[str]:
    """Return the results in short: which method to use, and which claims hold."""
    counted = [judged[claim.id] for claim in _document().claims if claim.counted]
    by_verdict = grouped(counted, lambda own: own[0].verdicts["as written"])
    texts = [
        f"{word}: {'; '.join(short for _, short in by_verdict[verdict])}."
        for verdict, word in _COUNTED.items()
        if verdict in by_verdict
    ]
    claims = f"The slides' claims, and two open questions. {' '.join(texts)}" if texts else ""
    return list(filter(None, [_use_pca(evidence), claims]))


_COUNTED = {
    "holds": "Confirmed",
    "holds in part": "Confirmed in part",
    "does not hold": "Refuted",
    "undecided": "Undecided",
}


def _use_pca(evidence: Evidence) -> str:
    """Return the advice on exact PCA with as many components as pseudo-PCA keeps; "" if it was not run."""
    lines = [
        line
        for reading in READINGS
        for line in evidence.lines("exact_pca", reading)
        if _AS_MANY in line.method
    ]
    if not lines:
        return ""
    high, sizes = max(line.high for line in lines), f"typical losses from {_ends(lines)} points"
    within = next((margin for margin in (0.25, 0.5, 1.0) if high < margin), None)
    if within is None:
        return f"Whether exact PCA loses against pseudo-PCA with the same number of components is open: {sizes}."
    margin, end = f"{within:g} {'point' if within == 1.0 else 'points'}", printed(high, SIGNED)
    return (
        f"Use exact PCA. On typical data sets its test error is less than {margin} above pseudo-PCA's with the same"
        f" number of components ({sizes}, 95 % intervals up to {end})."
    )
