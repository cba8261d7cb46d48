"""What a run predicts for the test split, for runs that store it, and the scores of these predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pppca_bench.compiled.arrays import Floats
from pppca_bench.problems import Problem
from pppca_bench.store.export import PREDICTED, PROBABILITIES, TARGETS

_SUM = 1e-6
"""Rows of class probabilities sum to one up to this."""


def judge(estimator: Any, X: Floats, problem: Problem) -> tuple[dict[str, float], dict[str, NDArray[Any]]]:
    """Score what a fitted classifier or regressor predicts for the test split.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X : float64 array of shape (n_test, n_components)
        Test inputs as its method reduced them.
    problem : Problem
        Of its test split, the targets.

    Returns
    -------
    dict of str to float
        Scores by the names of `pppca_bench.runs.SCORES`: of classes accuracy, balanced accuracy, macro F1 and, where
        there are class probabilities, log loss; of numbers R², the mean over targets. Balanced accuracy and macro F1
        are of the classes that the test split has.
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
        They have another size, are none of the classes 0 to n_classes - 1, or, without classes, no finite numbers.
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
        What it gives are no probabilities.
    """
    known = np.asarray(getattr(estimator, "classes_", np.arange(n_classes)), dtype=np.int64)
    found, given = np.zeros((len(X), n_classes)), np.asarray(estimator.predict_proba(X), dtype=np.float64)
    if given.shape != (len(X), len(known)) or not np.allclose(given.sum(axis=1), 1.0, rtol=0.0, atol=_SUM):
        raise ValueError(
            f"predict_proba of {type(estimator).__name__}: expected probabilities of shape {(len(X), len(known))} whose"
            f" rows sum to 1, got the shape {given.shape}."
        )
    found[:, known] = given / given.sum(axis=1, keepdims=True)
    return found


def _scores_of_numbers(y: NDArray[Any], predicted: NDArray[Any]) -> dict[str, float]:
    from sklearn.metrics import r2_score

    # Of one example, or of targets that do not vary, there is no share of variance.
    return {"r2": float(r2_score(y, predicted))} if len(y) > 1 and np.ptp(y, axis=0).all() else {}


def _scores_of_classes(y: NDArray[Any], predicted: NDArray[Any], probabilities: Floats | None) -> dict[str, float]:
    from sklearn.metrics import accuracy_score, f1_score, log_loss, recall_score

    there = np.unique(y)
    # The mean recall over the classes of the test split is the balanced accuracy, without its warning about others.
    scores = {
        "accuracy_percent": 100.0 * float(accuracy_score(y, predicted)),
        "balanced_accuracy_percent": 100.0
        * float(recall_score(y, predicted, labels=there, average="macro", zero_division=0.0)),
        "macro_f1_percent": 100.0 * float(f1_score(y, predicted, labels=there, average="macro", zero_division=0.0)),
    }
    if probabilities is not None:
        scores["log_loss"] = float(log_loss(y, probabilities, labels=np.arange(probabilities.shape[1])))
    return scores
