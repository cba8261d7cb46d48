"""Documents: tables of texts with notes below and plain records beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

_NOT_OURS = ("row", "quantity", "n")
"""Keys of a record that name the row or count its runs, as do those that begin with ``n_``."""


class Grid(NamedTuple):
    """Texts in rows and columns.

    Attributes
    ----------
    name, caption : str
        End of the label in LaTeX, and heading; "" for a document's first grid.
    headers, rows : sequence of str, and of sequence of str
    """

    name: str
    caption: str
    headers: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Number of cells in which our results and the published ones agree.

    Attributes
    ----------
    name : str
        Name of the comparison; agreements of the same name, of several documents, are one score.
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
        """Return the share of the cells that agree; None if none of them was run."""
        return self.n_same / self.n_run if self.n_run else None


@dataclass(frozen=True, slots=True)
class Document:
    """Table of texts, as it is printed.

    Attributes
    ----------
    id, title : str
    place : str
        Where a table like it was published; "" for a table of our own.
    headers, rows : tuple of str, and of tuple of str
        As printed, the rows' names in the first column.
    notes : tuple of str
        Paragraphs below.
    records : sequence of mapping of str to value
        Plain values for CSV and JSON; None for a missing value. Keys of published values begin with ``published_``.
    agreements : tuple of Agreement
    was_run : bool
        Whether any run that it shows was planned.
    n_missing : int
        Runs that were planned and are not done.
    agrees : tuple of (bool or None)
        By row, whether ours agrees with the published value, None if it was not run; empty if this is not asked.
    others : tuple of Grid
        Grids below the first.
    """

    id: str
    title: str
    place: str
    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    records: Sequence[Mapping[str, object]] = ()
    agreements: tuple[Agreement, ...] = ()
    was_run: bool = False
    n_missing: int = 0
    agrees: tuple[bool | None, ...] = ()
    others: Sequence[Grid] = ()

    def paragraphs(self) -> list[str]:
        """Return the source, the notes and the number of missing runs, as far as there are such."""
        place = [f"After the {self.place}."] if self.place else []
        late = f"* {self.n_missing} of the runs asked for are not in: `pppca run` adds them."
        return [*place, *self.notes, *([late] if self.n_missing else [])]

    def trimmed(self) -> Document | None:
        """Return the document without the rows that have no number of ours; None if no row is left."""
        kept = [number for number, record in enumerate(self.records) if _has_result(record)]
        if not kept:
            return None
        return replace(
            self,
            rows=tuple(self.rows[number] for number in kept),
            records=tuple(self.records[number] for number in kept),
            agrees=tuple(self.agrees[number] for number in kept) if self.agrees else (),
        )


def _has_result(record: Mapping[str, object]) -> bool:
    own = [value for key, value in record.items() if key not in _NOT_OURS and not key.startswith(("n_", "published_"))]
    return any(value is not None for value in own)


def joined_agreements(documents: Iterable[Document]) -> list[Agreement]:
    """Return the agreements of documents, those of the same name added up."""
    joined: dict[str, Agreement] = {}
    for new in (agreement for document in documents for agreement in document.agreements):
        old = joined.get(new.name, Agreement(new.name, 0, 0, 0))
        counts = (old.n_cells + new.n_cells, old.n_run + new.n_run, old.n_same + new.n_same)
        joined[new.name] = Agreement(new.name, *counts, new.target if old.target is None else old.target)
    return list(joined.values())
