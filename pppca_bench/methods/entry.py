"""Registry entries of methods and classifiers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Entry:
    """Description of a method or classifier.

    Attributes
    ----------
    name, title : str
        Name in configs, and name in tables.
    does, source : str
        Short description, and source.
    passages : tuple of (document, section, name)
        Where the source documents have it, and the name there: the rows of the table in docs/concepts.md.
    estimator : str
        Dotted path of the class, ``"module:Class"``; the constructor defines the parameters that a config may set.
    version : int or str
        For methods of this package a number, increased by hand if a change of code changes results; for third-party
        methods the result of `methods.third_party.version_of`. Results of other versions are not reused.
    defaults : mapping of str to value
        Defaults in configs that differ from the constructor.
    details : str
        Sentences for a methods section that apply to all settings: network, initialisation, error, termination.
    kernels : tuple of str
        Families of compiled kernels (`compiled.cache.FAMILIES`) to compile before the first run.
    foreign : bool
        Whether the class is third-party: configs set its parameters under ``parameters:``.
    needs_numbers : bool
        Whether targets must be numbers.
    """

    name: str
    title: str
    does: str
    source: str
    estimator: str
    passages: tuple[tuple[str, str, str], ...] = ()
    version: int | str = 1
    defaults: Mapping[str, object] = field(default_factory=dict)
    details: str = ""
    kernels: tuple[str, ...] = ()
    foreign: bool = False
    needs_numbers: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Method(Entry):
    """Description of a method.

    Attributes
    ----------
    makes : {"features", "classes", "measures"}
        Features for a classifier (`transform`), classes (`predict`, without a further classifier), or only numbers
        (``measures_``, such as a speed-up).
    needs_classes : bool
        Whether targets must be classes.
    reduces : bool
        Whether the number of features is a result.
    instead_of_tau : tuple of str
        Parameters that replace the threshold: if any is set, the config's ``tau`` does not apply.
    seeded_as : str
        Name of the method with the same random numbers; "" for separate random numbers.
    is_baseline : bool
        Whether it runs beside any methods on the data of a user.
    """

    makes: Literal["features", "classes", "measures"] = "features"
    needs_classes: bool = False
    reduces: bool = True
    instead_of_tau: tuple[str, ...] = ()
    seeded_as: str = ""
    is_baseline: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Classifier(Entry):
    """Description of the learning rule of the network that follows a method.

    Attributes
    ----------
    regressor : str
        Dotted path of the class for approximation problems, with the same parameters; "" if there is no such class.
    of_classes : tuple of str
        Parameters of ``estimator`` that the class for approximation does not have. They are null by default, and only
        runs whose config sets them name them.
    is_ensemble : bool
        Whether it combines other classifiers, which a config sets under ``base``.
    """

    regressor: str = ""
    of_classes: tuple[str, ...] = ()
    is_ensemble: bool = False

    @property
    def needs_classes(self) -> bool:
        """Return whether targets must be classes."""
        return not self.regressor and not self.needs_numbers
