"""The registered experiment (docs/experiment.md): errors on fourteen data sets, losses with intervals, and tests."""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from pppca_bench.reporting.document import EMPTY, SIGNED, Document, listed, number, printed
from pppca_bench.reporting.evidence import MATTERS, READINGS, Evidence, Losses, Reading
from pppca_bench.reporting.pairs import ALPHA, by_split, corrected_t, holm

CONFIGS = ("experiment", "experiment_large")
"""Configs of the experiment."""

_SEED, _N_SAMPLES = 1994, 5000
_PSEUDO = ("evolved", "dynamical")


class Setting(NamedTuple):
    """Method of the experiment: its role in the claims, and the reading."""

    role: str
    reading: Reading


SETTINGS = (
    *(Setting(role, reading) for role in _PSEUDO for reading in READINGS),
    *(Setting(f"{role} exact", reading) for role in _PSEUDO for reading in READINGS),
    Setting("exact", "as written"),
    Setting("untouched", "as written"),
)
_PCA, _ALL = SETTINGS[-2:]
COMPARISONS = (
    *((setting, _ALL) for setting in (*SETTINGS[:4], _PCA)),
    *((setting, other) for setting, like in zip(SETTINGS[:4], SETTINGS[4:8], strict=True) for other in (_PCA, like)),
)
"""Pairs of settings that are compared: the first's error minus the second's is its loss."""


class Test(NamedTuple):
    """Tests of a comparison over data sets.

    ``losses`` by data set, in points; ``p_holm`` of the sign test; ``better``, ``alike`` and ``worse``: posterior
    probabilities that the typical loss is below −1 point, within ±1 point, and above 1 point.
    """

    losses: Losses
    p_holm: float
    better: float
    alike: float
    worse: float


def experiment_documents(evidence: Evidence) -> list[Document]:
    """Return E (errors and features), E_losses (losses by data set) and E_tests (tests over data sets)."""
    return [_errors(evidence), _losses(evidence), _tests(evidence)]


def _title(evidence: Evidence, setting: Setting) -> str:
    title = evidence.title(setting.role, setting.reading)
    return title if setting in (_PCA, _ALL) else f"{title} ({setting.reading})"


def _errors(evidence: Evidence) -> Document:
    rows, records, n_missing = [], list[dict[str, Any]](), 0
    summaries = {setting: evidence.summaries(*setting) for setting in SETTINGS}
    problems = list(dict.fromkeys(problem for own in summaries.values() for problem in own))
    for problem in problems:
        row, record = [problem], dict[str, Any](row=problem)
        for setting in SETTINGS:
            own = summaries[setting].get(problem)
            known = own.quantities if own else {}
            error, size = (
                known[name].mean if name in known else None for name in ("test_error_percent", "dimensionality")
            )
            row.append(EMPTY if error is None else f"{number(error, 2)} ({number(size, 1)})")
            title = _title(evidence, setting)
            record |= {f"{title}, test_error_percent": error, f"{title}, dimensionality": size}
            n_missing += (own.n_planned - known["test_error_percent"].n if known else own.n_planned) if own else 0
        rows.append(row)
        records.append(record)
    headers = ("Data set", *(_title(evidence, setting) for setting in SETTINGS))
    note = "Test error in percent and, in brackets, number of features: means over the folds. τ = 15."
    title = "Registered experiment: test errors (features)"
    return Document("E", title, "", headers, rows, (note,), records, was_run=bool(rows), n_missing=n_missing)


def _losses(evidence: Evidence) -> Document:
    rows, records = [], list[dict[str, Any]]()
    for setting, other in COMPARISONS:
        name = f"{_title(evidence, setting)} − {_title(evidence, other)}"
        for problem, differences in _differences(evidence, setting, other).items():
            test = corrected_t(differences, evidence.facts[problem].test_ratio)
            interval = EMPTY if math.isnan(test.low) else f"{printed(test.low, SIGNED)} to {printed(test.high, SIGNED)}"
            rows.append((name, problem, printed(test.difference, SIGNED), interval, str(test.n)))
            values = {"loss": test.difference, "low": test.low, "high": test.high, "n": test.n}
            known = {
                key: None if isinstance(value, float) and math.isnan(value) else value for key, value in values.items()
            }
            records.append({"row": name, "data_set": problem, **known})
    note = (
        "Loss: difference of test errors in points, paired over the folds. Interval: corrected resampled t-test (Nadeau"
        " and Bengio 2003); none where the losses of all folds are equal."
    )
    title = "Registered experiment: losses by data set"
    return Document(
        "E_losses",
        title,
        "",
        ("Loss", "Data set", "mean", "95 % interval", "n"),
        rows,
        (note,),
        records,
        was_run=bool(rows),
    )


def _differences(evidence: Evidence, setting: Setting, other: Setting) -> dict[str, list[float]]:
    """Return the differences of test errors by data set and fold, the mean over the repeats of a fold.

    Data sets with a single fold are left out.
    """
    ours, theirs = evidence.summaries(*setting), evidence.summaries(*other)
    differences = {}
    for problem in ours.keys() & theirs.keys():
        first, second = (own[problem].values.get("test_error_percent", {}) for own in (ours, theirs))
        shared = {repeat: first[repeat] - second[repeat] for repeat in first if repeat in second}
        by_fold = by_split(shared, evidence.facts[problem].n_splits)
        if len(by_fold) > 1:
            differences[problem] = list(by_fold.values())
    return {problem: differences[problem] for problem in ours if problem in differences}


def run_tests(evidence: Evidence) -> dict[tuple[Setting, Setting], Test]:
    """Test every comparison over the data sets: sign test with Holm's correction, Bayesian signed-rank test."""
    losses = {}
    for pair in COMPARISONS:
        if differences := _differences(evidence, *pair):
            losses[pair] = Losses({problem: fmean(own) for problem, own in differences.items()})
    p_values = holm([own.p for own in losses.values()])
    return {
        pair: Test(own, p, *_signed_rank_probabilities(own))
        for (pair, own), p in zip(losses.items(), p_values, strict=True)
    }


def _signed_rank_probabilities(losses: Losses) -> tuple[float, float, float]:
    """Return the posterior probabilities of a loss below, within and above the region of practical equivalence.

    Source: Benavoli et al. 2014, 2017, by baycomp.
    """
    from baycomp import SignedRankTest

    ours = np.array(list(losses.by_data_set.values()))
    below, within, above = SignedRankTest.probs(
        np.zeros(len(ours)), ours, rope=MATTERS, nsamples=_N_SAMPLES, random_state=_SEED
    )
    return float(below), float(within), float(above)


def _tests(evidence: Evidence) -> Document:
    rows, records = [], list[dict[str, Any]]()
    tests = run_tests(evidence)
    for (setting, other), test in tests.items():
        name = f"{_title(evidence, setting)} − {_title(evidence, other)}"
        n, verdict = len(test.losses.by_data_set), test.losses.verdict(test.p_holm)
        p = EMPTY if math.isnan(test.p_holm) else f"{test.p_holm:.2g}"
        chances = [f"{value:.2f}" for value in (test.better, test.alike, test.worse)]
        mean = fmean(test.losses.by_data_set.values())
        rows.append((name, f"{test.losses.n_small} of {n}", p, verdict, *chances, printed(mean, SIGNED)))
        records.append(
            {
                "row": name,
                "n_small": test.losses.n_small,
                "n": n,
                "p_holm": None if math.isnan(test.p_holm) else test.p_holm,
                "verdict": verdict,
                "better": test.better,
                "alike": test.alike,
                "worse": test.worse,
                "mean": mean,
            }
        )
    headers = ("Loss", "at most 1 point", "p (Holm)", "verdict", "P(gain)", "P(alike)", "P(loss)", "mean")
    notes = (
        "At most 1 point: number of data sets with such a loss. p: two-sided sign test that half of them have it. P:"
        " posterior probabilities of the Bayesian signed-rank test that the loss is below −1 point, within ±1 point,"
        " above 1 point.",
        *conclusions(evidence, tests),
    )
    title = "Registered experiment: tests over data sets"
    return Document("E_tests", title, "", headers, rows, notes, records, was_run=bool(rows))


def conclusions(evidence: Evidence, tests: Mapping[tuple[Setting, Setting], Test]) -> list[str]:
    """Return what holds, sentences for each question of the registration."""
    if not tests:
        return []
    sentences = _against(
        evidence, {pair[0]: test for pair, test in tests.items() if pair[1] == _ALL}, "In place of all features"
    )
    at_tau = {pair[0]: test for pair, test in tests.items() if pair[1] == _PCA}
    as_many = {pair[0]: test for pair, test in tests.items() if pair[1] in SETTINGS[4:8]}
    sentences += _against(evidence, at_tau, "Against exact PCA at τ = 15")
    sentences += _against(evidence, as_many, "Against exact PCA with as many components")
    better = [
        _title(evidence, setting)
        for setting in SETTINGS[:4]
        if any(own[setting].better > 1.0 - ALPHA for own in (at_tau, as_many) if setting in own)
    ]
    if better:
        return [
            *sentences,
            f"Better than exact PCA by more than 1 point, with a probability above 95 %: {listed(better)}.",
        ]
    sentences.append("No pseudo-PCA is better than exact PCA by more than 1 point with a probability above 95 %.")
    if not all(test.alike > 1.0 - ALPHA for test in as_many.values()):
        return sentences
    return [
        *sentences,
        "For data like these, where fewer features are wanted, use exact PCA with as many components as can be"
        " afforded: it errs as pseudo-PCA does with that number, and is the cheapest.",
    ]


def _against(evidence: Evidence, tests: Mapping[Setting, Test], question: str) -> list[str]:
    """Return which settings lose little, which lose much, and which are practically equal."""
    few = {verdict: list[str]() for verdict in ("holds", "does not hold")}
    alike, open_ = list[str](), list[str]()
    for setting, test in tests.items():
        verdict, title = test.losses.verdict(test.p_holm), _title(evidence, setting)
        if verdict in few:
            few[verdict].append(f"{title}, with {_share_of_features(evidence, setting):.0f} % of the features")
        if test.alike > 1.0 - ALPHA:
            alike.append(title)
        if verdict == "undecided":
            open_.append(f"{title}, {test.losses.n_small} of {len(test.losses.by_data_set)}")
    keeps, loses = few["holds"], few["does not hold"]
    most = "significantly more than half of the data sets"
    sentences = [f"{question}, a loss of at most 1 point on {most}: {'; '.join(keeps) or 'no method'}."]
    if loses:
        sentences.append(f"{question}, a loss of more than 1 point on {most}: {'; '.join(loses)}.")
    if open_:
        sentences.append(f"{question}, undecided, with data sets that lose at most 1 point: {'; '.join(open_)}.")
    if alike:
        sentences.append(
            f"{question}, a typical loss within ±1 point with a probability above 95 %: {'; '.join(alike)}."
        )
    return sentences


def _share_of_features(evidence: Evidence, setting: Setting) -> float:
    """Return the percentage of the features that a setting keeps, the mean over the data sets."""
    kept, whole = (evidence.by_problem(*own, "dimensionality") for own in (setting, _ALL))
    return fmean(100.0 * kept[problem] / whole[problem] for problem in kept if problem in whole)
