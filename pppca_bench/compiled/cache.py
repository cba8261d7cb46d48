"""Cache of compiled kernels on disk; it does not import Numba.

A file's name holds two digests: that of the platform (processor, Python, Numba, LLVM, NumPy, Numba's settings) and that
of the sources of all modules that the kernel's module imports, directly or not. So machine code never survives an edit,
and a kernel is compiled if its file exists. Files end in a digest of their content; a damaged file counts as missing.
"""

import hashlib
import os
import platform
import re
import sys
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).parents[1]

FAMILIES: Final = {
    "evolution": ("engines.fitness:sum_products", "engines.evolution:evolve"),
    "hebbian": ("engines.gha_epochs:learn_epochs",),
    "batch_training": ("classifiers.rprop:train_until_one_stops",),
    "online_training": ("classifiers.backprop:train_epochs",),
    "network_errors": ("classifiers.passes:measure_networks",),
}
"""Kernels that are needed together, as "module:function" below the package; the longest to compile come first.

"evolution" is NE-pPCA's, "hebbian" that of GHA and DGHA, "batch_training" RPROP's, "online_training"
backpropagation's, "network_errors" that of the genetic algorithm on networks.
"""

_SETTINGS: Final = ("CPU_NAME", "CPU_FEATURES", "OPT", "ENABLE_AVX", "LOOP_VECTORIZE", "SLP_VECTORIZE", "BOUNDSCHECK")
"""Environment variables of Numba, without NUMBA_, that change the machine code."""

_IMPORT: Final = re.compile(r"^from pppca_bench((?:\.\w+)*) import (\([^)]*\)|.*)$", re.MULTILINE)
_DIGEST_SIZE: Final = 32


def is_compiled(family: str) -> bool:
    """Return whether the machine code of a family of `FAMILIES` is cached, in a millisecond or two."""
    if not _compiles():
        return True
    return all(any(all(map(is_intact, files)) for files in candidates) for candidates in _candidates(family))


def compile_family(family: str) -> None:
    """Compile the kernels of a family of `FAMILIES`, or load them from the cache.

    Several processes may compile different families at the same time: no kernel belongs to two.
    """
    for kernel in FAMILIES[family]:
        module, function = kernel.split(":")
        compiled = getattr(import_module(f"{PACKAGE.name}.{module}"), function)
        if _compiles():
            compiled.ensure_compiled()


def refusal() -> str | None:
    """Return why no folder can cache kernels, and the remedy; None if a folder can."""
    reasons = {folder: refusal_of(folder) for folder in folders()}
    if None in reasons.values():
        return None
    places = "; ".join(f"{folder}: {reason}" for folder, reason in reasons.items())
    return f"compiled kernels cannot be kept, so every process compiles them again ({places}). Set NUMBA_CACHE_DIR."


def damaged() -> list[Path]:
    """Return the damaged files of the cache; their kernels are compiled again."""
    files = [file for family in FAMILIES for candidates in _candidates(family) for pair in candidates for file in pair]
    return [file for file in files if file.is_file() and not is_intact(file)]


def refusal_of(folder: Path) -> str | None:
    """Return why a folder, or its nearest parent that exists, cannot be written; None if it can."""
    try:
        while not folder.exists() and folder != folder.parent:
            folder = folder.parent
        with tempfile.TemporaryFile(dir=folder):
            return None
    except OSError as error:
        return error.strerror or str(error)


def folders() -> list[Path]:
    """Return the folders of the cache in order of preference.

    If NUMBA_CACHE_DIR is set, it is the only one; otherwise the package's ``__pycache__``, then the user's cache
    folder, for an installed package that cannot be written. Outside the package the folder's name contains a digest of
    the package's path, since several copies may share it.
    """
    own = f"{PACKAGE.name}-{hashlib.sha256(str(PACKAGE).encode()).hexdigest()[:12]}"
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return [Path(chosen) / own]
    try:
        return [PACKAGE / "__pycache__", Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / own]
    except RuntimeError:  # no home folder
        return [PACKAGE / "__pycache__"]


def file_name(module: str, function: str) -> str:
    """Return the name, without suffix, of a kernel's files for its current source.

    Parameters
    ----------
    module : str
        Dotted name, such as "pppca_bench.engines.gha_epochs".
    function : str
    """
    digest = hashlib.sha256()
    for name, source in sorted(sources_of(module).items()):
        digest.update(name.encode() + b"\0" + source + b"\0")
    return f"{function}-{_platform_digest()}-{digest.hexdigest()[:16]}"


def remove_old(folder: Path, name: str) -> None:
    """Remove a kernel's files of earlier sources for the same platform; ``name`` is the current `file_name`."""
    kernel = name.rpartition("-")[0]
    for path in folder.glob(f"{kernel}-*.nb[ic]"):
        if not path.name.startswith(f"{name}."):
            path.unlink(missing_ok=True)


def sealed(content: bytes) -> bytes:
    """Return a file's content with its digest appended."""
    return content + hashlib.sha256(content).digest()


def is_intact(path: Path) -> bool:
    """Return whether a file can be read and ends in the digest of its content."""
    try:
        content = path.read_bytes()
    except OSError:
        return False
    return hashlib.sha256(content[:-_DIGEST_SIZE]).digest() == content[-_DIGEST_SIZE:]


def _compiles() -> bool:
    return os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"


def _candidates(family: str) -> Iterator[list[tuple[Path, Path]]]:
    """Yield for each kernel of a family its pair of files in each folder: Numba's index, and one signature's data."""
    for kernel in FAMILIES[family]:
        module, function = kernel.split(":")
        name = file_name(f"{PACKAGE.name}.{module}", function)
        yield [(folder / f"{name}.nbi", folder / f"{name}.1.nbc") for folder in folders()]


@lru_cache(maxsize=1)
def _platform_digest() -> str:
    """Return a digest of everything but the source that machine code depends on."""
    libraries = [f"{name} {version(name)}" for name in ("numba", "llvmlite", "numpy")]
    settings = [f"{name}={os.environ.get(f'NUMBA_{name}', '')}" for name in _SETTINGS]
    parts = [sys.implementation.cache_tag or sys.version, platform.machine(), _processor(), *libraries, *settings]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def _processor() -> str:
    """Return the processor's name and instruction sets; when a file is loaded, Numba compares LLVM's name too."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n\n")[0].splitlines()
    except OSError:
        return platform.processor()
    return "\n".join(line for line in lines if line.startswith(("model name", "flags", "Features", "CPU part")))


def sources_of(module: str) -> dict[str, bytes]:
    """Return the sources of a module and of all modules of this package that it imports, directly or not.

    ``__init__`` modules are left out: no kernel is defined there.
    """
    sources: dict[str, bytes] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = PACKAGE.joinpath(*name.split(".")[1:]).with_suffix(".py")
        if name not in sources and path.is_file():
            sources[name] = path.read_bytes()
            for match in _IMPORT.finditer(sources[name].decode()):
                imported = PACKAGE.name + match[1]
                # Imported names may be modules themselves.
                waiting += [imported, *(f"{imported}.{part}" for part in re.findall(r"\w+", match[2]))]
    return sources
