"""Classifiers based on scikit-learn: majority class, decision stump, arcing, linear SVM with feature elimination."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.feature_selection import RFE
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from pppca_bench.base.parameters import (
    Count,
    Positive,
    Positives,
    check_limit,
    check_parameters,
    make_generator,
)
from pppca_bench.base.samples import power_of_two_above, validated_samples
from pppca_bench.classifiers.training_data import (
    Labels,
    SizeRule,
    Split,
    SplitEstimator,
    choose_candidate,
)
from pppca_bench.compiled.arrays import Floats


class MajorityClassifier(DummyClassifier):
    """Predict the most frequent class of the training data, as a lower bound for other classifiers."""

    n_features_ = 0
    """Number of used features."""

    def __init__(self) -> None:
        super().__init__(strategy="most_frequent")


@dataclass(eq=False, repr=False)
class StumpClassifier(ClassifierMixin, BaseEstimator):
    """Classify by scikit-learn's decision tree of depth 1: the textbook's "stumping", for boosting.

    Choice: the split has the most information gain, as in the textbooks' ID3.

    Parameters
    ----------
    random_state : int, RandomState, Generator or None, default=None
        Source of the choice between splits of equal gain.

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
        """Learn the feature and the threshold that divide the samples.

        Parameters
        ----------
        X, y : array-like of shapes (n_samples, n_features) and (n_samples,)
            Finite numbers, and class labels.
        sample_weight : array-like of shape (n_samples,), optional
            >= 0; equal by default.
        classes : array-like, optional
            All classes of the problem; by default the classes in y. Classes that are not in y are never predicted.
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
        return self.tree_.predict(validated_samples(self, X))


class ArcingClassifier(GradientBoostingClassifier):
    """Boost trees on a differentiable loss, as scikit-learn's gradient boosting does (Friedman 2001).

    Lecture notes, "Boosting": other differentiable losses than AdaBoost's give boosting-like algorithms, collectively
    known as arcing. Choice: the log loss, and scikit-learn's defaults.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of rounds, >= 1, each with a tree for every class (a single tree for two classes).
    learning_rate : float, default=0.1
        Factor of the contribution of each tree, > 0.
    max_depth : int, default=3
        Depth of the trees, >= 1; 1 boosts stumps.
    random_state : int, RandomState or None, default=None
        Source of the choice between splits of equal gain.
    """

    def __init__(
        self,
        n_estimators: Count = 100,
        *,
        learning_rate: Positive = 0.1,
        max_depth: Count = 3,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_estimators=n_estimators,
            learning_rate=learning_rate,
            max_depth=max_depth,
            random_state=random_state,
        )

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from (X, y).

        Choice: without sample weights, which scikit-learn's gradient boosting does not treat as repeated samples.
        """
        check_parameters(self)
        super().fit(X, y)
        return self


@dataclass(eq=False, repr=False)
class RFESVMClassifier(ClassifierMixin, SplitEstimator):
    """Classify by a linear support vector machine on the features left by recursive elimination (RFESVM).

    The machine is trained and the feature with the least sum of squared weights is dropped, repeatedly until a single
    feature is left (Guyon, Weston, Barnhill & Vapnik 2002). Slide 'Comparison', row "RFESVM". The validation data
    choose C and the number of features.

    Choice: features are standardised on the training data, since weights rank only features of equal scale. With equal
    validation errors the fewest features are chosen, then the smallest C. The chosen machine is trained on the training
    data alone, as are all other classifiers.

    Parameters
    ----------
    C : sequence of float, default=(0.01, 0.1, 1.0)
        Candidates for the penalty; > 0, in any order. Choice: powers of ten up to scikit-learn's default;
        with standardised features, larger values are slow and were never chosen.
    n_features : int or None, default=None
        Number of features to keep, >= 1, or None to choose it on the validation data.
    size_rule : {"least_error", "one_standard_error"}, default="least_error"
        Choose the fewest features with the least validation error, or within a standard error of the least.
    random_state : int, RandomState, Generator or None, default=None
        Source of the held-out share, the only random part.

    Attributes
    ----------
    n_features_ : int
        Number of used features.
    support_ : bool ndarray of shape (n_features_in_,)
        Whether each feature is used.
    C_ : float
        Chosen penalty.
    measures_ : dict of float
        ``C``, for the store.
    history_ : dict of ndarrays of shape (n_candidates,)
        ``C``, ``n_features``, ``validation_error_percent`` of all candidates.
    """

    C: Positives = (0.01, 0.1, 1.0)
    _: KW_ONLY
    n_features: Count | None = None
    size_rule: SizeRule = "least_error"
    random_state: Any = None

    @property
    def _uses_validation(self) -> bool:
        return self.n_features is None or len(self.C) > 1

    def _learn(self, split: Split, rng: np.random.Generator) -> None:  # noqa: ARG002 - nothing else is random
        check_limit(self, "n_features", self.n_features_in_)
        # The scaler would take a feature whose squares vanish for a constant.
        self._unit = power_of_two_above(split.X, axis=0)
        self._scaler = StandardScaler().set_output(transform="default").fit(split.X / self._unit)
        Z, Z_val = self._standardised(split.X), self._standardised(split.X_val)
        candidates = []
        # In ascending order of C: among equal candidates, the first has the smallest C.
        for C in sorted(float(C) for C in self.C):
            ranking = (
                RFE(SVC(C=C, kernel="linear"), n_features_to_select=1).fit(Z, split.y).ranking_
            )
            for n_kept in (
                range(1, self.n_features_in_ + 1) if self.n_features is None else [self.n_features]
            ):
                support = ranking <= n_kept
                machine = SVC(C=C, kernel="linear").fit(Z[:, support], split.y)
                error = 100.0 * float(np.mean(machine.predict(Z_val[:, support]) != split.y_val))
                candidates.append((C, support, machine, n_kept, error))
        penalties, _, _, sizes, errors = zip(*candidates, strict=True)
        best = choose_candidate(errors, sizes, len(split.X_val), self.size_rule)
        self.C_, self.support_, self._machine, self.n_features_, _ = candidates[best]
        self.measures_ = {"C": self.C_}
        self.history_ = {
            "C": np.array(penalties),
            "n_features": np.array(sizes),
            "validation_error_percent": np.array(errors),
        }

    def _standardised(self, X: Floats) -> Floats:
        Z: Floats = self._scaler.transform(X / self._unit)
        return Z

    def predict(self, X: ArrayLike) -> Labels:
        """Return the class of each sample."""
        check_is_fitted(self)
        Z = self._standardised(validated_samples(self, X))
        return self._machine.predict(Z[:, self.support_])
