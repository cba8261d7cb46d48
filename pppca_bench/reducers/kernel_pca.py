"""Kernel principal component analysis with a Gaussian kernel whose width is chosen on validation data."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import pdist
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.decomposition import KernelPCA
from sklearn.utils.validation import check_is_fitted

from pppca_bench.classifiers.training_data import FittedBySplit, Split
from pppca_bench.compiled.arrays import Floats
from pppca_bench.parameters import Count, Positives, Share, Tau
from pppca_bench.reducers.linear_projection import CountedByEigenvalues
from pppca_bench.reducers.wrapper_scores import Candidate, seeded, validation_errors
from pppca_bench.samples import validated_samples


class GaussianKernelPCA(CountedByEigenvalues, ClassNamePrefixFeaturesOutMixin, TransformerMixin, FittedBySplit):
    """Project on principal components in the space of the kernel exp(−‖x − x'‖² / (2 width²)), by scikit-learn.

    Schölkopf, Smola & Müller 1998. Give exactly one of the first three parameters.

    Choice: there are never more components than features: a narrow kernel has as many nearly equal eigenvalues as
    samples, which would be no reduction.

    Parameters
    ----------
    n_components, variance_ratio, tau
        As in `CovariancePCA`, on the eigenvalues of the centred kernel matrix.
    width_factors : sequence of float, default=(0.25, 0.5, 1.0, 2.0, 4.0)
        Widths to choose from by validation error, in units of the median distance of training samples; > 0. Choice: of
        equal errors the fewest components, then the first; the widths double from a kernel for which only near
        neighbours are similar to a nearly linear kernel.
    estimator : classifier or None, default=None
        Unfitted; its validation error chooses the width. None: `RpropMLPClassifier` with 16 hidden nodes.
    random_state : int, RandomState, Generator or None, default=None
        Source of the held-out share and of the classifier's seed.

    Attributes
    ----------
    width_ : float
    n_components_ : int
    eigenvalues_ : float64 array
        Of the centred kernel matrix, the largest first.
    kernel_pca_ : sklearn.decomposition.KernelPCA
    history_ : dict
        ``width``, ``n_components`` and ``validation_error_percent`` of each width.
    """

    def __init__(
        self,
        n_components: Count | None = None,
        *,
        variance_ratio: Share | None = None,
        tau: Tau | None = None,
        width_factors: Positives = (0.25, 0.5, 1.0, 2.0, 4.0),
        estimator: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.variance_ratio = variance_ratio
        self.tau = tau
        self.width_factors = width_factors
        self.estimator = estimator
        self.random_state = random_state

    def _learn(self, split: Split, rng: np.random.Generator) -> None:
        widths = median_distance(split.X) * np.asarray(self.width_factors, dtype=np.float64)
        fits = [
            KernelPCA(min(split.X.shape), kernel="rbf", gamma=0.5 / width**2, eigen_solver="dense").fit(split.X)
            for width in widths
        ]
        counts = np.array([self._count(fit.eigenvalues_) for fit in fits])
        candidates = [_candidate(fit, count, split) for fit, count in zip(fits, counts, strict=True)]
        errors = validation_errors(seeded(self.estimator, rng), candidates, split)
        best = int(np.lexsort((counts, errors))[0])
        self.kernel_pca_, self.width_, self.n_components_ = fits[best], float(widths[best]), int(counts[best])
        self.eigenvalues_ = self.kernel_pca_.eigenvalues_
        self.history_ = {"width": widths, "n_components": counts, "validation_error_percent": errors}

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
        samples = validated_samples(self, X)
        projections: Floats = self.kernel_pca_.transform(samples)[:, : self.n_components_]
        return np.ascontiguousarray(projections)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_


def _candidate(fit: KernelPCA, count: int, split: Split) -> Candidate:
    train, validation = (np.ascontiguousarray(fit.transform(X)[:, :count]) for X in (split.X, split.X_val))
    return train, validation


def median_distance(X: Floats) -> float:
    """Return the median distance of two different training samples.

    Choice: pairs of equal samples, of which discrete data have many, do not count; 1 if all are equal.
    """
    distances: Floats = pdist(X)
    apart = distances[distances > 0.0]
    return float(np.median(apart)) if apart.size else 1.0
