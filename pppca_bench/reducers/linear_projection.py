"""How many components are kept, and what linear projections share."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from pppca_bench.compiled.arrays import Floats
from pppca_bench.parameters import ParameterError
from pppca_bench.samples import validated_samples


def count_components(estimator: Any, eigenvalues: Floats) -> int:
    """Count the components that an estimator keeps, by the one of its three rules that is given.

    Parameters
    ----------
    estimator : object
        Has ``n_components``, an integer from 1 to the number of eigenvalues; ``variance_ratio``, in (0, 1]: the
        fewest components that hold this share of the variance; and ``tau`` >= 1, the slides' criterion (1): those
        with λ1 / λi <= tau. Exactly one of them is not None.
    eigenvalues : float64 array, shape (n,)
        In descending order, >= 0.

    Returns
    -------
    int
        At least 1.

    Raises
    ------
    ValueError
        When none of the rules is given, or n_components is more than there are eigenvalues.
    """
    where = type(estimator).__name__
    if estimator.n_components is not None:
        if estimator.n_components > len(eigenvalues):
            expected = f"an integer from 1 to {len(eigenvalues)}"
            raise ParameterError("n_components", expected, estimator.n_components, where=where)
        return int(estimator.n_components)
    if estimator.tau is not None:
        return int(np.sum(eigenvalues[0] <= estimator.tau * eigenvalues))
    if estimator.variance_ratio is None:
        raise ParameterError("n_components", "an integer where variance_ratio and tau are null", None, where=where)
    cumulative = np.cumsum(eigenvalues)
    # Sums that reach the share but for their rounding do reach it.
    reached = estimator.variance_ratio * cumulative[-1] * (1.0 - 1e-12)
    return int(np.searchsorted(cumulative, reached)) + 1


class CountedByEigenvalues:
    """What has three rules for the number of its components: see `count_components`."""

    n_components: int | None
    variance_ratio: float | None
    tau: float | None

    def check_agreement(self) -> None:
        """Check that one rule at most is given; `count_components` needs one.

        Raises
        ------
        ParameterError
            Several are.
        """
        given = [name for name in ("n_components", "variance_ratio", "tau") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ParameterError(given[1], f"null where {given[0]} is given", getattr(self, given[1]))


def covariance(X: Floats) -> Floats:
    """Return C = (X − mean)ᵀ (X − mean) / N, float64 (n_features, n_features)."""
    centred = X - X.mean(axis=0)
    return centred.T @ centred / len(X)


def descending_eigenvalues(C: Floats) -> Floats:
    """Return the eigenvalues of a covariance matrix, largest first; rounding below zero is cut off."""
    eigenvalues: Floats = np.maximum(np.linalg.eigvalsh(C)[::-1], 0.0)
    return eigenvalues


class LinearProjection(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Project samples, less the training mean, on rows; a subclass learns the rows.

    Attributes
    ----------
    components_ : float64 array, shape (n_components_, n_features)
    mean_ : float64 array, shape (n_features,)
    n_components_ : int
    explained_variance_ : float64 array, shape (n_components_,)
        Training variance, divided by N, along each row's direction.
    explained_variance_ratio_ : float64 array, shape (n_components_,)
        The same as a share of the total variance.
    history_ : dict
        Empty: nothing is learnt step by step.
    """

    def transform(self, X: ArrayLike) -> Floats:
        """Project samples on the rows.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
            Samples; the training mean is subtracted.

        Returns
        -------
        float64 array, shape (n_samples, n_components_)
        """
        check_is_fitted(self)
        samples = validated_samples(self, X)
        return (samples - self.mean_) @ self.components_.T

    def inverse_transform(self, X: ArrayLike) -> Floats:
        """Return the points of the rows' span that have these projections.

        By the pseudo-inverse, hence the orthogonal projection of a sample on the span, whatever the rows' norms and
        angles; half the sum of its squared distances is E_M (Bishop 1995, eq. 8.17).

        Parameters
        ----------
        X : array-like, shape (n_samples, n_components_)

        Returns
        -------
        float64 array, shape (n_samples, n_features)
        """
        check_is_fitted(self)
        return np.asarray(X, dtype=np.float64) @ np.linalg.pinv(self.components_).T + self.mean_

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def _publish(self, rows: Floats, X: Floats) -> None:
        """Set the learned attributes."""
        C = covariance(X)
        self.components_ = np.ascontiguousarray(rows)
        self.mean_ = X.mean(axis=0)
        self.n_components_ = len(rows)
        variances = np.einsum("ji,ik,jk->j", rows, C, rows)
        self.explained_variance_ = variances / np.einsum("ji,ji->j", rows, rows)
        total = float(np.trace(C))
        self.explained_variance_ratio_ = self.explained_variance_ / (total if total > 0.0 else 1.0)
        self.history_: dict[str, NDArray[Any]] = {}


def with_fixed_signs(rows: Floats) -> Floats:
    """Turn each row so that its entry of largest magnitude is positive: eigenvectors have no sign of their own."""
    largest = rows[np.arange(len(rows)), np.abs(rows).argmax(axis=1)]
    return rows * np.where(largest < 0.0, -1.0, 1.0)[:, None]
