"""Experiment configs: a YAML document to a validated, frozen `Config`, with line-numbered errors."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from pppca_bench.errors import ConfigError
from pppca_bench.published import pivot_hidden
from pppca_bench.yaml_source import Location, YamlSource, read_yaml

ExpectedKeys = Callable[[Any, Location], list[str]]
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def _as_list(value: object) -> object:
    return value if isinstance(value, list | tuple) else [value]


def _each_once(values: tuple[Any, ...]) -> tuple[Any, ...]:
    for position, value in enumerate(values):
        if value in values[:position]:
            raise PydanticCustomError("repeated", "expected each value once, got {value} again", {"value": repr(value)})
    return values


def _pivot_or_list(value: object) -> object:
    if value != "pivot" and not isinstance(value, list | tuple):
        raise PydanticCustomError(
            "hidden",
            "expected pivot or a list of layer sizes such as [16, 8], got {value}",
            {"value": repr(value)},
        )
    return value


Positive = Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]
Probability = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
Tau = Annotated[float, Field(gt=1, le=1e12, allow_inf_nan=False)]
Percent = Annotated[float, Field(gt=0, le=100, allow_inf_nan=False)]
Width = Annotated[int, Field(ge=1, le=1000)]
Widths = Annotated[tuple[Width, ...], Field(max_length=5, strict=False)]
Range = Annotated[tuple[Positive, Positive], Field(strict=False)]
Hidden = Annotated[
    Annotated[Literal["pivot"], Tag("name")] | Annotated[Widths, Tag("layers")],
    Discriminator(lambda value: "name" if value == "pivot" else "layers"),
    BeforeValidator(_pivot_or_list),
]
_GRID = (
    Field(min_length=1, max_length=1000, strict=False),
    BeforeValidator(_as_list),
    AfterValidator(_each_once),
)
Taus = Annotated[tuple[Tau, ...], *_GRID]
Percents = Annotated[tuple[Percent, ...], *_GRID]


class Section(BaseModel):
    """A part of a config: frozen, no unknown keys, no silent conversion of types."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Classifier(Section):
    """The downstream network; the defaults are the Proben1 report's (section 3.3).

    ``hidden`` is the nodes of each hidden layer, or ``pivot`` for the report's architecture of the problem;
    an empty list is the linear network. ``generalisation_loss: .inf`` and ``training_progress: 0`` switch these
    stopping rules off. The other keys are the parameters of `RpropMLPClassifier`.
    """

    hidden: Hidden = "pivot"
    shortcuts: bool = False
    output_activation: Literal["linear", "softsign"] = "linear"
    eta_plus: Annotated[float, Field(gt=1, le=10, allow_inf_nan=False)] = 1.2
    eta_minus: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)] = 0.5
    initial_step_range: Range = (0.005, 0.02)
    step_min: NotNegative = 0.0
    step_max: Positive = 50.0
    initial_weight_range: Positive = 0.01
    max_epochs: Count = 3000
    strip_length: Count = 5
    generalisation_loss: Annotated[float, Field(ge=0)] = 5.0
    training_progress: NotNegative = 0.1

    @model_validator(mode="after")
    def _ordered(self) -> Classifier:
        for low_name, low, high_name, high in (
            ("initial_step_range[0]", self.initial_step_range[0], "initial_step_range[1]", self.initial_step_range[1]),
            ("step_min", self.step_min, "step_max", self.step_max),
        ):
            if low > high:
                raise PydanticCustomError(
                    "order",
                    "expected {low_name} at most {high_name} ({high}), got {low}",
                    {"low_name": low_name, "low": low, "high_name": high_name, "high": high},
                )
        return self


class MethodSection(Section):
    """What every entry of ``methods:`` may hold."""

    classifier: Classifier | None = None


class Gha(MethodSection):
    """Sanger's generalized Hebbian algorithm: all nodes learn from the start and none is removed."""

    method: Literal["gha"]
    n_components: Count | None = None
    learning_rate: Positive = 0.0586
    n_epochs: Count = 252
    decay_epochs: Positive | None = None
    rows_per_epoch: Positive | None = None
    initial_rows: Literal["direction", "orthonormal", "positive"] = "direction"
    initial_norm: Positive = 0.64
    sort_initial: bool = False
    centre: bool = True
    shuffle: bool = True


class Dgha(MethodSection):
    """GHA that removes nodes by criterion (1) before an epoch and learns from a share of the data."""

    method: Literal["dgha"]
    tau: Taus | None = None
    data_fraction: Percents = (100.0,)
    n_components: Count | None = None
    learning_rate: Positive = 0.0586
    n_epochs: Count = 252
    decay_epochs: Positive | None = None
    rows_per_epoch: Positive | None = 0.316
    join_by: Literal["node", "position"] = "node"
    initial_rows: Literal["direction", "orthonormal", "positive"] = "direction"
    initial_norm: Positive = 0.64
    sort_initial: bool = True
    variance: Literal["direction", "raw"] = "direction"
    first_check: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    check_interval: Count = 1
    centre: bool = True
    shuffle: bool = True


class DghaSpeedup(Dgha):
    """The time of DGHA in relation to that of GHA with the same settings; runs alone, one at a time.

    ``timed: false`` gives the ratio of their operations alone, which needs no quiet machine.
    """

    method: Literal["dgha_speedup"]  # type: ignore[assignment]
    timed: bool = True


class NePpca(MethodSection):
    """Neuroevolutionary pseudo-PCA: a genetic algorithm that evolves an orthonormal linear network."""

    method: Literal["ne_ppca"]
    tau: Taus | None = None
    n_components: Count | None = None
    population_size: Annotated[int, Field(ge=2, le=100_000)] = 20
    n_generations: Count = 53
    tournament_size: Count = 8
    n_elite: Annotated[int, Field(ge=0, le=100_000)] = 1
    crossover_probability: Probability = 0.9
    mutation_probability: Probability = 1.0
    mutation_scale: NotNegative = 0.0045
    centre: bool = True

    @model_validator(mode="after")
    def _elite_fits(self) -> NePpca:
        if self.n_elite >= self.population_size:
            raise PydanticCustomError(
                "elite",
                "expected n_elite below population_size ({size}), got {elite}",
                {"size": self.population_size, "elite": self.n_elite},
            )
        return self


class AllFeatures(MethodSection):
    """No reduction: the classifier sees every feature, as in the Proben1 report."""

    method: Literal["all_features"]


Method = Annotated[Gha | Dgha | DghaSpeedup | NePpca | AllFeatures, Field(discriminator="method")]
METHODS: dict[str, type[MethodSection]] = {
    get_args(model.model_fields["method"].annotation)[0]: model
    for model in (Gha, Dgha, DghaSpeedup, NePpca, AllFeatures)
}


class Config(Section):
    """Everything that one experiment runs: problems x methods x tau x data fractions x repeats."""

    name: Annotated[str, Field(pattern=f"^{NAME.pattern}$")]
    problems: Annotated[tuple[str, ...], *_GRID]
    repeats: Annotated[int, Field(ge=1, le=10_000)]
    seed: Annotated[int, Field(ge=0, lt=2**63)]
    tau: Taus | None = None
    methods: Annotated[tuple[Method, ...], Field(min_length=1, max_length=100, strict=False)]
    classifier: Classifier = Classifier()

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
            if isinstance(method, Dgha | NePpca) and method.tau is None and self.tau is None:
                raise PydanticCustomError(
                    "no_tau",
                    "{method} needs a threshold: expected `tau: [5, 10, 15, 20]`, got none",
                    {"method": method.method, "location": ("methods", position)},
                )
        classifiers = [method.classifier or self.classifier for method in self.methods]
        if any(classifier.hidden == "pivot" for classifier in classifiers):
            for name in self.problems:
                if pivot_hidden(name) is None:
                    raise PydanticCustomError(
                        "no_pivot",
                        "the Proben1 report has no pivot architecture for {name}: expected layer sizes,"
                        " such as `classifier: {hidden: [16, 8]}`, got hidden: pivot",
                        {"name": repr(name), "location": ("classifier",)},
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
        return f"{where}: unknown key, expected one of {', '.join(keys)}{nearest(str(location[-1]), keys)}."
    if kind == "missing" and isinstance(detail["loc"][-1], str):
        return f"{where}: expected a value, got none. Add the key `{location[-1]}`."
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        got = context.get("tag", "none")
        return f"{where}: expected method to be one of {', '.join(METHODS)}, got {got}{nearest(str(got), METHODS)}."
    message = _expectation(kind, context) or detail["msg"]
    message = message.replace("Input should be", "expected").replace("String should", "expected text to")
    if "got" in message:
        return f"{where}: {message}."
    return f"{where}: {message}, got {_shown(detail['input'])}."


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
        return list(Classifier.model_fields)
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
