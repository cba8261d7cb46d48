"""The entries of a config's ``methods:`` for textbook reductions and selections, with their parameters and ranges.

The keys are those of the estimators in `pppca_bench.reducers`, whose docstrings say what they mean.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from pppca_bench.methods.classifier_sections import MethodSection
from pppca_bench.methods.ranges import Count, Positive, Taus

Share = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
Factors = Annotated[tuple[Positive, ...], Field(min_length=1, max_length=100, strict=False)]


class SpectralSection(MethodSection):
    """What is counted by eigenvalues has: one of three rules, by default the config's thresholds."""

    n_components: Count | None = None
    variance_ratio: Share | None = None
    tau: Taus | None = None

    @property
    def takes_tau(self) -> bool:
        """Tell whether it runs once for each threshold: where no other rule is given."""
        return self.n_components is None and self.variance_ratio is None

    @model_validator(mode="after")
    def _one_rule(self) -> SpectralSection:
        given = [name for name in ("n_components", "variance_ratio", "tau") if getattr(self, name) is not None]
        if len(given) > 1:
            raise PydanticCustomError(
                "rules",
                "expected one of n_components, variance_ratio and tau, got {given}",
                {"given": " and ".join(given)},
            )
        return self


class Pca(SpectralSection):
    """Exact principal components, by the eigenvectors of the covariance matrix."""

    method: Literal["pca"]


class PcaSvd(SpectralSection):
    """Exact principal components, by the singular values of the centred samples."""

    method: Literal["pca_svd"]


class KernelPca(SpectralSection):
    """Principal components in the space of a Gaussian kernel; its width is chosen by the validation error."""

    method: Literal["kernel_pca"]
    width_factors: Factors = (0.25, 0.5, 1.0, 2.0, 4.0)


class Ica(SpectralSection):
    """Independent components in the space of the leading principal ones."""

    method: Literal["ica"]
    max_iter: Count = 1000
    tol: Positive = 1e-4


class Autoencoder(SpectralSection):
    """The middle layer of an auto-associative network."""

    method: Literal["autoencoder"]
    kind: Literal["linear", "nonlinear"] = "linear"
    n_hidden: Count | None = None
    max_iter: Count = 1000
    tol: Positive = 1e-6


class Lda(MethodSection):
    """Fisher's linear discriminants."""

    method: Literal["lda"]
    n_components: Count | None = None


class MutualInfo(MethodSection):
    """The features of most mutual information with the class."""

    method: Literal["mutual_info"]
    n_features: Count | None = None
    n_values: Count = 10


class Chi2(MethodSection):
    """The features of the greatest chi-squared statistic; they must not be negative."""

    method: Literal["chi2"]
    n_features: Count | None = None


class Forward(MethodSection):
    """Features added one by one, by the validation error."""

    method: Literal["forward"]
    n_features: Count | None = None
    patience: Count | None = 5


class Backward(MethodSection):
    """Features removed one by one, by the validation error."""

    method: Literal["backward"]
    n_features: Count | None = None
    patience: Count | None = 5


class Rfe(MethodSection):
    """Features removed one by one, by the weights of networks trained on those left."""

    method: Literal["rfe"]
    n_features: Count | None = None
    n_networks: Count = 8


class Flgp(MethodSection):
    """Features that are expressions, evolved in layers by genetic programming."""

    method: Literal["flgp"]
    n_components: Count | None = None
    n_layers: Count = 2
    layer_width: Count = 20
    population_size: Count = 200
    n_generations: Count = 10
    tournament_size: Count = 10

    @model_validator(mode="after")
    def _layer_fits(self) -> Flgp:
        for name, size, most_name, most in (
            ("layer_width", self.layer_width, "population_size", self.population_size),
            ("n_components", self.n_components or 1, "layer_width", self.layer_width),
        ):
            if size > most:
                raise PydanticCustomError(
                    "order",
                    "expected {name} at most {most_name} ({most}), got {size}",
                    {"name": name, "size": size, "most_name": most_name, "most": most},
                )
        return self
