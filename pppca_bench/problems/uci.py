"""Packaged UCI data sets: registry, files and digests."""

import csv
import hashlib
from functools import cache
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from pppca_bench.errors import DataError
from pppca_bench.problems.proben1 import packaged_file


class UciInfo(NamedTuple):
    """Registry entry of a UCI data set: name, sizes, and digest of the compressed file."""

    name: str
    n_rows: int
    n_inputs: int
    n_classes: int
    sha256: str


@cache
def uci_sets() -> dict[str, UciInfo]:
    """Return the packaged UCI data sets by name."""
    text = resources.files(__package__).joinpath("uci.csv").read_text(encoding="ascii")
    rows = list(csv.reader(text.splitlines()))[1:]
    return {name: UciInfo._make((name, *map(int, sizes), sha256)) for name, *sizes, sha256 in rows}


def find_uci(info: UciInfo) -> Path:
    """Return the CSV file of a UCI data set; raise DataError if it is missing or differs from the registered file."""
    path = packaged_file(f"uci/{info.name}.csv.xz")
    try:
        got = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        got = str(error.strerror)
    if got != info.sha256:
        raise DataError(
            f"{path}: expected SHA-256 {info.sha256}, got {got}. Install pppca-bench again."
        )
    return path
