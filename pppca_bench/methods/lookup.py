"""Methods and classifiers by name: registry, entry points of installed packages, dotted paths.

A dotted path, ``"mypackage.reducers:Spectral"``, names any third-party class with scikit-learn's `fit` and `transform`
or `predict`. An entry point of the group `METHOD_GROUP` or `CLASSIFIER_GROUP` gives such a class a short name; an
entry point that refers to a `Method` or `Classifier` also gives title, source and other attributes.

Choice: paths from a results database are never imported: only configs, the command line and entry points of installed
packages are trusted.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import inspect
import sys
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from importlib.machinery import PathFinder
from importlib.metadata import Distribution, EntryPoint, distribution, entry_points, packages_distributions
from pathlib import Path
from typing import Any

from pppca_bench.errors import ConfigError, UnknownNameError, nearest
from pppca_bench.methods.entry import Classifier, Entry, Method
from pppca_bench.methods.isolation import SourceLoader, executed, is_changed, is_installed, isolated, record_sources
from pppca_bench.methods.protocol import contract_of, import_estimator, import_object
from pppca_bench.methods.registry import CLASSIFIERS, METHODS

METHOD_GROUP, CLASSIFIER_GROUP = "pppca_bench.methods", "pppca_bench.classifiers"
_HEX_DIGITS = 12
_MOVE = "Move it into a module beside the config."
_versioned: dict[str, tuple[Path, str]] = {}
"""The sources in `executed` of which versions were made; a reload elsewhere changes `executed`."""

_owners = cache(packages_distributions)  # takes half a second


def find_method(name: str) -> Method:
    """Return the method with the name in ``method:`` of a config.

    Raises UnknownNameError for an unknown name, ConfigError for a class that cannot be imported or breaks the protocol.
    """
    return METHODS[name] if name in METHODS else _third_party_entry(name, METHOD_GROUP)


def find_classifier(name: str) -> Classifier:
    """Return the classifier with the name in ``rule:`` of a config; raises as `find_method` does."""
    return CLASSIFIERS[name] if name in CLASSIFIERS else _third_party_entry(name, CLASSIFIER_GROUP)


def method_names() -> list[str]:
    """Return the short names of all methods, in the registry and then in entry points."""
    return [*METHODS, *sorted(_entry_points(METHOD_GROUP).keys() - METHODS.keys())]


def classifier_names() -> list[str]:
    """Return the short names of all classifiers, in the registry and then in entry points."""
    return [*CLASSIFIERS, *sorted(_entry_points(CLASSIFIER_GROUP).keys() - CLASSIFIERS.keys())]


def stored_method(name: str) -> Method | None:
    """Return the method of stored runs, or None for methods that are not installed and for dotted paths."""
    return METHODS.get(name) or _installed(name, METHOD_GROUP)


def stored_classifier(name: str) -> Classifier | None:
    """Return the classifier of stored runs, as `stored_method` does."""
    return CLASSIFIERS.get(name) or _installed(name, CLASSIFIER_GROUP)


def title_of(name: str) -> str:
    """Return the title of a stored method, the class name in a dotted path, or else the stored name."""
    if entry := stored_method(name):
        return entry.title
    return name.partition(":")[2] if is_path(name) else name


def extend_sys_path(folders: Iterable[Path]) -> None:
    """Append folders to the module search path, which worker processes inherit.

    Choice: at the end, so that modules beside a config do not shadow installed modules.
    """
    for folder in (str(folder.resolve()) for folder in folders):
        if folder not in sys.path:
            sys.path.append(folder)
            importlib.invalidate_caches()


def is_path(name: str) -> bool:
    """Return whether a name is a dotted path, ``"module:Class"``."""
    module, colon, attribute = name.partition(":")
    return bool(colon) and all(part.isidentifier() for part in [*module.split("."), attribute])


def check_not_shadowed(name: str, folder: Path) -> None:
    """Raise ConfigError if another module shadows the module of a dotted path in a config's folder."""
    top = name.partition(":")[0].partition(".")[0]
    beside = PathFinder.find_spec(top, [str(folder.resolve())])
    imported = getattr(sys.modules.get(top), "__file__", None)
    if beside is None or beside.origin is None or imported is None or Path(beside.origin).samefile(imported):
        return
    raise ConfigError(f"{name}: expected the module {beside.origin}, got {imported}, which comes first. Rename yours.")


def _installed(name: str, group: str) -> Any:
    try:
        return _third_party_entry(name, group) if name in _entry_points(group) else None
    except ConfigError:  # reported by `pppca methods`; stored runs are readable without the method
        return None


@cache
def _entry_points(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name; among equal names, the first value in alphabetical order."""
    ordered = sorted(entry_points(group=group), key=lambda point: point.value, reverse=True)
    return {point.name: point for point in ordered}


@cache
def _third_party_entry(name: str, group: str) -> Any:
    """Return the registry entry for an entry point or a dotted path."""
    record_sources()
    point = _entry_points(group).get(name)
    if point is None:
        if not is_path(name):
            known = [*method_names(), *classifier_names()]
            hint = nearest(name, [other for other in known if other != name]) or "; if a package gave it, install it"
            raise UnknownNameError(f"expected a name that `pppca methods` prints, or module:Class, got {name!r}{hint}.")
        return _entry_at(name, group)
    kind = Method if group == METHOD_GROUP else Classifier
    try:
        target = import_object(point.value)
        if not isinstance(target, Entry):
            return replace(_entry_at(point.value, group), name=name)
        if not isinstance(target, kind):
            raise ConfigError(f"expected a {kind.__name__}, got a {type(target).__name__}.")
        return replace(target, name=name, version=version_of(import_estimator(target.estimator)), foreign=True)
    except ConfigError as error:
        owner = point.dist.name if point.dist is not None else "an installed package"
        raise ConfigError(f"{name}, the entry point of {owner} in {group}: {error}") from None


def _entry_at(path: str, group: str) -> Method | Classifier:
    """Return the registry entry for the class at a dotted path, which must follow the protocol."""
    estimator, title = import_estimator(path), path.partition(":")[2]
    # Mixins by name, so that scikit-learn is not imported.
    mixins = {base.__name__ for base in estimator.__mro__ if base.__module__ == "sklearn.base"}
    classifies = "ClassifierMixin" in mixins
    facts: dict[str, Any] = {
        "name": path,
        "title": title,
        "does": (inspect.getdoc(estimator) or "").strip().partition("\n")[0].rstrip(".") or title,
        "source": estimator.__module__,
        "estimator": path,
        "version": version_of(estimator),
        "foreign": True,
        "needs_numbers": "RegressorMixin" in mixins,
    }
    entry: Method | Classifier
    if group == CLASSIFIER_GROUP:
        entry = Classifier(**facts, regressor="" if classifies else path)
    elif callable(getattr(estimator, "transform", None)) or not callable(getattr(estimator, "predict", None)):
        entry = Method(**facts, makes="features")
    else:
        entry = Method(**facts, makes="classes", needs_classes=classifies)
    contract_of(entry)
    return entry


def version_of(estimator: type) -> str:
    """Return the version of a class's code, so that results of different code are not mixed.

    Choice: for a class in an installed distribution, the version of the distribution and a digest of the class's file,
    since a distribution may be reinstalled with other code and the same version. For other classes, also in editable
    installations, a digest of the module and of all modules that are not installed and that it imports, directly or
    indirectly, within functions too; all Python files of a package count. Computed import names are not detected.
    """
    name = estimator.__module__
    file = getattr(sys.modules.get(name), "__file__", None)
    where = f"{name}:{estimator.__qualname__}"
    if name == "__main__" or file is None:
        got = "a class of a script or notebook" if name == "__main__" else "a class of a module without a file"
        raise ConfigError(f"{where}: expected a class of a module, whose code has a version, got {got}. {_MOVE}")
    top, is_package = name.partition(".")[0], Path(file).stem == "__init__"
    owner = _distribution_with(Path(file), top)
    if owner is not None:
        return f"{owner.version} {_digest([Path(file)])}"
    try:
        files = _imported_files(top, Path(file).parents[name.count(".") + is_package])
        if Path(file) not in files:
            raise ConfigError(
                f"{where}: expected a module named as its file, got {name} from {Path(file).name}. {_MOVE}"
            )
        _execute_again({Path(file) for file in files})
        _versioned.update(executed)
        return _digest(files)
    except (OSError, IndexError) as error:
        raise ConfigError(f"{where}: expected source that can be read, got {file} ({error}). {_MOVE}") from None


def refresh() -> None:
    """Execute third-party modules again if one of their files has changed, so that the code that runs is the file's."""
    if any(map(is_changed, executed)) or any(executed.get(name, known) != known for name, known in _versioned.items()):
        _execute_again(set(), all_recorded=True)
        _third_party_entry.cache_clear()


def _execute_again(files: set[Path], *, all_recorded: bool = False) -> None:
    """Execute loaded modules of these files that were not executed from their present source, and what imports them."""
    loaded = {name: getattr(module, "__file__", None) for name, module in list(sys.modules.items())}
    names = [name for name, file in loaded.items() if file and Path(file) in files and file.endswith(".py")]
    if not all_recorded and all(name in executed and not is_changed(name) for name in names if name != "__main__"):
        return
    unrecorded = [name for name in reversed(names) if name not in executed and name != "__main__"]
    for name in [*unrecorded, *(name for name in executed if name in loaded and executed[name][0].is_file())]:
        file = str(loaded[name])
        try:
            with isolated():
                SourceLoader(name, file).exec_module(sys.modules[name])
        except (Exception, SystemExit) as error:  # noqa: BLE001 a third-party module may raise anything
            raise ConfigError(
                f"{file}: expected a module that can be imported, got {type(error).__name__}: {error}."
            ) from None


def _imported_files(top: str, folder: Path) -> list[Path]:
    """Return the files of a module or package in a folder, and of its imports, direct or indirect, if not installed."""
    files, pending, seen = list[Path](), [top], {top}
    while pending:
        name = pending.pop()
        spec = PathFinder.find_spec(name, [str(folder)] if name == top else [*sys.path, str(folder)])
        if spec is None:
            continue
        places = [Path(place) for place in spec.submodule_search_locations or filter(None, [spec.origin])]
        places = [place for place in places if place.parent == folder or not is_installed(str(place))]
        own = sorted(file for place in places for file in (place.rglob("*.py") if place.is_dir() else [place]))
        files += own
        imported = {other for file in own if file.suffix == ".py" for other in _imported_names(file)} - seen
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
        if file.is_relative_to(root) and file.relative_to(root).as_posix() in map(str, owner.files or ()):
            return owner
    return None
