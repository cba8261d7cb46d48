"""Registered experiments: errors, losses by data set, tests over data sets, and a matrix of verdicts."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    Margin,
    Test,
    equivalence,
    judge_losses,
    multiples,
    typical_loss,
    verdict_within,
)
from pppca_bench.references.layout import Identifier
from pppca_bench.references.selection import Settings, Text, Texts
from pppca_bench.reporting.document import EMPTY, Document, Grid, none_if_nan, record_text
from pppca_bench.reporting.figure_data import Figure, Panel
from pppca_bench.reporting.pairs import ALPHA, by_split
from pppca_bench.reporting.statistics import corrected_t
from pppca_bench.reporting.summary import NO_RUNS, CellRuns, Results
from pppca_bench.runs import Facts, Names, Selector, grouped
from pppca_bench.yaml_files.section import Section
from pppca_bench.yaml_files.source import read_yaml

ENDINGS = ("", "_losses", "_tests", "_margins", "_matrix")
"""Ends of the identifiers of an experiment's tables."""

_ERROR, _SIZE = "test_error_percent", "dimensionality"
_WHERE: Mapping[Test, str] = {
    "sign test": "on significantly more than half of the data sets",
    "signed-rank test": "on a typical data set",
}
TESTED = (
    "At most 1 point: number of data sets with such a loss. Apart: data sets that are not tested, since nothing was cut"
    " there. p: two-sided {}. Typical: Hodges–Lehmann estimate with its interval. P: posterior probabilities, by"
    " the Bayesian signed-rank test, of a loss below −1 point, within ±1 point, and above 1 point."
)
_WITHIN = (
    "Loss: difference of test errors in points, paired over the folds. Interval: corrected resampled t-test (Nadeau and"
    " Bengio 2003); none where the losses of all folds are equal. Equivalent: the 90 % interval is within ±1 point."
    " Worse or better: not equivalent, and the 95 % interval is above or below 0. Unclear: neither."
)
_APART = "not tested over data sets, since the method keeps nearly all features."

Record = dict[str, Any]
Columns = Sequence[tuple[str, str]]
RunsByMethod = Mapping[str, Mapping[str, CellRuns]]

_LOSS_COLUMNS = (
    ("Loss", "{row}"),
    ("Data set", "{data_set}"),
    ("mean", "{loss:+.2f}"),
    ("95 % interval", "{low:+.2f} to {high:+.2f}"),
    ("verdict", "{verdict}"),
    ("features, %", "{features_percent:.0f}"),
    ("n", "{n}"),
)
TEST_COLUMNS = (
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
_MARGIN_COLUMNS = (*TEST_COLUMNS[:1], ("margin or test", "{variant}"), *TEST_COLUMNS[2:8])


class Group(Section):
    """Comparisons that answer a question: each of `first` minus each of `second`; ``{}`` is the other method's name."""

    title: Text
    first: Texts
    second: Texts
    is_second_cut: bool = (
        False  # whether the second method's features, not the first's, show that something was cut
    )
    counted: bool = True  # whether the comparisons are tested
    claim: str = ""  # of claims.yaml, which the comparisons answer
    advice: str = ""  # that follows if all typical losses are within 1 point

    def label(self, first: str, second: str) -> str:
        """Return the name of a comparison within the group."""
        return first if len(self.second) == 1 else f"{first} − {second}"


class Experiment(Section):
    """Registered experiment: its page, configs, primary test and comparisons."""

    id: Identifier
    title: Text
    page: Text
    configs: Texts
    test: Test
    groups: tuple[Group, ...]
    most_features: float = np.inf  # percentage of the features from which on nothing was cut

    def comparisons(self) -> Iterator[tuple[Group, str, str]]:
        """Yield the group and the names of both methods of each comparison."""
        for group in self.groups:
            for first, second in itertools.product(group.first, group.second):
                yield group, first.format(second), second.format(first)

    def methods(self) -> dict[str, dict[str, Any]]:
        """Return the settings of the compared methods by name, in the order of the tables."""
        compared = {name for _, *pair in self.comparisons() for name in pair}
        return {
            name: settings for name, settings in _document().methods.items() if name in compared
        }


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
    runs = _runs_by_method(experiment, results)
    losses = list(data_set_losses(experiment, results, facts))
    tests = _tests(losses, experiment.test)
    notes = [TESTED.format(experiment.test), *_conclusions(experiment, tests)]
    margin_note = f"As in {experiment.id}_tests; P is with the margin."
    variants = _variants(losses, experiment.test)

    def table(
        ending: str, title: str, columns: Columns, records: Sequence[Record], *notes: str
    ) -> Document:
        name, title = f"{experiment.id}{ending}", f"{experiment.title}: {title}"
        return Document.of_records(name, title, columns, records, notes=notes)

    return [
        _errors(experiment, runs),
        table("_losses", "losses by data set", _LOSS_COLUMNS, losses, _WITHIN),
        table("_tests", "tests over data sets", TEST_COLUMNS, tests, *notes),
        table("_margins", "other margins and tests", _MARGIN_COLUMNS, variants, margin_note),
        _matrix(experiment, losses),
    ]


def experiment_figure(experiment: Experiment, losses: Iterable[Record]) -> Figure:
    """Return the matrix of verdicts within data sets; without panels if nothing was run."""
    losses = _sorted(losses)
    shown = {"_label": "column"} | {
        name: name for name in ("data_set", "loss", "low", "high", "verdict", "is_apart")
    }
    panels = [
        Panel("grid", group.title, pd.DataFrame(own)[list(shown)].rename(columns=shown))
        for group in experiment.groups
        if group.counted and (own := [loss for loss in losses if loss["_group"] == group])
    ]
    title = f"{experiment.title}: losses by data set, in points"
    note = f"{_WITHIN} In italics: {_APART}"
    return Figure(
        f"{experiment.id}_matrix", title, "", "", "", panels, note, basis="Means over the folds."
    )


def runs_of_method(
    results: Results, selected: Mapping[str, Any], configs: Names
) -> dict[str, CellRuns]:
    """Return, by problem, the runs in configs of the method and settings in ``selected``; {} if it has no method."""
    settings = dict(selected)
    method = settings.pop("method", None)
    of_method = (cell for cell in results.cells if cell.method == method)
    runs = {
        name: results.repeats(Selector(name, str(method), tuple(settings.items())), configs)
        for name in dict.fromkeys(cell.problem for cell in of_method)
    }
    return {name: own for name, own in runs.items() if own.n_planned}


def _runs_by_method(experiment: Experiment, results: Results) -> RunsByMethod:
    """Return the runs of each method by problem; the methods are in the order of the tables."""
    methods = experiment.methods().items()
    return {
        name: runs_of_method(results, settings, experiment.configs) for name, settings in methods
    }


def data_set_losses(experiment: Experiment, results: Results, facts: Facts) -> Iterator[Record]:
    """Yield the loss of each comparison on each data set on which both methods have at least two folds in common.

    Losses are paired over the repeats, and averaged over the repeats of a fold.
    """
    runs = _runs_by_method(experiment, results)
    for group, first, second in experiment.comparisons():
        for problem, known in facts.items():
            both = [runs[method].get(problem, NO_RUNS) for method in (first, second)]
            ours, theirs = (own.values(_ERROR) for own in both)
            paired = {repeat: ours[repeat] - theirs[repeat] for repeat in ours if repeat in theirs}
            by_fold = by_split(paired, known.n_splits)
            if len(by_fold) < 2:
                continue
            test = corrected_t(list(by_fold.values()), known.test_ratio)
            kept = 100.0 * (both[group.is_second_cut].mean(_SIZE) or 0.0) / known.n_features
            yield {
                "row": f"{first} − {second}",
                "data_set": problem,
                "loss": test.difference,
                "low": none_if_nan(test.low),
                "high": none_if_nan(test.high),
                "verdict": verdict_within(test),
                "features_percent": kept,
                "is_apart": kept >= experiment.most_features,
                "n": test.n,
                "_group": group,
                "_label": group.label(first, second),
                "_other": fmean(theirs[repeat] for repeat in paired),
            }


def _errors(experiment: Experiment, runs: RunsByMethod) -> Document:
    problems = dict.fromkeys(problem for own in runs.values() for problem in own)
    records: list[Record] = [{"row": problem} for problem in problems]
    columns, n_missing = [("Data set", "{row}")], 0
    for name, own in runs.items():
        columns.append((name, f"{{{name}, {_ERROR}:.2f}} ({{{name}, {_SIZE}:.1f}})"))
        n_missing += sum(cell.n_planned - len(cell.values(_ERROR)) for cell in own.values())
        for record in records:
            cell = own.get(record["row"], NO_RUNS)
            record.update(
                (f"{name}, {quantity}", cell.mean(quantity)) for quantity in (_ERROR, _SIZE)
            )
    note = (
        "Test error in percent and, in brackets, number of features: means over the runs. τ = 15. The folds of each"
        f" method are listed in {experiment.page}."
    )
    title = f"{experiment.title}: test errors (features)"
    return Document.of_records(
        experiment.id, title, columns, records, notes=(note,), n_missing=n_missing
    )


def _tests(
    losses: Sequence[Record], test: Test, margin: Margin = ONE_POINT, *, with_apart: bool = False
) -> list[Record]:
    """Return the tests over data sets; p has Holm's correction over the comparisons that count."""
    n_whole = Counter(loss["row"] for loss in losses)
    tested = [loss for loss in losses if with_apart or not loss["is_apart"]]
    by_row = grouped(tested, lambda loss: loss["row"])
    samples = {
        row: multiples([loss["loss"] for loss in own], [loss["_other"] for loss in own], margin)
        for row, own in by_row.items()
    }
    counted = [row for row, own in by_row.items() if own[0]["_group"].counted]
    judged = dict(zip(counted, judge_losses([samples[row] for row in counted], test), strict=True))
    records = []
    for row, own in by_row.items():
        points = np.array([loss["loss"] for loss in own])
        p, verdict = judged.get(row, (np.nan, EMPTY))
        better, alike, worse = equivalence(samples[row])
        low, typical, high = typical_loss(points)
        record = {
            "row": row,
            "n_small": int((multiples(points) <= 1.0).sum()),
            "n": len(own),
            "n_apart": n_whole[row] - len(own),
            "p_holm": none_if_nan(p),
            "verdict": verdict,
            "better": better,
            "alike": alike,
            "worse": worse,
            "mean": fmean(points),
            "typical": typical,
            "low": none_if_nan(low),
            "high": none_if_nan(high),
            "_group": own[0]["_group"],
            "_label": own[0]["_label"],
            "_kept": fmean(loss["features_percent"] for loss in own),
        }
        records.append(record)
    return records


def _variants(losses: Sequence[Record], test: Test) -> list[Record]:
    """Return the tests with other margins, the other test, and the tests of all data sets."""
    variants = {
        label: _tests(losses, test, margin)
        for label, margin in MARGINS.items()
        if margin != ONE_POINT
    }
    variants |= {other: _tests(losses, other) for other in TESTS if other != test}
    if any(loss["is_apart"] for loss in losses):
        variants["all data sets"] = _tests(losses, test, with_apart=True)
    return [
        {"row": record["row"], "variant": label, **record}
        for label, records in variants.items()
        for record in records
    ]


def _conclusions(experiment: Experiment, tests: Sequence[Record]) -> list[str]:
    """Return the answers to the questions of the registration, as sentences."""
    sentences, advice = list[str](), list[str]()
    for group in (group for group in experiment.groups if group.counted):
        if own := [record for record in tests if record["_group"] == group]:
            sentences += _answers(experiment, group, own)
            if group.advice and len(_likely("alike", own)) == len(own):
                advice.append(group.advice)
    return [*sentences, *advice]


def _answers(experiment: Experiment, group: Group, records: Sequence[Record]) -> Iterator[str]:
    """Yield the methods that lose little, lose much, are undecided, are practically equal, and are better."""
    against, where, likely = group.title, _WHERE[experiment.test], "with a probability above 95 %"
    share = f"{{_label}}, {'against' if group.is_second_cut else 'with'} {{_kept:.0f}} % of the features"
    texts = {"holds": share, "does not hold": share, "undecided": "{_label}, {n_small} of {n}"}
    little, much, undecided = (
        [text.format_map(record) for record in records if record["verdict"] == verdict]
        for verdict, text in texts.items()
    )
    groups = {
        f"Methods that lose at most 1 point {against} {where}": little or ["none"],
        f"Methods that lose more than 1 point {against} {where}": much,
        f"Undecided {against}, with the number of data sets that lose at most 1 point": undecided,
        f"Methods whose typical loss {against} is within ±1 point {likely}": _likely(
            "alike", records
        ),
        f"Methods that gain more than 1 point {against} {likely}": _likely("better", records)
        or ["none"],
    }
    yield from (f"{text}: {'; '.join(methods)}." for text, methods in groups.items() if methods)


def _likely(outcome: str, records: Sequence[Record]) -> list[str]:
    return [record["_label"] for record in records if record[outcome] > 1.0 - ALPHA]


def _sorted(losses: Iterable[Record]) -> list[Record]:
    """Return the losses by data set, those last on which the most comparisons cut nothing."""
    by_data_set = grouped(losses, lambda loss: loss["data_set"]).values()
    ordered = sorted(by_data_set, key=lambda own: sum(loss["is_apart"] for loss in own))
    return [loss for own in ordered for loss in own]


def _matrix(experiment: Experiment, losses: Sequence[Record]) -> Document:
    """Return a grid for each group: a row for each data set, a column for each comparison."""
    rows: dict[str, Record] = {}
    for loss in _sorted(losses):
        text = record_text("{loss:+.2f} [{low:+.2f}, {high:+.2f}] {verdict}", loss)
        row = rows.setdefault(loss["data_set"], {"row": loss["data_set"]})
        row[loss["row"]] = f"({text})" if loss["is_apart"] else text
    first, *others = (
        _grid(f"group{number}", group, losses, rows)
        for number, group in enumerate(experiment.groups, 1)
    )
    return Document(
        f"{experiment.id}_matrix",
        f"{experiment.title}: verdicts by data set, {first.caption}",
        "",
        first.headers,
        first.rows,
        [f"Mean loss [95 % interval] verdict. {_WITHIN} In brackets: {_APART}"],
        list(rows.values()),
        has_runs=bool(rows),
        others=others,
    )


def _grid(name: str, group: Group, losses: Sequence[Record], rows: Mapping[str, Record]) -> Grid:
    labels = {loss["row"]: loss["_label"] for loss in losses if loss["_group"] == group}
    texts = [[row["row"], *(row.get(name, EMPTY) for name in labels)] for row in rows.values()]
    return Grid(name, group.title, ["Data set", *labels.values()], texts)
