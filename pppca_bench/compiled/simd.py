"""Owns a type of vector for kernels, eight float64 in a register, its operations, and their twins in Python.

Numba's own loops use half of the widest registers and leave tiles of numbers in memory; variables of this type stay in
registers. With NUMBA_DISABLE_JIT=1 the twins take over: there a vector is an array, and a spread number a number.

The callers' compiled code is cached by the callers' files: after an edit here delete ``__pycache__``.
"""

from typing import Any, Final

import numba
import numba.core.cgutils
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic, models, register_model

cgutils: Any = numba.core.cgutils

WIDTH: Final = 8
"""Numbers in a vector: they fill one AVX-512 register; other machines split the vector."""

VECTOR = ir.VectorType(ir.DoubleType(), WIDTH)
_INT = ir.IntType(64)
_ZERO = ir.Constant(VECTOR, [0.0] * WIDTH)


class VectorType(types.Type):
    """Numba's type of the vectors."""


vector: Any = VectorType("Vector")


@register_model(VectorType)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, vector_type: Any) -> None:
        super().__init__(manager, vector_type, VECTOR)  # type: ignore[no-untyped-call]


def _shuffle(builder: Any, a: Any, b: Any, places: list[int]) -> Any:
    """Write the vector of those places among the numbers of a, then of b."""
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), places))


def spread_over(builder: Any, number: Any) -> Any:
    """Write the vector whose numbers all are the one given."""
    undefined = ir.Constant(ir.VectorType(number.type, WIDTH), ir.Undefined)
    first = builder.insert_element(undefined, number, ir.Constant(ir.IntType(32), 0))
    return _shuffle(builder, first, undefined, [0] * WIDTH)


def as_integer(context: Any, builder: Any, signature: Any, args: Any, place: int) -> Any:
    """Return an argument, whichever type of integer or literal it is, as a 64-bit integer."""
    return context.cast(builder, args[place], signature.args[place], types.intp)


def _present(builder: Any, n: Any) -> Any:
    """Write which places of a vector are among the first n."""
    places = ir.Constant(ir.VectorType(_INT, WIDTH), list(range(WIDTH)))
    return builder.icmp_signed("<", places, spread_over(builder, n))


def _check_contiguous(array_type: Any) -> None:
    """Refuse, while a kernel is compiled, an array whose numbers may not lie side by side, as a vector's do."""
    if array_type.layout != "C":
        raise TypeError(f"array of a vector: expected a C-contiguous one, got {array_type}. Copy it.")


def _addresses(context: Any, builder: Any, signature: Any, args: Any, first: int = 0, n_rows: int = 1) -> list[Any]:
    """Return where vectors start in a matrix: at the row and column that follow it in args, and rows below."""
    _check_contiguous(signature.args[first])
    matrix = context.make_array(signature.args[first])(context, builder, args[first])
    row, column = (as_integer(context, builder, signature, args, first + k) for k in (1, 2))
    places = [[builder.add(row, _INT(k)), column] for k in range(n_rows)]
    items = [
        cgutils.get_item_pointer(context, builder, signature.args[first], matrix, place, wraparound=False)
        for place in places
    ]
    return [builder.bitcast(item, VECTOR.as_pointer()) for item in items]


@intrinsic
def _compiled_load(_context: Any, A: Any, row: Any, column: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        (place,) = _addresses(context, builder, signature, args)
        return builder.load(place, align=8)

    return vector(A, row, column), generate


@intrinsic
def _compiled_load_part(_context: Any, A: Any, row: Any, column: Any, n: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        (place,) = _addresses(context, builder, signature, args)
        present = _present(builder, as_integer(context, builder, signature, args, 3))
        function_type = ir.FunctionType(VECTOR, [place.type, ir.IntType(32), present.type, VECTOR])
        function = cgutils.get_or_insert_function(builder.module, function_type, f"llvm.masked.load.v{WIDTH}f64.p0")
        return builder.call(function, [place, ir.Constant(ir.IntType(32), 8), present, _ZERO])

    return vector(A, row, column, n), generate


@intrinsic
def _compiled_collect(_context: Any, A: Any, row: Any, offsets: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _check_contiguous(signature.args[0])
        matrix, places = (context.make_array(signature.args[place])(context, builder, args[place]) for place in (0, 2))
        row = as_integer(context, builder, signature, args, 1)
        start = cgutils.get_item_pointer(context, builder, signature.args[0], matrix, [row, _INT(0)], wraparound=False)
        value = _ZERO
        for lane in range(WIDTH):
            offset = builder.load(builder.gep(places.data, [_INT(lane)]))
            number = builder.load(builder.gep(start, [offset]))
            value = builder.insert_element(value, number, ir.Constant(ir.IntType(32), lane))
        return value

    return vector(A, row, offsets), generate


@intrinsic
def _compiled_store(_context: Any, A: Any, row: Any, column: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        (place,) = _addresses(context, builder, signature, args)
        builder.store(args[3], place, align=8)
        return context.get_dummy_value()

    return types.void(A, row, column, value), generate


@intrinsic
def _compiled_spread(_context: Any, A: Any, row: Any, column: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        (place,) = _addresses(context, builder, signature, args)
        return spread_over(builder, builder.load(builder.bitcast(place, ir.DoubleType().as_pointer())))

    return vector(A, row, column), generate


@intrinsic(prefer_literal=True)
def _compiled_spread_lane(_context: Any, value: Any, lane: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return _shuffle(builder, args[0], args[0], [lane.literal_value] * WIDTH)

    return vector(value, lane), generate


@intrinsic(prefer_literal=True)
def _compiled_beyond(_context: Any, lane: Any, new: Any, old: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        places = [WIDTH + k if k <= lane.literal_value else k for k in range(WIDTH)]
        return _shuffle(builder, args[1], args[2], places)

    return vector(lane, new, old), generate


def _multiply_add_function(builder: Any) -> Any:
    """Declare a b + c: rounded once on every machine that can."""
    function_type = ir.FunctionType(VECTOR, [VECTOR] * 3)
    return cgutils.get_or_insert_function(builder.module, function_type, f"llvm.fmuladd.v{WIDTH}f64")


@intrinsic
def _compiled_add_product(_context: Any, total: Any, a: Any, b: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.call(_multiply_add_function(builder), [args[1], args[2], args[0]])

    return vector(total, a, b), generate


@intrinsic
def _compiled_subtract_product(_context: Any, total: Any, a: Any, b: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.call(_multiply_add_function(builder), [builder.fneg(args[1]), args[2], args[0]])

    return vector(total, a, b), generate


@intrinsic
def _compiled_multiply(_context: Any, a: Any, number: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.fmul(args[0], spread_over(builder, args[1]))

    return vector(a, number), generate


@intrinsic
def _compiled_sum_up(_context: Any, a: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        total = args[0]
        for distance in (4, 2, 1):
            total = builder.fadd(total, _shuffle(builder, total, total, [(k + distance) % WIDTH for k in range(WIDTH)]))
        return builder.extract_element(total, ir.Constant(ir.IntType(32), 0))

    return types.float64(a), generate


@intrinsic
def _compiled_subtract(_context: Any, a: Any, b: Any) -> Any:
    return vector(a, b), lambda _context, builder, _signature, args: builder.fsub(*args)


@intrinsic
def _compiled_add(_context: Any, a: Any, b: Any) -> Any:
    return vector(a, b), lambda _context, builder, _signature, args: builder.fadd(*args)


@intrinsic
def _compiled_divide(_context: Any, a: Any, b: Any) -> Any:
    return vector(a, b), lambda _context, builder, _signature, args: builder.fdiv(*args)


@intrinsic
def _compiled_address(_context: Any, A: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ptrtoint(context.make_array(signature.args[0])(context, builder, args[0]).data, _INT)

    return types.intp(A), generate


@intrinsic
def _compiled_zero(_context: Any) -> Any:
    return vector(), lambda *_: _ZERO


def _write_transposition(builder: Any, rows: list[Any]) -> list[Any]:
    """Write the columns of a square: its quarters change places, then theirs, then theirs."""
    for size in (1, 2, 4):
        swapped = list(rows)
        for i in (k for k in range(WIDTH) if not k & size):
            upper, lower = rows[i], rows[i + size]
            swapped[i] = _shuffle(builder, upper, lower, [k + (WIDTH - size) * bool(k & size) for k in range(WIDTH)])
            swapped[i + size] = _shuffle(
                builder, upper, lower, [k + size if not k & size else k + WIDTH for k in range(WIDTH)]
            )
        rows = swapped
    return rows


@intrinsic
def _compiled_transpose(_context: Any, A: Any, row: Any, column: Any, B: Any, b_row: Any, b_column: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        rows = [builder.load(place, align=8) for place in _addresses(context, builder, signature, args, 3, WIDTH)]
        targets = _addresses(context, builder, signature, args, 0, WIDTH)
        for target, value in zip(targets, _write_transposition(builder, rows), strict=True):
            builder.store(value, target, align=8)
        return context.get_dummy_value()

    return types.void(A, row, column, B, b_row, b_column), generate


def _python_load(A: Any, row: int, column: int) -> Any:
    """Return the vector of A[row, column], A[row, column + 1], …; A is a C-contiguous float64 matrix."""
    return A[row, column : column + WIDTH].copy()


def _python_load_part(A: Any, row: int, column: int, n: int) -> Any:
    """Return the vector of the first n of A[row, column], …, and zeros; n may be below zero or above the width."""
    part = np.zeros(WIDTH)
    present = min(max(n, 0), WIDTH)
    part[:present] = A[row, column : column + present]
    return part


def _python_collect(A: Any, row: int, offsets: Any) -> Any:
    """Return the vector of the numbers of A, a C-contiguous matrix, at int64 offsets, shape (8,), from A[row, 0]."""
    return A.reshape(-1)[row * A.shape[1] + offsets]


def _python_store(A: Any, row: int, column: int, value: Any) -> None:
    """Set A[row, column], A[row, column + 1], … to a vector, in place."""
    A[row, column : column + WIDTH] = value


def _python_spread(A: Any, row: int, column: int) -> Any:
    """Return the vector whose numbers all are A[row, column]."""
    return A[row, column]


def _python_spread_lane(value: Any, lane: int) -> Any:
    """Return the vector whose numbers all are number `lane` of another; `lane` is a literal."""
    return value[lane]


def _python_beyond(lane: int, new: Any, old: Any) -> Any:
    """Return the vector with the numbers of `old` up to place `lane`, a literal, and of `new` beyond it."""
    return np.where(np.arange(WIDTH) > lane, new, old)


def _python_add_product(total: Any, a: Any, b: Any) -> Any:
    """Return total + a b."""
    return total + a * b


def _python_subtract_product(total: Any, a: Any, b: Any) -> Any:
    """Return total − a b."""
    return total - a * b


def _python_add(a: Any, b: Any) -> Any:
    """Return a + b."""
    return a + b


def _python_multiply(a: Any, number: float) -> Any:
    """Return a vector times a number."""
    return a * number


def _python_sum_up(a: Any) -> float:
    """Return the sum of a vector's numbers: of its halves, then of theirs."""
    for distance in (4, 2, 1):
        a = a[:distance] + a[distance:]
    return float(a[0])


def _python_subtract(a: Any, b: Any) -> Any:
    """Return a − b."""
    return a - b


def _python_divide(a: Any, b: Any) -> Any:
    """Return a / b."""
    return a / b


def _python_transpose(A: Any, row: int, column: int, B: Any, b_row: int, b_column: int) -> None:
    """Set the square of A that starts at [row, column] to the transpose of that of B, in place."""
    A[row : row + WIDTH, column : column + WIDTH] = B[b_row : b_row + WIDTH, b_column : b_column + WIDTH].T


def _python_address(A: Any) -> int:
    """Return where in memory an array starts, in bytes."""
    return int(A.ctypes.data)


def _python_zero() -> Any:
    """Return the vector of zeros."""
    return np.zeros(WIDTH)


_config: Any = numba.config
INTERPRETED = bool(_config.DISABLE_JIT)
load: Any = _python_load if INTERPRETED else _compiled_load
load_part: Any = _python_load_part if INTERPRETED else _compiled_load_part
collect: Any = _python_collect if INTERPRETED else _compiled_collect
store: Any = _python_store if INTERPRETED else _compiled_store
spread: Any = _python_spread if INTERPRETED else _compiled_spread
spread_lane: Any = _python_spread_lane if INTERPRETED else _compiled_spread_lane
beyond: Any = _python_beyond if INTERPRETED else _compiled_beyond
add_product: Any = _python_add_product if INTERPRETED else _compiled_add_product
subtract_product: Any = _python_subtract_product if INTERPRETED else _compiled_subtract_product
add: Any = _python_add if INTERPRETED else _compiled_add
multiply: Any = _python_multiply if INTERPRETED else _compiled_multiply
sum_up: Any = _python_sum_up if INTERPRETED else _compiled_sum_up
subtract: Any = _python_subtract if INTERPRETED else _compiled_subtract
divide: Any = _python_divide if INTERPRETED else _compiled_divide
transpose: Any = _python_transpose if INTERPRETED else _compiled_transpose
address: Any = _python_address if INTERPRETED else _compiled_address
zero: Any = _python_zero if INTERPRETED else _compiled_zero
