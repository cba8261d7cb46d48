"""Owns random numbers, and operations on the parts of a number, for the vectors of kernels, with twins in Python.

The callers' compiled code is cached by the callers' files: after an edit here delete ``__pycache__``.
"""

from typing import Any, Final

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.extending import intrinsic

from pppca_bench.compiled.simd import INTERPRETED, VECTOR, WIDTH, as_integer, cgutils, spread_over, vector

_INT = ir.IntType(64)
_INTS = ir.VectorType(_INT, WIDTH)
_FRACTION_BITS: Final = 52
_BIAS: Final = 1023
_GAMMA: Final = 0x9E3779B97F4A7C15
_MIXERS: Final = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
_LAST_SHIFT: Final = 31


def _ints(number: int) -> Any:
    """Return the constant vector of an integer."""
    return ir.Constant(_INTS, [number] * WIDTH)


def _constant(number: float) -> Any:
    """Return the constant vector of a number."""
    return ir.Constant(VECTOR, [number] * WIDTH)


@intrinsic(prefer_literal=True)
def _compiled_random_numbers(_context: Any, seed: Any, start: Any, low: Any, n_bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        number = builder.load(context.make_array(signature.args[0])(context, builder, args[0]).data)
        places = ir.Constant(_INTS, list(range(1, WIDTH + 1)))
        counters = builder.add(places, spread_over(builder, as_integer(context, builder, signature, args, 1)))
        bits = builder.add(spread_over(builder, number), builder.mul(counters, _ints(_GAMMA)))
        for shift, factor in _MIXERS:
            bits = builder.mul(builder.xor(bits, builder.lshr(bits, _ints(shift))), _ints(factor))
        bits = builder.xor(bits, builder.lshr(bits, _ints(_LAST_SHIFT)))
        n = n_bits.literal_value
        bits = builder.and_(builder.lshr(bits, _ints(low.literal_value)), _ints((1 << n) - 1))
        whole = builder.sitofp(bits, VECTOR)
        return builder.fmul(builder.fadd(whole, _constant(0.5)), _constant(2.0**-n))

    return vector(seed, start, low, n_bits), generate


@intrinsic
def _compiled_exponent(_context: Any, a: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        bits = builder.lshr(builder.bitcast(args[0], _INTS), _ints(_FRACTION_BITS))
        return builder.sitofp(builder.sub(bits, _ints(_BIAS)), VECTOR)

    return vector(a), generate


@intrinsic
def _compiled_significand(_context: Any, a: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        fraction = builder.and_(builder.bitcast(args[0], _INTS), _ints((1 << _FRACTION_BITS) - 1))
        return builder.bitcast(builder.or_(fraction, _ints(_BIAS << _FRACTION_BITS)), VECTOR)

    return vector(a), generate


@intrinsic
def _compiled_square_root(_context: Any, a: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        function_type = ir.FunctionType(VECTOR, [VECTOR])
        function = cgutils.get_or_insert_function(builder.module, function_type, f"llvm.sqrt.v{WIDTH}f64")
        return builder.call(function, args)

    return vector(a), generate


def _python_random_numbers(seed: Any, start: int, low: int, n_bits: int) -> Any:
    """Return random numbers start, start + 1, … of the sequence that a seed begins, an uint64 array, shape (1, 1).

    A number is (k + 1/2) / 2^n_bits, where k are that many bits of a hash, from bit `low` on; both are literals. Up to
    52 bits it is exact, and so in (0, 1); the largest of 53 bits rounds to 1.

    Source: Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators", SplitMix64: hash i is one of
    the seed plus (i + 1) times a constant.
    """
    bits = seed[0] + np.arange(start + 1, start + 1 + WIDTH, dtype=np.uint64) * np.uint64(_GAMMA)
    for shift, factor in _MIXERS:
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    bits ^= bits >> np.uint64(_LAST_SHIFT)
    return ((bits >> np.uint64(low) & np.uint64((1 << n_bits) - 1)) + 0.5) * 2.0**-n_bits


def _python_exponent(a: Any) -> Any:
    """Return the integers e with a = s 2ᵉ, 1 <= s < 2; a is positive and normal."""
    return np.frexp(a)[1] - 1.0


def _python_significand(a: Any) -> Any:
    """Return the numbers s with a = s 2ᵉ, 1 <= s < 2; a is positive and normal."""
    return np.frexp(a)[0] * 2.0


def _python_square_root(a: Any) -> Any:
    """Return √a."""
    return np.sqrt(a)


random_numbers: Any = _python_random_numbers if INTERPRETED else _compiled_random_numbers
exponent: Any = _python_exponent if INTERPRETED else _compiled_exponent
significand: Any = _python_significand if INTERPRETED else _compiled_significand
square_root: Any = _python_square_root if INTERPRETED else _compiled_square_root
