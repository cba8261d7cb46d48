"""What the registry tells of a method or a classifier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Entry:
    """Describe what a name in a config stands for.

    Attributes
    ----------
    name : str
        As configs have it.
    title : str
        As tables print it.
    does : str
        What it does, in a clause.
    source : str
        Where it comes from.
    estimator : str
        Dotted path of the class, ``"module:Class"``; its constructor says which parameters a config may set.
    version : int or str
        Of this package's own: a number, raised by hand whenever a change of code changes its numbers. Of others: as
        `methods.foreign.version_of` tells it. Results of other versions are not reused.
    defaults : mapping of str to value
        Defaults of a config that are not the constructor's.
    details : mapping of str to str
        What holds of it whatever its settings, for a report of how it was run: sentences by ``"network"``,
        ``"initialisation"``, ``"algorithm"``, ``"termination"`` or ``"error"``.
    kernels : mapping of str to str
        Families of compiled kernels (`compiled.cache.FAMILIES`) that are compiled before the first run, each with the
        name of the parameter that calls for it when it is not 0; "" for always.
    foreign : bool
        Whether it comes from elsewhere: its parameters then stand under ``parameters:``, whatever they are called.
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
    kernels: Mapping[str, str] = field(default_factory=dict)
    foreign: bool = False
    needs_numbers: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Method(Entry):
    """Describe a method.

    Attributes
    ----------
    makes : {"features", "classes", "measures"}
        Features for a classifier (`transform`), classes (`predict`, no classifier follows), or only numbers of its own
        (``measures_``, such as a speed-up).
    needs_classes : bool
        Whether its targets have to be classes.
    reduces : bool
        Whether the number of features that are left says something about it.
    instead_of_tau : tuple of str
        Parameters that take the place of a threshold: with one of them given, a config's ``tau`` does not apply.
    timed_by : str
        Name of the parameter that says whether its times are its result, so that nothing may run beside it; "" for
        never.
    seeded_as : str
        Name of the method whose random numbers it takes; "" for its own.
    labels : mapping of (str, value) to str
        What tables print for a parameter's value in place of ``name = value``.
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
    """Describe a learning rule of the network that follows a method.

    Attributes
    ----------
    regressor : str
        Dotted path of the class that takes its place on approximation problems, with the same parameters; "" where
        there is none, so that the targets have to be classes.
    is_ensemble : bool
        Whether it is made of other classifiers, which a config describes under ``base``.
    """

    regressor: str = ""
    is_ensemble: bool = False

    @property
    def needs_classes(self) -> bool:
        """Tell whether its targets have to be classes."""
        return not self.regressor and not self.needs_numbers
