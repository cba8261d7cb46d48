"""What a stored number came from: code, libraries, interpreter and machine."""

from __future__ import annotations

import json
import platform
import subprocess
from functools import cache
from importlib.metadata import version
from pathlib import Path

from pppca_bench import __version__

_LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn")


@cache
def describe() -> str:
    """Return JSON text with code version, library versions, Python and processor."""
    facts = {
        "pppca": code_version(),
        "python": platform.python_version(),
        "processor": _processor(),
        "system": f"{platform.system()} {platform.machine()}",
        **{library: version(library) for library in _LIBRARIES},
    }
    return json.dumps(facts, sort_keys=True)


@cache
def code_version() -> str:
    """Return the package's version and, in a git checkout, its commit, marked when files were changed."""
    root = Path(__file__).resolve().parents[1]
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
