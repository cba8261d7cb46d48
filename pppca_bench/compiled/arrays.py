"""Array types of kernels, and arrays aligned for vector registers.

All arrays of a kernel are C-contiguous. `compiled.jit` derives Numba's types from the annotated types below: dtype,
number of dimensions, "readonly".
"""

import math
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

Floats1D = Annotated[Floats, 1]
Floats2D = Annotated[Floats, 2]
Floats3D = Annotated[Floats, 3]
Indices1D = Annotated[Indices, 1]
Indices2D = Annotated[Indices, 2]
Indices3D = Annotated[Indices, 3]
Flags1D = Annotated[Flags, 1]

Samples2D = Annotated[Floats, 2, "readonly"]
"""Samples as rows. Kernels only read them, so they may be a read-only memory map."""

_CACHE_LINE = 64


def aligned_zeros(*shape: int) -> Floats:
    """Return float64 zeros that start at a cache line.

    If the last dimension is a multiple of eight, no vector of eight numbers crosses two cache lines, which would need
    two loads.
    """
    size = math.prod(shape)
    buffer = np.zeros(size + _CACHE_LINE // 8)
    address = buffer.__array_interface__["data"][0]
    offset = -address // 8 % (_CACHE_LINE // 8)
    return buffer[offset : offset + size].reshape(shape)
