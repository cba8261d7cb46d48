"""Ensembles: base classes, bagging, disjoint partitions, boosting in three parts."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from pppca_bench.base.parameters import Count, Share
from pppca_bench.base.samples import validated_samples
from pppca_bench.classifiers import RpropMLPClassifier, fit_together
from pppca_bench.classifiers.mlp import MLP, LargestOutputMixin
from pppca_bench.classifiers.training_data import Split, SplitEstimator, one_hot
from pppca_bench.compiled.arrays import Floats, Indices


class Ensemble(SplitEstimator):
    """Base of ensembles of estimators that are trained on samples of the training data."""

    _network: ClassVar[type[MLP]] = RpropMLPClassifier
    """Class of the members by default."""

    estimator: Any
    estimators_: list[Any]

    @property
    def n_epochs_(self) -> int:
        """Sum over the networks; missing if members have no epochs."""
        return sum(member.n_epochs_ for member in self.estimators_)

    @property
    def best_epoch_(self) -> int:
        """Sum over the networks; missing if members have no epochs."""
        return sum(member.best_epoch_ for member in self.estimators_)

    def _make_members(self, n_members: int, rng: np.random.Generator) -> list[Any]:
        """Return unfitted members; those with the parameter ``random_state`` have different seeds."""
        base = self._network() if self.estimator is None else self.estimator
        seeds = rng.integers(2**31, size=n_members)
        # Third-party classes without scikit-learn's `get_params` are copied.
        members = [clone(base, safe=False) for _ in seeds]
        if hasattr(base, "get_params") and "random_state" in base.get_params(deep=False):
            for member, seed in zip(members, seeds, strict=True):
                member.set_params(random_state=int(seed))
        return members

    def _fit_members(
        self, split: Split, samples: Sequence[Indices] | Indices, rng: np.random.Generator
    ) -> list[Any]:
        """Train a member on each sequence of sample indices; networks are trained side by side."""
        members = self._make_members(len(samples), rng)
        if isinstance(members[0], MLP):
            data = [(split.X[rows], split.y[rows], split.X_val, split.y_val) for rows in samples]
            return fit_together(members, data, classes=getattr(self, "classes_", None))
        for member, rows in zip(members, samples, strict=True):
            self._fit_alone(member, replace(split, X=split.X[rows], y=split.y[rows]))
        return members

    def _fit_alone(self, member: Any, split: Split, **given: Any) -> None:
        """Train a member that is no network, with those optional arguments that its `fit` names."""
        given |= {"X_val": split.X_val, "y_val": split.y_val}
        given["classes"] = getattr(self, "classes_", None)
        named = {name: value for name, value in given.items() if has_fit_parameter(member, name)}
        member.fit(split.X, split.y, **named)

    def _fit_drawn(
        self, split: Split, weights: Floats, rng: np.random.Generator, share: float = 1.0
    ) -> Any:
        """Train a member on samples drawn with replacement, with probabilities equal to the weights."""
        size = max(round(share * len(weights)), 1)
        return self._fit_members(split, rng.choice(len(weights), size=(1, size), p=weights), rng)[0]


class EnsembleClassifier(LargestOutputMixin, Ensemble):
    """Base of ensembles of classifiers."""

    @abstractmethod
    def _combine(self, outputs: list[Floats]) -> Floats:
        """Combine the outputs of the members into the support of each class, (n_samples, n_classes)."""

    def _outputs(self, X: ArrayLike) -> Floats:
        """Return the combined outputs; a member that is not a network outputs 1 for its predicted class, else 0."""
        check_is_fitted(self)
        inputs, members = validated_samples(self, X), self.estimators_
        if isinstance(members[0], MLP | Ensemble):
            return self._combine([member._outputs(inputs) for member in members])
        return self._combine([self._predicted(member, inputs) for member in members])

    def _predicted(self, member: Any, X: Floats) -> Floats:
        """Return 1 for the class that a member predicts, 0 for the others; raise ValueError for another label."""
        labels = np.ravel(member.predict(X))
        if (unknown := np.setdiff1d(labels, self.classes_)).size:
            raise ValueError(
                f"predict of {type(member).__name__}: expected members of classes, got {unknown.tolist()[0]!r}"
            )
        return one_hot(labels, self.classes_)


def count_votes(outputs: Sequence[Floats], weights: ArrayLike) -> Floats:
    """Return the sum of the weights of the outputs whose largest entry is a class's, (n_samples, n_classes)."""
    support = np.zeros_like(outputs[0])
    for weight, output in zip(np.asarray(weights), outputs, strict=True):
        support[np.arange(len(support)), output.argmax(axis=1)] += weight
    return support


class _MeanClassifier(EnsembleClassifier):
    """Base of ensembles whose members have equal votes."""

    vote: str

    def _combine(self, outputs: list[Floats]) -> Floats:
        if self.vote == "majority":
            outputs = [np.eye(output.shape[1])[output.argmax(axis=1)] for output in outputs]
        return np.mean(outputs, axis=0)


@dataclass(eq=False, repr=False)
class BaggingClassifier(_MeanClassifier):
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

    def _learn(self, split: Split, rng: np.random.Generator) -> None:
        n_samples = len(split.X)
        size = max(round(self.sample_share * n_samples), 1)
        if self.replace:
            samples = rng.integers(n_samples, size=(self.n_estimators, size))
        else:
            samples = np.array(
                [rng.permutation(n_samples)[:size] for _ in range(self.n_estimators)]
            )
        self.estimators_ = self._fit_members(split, samples, rng)


@dataclass(eq=False, repr=False)
class PartitionClassifier(_MeanClassifier):
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

    def _learn(self, split: Split, rng: np.random.Generator) -> None:
        n_parts = min(self.n_estimators, len(split.X))
        parts = np.array_split(rng.permutation(len(split.X)), n_parts)
        self.estimators_ = self._fit_members(split, parts, rng)


@dataclass(eq=False, repr=False)
class ThreePartBoostingClassifier(EnsembleClassifier):
    """Boost by three classifiers on three parts of the training data (Schapire 1990).

    Lecture notes, "Boosting": the first classifier learns from the first third; the second from the examples of the
    second third that the first misclassifies, and as many random examples that it does not; the third from the examples
    of the last third on which the first two disagree. The majority decides.

    Choice: with more than two classes, three different votes are decided by the third classifier, as Schapire's rule
    says of any disagreement of the first two. If all examples of the second third are right, the first classifier is
    alone; if the first two never disagree in the last third, there is no third, and the first decides.

    Parameters
    ----------
    estimator : classifier or None, default=None
        As in `BaggingClassifier`.
    random_state : int, RandomState, Generator or None, default=None
        Source of the parts, the members' seeds and the held-out share.

    Attributes
    ----------
    estimators_, n_epochs_, best_epoch_
        As in `BaggingClassifier`; one to three members.
    """

    estimator: Any = None
    _: KW_ONLY
    random_state: Any = None

    def _learn(self, split: Split, rng: np.random.Generator) -> None:
        first, second, last = np.array_split(rng.permutation(len(split.X)), 3)
        self.estimators_ = self._fit_members(split, [first], rng)
        guesses = self.estimators_[0].predict(split.X)
        is_wrong = (guesses != split.y)[second]
        # The examples are in random order, so that the first correct examples are a random selection.
        wrong, right = second[is_wrong], second[~is_wrong]
        if not len(wrong):
            return
        self.estimators_ += self._fit_members(
            split, [np.concatenate([wrong, right[: len(wrong)]])], rng
        )
        disputed = last[(guesses != self.estimators_[1].predict(split.X))[last]]
        if len(disputed):
            self.estimators_ += self._fit_members(split, [disputed], rng)

    def _combine(self, outputs: list[Floats]) -> Floats:
        # Two votes outweigh the other vote; of three different votes the third wins, of two the first.
        return count_votes(outputs, (4.0, 3.0, 5.0)[: len(outputs)])
