"""Our own tables: other runs, retained variance, settings that a config compares, scores, times."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from pppca_bench.methods.lookup import stored_method
from pppca_bench.quantities import BALANCED_SCORES, ERRORS, RECALL, described, error_of
from pppca_bench.references.reference import Reference
from pppca_bench.reporting.labels import distinct_labels, method_label, only_measures, value_text
from pppca_bench.reporting.summary import CellRuns, Results
from pppca_bench.reporting.table import MeansTable, TableCell, filling_configs
from pppca_bench.runs import (
    AUTO,
    DATA_FRACTION,
    SIGNS,
    THRESHOLD,
    Cell,
    Facts,
    Names,
    Selector,
    grouped,
)

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

RETAINED, FIT_TIMES, VARIANTS = "R", "fit_times", "variants_"
"""Identifiers of the tables of retained variance and of times, and the prefix of tables that compare settings.

Of the files of several configs' results, only `FIT_TIMES` depends on the machine.
"""

SHARED_CORES = (
    "Runs share the machine with other runs, so that the times of equal runs may differ by a factor of several;"
    " runs of the config speedup are timed alone."
)
"""Remark on times of runs that are not timed alone."""

REFERENCE_TAU = 15.0
"""The threshold at which the slides compare methods (T2, T3)."""

LONGEST_LABEL = 59
"""Largest number of characters of a row's label; the settings in a longer label are numbered, and explained below."""


class OwnTables:
    """Our own tables of means, and the cells that each table lists.

    ``X`` lists the cells that no other table shows, or ``M`` if their method only measures; ``R`` the share of the
    variance that each method retains; ``variants_<config>`` several settings of a method in a config, unless the
    published tables show all of them. If all results are of a single config, X lists either none of its cells or all of
    them, so that they can be compared. Results, facts and references are those of `Snapshot`; ``in_documents`` has the
    cells that a table of texts shows, with its identifier.
    """

    def __init__(
        self,
        results: Results,
        facts: Facts,
        references: Sequence[Reference],
        in_documents: Mapping[Cell, str],
    ) -> None:
        self._results, self._facts, self._in_documents = results, facts, in_documents
        self._printed = [
            (reference, layout, row, column)
            for reference in references
            for layout in reference.layouts
            for row, column in itertools.product(layout.rows, layout.columns)
        ]
        configs = sorted(set[str]().union(*(runs.configs for runs in results.cells.values())))
        self._config = configs[0] if len(configs) == 1 else ""
        # cells that differ in other settings than `_place`, by the table that compares them
        self._variants: dict[str, list[list[Cell]]] = {}
        for name in configs:
            planned = (cell for cell, runs in results.cells.items() if name in runs.configs)
            places = grouped(planned, _place).values()
            if several := [group for group in places if len(group) > 1]:
                self._variants[f"{VARIANTS}{name}"] = several

    def builders(self) -> dict[str, Callable[[], MeansTable]]:
        """Return the builder of each table by its identifier."""
        titles = {"M": "Other measures"} | {
            table: f"Settings that {table.removeprefix(VARIANTS)} compares"
            for table in self._variants
        }
        return {
            "X": self._other_runs,
            RETAINED: lambda: self._list(
                RETAINED, "Test error and retained variance", self._retaining
            ),
            **{table: partial(self._list, table, title) for table, title in titles.items()},
            SCORED: self._scores,
            **({} if self._config else {FIT_TIMES: self._fit_times}),
        }

    @cached_property
    def shown_in(self) -> dict[Cell, list[str]]:
        """Return the tables that show each cell."""
        tables = {cell: [table] for cell, table in self._elsewhere.items()}
        for table, cells in self._lists.items():
            for cell in cells:
                tables.setdefault(cell, []).append(table)
        return tables

    @cached_property
    def _published(self) -> dict[Cell, str]:
        """Return the cells that a published table shows, with the last such table."""
        shown = {}
        for reference, layout, row, column in self._printed:
            selector = layout.selector(row, column)
            if not isinstance(selector, Selector):
                continue  # a formula shows no run by itself
            matching = self._results.matching(selector, filling_configs(layout, reference))
            if len(matching) == 1:
                shown[matching[0]] = layout.id
        return shown

    @cached_property
    def _elsewhere(self) -> dict[Cell, str]:
        """Return the cells that a table of texts or a published table shows."""
        return {**self._in_documents, **self._published}

    @cached_property
    def _lists(self) -> dict[str, list[Cell]]:
        """Return the cells of X, M and variants; no other table shows the cells of X and M, unless X has all cells."""
        shown = self._elsewhere.keys()
        variants = {
            table: [cell for group in groups if not shown >= set(group) for cell in group]
            for table, groups in self._variants.items()
        }
        others = [
            cell
            for cell in self._results.cells
            if cell not in shown and self._is_single(cell, variants)
        ]
        measures = list(filter(only_measures, others))
        if self._config and not self._in_documents and len(measures) < len(others):
            others, variants = list(self._results.cells), {}
        others = [cell for cell in others if not only_measures(cell)]
        return {"X": others, "M": measures, **variants}

    def _is_single(self, cell: Cell, lists: Mapping[str, Sequence[Cell]]) -> bool:
        """Return whether a config plans the cell without other settings of the same method."""
        return any(
            cell not in lists.get(f"{VARIANTS}{name}", ())
            for name in self._results.cells[cell].configs
        )

    def _sorted(self, cells: Iterable[Cell]) -> dict[Cell, CellRuns]:
        """Return the runs of cells, sorted by problem: those of published tables, then the order of the results."""
        every = self._results.cells
        printed = [layout.problem(row, column) for _, layout, row, column in self._printed]
        names = [*filter(None, printed), *(cell.problem for cell in every)]
        order = {name: index for index, name in enumerate(dict.fromkeys(names))}
        return {cell: every[cell] for cell in sorted(cells, key=lambda cell: order[cell.problem])}

    def _rows(
        self, cells: Iterable[Cell], *, with_tau: bool, alone: bool = False
    ) -> tuple[dict[Cell, str], dict[str, str], str]:
        """Return the row of each cell, the labels of the rows, and the meaning of the numbered settings in them.

        Cells are named among all cells of the results or, ``alone``, among themselves, without sizes of problems.
        """
        changed = {cell: runs.changed for cell, runs in self._results.cells.items()}
        names = (
            distinct_labels(cells, with_tau=with_tau)
            if alone
            else distinct_labels(changed, with_tau=with_tau, changed=changed)
        )
        rows, labels, numbers = dict[Cell, str](), dict[str, str](), dict[str, int]()
        for cell in cells:
            problem, known = cell.problem, self._facts.get(cell.problem)
            if known and known.data_sha256 == cell.data_sha256 and not alone:
                problem += f" ({known.n_features})"
            row = rows[cell] = f"{problem}, {names[cell]}"
            labels[row] = row
            method = method_label(cell, with_tau=with_tau)
            settings = names[cell].removeprefix(method).removeprefix(", ")
            if len(row) > LONGEST_LABEL and settings:
                number = numbers.setdefault(settings, len(numbers) + 1)
                labels[row] = f"{problem}, {method}, setting {number}"
        remark = " ".join(f"Setting {number}: {text}." for text, number in numbers.items())
        return rows, labels, remark

    def _other_runs(self) -> MeansTable:
        """Return X: a row for each method and problem, a column for each threshold."""
        cells = self._sorted(self._lists["X"])
        rows, labels, remark = self._rows(cells, with_tau=False)
        table = dict[tuple[str, str], TableCell]()
        columns = dict[str, tuple[Any, str]]()  # place in the order of print, and label
        for cell, runs in cells.items():
            tau, error = dict(cell.parameters).get(THRESHOLD), error_of(runs.quantities)
            text = value_text(tau)
            key, label = f"tau={text}", SIGNS[THRESHOLD].format(text)
            if tau is None:
                key, label = "no tau", "no τ"
            if is_squared := error != ERRORS[0]:
                key, label = f"{key}, squared error", f"{label}, squared error, %"
            columns[key] = (is_squared, tau is not None, isinstance(tau, str), tau), label
            empty = TableCell(rows[cell], key, (error, "dimensionality"), "{} ({})")
            source = self._results.source(cell)
            table[rows[cell], key] = empty.filled(runs, empty.shows, source)
        printed = {key: columns[key][1] for key in sorted(columns, key=columns.__getitem__)}
        has_all = self._config and cells.keys() == self._results.cells.keys()
        title = f"Results of {self._config}" if has_all else "Runs beyond the published tables"
        return MeansTable("X", title, "", "Problem, method", labels, printed, table, remark=remark)

    @cached_property
    def _retaining(self) -> list[Cell]:
        """Return the cells of R: of all the data, at `REFERENCE_TAU` if a method was run at several thresholds.

        Cells of published tables that show the retained variance, such as S1, are left out.
        """
        single = {
            cell: dict(cell.parameters)
            for cell in self._results.cells
            if self._is_single(cell, self._lists)
        }
        at_reference = {
            (cell.problem, cell.method)
            for cell, parameters in single.items()
            if parameters.get(THRESHOLD) == REFERENCE_TAU
        }
        measures = {"retained_variance_percent", "optimality_percent"}
        complete = {layout.id for _, layout, *_ in self._printed if measures & {*layout.also}}
        return [
            cell
            for cell, parameters in single.items()
            if parameters.get(DATA_FRACTION) in (None, 100.0, AUTO)
            and (
                parameters.get(THRESHOLD) in (None, REFERENCE_TAU)
                or (cell.problem, cell.method) not in at_reference
            )
            and "retained_variance_percent" in self._results.cells[cell].quantities
            and (cell in self._published or cell not in self._in_documents)
            and self._published.get(cell) not in complete
        ]

    def _scores(self) -> MeansTable:
        """Return the scores of the cells that have any: all classes count alike, and each class has its recall."""
        scored = {
            cell: runs.quantities
            for cell, runs in self._results.cells.items()
            if not runs.quantities.keys().isdisjoint(BALANCED_SCORES)
        }
        recalls = dict.fromkeys(
            name for quantities in scored.values() for name in quantities if name.startswith(RECALL)
        )
        shown = recalls if len(recalls) <= MAX_RECALLS else ()
        columns = (ERRORS[0], *BALANCED_SCORES, *shown, "dimensionality")
        return self._list(SCORED, "Scores on the test split", scored, columns)

    def _fit_times(self) -> MeansTable:
        """Return the time that the method of each cell of R and of the lists took to fit."""
        listed = {*self._retaining, *itertools.chain.from_iterable(self._lists.values())}
        timed = [
            cell
            for cell, runs in self._results.cells.items()
            if cell in listed and "fit_time_ms" in runs.quantities
        ]
        table = self._list(FIT_TIMES, "Time to fit", timed, ("fit_time_ms",))
        return table._replace(remark=f"{SHARED_CORES} {table.remark}".strip())

    def _list(
        self, table: str, title: str, listed: Iterable[Cell] | None = None, quantities: Names = ()
    ) -> MeansTable:
        """Return a table with a row for each cell (by default those of `_lists`) and a column for each quantity."""
        cells = self._sorted(self._lists.get(table, ()) if listed is None else listed)
        rows, labels, remark = self._rows(cells, with_tau=True, alone=table.startswith(VARIANTS))
        errors = {
            cell: error_of(runs.quantities)
            for cell, runs in cells.items()
            if not only_measures(cell)
        }
        known = {error for cell, error in errors.items() if cells[cell].n_done} or {ERRORS[0]}
        usual = quantities or (*(name for name in ERRORS if name in known), *LISTED)
        measures = dict.fromkeys(
            name for cell in cells if cell not in errors for name in cells[cell].quantities
        )
        columns = (*(usual if errors else ()), *measures)
        filled = {}
        for cell, runs in cells.items():
            # Without a completed run, cells of methods that only measure have no columns.
            first = errors[cell] if errors.get(cell) in columns else next(iter(columns), "")
            for name in columns:
                is_own = name in runs.quantities and (name not in ERRORS or cell not in errors)
                row, source = rows[cell], self._results.source(cell)
                table_cell = TableCell(row, name, (name,), "{}", source=source)
                if name == first or is_own:
                    table_cell = table_cell.filled(runs, (name,), source)
                filled[row, name] = table_cell
        titles = {name: described(name).title for name in columns}
        return MeansTable(
            table, title, "", "Problem, method", labels, titles, filled, is_list=True, remark=remark
        )


def _place(cell: Cell) -> tuple[object, ...]:
    """Return the facts that distinguish cells in tables: problem, method, thresholds, and labelled parameters."""
    entry = stored_method(cell.method)
    labelled = {*SIGNS, *(name for name, _ in (entry.labels if entry else ()))}
    return (cell.problem, cell.method, *(item for item in cell.parameters if item[0] in labelled))
