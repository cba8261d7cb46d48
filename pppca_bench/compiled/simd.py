"""Vectors of eight float64 numbers for kernels: operations and their NumPy twins.

Numba's own loops use half of the widest registers and keep tiles in memory; a vector variable stays in a register. See
`compiled.operation`.

A and B are C-contiguous matrices. A vector starts at a row and a column; bounds are not checked.
"""

from typing import Any, Final

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types

from pppca_bench.compiled.operation import (
    INT,
    INTS,
    LANE_INDEX,
    VECTOR,
    WIDTH,
    Call,
    cgutils,
    constant,
    elementwise,
    llvm_call,
    llvm_fma,
    operation,
    shuffle,
    splatted,
    tile,
)

# ---- Elementwise arithmetic: LLVM instruction and twin.

add = elementwise("add", lambda b, x, y: b.fadd(x, y), lambda x, y: x + y)
subtract = elementwise("subtract", lambda b, x, y: b.fsub(x, y), lambda x, y: x - y)
multiply = elementwise("multiply", lambda b, x, y: b.fmul(x, y), lambda x, y: x * y)
divide = elementwise("divide", lambda b, x, y: b.fdiv(x, y), lambda x, y: x / y)
sqrt = elementwise("sqrt", lambda b, x: llvm_call(b, "llvm.sqrt", x), lambda x: np.sqrt(x))
absolute = elementwise("absolute", lambda b, x: llvm_call(b, "llvm.fabs", x), lambda x: abs(x))
# |x| with the signs of y
copysign = elementwise(
    "copysign", lambda b, x, y: llvm_call(b, "llvm.copysign", x, y), lambda x, y: np.copysign(x, y)
)
# a b + c and c − a b, rounded once by the instruction, twice by the twin
fma = elementwise("fma", llvm_fma, lambda a, b, c: a * b + c)
fnma = elementwise(
    "fnma", lambda b, x, y, z: llvm_fma(b, b.fneg(x), y, z), lambda a, b, c: c - a * b
)
select_less = elementwise(
    "select_less",
    lambda b, x, y, then, otherwise: b.select(b.fcmp_ordered("<", x, y), then, otherwise),
    lambda x, y, then, otherwise: np.where(x < y, then, otherwise),
)

# ---- Vectors of equal numbers, selection of lanes, sums.


@operation(lambda _: constant(0.0))
def zeros() -> Any:
    """Return the vector of zeros."""
    return np.zeros(WIDTH)


@operation(lambda call: splatted(call.builder, call.args[0]))
def splat(number: float) -> Any:
    """Return the vector with a float in all lanes."""
    return number


@operation(
    lambda call: shuffle(
        call.builder, call.args[0], call.args[0], [call.types[1].literal_value] * WIDTH
    ),
    literal=True,
)
def broadcast_lane(x: Any, lane: int) -> Any:
    """Return the vector with x[lane] in all lanes; ``lane`` is a literal."""
    return x[lane]


def _emit_blend(call: Call) -> Any:
    lane, (_, x, y) = call.types[0].literal_value, call.args
    # Lane k of x; index k + 8 is lane k of y.
    return shuffle(call.builder, x, y, [k + WIDTH * (k > lane) for k in range(WIDTH)])


@operation(_emit_blend, literal=True)
def blend(lane: int, x: Any, y: Any) -> Any:
    """Return x[0], …, x[lane], y[lane + 1], …, y[7]; ``lane`` is a literal."""
    return np.where(np.arange(WIDTH) > lane, y, x)


def _emit_sum(call: Call) -> Any:
    (total,), b = call.args, call.builder
    # Add the vector rotated by 4, 2 and 1 lanes; afterwards every lane contains the whole sum.
    for distance in (4, 2, 1):
        total = b.fadd(
            total, shuffle(b, total, total, [(k + distance) % WIDTH for k in range(WIDTH)])
        )
    return b.extract_element(total, LANE_INDEX(0))


@operation(_emit_sum, types.float64)
def reduce_add(x: Any) -> float:
    """Return Σ x: add the two halves, then the halves of the result, then its two numbers."""
    for distance in (4, 2, 1):
        x = x[:distance] + x[distance:]
    return float(x[0])


# ---- Memory.


@operation(lambda call: call.builder.load(call.addresses(0)[0], align=8))
def load(A: Any, row: int, column: int) -> Any:
    """Return A[row, column], A[row, column + 1], …"""
    return A[row, column : column + WIDTH].copy()


def _emit_masked_load(call: Call) -> Any:
    b = call.builder
    (address,) = call.addresses(0)
    mask = b.icmp_signed("<", ir.Constant(INTS, list(range(WIDTH))), splatted(b, call.integer(3)))
    function_type = ir.FunctionType(VECTOR, [address.type, LANE_INDEX, mask.type, VECTOR])
    function = cgutils.get_or_insert_function(
        b.module, function_type, f"llvm.masked.load.v{WIDTH}f64.p0"
    )
    return b.call(function, [address, LANE_INDEX(8), mask, constant(0.0)])


@operation(_emit_masked_load)
def masked_load(A: Any, row: int, column: int, n: int) -> Any:
    """Return the first n of A[row, column], … and then zeros; n may be any integer."""
    x, present = np.zeros(WIDTH), min(n, WIDTH)
    if present > 0:
        x[:present] = A[row, column : column + present]
    return x


@operation(lambda call: call.builder.store(call.args[3], call.addresses(0)[0], align=8), types.void)
def store(A: Any, row: int, column: int, x: Any) -> None:
    """Write the vector x to A[row, column], A[row, column + 1], …, in place."""
    A[row, column : column + WIDTH] = x


def _emit_broadcast(call: Call) -> Any:
    (address,) = call.addresses(0)
    return splatted(
        call.builder, call.builder.load(call.builder.bitcast(address, ir.DoubleType().as_pointer()))
    )


@operation(_emit_broadcast)
def broadcast(A: Any, row: int, column: int) -> Any:
    """Return the vector with A[row, column] in all lanes."""
    return A[row, column]


def _emit_gather(call: Call) -> Any:
    b, offsets, x = call.builder, call.data(3), constant(0.0)
    start = b.bitcast(call.addresses(0)[0], ir.DoubleType().as_pointer())
    for lane in range(WIDTH):
        number = b.load(b.gep(start, [b.load(b.gep(offsets, [INT(lane)]))]))
        x = b.insert_element(x, number, LANE_INDEX(lane))
    return x


@operation(_emit_gather)
def gather(A: Any, row: int, column: int, offsets: Any) -> Any:
    """Return the numbers at int64 offsets, shape (8,), from A[row, column] in memory."""
    return A.reshape(-1)[row * A.shape[1] + column + offsets]


# ---- Tiles of eight vectors.


@operation(lambda call: call.context.make_tuple(call.builder, tile, [constant(0.0)] * WIDTH), tile)
def zero_tile() -> Any:
    """Return a tile of zeros."""
    return (np.zeros(WIDTH),) * WIDTH


@operation(
    lambda call: call.context.make_tuple(
        call.builder,
        tile,
        [call.builder.load(address, align=8) for address in call.addresses(0, WIDTH)],
    ),
    tile,
)
def load_tile(A: Any, row: int, column: int) -> Any:
    """Return the vectors at A[row, column], A[row + 1, column], …"""
    return tuple(A[row : row + WIDTH, column : column + WIDTH].copy())


def _emit_store_tile(call: Call) -> None:
    for k, address in enumerate(call.addresses(0, WIDTH)):
        call.builder.store(call.builder.extract_value(call.args[3], k), address, align=8)


@operation(_emit_store_tile, types.void)
def store_tile(A: Any, row: int, column: int, x: Any) -> None:
    """Set the vectors at A[row, column], A[row + 1, column], … to a tile, in place."""
    A[row : row + WIDTH, column : column + WIDTH] = x


def _transposed(builder: Any, rows: list[Any]) -> list[Any]:
    """Write the transpose of a square of eight vectors."""
    # For sizes 1, 2 and 4: exchange squares of this size across the diagonal, between rows i and i + size.
    for size in (1, 2, 4):
        swapped = list(rows)
        for i in (k for k in range(WIDTH) if not k & size):
            upper, lower = rows[i], rows[i + size]
            swapped[i] = shuffle(
                builder, upper, lower, [k + (WIDTH - size) * bool(k & size) for k in range(WIDTH)]
            )
            swapped[i + size] = shuffle(
                builder,
                upper,
                lower,
                [k + size if not k & size else k + WIDTH for k in range(WIDTH)],
            )
        rows = swapped
    return rows


def _emit_transpose(call: Call) -> None:
    rows = [call.builder.load(address, align=8) for address in call.addresses(3, WIDTH)]
    for address, x in zip(call.addresses(0, WIDTH), _transposed(call.builder, rows), strict=True):
        call.builder.store(x, address, align=8)


@operation(_emit_transpose, types.void)
def transpose(A: Any, row: int, column: int, B: Any, b_row: int, b_column: int) -> None:
    """Set the square of A at (row, column) to the transposed square of B at (b_row, b_column), even the same square."""
    A[row : row + WIDTH, column : column + WIDTH] = B[
        b_row : b_row + WIDTH, b_column : b_column + WIDTH
    ].T.copy()


# ---- The parts of a float64: a = s 2ᵉ with 1 <= s < 2.

_FRACTION_BITS: Final = 52
_BIAS: Final = 1023


def _emit_exponent(call: Call) -> Any:
    b = call.builder
    # Bits of a float64: the sign, 0 for a > 0; eleven bits of e + 1023; 52 bits of the fraction s − 1.
    bits = b.lshr(b.bitcast(call.args[0], INTS), constant(_FRACTION_BITS, INTS))
    return b.sitofp(b.sub(bits, constant(_BIAS, INTS)), VECTOR)


@operation(_emit_exponent)
def exponent(a: Any) -> Any:
    """Return e of a = s 2ᵉ; a is positive and normal."""
    return np.frexp(a)[1] - 1.0


def _emit_significand(call: Call) -> Any:
    b = call.builder
    # s = a 2⁻ᵉ: the fraction of a, with e = 0
    fraction = b.and_(b.bitcast(call.args[0], INTS), constant((1 << _FRACTION_BITS) - 1, INTS))
    return b.bitcast(b.or_(fraction, constant(_BIAS << _FRACTION_BITS, INTS)), VECTOR)


@operation(_emit_significand)
def significand(a: Any) -> Any:
    """Return s of a = s 2ᵉ; a is positive and normal."""
    return np.frexp(a)[0] * 2.0


# ---- Random numbers.

_GAMMA: Final = 0x9E3779B97F4A7C15
_MIXERS: Final = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
_LAST_SHIFT: Final = 31


def _emit_uniform(call: Call) -> Any:
    b = call.builder
    low, n_bits = (argument.literal_value for argument in call.types[2:])
    # SplitMix64: the states z_i = seed + (i + 1) γ, then z ← (z ⊕ (z >> shift)) factor, and a last shift
    counters = b.add(ir.Constant(INTS, list(range(1, WIDTH + 1))), splatted(b, call.integer(1)))
    bits = b.add(splatted(b, call.args[0]), b.mul(counters, constant(_GAMMA, INTS)))
    for shift, factor in _MIXERS:
        bits = b.mul(b.xor(bits, b.lshr(bits, constant(shift, INTS))), constant(factor, INTS))
    bits = b.xor(bits, b.lshr(bits, constant(_LAST_SHIFT, INTS)))
    # (k + 1/2) / 2^n_bits, which is never 0
    bits = b.and_(b.lshr(bits, constant(low, INTS)), constant((1 << n_bits) - 1, INTS))
    return b.fmul(b.fadd(b.sitofp(bits, VECTOR), constant(0.5)), constant(2.0**-n_bits))


@operation(_emit_uniform, literal=True)
def random_uniform(seed: Any, start: int, low: int, n_bits: int) -> Any:
    """Return random numbers start, start + 1, … of the sequence of a uint64 seed.

    A number is (k + 1/2) / 2^n_bits, where k are bits low, …, low + n_bits − 1 of a hash; ``low`` and ``n_bits`` are
    literals. Up to 52 bits the number is exact, hence in (0, 1); the largest number of 53 bits rounds to 1.

    Source: Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators", SplitMix64.
    """
    bits = seed + np.arange(start + 1, start + 1 + WIDTH, dtype=np.uint64) * np.uint64(_GAMMA)
    for shift, factor in _MIXERS:
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    bits ^= bits >> np.uint64(_LAST_SHIFT)
    return ((bits >> np.uint64(low) & np.uint64((1 << n_bits) - 1)) + 0.5) * 2.0**-n_bits
