"""Third-party code: module search path, and versions of classes by their distributions or sources."""

from __future__ import annotations

import ast
import hashlib
import importlib
import platform
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from functools import cache
from importlib.machinery import PathFinder
from importlib.metadata import distributions
from pathlib import Path

from pppca_bench.errors import ConfigError

_HEX_DIGITS = 12
_MOVE = "Move it into a module beside the config."

added_folders: list[str] = []
"""Folders that `extend_sys_path` appended."""


def extend_sys_path(folders: Iterable[Path]) -> None:
    """Append folders to the module search path, which worker processes inherit.

    Choice: at the end, so that modules beside a config do not shadow installed modules.
    """
    for folder in (str(folder.resolve()) for folder in folders):
        if folder not in sys.path:
            sys.path.append(folder)
            added_folders.append(folder)
            importlib.invalidate_caches()


@contextmanager
def output_aside() -> Iterator[None]:
    """Send what third-party code prints in the block to standard error, since standard output has the results."""
    with redirect_stdout(sys.stderr):
        yield


def is_path(name: str) -> bool:
    """Return whether a name is a dotted path, ``"module:Class"``."""
    module, colon, attribute = name.partition(":")
    return bool(colon) and all(part.isidentifier() for part in [*module.split("."), attribute])


def check_not_shadowed(name: str, folder: Path) -> None:
    """Raise ConfigError if the folder has the module of a dotted path, but imports find another of that name."""
    top = name.partition(":")[0].partition(".")[0]
    beside = PathFinder.find_spec(top, [str(folder.resolve())])
    if beside is None or beside.origin is None:
        return
    if top in sys.modules:
        imported = getattr(sys.modules[top], "__file__", None)
    else:
        imported = getattr(PathFinder.find_spec(top), "origin", None)
    if imported is None or Path(beside.origin).samefile(imported):
        return
    raise ConfigError(
        f"{name}: expected the module {beside.origin}, got {imported}, which comes first. Rename yours."
    )


def version_of(estimator: type) -> str:
    """Return the version of a class's code, so that results of different code are not mixed.

    It is the version of the distribution that installed the class, or Python's for a class of the standard library. For
    any other class, also in editable installations, it is a digest of its file and of the modules in the same folder
    that this imports, directly or indirectly, within functions too; all Python files of a package count.

    Raises
    ------
    ConfigError
        The class has no file that can be read, or the file was edited since this process asked for the version first:
        the process may have imported other code.
    """
    version = _version_now(estimator)
    first = _first_version(estimator)
    if version != first:
        raise ConfigError(
            f"{estimator.__module__}:{estimator.__qualname__}: expected the code {first}, which this process has"
            f" imported, got {version}: the file was edited. Start Python, such as a notebook's kernel, again."
        )
    return version


@cache
def _first_version(estimator: type) -> str:
    return _version_now(estimator)


def _version_now(estimator: type) -> str:
    name = estimator.__module__
    where = f"{name}:{estimator.__qualname__}"
    top = name.partition(".")[0]
    imported = getattr(sys.modules.get(name), "__file__", None)
    if name == "__main__" or imported is None:
        kind = "script or notebook" if name == "__main__" else "module without a file"
        raise ConfigError(
            f"{where}: expected a class of a module, whose code has a version, got a class of a {kind}. {_MOVE}"
        )
    file = Path(imported)
    installed = _installed_version(file)
    if installed is not None:
        return installed
    if top in sys.stdlib_module_names:
        return platform.python_version()
    try:
        is_package = file.stem == "__init__"
        files = _imported_files(top, file.parents[name.count(".") + is_package])
        if file not in files:
            raise ConfigError(
                f"{where}: expected a module named as its file, got {name} from {file.name}. {_MOVE}"
            )
        return _digest(files)
    except (OSError, IndexError, SyntaxError) as error:
        raise ConfigError(
            f"{where}: expected source that can be read, got {file} ({error}). {_MOVE}"
        ) from None


@cache
def _installed_version(file: Path) -> str | None:
    """Return the version of the distribution that installed a file; None without any.

    Choice: the records of installed files are read as texts. To ask for the distributions of all packages, as
    `importlib.metadata` can, takes half a second, in each fresh worker.
    """
    for folder in file.parents:
        if str(folder) in sys.path:
            line = f"\n{file.relative_to(folder).as_posix()},"
            for owner in distributions(path=[str(folder)]):
                if line in f"\n{owner.read_text('RECORD')}":
                    return owner.version
    return None


def _imported_files(top: str, folder: Path) -> list[Path]:
    """Return the files of a module or package in a folder, and of all that it imports from this folder."""
    files, pending, seen = list[Path](), [top], {top}
    while pending:
        sources = _sources(pending.pop(), folder)
        files += sources
        for file in sources:
            imported = _imported_names(file) if file.suffix == ".py" else set()
            pending += sorted(imported - seen, reverse=True)
            seen |= imported
    return files


def _sources(name: str, folder: Path) -> list[Path]:
    """Return the files of a top-level module or package in a folder, sorted; none if the folder has no such module."""
    spec = PathFinder.find_spec(name, [str(folder)])
    if spec is None:
        return []
    if spec.submodule_search_locations is not None:
        packages = map(Path, spec.submodule_search_locations)
        return sorted(file for package in packages for file in package.rglob("*.py"))
    return [Path(spec.origin)] if spec.origin else []


def _imported_names(file: Path) -> set[str]:
    """Return the top-level names of the absolute imports in a Python file."""
    names = set[str]()
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names


def _digest(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:_HEX_DIGITS]
