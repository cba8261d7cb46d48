"""Measures of a run: predictions, scores, reconstruction of the inputs, and checks of the numbers to record."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from pppca_bench.base.projection import max_variances
from pppca_bench.classifiers import squared_error_percent
from pppca_bench.compiled.arrays import Array, Floats
from pppca_bench.problems import Problem
from pppca_bench.quantities import RANK_SCORES, RECALL, RECALL_END, described
from pppca_bench.runs import Curves, RunResult, RunSpec, failed_result
from pppca_bench.store.columns import RUN_COLUMNS
from pppca_bench.store.export import IDENTITY, PREDICTED, PROBABILITIES, TARGETS

_SUM_TOLERANCE = 1e-6
"""Tolerance of the sum of a sample's class probabilities."""

_AFFINE_TOLERANCE = 1e-6
"""Tolerance of the midpoints of affine reconstructions, relative to the largest deviation from the mean."""

_DECIMALS = 13
"""Decimals of the lost share of the variance: further decimals are rounding errors, which depend on the processor."""


def error_percent(predicted: Array, y: Array, n_classes: int | None) -> tuple[str, float]:
    """Return name and value of the share of wrong classes, or of the squared error of numbers (Proben1 report, 2.7)."""
    if n_classes is None:
        return "squared_error_percent", squared_error_percent(predicted, y)
    return "error_percent", 100.0 * float(np.mean(predicted != y))


def score_predictions(
    estimator: Any, X: Floats, predicted: Array, problem: Problem
) -> tuple[dict[str, float], dict[str, Array]]:
    """Score the predictions of a fitted classifier or regressor for the test split.

    ``X`` are the reduced test inputs, of shape (n_test, n_components), and ``predicted`` their `predictions_of`.

    Returns
    -------
    dict of str to float
        Scores, named as in `pppca_bench.quantities.SCORES`. For classes: those of `class_scores` and `rank_scores` and,
        if there are class probabilities, log loss. For numbers: R², the mean over targets.
    dict of str to array
        Targets, predictions and, if there are any, probabilities of shape (n_test, n_classes).
    """
    from sklearn import metrics

    y = problem.y_test
    kept: dict[str, Array] = {TARGETS: y, PREDICTED: predicted}
    if problem.n_classes is None:
        # R² is undefined for one example, and for targets that do not vary.
        is_defined = len(y) > 1 and np.ptp(y, axis=0).all()
        return {"r2": float(metrics.r2_score(y, predicted))} if is_defined else {}, kept
    scores = class_scores(predicted, y, problem.classes or range(problem.n_classes))
    if hasattr(estimator, "predict_proba"):
        kept[PROBABILITIES] = probabilities_of(estimator, X, problem.n_classes)
        scores["log_loss"] = float(
            metrics.log_loss(y, kept[PROBABILITIES], labels=np.arange(problem.n_classes))
        )
    return scores | rank_scores(estimator, X, y, problem), kept


def class_scores(predicted: Array, y: Array, labels: Sequence[object]) -> dict[str, float]:
    """Return accuracy, balanced accuracy, macro F1, and the recall of each class, in percent.

    Balanced accuracy and macro F1 are means over the classes in y, class indices of shape (n_samples,), and only these
    have a recall. ``labels`` are the labels of the indices.
    """
    present = np.unique(y)
    right = np.array([np.sum((y == index) & (predicted == index)) for index in present])
    n, n_predicted = (np.array([np.sum(of == index) for index in present]) for of in (y, predicted))
    recalls, f1 = 100.0 * right / n, 200.0 * right / (n + n_predicted)
    scores = {
        "accuracy_percent": 100.0 * float(np.mean(predicted == y)),
        "balanced_accuracy_percent": float(recalls.mean()),
        "macro_f1_percent": float(f1.mean()),
    }
    for index, recall in zip(present, recalls.tolist(), strict=True):
        label = str(labels[index])
        name = label if label.isprintable() else ascii(label)
        scores[f"{RECALL}{name}{RECALL_END}"] = recall
    return scores


def rank_scores(estimator: Any, X: Floats, y: Array, problem: Problem) -> dict[str, float]:
    """Return ROC AUC and average precision, in percent, of a fitted classifier on samples; none if it scores no class.

    The score of a class is the decision function or, without one, the probability. Choices: the area under the ROC
    curve is the mean over the classes in y, each against all others, the same area for each of two classes. Average
    precision is that mean for more than two classes; of two, it is that of the class with fewer training rows, since
    that of a frequent class is near 100 for any ranking.
    """
    from sklearn import metrics

    n_classes = problem.n_classes or 0
    scores, present = _scores_of_classes(estimator, X, n_classes), np.unique(y).tolist()
    if scores is None or len(present) < 2:
        return {}
    areas = [metrics.roc_auc_score(y == index, scores[:, index]) for index in present]
    counts = np.bincount(problem.y_train.astype(np.int64), minlength=n_classes)
    positive = [int(counts.argmin())] if n_classes == 2 else present
    precisions = [
        metrics.average_precision_score(y == index, scores[:, index]) for index in positive
    ]
    means = [100.0 * float(np.mean(values)) for values in (areas, precisions)]
    return dict(zip(RANK_SCORES, means, strict=True))


def _scores_of_classes(estimator: Any, X: Floats, n_classes: int) -> Floats | None:
    """Return scores of shape (n_samples, n_classes), 0 for unknown classes; None if there is no score of each class."""
    known = np.asarray(getattr(estimator, "classes_", np.arange(n_classes)), dtype=np.int64)
    scores = np.zeros((len(X), n_classes))
    if hasattr(estimator, "decision_function"):
        given = as_matrix(estimator.decision_function(X))
        if given.ndim == 1:
            given = np.column_stack([-given, given])
        # others have a score of each pair of classes
        if given.shape == (len(X), len(known)):
            scores[:, known] = given
            return scores
    if hasattr(estimator, "predict_proba"):
        return probabilities_of(estimator, X, n_classes)
    return None


def as_matrix(made: Any, where: str = "expected a matrix of numbers") -> Floats:
    """Return a C-contiguous float64 copy of a dense or sparse matrix.

    Raises ValueError, which begins with ``where``, for complex numbers.
    """
    dense = made.toarray() if hasattr(made, "toarray") else made
    if np.iscomplexobj(dense):
        raise ValueError(f"{where}, got complex numbers.")
    return np.array(dense, dtype=np.float64, order="C")


def predictions_of(estimator: Any, X: Floats, y: Array, n_classes: int | None) -> Array:
    """Return predictions in the shape of the targets y.

    Raises
    ------
    ValueError
        The predictions have another size, or are not classes 0 to n_classes - 1 or, without classes, finite numbers.
    """
    predicted = np.array(estimator.predict(X))
    where = f"predict of {type(estimator).__name__}: expected"
    if predicted.size != y.size or len(predicted) != len(y):
        raise ValueError(f"{where} predictions of shape {y.shape}, got {predicted.shape}.")
    if predicted.dtype.kind not in "biuf":
        fit = np.zeros(predicted.shape, bool)
    else:
        fit = (
            np.isfinite(predicted)
            if n_classes is None
            else np.isin(predicted, np.arange(n_classes))
        )
    if not fit.all():
        expected = (
            f"classes from 0 to {n_classes - 1}, as passed to `fit`"
            if n_classes
            else "finite numbers"
        )
        raise ValueError(f"{where} {expected}, got {predicted[~fit].tolist()[0]!r}.")
    return predicted.reshape(y.shape)


def probabilities_of(estimator: Any, X: Floats, n_classes: int) -> Floats:
    """Return class probabilities, of shape (n_samples, n_classes): 0 for a class that the estimator was not fitted on.

    Raises
    ------
    ValueError
        The estimator's values have another shape or do not sum to 1.
    """
    known = np.asarray(getattr(estimator, "classes_", np.arange(n_classes)), dtype=np.int64)
    probabilities = np.zeros((len(X), n_classes))
    given = as_matrix(
        estimator.predict_proba(X),
        f"predict_proba of {type(estimator).__name__}: expected probabilities",
    )
    if given.shape != (len(X), len(known)) or not np.allclose(
        given.sum(axis=1), 1.0, rtol=0.0, atol=_SUM_TOLERANCE
    ):
        raise ValueError(
            f"predict_proba of {type(estimator).__name__}: expected probabilities of shape {(len(X), len(known))} whose"
            f" rows sum to 1, got the shape {given.shape}."
        )
    probabilities[:, known] = given / given.sum(axis=1, keepdims=True)
    return probabilities


def measure_reconstruction(reducer: Any, X: Floats, reduced: Floats) -> dict[str, float]:
    """Measure the loss of a fitted method's features.

    Choice: the inputs are reconstructed by the method's own `inverse_transform` or, without it, by the linear map from
    the features that fits these inputs best. So all methods, including selections and nonlinear maps, have measures on
    the same scale. Choice: E_M is half the *mean* over the samples, so that data sets of different sizes compare; the
    sources have half the sum (Bishop 1995, eq. 8.17) or the sum (Mitchell 2006).

    ``X`` are the training inputs, of shape (n_samples, n_features), and ``reduced`` their features.

    Returns
    -------
    dict of str to float
        ``reconstruction_error``: E_M, half the mean squared distance of the inputs to their reconstruction; for exact
        PCA half the sum of the discarded eigenvalues (Bishop 1995, section 8.6). ``retained_variance_percent``: the
        share of the total variance that is not lost; negative where the mean alone would lose less.
        ``optimality_percent``: this share over the largest share that as many linear features can retain, 100 for exact
        PCA; only if the reconstruction is affine in the features. Measures that overflow float64 are left out.
    """
    deviations = X - X.mean(axis=0)
    scale = float(np.abs(deviations).max()) or 1.0
    variance = _mean_square(deviations / scale)
    rebuilt = _reconstructed(reducer, X, reduced)
    lost = _mean_square((X - rebuilt) / scale)
    measures = {}
    if variance > 0.0:
        share = round(lost / variance, _DECIMALS)
        lost = share * variance
        measures["retained_variance_percent"] = 100.0 * (1.0 - share)
        n_features = min(reduced.shape[1], X.shape[1])
        if n_features and _is_affine(reducer, X, reduced, rebuilt, _AFFINE_TOLERANCE * scale):
            scaled = deviations / scale
            # D Dᵀ and Dᵀ D have the same eigenvalues > 0; take the smaller matrix.
            most = max_variances(
                (scaled @ scaled.T if len(X) < X.shape[1] else scaled.T @ scaled) / len(X)
            )
            best = float(most[min(n_features, len(most)) - 1]) / variance
            measures["optimality_percent"] = measures["retained_variance_percent"] / best
    with np.errstate(over="ignore"):
        measures["reconstruction_error"] = float(0.5 * lost * np.square(scale))
    return {name: value for name, value in measures.items() if np.isfinite(value)}


def _reconstructed(reducer: Any, X: Floats, reduced: Floats) -> Floats:
    with suppress(NotFittedError):  # the method can learn an inverse, but was not set to
        if hasattr(reducer, "inverse_transform"):
            where = f"inverse_transform of {type(reducer).__name__}: expected numbers of shape {X.shape}"
            rebuilt = as_matrix(reducer.inverse_transform(reduced), where)
            if rebuilt.shape != X.shape:
                raise ValueError(f"{where}, got the shape {rebuilt.shape}.")
            return rebuilt
    mean, centre = X.mean(axis=0), reduced.mean(axis=0)
    weights = np.linalg.lstsq(reduced - centre, X - mean, rcond=None)[0]
    return np.asarray(mean + (reduced - centre) @ weights)


def _is_affine(reducer: Any, X: Floats, reduced: Floats, rebuilt: Floats, tolerance: float) -> bool:
    """Return whether the reconstructions of midpoints of features are midpoints of reconstructions."""
    if not hasattr(reducer, "inverse_transform"):
        return True
    midpoints = _reconstructed(reducer, 0.5 * (X + X[::-1]), 0.5 * (reduced + reduced[::-1]))
    return bool(np.allclose(midpoints, 0.5 * (rebuilt + rebuilt[::-1]), rtol=0.0, atol=tolerance))


def _mean_square(deviations: Floats) -> float:
    with np.errstate(over="ignore"):
        return float(np.mean(np.einsum("ij,ij->i", deviations, deviations)))


def validated_result(spec: RunSpec, values: Mapping[str, Any], history: Curves) -> RunResult:
    """Return the result of a run that is done, with Python numbers, without nan, and with arrays of real numbers.

    Any other content, such as an infinite number or a negative count, makes the result a failure.
    """
    try:
        numbers = {name: _number(name, value) for name, value in values.items()}
        curves = {name: _curve(name, curve) for name, curve in history.items()}
    except (ValueError, TypeError, OverflowError) as error:
        return failed_result(spec, str(error))
    known = {name: number for name, number in numbers.items() if not math.isnan(number)}
    return RunResult(spec.key, "done", values=known, history=curves)


def _number(name: object, value: Any) -> float:
    """Return a number of ``measures_``; raise ValueError for a reserved name or an impossible number."""
    if not isinstance(name, str) or name in (*IDENTITY, *RUN_COLUMNS) or not name.isprintable():
        raise ValueError(f"expected a name that is no column of all runs, got {name!r}.")
    number = (
        value.item() if isinstance(value, np.generic | np.ndarray) and not value.ndim else value
    )
    if not isinstance(number, int | float):
        raise ValueError(f"{name}: expected a number, got {value!r}.")
    if math.isinf(number):
        raise ValueError(
            f"{name}: expected a finite number, got {number}. Scale the data, or lower the rate."
        )
    if described(name).is_count and number < 0:
        raise ValueError(f"{name}: expected a count of at least 0, got {number}.")
    return number


def _curve(name: object, curve: Any) -> Array:
    """Return an array of ``history_``; raise ValueError for anything but real numbers."""
    array = np.asarray(curve)
    if (
        not isinstance(name, str)
        or not name.isprintable()
        or array.dtype.kind not in "biuf"
        or not array.ndim
    ):
        raise ValueError(f"history_[{name!r}]: expected an array of real numbers, got {curve!r}.")
    return array
