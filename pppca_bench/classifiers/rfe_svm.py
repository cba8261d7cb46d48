"""Recursive feature elimination with a linear support vector machine: the estimator `RFESVMClassifier`."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.feature_selection import RFE
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted

from pppca_bench.classifiers.training_data import FittedBySplit, Labels, SizeRule, Split, chosen_size
from pppca_bench.compiled.arrays import Flags
from pppca_bench.parameters import Count, ParameterError, Positives
from pppca_bench.samples import validated_samples


@dataclass(eq=False, repr=False)
class RFESVMClassifier(ClassifierMixin, FittedBySplit):
    """Classify by a linear support vector machine on the features left by recursive elimination (RFESVM).

    The machine is trained, the feature with the least sum of squared weights is dropped, and so on down to one
    feature (Guyon, Weston, Barnhill & Vapnik 2002). Slide 'Comparison', row "RFESVM". C and the number of features are
    chosen on the validation data.

    Choice: features are standardised on the training data, since weights rank only features of equal scale. Of equal
    validation errors the fewest features are chosen, then the smallest C. As all other classifiers, the chosen machine
    is trained on the training data alone.

    Parameters
    ----------
    C : sequence of float, default=(0.01, 0.1, 1.0)
        Penalties to choose from; > 0, in any order. Choice: powers of ten up to scikit-learn's default;
        with standardised features larger ones are slow and were never chosen.
    n_features : int or None, default=None
        Number of features to keep, >= 1, or None to choose it on the validation data.
    size_rule : {"least_error", "one_standard_error"}, default="least_error"
        Take the fewest features of the least validation error, or of an error within a standard error of it.
    random_state : int, RandomState, Generator or None, default=None
        Source of the held-out share; nothing else is random.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    n_features_ : int
        Number of features that are used.
    support_ : bool ndarray of shape (n_features_in_,)
        Whether each feature is used.
    C_ : float
        The penalty that was chosen.
    measures_ : dict of float
        ``C``, for the results.
    history_ : dict of ndarrays of shape (n_candidates,)
        ``C``, ``n_features``, ``validation_error_percent`` of every machine that was compared.
    """

    C: Positives = (0.01, 0.1, 1.0)
    _: KW_ONLY
    n_features: Count | None = None
    size_rule: SizeRule = "least_error"
    random_state: Any = None

    def _learn(self, split: Split, rng: np.random.Generator) -> None:  # noqa: ARG002 - nothing else is random
        if self.n_features is not None and self.n_features > self.n_features_in_:
            expected = f"an integer from 1 to {self.n_features_in_} or null"
            raise ParameterError("n_features", expected, self.n_features, where="RFESVMClassifier")
        self._scaler = StandardScaler().fit(split.X)
        candidates = list(self._candidates(split))
        errors = [100.0 * error for *_, error in candidates]
        sizes = [int(support.sum()) for _, support, _, _ in candidates]
        # Candidates come in ascending order of C, so that the smallest C of equal ones is chosen.
        best = chosen_size(errors, sizes, len(split.X_val), self.size_rule)
        self.C_, self.support_, self._machine, _ = candidates[best]
        self.n_features_ = sizes[best]
        self.measures_ = {"C": self.C_}
        self.history_ = {
            "C": np.array([C for C, *_ in candidates]),
            "n_features": np.array(sizes),
            "validation_error_percent": np.array(errors),
        }

    def predict(self, X: ArrayLike) -> Labels:
        """Return the class of each sample."""
        check_is_fitted(self)
        Z = self._scaler.transform(validated_samples(self, X))
        return self._machine.predict(Z[:, self.support_])

    def _candidates(self, split: Split) -> Iterator[tuple[float, Flags, SVC, float]]:
        """Yield, for each penalty and number of features: C, the features, the machine and its validation error."""
        Z, Z_val = self._scaler.transform(split.X), self._scaler.transform(split.X_val)
        n_features = self.n_features_in_
        for C in sorted(float(C) for C in self.C):
            machine = SVC(C=C, kernel="linear")
            ranking = RFE(machine, n_features_to_select=1).fit(Z, split.y).ranking_
            for n_kept in range(1, n_features + 1) if self.n_features is None else [self.n_features]:
                support = ranking <= n_kept
                machine = SVC(C=C, kernel="linear").fit(Z[:, support], split.y)
                error = float(np.mean(machine.predict(Z_val[:, support]) != split.y_val))
                yield C, support, machine, error
