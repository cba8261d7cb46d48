"""The registered experiment (docs/experiment.md): errors on fourteen data sets, losses with intervals, and tests."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from pppca_bench.paper.evidence import READINGS, Evidence, Losses, Reading, Verdict
from pppca_bench.reporting.document import Document, listed, none_if_nan
from pppca_bench.reporting.pairs import ALPHA, MARGIN, by_split, corrected_t, holm
from pppca_bench.reporting.summary import NO_RUNS

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

    @property
    def verdict(self) -> Verdict:
        """Return the verdict on "most data sets lose at most 1 point"."""
        return self.losses.verdict(self.p_holm)


def experiment_documents(evidence: Evidence) -> list[Document]:
    """Return E (errors and features), E_losses (losses by data set) and E_tests (tests over data sets)."""
    return [_errors(evidence), _losses(evidence), _tests(evidence)]


def _title(evidence: Evidence, setting: Setting) -> str:
    title = evidence.title(setting.role, setting.reading)
    return title if setting in (_PCA, _ALL) else f"{title} ({setting.reading})"


def _errors(evidence: Evidence) -> Document:
    summaries = {_title(evidence, setting): evidence.summaries(*setting) for setting in SETTINGS}
    records, n_missing = list[dict[str, Any]](), 0
    for problem in dict.fromkeys(problem for own in summaries.values() for problem in own):
        record: dict[str, Any] = {"row": problem}
        for title, own in summaries.items():
            cell = own.get(problem, NO_RUNS)
            record |= {f"{title}, {name}": cell.mean(name) for name in ("test_error_percent", "dimensionality")}
            n_missing += cell.n_planned - len(cell.values("test_error_percent"))
        records.append(record)
    columns = [(title, f"{{{title}, test_error_percent:.2f}} ({{{title}, dimensionality:.1f}})") for title in summaries]
    note = "Test error in percent and, in brackets, number of features: means over the folds. τ = 15."
    return Document.of_records(
        "E",
        "Registered experiment: test errors (features)",
        [("Data set", "{row}"), *columns],
        records,
        notes=(note,),
        n_missing=n_missing,
    )


def _losses(evidence: Evidence) -> Document:
    records = []
    for setting, other in COMPARISONS:
        name = f"{_title(evidence, setting)} − {_title(evidence, other)}"
        for problem, differences in _differences(evidence, setting, other).items():
            test = corrected_t(differences, evidence.facts[problem].test_ratio)
            interval = {"low": none_if_nan(test.low), "high": none_if_nan(test.high)}
            records.append({"row": name, "data_set": problem, "loss": test.difference, **interval, "n": test.n})
    columns = (
        ("Loss", "{row}"),
        ("Data set", "{data_set}"),
        ("mean", "{loss:+.2f}"),
        ("95 % interval", "{low:+.2f} to {high:+.2f}"),
        ("n", "{n}"),
    )
    note = (
        "Loss: difference of test errors in points, paired over the folds. Interval: corrected resampled t-test (Nadeau"
        " and Bengio 2003); none where the losses of all folds are equal."
    )
    title = "Registered experiment: losses by data set"
    return Document.of_records("E_losses", title, columns, records, notes=(note,))


def _differences(evidence: Evidence, setting: Setting, other: Setting) -> dict[str, list[float]]:
    """Return the differences of test errors by data set and fold, the mean over the repeats of a fold.

    Data sets with a single fold are left out.
    """
    ours, theirs = evidence.summaries(*setting), evidence.summaries(*other)
    differences = {}
    for problem in (problem for problem in ours if problem in theirs):
        first, second = (own[problem].values("test_error_percent") for own in (ours, theirs))
        shared = {repeat: first[repeat] - second[repeat] for repeat in first if repeat in second}
        by_fold = by_split(shared, evidence.facts[problem].n_splits)
        if len(by_fold) > 1:
            differences[problem] = list(by_fold.values())
    return differences


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

    Source: Benavoli et al. 2014, 2017; computed by baycomp.
    """
    from baycomp import SignedRankTest

    ours = np.array(list(losses.by_data_set.values()))
    below, within, above = SignedRankTest.probs(
        np.zeros(len(ours)), ours, rope=MARGIN, nsamples=_N_SAMPLES, random_state=_SEED
    )
    return float(below), float(within), float(above)


def _tests(evidence: Evidence) -> Document:
    tests = run_tests(evidence)
    records = [
        {
            "row": f"{_title(evidence, setting)} − {_title(evidence, other)}",
            "n_small": test.losses.n_small,
            "n": len(test.losses.by_data_set),
            "p_holm": none_if_nan(test.p_holm),
            "verdict": test.verdict,
            "better": test.better,
            "alike": test.alike,
            "worse": test.worse,
            "mean": fmean(test.losses.by_data_set.values()),
        }
        for (setting, other), test in tests.items()
    ]
    columns = (
        ("Loss", "{row}"),
        ("at most 1 point", "{n_small} of {n}"),
        ("p (Holm)", "{p_holm:.2g}"),
        ("verdict", "{verdict}"),
        ("P(gain)", "{better:.2f}"),
        ("P(alike)", "{alike:.2f}"),
        ("P(loss)", "{worse:.2f}"),
        ("mean", "{mean:+.2f}"),
    )
    note = (
        "At most 1 point: number of data sets with such a loss. p: two-sided sign test of the hypothesis that half of"
        " the data sets have such a loss. P: posterior probabilities, by the Bayesian signed-rank test, of a loss"
        " below −1 point, within ±1 point, and above 1 point."
    )
    notes = (note, *conclusions(evidence, tests))
    title = "Registered experiment: tests over data sets"
    return Document.of_records("E_tests", title, columns, records, notes=notes)


def conclusions(evidence: Evidence, tests: Mapping[tuple[Setting, Setting], Test]) -> list[str]:
    """Return the answers to the questions of the registration, as sentences."""
    if not tests:
        return []
    at_tau = {pair[0]: test for pair, test in tests.items() if pair[1] == _PCA}
    as_many = {pair[0]: test for pair, test in tests.items() if pair[1] in SETTINGS[4:8]}
    questions = {
        "against all features": {pair[0]: test for pair, test in tests.items() if pair[1] == _ALL},
        "against exact PCA at τ = 15": at_tau,
        "against exact PCA with the same number of components": as_many,
    }
    sentences = [text for against, own in questions.items() for text in _answers(evidence, own, against)]
    better = [
        _title(evidence, setting)
        for setting in SETTINGS[:4]
        if any(own[setting].better > 1.0 - ALPHA for own in (at_tau, as_many) if setting in own)
    ]
    if better:
        text = f"Better than exact PCA by more than 1 point, with a probability above 95 %: {listed(better)}."
        return [*sentences, text]
    sentences.append("No pseudo-PCA is better than exact PCA by more than 1 point with a probability above 95 %.")
    if all(test.alike > 1.0 - ALPHA for test in as_many.values()):
        sentences.append(
            "To reduce the features of data like these, use exact PCA with as many components as you can afford. With"
            " the same number of components, its errors equal pseudo-PCA's within 1 point, and it is the cheapest."
        )
    return sentences


def _answers(evidence: Evidence, tests: Mapping[Setting, Test], against: str) -> list[str]:
    """List the settings that lose little, lose much, are undecided, and are practically equal."""
    by_verdict: dict[Verdict, list[str]] = {"holds": [], "does not hold": [], "undecided": []}
    for setting, test in tests.items():
        if test.verdict == "undecided":
            text = f"{test.losses.n_small} of {len(test.losses.by_data_set)}"
        else:
            text = f"with {_share_of_features(evidence, setting):.0f} % of the features"
        by_verdict[test.verdict].append(f"{_title(evidence, setting)}, {text}")
    most = "on significantly more than half of the data sets"
    groups = {
        f"Methods that lose at most 1 point {against} {most}": by_verdict["holds"] or ["none"],
        f"Methods that lose more than 1 point {against} {most}": by_verdict["does not hold"],
        f"Undecided {against}, with the number of data sets that lose at most 1 point": by_verdict["undecided"],
        f"Methods whose typical loss {against} is within ±1 point with a probability above 95 %": [
            _title(evidence, setting) for setting, test in tests.items() if test.alike > 1.0 - ALPHA
        ],
    }
    return [f"{text}: {'; '.join(methods)}." for text, methods in groups.items() if methods]


def _share_of_features(evidence: Evidence, setting: Setting) -> float:
    """Return the percentage of the features that a setting keeps, the mean over the data sets."""
    kept, whole = (evidence.by_problem(*own, "dimensionality") for own in (setting, _ALL))
    return fmean(100.0 * kept[problem] / whole[problem] for problem in kept if problem in whole)
