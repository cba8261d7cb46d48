"""Exact PCA, its number of components, and no reduction at all."""

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from pppca_bench.compiled.arrays import Floats
from pppca_bench.compiled.linear_algebra import (
    LARGEST_BY_ROTATIONS,
    principal_components,
    product,
    rounded,
    second_moments,
    signed,
)
from pppca_bench.keep_rules import (
    KeepRule,
    count_by_cross_validation,
    count_by_likelihood,
    count_by_permutations,
    count_by_spectrum,
)
from pppca_bench.parameters import Count, ParameterError, Share, Tau, check_parameters
from pppca_bench.projection import LinearProjection, Projection
from pppca_bench.samples import validated_samples


class AllFeatures(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Return every feature as it is, for a classifier without any reduction (Proben1 report)."""

    def fit(self, X: ArrayLike, y: Any = None) -> Self:  # noqa: ARG002 - scikit-learn's contract
        """Learn nothing but the number of features."""
        validated_samples(self, X, reset=True)
        return self

    def transform(self, X: ArrayLike) -> Floats:
        """Return the samples, float64 of shape (n_samples, n_features)."""
        check_is_fitted(self, "n_features_in_")
        return validated_samples(self, X)

    def inverse_transform(self, X: ArrayLike) -> Floats:
        """Return the samples, float64 of shape (n_samples, n_features)."""
        return np.asarray(X, dtype=np.float64)


@dataclass(eq=False, repr=False)
class CountedByEigenvalues(Projection):
    """Base of projections with three rules, of which exactly one is given, for the number of components.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components, from 1 to n_features.
    variance_ratio : float or None, default=None
        Keep the fewest components that hold this share of the variance; in (0, 1].
    tau : float or None, default=None
        Keep component i while λ1 / λi <= tau, the slides' criterion (1); >= 1.
    """

    n_components: Count | None = None
    _: KW_ONLY
    variance_ratio: Share | None = None
    tau: Tau | None = None

    def check_agreement(self) -> None:
        """Raise ParameterError if several rules are given; `_count` also raises if no rule is given."""
        given = [name for name in ("n_components", "variance_ratio", "tau") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ParameterError(given[1], f"null where {given[0]} is given", getattr(self, given[1]))

    def _count(self, eigenvalues: Floats) -> int:
        """Return the number of components, at least 1, for eigenvalues >= 0 in descending order."""
        where = type(self).__name__
        if self.n_components is not None:
            if self.n_components > len(eigenvalues):
                expected = f"an integer from 1 to {len(eigenvalues)}"
                raise ParameterError("n_components", expected, self.n_components, where=where)
            return int(self.n_components)
        if self.tau is None and self.variance_ratio is None:
            expected = "an integer where variance_ratio and tau are null"
            raise ParameterError("n_components", expected, None, where=where)
        return count_by_spectrum(None, eigenvalues, 0, tau=self.tau, variance_ratio=self.variance_ratio)


def covariance(X: Floats) -> Floats:
    """Return C = (X − mean)ᵀ (X − mean) / N, float64 (n_features, n_features)."""
    return second_moments(np.ascontiguousarray(X), X.mean(axis=0))


class LearntFromSamples(CountedByEigenvalues):
    """Base of projections that are learnt from the samples alone."""

    def fit(self, X: ArrayLike, y: None = None) -> Self:  # noqa: ARG002 - scikit-learn's contract
        """Learn the components.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features), n_samples >= 2
        y : None
            Ignored.

        Raises
        ------
        ValueError
            If not exactly one rule for the number of components is given, or a parameter or X is out of its range.
        """
        check_parameters(self)
        self._learn(validated_samples(self, X, reset=True, min_samples=2))
        return self

    @abstractmethod
    def _learn(self, X: Floats) -> None:
        """Set the learned attributes."""


class LinearReducer(LinearProjection):
    """Base of linear projections whose rows follow from all training samples at once.

    Attributes
    ----------
    components_, mean_
        See `LinearProjection`.
    n_components_ : int
    explained_variance_ : float64 array, shape (n_components_,)
        Training variance, divided by N, along each row's direction.
    explained_variance_ratio_ : float64 array, shape (n_components_,)
        The same as a share of the total variance.
    """

    def _set_fitted(self, rows: Floats, X: Floats) -> None:
        """Set the learned attributes."""
        self.components_ = np.ascontiguousarray(rows)
        self.mean_ = X.mean(axis=0)
        self.n_components_ = len(rows)
        self.explained_variance_ = np.square(self._projected(X)).mean(axis=0) / np.square(rows).sum(axis=1)
        total = float(np.square(X - self.mean_).mean(axis=0).sum())
        self.explained_variance_ratio_ = self.explained_variance_ / (total if total > 0.0 else 1.0)


@dataclass(eq=False, repr=False)
class _ExactPCA(LearntFromSamples, LinearReducer):
    """Base of exact PCA; a subclass computes the spectrum."""

    keep: KeepRule | None = None

    def check_agreement(self) -> None:
        """Raise ParameterError if several rules are given, or ``keep`` lacks its number."""
        if self.keep is None:
            super().check_agreement()
        elif self.n_components is not None:
            raise ParameterError("n_components", "null where keep is given", self.n_components)
        elif self.keep == "tau" and self.tau is None:
            raise ParameterError("tau", "a number where keep is tau", None)
        elif self.keep == "variance" and self.variance_ratio is None:
            raise ParameterError("variance_ratio", "a number where keep is variance", None)

    def _learn(self, X: Floats) -> None:
        self.eigenvalues_, rows = self._spectrum(X)
        self._set_fitted(rows[: self._count_by_rule(self.eigenvalues_, X)], X)

    def _count_by_rule(self, eigenvalues: Floats, X: Floats) -> int:
        """Return the number of components by ``keep``; without it, by the other parameters."""
        if self.keep == "mle" and len(X) < X.shape[1]:
            raise ParameterError(
                "keep", f"another rule for fewer samples ({len(X)}) than features ({X.shape[1]})", "mle"
            )
        if self.keep is None:
            return self._count(eigenvalues)
        if self.keep == "mle":
            return count_by_likelihood(X)
        if self.keep == "parallel":
            return count_by_permutations(X, eigenvalues)
        if self.keep == "cross_validation":
            return count_by_cross_validation(X)
        numbers = {"tau": self.tau, "variance_ratio": self.variance_ratio}
        return count_by_spectrum(self.keep, eigenvalues, len(X), **numbers)

    @abstractmethod
    def _spectrum(self, X: Floats) -> tuple[Floats, Floats]:
        """Return all eigenvalues of C in descending order and the eigenvectors as rows, `signed`."""


class CovariancePCA(_ExactPCA):
    """Keep the leading eigenvectors of the covariance matrix (Bishop 1995, section 8.6; Mitchell's algorithm 1).

    Give exactly one of the three parameters of `CountedByEigenvalues`, or

    Parameters
    ----------
    keep : str or None, default=None
        Rule for the number of components, at least 1, see `pppca_bench.keep_rules`: "tau" and "variance", which need
        tau or variance_ratio, "mle", "parallel", "broken_stick", "gavish_donoho" or "cross_validation". Numbers that
        the rule does not need have no effect.

    Attributes
    ----------
    eigenvalues_ : float64 array, shape (n_features,)
        Of C = (X − mean)ᵀ (X − mean) / N, the largest first; of fewer samples than features, if these are more than
        256, those above 0. N / 2 times the sum of those discarded is the reconstruction error E_M (Bishop 1995,
        eq. 8.23, whose Σ is N C).
    components_, mean_, n_components_, explained_variance_, explained_variance_ratio_
        See `LinearReducer`.
    """

    def _spectrum(self, X: Floats) -> tuple[Floats, Floats]:
        if not len(X) < X.shape[1] > LARGEST_BY_ROTATIONS:
            return principal_components(covariance(X))
        # Few samples D of many features: from D Dᵀ / N, of shape (N, N), which has the eigenvalues λ > 0 of C. Its
        # eigenvectors u lead to those of C, Dᵀ u / √(N λ).
        D = X - X.mean(axis=0)
        eigenvalues, vectors = principal_components(second_moments(D.T.copy(), np.zeros(len(D))) * X.shape[1] / len(D))
        varying = eigenvalues > eigenvalues[0] * len(D) * np.finfo(np.float64).eps
        rows = product(vectors[varying], D) / np.sqrt(len(D) * eigenvalues[varying, np.newaxis])
        return eigenvalues[varying], signed(rows)


class SingularValuePCA(_ExactPCA):
    """Keep the leading right singular vectors of the centred samples (Mitchell 2006, slide "SVD").

    Give exactly one of the three parameters of `CountedByEigenvalues`, or `keep`, as for `CovariancePCA`; n_components
    is at most min(n_samples, n_features).

    Attributes
    ----------
    eigenvalues_ : float64 array, shape (min(n_samples, n_features),)
        s² / N of the singular values s.
    components_, mean_, n_components_, explained_variance_, explained_variance_ratio_
        See `LinearReducer`.
    """

    def _spectrum(self, X: Floats) -> tuple[Floats, Floats]:
        singular, rows = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[1:]
        return singular**2 / len(X), rounded(signed(rows))
