"""The entries of a config's ``methods:`` that classify by themselves, the systems that the slides compare with."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from pppca_bench.methods.classifier_sections import Hidden, SystemSection
from pppca_bench.methods.ranges import Count, NotNegative, Positive, Probability, check_elite

Share = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]


class GaMlp(SystemSection):
    """A network whose weights a genetic algorithm evolves; keys as `GAMLPClassifier`'s parameters."""

    method: Literal["ga_mlp"]
    hidden: Hidden = "pivot"
    shortcuts: bool = False
    output_activation: Literal["linear", "softsign"] = "linear"
    population_size: Annotated[int, Field(ge=2, le=100_000)] = 24
    tournament_size: Count = 4
    n_elite: Annotated[int, Field(ge=0, le=100_000)] = 1
    crossover: Literal["uniform", "single_point"] = "uniform"
    crossover_probability: Probability = 0.9
    mutation_probability: Probability | None = None
    mutation_scale: Positive = 0.1
    initial_weight_range: Positive = 0.1
    max_generations: Count = 2000
    strip_length: Count = 5
    patience: Count = 100

    @model_validator(mode="after")
    def _elite_fits(self) -> GaMlp:
        check_elite(self.population_size, self.n_elite)
        return self


class PrunedMlp(SystemSection):
    """A network that is trained, pruned by saliency and trained again; keys as `PrunedMLPClassifier`'s parameters."""

    method: Literal["pruned_mlp"]
    hidden: Hidden = "pivot"
    shortcuts: bool = False
    prune_fraction: Share = 0.2
    retrain_epochs: Count = 100
    initial_weight_range: Positive = 0.01
    max_epochs: Count = 3000
    strip_length: Count = 5
    generalisation_loss: Annotated[float, Field(ge=0)] = 5.0
    training_progress: NotNegative = 0.1


class RfeSvm(SystemSection):
    """Recursive feature elimination with a linear support vector machine; keys as `RFESVMClassifier`'s parameters."""

    method: Literal["rfe_svm"]
    C: Annotated[tuple[Positive, ...], Field(min_length=1, max_length=100, strict=False)] = (0.01, 0.1, 1.0)
    n_features: Count | None = None
