"""The frame of printed numbers: a row for each number that a table prints, ours and the published number.

`COLUMNS` lists the columns. Shares of verdicts, scores, tables, figures and files are operations on this frame.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from pppca_bench.methods.lookup import stored_method
from pppca_bench.quantities import SIZES
from pppca_bench.references.layout import Layout, Line, NamedPart
from pppca_bench.references.numbers import Number
from pppca_bench.references.reference import Reference
from pppca_bench.references.selection import Formula
from pppca_bench.results.frames import Runs
from pppca_bench.results.selection import find_parts, summary_of_cells, values_of
from pppca_bench.results.statistics import Summary
from pppca_bench.runs import Facts, Names, Selector
from pppca_bench.verdicts.judge import judge

PLACE = ["table", "row", "column", "quantity"]
"""Columns that identify a printed number."""

OURS = ["mean", "sd", "n", "low", "high"]
"""Our mean, sample standard deviation, number of repeats, and the ends of the 95 % interval of the mean."""

PUBLISHED = ["printed", "published", "half_unit", "published_sd"]
"""The published number as text, as a number, half a unit of its last digit, and its standard deviation."""

RULE = ["compare", "rule_margin", "unit", "published_runs"]
"""The rule of the verdict: see `references.numbers.VerdictRule`; ``compare`` is "" without a rule."""

DEVIATIONS = ["sd_ratio", "sd_low", "sd_high", "sd_p", "sd_verdict"]
"""Our sd / the published sd, the ends of its 95 % interval, p of no difference, and the verdict (`deviations`)."""

RUNS = ["n_planned", "n_done", "n_failed", "config", "only", "versions", "data_sha256", "differing"]
"""Numbers of runs, and their provenance (`Runs.source`, `Runs.differing`)."""

COLUMNS: dict[str, Any] = {
    "source": "",  # title of the reference; "" for our own tables
    "is_added": False,  # whether the reference is user-defined
    **dict.fromkeys(PLACE, ""),
    "shown": "cell",  # in a "cell", or "below" in a further grid
    "form": "",  # format of the texts of the cell's quantities, such as "{} ({})"
    "format": "",  # of our number, such as ".2f"; "" for the quantity's, with the decimals of the published number
    **dict.fromkeys(PUBLISHED, math.nan),
    "printed": "",
    **dict.fromkeys(RULE, ""),
    **dict.fromkeys(("rule_margin", "published_runs"), math.nan),
    **dict.fromkeys(OURS, math.nan),
    "n": 0,
    **dict.fromkeys(RUNS, ""),
    **dict.fromkeys(("n_planned", "n_done", "n_failed"), 0),
    "configs": (),  # names of the configs whose runs count; empty for all
    "selection": None,  # Selector or Formula of the runs; None if no run can fill the place
    "cells": (),  # numbers of the cells that fill it
    "listed": (),  # numbers of the cells of several settings that would fill it, so that it is empty
    "fillable": False,  # whether runs, or the data of a problem, can fill it
    "searched": False,  # whether a search for settings looked at the number, or at a number for the same runs
    **dict.fromkeys(DEVIATIONS, math.nan),
    "sd_verdict": "",
    "same_as": "",  # place of the first number of the same runs; "" for the first itself
}
"""Columns of the frame of printed numbers, with their defaults, whose types are those of the columns."""

RECORD = [
    *(*PLACE, "published", *OURS),
    *("difference", "difference_low", "difference_high", "margin", "p", "verdict"),
    *(*DEVIATIONS, "same_as", "searched", "source"),
    *("n_planned", "n_failed", "config", "only", "versions", "data_sha256"),
]
"""Columns of the numbers in CSV and JSON, of tables and of comparisons."""

NOT_RUN = Summary(math.nan, math.nan, 0, math.nan, math.nan)

Row = dict[str, Any]


def published_numbers(
    references: Iterable[Reference],
    runs: Runs,
    facts: Facts,
    *,
    tables: Collection[str] | None = None,
) -> pd.DataFrame:
    """Return the numbers of the references' tables, in their order, judged.

    Parameters
    ----------
    references : iterable of Reference
    runs : Runs
    facts : mapping of str to ProblemFacts
        Sizes of problems, which tables of data sets show.
    tables : collection of str, optional
        Identifiers of the tables whose numbers are returned, by default of all.

    Returns
    -------
    DataFrame
        `COLUMNS`, those of `judge`, and ``same``, equal for the numbers of the same runs. A place is filled by the
        runs of a single setting; if runs of several settings would fill it, it stays empty, and ``listed`` has these
        cells.
    """
    rows = list[Row]()
    for reference in references:
        for layout in reference.layouts:
            if tables is None or layout.id in tables:
                filled = fill_table(layout, reference, runs, facts)
                rows += (row | {"is_added": reference.is_added} for row in filled)
    return with_first_places(judge(frame_of(rows)))


def fill_table(
    layout: Layout, reference: Reference, runs: Runs, facts: Facts, configs: Names | None = None
) -> Iterator[Row]:
    """Yield the numbers of a table, cell by cell, not judged.

    ``configs`` are the configs whose runs count; by default those that the table names, empty for all.
    """
    configs = reference.configs_of(layout) if configs is None else configs
    counting = runs.of_configs(configs)
    for row, column in itertools.product(layout.rows, layout.columns):
        published = reference.published(layout.id, row.key, column.key)
        location = {"source": reference.title, "table": layout.id}
        form, formats = layout.form_of(row, column)
        location |= {"row": row.key, "column": column.key, "form": form}
        by_quantity = dict(zip(layout.quantities(row, column), formats, strict=False))
        filling = _filling(layout, row, column, counting, configs)
        for quantity, shown in _shown_quantities(layout, row, column).items():
            place = location | {"quantity": quantity, "shown": shown}
            place["format"] = by_quantity.get(quantity, "")
            number = published.get(quantity)
            rule = _rule(reference, place, number, fillable=filling["fillable"])
            yield place | filling | _ours(filling, counting, facts, quantity) | rule


def frame_of(rows: Sequence[Row]) -> pd.DataFrame:
    """Return rows as a frame of `COLUMNS`."""
    frame = pd.DataFrame([COLUMNS | row for row in rows], columns=list(COLUMNS))
    types = {name: type(default) for name, default in COLUMNS.items()}
    return frame.astype({name: kind for name, kind in types.items() if kind in (bool, int, float)})


def record_frame(numbers: pd.DataFrame) -> pd.DataFrame:
    """Return numbers with the columns of CSV and JSON; empty texts are None."""
    records = numbers[RECORD].reset_index(drop=True).astype(object)
    return records.where(records != "", None)


def _shown_quantities(layout: Layout, row: Line, column: Line) -> dict[str, str]:
    """Return where the table shows each quantity of a cell."""
    in_cell = layout.quantities(row, column)
    return dict.fromkeys([*in_cell, *layout.also], "below") | dict.fromkeys(in_cell, "cell")


def _filling(layout: Layout, row: Line, column: Line, runs: Runs, configs: Names) -> Row:
    """Return the cells of the results that fill a cell of a table, and their numbers of runs and provenance."""
    selection, problem = layout.selector(row, column), layout.problem(row, column)
    if selection is None:
        has_sizes = problem is not None and not set(SIZES).isdisjoint(
            layout.quantities(row, column)
        )
        return {"selection": None, "fillable": has_sizes, "cells": (), "problem": problem}
    parts = find_parts(runs, selection)
    several = [number for part in parts if len(part) > 1 for number in part]
    filling: Row = {"selection": selection, "fillable": True, "listed": tuple(several)}
    filling["configs"] = configs
    if several or not all(parts):
        return filling | {"cells": ()}
    cells = [part[0] for part in parts]
    filling |= {"cells": tuple(cells)} | counts_of(runs, cells)
    if isinstance(selection, Selector):
        filling |= runs.source(cells[0], configs)
    return filling


def counts_of(runs: Runs, cells: Sequence[int]) -> Row:
    """Return the numbers of runs of the parts of a printed number, and the facts in which their provenance differs.

    A repeat of the number needs a run of each part: the fewest planned and done runs of a part count, and the most
    failed runs.
    """
    counts = [runs.counts[cell] for cell in cells]
    differing = [name for cell in cells for name in runs.differing(cell)]
    return {
        "n_planned": min(count["n_planned"] for count in counts),
        "n_done": min(count["n_done"] for count in counts),
        "n_failed": max(count["n_failed"] for count in counts),
        "differing": ", ".join(dict.fromkeys(differing)),
    }


def _ours(filling: Row, runs: Runs, facts: Facts, quantity: str) -> Row:
    """Return our statistics of a quantity; the interval of a size of a data set is the size itself."""
    selection, problem = filling["selection"], filling.get("problem", "")
    summary = NOT_RUN
    if selection is None and problem in facts and quantity in SIZES:
        size = float(getattr(facts[problem], quantity))
        summary = Summary(size, math.nan, 1, size, size)
    elif filling["cells"] and not (quantity == "dimensionality" and _keeps_all(selection)):
        summary = summary_of_cells(runs, selection, filling["cells"], quantity) or NOT_RUN
    return summary._asdict()


def _keeps_all(selection: Selector | Formula) -> bool:
    """Return whether the dimensionality of the runs is always the number of features."""
    methods = [stored_method(part.method) for part in selection.parts]
    return all(method is not None and not method.reduces for method in methods)


def repeats_of(runs: Runs, number: Any, quantity: str | None = None) -> dict[int, float]:
    """Return the values of a printed number, a row of the frame, or of another quantity of its runs, by repeat."""
    quantity = quantity or number.quantity
    if not number.cells:
        return {}
    counting = runs.of_configs(number.configs)
    if number.selection is None:  # a number of our own tables
        return counting.values(number.cells[0], quantity)
    return values_of(counting, number.selection, number.cells, quantity)


def _published(number: Number | None) -> Row:
    if number is None:
        return {}
    sd = math.nan if number.sd is None else number.sd
    return dict(zip(PUBLISHED, (number.text, number.value, number.half_unit, sd), strict=True))


def _rule(
    reference: Reference, place: Mapping[str, Any], number: Number | None, *, fillable: bool
) -> Row:
    """Return a published number, the rule of its verdict, and whether a search looked at it."""
    table, row, column, quantity = (place[name] for name in PLACE)
    rule = reference.rule(table, row, quantity) if number and fillable else None
    searched = any(
        part.includes(table, row, column) and quantity in part.quantities
        for part in reference.searched
    )
    published = _published(number) | {"searched": searched, "compare": ""}
    if rule is None:
        return published
    n_runs = rule.runs or math.inf  # published without sampling error
    values = (rule.compare, rule.margin, rule.unit, n_runs)
    return published | dict(zip(RULE, values, strict=True))


def with_first_places(numbers: pd.DataFrame) -> pd.DataFrame:
    """Mark published numbers that repeat a number for the same runs; a search that looked at one looked at all."""
    numbers = numbers.copy()
    published = numbers[numbers["published"].notna() & numbers["selection"].notna()]
    place = published["table"] + ", " + published["row"] + ", " + published["column"]
    same = []
    for selection, cells in zip(published["selection"], published["cells"], strict=True):
        operations = selection.operations if isinstance(selection, Formula) else ()
        same.append((operations, cells or selection))
    keys = [published["is_added"], published["quantity"], pd.Series(same, published.index)]
    groups = place.groupby(keys, sort=False)
    first = groups.transform("first")
    numbers["same"] = groups.ngroup().reindex(numbers.index)
    numbers["same_as"] = first.where(first != place, "").reindex(numbers.index).fillna("")
    numbers.loc[published.index, "searched"] = (
        published["searched"].groupby(numbers["same"].dropna(), sort=False).transform("any")
    )
    return numbers


def results_of(numbers: pd.DataFrame) -> pd.DataFrame:
    """Return the published numbers that count as results: each once, neither sizes of data sets nor only cited."""
    compared = _compared(numbers)
    return compared[compared["same_as"] == ""]


def results_of_tables(numbers: pd.DataFrame) -> pd.DataFrame:
    """Return the published numbers that count as results of their table: each once in a table."""
    compared = _compared(numbers)
    return compared[~compared.duplicated(["table", "same"])]


def _compared(numbers: pd.DataFrame) -> pd.DataFrame:
    is_published = numbers["published"].notna() & (numbers["compare"] != "")
    return numbers[is_published & ~numbers["quantity"].isin(SIZES)]


def is_run(numbers: pd.DataFrame) -> pd.Series[bool]:
    """Return whether each number has planned runs, of one setting or of several, or is the size of a data set."""
    return (numbers["n"] > 0) | (numbers["n_planned"] > 0) | (numbers["listed"].map(len) > 0)


def cites_only(numbers: pd.DataFrame) -> bool:
    """Return whether a table has only numbers that its source cites: no run can fill a cell."""
    return bool(numbers["published"].notna().any() and not numbers["fillable"].any())


def has_runs(numbers: pd.DataFrame) -> bool:
    """Return whether any number of a table was planned or is a size, or all of them are only cited."""
    return bool(is_run(numbers).any()) or cites_only(numbers)


def trimmed(numbers: pd.DataFrame) -> pd.DataFrame:
    """Return the numbers of a table in rows and columns with runs; columns of numbers that the source cites stay."""
    if cites_only(numbers):
        return numbers
    run = is_run(numbers)
    in_rows = numbers["row"].isin(numbers.loc[run, "row"])
    is_cited = in_rows & numbers["published"].notna() & ~numbers["fillable"]
    in_columns = numbers["column"].isin(numbers.loc[run | is_cited, "column"])
    return numbers[in_rows & in_columns]


def in_part(numbers: pd.DataFrame, part: NamedPart) -> pd.DataFrame:
    """Return the numbers in a part of the tables; no names of tables, rows or columns mean all."""
    for column, names in (("table", part.tables), ("row", part.rows), ("column", part.columns)):
        if names:
            numbers = numbers[numbers[column].isin(names)]
    return numbers


def parts_of(numbers: pd.DataFrame, parts: Iterable[NamedPart]) -> dict[str, pd.DataFrame]:
    """Return numbers by the name of their part; a number is in the first part that has it."""
    found = dict[str, pd.DataFrame]()
    for part in parts:
        own = in_part(numbers, part)
        found[part.name] = pd.concat([found[part.name], own]) if part.name in found else own
        numbers = numbers.drop(own.index)
    return found


def cells_of(numbers: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each cell of tables: the facts of its runs, and ``repeats``, those of its quantities.

    A cell whose planned repeats are missing is ``incomplete``; repeats without the cell's quantities count as done.
    """
    by_cell = numbers.groupby(["table", "row", "column"], sort=False)
    cells = numbers.loc[by_cell.cumcount() == 0].set_index(["table", "row", "column"])
    cells["repeats"] = by_cell["n"].max()
    cells["n_published"] = by_cell["published"].count()
    cells["incomplete"] = cells[["repeats", "n_done"]].max(axis=1) < cells["n_planned"]
    return cells


def incomplete_cells(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the cells of `cells_of` with missing repeats; of several with the same runs, that with the most."""
    late = cells[cells["incomplete"]].sort_values("repeats", ascending=False, kind="stable")
    return late[~late["cells"].duplicated()]
