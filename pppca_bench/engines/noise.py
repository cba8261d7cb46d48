"""Normally distributed noise in compiled code, eight numbers per register."""

import math
from typing import Any

import numpy as np

from pppca_bench.compiled.jit import part
from pppca_bench.compiled.simd import (
    add,
    broadcast,
    divide,
    exponent,
    fma,
    multiply,
    random_uniform,
    significand,
    splat,
    sqrt,
    subtract,
)

_RADIUS_BITS = 38
_ANGLE_BITS = 64 - _RADIUS_BITS

# Coefficients of x², x⁴, … in the series of artanh(x) · 2 / x, sin(x) / x and cos(x).
_LOGARITHM = np.array([[2.0 / n for n in range(1, 14, 2)]])
_SINE = np.array([[(-1.0) ** n / math.factorial(2 * n + 1) for n in range(8)]])
_COSINE = np.array([[(-1.0) ** n / math.factorial(2 * n) for n in range(9)]])
_LN_2 = math.log(2.0)
_SQRT_2 = math.sqrt(2.0)


@part
def normal_pair(seed: np.uint64, start: int) -> tuple[Any, Any]:
    """Return two vectors of independent standard normal numbers.

    Source: Box and Muller 1958, "A note on the generation of random normal deviates": √(−2 ln u) times the cosine and
    the sine of 2 π v.

    Choice: u and v have 38 and 26 of the 64 bits of a random number, so that the noise is at most 7.4 standard
    deviations. The logarithm, sine and cosine are sums of their series, exact to 1e-11.

    Parameters
    ----------
    seed : uint64
    start : int
        Place in the seed's sequence, of which eight numbers are used.
    """
    u = random_uniform(seed, start, _ANGLE_BITS, _RADIUS_BITS)
    v = random_uniform(seed, start, 0, _ANGLE_BITS)
    # sin h and cos h of half the angle, h = π (v − 1/2), by Horner's rule: the series converge fast near zero.
    h = multiply(subtract(v, splat(0.5)), splat(math.pi))
    squared = multiply(h, h)
    sine, cosine = broadcast(_SINE, 0, 7), broadcast(_COSINE, 0, 8)
    for n in range(6, -1, -1):
        sine = fma(sine, squared, broadcast(_SINE, 0, n))
    for n in range(7, -1, -1):
        cosine = fma(cosine, squared, broadcast(_COSINE, 0, n))
    sine = multiply(sine, h)
    # √(−2 ln u) times cos 2h = (c + s)(c − s) and sin 2h = 2 s c, where c = cos h, s = sin h
    logarithm = _minus_logarithm(u)
    radius = sqrt(add(logarithm, logarithm))
    first = multiply(add(cosine, sine), subtract(cosine, sine))
    second = multiply(add(sine, sine), cosine)
    return multiply(radius, first), multiply(radius, second)


@part
def _minus_logarithm(u: Any) -> Any:
    """Return −ln u = −e ln 2 − ln √2 − ln (s / √2) of u = s 2ᵉ in (0, 1), 1 <= s < 2."""
    # −ln (s / √2) = 2 artanh(x) with x = (√2 − s) / (√2 + s), |x| <= 0.18
    s, root = significand(u), splat(_SQRT_2)
    x = divide(subtract(root, s), add(root, s))
    squared = multiply(x, x)
    series = broadcast(_LOGARITHM, 0, 6)
    for n in range(5, -1, -1):
        series = fma(series, squared, broadcast(_LOGARITHM, 0, n))
    return fma(series, x, fma(exponent(u), splat(-_LN_2), splat(-_LN_2 / 2.0)))
