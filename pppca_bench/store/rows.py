"""Rows of the results database to records and back; a row that no run can have written is refused by its name."""

from __future__ import annotations

import io
import json
import math
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pppca_bench.errors import StoreError
from pppca_bench.runs import QUANTITIES, Cell, Parameters, RunResult, RunSpec, Scalar, StoredRun

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FOREIGN_VERSION = re.compile(r"(\S+ )?[0-9a-f]{12}|unknown")
"""How the versions of methods from elsewhere look (`methods.foreign.version_of`)."""

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


def read_run(
    row: Sequence[Any],
    cells: Mapping[int, CellRow | RowError],
    origins: Mapping[int | None, str],
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
    key, number, repeat, seed, status, error, measures, origin, *numbers = row
    place = cells.get(number)
    with _named(f"run {key}"):
        if isinstance(place, RowError):
            raise place
        if place is None:
            raise ValueError(f"expected one of the stored cells, got number {number!r}")
        if repeat < 0 or seed < 0:
            raise ValueError(f"expected a repeat and a seed of at least 0, got {repeat} and {seed}")
        spec = RunSpec(key, place[0], repeat, seed, place[1])
        if status == "planned":
            return spec, None
        values = {
            name: int(value) if QUANTITIES[name].is_count else value
            for name, value in zip(quantities, map(_finite, quantities, numbers), strict=True)
            if value is not None
        }
        if status == "done" and not values and not measures:
            raise ValueError("expected numbers, since it is done, got none")
        return spec, RunResult(key, status, error, values | _measures(measures), origin=origins.get(origin, ""))


def pack(history: Mapping[str, NDArray]) -> bytes:  # type: ignore[type-arg]
    """Return learning curves as a compressed NumPy archive of float32."""
    import numpy as np

    buffer = io.BytesIO()
    curves: Any = {name: np.asarray(curve, np.float32) for name, curve in history.items()}
    np.savez_compressed(buffer, **curves)
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


def _measures(text: str | None) -> dict[str, float]:
    return {name: _finite(name, value) for name, value in _mapping(text or "{}").items()}


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
