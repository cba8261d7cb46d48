"""The entries of ``methods:`` for the slides' own methods, with their parameters, ranges and defaults."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from pppca_bench.methods.classifier_sections import MethodSection
from pppca_bench.methods.ranges import (
    Count,
    NotNegative,
    Percents,
    Positive,
    Probability,
    Taus,
    Threads,
    check_components,
    check_elite,
)


class Gha(MethodSection):
    """Sanger's generalized Hebbian algorithm: all nodes learn from the start and none is removed."""

    method: Literal["gha"]
    n_components: Count | None = None
    learning_rate: Positive = 0.0586
    learning_rate_per: Literal["sample", "epoch"] = "sample"
    n_epochs: Count = 252
    decay_epochs: Positive | None = None
    decay_samples: Positive | None = None
    rows_per_epoch: Positive | None = None
    initial_rows: Literal["direction", "orthonormal"] = "direction"
    initial_samples: Annotated[int, Field(ge=2, le=1_000_000)] | None = None
    initial_norm: Positive = 0.64
    sort_initial: bool = False
    centre: bool = True
    shuffle: bool = True


class Dgha(MethodSection):
    """GHA that removes nodes by criterion (1) before an epoch and learns from a share of the data."""

    method: Literal["dgha"]
    tau: Taus | None = None
    data_fraction: Percents = (100.0,)
    min_components: Count = 1
    max_components: Count | None = None
    min_variance_ratio: Probability = 0.0
    n_components: Count | None = None
    learning_rate: Positive = 1.2
    learning_rate_per: Literal["sample", "epoch"] = "epoch"
    n_epochs: Count = 36
    decay_epochs: Positive | None = None
    decay_samples: Positive | None = None
    head_start: Annotated[int, Field(ge=0, le=1_000_000)] = 3
    rows_per_epoch: Positive | None = None
    initial_rows: Literal["direction", "orthonormal"] = "orthonormal"
    initial_samples: Annotated[int, Field(ge=2, le=1_000_000)] | None = None
    initial_norm: Positive = 2.0
    sort_initial: bool = True
    sort_at_checks: bool = True
    variance: Literal["direction", "raw"] = "direction"
    first_check: Annotated[int, Field(ge=0, le=1_000_000)] = 3
    check_interval: Count = 1
    centre: bool = True
    shuffle: bool = True

    @model_validator(mode="after")
    def _constraints_agree(self) -> Dgha:
        check_components(self.min_components, self.max_components)
        return self


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
    population_size: Annotated[int, Field(ge=2, le=100_000)] = 13
    n_generations: Count = 90
    tournament_size: Count = 11
    n_elite: Annotated[int, Field(ge=0, le=100_000)] = 0
    crossover_probability: Probability = 0.98
    mutation_probability: Probability = 1.0
    mutation_scale: NotNegative = 0.003
    min_components: Count = 1
    max_components: Count | None = None
    min_variance_ratio: Probability = 0.0
    initial_samples: Annotated[int, Field(ge=2, le=1_000_000)] | None = None
    n_iter_no_change: Count | None = None
    tol: NotNegative = 1e-4
    n_jobs: Threads = 1
    centre: bool = True

    @model_validator(mode="after")
    def _sizes_agree(self) -> NePpca:
        check_elite(self.population_size, self.n_elite)
        check_components(self.min_components, self.max_components)
        return self


class AllFeatures(MethodSection):
    """No reduction: the classifier sees every feature, as in the Proben1 report."""

    method: Literal["all_features"]
