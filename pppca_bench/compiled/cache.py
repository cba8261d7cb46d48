"""Where compiled kernels are kept from one run to the next, and whether they are there: all without importing Numba.

A file's name holds two digests: one of what the machine code is made for (processor, Python, Numba, LLVM, NumPy,
Numba's settings), one of the sources of every module that the kernel's own module imports, directly or not. So no
code of an earlier version of any of them can run after an edit, and whether a kernel must be compiled is a matter of
looking for a file. Files end in a digest of their content; one that is damaged counts as missing.
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
    "spanned_variance": ("engines.fitness:spanned_variances",),
}
"""Kernels by what needs them together, as "module:function" below the package; what takes longest to compile first.

GHA and DGHA share one; NE-pPCA has two; RPROP trains by batches, backpropagation online; "network_errors" is the
genetic algorithm's on networks; "spanned_variance" is DGHA's with ``min_variance_ratio``.
"""

_SETTINGS: Final = ("CPU_NAME", "CPU_FEATURES", "OPT", "ENABLE_AVX", "LOOP_VECTORIZE", "SLP_VECTORIZE", "BOUNDSCHECK")
"""Environment variables of Numba, less NUMBA_, that change the machine code."""

_IMPORT: Final = re.compile(r"^from pppca_bench((?:\.\w+)*) import (\([^)]*\)|.*)$", re.MULTILINE)
_DIGEST_SIZE: Final = 32


def is_compiled(family: str) -> bool:
    """Tell whether a family's machine code is at hand, so that its first call does not compile.

    Takes a millisecond or two, and does not import Numba.

    Parameters
    ----------
    family : str
        A key of `FAMILIES`.
    """
    if not _compiles():
        return True
    return all(any(_is_kept(folder / name) for folder in folders()) for name in _names(family))


def compile_family(family: str) -> None:
    """Compile a family's kernels, each for the one signature that it has, or load them where they are kept.

    Two processes may compile different families at the same time: no kernel belongs to two.

    Parameters
    ----------
    family : str
        A key of `FAMILIES`.
    """
    for kernel in FAMILIES[family]:
        module, function = kernel.split(":")
        compiled = getattr(import_module(f"{PACKAGE.name}.{module}"), function)
        if _compiles():
            compiled.ensure_compiled()


def refusal() -> str | None:
    """Say in a sentence or two why compiled kernels cannot be kept, and what to do; None where they can."""
    refusals = []
    for folder in folders():
        if (reason := refusal_of(folder)) is None:
            return None
        refusals.append(f"{folder}: {reason}")
    places = "; ".join(refusals) or "there is no home folder"
    return f"compiled kernels cannot be kept, so every process compiles anew ({places}). Set NUMBA_CACHE_DIR."


def damaged() -> list[Path]:
    """Return the files of kept kernels that are cut off or changed: they are compiled anew and replaced."""
    return [path for family in FAMILIES for path in _damaged(family)]


def refusal_of(folder: Path) -> str | None:
    """Say why nothing can be written into a folder, or into the nearest one above that exists; None where it can."""
    try:
        while not folder.exists() and folder != folder.parent:
            folder = folder.parent
        with tempfile.TemporaryFile(dir=folder):
            return None
    except OSError as error:
        return error.strerror or str(error)


def folders() -> list[Path]:
    """Return where kernels may be kept, the first choice first.

    NUMBA_CACHE_DIR alone where it is set; else beside the package's byte code, then in the user's cache folder
    (XDG_CACHE_HOME is respected), which serves an installed package that cannot be written. Outside the package its
    path is part of the folder's name, for several copies may share it.
    """
    own = f"{PACKAGE.name}-{hashlib.sha256(str(PACKAGE).encode()).hexdigest()[:12]}"
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return [Path(chosen) / own]
    return [PACKAGE / "__pycache__", *(folder / own for folder in _user_cache())]


def file_name(module: str, function: str) -> str:
    """Return the name, without its ending, of the files of a kernel as it is written today.

    Parameters
    ----------
    module : str
        Dotted name, such as "pppca_bench.engines.gha_epochs".
    function : str
    """
    return f"{function}-{_platform_digest()}-{_source_digest(module)}"


def remove_old(folder: Path, name: str) -> None:
    """Remove a kernel's files of earlier sources for the same platform; ``name`` is what `file_name` returned."""
    kernel = name.rpartition("-")[0]
    for path in folder.glob(f"{kernel}-*.nb[ic]"):
        if not path.name.startswith(f"{name}."):
            path.unlink(missing_ok=True)


def sealed(content: bytes) -> bytes:
    """Return a file's content with its digest at the end."""
    return content + hashlib.sha256(content).digest()


def is_intact(path: Path) -> bool:
    """Tell whether a file's content is the one that was sealed; False where it cannot be read."""
    try:
        content = path.read_bytes()
    except OSError:
        return False
    return hashlib.sha256(content[:-_DIGEST_SIZE]).digest() == content[-_DIGEST_SIZE:]


def _compiles() -> bool:
    return os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"


def _names(family: str) -> list[str]:
    kernels = (kernel.split(":") for kernel in FAMILIES[family])
    return [file_name(f"{PACKAGE.name}.{module}", function) for module, function in kernels]


def _files(path: Path) -> tuple[Path, Path]:
    """Return the two files of a kernel: Numba's index, and its data, of which one signature makes one."""
    return path.with_name(f"{path.name}.nbi"), path.with_name(f"{path.name}.1.nbc")


def _is_kept(path: Path) -> bool:
    return all(map(is_intact, _files(path)))


def _damaged(family: str) -> Iterator[Path]:
    for name in _names(family):
        for folder in folders():
            yield from (path for path in _files(folder / name) if path.is_file() and not is_intact(path))


def _user_cache() -> list[Path]:
    """Return the user's cache folder as the system has it; nothing where there is no home folder."""
    try:
        home = Path.home()
    except RuntimeError:
        home = None
    if sys.platform == "win32":
        named, usual = os.environ.get("LOCALAPPDATA"), "AppData/Local"
    elif sys.platform == "darwin":
        named, usual = None, "Library/Caches"
    else:
        named, usual = os.environ.get("XDG_CACHE_HOME"), ".cache"
    if named:
        return [Path(named)]
    return [home / usual] if home else []


@lru_cache(maxsize=1)
def _platform_digest() -> str:
    """Return a short digest of what machine code depends on beside its source."""
    libraries = [f"{name} {version(name)}" for name in ("numba", "llvmlite", "numpy")]
    settings = [f"{name}={os.environ.get(f'NUMBA_{name}', '')}" for name in _SETTINGS]
    parts = [sys.implementation.cache_tag or sys.version, platform.machine(), _processor(), *libraries, *settings]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def _processor() -> str:
    """Name the processor and what it can do; Numba itself compares LLVM's name of it once more."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n\n")[0].splitlines()
    except OSError:
        return platform.processor()
    return "\n".join(line for line in lines if line.startswith(("model name", "flags", "Features", "CPU part")))


def _source_digest(module: str) -> str:
    digest = hashlib.sha256()
    for name, source in sorted(sources_of(module).items()):
        digest.update(name.encode() + b"\0" + source + b"\0")
    return digest.hexdigest()[:16]


def sources_of(module: str) -> dict[str, bytes]:
    """Return the source of a module and of every module of this package that it imports, directly or not.

    Parameters
    ----------
    module : str
        Dotted name. The packages that modules lie in are left out: no kernel is built from an ``__init__``.
    """
    found: dict[str, bytes] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = PACKAGE.joinpath(*name.split(".")[1:]).with_suffix(".py")
        if name not in found and path.is_file():
            found[name] = path.read_bytes()
            waiting += _imported(found[name].decode())
    return found


def _imported(source: str) -> Iterator[str]:
    """Yield what a module imports of this package, and what may be modules among the names it imports."""
    for match in _IMPORT.finditer(source):
        module = PACKAGE.name + match[1]
        yield module
        yield from (f"{module}.{name}" for name in re.findall(r"\w+", match[2]))
