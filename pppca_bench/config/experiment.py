"""Experiment configs: a YAML document to a validated, frozen `Config`, with line-numbered errors."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from pppca_bench.config.yaml_source import Location, YamlSource, read_yaml
from pppca_bench.errors import ConfigError
from pppca_bench.methods.classifier_sections import CLASSIFIERS, NETWORKS, Classifier, RpropClassifier, SystemSection
from pppca_bench.methods.config_sections import METHODS, Method
from pppca_bench.methods.ranges import GRID, Section, Taus
from pppca_bench.references.published import pivot_hidden

ExpectedKeys = Callable[[Any, Location], list[str]]
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


class Config(Section):
    """Everything that one experiment runs: problems x methods x tau x data fractions x repeats."""

    name: Annotated[str, Field(pattern=f"^{NAME.pattern}$")]
    problems: Annotated[tuple[str, ...], *GRID]
    repeats: Annotated[int, Field(ge=1, le=10_000)]
    seed: Annotated[int, Field(ge=0, lt=2**63)]
    tau: Taus | None = None
    methods: Annotated[tuple[Method, ...], Field(min_length=1, max_length=100, strict=False)]
    classifier: Classifier = RpropClassifier()

    @field_validator("problems")
    @classmethod
    def _known(cls, names: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        known: Collection[str] = (info.context or {}).get("problems", ())
        for name in names:
            if not name.endswith(".dt") and name not in known:
                raise PydanticCustomError(
                    "unknown_problem",
                    "expected a problem's name (see `pppca data list`) or the path of a .dt file, got {name}{hint}",
                    {"name": repr(name), "hint": nearest(name, known)},
                )
        return names

    @model_validator(mode="after")
    def _complete(self) -> Config:
        for position, method in enumerate(self.methods):
            if method.takes_tau and getattr(method, "tau", None) is None and self.tau is None:
                raise PydanticCustomError(
                    "no_tau",
                    "{method} needs a threshold: expected `tau: [5, 10, 15, 20]`, got none",
                    {"method": method.method, "location": ("methods", position)},
                )
        return self

    @model_validator(mode="after")
    def _pivots_exist(self) -> Config:
        without = [name for name in self.problems if pivot_hidden(name) is None]
        for position, method in enumerate(self.methods):
            alone = isinstance(method, SystemSection)
            section = method if isinstance(method, SystemSection) else method.classifier or self.classifier
            if section.uses_pivot and without:
                raise PydanticCustomError(
                    "no_pivot",
                    "the Proben1 report has no pivot architecture for {name}: expected layer sizes,"
                    " such as `{example}`, got hidden: pivot (the default)",
                    {
                        "name": repr(without[0]),
                        "example": "hidden: [16, 8]" if alone else "classifier: {hidden: [16, 8]}",
                        "location": ("methods", position) if alone else ("classifier",),
                    },
                )
        return self


def load_config(path: Path, *, problems: Collection[str]) -> Config:
    """Read and validate one experiment config.

    Parameters
    ----------
    path : Path
        The YAML file.
    problems : collection of str
        Names that ``problems:`` may hold.

    Raises
    ------
    ConfigError
        One line for each mistake: file, line, key, what was expected and what was found.
    """
    return parse_config(read_yaml(path), problems=problems)


def parse_config(source: YamlSource, *, problems: Collection[str]) -> Config:
    """Validate a parsed document; see `load_config`."""
    if not isinstance(source.value, dict):
        found = type(source.value).__name__ if source.value is not None else "nothing"
        raise ConfigError(
            f"{source.path}:1: expected a mapping with the keys {', '.join(Config.model_fields)}, got {found}."
        )
    try:
        return Config.model_validate(source.value, context={"problems": problems})
    except ValidationError as error:
        raise ConfigError(describe_mistakes(source, error.errors(), _expected_keys)) from None


def describe_mistakes(source: YamlSource, details: Sequence[ErrorDetails], expected_keys: ExpectedKeys) -> str:
    """Describe the first mistake at each place; others there, and those of what encloses it, follow from it.

    Parameters
    ----------
    source : YamlSource
        The document.
    details : sequence of ErrorDetails
        Pydantic's account of it.
    expected_keys : callable(document, location) -> list of str
        The keys that the mapping at a location may have.

    Returns
    -------
    str
        A line for each place.
    """
    located: dict[Location, ErrorDetails] = {}
    for detail in details:
        located.setdefault(_in_document(source.value, detail), detail)
    enclosing = {location[:end] for location in located for end in range(len(location))}
    first = {location: detail for location, detail in located.items() if location not in enclosing}
    return "\n".join(_describe(source, location, detail, expected_keys) for location, detail in first.items())


def _describe(source: YamlSource, location: Location, detail: ErrorDetails, expected_keys: ExpectedKeys) -> str:
    where = f"{source.path}:{source.line(location)}: {dotted(location) or 'config'}"
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "extra_forbidden":
        keys = expected_keys(source.value, location[:-1])
        hint = _other_rule(location) or nearest(str(location[-1]), keys)
        return f"{where}: unknown key, expected one of {', '.join(keys)}{hint}."
    if kind == "missing" and isinstance(detail["loc"][-1], str):
        return f"{where}: expected a value, got none. Add the key `{location[-1]}`."
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        got = context.get("tag", "none")
        key, names = _NAMED_BY.get(str(location[-1]), ("method", METHODS))
        return f"{where}: expected {key} to be one of {', '.join(names)}, got {got}{nearest(str(got), names)}."
    message = _expectation(kind, context) or detail["msg"]
    message = message.replace("Input should be", "expected").replace("String should", "expected text to")
    if "got" in message:
        return f"{where}: {message}."
    return f"{where}: {message}, got {_shown(detail['input'])}."


_NAMED_BY = {"classifier": ("rule", CLASSIFIERS), "base": ("rule", NETWORKS)}


def _other_rule(location: Location) -> str:
    """Return a hint at the learning rule that has a classifier's key, or nothing."""
    rules = [rule for rule, section in CLASSIFIERS.items() if location[-1] in section.model_fields]
    return f" (a key of rule: {' and '.join(rules)})" if "classifier" in location[:-1] and rules else ""


def _expectation(kind: str, context: dict[str, Any]) -> str | None:
    """Put pydantic's words for the Python side of a mistake into those of a config."""
    if kind == "too_short":
        return f"expected at least {context['min_length']} value{'s' if context['min_length'] > 1 else ''}"
    if kind == "too_long":
        return f"expected at most {context['max_length']} values"
    if kind == "missing":
        return "expected one value more"
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        return "expected a mapping of keys to values"
    return None


def _in_document(document: Any, detail: ErrorDetails) -> Location:
    """Return where a mistake stands, without what pydantic puts into a location, such as a union's tag."""
    location: Location = detail.get("ctx", {}).get("location") or detail["loc"]
    if location[:1] == ("methods",):
        location = (*location[:2], *location[3:])
    if "classifier" in location:
        tag = location.index("classifier") + 1
        location = (*location[:tag], *location[tag + 1 :]) if location[tag : tag + 1] != () else location
    value, kept = document, list[str | int]()
    for position, part in enumerate(location):
        if isinstance(value, dict) and (part in value or position == len(location) - 1):
            kept.append(part)
            value = value.get(part)
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            kept.append(part)
            value = value[part]
    return tuple(kept)


def _expected_keys(document: Any, location: Location) -> list[str]:
    if "classifier" in location:
        section = document
        for part in location:
            section = section[part]
        return list(CLASSIFIERS[section.get("rule", "rprop")].model_fields)
    if location[:1] == ("methods",) and len(location) > 1:
        return list(METHODS[document["methods"][location[1]]["method"]].model_fields)
    return list(Config.model_fields)


def dotted(location: Location) -> str:
    """Return a location as it is written, such as ``methods[0].tau``."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return text.removeprefix(".")


def nearest(name: str, known: Collection[str]) -> str:
    """Return a hint at the known name that is most like this one, or nothing."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
