"""A table, a figure and a claim beside the tables of reference.yaml (docs/extending.md)."""

from pppca_bench.pages.document import Document
from pppca_bench.pages.figure_data import Figure, Panel
from pppca_bench.pages.findings import Answers, Finding

TABLES = ["U1", "U2"]


def tables(snapshot):
    """Return the builders of further tables by identifier."""
    return {"U3": lambda: differences(snapshot)}


def differences(snapshot):
    """Return U3: the mean difference of our errors from the printed errors, with a row for each table."""
    records = [
        {"row": table, "n": len(rows), "difference": rows["difference"].mean()}
        for table, rows in errors(snapshot).groupby("table")
    ]
    columns = [
        ("Table", "{row}"),
        ("errors", "{n}"),
        ("ours − printed, points", "{difference:+.2f}"),
    ]
    return Document.of_records("U3", "Mean difference of the errors", columns, records)


def errors(snapshot):
    """Return the printed errors that were run, as rows of a data frame."""
    numbers = snapshot.numbers
    return numbers[numbers["table"].isin(TABLES) & numbers["difference"].notna()]


def figures(snapshot, store):  # noqa: ARG001
    """Return further figures; ``store.histories(keys)`` has the learning curves of runs."""
    points = errors(snapshot)[["table", "row", "published", "mean"]]
    points.columns = ["series", "label", "published", "mean"]
    margins = {"margin_low": points["published"] - 1.0, "margin_high": points["published"] + 1.0}
    points = points.assign(low=points["mean"], high=points["mean"], n=1, **margins)
    panels = [Panel("points", "errors", points)] if len(points) else []
    axes = "classifiers", "our error ÷ printed error"
    return [Figure("U4", "Printed and our errors", "", *axes, panels, "Grey: within 1 point.")]


def claims(snapshot, figures):  # noqa: ARG001
    """Return the answers to the claims of the source."""
    ours = errors(snapshot).set_index("row")["mean"]
    answer = ""
    if {"wine, QDA", "wine, LDA"} <= set(ours.index):
        qda, lda = ours["wine, QDA"], ours["wine, LDA"]
        start = "Yes" if qda < lda else "No"
        answer = f"{start}: QDA errs on {qda:.1f} %, LDA on {lda:.1f} % of our test split."
    claim, place = "QDA errs less than LDA on wine.", "load_wine().DESCR"
    return Answers(claims=[Finding(claim, place, answer, sources=["U1"])])
