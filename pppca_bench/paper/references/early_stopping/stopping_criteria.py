"""Prechelt 1998, "Early stopping - but when?": criteria read off stored curves, and their trade-off."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pppca_bench.pages.document import Document
from pppca_bench.pages.figure_data import Figure, Panel
from pppca_bench.pages.snapshot import Snapshot
from pppca_bench.results.frames import Runs
from pppca_bench.results.statistics import Summary, summarise
from pppca_bench.runs import grouped
from pppca_bench.store.columns import CURVES
from pppca_bench.store.database import Store

CONFIG = "early_stopping"

STRIP_LENGTH = 5
"""Number of epochs of a strip, the default of the networks."""

CRITERIA: Mapping[str, tuple[float, ...]] = {
    "GL": (1, 2, 3, 5),
    "PQ": (0.5, 0.75, 1, 2, 3),
    "UP": (2, 3, 4, 6, 8),
}
"""Limits of the criteria: GL above α, GL / P_k above α, and s successive strips that raise the validation error.

Choice: Prechelt 1998 compares 14 criteria of these three classes, but the abstract does not say with which limits.
"""

LIMITS = {
    kind: {f"{kind}_{limit:g}": limit for limit in limits} for kind, limits in CRITERIA.items()
}
"""Limits of the criteria of each class by name, such as ``"PQ_0.5"``, from the fastest to the slowest."""

NAMES = {kind: [*limits] for kind, limits in LIMITS.items()}

EPOCHS, ERROR = "epochs_", "test_squared_error_percent_"
"""Beginnings of the names of a criterion's measures."""

PAPER = "Prechelt 1998"

DEFINITIONS = (
    "Choice, since only the paper's abstract is at hand: in each run, slowness is the number of epochs relative to the"
    " fastest of the 14 criteria, and badness is the test error relative to the best of them; both are means over all"
    " runs. P_g: share of the runs in which no criterion leads to a smaller test error; several may be equal."
)


def stopping_strips(training: Sequence[float], validation: Sequence[float]) -> dict[str, int]:
    """Return the strip, from 0, at whose end each criterion stops; the last strip, if a criterion is not met.

    Parameters
    ----------
    training : sequence of float of length n_epochs
        Training errors E_tr.
    validation : sequence of float of length n_strips
        Validation errors E_va at the ends of strips.
    """
    last = len(validation) - 1
    strips = dict[str, int]()
    least, before, n_increases = math.inf, math.inf, 0
    for strip, error in enumerate(validation):
        least = min(least, error)
        n_increases = n_increases + 1 if error > before else 0
        before = error
        errors = training[strip * STRIP_LENGTH : (strip + 1) * STRIP_LENGTH]
        # GL = 100 (E_va / E_opt - 1); P_k = 1000 (mean E_tr / min E_tr - 1)
        loss = 100.0 * excess(error, least)
        progress = 1000.0 * excess(sum(errors) / len(errors), min(errors))
        for name in criteria_met(loss, progress, n_increases):
            strips.setdefault(name, strip)
    return {name: strips.get(name, last) for names in NAMES.values() for name in names}


def excess(value: float, least: float) -> float:
    """Return value / least - 1: 0 if they are equal, infinity if only the least is 0."""
    if value == least:
        return 0.0
    return value / least - 1.0 if least > 0.0 else math.inf


def criteria_met(loss: float, progress: float, n_increases: int) -> list[str]:
    """Return the criteria met at the end of a strip, given GL, P_k and the number of successive increases."""
    met = [name for name, limit in LIMITS["GL"].items() if loss > limit]
    met += [name for name, limit in LIMITS["PQ"].items() if loss > limit * progress]
    met += [name for name, limit in LIMITS["UP"].items() if n_increases >= limit]
    return met


def slowest_to_fastest(values: Mapping[str, float]) -> float:
    """Return the ratio of the slowest to the fastest criterion, the mean over the three classes; nan for a ratio to 0.

    Choice: within a class the criterion with the larger limit never stops earlier, so that "slower" has a meaning that
    no result decides.
    """
    ends = [(values[names[-1]], values[names[0]]) for names in NAMES.values()]
    return float(np.mean([slow / fast if fast else math.nan for slow, fast in ends]))


def measures(runs: Runs, store: Store) -> dict[str, dict[str, float]]:
    """Return the numbers that the curves of each run have, by its key.

    These are the epochs and the test error of each criterion, ``slowdown``, the ratio of the epochs of the slowest to
    the fastest criterion of a class, and ``gain_percent``, by how much the slowest reduce the test error.
    """
    of_config = runs.of_configs((CONFIG,))
    keys = of_config.frame["key"].tolist()
    found = {}
    for key, curves in store.histories(keys).items():
        found[key] = measures_of(*(curves[name].tolist() for name in CURVES))
    return found


def measures_of(
    training: Sequence[float], validation: Sequence[float], test: Sequence[float]
) -> dict[str, float]:
    """Return the measures of a run, given its curves."""
    strips = stopping_strips(training, validation)
    epochs, errors = dict[str, float](), dict[str, float]()
    for name, strip in strips.items():
        epochs[name] = float(min((strip + 1) * STRIP_LENGTH, len(training)))
        errors[name] = test[strip]
    numbers = {f"{EPOCHS}{name}": value for name, value in epochs.items()}
    numbers |= {f"{ERROR}{name}": value for name, value in errors.items()}
    numbers["slowdown"] = slowest_to_fastest(epochs)
    numbers["gain_percent"] = 100.0 * (1.0 - slowest_to_fastest(errors))
    return numbers


def tables(snapshot: Snapshot) -> dict[str, Callable[[], Document]]:
    """Return the builders of the tables of the criteria and of the problems."""
    return {
        "ES2": partial(criteria_document, snapshot.runs),
        "ES3": partial(problems_document, snapshot.runs),
    }


def shown(snapshot: Snapshot) -> dict[int, str]:
    """Return the table that shows the runs of a cell, by the cell's number."""
    return dict.fromkeys(snapshot.runs.of_configs((CONFIG,)).cells, "ES3")


def figures(snapshot: Snapshot, _: Store) -> list[Figure]:
    """Return the trade-off of slowness and badness, a curve for each class of criteria."""
    runs = stops(snapshot.runs)
    if runs.empty:
        return []
    data = criteria(runs).reset_index().rename(columns={"slowness": "step", "badness": "mean"})
    data["curve"] = data["criterion"].str.partition("_")[0]
    panels = [Panel("curves", "", data[["curve", "step", "mean", "low", "high", "n"]])]
    basis = f"Means over {runs['run'].nunique()} runs. Bands: 95 % interval of the mean badness."
    title = "Training time against generalisation of stopping criteria"
    axes = "slowness: epochs ÷ least epochs", "badness: test error ÷ least test error"
    return [Figure("ES", title, PAPER, *axes, panels, DEFINITIONS, basis=basis)]


def stops(runs: Runs) -> pd.DataFrame:
    """Return epochs and test error of each criterion in each run, with the run's problem, number, slowness and badness.

    Slowness and badness are relative to the least epochs and the least test error of the run; see `DEFINITIONS`. A run
    without errors has a badness of 1 for each criterion without errors, and infinity for the others.
    """
    of_config = runs.of_configs((CONFIG,))
    records = [
        (cell.problem, record)
        for number, cell in of_config.cells.items()
        for record in of_config.records(number)
    ]
    rows = [
        (problem, run, name.removeprefix(EPOCHS), epochs, record[name.replace(EPOCHS, ERROR)])
        for run, (problem, record) in enumerate(records)
        for name, epochs in record.items()
        if name.startswith(EPOCHS)
    ]
    frame = pd.DataFrame(rows, columns=["problem", "run", "criterion", "epochs", "error"])
    for relative, name in {"slowness": "epochs", "badness": "error"}.items():
        least = frame.groupby("run")[name].transform("min")
        frame[relative] = np.where(frame[name] == least, 1.0, frame[name] / least)
    return frame


def criteria(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the number of runs, slowness, badness, its 95 % interval and P_g of each criterion, by its name.

    ``best_for_its_time``: whether no criterion that is as fast has less badness.
    """
    groups = frame.assign(good_percent=100.0 * (frame["badness"] == 1.0)).groupby(
        "criterion", sort=False
    )
    by_criterion = groups[["slowness", "good_percent"]].mean()
    badness = {name: summarise(values.to_list()) for name, values in groups["badness"]}
    interval = pd.DataFrame.from_dict(badness, "index", columns=Summary._fields)
    by_criterion = by_criterion.join(interval.rename(columns={"mean": "badness"}))
    by_criterion["best_for_its_time"] = [
        "yes"
        if by_criterion.loc[by_criterion["slowness"] <= slowness, "badness"].min() >= badness
        else "no"
        for slowness, badness in zip(by_criterion["slowness"], by_criterion["badness"], strict=True)
    ]
    return by_criterion


def criteria_document(runs: Runs) -> Document:
    """Return ES2: slowness, badness and P_g, with a row for each criterion."""
    columns = {
        "row": ("Criterion", "{row}"),
        "n": ("runs", "{n}"),
        "slowness": ("slowness", "{slowness:.2f}"),
        "badness": ("badness", "{badness:.3f}"),
        "good_percent": ("P_g, %", "{good_percent:.0f}"),
        "best_for_its_time": ("best for its time", "{best_for_its_time}"),
    }
    by_criterion = criteria(stops(runs)).reset_index(names="row")[list(columns)]
    note = "Best for its time: no criterion that is as fast has less badness."
    return Document.of_records(
        "ES2",
        "Stopping criteria on the same trainings",
        list(columns.values()),
        by_criterion.to_dict("records"),
        notes=(DEFINITIONS, note),
    )


def problems_document(runs: Runs) -> Document:
    """Return ES3: slowdown, gain and the criterion of least badness, with a row for each problem."""
    of_config, frame, records = runs.of_configs((CONFIG,)), stops(runs), list[dict[Any, Any]]()
    by_problem = grouped(of_config.cells, lambda number: of_config.cells[number].problem)
    for problem, cells in by_problem.items():
        done = [record for number in cells for record in of_config.records(number)]
        measured = pd.DataFrame(done, columns=["slowdown", "gain_percent"])
        badness = frame[frame["problem"] == problem].groupby("criterion", sort=False)["badness"]
        by_criterion = badness.mean()
        record = {
            "row": problem,
            "n": int(measured["slowdown"].count()),
            "n_planned": sum(of_config.counts[number]["n_planned"] for number in cells),
            **measured.mean().to_dict(),
            "best": _least(by_criterion),
        }
        records.append(record)
    columns = [
        ("Problem", "{row}"),
        ("runs", "{n}"),
        ("epochs, ratio", "{slowdown:.2f}"),
        ("test error is less by, %", "{gain_percent:.2f}"),
        ("least badness", "{best}"),
    ]
    note = "Ratio and gain: the slowest against the fastest criterion of each class, as in ES1."
    return Document.of_records(
        "ES3", "Stopping criteria by problem", columns, records, notes=(note,)
    )


def _least(badness: pd.Series[float]) -> str | None:
    """Return the criterion of least badness, "all equal" if it is the same for several, None without criteria."""
    if badness.empty:
        return None
    if len(badness) > 1 and np.isclose(badness.max(), badness.min(), rtol=0.0, atol=1e-9):
        return "all equal"
    return str(badness.idxmin())
