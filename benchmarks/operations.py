"""Operations of an RPROP epoch beside its multiply-adds, and the bound of the share of the peak that follows."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial

from llvmlite import ir  # type: ignore[import-untyped]

from benchmarks.compiled import load_c
from benchmarks.measuring import Contestant, alternate, median_ratio
from pppca_bench.classifiers.lanes import LANES, write_slope, write_softsigns
from pppca_bench.classifiers.network import Architecture
from pppca_bench.compiled.operation import VECTOR

LOOPS = 20_000
OTHERS_A_LOOP = {"multiply": 16, "add": 16, "divide": 4, "load": 16, "store": 4}
"""The functions of peak.c, and how many of its operation each has in a loop."""

GROUP = 4
"""Sums of the softsign that share a division."""


@dataclass(frozen=True, slots=True)
class Operations:
    """Count operations on registers of eight nets, of a sample.

    ``multiply_adds`` are those of the products; ``squares``, those of the squared error, are not among them. Loads are
    left out: tiles load less than a number for two multiply-adds, which `measure_places` finds to take no place.
    """

    multiply_adds: float
    squares: float
    multiply: float
    add: float
    divide: float
    store: float


def net_multiply_adds(architecture: Architecture, n_samples: int) -> int:
    """Count an epoch of a net without shortcuts: outputs, gradient, and the errors passed back to hidden units.

    Online backpropagation adds the gradient to the weights as it computes it, which makes it the update.
    """
    weights = architecture.n_weights
    passed_back = sum(
        n_units * size
        for n_units, size in zip(
            architecture.layer_sizes[1:], architecture.hidden_layer_sizes, strict=True
        )
    )
    return n_samples * (2 * weights + passed_back)


def instructions(write: Callable[[ir.IRBuilder, list[ir.Value]], object], n: int) -> dict[str, int]:
    """Count LLVM's instructions, by name, that a function of the kernels writes for n vectors."""
    function = ir.Function(ir.Module(), ir.FunctionType(ir.VoidType(), [VECTOR] * n), "counted")
    block = function.append_basic_block()
    write(ir.IRBuilder(block), list(function.args))
    names = [instruction.opname for instruction in block.instructions]
    return {name: names.count(name) for name in names}


def sample_operations(architecture: Architecture, block_samples: int) -> Operations:
    """Count the operations of a sample's gradient, for a net without shortcuts and with linear outputs.

    Operands of another product are stored once: hidden units' values and all units' errors; so is the gradient, once a
    block, since the numbers of more samples would leave the cache.
    """
    hidden, n_outputs = sum(architecture.hidden_layer_sizes), architecture.n_outputs
    softsigns = instructions(write_softsigns, GROUP)
    slope = instructions(lambda builder, values: write_slope(builder, values[0]), 1)
    units = hidden / GROUP
    return Operations(
        multiply_adds=net_multiply_adds(architecture, 1),
        squares=n_outputs,
        # D = (what is passed back) f′ is one more.
        multiply=units * softsigns["fmul"] + hidden * (slope["fmul"] + 1),
        add=units * softsigns["fadd"] + hidden * slope["fsub"] + n_outputs,
        divide=units * softsigns["fdiv"],
        store=2 * hidden + n_outputs + architecture.n_weights / block_samples,
    )


@dataclass(frozen=True, slots=True)
class Peak:
    """The functions of peak.c: ``sums`` multiply-adds in registers a loop, each of ``numbers``."""

    library: ctypes.CDLL
    sums: int
    numbers: int

    def loops(self, name: str, n_loops: int) -> Callable[[], object]:
        """Return a call that makes loops of a function."""
        function = getattr(self.library, name)
        function.restype = ctypes.c_double
        return partial(function, ctypes.c_long(n_loops))

    def multiply_adds(self) -> Contestant:
        """Return multiply-adds alone, a millisecond or two; the units are millions."""
        n_loops = 10 * LOOPS
        return Contestant(
            self.loops("multiply_add", n_loops), n_loops * self.sums * self.numbers / 1e6
        )


def load_peak() -> Peak:
    """Return the peak for the processor at hand."""
    library = load_c("peak")
    return Peak(library, 4 * library.sums_of_a_turn(), library.numbers_of_a_sum())


def measure_places(peak: Peak) -> dict[str, float]:
    """Measure how many places of multiply-adds each other operation takes, where it stands among them."""
    names = ("multiply_add", *OTHERS_A_LOOP)
    contestants = {name: Contestant(peak.loops(name, LOOPS), LOOPS * peak.sums) for name in names}
    times = alternate(contestants, budget_s=4.0, clock=time.process_time)
    # Medians of the rounds' ratios: one round at a higher clock would shift the costs of all operations.
    longer = {
        name: median_ratio(times[name], times["multiply_add"]) - 1.0 for name in OTHERS_A_LOOP
    }
    return {name: max(0.0, longer[name]) * peak.sums / n for name, n in OTHERS_A_LOOP.items()}


def largest_share(counts: Operations, places: Mapping[str, float], n_nets: int) -> float:
    """Return the largest possible share of multiply-adds: of all places, in lanes with a net."""
    others = (field.name for field in fields(counts) if field.name in places)
    taken = (
        counts.multiply_adds
        + counts.squares
        + sum(places[name] * getattr(counts, name) for name in others)
    )
    return counts.multiply_adds / taken * n_nets / (LANES * -(-n_nets // LANES))
