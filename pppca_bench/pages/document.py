"""Documents (tables of texts with records) and their formats: terminal, Markdown, LaTeX, CSV, JSON."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import compress
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd
from tabulate import tabulate

from pppca_bench.errors import printable
from pppca_bench.pages.escapes import in_markdown, to_csv
from pppca_bench.pages.formats import RECORDS, SEPARATORS, Format
from pppca_bench.quantities import described

if TYPE_CHECKING:
    from jinja2 import Environment, Template

EMPTY = "–"
"""Text of a missing value."""

SIGNED = "+.2f"
"""Format of a difference in percentage points."""

_ROUNDING = 1e-12
"""Smaller absolute values are rounding errors and printed as 0."""

MAX_PAGE_ROWS = 64
"""Largest number of rows of a LaTeX table on a single page."""

_MAX_NORMAL_ROWS = 36
"""Largest number of rows of a LaTeX table in the normal font size."""

PUBLISHED, DIFFERENCE = "published", "difference"
"""Names of the grids of published numbers, and of the differences of our numbers from them."""

INDENT = "\u2003"
"""Indentation of a row's label."""

_ESCAPED = str.maketrans(
    json.loads((Path(__file__).with_name("templates") / "latex.json").read_text("utf-8"))
)
"""LaTeX of characters.

LaTeX's oldest text fonts print other characters instead of ``|<>``. At the start of a row LaTeX reads brackets and
asterisks as options, and in a caption's option a bracket as its end.
"""


_NO_NUMBERS = pd.DataFrame()


class Grid(NamedTuple):
    """Further rows and columns of texts of a document.

    In LaTeX ``name`` is the end of the label, and the grids of published numbers and of differences are no tables: the
    published numbers stand below ours.
    """

    name: str
    caption: str
    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    place: str = ""  # where its numbers were published


class Agreement(NamedTuple):
    """Whether our result and the published result of each cell are the same, None if not run; a target of the share."""

    name: str
    same: Sequence[bool | None]
    target: float | None = None


class Document(NamedTuple):
    """Table of texts as printed; the first column has the names of the rows."""

    id: str
    title: str
    place: str  # where it was published; "" for a table of our own
    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()  # paragraphs below the rows
    # what CSV and JSON print; published values as ``published_<name>``
    frame: pd.DataFrame = _NO_NUMBERS
    agreement: Agreement | None = None
    has_runs: bool = False
    n_missing: int = 0  # planned runs that are not done
    # whether each row agrees with the published value; None if not run
    agrees: tuple[bool | None, ...] = ()
    others: Sequence[Grid] = ()  # grids below the rows
    lead: str = ""  # printed above the rows
    short_headers: Sequence[str] = ()  # for the terminal and LaTeX, with a legend
    legend: str = ""

    @classmethod
    def of_records(
        cls,
        id: str,
        title: str,
        columns: Sequence[tuple[str, str]],
        records: Sequence[Mapping[Any, Any]],
        *,
        place: str = "",
        **others: Any,
    ) -> Document:
        """Return a table with a row for each record.

        A column is a header and a template of texts, such as ``"{low:+.2f} to {high:+.2f}"``; a text
        with a missing value (None or nan) is a dash. Values whose names begin with "_" are not in CSV and
        JSON. By default, there are runs where a record has planned runs, and ``n_planned - n`` are missing.
        """
        n_missing = sum(
            record["n_planned"] - record["n"] for record in records if "n_planned" in record
        )
        has_runs = any(record.get("n_planned", 1) for record in records)
        others = {"has_runs": has_runs, "n_missing": n_missing, **others}
        rows = rows_of(records, columns)
        frame = pd.DataFrame(list(records), dtype=object)
        kept = [name for name in frame if not str(name).startswith("_")]
        headers = [header for header, _ in columns]
        return cls(id, title, place, headers, rows, frame=frame[kept], **others)

    def paragraphs(self) -> list[str]:
        """Return the source, the notes and the number of missing runs, where there are any."""
        texts = list(self.notes)
        if self.place:
            texts.insert(0, f"After the {self.place}.")
        if self.n_missing:
            texts.append(
                f"* {self.n_missing} of the planned runs are missing: `pppca run` adds them."
            )
        return texts

    def trimmed(self) -> Document | None:
        """Return the document without the rows that lack our result; None if no row is left."""
        not_ours = self.frame.columns.str.match("(row|quantity|n)$|n_|published_")
        kept = self.frame.loc[:, ~not_ours].notna().any(axis="columns")
        if not kept.any():
            return None
        return self._replace(
            rows=[*compress(self.rows, kept)],
            frame=self.frame[kept],
            agrees=tuple(compress(self.agrees, kept)),
        )


class _Printed(Formatter):
    """Formatter of numbers with true minus signs, and of truth values as yes and no."""

    def format_field(self, value: Any, form: str) -> str:
        if isinstance(value, bool):
            return "yes" if value else "no"
        return printed(value, form) if form else str(value)


def rows_of(
    records: Iterable[Mapping[Any, Any]], columns: Collection[tuple[str, str]]
) -> list[tuple[str, ...]]:
    """Return records as texts; columns are as in `Document.of_records`."""
    rows = []
    for record in records:
        texts = [record_text(template, record) for _, template in columns]
        rows.append(tuple(texts))
    return rows


def record_text(template: str, record: Mapping[Any, Any]) -> str:
    """Return a record as text by a template, as in `Document.of_records`."""
    for _, name, _, _ in Formatter().parse(template):
        if name and none_if_nan(record[name]) is None:
            return EMPTY
    return _Printed().vformat(template, (), record)


def quantity_text(
    quantity: str, value: float, sign: str = "", *, form: str = "", beside: str = ""
) -> str:
    """Return a value of a quantity in a format, by default the quantity's own.

    ``beside`` is the published number beside it, as printed: by default the text has as many decimals, if these are
    more.
    """
    if abs(value) < _ROUNDING:
        value = 0.0
    n_decimals = 0 if form else len(beside.partition(".")[2])
    form = form or described(quantity).form
    if n_decimals and (form[-1] == "g" or n_decimals > int(form[1:-1])):
        form = f".{n_decimals}f"
    return printed(value, f"{sign}{form}")


def printed(value: float | None, form: str) -> str:
    """Return a number in a format such as ``"+.2f"``, with a true minus sign; a dash for None and nan.

    Zero after rounding has no sign.
    """
    if value is None or math.isnan(value):
        return EMPTY
    text = f"{value:{form}}"
    if float(text) == 0.0:
        text = text.lstrip("+-")
    return true_minus(text)


def none_if_nan(value: Any) -> Any:
    """Return a value, or None for nan."""
    return None if isinstance(value, float) and math.isnan(value) else value


def true_minus(number: str) -> str:
    """Return a printed number with its hyphens replaced by minus signs."""
    return number.replace("-", "−")


def join_words(words: Sequence[str]) -> str:
    """Join words with commas, and "and" before the last."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def count_in_words(counts: Collection[int]) -> str:
    """Return a text such as ``"9 to 10 repeats"``, given the numbers of repeats of some means (at least one)."""
    low, high = min(counts), max(counts)
    if high == 1:
        return "a single repeat"
    return f"{high} repeats" if low == high else f"{low} to {high} repeats"


def render_documents(documents: Sequence[Document], form: Format) -> str:
    """Render documents one below the other; `RECORDS` have their records, the other formats their texts.

    In LaTeX each grid is a table with a caption and a label, such as ``tab:U1-optimality_percent``.
    """
    if form in RECORDS:
        records = []
        for document in documents:
            records += [{"table": document.id} | row for row in plain_records(document.frame)]
        return f"{in_json(records)}\n" if form == "json" else _separated(records, SEPARATORS[form])
    return "\n\n".join(_render(document, form) for document in documents)


def _render(document: Document, form: Format) -> str:
    headers, notes = document.headers, document.paragraphs()
    if document.short_headers and form != "markdown":
        headers = document.short_headers
        notes.append(document.legend)
    parts = _text_parts(document, headers, notes, form)
    if form == "latex":
        parts = _latex_parts(document, headers, notes)
    return "\n\n".join(filter(None, parts)) + "\n"


def _text_parts(
    document: Document, headers: Sequence[str], notes: Sequence[str], form: Format
) -> Iterator[str]:
    yield heading(f"{document.id}. {document.title}", form)
    yield document.lead
    yield text_table(headers, document.rows, form)
    yield from notes
    for grid in document.others:
        yield f"**{_caption(grid)}**" if form == "markdown" else f"{_caption(grid)}:"
        yield text_table(grid.headers, grid.rows, form)


def heading(title: str, form: str) -> str:
    """Return a heading of ``markdown`` or ``terminal`` text."""
    return f"## {title}" if form == "markdown" else f"{title}\n{'=' * len(title)}"


def _latex_parts(document: Document, headers: Sequence[str], notes: Sequence[str]) -> Iterator[str]:
    rows, places = _with_published(document)
    below = list(filter(None, [document.lead, *notes, *places]))
    yield f"% {document.id}. {document.title}"
    yield latex_table(headers, rows, document.title, document.id, below)
    for grid in document.others:
        if grid.name not in (PUBLISHED, DIFFERENCE):
            title, label = f"{document.id}. {_caption(grid)}", f"{document.id}-{grid.name}"
            yield latex_table(grid.headers, grid.rows, title, label)


def _caption(grid: Grid) -> str:
    return f"{grid.caption} ({grid.place})" if grid.place else grid.caption


def _with_published(document: Document) -> tuple[Sequence[Sequence[str]], list[str]]:
    """Return the rows of a document with the published numbers below ours, and where these were published."""
    published = [grid for grid in document.others if grid.name == PUBLISHED]
    rows = document.rows
    for grid in published:
        rows = []
        for ours, (_, *texts) in zip(document.rows, grid.rows, strict=True):
            rows.append(ours)
            if not set(texts) <= {EMPTY, ""}:
                rows.append([f"{INDENT}published", *texts])
    return rows, [f"Published: {grid.place}." for grid in published]


def plain_records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame as records, floats with ten digits, None for missing values."""
    records = []
    for row in frame.to_dict("records"):
        plain = {str(name): ten_digits(none_if_nan(value)) for name, value in row.items()}
        records.append(plain)
    return records


def _separated(records: Sequence[Mapping[str, object]], separator: str) -> str:
    """Return records as CSV with a separator, with the columns of all records."""
    return to_csv(pd.DataFrame(list(records) or {"table": []}, dtype=object), separator)


def environment(*, autoescape: bool = False) -> Environment:
    """Return the environment of the package's templates."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("pppca_bench.pages"),
        autoescape=autoescape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def in_json(value: object) -> str:
    """Return a value as JSON, with null for numbers that are infinite or nan."""
    finite = json.loads(json.dumps(value), parse_constant=lambda _: None)
    return json.dumps(finite, indent=1, ensure_ascii=False)


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a text, each in a line."""
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if part.strip()]


def ten_digits(value: object) -> object:
    """Return a float rounded to ten significant digits, 0 if below 1e-12 in magnitude; other values unchanged.

    Ten digits are the same on all processors; smaller numbers are rounding errors.
    """
    if not isinstance(value, float):
        return value
    return 0.0 if abs(value) < _ROUNDING else float(f"{value:.10g}")


def text_table(headers: Sequence[str], rows: Sequence[Sequence[str]], form: Format) -> str:
    """Lay out texts, escaped: the first column to the left, the others to the right."""
    if form == "latex":
        return latex_table(headers, rows)
    head = [escaped(text, form) for text in headers]
    body, align = [], None
    for row in rows:
        body.append([escaped(text, form) for text in row])
        align = ["left"] + ["right"] * (len(head) - 1)
    layout = "pipe" if form == "markdown" else "simple"
    return str(tabulate(body, head, tablefmt=layout, disable_numparse=True, colalign=align))


def escaped(text: str, form: Format) -> str:
    """Escape the characters of a text that have a meaning in a format."""
    if form == "latex":
        # in proben1:mushroom
        return re.sub(r":(?=\w)", r":\\allowbreak{}", printable(text).translate(_ESCAPED))
    return in_markdown(text) if form == "markdown" else printable(text)


@cache
def _latex() -> Template:
    templates = environment()
    templates.filters["escaped"] = partial(escaped, form="latex")
    return templates.get_template("table.tex")


def latex_table(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    caption: str = "",
    label: str = "",
    notes: Sequence[str] = (),
) -> str:
    """Lay out texts with the rules of booktabs: the first column to the left, the others to the right.

    A table that is wider than the page is scaled to its width (graphicx); a table with more than `MAX_PAGE_ROWS`
    rows is a ``longtable`` with a wrapped first column. The notes are paragraphs below the table. Without a caption,
    the result is a ``tabular``. All texts are escaped.
    """
    is_long = bool(caption) and len(rows) > MAX_PAGE_ROWS
    columns = "l" + "r" * (len(headers) - 1)
    if is_long:
        columns = _wrapped_columns(headers, rows)
    text = _latex().render(
        headers=headers,
        rows=rows,
        columns=columns,
        caption=caption,
        notes=notes,
        label=re.sub(r"[^\w:-]", "-", label, flags=re.ASCII),
        is_long=is_long,
        is_small=len(rows) > _MAX_NORMAL_ROWS,
    )
    return text.rstrip("\n")


def _wrapped_columns(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return the column types of a ``longtable``: the first column takes the width that the others leave."""
    first, *others = (max(map(len, column)) for column in zip(headers, *rows, strict=True))
    if first <= 20:
        return "l" + "r" * len(others)
    em = min(0.55 * sum(others), 30.0)  # digits are half an em wide
    return rf"p{{\dimexpr\linewidth-{em:.1f}em-{2 * len(others) + 2}\tabcolsep}}" + "r" * len(
        others
    )
