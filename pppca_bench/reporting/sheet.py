"""A sheet: a table of texts, for what a table of means cannot show, with plain records and agreements beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pppca_bench.runs import Cell


@dataclass(frozen=True, slots=True)
class Agreement:
    """Count how often ours says the same as what was published.

    Attributes
    ----------
    name : str
        What is compared; agreements of one name, of several sheets, are one score.
    n_cells, n_run, n_same : int
        Published cells, those of which ours is there, and those where the two agree.
    target : float or None
        Share of ``n_run`` that is aimed at.
    """

    name: str
    n_cells: int
    n_run: int
    n_same: int
    target: float | None = None

    @property
    def share(self) -> float | None:
        """Return the share of the cells that agree; None where none is there."""
        return self.n_same / self.n_run if self.n_run else None


@dataclass(frozen=True, slots=True)
class Sheet:
    """Hold a filled sheet.

    Attributes
    ----------
    id, title : str
        Identifier and title; ``place`` tells where its like was published ("" for one of ours).
    headers : tuple of str
        Of the columns, the first that of the rows' names.
    rows : tuple of tuple of str
        As they are printed, each as long as ``headers``.
    notes : tuple of str
        Sentences that stand below.
    records : tuple of mapping of str to value
        The rows as plain values, all with the same keys: what CSV and JSON hold. What was published stands under keys
        that begin with ``published_``; what is not there is None.
    agreements : tuple of Agreement
        What is scored.
    shown : tuple of Cell
        Cells of the results whose runs it shows.
    n_missing : int
        Runs that were asked for and are not in.
    agrees : tuple of (bool or None)
        By row, whether ours says what was published, None where ours is not there; empty where this is not asked.
    mentioned : tuple of Cell
        Cells that it tells something of, though other tables list them.
    """

    id: str
    title: str
    place: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    records: tuple[Mapping[str, object], ...] = ()
    agreements: tuple[Agreement, ...] = ()
    shown: tuple[Cell, ...] = ()
    n_missing: int = 0
    agrees: tuple[bool | None, ...] = ()
    mentioned: tuple[Cell, ...] = ()

    @property
    def was_run(self) -> bool:
        """Tell whether any of its runs was asked for."""
        return bool(self.shown or self.mentioned)


def joined_agreements(sheets: Iterable[Sheet]) -> list[Agreement]:
    """Return the agreements of sheets, those of one name as one."""
    found: dict[str, Agreement] = {}
    for one in (agreement for sheet in sheets for agreement in sheet.agreements):
        known = found.get(one.name, Agreement(one.name, 0, 0, 0))
        counts = (known.n_cells + one.n_cells, known.n_run + one.n_run, known.n_same + one.n_same)
        target = one.target if known.target is None else known.target
        found[one.name] = Agreement(one.name, *counts, target)
    return list(found.values())
