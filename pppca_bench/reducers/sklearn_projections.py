"""Projections by scikit-learn: independent components, discriminants, an autoencoder, and kernel components."""

import warnings
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import pdist
from sklearn.decomposition import FastICA, KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from pppca_bench.classifiers.training_data import FittedBySplit, Split
from pppca_bench.compiled.arrays import Floats
from pppca_bench.parameters import Count, ParameterError, Positive, Positives, check_parameters, make_generator
from pppca_bench.reducers.linear_projection import (
    CountedByEigenvalues,
    LearntFromSamples,
    LinearProjection,
    covariance,
    descending_eigenvalues,
)
from pppca_bench.reducers.wrapper_selection import Candidate, seeded, validation_errors


@dataclass(eq=False, repr=False, kw_only=True)
class ICA(LearntFromSamples, LinearProjection):
    """Rotate the leading principal components to be as independent as possible (Hyvärinen & Oja 2000).

    scikit-learn's FastICA, contrast log cosh, all components at once. Give exactly one of the first three parameters;
    they count principal components, which span the same space.

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
        See `LinearProjection`; outputs have unit training variance.
    n_iter_ : int
    converged_ : bool
    """

    max_iter: Count = 1000
    tol: Positive = 1e-4
    random_state: Any = None

    def _learn(self, X: Floats) -> None:
        rank = int(np.linalg.matrix_rank(X - X.mean(axis=0)))
        if rank == 0:
            raise ValueError("X in ICA: expected a feature that varies, got constants. Leave out the reduction.")
        fast_ica = FastICA(
            min(self._count(descending_eigenvalues(covariance(X))), rank),
            whiten="unit-variance",
            whiten_solver="svd",
            max_iter=self.max_iter,
            tol=self.tol,
            random_state=int(make_generator(self.random_state).integers(2**31)),
        )
        # FastICA divides by the variance of every direction before it drops those without variance.
        with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
            warnings.simplefilter("ignore", ConvergenceWarning)
            fast_ica.fit(X)
        self._set_fitted(fast_ica.components_, X)
        self.n_iter_ = int(fast_ica.n_iter_)
        self.converged_ = self.n_iter_ < self.max_iter


@dataclass(eq=False, repr=False)
class LDA(LinearProjection):
    """Project on Fisher's linear discriminants (Fisher 1936; Mitchell 2006), by scikit-learn.

    At most n_classes − 1 directions separate the classes' means, so two classes leave one feature.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of discriminants, from 1 to min(n_classes − 1, n_features); None for all.

    Attributes
    ----------
    components_, mean_, n_components_, explained_variance_, explained_variance_ratio_
        See `LinearProjection`. Within-class variance of each output is 1.
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
        self._set_fitted(rows, samples)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


@dataclass(eq=False, repr=False, kw_only=True)
class Autoencoder(LearntFromSamples):
    """Reduce features to the middle layer of a network that is trained to reproduce its inputs.

    Bishop 1995, section 8.6.2 and figure 8.12: with two layers of weights the M middle nodes, linear or not, lead to
    the space of the first M principal components (Bourlard & Kamp 1988), since the linear outputs lie in M dimensions
    and no M dimensions lose less; four layers of weights, the hidden nodes nonlinear, give a curved space.
    scikit-learn's MLPRegressor on centred inputs, half the squared error (eq. 8.24), all samples at once by L-BFGS.
    Give exactly one of the first three parameters.

    Parameters
    ----------
    n_components, variance_ratio, tau
        Nodes M of the middle layer, counted as in `CountedByEigenvalues` by the eigenvalues of the covariance matrix.
    kind : {"linear", "two_layer", "nonlinear"}, default="linear"
        Inputs, M linear nodes, linear outputs; the same with M tanh nodes; or tanh nodes before, in and after the
        middle layer.
    n_hidden : int or None, default=None
        Nodes of the layers before and after the middle layer, >= 1; for the nonlinear kind only.
        Choice: None gives the number of features, the fewest that do not narrow the data before the middle.
    max_iter : int, default=1000
        >= 1. Choice: the weights after the last iteration are used even if L-BFGS has not converged, since further
        iterations would change the code little; ``converged_`` is then False.
    tol : float, default=1e-6
        Largest entry of the gradient at which L-BFGS ends; > 0.
    random_state : int, RandomState, Generator or None, default=None
        Source of the initial weights.

    Attributes
    ----------
    mean_ : float64 array, shape (n_features,)
    n_components_ : int
    coefs_, intercepts_ : lists of float64 arrays
        Of each layer of weights, shapes (n_sources, n_units) and (n_units,).
    n_iter_ : int
    converged_ : bool
    """

    kind: Literal["linear", "two_layer", "nonlinear"] = "linear"
    n_hidden: Count | None = None
    max_iter: Count = 1000
    tol: Positive = 1e-6
    random_state: Any = None

    def _learn(self, X: Floats) -> None:
        self.n_components_ = self._count(descending_eigenvalues(covariance(X)))
        self.mean_ = X.mean(axis=0)
        self._train(X - self.mean_)

    def _projected(self, X: Floats) -> Floats:
        return self._apply_layers(X - self.mean_, range(self._n_encoding))

    def inverse_transform(self, X: ArrayLike) -> Floats:
        """Return the network's outputs for values of the middle nodes.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_components_)

        Returns
        -------
        float64 array, shape (n_samples, n_features)
        """
        check_is_fitted(self)
        code = np.asarray(X, dtype=np.float64)
        return self._apply_layers(code, range(self._n_encoding, len(self.coefs_))) + self.mean_

    @property
    def _n_encoding(self) -> int:
        """Number of layers of weights up to the middle nodes."""
        return len(self.coefs_) // 2

    def _train(self, centred: Floats) -> None:
        network = MLPRegressor(
            hidden_layer_sizes=self._layer_sizes(),
            activation="identity" if self.kind == "linear" else "tanh",
            solver="lbfgs",
            alpha=0.0,
            max_iter=self.max_iter,
            max_fun=100 * self.max_iter,
            tol=self.tol,
            random_state=int(make_generator(self.random_state).integers(2**31)),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            network.fit(centred, centred if centred.shape[1] > 1 else centred.ravel())
        self.coefs_, self.intercepts_ = network.coefs_, network.intercepts_
        self.n_iter_ = int(network.n_iter_)
        self.converged_ = self.n_iter_ < self.max_iter

    def _layer_sizes(self) -> tuple[int, ...]:
        if self.kind != "nonlinear":
            return (self.n_components_,)
        n_hidden = self.n_hidden or self.n_features_in_
        return n_hidden, self.n_components_, n_hidden

    def _apply_layers(self, values: Floats, layers: range) -> Floats:
        """Pass values through some of the layers of weights."""
        for layer in layers:
            values = values @ self.coefs_[layer] + self.intercepts_[layer]
            if self.kind != "linear" and layer < len(self.coefs_) - 1:
                values = np.tanh(values)
        return values


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
        return np.ascontiguousarray(projections)


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
