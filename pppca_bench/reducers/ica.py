"""Independent component analysis as a transformer."""

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.decomposition import FastICA
from sklearn.exceptions import ConvergenceWarning

from pppca_bench.parameters import Count, Positive, Share, Tau, check_parameters, make_generator
from pppca_bench.reducers.linear_projection import (
    CountedByEigenvalues,
    LinearProjection,
    covariance,
    descending_eigenvalues,
)
from pppca_bench.samples import validated_samples


class ICA(CountedByEigenvalues, LinearProjection):
    """Rotate the leading principal components to be as independent as possible (Hyvärinen & Oja 2000).

    scikit-learn's FastICA, contrast log cosh, all components at once. Give exactly one of the first three parameters;
    they count principal components, which span the same space.

    Parameters
    ----------
    n_components, variance_ratio, tau
        As in `CovariancePCA`; never more than the rank of the centred samples.
    max_iter : int, default=1000
        >= 1. Choice: if FastICA has not converged by then (nearly Gaussian components have no preferred rotation), the
        rows are used as they are, since they span the same space; ``converged_`` is then False.
    tol : float, default=1e-4
        Largest change of a row's direction in the last iteration; > 0.
    random_state : int, RandomState, Generator or None, default=None
        Source of the initial rotation.

    Attributes
    ----------
    components_, mean_, n_components_, explained_variance_, explained_variance_ratio_
        See `LinearProjection`; outputs have unit training variance.
    n_iter_ : int
    converged_ : bool
    """

    def __init__(
        self,
        n_components: Count | None = None,
        *,
        variance_ratio: Share | None = None,
        tau: Tau | None = None,
        max_iter: Count = 1000,
        tol: Positive = 1e-4,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.variance_ratio = variance_ratio
        self.tau = tau
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

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
            If a parameter or X is out of its range, or no feature varies.
        """
        check_parameters(self)
        samples = validated_samples(self, X, reset=True, min_samples=2)
        rank = int(np.linalg.matrix_rank(samples - samples.mean(axis=0)))
        if rank == 0:
            raise ValueError("X in ICA: expected a feature that varies, got constants. Leave out the reduction.")
        fast_ica = FastICA(
            min(self._count(descending_eigenvalues(covariance(samples))), rank),
            whiten="unit-variance",
            whiten_solver="svd",
            max_iter=self.max_iter,
            tol=self.tol,
            random_state=int(make_generator(self.random_state).integers(2**31)),
        )
        # FastICA divides by the variance of every direction before it drops those without variance.
        with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
            warnings.simplefilter("ignore", ConvergenceWarning)
            fast_ica.fit(samples)
        self._publish(fast_ica.components_, samples)
        self.n_iter_ = int(fast_ica.n_iter_)
        self.converged_ = self.n_iter_ < self.max_iter
        return self
