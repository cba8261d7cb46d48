"""Tables as LaTeX: escaped, laid out by booktabs, and compiled."""

import subprocess

import pytest
from conftest import required_program
from full_results import full_tables

from pppca_bench.reporting.document import Document
from pppca_bench.reporting.rendering import LONG, latex_table, latex_text
from pppca_bench.reporting.table_text import render

ODD = r"my&own#data.dt, 50 %, a_b^c~d, {\x}, |<>|, τ = −1 ± 2, ‖W₁‖², ≠ – … $1 [0, 1]* é"
"""A text with all that means something in LaTeX, and what its fonts do not have."""

PREAMBLE = r"\documentclass{article}\usepackage{booktabs,longtable}\begin{document}"


def test_what_latex_would_read_is_escaped():
    assert latex_text("my&own#data.dt 5 % a_b") == r"my\&own\#data.dt 5 \% a\_b"
    assert latex_text(r"{\x}~^$") == r"\{\textbackslash{}x\}\textasciitilde{}\textasciicircum{}\$"


def test_signs_and_greek_letters_are_mathematics():
    assert latex_text("τ = −1.5 ± 2, ‖X₁‖²") == r"$\tau$ = $-$1.5 $\pm$ 2, $\|$X$_{1}$$\|$$^{2}$"


def test_brackets_and_stars_are_no_options_of_a_row():
    assert latex_table(["a"], [["b"], ["[1]"], ["*"]]).splitlines()[4:-2] == [r"b \\", r"{[}1{]} \\", r"{*} \\"]


def test_a_table_with_a_caption_has_a_label_and_the_rules_of_booktabs():
    text = latex_table(["a", "b"], [["c", "1"]], caption="Of 5 %. A note.", short="Of 5 %", label="T 1%")
    assert text.splitlines() == [
        r"\begin{table}[htbp]",
        r"\centering",
        r"\caption[Of 5 \%]{Of 5 \%. A note.}",
        r"\label{tab:T-1-}",
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"a & b \\",
        r"\midrule",
        r"c & 1 \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]


def test_a_long_table_may_break_over_pages():
    rows = [[str(number)] for number in range(LONG + 1)]
    assert r"\begin{longtable}{l}" in latex_table(["a"], rows, caption="c")
    assert r"\begin{longtable}" not in latex_table(["a"], rows[1:], caption="c")


@pytest.mark.slow
def test_all_tables_compile_in_one_document_without_a_lost_character(tmp_path):
    pdflatex = required_program("pdflatex", "PPPCA_REQUIRE_LATEX")
    rows = (("[0, 1]", "*"), (ODD, "1"), *((f"{place}", "2") for place in range(LONG)))
    odd = [Document(f"Z{n}_{ODD[:9]}", ODD, ODD, (ODD, "{}"), rows[:n], (ODD,)) for n in (3, len(rows))]
    documents = [*(table for table in full_tables(2) if table.was_run), *odd]
    texts = [render(document, "latex", sd=sd) for sd in (False, True) for document in documents]
    for name, half in {"means": texts[: len(documents)], "with_sd": texts[len(documents) :]}.items():
        text = "\n\\clearpage\n".join([PREAMBLE, r"\listoftables", *half, r"\end{document}"])
        (tmp_path / f"{name}.tex").write_text(text, encoding="utf-8")
        done = subprocess.run(
            [pdflatex, "-halt-on-error", "-interaction=nonstopmode", f"{name}.tex"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        assert done.returncode == 0, done.stdout[-3000:]
        log = (tmp_path / f"{name}.log").read_text(errors="replace")
        assert "Missing character" not in log
        assert "multiply defined" not in log
        assert (tmp_path / f"{name}.pdf").stat().st_size > 50_000
