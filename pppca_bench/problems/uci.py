"""Packaged UCI data sets: registry, files and digests."""

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pppca_bench.errors import DataError
from pppca_bench.problems.proben1 import packaged_file
from pppca_bench.problems.problem import read_registry


class UciInfo(NamedTuple):
    """Registry entry of a UCI data set: name, sizes, and digest of the compressed file."""

    name: str
    n_rows: int
    n_inputs: int
    n_classes: int
    sha256: str


@cache
def uci_sets() -> Mapping[str, UciInfo]:
    """Return the packaged UCI data sets by name."""
    return read_registry("uci.csv", UciInfo)


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
