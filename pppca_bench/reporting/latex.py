r"""Texts and tables as LaTeX for any encoding of fonts; a document needs the packages booktabs and longtable."""

from __future__ import annotations

import re
from collections.abc import Sequence

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


def latex_text(text: str) -> str:
    """Escape what means something in LaTeX, and write signs and Greek letters in mathematics."""
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
        Of the table, not escaped, ``short`` for the list of tables; without a caption it is a bare ``tabular``, and one
        with more than `LONG` rows is a ``longtable``.
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
