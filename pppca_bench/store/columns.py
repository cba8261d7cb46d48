"""Rows of the results database: cells, learning curves, runs as records."""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pppca_bench.quantities import QUANTITIES
from pppca_bench.runs import Cell, Curves, Names, Parameters, RunResult, RunSpec, StoredRun

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


def pack(history: Curves) -> bytes:
    """Return learning curves as a compressed NumPy archive of float32.

    Choice: compression level 1, which takes a third of the time of NumPy's level, for archives of the same size.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, curve in history.items():
            with archive.open(f"{name}.npy", "w") as file:
                np.lib.format.write_array(file, np.asarray(curve, np.float32), allow_pickle=False)
    return buffer.getvalue()


def unpack(blob: bytes) -> Curves:
    """Return the learning curves of `pack`; raise ValueError for any other content."""
    try:
        with np.load(io.BytesIO(blob), allow_pickle=False) as curves:
            return {name: curves[name] for name in curves.files}
    except Exception as error:
        # the decoders of zip, deflate and NumPy raise a dozen kinds for damaged bytes
        raise ValueError(
            f"expected learning curves, got {type(error).__name__}: {error}"
        ) from error


def read_runs(frame: pd.DataFrame, cells: Mapping[int, CellRow]) -> list[StoredRun]:
    """Return rows of `RUN_COLUMNS` and quantities (nan where a run has none) as runs and their results.

    The rows refer to their cells by number.
    """
    quantities = [name for name in QUANTITIES if name in frame]
    runs = list[StoredRun]()
    for row in frame.to_dict("records"):
        cell, changed = cells[row["cell"]]
        result = None
        if row["status"] != PLANNED:
            values = {
                name: int(row[name]) if QUANTITIES[name].is_count else row[name]
                for name in quantities
                if not math.isnan(row[name])
            }
            values |= read_measures(row["measures"])
            error, origin = (
                row[name] if isinstance(row[name], str) else None for name in ("error", "origin")
            )
            result = RunResult(row["key"], row["status"], error, values, origin=origin or "")
        runs.append((RunSpec(row["key"], cell, row["repeat"], row["seed"], changed), result))
    return runs


def read_measures(text: object) -> dict[str, float]:
    """Return the numbers of a run without a column of their own, from their JSON text if there is any."""
    return dict(json.loads(text)) if isinstance(text, str) and text != "{}" else {}
