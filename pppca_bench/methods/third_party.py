"""Third-party code: module search path, modules as they are executed, and versions by digests of their sources."""

from __future__ import annotations

import ast
import hashlib
import importlib
import platform
import sys
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.metadata import Distribution, distribution, packages_distributions
from pathlib import Path
from sysconfig import get_paths
from types import ModuleType
from typing import Any

from pppca_bench.errors import ConfigError
from pppca_bench.methods.isolation import isolated

_INSTALLED = [Path(get_paths()[kind]) for kind in ("stdlib", "platstdlib", "purelib", "platlib")]
_INSTALLED.append(Path(__file__).parents[1])

_HEX_DIGITS = 12
_MOVE = "Move it into a module beside the config."

executed: dict[str, tuple[Path, str]] = {}
"""Files of third-party modules that are not installed and SHA-256 of their executed source, by name; imports first.

The digest of a module that was reloaded is "", since modules that import it have its earlier source.
"""

added_folders: list[str] = []
"""Folders that `extend_sys_path` appended."""

_owners = cache(packages_distributions)  # takes half a second


def extend_sys_path(folders: Iterable[Path]) -> None:
    """Append folders to the module search path, which worker processes inherit.

    Choice: at the end, so that modules beside a config do not shadow installed modules.
    """
    for folder in (str(folder.resolve()) for folder in folders):
        if folder not in sys.path:
            sys.path.append(folder)
            added_folders.append(folder)
            importlib.invalidate_caches()


def is_path(name: str) -> bool:
    """Return whether a name is a dotted path, ``"module:Class"``."""
    module, colon, attribute = name.partition(":")
    return bool(colon) and all(part.isidentifier() for part in [*module.split("."), attribute])


def check_not_shadowed(name: str, folder: Path) -> None:
    """Raise ConfigError if the folder has the module of a dotted path, but imports find another of that name."""
    top = name.partition(":")[0].partition(".")[0]
    beside = PathFinder.find_spec(top, [str(folder.resolve())])
    loaded = sys.modules.get(top)
    imported = (
        getattr(loaded, "__file__", None)
        if loaded
        else getattr(PathFinder.find_spec(top), "origin", None)
    )
    if (
        beside is None
        or beside.origin is None
        or imported is None
        or Path(beside.origin).samefile(imported)
    ):
        return
    raise ConfigError(
        f"{name}: expected the module {beside.origin}, got {imported}, which comes first. Rename yours."
    )


class SourceLoader(SourceFileLoader):
    """Loader that executes the source, never bytecode, which may be that of other source of equal size and time."""

    def get_code(self, fullname: str) -> Any:  # noqa: ARG002 the loader's interface
        """Return the code of the source file."""
        source = self.get_data(self.path)
        self._sha256 = hashlib.sha256(source).hexdigest()
        return self.source_to_code(source, self.path)

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module and record its source."""
        super().exec_module(module)
        is_reload = executed.pop(module.__name__, None) is not None
        executed[module.__name__] = Path(self.path), "" if is_reload else self._sha256


class _Finder:
    """Finder of modules that are not installed, such as those beside a config, which `SourceLoader` loads."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target)
        if (
            spec is None
            or type(spec.loader) is not SourceFileLoader
            or is_installed(str(spec.origin))
        ):
            return None
        spec.loader = SourceLoader(name, str(spec.origin))
        return spec


def is_installed(file: str) -> bool:
    """Return whether a file belongs to the standard library, to installed packages or to this package."""
    is_known = any(Path(file).is_relative_to(folder) for folder in _INSTALLED)
    # such as a user's own
    return is_known or not {"site-packages", "dist-packages"}.isdisjoint(Path(file).parts)


def record_sources() -> None:
    """Record the source of all modules that are imported from now on, by imports and reloads anywhere."""
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)


def version_of(estimator: type) -> str:
    """Return the version of a class's code, so that results of different code are not mixed.

    Choice: for a class in an installed distribution, the version of the distribution and a digest of the class's file,
    since a distribution may be reinstalled with other code and the same version; likewise Python's version for a class
    of the standard library. For other classes, also in editable
    installations, a digest of the module and of all modules that are not installed and that it imports, directly or
    indirectly, within functions too; all Python files of a package count. Computed import names are not detected.
    """
    name = estimator.__module__
    file = getattr(sys.modules.get(name), "__file__", None)
    where = f"{name}:{estimator.__qualname__}"
    if name == "__main__" or file is None:
        got = (
            "a class of a script or notebook"
            if name == "__main__"
            else "a class of a module without a file"
        )
        raise ConfigError(
            f"{where}: expected a class of a module, whose code has a version, got {got}. {_MOVE}"
        )
    top, is_package = name.partition(".")[0], Path(file).stem == "__init__"
    owner = _distribution_with(Path(file), top)
    if owner is not None:
        return f"{owner.version} {_digest([Path(file)])}"
    if top in sys.stdlib_module_names:
        return f"{platform.python_version()} {_digest([Path(file)])}"
    try:
        files = _imported_files(top, Path(file).parents[name.count(".") + is_package])
        if Path(file) not in files:
            raise ConfigError(
                f"{where}: expected a module named as its file, got {name} from {Path(file).name}. {_MOVE}"
            )
        reload_edited(set(map(str, files)))
        return _digest(files)
    except (OSError, IndexError, SyntaxError) as error:
        raise ConfigError(
            f"{where}: expected source that can be read, got {file} ({error}). {_MOVE}"
        ) from None


def reload_edited(files: Collection[str] = ()) -> bool:
    """Execute third-party modules again unless the code that runs is that of their files; return whether any was.

    ``files`` may have loaded modules that were executed before `record_sources`.
    """
    loaded = {
        name: str(getattr(module, "__file__", "")) for name, module in list(sys.modules.items())
    }
    unrecorded = [name for name, file in loaded.items() if file in files and file.endswith(".py")]
    unrecorded = [
        name for name in reversed(unrecorded) if name not in executed and name != "__main__"
    ]
    present = {name: path for name, (path, _) in executed.items() if path.is_file()}
    if not unrecorded and all(_sha256(path) == executed[name][1] for name, path in present.items()):
        return False
    for name in [*unrecorded, *(name for name in present if name in loaded)]:
        executed.pop(name, None)
        try:
            with isolated():
                SourceLoader(name, loaded[name]).exec_module(sys.modules[name])
        except (Exception, SystemExit) as error:  # noqa: BLE001 a third-party module may raise anything
            executed[name] = Path(loaded[name]), ""
            got = f"{type(error).__name__}: {error}"
            raise ConfigError(
                f"{loaded[name]}: expected a module that can be imported, got {got}."
            ) from None
    return True


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _imported_files(top: str, folder: Path) -> list[Path]:
    """Return the files of a module or package in a folder, and of its imports, direct or indirect, if not installed."""
    files, pending, seen = list[Path](), [top], {top}
    while pending:
        name = pending.pop()
        spec = PathFinder.find_spec(
            name, [str(folder)] if name == top else [*sys.path, str(folder)]
        )
        if spec is None:
            continue
        paths = [
            Path(path) for path in spec.submodule_search_locations or filter(None, [spec.origin])
        ]
        paths = [path for path in paths if path.parent == folder or not is_installed(str(path))]
        sources = sorted(
            file for path in paths for file in (path.rglob("*.py") if path.is_dir() else [path])
        )
        files += sources
        imported = {
            other for file in sources if file.suffix == ".py" for other in _imported_names(file)
        } - seen
        seen |= imported
        pending += sorted(imported, reverse=True)
    return files


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


@cache
def _distribution_with(file: Path, top: str) -> Distribution | None:
    """Return the installed distribution that contains a file of a top-level package, or None."""
    for owner in map(distribution, _owners().get(top, ())):
        root = Path(str(owner.locate_file("")))
        if file.is_relative_to(root) and file.relative_to(root).as_posix() in map(
            str, owner.files or ()
        ):
            return owner
    return None
