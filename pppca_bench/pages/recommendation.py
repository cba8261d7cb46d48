"""Settings that runs choose, and recommended settings of a config, by its validation splits."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from pppca_bench.pages.document import EMPTY, Document, quantity_text
from pppca_bench.quantities import BALANCED_SCORES, ERRORS, described, error_of
from pppca_bench.results.frames import Runs
from pppca_bench.results.labels import labels_of
from pppca_bench.runs import Parameters, Scalar, grouped, setting_text, written
from pppca_bench.store.choices import recommended, score_to_choose_by
from pppca_bench.verdicts.pairs import MARGIN

_KEY_LENGTH = 10
"""Number of characters of a run's key that name the run."""

TESTED = (*ERRORS, *BALANCED_SCORES)
"""Quantities of the test split."""


def recommendations(runs: Runs, numbers: pd.DataFrame) -> Iterator[str]:
    """Yield the recommended cell of each problem, and the fewest features within `MARGIN` of it, as sentences.

    They are chosen by means over the validation splits, never by the test error: by the score that runs of the problem
    choose by or, without such runs, by the validation error. A cell whose runs choose their settings has the value of
    the setting that is the best over all runs. A problem with a single cell has no sentence, unless its runs choose.
    The cells are those of the numbers, the rows of X in the frame of printed numbers.
    """
    cells = list(dict.fromkeys(itertools.chain(*numbers["cells"])))
    labels = labels_of(runs, cells)
    done = [number for number in labels if runs.counts[number]["n_done"]]
    for of_problem in grouped(done, lambda number: runs.cells[number].problem).values():
        yield from _recommended_of(runs, of_problem, labels)


class _Validated(NamedTuple):
    """Cell with a mean over its validation splits and a number of features, both of ``setting`` if its runs choose."""

    number: int
    value: float
    size: float
    setting: Parameters


def _recommended_of(runs: Runs, numbers: Sequence[int], labels: Mapping[int, str]) -> Iterator[str]:
    """Yield the sentences on the cells of a problem."""
    score = score_to_choose_by(runs.cells[number] for number in numbers)
    quantity, sign = error_of(runs.measured[numbers[0]], "validation"), 1.0
    if score:
        quantity, sign = f"validation_{score}", -1.0
    compared = list[_Validated]()
    for number in numbers:
        if validated := _validated(runs, number, quantity):
            compared.append(validated)
    if len(compared) < 2 and not any(item.setting for item in compared):  # nothing to choose from
        return
    best = min(compared, key=lambda item: (sign * item.value, item.size))
    near = [item for item in compared if sign * (item.value - best.value) <= MARGIN]
    smallest = min(near, key=lambda item: item.size)
    key = runs.done(best.number)["key"].iloc[0][:_KEY_LENGTH]
    problem = runs.cells[best.number].problem
    text = _text(runs, best, f"{problem}, {labels[best.number]}", quantity)
    yield (
        f"Recommended by the {_measured(quantity)}: {text}. To fit it to all rows:"
        f' `pppca_bench.pipeline("{key}", final=True)`.'
    )
    if smallest.size < best.size:
        text = _text(runs, smallest, f"{problem}, {labels[smallest.number]}", quantity)
        yield f"Fewest features at most {MARGIN:g} point from it: {text}."


def _validated(runs: Runs, number: int, quantity: str) -> _Validated | None:
    """Return a cell with the mean of a quantity of the validation split; None if its runs do not have it."""
    settings, values = recommended(runs.cells[number], runs.choices(number)) or ({}, {})
    value = values.get(quantity, runs.mean(number, quantity))
    size = values.get("dimensionality", runs.mean(number, "dimensionality"))
    if value is None or size is None:
        return None
    return _Validated(number, value, size, tuple(settings.items()))


def _text(runs: Runs, item: _Validated, label: str, quantity: str) -> str:
    """Return label, setting and numbers of a recommended cell."""
    facts = [_measured(quantity, item.value), _measured("dimensionality", item.size)]
    score = quantity.removeprefix("validation_")
    tested = [score if score in BALANCED_SCORES else error_of(runs.measured[item.number])]
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
            of_test.append(_measured(name, mean))
    facts.append(whose + ", ".join(of_test))
    return f"{label} ({'; '.join(facts)})"


def _measured(quantity: str, value: float | None = None) -> str:
    """Return the title of a quantity and, if given, its value with the unit, such as ``"test error 2.00 %"``."""
    title, _, unit = described(quantity).title.partition(", ")
    text = f"{title[:1].lower()}{title[1:]}"
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
