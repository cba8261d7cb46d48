"""Tables of our own: runs beyond the published tables, retained variance, and settings that a config compares."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial

from pppca_bench.methods.lookup import stored_method
from pppca_bench.references.reference import Reference
from pppca_bench.reporting.labels import distinct_labels, method_label, value_text
from pppca_bench.reporting.summary import Results, source_of, summarise_runs
from pppca_bench.reporting.table import Table, TableCell, filling_configs
from pppca_bench.runs import AUTO, Cell, ProblemFacts, described

LISTED = (
    "test_error_percent",
    "dimensionality",
    "retained_variance_percent",
    "optimality_percent",
    "reconstruction_error",
)
"""Columns of the tables that list cells; methods that only measure have their own."""

FIT_TIMES = "fit_times"
"""Identifier of the table of times: no other file of several configs' results changes with the machine."""

REFERENCE_TAU = 15.0
"""The threshold at which the slides compare methods (T2, T3)."""

LONGEST_LABEL = 59
"""Largest number of characters of a row's label; the settings in a longer label are numbered, and
explained below the table.
"""

RETAINED = "R"
"""Identifier of the table of retained variance."""

OWN_IDS, VARIANTS = ("X", RETAINED, "M", "C", FIT_TIMES), "variants_"
"""Identifiers of these tables, and the prefix of the others."""

Facts = Mapping[str, ProblemFacts]


class OwnTables:
    """Tables of our own, and the cells that each of them lists.

    ``X`` lists the cells that no other table shows, or ``M`` if their method only measures; ``R`` the share of the
    variance that each method retains; ``variants_<config>`` several settings of a method in a config, unless the
    published tables show all of them. If the results are those of a single config, and some of its cells are in X, then
    all of them are, so that they can be compared.

    Parameters
    ----------
    results, facts, references
        As of `Snapshot`.
    in_documents : mapping of Cell to str
        Cells that a table of texts shows, and its identifier.
    """

    def __init__(
        self,
        results: Results,
        facts: Mapping[str, ProblemFacts],
        references: Sequence[Reference],
        in_documents: Mapping[Cell, str],
    ) -> None:
        self._results, self._facts, self._references = results, facts, references
        self._in_documents = in_documents

    def builders(self) -> dict[str, Callable[[], Table]]:
        """Return the builder of each table by its identifier."""
        variants = {f"{VARIANTS}{name}": f"Settings that {name} compares" for name in self._results.variants}
        lists = {
            table: partial(self._list, table, title) for table, title in {"M": "Other measures", **variants}.items()
        }
        times = {} if self._config else {FIT_TIMES: self._fit_times}
        return {"X": self._other_runs, RETAINED: self._retained, **lists, **times}

    @cached_property
    def homes(self) -> dict[Cell, list[str]]:
        """Return the tables that show each cell."""
        homes = {cell: [table] for cell, table in {**self._in_documents, **self._published}.items()}
        for table, cells in self._lists.items():
            for cell in cells:
                homes.setdefault(cell, []).append(table)
        return homes

    @cached_property
    def _published(self) -> dict[Cell, str]:
        """Return the cells that a published table shows, with the last such table."""
        shown = {}
        for reference in self._references:
            for layout in reference.layouts:
                configs = filling_configs(layout, reference)
                for selector in itertools.starmap(layout.selector, itertools.product(layout.rows, layout.columns)):
                    matching = self._results.matching(selector, configs) if selector else []
                    if len(matching) == 1:
                        shown[matching[0]] = layout.id
        return shown

    @cached_property
    def _lists(self) -> dict[str, list[Cell]]:
        """Return the cells of each list but R; no other table shows those of X and M, unless X has all cells."""
        shown = self._in_documents.keys() | self._published.keys()
        variants = {
            f"{VARIANTS}{name}": [cell for group in groups if not shown >= set(group) for cell in group]
            for name, groups in self._results.variants.items()
        }
        others = [cell for cell in self._results.cells if cell not in shown and self._is_single(cell, variants)]
        measures = [cell for cell in others if _only_measures(cell)]
        others = [cell for cell in others if not _only_measures(cell)]
        if others and self._config and not self._in_documents:
            others, variants = [cell for cell in self._results.cells if not _only_measures(cell)], {}
        return {"X": others, "M": measures, **variants}

    @cached_property
    def _config(self) -> str:
        """Return the config of all runs; "" for several configs."""
        configs = set[str]().union(*(runs.configs for runs in self._results.cells.values()))
        return next(iter(configs)) if len(configs) == 1 else ""

    def _is_single(self, cell: Cell, lists: Mapping[str, Sequence[Cell]]) -> bool:
        """Return whether a config plans the cell without other settings of the same method."""
        return any(cell not in lists.get(f"{VARIANTS}{name}", ()) for name in self._results.cells[cell].configs)

    def _sorted(self, cells: Collection[Cell]) -> list[Cell]:
        """Sort cells by their problems, in the order of the published tables, then of the results."""
        asked = [
            layout.asked(row, column).get("problem")
            for reference in self._references
            for layout in reference.layouts
            for row, column in itertools.product(layout.rows, layout.columns)
        ]
        names = [*filter(None, asked), *(cell.problem for cell in self._results.cells)]
        places = {name: place for place, name in enumerate(dict.fromkeys(names))}
        return sorted(cells, key=lambda cell: places[cell.problem])

    def _names(self, *, with_tau: bool) -> dict[Cell, str]:
        """Return a name for each cell of the results."""
        changed = {cell: runs.changed for cell, runs in self._results.cells.items()}
        return distinct_labels(self._results.cells, with_tau=with_tau, changed=changed)

    def _other_runs(self) -> Table:
        """Return X: a row a method and problem, a column a threshold."""
        cells, shows = self._sorted(self._lists["X"]), ("test_error_percent", "dimensionality")
        rows, labels, remark = _rows(cells, self._names(with_tau=False), self._facts, with_tau=False)
        taus = {cell: dict(cell.parameters).get("tau") for cell in cells}
        given = sorted(set(taus.values()) - {None}, key=lambda tau: (isinstance(tau, str), tau))
        columns = {"no tau": "no τ"} if None in taus.values() else {}
        columns |= {f"tau={value_text(tau)}": f"τ = {value_text(tau)}" for tau in given}
        table: dict[tuple[str, str], TableCell] = {}
        for cell, tau in taus.items():
            place = rows[cell], "no tau" if tau is None else f"tau={value_text(tau)}"
            summary, source = summarise_runs(self._results.cells[cell]), source_of(cell, self._results)
            table[place] = TableCell(*place, shows, "{} ({})").filled(summary, shows, source)
        whole = self._config and set(cells) == set(self._results.cells)
        title = f"Results of {self._config}" if whole else "Runs beyond the published tables"
        return Table("X", title, "", "Problem, method", labels, columns, table, remark=remark)

    @cached_property
    def _retaining(self) -> list[Cell]:
        """Return the cells of R: of the whole data, at `REFERENCE_TAU` if a method was run at several thresholds.

        Tables that show what is retained themselves, such as S1, keep their cells.
        """
        single = {cell: dict(cell.parameters) for cell in self._results.cells if self._is_single(cell, self._lists)}
        at_reference = {(cell.problem, cell.method) for cell, own in single.items() if own.get("tau") == REFERENCE_TAU}
        layouts = itertools.chain.from_iterable(reference.layouts for reference in self._references)
        measures = {"retained_variance_percent", "optimality_percent"}
        complete = {layout.id for layout in layouts if measures & {*layout.also}}
        return [
            cell
            for cell, own in single.items()
            if own.get("data_fraction") in (None, 100.0, AUTO)
            and (own.get("tau") in (None, REFERENCE_TAU) or (cell.problem, cell.method) not in at_reference)
            and "retained_variance_percent" in self._results.cells[cell].values
            and (cell in self._published or cell not in self._in_documents)
            and self._published.get(cell) not in complete
        ]

    def _retained(self) -> Table:
        """Return R, the test error beside what the features retain of the inputs."""
        return self._list(RETAINED, "Test error beside what the features retain of the inputs", self._retaining)

    def _fit_times(self) -> Table:
        """Return the time that the method of each cell of R and of the lists took to fit."""
        listed = {*self._retaining, *itertools.chain.from_iterable(self._lists.values())}
        timed = [cell for cell, runs in self._results.cells.items() if cell in listed and "fit_time_ms" in runs.values]
        return self._list(FIT_TIMES, "Time to fit", timed, ("fit_time_ms",))

    def _list(
        self, table: str, title: str, listed: Collection[Cell] | None = None, quantities: tuple[str, ...] = ()
    ) -> Table:
        """Return a table with a row for each cell (by default those of `_lists`) and a column for each quantity."""
        cells = self._sorted(self._lists.get(table, ()) if listed is None else listed)
        alone = table.startswith(VARIANTS)
        names = distinct_labels(cells, with_tau=True) if alone else self._names(with_tau=True)
        summaries = {cell: summarise_runs(self._results.cells[cell]) for cell in cells}
        own = dict.fromkeys(name for cell in summaries if _only_measures(cell) for name in summaries[cell].quantities)
        usual = quantities or ((*LISTED, "fit_time_ms") if self._config else LISTED)
        columns = [*(() if all(map(_only_measures, cells)) else usual), *own]
        rows, labels, remark = _rows(summaries, names, {} if alone else self._facts, with_tau=True)
        filled = {}
        for cell, summary in summaries.items():
            row, source = rows[cell], source_of(cell, self._results)
            for name in columns:
                is_first = name == columns[0]
                own_summary = replace(summary, values={}, differing=summary.differing if is_first else ())
                table_cell = TableCell(row, name, (name,), "{}", source=source)
                known = is_first or name in summary.quantities
                filled[row, name] = table_cell.filled(own_summary, (name,), source) if known else table_cell
        titles = {name: described(name).title for name in columns}
        return Table(table, title, "", "Problem, method", labels, titles, filled, is_list=True, remark=remark)


def _rows(
    cells: Iterable[Cell], names: Mapping[Cell, str], facts: Facts, *, with_tau: bool
) -> tuple[dict[Cell, str], dict[str, str], str]:
    """Return the row of each cell, the labels of the rows, and the meaning of the numbered settings in them."""
    rows, labels, numbers = dict[Cell, str](), dict[str, str](), dict[str, int]()
    for cell in cells:
        known = facts.get(cell.problem)
        of_these_data = known is not None and known.data_sha256 == cell.data_sha256
        problem = f"{cell.problem} ({known.n_features})" if known and of_these_data else cell.problem
        row = f"{problem}, {names[cell]}"
        rows[cell], labels[row] = row, row
        method = method_label(cell, with_tau=with_tau)
        settings = names[cell].removeprefix(method).removeprefix(", ")
        if len(row) > LONGEST_LABEL and settings:
            number = numbers.setdefault(settings, len(numbers) + 1)
            labels[row] = f"{problem}, {method}, setting {number}"
    return rows, labels, " ".join(f"Setting {number}: {settings}." for settings, number in numbers.items())


def _only_measures(cell: Cell) -> bool:
    entry = stored_method(cell.method)
    return entry is not None and entry.makes == "measures"
