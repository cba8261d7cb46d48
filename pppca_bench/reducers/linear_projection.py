"""Linear projections: their base, the number of components, exact PCA, and no reduction at all."""

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import check_is_fitted

from pppca_bench.compiled.arrays import Floats
from pppca_bench.parameters import Count, ParameterError, Share, Tau, check_parameters
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


class Projection(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of projections on components, ``n_components_`` in number."""

    n_components_: int

    def transform(self, X: ArrayLike) -> Floats:
        """Project samples on the components.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)

        Returns
        -------
        float64 array, shape (n_samples, n_components_)
        """
        check_is_fitted(self)
        return self._projected(validated_samples(self, X))

    @abstractmethod
    def _projected(self, X: Floats) -> Floats:
        """Return the projections of valid samples."""

    @property
    def _n_features_out(self) -> int:
        return self.n_components_


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
        if self.tau is not None:
            return int(np.sum(eigenvalues[0] <= self.tau * eigenvalues))
        if self.variance_ratio is None:
            expected = "an integer where variance_ratio and tau are null"
            raise ParameterError("n_components", expected, None, where=where)
        cumulative = np.cumsum(eigenvalues)
        # Rounding must not keep a sum below the share that it reaches.
        reached = self.variance_ratio * cumulative[-1] * (1.0 - 1e-12)
        return int(np.searchsorted(cumulative, reached)) + 1


def covariance(X: Floats) -> Floats:
    """Return C = (X − mean)ᵀ (X − mean) / N, float64 (n_features, n_features)."""
    centred = X - X.mean(axis=0)
    return centred.T @ centred / len(X)


def descending_eigenvalues(C: Floats) -> Floats:
    """Return the eigenvalues of a covariance matrix, largest first; negative values, by rounding, become 0."""
    eigenvalues: Floats = np.maximum(np.linalg.eigvalsh(C)[::-1], 0.0)
    return eigenvalues


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


class LinearProjection(Projection):
    """Base of projections of samples, minus the training mean, on rows.

    Attributes
    ----------
    components_ : float64 array, shape (n_components_, n_features)
    mean_ : float64 array, shape (n_features,)
    n_components_ : int
    explained_variance_ : float64 array, shape (n_components_,)
        Training variance, divided by N, along each row's direction.
    explained_variance_ratio_ : float64 array, shape (n_components_,)
        The same as a share of the total variance.
    """

    def _projected(self, X: Floats) -> Floats:
        return (X - self.mean_) @ self.components_.T

    def inverse_transform(self, X: ArrayLike) -> Floats:
        """Return the points of the rows' span that have these projections.

        The pseudo-inverse makes them the orthogonal projections of the samples on the span, whatever the rows' norms
        and angles; half the sum of the squared distances is E_M (Bishop 1995, eq. 8.17).

        Parameters
        ----------
        X : array-like, shape (n_samples, n_components_)

        Returns
        -------
        float64 array, shape (n_samples, n_features)
        """
        check_is_fitted(self)
        return np.asarray(X, dtype=np.float64) @ np.linalg.pinv(self.components_).T + self.mean_

    def _set_fitted(self, rows: Floats, X: Floats) -> None:
        """Set the learned attributes."""
        C = covariance(X)
        self.components_ = np.ascontiguousarray(rows)
        self.mean_ = X.mean(axis=0)
        self.n_components_ = len(rows)
        variances = np.einsum("ji,ik,jk->j", rows, C, rows)
        self.explained_variance_ = variances / np.einsum("ji,ji->j", rows, rows)
        total = float(np.trace(C))
        self.explained_variance_ratio_ = self.explained_variance_ / (total if total > 0.0 else 1.0)


class _ExactPCA(LearntFromSamples, LinearProjection):
    """Base of exact PCA; a subclass computes the spectrum."""

    def _learn(self, X: Floats) -> None:
        self.eigenvalues_, rows = self._spectrum(X)
        # The sign of an eigenvector is arbitrary: the entry of largest magnitude becomes positive.
        _, signed = svd_flip(None, rows[: self._count(self.eigenvalues_)], u_based_decision=False)
        self._set_fitted(signed, X)

    @abstractmethod
    def _spectrum(self, X: Floats) -> tuple[Floats, Floats]:
        """Return all eigenvalues of C in descending order and the eigenvectors as rows."""


class CovariancePCA(_ExactPCA):
    """Keep the leading eigenvectors of the covariance matrix (Bishop 1995, section 8.6; Mitchell's algorithm 1).

    Give exactly one of the three parameters of `CountedByEigenvalues`.

    Attributes
    ----------
    eigenvalues_ : float64 array, shape (n_features,)
        Of C = (X − mean)ᵀ (X − mean) / N, the largest first. N / 2 times the sum of those discarded is the
        reconstruction error E_M (Bishop 1995, eq. 8.23, whose Σ is N C).
    components_, mean_, n_components_, explained_variance_, explained_variance_ratio_
        See `LinearProjection`.
    """

    def _spectrum(self, X: Floats) -> tuple[Floats, Floats]:
        eigenvalues, vectors = np.linalg.eigh(covariance(X))
        return np.maximum(eigenvalues[::-1], 0.0), vectors.T[::-1]


class SingularValuePCA(_ExactPCA):
    """Keep the leading right singular vectors of the centred samples (Mitchell 2006, slide "SVD").

    Give exactly one of the three parameters of `CountedByEigenvalues`; n_components is at most
    min(n_samples, n_features).

    Attributes
    ----------
    eigenvalues_ : float64 array, shape (min(n_samples, n_features),)
        s² / N of the singular values s.
    components_, mean_, n_components_, explained_variance_, explained_variance_ratio_
        See `LinearProjection`.
    """

    def _spectrum(self, X: Floats) -> tuple[Floats, Floats]:
        singular, rows = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[1:]
        return singular**2 / len(X), rows
