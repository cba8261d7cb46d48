"""Methods and classifiers from elsewhere: a dotted path in a config, or an entry point of an installed package.

A dotted path, ``"mypackage.reducers:Spectral"``, names any class with scikit-learn's `fit` and `transform` or
`predict`. An entry point of the group `METHOD_GROUP` or `CLASSIFIER_GROUP` gives such a class a short name; where it
names a `Method` or `Classifier` in place of the class, that gives it a title, a source and the rest too.

Choice: nothing is imported by a path that was read from a results database: only a config, the command line and the
entry points of installed packages are trusted so far.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from importlib.machinery import PathFinder
from importlib.metadata import Distribution, EntryPoint, distribution, entry_points, packages_distributions
from pathlib import Path
from typing import Any

from pppca_bench.errors import ConfigError
from pppca_bench.methods.entry import Classifier, Entry, Method
from pppca_bench.methods.protocol import import_estimator, import_object

METHOD_GROUP, CLASSIFIER_GROUP = "pppca_bench.methods", "pppca_bench.classifiers"
_HEX_DIGITS = 12


def search_also(folders: Iterable[Path]) -> None:
    """Let modules be imported from folders too, after all other places; worker processes inherit them.

    Choice: after, so that no module of a config's folder takes the place of one that is installed.
    """
    for folder in map(str, (one.resolve() for one in folders)):
        if folder not in sys.path:
            sys.path.append(folder)
            importlib.invalidate_caches()


def is_path(name: str) -> bool:
    """Tell whether a name is a dotted path, ``"module:Class"``."""
    module, colon, attribute = name.partition(":")
    return bool(colon) and all(part.isidentifier() for part in [*module.split("."), attribute])


def method_at(path: str) -> Method:
    """Describe the method that a dotted path names.

    Raises
    ------
    ConfigError
        It cannot be imported, is no class, or has neither `transform` nor `predict` beside `fit`.
    """
    found = import_estimator(path)
    facts = _facts(path, found)
    if _has(found, "fit", "transform"):
        return Method(**facts, makes="features")
    if _has(found, "fit", "predict"):
        return Method(**facts, makes="classes", needs_classes=_is_a(found, "ClassifierMixin"))
    hint = " Its fit_transform alone cannot be applied to the other splits." if _has(found, "fit_transform") else ""
    raise ConfigError(
        f"{path}: expected a class with fit and transform, or fit and predict, got {_methods(found)}.{hint}"
    )


def classifier_at(path: str) -> Classifier:
    """Describe the classifier or regressor that a dotted path names; raises ConfigError as `method_at` does."""
    found = import_estimator(path)
    if not _has(found, "fit", "predict"):
        raise ConfigError(f"{path}: expected a class with fit and predict, got {_methods(found)}.")
    return Classifier(**_facts(path, found), regressor="" if _is_a(found, "ClassifierMixin") else path)


@cache
def installed(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name, in alphabetical order; of two of one name, the first counts."""
    found: dict[str, EntryPoint] = {}
    for one in sorted(entry_points(group=group), key=lambda one: (one.name, one.value)):
        found.setdefault(one.name, one)
    return found


def entry_of(point: EntryPoint) -> Entry:
    """Describe what an entry point names: a class, or the `Method` or `Classifier` that describes it.

    Raises
    ------
    ConfigError
        It cannot be imported or describes something else; the message names the package.
    """
    kind, describe = (Method, method_at) if point.group == METHOD_GROUP else (Classifier, classifier_at)
    try:
        found = import_object(point.value)
        if isinstance(found, Entry):
            if not isinstance(found, kind):
                raise ConfigError(f"expected a {kind.__name__}, got a {type(found).__name__}.")
            version = version_of(import_estimator(found.estimator))
            return replace(found, name=point.name, version=version, foreign=True)
        return replace(describe(point.value), name=point.name)
    except ConfigError as error:
        owner = point.dist.name if point.dist is not None else "an installed package"
        raise ConfigError(f"{point.name}, the entry point of {owner} in {point.group}: {error}") from None


def version_of(estimator: type) -> str:
    """Return what tells the code of a class from other code, so that results of both do not mix.

    Choice: for a class of an installed distribution, its version and a digest of the class's own file, since a package
    may be installed again with other code and the same version; for any other, and where a package is installed for
    editing, a digest of all Python files of its top package, or of its module where it is in none.
    """
    module = sys.modules[estimator.__module__]
    file = getattr(module, "__file__", None)
    if file is None:
        return "unknown"
    top = estimator.__module__.partition(".")[0]
    owner = _distribution_with(Path(file), top)
    if owner is not None:
        return f"{owner.version} {_digest([Path(file)])}"
    folder = Path(getattr(sys.modules[top], "__file__", None) or file).parent
    return _digest(sorted(folder.rglob("*.py")) if hasattr(sys.modules[top], "__path__") else [Path(file)])


def _digest(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:_HEX_DIGITS]


def _distribution_with(file: Path, top: str) -> Distribution | None:
    """Return the installed distribution that a module's file belongs to, or None."""
    for name in _owners().get(top, ()):
        root, files = _files(name)
        if file.is_relative_to(root) and file.relative_to(root).as_posix() in files:
            return distribution(name)
    return None


@cache
def _owners() -> Mapping[str, list[str]]:
    """Return the distributions that each top package comes from; to look for them takes a good part of a second."""
    return packages_distributions()


@cache
def _files(name: str) -> tuple[Path, frozenset[str]]:
    """Return where a distribution is installed, and its files, seen from there."""
    owner = distribution(name)
    return Path(str(owner.locate_file(""))), frozenset(one.as_posix() for one in owner.files or ())


def _facts(path: str, found: type) -> dict[str, Any]:
    """Return what any entry of a foreign class says."""
    title = path.partition(":")[2]
    does = (inspect.getdoc(found) or "").strip().partition("\n")[0].rstrip(".") or title
    is_regressor = _is_a(found, "RegressorMixin")
    module = sys.modules[found.__module__]
    return {
        "name": path,
        "title": title,
        "does": does,
        "source": str(getattr(module, "__name__", path)),
        "estimator": path,
        "version": version_of(found),
        "foreign": True,
        "needs_numbers": is_regressor,
    }


def _has(found: type, *names: str) -> bool:
    return all(callable(getattr(found, name, None)) for name in names)


def _is_a(found: type, mixin: str) -> bool:
    """Tell whether a class has one of scikit-learn's mixins, which say what its targets are."""
    return any((base.__module__, base.__name__) == ("sklearn.base", mixin) for base in found.__mro__)


def _methods(found: type) -> str:
    names = [name for name in ("fit", "transform", "predict") if _has(found, name)]
    return f"one with {' and '.join(names)} alone" if names else "one with none of them"


def check_not_hidden(name: str, folder: Path) -> None:
    """Raise ConfigError where a config's folder has a module of the path's name, but another one is imported.

    Parameters
    ----------
    name : str
        A dotted path that was imported.
    folder : Path
        The config's folder.
    """
    top = name.partition(":")[0].partition(".")[0]
    meant = PathFinder.find_spec(top, [str(folder.resolve())])
    taken = getattr(sys.modules.get(top), "__file__", None)
    if meant is None or meant.origin is None or taken is None or Path(meant.origin).samefile(taken):
        return
    raise ConfigError(f"{name}: expected the module {meant.origin}, got {taken}, which comes first. Rename yours.")
