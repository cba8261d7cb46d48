"""Linear projections learnt from all samples at once: exact PCA, ICA, LDA; and the identity."""

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import svd
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.decomposition import FastICA
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from pppca_bench.base.keep_rules import (
    KeepRule,
    count_by_broken_stick,
    count_by_cross_validation,
    count_by_eigenvalue,
    count_by_hard_threshold,
    count_by_likelihood,
    count_by_permutations,
    count_by_tau,
    count_by_variance,
)
from pppca_bench.base.parameters import (
    Count,
    ParameterError,
    Positive,
    Share,
    Tau,
    check_limit,
    check_parameters,
    make_generator,
)
from pppca_bench.base.projection import LinearProjection, Projection, UnsupervisedMixin
from pppca_bench.base.samples import (
    check_scale,
    power_of_two_above,
    validated_projections,
    validated_samples,
)
from pppca_bench.compiled.arrays import Floats
from pppca_bench.compiled.linear_algebra import (
    MAX_JACOBI_FEATURES,
    flip_signs,
    principal_components,
    product,
    project,
    rounded,
    second_moments,
)

_NARROW = 1e-4
"""Standard deviation of a direction that `discriminants` leaves out, in units of the features' or the largest."""


class AllFeatures(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Return all features unchanged, for a classifier without reduction (Proben1 report)."""

    def fit(self, X: ArrayLike, y: Any = None) -> Self:  # noqa: ARG002 - scikit-learn's contract
        """Learn the number of features."""
        validated_samples(self, X, reset=True)
        return self

    def transform(self, X: ArrayLike) -> Floats:
        """Return the samples, float64 of shape (n_samples, n_features)."""
        check_is_fitted(self, "n_features_in_")
        return validated_samples(self, X)

    def inverse_transform(self, X: ArrayLike) -> Floats:
        """Return the samples, float64 of shape (n_samples, n_features)."""
        check_is_fitted(self, "n_features_in_")
        return validated_projections(self, X, self.n_features_in_)


@dataclass(eq=False, repr=False)
class SpectrumReducer(Projection):
    """Base of projections with three rules for the number of components; the user gives at most one rule.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components, from 1 to n_features. None, without another rule, keeps as many as there are.
    variance_ratio : float or None, default=None
        Keep the fewest components with this share of the variance; in (0, 1].
    tau : float or None, default=None
        Keep component i while λ1 / λi <= tau, the slides' criterion (1); >= 1.
    """

    n_components: Count | None = None
    _: KW_ONLY
    variance_ratio: Share | None = None
    tau: Tau | None = None

    def check_agreement(self) -> None:
        """Raise ParameterError if several rules are given."""
        given = [
            name
            for name in ("n_components", "variance_ratio", "tau")
            if getattr(self, name) is not None
        ]
        if len(given) > 1:
            raise ParameterError(
                given[1], f"null where {given[0]} is given", getattr(self, given[1])
            )

    def _count(self, eigenvalues: Floats) -> int:
        """Return the number of components, at least 1, for eigenvalues >= 0 in descending order."""
        check_limit(self, "n_components", len(eigenvalues))
        if self.n_components is not None:
            return int(self.n_components)
        if self.variance_ratio is not None:
            return count_by_variance(eigenvalues, self.variance_ratio)
        if self.tau is not None:
            return count_by_tau(eigenvalues, self.tau)
        return len(eigenvalues)


def covariance(X: Floats) -> Floats:
    """Return C = (X − mean)ᵀ (X − mean) / N, float64 (n_features, n_features)."""
    return second_moments(np.ascontiguousarray(X), X.mean(axis=0))


class LinearReducer(LinearProjection):
    """Base of linear projections that are computed from all training samples at once.

    Attributes
    ----------
    components_, mean_, n_samples_seen_, singular_values_
        See `LinearProjection`.
    n_components_ : int
    explained_variance_, explained_variance_ratio_ : float64 array, shape (n_components_,)
        Training variance, divided by N, along each row's direction, and its share of the total variance.
    """

    def _set_fitted(self, rows: Floats, X: Floats) -> None:
        self.components_ = np.ascontiguousarray(rows)
        self.mean_ = X.mean(axis=0)
        self.n_components_, self.n_samples_seen_ = len(rows), len(X)
        unit = power_of_two_above(rows, axis=1)
        squared_norms = np.square(rows / unit[:, np.newaxis]).sum(axis=1)
        squares = np.square(self._projected(X) / unit)
        self.explained_variance_ = squares.mean(axis=0) / squared_norms
        total = float(np.square(X - self.mean_).mean(axis=0).sum())
        self.explained_variance_ratio_ = self.explained_variance_ / (total or 1.0)


@dataclass(eq=False, repr=False)
class _ExactPCA(UnsupervisedMixin, SpectrumReducer, LinearReducer):
    """Base of exact PCA; a subclass computes the spectrum."""

    keep: KeepRule | None = None
    _: KW_ONLY
    least_eigenvalue: Positive | None = None

    def check_agreement(self) -> None:
        """Raise ParameterError if the number that ``keep`` needs is missing, or n_components is given beside ``keep``.

        Without ``keep``, several rules are an error; with it, numbers that it does not need have no effect.
        """
        needed_by = {"tau": "tau", "variance": "variance_ratio", "eigenvalue": "least_eigenvalue"}
        needed = needed_by.get(str(self.keep))
        if self.keep is None:
            super().check_agreement()
        elif self.n_components is not None:
            raise ParameterError("n_components", "null where keep is given", self.n_components)
        elif needed and getattr(self, needed) is None:
            raise ParameterError(needed, f"a number where keep is {self.keep}", None)

    def _learn(self, X: Floats) -> None:
        self.eigenvalues_, rows = self._spectrum(X)
        self._set_fitted(rows[: self._count_by_rule(X)], X)

    def _count_by_rule(self, X: Floats) -> int:
        """Return the number of components by ``keep``, or, if None, by the other parameters.

        Choice: constant features do not count, and other features have a variance each, 0 beyond n_samples − 1, so that
        neither constant features nor the way to compute the spectrum changes the number.
        """
        if self.keep is None:
            return self._count(self.eigenvalues_)
        X = X[:, np.ptp(X, axis=0) > 0.0]
        n_samples, m = X.shape
        if m == 0:
            return 1
        least = {"mle": m, "cross_validation": 3}.get(self.keep, 2)
        if n_samples < least:
            raise ParameterError(
                "keep", f"another rule for fewer than {least} samples ({n_samples})", self.keep
            )
        variances = np.pad(self.eigenvalues_[:m], (0, max(0, m - len(self.eigenvalues_))))
        if self.keep == "tau" and self.tau is not None:
            return count_by_tau(variances, self.tau)
        if self.keep == "eigenvalue" and self.least_eigenvalue is not None:
            return count_by_eigenvalue(variances, self.least_eigenvalue)
        if self.keep == "broken_stick":
            return count_by_broken_stick(variances)
        if self.keep == "gavish_donoho":
            return count_by_hard_threshold(variances, n_samples)
        if self.keep == "mle":
            return count_by_likelihood(X)
        if self.keep == "parallel":
            return count_by_permutations(X, variances)
        if self.keep == "cross_validation":
            return count_by_cross_validation(X)
        return self._count(variances)

    @abstractmethod
    def _spectrum(self, X: Floats) -> tuple[Floats, Floats]:
        """Return all eigenvalues of C in descending order, and eigenvectors as rows, with signs by `flip_signs`."""


class CovariancePCA(_ExactPCA):
    """Keep the leading eigenvectors of the covariance matrix (Bishop 1995, section 8.6; Mitchell's algorithm 1).

    Parameters
    ----------
    n_components, variance_ratio, tau
        As in `SpectrumReducer`.
    keep : str or None, default=None
        Rule for the number of components, see `pppca_bench.base.keep_rules`: "tau", "variance" and "eigenvalue", which
        need tau, variance_ratio or least_eigenvalue, "mle", "parallel", "broken_stick", "gavish_donoho" or
        "cross_validation". Parameters that the rule does not need have no effect.
    least_eigenvalue : float or None, default=None
        Least variance of a component, > 0, in squared units of the data.

    Attributes
    ----------
    eigenvalues_ : float64 array, shape (n_features,)
        Decreasing eigenvalues of C = (X − mean)ᵀ (X − mean) / N; with more than 256 features,
        min(n_samples, n_features) of them. N / 2 times the sum of the discarded eigenvalues is the reconstruction error
        E_M (Bishop 1995, eq. 8.23, whose Σ is N C).
    components_, mean_, n_components_, explained_variance_, explained_variance_ratio_
        See `LinearReducer`.
    """

    def _spectrum(self, X: Floats) -> tuple[Floats, Floats]:
        return principal_axes(X - X.mean(axis=0))


def principal_axes(D: Floats) -> tuple[Floats, Floats]:
    """Return the eigenvalues of C = Dᵀ D / N in descending order, and the eigenvectors as rows, for samples D (N, m).

    With more than 256 features, min(N, m) of them, by singular values.
    """
    if D.shape[1] <= MAX_JACOBI_FEATURES:
        return principal_components(second_moments(D, np.zeros(D.shape[1])))
    return singular_axes(D)


def singular_axes(D: Floats) -> tuple[Floats, Floats]:
    """Return s² / N of the singular values s of samples D (N, m), decreasing, and right singular vectors as rows.

    The rows, min(N, m) of them, are `rounded`, since LAPACK's last digits depend on the processor.
    """
    _, singular, rows = svd(D, full_matrices=False)
    return np.square(singular) / len(D), rounded(flip_signs(rows))


class SingularValuePCA(_ExactPCA):
    """Keep the leading right singular vectors of the centred samples (Mitchell 2006, slide "SVD").

    Parameters are those of `CovariancePCA`; n_components is at most min(n_samples, n_features).

    Attributes
    ----------
    eigenvalues_ : float64 array, shape (min(n_samples, n_features),)
        s² / N of the singular values s.
    components_, mean_, n_components_, explained_variance_, explained_variance_ratio_
        See `LinearReducer`.
    """

    def _spectrum(self, X: Floats) -> tuple[Floats, Floats]:
        return singular_axes(X - X.mean(axis=0))


@dataclass(eq=False, repr=False, kw_only=True)
class ICA(UnsupervisedMixin, SpectrumReducer, LinearReducer):
    """Rotate the leading principal components to be as independent as possible, by scikit-learn's FastICA.

    Source: Hyvärinen & Oja 2000.

    Parameters
    ----------
    n_components, variance_ratio, tau
        As in `SpectrumReducer`, for principal components, which span the same space; at most the rank of the centred
        samples.
    max_iter : int, default=1000
        >= 1. Choice: if FastICA does not converge (nearly Gaussian components have no preferred rotation), the last
        rows are used, since they span the same space; ``converged_`` is then False.
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
        rank = int(
            np.sum(eigenvalues > eigenvalues[0] * len(eigenvalues) * np.finfo(np.float64).eps)
        )
        if rank == 0:
            raise ValueError(
                "X in ICA: expected a feature that varies, got constants. Leave out the reduction."
            )
        n = min(self._count(eigenvalues), rank)
        # These rows give uncorrelated outputs of unit variance, also after a rotation.
        whitening = rows[:n] / np.sqrt(eigenvalues[:n, np.newaxis])
        whitened = project(X, X.mean(axis=0), whitening)
        start = make_generator(self.random_state).standard_normal((n, n))
        rotation, self.n_iter_ = independent_rotation(whitened, start, self.max_iter, self.tol)
        self.converged_ = self.n_iter_ < self.max_iter
        self._set_fitted(flip_signs(product(rotation, whitening)), X)


def independent_rotation(Z: Floats, start: Floats, max_iter: int, tol: float) -> tuple[Floats, int]:
    """Return the rotation that makes white samples most independent, and the number of iterations, by scikit-learn.

    FastICA turns all rows at once, by the contrast log cosh. The rotation is `rounded`. ``Z``, (n_samples, n), has zero
    mean and unit covariance; ``start``, (n, n), has full rank.
    """
    ica = FastICA(whiten=False, w_init=start, max_iter=max_iter, tol=tol)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ica.fit(Z)
    return rounded(ica.components_), ica.n_iter_


@dataclass(eq=False, repr=False)
class LDA(LinearReducer):
    """Project on Fisher's linear discriminants (Fisher 1936; Rao 1948; Mitchell 2006).

    At most n_classes − 1 directions separate the means of the classes, so two classes leave a single feature.

    Choice: S_W = Σ_c p_c C_c and S_B = Σ_c p_c (μ_c − μ)(μ_c − μ)ᵀ, where C_c is the covariance matrix of class c, μ_c
    its mean and p_c its share of the samples, as in scikit-learn, so that S_W + S_B is the covariance matrix of all
    samples (Rao 1948). The lecture notes weight the scatter of a class by p_c once more (6.1), and the means of all
    classes alike (6.2). Classes of different sizes then have other directions: by 11° on cancer1, 36° on thyroid1.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of discriminants, from 1 to min(n_classes − 1, n_features); None means all.

    Attributes
    ----------
    components_, mean_, n_components_, explained_variance_, explained_variance_ratio_
        See `LinearReducer`. The within-class variance of each output, divided by N, is 1. Choice: N, not N − n_classes,
        is the divisor of all variances here, and of scikit-learn from 1.9 on.
    """

    n_components: Count | None = None

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn the discriminants from X, (n_samples, n_features), and class labels y, (n_samples,).

        Raises ValueError if n_components is out of its range, or the samples do not vary within or between classes.
        """
        check_parameters(self)
        samples, labels = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_scale(self, samples)
        check_classification_targets(labels)
        classes = [samples[labels == label] for label in np.unique(labels)]
        rows = discriminants(classes)
        check_limit(self, "n_components", min(len(classes) - 1, samples.shape[1]))
        self._set_fitted(rows[: self.n_components], samples)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def discriminants(classes: Sequence[Floats]) -> Floats:
    """Return the directions of decreasing between-class variance as rows, with uncorrelated outputs within classes.

    Choice: as in scikit-learn, directions of features in units of their within-class standard deviation are left out
    if their standard deviation within classes is less than 1e-4, or that between classes less than 1e-4 of the largest.

    Raises
    ------
    ValueError
        The samples, an array for each class, do not vary within classes, or their means do not differ.
    """
    # Without a sample that is subtracted first, rounding would make constants vary.
    shifted = [members - members[0] for members in classes]
    within = np.concatenate([members - members.mean(axis=0) for members in shifted])
    largest = np.abs(within).max(axis=0)
    if not largest.any():
        raise ValueError(
            "X in LDA: expected samples that vary within a class, got all samples of a class alike."
            " Leave out the reduction."
        )
    largest[largest == 0.0] = 1.0
    units = largest * np.sqrt(np.square(within / largest).mean(axis=0))
    units[units == 0.0] = 1.0
    variances, axes = principal_axes(within / units)
    wide = variances > _NARROW**2
    whitening = axes[wide] / np.sqrt(variances[wide, np.newaxis])
    shares = np.array([len(members) for members in classes])[:, np.newaxis] / len(within)
    means = np.array([members.mean(axis=0) for members in classes])
    deviations = np.sqrt(shares) * (means - (shares * means).sum(axis=0)) / units
    between, rotation = principal_axes(product(deviations, whitening.T))
    if not between.sum() > np.finfo(np.float64).eps:
        raise ValueError(
            "X in LDA: expected classes of different means of features that vary within classes, got one mean for all."
            " Leave out the reduction."
        )
    rows = flip_signs(product(rotation[between > _NARROW**2 * between[0]], whitening))
    return (rounded(rows) if len(units) > MAX_JACOBI_FEATURES else rows) / units
