"""Ensembles of members with equal votes: bagging, disjoint partitions."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np

from pppca_bench.base.parameters import Count, Share
from pppca_bench.classifiers.ensemble import EnsembleClassifier
from pppca_bench.classifiers.training_data import Split
from pppca_bench.compiled.arrays import Floats


class MeanClassifier(EnsembleClassifier):
    """Base of ensembles whose members have equal votes."""

    vote: str

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
        Number of members, >= 1. Choice: scikit-learn's default; the textbook asks for at least 50.
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
        self.estimators_ = self._fit_members(split, samples, rng, weights)


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
    estimators_, n_epochs_, best_epoch_
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
        self.estimators_ = self._fit_members(split, parts, rng, weights)
