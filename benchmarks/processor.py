"""The processor that kernels and peers in C are compiled for, and that measurements belong to."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from functools import cache

from pppca_bench.compiled.operation import REGISTERS


@cache
def lscpu() -> dict[str, str]:
    """Return the processor's properties by the names of lscpu; none where there is no lscpu."""
    try:
        listed = subprocess.run(
            ["lscpu"], capture_output=True, text=True, check=True
        ).stdout.splitlines()
    except FileNotFoundError:
        return {}
    return {
        name.strip(): value.strip() for name, _, value in (line.partition(":") for line in listed)
    }


def name() -> str:
    """Name the processor, and the registers that kernels use: NUMBA_CPU_NAME may leave out the widest."""
    facts = lscpu()
    model = facts.get("Model name", platform.machine())
    if "Model" in facts:
        model += f", family {facts.get('CPU family')}, model {facts['Model']}"
    return f"{model}: {REGISTERS.n_registers} registers of {REGISTERS.n_numbers} numbers"


def slug() -> str:
    """Return the name as a folder's."""
    return re.sub(r"\W+", "-", name().lower()).strip("-")


def architecture() -> str:
    """Return the processor's name for gcc: NUMBA_CPU_NAME, so that the peak has the registers of the kernels."""
    chosen = os.environ.get("NUMBA_CPU_NAME", "native")
    return "x86-64" if chosen == "generic" else chosen
