"""LaTeX tables of the references: they compile and fit their page."""

import re
import subprocess
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import printed
from conftest import required_program
from full_results import full_runs, full_snapshot, snapshot_of
from guard import ARCHIVE
from stored_runs import run_of

from pppca_bench.pages.document import MAX_PAGE_ROWS, Document, render_documents
from pppca_bench.pages.snapshot import Snapshot
from pppca_bench.references.reference import installed_references

ODD = r"my&own#data.dt, 50 %, a_b^c~d, {\x}, |<>|, τ = −1 ± 2, ‖W₁‖², ≠ – … $1 [0, 1]* é"
"""A text with all that means something in LaTeX, and what its fonts do not have."""

PREAMBLE = r"\documentclass[11pt]{article}\usepackage{booktabs,graphicx,longtable}\begin{document}"


def compiled(text: str, folder: Path, name: str) -> str:
    """Compile a document and return its log."""
    program = required_program("pdflatex", "PPPCA_REQUIRE_LATEX")
    (folder / f"{name}.tex").write_text(text, encoding="utf-8")
    command = [program, "-halt-on-error", "-interaction=nonstopmode", f"{name}.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    return (folder / f"{name}.log").read_text(errors="replace")


def tables_of_means(snapshot: Snapshot, **options: bool) -> list[Document]:
    """Return the tables of means with runs."""
    names = [name for name in snapshot.with_runs if snapshot.is_of_means(name)]
    return snapshot.tables(names, **options)


@pytest.mark.slow
@pytest.mark.parametrize("sd", [False, True])
def test_all_tables_compile_in_one_document_without_a_lost_character(tmp_path, sd):
    rows = (("[0, 1]", "*"), (ODD, "1"), *((f"{place}", "2") for place in range(MAX_PAGE_ROWS)))
    odd = [
        Document(f"Z{n}_{ODD[:9]}", ODD, ODD, (ODD, "{}"), rows[:n], (ODD,)) for n in (3, len(rows))
    ]
    documents = [*tables_of_means(full_snapshot(2), sd=sd), *odd]
    texts = [render_documents([document], "latex") for document in documents]
    text = "\n\\clearpage\n".join([PREAMBLE, r"\listoftables", *texts, r"\end{document}"])
    log = compiled(text, tmp_path, "all")
    assert "Missing character" not in log
    assert "multiply defined" not in log
    assert (tmp_path / "all.pdf").stat().st_size > 50_000


@pytest.mark.slow
def test_every_table_fits_its_page(tmp_path):
    """R has several hundred rows, the columns of P8 are pairs."""
    measured = [
        run_of(
            replace(spec.cell, problem=f"problem{n}{spec.cell.problem}"),
            **result.values,
            retained_variance_percent=91.5,
        )
        for spec, result in full_runs(1)
        if spec.cell.method in ("dgha", "ne_ppca")
        for n in range(5)
    ]
    found = [*tables_of_means(snapshot_of(measured)), *tables_of_means(full_snapshot(2))]
    tables = {table.id: render_documents([table], "latex") for table in found}
    assert tables["R"].count("problem") > MAX_PAGE_ROWS
    assert {"T0", "T1", "P8", "X"} <= tables.keys()
    texts = [rf"\typeout{{@@{name}}}{text}\clearpage" for name, text in tables.items()]
    log = compiled("\n".join([PREAMBLE, *texts, r"\end{document}"]), tmp_path, "tables")
    logs = dict(part.split("\n", 1) for part in log.split("@@")[1:])
    assert logs.keys() == tables.keys()
    wide = [name for name in logs if re.search(r"Overfull \\hbox|Float too large", logs[name])]
    assert wide == []


@pytest.mark.slow
@pytest.mark.parametrize("config", ["proben1_pivot", "cancer1"])
def test_the_rules_of_a_config_fit_their_page(config, tmp_path):
    folder = tmp_path / "results"
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    text = printed("rules", config, "--format", "latex", "--results", folder)
    log = compiled(f"{PREAMBLE}{text}\\end{{document}}", tmp_path, config)
    assert "Overfull" not in log
    assert "Missing character" not in log


def test_no_caption_names_a_file():
    for reference in installed_references():
        for layout in reference.layouts:
            texts = f"{layout.title} {layout.place} {layout.remark}"
            assert not re.search(r"\w/\w+[./]|\.(md|yaml|csv)\b", texts), layout.id
