"""Settings that runs choose, and recommended settings of a config, by its validation splits."""

from __future__ import annotations

import itertools
import math
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from pppca_bench.pages.document import EMPTY, SIGNED, Document, printed, quantity_text
from pppca_bench.quantities import (
    BALANCED_SCORES,
    ERRORS,
    RECALL,
    described,
    error_of,
    in_sentence,
    recall_of,
)
from pppca_bench.results.frames import Runs
from pppca_bench.results.labels import labels_of
from pppca_bench.runs import Facts, Scalar, Selector, setting_text, written
from pppca_bench.store.choices import recommended, score_to_choose_by
from pppca_bench.verdicts.advice import Advice, Validated, advice_on

_KEY_LENGTH = 10
"""Number of characters of a run's key that name the run."""

LEAST_RECALL = 50.0
"""Least recall of each class, in percent, that needs no remark."""

TESTED = (*ERRORS, *BALANCED_SCORES)
"""Quantities of the test split."""


def recommendations(
    runs: Runs, facts: Facts, numbers: pd.DataFrame, options: Sequence[str] = ()
) -> Iterator[str]:
    """Yield the advice on each problem as sentences, see `advice_on`; ``numbers`` are the rows of X in their frame.

    ``options`` are those of `pppca predict` that name the folder of the results.

    A problem with a single setting, which leaves nothing to choose, has none, unless its runs choose their settings.
    """
    cells = list(dict.fromkeys(itertools.chain(*numbers["cells"])))
    labels = labels_of(runs, cells)
    for advice in advice_on(runs, facts, cells):
        n_settings = sum(runs.cells[number].problem == advice.problem for number in cells)
        if n_settings == 1 and not advice.best.setting:
            continue
        yield recommended_text(runs, advice, labels, options)
        if advice.smallest:
            fewest = _described(runs, advice, advice.smallest, labels)
            limit = f"{advice.matters:g} point{'s' if advice.matters != 1.0 else ''}"
            call = _call(runs, advice.smallest, options)
            yield f"Fewest features at most {limit} from it: {fewest}. {call}"


def recommended_text(
    runs: Runs, advice: Advice, labels: Mapping[int, str], options: Sequence[str] = ()
) -> str:
    """Return the recommended cell of a problem, or why no method is recommended, as sentences."""
    by = measured_text(advice.quantity)
    if advice.taken is None and advice.gains:
        return f"{_unproven(advice, labels)}{_rare(runs, advice.best, labels)}"
    shown = advice.taken or advice.best
    text, call = _described(runs, advice, shown, labels), _call(runs, shown, options)
    if not advice.gains:
        lead = f"Best by the {by}, without a baseline to compare with: {text}."
        return f"{lead}{_better_tested(runs, advice, shown, labels)} {call}"
    if shown is advice.best:
        tested = f"It is better {_gains(advice, labels)}."
        lead = f"Recommended by the {by}: {text}. {tested}"
    else:
        lead = f"{_unproven(advice, labels)} Without a method: {text}."
    return f"{lead}{_rare(runs, shown, labels)}{_better_tested(runs, advice, shown, labels)} {call}"


def _unproven(advice: Advice, labels: Mapping[int, str]) -> str:
    """Return the sentence that no method is worth taking, with the numbers of the best."""
    reason = "by the paired test on the validation splits, none is better than the baselines"
    if max(gain.n for _, gain in advice.gains) < 2:
        reason = "the paired test needs two splits or repeats"
    best = f"The best, {labels[advice.best.number]}, is better {_gains(advice, labels)}."
    title = described(advice.quantity).title
    what = measured_text(advice.quantity).removeprefix("validation ")
    return (
        f"No method is worth taking for its {what} on {advice.problem}: {reason}. {title}:"
        f" {best[:1].lower()}{best[1:]}"
    )


def _better_tested(runs: Runs, advice: Advice, shown: Validated, labels: Mapping[int, str]) -> str:
    """Return why the best cell on the test split is not recommended, as a sentence; "" if it was the best before."""
    quantity = tested_quantity(runs, advice)
    sign = 1.0 if described(quantity).more_is_better else -1.0
    means = {}
    for number in labels:
        mean = runs.mean(number, quantity)
        if mean is not None and runs.cells[number].problem == advice.problem:
            means[number] = sign * mean
    best = max(means, key=means.__getitem__, default=shown.number)
    if best in (shown.number, advice.best.number) or means[best] <= means.get(
        shown.number, math.inf
    ):
        return ""
    return (
        f" {labels[best]} has the best {measured_text(quantity, sign * means[best])}; but test results may not choose,"
        " since the best of several is too good by chance."
    )


def tested_quantity(runs: Runs, advice: Advice) -> str:
    """Return the quantity of the test split that belongs to that of the validation splits."""
    score = advice.quantity.removeprefix("validation_")
    return score if score in BALANCED_SCORES else error_of(runs.measured[advice.best.number])


def _rare(runs: Runs, item: Validated, labels: Mapping[int, str]) -> str:
    """Return the class of which a cell finds less than half and the remedy, as a sentence; "" without such a class."""
    recalls = {}
    for name in runs.measured[item.number]:
        if name.startswith(RECALL):
            recalls[name] = runs.mean(item.number, name) or 0.0
    if not recalls or min(recalls.values()) >= LEAST_RECALL:
        return ""
    rare = min(recalls, key=recalls.__getitem__)
    text = f" With {labels[item.number]}, {recalls[rare]:.0f} % of the rows of class {recall_of(rare)} are found"
    if runs.cells[item.number].settings.get("classifier.class_weight"):
        return f"{text}."
    return f"{text}: `class_weight: balanced` in `classifier` finds more."


def _gains(advice: Advice, labels: Mapping[int, str]) -> str:
    """Return by how much the best method is better than each baseline, such as ``"by +2.10 than all features"``."""
    parts = []
    for baseline, gain in advice.gains:
        text = f"by {printed(gain.difference, SIGNED)} than {labels[baseline.number]}"
        if gain.low < gain.high:
            text += f" (95 % interval {printed(gain.low, SIGNED)} to {printed(gain.high, SIGNED)})"
        parts.append(text)
    return ", ".join(parts)


def _call(runs: Runs, item: Validated, options: Sequence[str]) -> str:
    """Return the commands that fit a cell to all rows, with the run's name or, if others have it too, with its key."""
    cell, run = runs.cells[item.number], runs.done(item.number).iloc[0]
    key, config = run["key"][:_KEY_LENGTH], runs.source(item.number)["config"]
    name = f"{config}/{cell.problem}/{cell.method}/{run['repeat']}"
    if len(runs.of_configs((config,)).find(Selector(cell.problem, cell.method))) > 1:
        name = key
    command = " ".join(["pppca predict", shlex.quote(name), "new.csv", *options])
    return (
        f"To predict by it, fitted to all rows: `{command}`, or"
        f' `pppca_bench.pipeline("{key}", final=True)`.'
    )


def _described(runs: Runs, advice: Advice, item: Validated, labels: Mapping[int, str]) -> str:
    """Return problem, label, setting and numbers of a cell."""
    label = f"{advice.problem}, {labels[item.number]}"
    facts = [measured_text(advice.quantity, item.mean), measured_text("dimensionality", item.size)]
    tested = [tested_quantity(runs, advice)]
    whose = ""
    if item.setting:
        label += f" → {settings_text(item.setting)}"
        n_chosen = _chosen(runs, item.number)
        facts.insert(0, f"chosen in {n_chosen[item.setting]} of {n_chosen.total()} runs")
        tested.append("dimensionality")
        whose = "of the runs, each with the setting that it chose: "
    of_test = []
    for name in tested:
        mean = runs.mean(item.number, name)
        if mean is not None:
            of_test.append(measured_text(name, mean))
    facts.append(whose + ", ".join(of_test))
    return f"{label} ({'; '.join(facts)})"


def measured_text(quantity: str, value: float | None = None) -> str:
    """Return the title of a quantity and, if given, its value with the unit, such as ``"test error 2.00 %"``."""
    title, _, unit = described(quantity).title.partition(", ")
    text = in_sentence(title)
    if quantity in BALANCED_SCORES:
        text = f"test {text}"
    if value is not None:
        text += f" {quantity_text(quantity, value)} {unit}".rstrip()
    return text


def choices_document(runs: Runs) -> Document:
    """Return C: a row for each cell whose runs choose their settings."""
    choosing = [number for number, cell in runs.cells.items() if cell.choose]
    labels = labels_of(runs, choosing)
    records = [_choices(runs, number, labels[number]) for number in choosing]
    known = set[str]().union(*records)
    shown = [name for name in TESTED if name in known]
    for record in records:
        for name in shown:
            record.setdefault(name, None)
    columns = (
        ("Problem, method", "{row}"),
        ("by", "{by}"),
        ("chosen (runs)", "{chosen}"),
        ("recommended", "{recommended}"),
        *((described(name).title, f"{{{name}:.2f}}") for name in shown),
        ("Features", "{dimensionality:.1f}"),
        ("n", "{n}"),
    )
    note = (
        "Each run chose a setting by its own training and validation split; only the chosen setting was tested."
        " Errors, scores and features are means over these runs, each with the setting that it chose: they estimate the"
        " procedure that chooses. The recommended setting is the best by the mean over the runs; it was not tested by"
        " itself."
    )
    counts = [runs.counts[number] for number in choosing]
    n_missing = sum(count["n_planned"] - count["n_done"] for count in counts)
    title = "Settings chosen by the runs themselves"
    return Document.of_records("C", title, columns, records, notes=(note,), n_missing=n_missing)


def _choices(runs: Runs, number: int, label: str) -> dict[str, Any]:
    """Return the record of a cell whose runs choose their settings."""
    cell = runs.cells[number]
    by = cell.choose["by"].replace("_", " ")
    if cell.choose["retain"] is not None:
        by += f", {written(cell.choose['retain'])} %"
    n_chosen = sorted(_chosen(runs, number).items())
    chosen = [f"{settings_text(setting)} ({n})" for setting, n in n_chosen]
    best = recommended(cell, runs.choices(number))
    record: dict[str, Any] = {
        "row": f"{cell.problem}, {label}",
        "by": by,
        "chosen": ", ".join(chosen) or EMPTY,
        "recommended": best and settings_text(best[0].items()),
    }
    error, score = error_of(runs.measured[number]), score_to_choose_by([cell])
    record[error] = runs.mean(number, error)
    record["dimensionality"] = runs.mean(number, "dimensionality")
    record["n"] = runs.counts[number]["n_done"]
    if score:
        record[score] = runs.mean(number, score)
    return record


def _chosen(runs: Runs, number: int) -> Counter[Any]:
    """Count the runs of a cell that chose each combination of candidates, as `Parameters`."""
    return Counter(tuple(choice["chosen"].items()) for choice in runs.choices(number))


def settings_text(settings: Iterable[tuple[str, Scalar]]) -> str:
    """Return a text such as ``"τ = 10, 25%"``."""
    return ", ".join(setting_text(*item) for item in settings)
