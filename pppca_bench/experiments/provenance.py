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

if TYPE_CHECKING:
    from pppca_bench.runs import RunSpec

_LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn")
_FIRST_VERSION = 1
"""Version of every algorithm before provenance named them."""


def describe(configs: Mapping[str, str] | None = None) -> str:
    """Return JSON text with the versions of code, algorithms, libraries and Python, the configs, processor and BLAS.

    Parameters
    ----------
    configs : mapping of str to str, optional
        SHA-256 of the config files that asked for the numbers, by config name.
    """
    from pppca_bench.config.plan import ALGORITHM_VERSIONS  # slow to import, and only who records describes

    facts = {
        "pppca": code_version(),
        "algorithms": ALGORITHM_VERSIONS,
        "configs": dict(configs or {}),
        "python": platform.python_version(),
        "processor": _processor(),
        "blas": _blas(),
        "system": f"{platform.system()} {platform.machine()}",
        **{library: version(library) for library in _LIBRARIES},
    }
    return json.dumps(facts, sort_keys=True)


def superseded_lines(stored: Iterable[tuple[RunSpec, str | None]]) -> list[str]:
    """Say, in a line for each method and version, which stored results are computed anew.

    Parameters
    ----------
    stored : iterable of (RunSpec, str or None)
        Runs that are stored under the key of an older algorithm, and the provenance of what is stored.
    """
    counts = Counter(older for spec, description in stored for older in older_algorithms(spec.method, description))
    lines = []
    for (method, name, old, new), n in sorted(counts.items()):
        results = f"{n} stored result{'s' if n > 1 else ''} of {method} {'are' if n > 1 else 'is'}"
        of_what = f" of the {name}" if name != method else ""
        lines.append(f"{results} of version {old}{of_what}; version {new} computes {'them' if n > 1 else 'it'} anew.")
    return lines


def older_algorithms(method: str, description: str | None) -> list[tuple[str, str, int, int]]:
    """Return method, algorithm, stored version and today's version of each that a stored result is behind in."""
    from pppca_bench.config.plan import ALGORITHM_VERSIONS

    stored = json.loads(description or "{}").get("algorithms", {})
    return [
        (method, name, old, ALGORITHM_VERSIONS[name])
        for name in (method, "classifier")
        if (old := stored.get(name, _FIRST_VERSION)) < ALGORITHM_VERSIONS.get(name, old)
    ]


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
