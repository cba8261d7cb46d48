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
        The name in configs, and that in tables.
    does, source : str
        Description in a clause, and source.
    estimator : str
        Dotted path of the class, ``"module:Class"``; its constructor defines which parameters a config may set.
    version : int or str
        For methods of this package a number, raised by hand whenever a change of code changes their results; for
        third-party methods that of `methods.lookup.version_of`. Results of other versions are not reused.
    defaults : mapping of str to value
        Defaults of a config that differ from the constructor's.
    details : mapping of str to str
        Sentences for the report that apply to all settings, by ``"network"``, ``"initialisation"``, ``"algorithm"``,
        ``"termination"`` or ``"error"``.
    kernels : tuple of str
        Families of compiled kernels (`compiled.cache.FAMILIES`) to compile before the first run.
    foreign : bool
        Whether it is third-party: a config gives its parameters under ``parameters:``.
    needs_numbers : bool
        Whether its targets have to be numbers.
    """

    name: str
    title: str
    does: str
    source: str
    estimator: str
    version: int | str = 1
    defaults: Mapping[str, object] = field(default_factory=dict)
    details: Mapping[str, str] = field(default_factory=dict)
    kernels: tuple[str, ...] = ()
    foreign: bool = False
    needs_numbers: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Method(Entry):
    """Description of a method.

    Attributes
    ----------
    makes : {"features", "classes", "measures"}
        Features for a classifier (`transform`), classes (`predict`, no classifier follows), or only its own numbers
        (``measures_``, such as a speed-up).
    needs_classes : bool
        Whether its targets have to be classes.
    reduces : bool
        Whether its number of features is a result.
    instead_of_tau : tuple of str
        Parameters that replace the threshold: if any is given, the config's ``tau`` does not apply.
    timed_by : str
        Name of the parameter that makes times its result, so that nothing may run beside it; "" for never.
    seeded_as : str
        Name of the method whose random numbers it shares; "" for its own.
    labels : mapping of (str, value) to str
        Labels in tables for a parameter's value, in place of ``name = value``.
    """

    makes: Literal["features", "classes", "measures"] = "features"
    needs_classes: bool = False
    reduces: bool = True
    instead_of_tau: tuple[str, ...] = ()
    timed_by: str = ""
    seeded_as: str = ""
    labels: Mapping[tuple[str, object], str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Classifier(Entry):
    """Description of the learning rule of the network that follows a method.

    Attributes
    ----------
    regressor : str
        Dotted path of the class for approximation problems, with the same parameters; "" where there is none.
    is_ensemble : bool
        Whether it combines other classifiers, given under ``base``.
    """

    regressor: str = ""
    is_ensemble: bool = False

    @property
    def needs_classes(self) -> bool:
        """Return whether its targets have to be classes."""
        return not self.regressor and not self.needs_numbers
