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

from pppca_bench.config.choosing import (
    CHOICE_KEYS,
    ChoiceRule,
    check_chosen,
    choosing_grid,
    read_choice,
    with_candidates,
)
from pppca_bench.config.filled import spelled_out
from pppca_bench.config.messages import Reader, is_kept
from pppca_bench.config.own_data import NAME_PATTERN, SPLIT_KEYS, read_own_data, read_split_rule
from pppca_bench.documents import Location, YamlSource, missing
from pppca_bench.errors import ConfigError, nearest
from pppca_bench.methods.entry import Classifier, Method
from pppca_bench.methods.foreign import check_not_hidden, is_path
from pppca_bench.methods.lookup import classifier_names, find_classifier, find_method, method_names
from pppca_bench.methods.protocol import contract_of
from pppca_bench.methods.registry import CLASSIFIERS, DEFAULT_RULE
from pppca_bench.methods.sections import PORTRAIT, PREDICTIONS, constructor_arguments, section_of
from pppca_bench.parameters import REQUIRED, Parameter, ParameterError, Tau, parameters_of, shown
from pppca_bench.problems import OwnData, SplitRule
from pppca_bench.runs import Scalar

NAME = re.compile(NAME_PATTERN)
MOST_VARIANTS = 10_000
"""Combinations of a section's values: far more than anybody waits for, and few enough to list in a second."""

KEYS = (
    *("name", "problems", "repeats", *SPLIT_KEYS, "seed", "tau", "methods", "classifier"),
    *(*CHOICE_KEYS, PREDICTIONS),
)

VALUES = {
    "name": Parameter("name", Annotated[str, StringConstraints(pattern=f"^{NAME.pattern}$")], REQUIRED),
    "repeats": Parameter("repeats", Annotated[int, Ge(1), Le(10_000)], REQUIRED),
    "seed": Parameter("seed", Annotated[int, Ge(0), Lt(2**63)], REQUIRED),
    "tau": Parameter("tau", Tau, None),
    PORTRAIT: Parameter(PORTRAIT, bool, False),
    PREDICTIONS: Parameter(PREDICTIONS, bool, False),
}
"""What the keys may be that are no parameters of an estimator, by key."""

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
    problems : tuple of str or OwnData
        Names of known problems, paths of .dt files as the config writes them, and tables.
    seed : int
    methods : tuple of MethodRequest
    """

    name: str
    problems: tuple[str | OwnData, ...]
    seed: int
    methods: tuple[MethodRequest, ...]


def parse_config(source: YamlSource, *, problems: Collection[str], given: Collection[str] = ()) -> Config:
    """Validate a document.

    Parameters
    ----------
    source : YamlSource
        The document.
    problems : collection of str
        Names that ``problems:`` may hold beside paths of .dt files and descriptions of tables.
    given : collection of str, optional
        Names of tables that the caller has, which ``problems:`` may hold too.

    Raises
    ------
    ConfigError
        A line for each mistake: file, line, key, what was expected and what was found.
    """
    return _ConfigReader(source, problems, given).read(source.value)


def variants(grid: Grid) -> Iterator[tuple[tuple[str, Scalar], ...]]:
    """Yield every combination of a grid's values, as sorted parameters; thresholds and data fractions vary fastest."""
    keys = sorted(grid, key=lambda key: {"tau": 1, "data_fraction": 2}.get(key, 0))
    for values in itertools.product(*(grid[key] for key in keys)):
        yield tuple(sorted(zip(keys, values, strict=True)))


@dataclass(frozen=True)
class _Shared:
    """Hold what the methods of a config have in common; the thresholds as they are written."""

    repeats: int
    tau: Any
    classifier: ClassifierRequest | None
    choice: ChoiceRule
    predictions: bool


class _ConfigReader(Reader):
    """Read the parts of one experiment's config."""

    def __init__(self, source: YamlSource, problems: Collection[str], given: Collection[str]) -> None:
        super().__init__(source)
        self._known_problems, self._given_tables = problems, given

    def read(self, document: Any) -> Config:
        given = self.mapping(document, (), KEYS)
        rule = read_split_rule(self, given, ())
        problems = self._problems(given, rule)
        most_splits = max((one.rule.n_splits for one in problems if isinstance(one, OwnData)), default=1)
        if "repeats" not in given and most_splits > 1:
            given = given | {"repeats": most_splits}
        name, repeats, seed = (self.one(VALUES[key], given, ()) for key in ("name", "repeats", "seed"))
        asked = read_choice(self, given)
        given, choice = with_candidates(given, asked)
        if given.get("tau") is not None:
            self.grid(VALUES["tau"], given["tau"], ("tau",))
        classifier = self._classifier(given.get("classifier", {}), ("classifier",))
        predictions = bool(self.one(VALUES[PREDICTIONS], given, ()))
        methods = self._methods(given, _Shared(repeats, given.get("tau"), classifier, choice, predictions))
        if not self.mistakes.at(("methods",)):
            check_chosen(self, asked, [method.grid for method in methods])
        self.mistakes.raise_if_any()
        return Config(name, problems, seed, tuple(methods))

    def _problems(self, given: Mapping[str, Any], rule: SplitRule) -> tuple[str | OwnData, ...]:
        if "problems" not in given:
            self.mistakes.add(("problems",), missing("problems"))
            return ()
        value = given["problems"]
        entries = self.sequence(value if isinstance(value, list) else [value], ("problems",), most=1000)
        found: list[str | OwnData] = []
        for index, entry in enumerate(entries):
            problem = self._problem(entry, ("problems", index), rule)
            if problem in found:
                text = f"expected each problem once, got {shown(entry)} again"
                self.mistakes.add(("problems", index), text)
            if problem is not None:
                found.append(problem)
        stated = [key for key in SPLIT_KEYS if key in given]
        if rule.n_splits > 1 and found and not any(isinstance(problem, OwnData) for problem in found):
            kept = "known problems and .dt files keep their own split"
            text = f"expected a table (csv, parquet, sklearn, openml) among the problems, got none: {kept}"
            self.mistakes.add((stated[0],), text)
        return tuple(found)

    def _problem(self, entry: Any, place: Location, rule: SplitRule) -> str | OwnData | None:
        """Return what an entry of the list of problems stands for, or None with a mistake."""
        if isinstance(entry, dict):
            own = read_own_data(self, entry, place, rule)
            if isinstance(own, OwnData) and own.name in self._known_problems:
                text = f"expected another name than that of a known problem, got {own.name!r}"
                self.mistakes.add((*place, "name"), text)
            return own
        if isinstance(entry, str) and entry in self._given_tables:
            return OwnData("given", entry, rule=rule, name=entry)
        if isinstance(entry, str) and (entry.endswith(".dt") or entry in self._known_problems):
            return entry
        hint = nearest(entry, self._known_problems) if isinstance(entry, str) else ""
        expected = "expected a problem's name (see `pppca data list`), the path of a .dt file, or {csv: FILE}"
        self.mistakes.add(place, f"{expected}, got {shown(entry)}{hint}")
        return None

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
        repeats = self.one(VALUES["repeats"], given, place) if "repeats" in given else shared.repeats
        given, choice = with_candidates(given, shared.choice)
        grid = self._section_grid(entry, given, place, self._shared_tau(entry, section, given, place, shared))
        if not self.mistakes.at(place):
            grid = choosing_grid(self, entry, grid, choice, place)
        if shared.predictions and entry.makes != "measures":
            grid[PREDICTIONS] = (True,)
        if entry.makes != "features":
            return MethodRequest(entry, grid, None, repeats)
        if self.one(VALUES[PORTRAIT], given, place):
            grid[PORTRAIT] = (True,)
        classifier = shared.classifier
        if "classifier" in given:
            classifier = self._classifier(given["classifier"], (*place, "classifier"))
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
