"""Rows of the results database: cells, results, learning curves."""

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

CELL_COLUMNS = ("problem", "data_sha256", "method", "parameters", "classifier", "algorithms")
"""Columns that identify a cell."""

RUN_COLUMNS = ("key", "cell", "repeat", "seed", "status", "error", "measures", "provenance")
"""Columns of a run; a column for each of `QUANTITIES` follows."""

_FOREIGN_VERSION = re.compile(r"(\S+ )?[0-9a-f]{12}|unknown")
"""Versions of third-party methods (`methods.lookup.version_of`)."""

CellRow = tuple[Cell, tuple[str, ...]]
"""A cell, and the names of its settings that are not a config's defaults."""


@contextmanager
def reading(row: str) -> Iterator[None]:
    """Raise StoreError with the row's name and a remedy if its content was not written by `Store`."""
    try:
        yield
    except (ValueError, TypeError, KeyError, OverflowError, EOFError, zipfile.BadZipFile) as error:
        wrong = f"expected JSON text ({error})" if isinstance(error, json.JSONDecodeError) else str(error)
        raise StoreError(
            f"{row}: {wrong.removesuffix('.')}. The row was damaged or edited: `pppca doctor --mend` removes it, and"
            " the next `pppca run` computes it again."
        ) from error


def to_json(values: object) -> str:
    """Return JSON text with sorted keys."""
    return json.dumps(values, sort_keys=True)


def cell_row(cell: Cell) -> tuple[str, ...]:
    """Return the values of `CELL_COLUMNS`."""
    settings = (to_json(dict(part)) for part in (cell.parameters, cell.classifier, cell.algorithms))
    return (cell.problem, cell.data_sha256, cell.method, *settings)


def read_cell(row: Sequence[str]) -> CellRow:
    """Return the cell of a row of `CELL_COLUMNS` and ``changed``; raise ValueError for other content."""
    problem, data_sha256, method, *settings, changed = row
    parameters, classifier, algorithms = map(_parameters, settings)
    if not all(isinstance(value, int) or _FOREIGN_VERSION.fullmatch(str(value)) for _, value in algorithms):
        raise ValueError(f"expected whole numbers, or digests of third-party code, as versions, got {settings[2]}")
    names = json.loads(changed)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"expected a list of names, got {changed}")
    return Cell(problem, data_sha256, method, parameters, classifier, algorithms), tuple(names)  # type: ignore[arg-type]


def read_run(
    row: Sequence[Any], quantities: Sequence[str], cells: Mapping[int, CellRow], origins: Mapping[int, str]
) -> StoredRun:
    """Return the record of a row: `RUN_COLUMNS`, then numbers named by ``quantities``, nan where the run has none.

    Raises
    ------
    ValueError
        A value is outside its range or not finite, or the row of a done run has no number.
    """
    key, number, repeat, seed, status, error, measures, provenance, *numbers = row
    if number not in cells:
        raise ValueError(f"expected one of the stored cells, got number {number!r}")
    if repeat < 0 or seed < 0:
        raise ValueError(f"expected a repeat and a seed of at least 0, got {repeat} and {seed}")
    cell, changed = cells[number]
    spec = RunSpec(key, cell, repeat, seed, changed)
    if status == "planned":
        return spec, None
    known = {name: value for name, value in zip(quantities, numbers, strict=True) if not math.isnan(value)}
    if status == "done" and not known and not isinstance(measures, str):
        raise ValueError("expected numbers, since it is done, got none")
    values = read_measures(measures)
    for name, value in (known | values).items():
        if not (isinstance(value, int | float) and math.isfinite(value)):
            raise ValueError(f"expected {name} to be a finite number, got {value!r}")
    values = {name: int(value) if QUANTITIES[name].is_count else value for name, value in known.items()} | values
    cause = error if isinstance(error, str) else None
    return spec, RunResult(key, status, cause, values, origin=origins.get(provenance, ""))


def read_measures(text: object) -> dict[str, float]:
    """Return the numbers of a run that have no column of their own, none for missing text."""
    return _mapping(text) if isinstance(text, str) and text != "{}" else {}


def pack(history: Mapping[str, NDArray]) -> bytes:  # type: ignore[type-arg]
    """Return learning curves as a compressed NumPy archive of float32.

    Choice: the lightest compression, which takes a third of NumPy's time and yields no more bytes for such numbers.
    """
    import numpy as np

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, curve in history.items():
            with archive.open(f"{name}.npy", "w") as file:
                np.lib.format.write_array(file, np.asarray(curve, np.float32), allow_pickle=False)
    return buffer.getvalue()


def unpack(blob: bytes) -> dict[str, NDArray]:  # type: ignore[type-arg]
    """Return the learning curves of `pack`."""
    import numpy as np

    with np.load(io.BytesIO(blob), allow_pickle=False) as curves:
        return {name: curves[name] for name in curves.files}


def _parameters(text: str) -> Parameters:
    return tuple((name, _scalar(name, value)) for name, value in sorted(_mapping(text).items()))


def _scalar(name: str, value: object) -> Scalar:
    if isinstance(value, list) and all(isinstance(item, int | float) for item in value):
        return tuple(value)
    if value is None or isinstance(value, str | int | float):
        return value
    raise ValueError(f"expected {name} to be a number, text or a list of numbers, got {value!r}")


def _mapping(text: str) -> dict[str, Any]:
    values = json.loads(text)
    if not isinstance(values, dict):
        raise ValueError(f"expected a mapping of names to values, got {text}")
    return values
