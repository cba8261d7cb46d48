"""Rows of the results database to records and back; a row that no run can have written is refused by its name."""

from __future__ import annotations

import io
import json
import math
import re
import sqlite3
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pppca_bench.errors import StoreError
from pppca_bench.runs import QUANTITIES, Cell, Parameters, RunResult, RunSpec, Scalar, StoredRun

if TYPE_CHECKING:
    from numpy.typing import NDArray

CELL_COLUMNS = "problem, data_sha256, method, parameters, classifier, algorithms"
"""What tells cells apart, in the order of `cell_row`."""
_FOREIGN_VERSION = re.compile(r"(\S+ )?[0-9a-f]{12}|unknown")
"""How the versions of methods from elsewhere look (`methods.foreign.version_of`)."""

STATUSES = ("planned", "done", "failed")

CellRow = tuple[Cell, tuple[str, ...]]
"""A cell, and the names of its settings that are not a config's defaults."""


class RowError(StoreError):
    """A row holds what no run can have written.

    Parameters
    ----------
    row : str
        Which one, such as ``"run 0123abc"``.
    wrong : str
        What was expected there, and what was found.
    """

    def __init__(self, row: str, wrong: str) -> None:
        self.row = row
        super().__init__(
            f"{row}: {wrong}. The row was damaged or edited: `pppca doctor --mend` removes it, and the next"
            " `pppca run` computes it again."
        )


def to_json(values: object) -> str:
    """Write values as JSON text with sorted keys."""
    return json.dumps(values, sort_keys=True)


def cell_row(cell: Cell) -> tuple[object, ...]:
    """Return the columns that identify a cell."""
    settings = (to_json(dict(part)) for part in (cell.parameters, cell.classifier, cell.algorithms))
    return (cell.problem, cell.data_sha256, cell.method, *settings)


def insert_cells(connection: sqlite3.Connection, specs: Mapping[Cell, Sequence[RunSpec]]) -> dict[Cell, int]:
    """Insert the cells of runs that are not there yet, and return the numbers of all."""
    found: dict[Cell, int] = {}
    for cell, own in specs.items():
        row = (*cell_row(cell), to_json(own[0].changed))
        connection.execute(
            f"INSERT INTO cells ({CELL_COLUMNS}, changed) VALUES (?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT DO UPDATE SET changed = excluded.changed",
            row,
        )
        (found[cell],) = connection.execute(
            "SELECT id FROM cells WHERE problem = ? AND data_sha256 = ? AND method = ? AND parameters = ?"
            " AND classifier = ? AND algorithms = ?",
            row[:-1],
        ).fetchone()
    return found


def read_cell(row: Sequence[Any]) -> Cell:
    """Return the cell of the columns of `cell_row`.

    Raises
    ------
    ValueError
        A column holds something else than a cell has.
    """
    problem, data_sha256, method, *settings = row
    parameters, classifier, algorithms = map(_parameters, settings)
    if not all(isinstance(value, int) or _FOREIGN_VERSION.fullmatch(str(value)) for _, value in algorithms):
        raise ValueError(f"expected whole numbers, or digests of code from elsewhere, as versions, got {settings[2]}")
    return Cell(problem, data_sha256, method, parameters, classifier, algorithms)  # type: ignore[arg-type]


def read_cells(rows: Sequence[Sequence[Any]]) -> dict[int, CellRow | RowError]:
    """Return each cell by its number, or what is wrong with its row.

    Parameters
    ----------
    rows : sequence of (id, columns of `cell_row`, changed)
    """
    found: dict[int, CellRow | RowError] = {}
    for number, *columns, changed in rows:
        try:
            with _named(f"cell {number} ({columns[2]} on {columns[0]})"):
                found[number] = read_cell(columns), _names(changed)
        except RowError as error:
            found[number] = error
    return found


def pair_superseded(
    wanted: Iterable[Cell], known: Mapping[int, CellRow | RowError], counts: Iterable[tuple[int, int]]
) -> list[tuple[Cell, Cell, int]]:
    """Pair wanted cells with stored ones of other data or algorithms; ``counts`` has numbers of cells and their runs.

    A damaged row is left out: it is told by the commands that read its runs.
    """
    stored: dict[tuple[object, ...], list[tuple[Cell, int]]] = {}
    for number, n in counts:
        if not isinstance(found := known[number], RowError):
            stored.setdefault(_without_origin(found[0]), []).append((found[0], n))
    return [(one, cell, n) for one in wanted for cell, n in stored.get(_without_origin(one), ()) if cell != one]


def _without_origin(cell: Cell) -> tuple[object, ...]:
    return (cell.problem, cell.method, cell.parameters, cell.classifier)


def intact(row: CellRow | RowError) -> CellRow:
    """Return a cell, or raise what is wrong with its row."""
    if isinstance(row, RowError):
        raise row
    return row


def read_run(
    row: Sequence[Any],
    cells: Mapping[int, CellRow | RowError],
    origins: Mapping[int, str],
    quantities: Sequence[str],
) -> StoredRun:
    """Return a run as it was stored.

    Parameters
    ----------
    row : sequence
        Key, cell, repeat, seed, status, error, measures, provenance, and the quantities.
    cells : mapping of int to (Cell, changed) or RowError
        See `read_cells`.
    origins : mapping of int to str
        Provenances by number.
    quantities : sequence of str
        Names of the row's last columns.

    Raises
    ------
    RowError
        The row, or that of its cell, holds what no run can have written.
    """
    place = cells.get(row[1])
    with _named(f"run {row[0]}"):
        if place is None:
            raise ValueError(f"expected one of the stored cells, got number {row[1]!r}")
        cell, changed = intact(place)
    result = read_result(row, origins, quantities)
    return RunSpec(row[0], cell, row[2], row[3], changed), result


def read_result(row: Sequence[Any], origins: Mapping[int, str], quantities: Sequence[str]) -> RunResult | None:
    """Return what came of a run, None until it is done or failed; see `read_run`."""
    key, _, repeat, seed, status, error, measures, origin, *numbers = row
    with _named(f"run {key}"):
        if repeat < 0 or seed < 0:
            raise ValueError(f"expected a repeat and a seed of at least 0, got {repeat} and {seed}")
        if status not in STATUSES:
            raise ValueError(f"expected {' or '.join(STATUSES)} as its status, got {status!r}")
        if status == "planned":
            return None
        values = {
            name: int(value) if QUANTITIES[name].is_count else value
            for name, value in zip(quantities, map(_finite, quantities, numbers), strict=True)
            if value is not None
        }
        if status == "done" and not values and not measures:
            raise ValueError("expected numbers, since it is done, got none")
        return RunResult(key, status, error, values | read_measures(key, measures), origin=origins.get(origin, ""))


def read_measures(key: str, text: str | None) -> dict[str, float]:
    """Return the numbers of a run that have no column of their own."""
    with _named(f"run {key}"):
        return {name: _finite(name, value) for name, value in _mapping(text or "{}").items()}


def pack(history: Mapping[str, NDArray]) -> bytes:  # type: ignore[type-arg]
    """Return learning curves as a compressed NumPy archive of float32.

    Choice: the lightest compression, which takes a third of NumPy's time, and makes of such numbers no more bytes.
    """
    import numpy as np

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, curve in history.items():
            with archive.open(f"{name}.npy", "w") as file:
                np.lib.format.write_array(file, np.asarray(curve, np.float32), allow_pickle=False)
    return buffer.getvalue()


def unpack(key: str, blob: bytes) -> Mapping[str, NDArray]:  # type: ignore[type-arg]
    """Return a run's learning curves.

    Raises
    ------
    RowError
        They are damaged.
    """
    import numpy as np

    with _named(f"learning curves of run {key}"), np.load(io.BytesIO(blob), allow_pickle=False) as curves:
        return {name: curves[name] for name in curves.files}


@contextmanager
def _named(row: str) -> Iterator[None]:
    """Turn what reading a row can raise into a `RowError` that names the row."""
    try:
        yield
    except (ValueError, TypeError, KeyError, OverflowError, EOFError, zipfile.BadZipFile) as error:
        wrong = f"expected JSON text ({error})" if isinstance(error, json.JSONDecodeError) else str(error)
        raise RowError(row, wrong.removesuffix(".")) from error


def _parameters(text: str) -> Parameters:
    return tuple((name, _scalar(name, value)) for name, value in sorted(_mapping(text).items()))


def _scalar(name: str, value: object) -> Scalar:
    if isinstance(value, list) and all(isinstance(item, int | float) for item in value):
        return tuple(value)
    if value is None or isinstance(value, str | int | float):
        return value
    raise ValueError(f"expected {name} to be a number, text or a list of numbers, got {value!r}")


def _names(text: str) -> tuple[str, ...]:
    names = json.loads(text)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"expected a list of names, got {text}")
    return tuple(names)


def _mapping(text: str) -> dict[str, Any]:
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError(f"expected a mapping of names to values, got {text}")
    return found


def _finite(name: str, value: Any) -> Any:
    """Return a number, or None where there is none."""
    if value is not None and not (isinstance(value, int | float) and math.isfinite(value)):
        raise ValueError(f"expected {name} to be a finite number, got {value!r}")
    return value
