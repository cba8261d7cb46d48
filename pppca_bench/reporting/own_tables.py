"""Our own tables: other runs, retained variance, settings that a config compares, chosen settings."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property, partial

from pppca_bench.methods.lookup import stored_method
from pppca_bench.quantities import BALANCED_SCORES, ERRORS, RECALL, described, error_of
from pppca_bench.references.reference import Reference
from pppca_bench.reporting.document import EMPTY, Document
from pppca_bench.reporting.labels import distinct_labels, method_label, only_measures, value_text
from pppca_bench.reporting.summary import CellRuns, Results
from pppca_bench.reporting.table import Table, TableCell, filling_configs
from pppca_bench.runs import (
    AUTO,
    CHOOSE,
    CHOOSE_BY,
    CHOOSE_RETAIN,
    CHOSEN,
    DATA_FRACTION,
    SIGNS,
    THRESHOLD,
    Cell,
    Facts,
    Names,
    Scalar,
    Selector,
    grouped,
)
from pppca_bench.store.choices import recommended, score_to_choose_by

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
        self._layouts = [
            (reference, layout) for reference in references for layout in reference.layouts
        ]
        configs = sorted(set[str]().union(*(runs.configs for runs in results.cells.values())))
        self._config = configs[0] if len(configs) == 1 else ""
        # by config, cells that differ in other settings than `_place`
        self._variants: dict[str, list[list[Cell]]] = {}
        for name in configs:
            places = grouped(
                (cell for cell, runs in results.cells.items() if name in runs.configs), _place
            )
            if several := [group for group in places.values() if len(group) > 1]:
                self._variants[name] = several

    def builders(self) -> dict[str, Callable[[], Table]]:
        """Return the builder of each table by its identifier."""
        variants = {
            f"{VARIANTS}{name}": f"Settings that {name} compares" for name in self._variants
        }
        retained = "Test error and retained variance"
        return {
            "X": self._other_runs,
            RETAINED: lambda: self._list(RETAINED, retained, self._retaining),
            **{
                table: partial(self._list, table, title)
                for table, title in {"M": "Other measures", **variants}.items()
            },
            SCORED: self._scores,
            **({} if self._config else {FIT_TIMES: self._fit_times}),
        }

    @cached_property
    def shown_in(self) -> dict[Cell, list[str]]:
        """Return the tables that show each cell."""
        tables = {
            cell: [table] for cell, table in {**self._in_documents, **self._published}.items()
        }
        for table, cells in self._lists.items():
            for cell in cells:
                tables.setdefault(cell, []).append(table)
        return tables

    @cached_property
    def _published(self) -> dict[Cell, str]:
        """Return the cells that a published table shows, with the last such table."""
        shown = {}
        for reference, layout in self._layouts:
            configs = filling_configs(layout, reference)
            for row, column in itertools.product(layout.rows, layout.columns):
                selector = layout.selector(row, column)
                if not isinstance(selector, Selector):
                    continue  # a formula shows no run by itself
                matching = self._results.matching(selector, configs)
                if len(matching) == 1:
                    shown[matching[0]] = layout.id
        return shown

    @cached_property
    def _lists(self) -> dict[str, list[Cell]]:
        """Return the cells of each list but R; no other table shows the cells of X and M, unless X has all cells."""
        shown = self._in_documents.keys() | self._published.keys()
        variants = {
            f"{VARIANTS}{name}": [
                cell for group in groups if not shown >= set(group) for cell in group
            ]
            for name, groups in self._variants.items()
        }
        others = [
            cell
            for cell in self._results.cells
            if cell not in shown and self._is_single(cell, variants)
        ]
        measures = [cell for cell in others if only_measures(cell)]
        others = [cell for cell in others if not only_measures(cell)]
        if others and self._config and not self._in_documents:
            others, variants = [cell for cell in self._results.cells if not only_measures(cell)], {}
        return {"X": others, "M": measures, **variants}

    def _is_single(self, cell: Cell, lists: Mapping[str, Sequence[Cell]]) -> bool:
        """Return whether a config plans the cell without other settings of the same method."""
        return any(
            cell not in lists.get(f"{VARIANTS}{name}", ())
            for name in self._results.cells[cell].configs
        )

    def _sorted(self, cells: Collection[Cell]) -> list[Cell]:
        """Sort cells by their problems, in the order of the published tables, then of the results."""
        asked = [
            layout.problem(row, column)
            for _, layout in self._layouts
            for row, column in itertools.product(layout.rows, layout.columns)
        ]
        names = [*filter(None, asked), *(cell.problem for cell in self._results.cells)]
        order = {name: index for index, name in enumerate(dict.fromkeys(names))}
        return sorted(cells, key=lambda cell: order[cell.problem])

    def _names(self, *, with_tau: bool) -> dict[Cell, str]:
        """Return a name for each cell of the results."""
        changed = {cell: runs.changed for cell, runs in self._results.cells.items()}
        return distinct_labels(self._results.cells, with_tau=with_tau, changed=changed)

    def _other_runs(self) -> Table:
        """Return X: a row for each method and problem, a column for each threshold."""
        cells = self._sorted(self._lists["X"])
        rows, labels, remark = _rows(
            cells, self._names(with_tau=False), self._facts, with_tau=False
        )
        taus = {cell: dict(cell.parameters).get(THRESHOLD) for cell in cells}
        given = sorted(set(taus.values()) - {None}, key=lambda tau: (isinstance(tau, str), tau))
        at = {"no tau": "no τ"} if None in taus.values() else {}
        at |= {f"tau={value_text(tau)}": SIGNS[THRESHOLD].format(value_text(tau)) for tau in given}
        squared = {
            f"{key}, squared error": f"{label}, squared error, %" for key, label in at.items()
        }
        table: dict[tuple[str, str], TableCell] = {}
        for cell, tau in taus.items():
            runs, source = self._results.cells[cell], self._results.source(cell)
            shows = error_of(runs.quantities), "dimensionality"
            column = "no tau" if tau is None else f"tau={value_text(tau)}"
            place = rows[cell], column if shows[0] == ERRORS[0] else f"{column}, squared error"
            table[place] = TableCell(*place, shows, "{} ({})").filled(runs, shows, source)
        filled = {column for _, column in table}
        columns = {key: label for key, label in (at | squared).items() if key in filled}
        has_all = self._config and set(cells) == set(self._results.cells)
        title = f"Results of {self._config}" if has_all else "Runs beyond the published tables"
        return Table("X", title, "", "Problem, method", labels, columns, table, remark=remark)

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
        complete = {layout.id for _, layout in self._layouts if measures & {*layout.also}}
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

    def _scores(self) -> Table:
        """Return the scores of the cells that have any: all classes count alike, and each class has its recall."""
        scored = {
            cell: runs.quantities
            for cell, runs in self._results.cells.items()
            if not runs.quantities.keys().isdisjoint(BALANCED_SCORES)
        }
        recalls = dict.fromkeys(
            name for own in scored.values() for name in own if name.startswith(RECALL)
        )
        shown = recalls if len(recalls) <= MAX_RECALLS else ()
        columns = (ERRORS[0], *BALANCED_SCORES, *shown, "dimensionality")
        return self._list(SCORED, "Scores on the test split", scored, columns)

    def _fit_times(self) -> Table:
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
        self, table: str, title: str, listed: Collection[Cell] | None = None, quantities: Names = ()
    ) -> Table:
        """Return a table with a row for each cell (by default those of `_lists`) and a column for each quantity."""
        cells = self._sorted(self._lists.get(table, ()) if listed is None else listed)
        alone = table.startswith(VARIANTS)
        names = distinct_labels(cells, with_tau=True) if alone else self._names(with_tau=True)
        runs = {cell: self._results.cells[cell] for cell in cells}
        measures = dict.fromkeys(
            name for cell in cells if only_measures(cell) for name in runs[cell].quantities
        )
        errors = {
            cell: error_of(runs[cell].quantities) for cell in cells if not only_measures(cell)
        }
        known = [
            name
            for name in ERRORS
            if name in {errors[cell] for cell in errors if runs[cell].n_done}
        ]
        usual = quantities or (*(known or ERRORS[:1]), *LISTED)
        columns = [*(() if all(map(only_measures, cells)) else usual), *measures]
        rows, labels, remark = _rows(cells, names, {} if alone else self._facts, with_tau=True)
        filled = {}
        for cell in cells:
            row, source = rows[cell], self._results.source(cell)
            # Without a completed run, cells of methods that only measure have no columns.
            first = errors[cell] if errors.get(cell) in columns else next(iter(columns), "")
            for name in columns:
                is_own = name in runs[cell].quantities and (
                    name not in ERRORS or cell not in errors
                )
                table_cell = TableCell(row, name, (name,), "{}", source=source)
                if name == first or is_own:
                    table_cell = table_cell.filled(runs[cell], (name,), source)
                filled[row, name] = table_cell
        titles = {name: described(name).title for name in columns}
        return Table(
            table, title, "", "Problem, method", labels, titles, filled, is_list=True, remark=remark
        )


def _place(cell: Cell) -> tuple[object, ...]:
    """Return the facts that distinguish cells in tables: problem, method, thresholds, and labelled parameters."""
    entry = stored_method(cell.method)
    labelled = {*SIGNS, *(name for name, _ in (entry.labels if entry else ()))}
    return (cell.problem, cell.method, *(item for item in cell.parameters if item[0] in labelled))


def _rows(
    cells: Iterable[Cell], names: Mapping[Cell, str], facts: Facts, *, with_tau: bool
) -> tuple[dict[Cell, str], dict[str, str], str]:
    """Return the row of each cell, the labels of the rows, and the meaning of the numbered settings in them."""
    rows, labels, numbers = dict[Cell, str](), dict[str, str](), dict[str, int]()
    for cell in cells:
        known = facts.get(cell.problem)
        of_these_data = known is not None and known.data_sha256 == cell.data_sha256
        problem = (
            f"{cell.problem} ({known.n_features})" if known and of_these_data else cell.problem
        )
        row = f"{problem}, {names[cell]}"
        rows[cell], labels[row] = row, row
        method = method_label(cell, with_tau=with_tau)
        settings = names[cell].removeprefix(method).removeprefix(", ")
        if len(row) > LONGEST_LABEL and settings:
            number = numbers.setdefault(settings, len(numbers) + 1)
            labels[row] = f"{problem}, {method}, setting {number}"
    return (
        rows,
        labels,
        " ".join(f"Setting {number}: {settings}." for settings, number in numbers.items()),
    )


def choices_document(results: Results) -> Document:
    """Return C: a row for each cell whose runs choose their settings."""
    labels = distinct_labels(results.cells, with_tau=True)
    records, n_missing = [], 0
    for cell, runs in results.cells.items():
        parameters = dict(cell.parameters)
        if CHOOSE_BY not in parameters:
            continue
        retain = parameters.get(CHOOSE_RETAIN)
        by = str(parameters[CHOOSE_BY]).replace("_", " ")
        n_missing += runs.n_planned - runs.n_done
        best = recommended(cell, runs.records)
        record = {
            "row": f"{cell.problem}, {labels[cell]}",
            "by": by if retain is None else f"{by}, {value_text(retain)} %",
            "chosen": _chosen(runs) or EMPTY,
            "recommended": best and settings_text(best[0]),
            **{name: runs.mean(name) for name in (error_of(runs.quantities), "dimensionality")},
            "n": runs.n_done,
        }
        if score := score_to_choose_by([cell]):
            record[score] = runs.mean(score)
        records.append(record)
    tested = (*ERRORS, *BALANCED_SCORES)
    shown = [name for name in tested if any(name in record for record in records)]
    for record in records:
        record.update((name, record.get(name)) for name in shown)
    columns = (
        ("Problem, method", "{row}"),
        ("by", "{by}"),
        ("chosen (runs)", "{chosen}"),
        ("recommended", "{recommended}"),
        *((described(name).title, f"{{{name}:.2f}}") for name in shown),
        ("Features", "{dimensionality:.1f}"),
        ("n", "{n}"),
    )
    note = (
        "Each run chose a setting by its own training and validation split; only the chosen setting was tested."
        " Errors, scores and features are means over these runs, each with the setting that it chose: they estimate the"
        " procedure that chooses. The recommended setting is the best by the mean over the runs; it was not tested by"
        " itself."
    )
    title = "Settings chosen by the runs themselves"
    return Document.of_records("C", title, columns, records, notes=(note,), n_missing=n_missing)


def _chosen(runs: CellRuns) -> str:
    """Return the number of runs that chose each combination, in the order of the candidates."""
    names = [
        name.removeprefix(CHOOSE)
        for name, _ in runs.cell.parameters
        if name.startswith(CHOOSE) and name not in (CHOOSE_BY, CHOOSE_RETAIN)
    ]
    texts = []
    chosen = [runs.values(f"{CHOSEN}{name}").values() for name in names]
    for values, n in sorted(Counter(zip(*chosen, strict=True)).items()):
        texts.append(f"{settings_text(zip(names, values, strict=True))} ({n})")
    return ", ".join(texts)


def settings_text(settings: Iterable[tuple[str, Scalar]]) -> str:
    """Return a text such as ``"τ = 10, 25%"``."""
    return ", ".join(
        SIGNS.get(name, f"{name} = {{}}").format(value_text(value)) for name, value in settings
    )
