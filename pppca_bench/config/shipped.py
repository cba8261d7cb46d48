"""The configs that come with the package: where they are, and which file a name on the command line stands for.

In a repository they are its folder ``configs``; the build copies that into the package.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path

from pppca_bench.errors import ConfigError

_PACKAGE = Path(__file__).resolve().parents[1]
_FOLDERS = (_PACKAGE / "configs", _PACKAGE.parent / "configs")
LOCAL = Path("configs")
"""Folder in the working directory whose configs go before the shipped ones of the same name."""

STUDIES = "studies"
"""Folder of the studies, in that of the experiments."""

_SUFFIXES = (".yaml", ".yml")


def shipped_folder() -> Path:
    """Return the folder of the shipped configs.

    Raises
    ------
    ConfigError
        The installation lacks it.
    """
    for folder in _FOLDERS:
        if folder.is_dir():
            return folder
    raise ConfigError(
        f"{_FOLDERS[0]}: expected the folder of the shipped configs, got none. Install pppca-bench again."
    )


def shipped_experiments() -> dict[str, Path]:
    """Return the file of each shipped experiment, by name."""
    return _by_name(shipped_folder())


def shipped_studies() -> dict[str, Path]:
    """Return the file of each shipped study, by name."""
    return _by_name(shipped_folder() / STUDIES)


def find_experiment(given: Path) -> Path:
    """Return the file that an argument stands for: a path, or the name of an experiment.

    Choice: what exists under the path itself is taken first, then NAME.yaml in ``configs`` of the working directory,
    where ``pppca init`` puts copies to edit, and the shipped one last. So nobody runs the original of what they edited.

    Parameters
    ----------
    given : Path
        As the user typed it. Only a word without folder and suffix can be a name; any other path is returned as it is.

    Raises
    ------
    ConfigError
        It names nothing; the message gives the nearest names.
    """
    return _find(given, LOCAL, shipped_experiments, "config", "run")


def find_study(given: Path) -> Path:
    """Return the file that an argument stands for: a path, or the name of a study; see `find_experiment`."""
    return _find(given, LOCAL / STUDIES, shipped_studies, "study", "study")


def _find(given: Path, local: Path, find_shipped: Callable[[], dict[str, Path]], kind: str, command: str) -> Path:
    name = str(given)
    if len(given.parts) != 1 or given.suffix in _SUFFIXES or _is_there(given):
        return given
    edited = local / f"{name}.yaml"
    if edited.is_file():
        return edited
    shipped = find_shipped()
    if name in shipped:
        return shipped[name]
    raise ConfigError(
        f"{command}: expected the path of a file or the name of a shipped {kind}, got {name!r}."
        f" {_hint(name, kind, shipped)}"
    )


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # who reads it will say what is wrong
        return True


def _hint(name: str, kind: str, shipped: dict[str, Path]) -> str:
    other = {"config": ("study", shipped_studies), "study": ("run", shipped_experiments)}
    command, of_other_kind = other[kind]
    if name in of_other_kind():
        return f"Try `pppca {command} {name}`."
    nearest = difflib.get_close_matches(name, shipped, n=3)
    if nearest:
        return f"Did you mean {' or '.join(map(repr, nearest))}?"
    return "`pppca init` writes all of them into a folder."


def _by_name(folder: Path) -> dict[str, Path]:
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}
