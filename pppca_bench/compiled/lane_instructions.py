"""Owns the two innermost loops over lane arrays, written in LLVM's vector instructions, and their twins in Python.

Loops over arrays leave a tile of sums in memory when Numba compiles them; here it stays in vector registers and its
additions run at some 80 % of the processor's peak. With NUMBA_DISABLE_JIT=1 the twins take over.

The callers' compiled code is cached by the callers' files: after an edit here delete ``__pycache__``.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, product
from typing import Any, Final, NamedTuple

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
ADD: Final = 1
SOFTSIGN: Final = 2

DIFFERENCE: Final = 0
SLOPE: Final = 1
ADD_PRODUCT: Final = 2

_MULTIPLY = "pppca_bench.classifiers.multiply"
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


def _softsigns(builder: Any, xs: list[Any]) -> list[Any]:
    """Write x / (1 + |x|) of several vectors.

    A division takes as long as some twenty multiplications, so four vectors share one. A group whose divisors have a
    product above 1.8e308 (four sums of 1e77) gives 0 or nan.
    """
    results = []
    for start in range(0, len(xs), 4):
        group = xs[start : start + 4]
        divisors = [builder.fadd(_ONE, _magnitude(builder, x)) for x in group]
        inverses = _reciprocals(builder, divisors)
        results += [builder.fmul(x, inverse) for x, inverse in zip(group, inverses, strict=True)]
    return results


def _reciprocals(builder: Any, numbers: list[Any]) -> list[Any]:
    """Write the reciprocals of vectors with one division: 1 / a = b / (a b), and the same for products."""
    if len(numbers) == 1:
        return [builder.fdiv(_ONE, numbers[0])]
    evens, odds = numbers[::2], numbers[1::2]
    products = [builder.fmul(a, b) for a, b in zip(evens, odds, strict=False)] + evens[len(odds) :]
    inverses = _reciprocals(builder, products)
    pairs = [
        [builder.fmul(b, inverse), builder.fmul(a, inverse)]
        for a, b, inverse in zip(evens, odds, inverses, strict=False)
    ]
    return [*chain.from_iterable(pairs), *inverses[len(odds) :]]


def _times_slope(builder: Any, x: Any, value: Any) -> Any:
    """Write x (1 - |value|)², x times the derivative of the softsign whose value is given."""
    slope = builder.fsub(_ONE, _magnitude(builder, value))
    return builder.fmul(x, builder.fmul(slope, slope))


def _first_row(context: Any, builder: Any, array_type: Any, array: Any) -> Any:
    """Return the address of a lane array's first row as that of a vector."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(data, _VECTOR.as_pointer())


class _Matrix(NamedTuple):
    """Address the elements of a matrix of lanes in LLVM's terms: the first one and the distances to the next."""

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
    sums = {(i, j): cgutils.alloca_once(builder, _VECTOR) for i in rows for j in columns}
    for total in sums.values():
        builder.store(_ZERO, total)
    with builder.if_then(builder.icmp_signed("!=", builder.and_(mode, _INT(ADD)), _INT(0))):
        for (i, j), total in sums.items():
            builder.store(C.load(builder, i, j), total)
    with cgutils.for_range(builder, n) as loop:
        a = {i: A.load(builder, i, loop.index) for i in rows}
        b = {j: B.load(builder, j, loop.index) for j in columns}
        for (i, j), total in sums.items():
            builder.store(_multiply_add(builder, a[i], b[j], builder.load(total)), total)
    with builder.if_then(builder.icmp_signed("!=", builder.and_(mode, _INT(SOFTSIGN)), _INT(0))):
        results = _softsigns(builder, [builder.load(total) for total in sums.values()])
        for total, result in zip(sums.values(), results, strict=True):
            builder.store(result, total)
    for (i, j), total in sums.items():
        builder.store(builder.load(total), C.address(builder, i, j), align=8)


@contextmanager
def _strips(builder: Any, length: Any, size: int) -> Iterator[list[Any]]:
    """Write a loop that cuts a length into fours, then a two, then a one; this one takes those of ``size``."""
    rest = builder.and_(length, _INT(-2 * size)) if size < 4 else _INT(0)
    count = builder.udiv(builder.sub(length, rest), _INT(size))
    with cgutils.for_range(builder, count) as loop:
        start = builder.add(rest, builder.mul(loop.index, _INT(size)))
        yield [builder.add(start, _INT(offset)) for offset in range(size)]


def _multiply_function(module: Any) -> Any:
    """Return LLVM's function for `multiply`, written at the first use in a module.

    It is kept out of its callers: to have it in each of them costs more in compilation than the calls take.
    """
    vectors, number = _VECTOR.as_pointer(), _INT
    arguments = [vectors, number, number] * 3 + [number] * 4
    function = cgutils.get_or_insert_function(module, ir.FunctionType(ir.VoidType(), arguments), _MULTIPLY)
    if function.is_declaration:
        function.linkage = "linkonce_odr"
        function.attributes.add("noinline")
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        matrices = [_Matrix(*function.args[k : k + 3]) for k in (0, 3, 6)]
        height, width, n, mode = function.args[9:]
        for rows_at_once, columns_at_once in product((4, 2, 1), repeat=2):
            with (
                _strips(builder, height, rows_at_once) as rows,
                _strips(builder, width, columns_at_once) as columns,
            ):
                _write_tile(builder, matrices, rows, columns, n, mode)
        builder.ret_void()
    return function


@intrinsic
def _compiled_multiply(_context: Any, C: Any, A: Any, B: Any, height: Any, width: Any, n: Any, mode: Any) -> Any:
    """Compute what `_python_multiply` computes."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        numbers = [context.cast(builder, args[k], signature.args[k], types.int64) for k in range(3, 7)]
        matrices: list[Any] = []
        for matrix_type, matrix in zip(signature.args[:3], args[:3], strict=True):
            lanes, *layout = cgutils.unpack_tuple(builder, matrix, 4)
            start, down, across = [
                context.cast(builder, value, value_type, types.int64)
                for value, value_type in zip(layout, matrix_type.types[1:], strict=True)
            ]
            first = builder.gep(_first_row(context, builder, matrix_type.types[0], lanes), [start])
            matrices += [first, down, across]
        builder.call(_multiply_function(builder.module), matrices + numbers)
        return context.get_dummy_value()

    return types.void(C, A, B, height, width, n, mode), generate


def _python_multiply(C: Any, A: Any, B: Any, height: int, width: int, n: int, mode: int) -> None:
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
    for i, j in product(range(height), range(width)):
        target = C.start + i * C.down + j * C.across
        total = C.lanes[target] if mode & ADD else np.zeros(LANES)
        for k in range(n):
            a = A.lanes[A.start + i * A.down + k * A.across]
            total = total + a * B.lanes[B.start + j * B.down + k * B.across]
        C.lanes[target] = total / (1.0 + abs(total)) if mode & SOFTSIGN else total


_EMITTERS: dict[int, Any] = {
    DIFFERENCE: lambda builder, _c, a, b: builder.fsub(a, b),
    SLOPE: lambda builder, _c, a, b: _times_slope(builder, a, b),
    ADD_PRODUCT: lambda builder, c, a, b: _multiply_add(builder, a, b, c),
}
_OPERATIONS: dict[int, Any] = {
    DIFFERENCE: lambda _c, a, b: a - b,
    SLOPE: lambda _c, a, b: a * ((1.0 - abs(b)) * (1.0 - abs(b))),
    ADD_PRODUCT: lambda c, a, b: c + a * b,
}


@intrinsic(prefer_literal=True)
def _compiled_combine(_context: Any, operation: Any, C: Any, c: Any, A: Any, a: Any, B: Any, b: Any, n: Any) -> Any:
    """Compute what `_python_combine` computes."""
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
    """Set n rows of lane array C from row c on to an operation of those of A and B from a and b on, in place.

    DIFFERENCE is A - B, SLOPE A (1 - |B|)², ADD_PRODUCT C + A B.
    """
    for k in range(n):
        C[c + k] = _OPERATIONS[operation](C[c + k], A[a + k], B[b + k])


_config: Any = numba.config
multiply: Any = _python_multiply if _config.DISABLE_JIT else _compiled_multiply
combine_rows: Any = _python_combine if _config.DISABLE_JIT else _compiled_combine
