"""Feature selection by scores: the estimator `FilterSelector` and its criteria."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Le
from numpy.typing import NDArray
from scipy.stats import f as f_distribution

from pppca_bench.base.parameters import Count
from pppca_bench.classifiers.training_data import Split
from pppca_bench.compiled.arrays import Floats, Indices
from pppca_bench.reducers.wrapper_selection import PathSelector, Step, subset, validation_errors

Criterion = Literal[
    "mutual_information",
    "conditional_mutual_information",
    "chi_squared",
    "accuracy",
    "cross_validated_accuracy",
    "t_test",
]
_N_FOLDS = 10


@dataclass(eq=False, repr=False)
class FilterSelector(PathSelector):
    """Keep the features of the highest scores (Mitchell 2006, "Scoring Individual Features", "Forward1", "Forward2").

    ============================== =====================================================================
    criterion                      score
    ============================== =====================================================================
    mutual_information             I(Xᵢ, Y) = Σ P(x, y) log (P(x, y) / (P(x) P(y))), in nats
    conditional_mutual_information the same, given the features selected before ("Forward2")
    chi_squared                    the statistic of independence of Xᵢ and Y, Σ (observed − expected)² / expected
    accuracy                       training accuracy of a classifier by Xᵢ alone
    cross_validated_accuracy       the same in ten-fold cross-validation on the training data
    t_test                         −log₁₀ p of the hypothesis that all classes have the same mean of Xᵢ
    ============================== =====================================================================

    All except the t-test are computed from a contingency table of feature values and classes, and of folds for the
    cross-validated accuracy.

    Choice: the values are the distinct training values, or, if there are more than `n_bins`, intervals with about equal
    numbers of training samples, since the source does not define its values k. `t_test` is Student's t-test with
    a common variance for two classes, and its extension, the analysis of variance, for more.
    `conditional_mutual_information` first selects the feature of most mutual information, then repeatedly the feature
    with the largest minimum of I(Xᵢ, Y | Xₖ) over selected features k (Fleuret 2004): the source conditions on a set in
    words, but on a single feature in its formula, and a table of several features would be nearly empty. The
    single-feature classifier predicts, for each value, the most frequent class of the training samples; with equal
    frequencies, or for a value that other folds lack, the class that is most frequent in these folds. Ten folds,
    stratified by classes, since the source has no number.

    Parameters
    ----------
    n_features : int or None, default=None
        Number of features, from 1 to n_features_in_; None: chosen by the validation error. With a given number, `fit`
        holds out no data.
    criterion : str, default="mutual_information"
        Criterion in the table above.
    n_bins : int, default=10
        Largest number of feature values in a table; >= 2. Choice: 10, as in the ordinal inputs of Proben1.
    estimator : classifier or None, default=None
        Unfitted; its validation error chooses the number of features. None: `RpropMLPClassifier` with 16 hidden nodes.
    random_state : int, RandomState, Generator or None, default=None
        Source of the held-out share, of the classifier's seed and of the folds.

    Attributes
    ----------
    scores_ : float64 array, shape (n_features,)
        For the conditional criterion, the score at the selection of the feature; nan if undefined, as for the t-test of
        a constant feature.
    support_, ranking_, n_features_, history_, mean_
        See `PathSelector`. Undefined scores are last; equal scores keep the order of the features.
    """

    n_features: Count | None = None
    _: KW_ONLY
    criterion: Criterion = "mutual_information"
    n_bins: Annotated[int, Ge(2), Le(1_000_000)] = 10
    estimator: Any = None
    random_state: Any = None

    @property
    def _uses_validation(self) -> bool:
        return self.n_features is None

    def _search(self, split: Split, classifier: Any, rng: np.random.Generator) -> list[Step]:
        labels = np.unique(split.y, return_inverse=True)[1]
        self.scores_, self._order = score_features(
            split.X, labels, self.criterion, self.n_bins, rng
        )
        sizes = range(1, len(self._order) + 1) if self.n_features is None else [self.n_features]
        errors = validation_errors(
            classifier, [subset(split, self._order[:size]) for size in sizes]
        )
        return [
            Step(tuple(self._order[:n].tolist()), float(error))
            for n, error in zip(sizes, errors, strict=True)
        ]

    def _learn(self, split: Split, rng: np.random.Generator) -> None:
        super()._learn(split, rng)
        # Scores rank all features, also with a single subset on the path.
        self.ranking_ = np.argsort(self._order) + 1


def discretise(column: Floats, n_bins: int) -> Indices:
    """Return the index of the value, or interval, of each sample, int64 (n_samples,); see `FilterSelector`."""
    values, codes = np.unique(column, return_inverse=True)
    if len(values) <= n_bins:
        return codes
    # A value that fills an interval is a repeated edge, and has an interval of its own; empty intervals are removed.
    edges = np.quantile(column, np.arange(n_bins + 1) / n_bins)
    full = np.unique(edges[1:][edges[1:] == edges[:-1]])
    intervals = np.searchsorted(np.unique(edges[1:-1]), column, side="right") + np.searchsorted(
        full, column
    )
    return np.unique(intervals, return_inverse=True)[1]


def contingency_table(*codes: Indices) -> Floats:
    """Count the samples with each combination of codes; the result, float64, has an axis for each argument."""
    counts = np.zeros([int(code.max()) + 1 for code in codes])
    np.add.at(counts, codes, 1.0)
    return counts


def mutual_information(counts: Floats) -> float:
    """Return Σ P(x, y) log (P(x, y) / (P(x) P(y))) for a table of two features, in nats."""
    joint = counts / counts.sum()
    independent = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    positive = joint > 0.0
    # Rounding: the information of independent features is 0, not -3e-17 or 2e-16.
    return max(
        0.0,
        round(float(np.sum(joint[positive] * np.log(joint[positive] / independent[positive]))), 12),
    )


def conditional_mutual_information(counts: Floats) -> float:
    """Return I(X, Y | Z) = Σ P(z) I(X, Y | Z = z) for a table (x, y, z), in nats."""
    sizes = counts.sum(axis=(0, 1))
    slices = np.flatnonzero(sizes)
    return round(
        sum(sizes[k] / sizes.sum() * mutual_information(counts[:, :, k]) for k in slices), 12
    )


def chi_squared(counts: Floats) -> float:
    """Return Pearson's statistic Σ (observed − expected)² / expected for a table of two features."""
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0, keepdims=True) / counts.sum()
    positive = expected > 0.0
    return float(np.sum((counts - expected)[positive] ** 2 / expected[positive]))


def accuracy(counts: Floats) -> float:
    """Return the share of samples with the most frequent class of their value, for a table (value, class)."""
    return float(counts.max(axis=1).sum() / counts.sum())


def cross_validated_accuracy(counts: Floats) -> float:
    """Return the share of samples with the most frequent class of their value in the other folds.

    ``counts`` is a table (value, class, fold).
    """
    others = counts.sum(axis=2, keepdims=True) - counts
    # Shares of classes, below 1, decide between equal counts alone.
    shares = others.sum(axis=0) / (others.sum(axis=(0, 1)) + 1.0)
    predicted = (others + shares).argmax(axis=1, keepdims=True)
    return float(np.take_along_axis(counts, predicted, axis=1).sum() / counts.sum())


def stratified_folds(y: Indices, rng: np.random.Generator) -> Indices:
    """Return a random fold of each sample, int64 (n_samples,); classes are spread evenly, however rare they are."""
    order = rng.permutation(len(y))
    folds = np.empty(len(y), dtype=np.int64)
    folds[order[y[order].argsort(kind="stable")]] = np.arange(len(y)) % _N_FOLDS
    return folds


def variance_ratios(X: Floats, y: NDArray[Any]) -> tuple[Floats, tuple[int, int]]:
    """Return F of the analysis of variance of each feature, and the degrees of freedom between and within classes.

    For two classes F is t². F is nan for constant features, for a single class, and for no more samples than classes.
    """
    groups = [X[y == label] for label in np.unique(y)]
    between = sum(len(group) * (group.mean(axis=0) - X.mean(axis=0)) ** 2 for group in groups)
    within = sum(((group - group.mean(axis=0)) ** 2).sum(axis=0) for group in groups)
    df = len(groups) - 1, len(X) - len(groups)
    if min(df) < 1:
        return np.full(X.shape[1], np.nan), df
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.ptp(X, axis=0) > 0.0, (between / df[0]) / (within / df[1]), np.nan), df


def score_features(
    X: Floats, y: Indices, criterion: Criterion, n_bins: int, rng: np.random.Generator | None = None
) -> tuple[Floats, Indices]:
    """Return the scores of all features, float64 (n_features,), and the features by descending score.

    ``y`` are class indices, from 0; ``rng`` draws the folds of the cross-validated accuracy, alone.
    """
    if criterion == "t_test":
        ratios, df = variance_ratios(X, y)
        # F and −log p have the same order, but p may underflow.
        return -f_distribution.logsf(ratios, *df) / np.log(10.0), _descending(ratios)
    codes = [discretise(column, n_bins) for column in X.T]
    if criterion == "conditional_mutual_information":
        return _conditional(codes, y)
    score = {
        "mutual_information": mutual_information,
        "chi_squared": chi_squared,
        "accuracy": accuracy,
        "cross_validated_accuracy": cross_validated_accuracy,
    }[criterion]
    by = (
        (y, stratified_folds(y, np.random.default_rng(rng)))
        if score is cross_validated_accuracy
        else (y,)
    )
    scores = np.array([score(contingency_table(values, *by)) for values in codes])
    return scores, _descending(scores)


def _descending(scores: Floats) -> Indices:
    # Equal scores differ by rounding, such as those of a feature in two units.
    rounded = np.array([float(f"{score:.12g}") for score in scores])
    return np.argsort(np.where(np.isnan(rounded), np.inf, -rounded), kind="stable")


def _conditional(codes: Sequence[Indices], y: Indices) -> tuple[Floats, Indices]:
    """Select features step by step, each by its least information given any selected feature."""
    scores = np.array([mutual_information(contingency_table(values, y)) for values in codes])
    order: list[int] = []
    while len(order) < len(codes):
        left = np.setdiff1d(np.arange(len(codes)), order)
        taken = int(left[scores[left].argmax()])
        order.append(taken)
        for other in left[left != taken]:
            given_taken = conditional_mutual_information(
                contingency_table(codes[other], y, codes[taken])
            )
            scores[other] = given_taken if len(order) == 1 else min(scores[other], given_taken)
    return scores, np.array(order, dtype=np.int64)
