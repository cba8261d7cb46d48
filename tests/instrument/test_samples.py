"""Validation of samples: the fast path for plain arrays, and scikit-learn's validation."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

from pppca_bench.base.samples import is_plain, validated_samples

X = np.random.default_rng(0).normal(size=(6, 3))


class Estimator(BaseEstimator):
    pass


def test_a_plain_array_is_not_copied_and_sets_the_number_of_features():
    estimator = Estimator()
    assert validated_samples(estimator, X, reset=True) is X
    assert estimator.n_features_in_ == 3
    assert validated_samples(estimator, X) is X


@pytest.mark.parametrize(
    "given",
    [
        *(X.tolist(), X.astype(np.float32), np.asfortranarray(X), X[::2], X.astype(object)),
        np.arange(6).reshape(2, 3),
    ],
    ids=["list", "float32", "columns first", "every other row", "objects", "integers"],
)
def test_anything_else_becomes_a_plain_array(given):
    found = validated_samples(Estimator(), given, reset=True)
    assert is_plain(found)
    assert np.array_equal(found, np.asarray(given, dtype=np.float64))


def test_feature_names_are_handled_as_in_scikit_learn():
    estimator, frame = Estimator(), pd.DataFrame(X, columns=list("abc"))
    validated_samples(estimator, frame, reset=True)
    assert list(estimator.feature_names_in_) == ["a", "b", "c"]
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        validated_samples(estimator, X)
    validated_samples(estimator, X, reset=True)
    assert not hasattr(estimator, "feature_names_in_")
