"""Predictions for the test split, and their scores, of runs that store them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pppca_bench.compiled.arrays import Floats
from pppca_bench.problems import Problem
from pppca_bench.store.export import PREDICTED, PROBABILITIES, TARGETS

_SUM = 1e-6
"""Tolerance of the sum of a sample's class probabilities."""


def judge(estimator: Any, X: Floats, problem: Problem) -> tuple[dict[str, float], dict[str, NDArray[Any]]]:
    """Score the predictions of a fitted classifier or regressor for the test split.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X : float64 array of shape (n_test, n_components)
        Test inputs, reduced by its method.
    problem : Problem
        Its test split has the targets.

    Returns
    -------
    dict of str to float
        Scores by the names of `pppca_bench.runs.SCORES`: of classes accuracy, balanced accuracy, macro F1 (both over
        the classes of the test split) and, where there are class probabilities, log loss; of numbers R², the mean over
        targets.
    dict of str to array
        Targets, predictions and, where there are any, probabilities of shape (n_test, n_classes).
    """
    y = problem.y_test
    predicted = predictions_of(estimator, X, y, problem.n_classes)
    kept: dict[str, NDArray[Any]] = {TARGETS: y, PREDICTED: predicted}
    if problem.n_classes is None:
        return _scores_of_numbers(y, predicted), kept
    has_some = hasattr(estimator, "predict_proba")
    probabilities = probabilities_of(estimator, X, problem.n_classes) if has_some else None
    if probabilities is not None:
        kept[PROBABILITIES] = probabilities
    return _scores_of_classes(y, predicted, probabilities), kept


def predictions_of(estimator: Any, X: Floats, y: NDArray[Any], n_classes: int | None) -> NDArray[Any]:
    """Return predictions in the shape of the targets y.

    Raises
    ------
    ValueError
        They have another size, or are not classes 0 to n_classes - 1 or, without classes, finite numbers.
    """
    predicted = np.asarray(estimator.predict(X))
    where = f"predict of {type(estimator).__name__}: expected"
    if predicted.size != y.size or len(predicted) != len(y):
        raise ValueError(f"{where} predictions of shape {y.shape}, got {predicted.shape}.")
    if predicted.dtype.kind not in "biuf":
        fit = np.zeros(predicted.shape, bool)
    else:
        fit = np.isfinite(predicted) if n_classes is None else np.isin(predicted, np.arange(n_classes))
    if not fit.all():
        expected = f"classes from 0 to {n_classes - 1}, as `fit` was given them" if n_classes else "finite numbers"
        raise ValueError(f"{where} {expected}, got {predicted[~fit].tolist()[0]!r}.")
    return predicted.reshape(y.shape)


def probabilities_of(estimator: Any, X: Floats, n_classes: int) -> Floats:
    """Return class probabilities, of shape (n_samples, n_classes): 0 for a class that the estimator never met.

    Raises
    ------
    ValueError
        The estimator's values have another shape or do not sum to 1.
    """
    known = np.asarray(getattr(estimator, "classes_", np.arange(n_classes)), dtype=np.int64)
    probabilities = np.zeros((len(X), n_classes))
    given = np.asarray(estimator.predict_proba(X), dtype=np.float64)
    if given.shape != (len(X), len(known)) or not np.allclose(given.sum(axis=1), 1.0, rtol=0.0, atol=_SUM):
        raise ValueError(
            f"predict_proba of {type(estimator).__name__}: expected probabilities of shape {(len(X), len(known))} whose"
            f" rows sum to 1, got the shape {given.shape}."
        )
    probabilities[:, known] = given / given.sum(axis=1, keepdims=True)
    return probabilities


def _scores_of_numbers(y: NDArray[Any], predicted: NDArray[Any]) -> dict[str, float]:
    from sklearn.metrics import r2_score

    # R² is undefined for one example, and for targets that do not vary.
    return {"r2": float(r2_score(y, predicted))} if len(y) > 1 and np.ptp(y, axis=0).all() else {}


def _scores_of_classes(y: NDArray[Any], predicted: NDArray[Any], probabilities: Floats | None) -> dict[str, float]:
    from sklearn.metrics import accuracy_score, f1_score, log_loss, recall_score

    present = np.unique(y)
    # The mean recall over the classes of the test split is the balanced accuracy, without a warning about others.
    scores = {
        "accuracy_percent": 100.0 * float(accuracy_score(y, predicted)),
        "balanced_accuracy_percent": 100.0
        * float(recall_score(y, predicted, labels=present, average="macro", zero_division=0.0)),
        "macro_f1_percent": 100.0 * float(f1_score(y, predicted, labels=present, average="macro", zero_division=0.0)),
    }
    if probabilities is not None:
        scores["log_loss"] = float(log_loss(y, probabilities, labels=np.arange(probabilities.shape[1])))
    return scores
