"""Distributions of test errors over runs: quartiles and the best run (Proben1 report, section 2.8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median, quantiles
from typing import NamedTuple

from pppca_bench.reporting.document import Document
from pppca_bench.reporting.labels import distinct_labels
from pppca_bench.reporting.number_text import number
from pppca_bench.reporting.summary import Results
from pppca_bench.runs import StoredRun

CONFIGS: Mapping[str, str] = {
    "proben1_linear": "linear networks",
    "proben1_pivot": "pivot networks",
    "proben1_no_shortcuts": "pivot networks without shortcuts",
}
"""Configs that have a table of their own, and the networks that they train."""

CHOSEN_BY = "validation_squared_error_percent"
SPREAD = ("test_squared_error_percent", "test_error_percent")


class Distribution(NamedTuple):
    """Distribution of a quantity over runs; ``best`` is its value in the run with the least validation error."""

    best: float | None
    minimum: float
    lower_quartile: float
    median: float
    upper_quartile: float
    maximum: float


def describe_spread(values: Sequence[float], validation_errors: Sequence[float] = ()) -> Distribution:
    """Describe the distribution of a quantity over runs.

    Choice: quartiles lie between the sorted values in proportion to their ranks, the least at 0 and the greatest at 1;
    of several runs with the least validation error the first is the best.

    Parameters
    ----------
    values : sequence of float, length >= 1
        One per run.
    validation_errors : sequence of float, optional
        Of the same runs: the test error never decides which run is the best (Proben1 report, section 2.8). Without
        them the best is None.
    """
    lower, _, upper = quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3
    best = values[min(range(len(values)), key=validation_errors.__getitem__)] if validation_errors else None
    return Distribution(best, min(values), lower, median(values), upper, max(values))


def distribution_document(config: str, results: Results) -> Document:
    """Return the distributions of test errors and classification errors of a config of `CONFIGS`, a row a problem."""
    cells = results.of_config(config)
    labels, problems = distinct_labels(cells, with_tau=True), [cell.problem for cell in cells]
    rows, records = list[tuple[str, ...]](), list[dict[str, object]]()
    n_missing = 0
    for cell, runs in cells.items():
        row = cell.problem if problems.count(cell.problem) == 1 else f"{cell.problem}, {labels[cell]}"
        spread = {quantity: _distribution(runs, quantity) for quantity in SPREAD}
        n = sum(result is not None and SPREAD[0] in result.values for _, result in runs)
        n_missing += len(runs) - n
        texts = (number(own[name], 2) for own in spread.values() for name in Distribution._fields)
        rows.append((row, str(n), *texts))
        values = {f"{quantity}_{name}": own[name] for quantity, own in spread.items() for name in Distribution._fields}
        records.append({"row": row, "n": n, "n_planned": len(runs), **values})
    heads = ("best", "min", "Q1", "median", "Q3", "max")
    return Document(
        f"D_{config}",
        f"Distribution of test errors, {CONFIGS[config]}",
        "",
        ("Problem", "runs", *(f"{prefix} {head}" for prefix in ("Test", "Classif.") for head in heads)),
        rows,
        (
            "Test: squared error percentage; Classif.: classification error in percent. Best: the run with the least"
            " validation error. Q1, Q3: quartiles.",
        ),
        records,
        was_run=bool(cells),
        n_missing=n_missing,
    )


def _distribution(runs: Sequence[StoredRun], quantity: str) -> dict[str, float | None]:
    known = [result.values for _, result in runs if result is not None and quantity in result.values]
    if not known:
        return dict.fromkeys(Distribution._fields)
    chosen = [values[CHOSEN_BY] for values in known] if all(CHOSEN_BY in values for values in known) else []
    return describe_spread([values[quantity] for values in known], chosen)._asdict()
