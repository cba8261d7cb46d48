"""Names for the types of arrays, and arrays laid out for vector registers.

Every array of a kernel is C-contiguous. The names that end in a number of dimensions are what kernels are compiled
for: `compiled.jit` reads the dtype, the number of dimensions and "readonly" from them.
"""

import math
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

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
"""Samples as rows, which no kernel changes: a memory map opened for reading will do."""

_CACHE_LINE = 64


def aligned_zeros(*shape: int) -> Floats:
    """Allocate float64 zeros that start at a cache line.

    Vectors of eight numbers then lie in one line each, where the last dimension is a multiple of eight; one that
    crosses two lines would take two loads.
    """
    size = math.prod(shape)
    buffer = np.zeros(size + _CACHE_LINE // 8)
    address = buffer.__array_interface__["data"][0]
    offset = -address // 8 % (_CACHE_LINE // 8)
    return buffer[offset : offset + size].reshape(shape)
