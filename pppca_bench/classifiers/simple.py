"""Simple classifiers: the majority class and the decision stump."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from pppca_bench.classifiers.training_data import Labels
from pppca_bench.parameters import check_parameters, make_generator
from pppca_bench.samples import validated_samples


class MajorityClassifier(DummyClassifier):
    """Predict the most frequent class of the training data, whatever the features: a reference line for all others."""

    n_features_ = 0
    """Number of features that are used."""

    def __init__(self) -> None:
        super().__init__(strategy="most_frequent")


@dataclass(eq=False, repr=False)
class StumpClassifier(ClassifierMixin, BaseEstimator):
    """Classify by a decision tree of depth 1, by scikit-learn: the textbook's "stumping", for boosting.

    Choice: the split has the most information gain, as in the textbooks' ID3.

    Parameters
    ----------
    random_state : int, RandomState, Generator or None, default=None
        Decides between splits of equal gain.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    tree_ : the fitted DecisionTreeClassifier
    """

    _: KW_ONLY
    random_state: Any = None

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        classes: ArrayLike | None = None,
    ) -> Self:
        """Learn the split.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite numbers.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), optional
            >= 0; equal by default.
        classes : array-like, optional
            All classes of the problem; by default those of y. A class that y lacks is never predicted.

        Raises
        ------
        ValueError
            If the data are invalid.
        """
        check_parameters(self)
        samples, labels = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(labels)
        seed = int(make_generator(self.random_state).integers(2**31))
        self.tree_ = DecisionTreeClassifier(criterion="entropy", max_depth=1, random_state=seed)
        self.tree_.fit(samples, labels, sample_weight=sample_weight)
        self.classes_ = self.tree_.classes_ if classes is None else np.unique(column_or_1d(classes))
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags

    def predict(self, X: ArrayLike) -> Labels:
        """Return the class of each sample."""
        check_is_fitted(self)
        samples = validated_samples(self, X)
        return self.tree_.predict(samples)
