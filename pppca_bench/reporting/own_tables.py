"""Tables of our own: runs beyond the published tables, retained variance, and settings that a config compares."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property, partial

from pppca_bench.methods.lookup import stored_method
from pppca_bench.references.reference import Reference
from pppca_bench.reporting.cell_source import source_of
from pppca_bench.reporting.labels import distinct_labels, value_text
from pppca_bench.reporting.summary import Results, summarise_runs
from pppca_bench.reporting.table import Table, TableCell
from pppca_bench.reporting.tables import filling_configs
from pppca_bench.runs import AUTO, Cell, ProblemFacts, Scalar, described

LISTED = (
    "test_error_percent",
    "dimensionality",
    "retained_variance_percent",
    "optimality_percent",
    "reconstruction_error",
    "fit_time_ms",
)
"""Columns of the tables that list cells; methods that only measure have their own."""

REFERENCE_TAU = 15.0
"""The threshold at which the slides compare methods (T2, T3)."""

_BOTH = ("test_error_percent", "dimensionality")

RETAINED = "R"
"""Identifier of the table of retained variance."""

OWN_IDS, VARIANTS = ("X", RETAINED, "M", "C"), "variants_"
"""Identifiers of these tables, and the prefix of the others."""


class OwnTables:
    """Tables of our own, and the cells that each of them lists.

    ``X`` lists the cells that no other table shows, or ``M`` if their method only measures; ``R`` the share of the
    variance that each method retains; ``variants_<config>`` several settings of a method in a config, unless the
    published tables show all of them.

    Parameters
    ----------
    results : Results
        The stored runs by cell.
    facts : mapping of str to ProblemFacts
        Sizes of the problems, by name.
    references : sequence of Reference
        Their tables show the other cells.
    in_documents : mapping of str to sequence of Cell
        Cells that a table of texts shows, by its identifier.
    """

    def __init__(
        self,
        results: Results,
        facts: Mapping[str, ProblemFacts],
        references: Sequence[Reference],
        in_documents: Mapping[str, Collection[Cell]],
    ) -> None:
        self._results, self._facts, self._references = results, facts, references
        self._in_documents = in_documents

    def builders(self) -> dict[str, Callable[[], Table]]:
        """Return the builder of each table by its identifier."""
        variants = {f"{VARIANTS}{name}": partial(self._variants, name) for name in self._results.variants}
        return {"X": self._other_runs, "R": self._retained, "M": self._measures, **variants}

    @cached_property
    def homes(self) -> dict[Cell, list[str]]:
        """Return the tables that show each cell."""
        homes = {cell: [table] for cell, table in self._shown.items()}
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
                for row in layout.rows:
                    for column in layout.columns:
                        selector = layout.selector(row, column)
                        found = self._results.matching(selector, configs) if selector else []
                        if len(found) == 1:
                            shown[found[0]] = layout.id
        return shown

    @cached_property
    def _shown(self) -> dict[Cell, str]:
        others = {cell: document for document, cells in self._in_documents.items() for cell in cells}
        return others | self._published

    @cached_property
    def _lists(self) -> dict[str, list[Cell]]:
        """Return the cells of each list but R; no other table shows those of X and M."""
        variants = {
            f"{VARIANTS}{name}": [cell for group in groups if not self._shown.keys() >= set(group) for cell in group]
            for name, groups in self._results.variants.items()
        }
        others = [cell for cell in self._results.cells if cell not in self._shown and self._is_single(cell, variants)]
        return {
            "X": [cell for cell in others if not _only_measures(cell)],
            "M": [cell for cell in others if _only_measures(cell)],
            **variants,
        }

    def _is_single(self, cell: Cell, variants: Mapping[str, Sequence[Cell]]) -> bool:
        """Return whether a config plans the cell without other settings of the same method."""
        return any(cell not in variants.get(f"{VARIANTS}{name}", ()) for name in self._results.cells[cell].configs)

    def _sorted(self, cells: Collection[Cell]) -> list[Cell]:
        """Sort cells by their problems, in the order of the published tables, then of the results."""
        problems = {
            asked["problem"]: None
            for reference in self._references
            for layout in reference.layouts
            for row in layout.rows
            for column in layout.columns
            if "problem" in (asked := layout.asked(row, column))
        }
        names = [*problems, *(cell.problem for cell in self._results.cells)]
        places = {name: place for place, name in enumerate(dict.fromkeys(names))}
        return sorted(cells, key=lambda cell: places[cell.problem])

    def _labels(self, *, with_tau: bool) -> dict[Cell, str]:
        changed = {cell: runs.changed for cell, runs in self._results.cells.items()}
        return distinct_labels(self._results.cells, with_tau=with_tau, changed=changed)

    def _other_runs(self) -> Table:
        """Return X: a row a method and problem, a column a threshold."""
        cells, labels = self._sorted(self._lists["X"]), self._labels(with_tau=False)
        taus = {cell: dict(cell.parameters).get("tau") for cell in cells}
        given = sorted(set(taus.values()) - {None}, key=_numbers_first)
        columns = {"no tau": "no τ"} if None in taus.values() else {}
        columns |= {f"tau={value_text(tau)}": f"τ = {value_text(tau)}" for tau in given}
        table: dict[tuple[str, str], TableCell] = {}
        for cell, tau in taus.items():
            row = f"{_problem_label(cell, self._facts)}, {labels[cell]}"
            place = row, "no tau" if tau is None else f"tau={value_text(tau)}"
            summary = summarise_runs(self._results.cells[cell])
            ours = {name: summary.quantities[name] for name in _BOTH if name in summary.quantities}
            counts = summary.n_planned, summary.n_failed
            table[place] = TableCell(
                *place,
                _BOTH,
                "{} ({})",
                ours,
                {},
                summary.values,
                *counts,
                differing=summary.differing,
                source=source_of(cell, self._results),
            )
        rows = {row: row for row, _ in table}
        configs = set[str]().union(*(runs.configs for runs in self._results.cells.values()))
        whole = len(configs) == 1 and set(cells) == set(self._results.cells)
        title = f"Results of {next(iter(configs))}" if whole else "Runs beyond the published tables"
        return Table("X", title, "", "Problem, method", rows, columns, table)

    def _retained(self) -> Table:
        title, documents = "Test error beside what the features retain of the inputs", self._in_documents.values()
        left_out = {cell for cells in documents for cell in cells if cell not in self._published}
        cells = [cell for cell in self._retaining() if cell not in left_out]
        return self._list("R", title, cells, self._labels(with_tau=True), self._facts)

    def _retaining(self) -> Iterator[Cell]:
        """Yield the cells of the whole data, at `REFERENCE_TAU` if a method was run at several thresholds."""
        alone = [cell for cell in self._results.cells if self._is_single(cell, self._lists)]
        taus: dict[tuple[str, str], set[object]] = {}
        for cell in alone:
            taus.setdefault((cell.problem, cell.method), set()).add(dict(cell.parameters).get("tau"))
        for cell in alone:
            parameters = dict(cell.parameters)
            tau, whole = parameters.get("tau"), parameters.get("data_fraction") in (None, 100.0, AUTO)
            is_compared = tau in (None, REFERENCE_TAU) or REFERENCE_TAU not in taus[cell.problem, cell.method]
            measured = "retained_variance_percent" in self._results.cells[cell].values
            if whole and is_compared and measured:
                yield cell

    def _measures(self) -> Table:
        return self._list("M", "What else was measured", self._lists["M"], self._labels(with_tau=True), self._facts)

    def _variants(self, config: str) -> Table:
        cells = self._sorted(self._lists[f"{VARIANTS}{config}"])
        labels = distinct_labels(cells, with_tau=True)
        return self._list(f"{VARIANTS}{config}", f"Settings that {config} compares", cells, labels, {})

    def _list(
        self,
        table: str,
        title: str,
        cells: Collection[Cell],
        labels: Mapping[Cell, str],
        facts: Mapping[str, ProblemFacts],
    ) -> Table:
        """Return a table with a row for each cell and a column for each quantity."""
        summaries = {cell: summarise_runs(self._results.cells[cell]) for cell in self._sorted(cells)}
        own = dict.fromkeys(name for cell in summaries if _only_measures(cell) for name in summaries[cell].quantities)
        columns = [*(() if all(map(_only_measures, cells)) else LISTED), *own]
        filled, rows = {}, {}
        for cell, summary in summaries.items():
            row = f"{_problem_label(cell, facts)}, {labels[cell]}"
            rows[row], source = row, source_of(cell, self._results)
            for name in columns:
                known = {name: summary.quantities[name]} if name in summary.quantities else {}
                counts = (summary.n_planned, summary.n_failed) if known or name == columns[0] else (0, 0)
                differing = summary.differing if name == columns[0] else ()
                filled[row, name] = TableCell(
                    row, name, (name,), "{}", known, {}, {}, *counts, differing=differing, source=source
                )
        titles = {name: described(name).title for name in columns}
        return Table(table, title, "", "Problem, method", rows, titles, filled, is_list=True)


def _only_measures(cell: Cell) -> bool:
    entry = stored_method(cell.method)
    return entry is not None and entry.makes == "measures"


def _numbers_first(value: Scalar) -> tuple[bool, float, str]:
    return (False, float(value), "") if isinstance(value, int | float) else (True, 0.0, value_text(value))


def _problem_label(cell: Cell, facts: Mapping[str, ProblemFacts]) -> str:
    known = facts.get(cell.problem)
    of_these_data = known is not None and known.data_sha256 == cell.data_sha256
    return f"{cell.problem} ({known.n_features})" if known and of_these_data else cell.problem
