"""Fisher's linear discriminants as a transformer."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from pppca_bench.compiled.arrays import Floats
from pppca_bench.parameters import Count, ParameterError, check_parameters
from pppca_bench.reducers.linear_projection import LinearProjection


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

    def __init__(self, n_components: Count | None = None) -> None:
        self.n_components = n_components

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
        self._publish(rows, samples)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
