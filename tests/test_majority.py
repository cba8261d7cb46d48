"""The classifier that looks at no feature, by hand."""

import numpy as np

from pppca_bench.classifiers.majority import MajorityClassifier


def test_it_names_the_most_frequent_class_whatever_the_features():
    y = np.array([2, 0, 2, 1, 2, 0])
    fitted = MajorityClassifier().fit(np.arange(12.0).reshape(6, 2), y)
    np.testing.assert_array_equal(fitted.predict(np.array([[1e9, -1e9], [0.0, 0.0]])), [2, 2])
    assert fitted.n_features_ == 0
    # Three of six.
    assert fitted.score(np.zeros((6, 2)), y) == 0.5


def test_its_error_is_the_share_of_the_other_classes_in_the_split():
    fitted = MajorityClassifier().fit(np.zeros((3, 1)), np.array([1, 1, 0]))
    assert 1.0 - fitted.score(np.zeros((4, 1)), np.array([0, 0, 0, 1])) == 0.75
