"""Peers in C, compiled on demand and called by ctypes."""

from __future__ import annotations

import ctypes
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from benchmarks import processor

HERE = Path(__file__).parent
BUILD = HERE.parent / "build" / "benchmarks" / processor.slug()
"""Measurements and compiled peers of this processor."""
FLAGS = ("-O3", f"-march={processor.architecture()}", "-ffast-math", "-fPIC", "-c")


class PeerMissingError(Exception):
    """A peer's compiler or library is not on this machine."""


@cache
def load_c(name: str, *libraries: str) -> ctypes.CDLL:
    """Compile ``name``.c, where it is newer than its library, and load it.

    Raises
    ------
    PeerMissingError
        The compiler or one of the libraries is missing.
    """
    source, target = HERE / f"{name}.c", BUILD / f"{name}.so"
    if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
        BUILD.mkdir(parents=True, exist_ok=True)
        part = target.with_suffix(".o")
        _gcc(*FLAGS, "-o", str(part), str(source))
        # Linked without -ffast-math, which would set the whole process to flush subnormal numbers to zero.
        _gcc("-shared", "-o", str(target), str(part), *(f"-l{library}" for library in libraries), "-lm")
    return ctypes.CDLL(str(target))


def _gcc(*arguments: str) -> None:
    try:
        subprocess.run(["gcc", *arguments], check=True, capture_output=True, text=True)
    except FileNotFoundError:
        raise PeerMissingError("gcc missing") from None
    except subprocess.CalledProcessError as error:
        raise PeerMissingError(error.stderr.strip().splitlines()[0]) from None


def address(array: NDArray[Any]) -> ctypes.c_void_p:
    """Return the address of a C-contiguous array's data."""
    return ctypes.c_void_p(array.ctypes.data)
