"""The ``classifier:`` part of a config: learning rules with their parameters, ranges and defaults."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from pppca_bench.methods.ranges import Count, NotNegative, Positive, Range, Section, Widths


def _pivot_or_list(value: object) -> object:
    if value != "pivot" and not isinstance(value, list | tuple):
        raise PydanticCustomError(
            "hidden",
            "expected pivot or a list of layer sizes such as [16, 8], got {value}",
            {"value": repr(value)},
        )
    return value


Hidden = Annotated[
    Annotated[Literal["pivot"], Tag("name")] | Annotated[Widths, Tag("layers")],
    Discriminator(lambda value: "name" if value == "pivot" else "layers"),
    BeforeValidator(_pivot_or_list),
]


class ClassifierSection(Section):
    """What every learning rule's section has."""

    @property
    def uses_pivot(self) -> bool:
        """Tell whether a network has the architecture of the report's for the problem."""
        return getattr(self, "hidden", None) == "pivot"


class RpropClassifier(ClassifierSection):
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


class BackpropClassifier(ClassifierSection):
    """The downstream network trained by online backpropagation; keys as `BackpropMLPClassifier`'s parameters."""

    rule: Literal["backprop"]
    hidden: Hidden = (16,)
    hidden_activation: Literal["logistic", "softsign"] = "logistic"
    output_activation: Literal["linear", "logistic"] = "linear"
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


Network = Annotated[
    Annotated[RpropClassifier, Tag("rprop")] | Annotated[BackpropClassifier, Tag("backprop")], Discriminator(_rule)
]


class EnsembleClassifier(ClassifierSection):
    """Several networks, each as ``base`` says, in place of one."""

    base: Network = RpropClassifier()
    n_estimators: Count = 10

    @property
    def uses_pivot(self) -> bool:
        """Tell whether its networks have the report's architecture for the problem."""
        return self.base.uses_pivot


class Bagging(EnsembleClassifier):
    """The mean of networks that are trained on bootstrap samples; keys as `BaggingClassifier`'s parameters."""

    rule: Literal["bagging"]


class AdaBoost(EnsembleClassifier):
    """The vote of networks that are trained on what others got wrong; keys as `AdaBoostClassifier`'s parameters."""

    rule: Literal["adaboost"]


NETWORKS: dict[str, type[Section]] = {"rprop": RpropClassifier, "backprop": BackpropClassifier}
CLASSIFIERS: dict[str, type[Section]] = NETWORKS | {"bagging": Bagging, "adaboost": AdaBoost}
Classifier = Annotated[
    Annotated[RpropClassifier, Tag("rprop")]
    | Annotated[BackpropClassifier, Tag("backprop")]
    | Annotated[Bagging, Tag("bagging")]
    | Annotated[AdaBoost, Tag("adaboost")],
    Discriminator(_rule),
]


class MethodSection(Section):
    """What every entry of ``methods:`` has: a name and, where its features are classified, its own classifier."""

    method: str
    classifier: Classifier | None = None

    @property
    def takes_tau(self) -> bool:
        """Tell whether it runs once for each threshold."""
        return "tau" in type(self).model_fields


class SystemSection(MethodSection, ClassifierSection):
    """An entry that classifies by itself, so that no classifier comes after it."""

    classifier: None = None
