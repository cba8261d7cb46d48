"""The classifier that looks at no feature: its error is what any other has to beat."""

from __future__ import annotations

from sklearn.dummy import DummyClassifier


class MajorityClassifier(DummyClassifier):
    """Predict the most frequent class of the training data, whatever the features."""

    n_features_ = 0
    """Features that it reads."""

    def __init__(self) -> None:
        super().__init__(strategy="most_frequent")
