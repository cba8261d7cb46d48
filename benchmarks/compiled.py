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
"""Compiled peers of this processor, and what the measured commands write."""
FLAGS = ("-O3", f"-march={processor.architecture()}", "-ffast-math", "-fPIC", "-c")


@cache
def load_c(name: str) -> ctypes.CDLL:
    """Compile ``name``.c by gcc, where it is newer than its library, and load it."""
    source, target = HERE / f"{name}.c", BUILD / f"{name}.so"
    if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
        BUILD.mkdir(parents=True, exist_ok=True)
        part = target.with_suffix(".o")
        subprocess.run(["gcc", *FLAGS, "-o", str(part), str(source)], check=True)
        # Linked without -ffast-math, which would set the whole process to flush subnormal numbers to zero.
        subprocess.run(["gcc", "-shared", "-o", str(target), str(part), "-lm"], check=True)
    return ctypes.CDLL(str(target))


def address(array: NDArray[Any]) -> ctypes.c_void_p:
    """Return the address of a C-contiguous array's data."""
    return ctypes.c_void_p(array.ctypes.data)
