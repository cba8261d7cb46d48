"""Labels of cells that are listed together, and the runs of each setting over problems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from operator import attrgetter

from pppca_bench.methods.lookup import stored_method
from pppca_bench.results.frames import Runs
from pppca_bench.runs import Cell, Label, Names, Scalar, differing, grouped

Item = tuple[str, Scalar]


def only_measures(cell: Cell) -> bool:
    """Return whether a cell's method only measures, without a classifier."""
    entry = stored_method(cell.method)
    return entry is not None and entry.makes == "measures"


def distinct(labels: Mapping[Cell, Label], columns: Names = ()) -> dict[Cell, str]:
    """Return the labels of cells that are listed together as texts; namesakes get what distinguishes them.

    Namesakes are cells on a problem whose labels are equal, such as cells of two configs. First the methods and the
    classifiers in which they differ are added; where labels are still equal, the settings, then data and versions.
    Labels leave out settings that are ``columns`` of the list. Cells that differ in columns alone have the label of the
    first of them, even if a config gives a setting that another leaves at its default.
    """
    found, rows = dict[Cell, Label](), dict[Cell, Label]()
    for cell, label in labels.items():
        row = replace(cell, parameters=dict(_without(cell.parameters.items(), columns)))
        shortened = Label(label.title, tuple(_without(label.settings, columns)))
        found[cell] = rows.setdefault(row, shortened)

    def place(cell: Cell) -> tuple[object, ...]:
        return (cell.problem, found[cell].text, *map(cell.settings.get, columns))

    for facts_of in (_algorithms, attrgetter("settings"), _sources):
        for namesakes in grouped(found, place).values():
            facts = list(map(facts_of, namesakes))
            names = differing(facts)
            for cell, own in zip(namesakes, facts, strict=True):
                added = tuple((name, own[name]) for name in names if name in own)
                found[cell] = Label(found[cell].title, found[cell].settings + added)
    return {cell: label.text for cell, label in found.items()}


def _without(items: Iterable[Item], columns: Names) -> list[Item]:
    return [(name, value) for name, value in items if name not in columns]


def _algorithms(cell: Cell) -> dict[str, Scalar]:
    return {"method": cell.method, **cell.rules}


def _sources(cell: Cell) -> dict[str, Scalar]:
    versions = {f"{name} version": version for name, version in cell.algorithms}
    return {"data": cell.data_sha256[:8], **versions}


def labels_of(runs: Runs, numbers: Collection[int], columns: Names = ()) -> dict[int, str]:
    """Return the labels of cells that are listed together, by number; see `distinct`."""
    labels = {runs.cells[number]: runs.labels[number] for number in numbers}
    texts = distinct(labels, columns)
    return {number: texts[runs.cells[number]] for number in numbers}


def settings_of(runs: Runs) -> dict[Cell, dict[str, int]]:
    """Return the cells of each setting of a method, in the order of plans; methods that only measure are left out.

    A setting is a cell without problem and data: method, parameters, classifier and versions. The numbers of its cells
    are by problem; data of equal name have their digest in the key.
    """
    ranked = {cell: number for number, cell in runs.cells.items() if not only_measures(cell)}
    groups = grouped(ranked, lambda cell: replace(cell, problem="", data_sha256=""))
    data = {(cell.problem, cell.data_sha256) for cell in ranked}
    n_data = Counter(problem for problem, _ in data)
    settings = dict[Cell, dict[str, int]]()
    for setting, group in groups.items():
        cells = settings[setting] = {}
        for cell in group:
            name = cell.problem
            if n_data[name] > 1:
                name += f", data {cell.data_sha256[:8]}"
            cells[name] = ranked[cell]
    return settings


def names_of(runs: Runs, settings: Mapping[Cell, Mapping[str, int]]) -> dict[Cell, str]:
    """Return the labels of settings that are listed together, each by the first of its cells; see `distinct`."""
    labels = dict[Cell, Label]()
    for setting, cells in settings.items():
        labels[setting] = runs.labels[next(iter(cells.values()))]
    return distinct(labels)
