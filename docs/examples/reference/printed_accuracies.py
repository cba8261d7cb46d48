"""A table, a figure and a claim beside the tables of reference.yaml (docs/extending.md)."""

from statistics import fmean

import pandas as pd

from pppca_bench.reporting.document import Document
from pppca_bench.reporting.figure_data import Figure, Panel
from pppca_bench.reporting.findings import Answers, Finding

ERRORS = {"U1": "test_error_percent", "U2": "train_error_percent"}


def tables(snapshot):
    """Return the builders of further tables by identifier."""
    return {"U3": lambda: differences(snapshot)}


def differences(snapshot):
    """Return U3: the mean difference of our errors from the printed errors, with a row for each table."""
    own = pd.DataFrame(errors(snapshot), columns=["row", "key", "printed", "ours"])
    records = [
        {"row": table, "n": len(rows), "difference": fmean(rows["ours"] - rows["printed"])}
        for table, rows in own.groupby("row")
    ]
    columns = [
        ("Table", "{row}"),
        ("errors", "{n}"),
        ("ours − printed, points", "{difference:+.2f}"),
    ]
    return Document.of_records("U3", "Mean difference of the errors", columns, records)


def errors(snapshot):
    """Yield table, row, printed error and our error of each cell with runs."""
    for table, quantity in ERRORS.items():
        for cell in snapshot[table].cells.values():
            if quantity in cell.ours:
                yield table, cell.row, cell.published[quantity].value, cell.ours[quantity].mean


def figures(snapshot, store):  # noqa: ARG001
    """Return further figures; ``store.histories(keys)`` has the learning curves of runs."""
    points = pd.DataFrame(errors(snapshot), columns=["series", "label", "published", "mean"])
    margins = {"margin_low": points["published"] - 1.0, "margin_high": points["published"] + 1.0}
    points = points.assign(low=points["mean"], high=points["mean"], n=1, **margins)
    panels = [Panel("points", "errors", points)] if len(points) else []
    axes = "classifiers", "our error ÷ printed error"
    return [Figure("U4", "Printed and our errors", "", *axes, panels, "Grey: within 1 point.")]


def claims(snapshot, figures):  # noqa: ARG001
    """Return the answers to the claims of the source."""
    ours = {row: error for _, row, _, error in errors(snapshot)}
    verdict, answer = "not run", "Not run."
    if ours.keys() >= {"wine, QDA", "wine, LDA"}:
        qda, lda = ours["wine, QDA"], ours["wine, LDA"]
        verdict = "holds" if qda < lda else "does not hold"
        answer = f"QDA errs on {qda:.1f} %, LDA on {lda:.1f} % of our test split."
    claim, place = "QDA errs less than LDA on wine.", "load_wine().DESCR"
    return Answers(claims=[Finding(claim, place, answer, {"verdict": verdict}, sources=["U1"])])
