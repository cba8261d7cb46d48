"""Boosting: three classifiers on three parts of the data, AdaBoost of classifiers and of regressors."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from pppca_bench.base.parameters import Count, Share
from pppca_bench.base.samples import validated_samples
from pppca_bench.classifiers import RpropMLPRegressor
from pppca_bench.classifiers.ensemble import Ensemble, EnsembleClassifier
from pppca_bench.classifiers.mlp import TargetsMixin, fit_each
from pppca_bench.classifiers.training_data import Split
from pppca_bench.compiled.arrays import Floats


def count_votes(outputs: Sequence[Floats], weights: Iterable[float]) -> Floats:
    """Return the sum of the weights of the outputs whose largest entry is a class's, (n_samples, n_classes)."""
    support = np.zeros_like(outputs[0])
    for weight, output in zip(weights, outputs, strict=True):
        support[np.arange(len(support)), output.argmax(axis=1)] += weight
    return support


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

    def _learn(self, split: Split, rng: np.random.Generator, weights: Floats | None = None) -> None:
        first, second, last = np.array_split(rng.permutation(len(split.X)), 3)
        self.estimators_ = self._fit_members(split, [first], rng, weights)
        guesses = self.estimators_[0].predict(split.X)
        is_wrong = (guesses != split.y)[second]
        # The examples are in random order, so that the first correct examples are a random selection.
        wrong, right = second[is_wrong], second[~is_wrong]
        if not len(wrong):
            return
        half_wrong = np.concatenate([wrong, right[: len(wrong)]])
        self.estimators_ += self._fit_members(split, [half_wrong], rng, weights)
        disputed = last[(guesses != self.estimators_[1].predict(split.X))[last]]
        if len(disputed):
            self.estimators_ += self._fit_members(split, [disputed], rng, weights)

    def _combine(self, outputs: list[Floats]) -> Floats:
        # Two votes outweigh the other vote; of three different votes the third wins, of two the first.
        return count_votes(outputs, (4.0, 3.0, 5.0)[: len(outputs)])


class AdaBoost(Ensemble):
    """Base of AdaBoost: each member is trained with weights of the samples that earlier members made."""

    n_estimators: int

    @abstractmethod
    def _losses(self, member: Any, split: Split) -> Floats:
        """Return the loss of each training sample, in [0, 1], (n_samples,)."""

    @abstractmethod
    def _fit_next(self, split: Split, weights: Floats, rng: np.random.Generator) -> Any:
        """Train a member with the weights, which sum to 1."""

    def _boost(
        self, split: Split, n_classes: int, rng: np.random.Generator, first: Floats | None
    ) -> None:
        """Train the members, and set their votes α; ``first`` are the first weights, by default equal."""
        n_samples = len(split.X)
        weights = np.full(n_samples, 1.0 / n_samples) if first is None else first / first.sum()
        self.estimators_, alphas = [], list[float]()
        while len(alphas) < self.n_estimators:
            member = self._fit_next(split, weights, rng)
            losses = self._losses(member, split)
            lost = losses > 0.0
            error = float((weights[lost] * losses[lost]).sum())
            no_better_than_chance = error >= 1.0 - 1.0 / n_classes - 1e-9  # allows for rounding
            if no_better_than_chance and alphas:
                break
            self.estimators_.append(member)
            if no_better_than_chance:
                alphas.append(1.0)
                break
            # α = log((1 − ε) / ε) + log(K − 1), where ε is at least 1 / (2 n_samples).
            error = max(error, 0.5 / n_samples)
            alphas.append(float(np.log((1.0 - error) / error) + np.log(n_classes - 1.0)))
            if not lost.any():
                break
            weights = weights * np.exp(alphas[-1] * losses)
            weights = weights / weights.sum()
            # End when a sample has more than half of the weight. With two classes, a single misclassified sample has
            # exactly half of the weight; 1e-9 allows for rounding.
            if weights.max() > 0.5 + 1e-9:
                break
        self.estimator_weights_ = np.array(alphas)


@dataclass(eq=False, repr=False)
class AdaBoostClassifier(AdaBoost, EnsembleClassifier):
    """Boost classifiers: each classifier gives more weight to samples that earlier classifiers misclassify.

    AdaBoost (Freund & Schapire 1996), for more than two classes SAMME (Zhu, Zou, Rosset & Hastie 2009): with K
    classes and the weighted training error ε of a member, its vote has the weight α = log((1 − ε) / ε) + log(K − 1),
    and the weights of its misclassified samples are multiplied by exp(α).

    A member that takes weights, such as `StumpClassifier`, is trained with them. Choice: for networks, which take no
    weights, samples are drawn with probabilities equal to the weights, Freund and Schapire's own variant. A member
    no better than chance, ε ≥ 1 − 1 / K, ends the boosting and is dropped, unless it is the first. A member without
    errors also ends the boosting, and votes with the ε of half a sample, since α would be infinite. A sample with more
    than half of the weight also ends the boosting (Marsland 2009).

    Parameters
    ----------
    estimator : classifier or None, default=None
        As in `BaggingClassifier`; cloned in each round.
    n_estimators : int, default=10
        Largest number of members, >= 1. Choice: as for bagging.
    random_state : int, RandomState, Generator or None, default=None
        Source of the samples, the networks' seeds and the held-out share.

    Attributes
    ----------
    estimators_ : list of the fitted members
    estimator_weights_ : float64 ndarray of shape (n_members,)
        α of each member; 1 for a first member no better than chance, which is then the only member.
    n_epochs_, best_epoch_ : int
        Sums over the networks; missing if members have no epochs.
    """

    estimator: Any = None
    n_estimators: Count = 10
    _: KW_ONLY
    random_state: Any = None

    def _learn(self, split: Split, rng: np.random.Generator, weights: Floats | None = None) -> None:
        self._boost(split, len(self.classes_), rng, weights)

    def _losses(self, member: Any, split: Split) -> Floats:
        return (member.predict(split.X) != split.y).astype(np.float64)

    def _fit_next(self, split: Split, weights: Floats, rng: np.random.Generator) -> Any:
        """Train a member with sample weights, or on a sample drawn by these weights."""
        if self.estimator is not None and has_fit_parameter(self.estimator, "sample_weight"):
            members = self._make_members(1, rng)
            return fit_each(members, [split], classes=self.classes_, sample_weight=weights)[0]
        return self._fit_drawn(split, weights, rng)

    def _combine(self, outputs: list[Floats]) -> Floats:
        return count_votes(outputs, self.estimator_weights_)


@dataclass(eq=False, repr=False)
class SamplingAdaBoostClassifier(AdaBoostClassifier):
    """Boost classifiers on samples drawn by the weights, whether or not the classifiers take weights.

    Lecture notes, "Boosting": a member is trained on a sample of the data, in which difficult examples are more likely,
    not on the full weighted set, which is faster. Choice: half of the data, as for subagging; the notes state no size.

    Parameters
    ----------
    sample_share : float, default=0.5
        Size of a sample, drawn with replacement, as a share of the training data; in (0, 1]. The other parameters are
        those of `AdaBoostClassifier`.
    """

    _: KW_ONLY
    sample_share: Share = 0.5

    def _fit_next(self, split: Split, weights: Floats, rng: np.random.Generator) -> Any:
        return self._fit_drawn(split, weights, rng, self.sample_share)


@dataclass(eq=False, repr=False)
class AdaBoostRegressor(TargetsMixin, AdaBoost):
    """Boost regressors: each regressor learns more often from samples that earlier regressors approximate badly.

    AdaBoost.R for one or several outputs, in the form of Drucker (1997), which scikit-learn has for one output: each
    member is trained on samples drawn by the weights. A sample's loss L is its error as a share of the largest, ε is
    the weighted mean of L, α = log((1 − ε) / ε), and the weights are multiplied by exp(α L). A prediction is the median
    of the members' outputs, weighted by α.

    Choice: Freund and Schapire's (1997) AdaBoost.R asks for members that minimise an integral over the weights of
    thresholds; Drucker's takes any regressor. With several outputs, the error of a sample is the Euclidean norm of its
    differences, and each output has its own median. The boosting ends as that of `AdaBoostClassifier` for two classes.

    Parameters
    ----------
    estimator : regressor or None, default=None
        As in `BaggingClassifier`; None: `RpropMLPRegressor()`.
    n_estimators : int, default=10
        Largest number of members, >= 1. Choice: as for bagging.
    loss : {"linear", "square", "exponential"}, default="linear"
        L is the share s of the largest error, s² or 1 − exp(−s).
    random_state : int, RandomState, Generator or None, default=None
        Source of the samples, the networks' seeds and the held-out share.

    Attributes
    ----------
    estimators_, estimator_weights_, n_epochs_, best_epoch_
        As in `AdaBoostClassifier`.
    """

    _network = RpropMLPRegressor

    estimator: Any = None
    n_estimators: Count = 10
    _: KW_ONLY
    loss: Literal["linear", "square", "exponential"] = "linear"
    random_state: Any = None

    def _learn(self, split: Split, rng: np.random.Generator, weights: Floats | None = None) -> None:
        if split.y.ndim == 2 and split.y.shape[1] == 1:
            # A vector to scikit-learn's regressors.
            split = split._replace(y=split.y[:, 0], y_val=split.y_val[:, 0])
        self._boost(split, 2, rng, weights)

    def _losses(self, member: Any, split: Split) -> Floats:
        predicted = np.reshape(member.predict(split.X), split.y.shape)
        errors: Floats = np.linalg.norm(self._targets(predicted - split.y), axis=1)
        shares = errors / (errors.max() or 1.0)
        if self.loss == "exponential":
            return 1.0 - np.exp(-shares)
        return shares**2 if self.loss == "square" else shares

    def _fit_next(self, split: Split, weights: Floats, rng: np.random.Generator) -> Any:
        return self._fit_drawn(split, weights, rng)

    def _outputs(self, X: ArrayLike) -> Floats:
        """Return the weighted medians of the members' outputs."""
        check_is_fitted(self)
        inputs = validated_samples(self, X)
        outputs = np.array([self._targets(member.predict(inputs)) for member in self.estimators_])
        order = outputs.argsort(axis=0)
        # The least output at which the sum of the weights reaches half of all weights.
        sums = self.estimator_weights_[order].cumsum(axis=0)
        index = (sums >= 0.5 * sums[-1]).argmax(axis=0)[None]
        medians: Floats = np.take_along_axis(outputs, np.take_along_axis(order, index, 0), 0)[0]
        return medians
