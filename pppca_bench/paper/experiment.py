"""Registered experiments: errors, losses by data set, tests over data sets, and a matrix of verdicts."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd

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
from pppca_bench.reporting.pairs import ALPHA, by_split
from pppca_bench.reporting.statistics import corrected_t
from pppca_bench.reporting.summary import NO_RUNS, CellRuns, Results
from pppca_bench.runs import Facts, Selector, grouped
from pppca_bench.yaml_files.section import Section
from pppca_bench.yaml_files.source import read_yaml

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
Summaries = Mapping[str, Mapping[str, CellRuns]]

_LOSS_COLUMNS = (
    ("Loss", "{row}"),
    ("Data set", "{data_set}"),
    ("mean", "{loss:+.2f}"),
    ("95 % interval", "{low:+.2f} to {high:+.2f}"),
    ("verdict", "{verdict}"),
    ("features, %", "{features_percent:.0f}"),
    ("n", "{n}"),
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
_MARGIN_COLUMNS = (*_TEST_COLUMNS[:1], ("margin or test", "{variant}"), *_TEST_COLUMNS[2:8])


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

    def methods(self) -> dict[str, dict[str, Any]]:
        """Return the settings of the compared methods by name, in the order of the tables."""
        compared = {name for group in self.groups for pair in group.pairs() for name in pair}
        return {name: settings for name, settings in _document().methods.items() if name in compared}


class _Document(Section):
    methods: dict[Text, Settings]
    experiments: tuple[Experiment, ...]


@cache
def _document() -> _Document:
    return _Document.read(read_yaml(Path(str(files(__package__))) / "experiments.yaml"))


def experiments() -> tuple[Experiment, ...]:
    """Return the registered experiments, in the order of their registration."""
    return _document().experiments


def experiment_documents(experiment: Experiment, results: Results, facts: Facts) -> list[Document]:
    """Return the tables of errors, losses by data set, tests over data sets, tests with other margins, and verdicts.

    Their identifiers are the experiment's with each of `ENDINGS`.
    """
    summaries = _summaries(experiment, results)
    losses = list(_losses(experiment, summaries, facts))
    tests = _tests(losses, experiment.test)
    notes = (_TESTED.format(experiment.test), *_conclusions(experiment, tests))
    id, title, make = experiment.id, experiment.title, Document.of_records
    variants = list(_variants(losses, experiment.test))
    note = f"As in {id}_tests; P is with the margin."
    return [
        _errors(experiment, summaries),
        make(f"{id}_losses", f"{title}: losses by data set", _LOSS_COLUMNS, losses, notes=(_WITHIN,)),
        make(f"{id}_tests", f"{title}: tests over data sets", _TEST_COLUMNS, tests, notes=notes),
        make(f"{id}_margins", f"{title}: other margins and tests", _MARGIN_COLUMNS, variants, notes=(note,)),
        _matrix(experiment, losses),
    ]


def experiment_figure(experiment: Experiment, results: Results, facts: Facts) -> Figure:
    """Return the matrix of verdicts within data sets; without panels if nothing was run."""
    losses = _sorted(list(_losses(experiment, _summaries(experiment, results), facts)))
    shown = ["column", "data_set", "loss", "low", "high", "verdict", "is_apart"]
    panels = [
        Panel("grid", group.title, pd.DataFrame(own).rename(columns={"_label": "column"})[shown])
        for group in experiment.groups
        if group.counted and (own := [loss for loss in losses if loss["_group"] == group])
    ]
    title = f"{experiment.title}: losses by data set, in points"
    note = f"{_WITHIN} {_APART}"
    return Figure(f"{experiment.id}_matrix", title, "", "", "", panels, note, basis="Means over the folds.")


def _summaries(experiment: Experiment, results: Results) -> Summaries:
    """Return the runs of each method by problem; the methods are in the order of the tables."""
    problems = dict.fromkeys(cell.problem for cell in results.of_config(*experiment.configs))
    summaries = {}
    for name, method in experiment.methods().items():
        settings = tuple((key, value) for key, value in method.items() if key != "method")
        selectors = {problem: Selector(problem, method["method"], settings) for problem in problems}
        own = {problem: results.summary(selectors[problem], experiment.configs) for problem in problems}
        summaries[name] = {problem: summary for problem, summary in own.items() if summary.n_planned}
    return summaries


def _losses(experiment: Experiment, summaries: Summaries, facts: Facts) -> Iterator[Record]:
    """Yield the loss of each comparison on each data set on which both methods have at least two folds in common.

    Losses are paired over the repeats, and averaged over the repeats of a fold.
    """
    for group in experiment.groups:
        for first, second in group.pairs():
            name = f"{first} − {second}"
            for problem in (problem for problem in summaries[first] if problem in summaries[second]):
                ours, theirs = (summaries[method][problem].values(_ERROR) for method in (first, second))
                repeats, known = [repeat for repeat in ours if repeat in theirs], facts[problem]
                by_fold = by_split({repeat: ours[repeat] - theirs[repeat] for repeat in repeats}, known.n_splits)
                if len(by_fold) < 2:
                    continue
                test = corrected_t(list(by_fold.values()), known.test_ratio)
                size = summaries[second if group.is_second_cut else first][problem].mean(_SIZE) or 0.0
                kept = 100.0 * size / known.n_features
                record: Record = {"row": name, "data_set": problem, "loss": test.difference}
                record |= {"low": none_if_nan(test.low), "high": none_if_nan(test.high)}
                record |= {"verdict": verdict_within(test), "features_percent": kept}
                record |= {"is_apart": kept >= experiment.most_features, "n": test.n}
                record |= {"_group": group, "_label": first if len(group.second) == 1 else name}
                yield record | {"_other": fmean(theirs[repeat] for repeat in repeats)}


def _errors(experiment: Experiment, summaries: Summaries) -> Document:
    cells = [cell for own in summaries.values() for cell in own.values()]
    records = [
        {"row": problem}
        | {
            f"{name}, {quantity}": own.get(problem, NO_RUNS).mean(quantity)
            for name, own in summaries.items()
            for quantity in (_ERROR, _SIZE)
        }
        for problem in dict.fromkeys(problem for own in summaries.values() for problem in own)
    ]
    columns = [(name, f"{{{name}, {_ERROR}:.2f}} ({{{name}, {_SIZE}:.1f}})") for name in summaries]
    note = (
        "Test error in percent and, in brackets, number of features: means over the runs. τ = 15. The folds of each"
        f" method are listed in {experiment.page}."
    )
    n_missing = sum(cell.n_planned - len(cell.values(_ERROR)) for cell in cells)
    title = f"{experiment.title}: test errors (features)"
    columns = [("Data set", "{row}"), *columns]
    return Document.of_records(experiment.id, title, columns, records, notes=(note,), n_missing=n_missing)


def _tests(
    losses: Sequence[Record], test: Test, margin: Margin = ONE_POINT, *, with_apart: bool = False
) -> list[Record]:
    """Return the tests over data sets; p has Holm's correction over the comparisons that count."""
    n_whole = Counter(loss["row"] for loss in losses)
    tested = [loss for loss in losses if with_apart or not loss["is_apart"]]
    samples = [list(own) for own in grouped(tested, lambda loss: loss["row"]).values()]
    judged = iter(judge_losses([_sample(own) for own in samples if own[0]["_group"].counted], test, margin))
    records = []
    for own in samples:
        sample, first = _sample(own), own[0]
        p, verdict = next(judged) if first["_group"].counted else (np.nan, EMPTY)
        low, typical, high = typical_loss(np.array(list(sample.by_data_set.values())))
        record: Record = {"row": first["row"], "n_small": sample.n_small, "n": len(own)}
        record |= {"n_apart": n_whole[first["row"]] - len(own), "p_holm": none_if_nan(p), "verdict": verdict}
        record |= dict(zip(("better", "alike", "worse"), equivalence(sample.multiples(margin)), strict=True))
        record |= {"mean": fmean(loss["loss"] for loss in own), "typical": typical}
        record |= {"low": none_if_nan(low), "high": none_if_nan(high), "_label": first["_label"]}
        records.append(record | {"_group": first["_group"], "_kept": fmean(loss["features_percent"] for loss in own)})
    return records


def _sample(losses: Sequence[Record]) -> Losses:
    return Losses(*({loss["data_set"]: loss[name] for loss in losses} for name in ("loss", "_other")))


def _variants(losses: Sequence[Record], test: Test) -> Iterator[Record]:
    """Yield the tests with other margins, the other test, and the tests of all data sets."""
    variants = {label: _tests(losses, test, margin) for label, margin in MARGINS.items() if margin != ONE_POINT}
    variants |= {other: _tests(losses, other) for other in TESTS if other != test}
    if any(loss["is_apart"] for loss in losses):
        variants["all data sets"] = _tests(losses, test, with_apart=True)
    for label, records in variants.items():
        yield from ({"row": record["row"], "variant": label, **record} for record in records)


def _conclusions(experiment: Experiment, tests: Sequence[Record]) -> list[str]:
    """Return the answers to the questions of the registration, as sentences."""
    by_group = [(group, [own for own in tests if own["_group"] == group]) for group in experiment.groups]
    counted = [(group, own) for group, own in by_group if group.counted and own]
    sentences = [sentence for group, own in counted for sentence in _answers(experiment, group, own)]
    advice = [group.advice for group, own in counted if len(_likely("alike", own)) == len(own)]
    return [*sentences, *filter(None, advice)]


def _answers(experiment: Experiment, group: Group, records: Sequence[Record]) -> Iterator[str]:
    """Yield the methods that lose little, lose much, are undecided, are practically equal, and are better."""
    against, where, likely = group.title, _WHERE[experiment.test], "with a probability above 95 %"
    by_verdict: dict[Verdict, list[str]] = {"holds": [], "does not hold": [], "undecided": []}
    for own in records:
        text = f"{'against' if group.is_second_cut else 'with'} {own['_kept']:.0f} % of the features"
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


def _sorted(losses: Sequence[Record]) -> list[Record]:
    """Return the losses by data set, those last on which the most comparisons cut nothing."""
    n_apart = Counter(loss["data_set"] for loss in losses if loss["is_apart"])
    order = list(dict.fromkeys(loss["data_set"] for loss in losses))
    return sorted(losses, key=lambda loss: (n_apart[loss["data_set"]], order.index(loss["data_set"])))


def _matrix(experiment: Experiment, losses: Sequence[Record]) -> Document:
    """Return a grid for each group: a row for each data set, a column for each comparison."""
    rows: dict[str, Record] = {}
    for loss in _sorted(losses):
        text = record_text("{loss:+.2f} [{low:+.2f}, {high:+.2f}] {verdict}", loss)
        row = rows.setdefault(loss["data_set"], {"row": loss["data_set"]})
        row[loss["row"]] = f"({text})" if loss["is_apart"] else text
    grids = []
    for number, group in enumerate(experiment.groups, 1):
        labels = {loss["row"]: loss["_label"] for loss in losses if loss["_group"] == group}
        texts = [[row["row"], *(row.get(name, EMPTY) for name in labels)] for row in rows.values()]
        grids.append(Grid(f"group{number}", group.title, ["Data set", *labels.values()], texts))
    note = f"Mean loss [95 % interval] verdict. {_WITHIN} {_APART}"
    title = f"{experiment.title}: verdicts by data set, {grids[0].caption}"
    own = Document(f"{experiment.id}_matrix", title, "", grids[0].headers, grids[0].rows, (note,), list(rows.values()))
    return own._replace(has_runs=bool(rows), others=grids[1:])
