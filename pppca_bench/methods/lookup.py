"""Methods and classifiers by name: registry, entry points of installed packages, dotted paths.

A dotted path, ``"mypackage.reducers:Spectral"``, names any third-party class with scikit-learn's `fit` and `transform`
or `predict`. An entry point of the group `METHOD_GROUP` or `CLASSIFIER_GROUP` gives such a class a short name; if it
names a `Method` or `Classifier` instead of the class, it also gives a title, a source and so on.

Choice: no path that was read from a results database is imported: only configs, the command line and entry points of
installed packages are trusted.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import sys
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from importlib.machinery import PathFinder
from importlib.metadata import Distribution, EntryPoint, distribution, entry_points, packages_distributions
from itertools import groupby
from pathlib import Path
from typing import Any

from pppca_bench.errors import ConfigError, UnknownNameError
from pppca_bench.methods.entry import Classifier, Entry, Method
from pppca_bench.methods.protocol import import_estimator, import_object
from pppca_bench.methods.registry import CLASSIFIERS, METHODS

METHOD_GROUP, CLASSIFIER_GROUP = "pppca_bench.methods", "pppca_bench.classifiers"
_HEX_DIGITS = 12
_owners = cache(packages_distributions)  # takes half a second


def find_method(name: str) -> Method:
    """Return the method that a config's ``method:`` names.

    Raises
    ------
    UnknownNameError
        There is no such method.
    ConfigError
        It cannot be imported or is not a method.
    """
    return METHODS[name] if name in METHODS else _foreign(name, METHOD_GROUP)


def find_classifier(name: str) -> Classifier:
    """Return the classifier that a config's ``rule:`` names; raises as `find_method` does."""
    return CLASSIFIERS[name] if name in CLASSIFIERS else _foreign(name, CLASSIFIER_GROUP)


def method_names() -> list[str]:
    """Return the short names of all methods, the registry's first."""
    return list(dict.fromkeys([*METHODS, *_points(METHOD_GROUP)]))


def classifier_names() -> list[str]:
    """Return the short names of all classifiers, the registry's first."""
    return list(dict.fromkeys([*CLASSIFIERS, *_points(CLASSIFIER_GROUP)]))


def stored_method(name: str) -> Method | None:
    """Return the method of stored runs, or None if it is not installed or was a dotted path.

    Nothing is imported by a stored path.
    """
    return METHODS.get(name) or _installed(name, METHOD_GROUP)


def stored_classifier(name: str) -> Classifier | None:
    """Return the classifier of stored runs, as `stored_method` does."""
    return CLASSIFIERS.get(name) or _installed(name, CLASSIFIER_GROUP)


def title_of(name: str) -> str:
    """Return the title of a stored method, the class of a dotted path, else the stored name."""
    entry = stored_method(name)
    if entry is not None:
        return entry.title
    return name.partition(":")[2] if is_path(name) else name


def search_also(folders: Iterable[Path]) -> None:
    """Append folders to the module search path, which worker processes inherit.

    Choice: at its end, so that no module beside a config replaces an installed one.
    """
    for folder in (str(folder.resolve()) for folder in folders):
        if folder not in sys.path:
            sys.path.append(folder)
            importlib.invalidate_caches()


def is_path(name: str) -> bool:
    """Return whether a name is a dotted path, ``"module:Class"``."""
    module, colon, attribute = name.partition(":")
    return bool(colon) and all(part.isidentifier() for part in [*module.split("."), attribute])


def check_not_hidden(name: str, folder: Path) -> None:
    """Raise ConfigError if a config's folder has the module of a dotted path, but another module was imported."""
    top = name.partition(":")[0].partition(".")[0]
    beside = PathFinder.find_spec(top, [str(folder.resolve())])
    imported = getattr(sys.modules.get(top), "__file__", None)
    if beside is None or beside.origin is None or imported is None or Path(beside.origin).samefile(imported):
        return
    raise ConfigError(f"{name}: expected the module {beside.origin}, got {imported}, which comes first. Rename yours.")


def _installed(name: str, group: str) -> Any:
    try:
        return _foreign(name, group) if name in _points(group) else None
    except ConfigError:  # which `pppca methods` reports; the stored runs can be read without it
        return None


@cache
def _foreign(name: str, group: str) -> Any:
    if name in _points(group):
        return _entry_of(_points(group)[name])
    if is_path(name):
        return (_method_at if group == METHOD_GROUP else _classifier_at)(name)
    raise UnknownNameError(f"expected a name that `pppca methods` prints, or module:Class, got {name!r}.")


def _method_at(path: str) -> Method:
    """Return the entry of the method at a dotted path."""
    estimator = import_estimator(path)
    if _has(estimator, "fit", "transform"):
        return Method(**_facts(path, estimator), makes="features")
    if _has(estimator, "fit", "predict"):
        needs_classes = _is_a(estimator, "ClassifierMixin")
        return Method(**_facts(path, estimator), makes="classes", needs_classes=needs_classes)
    hint = " Its fit_transform alone cannot be applied to the other splits." if _has(estimator, "fit_transform") else ""
    raise ConfigError(
        f"{path}: expected a class with fit and transform, or fit and predict, got {_methods(estimator)}.{hint}"
    )


def _classifier_at(path: str) -> Classifier:
    """Return the entry of the classifier or regressor at a dotted path."""
    estimator = import_estimator(path)
    if not _has(estimator, "fit", "predict"):
        raise ConfigError(f"{path}: expected a class with fit and predict, got {_methods(estimator)}.")
    regressor = "" if _is_a(estimator, "ClassifierMixin") else path
    return Classifier(**_facts(path, estimator), regressor=regressor)


@cache
def _points(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name, in alphabetical order; of several with the same name, the first."""
    points = sorted(entry_points(group=group), key=lambda point: (point.name, point.value))
    return {name: next(same) for name, same in groupby(points, key=lambda point: point.name)}


def _entry_of(point: EntryPoint) -> Entry:
    """Return the entry at an entry point: a `Method` or `Classifier`, or the description of a class."""
    kind, describe = (Method, _method_at) if point.group == METHOD_GROUP else (Classifier, _classifier_at)
    try:
        target = import_object(point.value)
        if not isinstance(target, Entry):
            return replace(describe(point.value), name=point.name)
        if not isinstance(target, kind):
            raise ConfigError(f"expected a {kind.__name__}, got a {type(target).__name__}.")
        version = version_of(import_estimator(target.estimator))
        return replace(target, name=point.name, version=version, foreign=True)
    except ConfigError as error:
        owner = point.dist.name if point.dist is not None else "an installed package"
        raise ConfigError(f"{point.name}, the entry point of {owner} in {point.group}: {error}") from None


def version_of(estimator: type) -> str:
    """Return the version of a class's code, so that results of different code do not mix.

    Choice: for a class of an installed distribution, its version and a digest of the class's own file, since a package
    may be installed again with other code and the same version; for any other, and where a package is installed for
    editing, a digest of all Python files of its top package, or of its module where it is in none.
    """
    file = getattr(sys.modules[estimator.__module__], "__file__", None)
    if file is None:
        return "unknown"
    top = estimator.__module__.partition(".")[0]
    owner = _distribution_with(Path(file), top)
    if owner is not None:
        return f"{owner.version} {_digest([Path(file)])}"
    if not hasattr(sys.modules[top], "__path__"):
        return _digest([Path(file)])
    folder = Path(getattr(sys.modules[top], "__file__", None) or file).parent
    return _digest(sorted(folder.rglob("*.py")))


def _digest(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:_HEX_DIGITS]


@cache
def _distribution_with(file: Path, top: str) -> Distribution | None:
    """Return the installed distribution that a file of a top-level package belongs to, or None."""
    for owner in map(distribution, _owners().get(top, ())):
        root = Path(str(owner.locate_file("")))
        if file.is_relative_to(root) and file.relative_to(root).as_posix() in map(str, owner.files or ()):
            return owner
    return None


def _facts(path: str, estimator: type) -> dict[str, Any]:
    """Return the fields of an entry that follow from a third-party class."""
    title = path.partition(":")[2]
    first_line = (inspect.getdoc(estimator) or "").strip().partition("\n")[0]
    return {
        "name": path,
        "title": title,
        "does": first_line.rstrip(".") or title,
        "source": estimator.__module__,
        "estimator": path,
        "version": version_of(estimator),
        "foreign": True,
        "needs_numbers": _is_a(estimator, "RegressorMixin"),
    }


def _has(estimator: type, *names: str) -> bool:
    return all(callable(getattr(estimator, name, None)) for name in names)


def _is_a(estimator: type, mixin: str) -> bool:
    """Return whether a class has one of scikit-learn's mixins, without importing scikit-learn."""
    return any((base.__module__, base.__name__) == ("sklearn.base", mixin) for base in estimator.__mro__)


def _methods(estimator: type) -> str:
    names = [name for name in ("fit", "transform", "predict") if _has(estimator, name)]
    return f"one with {' and '.join(names)} alone" if names else "one with none of them"
