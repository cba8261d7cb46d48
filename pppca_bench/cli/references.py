"""User-defined references of a command: their configs, and the check that planned runs fill their cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pppca_bench.config.shipped import LOCAL, shipped_experiments
from pppca_bench.errors import OwnDataError, nearest

if TYPE_CHECKING:
    from pppca_bench.references.planned import Planned
    from pppca_bench.references.reference import Reference
    from pppca_bench.runs import Cell
    from pppca_bench.yaml_files.source import Location


def check_reference(reference: Reference, planned: Planned) -> None:
    """Raise OwnDataError unless planned runs of the reference's configs fill each cell, curve and placebo.

    ``planned`` are the planned cells of the results, by config. Where they do not suffice, since a config was not run
    or only in part, the runs that the file of the config asks for count as well.
    """
    from pppca_bench.references.planned import check_planned

    own = own_configs(reference)
    files = _files_of(reference, own)
    for location, name in named_configs(reference):
        if name not in planned and name not in files:
            where = reference.source.where(location)
            hint = nearest(name, {*planned, *own, *shipped_experiments()})
            if own and not hint:
                hint = f"; the configs beside it are {', '.join(own)}"
            expected = "the name of a config that was run, or that is beside reference.yaml"
            raise OwnDataError(f"{where}: expected {expected}, got {name!r}{hint}.")
    try:
        check_planned(reference, planned)
    except OwnDataError:
        from_files = {name: cells_of(path) for name, path in files.items()}
        every = {
            name: [*planned.get(name, ()), *from_files.get(name, ())]
            for name in {**planned, **from_files}
        }
        check_planned(reference, every)


def check_alone(reference: Reference) -> str:
    """Return a sentence on a reference that works with planned runs of its configs' files; raise OwnDataError else."""
    from pppca_bench.pages.plug_in import module_of

    where = reference.source.where
    if not reference.placebos and any(rule.runs for rule in reference.rules):
        raise OwnDataError(
            f"{where(('placebos',))}: expected at least one wrong program, whose numbers the verdicts should tell from"
            " yours, beside rules with `runs`, got none."
        )
    if not reference.numbers:
        path = reference.folder / "numbers.csv"
        raise OwnDataError(f"{path}: expected at least one published number, got none.")
    filled = {one.text for one in reference.selectors() if one.levels[0][0] == "tables"}
    if not filled:
        raise OwnDataError(
            f"{where(('tables',))}: expected a cell with runs, got none. Add `runs` with a problem and a method."
        )
    check_reference(reference, {})
    module_of(reference)
    counts = dict.fromkeys(["compared", "not compared", "cited"], 0)
    for (table, row, column), numbers in reference.numbers.items():
        for quantity in numbers:
            kind = "compared" if reference.rule(table, row, quantity) else "not compared"
            is_filled = f"table {table}, {row}, {column}" in filled
            counts[kind if is_filled else "cited"] += 1
    texts = ", ".join(f"{n} {kind}" for kind, n in counts.items() if n)
    n_placebos, n_rules = len(reference.placebos), len(reference.rules)
    return (
        f"{reference.source.path}: planned runs fill {len(filled)} cells. Numbers: {texts or 'none'}."
        f" Rules: {n_rules}. Placebos: {n_placebos}."
    )


def named_configs(reference: Reference) -> Iterator[tuple[Location, str]]:
    """Yield the location and the name of each config that a reference names."""
    for index, name in enumerate(reference.configs):
        yield ("configs", index), name
    configs = {
        "tables": [layout.configs for layout in reference.layouts],
        "figures": [figure.configs for figure in reference.figures],
        "rankings": [ranking.configs for ranking in reference.rankings],
    }
    for key, of_sections in configs.items():
        for number, names in enumerate(of_sections):
            for index, name in enumerate(names):
                yield (key, number, "configs", index), name


def own_configs(reference: Reference) -> dict[str, Path]:
    """Return the files of the configs in a reference's folder, by the name that each config has."""
    from pppca_bench.yaml_files.source import read_yaml

    own = dict[str, Path]()
    for path in sorted(reference.folder.glob("*.yaml")):
        document = read_yaml(path).value
        if path.name != reference.source.path.name and isinstance(document, dict):
            own[str(document.get("name", path.stem))] = path
    return own


def _files_of(reference: Reference, own: Mapping[str, Path]) -> dict[str, Path]:
    """Return the files of the configs that a reference names, or of all configs in its folder if it names none.

    ``own`` are those in its folder; then NAME.yaml is looked for in the folder above, in the working directory, in its
    folder ``configs``, and among the shipped configs.
    """
    files = {}
    for name in dict.fromkeys(name for _, name in named_configs(reference)) or own:
        places = [folder / f"{name}.yaml" for folder in (reference.folder.parent, Path(), LOCAL)]
        found = [path for path in places if path.is_file()]
        if path := own.get(name) or next(iter(found), None) or shipped_experiments().get(name):
            files[name] = path
    return files


def cells_of(path: Path) -> list[Cell]:
    """Return the cells of the runs that a config's file asks for."""
    from pppca_bench.config.overrides import apply_changes
    from pppca_bench.experiments.request import read_request
    from pppca_bench.yaml_files.source import read_yaml

    once = apply_changes(read_yaml(path), {"repeats": 1})
    plans = read_request([once], only_plan=True, force=True).plans
    return list(dict.fromkeys(spec.cell for plan in plans for spec in plan.specs))
