"""Prechelt 1998, "Early stopping - but when?": slowness, badness and good runs of each criterion, and its trade-off."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pppca_bench.reporting.document import Document
from pppca_bench.reporting.figure_data import Figure, Panel
from pppca_bench.reporting.snapshot import Snapshot
from pppca_bench.reporting.statistics import summarise
from pppca_bench.reporting.summary import Results
from pppca_bench.runs import Cell
from pppca_bench.store.database import Store

CONFIG = "early_stopping"

EPOCHS, ERROR = "epochs_", "test_squared_error_percent_"
"""Beginnings of the names of a criterion's measures."""

PAPER = "Prechelt 1998"

DEFINITIONS = (
    "Choice, since only the paper's abstract is at hand: in each run, slowness is the number of epochs relative to the"
    " fastest of the 14 criteria, and badness is the test error relative to the best of them; both are means over all"
    " runs. P_g: share of the runs in which no criterion leads to a smaller test error; several may be equal."
)


def tables(snapshot: Snapshot) -> dict[str, Callable[[], Document]]:
    """Return the builders of the tables of the criteria and of the problems."""
    return {
        "ES2": partial(criteria_document, snapshot.results),
        "ES3": partial(problems_document, snapshot.results),
    }


def shown(snapshot: Snapshot) -> dict[Cell, str]:
    """Return the table that shows the runs of a cell."""
    return dict.fromkeys(snapshot.results.of_config(CONFIG), "ES3")


def figures(snapshot: Snapshot, _: Store) -> list[Figure]:
    """Return the trade-off of slowness and badness, a curve for each class of criteria."""
    runs = stops(snapshot.results)
    if runs.empty:
        return []
    frame = criteria(runs)
    data = frame.assign(curve=frame.index.str.partition("_").get_level_values(0))
    data = data.rename(columns={"slowness": "step", "badness": "mean"})
    columns = ["curve", "step", "mean", "low", "high", "n"]
    panels = [Panel("curves", "", data[columns].reset_index(drop=True))]
    basis = f"Means over {runs['run'].nunique()} runs. Bands: 95 % interval of the mean badness."
    title = "Training time against generalisation of stopping criteria"
    axes = "slowness: epochs ÷ least epochs", "badness: test error ÷ least test error"
    return [Figure("ES", title, PAPER, *axes, panels, DEFINITIONS, basis=basis)]


def stops(results: Results) -> pd.DataFrame:
    """Return epochs and test error of each criterion in each run, with the run's problem, number, slowness and badness.

    Slowness and badness are relative to the least epochs and the least test error of the run; see `DEFINITIONS`. A run
    without errors has a badness of 1 for each criterion without errors, and infinity for the others.
    """
    rows = list[tuple[Any, ...]]()
    for index, (cell, runs) in enumerate(results.of_config(CONFIG).items()):
        names = [name.removeprefix(EPOCHS) for name in runs.numbers if name.startswith(EPOCHS)]
        for name in names:
            errors = runs.values(f"{ERROR}{name}")
            rows += [
                (cell.problem, (index, repeat), name, epochs, errors[repeat])
                for repeat, epochs in runs.values(f"{EPOCHS}{name}").items()
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
    groups = frame.assign(good=frame["badness"] == 1.0).groupby("criterion", sort=False)
    own = groups[["slowness", "good"]].mean()
    badness = {name: summarise(values.to_list())._asdict() for name, values in groups["badness"]}
    own = own.join(pd.DataFrame.from_dict(badness, "index").rename(columns={"mean": "badness"}))
    own["good"] *= 100.0
    own["best_for_its_time"] = [
        bool(own.loc[own["slowness"] <= row["slowness"], "badness"].min() >= row["badness"])
        for _, row in own.iterrows()
    ]
    return own


def criteria_document(results: Results) -> Document:
    """Return ES2: slowness, badness and P_g, with a row for each criterion."""
    records = [
        {
            "row": str(name),
            "n": int(row["n"]),
            "slowness": float(row["slowness"]),
            "badness": float(row["badness"]),
            "good_percent": float(row["good"]),
            "best_for_its_time": "yes" if row["best_for_its_time"] else "no",
        }
        for name, row in criteria(stops(results)).iterrows()
    ]
    columns = [
        ("Criterion", "{row}"),
        ("runs", "{n}"),
        ("slowness", "{slowness:.2f}"),
        ("badness", "{badness:.3f}"),
        ("P_g, %", "{good_percent:.0f}"),
        ("best for its time", "{best_for_its_time}"),
    ]
    note = "Best for its time: no criterion that is as fast has less badness."
    return Document.of_records(
        "ES2",
        "Stopping criteria on the same trainings",
        columns,
        records,
        notes=(DEFINITIONS, note),
    )


def problems_document(results: Results) -> Document:
    """Return ES3: slowdown, gain and the criterion of least badness, with a row for each problem."""
    cells, frame = results.of_config(CONFIG), stops(results)
    records = list[dict[str, Any]]()
    for problem in dict.fromkeys(cell.problem for cell in cells):
        own = [runs for cell, runs in cells.items() if cell.problem == problem]
        values = {
            name: [value for runs in own for value in runs.values(name).values()]
            for name in ("slowdown", "gain_percent")
        }
        badness = (
            frame[frame["problem"] == problem].groupby("criterion", sort=False)["badness"].mean()
        )
        records.append(
            {
                "row": problem,
                "n": len(values["slowdown"]),
                "n_planned": sum(runs.n_planned for runs in own),
                **{name: float(np.mean(of)) if of else None for name, of in values.items()},
                "best": str(badness.idxmin()) if len(badness) else None,
            }
        )
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
