"""Registered experiments: errors, losses by data set, tests over data sets, and a matrix of verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pppca_bench.pages.document import EMPTY, Document, Grid, record_text
from pppca_bench.pages.figure_data import Figure, Panel
from pppca_bench.paper.losses import (
    ONE_POINT,
    OTHER_MARGINS,
    ClaimVerdict,
    FloatArray,
    Margin,
    Test,
    equivalence,
    gain_test,
    judge_losses,
    multiples,
    sign_test,
    signed_rank_test,
    typical_loss,
    verdict_within,
)
from pppca_bench.paper.texts import fill, read
from pppca_bench.references.layout import Identifier
from pppca_bench.references.selection import Settings, Text, Texts
from pppca_bench.results.frames import Runs
from pppca_bench.results.selection import only_cells
from pppca_bench.results.statistics import corrected_t
from pppca_bench.runs import Facts, Selector, grouped
from pppca_bench.verdicts.pairs import by_split
from pppca_bench.yaml_files.section import Section

ENDINGS = ("", "_losses", "_tests", "_margins", "_matrix")
"""Ends of the identifiers of an experiment's tables."""

NO_MARGIN = "0 points"
"""Variant of the tests of comparisons that hold, at a margin of 0."""

_ERROR, _SIZE = "test_error_percent", "dimensionality"
_LOSS = [
    "row",
    "data_set",
    "loss",
    "low",
    "high",
    "verdict",
    "features_percent",
    "is_apart",
    "n",
    "_other",
]
"""Columns of `data_set_losses`."""

_SHOWN = ["column", "data_set", "loss", "low", "high", "verdict", "is_apart"]
"""Columns of a panel of the figure."""

_WITHIN = (
    "Loss: difference of test errors in points, paired over the folds. Interval: corrected resampled t-test (Nadeau and"
    " Bengio 2003); none where the losses of all folds are equal. Equivalent: the 90 % interval is within ±1 point."
    " Worse or better: not equivalent, and the 95 % interval is above or below 0. Unclear: neither."
)
_APART = "not tested over data sets, since the method keeps nearly all features."

ExperimentRecord = dict[str, Any]


class ComparisonGroup(Section):
    """Comparisons that answer a question: each of `first`, where ``{}`` is the other method, minus each of `second`."""

    title: Text
    first: Texts
    second: Texts
    # whether the second method's features, not the first's, show that something was cut
    is_second_cut: bool = False
    claim: str = ""  # of claims.yaml; comparisons that answer none are shown, not tested
    family: str = ""  # comparisons of a family share Holm's correction

    def comparisons(self) -> list[Compared]:
        """Return the comparisons in the order of the tables."""
        both = product(self.first, self.second)
        return [Compared(self, first.format(second), second) for first, second in both]


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
    """Registered experiment: its page, configs, methods and comparisons."""

    id: Identifier
    title: Text
    page: Text
    configs: Texts
    tau: Text  # of the note on the errors
    most_features: float  # percentage of the features from which on nothing was cut
    is_gain_tested: bool = False  # whether comparisons that hold are tested at a margin of 0, too
    methods: dict[Text, Settings]  # by name, in the order of the tables
    groups: tuple[ComparisonGroup, ...]

    def comparisons(self) -> dict[str, Compared]:
        """Return the comparisons by name."""
        return {pair.name: pair for group in self.groups for pair in group.comparisons()}


class _ExperimentsFile(Section):
    experiments: tuple[Experiment, ...]


@cache
def experiments() -> tuple[Experiment, ...]:
    """Return the registered experiments, in the order of their registration."""
    return _ExperimentsFile.read(read("experiments.yaml")).experiments


def experiment_documents(experiment: Experiment, runs: Runs, facts: Facts) -> list[Document]:
    """Return the tables of errors, losses by data set, tests over data sets, tests with other margins, and verdicts.

    Their identifiers are the experiment's with each of `ENDINGS`.
    """
    losses, pairs = data_set_losses(experiment, runs, facts), experiment.comparisons()
    tests = _tests(experiment, losses)
    groups = grouped(tests, lambda test: pairs[test["row"]].group)
    return [
        _errors(experiment, runs),
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
    """Return the figure of the verdicts within data sets, a panel for each group that is tested and was run."""
    losses = _sorted(losses)
    panels = []
    for group in experiment.groups:
        labels = {pair.name: pair.label for pair in group.comparisons()}
        own = losses.assign(column=losses["row"].map(labels)).dropna(subset="column")
        if group.claim and len(own):
            panels.append(Panel("grid", group.title, own[_SHOWN].reset_index(drop=True)))
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


def cells_of_method(runs: Runs, selected: Mapping[str, Any]) -> dict[str, int]:
    """Return the number of the only cell of each problem with the method and settings in ``selected``.

    Problems with several such cells are left out, and all of them if nothing names a method.
    """
    settings = dict(selected)
    method = settings.pop("method", None)
    problems = dict.fromkeys(cell.problem for cell in runs.cells.values() if cell.method == method)
    found = dict[str, int]()
    for problem in problems:
        for cell in only_cells(runs, Selector(problem, str(method), tuple(settings.items()))):
            found[problem] = cell
    return found


def _cells_by_method(experiment: Experiment, runs: Runs) -> dict[str, dict[str, int]]:
    """Return the cells of each method by problem."""
    return {name: cells_of_method(runs, settings) for name, settings in experiment.methods.items()}


def data_set_losses(experiment: Experiment, runs: Runs, facts: Facts) -> pd.DataFrame:
    """Return the loss of each comparison on each data set on which both methods have at least two folds in common.

    Losses are paired over the repeats, and averaged over the repeats of a fold; ``_other`` is the error of the second
    method.
    """
    runs, losses = runs.of_configs(experiment.configs), list[ExperimentRecord]()
    cells = _cells_by_method(experiment, runs)
    for name, pair in experiment.comparisons().items():
        for problem, known in facts.items():
            if problem not in cells[pair.first] or problem not in cells[pair.second]:
                continue
            first, second = cells[pair.first][problem], cells[pair.second][problem]
            ours, others = runs.values(first, _ERROR), runs.values(second, _ERROR)
            paired = {repeat: ours[repeat] - others[repeat] for repeat in ours if repeat in others}
            by_fold = by_split(paired, known.n_splits)
            if len(by_fold) < 2:
                continue
            test = corrected_t(list(by_fold.values()), known.test_ratio)
            cut = second if pair.group.is_second_cut else first
            kept = 100.0 * (runs.mean(cut, _SIZE) or 0.0) / known.n_features
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


def _errors(experiment: Experiment, runs: Runs) -> Document:
    runs = runs.of_configs(experiment.configs)
    cells = _cells_by_method(experiment, runs)
    problems = dict.fromkeys(problem for by_problem in cells.values() for problem in by_problem)
    records = list[ExperimentRecord]()
    for problem in problems:
        record: ExperimentRecord = {"row": problem}
        for name, by_problem in cells.items():
            cell = by_problem.get(problem)
            for quantity in (_ERROR, _SIZE):
                mean = None if cell is None else runs.mean(cell, quantity)
                record[f"{name}, {quantity}"] = mean
        records.append(record)
    columns = [(name, f"{{{name}, {_ERROR}:.2f}} ({{{name}, {_SIZE}:.1f}})") for name in cells]
    note = (
        "Test error in percent and, in brackets, number of features: means over the runs."
        f" τ = {experiment.tau}. The folds of each method are listed in {experiment.page}."
    )
    n_missing = 0
    for cell in (cell for by_problem in cells.values() for cell in by_problem.values()):
        n_missing += runs.counts[cell]["n_planned"] - len(runs.values(cell, _ERROR))
    return Document.of_records(
        experiment.id,
        f"{experiment.title}: test errors (features)",
        [("Data set", "{row}"), *columns],
        records,
        notes=(note,),
        n_missing=n_missing,
    )


def _tests(
    experiment: Experiment,
    losses: pd.DataFrame,
    margin: Margin = ONE_POINT,
    test: Test = signed_rank_test,
) -> list[ExperimentRecord]:
    """Return the tests over data sets; p has Holm's correction over the tested comparisons of a family."""
    pairs = experiment.comparisons()
    n_whole = losses["row"].value_counts()
    cut = losses[~losses["is_apart"].astype(bool)]
    by_row = {str(row): frame for row, frame in cut.groupby("row", sort=False)}
    samples = {
        row: multiples(frame["loss"], frame["_other"], margin) for row, frame in by_row.items()
    }
    judged = _judged(experiment, samples, test)
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


def _judged(
    experiment: Experiment, samples: Mapping[str, FloatArray], test: Test
) -> dict[str, tuple[float, ClaimVerdict]]:
    """Return p and the verdict of each comparison that answers a claim, corrected within its family."""
    pairs, judged = experiment.comparisons(), dict[str, tuple[float, ClaimVerdict]]()
    tested = [row for row in samples if pairs[row].group.claim]
    for rows in grouped(tested, lambda row: pairs[row].group.family).values():
        verdicts = judge_losses([samples[row] for row in rows], test)
        judged |= dict(zip(rows, verdicts, strict=True))
    return judged


def _variants(experiment: Experiment, losses: pd.DataFrame) -> list[ExperimentRecord]:
    """Return the tests with other margins, the sign test, and the tests of all data sets.

    With `Experiment.is_gain_tested`, comparisons that hold come first, at a margin of 0. Their correction is over the
    whole family, since those that hold were selected by the same losses.
    """
    variants = {
        label: _tests(experiment, losses, margin) for label, margin in OTHER_MARGINS.items()
    }
    if experiment.is_gain_tested:
        tests = _tests(experiment, losses)
        held = [record["row"] for record in tests if record["verdict"] == "holds"]
        gains = _tests(experiment, losses, test=gain_test)
        of_held = [record for record in gains if record["row"] in held]
        variants = {NO_MARGIN: of_held, **variants}
    variants["sign test"] = _tests(experiment, losses, test=sign_test)
    variants["all data sets"] = _tests(experiment, losses.assign(is_apart=False))
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
        pairs = [pair for pair in group.comparisons() if pair.name in run]
        texts = [
            [data_set, *(row.get(pair.name, EMPTY) for pair in pairs)]
            for data_set, row in rows.items()
        ]
        headers = ["Data set", *(pair.label for pair in pairs)]
        grids.append(Grid(f"group{number}", group.title, headers, texts))
    first, *others = grids
    return Document(
        f"{experiment.id}_matrix",
        f"{experiment.title}: verdicts by data set, {first.caption}",
        "",
        first.headers,
        first.rows,
        [f"Mean loss [95 % interval] verdict. {_WITHIN} In brackets: {_APART}"],
        pd.DataFrame(list(rows.values()), dtype=object),
        has_runs=bool(rows),
        others=others,
    )
