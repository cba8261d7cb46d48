"""Compiled normal noise, eight numbers to a register, from seeds."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pppca_bench.compiled.jit import part
from pppca_bench.compiled.random_vectors import exponent, random_numbers, significand, square_root
from pppca_bench.compiled.simd import add, add_product, divide, spread, subtract, zero

Seed = NDArray[np.uint64]

_RADIUS_BITS = 38
_ANGLE_BITS = 64 - _RADIUS_BITS

_LOGARITHM = np.array([[2.0 / n for n in range(1, 14, 2)]])
_SINE = np.array([[(-1.0) ** n / math.factorial(2 * n + 1) for n in range(8)]])
_COSINE = np.array([[(-1.0) ** n / math.factorial(2 * n) for n in range(9)]])
_CONSTANTS = np.array([[math.sqrt(2.0), -math.log(2.0), -math.log(2.0) / 2.0, math.pi, 0.5]])


@part
def normal_pair(seed: Seed, start: int) -> tuple[Any, Any]:
    """Return sixteen independent numbers of the standard normal distribution as two vectors.

    Source: Box and Muller 1958, "A note on the generation of random normal deviates": √(−2 ln u) times the cosine and
    the sine of 2 π v.

    Choice: both uniform numbers come from the 64 bits of one random number, 38 for u and 26 for v, so that no noise is
    larger than 7.4 standard deviations. The logarithm, sine and cosine are sums of their series, right to 1e-11.

    Parameters
    ----------
    seed : uint64 array of shape (1, 1)
    start : int
        Numbers of the seed's sequence that were used before; eight are used.
    """
    u = random_numbers(seed, start, _ANGLE_BITS, _RADIUS_BITS)
    half_angle = random_numbers(seed, start, 0, _ANGLE_BITS)
    half_angle = add_product(zero(), subtract(half_angle, spread(_CONSTANTS, 0, 4)), spread(_CONSTANTS, 0, 3))
    squared = add_product(zero(), half_angle, half_angle)
    sine, cosine = spread(_SINE, 0, 7), spread(_COSINE, 0, 8)
    for n in range(6, -1, -1):
        sine = add_product(spread(_SINE, 0, n), sine, squared)
    for n in range(7, -1, -1):
        cosine = add_product(spread(_COSINE, 0, n), cosine, squared)
    sine = add_product(zero(), sine, half_angle)
    # √(-2 ln u) of the double angle's sine, 2 s c, and cosine, (c + s)(c - s).
    radius = square_root(add(_minus_logarithm(u), _minus_logarithm(u)))
    first = add_product(zero(), add(cosine, sine), subtract(cosine, sine))
    second = add_product(zero(), add(sine, sine), cosine)
    return add_product(zero(), radius, first), add_product(zero(), radius, second)


@part
def _minus_logarithm(u: Any) -> Any:
    """Return −ln u for a vector of numbers in (0, 1): those of its powers of two, of √2, and of what is left.

    The last is 2 artanh((s − √2) / (s + √2)), where the quotient is at most 0.18.
    """
    s, root = significand(u), spread(_CONSTANTS, 0, 0)
    quotient = divide(subtract(root, s), add(root, s))
    squared = add_product(zero(), quotient, quotient)
    series = spread(_LOGARITHM, 0, 6)
    for n in range(5, -1, -1):
        series = add_product(spread(_LOGARITHM, 0, n), series, squared)
    return add_product(add_product(spread(_CONSTANTS, 0, 2), exponent(u), spread(_CONSTANTS, 0, 1)), series, quotient)
