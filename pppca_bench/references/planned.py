"""Check that planned runs of its configs fill each cell, curve and placebo of a reference."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import product

from pppca_bench.errors import OwnDataError, nearest
from pppca_bench.quantities import MEASURES, QUANTITIES, SIZES
from pppca_bench.references.layout import Layout, Placebo
from pppca_bench.references.reference import Asked, Reference
from pppca_bench.references.selection import in_place
from pppca_bench.runs import Cell, Names, Selector, written

Planned = Mapping[str, Collection[Cell]]
"""Planned cells of each config."""

_SETTINGS = ("runs", "over", "ratio_to", "difference_from")
"""Keys of a level of a table that have settings."""


def check_planned(reference: Reference, planned: Planned) -> None:
    """Raise OwnDataError for the first cell, curve or placebo that no planned run of its configs matches.

    A cell of a table must have runs of a single setting.
    """
    for asked in reference.selectors():
        cells = _cells_of(asked.configs, planned)
        if not _is_planned(asked.selector, cells):
            name, expected, got = _mismatch(asked.selector, cells, asked.configs or tuple(planned))
            where = reference.source.where(_location(reference, asked, name))
            raise OwnDataError(
                f"{where}: {asked.text} names no run: expected {expected}, got {got}."
            )
        differing = _differing(asked.selector, cells)
        if differing and asked.levels[0][0] == "tables":
            where = reference.source.where(_location(reference, asked, "method"))
            raise OwnDataError(
                f"{where}: {asked.text}: expected runs of a single setting, got several. Add one of {differing} to"
                " `runs`."
            )
    for index, placebo in enumerate(reference.placebos):
        if not _is_filled(placebo, reference, planned):
            where = reference.source.where(("placebos", index))
            raise OwnDataError(
                f"{where}: expected a wrong program with planned runs in place of a cell's, or with a cell of the same"
                f" row and column, got {placebo.name!r}, which has none."
            )


def check_quantities(
    reference: Reference, cells: Mapping[int, Cell], measured: Mapping[int, Collection[str]]
) -> None:
    """Raise OwnDataError for a quantity of a cell that none of its runs has measured, and the package does not know.

    ``measured`` has the quantities of the done runs of each cell of the results, by its number.
    """
    for asked in reference.selectors():
        selected = (
            measured[number] for number, cell in cells.items() if asked.selector.matches(cell)
        )
        done = set[str]().union(*selected)
        known = {*QUANTITIES, *MEASURES, *SIZES, *done}
        for name in asked.quantities:
            hint = nearest(name, known)
            if name not in known and (done or hint):
                where = reference.source.where(asked.levels[0])
                hint = hint or f": they have {', '.join(sorted(done))}"
                raise OwnDataError(
                    f"{where}: {asked.text}: expected quantities that its runs measure, got {name!r}{hint}."
                )


def _cells_of(configs: Names, planned: Planned) -> list[Cell]:
    """Return the planned cells of some configs; of all of them without names."""
    return [cell for name in configs or planned for cell in planned.get(name, ())]


def _is_planned(selector: Selector, cells: Iterable[Cell]) -> bool:
    return any(selector.matches(cell) for cell in cells)


def _differing(selector: Selector, cells: Iterable[Cell]) -> str:
    """Return the settings in which the cells of a selector differ, with their values; "" for cells that are alike."""
    values = dict[str, dict[str, None]]()
    for cell in cells:
        if selector.matches(cell):
            for name, value in cell.settings.items():
                values.setdefault(name, {})[f"{name}: {written(value)}"] = None
    return ", ".join(text for texts in values.values() if len(texts) > 1 for text in texts)


def _mismatch(selector: Selector, cells: Sequence[Cell], configs: Names) -> tuple[str, str, str]:
    """Return the setting of a selector that no planned run has beside its others: its name, the rule, and the value.

    Of all planned runs of the problem and method, those count that have most of the other settings.
    """
    problems = dict.fromkeys(cell.problem for cell in cells)
    if selector.problem not in problems:
        return _unknown("problem", selector.problem, problems, f"of {', '.join(configs)}")
    of_problem = [cell for cell in cells if cell.problem == selector.problem]
    methods = dict.fromkeys(cell.method for cell in of_problem)
    place = f"on {selector.problem} in {', '.join(configs)}"
    if selector.method not in methods:
        return _unknown("method", selector.method, methods, f"that runs {place}")
    of_method = [cell for cell in of_problem if cell.method == selector.method]
    place = f"{selector.method} {place}"
    known = dict.fromkeys(name for cell in of_method for name in cell.settings)
    for name, _ in selector.settings:
        if name not in known:
            _, expected, got = _unknown("setting", name, known, f"of {place}")
            return name, expected, got
    wrong = [_wrong_settings(selector, cell) for cell in of_method]
    fewest = min(map(len, wrong))
    name = next(names[0] for names in wrong if len(names) == fewest)
    values = dict.fromkeys(
        written(cell.settings[name])
        for cell, names in zip(of_method, wrong, strict=True)
        if len(names) == fewest and name in names and name in cell.settings
    )
    got = written(dict(selector.settings)[name])
    return name, f"{name} of a planned run of {place}, {' or '.join(values)}", got


def _unknown(kind: str, name: str, known: Collection[str], which: str) -> tuple[str, str, str]:
    """Return the name of a setting, the rule and the value for a name that is not known."""
    hint = nearest(name, known) or (f": one of {', '.join(known)}" if kind != "setting" else "")
    return kind, f"a {kind} {which}", f"{name!r}{hint}"


def _wrong_settings(selector: Selector, cell: Cell) -> list[str]:
    """Return the names of the settings that a cell does not have as a selector has them."""
    missing = object()
    return [name for name, value in selector.settings if cell.settings.get(name, missing) != value]


def _location(reference: Reference, asked: Asked, name: str) -> tuple[str | int, ...]:
    """Return the location of a setting: in the last of the levels that has it, or else the first level."""
    lines = reference.source.lines
    given = [asked.levels[0]]
    for level in asked.levels:
        # the short form of an axis has the setting itself
        keys = [(*level, key, name) for key in _SETTINGS] + [(*level[:-1], name)]
        given += [key for key in keys if key in lines]
    return given[-1]


def _is_filled(placebo: Placebo, reference: Reference, planned: Planned) -> bool:
    """Return whether a placebo has numbers for at least one cell of its tables."""
    cells = _cells_of(reference.configs, planned)

    def settings_of(problem: str, method: str) -> set[str]:
        alike = (cell for cell in cells if (cell.problem, cell.method) == (problem, method))
        return set[str]().union(*(cell.settings for cell in alike))

    layouts = {layout.id: layout for layout in reference.layouts}
    other = layouts.get(placebo.table)
    for layout in map(layouts.__getitem__, placebo.tables):
        for row, column in product(layout.rows, layout.columns):
            selection = layout.selector(row, column)
            if selection is None or not placebo.includes(layout.id, row.key, column.key):
                continue
            if placebo.runs:
                replaced = in_place(selection, placebo.runs, settings_of)
                if all(_is_planned(part, cells) for part in replaced.parts):
                    return True
            elif other is None or (row.key, column.key) in _keys(other):
                return True
    return False


def _keys(layout: Layout) -> set[tuple[str, str]]:
    """Return the keys of row and column of each cell of a table."""
    return {(row.key, column.key) for row, column in product(layout.rows, layout.columns)}
