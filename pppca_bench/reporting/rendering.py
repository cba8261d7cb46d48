"""Formats of documents: terminal, Markdown, LaTeX (with the packages booktabs and longtable), CSV and JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from tabulate import tabulate

from pppca_bench.reporting.document import Document, Grid

if TYPE_CHECKING:
    from jinja2 import Environment

Format = Literal["terminal", "markdown", "latex", "csv", "json"]
EXTENSIONS: Mapping[Format, str] = {
    "terminal": "txt",
    "markdown": "md",
    "latex": "tex",
    "csv": "csv",
    "json": "json",
}
FORMATS: tuple[Format, ...] = tuple(EXTENSIONS)

LONG = 40
"""Rows from which on a table with a caption may break over pages."""

_ESCAPED = str.maketrans(
    {character: f"\\{character}" for character in "%#_&${}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    # The oldest text fonts print other characters in the place of these.
    | {"|": r"\textbar{}", "<": r"\textless{}", ">": r"\textgreater{}"}
    # After the end of a row these would be options of it; a bracket would end that of a caption.
    | {"[": "{[}", "]": "{]}", "*": "{*}"}
    | {"–": "--", "…": r"\ldots{}", "‖": r"$\|$"}
    | {"−": "$-$", "±": r"$\pm$", "×": r"$\times$", "≠": r"$\neq$", "≤": r"$\leq$", "≥": r"$\geq$"}
    | {"τ": r"$\tau$", "ρ": r"$\rho$", "η": r"$\eta$", "λ": r"$\lambda$", "α": r"$\alpha$", "Δ": r"$\Delta$"}
    | {raised: f"$^{{{text}}}$" for raised, text in zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻ᵀ", [*"0123456789-", r"\top"], strict=True)}
    | {lowered: f"$_{{{text}}}$" for lowered, text in zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True)}
)


def render_document(document: Document, form: Format) -> str:
    """Render a document; CSV and JSON hold its records, the others its texts.

    In LaTeX each grid is a table with a caption and a label, such as ``tab:T5-published``.
    """
    if form == "csv":
        return csv_text([document])
    if form == "json":
        return json.dumps(records_of([document]), indent=1, ensure_ascii=False)
    title, notes = f"{document.id}. {document.title}", document.paragraphs()
    if form == "latex":
        caption = " ".join([f"{document.title}.", *notes])
        parts = [
            f"% {title}",
            latex_table(document.headers, document.rows, caption=caption, short=document.title, label=document.id),
            *(_latex_grid(document, grid) for grid in document.others),
        ]
    else:
        heading = f"## {title}" if form == "markdown" else f"{title}\n{'=' * len(title)}"
        parts = [heading, text_table(document.headers, document.rows, form), *notes]
        for grid in document.others:
            caption = f"**{grid.caption}**" if form == "markdown" else f"{grid.caption}:"
            parts += [caption, text_table(grid.headers, grid.rows, form)]
    return "\n\n".join(parts) + "\n"


def environment(*, autoescape: bool = False) -> Environment:
    """Return the environment of the templates in this room."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("pppca_bench.reporting"),
        autoescape=autoescape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def records_of(documents: Sequence[Document]) -> list[dict[str, object]]:
    """Return the records of documents, each with the document's identifier as its table."""
    return [{"table": document.id, **record} for document in documents for record in document.records]


def csv_text(documents: Sequence[Document]) -> str:
    """Return the records of documents as one CSV with the columns of all of them."""
    import pandas as pd

    records = records_of(documents)
    columns = list(dict.fromkeys(name for record in records for name in record)) or ["table"]
    return str(pd.DataFrame(records, columns=columns, dtype=object).to_csv(index=False))


def text_table(headers: Sequence[str], rows: Sequence[Sequence[str]], form: Format) -> str:
    """Lay out texts, escaped: the first column to the left, the others to the right."""
    if form == "latex":
        return latex_table(headers, rows)
    head, *body = ([escaped(entry, form) for entry in line] for line in (headers, *rows))
    align = ("left", *("right" for _ in head[1:])) if body else None
    layout = "pipe" if form == "markdown" else "simple"
    return str(tabulate(body, head, tablefmt=layout, disable_numparse=True, colalign=align))


def escaped(text: str, form: Format) -> str:
    """Return a text with the characters escaped that have a meaning in a format."""
    if form == "latex":
        return latex_text(text)
    return text.replace("|", r"\|") if form == "markdown" else text


def _latex_grid(document: Document, grid: Grid) -> str:
    title = f"{document.title}. {grid.caption}"
    return latex_table(grid.headers, grid.rows, caption=f"{title}.", short=title, label=f"{document.id}-{grid.name}")


def latex_text(text: str) -> str:
    """Escape characters that have a meaning in LaTeX; write signs and Greek letters in mathematics."""
    return text.translate(_ESCAPED)


def latex_table(
    headers: Sequence[str], rows: Sequence[Sequence[str]], *, caption: str = "", short: str = "", label: str = ""
) -> str:
    """Lay out texts with the rules of booktabs: the first column to the left, the others to the right.

    Parameters
    ----------
    headers, rows : sequence of str, and of sequence of str
        Not escaped.
    caption, short, label : str, optional
        Not escaped; ``short`` is the caption in the list of tables. Without a caption the table is a bare
        ``tabular``; with more than `LONG` rows it is a ``longtable``.
    """
    import pandas as pd

    head, *body = ([latex_text(entry) for entry in line] for line in (headers, *rows))
    styler = pd.DataFrame(body, columns=head).style.hide(axis="index")
    text: str = styler.to_latex(
        hrules=True,
        column_format="l" + "r" * (len(headers) - 1),
        caption=(latex_text(caption), latex_text(short or caption)) if caption else None,
        label="tab:" + re.sub(r"[^\w:-]", "-", label, flags=re.ASCII) if label else None,
        position="htbp" if caption and len(rows) <= LONG else None,
        position_float="centering" if caption and len(rows) <= LONG else None,
        environment="longtable" if caption and len(rows) > LONG else None,
    )
    return text.rstrip("\n")
