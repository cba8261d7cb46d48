"""Owns lane arrays: float64, C-contiguous, shape (n_rows, LANES), one column for each net.

No operation mixes columns, and the order of the additions within a column depends on shapes only. So a net's
result does not depend, to the last bit, on what the other columns hold.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pppca_bench.compiled.lane_instructions import LANES


class LaneMatrix(NamedTuple):
    """Describe a matrix inside a lane array: element (i, j) is the row ``start + i * down + j * across``."""

    lanes: NDArray[np.float64]
    start: int
    down: int
    across: int


def lane_zeros(n_rows: int) -> NDArray[np.float64]:
    """Allocate a lane array of zeros, float64 (n_rows, LANES), that starts on a cache line.

    A vector of eight float64 that crosses two cache lines would take two loads.
    """
    buffer = np.zeros(n_rows * LANES + 8)
    offset = -buffer.ctypes.data // 8 % 8
    return buffer[offset : offset + n_rows * LANES].reshape(n_rows, LANES)
