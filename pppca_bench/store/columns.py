"""Rows of the results database: cells, learning curves, runs as records."""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pppca_bench.quantities import QUANTITIES
from pppca_bench.runs import Cell, Names, Parameters, RunResult, RunSpec, StoredRun

if TYPE_CHECKING:
    import pandas as pd  # imported by the functions that need it: planning and recording do without

CELL_COLUMNS = ("problem", "data_sha256", "method", "parameters", "classifier", "algorithms")
"""Columns that identify a cell."""

RUN_COLUMNS = ("key", "cell", "repeat", "seed", "status", "error", "measures", "origin")
"""Columns of a run, among them the number of its cell; a column for each of `QUANTITIES` follows."""

STATUSES = PLANNED, DONE, FAILED = ("planned", "done", "failed")

CellRow = tuple[Cell, Names]
"""A cell, and the names of its settings that are not a config's defaults."""


def to_json(values: object) -> str:
    """Return JSON text with sorted keys."""
    return json.dumps(values, sort_keys=True)


def read_cell(row: Sequence[str]) -> CellRow:
    """Return the cell of a row of `CELL_COLUMNS` and ``changed``; raise ValueError or TypeError for other content."""
    problem, data_sha256, method, parameters, classifier, versions, changed = row
    algorithms: Any = _parameters(versions)
    cell = Cell(
        problem, data_sha256, method, _parameters(parameters), _parameters(classifier), algorithms
    )
    return cell, tuple(json.loads(changed))


def _parameters(text: str) -> Parameters:
    values = dict(json.loads(text)).items()
    return tuple(
        sorted((name, tuple(value) if isinstance(value, list) else value) for name, value in values)
    )


def pack(history: Mapping[str, NDArray[Any]]) -> bytes:
    """Return learning curves as a compressed NumPy archive of float32.

    Choice: compression level 1, which takes a third of the time of NumPy's level, for archives of the same size.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, curve in history.items():
            with archive.open(f"{name}.npy", "w") as file:
                np.lib.format.write_array(file, np.asarray(curve, np.float32), allow_pickle=False)
    return buffer.getvalue()


def unpack(blob: bytes) -> dict[str, NDArray[Any]]:
    """Return the learning curves of `pack`; raise ValueError for any other content."""
    try:
        with np.load(io.BytesIO(blob), allow_pickle=False) as curves:
            return {name: curves[name] for name in curves.files}
    except Exception as error:
        # the decoders of zip, deflate and NumPy raise a dozen kinds for damaged bytes
        raise ValueError(
            f"expected learning curves, got {type(error).__name__}: {error}"
        ) from error


def records(frame: pd.DataFrame, cells: Mapping[int, CellRow]) -> list[StoredRun]:
    """Return rows of `RUN_COLUMNS` and quantities (nan where a run has none) as runs and their results.

    The rows refer to their cells by number.
    """
    quantities = [name for name in QUANTITIES if name in frame]
    runs = list[StoredRun]()
    for key, number, repeat, seed, status, error, measures, origin, *numbers in zip(
        *(frame[name].tolist() for name in (*RUN_COLUMNS, *quantities)), strict=True
    ):
        cell, changed = cells[number]
        result = None
        if status != PLANNED:
            values = {
                name: value
                for name, value in zip(quantities, numbers, strict=True)
                if not math.isnan(value)
            }
            values |= {
                name: int(value) for name, value in values.items() if QUANTITIES[name].is_count
            }
            values |= read_measures(measures)
            cause, known = (text if isinstance(text, str) else None for text in (error, origin))
            result = RunResult(key, status, cause, values, origin=known or "")
        runs.append((RunSpec(key, cell, repeat, seed, changed), result))
    return runs


def read_measures(text: object) -> dict[str, float]:
    """Return the numbers of a run without a column of their own, from their JSON text if there is any."""
    return dict(json.loads(text)) if isinstance(text, str) and text != "{}" else {}


def split_measures(values: Mapping[str, float]) -> tuple[dict[str, float], str]:
    """Return the numbers that have a column, and the other numbers as the JSON text of the column ``measures``."""
    known = {name: value for name, value in values.items() if name in QUANTITIES}
    return known, to_json({name: value for name, value in values.items() if name not in QUANTITIES})
