"""Registered experiments: errors, losses by data set, tests over data sets, and a matrix of verdicts."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import cache
from statistics import fmean
from typing import Any, NamedTuple

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
from pppca_bench.paper.texts import fill, read
from pppca_bench.references.layout import Identifier
from pppca_bench.references.selection import Settings, Text, Texts
from pppca_bench.reporting.document import EMPTY, Document, Grid, record_text
from pppca_bench.reporting.figure_data import Figure, Panel
from pppca_bench.reporting.pairs import by_split
from pppca_bench.reporting.statistics import corrected_t
from pppca_bench.reporting.summary import NO_RUNS, CellRuns, Results
from pppca_bench.runs import Facts, Names, Selector, grouped
from pppca_bench.yaml_files.section import Section

ENDINGS = ("", "_losses", "_tests", "_margins", "_matrix")
"""Ends of the identifiers of an experiment's tables."""

_ERROR, _SIZE = "test_error_percent", "dimensionality"
_SHOWN = ["column", "data_set", "loss", "low", "high", "verdict", "is_apart"]
_LOSS = ["row", *_SHOWN[1:6], "features_percent", "is_apart", "n", "_other"]
"""Columns of losses: of a figure's panel, and of `data_set_losses`."""

_WITHIN = (
    "Loss: difference of test errors in points, paired over the folds. Interval: corrected resampled t-test (Nadeau and"
    " Bengio 2003); none where the losses of all folds are equal. Equivalent: the 90 % interval is within ±1 point."
    " Worse or better: not equivalent, and the 95 % interval is above or below 0. Unclear: neither."
)
_APART = "not tested over data sets, since the method keeps nearly all features."

ExperimentRecord = dict[str, Any]
RunsByMethod = Mapping[str, Mapping[str, CellRuns]]


class ComparisonGroup(Section):
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


class Compared(NamedTuple):
    """Comparison of a group: the first method minus the second."""

    group: ComparisonGroup
    first: str
    second: str

    @property
    def name(self) -> str:
        """Return both methods."""
        return f"{self.first} − {self.second}"

    @property
    def label(self) -> str:
        """Return the name within the group."""
        return self.first if len(self.group.second) == 1 else self.name


class Experiment(Section):
    """Registered experiment: its page, configs, primary test and comparisons."""

    id: Identifier
    title: Text
    page: Text
    configs: Texts
    test: Test
    groups: tuple[ComparisonGroup, ...]
    most_features: float = np.inf  # percentage of the features from which on nothing was cut

    def comparisons(self) -> dict[str, Compared]:
        """Return the comparisons by name."""
        compared = [
            Compared(group, first.format(second), second.format(first))
            for group in self.groups
            for first, second in itertools.product(group.first, group.second)
        ]
        return {pair.name: pair for pair in compared}

    def methods(self) -> dict[str, dict[str, Any]]:
        """Return the settings of the compared methods by name, in the order of the tables."""
        pairs = self.comparisons().values()
        compared = {name for pair in pairs for name in (pair.first, pair.second)}
        return {
            name: settings
            for name, settings in _experiments_file().methods.items()
            if name in compared
        }


class _ExperimentsFile(Section):
    methods: dict[Text, Settings]
    experiments: tuple[Experiment, ...]


@cache
def _experiments_file() -> _ExperimentsFile:
    return _ExperimentsFile.read(read("experiments.yaml"))


def experiments() -> tuple[Experiment, ...]:
    """Return the registered experiments, in the order of their registration."""
    return _experiments_file().experiments


def experiment_documents(experiment: Experiment, results: Results, facts: Facts) -> list[Document]:
    """Return the tables of errors, losses by data set, tests over data sets, tests with other margins, and verdicts.

    Their identifiers are the experiment's with each of `ENDINGS`.
    """
    losses, pairs = data_set_losses(experiment, results, facts), experiment.comparisons()
    tests = _tests(experiment, losses, experiment.test)
    groups = grouped(tests, lambda test: pairs[test["row"]].group)
    return [
        _errors(experiment, results),
        table_of(experiment, "_losses", losses.to_dict("records"), within=_WITHIN),
        table_of(experiment, "_tests", tests, groups=groups),
        table_of(experiment, "_margins", _variants(experiment, losses)),
        _matrix(experiment, losses),
    ]


def table_of(
    experiment: Experiment, ending: str, records: Sequence[Mapping[Any, Any]], **numbers: Any
) -> Document:
    """Return a table of an experiment, given the end of its identifier, with the numbers of its notes."""
    numbers["experiment"] = experiment
    return fill(ending, records, numbers, id=f"{experiment.id}{ending}")


def experiment_figure(experiment: Experiment, losses: pd.DataFrame) -> Figure:
    """Return the figure of the verdicts within data sets, a panel for each group that counts and was run."""
    losses = _sorted(losses)
    panels = []
    for group in (group for group in experiment.groups if group.counted):
        of_group = losses.assign(column=losses["row"].map(_labels(experiment, group)))
        of_group = of_group.loc[of_group["column"].notna(), _SHOWN]
        if len(of_group):
            panels.append(Panel("grid", group.title, of_group.reset_index(drop=True)))
    title = f"{experiment.title}: losses by data set, in points"
    note = f"{_WITHIN} In italics: {_APART}"
    return Figure(
        f"{experiment.id}_matrix",
        title,
        place="",
        x_label="",
        y_label="",
        panels=panels,
        note=note,
        basis="Means over the folds.",
    )


def _labels(experiment: Experiment, group: ComparisonGroup) -> dict[str, str]:
    """Return the labels of the comparisons of a group by name."""
    pairs = experiment.comparisons()
    return {name: pair.label for name, pair in pairs.items() if pair.group == group}


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
    return {name: item for name, item in runs.items() if item.n_planned}


def _runs_by_method(experiment: Experiment, results: Results) -> RunsByMethod:
    """Return the runs of each method by problem; the methods are in the order of the tables."""
    methods = experiment.methods().items()
    return {
        name: runs_of_method(results, settings, experiment.configs) for name, settings in methods
    }


def data_set_losses(experiment: Experiment, results: Results, facts: Facts) -> pd.DataFrame:
    """Return the loss of each comparison on each data set on which both methods have at least two folds in common.

    Losses are paired over the repeats, and averaged over the repeats of a fold; ``_other`` is the error of the second
    method.
    """
    runs, losses = _runs_by_method(experiment, results), list[ExperimentRecord]()
    for name, pair in experiment.comparisons().items():
        for problem, known in facts.items():
            both = [runs[method].get(problem, NO_RUNS) for method in (pair.first, pair.second)]
            ours, others = (item.values(_ERROR) for item in both)
            paired = {repeat: ours[repeat] - others[repeat] for repeat in ours if repeat in others}
            by_fold = by_split(paired, known.n_splits)
            if len(by_fold) < 2:
                continue
            test = corrected_t(list(by_fold.values()), known.test_ratio)
            kept = 100.0 * (both[pair.group.is_second_cut].mean(_SIZE) or 0.0) / known.n_features
            loss = {
                "row": name,
                "data_set": problem,
                "loss": test.difference,
                "low": test.low,
                "high": test.high,
                "verdict": verdict_within(test),
                "features_percent": kept,
                "is_apart": kept >= experiment.most_features,
                "n": test.n,
                "_other": fmean(others[repeat] for repeat in paired),
            }
            losses.append(loss)
    return pd.DataFrame(losses, columns=_LOSS)


def _errors(experiment: Experiment, results: Results) -> Document:
    runs = _runs_by_method(experiment, results)
    records = [
        {"row": problem}
        | {
            f"{name}, {quantity}": by_problem.get(problem, NO_RUNS).mean(quantity)
            for name, by_problem in runs.items()
            for quantity in (_ERROR, _SIZE)
        }
        for problem in dict.fromkeys(
            problem for by_problem in runs.values() for problem in by_problem
        )
    ]
    columns = [(name, f"{{{name}, {_ERROR}:.2f}} ({{{name}, {_SIZE}:.1f}})") for name in runs]
    note = (
        "Test error in percent and, in brackets, number of features: means over the runs. τ = 15. The folds of each"
        f" method are listed in {experiment.page}."
    )
    cells = [cell for by_problem in runs.values() for cell in by_problem.values()]
    return Document.of_records(
        experiment.id,
        f"{experiment.title}: test errors (features)",
        [("Data set", "{row}"), *columns],
        records,
        notes=(note,),
        n_missing=sum(cell.n_planned - len(cell.values(_ERROR)) for cell in cells),
    )


def _tests(
    experiment: Experiment, losses: pd.DataFrame, test: Test, margin: Margin = ONE_POINT
) -> list[ExperimentRecord]:
    """Return the tests over data sets; p has Holm's correction over the comparisons that count."""
    n_whole = losses["row"].value_counts()
    tested = losses[~losses["is_apart"].astype(bool)]
    by_row = {str(row): frame for row, frame in tested.groupby("row", sort=False)}
    samples = {
        row: multiples(frame["loss"], frame["_other"], margin) for row, frame in by_row.items()
    }
    pairs = experiment.comparisons()
    counted = [row for row in by_row if pairs[row].group.counted]
    judged = dict(zip(counted, judge_losses([samples[row] for row in counted], test), strict=True))
    records = []
    for row, frame in by_row.items():
        p, verdict = judged.get(row, (np.nan, EMPTY))
        better, alike, worse = equivalence(samples[row])
        low, typical, high = typical_loss(frame["loss"])
        record = {
            "row": row,
            "n_small": int((multiples(frame["loss"]) <= 1.0).sum()),
            "n": len(frame),
            "n_apart": int(n_whole[row]) - len(frame),
            "p_holm": p,
            "verdict": verdict,
            "better": better,
            "alike": alike,
            "worse": worse,
            "mean": fmean(frame["loss"]),
            "typical": typical,
            "low": low,
            "high": high,
            "_label": pairs[row].label,
            "_kept": fmean(frame["features_percent"]),
        }
        records.append(record)
    return records


def _variants(experiment: Experiment, losses: pd.DataFrame) -> list[ExperimentRecord]:
    """Return the tests with other margins, the other test, and the tests of all data sets."""
    test = experiment.test
    variants = {
        label: _tests(experiment, losses, test, margin)
        for label, margin in MARGINS.items()
        if margin != ONE_POINT
    }
    variants |= {other: _tests(experiment, losses, other) for other in TESTS if other != test}
    if losses["is_apart"].any():
        variants["all data sets"] = _tests(experiment, losses.assign(is_apart=False), test)
    return [
        {"row": record["row"], "variant": label, **record}
        for label, records in variants.items()
        for record in records
    ]


def _sorted(losses: pd.DataFrame) -> pd.DataFrame:
    """Return the losses by data set, those last on which the most comparisons cut nothing."""
    n_apart = losses.groupby("data_set", sort=False)["is_apart"].sum().sort_values(kind="stable")
    return losses.set_index("data_set").loc[n_apart.index].reset_index()


def _matrix(experiment: Experiment, losses: pd.DataFrame) -> Document:
    """Return a grid for each group: a row for each data set, a column for each comparison."""
    rows: dict[str, ExperimentRecord] = {}
    for loss in _sorted(losses).to_dict("records"):
        text = record_text("{loss:+.2f} [{low:+.2f}, {high:+.2f}] {verdict}", loss)
        row = rows.setdefault(loss["data_set"], {"row": loss["data_set"]})
        row[loss["row"]] = f"({text})" if loss["is_apart"] else text
    run, grids = set(losses["row"]), list[Grid]()
    for number, group in enumerate(experiment.groups, 1):
        labels = _labels(experiment, group)
        names = [name for name in labels if name in run]
        texts = [[row["row"], *(row.get(name, EMPTY) for name in names)] for row in rows.values()]
        headers = ["Data set", *(labels[name] for name in names)]
        grids.append(Grid(f"group{number}", group.title, headers, texts))
    first, *others = grids
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
