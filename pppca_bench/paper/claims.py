"""Answers to the slides' claims, each a sentence with counts, with the evidence below."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from statistics import fmean, geometric_mean, median
from typing import Any

import pandas as pd
from pydantic import Field

from pppca_bench.pages.document import SIGNED, join_words, printed
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
from pppca_bench.paper.losses import LossComparison, losses, tested_losses
from pppca_bench.paper.main_results import (
    EXACT_PCA_LOSS,
    counts_of_parts,
    main_results,
    ratios_of_fit_times,
)
from pppca_bench.paper.texts import read, rendered
from pppca_bench.quantities import DECIMALS, SIZES
from pppca_bench.references.selection import Text, Texts
from pppca_bench.results.statistics import holm, summarise
from pppca_bench.runs import grouped
from pppca_bench.verdicts.pairs import ALPHA
from pppca_bench.yaml_files.section import Section

_ROUNDING = 1e-6


class Claim(Section):
    """Claim: its text, its place in the source, and how it is answered; see claims.yaml."""

    id: Text
    claim: Text
    place: Text
    basis: dict[Text, Text] = Field(default_factory=dict)  # estimand, test
    sources: Texts
    answer: Text  # template of a sentence
    evidence: Text  # template of sentences, a paragraph each


class _ClaimsFile(Section):
    """Content of claims.yaml: texts of the page by name (see `Answers`), main results, and the claims."""

    page: dict[Text, Text]
    main: dict[Text, Text]  # templates of sentences, by name
    claims: tuple[Claim, ...]


Numbers = Mapping[str, Any]
"""Numbers of the texts of a claim; empty if it was not run."""

Judge = Callable[[Evidence], Numbers]


@cache
def _claims_file() -> _ClaimsFile:
    return _ClaimsFile.read(read("claims.yaml"))


def claims(snapshot: Snapshot, figures: Sequence[Figure]) -> Answers:
    """Answer the slides' claims by the tables of a snapshot, its figures, and the tables of the experiments.

    Without the experiments' tables in the folder of the results, claims and main results that need them are not run.
    """
    content = _claims_file()
    drawn = {figure.figure: figure for figure in figures}
    roles = dict[str, Any]()
    for reference in snapshot.references:
        roles |= reference.roles
    compared, shown = list[LossComparison](), list[Any]()
    for experiment in experiments():
        folder = snapshot.folder / experiment.configs[0] / "tables"
        compared += read_comparisons(experiment, folder)
        if read_tables := read_experiment(experiment, folder):
            shown.append(read_tables)
    evidence = Evidence(snapshot.runs, snapshot.facts, snapshot.numbers, drawn, roles, compared)
    results, sources = main_results(
        content.main, evidence, counts_of_parts(snapshot), numbers_of_speed(evidence, "as written")
    )
    return Answers(results, answers_of(evidence), shown[::-1], sources=sources, **content.page)


def answers_of(evidence: Evidence) -> list[Finding]:
    """Answer the claims; a claim without the runs that it needs has no answer and no evidence."""
    findings = []
    for claim in _claims_file().claims:
        numbers, answer, sentences = JUDGES[claim.id](evidence), "", list[str]()
        if numbers:
            answer = " ".join(rendered(claim.answer, numbers))
            sentences = rendered(claim.evidence, numbers)
        basis = tuple(claim.basis.items())
        findings.append(
            Finding(claim.claim, claim.place, answer, basis, tuple(sentences), claim.sources)
        )
    return findings


def tally(lines: Sequence[LossComparison], *, is_against: bool = False) -> str:
    """Return how many comparisons speak for a claim and how many against it, as a clause.

    The claim is that at most the margin is lost; with ``is_against``, this speaks against the claim.
    """
    verdicts, n = [line.verdict for line in lines], len(lines)
    n_for, n_against = verdicts.count("holds"), verdicts.count("does not hold")
    if is_against:
        n_for, n_against = n_against, n_for
    if not n_for and not n_against:
        return f"undecided in {'both' if n == 2 else f'all {n}'} comparisons"
    if n_for >= n_against:
        return f"{n_for} of {n} comparisons for, {n_against or 'none'} against"
    return f"{n_against} of {n} comparisons against, {n_for or 'none'} for"


def texts_of(lines: Sequence[LossComparison]) -> list[str]:
    """Return a sentence for each comparison, with the results of its readings."""
    results = dict[str, list[str]]()
    for line in lines:
        own = [reading for reading in READINGS if f" ({reading})" in line.short]
        name = line.short.replace(f" ({own[0]})", "") if own else line.short
        results.setdefault(name, []).append(" ".join([*own, line.result]))
    return [f"{name}: {'; '.join(own)}." for name, own in results.items()]


def _compared(claim: str, evidence: Evidence, *, is_against: bool = False) -> Numbers:
    """Return the comparisons that belong to a claim by experiment, with their counts."""
    tests = dict[str, Numbers]()
    for experiment, lines in grouped(evidence.lines(claim), lambda line: line.experiment).items():
        tests[experiment] = {
            "lines": lines,
            "texts": texts_of(lines),
            "tally": tally(lines, is_against=is_against),
            "n_above": sum(line.low > 0.0 for line in lines),
            "n_around": sum(line.low <= 0.0 <= line.high for line in lines),
            "better": [line.other for line in lines if line.gain == "holds"],
            "worse": [line.other for line in lines if line.gain == "does not hold"],
            "same_criterion": _cases([line for line in lines if not line.has_as_many]),
        }
    return {"tests": tests} if tests else {}


def _cutting(evidence: Evidence) -> Numbers:
    """Name the data sets on which the loss by the reduction is significantly below, and above, 1 point.

    Holm's correction is over the data sets of both methods, by reading. Data sets without any loss, where p is 0 by
    convention, are named apart.
    """
    numbers = dict(_compared("cutting", evidence))
    beyond, small, without = list[dict[str, str]](), list[str](), list[str]()
    for reading in READINGS:
        lines = [line for line in evidence.lines("cutting") if f"({reading})" in line.method]
        tested = pd.DataFrame([{**own, "row": line.name} for line in lines for own in line.losses])
        if tested.empty:
            continue
        below = pd.Series(holm(tested["p_of_more"].tolist())) < ALPHA
        above = pd.Series(holm((1.0 - tested["p_of_more"]).tolist())) < ALPHA
        is_without = tested["p_of_more"] == 0.0
        for line in lines:
            of_line = tested["row"] == line.name
            large = tested.loc[of_line & above, "data_set"].tolist()
            beyond.append({"method": line.method, "above": join_words(large) or "none"})
            for data_set in tested.loc[of_line & below & ~is_without, "data_set"]:
                small.append(f"{line.method} {data_set}")
            for data_set in tested.loc[of_line & is_without, "data_set"]:
                without.append(f"{line.method} {data_set}")
    exact = texts_of([line for line in evidence.compared if line.name == EXACT_PCA_LOSS])
    found = {"beyond": beyond, "below": join_words(small), "without": join_words(without)}
    return numbers | found | {"exact": exact} if numbers else {}


def _accuracy(evidence: Evidence) -> Numbers:
    """Count by rival the data sets on which pseudo-PCA is worse and better, with the median loss."""
    numbers = dict(_compared("accuracy", evidence))
    if not numbers:
        return {}
    rivals = dict[str, Any]()
    for rival, lines in grouped(evidence.lines("accuracy"), lambda line: line.other).items():
        cases = [_cases([line]) for line in lines]
        medians = [median(own["loss"] for own in line.losses) for line in lines]
        held = [line.method for line in lines if line.verdict == "holds"]
        rivals[rival] = {
            "written": _cases([line for line in lines if "(as written)" in line.method]),
            "median": ", ".join(printed(value, SIGNED) for value in medians),
            "worse": ", ".join(str(own["worse"]) for own in cases),
            "better": ", ".join(str(own["better"]) for own in cases),
            "held": join_words(held),
        }
        numbers["methods"] = join_words([line.method for line in lines])
        numbers["n"] = join_words([str(line.n) for line in lines])
    return {**numbers, "rivals": rivals}


def _cases(lines: Sequence[LossComparison]) -> dict[str, int]:
    """Return the numbers of data sets that are worse, better, and in all, over some comparisons."""
    verdicts = [own["verdict"] for line in lines for own in line.losses]
    counts = {name: verdicts.count(name) for name in ("worse", "better")}
    return counts | {"n": len(verdicts)}


def _one_pass(evidence: Evidence) -> Numbers:
    """Compare errors, and the optimality after one pass with DGHA's."""
    texts = list[str]()
    for role in ("one pass", "subspace in one pass", "dynamical"):
        means = evidence.by_data_set(role, "today", "optimality_percent", ("streaming",))
        if means:
            title = evidence.title(role, "today")
            texts.append(f"{title} {fmean(means.values()):.1f} %")
    optimality = ""
    if len(texts) > 1:
        optimality = f"Mean optimality at τ = 15 on the data sets of S1: {join_words(texts)}."
    numbers = _compared("one_pass", evidence)
    return {**numbers, "optimality": optimality} if numbers else {}


def _resource(evidence: Evidence) -> Numbers:
    method = evidence.role("evolved", "fitted").get("method")
    errors = list[float]()
    for number, cell in evidence.runs.cells.items():
        if cell.method != method or cell.problem not in evidence.facts:
            continue
        n_features = evidence.facts[cell.problem].n_features
        for record in evidence.runs.records(number):
            if "retained_variance_percent" in record and record.get("dimensionality") == n_features:
                errors.append(abs(record["retained_variance_percent"] - 100.0))
    if not errors:
        return {}
    largest = f"{max(*errors, 10.0**-DECIMALS):.1g}"
    return {"n": len(errors), "largest": largest, "is_finite": max(errors) < _ROUNDING}


def _self_repair(evidence: Evidence) -> Numbers:
    """Compare the final optimality with its minimum after removals, and with learning without removal."""
    lost = list[LossComparison]()
    for reading in READINGS:
        kept, unremoved = (
            evidence.by_data_set(role, reading, "optimality_percent")
            for role in ("dynamical", "dynamical unremoved")
        )
        # optimality is better if larger: the loss is that without removal minus that with removal
        name = f"DGHA ({reading}), optimality without removal"
        lost += tested_losses({(name, "with removal"): losses(unremoved, kept)})
    regained = _regained(evidence)
    if not regained and not lost:
        return {}
    return {"regained": regained, "lost": lost, "texts": texts_of(lost)}


def _regained(evidence: Evidence) -> list[dict[str, Any]]:
    """Return by method of F8 the shares of the largest loss of optimality that are regained by the end.

    ``n_late`` counts the problems whose largest loss is in the last tenth of the steps, which leaves no time to regain
    it.
    """
    by_method = dict[str, list[tuple[float, bool]]]()
    for panel in evidence.figures["F8"].panels if "F8" in evidence.figures else ():
        for label, curve in panel.series.items():
            means, steps = curve["mean"].to_numpy(), curve["step"].to_numpy()
            least = float(means.min())
            if least >= 1.0 - _ROUNDING:
                continue
            share = 100.0 * (float(means[-1]) - least) / (1.0 - least)
            is_late = steps[means.argmin()] >= 0.9 * steps[-1]
            by_method.setdefault(label.partition(",")[0], []).append((share, bool(is_late)))
    fitted, found = evidence.title("dynamical", "fitted"), []
    for method, problems in by_method.items():
        shares = [share for share, _ in problems]
        found.append(
            {
                # in F8, DGHA has the fitted settings
                "method": f"{method} (fitted)" if method == fitted else method,
                "share": summarise(shares),
                "n_half": sum(share >= 50.0 for share in shares),
                "n": len(shares),
                "n_late": sum(is_late for _, is_late in problems),
            }
        )
    return found


def _time_in_fitness(evidence: Evidence) -> Numbers:
    """Return the share of the fitness in the multiply-adds on the problems of T0."""
    numbers = evidence.numbers
    numbers_of_sizes = numbers[numbers["quantity"].isin(SIZES) & ~numbers["is_added"]]
    least, most = dict[str, float](), dict[str, float]()
    for problem in numbers_of_sizes["row"].unique():
        if known := evidence.facts.get(problem):
            # the share grows with the number of nodes
            n_samples, n_features = known.n_train, known.n_features
            least[problem] = fitness_operations_percent(n_samples, n_features, 1)
            most[problem] = fitness_operations_percent(n_samples, n_features, n_features)
    if not least:
        return {}
    in_order = sorted(least, key=lambda problem: least[problem])
    first, last = in_order[0], in_order[-1]
    return {
        "least": least[first],
        "most": max(most.values()),
        "n_above_half": sum(share > 50.0 for share in least.values()),
        "n": len(least),
        "least_problem": first,
        "least_share": least[first],
        "most_problem": last,
        "most_share": least[last],
    }


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


def _speed(evidence: Evidence) -> Numbers:
    """Compare operation counts, then errors with part of the data and without removal."""
    speeds, by_part, by_removal = list[Numbers](), list[LossComparison](), list[LossComparison]()
    for reading in READINGS:
        part, removed, kept = (
            evidence.by_data_set(role, reading)
            for role in ("dynamical by part", "dynamical", "hebbian")
        )
        title = f"{evidence.title('dynamical', reading)} ({reading})"
        tested = tested_losses(
            {
                (f"{title} with 10 % of the data", "with all the data"): losses(part, removed),
                (title, "GHA with all nodes"): losses(removed, kept),
            }
        )
        if (speed := numbers_of_speed(evidence, reading)) and len(tested) == 2:
            speeds.append(speed)
            by_part.append(tested[0])
            by_removal.append(tested[1])
    if not speeds:
        return {}
    return {
        "speeds": speeds,
        "texts": texts_of([*by_part, *by_removal]),
        "tally_part": tally(by_part),
        "tally_removal": tally(by_removal),
        "times": ratios_of_fit_times(evidence.numbers),
    }


def numbers_of_speed(evidence: Evidence, reading: ClaimReading) -> Numbers:
    """Return how many times fewer operations DGHA needs than GHA, with all the data and with a tenth of it.

    The means are geometric means over the data sets; ``n_faster`` of ``n`` need fewer with all data, and fewer still
    with a tenth.
    """
    roles = ("speed-up", "speed-up by part")
    all_data, part = (evidence.by_data_set(role, reading, "speedup_operations") for role in roles)
    shared = [name for name in all_data if name in part]
    if not shared:
        return {}
    return {
        "reading": reading,
        "whole": geometric_mean(all_data[name] for name in shared),
        "part": geometric_mean(part[name] for name in shared),
        "n_faster": sum(part[name] > all_data[name] > 1.0 for name in shared),
        "n": len(shared),
    }


JUDGES: Mapping[str, Judge] = {
    "cutting": _cutting,
    "resource": _resource,
    "self_repair": _self_repair,
    "time_in_fitness": _time_in_fitness,
    "accuracy": _accuracy,
    "speed": _speed,
    # exact PCA loses at most the margin: this speaks against an advantage over it
    "exact_pca": partial(_compared, "exact_pca", is_against=True),
    "one_pass": _one_pass,
}
