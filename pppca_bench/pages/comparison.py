"""Comparison with the published numbers as text: a line for every number, counts of verdicts, scores."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import pandas as pd
from tabulate import tabulate

from pppca_bench.pages.cell_texts import number_text
from pppca_bench.pages.document import Document, in_json, latex_table, plain_records, rows_of
from pppca_bench.pages.escapes import in_markdown, to_csv
from pppca_bench.pages.formats import RECORDS
from pppca_bench.quantities import SIZES, described, in_sentence, unitless
from pppca_bench.references.reference import Reference
from pppca_bench.verdicts.judge import VERDICTS
from pppca_bench.verdicts.numbers import OURS, record_frame, results_of
from pppca_bench.verdicts.scores import scores, with_targets

PAGE_WIDTH = 80
"""Characters of a line of terminal text."""

_COLUMNS = (
    ("number", "{place}"),
    ("published", "{printed}"),
    ("ours", "{ours}"),
    ("diff", "{diff}"),
    ("verdict", "{verdict}"),
)
_WIDE_COLUMNS = (
    ("table", "{table}"),
    ("row", "{row}"),
    ("column", "{column}"),
    ("quantity", "{quantity}"),
    ("published", "{printed}"),
    ("ours", "{ours}"),
    ("sd", "{sd:.2f}"),
    ("n", "{n}"),
    ("diff", "{diff}"),
    ("95 % interval", "{difference_low:+.2f} to {difference_high:+.2f}"),
    ("margin", "{margin:.2f}"),
    ("relative", "{relative:+.0f} %"),
    ("verdict", "{verdict}"),
    ("note", "{note}"),
)
"""Columns of a comparison, as in `Document.of_records`."""

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


def render_comparison(
    numbers: pd.DataFrame, form: str, *, show_all: bool = True, wide: bool = False
) -> str:
    """Render the published numbers as ``terminal``, ``markdown``, ``latex``, ``csv`` or ``json`` text.

    Text begins with the counts of the verdicts. Without ``show_all``, sizes of data sets, numbers without runs and
    sources without a planned run are left out, and a last line counts the numbers; CSV and JSON have all in any case,
    and LaTeX is a table alone. ``wide`` adds columns to text.
    """
    compared = compared_numbers(numbers)
    if form in RECORDS:
        frame = record_frame(compared)
        return in_json(plain_records(frame)) if form == "json" else to_csv(frame).rstrip("\n")
    shown, of_sources = compared, numbers
    if not show_all:
        shown = compared[(compared["n"] > 0) & ~compared["quantity"].isin(SIZES)]
        planned = numbers[(numbers["n_planned"] > 0) | (numbers["listed"].map(len) > 0)]
        of_sources = numbers[numbers["source"].isin(planned["source"])]
    grid = _comparison_grid(shown, form, wide=wide) if len(shown) else ""
    if form == "latex":
        return grid
    counts = render_tally(of_sources, form)
    parts = [counts or "No run of these results fills a published number.", grid]
    if n_left_out := len(compared) - len(shown):
        text = f"Left out: {n_left_out} numbers without runs or of the sizes of data sets."
        parts.append(_wrapped(f"{text} `pppca compare --all` lists them.", form))
    return "\n\n".join(filter(None, parts))


def render_tally(numbers: pd.DataFrame, form: str) -> str:
    """Render the paragraphs of `tally` as ``terminal`` or ``markdown`` text."""
    return "\n\n".join(_wrapped(paragraph, form) for paragraph in tally(numbers))


def _wrapped(paragraph: str, form: str) -> str:
    """Return a paragraph in lines of a terminal, or in a single line of Markdown."""
    if form != "terminal":
        return paragraph
    return textwrap.fill(paragraph, PAGE_WIDTH, break_long_words=False, break_on_hyphens=False)


def render_differing(numbers: pd.DataFrame, form: str) -> str:
    """Render the published results with the verdict "differs", each once, as ``terminal`` or ``markdown`` text."""
    results = results_of(numbers)
    differing = results[results["verdict"] == "differs"]
    if differing.empty:
        return "None."
    return _comparison_grid(compared_numbers(differing), form, wide=True)


def tally(numbers: pd.DataFrame) -> list[str]:
    """Count the verdicts on the published results of each source, and separately on the results of searches.

    A source has a paragraph, and so have the numbers that are not counted.
    """
    published, results = numbers[numbers["published"].notna()], results_of(numbers)
    n_cited = int((published["verdict"] == "not compared").sum())
    rest = len(published) - len(results) - n_cited
    texts = []
    for source, of_source in results.groupby("source", sort=False):
        sentences = [
            f"{source}: {len(of_source)} published results, {counted_verdicts(of_source)}."
        ]
        seen, others = of_source[of_source["searched"]], of_source[~of_source["searched"]]
        if len(seen) and len(others):
            sentences.append(
                f"A search for settings looked at {len(seen)} of them: {counted_verdicts(seen)}."
            )
            sentences.append(
                f"No search looked at the other {len(others)}: {counted_verdicts(others)}."
            )
        sentences += _tally_of_deviations(of_source)
        texts.append(" ".join(sentences))
    sentences = []
    if rest:
        sentences.append(
            f"Not counted: {rest} numbers that repeat another number or are sizes of data sets."
        )
    if n_cited:
        sentences.append(
            f"Not compared: {n_cited} numbers for which the reference has no rule, or no runs."
        )
    return [*texts, " ".join(sentences)] if sentences else texts


def _tally_of_deviations(results: pd.DataFrame) -> list[str]:
    """Return the sentence on the published standard deviations of a source, if any were judged."""
    judged = results[results["sd_verdict"] != ""]
    if judged.empty:
        return []
    counts = counted_verdicts(judged, "sd_verdict")
    return [f"Its {len(judged)} published standard deviations: {counts}."]


_PLURALS = {"differs": "differ"}


def counted_verdicts(
    numbers: pd.DataFrame, column: str = "verdict", always: Collection[str] = ()
) -> str:
    """Return how many numbers have each verdict, without verdicts of none unless they are named ``always``."""
    counts = numbers[column].value_counts()
    texts = []
    for verdict in VERDICTS:
        if verdict in counts or verdict in always:
            texts.append(f"{counts.get(verdict, 0)} {_PLURALS.get(verdict, verdict)}")
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


def _comparison_grid(compared: pd.DataFrame, form: str, *, wide: bool) -> str:
    further = {name: values_of(compared) for name, values_of in _FURTHER.items()}
    records = compared.assign(**further).to_dict("records")
    if form == "latex":
        columns = _WIDE_COLUMNS if wide else _COLUMNS
        headers = [header for header, _ in columns]
        rows = rows_of(records, columns)
        return latex_table(headers, rows, "Published numbers, ours and verdicts", "comparison")
    if wide:
        return text_grid(_WIDE_COLUMNS, records, form)
    return text_grid(_COLUMNS, records, form, width=PAGE_WIDTH)


def _places(numbers: pd.DataFrame) -> list[str]:
    """Return table, row, column and quantity of numbers as a text each."""
    places = []
    number: Any
    for number in numbers.itertuples():
        quantity = described(number.quantity)
        name = in_sentence(unitless(quantity.short or quantity.title))
        places.append(", ".join((number.table, number.row, number.column, name)))
    return places


def _as_printed(numbers: pd.DataFrame, column: str, sign: str = "") -> list[str]:
    """Return a column of numbers as texts with the decimals of the published numbers."""
    texts = []
    number: Any
    for number in numbers.itertuples():
        texts.append(number_text(number, getattr(number, column), sign))
    return texts


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


_FURTHER: Mapping[str, Callable[[pd.DataFrame], Any]] = {
    "relative": _relative,
    "note": _notes,
    "place": _places,
    "ours": lambda numbers: _as_printed(numbers, "mean"),
    "diff": lambda numbers: _as_printed(numbers, "difference", "+"),
}
"""Columns of text only, computed from the others."""


def text_grid(
    columns: Collection[tuple[str, str]],
    records: Iterable[Mapping[Any, Any]],
    form: str,
    *,
    width: int = 0,
) -> str:
    """Return records below headers as ``terminal`` or ``markdown`` text.

    ``columns`` are as in `Document.of_records`. Terminal text has at most ``width`` characters a line, if given: the
    texts of the first column are wrapped.
    """
    rows, headers = rows_of(records, columns), [header for header, _ in columns]
    if form == "markdown":
        rows = [tuple(map(in_markdown, row)) for row in rows]
        return tabulate(rows, headers, tablefmt="github", disable_numparse=True)
    if width:
        # a column is two characters wider than its header, and two apart from the next
        padded = [f"{header}  " for header in headers]
        _, *others = zip(padded, *rows, strict=True)
        taken = sum(2 + max(map(len, texts)) for texts in others)
        rows = [("\n".join(textwrap.wrap(first, width - taken)), *rest) for first, *rest in rows]
    return tabulate(rows, headers, tablefmt="simple", disable_numparse=True)
