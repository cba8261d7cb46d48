"""Sections of methods and classifiers in configs: models, values, defaults, and values that runs choose."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, cast

from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import (
    BeforeValidator,
    Field,
    PlainValidator,
    TypeAdapter,
    ValidationInfo,
    create_model,
)

from pppca_bench.base.parameters import REQUIRED, Parameter, ParameterError, parameters_of, shown
from pppca_bench.errors import ConfigError, UnknownNameError
from pppca_bench.methods.entry import Classifier, Entry, Method
from pppca_bench.methods.lookup import find_classifier, find_method
from pppca_bench.methods.protocol import constructor_arguments, contract_of, section_of
from pppca_bench.methods.registry import CLASSIFIERS, DEFAULT_RULE
from pppca_bench.methods.third_party import check_not_shadowed, is_path
from pppca_bench.problems import OwnData
from pppca_bench.quantities import BALANCED_SCORES
from pppca_bench.runs import AUTO, FASTEST, THRESHOLD, Names, Scalar, Settings, flattened, nested
from pppca_bench.yaml_files.section import Section, broken_rule, expected_but_got, yaml_text

MAX_VARIANTS = 10_000
"""Largest number of combinations of values in a section. Choice: listing them takes a second."""

AUTO_TAUS = (2.0, 5.0, 10.0, 15.0, 20.0, 50.0, 100.0)
"""Candidates of ``tau: auto``. Choice: the slides' four values, and values around them for other spectra."""

ParameterValues = Mapping[str, tuple[Scalar, ...]]
"""Values of each parameter, by key; a single value if the config does not vary the parameter."""

Grid = Mapping[str, Any]
"""Nested `Settings` with a tuple of values in place of each value."""

Repeats = Annotated[int, Ge(1), Le(10_000)]
Title = Annotated[str, MinLen(1), MaxLen(100)]
By = Literal[
    "validation_error",
    "retained_variance",
    "balanced_accuracy",
    "macro_f1",
    "roc_auc",
    "average_precision",
]
NamesToChoose = Annotated[tuple[str, ...], MinLen(1), MaxLen(10)]

_STORABLE = (float, int, str, type(None))


class Context(NamedTuple):
    """Context of a config's validation: saved tables of the caller by name, the config's folder.

    With ``has_files``, the files of problems must exist.
    """

    given: Mapping[str, OwnData]
    folder: Path
    has_files: bool = False


WHOLE = "none"
"""Value of ``splits`` for whole, unscaled data, with which no classifier follows the methods."""


class MethodRequest(NamedTuple):
    """Method of a config: values of its parameters and of the following classifiers, with defaults.

    ``grid``, ``classifier``, ``choose``, ``predictions`` and ``curve`` are those of `Cell`, the first two with a tuple
    of values in place of each value. ``title`` is "" unless the config gives one, ``given`` names the settings that the
    config writes for this method, in its order. ``is_added`` distinguishes baselines that the config does not name.
    """

    entry: Method
    grid: ParameterValues
    classifier: Grid
    repeats: int
    choose: Settings
    predictions: bool
    title: str = ""
    given: Names = ()
    is_added: bool = False
    curve: bool = False

    @property
    def of_classes(self) -> list[str]:
        """Return the settings of the classifiers that only classification problems have."""
        section, names = self.classifier, list[str]()
        while section:
            names += [
                name for name in find_classifier(section["rule"][0]).of_classes if name in section
            ]
            section = section.get("base", {})
        return names

    @property
    def entries(self) -> list[Method | Classifier]:
        """Return the method and its classifiers, an ensemble before its members."""
        used: list[Method | Classifier] = [self.entry]
        section = self.classifier
        while section:
            used.append(find_classifier(section["rule"][0]))
            section = section.get("base", {})
        return used


def variants(grid: Grid) -> Iterator[dict[str, Any]]:
    """Yield the settings of all combinations of values in a grid; thresholds and data fractions vary fastest."""
    values = flattened(grid)
    names = sorted(values, key=lambda name: FASTEST.index(name) if name in FASTEST else -1)
    for combination in itertools.product(*(values[name] for name in names)):
        flat = dict(zip(names, combination, strict=True))
        yield nested(dict(sorted(flat.items())))


def read_values(parameter: Parameter, value: Any) -> tuple[Any, ...]:
    """Return the values of a key that takes a parameter's value or, for separate runs, a list of distinct values."""
    is_list = isinstance(value, tuple) and (
        not parameter.is_list or any(isinstance(item, tuple) for item in value)
    )
    if not is_list:
        return (_checked(parameter, value),)
    if not value:
        raise broken_rule("expected at least one value, got []")
    item = Annotated[Any, PlainValidator(partial(_checked, parameter))]
    return distinct(TypeAdapter(tuple[item, ...]).validate_python(value))


def read_thresholds(parameter: Parameter, value: Any) -> tuple[Any, ...]:
    """Return the values of a key with thresholds, or `AUTO` alone if each run chooses among `AUTO_TAUS`."""
    return (AUTO,) if value == AUTO else read_values(parameter, value)


def _checked(parameter: Parameter, value: Any) -> Any:
    try:
        checked = parameter.checked(value)
    except ParameterError as error:
        raise broken_rule(expected_but_got(error.expected, value)) from None
    if not is_storable(checked):
        raise broken_rule(
            f"expected a number, text, true, false, null or a list, got {yaml_text(value)}"
        )
    return checked


def is_storable(value: object) -> bool:
    """Return whether the store accepts a parameter value: a number, text, boolean, None, or a tuple of these."""
    parts = value if isinstance(value, tuple) else (value,)
    return all(isinstance(part, _STORABLE) and part == part for part in parts)


def distinct(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the values of a list; raise an error if a value is repeated."""
    first: dict[Any, int] = {}
    for index, value in enumerate(values):
        if first.setdefault(value, index) != index:
            raise broken_rule(
                f"expected each value once, got {yaml_text(getattr(value, 'label', value))} again",
                index,
            )
    return values


def as_mapping(value: Any, key: str) -> Any:
    """Return the mapping for a bare name, which abbreviates it; other values are unchanged."""
    return {key: value} if isinstance(value, str) else value


class EntrySection(Section):
    """Base of the models of method and classifier sections."""

    entry: ClassVar[Entry]

    @classmethod
    def hint(cls, key: str) -> str:
        """Return a hint: the section of the key, or the most similar key of this section."""
        if cls.entry.foreign and key in section_of(cls.entry):
            return " (a key of parameters:)"
        rules = [rule for rule, entry in CLASSIFIERS.items() if key in section_of(entry)]
        if rules and isinstance(cls.entry, Classifier) and not cls.entry.foreign:
            return f" (a key of rule: {', '.join(rules)})"
        return super().hint(key)


def has_classifier(entry: Method) -> bool:
    """Return whether a classifier follows a method that makes features, or is within a method."""
    return entry.makes == "features" or contract_of(entry).takes_classifier


@cache
def model_of(entry: Method | Classifier) -> type[EntrySection]:
    """Return the model for the section of a method or classifier, with the defaults of its parameters."""
    fields: dict[str, Any] = {"rule": (Any, None)}
    if isinstance(entry, Method):
        fields = {"method": (Any, None), "repeats": (Repeats, 0), "title": (Title, "")}
    if entry.foreign:
        parameters = create_model("parameters", __base__=Section, **_fields(entry))
        or_nothing = BeforeValidator(lambda value: {} if value is None else value)
        fields["parameters"] = (
            Annotated[parameters, or_nothing],
            Field(None, validate_default=True),
        )
    else:
        fields |= _fields(entry)
    if isinstance(entry, Method) and has_classifier(entry):
        fields["classifier"] = (ClassifierSection, None)
    if isinstance(entry, Classifier) and entry.is_ensemble:
        fields["base"] = (MemberSection, Field({}, validate_default=True))
    model: type[EntrySection] = create_model(entry.name, __base__=EntrySection, **fields)
    model.entry = entry
    return model


def _fields(entry: Entry) -> dict[str, Any]:
    """Return the fields of a model for `create_model`, one for each parameter.

    The key is an alias, since pydantic reserves names such as copy. A value is a tuple of the values of separate runs;
    a threshold has no value by default, for which `read_method` takes the config's.
    """
    fields: dict[str, Any] = {}
    for number, (key, parameter) in enumerate(section_of(entry).items()):
        read: Any = read_values
        default: Any = (parameter.default,)
        if parameter.default is REQUIRED:
            default = ...
        if key == THRESHOLD and not entry.foreign:
            read, default = read_thresholds, ()
        validated = Annotated[Any, PlainValidator(partial(read, parameter))]
        fields[f"key_{number}"] = (validated, Field(default, alias=key))
    return fields


def _read_section(
    value: Any, key: Literal["method", "rule"], default: str | None, info: ValidationInfo
) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Validate the section of a method or classifier.

    Returns its entry, the values of its parameters, with defaults, and those of the other keys.
    """
    section = as_mapping(value, key)
    entry = _entry_of(section, key, default, info)
    model = model_of(entry).model_validate(section, context=info.context)
    given = model.model_dump(by_alias=True)
    if not entry.foreign:
        return entry, {name: given.pop(name) for name in section_of(entry)}, given
    grid = dict[str, Any]()
    for name, values in given.pop("parameters").items():
        # Third-party defaults that the store does not accept, such as functions, are left to the constructor.
        if all(map(is_storable, values)):
            grid[name] = values
    return entry, grid, given


def _entry_of(
    section: Any, key: Literal["method", "rule"], default: str | None, info: ValidationInfo
) -> Method | Classifier:
    """Return the registry entry that a section names."""
    if not isinstance(section, dict):
        got = yaml_text(section)
        raise broken_rule(f"expected a name or a mapping of keys to values, got {got}")
    name = section.get(key, default)
    if not isinstance(name, str):
        got = "none" if name is None else yaml_text(name)
        raise broken_rule(f"expected {key} to be a name that `pppca methods` prints, got {got}")
    try:
        if is_path(name):
            check_not_shadowed(name, cast("Context", info.context).folder)
        entry = find_method(name) if key == "method" else find_classifier(name)
        section_of(entry)  # raises ConfigError for a class that breaks the protocol
    except (ConfigError, UnknownNameError) as error:
        raise broken_rule(str(error).removesuffix("."), key) from None
    return entry


def read_classifier(value: Any, info: ValidationInfo, *, in_ensemble: bool = False) -> Grid:
    """Validate the section of a classifier and return its values, with defaults."""
    entry, grid, others = _read_section(value, "rule", DEFAULT_RULE, info)
    if in_ensemble and entry.is_ensemble:
        raise broken_rule(
            f"expected a classifier that combines no others, got {entry.name!r}", "rule"
        )
    _check_grid(entry, grid)
    for name in entry.of_classes:
        if grid[name] == (None,):
            del grid[name]
    members = {"base": others["base"]} if "base" in others else {}
    return {"rule": (entry.name,), **grid, **members}


ClassifierSection = Annotated[Any, PlainValidator(read_classifier)]
MemberSection = Annotated[Any, PlainValidator(partial(read_classifier, in_ensemble=True))]


def read_method(value: Any, info: ValidationInfo) -> MethodRequest:
    """Validate the section of a method and return the request.

    Keys of the config, validated earlier, apply if the section lacks them.
    """
    config = info.data
    entry, grid, others = _read_section(value, "method", None, info)
    names = config.get("choose", ())
    if THRESHOLD in grid and not entry.foreign:
        grid[THRESHOLD] = _thresholds(entry, grid, config)
        if grid[THRESHOLD] == (AUTO,):
            names, grid[THRESHOLD] = (*names, THRESHOLD), AUTO_TAUS
    _check_grid(entry, grid)
    among = {name: grid[name] for name in sorted(names) if len(grid.get(name, ())) > 1}
    choose = _choice(entry, among, config) if among else {}
    grid |= dict.fromkeys(among, (AUTO,))
    classifier: Grid = {}
    if has_classifier(entry):
        shared = {} if config.get("splits") == WHOLE else config.get("classifier", {})
        classifier = others["classifier"] or shared
    request = MethodRequest(
        entry,
        grid,
        classifier,
        others["repeats"] or config.get("repeats", 0),
        choose,
        predictions=False,  # decided below, as is ``given``
        title=others["title"],
        curve=bool(classifier and config.get("curve")),
    )
    return request._replace(
        predictions=_stores_predictions(request, config),
        given=_given_settings(as_mapping(value, "method"), request),
    )


def _stores_predictions(method: MethodRequest, config: Mapping[str, Any]) -> bool:
    """Return whether runs of a method store predictions and have their scores.

    They do if the config asks for them, chooses by a score or weights classes, whose effect only scores show.
    """
    if method.entry.makes == "measures" or config.get("splits") == WHOLE:
        return False
    of_config = method._replace(classifier=config.get("classifier", {}))
    is_by_score = f"{config.get('by')}_percent" in BALANCED_SCORES
    is_weighted = bool(method.of_classes or of_config.of_classes)
    return bool(config.get("predictions")) or is_by_score or is_weighted


def _thresholds(entry: Method, grid: ParameterValues, config: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the thresholds of a method: those of its section or else of the config, (None,) for none.

    The config's do not apply to a section with another rule for the number of features. Raises an error if a method
    that needs a rule has none.
    """
    has_other_rule = any(grid[name] != (None,) for name in entry.instead_of_tau)
    own = grid[THRESHOLD]
    # The config's thresholds are missing if they are invalid, which is reported already.
    if own or has_other_rule or THRESHOLD not in config:
        return own or (None,)
    is_optional = section_of(entry)[THRESHOLD].default is None and not entry.instead_of_tau
    if not config[THRESHOLD] and not is_optional:
        raise broken_rule(
            f"{entry.name} needs a threshold: expected `tau: [5, 10, 15, 20]`, got none"
        )
    return config[THRESHOLD] or (None,)


def _given_settings(section: Mapping[str, Any], method: MethodRequest) -> Names:
    """Return the names of the settings that the section of a method gives, and of the config's threshold.

    A threshold that is null has no name, since the method's title says that it keeps all rows.
    """
    names = [key for key in _keys(section) if key in method.grid]
    if not method.entry.foreign and THRESHOLD in method.grid:
        names.append(THRESHOLD)
        if method.grid[THRESHOLD] == (None,):
            names = [name for name in names if name != THRESHOLD]
    if own := section.get("classifier"):
        known = flattened(method.classifier)
        keys = [key for key in _keys(as_mapping(own, "rule")) if key in known]
        names += [f"classifier.{key}" for key in keys]
    return tuple(dict.fromkeys(names))


def _keys(section: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys of the section of a method or classifier in its order, without the levels of sections in it."""
    for key, value in section.items():
        if key == "parameters":
            yield from value or ()
        elif key == "base":
            yield from (f"base.{inner}" for inner in _keys(as_mapping(value, "rule")))
        else:
            yield key


def _check_grid(entry: Method | Classifier, grid: ParameterValues) -> None:
    """Raise an error for too many combinations of values, or for a combination that breaks a rule between them."""
    location = ("parameters",) if entry.foreign else ()
    n_variants = math.prod(map(len, grid.values()))
    if n_variants > MAX_VARIANTS:
        raise broken_rule(
            f"expected at most {MAX_VARIANTS} combinations of values, got {n_variants}", *location
        )
    estimator = contract_of(entry).estimator
    if hasattr(estimator, "check_agreement"):
        parameters = parameters_of(estimator).values()
        # placeholders for parameters that the runner sets
        required = {
            parameter.name: None for parameter in parameters if parameter.default is REQUIRED
        }
        for settings in variants(grid):
            try:
                estimator(
                    **required | constructor_arguments(estimator, dict(settings))
                ).check_agreement()
            except ParameterError as error:
                raise broken_rule(
                    f"expected {error.expected}, got {shown(error.value)}", *location, error.name
                ) from None


def _choice(entry: Method, among: ParameterValues, config: Mapping[str, Any]) -> Settings:
    """Return the rule by which runs of a method choose among values of parameters; see `Cell`.

    The runs choose the least error or the largest score on the validation split, or the fewest features that retain a
    percentage of the variance of the training split.
    """
    if entry.makes == "measures":
        raise broken_rule(
            f"expected no settings to choose among, since {entry.name} only measures, got some"
        )
    by: By = config.get("by", "validation_error")
    retain = None
    if by == "retained_variance":
        if entry.makes == "classes":
            got = f"{entry.name}, which classifies: choose by validation_error"
            raise broken_rule(f"expected features whose variance is known, got {got}")
        retain = config.get("retain", 95.0)
    for name, values in among.items():
        for value in values:
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise broken_rule(f"expected numbers to choose among, got {shown(value)}", name)
    return {"by": by, "retain": retain, "among": among}
