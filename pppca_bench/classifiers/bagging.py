"""Ensembles of members with equal votes: bagging, disjoint partitions, cross-validation committee."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Le

from pppca_bench.base.parameters import Count, Share
from pppca_bench.classifiers.ensemble import EnsembleClassifier
from pppca_bench.classifiers.training_data import Split
from pppca_bench.compiled.arrays import Floats, Indices


class MeanClassifier(EnsembleClassifier):
    """Base of ensembles whose members have equal votes.

    Attributes
    ----------
    oob_score_ : float
        Accuracy for the training examples, each classified by the members that did not learn from it (out of bag);
        examples from which all members learnt do not count, and nan stands for no others.
    """

    vote: str

    def _fit_on(
        self,
        split: Split,
        samples: Sequence[Indices] | Indices,
        rng: np.random.Generator,
        weights: Floats | None,
    ) -> None:
        """Train a member on each sequence of sample indices, and measure the accuracy out of bag."""
        self.estimators_ = self._fit_members(split, samples, rng, weights)
        support = np.zeros((len(split.X), len(self.classes_)))
        is_tested = np.zeros(len(split.X), dtype=bool)
        for member, rows in zip(self.estimators_, samples, strict=True):
            left_out = np.setdiff1d(np.arange(len(split.X)), rows)
            if len(left_out):
                outputs = self._outputs_of(member, split.X[left_out])
                support[left_out] += self._combine([outputs])
                is_tested[left_out] = True
        predicted = self.classes_[support.argmax(axis=1)]
        is_right = (predicted == split.y)[is_tested]
        self.oob_score_ = float(is_right.mean()) if len(is_right) else float("nan")

    def _combine(self, outputs: list[Floats]) -> Floats:
        if self.vote == "majority":
            outputs = [np.eye(output.shape[1])[output.argmax(axis=1)] for output in outputs]
        return np.mean(outputs, axis=0)


@dataclass(eq=False, repr=False)
class BaggingClassifier(MeanClassifier):
    """Average the outputs, or the votes, of classifiers trained on bootstrap samples (Breiman 1996).

    ``sample_share=0.5, replace=False`` is the textbook's subagging: samples of half the size, drawn without
    replacement.

    Choice: outputs are averaged by default, as scikit-learn averages probabilities, since a few votes often tie.
    scikit-learn's own ensemble passes no validation data to its members.

    Parameters
    ----------
    estimator : classifier or None, default=None
        The classifier that is cloned for each sample; its ``random_state`` is not used. It has scikit-learn's `fit` and
        `predict`, and gets ``classes``, ``X_val`` and ``y_val`` if its `fit` names them. None: `RpropMLPClassifier()`.
    n_estimators : int, default=10
        Number of members, >= 1. Choice: scikit-learn's default; the lecture notes ask for at least 50 samples, which
        make a run of networks five times as long.
    vote : {"mean", "majority"}, default="mean"
        Average the outputs, or count the predicted classes; with equal counts the first class wins. Members other than
        networks vote.
    sample_share : float, default=1.0
        Size of a sample, at least a single example, as a share of the training data; in (0, 1].
    replace : bool, default=True
        Whether a sample may contain a training example more than once.
    random_state : int, RandomState, Generator or None, default=None
        Source of the samples, the members' seeds and the held-out share.

    Attributes
    ----------
    estimators_ : list of the fitted members
    oob_score_ : float
        Accuracy for the training examples, out of bag: see `MeanClassifier`.
    n_epochs_, best_epoch_ : int
        Sums over the networks; missing if members have no epochs.
    """

    estimator: Any = None
    n_estimators: Count = 10
    _: KW_ONLY
    vote: Literal["mean", "majority"] = "mean"
    sample_share: Share = 1.0
    replace: bool = True
    random_state: Any = None

    def _learn(self, split: Split, rng: np.random.Generator, weights: Floats | None = None) -> None:
        n_samples = len(split.X)
        size = max(round(self.sample_share * n_samples), 1)
        if self.replace:
            samples = rng.integers(n_samples, size=(self.n_estimators, size))
        else:
            samples = np.array(
                [rng.permutation(n_samples)[:size] for _ in range(self.n_estimators)]
            )
        self._fit_on(split, samples, rng, weights)


@dataclass(eq=False, repr=False)
class PartitionClassifier(MeanClassifier):
    """Average the outputs, or the votes, of classifiers trained on disjoint parts of the training data.

    Lecture notes, "Ensemble Learning": with lots of data, randomly partition them and give different sets to different
    classifiers, here without overlaps. The parts have equal sizes, or sizes that differ by 1.

    Parameters
    ----------
    estimator : classifier or None, default=None
    vote : {"mean", "majority"}, default="mean"
        As in `BaggingClassifier`.
    n_estimators : int, default=10
        Number of parts and members, >= 1. Choice: as for bagging; with fewer examples, each is a part.
    random_state : int, RandomState, Generator or None, default=None
        Source of the partition, the members' seeds and the held-out share.

    Attributes
    ----------
    estimators_, oob_score_, n_epochs_, best_epoch_
        As in `BaggingClassifier`.
    """

    estimator: Any = None
    n_estimators: Count = 10
    _: KW_ONLY
    vote: Literal["mean", "majority"] = "mean"
    random_state: Any = None

    def _learn(self, split: Split, rng: np.random.Generator, weights: Floats | None = None) -> None:
        n_parts = min(self.n_estimators, len(split.X))
        parts = np.array_split(rng.permutation(len(split.X)), n_parts)
        self._fit_on(split, parts, rng, weights)


@dataclass(eq=False, repr=False)
class CommitteeClassifier(MeanClassifier):
    """Average the outputs, or the votes, of the classifiers of a cross-validation, each trained without a fold.

    Lecture notes, "Ensemble Learning": cross-validation trains a classifier on all folds but one, for each fold, and
    throws most of them away; an ensemble keeps them all. ``oob_score_`` is the cross-validated accuracy.

    Choice: folds are random, without strata, and all members stop by the same validation data, as those of bagging.

    Parameters
    ----------
    estimator : classifier or None, default=None
    vote : {"mean", "majority"}, default="mean"
        As in `BaggingClassifier`.
    n_estimators : int, default=10
        Number of folds and members, >= 2; with fewer examples, each is a fold. Choice: ten-fold cross-validation.
    random_state : int, RandomState, Generator or None, default=None
        Source of the folds, the members' seeds and the held-out share.

    Attributes
    ----------
    estimators_, oob_score_, n_epochs_, best_epoch_
        As in `BaggingClassifier`.
    """

    estimator: Any = None
    n_estimators: Annotated[int, Ge(2), Le(1_000_000)] = 10
    _: KW_ONLY
    vote: Literal["mean", "majority"] = "mean"
    random_state: Any = None

    def _learn(self, split: Split, rng: np.random.Generator, weights: Floats | None = None) -> None:
        order = rng.permutation(len(split.X))
        n_folds = min(self.n_estimators, len(order))
        places = np.array_split(np.arange(len(order)), n_folds)
        # A single example is the sample of its member.
        samples = [np.delete(order, fold) for fold in places] if n_folds > 1 else [order]
        self._fit_on(split, samples, rng, weights)
