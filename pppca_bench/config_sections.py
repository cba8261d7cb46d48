"""The parts of a config: classifiers and methods with their parameters, ranges and defaults."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError


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
GRID = (
    Field(min_length=1, max_length=1000, strict=False),
    BeforeValidator(_as_list),
    AfterValidator(_each_once),
)
Taus = Annotated[tuple[Tau, ...], *GRID]
Percents = Annotated[tuple[Percent, ...], *GRID]


class Section(BaseModel):
    """A part of a config: frozen, no unknown keys, no silent conversion of types."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class RpropClassifier(Section):
    """The downstream network trained by RPROP; the defaults are the Proben1 report's (section 3.3).

    ``hidden`` is the nodes of each hidden layer, or ``pivot`` for the report's architecture of the problem;
    an empty list is the linear network. ``generalisation_loss: .inf`` and ``training_progress: 0`` switch these
    stopping rules off. The other keys are the parameters of `RpropMLPClassifier`.
    """

    rule: Literal["rprop"] = "rprop"
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
    def _ordered(self) -> RpropClassifier:
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


class BackpropClassifier(Section):
    """The downstream network trained by online backpropagation; keys as `BackpropMLPClassifier`'s parameters."""

    rule: Literal["backprop"]
    hidden: Hidden = (16,)
    hidden_activation: Literal["logistic", "softsign"] = "logistic"
    output_activation: Literal["linear", "logistic"] = "linear"
    bias: bool = True
    standardise: bool = False
    learning_rate: Positive = 0.1
    decay_epochs: Positive | None = None
    momentum: Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)] = 0.0
    initial_weight_range: Positive = 0.5
    max_epochs: Count = 100
    strip_length: Count = 5
    generalisation_loss: Annotated[float, Field(ge=0)] = float("inf")
    training_progress: NotNegative = 0.0
    keep: Literal["last", "best"] = "last"


def _rule(value: Any) -> str:
    rule = value.get("rule", "rprop") if isinstance(value, dict) else getattr(value, "rule", "rprop")
    return str(rule)


CLASSIFIERS: dict[str, type[Section]] = {"rprop": RpropClassifier, "backprop": BackpropClassifier}
Classifier = Annotated[
    Annotated[RpropClassifier, Tag("rprop")] | Annotated[BackpropClassifier, Tag("backprop")], Discriminator(_rule)
]


class MethodSection(Section):
    """What every entry of ``methods:`` may hold."""

    classifier: Classifier | None = None


class Gha(MethodSection):
    """Sanger's generalized Hebbian algorithm: all nodes learn from the start and none is removed."""

    method: Literal["gha"]
    n_components: Count | None = None
    learning_rate: Positive = 0.0586
    learning_rate_per: Literal["sample", "epoch"] = "sample"
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
    learning_rate: Positive = 1.2
    learning_rate_per: Literal["sample", "epoch"] = "epoch"
    n_epochs: Count = 36
    decay_epochs: Positive | None = None
    head_start: Annotated[int, Field(ge=0, le=1_000_000)] = 3
    rows_per_epoch: Positive | None = None
    join_by: Literal["node", "position"] = "node"
    initial_rows: Literal["direction", "orthonormal", "positive"] = "orthonormal"
    initial_norm: Positive = 2.0
    sort_initial: bool = True
    sort_at_checks: bool = True
    variance: Literal["direction", "raw"] = "direction"
    first_check: Annotated[int, Field(ge=0, le=1_000_000)] = 3
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
