"""Registered experiments: errors, losses by data set, tests over data sets, and a matrix of verdicts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pppca_bench.documents import Section, read_yaml
from pppca_bench.paper.losses import (
    MARGINS,
    ONE_POINT,
    TESTS,
    Losses,
    Margin,
    Test,
    Verdict,
    equivalence,
    judge_losses,
    typical_loss,
    verdict_within,
)
from pppca_bench.references.layout import Identifier, Settings, Text, Texts
from pppca_bench.reporting.document import EMPTY, Document, Grid, none_if_nan, record_text
from pppca_bench.reporting.figure_data import Figure, Panel
from pppca_bench.reporting.pairs import ALPHA, by_split, corrected_t
from pppca_bench.reporting.summary import CellSummary, Results
from pppca_bench.runs import Facts, Selector

ENDINGS = ("", "_losses", "_tests", "_margins", "_matrix")
"""Ends of the identifiers of an experiment's tables."""

_ERROR, _SIZE = "test_error_percent", "dimensionality"
_WHERE: Mapping[Test, str] = {
    "sign test": "on significantly more than half of the data sets",
    "signed-rank test": "on a typical data set",
}
_TESTED = (
    "At most 1 point: number of data sets with such a loss. Apart: data sets that are not tested, since nothing was cut"
    " there. p: two-sided {}. Typical: Hodges–Lehmann estimate with its interval. P: posterior probabilities, by"
    " the Bayesian signed-rank test, of a loss below −1 point, within ±1 point, and above 1 point."
)
_WITHIN = (
    "Loss: difference of test errors in points, paired over the folds. Interval: corrected resampled t-test (Nadeau and"
    " Bengio 2003); none where the losses of all folds are equal. Equivalent: the 90 % interval is within ±1 point."
    " Worse or better: not equivalent, and the 95 % interval is above or below 0. Unclear: neither."
)
_APART = "In brackets: not tested over data sets, since the method keeps nearly all features."

Record = dict[str, Any]
Summaries = Mapping[str, Mapping[str, CellSummary]]


class Group(Section):
    """Comparisons that answer a question: each of `first` minus each of `second`; ``{}`` is the other method's name."""

    title: Text
    first: Texts
    second: Texts
    is_second_cut: bool = False  # whether the second method's features, not the first's, show that something was cut
    counted: bool = True  # whether the comparisons are tested
    claim: str = ""  # of claims.yaml, which the comparisons answer
    advice: str = ""  # that follows if all typical losses are within 1 point

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield the names of the methods of each comparison."""
        for first, second in itertools.product(self.first, self.second):
            yield first.format(second), second.format(first)


class Experiment(Section):
    """Registered experiment: its page, configs, primary test and comparisons."""

    id: Identifier
    title: Text
    page: Text
    configs: Texts
    test: Test
    groups: tuple[Group, ...]
    most_features: float = np.inf  # percentage of the features from which on nothing was cut

    def methods(self) -> list[str]:
        """Return the names of the compared methods, in the order of the tables."""
        compared = {name for group in self.groups for pair in group.pairs() for name in pair}
        return [name for name in _document().methods if name in compared]


class _Document(Section):
    methods: dict[Text, Settings]
    experiments: tuple[Experiment, ...]


class Comparison(NamedTuple):
    """Comparison of two methods: a record for each data set."""

    name: str
    label: str  # name, without the second method if the group has only one
    group: Group
    data_sets: Sequence[Record]

    def losses(self, *, with_apart: bool = False) -> Losses:
        """Return the losses on the data sets where something was cut, or on all data sets."""
        kept = [record for record in self.data_sets if with_apart or not record["_is_apart"]]
        return Losses(*({own["data_set"]: own[name] for own in kept} for name in ("loss", "_other")))


@cache
def _document() -> _Document:
    return _Document.read(read_yaml(Path(str(files(__package__))) / "experiments.yaml"))


def experiments() -> tuple[Experiment, ...]:
    """Return the registered experiments, in the order of their registration."""
    return _document().experiments


def method_settings(name: str) -> tuple[str, dict[str, Any]]:
    """Return the registry's name of a method of the experiments, and the settings that select its runs."""
    settings = dict(_document().methods[name])
    return settings.pop("method"), settings


def experiment_documents(experiment: Experiment, results: Results, facts: Facts) -> list[Document]:
    """Return the tables of errors, losses by data set, tests over data sets, tests with other margins, and verdicts.

    Their identifiers are the experiment's with each of `ENDINGS`.
    """
    summaries = _summaries(experiment, results)
    comparisons = compare(experiment, summaries, facts)
    tests = _tests(comparisons, experiment.test)
    return [
        _errors(experiment, summaries),
        Document.of_records(
            f"{experiment.id}_losses",
            f"{experiment.title}: losses by data set",
            (
                ("Loss", "{row}"),
                ("Data set", "{data_set}"),
                ("mean", "{loss:+.2f}"),
                ("95 % interval", "{low:+.2f} to {high:+.2f}"),
                ("verdict", "{verdict}"),
                ("features, %", "{features_percent:.0f}"),
                ("n", "{n}"),
            ),
            [record for own in comparisons for record in own.data_sets],
            notes=(_WITHIN,),
        ),
        Document.of_records(
            f"{experiment.id}_tests",
            f"{experiment.title}: tests over data sets",
            _TEST_COLUMNS,
            tests,
            notes=(_TESTED.format(experiment.test), *conclusions(experiment, tests)),
        ),
        Document.of_records(
            f"{experiment.id}_margins",
            f"{experiment.title}: other margins and tests",
            (*_TEST_COLUMNS[:1], ("margin or test", "{variant}"), *_TEST_COLUMNS[2:8]),
            list(_variants(comparisons, experiment.test)),
            notes=(f"As in {experiment.id}_tests; P is with the margin.",),
        ),
        _matrix(experiment, comparisons),
    ]


def experiment_figure(experiment: Experiment, results: Results, facts: Facts) -> Figure:
    """Return the matrix of verdicts within data sets; without panels if nothing was run."""
    comparisons = compare(experiment, _summaries(experiment, results), facts)
    order = _data_sets(comparisons)
    panels = []
    for group, own in _by_group(comparisons):
        cells = [{"column": comparison.label, **record} for comparison in own for record in comparison.data_sets]
        cells.sort(key=lambda cell: order.index(cell["data_set"]))
        data = pd.DataFrame(cells).rename(columns={"_is_apart": "is_apart"})
        panels.append(Panel("grid", group.title, data))
    title = f"{experiment.title}: losses by data set, in points"
    note = f"{_WITHIN} {_APART}"
    return Figure(f"{experiment.id}_matrix", title, "", "", "", panels, note, basis="Means over the folds.")


def _summaries(experiment: Experiment, results: Results) -> Summaries:
    """Return the runs of each method by problem; the methods are in the order of the tables."""
    problems = dict.fromkeys(cell.problem for cell in results.of_config(*experiment.configs))
    summaries = {}
    for name in experiment.methods():
        method, settings = method_settings(name)
        selectors = {problem: Selector(problem, method, tuple(settings.items())) for problem in problems}
        own = {problem: results.summary(selectors[problem], experiment.configs) for problem in problems}
        summaries[name] = {problem: summary for problem, summary in own.items() if summary.n_planned}
    return summaries


def compare(experiment: Experiment, summaries: Summaries, facts: Facts) -> list[Comparison]:
    """Return the comparisons with the data sets on which both methods have at least two folds in common.

    Losses are paired over the repeats, and averaged over the repeats of a fold.
    """
    comparisons = []
    for group in experiment.groups:
        for first, second in group.pairs():
            name, records = f"{first} − {second}", list[Record]()
            cut = summaries[second if group.is_second_cut else first]
            for problem in (problem for problem in summaries[first] if problem in summaries[second]):
                ours, theirs = (summaries[method][problem].values(_ERROR) for method in (first, second))
                repeats, known = [repeat for repeat in ours if repeat in theirs], facts[problem]
                losses = by_split({repeat: ours[repeat] - theirs[repeat] for repeat in repeats}, known.n_splits)
                if len(losses) < 2:
                    continue
                test = corrected_t(list(losses.values()), known.test_ratio)
                kept = 100.0 * (cut[problem].mean(_SIZE) or 0.0) / known.n_features
                interval = {"low": none_if_nan(test.low), "high": none_if_nan(test.high)}
                record = {"row": name, "data_set": problem, "loss": test.difference, **interval}
                record |= {"verdict": verdict_within(test), "features_percent": kept, "n": test.n}
                hidden = {"_other": fmean(theirs[repeat] for repeat in repeats)}
                records.append(record | hidden | {"_is_apart": kept >= experiment.most_features})
            if records:
                label = first if len(group.second) == 1 else name
                comparisons.append(Comparison(name, label, group, records))
    return comparisons


def _errors(experiment: Experiment, summaries: Summaries) -> Document:
    cells = [cell for own in summaries.values() for cell in own.values()]
    problems = dict.fromkeys(problem for own in summaries.values() for problem in own)
    records = [
        {"row": problem}
        | {
            f"{name}, {quantity}": own[problem].mean(quantity) if problem in own else None
            for name, own in summaries.items()
            for quantity in (_ERROR, _SIZE)
        }
        for problem in problems
    ]
    columns = [(name, f"{{{name}, {_ERROR}:.2f}} ({{{name}, {_SIZE}:.1f}})") for name in summaries]
    note = "Test error in percent and, in brackets, number of features: means over the folds. τ = 15."
    return Document.of_records(
        experiment.id,
        f"{experiment.title}: test errors (features)",
        [("Data set", "{row}"), *columns],
        records,
        notes=(note,),
        n_missing=sum(cell.n_planned - len(cell.values(_ERROR)) for cell in cells),
    )


_TEST_COLUMNS = (
    ("Loss", "{row}"),
    ("at most 1 point", "{n_small} of {n}"),
    ("apart", "{n_apart}"),
    ("p (Holm)", "{p_holm:.2g}"),
    ("verdict", "{verdict}"),
    ("P(gain)", "{better:.2f}"),
    ("P(alike)", "{alike:.2f}"),
    ("P(loss)", "{worse:.2f}"),
    ("mean", "{mean:+.2f}"),
    ("typical", "{typical:+.2f}"),
    ("95 % interval", "{low:+.2f} to {high:+.2f}"),
)


def _tests(
    comparisons: Sequence[Comparison], test: Test, margin: Margin = ONE_POINT, *, with_apart: bool = False
) -> list[Record]:
    """Return the tests over data sets; p has Holm's correction over the comparisons that count."""
    samples = [(own, own.losses(with_apart=with_apart)) for own in comparisons]
    samples = [(own, sample) for own, sample in samples if sample.by_data_set]
    judged = iter(judge_losses([sample for own, sample in samples if own.group.counted], test, margin))
    records = []
    for own, sample in samples:
        losses = np.array(list(sample.by_data_set.values()))
        p, verdict = next(judged) if own.group.counted else (np.nan, EMPTY)
        low, typical, high = typical_loss(losses)
        record: Record = {"row": own.name, "n_small": sample.n_small, "n": len(losses)}
        record |= {"n_apart": len(own.data_sets) - len(losses), "p_holm": none_if_nan(p), "verdict": verdict}
        record |= dict(zip(("better", "alike", "worse"), equivalence(sample.multiples(margin)), strict=True))
        record |= {"mean": fmean(losses), "typical": typical, "low": none_if_nan(low), "high": none_if_nan(high)}
        kept = fmean(it["features_percent"] for it in own.data_sets if it["data_set"] in sample.by_data_set)
        records.append(record | {"_label": own.label, "_group": own.group, "_kept": kept})
    return records


def _variants(comparisons: Sequence[Comparison], test: Test) -> Iterator[Record]:
    """Yield the tests with other margins, the other test, and the tests of all data sets."""
    variants = {label: _tests(comparisons, test, margin) for label, margin in MARGINS.items() if margin != ONE_POINT}
    variants |= {other: _tests(comparisons, other) for other in TESTS if other != test}
    if any(record["_is_apart"] for own in comparisons for record in own.data_sets):
        variants["all data sets"] = _tests(comparisons, test, with_apart=True)
    for label, records in variants.items():
        yield from ({"row": record["row"], "variant": label, **record} for record in records)


def conclusions(experiment: Experiment, tests: Sequence[Record]) -> list[str]:
    """Return the answers to the questions of the registration, as sentences."""
    sentences, advice = list[str](), list[str]()
    for group, records in itertools.groupby(tests, lambda record: record["_group"]):
        if group.counted:
            own = list(records)
            sentences += _answers(experiment, group, own)
            advice += [group.advice] if group.advice and all(it["alike"] > 1.0 - ALPHA for it in own) else []
    return [*sentences, *advice]


def _answers(experiment: Experiment, group: Group, records: Sequence[Record]) -> Iterator[str]:
    """Yield the methods that lose little, lose much, are undecided, are practically equal, and are better."""
    against, where, likely = group.title, _WHERE[experiment.test], "with a probability above 95 %"
    by_verdict: dict[Verdict, list[str]] = {"holds": [], "does not hold": [], "undecided": []}
    for own in records:
        text = f"with {own['_kept']:.0f} % of the features"
        if own["verdict"] == "undecided":
            text = f"{own['n_small']} of {own['n']}"
        by_verdict[own["verdict"]].append(f"{own['_label']}, {text}")
    groups = {
        f"Methods that lose at most 1 point {against} {where}": by_verdict["holds"] or ["none"],
        f"Methods that lose more than 1 point {against} {where}": by_verdict["does not hold"],
        f"Undecided {against}, with the number of data sets that lose at most 1 point": by_verdict["undecided"],
        f"Methods whose typical loss {against} is within ±1 point {likely}": _likely("alike", records),
        f"Methods that gain more than 1 point {against} {likely}": _likely("better", records) or ["none"],
    }
    yield from (f"{text}: {'; '.join(methods)}." for text, methods in groups.items() if methods)


def _likely(outcome: str, records: Sequence[Record]) -> list[str]:
    return [record["_label"] for record in records if record[outcome] > 1.0 - ALPHA]


def _by_group(comparisons: Sequence[Comparison]) -> list[tuple[Group, list[Comparison]]]:
    return [(group, list(own)) for group, own in itertools.groupby(comparisons, lambda comparison: comparison.group)]


def _data_sets(comparisons: Sequence[Comparison]) -> list[str]:
    """Return the data sets, those last on which the most comparisons cut nothing."""
    records = [record for own in comparisons for record in own.data_sets]
    n_apart = dict.fromkeys((record["data_set"] for record in records), 0)
    for record in records:
        n_apart[record["data_set"]] += record["_is_apart"]
    return sorted(n_apart, key=lambda problem: n_apart[problem])


def _matrix(experiment: Experiment, comparisons: Sequence[Comparison]) -> Document:
    """Return a grid for each group: a row for each data set, a column for each comparison."""
    texts: dict[str, Record] = {problem: {"row": problem} for problem in _data_sets(comparisons)}
    for own in comparisons:
        for record in own.data_sets:
            text = record_text("{loss:+.2f} [{low:+.2f}, {high:+.2f}] {verdict}", record)
            texts[record["data_set"]][own.name] = f"({text})" if record["_is_apart"] else text
    grids = [
        Grid(
            f"group{number}",
            group.title[0].upper() + group.title[1:],
            ["Data set", *(comparison.label for comparison in own)],
            [[problem, *(row.get(comparison.name, EMPTY) for comparison in own)] for problem, row in texts.items()],
        )
        for number, (group, own) in enumerate(_by_group(comparisons), 1)
    ]
    (_, _, headers, rows), *others = grids or [Grid("", "", [], [])]
    return Document(
        f"{experiment.id}_matrix",
        f"{experiment.title}: verdicts by data set",
        "",
        headers,
        rows,
        notes=(f"Mean loss [95 % interval] verdict. {_WITHIN} {_APART}",),
        records=list(texts.values()),
        has_runs=bool(grids),
        others=others,
    )
