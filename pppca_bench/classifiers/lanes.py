"""Lane arrays: eight networks side by side, each in its own lane of the vector registers; their matrix products.

A lane array is float64, C-contiguous, of shape (n_rows, LANES): a row contains a quantity, such as a weight, of each of
the eight networks. No operation mixes columns, and the order of additions within a column depends on shapes only.
Therefore the result of a network does not depend on the other columns, to the last bit.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, product
from typing import Any, Final, NamedTuple

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types

from pppca_bench.compiled.arrays import Floats2D
from pppca_bench.compiled.jit import subroutine
from pppca_bench.compiled.operation import (
    INT,
    REGISTERS,
    WIDTH,
    Call,
    cgutils,
    constant,
    llvm_call,
    llvm_fma,
    operation,
)

LANES: Final = WIDTH
"""Number of networks that are computed side by side."""

# Modes of a product C = A Bᵀ, combined bitwise; 4, 8 and 32 are activations in `passes`.
LINEAR: Final = 0
ADD: Final = 1
SOFTSIGN: Final = 2
SLOPE: Final = 16

_MULTIPLY: Final = "pppca_bench.multiply_lanes"


class LaneMatrix(NamedTuple):
    """A matrix inside a lane array: element (i, j) is the row ``start + i * down + j * across``."""

    lanes: Floats2D
    start: int
    down: int
    across: int


def write_softsigns(builder: Any, xs: list[Any]) -> list[Any]:
    """Write x / (1 + |x|) of several vectors.

    A division takes as long as twenty multiplications, so four vectors share it. If the product of the divisors
    overflows (four sums of 1e77), the results are 0 or nan.
    """
    results = []
    for start in range(0, len(xs), 4):
        group = xs[start : start + 4]
        divisors = [
            builder.fadd(constant(1.0, x.type), llvm_call(builder, "llvm.fabs", x)) for x in group
        ]
        inverses = _reciprocals(builder, divisors)
        results += [builder.fmul(x, inverse) for x, inverse in zip(group, inverses, strict=True)]
    return results


def _reciprocals(builder: Any, numbers: list[Any]) -> list[Any]:
    """Write the reciprocals of vectors with a single division: 1 / a = b (1 / (a b)), recursively."""
    if len(numbers) == 1:
        return [builder.fdiv(constant(1.0, numbers[0].type), numbers[0])]
    # Pairs (a, b), then pairs of their products: two or three multiplications for each number replace a division.
    evens, odds = numbers[::2], numbers[1::2]
    products = [builder.fmul(a, b) for a, b in zip(evens, odds, strict=False)] + evens[len(odds) :]
    inverses = _reciprocals(builder, products)
    pairs = [
        [builder.fmul(b, inverse), builder.fmul(a, inverse)]
        for a, b, inverse in zip(evens, odds, inverses, strict=False)
    ]
    return [*chain.from_iterable(pairs), *inverses[len(odds) :]]


def write_slope(builder: Any, value: Any) -> Any:
    """Write (1 − |v|)², the slope of the softsign at the value v."""
    root = builder.fsub(constant(1.0, value.type), llvm_call(builder, "llvm.fabs", value))
    return builder.fmul(root, root)


class _Matrix(NamedTuple):
    """LLVM values of a `LaneMatrix`: address of the first element, and strides."""

    first: Any
    down: Any
    across: Any

    def address(self, builder: Any, i: Any, j: Any) -> Any:
        """Return the address of element (i, j)."""
        return builder.gep(
            self.first, [builder.add(builder.mul(i, self.down), builder.mul(j, self.across))]
        )

    def load(self, builder: Any, i: Any, j: Any) -> Any:
        """Load element (i, j)."""
        return builder.load(self.address(builder, i, j), align=8)


class _Kind(NamedTuple):
    """Operation on the finished sums of a tile, and tile sizes.

    ``flag``: bit of the mode. ``widths``: columns of the next tile for 1, 2, … remaining columns; the last entry serves
    all larger numbers. ``heights``: rows of the next tile in the same way, by whether the tile has fewer than four
    columns.
    """

    name: str
    flag: int
    widths: tuple[int, ...]
    heights: dict[bool, tuple[int, ...]]


def _equal_sizes(largest: int) -> tuple[int, ...]:
    """Return the size of the next tile for 1, 2, … remaining rows or columns, so that tiles are about equal."""
    return tuple(-(-n // -(-n // largest)) for n in range(1, 2 * largest))


# The sums, a factor of each row and a factor of a column fit in registers. Tiles are as equal as possible: a tile
# of a single column loads five numbers for four multiply-adds, and its four sums are too few to hide the latency of an
# addition.
_HEIGHTS, _WIDTHS = map(_equal_sizes, (4, 6) if REGISTERS.n_registers >= 32 else (3, 4))
# Tiles of 4, then 2, then 1, on all processors: rounding depends on the sums that share a division of the softsign,
# which are four sums of a row, or of two or four rows in a narrower tile.
_FOURS: Final = (1, 2, 2, *[4] * (len(_HEIGHTS) - 3))
_KINDS: Final = (
    _Kind("plain", 0, _WIDTHS, {True: _HEIGHTS, False: _HEIGHTS}),
    _Kind("softsign", SOFTSIGN, _FOURS, {True: _FOURS, False: _HEIGHTS}),
    _Kind("slope", SLOPE, _FOURS, {True: _FOURS, False: _HEIGHTS}),
)
_PARTS: Final = WIDTH // REGISTERS.n_numbers
_PART: Final = ir.VectorType(ir.DoubleType(), REGISTERS.n_numbers)
"""Number of registers for a vector of eight numbers, and LLVM type of a register."""

LONGEST_SUM: Final = 64 if _PARTS > 1 else 1 << 20
"""Largest number of terms of a sum in a call: a tile reads factors again for each part of the lanes, and the factors
of 64 terms stay in the first-level cache. Further terms follow with ADD."""


def _tile_function(module: Any, kind: _Kind, height: int, width: int) -> Any:
    """Return the LLVM function that computes a tile of C: its sums are in stack slots, which become vector registers.

    Each size has its own function, so that the addresses of a tile fit into the integer registers. The function is
    optimised for size, so that LLVM does not unroll the loop over k: most sums are short. If a vector of eight numbers
    fills several registers, the tile is computed separately for each part of the lanes.
    """
    types_of_arguments = [_PART.as_pointer(), INT, INT] * 3 + [_PART.as_pointer(), INT, INT]
    function_type = ir.FunctionType(ir.VoidType(), types_of_arguments)
    function = ir.Function(module, function_type, f"{_MULTIPLY}.{kind.name}_{height}x{width}")
    function.linkage = "linkonce_odr"
    function.attributes.add("noinline")
    function.attributes.add("optsize")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    values, n, mode = function.args[9:]
    with cgutils.for_range(builder, INT(_PARTS)) as part:
        C, A, B = (
            _Matrix(builder.gep(first, [part.index]), *strides)
            for first, *strides in (function.args[k : k + 3] for k in (0, 3, 6))
        )
        V = C._replace(first=builder.gep(values, [part.index]))
        _write_tile(builder, kind, (height, width), (C, A, B, V), n, mode)
    builder.ret_void()
    return function


def _write_tile(
    builder: Any,
    kind: _Kind,
    size: tuple[int, int],
    matrices: tuple[_Matrix, ...],
    n: Any,
    mode: Any,
) -> None:
    """Write the sums of a tile for a part of the lanes, and the operation on the finished sums."""
    C, A, B, V = matrices
    rows, columns = ([INT(k) for k in range(length)] for length in size)
    sums = {
        (i, j): cgutils.alloca_once(builder, _PART) for i in range(size[0]) for j in range(size[1])
    }
    for total in sums.values():
        builder.store(constant(0.0, _PART), total)
    # c_ij ← 0, or the old C_ij with ADD.
    with builder.if_then(builder.icmp_signed("!=", builder.and_(mode, INT(ADD)), INT(0))):
        for (i, j), total in sums.items():
            builder.store(C.load(builder, rows[i], columns[j]), total)
    # c_ij += A_ik B_jk: each number loaded serves a whole row or column of the tile.
    with cgutils.for_range(builder, n) as loop:
        a = [A.load(builder, row, loop.index) for row in rows]
        for j, column in enumerate(columns):
            b = B.load(builder, column, loop.index)
            for i, factor in enumerate(a):
                builder.store(llvm_fma(builder, factor, b, builder.load(sums[i, j])), sums[i, j])
    results = [builder.load(total) for total in sums.values()]
    # C_ij ← c_ij, or c_ij / (1 + |c_ij|), or c_ij (1 − |V_ij|)².
    if kind.flag == SOFTSIGN:
        results = write_softsigns(builder, results)
    if kind.flag == SLOPE:
        slopes = [write_slope(builder, V.load(builder, rows[i], columns[j])) for i, j in sums]
        results = [builder.fmul(total, slope) for total, slope in zip(results, slopes, strict=True)]
    for (i, j), result in zip(sums, results, strict=True):
        builder.store(result, C.address(builder, rows[i], columns[j]), align=8)


def _packed(sizes: tuple[int, ...]) -> Any:
    """Return a table of sizes as an integer of four bits per size; entry 0 is never read."""
    return INT(sum(size << 4 * k for k, size in enumerate(sizes, 1)))


@contextmanager
def _strips(builder: Any, length: Any, table: Any, n_sizes: int) -> Iterator[tuple[Any, Any]]:
    """Write a loop over successive strips of rows or columns; its body gets start and size of a strip.

    ``table``, of `_packed`, has the size of the next strip if 1, 2, …, n_sizes rows or columns are left; its last entry
    also serves more of them.
    """
    end_of_last = cgutils.alloca_once(builder, INT)
    builder.store(INT(0), end_of_last)
    head, body, end = (
        builder.append_basic_block(f"strips_{name}") for name in ("head", "body", "end")
    )
    builder.branch(head)
    builder.position_at_end(head)
    start = builder.load(end_of_last)
    rest = builder.sub(length, start)
    builder.cbranch(builder.icmp_signed(">", rest, INT(0)), body, end)
    builder.position_at_end(body)
    entry = builder.select(builder.icmp_signed("<", rest, INT(n_sizes)), rest, INT(n_sizes))
    # four bits at 4 entry
    size = builder.and_(builder.lshr(table, builder.shl(entry, INT(2))), INT(15))
    yield start, size
    builder.store(builder.add(start, size), end_of_last)
    builder.branch(head)
    builder.position_at_end(end)


def _write_tiles(builder: Any, kind: _Kind, matrices: list[_Matrix], rest: Sequence[Any]) -> None:
    """Write the loops over the tiles of C, by columns of tiles, and the call of the function of each tile.

    A column of tiles reads its factors of B repeatedly, from the first-level cache.
    """
    C, A, B = matrices
    values, height, width, n, mode = rest
    with _strips(builder, width, _packed(kind.widths), len(kind.widths)) as (j, n_columns):
        narrow = builder.icmp_signed("<", n_columns, INT(4))
        heights = builder.select(
            narrow, *(_packed(kind.heights[is_narrow]) for is_narrow in (True, False))
        )
        with _strips(builder, height, heights, len(_HEIGHTS)) as (i, n_rows):
            arguments = [
                *C._replace(first=C.address(builder, i, j)),
                *A._replace(first=A.address(builder, i, INT(0))),
                *B._replace(first=B.address(builder, j, INT(0))),
                C._replace(first=values).address(builder, i, j),
                n,
                mode,
            ]
            end = builder.append_basic_block("tile_end")
            # Rows and columns are below eight, so 8 · rows + columns identifies a tile.
            chosen = builder.switch(builder.add(builder.shl(n_rows, INT(3)), n_columns), end)
            for n_wide in sorted({*kind.widths}):
                for n_high in sorted({*kind.heights[n_wide < 4]}):
                    block = builder.append_basic_block("tile")
                    chosen.add_case(INT(8 * n_high + n_wide), block)
                    builder.position_at_end(block)
                    builder.call(_tile_function(builder.module, kind, n_high, n_wide), arguments)
                    builder.branch(end)
            builder.position_at_end(end)


def _multiply_function(module: Any) -> Any:
    """Return the LLVM function for `multiply_matrices`, written on the first use in a module.

    The function is not inlined: compilation in each caller would cost more than the calls.
    """
    pointer = _PART.as_pointer()
    arguments = [pointer, INT, INT] * 3 + [pointer] + [INT] * 4
    function = cgutils.get_or_insert_function(
        module, ir.FunctionType(ir.VoidType(), arguments), _MULTIPLY
    )
    if function.is_declaration:
        function.linkage = "linkonce_odr"
        function.attributes.add("noinline")
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        matrices = [_Matrix(*function.args[k : k + 3]) for k in (0, 3, 6)]
        flags = builder.and_(function.args[-1], INT(SOFTSIGN | SLOPE))
        for kind in _KINDS:
            with builder.if_then(builder.icmp_signed("==", flags, INT(kind.flag))):
                _write_tiles(builder, kind, matrices, function.args[9:])
        builder.ret_void()
    return function


def _emit_multiply(call: Call) -> None:
    b, matrices = call.builder, []
    for position, matrix_type in enumerate(call.types[:3]):
        lanes, start, down, across = (b.extract_value(call.args[position], k) for k in range(4))
        # Address of element (0, 0) and strides, counted in registers.
        data = call._replace(types=matrix_type.types, args=[lanes]).data(0)
        start, down, across = (b.mul(distance, INT(_PARTS)) for distance in (start, down, across))
        matrices += [b.gep(b.bitcast(data, _PART.as_pointer()), [start]), down, across]
    start = b.mul(b.extract_value(call.args[0], 1), INT(_PARTS))
    values = b.gep(b.bitcast(call.data(3), _PART.as_pointer()), [start])
    b.call(
        _multiply_function(b.module), [*matrices, values, *(call.integer(k) for k in range(4, 8))]
    )


@operation(_emit_multiply, types.void)
def _multiply(
    C: LaneMatrix,
    A: LaneMatrix,
    B: LaneMatrix,
    values: Floats2D,
    height: int,
    width: int,
    n: int,
    mode: int,
) -> None:
    """Set C to A Bᵀ, or C + A Bᵀ with ADD; then apply the softsign, or multiply by its slope at ``values``."""
    for i, j in product(range(height), range(width)):
        target = C.start + i * C.down + j * C.across
        total = C.lanes[target] if mode & ADD else np.zeros(LANES)
        for k in range(n):
            a = A.lanes[A.start + i * A.down + k * A.across]
            total = total + a * B.lanes[B.start + j * B.down + k * B.across]
        if mode & SLOPE:
            total = total * (1.0 - abs(values[target])) ** 2
        C.lanes[target] = total / (1.0 + abs(total)) if mode & SOFTSIGN else total


@subroutine
def multiply_matrices(
    C: LaneMatrix, A: LaneMatrix, B: LaneMatrix, height: int, width: int, n: int, mode: int
) -> None:
    """Compute C = A Bᵀ lane by lane, in place.

    Each element is summed over k = 0 .. n - 1 in this order, whatever its tile.

    Parameters
    ----------
    C, A, B : LaneMatrix
        height x width, height x n and width x n; C shares no elements with A and B.
    height, width, n : int
        Numbers of elements, >= 0.
    mode : int
        LINEAR; ADD adds to the old C; SOFTSIGN stores x / (1 + |x|) of each sum x; or ADD | SOFTSIGN.
    """
    _multiply(C, A, B, C.lanes, height, width, n, mode)


@subroutine
def multiply_by_slopes(
    C: LaneMatrix,
    A: LaneMatrix,
    B: LaneMatrix,
    values: Floats2D,
    height: int,
    width: int,
    n: int,
    mode: int,
) -> None:
    """Compute C = A Bᵀ as `multiply_matrices` does, then multiply each sum by the softsign's slope (1 − |v|)².

    ``values``, of the shape of C.lanes, contains the value v of each unit in the row of the unit's sum; ``mode`` is
    LINEAR or ADD.
    """
    _multiply(C, A, B, values, height, width, n, mode | SLOPE)
