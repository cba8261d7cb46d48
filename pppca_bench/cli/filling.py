"""Configs that fill a published table or figure, for messages about results that lack it."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pppca_bench.cli._shared import read_store
from pppca_bench.cli.references import cells_of
from pppca_bench.config.shipped import shipped_experiments
from pppca_bench.errors import StoreError, check_known
from pppca_bench.runs import Names
from pppca_bench.store import DATABASE, RESULTS

if TYPE_CHECKING:
    from pppca_bench.references.reference import Reference
    from pppca_bench.runs import Selector


def command(results: Path, words: str) -> str:
    """Return a command line, with ``--results`` unless the folder is the default, in backquotes."""
    return f"`{' '.join(['pppca', words, *results_option_of(results)])}`"


def results_option_of(results: Path) -> list[str]:
    """Return the option that names the folder of the results; [] for the default."""
    return [] if results == Path(RESULTS) else ["--results", shlex.quote(str(results))]


def read_named(results: Path, names: Sequence[str]) -> tuple[Names, Names]:
    """Divide names into configs that were run and identifiers of tables; a config comes first.

    Raise StoreError for a table of our references if there are no results.
    """
    if not (results / DATABASE).exists():
        check_filled("table", filter(configs_filling, names), (), results)
    with read_store(results) as store:
        configs = store.config_texts()
    ran = tuple(name for name in names if name in configs)
    return ran, tuple(name for name in names if name not in configs)


def check_filled(
    kind: str,
    names: Iterable[str],
    known: Collection[str],
    results: Path,
    references: Iterable[Reference] = (),
) -> None:
    """Raise StoreError for a table or figure of ``references`` without runs, with the command that adds them, if known.

    Raise UnknownNameError for the first other name that is not known; ``kind`` is a noun such as "table".
    """
    declared = dict[str, Names]()
    for reference in references:
        declared |= _configs_of(reference)
    for name in names:
        if name not in known and (configs := configs_filling(name)):
            adds = command(results, f"run {' '.join(configs)}")
            raise StoreError(f"{kind} {name}: expected runs in {results}, got none. Run {adds}.")
        if name not in known and name in declared:
            of = f" of the configs {', '.join(declared[name])}" if declared[name] else ""
            raise StoreError(f"{kind} {name}: expected runs{of} in {results}, got none.")
    check_known(kind, names, known)


def configs_filling(identifier: str) -> list[str]:
    """Return the fewest shipped configs (by greedy choice) that fill a table or figure of our references.

    Identifiers that no reference declares have none.
    """
    from pppca_bench.references.reference import installed_references

    shipped = shipped_experiments()
    for reference in installed_references():
        for ranking in reference.rankings:
            if ranking.id == identifier:
                return [name for name in ranking.configs if name in shipped]
        selectors = {one.selector for one in reference.selectors() if one.shown == identifier}
        if selectors:
            configs = _configs_of(reference).get(identifier, reference.configs)
            return _cover(selectors, [name for name in configs if name in shipped])
    return []


def _configs_of(reference: Reference) -> dict[str, Names]:
    """Return the configs whose runs count in each table and figure of a reference."""
    configs = {layout.id: reference.configs_of(layout) for layout in reference.layouts}
    return configs | {figure.id: reference.configs_of(figure) for figure in reference.figures}


def _cover(selectors: set[Selector], names: Sequence[str]) -> list[str]:
    """Return configs that fill what ``selectors`` select, at each step the config that fills the most."""
    filled: dict[str, set[Selector]] = {}
    for name in names:
        cells = cells_of(shipped_experiments()[name])
        filled[name] = {one for one in selectors if any(map(one.matches, cells))}
    chosen = list[str]()
    while best := max(filled, key=lambda name: len(filled[name]), default=""):
        if not (new := filled.pop(best)):
            break
        chosen.append(best)
        filled = {name: selected - new for name, selected in filled.items()}
    return chosen
