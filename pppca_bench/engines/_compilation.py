"""Owns how the Hebbian kernels are compiled: those that Python calls, and their parts."""

from typing import Any

from numba import njit

_njit: Any = njit

kernel: Any = _njit(cache=True, no_cfunc_wrapper=True)
"""Compile a function that Python or another module calls, and keep the code on disk."""

part: Any = _njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""Compile a function that kernels alone call: a third of the time, for it is kept with them and needs no own entry."""
