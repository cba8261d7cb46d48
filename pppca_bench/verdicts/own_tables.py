"""Our own tables of means: other runs, retained variance, settings that a config compares, and scores.

Each has a layout, as published tables do, and its rows of the frame of printed numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import pandas as pd

from pppca_bench.quantities import BALANCED_SCORES, ERRORS, RECALL, described, error_of
from pppca_bench.references.layout import Layout, Line
from pppca_bench.references.reference import Reference
from pppca_bench.results.frames import Runs
from pppca_bench.results.labels import labels_of, only_measures
from pppca_bench.runs import (
    AUTO,
    DATA_FRACTION,
    FASTEST,
    PROBLEM_AND_METHOD,
    THRESHOLD,
    Cell,
    Facts,
    Names,
    Selector,
    grouped,
    setting_text,
    written,
)
from pppca_bench.verdicts.judge import judge
from pppca_bench.verdicts.numbers import NOT_RUN, Row, counts_of, frame_of

SCORED = "class_scores"
"""Identifier of the table of scores."""

MAX_RECALLS = 12
"""Largest number of classes whose recalls a table shows; `load_results` has those of all classes."""

LISTED = (
    "dimensionality",
    "retained_variance_percent",
    "optimality_percent",
    "reconstruction_error",
)
"""Columns after the errors of tables that list cells; methods that only measure have other columns."""

RETAINED, VARIANTS = "R", "variants_"
"""Identifier of the table of retained variance, and the prefix of tables that compare settings."""

OwnTable = tuple["OwnLayout", pd.DataFrame]
"""Layout of a table, and its rows of the frame of printed numbers."""


class OwnLayout(Layout):
    """Layout of a table of our own; in a list, a row is a cell of the results, and a column a quantity of it."""

    is_list: bool = False


def is_list(layout: Layout) -> bool:
    """Return whether a row of a table is a cell of the results, and a column a quantity of it."""
    return isinstance(layout, OwnLayout) and layout.is_list


class OwnTables:
    """Our own tables of means, and the cells that each table lists.

    ``X`` lists the cells that no other table shows, or ``M`` if their method only measures; ``R`` the share of the
    variance that each method retains; ``variants_<config>`` several settings of a method in a config, unless the
    published tables show all of them. If all results are of a single config, X lists either none of its cells or all of
    them, so that they can be compared.

    Parameters
    ----------
    runs : Runs
    facts : mapping of str to ProblemFacts
    references : sequence of Reference
    in_documents : mapping of int to str
        Cells that a table of texts shows, with its identifier.
    """

    def __init__(
        self,
        runs: Runs,
        facts: Facts,
        references: Sequence[Reference],
        in_documents: Mapping[int, str],
    ) -> None:
        self._runs, self._facts, self._in_documents = runs, facts, in_documents
        self._references = references
        configs = runs.all_configs
        self._config = configs[0] if len(configs) == 1 else ""
        # cells that differ in other settings than `_place`, by the table that compares them
        self._variants: dict[str, list[list[int]]] = {}
        for name in configs:
            planned = [cell for cell in runs.cells if name in runs.configs(cell)]
            places = grouped(planned, lambda cell: _place(runs.cells[cell])).values()
            if several := [group for group in places if len(group) > 1]:
                self._variants[f"{VARIANTS}{name}"] = several

    def builders(self) -> dict[str, Callable[[], OwnTable]]:
        """Return the builder of each table by its identifier."""
        retained = "Test error and retained variance"
        builders: dict[str, Callable[[], OwnTable]] = {
            "X": self._other_runs,
            RETAINED: lambda: self._list(RETAINED, retained, self._retaining),
            "M": partial(self._list, "M", "Other measures"),
        }
        for table in self._variants:
            title = f"Settings that {table.removeprefix(VARIANTS)} compares"
            builders[table] = partial(self._list, table, title)
        return builders | {SCORED: self._scores}

    @cached_property
    def shown_in(self) -> dict[int, list[str]]:
        """Return the tables that show each cell."""
        tables = {cell: [table] for cell, table in self._elsewhere.items()}
        for table, cells in self._lists.items():
            for cell in cells:
                tables.setdefault(cell, []).append(table)
        return tables

    @cached_property
    def _published(self) -> dict[int, Layout]:
        """Return the cells that a published table shows, with the last such table."""
        shown = {}
        for reference in self._references:
            for layout in reference.layouts:
                runs = self._runs.of_configs(reference.configs_of(layout))
                for row, column in itertools.product(layout.rows, layout.columns):
                    selector = layout.selector(row, column)
                    # a formula shows no run by itself
                    cells = runs.find(selector) if isinstance(selector, Selector) else []
                    if len(cells) == 1:
                        shown[cells[0]] = layout
        return shown

    @cached_property
    def _elsewhere(self) -> dict[int, str]:
        """Return the cells that a table of texts or a published table shows."""
        tables = {cell: layout.id for cell, layout in self._published.items()}
        return {**self._in_documents, **tables}

    @cached_property
    def _lists(self) -> dict[str, list[int]]:
        """Return the cells of X, M and variants; no other table shows the cells of X and M, unless X has all cells."""
        shown, every = self._elsewhere.keys(), self._runs.cells
        variants = dict[str, list[int]]()
        for table, groups in self._variants.items():
            variants[table] = []
            for group in groups:
                if not shown >= set(group):
                    variants[table] += group
        others = [cell for cell in every if cell not in shown and self._is_single(cell, variants)]
        measures = [cell for cell in others if self._only_measures(cell)]
        if self._config and not self._in_documents and len(measures) < len(others):
            others, variants = list(every), {}
        others = [cell for cell in others if not self._only_measures(cell)]
        return {"X": others, "M": measures, **variants}

    def _only_measures(self, cell: int) -> bool:
        """Return whether the runs of a cell measure no error: their method only measures, or no classifier follows."""
        measured = self._runs.measured[cell]
        has_measured = bool(measured) and error_of(measured) not in measured
        return only_measures(self._runs.cells[cell]) or has_measured

    def _is_single(self, cell: int, lists: Mapping[str, Collection[int]]) -> bool:
        """Return whether a config plans the cell without other settings of the same method."""
        configs = self._runs.configs(cell)
        return any(cell not in lists.get(f"{VARIANTS}{name}", ()) for name in configs)

    def _sorted(self, cells: Iterable[int]) -> list[int]:
        """Return cells in the order of their problems: as references' tables have them, then as the runs do."""
        names = list[str | None]()
        for reference in self._references:
            for layout in reference.layouts:
                places = itertools.product(layout.rows, layout.columns)
                names += [layout.problem(row, column) for row, column in places]
        every = self._runs.cells
        names += [cell.problem for cell in every.values()]
        order = {name: index for index, name in enumerate(dict.fromkeys(names))}
        return sorted(cells, key=lambda cell: order[every[cell].problem])

    def _rows(
        self, cells: Sequence[int], columns: Names = (), configs: Names = ()
    ) -> dict[int, str]:
        """Return the label of each cell's row in the configs, without settings that are columns of the table."""
        rows = {}
        runs = self._runs.of_configs(configs)
        for number, label in labels_of(runs, cells, columns).items():
            cell = self._runs.cells[number]
            problem, known = cell.problem, self._facts.get(cell.problem)
            if known and known.data_sha256 == cell.data_sha256:
                problem += f" ({known.n_features})"
            rows[number] = f"{problem}, {label}"
        return rows

    def _number(self, table: str, row: str, column: str, quantity: str, cell: int) -> Row:
        """Return a printed number of the runs of a cell; without a quantity of its own, a place without a number."""
        summary = self._runs.summary(cell, quantity) or NOT_RUN
        place = {"table": table, "row": row, "column": column, "quantity": quantity}
        shown = {"shown": "cell", "form": "{}", "cells": (cell,)}
        origin = counts_of(self._runs, [cell]) | self._runs.source(cell)
        return place | shown | summary._asdict() | origin

    def _other_runs(self) -> OwnTable:
        """Return X: a row for each method and problem, a column for each threshold."""
        cells = self._sorted(self._lists["X"])
        rows, numbers = self._rows(cells, (THRESHOLD,)), list[Row]()
        columns = dict[str, tuple[Any, str]]()  # place in the order of print, and label
        for cell in cells:
            tau = self._runs.cells[cell].parameters.get(THRESHOLD)
            error = error_of(self._runs.measured[cell])
            key, label = "no tau", "no τ"
            if tau is not None:
                key, label = f"tau={written(tau)}", setting_text(THRESHOLD, tau)
            if is_squared := error != ERRORS[0]:
                key, label = f"{key}, squared error", f"{label}, squared error, %"
            columns[key] = (is_squared, tau is not None, isinstance(tau, str), tau), label
            for quantity in (error, "dimensionality"):
                number = self._number("X", rows[cell], key, quantity, cell)
                numbers.append(number | {"form": "{} ({})"})
        ordered = {key: columns[key][1] for key in sorted(columns, key=columns.__getitem__)}
        has_all = self._config and set(cells) == set(self._runs.cells)
        title = f"Results of {self._config}" if has_all else "Runs beyond the published tables"
        return _own_table("X", title, rows.values(), ordered, numbers)

    @cached_property
    def _retaining(self) -> list[int]:
        """Return the cells of R: of all the data, at the threshold at which a source compares methods, if any was run.

        Cells of published tables that show the retained variance are left out.
        """
        every, measured = self._runs.cells, self._runs.measured
        taus = {reference.compared_tau for reference in self._references} - {None}
        parameters = {number: cell.parameters for number, cell in every.items()}
        single = [cell for cell in every if self._is_single(cell, self._lists)]
        compared = set[object]()
        for cell in single:
            if parameters[cell].get(THRESHOLD, AUTO) in taus:
                compared.add(PROBLEM_AND_METHOD(every[cell]))
        retaining = list[int]()
        for cell in single:
            is_whole = parameters[cell].get(DATA_FRACTION) in (None, 100.0, AUTO)
            tau, place = parameters[cell].get(THRESHOLD), PROBLEM_AND_METHOD(every[cell])
            is_at_tau = tau is None or tau in taus or place not in compared
            is_measured = "retained_variance_percent" in measured[cell]
            if is_whole and is_at_tau and is_measured and not self._shows_retained(cell):
                retaining.append(cell)
        return retaining

    def _shows_retained(self, cell: int) -> bool:
        """Return whether a published table shows the retained variance of a cell, or only a table of texts the cell."""
        if cell not in self._published:
            return cell in self._in_documents
        also = self._published[cell].also
        return not {"retained_variance_percent", "optimality_percent"}.isdisjoint(also)

    def _scores(self) -> OwnTable:
        """Return the table of the cells with scores in which all classes count alike.

        It has the recall of each class unless there are more than `MAX_RECALLS`.
        """
        scored, names = list[int](), dict[str, None]()
        for cell, measured in self._runs.measured.items():
            if not set(BALANCED_SCORES).isdisjoint(measured):
                scored.append(cell)
                names |= dict.fromkeys(measured)
        recalls = [name for name in names if name.startswith(RECALL)]
        if len(recalls) > MAX_RECALLS:
            recalls = []
        columns = (ERRORS[0], *BALANCED_SCORES, *recalls, "dimensionality")
        return self._list(SCORED, "Scores on the test split", scored, columns)

    def _list(
        self, table: str, title: str, listed: Iterable[int] | None = None, quantities: Names = ()
    ) -> OwnTable:
        """Return a table with a row for each cell (by default those of `_lists`) and a column for each quantity."""
        cells = self._sorted(self._lists.get(table, ()) if listed is None else listed)
        configs = (table.removeprefix(VARIANTS),) if table in self._variants else ()
        rows, measured = self._rows(cells, configs=configs), self._runs.measured
        errors, measures = dict[int, str](), dict[str, None]()
        for cell in cells:
            if self._only_measures(cell):
                measures |= dict.fromkeys(measured[cell])
            else:
                errors[cell] = error_of(measured[cell])
        columns = list(measures)
        if errors:
            columns = [*(quantities or self._usual_columns(errors)), *measures]
        numbers = list[Row]()
        for cell in cells:
            # Without a completed run, cells of methods that only measure have no columns.
            first = errors[cell] if errors.get(cell) in columns else next(iter(columns), "")
            for name in columns:
                is_own = name in measured[cell] and (name not in ERRORS or cell not in errors)
                number = self._number(table, rows[cell], name, name, cell)
                if name != first and not is_own:
                    number |= NOT_RUN._asdict() | {"n_planned": 0, "n_done": 0, "n_failed": 0}
                numbers.append(number)
        titles = {name: described(name).title for name in columns}
        return _own_table(table, title, rows.values(), titles, numbers, is_list=True)

    def _usual_columns(self, errors: Mapping[int, str]) -> Sequence[str]:
        """Return the columns of a list: the errors of cells with done runs, if there are any, and `LISTED`."""
        counts = self._runs.counts
        run = {error for cell, error in errors.items() if counts[cell]["n_done"]}
        shown = [name for name in ERRORS if name in run]
        return (*(shown or ERRORS[:1]), *LISTED)


def _own_table(
    table: str,
    title: str,
    rows: Iterable[str],
    columns: Mapping[str, str],
    numbers: Sequence[Row],
    *,
    is_list: bool = False,
) -> OwnTable:
    """Return the layout and the numbers of a table, given its rows and the labels of its columns."""
    layout = OwnLayout.model_construct(
        id=table,
        title=title,
        place="",
        row_header="Problem, method",
        rows=tuple(Line.model_construct(key=row, label=row) for row in dict.fromkeys(rows)),
        columns=tuple(Line.model_construct(key=key, label=label) for key, label in columns.items()),
        is_list=is_list,
    )
    return layout, judge(frame_of(numbers))


def _place(cell: Cell) -> tuple[object, ...]:
    """Return problem, method, threshold and data fraction of a cell."""
    return (cell.problem, cell.method, *map(cell.parameters.get, FASTEST))
