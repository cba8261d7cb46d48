"""Shipped configs: their folder, and their files by name.

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
"""Folder in the working directory whose configs take precedence over shipped configs of the same name."""

STUDIES = "studies"
"""Folder of the studies, in that of the experiments."""


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
    return {path.stem: path for path in sorted(shipped_folder().glob("*.yaml"))}


def shipped_studies() -> dict[str, Path]:
    """Return the file of each shipped study, by name."""
    return {path.stem: path for path in sorted((shipped_folder() / STUDIES).glob("*.yaml"))}


def find_experiment(given: Path) -> Path:
    """Return the file that an argument stands for: a path, or the name of an experiment.

    Choice: an existing path is taken first, then NAME.yaml in ``configs`` of the working directory, where
    ``pppca init`` puts copies to edit, and the shipped file last, so that an edited copy is never passed over.

    Parameters
    ----------
    given : Path
        As the user typed it. Only a word without folder and suffix can be a name; any other path is returned as it is.

    Raises
    ------
    ConfigError
        No config has that name; the message gives the nearest names.
    """
    return _find(given, LOCAL, shipped_experiments, "run", "config")


def find_study(given: Path) -> Path:
    """Return the file that an argument stands for: a path, or the name of a study; see `find_experiment`."""
    return _find(given, LOCAL / STUDIES, shipped_studies, "study", "study")


def _find(given: Path, local: Path, find_shipped: Callable[[], dict[str, Path]], command: str, kind: str) -> Path:
    name = str(given)
    try:
        is_path = len(given.parts) != 1 or given.suffix in (".yaml", ".yml") or given.exists()
    except OSError:  # the reader of the file reports what is wrong
        is_path = True
    if is_path:
        return given
    edited, shipped = local / f"{name}.yaml", find_shipped()
    if edited.is_file() or name in shipped:
        return edited if edited.is_file() else shipped[name]
    other, of_other_kind = ("study", shipped_studies()) if kind == "config" else ("run", shipped_experiments())
    hint = "`pppca init` writes all of them into a folder."
    if name in of_other_kind:
        hint = f"Try `pppca {other} {name}`."
    elif nearest := difflib.get_close_matches(name, shipped, n=3):
        hint = f"Did you mean {' or '.join(map(repr, nearest))}?"
    raise ConfigError(f"{command}: expected the path of a file or the name of a shipped {kind}, got {name!r}. {hint}")
