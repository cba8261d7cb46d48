"""LaTeX tables: escaping and layout."""

import pytest

from pppca_bench.pages.document import MAX_PAGE_ROWS, escaped, latex_table


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("my&own#data.dt 5 % a_b", r"my\&own\#data.dt 5 \% a\_b"),
        (r"{\x}~^$", r"\{\textbackslash{}x\}\textasciitilde{}\textasciicircum{}\$"),
        ("τ = −1.5 ± 2, ‖X₁‖²", r"$\tau$ = $-$1.5 $\pm$ 2, $\|$X$_{1}$$\|$$^{2}$"),
        ("[1] *", r"{[}1{]} {*}"),
    ],
)
def test_what_latex_would_read_is_escaped_and_signs_are_mathematics(text, latex):
    assert escaped(text, "latex") == latex


def test_a_label_has_letters_digits_and_hyphens():
    assert r"\label{tab:T-1-}" in latex_table(["a"], [], caption="c", label="T 1%")


def test_a_long_table_may_break_over_pages():
    rows = [[str(number)] for number in range(MAX_PAGE_ROWS + 1)]
    assert r"\begin{longtable}{l}" in latex_table(["a"], rows, caption="c")
    assert r"\begin{longtable}" not in latex_table(["a"], rows[1:], caption="c")
