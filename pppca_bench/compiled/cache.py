"""Cache of compiled kernels on disk, without Numba.

Each kernel has a file. The name ends in two digests: of the platform (processor, Python, Numba, LLVM, NumPy, Numba's
settings), and of the sources of all modules that the kernel's module imports, directly or indirectly. Machine code thus
never survives an edit, and a kernel is compiled if its file exists. The file ends in a digest of its content. Damaged
files count as missing, and so do files that other users may have written.
"""

import hashlib
import os
import platform
import re
import sys
import tempfile
from functools import lru_cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Final
from uuid import uuid4

from pppca_bench.files import exposure, open_shared

PACKAGE: Final = Path(__file__).parents[1]

FAMILIES: Final = {
    "evolution": ("engines.evolution:evolve",),
    "hebbian": ("engines.gha_epochs:learn_epochs",),
    "streaming": ("engines.streaming_updates:learn_stream",),
    "batch_training": ("classifiers.learning_rules:train_until_one_stops",),
    "online_training": ("classifiers.learning_rules:train_epochs",),
    "network_errors": ("classifiers.passes:measure_networks",),
    "linear_algebra": (
        "compiled.linear_algebra:sum_products",
        "compiled.linear_algebra:project_samples",
        "compiled.linear_algebra:diagonalise",
    ),
}
"""Kernels that are needed together, as "module:function" below the package; the longest to compile come first.

"evolution" belongs to NE-pPCA, "hebbian" to GHA and DGHA, "streaming" to the streaming methods, "batch_training" to
RPROP, "online_training" to backpropagation, "network_errors" to the genetic algorithm on networks, and "linear_algebra"
to all linear projections.
"""

# Environment variables of Numba, without NUMBA_, that change the machine code.
_SETTINGS: Final = ("CPU_NAME", "CPU_FEATURES", "OPT", "ENABLE_AVX", "LOOP_VECTORIZE", "SLP_VECTORIZE", "BOUNDSCHECK")
_IMPORT: Final = re.compile(r"^from pppca_bench((?:\.\w+)*) import (\([^)]*\)|.*)$", re.MULTILINE)
_DIGEST_SIZE: Final = 32


def is_compiled(family: str) -> bool:
    """Return whether the machine code of a family of `FAMILIES` is cached; takes a millisecond or two."""
    return not _compiles() or all(load(file_name(*kernel)) is not None for kernel in _kernels(family))


def compile_family(family: str) -> None:
    """Compile the kernels of a family of `FAMILIES`, or load them from the cache.

    Processes may compile different families at the same time, since no kernel belongs to two families.
    """
    for module, function in _kernels(family):
        compiled = getattr(import_module(module), function)
        if _compiles():
            compiled.ensure_compiled()


def refusal() -> str | None:
    """Return why no folder can store compiled kernels, and the remedy; None if a folder can."""
    reasons = refusals()
    if None in reasons.values():
        return None
    places = "; ".join(f"{folder}: {reason}" for folder, reason in reasons.items())
    return f"compiled kernels cannot be kept, so every process compiles them again ({places}). Set NUMBA_CACHE_DIR."


def refusals() -> dict[Path, str | None]:
    """Return for each folder of the cache why it cannot store kernels; None for a folder that can."""
    return {folder: _exposure(folder) or refusal_of(folder) for folder in folders()}


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

    NUMBA_CACHE_DIR, if set, is the only folder. Otherwise the package's ``__pycache__`` comes first, then the user's
    cache folder, for an installed package that is read-only. Outside the package the folder's name contains a digest of
    the package's path, since several copies of the package may share the parent folder.
    """
    own = f"{PACKAGE.name}-{hashlib.sha256(str(PACKAGE).encode()).hexdigest()[:12]}"
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return [Path(chosen) / own]
    try:
        return [PACKAGE / "__pycache__", Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / own]
    except RuntimeError:  # no home folder
        return [PACKAGE / "__pycache__"]


def file_name(module: str, function: str) -> str:
    """Return the name of a kernel's file for its current source, by the dotted name of its module."""
    digest = hashlib.sha256()
    for name, source in sorted(sources_of(module).items()):
        digest.update(name.encode() + b"\0" + source + b"\0")
    return f"{function}-{_platform_digest()}-{digest.hexdigest()[:16]}.nbc"


def load(name: str) -> bytes | None:
    """Return the machine code of a file name from the first folder with an intact file; None without such a folder."""
    for folder in folders():
        if _exposure(folder) is None and (content := content_of(folder / name)):
            return content
    return None


def save(name: str, content: bytes) -> None:
    """Write machine code to the first writable folder, if any, and remove the code of earlier sources there."""
    for folder in folders():
        temporary = folder / f"{name}.{uuid4().hex}"
        try:
            folder.mkdir(mode=0o755, parents=True, exist_ok=True)
            if _exposure(folder) is not None:
                continue
            # Renamed when complete, so that other processes never read a part of it.
            temporary.touch(mode=0o644)
            temporary.write_bytes(sealed(content))
            temporary.replace(folder / name)
            for path in folder.glob(f"{name.rpartition('-')[0]}-*"):
                if not path.name.startswith(name):
                    path.unlink(missing_ok=True)
        except OSError:
            continue
        return


def sealed(content: bytes) -> bytes:
    """Return a file's content with its digest appended."""
    return content + hashlib.sha256(content).digest()


def content_of(path: Path) -> bytes | None:
    """Return a file's content without its digest; None if it cannot be read or is damaged."""
    try:
        with os.fdopen(open_shared(path, only_own=True), "rb") as file:
            whole = file.read()
    except OSError:
        return None
    content = whole[:-_DIGEST_SIZE]
    return content if sealed(content) == whole else None


def _exposure(folder: Path) -> str | None:
    try:
        return exposure(folder.stat())
    except OSError:  # the folder does not exist yet, or `refusal_of` gives the reason
        return None


def _compiles() -> bool:
    return os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"


def _kernels(family: str) -> list[tuple[str, str]]:
    """Return the dotted module and the function of each kernel of a family."""
    split = (kernel.split(":") for kernel in FAMILIES[family])
    return [(f"{PACKAGE.name}.{module}", function) for module, function in split]


@lru_cache(maxsize=1)
def _platform_digest() -> str:
    """Return a digest of everything except the sources that machine code depends on."""
    try:
        first = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n\n")[0]
        names = ("model name", "flags", "Features", "CPU part")
        processor = [line for line in first.splitlines() if line.startswith(names)]
    except OSError:
        processor = [platform.processor()]
    libraries = [f"{name} {version(name)}" for name in ("numba", "llvmlite", "numpy")]
    settings = [f"{name}={os.environ.get(f'NUMBA_{name}', '')}" for name in _SETTINGS]
    parts = [sys.implementation.cache_tag or sys.version, platform.machine(), *processor, *libraries, *settings]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def sources_of(module: str) -> dict[str, bytes]:
    """Return the sources of a module and of all modules of this package that it imports, directly or indirectly.

    ``__init__`` modules are left out, since they define no kernels.
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
