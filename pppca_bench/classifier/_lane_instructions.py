"""Owns the two innermost loops over lane arrays, written in LLVM's vector instructions, and their twins in Python.

Numba does not keep a tile of sums in vector registers when it is written as loops over arrays; written here, the tile
reaches some 80 % of the processor's peak. With NUMBA_DISABLE_JIT=1 the twins take over.

The callers' compiled code is cached by the callers' files: after an edit here delete ``__pycache__``.
"""

from typing import Any, Final

import numba
import numba.core.cgutils
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

cgutils: Any = numba.core.cgutils

LANES: Final = 8
"""Nets side by side: eight float64 fill one AVX-512 register; other machines split the vector."""

LINEAR: Final = 0
SOFTSIGN: Final = 1
ADD: Final = 2

COPY: Final = 0
DIFFERENCE: Final = 1
SLOPE: Final = 2
ADD_PRODUCT: Final = 3

_INT = ir.IntType(64)
_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_ZERO = ir.Constant(_VECTOR, [0.0] * LANES)
_ONE = ir.Constant(_VECTOR, [1.0] * LANES)


def _declare(builder: Any, name: str, n_arguments: int) -> Any:
    """Declare LLVM's intrinsic function for lane vectors."""
    function_type = ir.FunctionType(_VECTOR, [_VECTOR] * n_arguments)
    return cgutils.get_or_insert_function(builder.module, function_type, f"{name}.v{LANES}f64")


def _multiply_add(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """Write a b + c: rounded once on every machine that can, so never now so and then otherwise."""
    return builder.call(_declare(builder, "llvm.fmuladd", 3), [a, b, c])


def _magnitude(builder: Any, x: Any) -> Any:
    """Write |x|."""
    return builder.call(_declare(builder, "llvm.fabs", 1), [x])


def _softsign(builder: Any, x: Any) -> Any:
    """Write x / (1 + |x|)."""
    return builder.fdiv(x, builder.fadd(_ONE, _magnitude(builder, x)))


def _times_slope(builder: Any, x: Any, value: Any) -> Any:
    """Write x (1 - |value|)², x times the derivative of the softsign whose value is given."""
    slope = builder.fsub(_ONE, _magnitude(builder, value))
    return builder.fmul(x, builder.fmul(slope, slope))


def _first_row(context: Any, builder: Any, array_type: Any, array: Any) -> Any:
    """Return the address of a lane array's first row as that of a vector."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(data, _VECTOR.as_pointer())


class _Matrix:
    """Address the elements of a LaneMatrix in LLVM's terms."""

    def __init__(self, context: Any, builder: Any, matrix_type: Any, matrix: Any) -> None:
        lanes, *self.layout = cgutils.unpack_tuple(builder, matrix, 4)
        self.builder = builder
        self.base = _first_row(context, builder, matrix_type[0], lanes)

    def address(self, i: Any, j: Any) -> Any:
        """Return the address of element (i, j)."""
        start, down, across = self.layout
        builder = self.builder
        offset = builder.add(builder.add(start, builder.mul(i, down)), builder.mul(j, across))
        return builder.gep(self.base, [offset])

    def load(self, i: Any, j: Any) -> Any:
        """Load element (i, j)."""
        return self.builder.load(self.address(i, j), align=8)


class _Tile:
    """Write the code of one tile of `multiply`; its sums live in stack slots that LLVM turns into registers."""

    def __init__(self, builder: Any, C: _Matrix, rows: list[Any], columns: list[Any]) -> None:
        self.builder, self.C, self.rows, self.columns = builder, C, rows, columns
        self.sums = {(i, j): cgutils.alloca_once_value(builder, _ZERO) for i in rows for j in columns}

    def start_from_target(self) -> None:
        """Start the sums from what C holds."""
        for (i, j), total in self.sums.items():
            self.builder.store(self.C.load(i, j), total)

    def add_products(self, A: _Matrix, B: _Matrix, k: Any) -> None:
        """Add the k-th products: it takes one load for each row and each column of the tile."""
        a = {i: A.load(i, k) for i in self.rows}
        for j in self.columns:
            b = B.load(j, k)
            for i in self.rows:
                total = self.sums[i, j]
                self.builder.store(_multiply_add(self.builder, a[i], b, self.builder.load(total)), total)

    def squash(self) -> None:
        """Apply the softsign."""
        for total in self.sums.values():
            self.builder.store(_softsign(self.builder, self.builder.load(total)), total)

    def finish(self) -> None:
        """Store the sums in C."""
        for (i, j), total in self.sums.items():
            self.builder.store(self.builder.load(total), self.C.address(i, j), align=8)


@intrinsic(prefer_literal=True)
def _compiled_tile(
    _context: Any, height: Any, width: Any, C: Any, A: Any, B: Any, i: Any, j: Any, n: Any, mode: Any
) -> Any:
    """Compute the height x width elements of `multiply`'s C from (i, j) on."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        matrices = [_Matrix(context, builder, signature.args[k], args[k]) for k in (2, 3, 4)]
        i, j, n, mode = args[5:]
        rows = [builder.add(i, _INT(offset)) for offset in range(height.literal_value)]
        columns = [builder.add(j, _INT(offset)) for offset in range(width.literal_value)]
        tile = _Tile(builder, matrices[0], rows, columns)
        with builder.if_then(builder.icmp_signed("==", mode, _INT(ADD))):
            tile.start_from_target()
        with cgutils.for_range(builder, n) as loop:
            tile.add_products(matrices[1], matrices[2], loop.index)
        with builder.if_then(builder.icmp_signed("==", mode, _INT(SOFTSIGN))):
            tile.squash()
        tile.finish()
        return context.get_dummy_value()

    return types.void(height, width, C, A, B, i, j, n, mode), generate


def _python_tile(height: int, width: int, C: Any, A: Any, B: Any, i: int, j: int, n: int, mode: int) -> None:
    """Compute what `_compiled_tile` computes."""
    for row in range(i, i + height):
        for column in range(j, j + width):
            target = C.start + row * C.down + column * C.across
            total = C.lanes[target] if mode == ADD else np.zeros(LANES)
            for k in range(n):
                a = A.lanes[A.start + row * A.down + k * A.across]
                total = total + a * B.lanes[B.start + column * B.down + k * B.across]
            C.lanes[target] = total / (1.0 + abs(total)) if mode == SOFTSIGN else total


_EMITTERS: dict[int, Any] = {
    COPY: lambda _builder, _c, a, _b: a,
    DIFFERENCE: lambda builder, _c, a, b: builder.fsub(a, b),
    SLOPE: lambda builder, _c, a, b: _times_slope(builder, a, b),
    ADD_PRODUCT: lambda builder, c, a, b: _multiply_add(builder, a, b, c),
}
_OPERATIONS: dict[int, Any] = {
    COPY: lambda _c, a, _b: a,
    DIFFERENCE: lambda _c, a, b: a - b,
    SLOPE: lambda _c, a, b: a * ((1.0 - abs(b)) * (1.0 - abs(b))),
    ADD_PRODUCT: lambda c, a, b: c + a * b,
}


@intrinsic(prefer_literal=True)
def _compiled_combine(_context: Any, operation: Any, C: Any, c: Any, A: Any, a: Any, B: Any, b: Any, n: Any) -> Any:
    """Set n rows of lane array C from row c on to an operation of those of A and B from a and b on."""
    emit = _EMITTERS[operation.literal_value]

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        rows = [builder.gep(_first_row(context, builder, signature.args[k], args[k]), [args[k + 1]]) for k in (1, 3, 5)]
        with cgutils.for_range(builder, args[7]) as loop:
            places = [builder.gep(row, [loop.index]) for row in rows]
            operands = [builder.load(place, align=8) for place in places]
            builder.store(emit(builder, *operands), places[0], align=8)
        return context.get_dummy_value()

    return types.void(operation, C, c, A, a, B, b, n), generate


def _python_combine(operation: int, C: Any, c: int, A: Any, a: int, B: Any, b: int, n: int) -> None:
    """Compute what `_compiled_combine` computes."""
    for k in range(n):
        C[c + k] = _OPERATIONS[operation](C[c + k], A[a + k], B[b + k])


_config: Any = numba.config
multiply_tile: Any = _python_tile if _config.DISABLE_JIT else _compiled_tile
combine_rows: Any = _python_combine if _config.DISABLE_JIT else _compiled_combine
