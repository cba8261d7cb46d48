"""Tables of means as documents: our numbers, the published numbers, their differences, and notes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

from pppca_bench.pages.cell_texts import (
    CellNumbers,
    difference_text,
    filled,
    number_text,
    published_texts,
    shown_in,
)
from pppca_bench.pages.document import (
    DIFFERENCE,
    EMPTY,
    PUBLISHED,
    Document,
    Grid,
    count_in_words,
    quantity_text,
)
from pppca_bench.quantities import described, in_sentence, unitless
from pppca_bench.references.layout import Layout, Line
from pppca_bench.references.reference import Reference
from pppca_bench.runs import Facts, grouped
from pppca_bench.verdicts.judge import Verdict
from pppca_bench.verdicts.numbers import (
    cells_of,
    cites_only,
    has_runs,
    incomplete_cells,
    record_frame,
)
from pppca_bench.verdicts.own_tables import is_list

VERDICT_SIGNS: Mapping[Verdict, str] = {
    "reproduced": "=",
    "consistent": "~",
    "differs": "≠",
    "cannot tell": "?",
    "not run": EMPTY,
}
"""Signs of the verdicts, printed beside differences."""


def document_of(
    layout: Layout,
    numbers: pd.DataFrame,
    *,
    reference: Reference | None = None,
    facts: Facts | None = None,
    sd: bool = False,
    paired: bool = True,
    texts: tuple[str, str] = ("", ""),
    listed_in: Callable[[int], Sequence[str]] = lambda _: (),
) -> Document:
    """Return a table of means as a document.

    Parameters
    ----------
    layout : Layout
    numbers : DataFrame
        The rows of `verdicts.numbers` to print; other rows and columns of the layout are left out.
    reference, facts : optional
        Source of the table, and sizes of problems, for labels.
    sd : bool, default False
        Print means as mean ± standard deviation.
    paired : bool, default True
        In a table with spread, give standard deviations columns of their own, whatever ``sd``.
    texts : (str, str)
        Paragraphs above the table and below its notes.
    listed_in : function of a cell's number
        Own tables with the runs of a cell, named where several settings would fill a place.
    """
    rows = _labels(layout.rows, numbers["row"], reference, facts)
    columns = _labels(layout.columns, numbers["column"], reference, facts)
    cells, paired = by_cell(numbers), paired and layout.spread
    grid = partial(_grid, layout.row_header, rows, columns, cells, paired)
    of_cells = is_list(layout)
    about = cells_of(numbers)
    notes = _notes(numbers, about, cells.values(), columns, of_cells=of_cells, listed_in=listed_in)
    if not layout.remark_on or not {*rows, *columns}.isdisjoint(layout.remark_on):
        notes.append(layout.remark)
    lead, last = texts
    if cites_only(numbers):
        lead, ours = f"Published: {layout.place}.", grid(_published)
    else:
        incomplete = {(row, column) for _, row, column in about.index[about["incomplete"]]}
        ours = grid(partial(_ours, incomplete, sd and not paired))
    document = Document(
        layout.id,
        layout.title,
        "",
        ours.headers,
        ours.rows,
        list(filter(None, [*notes, last])),
        record_frame(_known(numbers)),
        has_runs=has_runs(numbers),
        others=list(_further_grids(layout, numbers, grid)),
        lead=lead,
    )
    if of_cells and columns:
        short_headers, legend = _short_headers(layout.row_header, columns)
        document = document._replace(short_headers=short_headers, legend=legend)
    return document


def _known(numbers: pd.DataFrame) -> pd.DataFrame:
    """Return the numbers that were published, planned or read from data."""
    is_ours = (numbers["n"] > 0) | (numbers["n_planned"] > 0)
    return numbers[is_ours | numbers["published"].notna()]


def _labels(
    lines: Iterable[Line], keys: Iterable[str], reference: Reference | None, facts: Facts | None
) -> dict[str, str]:
    """Return the labels of the lines of a table with some of the keys."""
    printed = set(keys)
    return {line.key: label_of(line, reference, facts) for line in lines if line.key in printed}


def label_of(line: Line, reference: Reference | None, facts: Facts | None) -> str:
    """Return the label of a line, with the problem's number of features where the layout asks for it."""
    problem = line.runs.get("problem", "")
    size = None
    if facts and problem in facts:
        size = facts[problem].n_features
    elif reference:
        size = reference.printed_size(problem)
    return line.label.replace(" ({n_features})", f" ({size})" if size else "")


def by_cell(numbers: pd.DataFrame) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the numbers of each cell by quantity."""
    cells = dict[tuple[str, str], dict[str, Any]]()
    number: Any
    for number in numbers.itertuples(index=False):
        cells.setdefault((number.row, number.column), {})[number.quantity] = number
    return cells


def _short_headers(row_header: str, columns: Iterable[str]) -> tuple[list[str], str]:
    """Return the short headers of a list, whose columns are quantities, and the legend that explains them."""
    headers, meanings = [row_header], list[str]()
    for name in columns:
        quantity = described(name)
        headers.append(quantity.short or quantity.title)
        if quantity.short:
            meanings.append(f"{unitless(quantity.short)}: {in_sentence(unitless(quantity.title))}")
    return headers, f"{'; '.join(meanings)}." if meanings else ""


def _grid(
    row_header: str,
    rows: Mapping[str, str],
    columns: Mapping[str, str],
    cells: Mapping[tuple[str, str], CellNumbers],
    paired: bool,
    texts: Callable[[CellNumbers], tuple[str, str]],
    name: str = "",
    caption: str = "",
    second: str = "stddev",
) -> Grid:
    """Fill a grid with texts; if ``paired``, a cell has two columns, the second with the header ``second``."""
    width = 2 if paired else 1
    headers = [row_header]
    for label in columns.values():
        headers += (label, second)[:width]
    lines = []
    for row, label in rows.items():
        line = [label]
        for column in columns:
            cell = cells.get((row, column))
            text, beside = texts(cell) if cell else (EMPTY, EMPTY)
            line += (text, EMPTY if text == EMPTY else beside)[:width]
        lines.append(line)
    return Grid(name, caption, headers, lines)


def _further_grids(
    layout: Layout, numbers: pd.DataFrame, grid: Callable[..., Grid]
) -> Iterator[Grid]:
    """Yield the grids of published numbers, of differences, and of further quantities, where there are any.

    In a table with spread each difference has the signs of its verdicts beside it.
    """
    is_known, is_published = numbers["n"] > 0, numbers["published"].notna()
    caption = "Difference, ours − published"
    if is_published.any() and not cites_only(numbers):
        published = grid(_published, PUBLISHED, "Published")
        yield published._replace(place=layout.place)
    if numbers["difference"].notna().any():
        if layout.spread:
            signs = [f"{sign} {word}" for word, sign in VERDICT_SIGNS.items() if sign != EMPTY]
            if (numbers["sd_verdict"] != "").any():
                caption += "; verdicts on the mean and on the standard deviation"
            caption += f"; {', '.join(signs)}"
        yield grid(partial(_difference, layout.spread), DIFFERENCE, caption, second="")
    if is_known.any():
        for quantity in layout.also:
            title = described(quantity).title
            yield grid(partial(_further, quantity), quantity, f"Ours. {title}")


def _ours(incomplete: Collection[tuple[str, str]], sd: bool, cell: CellNumbers) -> tuple[str, str]:
    """Return our numbers of a cell, with an asterisk if repeats are missing, and the deviation of the first if run."""
    shows, form = shown_in(cell)
    texts, deviations = [], []
    for name in shows:
        text = deviation = ""
        if name in cell and cell[name].n:
            ours = cell[name]
            text, deviation = number_text(ours, ours.mean), number_text(ours, ours.sd)
            if sd and not math.isnan(ours.sd):
                text += f" ± {deviation}"
        texts.append(text)
        deviations.append(deviation)
    first = cell[shows[0]]
    mark = "*" if (first.row, first.column) in incomplete else ""
    return filled(form, texts) + mark, deviations[0]


def _published(cell: CellNumbers) -> tuple[str, str]:
    shows, form = shown_in(cell)
    deviation = number_text(cell[shows[0]], cell[shows[0]].published_sd)
    return filled(form, published_texts(shows, cell)), deviation


def _difference(with_verdict: bool, cell: CellNumbers) -> tuple[str, str]:
    """Return the differences of a cell, and the signs of the verdicts on the first and its deviation, if any."""
    shows, form = shown_in(cell)
    texts = [difference_text(cell.get(name)) for name in shows]
    if not with_verdict:
        return filled(form, texts), ""
    first = cell[shows[0]]
    verdicts = (first.verdict, first.sd_verdict)
    return filled(form, texts), " ".join(
        VERDICT_SIGNS[verdict] for verdict in verdicts if verdict in VERDICT_SIGNS
    )


def _further(quantity: str, cell: CellNumbers) -> tuple[str, str]:
    if quantity not in cell or not cell[quantity].n:
        return EMPTY, ""
    return number_text(cell[quantity], cell[quantity].mean), ""


def _notes(
    numbers: pd.DataFrame,
    about: pd.DataFrame,
    cells: Collection[CellNumbers],
    columns: Mapping[str, str],
    *,
    of_cells: bool,
    listed_in: Callable[[int], Sequence[str]],
) -> list[str]:
    """Return the paragraphs below a table."""
    basis = [*_note_on_cells(cells), *_notes_on_repeats(about)]
    paragraphs = [
        " ".join(basis),
        _note_on_differences(numbers),
        _note_on_rules(numbers),
        _note_on_settings(about, columns, listed_in),
        _note_on_provenance(about, of_cells),
    ]
    if of_cells:
        quantities = [described(name) for name in columns]
        paragraphs += [
            f"{unitless(one.title)} is {one.meaning}." for one in quantities if one.meaning
        ]
    return [text for text in paragraphs if text]


def _note_on_cells(cells: Iterable[CellNumbers]) -> list[str]:
    in_brackets = set()
    for cell in cells:
        shows, form = shown_in(cell)
        if len(shows) > 1 and "(" in form:
            in_brackets.add(filled(form, [in_sentence(described(name).title) for name in shows]))
    return [f"Each cell shows {' or '.join(sorted(in_brackets))}."] if in_brackets else []


def _notes_on_repeats(about: pd.DataFrame) -> Iterator[str]:
    run = about[(about["n_planned"] > 0) & (about["repeats"] > 0)]
    counts = set(run["repeats"])
    if not counts:
        return
    statistics = {getattr(selection, "statistic", "mean") for selection in run["selection"]}
    noun = "Medians" if statistics == {"median"} else "Means"
    yield f"{noun} over {count_in_words(counts)}." if max(counts) > 1 else "A single repeat."
    late = incomplete_cells(about)
    if len(late):
        n_missing = int((late["n_planned"] - late["repeats"]).sum())
        n_failed = int(late["n_failed"].sum())
        names = "; `pppca list --failed` lists the failed repeats" if n_failed else ""
        yield (
            f"* {n_missing} of the planned repeats are missing ({n_failed} failed): `pppca run` adds them{names}."
        )


def _note_on_differences(numbers: pd.DataFrame) -> str:
    """State for each quantity how far our means over several repeats are from the published numbers."""
    compared = numbers[(numbers["n"] > 1) & numbers["difference"].notna()]
    texts = []
    for quantity, of_quantity in compared.groupby("quantity", sort=False):
        mean, n_below = mean_difference(of_quantity)
        title = in_sentence(unitless(described(str(quantity)).title))
        difference = quantity_text(str(quantity), mean, "+")
        texts.append(f"{title} {difference} ({n_below} of {len(of_quantity)} below)")
    return f"Ours − published, on average: {', '.join(texts)}." if texts else ""


def mean_difference(numbers: pd.DataFrame) -> tuple[float, int]:
    """Return the mean of ours − published over numbers that were run, and how many of ours are below."""
    differences = numbers["difference"].dropna()
    return math.fsum(differences) / len(differences), int((differences < 0.0).sum())


def _note_on_rules(numbers: pd.DataFrame) -> str:
    """State the published runs and the margin of the verdicts, where the margin is in standard deviations."""
    run_cells = numbers.groupby(["row", "column"])["n"].transform("max") > 0
    in_sd = (numbers["unit"] == "sd") & (numbers["compare"] != "correlations")
    judged = numbers[run_cells & in_sd & (numbers["published_runs"] < math.inf)]
    texts = dict[str, None]()
    number: Any
    for number in judged.itertuples():
        n = int(number.published_runs)
        runs = "a single run" if n == 1 else f"{n} runs"
        whose = "our" if math.isnan(number.published_sd) else "the published"
        margin = f"margin {number.rule_margin:g} times {whose} standard deviation"
        texts[f"{runs} behind a published mean, {margin}"] = None
    return f"Verdicts: {'; '.join(texts)}." if texts else ""


def _note_on_settings(
    about: pd.DataFrame, columns: Mapping[str, str], listed_in: Callable[[int], Sequence[str]]
) -> str:
    """Name the cells that are empty because several settings would fill them, and the tables with these settings."""
    ambiguous = about[about["listed"].map(len) > 0]
    if ambiguous.empty:
        return ""
    by_row = grouped(ambiguous.index, lambda place: place[1])
    places = []
    for row, cells in by_row.items():
        named = [columns[column] for _, _, column in cells]
        places.append(f"{row} at {', '.join(named)}")
    listed = dict[str, None]()
    for cell in itertools.chain(*ambiguous["listed"]):
        listed |= dict.fromkeys(listed_in(cell))
    return f"No number is shown for {'; '.join(places)}, because several settings were run: see {', '.join(listed)}."


def _note_on_provenance(about: pd.DataFrame, of_cells: bool) -> str:
    # the cells of a list's row have the same runs
    level = ["row"] if of_cells else ["row", "column"]
    differing = about.groupby(level, sort=False)["differing"].last()
    mixed = differing[differing != ""]
    if mixed.empty:
        return ""
    names = sorted(set[str]().union(*mixed.str.split(", ")))
    return f"In {len(mixed)} cells, the repeats were computed with different {', '.join(names)}."
