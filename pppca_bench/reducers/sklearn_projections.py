"""Independent components, and projections by scikit-learn: discriminants and kernel components."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import pdist
from sklearn.decomposition import KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from pppca_bench.classifiers.training_data import FittedBySplit, Split
from pppca_bench.compiled.arrays import Floats
from pppca_bench.compiled.linear_algebra import principal_components, product, project, rounded, signed
from pppca_bench.parameters import Count, ParameterError, Positive, Positives, check_parameters, make_generator
from pppca_bench.reducers.linear_projection import CountedByEigenvalues, LearntFromSamples, LinearReducer, covariance
from pppca_bench.reducers.wrapper_selection import Candidate, seeded, validation_errors


@dataclass(eq=False, repr=False, kw_only=True)
class ICA(LearntFromSamples, LinearReducer):
    """Rotate the leading principal components to be as independent as possible (Hyvärinen & Oja 2000).

    FastICA by `independent_rotation`. Give exactly one of the first three parameters; they count principal components,
    which span the same space.

    Parameters
    ----------
    n_components, variance_ratio, tau
        As in `CountedByEigenvalues`; never more than the rank of the centred samples.
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
        See `LinearReducer`; outputs have unit training variance.
    n_iter_ : int
    converged_ : bool
    """

    max_iter: Count = 1000
    tol: Positive = 1e-4
    random_state: Any = None

    def _learn(self, X: Floats) -> None:
        eigenvalues, rows = principal_components(covariance(X))
        rank = int(np.sum(eigenvalues > eigenvalues[0] * len(eigenvalues) * np.finfo(np.float64).eps))
        if rank == 0:
            raise ValueError("X in ICA: expected a feature that varies, got constants. Leave out the reduction.")
        n = min(self._count(eigenvalues), rank)
        # Outputs of these rows have unit variance and are not correlated; a rotation keeps this.
        whitening = rows[:n] / np.sqrt(eigenvalues[:n, np.newaxis])
        whitened = project(X, X.mean(axis=0), whitening)
        start = make_generator(self.random_state).standard_normal((n, n))
        rotation, self.n_iter_ = independent_rotation(whitened, start, self.max_iter, self.tol)
        self.converged_ = self.n_iter_ < self.max_iter
        self._set_fitted(signed(product(rotation, whitening)), X)


def independent_rotation(Z: Floats, start: Floats, max_iter: int, tol: float) -> tuple[Floats, int]:
    """Return the rotation W after which white samples are most independent, by FastICA, and the number of iterations.

    All rows at once, contrast log cosh (Hyvärinen 1999): w ← E[z tanh(w z)] − E[1 − tanh²(w z)] w, then
    W ← (W Wᵀ)^(−1/2) W, until no row turns by more than ``tol`` = 1 − |cos|.

    Parameters
    ----------
    Z : float64 array, shape (n_samples, n)
        Samples of zero mean and unit covariance.
    start : float64 array, shape (n, n), of full rank
    max_iter : int, >= 1
    tol : float, > 0
    """
    W = _decorrelated(start)
    for n_iter in range(1, max_iter + 1):
        outputs = np.tanh(product(Z, W.T))
        slopes = 1.0 - np.square(outputs).mean(axis=0)
        before, W = W, _decorrelated(product(outputs.T, Z) / len(Z) - slopes[:, np.newaxis] * W)
        if np.abs(np.abs((W * before).sum(axis=1)) - 1.0).max() < tol:
            return W, n_iter
    return W, max_iter


def _decorrelated(W: Floats) -> Floats:
    eigenvalues, rows = principal_components(product(W, W.T))
    return product(product(rows.T / np.sqrt(eigenvalues), rows), W)


@dataclass(eq=False, repr=False)
class LDA(LinearReducer):
    """Project on Fisher's linear discriminants (Fisher 1936; Mitchell 2006), by scikit-learn.

    At most n_classes − 1 directions separate the classes' means, so two classes leave one feature.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of discriminants, from 1 to min(n_classes − 1, n_features); None for all.

    Attributes
    ----------
    components_, mean_, n_components_, explained_variance_, explained_variance_ratio_
        See `LinearReducer`. Within-class variance of each output is 1.
    """

    n_components: Count | None = None

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn the discriminants.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
        y : array-like, shape (n_samples,)
            Class labels, at least two classes, fewer than samples.

        Raises
        ------
        ValueError
            If n_components or the data are out of their range.
        """
        check_parameters(self)
        samples, labels = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(labels)
        classes = [samples[labels == label] for label in np.unique(labels)]
        if not 2 <= len(classes) < len(samples):
            raise ValueError(
                f"y in LDA: expected at least 2 classes and fewer than the {len(samples)} samples, got {len(classes)}"
                f" class{'es' if len(classes) > 1 else ''}. Discriminants need several samples of several classes."
            )
        n_most, n = min(len(classes) - 1, samples.shape[1]), self.n_components
        if n is not None and n > n_most:
            raise ParameterError("n_components", f"an integer from 1 to {n_most} or null", n, where="LDA")
        if not any(np.ptp(members, axis=0).any() for members in classes):
            raise ValueError(
                "X in LDA: expected samples that vary within a class, got all samples of a class alike."
                " Leave out the reduction."
            )
        if not np.ptp([members.mean(axis=0) for members in classes], axis=0).any():
            raise ValueError(
                "X in LDA: expected classes of different means, got one mean for all. Leave out the reduction."
            )
        lda = LinearDiscriminantAnalysis(solver="svd").fit(samples, labels)
        rows: Floats = lda.scalings_[:, : n or n_most].T
        self._set_fitted(rounded(signed(rows)), samples)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


@dataclass(eq=False, repr=False, kw_only=True)
class GaussianKernelPCA(CountedByEigenvalues, FittedBySplit):
    """Project on principal components in the space of the kernel exp(−‖x − x'‖² / (2 width²)), by scikit-learn.

    Schölkopf, Smola & Müller 1998. Give exactly one of the first three parameters.

    Choice: there are never more components than features: a narrow kernel has as many nearly equal eigenvalues as
    samples, which would be no reduction.

    Parameters
    ----------
    n_components, variance_ratio, tau
        As in `CountedByEigenvalues`, on the eigenvalues of the centred kernel matrix.
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

    width_factors: Positives = (0.25, 0.5, 1.0, 2.0, 4.0)
    estimator: Any = None
    random_state: Any = None

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

    def _projected(self, X: Floats) -> Floats:
        projections: Floats = self.kernel_pca_.transform(X)[:, : self.n_components_]
        return rounded(np.ascontiguousarray(projections))


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
