"""Results on own data for a reader who did not run them: the data, one recommendation, and its figures."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pppca_bench.methods.lookup import title_of
from pppca_bench.pages.document import quantity_text
from pppca_bench.pages.own_figures import OwnFigure, confusion_figure, score_figures
from pppca_bench.pages.recommendation import measured_text, settings_text, tested_quantity
from pppca_bench.pages.snapshot import Snapshot, take_snapshot
from pppca_bench.quantities import described
from pppca_bench.results.frames import Runs
from pppca_bench.results.labels import labels_of
from pppca_bench.runs import ProblemFacts
from pppca_bench.store.database import Store
from pppca_bench.store.export import PREDICTED, TARGETS, last_day
from pppca_bench.verdicts.advice import Advice, Validated, advice_on

MAX_PROBLEMS = 8
"""Largest number of configs' problems that are described one by one; rankings compare methods on more."""


class OwnResult(NamedTuple):
    """Results of a config on a problem: paragraphs on the data and the recommendation, and figures."""

    data: str
    recommendation: str
    figures: Sequence[OwnFigure]
    note: str  # how to get a figure that is lacking


def snapshots_by_config(snapshot: Snapshot, store: Store) -> dict[str, Snapshot]:
    """Return a snapshot of each config of a snapshot; the runs of a single config are read already."""
    configs = snapshot.runs.all_configs
    if len(configs) == 1:
        return {configs[0]: snapshot}
    return {config: take_snapshot(store, snapshot.references, [config]) for config in configs}


def own_results(by_config: Mapping[str, Snapshot], store: Store) -> list[OwnResult]:
    """Return the results of each config on each problem; none if there are more than ``MAX_PROBLEMS``."""
    compared = list[tuple[str, Snapshot, Advice]]()
    for config, of_config in by_config.items():
        cells = list(dict.fromkeys(itertools.chain(*of_config.means("X")[1]["cells"])))
        for advice in advice_on(of_config.runs, of_config.facts, cells):
            compared.append((config, of_config, advice))
    if len(compared) > MAX_PROBLEMS:
        return []
    n_problems = Counter(config for config, _, _ in compared)
    results = []
    for config, of_config, advice in compared:
        suffix = "" if len(by_config) == 1 else f"_{config}"
        if n_problems[config] > 1:
            suffix += "_" + re.sub(r"[^\w.-]+", "-", advice.problem)
        results.append(_result(of_config, store, advice, suffix))
    return results


def _result(snapshot: Snapshot, store: Store, advice: Advice, suffix: str) -> OwnResult:
    runs, known = snapshot.runs, snapshot.facts[advice.problem]
    cells = runs.of_problem(advice.problem)
    labels = labels_of(runs, cells)
    quantity = tested_quantity(runs, advice)
    shown = advice.taken or advice.best
    scores = pd.DataFrame(list(_scores(runs, advice, labels, quantity, shown)))
    unit = described(quantity).title.partition(", ")[2]
    tested, is_score = measured_text(quantity), described(quantity).more_is_better
    axis = ", ".join(filter(None, [f"{tested[:1].upper()}{tested[1:]}", unit]))
    figures = score_figures(suffix, advice.problem, scores, axis, more_is_better=is_score)
    counts, note = _confusion(runs, store, known, shown), ""
    if counts is not None:
        figures += confusion_figure(suffix, labels[shown.number], counts)
    elif known.task == "classification":
        note = "For a confusion matrix, set `predictions: true` in the config."
    data = _data_text(runs, store, known, counts)
    return OwnResult(data, _plain(runs, advice, labels, quantity, known), figures, note)


def _scores(
    runs: Runs, advice: Advice, labels: Mapping[int, str], quantity: str, shown: Validated
) -> Iterator[dict[str, Any]]:
    """Yield the test scores of the cells of a problem."""
    baselines = {baseline.number for baseline, _ in advice.gains}
    for number, label in labels.items():
        summary = runs.summary(number, quantity)
        features = runs.mean(number, "dimensionality")
        if summary is None or features is None:
            continue
        yield {
            "label": label,
            "method": title_of(runs.cells[number].method),
            "features": features,
            "mean": summary.mean,
            "low": summary.low,
            "high": summary.high,
            "n": summary.n,
            "is_baseline": number in baselines,
            "is_recommended": number == shown.number and advice.taken is not None,
        }


def _confusion(
    runs: Runs, store: Store, known: ProblemFacts, shown: Validated
) -> pd.DataFrame | None:
    """Return the numbers of test rows of a cell's runs by class and predicted class; None without predictions."""
    if known.task != "classification" or not runs.cells[shown.number].predictions:
        return None
    classes = known.classes or tuple(range(known.n_outputs))
    counts = np.zeros((len(classes), len(classes)), dtype=np.int64)
    for arrays in store.histories(runs.done(shown.number)["key"].tolist()).values():
        pairs = arrays[TARGETS].astype(np.int64), arrays[PREDICTED].astype(np.int64)
        np.add.at(counts, pairs, 1)
    rows = []
    for (target, predicted), n in np.ndenumerate(counts):
        rows.append({"target": classes[target], "predicted": classes[predicted], "n": int(n)})
    return pd.DataFrame(rows)


def _data_text(runs: Runs, store: Store, known: ProblemFacts, counts: pd.DataFrame | None) -> str:
    """Return the sizes of the data, the classes, the splits and the day of the last run as sentences."""
    sizes = (known.n_train, known.n_validation, known.n_test)
    targets = f"{known.n_outputs} target{'s' if known.n_outputs > 1 else ''} to approximate"
    if known.task == "classification":
        targets = f"{known.n_outputs} classes"
        if counts is not None:
            of_class = counts.groupby("target", sort=False)["n"].sum()
            shares = [
                f"{label} {100.0 * n / of_class.sum():.3g} %" for label, n in of_class.items()
            ]
            targets += f" ({', '.join(shares)} of the test rows)"
    split = "one split" if known.n_splits == 1 else f"{known.n_splits} random splits"
    keys = [key for cell in runs.of_problem(known.name) for key in runs.done(cell)["key"]]
    return (
        f"{known.name}: {sum(sizes):,} rows, {known.n_features} inputs, {targets}; {split} into"
        f" {' / '.join(f'{size:,}' for size in sizes)} rows for training, validation and testing. Last run on"
        f" {last_day(store, keys)}."
    )


def _plain(
    runs: Runs, advice: Advice, labels: Mapping[int, str], quantity: str, known: ProblemFacts
) -> str:
    """Return the recommendation without tests and keys, as one sentence or, with the fewest features, two."""
    tested, unit = measured_text(quantity), described(quantity).title.partition(", ")[2]

    def value(number: int) -> str:
        mean = runs.mean(number, quantity)
        return "unknown" if mean is None else f"{quantity_text(quantity, mean)} {unit}".rstrip()

    baselines = [f"{labels[one.number]} {value(one.number)}" for one, _ in advice.gains]
    beside = f"; {', '.join(baselines)}" if baselines else ""

    def found(one: Validated) -> str:
        setting = f" → {settings_text(one.setting)}" if one.setting else ""
        return f"{labels[one.number]}{setting} with {one.size:.3g} of {known.n_features} features"

    numbers = f"{tested} {value(advice.best.number)}{beside}"
    best = found(advice.best)
    if not advice.gains:
        return f"Best of the methods: {best} ({numbers})."
    score = tested.removeprefix("test ")
    if advice.taken is advice.best:
        text = f"Recommended: {best} ({numbers})."
    elif advice.taken:
        text = (
            f"Recommended: {labels[advice.taken.number]}. The validation data do not show that the best method, {best},"
            f" has a better {score} ({numbers})."
        )
    else:
        text = (
            f"No method is worth taking for its {score}: the validation data do not show that the best, {best}, is"
            f" better than the baselines ({numbers})."
        )
    if advice.smallest and advice.taken:
        taken = labels[advice.taken.number]
        fewest = found(advice.smallest)
        text += f" Fewest features at most {advice.matters:g} point from {taken}: {fewest}."
    return text
