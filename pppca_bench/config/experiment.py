"""Experiment configs: a YAML document to a validated, frozen `Config`, with errors that name file, line and key."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from annotated_types import Ge, Le, Lt
from pydantic import StringConstraints

from pppca_bench.config.filled import spelled_out
from pppca_bench.config.messages import Reader, is_kept, missing
from pppca_bench.config.yaml_source import Location, YamlSource
from pppca_bench.errors import ConfigError, nearest
from pppca_bench.methods.entry import Classifier, Method
from pppca_bench.methods.foreign import check_not_hidden, is_path
from pppca_bench.methods.lookup import classifier_names, find_classifier, find_method, method_names
from pppca_bench.methods.protocol import contract_of
from pppca_bench.methods.registry import CLASSIFIERS, DEFAULT_RULE
from pppca_bench.methods.sections import PIVOT, PIVOTAL, PORTRAIT, constructor_arguments, section_of
from pppca_bench.parameters import REQUIRED, Parameter, ParameterError, Tau, parameters_of, shown
from pppca_bench.references.proben1_tables import pivot_of
from pppca_bench.runs import Scalar

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
MOST_VARIANTS = 10_000
"""Combinations of a section's values: far more than anybody waits for, and few enough to list in a second."""

KEYS = ("name", "problems", "repeats", "seed", "tau", "methods", "classifier")

_NAME = Parameter("name", Annotated[str, StringConstraints(pattern=f"^{NAME.pattern}$")], REQUIRED)
_REPEATS = Parameter("repeats", Annotated[int, Ge(1), Le(10_000)], REQUIRED)
_SEED = Parameter("seed", Annotated[int, Ge(0), Lt(2**63)], REQUIRED)
_TAU = Parameter("tau", Tau, None)
_PORTRAIT = Parameter(PORTRAIT, bool, False)

Grid = Mapping[str, tuple[Scalar, ...]]
"""Values of each parameter, by key; one value where the config does not vary it."""


@dataclass(frozen=True)
class ClassifierRequest:
    """Hold what a config asks of a classifier.

    Attributes
    ----------
    grid : mapping of str to tuple
        ``rule`` and the parameters' values; those of the classifier that an ensemble is made of begin with ``base.``.
    """

    grid: Grid

    @property
    def rules(self) -> list[str]:
        """Return the names of the classifiers that take part, the outer one first."""
        return [str(self.grid[key][0]) for key in ("rule", "base.rule") if key in self.grid]


@dataclass(frozen=True)
class MethodRequest:
    """Hold what a config asks of a method.

    Attributes
    ----------
    entry : Method
        The method.
    grid : mapping of str to tuple
        Its parameters' values, thresholds and data fractions among them, defaults filled in.
    classifier : ClassifierRequest or None
        What classifies its features; None for a method that needs no classifier.
    repeats : int
        Its own number of repeats, or the config's.
    """

    entry: Method
    grid: Grid
    classifier: ClassifierRequest | None
    repeats: int

    @property
    def needs_classes(self) -> str:
        """Return the name of a method or classifier whose targets have to be classes, or ""."""
        return next((entry.name for entry in self._entries if entry.needs_classes), "")

    @property
    def needs_numbers(self) -> str:
        """Return the name of a method or classifier whose targets have to be numbers, or ""."""
        return next((entry.name for entry in self._entries if entry.needs_numbers), "")

    @property
    def _entries(self) -> list[Method | Classifier]:
        rules = self.classifier.rules if self.classifier else []
        return [self.entry, *map(find_classifier, rules)]


@dataclass(frozen=True)
class Config:
    """Hold what one experiment runs: problems x methods x settings x repeats.

    Attributes
    ----------
    name : str
        The results are kept by it.
    problems : tuple of str
        Names of known problems, and paths of .dt files as the config writes them.
    seed : int
    methods : tuple of MethodRequest
    """

    name: str
    problems: tuple[str, ...]
    seed: int
    methods: tuple[MethodRequest, ...]


def parse_config(source: YamlSource, *, problems: Collection[str]) -> Config:
    """Validate a document.

    Parameters
    ----------
    source : YamlSource
        The document.
    problems : collection of str
        Names that ``problems:`` may hold beside paths of .dt files.

    Raises
    ------
    ConfigError
        A line for each mistake: file, line, key, what was expected and what was found.
    """
    return _ConfigReader(source, problems).read(source.value)


def variants(grid: Grid) -> Iterator[tuple[tuple[str, Scalar], ...]]:
    """Yield every combination of a grid's values, as sorted parameters; thresholds and data fractions vary fastest."""
    keys = sorted(grid, key=lambda key: {"tau": 1, "data_fraction": 2}.get(key, 0))
    for values in itertools.product(*(grid[key] for key in keys)):
        yield tuple(sorted(zip(keys, values, strict=True)))


@dataclass(frozen=True)
class _Shared:
    """Hold what the methods of a config have in common; the thresholds as they are written."""

    problems: tuple[str, ...]
    repeats: int
    tau: Any
    classifier: ClassifierRequest | None


class _ConfigReader(Reader):
    """Read the parts of one experiment's config."""

    def __init__(self, source: YamlSource, problems: Collection[str]) -> None:
        super().__init__(source)
        self._known_problems = problems

    def read(self, document: Any) -> Config:
        given = self.mapping(document, (), KEYS)
        name, repeats, seed = (self.one(parameter, given, ()) for parameter in (_NAME, _REPEATS, _SEED))
        problems = self._problems(given)
        if given.get("tau") is not None:
            self.grid(_TAU, given["tau"], ("tau",))
        classifier = self._classifier(given.get("classifier", {}), ("classifier",))
        methods = self._methods(given, _Shared(problems, repeats, given.get("tau"), classifier))
        self.mistakes.raise_if_any()
        return Config(name, problems, seed, tuple(methods))

    def _problems(self, given: Mapping[str, Any]) -> tuple[str, ...]:
        if "problems" not in given:
            self.mistakes.add(("problems",), missing("problems"))
            return ()
        value = given["problems"]
        names = self.sequence(value if isinstance(value, list) else [value], ("problems",), most=1000)
        for index, name in enumerate(names):
            place = ("problems", index)
            if name in names[:index]:
                self.mistakes.add(place, f"expected each problem once, got {shown(name)} again")
            elif not isinstance(name, str) or not (name.endswith(".dt") or name in self._known_problems):
                hint = nearest(name, self._known_problems) if isinstance(name, str) else ""
                self.mistakes.add(
                    place,
                    "expected a problem's name (see `pppca data list`) or the path of a .dt file,"
                    f" got {shown(name)}{hint}",
                )
        return tuple(names)

    def _methods(self, given: Mapping[str, Any], shared: _Shared) -> list[MethodRequest]:
        if "methods" not in given:
            self.mistakes.add(("methods",), missing("methods"))
            return []
        entries = self.sequence(given["methods"], ("methods",), most=100)
        read = [self._method(entry, ("methods", index), shared) for index, entry in enumerate(entries)]
        return [method for method in read if method is not None]

    def _method(self, value: Any, place: Location, shared: _Shared) -> MethodRequest | None:
        value = spelled_out(value, "method")
        entry = self._named(value, place, "method", None)
        if entry is None:
            return None
        section, own = section_of(entry), ["classifier", PORTRAIT] if entry.makes == "features" else []
        given = self.mapping(value, place, ["method", "repeats", *_section_keys(entry), *own], hint=_hint_at(entry))
        repeats = self.one(_REPEATS, given, place) if "repeats" in given else shared.repeats
        grid = self._section_grid(entry, given, place, self._shared_tau(entry, section, given, place, shared))
        if entry.makes != "features":
            self._check_pivot(grid, place, shared.problems, "hidden: [16, 8]")
            return MethodRequest(entry, grid, None, repeats)
        if self.one(_PORTRAIT, given, place):
            grid[PORTRAIT] = (True,)
        if "classifier" in given:
            stands: Location = (*place, "classifier")
            classifier = self._classifier(given["classifier"], stands)
        else:
            stands, classifier = ("classifier",), shared.classifier
        if classifier is not None:
            self._check_pivot(classifier.grid, stands, shared.problems, "classifier: {hidden: [16, 8]}")
        return MethodRequest(entry, grid, classifier, repeats)

    def _shared_tau(
        self,
        entry: Method,
        section: Mapping[str, Parameter],
        given: Mapping[str, Any],
        place: Location,
        shared: _Shared,
    ) -> dict[str, Any]:
        """Return the config's thresholds for a method that needs some and has none of its own."""
        takes_them = "tau" in section and given.get("tau") is None and not entry.foreign
        if not takes_them or any(given.get(name) is not None for name in entry.instead_of_tau):
            return {}
        if shared.tau is None:
            text = f"{entry.name} needs a threshold: expected `tau: [5, 10, 15, 20]`, got none"
            self.mistakes.add(place, text)
            return {}
        return {"tau": shared.tau}

    def _classifier(self, value: Any, place: Location, *, in_ensemble: bool = False) -> ClassifierRequest | None:
        value = spelled_out(value, "rule")
        entry = self._named(value, place, "rule", DEFAULT_RULE, in_ensemble=in_ensemble)
        if entry is None:
            return None
        keys = ["rule", *_section_keys(entry), *(["base"] if entry.is_ensemble else [])]
        given = self.mapping(value, place, keys, hint=_hint_at(entry))
        grid = {"rule": (entry.name,), **self._section_grid(entry, given, place, {})}
        if entry.is_ensemble:
            base = self._classifier(given.get("base", {}), (*place, "base"), in_ensemble=True)
            grid |= {f"base.{key}": values for key, values in (base.grid if base else {}).items()}
        return ClassifierRequest(grid)

    def _named(self, value: Any, place: Location, key: str, default: str | None, *, in_ensemble: bool = False) -> Any:
        """Return the entry that a mapping names by a key, or None with a mistake."""
        if not isinstance(value, dict):
            self.mistakes.add(place, f"expected a name or a mapping of keys to values, got {shown(value)}")
            return None
        names, find = (method_names(), find_method) if key == "method" else (classifier_names(), find_classifier)
        if in_ensemble:
            names = [name for name in names if name not in CLASSIFIERS or not CLASSIFIERS[name].is_ensemble]
        name = value.get(key, default)
        try:
            if isinstance(name, str) and (name in names or is_path(name)):
                return self._checked_entry(find(name), name)
        except ConfigError as error:
            self.mistakes.add((*place, key), str(error).removesuffix("."))
            return None
        got = shown(name) if name is not None else "none"
        hint = nearest(name, names) if isinstance(name, str) else ""
        self.mistakes.add(place, f"expected {key} to be one of {', '.join(names)}, got {got}{hint}")
        return None

    def _checked_entry(self, entry: Method | Classifier, name: str) -> Method | Classifier:
        """Return an entry whose class keeps the protocol, and is the one that the config's folder holds, if any."""
        section_of(entry)
        if is_path(name):
            check_not_hidden(name, self.source.path.parent)
        return entry

    def _section_grid(
        self,
        entry: Method | Classifier,
        given: Mapping[str, Any],
        place: Location,
        shared: Mapping[str, Any],
    ) -> dict[str, tuple[Scalar, ...]]:
        """Return the values of every parameter: the section's own, those that the config shares, or the default.

        A foreign default that the store does not keep, such as a function, is left to the constructor.
        """
        grid, section = dict[str, tuple[Scalar, ...]](), section_of(entry)
        if entry.foreign:
            place = (*place, "parameters")
            given = self.mapping(given.get("parameters") or {}, place, list(section))
        for key, parameter in section.items():
            if key in shared:
                grid[key] = self.grid(parameter, shared[key], (key,))
            elif key == "tau" and given.get(key) is None and not entry.foreign:
                grid[key] = (None,)
            elif key in given:
                grid[key] = self.grid(parameter, given[key], (*place, key))
            elif parameter.default is REQUIRED:
                self.mistakes.add((*place, key), missing(key))
            elif is_kept(parameter.default) or not entry.foreign:
                grid[key] = (parameter.default,)
        n_variants = math.prod(map(len, grid.values()))
        if n_variants > MOST_VARIANTS:
            self.mistakes.add(place, f"expected at most {MOST_VARIANTS} combinations of values, got {n_variants}")
        self._check_agreement(entry, grid, place)
        return grid

    def _check_agreement(self, entry: Method | Classifier, grid: Grid, place: Location) -> None:
        estimator = contract_of(entry).estimator
        if self.mistakes.at(place) or not hasattr(estimator, "check_agreement"):
            return
        required = {name: None for name, one in parameters_of(estimator).items() if one.default is REQUIRED}
        for settings in variants(grid):
            try:
                estimator(**required | constructor_arguments(estimator, dict(settings))).check_agreement()
            except ParameterError as error:
                self.mistakes.add((*place, error.name), f"expected {error.expected}, got {shown(error.value)}")

    def _check_pivot(self, grid: Grid, place: Location, problems: Collection[str], example: str) -> None:
        if self.mistakes.at(("problems",)) or self.mistakes.at(place):
            return
        without = [name for name in problems if pivot_of(name) is None]
        asking = [f"{prefix}{key}" for key in PIVOTAL for prefix in ("", "base.")]
        asking = [key for key in asking if PIVOT in grid.get(key, ())]
        if without and asking:
            expected, got = f"layer sizes, such as `{example}`", "hidden: pivot (the default)"
            if not asking[0].endswith("hidden"):
                expected, got = "an activation, such as linear", f"{asking[0]}: pivot"
            self.mistakes.add(
                place,
                f"the Proben1 report has no pivot architecture for {without[0]!r}: expected {expected}, got {got}",
            )


def _section_keys(entry: Method | Classifier) -> list[str]:
    """Return the keys of a section that hold an entry's parameters."""
    return ["parameters"] if entry.foreign else [*section_of(entry)]


def _hint_at(entry: Method | Classifier) -> Callable[[str], str]:
    """Return what gives a hint at where a key belongs, or nothing."""

    def hint(key: str) -> str:
        if entry.foreign:
            return " (a key of parameters:)" if key in section_of(entry) else ""
        rules = [rule for rule, one in CLASSIFIERS.items() if key in section_of(one)]
        return f" (a key of rule: {' and '.join(rules)})" if rules and isinstance(entry, Classifier) else ""

    return hint
