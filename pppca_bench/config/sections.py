"""Sections of methods and classifiers in configs: models, values, defaults, and values that runs choose."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, cast

from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import BeforeValidator, Field, PlainValidator, ValidationInfo, create_model
from pydantic_core import PydanticCustomError

from pppca_bench.documents import Location, Section, absent, as_written, broken_rule, expected_but_got, raise_errors
from pppca_bench.errors import ConfigError, nearest
from pppca_bench.methods.entry import Classifier, Entry, Method
from pppca_bench.methods.lookup import (
    check_not_shadowed,
    classifier_names,
    find_classifier,
    find_method,
    is_path,
    method_names,
)
from pppca_bench.methods.protocol import PORTRAIT, PREDICTIONS, constructor_arguments, contract_of, section_of
from pppca_bench.methods.registry import CLASSIFIERS, DEFAULT_RULE
from pppca_bench.parameters import REQUIRED, Parameter, ParameterError, parameters_of, shown
from pppca_bench.problems import OwnData
from pppca_bench.runs import AUTO, CHOOSE, CHOOSE_BY, CHOOSE_RETAIN, Scalar

MAX_VARIANTS = 10_000
"""Largest number of combinations of values in a section. Choice: listing them takes a second."""

AUTO_TAUS = (2.0, 5.0, 10.0, 15.0, 20.0, 50.0, 100.0)
"""Candidates of ``tau: auto``. Choice: the slides' four values, and values around them for other spectra."""

Grid = Mapping[str, tuple[Scalar, ...]]
"""Values of each parameter, by key; a single value if the config does not vary the parameter."""

Repeats = Annotated[int, Ge(1), Le(10_000)]
By = Literal["validation_error", "retained_variance"]
Names = Annotated[tuple[str, ...], MinLen(1), MaxLen(10)]

_STORABLE = (float, int, str, type(None))


class Context(NamedTuple):
    """Context of a config's validation: saved tables of the caller by name, the config's folder."""

    given: Mapping[str, OwnData]
    folder: Path


def context_of(info: ValidationInfo) -> Context:
    """Return the context argument of `Section.read`."""
    return cast("Context", info.context)


class MethodRequest(NamedTuple):
    """Method of a config: values of its parameters and of the following classifiers, with defaults.

    ``classifier`` contains ``rule``, the parameters of the classifier, and ``base.<key>`` for members of an ensemble;
    it is empty without a classifier.
    """

    entry: Method
    grid: Grid
    classifier: Grid
    repeats: int

    @property
    def entries(self) -> list[Method | Classifier]:
        """Return the method and its classifiers, an ensemble before its members."""
        rules = [str(self.classifier[key][0]) for key in ("rule", "base.rule") if key in self.classifier]
        return [self.entry, *map(find_classifier, rules)]


def variants(grid: Grid) -> Iterator[tuple[tuple[str, Scalar], ...]]:
    """Yield all combinations of values in a grid, as sorted parameters; thresholds and data fractions vary fastest."""
    keys = sorted(grid, key=lambda key: {"tau": 1, "data_fraction": 2}.get(key, 0))
    for values in itertools.product(*(grid[key] for key in keys)):
        yield tuple(sorted(zip(keys, values, strict=True)))


def read_values(parameter: Parameter, value: Any) -> tuple[Any, ...]:
    """Return the values of a key that takes a parameter's value or, for separate runs, a list of distinct values."""
    is_list = parameter.is_list
    if not isinstance(value, tuple) or (is_list and not any(isinstance(item, tuple) for item in value)):
        return (_checked(parameter, value),)
    if not value:
        raise broken_rule("expected at least one value, got []")
    values: dict[Any, None] = {}
    errors: list[tuple[Location, str]] = []
    for index, item in enumerate(value):
        try:
            checked = _checked(parameter, item)
            if checked in values:
                raise broken_rule(f"expected each value once, got {as_written(item)} again")
            values[checked] = None
        except PydanticCustomError as error:
            errors.append(((index,), error.message()))
    if errors:
        raise_errors(errors)
    return tuple(values)


def _checked(parameter: Parameter, value: Any) -> Any:
    try:
        checked = parameter.checked(value)
    except ParameterError as error:
        raise broken_rule(expected_but_got(error.expected, value)) from None
    if not is_storable(checked):
        raise broken_rule(f"expected a number, text, true, false, null or a list, got {as_written(value)}")
    return checked


def read_thresholds(parameter: Parameter, value: Any) -> Any:
    """Return the values of a key with thresholds, which may be missing (None), or chosen by each run (`AUTO`)."""
    return value if value is None or value == AUTO else read_values(parameter, value)


def is_storable(value: object) -> bool:
    """Return whether the store accepts a parameter value: a number, text, boolean, None, or a tuple of these."""
    parts = value if isinstance(value, tuple) else (value,)
    return all(isinstance(part, _STORABLE) and not isinstance(part, type) and part == part for part in parts)


def as_mapping(value: Any, key: str) -> Any:
    """Return the mapping for a bare name, which abbreviates it; other values are unchanged."""
    return {key: value} if isinstance(value, str) else value


class EntrySection(Section):
    """Base of the models of method and classifier sections."""

    entry: ClassVar[Entry]

    @classmethod
    def hint(cls, key: str) -> str:
        """Return a hint: the section of the key, or the most similar key of this section."""
        if cls.entry.foreign:
            return " (a key of parameters:)" if key in section_of(cls.entry) else nearest(key, cls.known_keys())
        rules = [rule for rule, entry in CLASSIFIERS.items() if key in section_of(entry)]
        if rules and isinstance(cls.entry, Classifier):
            return f" (a key of rule: {' and '.join(rules)})"
        return nearest(key, cls.known_keys())


@cache
def model_of(entry: Method | Classifier) -> type[EntrySection]:
    """Return the model for the section of a method or classifier."""
    fields: dict[str, Any] = {"rule": (Literal[entry.name], absent() if entry.name == DEFAULT_RULE else ...)}
    if isinstance(entry, Method):
        fields = {"method": (Literal[entry.name], ...), "repeats": (Repeats, absent())}
    if entry.foreign:
        parameters = create_model("parameters", __base__=Section, **_fields(entry))
        or_nothing = BeforeValidator(lambda value: {} if value in (None, REQUIRED) else value)
        fields["parameters"] = (Annotated[parameters, or_nothing], absent(validate_default=True))
    else:
        fields |= _fields(entry)
    if isinstance(entry, Method) and entry.makes == "features":
        fields |= {"classifier": (ClassifierSection, absent()), PORTRAIT: (bool, False)}
    if isinstance(entry, Classifier) and entry.is_ensemble:
        fields["base"] = (MemberSection, absent())
    model: type[EntrySection] = create_model(entry.name, __base__=EntrySection, **fields)
    model.entry = entry
    return model


def _fields(entry: Entry) -> dict[str, Any]:
    """Return a field for each parameter, with the key as alias, since pydantic reserves names such as copy."""
    fields = {}
    for number, (key, parameter) in enumerate(section_of(entry).items()):
        is_threshold = key == "tau" and not entry.foreign
        read = PlainValidator(partial(read_thresholds if is_threshold else read_values, parameter))
        is_required = parameter.default is REQUIRED and key != "tau"
        fields[f"key_{number}"] = Annotated[Any, read], Field(alias=key) if is_required else absent(alias=key)
    return fields


def _find_entry(value: Any, key: str, default: str | None, info: ValidationInfo, *, in_ensemble: bool = False) -> Any:
    """Return the registry entry of a section; raise an error for unknown names."""
    if not isinstance(value, dict):
        raise broken_rule(f"expected a name or a mapping of keys to values, got {as_written(value)}")
    names, find = (method_names(), find_method) if key == "method" else (classifier_names(), find_classifier)
    if in_ensemble:
        names = [name for name in names if name not in CLASSIFIERS or not CLASSIFIERS[name].is_ensemble]
    name = value.get(key, default)
    try:
        if isinstance(name, str) and (name in names or is_path(name)):
            entry = find(name)
            section_of(entry)  # raises ConfigError for a class that breaks the protocol
            if is_path(name):
                check_not_shadowed(name, context_of(info).folder)
            return entry
    except ConfigError as error:
        raise_errors([((key,), str(error).removesuffix("."))])
    got = as_written(name) if name is not None else "none"
    hint = (nearest(name, names) or "; if a package gave this name, install it") if isinstance(name, str) else ""
    raise broken_rule(f"expected {key} to be one of {', '.join(names)}, got {got}{hint}")


def _validate_section(entry: Method | Classifier, value: Any, info: ValidationInfo) -> dict[str, Any]:
    """Return the validated values of a section, by key, without defaults."""
    section = model_of(entry).model_validate(value, context=info.context)
    return section.model_dump(by_alias=True, exclude_unset=True)


def read_classifier(value: Any, info: ValidationInfo, *, in_ensemble: bool = False) -> Grid:
    """Validate the section of a classifier and return its values, with defaults."""
    value = as_mapping(value, "rule")
    entry = _find_entry(value, "rule", DEFAULT_RULE, info, in_ensemble=in_ensemble)
    given = _validate_section(entry, value, info)
    grid = {"rule": (entry.name,), **_grid(entry, given)}
    if entry.is_ensemble:
        members = given.get("base") or read_classifier({}, info, in_ensemble=True)
        grid |= {f"base.{key}": values for key, values in members.items()}
    return grid


ClassifierSection = Annotated[Any, PlainValidator(read_classifier)]
MemberSection = Annotated[Any, PlainValidator(partial(read_classifier, in_ensemble=True))]


def read_method(value: Any, info: ValidationInfo) -> MethodRequest:
    """Validate the section of a method and return the request.

    Keys of the config, validated earlier, apply if the section lacks them.
    """
    shared = info.data
    value = as_mapping(value, "method")
    entry = _find_entry(value, "method", None, info)
    given = _validate_section(entry, value, info)
    names = shared.get("choose", ())
    if AUTO in (shared.get("tau"), given.get("tau")):
        names = tuple(dict.fromkeys([*names, "tau"]))
    if "tau" in section_of(entry) and not entry.foreign:
        tau = given.pop("tau", None)
        has_other = any(value.get(name) is not None for name in entry.instead_of_tau)
        if tau is None and not has_other and "tau" in shared:
            tau = shared["tau"]
            if tau is None:
                raise broken_rule(f"{entry.name} needs a threshold: expected `tau: [5, 10, 15, 20]`, got none")
        given["tau"] = AUTO_TAUS if tau == AUTO else tau or (None,)
    grid = _grid(entry, given)
    grid = _add_candidates(entry, grid, names, shared.get("by", "validation_error"), shared.get("retain", 95.0))
    if shared.get(PREDICTIONS) and entry.makes != "measures":
        grid[PREDICTIONS] = (True,)
    if given.get(PORTRAIT):
        grid[PORTRAIT] = (True,)
    classifier = given.get("classifier", shared.get("classifier", {})) if entry.makes == "features" else {}
    return MethodRequest(entry, grid, classifier, given.get("repeats", shared.get("repeats", 0)))


def _grid(entry: Method | Classifier, given: Mapping[str, Any]) -> dict[str, tuple[Scalar, ...]]:
    """Return the values of all parameters, with defaults; raise errors for rules between parameters."""
    place: Location = ("parameters",) if entry.foreign else ()
    if entry.foreign:
        given = given.get("parameters", {})
    # Third-party defaults that the store does not accept, such as functions, are left to the constructor.
    grid = {
        key: given.get(key, (parameter.default,))
        for key, parameter in section_of(entry).items()
        if key in given or not entry.foreign or is_storable(parameter.default)
    }
    n_variants = math.prod(map(len, grid.values()))
    if n_variants > MAX_VARIANTS:
        raise_errors([(place, f"expected at most {MAX_VARIANTS} combinations of values, got {n_variants}")])
    estimator = contract_of(entry).estimator
    if hasattr(estimator, "check_agreement"):
        parameters = parameters_of(estimator).values()
        required = {parameter.name: None for parameter in parameters if parameter.default is REQUIRED}
        for settings in variants(grid):
            try:
                estimator(**required | constructor_arguments(estimator, dict(settings))).check_agreement()
            except ParameterError as error:
                text = f"expected {error.expected}, got {shown(error.value)}"
                raise_errors([((*place, error.name), text)])
    return grid


def _add_candidates(
    entry: Method, grid: dict[str, tuple[Scalar, ...]], names: tuple[str, ...], by: By, retain: float
) -> dict[str, tuple[Scalar, ...]]:
    """Return the values of a method, where all candidates of the named parameters are a single value.

    The runs choose the least error on the validation split, or the fewest features that retain a percentage of the
    variance of the training split.
    """
    candidates = {name: grid[name] for name in names if len(grid.get(name, ())) > 1}
    if not candidates:
        return grid
    by_variance = by == "retained_variance"
    if entry.makes == "measures":
        raise broken_rule(f"expected no settings to choose among, since {entry.name} only measures, got some")
    if entry.makes == "classes" and by_variance:
        got = f"{entry.name}, which classifies: choose by validation_error"
        raise broken_rule(f"expected features whose variance is known, got {got}")
    chosen: dict[str, Any] = {CHOOSE_BY: (by,)} | ({CHOOSE_RETAIN: (retain,)} if by_variance else {})
    for name, values in candidates.items():
        for value in values:
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise_errors([((name,), f"expected numbers to choose among, got {shown(value)}")])
        chosen |= {name: (AUTO,), f"{CHOOSE}{name}": (values,)}
    return {**grid, **chosen}
