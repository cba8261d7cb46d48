"""Content of the results database: cells, numbers, learning curves."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pppca_bench.runs import Cell, Curves, Label

if TYPE_CHECKING:
    import pandas as pd  # imported by the functions that need it: planning and recording do without

CELL_COLUMNS = ("problem", "data_sha256", "method", "settings", "algorithms")
"""Columns that identify a cell; ``settings`` are nested, see `cell_row`."""

RUN_COLUMNS = ("key", "cell", "repeat", "seed", "status", "error", "choice", "origin", "configs")
"""Columns of every run: the number of its cell, its choice of settings, its provenance, and the names of the configs
that ask for it, separated by line feeds, among them. No quantity can have these names."""

STATUSES = PLANNED, DONE, FAILED = ("planned", "done", "failed")


CURVES = TRAINING, VALIDATION, TEST = ("training_curve", "validation_curve", "test_curve")
"""Names of the stored errors of a network during its training (``curve: true``)."""


def to_json(values: object) -> str:
    """Return JSON text with sorted keys."""
    return json.dumps(values, sort_keys=True)


def cell_row(cell: Cell) -> tuple[str, ...]:
    """Return the row of `CELL_COLUMNS` of a cell."""
    settings = {
        "parameters": cell.parameters,
        "classifier": cell.classifier,
        "choose": cell.choose,
        "predictions": cell.predictions,
    }
    if cell.curve:
        settings["curve"] = True
    identity = (cell.problem, cell.data_sha256, cell.method)
    return (*identity, to_json(settings), to_json(dict(cell.algorithms)))


def read_cell(row: Sequence[str]) -> Cell:
    """Return the cell of a row of `CELL_COLUMNS`; raise ValueError or TypeError for other content."""
    problem, data_sha256, method, *texts = row
    settings, versions = (dict(json.loads(text)) for text in texts)
    predictions, curve = settings.pop("predictions", False), settings.pop("curve", False)
    sections = {name: _with_tuples(dict(section)) for name, section in settings.items()}
    algorithms = tuple(sorted(versions.items()))
    return Cell(
        problem,
        data_sha256,
        method,
        algorithms=algorithms,
        predictions=predictions,
        curve=curve,
        **sections,
    )


def read_label(text: str) -> Label:
    """Return a label from its JSON text; raise ValueError or TypeError for other content."""
    title, settings = json.loads(text)
    return Label(title, tuple(_with_tuples(dict(settings)).items()))


def _with_tuples(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested settings with tuples in place of JSON's lists."""
    read = dict[str, Any]()
    for name, value in settings.items():
        if isinstance(value, dict):
            read[name] = _with_tuples(value)
        else:
            read[name] = tuple(value) if isinstance(value, list) else value
    return read


def pack(history: Curves) -> bytes:
    """Return learning curves as a compressed NumPy archive of float32; `CURVES` keep every digit, for criteria.

    Choice: compression level 1, which takes a third of the time of NumPy's level, for archives of the same size.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, curve in history.items():
            with archive.open(f"{name}.npy", "w") as file:
                kind = np.float64 if name in CURVES else np.float32
                np.lib.format.write_array(file, np.asarray(curve, kind), allow_pickle=False)
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


def read_numbers(texts: Sequence[str]) -> pd.DataFrame:
    """Return the numbers of runs, each the JSON text of a mapping, as a float64 column for each name.

    A run without a number of that name has nan. Raise ValueError or TypeError for any other content.
    """
    import pandas as pd

    # Many texts at once are parsed in three quarters of the time.
    runs = json.loads(f"[{','.join(texts)}]")
    if len(runs) != len(texts) or not all(isinstance(run, dict) for run in runs):
        raise ValueError("expected a mapping for each run")
    return pd.DataFrame(runs, dtype="float64")
