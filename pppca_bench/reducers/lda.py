"""Linear discriminant analysis."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from pppca_bench.base.parameters import Count, check_limit, check_parameters
from pppca_bench.base.samples import check_scale
from pppca_bench.compiled.arrays import Floats
from pppca_bench.compiled.linear_algebra import MAX_JACOBI_FEATURES, flip_signs, product, rounded
from pppca_bench.reducers.linear_projection import LinearReducer, principal_axes

_NARROW = 1e-4
"""Standard deviation of a direction that `discriminants` leaves out, in units of the features' or the largest."""


@dataclass(eq=False, repr=False)
class LDA(LinearReducer):
    """Project on Fisher's linear discriminants (Fisher 1936; Rao 1948; Mitchell 2006).

    At most n_classes − 1 directions separate the means of the classes, so two classes leave a single feature.

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
