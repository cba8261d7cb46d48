"""Owns lane arrays and the product of matrices whose elements are lanes: a number for each of the nets.

A lane array has shape (n_rows, LANES), float64, C-contiguous. Column l belongs to net l alone: no operation mixes
columns, and the order of the additions within a column depends on shapes only. So a net's result does not depend,
to the last bit, on what the other columns hold.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pppca_bench.classifier._lane_instructions import LANES, multiply_tile


class LaneMatrix(NamedTuple):
    """Describe a matrix inside a lane array: element (i, j) is the row ``start + i * down + j * across``."""

    lanes: NDArray[np.float64]
    start: int
    down: int
    across: int


@njit(cache=True)
def lane_matrix(lanes: NDArray[np.float64], start: int, down: int, across: int) -> LaneMatrix:
    """Make a `LaneMatrix` whose type does not depend on constants among the arguments.

    Numba would compile each of its users anew for every such constant.
    """
    return LaneMatrix(lanes, start, down, across)


def lane_zeros(n_rows: int) -> NDArray[np.float64]:
    """Allocate a lane array of zeros, float64 (n_rows, LANES), that starts on a cache line.

    A vector of eight float64 that crosses two cache lines would take two loads.
    """
    buffer = np.zeros(n_rows * LANES + 8)
    offset = -buffer.ctypes.data // 8 % 8
    return buffer[offset : offset + n_rows * LANES].reshape(n_rows, LANES)


def _strip_kernel(height: int) -> Any:
    """Make the kernel that computes ``height`` rows of C from row i on: tiles 4, 2 and 1 columns wide."""

    def multiply_strip(C: LaneMatrix, A: LaneMatrix, B: LaneMatrix, i: int, width: int, n: int, mode: int) -> None:
        for j in range(0, width - 3, 4):
            multiply_tile(height, 4, C, A, B, i, j, n, mode)
        if width % 4 >= 2:
            multiply_tile(height, 2, C, A, B, i, width // 4 * 4, n, mode)
        if width % 2:
            multiply_tile(height, 1, C, A, B, i, width - 1, n, mode)

    return njit(cache=True)(multiply_strip)


_multiply_strip_of_4 = _strip_kernel(4)
_multiply_strip_of_2 = _strip_kernel(2)
_multiply_strip_of_1 = _strip_kernel(1)


@njit(cache=True)
def multiply(C: LaneMatrix, A: LaneMatrix, B: LaneMatrix, height: int, width: int, n: int, mode: int) -> None:
    """Compute C = A Bᵀ, C = softsign(A Bᵀ) or C = C + A Bᵀ lane by lane, in place.

    Each element is summed over k = 0 .. n - 1 in this order, whatever tile it falls in.

    Parameters
    ----------
    C, A, B : LaneMatrix
        height x width, height x n and width x n; C may not overlap A or B.
    height, width, n : int
        Numbers of elements, >= 0.
    mode : int
        LINEAR, SOFTSIGN, x / (1 + |x|), or ADD.
    """
    for i in range(0, height - 3, 4):
        _multiply_strip_of_4(C, A, B, i, width, n, mode)
    if height % 4 >= 2:
        _multiply_strip_of_2(C, A, B, height // 4 * 4, width, n, mode)
    if height % 2:
        _multiply_strip_of_1(C, A, B, height - 1, width, n, mode)
