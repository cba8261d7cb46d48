"""What a stored number came from: code, algorithms, configs, libraries, interpreter and machine."""

from __future__ import annotations

import json
import platform
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from pppca_bench import __version__
from pppca_bench.methods.registry import CLASSIFIERS, METHODS

if TYPE_CHECKING:
    from pppca_bench.runs import Cell

LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn")


def describe(configs: Mapping[str, str] | None = None) -> str:
    """Return JSON text with the versions of code, libraries and Python, the configs, processor and BLAS.

    Parameters
    ----------
    configs : mapping of str to str, optional
        SHA-256 of the config files that asked for the numbers, by config name.
    """
    facts = {
        "pppca": code_version(),
        "configs": dict(configs or {}),
        "python": platform.python_version(),
        "processor": _processor(),
        "blas": _blas(),
        "system": f"{platform.system()} {platform.machine()}",
        **{library: version(library) for library in LIBRARIES},
    }
    return json.dumps(facts, sort_keys=True)


def superseded_lines(stored: Iterable[tuple[Cell, Cell, int]]) -> list[str]:
    """Say, in a line for each cause, which stored results are computed anew.

    Parameters
    ----------
    stored : iterable of (Cell, Cell, int)
        Wanted cells, stored ones that differ in their data or algorithms, and how many of their runs are done.
    """
    causes = Counter[tuple[str, str]]()
    for wanted, found, n in stored:
        if wanted.data_sha256 != found.data_sha256:
            causes[wanted.problem, "other data; today's are run"] += n
        versions = dict(wanted.algorithms)
        for name, old in found.algorithms:
            if name in versions and versions[name] != old:
                of_what = f" of {name}" if name != wanted.method else ""
                causes[wanted.method, f"version {old}{of_what}; version {versions[name]} computes"] += n
    lines = []
    for (what, cause), n in sorted(causes.items()):
        are, them = ("are", "them") if n > 1 else ("is", "it")
        end = f"{cause} {them} anew." if cause.endswith("computes") else f"{cause} instead."
        lines.append(f"{n} stored result{'s' if n > 1 else ''} of {what} {are} of {end}")
    return lines


def older_algorithms(algorithms: Iterable[tuple[str, int | str]]) -> list[tuple[str, int | str, int | str]]:
    """Return name, stored version and today's version of each algorithm of the package that was changed since."""
    today = {entry.name: entry.version for entry in (*METHODS.values(), *CLASSIFIERS.values())}
    known = [(name, old, today[name]) for name, old in algorithms if name in today]
    return [(name, old, new) for name, old, new in known if isinstance(old, int) and isinstance(new, int) and old < new]


@cache
def code_version() -> str:
    """Return the package's version and, in a git checkout, its commit, marked when files were changed."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return __version__
    try:
        commit = _git(root, "rev-parse", "--short=12", "HEAD")
        dirty = _git(root, "status", "--porcelain", "--untracked-files=no", "--", "pppca_bench")
    except (OSError, subprocess.SubprocessError):
        return __version__
    return f"{__version__}+{commit}{'.dirty' if dirty else ''}"


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, timeout=10, check=True)
    return done.stdout.strip()


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


@cache
def _blas() -> str:
    """Return name, version and, where it tells, the kernels of the library behind NumPy's matrix products."""
    import numpy as np
    from threadpoolctl import threadpool_info

    built = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    loaded = [library.get("architecture") for library in threadpool_info() if library["user_api"] == "blas"]
    return " ".join(filter(None, [built.get("name"), built.get("version"), *loaded[:1]]))
