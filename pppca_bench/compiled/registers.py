"""Vector registers of the processor that kernels are compiled for, from which each kernel derives its tiles."""

from typing import Any, Final, NamedTuple

import llvmlite.binding as llvm  # type: ignore[import-untyped]
import numba
import numba.core.codegen

_config: Any = numba.config
_codegen: Any = numba.core.codegen

_PROBE: Final = """
define <8 x double> @sum(<8 x double> %x) {
  %y = fadd <8 x double> %x, %x
  ret <8 x double> %y
}
"""


class Registers(NamedTuple):
    """Float64 numbers in a vector register, and how many registers there are."""

    n_numbers: int
    n_registers: int


def _registers() -> Registers:
    """Return the registers in which LLVM adds eight numbers, with the processor and features that Numba compiles for.

    Names of features alone do not decide it: some processors have the widest registers, and LLVM avoids them.
    """
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    given = _config.CPU_FEATURES
    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=_config.CPU_NAME or llvm.get_host_cpu_name(),
        features=_codegen.get_host_cpu_features() if given is None else given,
    )
    assembly = machine.emit_assembly(llvm.parse_assembly(_PROBE))
    if "zmm" in assembly:
        return Registers(8, 32)
    if "ymm" in assembly:
        return Registers(4, 16)
    return Registers(2, 16 if "xmm" in assembly else 32)


REGISTERS: Final = _registers()
"""AVX-512 has 32 of eight numbers, AVX2 16 of four, SSE2 16 of two, aarch64 32 of two."""

HOLDS_32_VECTORS: Final = REGISTERS.n_registers * REGISTERS.n_numbers >= 32 * 8
"""Whether the registers hold 32 vectors of eight numbers, of which kernels are written; otherwise tiles are smaller."""
