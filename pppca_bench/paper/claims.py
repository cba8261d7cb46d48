"""Verdicts on the slides' claims in two readings: as written, and with fitted settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean, geometric_mean
from typing import NamedTuple

from pppca_bench.paper.evidence import READINGS, Evidence, Part, Reading, Verdict, judge, losses
from pppca_bench.paper.fitness_times import MEAN, mean_shares
from pppca_bench.reporting.document import Finding, environment, printed
from pppca_bench.reporting.pairs import MARGIN
from pppca_bench.reporting.summary import summarise
from pppca_bench.runs import Names

PSEUDO = ("evolved", "dynamical")
"""Roles of the slides' methods in the claims."""

_ONE_PASS = ("one pass", "subspace in one pass")

Parts = Iterator[Part]

_ROUNDING = 1e-6


def _cutting(evidence: Evidence, reading: Reading) -> Parts:
    for role in PSEUDO:
        sentence = f"{evidence.title(role, reading)} against all features, with the same classifier: {{}}."
        if retained := evidence.by_data_set(role, reading, "optimality_percent").values():
            sentence += (
                f" The features retain {fmean(retained):.1f} % of the variance that the same number of exact"
                f" components retains ({min(retained):.1f} % on the worst data set)."
            )
        yield from _loss(evidence, reading, role, "untouched", sentence)


def _finite_resource(evidence: Evidence, reading: Reading) -> Parts:
    method, errors = evidence.role("evolved", reading).get("method"), []
    for cell, runs in evidence.results.cells.items():
        known = evidence.facts.get(cell.problem)
        if cell.method == method and known is not None:
            kept, retained = (runs.of_done(name) for name in ("dimensionality", "retained_variance_percent"))
            errors += [abs(retained[n] - 100.0) for n in retained if kept.get(n) == known.n_features]
    if errors:
        yield Part(
            "The claim follows from algebra: an orthogonal change of basis preserves the trace of the covariance"
            f" matrix. The runs only check the program. In {len(errors)} runs NE-pPCA kept as many orthonormal nodes as"
            f" there are features; the retained variance differs from 100 % by at most {max(errors):.1g} points.",
            "holds" if max(errors) < _ROUNDING else "does not hold",
        )


def _self_repair(evidence: Evidence, reading: Reading) -> Parts:
    """Compare the final optimality with its minimum after removals, and with learning without removal."""
    regained: dict[str, list[float]] = {}  # in F8, NE-pPCA's curves are of both readings, DGHA's of the fitted reading
    for panel, _, means in evidence.curves("F8"):
        least, last = float(means.min()), float(means.iloc[-1])
        if least < 1.0 - _ROUNDING:
            method = panel.partition(") ")[2].partition(",")[0]
            regained.setdefault(method, []).append((last - least) / (1.0 - least))
    if reading != "fitted":
        regained.pop(evidence.title("dynamical", reading), None)
    for method, shares in regained.items():
        half, mean = sum(share >= 0.5 for share in shares), summarise(shares)
        low, average, high = (printed(100.0 * share, ".0f") for share in (mean.low, mean.mean, mean.high))
        interval = f" (95 % interval {low} to {high} %)" if len(shares) > 1 else ""
        yield Part(
            f"{method}: removals lower the optimality. By the end, {average} % of the largest loss is regained on"
            f" average{interval}, and at least half of it on {half} of {len(shares)} problems.",
            "holds" if half == len(shares) else "holds in part" if half else "does not hold",
        )
    kept, whole = (
        evidence.by_data_set(role, reading, "optimality_percent") for role in ("dynamical", "dynamical unremoved")
    )
    # Optimality is better if larger: the loss is the optimality without removal minus the optimality with removal.
    if loss := losses(whole, kept):
        yield Part(
            "Optimality of DGHA against the optimality of the same number of rows, which learn from the start and are"
            " never removed: {}.",
            losses=loss,
        )


def _time_in_fitness(evidence: Evidence, _: Reading) -> Parts:
    """Judge whether the fitness takes more than half of the literal algorithm's time, and count its multiply-adds."""
    means = mean_shares(evidence.results)
    if not means:
        return
    whole = means.pop(MEAN)
    shares = {problem: own["fitness_time_percent"] for problem, own in means.items()}
    least, most = min(shares, key=shares.__getitem__), max(shares, key=shares.__getitem__)
    n_most = sum(share > 50.0 for share in shares.values())
    yield Part(
        f"In the slides' literal algorithm, the fitness takes {whole['fitness_time_percent']:.1f} % of the time on"
        f" average ({shares[least]:.1f} % on {least}, {shares[most]:.1f} % on {most}), and more than half on {n_most}"
        f" of {len(shares)} problems. The slides say 75 to 80 %.",
        "holds" if n_most == len(shares) else "holds in part" if n_most else "does not hold",
    )
    operations = [own["fitness_operations_percent"] for own in means.values()]
    yield Part(
        f"On average, the responses of all samples and their variances take {whole['responses_time_percent']:.1f} % of"
        f" the time, the Gram–Schmidt process {whole['gram_schmidt_time_percent']:.1f} % and breeding"
        f" {whole['breeding_time_percent']:.1f} %. Of the multiply-adds, the fitness takes {min(operations):.1f} to"
        f" {max(operations):.1f} %."
    )


def _accuracy(evidence: Evidence, reading: Reading) -> Parts:
    """Compare NE-pPCA with the other systems of T2, and NE-pPCA and DGHA with the selections of T3."""
    own = {role: evidence.by_problem(role, reading) for role in PSEUDO}
    methods = {evidence.role(role, reading).get("method") for role in PSEUDO}
    parts = []
    for table, line, roles in (("T2", "column", PSEUDO[:1]), ("T3", "row", PSEUDO)):
        cells = evidence.tables[table].cells.values() if table in evidence.tables else ()
        others = {getattr(cell, line) for cell in cells if cell.selector and cell.selector.method not in methods}
        for role in roles:
            for other in sorted(others):
                if loss := losses(own[role], evidence.line(table, **{line: other})):
                    sentence = f"{table}, {evidence.title(role, reading)} against {other}: {{}}."
                    parts.append(Part(sentence, losses=loss))
    if parts:
        yield Part("The systems differ in reduction and classifier. Claim 1 compares methods with the same classifier.")
    yield from parts


def _speed(evidence: Evidence, reading: Reading) -> Parts:
    """Compare operation counts, then errors with part of the data and without removal, at equal numbers of epochs."""
    whole, part = (
        evidence.by_data_set(role, reading, "speedup_operations") for role in ("speed-up", "speed-up by part")
    )
    if shared := [name for name in whole if name in part]:
        n_faster = sum(part[name] > whole[name] > 1.0 for name in shared)
        means = [geometric_mean(ratios[name] for name in shared) for ratios in (whole, part)]
        yield Part(
            f"Speed-up over GHA in multiply-adds, at the same number of epochs: {means[0]:.1f} with all the data and"
            f" {means[1]:.1f} with 10 % of the data (geometric means over {len(shared)} data sets)."
            f" On {n_faster} data sets both are above 1, and the speed-up with 10 % is the larger.",
            "holds" if n_faster == len(shared) else "holds in part" if n_faster else "does not hold",
        )
    if reading == "fitted":
        yield from _measured_times(evidence)
    yield from _loss(evidence, reading, "dynamical by part", "dynamical", "10 % of the data against all the data: {}.")
    sentence = "DGHA against GHA with all nodes and the same number of epochs: {}."
    yield from _loss(evidence, reading, "dynamical", "hebbian", sentence)


def _measured_times(evidence: Evidence) -> Parts:
    for table, problem in (("T4", "cancer1"), ("T6", "horse1")):
        rows = f"{problem}, 100%", f"{problem}, 10%"
        names = ("speedup_operations", "speedup", "speedup_fast")
        lines = [evidence.line(table, row=row, quantity=name).values() for name in names for row in rows]
        if not all(lines):
            continue
        ratios = [geometric_mean(line) for line in lines]
        own = evidence.over_repeats(table, rows[1], "speedup_operations")
        interval = f" (95 % interval {own.low:.1f} to {own.high:.1f})" if own else ""
        yield Part(
            f"Speed-up on {problem} with all the data, and with 10 % of the data (geometric means over τ): in"
            f" multiply-adds {ratios[0]:.1f}, and {ratios[1]:.1f}{interval}; in time with the literal kernel"
            f" {ratios[2]:.1f}, and {ratios[3]:.1f}; in time with the fast kernel, whose cost is linear, not quadratic,"
            f" in the number of nodes, {ratios[4]:.1f}, and {ratios[5]:.1f}.",
            "holds" if ratios[1] > ratios[0] > 1.0 else "does not hold",
        )


def _against_pca(evidence: Evidence, reading: Reading) -> Parts:
    """Compare exact PCA with pseudo-PCA, under the same criterion and with the same number of components."""
    if evidence.by_data_set("exact", reading):
        yield Part(
            "The classifier standardises its inputs, so that directions of small variance count as much as others. If"
            " nearly all components are kept, as on horse, a loss says little about the directions. The classifier of"
            " the registered experiment (docs/experiment.md) does not standardise."
        )
    for role in PSEUDO:
        title = evidence.title(role, reading)
        if dimensions := evidence.ratio(role, "exact", reading, "dimensionality"):
            sentence = f"Exact PCA against {title}, both at τ = 15: {{}}."
            sentence += f" {title} keeps {dimensions:.2f} times as many dimensions as exact PCA."
            yield from _loss(evidence, reading, "exact", role, sentence, inverted=True)
        sentence = f"Exact PCA against {title}, with the same number of components: {{}}."
        yield from _loss(evidence, reading, f"{role} exact", role, sentence, inverted=True)


def _pca_advice(evidence: Evidence) -> str:
    """Return the advice to use exact PCA, by the reading as written; "" if exact PCA loses more than pseudo-PCA."""
    reading, errors = READINGS[0], []
    for role in PSEUDO:
        loss = losses(evidence.by_data_set(f"{role} exact", reading), evidence.by_data_set(role, reading))
        if not loss:
            return ""
        title = evidence.title(role, reading)
        errors.append(f"on {loss.n_small} of {len(loss.by_data_set)} data sets against {title}")
        if loss.verdict(loss.p) == "does not hold":
            return ""
    return (
        "Exact PCA is cheaper than pseudo-PCA if all samples are available (table fit_times). With the same number of"
        f" components, it loses at most {MARGIN:g} point of test error {' and '.join(errors)}."
    )


def _one_pass(evidence: Evidence, reading: Reading) -> Parts:
    """Compare CCIPCA and similarity matching with removal, after one pass, with DGHA and exact PCA."""
    own = evidence._replace(configs=("streaming",), claims={reading: evidence.claims.get("today", {})})
    shares = {role: own.by_data_set(role, reading, "optimality_percent") for role in (*_ONE_PASS, "dynamical")}
    dynamical, other = shares["dynamical"], own.title("dynamical", reading)
    for role in _ONE_PASS:
        title = own.title(role, reading)
        if dynamical and dynamical.keys() <= shares[role].keys():
            mean, worst = fmean(shares[role].values()), min(shares[role].values())
            theirs, least = fmean(dynamical.values()), min(dynamical.values())
            n_better = (mean >= theirs) + (worst >= least)
            yield Part(
                f"{title} with removal reaches an optimality of {mean:.1f} % after one pass ({worst:.1f} % on the worst"
                f" of {len(dynamical)} data sets); {other} reaches {theirs:.1f} % after 36 epochs ({least:.1f} %).",
                ("does not hold", "holds in part", "holds")[n_better],
            )
        yield from _loss(own, reading, role, "dynamical", f"{title} after one pass against {other}, τ = 15: {{}}.")
        yield from _loss(own, reading, role, "exact", f"{title} after one pass against exact PCA, τ = 15: {{}}.")


def _loss(
    evidence: Evidence, reading: Reading, role: str, other: str, sentence: str, *, inverted: bool = False
) -> Parts:
    """Yield the losses of a role against another by data set, if they share at least two data sets."""
    if loss := losses(evidence.by_data_set(role, reading), evidence.by_data_set(other, reading)):
        yield Part(sentence, losses=loss, inverted=inverted)


class Claim(NamedTuple):
    """Claim of the slides: its place there, the tables and figures with its numbers, and the functions to judge it."""

    text: str
    place: str
    sources: Names
    judge: Callable[[Evidence, Reading], Parts]
    advise: Callable[[Evidence], str] = lambda _: ""
    readings: tuple[Reading, ...] = READINGS


CLAIMS = (
    Claim(
        "Low-informative subspaces can be cut without knowing the exact components.",
        'slides "Pseudo-PCA"',
        ("variants_as_written", "T1", "T1b", "F6"),
        _cutting,
    ),
    Claim(
        "The sum of variances is a finite resource, the same for any orthogonal basis.",
        "slides, proposition before criterion (1)",
        ("R",),
        _finite_resource,
        readings=READINGS[1:],
    ),
    Claim(
        "Pseudo-PCA repairs itself: the variance of removed nodes is regained by the rest.",
        'slides "Change of averaged variance of projections"',
        ("variants_as_written", "F8", "F2", "F3"),
        _self_repair,
    ),
    Claim(
        "Fitness takes most of NE-pPCA's time.",
        'slides "Future Research"',
        ("fitness_times",),
        _time_in_fitness,
        readings=READINGS[1:],
    ),
    Claim(
        "Classification accuracy does not suffer, against the Proben1 networks, GA, pruning and feature selection.",
        'slides "Comparison"',
        ("T2", "T3", "variants_as_written"),
        _accuracy,
    ),
    Claim(
        "DGHA is much faster than GHA, more so with part of the data, without loss.",
        'slides "Speed-up and Accuracy"',
        ("variants_as_written", "T4", "T5", "T6", "T7"),
        _speed,
    ),
    Claim(
        "Pseudo-PCA has an advantage over exact PCA under the same criterion.",
        "a question that the slides leave open",
        ("variants_as_written", "T1", "T1b", "F6"),
        _against_pca,
        _pca_advice,
    ),
    Claim(
        "A modern streaming pseudo-PCA achieves in one pass what DGHA achieves in many epochs.",
        "a question that the slides leave open",
        ("F9", "S1", "S2"),
        _one_pass,
        readings=READINGS[1:],
    ),
)


def judge_claims(evidence: Evidence) -> list[Finding]:
    """Judge the slides' claims in each reading; claims that do not depend on the settings are judged once."""
    findings = []
    for claim in CLAIMS:
        verdicts, sentences = list[Verdict](), list[str]()
        for reading in claim.readings:
            verdict, own = judge(list(claim.judge(evidence, reading)))
            prefix = f"{reading.capitalize()}: " if len(claim.readings) > 1 else ""
            verdicts.append(verdict)
            sentences += [prefix + sentence for sentence in own]
        judged = verdicts[0], verdicts[-1], tuple(sentences)
        findings.append(Finding(claim.text, claim.place, *judged, claim.sources, claim.advise(evidence)))
    return findings


RIGHT_TOOL = "When is each the right tool?"


def advice_of(benchmarks: str) -> str:
    """Return the paragraph on when to use each method from the page of benchmarks; "" if the page lacks it."""
    *_, rest = benchmarks.partition(f"**{RIGHT_TOOL}**")
    return rest.partition("\n\n")[0].strip()


def render_findings(findings: Sequence[Finding], links: Mapping[str, str], advice: str = "") -> str:
    """Render findings and the advice of `advice_of` as Markdown; tables and figures without a link are only named."""
    template = environment().get_template("findings.md")
    return template.render(findings=findings, links=links, advice=advice, right_tool=RIGHT_TOOL, margin=MARGIN)
