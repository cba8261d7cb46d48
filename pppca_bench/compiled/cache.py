"""Cache of compiled kernels on disk, without Numba.

Each kernel has a file. The name ends in two digests: of the platform (processor, Python, Numba, LLVM, NumPy, Numba's
settings), and of the sources of all modules that the kernel's module imports, directly or indirectly. An edit thus
invalidates the machine code, and a kernel counts as compiled if its file exists. The file ends in a digest of its
content. Damaged files, and files that other users can write, are ignored.
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

from pppca_bench.files import exposure, open_own

PACKAGE: Final = Path(__file__).parents[1]

FAMILIES: Final = {
    "evolution": ("engines.evolution:evolve",),
    "hebbian": ("engines.gha_epochs:learn_epochs",),
    "streaming": ("engines.streaming_updates:learn_stream",),
    "batch_training": ("classifiers.learning_rules:train_until_any_stops",),
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
_SETTINGS: Final = (
    "CPU_NAME",
    "CPU_FEATURES",
    "OPT",
    "ENABLE_AVX",
    "LOOP_VECTORIZE",
    "SLP_VECTORIZE",
    "BOUNDSCHECK",
)
_IMPORT: Final = re.compile(r"^from pppca_bench((?:\.\w+)*) import (\([^)]*\)|.*)$", re.MULTILINE)
_DIGEST_SIZE: Final = 32


def is_compiled(family: str) -> bool:
    """Return whether all kernels of a family of `FAMILIES` are cached; this takes a millisecond or two."""
    return not _compiles() or all(
        load(file_name(*kernel)) is not None for kernel in _kernels(family)
    )


def compile_family(family: str) -> None:
    """Compile the kernels of a family of `FAMILIES`, or load them from the cache.

    Processes may compile different families at the same time, since no kernel belongs to two families.
    """
    for module, function in _kernels(family):
        compiled = getattr(import_module(module), function)
        if _compiles():
            compiled.ensure_compiled()


def cache_problem() -> str | None:
    """Return a message with a remedy if no cache folder is writable, otherwise None."""
    reasons = folder_problems()
    if None in reasons.values():
        return None
    places = "; ".join(f"{folder}: {reason}" for folder, reason in reasons.items())
    return f"compiled kernels cannot be cached, so every process compiles them again ({places}). Set NUMBA_CACHE_DIR."


def folder_problems() -> dict[Path, str | None]:
    """Return, for each cache folder, the reason why it is not writable, or None."""
    return {folder: _exposure(folder) or write_problem(folder) for folder in folders()}


def write_problem(folder: Path) -> str | None:
    """Return the reason why a folder, or its nearest existing parent, is not writable, or None."""
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
    cache folder, in case the package is read-only. Outside the package, the folder's name contains a digest of the
    package's path, since several copies of the package may share the parent folder.
    """
    folder_name = f"{PACKAGE.name}-{hashlib.sha256(str(PACKAGE).encode()).hexdigest()[:12]}"
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return [Path(chosen) / folder_name]
    try:
        return [
            PACKAGE / "__pycache__",
            Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / folder_name,
        ]
    except RuntimeError:  # no home folder
        return [PACKAGE / "__pycache__"]


def file_name(module: str, function: str) -> str:
    """Return the cache file name of a kernel for the current sources of its dotted module."""
    digest = hashlib.sha256()
    for name, source in sorted(sources_of(module).items()):
        digest.update(name.encode() + b"\0" + source + b"\0")
    return f"{function}-{_platform_digest()}-{digest.hexdigest()[:16]}.nbc"


def load(name: str) -> bytes | None:
    """Return the machine code from the first folder with an intact file of this name, or None."""
    for folder in folders():
        if _exposure(folder) is None and (content := read_verified(folder / name)):
            return content
    return None


def save(name: str, content: bytes) -> None:
    """Write machine code to the first writable folder, if any, and remove its files for earlier sources."""
    for folder in folders():
        temporary = folder / f"{name}.{uuid4().hex}"
        try:
            folder.mkdir(mode=0o755, parents=True, exist_ok=True)
            if _exposure(folder) is not None:
                continue
            # Renamed when complete, so that other processes never read an incomplete file.
            temporary.touch(mode=0o644)
            temporary.write_bytes(with_digest(content))
            temporary.replace(folder / name)
            for path in folder.glob(f"{name.rpartition('-')[0]}-*"):
                if not path.name.startswith(name):
                    path.unlink(missing_ok=True)
        except OSError:
            continue
        return


def with_digest(content: bytes) -> bytes:
    """Return a file's content with its digest appended."""
    return content + hashlib.sha256(content).digest()


def read_verified(path: Path) -> bytes | None:
    """Return a file's content without its digest, or None if it is unreadable or damaged."""
    try:
        with os.fdopen(open_own(path), "rb") as file:
            stored = file.read()
    except OSError:
        return None
    content = stored[:-_DIGEST_SIZE]
    return content if with_digest(content) == stored else None


def _exposure(folder: Path) -> str | None:
    try:
        return exposure(folder.stat())
    except OSError:  # the folder does not exist yet, or `write_problem` gives the reason
        return None


def _compiles() -> bool:
    return os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"


def _kernels(family: str) -> list[tuple[str, str]]:
    """Return the dotted module and the function of each kernel of a family."""
    split = (kernel.split(":") for kernel in FAMILIES[family])
    return [(f"{PACKAGE.name}.{module}", function) for module, function in split]


@lru_cache(maxsize=1)
def _platform_digest() -> str:
    """Return a digest of the platform: processor, Python, libraries and Numba's settings."""
    try:
        first = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n\n")[0]
        names = ("model name", "flags", "Features", "CPU part")
        processor = [line for line in first.splitlines() if line.startswith(names)]
    except OSError:
        processor = [platform.processor()]
    libraries = [f"{name} {version(name)}" for name in ("numba", "llvmlite", "numpy")]
    settings = [f"{name}={os.environ.get(f'NUMBA_{name}', '')}" for name in _SETTINGS]
    parts = [
        sys.implementation.cache_tag or sys.version,
        platform.machine(),
        *processor,
        *libraries,
        *settings,
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def sources_of(module: str) -> dict[str, bytes]:
    """Return the sources of a module and of all modules of this package that it imports, directly or indirectly.

    ``__init__`` modules are left out, since they define no kernels.
    """
    sources: dict[str, bytes] = {}
    pending = [module]
    while pending:
        name = pending.pop()
        path = PACKAGE.joinpath(*name.split(".")[1:]).with_suffix(".py")
        if name not in sources and path.is_file():
            sources[name] = path.read_bytes()
            for match in _IMPORT.finditer(sources[name].decode()):
                imported = PACKAGE.name + match[1]
                # Imported names may be modules themselves.
                pending += [
                    imported,
                    *(f"{imported}.{part}" for part in re.findall(r"\w+", match[2])),
                ]
    return sources
