"""Shipped configs and citations, outside the package in the repository, which the build copies into the package."""

from __future__ import annotations

from pathlib import Path

from pppca_bench.errors import ConfigError, nearest

_PACKAGE = Path(__file__).resolve().parents[1]
_ROOTS = (_PACKAGE, _PACKAGE.parent)
TEMPLATE = _PACKAGE / "references" / "template"
"""Folder with the files of a reference to start from, in which NAME stands for its name."""

LOCAL = Path("configs")
"""Folder in the working directory; its configs take precedence over shipped configs of the same name."""


def shipped_folder() -> Path:
    """Return the folder of the shipped configs."""
    return shipped("configs")


def shipped(name: str) -> Path:
    """Return a shipped file or folder of the repository; raise ConfigError if the installation lacks it."""
    for root in _ROOTS:
        if (root / name).exists():
            return root / name
    raise ConfigError(
        f"{_ROOTS[0] / name}: expected a shipped file or folder, got none. Install pppca-bench again."
    )


def shipped_experiments() -> dict[str, Path]:
    """Return the file of each shipped experiment, by name."""
    return {path.stem: path for path in sorted(shipped_folder().glob("*.yaml"))}


def purpose(experiment: Path) -> str:
    """Return the first sentence of the comment at the start of a config; "" without a comment."""
    lines = []
    for line in experiment.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.removeprefix("#").strip())
    first, end, _ = " ".join(lines).partition(". ")
    return first + end.strip()


def find_experiment(given: Path) -> Path:
    """Return the file for an argument, which is a path or the name of an experiment.

    Only a word without folder and suffix can be a name; other paths are returned unchanged. Choice: an existing path
    comes first, then NAME.yaml in ``configs`` of the working directory, where ``pppca init`` writes copies to edit, and
    then the shipped file, so that edited copies take precedence. Raises ConfigError with the nearest name.
    """
    try:
        if len(given.parts) != 1 or given.suffix in (".yaml", ".yml") or given.exists():
            return given
    except OSError:  # reading the file reports the cause
        return given
    name, experiments = str(given), shipped_experiments()
    edited = LOCAL / f"{name}.yaml"
    if edited.is_file():
        return edited
    if name in experiments:
        return experiments[name]
    expected = f"the path of a file or the name of a shipped config, got {name!r}{nearest(name, experiments)}"
    raise ConfigError(f"run: expected {expected}. `pppca list --shipped` lists them.")
