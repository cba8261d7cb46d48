"""Kernels for registers of other sizes: the same bits, and no register that the processor lacks."""

import hashlib
import os
import sys

import numpy as np
import pytest
from command_line import output_of

from pppca_bench.classifiers import BackpropMLPClassifier, RpropMLPClassifier
from pppca_bench.compiled.operation import INTERPRETED
from pppca_bench.engines import DGHA, NEpPCA

AVX2 = {
    "NUMBA_CPU_NAME": "haswell",
    "NUMBA_CPU_FEATURES": "+avx,+avx2,+fma,+bmi,+bmi2,+f16c,+popcnt",
}
AVX512 = {
    "NUMBA_CPU_NAME": "skylake-avx512",
    "NUMBA_CPU_FEATURES": "+avx512f,+avx512dq,+avx512vl,+avx512bw",
}
GENERIC = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}

REGISTERS = "from pppca_bench.compiled.operation import REGISTERS; print(*REGISTERS)"
ASSEMBLY = """
from importlib import import_module
from pppca_bench.compiled import cache
for family in cache.FAMILIES:
    for module, function in cache._kernels(family):
        kernel = getattr(import_module(module), function)
        kernel.ensure_compiled()
        (compiled,) = kernel.overloads.values()
        assembly = compiled.library.get_asm_str()
        print(family, "ymm" in assembly, "zmm" in assembly)
"""

pytestmark = [pytest.mark.slow, pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")]


def run(program, settings, folder):
    """Run a program that compiles for other registers, with a cache of its own; return its lines."""
    path = os.pathsep.join(sys.path)
    return output_of(program, **settings, NUMBA_CACHE_DIR=str(folder), PYTHONPATH=path).splitlines()


def digits():
    """Return a digest of the results of all engines and of both learning rules, to the last bit."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((70, 19)) @ rng.standard_normal((19, 19)) * 0.1, np.arange(70) % 3
    arrays = [
        DGHA(tau=50.0, n_epochs=20, learning_rate=0.05, random_state=0).fit(X).components_,
        NEpPCA(tau=10.0, n_generations=10, random_state=0).fit(X).components_,
    ]
    # Tiles of many sizes, and more inputs than a sum takes at a time.
    wide = np.hstack([X, rng.standard_normal((70, 60))])
    for hidden in ((7, 6), (5,), (1, 3)):
        arrays += RpropMLPClassifier(hidden, max_epochs=20, random_state=0).fit(wide, y).coefs_
        arrays += BackpropMLPClassifier(hidden[:1], max_epochs=5, random_state=0).fit(X, y).coefs_
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()


@pytest.mark.parametrize(
    ("settings", "registers"), [(AVX512, "8 32"), (AVX2, "4 16"), (GENERIC, "2 16")]
)
def test_registers_match_numbas_target(settings, registers, tmp_path):
    assert run(REGISTERS, settings, tmp_path) == [registers]


@pytest.mark.parametrize("settings", [AVX2, GENERIC], ids=["avx2", "generic"])
def test_results_do_not_depend_on_the_registers_and_kernels_use_no_wider_ones(settings, tmp_path):
    lines = run(f"{ASSEMBLY}from test_registers import digits\nprint(digits())", settings, tmp_path)
    assert len(lines) >= 6
    assert lines.pop() == digits()
    assert {line.split(maxsplit=1)[1] for line in lines} == {f"{settings is AVX2} False"}
