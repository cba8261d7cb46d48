"""Networks side by side: one to a lane of a vector register, and the product of matrices of such vectors.

A lane array is float64, C-contiguous, of shape (n_rows, LANES): a row holds the same number, such as a weight, of
eight networks. No operation mixes columns, and the order of the additions within a column depends on shapes only. So a
network's result does not depend, to the last bit, on what the other columns hold.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, product
from typing import Any, Final, NamedTuple

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types

from pppca_bench.compiled.arrays import Floats2D
from pppca_bench.compiled.jit import part
from pppca_bench.compiled.operation import INT, VECTOR, WIDTH, Call, cgutils, constant, llvm_call, llvm_fma, operation

LANES: Final = WIDTH
"""Networks side by side."""

# What `multiply_matrices` does with a sum; the bits add up.
LINEAR: Final = 0
ADD: Final = 1
SOFTSIGN: Final = 2

_MULTIPLY: Final = "pppca_bench.multiply_lanes"


class LaneMatrix(NamedTuple):
    """A matrix inside a lane array: element (i, j) is the row ``start + i * down + j * across``."""

    lanes: Floats2D
    start: int
    down: int
    across: int


def _softsigns(builder: Any, xs: list[Any]) -> list[Any]:
    """Write x / (1 + |x|) of several vectors.

    A division takes as long as some twenty multiplications, so four vectors share one. A group whose divisors have a
    product above 1.8e308 (four sums of 1e77) gives 0 or nan.
    """
    results = []
    for start in range(0, len(xs), 4):
        group = xs[start : start + 4]
        divisors = [builder.fadd(constant(1.0), llvm_call(builder, "llvm.fabs", x)) for x in group]
        inverses = _reciprocals(builder, divisors)
        results += [builder.fmul(x, inverse) for x, inverse in zip(group, inverses, strict=True)]
    return results


def _reciprocals(builder: Any, numbers: list[Any]) -> list[Any]:
    """Write the reciprocals of vectors with one division: 1 / a = b / (a b), and the same for products."""
    if len(numbers) == 1:
        return [builder.fdiv(constant(1.0), numbers[0])]
    # By twos, and their products by twos again: two or three multiplications a number in the place of a division.
    evens, odds = numbers[::2], numbers[1::2]
    products = [builder.fmul(a, b) for a, b in zip(evens, odds, strict=False)] + evens[len(odds) :]
    inverses = _reciprocals(builder, products)
    pairs = [
        [builder.fmul(b, inverse), builder.fmul(a, inverse)]
        for a, b, inverse in zip(evens, odds, inverses, strict=False)
    ]
    return [*chain.from_iterable(pairs), *inverses[len(odds) :]]


class _Matrix(NamedTuple):
    """A `LaneMatrix` in LLVM's terms: the address of its first element, and the distances to the next ones."""

    first: Any
    down: Any
    across: Any

    def address(self, builder: Any, i: Any, j: Any) -> Any:
        """Return the address of element (i, j)."""
        return builder.gep(self.first, [builder.add(builder.mul(i, self.down), builder.mul(j, self.across))])

    def load(self, builder: Any, i: Any, j: Any) -> Any:
        """Load element (i, j)."""
        return builder.load(self.address(builder, i, j), align=8)


def _write_tile(builder: Any, matrices: list[_Matrix], rows: list[Any], columns: list[Any], n: Any, mode: Any) -> None:
    """Write the code of one tile of C: its sums live in stack slots, which LLVM turns into vector registers."""
    C, A, B = matrices
    sums = {(i, j): cgutils.alloca_once(builder, VECTOR) for i in rows for j in columns}
    for total in sums.values():
        builder.store(constant(0.0), total)
    # C = 0 + …, or what C holds + …
    with builder.if_then(builder.icmp_signed("!=", builder.and_(mode, INT(ADD)), INT(0))):
        for (i, j), total in sums.items():
            builder.store(C.load(builder, i, j), total)
    # Column k of A times column k of B: each number loaded serves a whole row or column of the tile.
    with cgutils.for_range(builder, n) as loop:
        a = {i: A.load(builder, i, loop.index) for i in rows}
        b = {j: B.load(builder, j, loop.index) for j in columns}
        for (i, j), total in sums.items():
            builder.store(llvm_fma(builder, a[i], b[j], builder.load(total)), total)
    with builder.if_then(builder.icmp_signed("!=", builder.and_(mode, INT(SOFTSIGN)), INT(0))):
        results = _softsigns(builder, [builder.load(total) for total in sums.values()])
        for total, result in zip(sums.values(), results, strict=True):
            builder.store(result, total)
    for (i, j), total in sums.items():
        builder.store(builder.load(total), C.address(builder, i, j), align=8)


@contextmanager
def _strips(builder: Any, length: Any, size: int) -> Iterator[list[Any]]:
    """Write a loop that cuts a length into fours, then a two, then a one; this one takes those of ``size``."""
    # What the larger sizes took: a multiple of four before the two, of two before the one.
    rest = builder.and_(length, INT(-2 * size)) if size < 4 else INT(0)
    count = builder.udiv(builder.sub(length, rest), INT(size))
    with cgutils.for_range(builder, count) as loop:
        start = builder.add(rest, builder.mul(loop.index, INT(size)))
        yield [builder.add(start, INT(offset)) for offset in range(size)]


def _multiply_function(module: Any) -> Any:
    """Return LLVM's function for `multiply_matrices`, written at the first use in a module.

    It is kept out of its callers: to have it in each of them costs more in compilation than the calls take.
    """
    arguments = [VECTOR.as_pointer(), INT, INT] * 3 + [INT] * 4
    function = cgutils.get_or_insert_function(module, ir.FunctionType(ir.VoidType(), arguments), _MULTIPLY)
    if function.is_declaration:
        function.linkage = "linkonce_odr"
        function.attributes.add("noinline")
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        matrices = [_Matrix(*function.args[k : k + 3]) for k in (0, 3, 6)]
        height, width, n, mode = function.args[9:]
        # Sixteen sums in registers at once, and the remainders of height and width by two and one.
        for rows_at_once, columns_at_once in product((4, 2, 1), repeat=2):
            with (
                _strips(builder, height, rows_at_once) as rows,
                _strips(builder, width, columns_at_once) as columns,
            ):
                _write_tile(builder, matrices, rows, columns, n, mode)
        builder.ret_void()
    return function


def _emit_multiply(call: Call) -> None:
    b, matrices = call.builder, []
    for place, matrix_type in enumerate(call.types[:3]):
        lanes, start, down, across = (b.extract_value(call.args[place], k) for k in range(4))
        # From the lane array, the start and the strides to an address and strides, counted in vectors.
        data = call._replace(types=matrix_type.types, args=[lanes]).data(0)
        matrices += [b.gep(b.bitcast(data, VECTOR.as_pointer()), [start]), down, across]
    b.call(_multiply_function(b.module), matrices + [call.integer(k) for k in range(3, 7)])


@operation(_emit_multiply, types.void)
def _multiply(C: LaneMatrix, A: LaneMatrix, B: LaneMatrix, height: int, width: int, n: int, mode: int) -> None:
    for i, j in product(range(height), range(width)):
        target = C.start + i * C.down + j * C.across
        total = C.lanes[target] if mode & ADD else np.zeros(LANES)
        for k in range(n):
            a = A.lanes[A.start + i * A.down + k * A.across]
            total = total + a * B.lanes[B.start + j * B.down + k * B.across]
        C.lanes[target] = total / (1.0 + abs(total)) if mode & SOFTSIGN else total


@part
def multiply_matrices(C: LaneMatrix, A: LaneMatrix, B: LaneMatrix, height: int, width: int, n: int, mode: int) -> None:
    """Compute C = A Bᵀ lane by lane, in place.

    Each element is summed over k = 0 .. n - 1 in this order, whatever tile it falls in.

    Parameters
    ----------
    C, A, B : LaneMatrix
        height x width, height x n and width x n; no element of C may be one of A or B.
    height, width, n : int
        Numbers of elements, >= 0.
    mode : int
        LINEAR; ADD keeps what C holds and adds to it; SOFTSIGN stores x / (1 + |x|) of each sum x; or ADD | SOFTSIGN.
    """
    _multiply(C, A, B, height, width, n, mode)
