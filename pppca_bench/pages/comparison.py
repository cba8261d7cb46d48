"""Comparison with the published numbers as text: a line for every number, counts of verdicts, scores."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import pandas as pd
from tabulate import tabulate

from pppca_bench.pages.document import Document, in_json, plain_records, rows_of
from pppca_bench.pages.escapes import in_markdown, to_csv
from pppca_bench.pages.formats import RECORDS
from pppca_bench.quantities import SIZES
from pppca_bench.references.reference import Reference
from pppca_bench.verdicts.judge import VERDICTS
from pppca_bench.verdicts.numbers import OURS, record_frame, results_of
from pppca_bench.verdicts.scores import scores, with_targets

_COLUMNS = {
    "table": "{table}",
    "row": "{row}",
    "column": "{column}",
    "quantity": "{quantity}",
    "published": "{published:g}",
    "ours": "{mean:.2f}",
    "sd": "{sd:.2f}",
    "n": "{n}",
    "diff": "{difference:+.2f}",
    "95 % interval": "{difference_low:+.2f} to {difference_high:+.2f}",
    "margin": "{margin:.2f}",
    "relative": "{relative:+.0f} %",
    "verdict": "{verdict}",
    "note": "{note}",
}
SCORE_COLUMNS = (
    ("score", "{name}"),
    ("cells", "{n_cells}"),
    ("run", "{n_run}"),
    ("mean", "{score:.3f}"),
    ("worst", "{worst:.3f}"),
    ("unit", "{unit}"),
    ("target", "{target:.3f}"),
    ("within", "{share:.0f} %"),
    ("target", "{share_target:.0f} %"),
    ("met", "{met}"),
)
"""Columns of grids, as in `Document.of_records`."""


def compared_numbers(numbers: pd.DataFrame) -> pd.DataFrame:
    """Return the published numbers with all columns of the frame, ours only where they are compared."""
    published = numbers[numbers["published"].notna()]
    is_judged = published["difference"].notna()
    ours = published[OURS].where(is_judged)
    ours["n"] = published["n"].where(is_judged, 0)
    return published.assign(**ours)


def render_comparison(numbers: pd.DataFrame, form: str, *, show_all: bool = True) -> str:
    """Render the published numbers as ``terminal``, ``markdown``, ``csv`` or ``json`` text; text counts the verdicts.

    Without ``show_all``, sizes of data sets, numbers without runs and sources without a planned run are left out, and a
    last line counts the numbers; CSV and JSON have all in any case.
    """
    compared = compared_numbers(numbers)
    if form in RECORDS:
        frame = record_frame(compared)
        return in_json(plain_records(frame)) if form == "json" else to_csv(frame).rstrip("\n")
    if show_all:
        return f"{_comparison_grid(compared, form)}\n\n{tally(numbers)}"
    shown = compared[(compared["n"] > 0) & ~compared["quantity"].isin(SIZES)]
    planned = numbers[(numbers["n_planned"] > 0) | (numbers["listed"].map(len) > 0)]
    of_sources = numbers[numbers["source"].isin(planned["source"])]
    counts = tally(of_sources) or "No run of these results fills a published number."
    grid = _comparison_grid(shown, form) + "\n\n" if len(shown) else ""
    return (
        f"{grid}{counts}\n"
        f"Left out: {len(compared) - len(shown)} numbers without runs or of the sizes of data sets."
        " `pppca compare --all` lists them."
    )


def render_differing(numbers: pd.DataFrame, form: str) -> str:
    """Render the published results with the verdict "differs", each once, as ``terminal`` or ``markdown`` text."""
    results = results_of(numbers)
    differing = results[results["verdict"] == "differs"]
    return _comparison_grid(compared_numbers(differing), form) if len(differing) else "None."


def tally(numbers: pd.DataFrame) -> str:
    """Count the verdicts on the published results of each source, and separately on the results of searches."""
    published, results = numbers[numbers["published"].notna()], results_of(numbers)
    n_cited = int((published["verdict"] == "not compared").sum())
    rest = len(published) - len(results) - n_cited
    sentences = []
    for source, of_source in results.groupby("source", sort=False):
        sentences.append(f"{source}: {len(of_source)} published results, {_verdicts(of_source)}.")
        seen, others = of_source[of_source["searched"]], of_source[~of_source["searched"]]
        if len(seen) and len(others):
            sentences.append(
                f"A search for settings looked at {len(seen)} of them: {_verdicts(seen)}."
            )
            sentences.append(f"No search looked at the other {len(others)}: {_verdicts(others)}.")
        sentences += _tally_of_deviations(of_source)
    if rest:
        sentences.append(
            f"Not counted: {rest} numbers that repeat another number or are sizes of data sets."
        )
    if n_cited:
        sentences.append(
            f"Not compared: {n_cited} numbers for which the reference has no rule, or no runs."
        )
    return " ".join(sentences)


_ADJECTIVES = {"differs": "different", "cannot tell": "undecidable"}


def _tally_of_deviations(results: pd.DataFrame) -> list[str]:
    """Return the sentence on the published standard deviations of a source, if any were judged."""
    judged = results[results["sd_verdict"] != ""]
    if judged.empty:
        return []
    counts = _verdicts(judged, "sd_verdict")
    return [f"Its {len(judged)} published standard deviations: {counts}."]


def _verdicts(numbers: pd.DataFrame, column: str = "verdict") -> str:
    counts = numbers[column].value_counts()
    texts = []
    for verdict in VERDICTS:
        if verdict in counts:
            texts.append(f"{counts[verdict]} {_ADJECTIVES.get(verdict, verdict)}")
    return ", ".join(texts)


def score_frame(
    numbers: pd.DataFrame, references: Iterable[Reference], documents: Iterable[Document] = ()
) -> pd.DataFrame:
    """Return a row for each scored group of the references and each agreement of a document, also those not run.

    The share of an agreement is of our results that are the same as the published results.
    """
    rows = list[dict[str, Any]]()
    for document in documents:
        if agreement := document.agreement:
            run = [same for same in agreement.same if same is not None]
            row = {"name": agreement.name, "share_target": agreement.target, "unit": "same"}
            row |= {"n_cells": len(agreement.same), "n_run": len(run)}
            rows.append(row | {"share": sum(run) / len(run) if run else None})
    parts = [scores(numbers, references), with_targets(rows)]
    return pd.concat([part.astype(object) for part in parts], ignore_index=True)


def render_scores(scored: pd.DataFrame, form: str) -> str:
    """Render scores as ``terminal``, ``markdown`` or ``json`` text."""
    if form == "json":
        return in_json(plain_records(scored.drop(columns="met")))
    return text_grid(SCORE_COLUMNS, score_records(scored), form)


def score_records(scored: pd.DataFrame) -> list[dict[str, Any]]:
    """Return scores as records of `SCORE_COLUMNS`, with shares in percent."""
    shown = scored.assign(
        met=scored["met"].map({True: "yes", False: "no"}),
        share=100.0 * scored["share"].astype(float),
        share_target=100.0 * scored["share_target"].astype(float),
    )
    return plain_records(shown)


def _comparison_grid(compared: pd.DataFrame, form: str) -> str:
    further = {name: values_of(compared) for name, values_of in _FURTHER.items()}
    return text_grid(_COLUMNS.items(), compared.assign(**further).to_dict("records"), form)


def _relative(numbers: pd.DataFrame) -> pd.Series[float]:
    """Return the differences in percent of the published numbers, nan where these are 0."""
    published = numbers["published"].abs()
    return 100.0 * numbers["difference"] / published.where(published != 0.0)


def _notes(numbers: pd.DataFrame) -> list[str]:
    return [_note(number) for number in numbers.itertuples()]


def _note(number: Any) -> str:
    """Return whether a search looked at a number, and why it is not counted or not run."""
    notes = {
        "searched": number.searched,
        f"as {number.same_as}": bool(number.same_as),
        "a size of the data": number.quantity in SIZES,
        "no rule or no runs": number.verdict == "not compared",
        "several settings were run": bool(number.listed),
    }
    return "; ".join(note for note, applies in notes.items() if applies)


_FURTHER: Mapping[str, Callable[[pd.DataFrame], Any]] = {"relative": _relative, "note": _notes}
"""Columns of text only, computed from the others."""


def text_grid(
    columns: Collection[tuple[str, str]], records: Iterable[Mapping[Any, Any]], form: str
) -> str:
    """Return records below headers as ``terminal`` or ``markdown`` text; columns are as in `Document.of_records`."""
    rows, layout = rows_of(records, columns), "simple"
    if form == "markdown":
        rows, layout = [tuple(map(in_markdown, row)) for row in rows], "github"
    headers = [header for header, _ in columns]
    return tabulate(rows, headers, tablefmt=layout, disable_numparse=True)
