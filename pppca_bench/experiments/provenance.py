"""Provenance of results: code, algorithms, configs, libraries, interpreter and machine."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pppca_bench.compiled.cache import PACKAGE
from pppca_bench.version import __version__

LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn")

_NOT_IN_WORKERS = frozenset({"cli", "pages", "results", "verdicts"})
"""Rooms of the package that no worker imports."""


def provenance_text(configs: Mapping[str, str] | None = None) -> str:
    """Return JSON text: versions of code, libraries and Python, processor, kernels, BLAS, configs.

    ``configs`` are the SHA-256 digests of the configs' texts, by name.
    """
    facts = {
        "pppca": code_version(),
        "configs": dict(configs or {}),
        "python": platform.python_version(),
        "processor": _processor(),
        "kernels": _kernels(),
        "blas": _blas(),
        "system": f"{platform.system()} {platform.machine()}",
        **{library: version(library) for library in LIBRARIES},
    }
    return json.dumps(facts, sort_keys=True)


@cache
def code_version() -> str:
    """Return the package's version and, in a git checkout, its commit, with ``.dirty`` if files were changed."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return __version__
    commands = (
        "rev-parse --short=12 HEAD",
        "status --porcelain --untracked-files=no -- pppca_bench",
    )
    # GIT_DIR and the like, which a hook of git sets, name another repository.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    options: Any = {
        "cwd": root,
        "env": environment,
        "capture_output": True,
        "text": True,
        "timeout": 10,
    }
    try:
        commit, changed = (
            subprocess.run(["git", *command.split()], check=True, **options) for command in commands
        )
    except (OSError, subprocess.SubprocessError):
        return __version__
    return f"{__version__}+{commit.stdout.strip()}{'.dirty' if changed.stdout else ''}"


@cache
def fingerprint() -> dict[str, str]:
    """Return versions and a digest of code and libraries, which must be the same in all processes."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*")):
        name = path.relative_to(PACKAGE)
        if path.suffix in (".py", ".csv") and name.parts[0] not in _NOT_IN_WORKERS:
            digest.update(name.as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return {
        "pppca": __version__,
        "sources of pppca": digest.hexdigest()[:16],
        "Python": platform.python_version(),
        **{library: version(library) for library in LIBRARIES},
    }


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _kernels() -> str:
    """Return the registers for which kernels are compiled, and Numba's variables that change the code."""
    from pppca_bench.compiled.operation import REGISTERS

    set_here = sorted(
        name for name in os.environ if name.startswith("NUMBA_") and not name.endswith("_DIR")
    )
    registers = f"{REGISTERS.n_registers} registers of {REGISTERS.n_numbers} float64"
    return ", ".join([registers, *(f"{name}={os.environ[name]}" for name in set_here)])


@cache
def _blas() -> str:
    """Return the name, the version and, if known, the kernels of NumPy's BLAS library."""
    import numpy as np
    from threadpoolctl import threadpool_info

    built = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    loaded = [
        library.get("architecture")
        for library in threadpool_info()
        if library["user_api"] == "blas"
    ]
    return " ".join(filter(None, [built.get("name"), built.get("version"), *loaded[:1]]))
