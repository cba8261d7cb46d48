"""Owns how the engines' kernels are compiled: those that Python calls, and their parts."""

from typing import Any

from numba import njit

_njit: Any = njit

_FUSED: Any = {"contract"}

kernel: Any = _njit(cache=True, nogil=True, no_cfunc_wrapper=True)
"""Compile a function that Python or another module calls, and keep the code on disk; threads may run it together."""

fused_kernel: Any = _njit(cache=True, nogil=True, no_cfunc_wrapper=True, fastmath=_FUSED)
"""The same, where a product and a sum may be rounded once, and nothing else may change."""

part: Any = _njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""Compile a function that kernels alone call: a third of the time, for it is kept with them and needs no own entry."""

fused_part: Any = _njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, fastmath=_FUSED)
"""The same of `fused_kernel`."""
