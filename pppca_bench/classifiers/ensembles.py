"""Ensembles of classifiers: the estimators `BaggingClassifier` and `AdaBoostClassifier`."""

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

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


class _Ensemble(LargestOutputMixin, SplitEstimator):
    """Base of ensembles of classifiers that are trained on samples of the training data."""

    estimator: Any
    n_estimators: int
    estimators_: list[Any]

    @property
    def n_epochs_(self) -> int:
        """Sum over the networks; missing if members have no epochs."""
        return sum(member.n_epochs_ for member in self.estimators_)

    @property
    def best_epoch_(self) -> int:
        """Sum over the networks; missing if members have no epochs."""
        return sum(member.best_epoch_ for member in self.estimators_)

    @abstractmethod
    def _combine(self, outputs: list[Floats]) -> Floats:
        """Combine the outputs of the members into the support of each class, (n_samples, n_classes)."""

    def _outputs(self, X: ArrayLike) -> Floats:
        """Return the combined outputs; a member that is not a network outputs 1 for its predicted class, else 0."""
        check_is_fitted(self)
        inputs, members = validated_samples(self, X), self.estimators_
        if isinstance(members[0], MLP | _Ensemble):
            return self._combine([member._outputs(inputs) for member in members])
        return self._combine([one_hot(member.predict(inputs), self.classes_) for member in members])

    def _make_members(self, n_members: int, rng: np.random.Generator) -> list[Any]:
        """Return unfitted members with different seeds."""
        base = RpropMLPClassifier() if self.estimator is None else self.estimator
        seeds = rng.integers(2**31, size=n_members)
        return [clone(base).set_params(random_state=int(seed)) for seed in seeds]

    def _fit_members(self, split: Split, samples: Indices, rng: np.random.Generator) -> list[Any]:
        """Train a member on each row of sample indices; networks are trained side by side."""
        members = self._make_members(len(samples), rng)
        if isinstance(members[0], MLP):
            data = [(split.X[rows], split.y[rows], split.X_val, split.y_val) for rows in samples]
            return fit_together(members, data, classes=self.classes_)
        return [
            member.fit(split.X[rows], split.y[rows], classes=self.classes_)
            for member, rows in zip(members, samples, strict=True)
        ]


@dataclass(eq=False, repr=False)
class BaggingClassifier(_Ensemble):
    """Average the outputs, or the votes, of classifiers trained on bootstrap samples (Breiman 1996).

    ``sample_share=0.5, replace=False`` is the textbook's subagging: samples of half the size, drawn without
    replacement.

    Choice: outputs are averaged by default, as scikit-learn averages probabilities, since a few votes often tie.
    scikit-learn's own ensemble passes no validation data to its members.

    Parameters
    ----------
    estimator : classifier or None, default=None
        The network or `StumpClassifier` that is cloned for each sample; its ``random_state`` is not used. None:
        `RpropMLPClassifier()`.
    n_estimators : int, default=10
        Number of members, >= 1. Choice: scikit-learn's default; the textbook asks for at least 50.
    vote : {"mean", "majority"}, default="mean"
        Average the outputs, or count the predicted classes; with equal counts the first class wins.
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

    def _combine(self, outputs: list[Floats]) -> Floats:
        if self.vote == "majority":
            outputs = [np.eye(output.shape[1])[output.argmax(axis=1)] for output in outputs]
        return np.mean(outputs, axis=0)


@dataclass(eq=False, repr=False)
class AdaBoostClassifier(_Ensemble):
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

    def _learn(self, split: Split, rng: np.random.Generator) -> None:
        n_samples, n_classes = len(split.X), len(self.classes_)
        weights = np.full(n_samples, 1.0 / n_samples)
        self.estimators_, alphas = [], list[float]()
        while len(alphas) < self.n_estimators:
            member = self._fit_next(split, weights, rng)
            wrong = member.predict(split.X) != split.y
            error = float(weights[wrong].sum())
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
            if not wrong.any():
                break
            weights = weights * np.exp(alphas[-1] * wrong)
            weights = weights / weights.sum()
            # End when a sample has more than half of the weight. With two classes, a single misclassified sample has
            # exactly half of the weight; 1e-9 allows for rounding.
            if weights.max() > 0.5 + 1e-9:
                break
        self.estimator_weights_ = np.array(alphas)

    def _fit_next(self, split: Split, weights: Floats, rng: np.random.Generator) -> Any:
        """Train a member with sample weights, or on a sample drawn by these weights."""
        if self.estimator is not None and has_fit_parameter(self.estimator, "sample_weight"):
            (member,) = self._make_members(1, rng)
            return member.fit(split.X, split.y, sample_weight=weights, classes=self.classes_)
        rows = rng.choice(len(split.X), size=(1, len(split.X)), p=weights)
        return self._fit_members(split, rows, rng)[0]

    def _combine(self, outputs: list[Floats]) -> Floats:
        support = np.zeros_like(outputs[0])
        for weight, output in zip(self.estimator_weights_, outputs, strict=True):
            support[np.arange(len(support)), output.argmax(axis=1)] += weight
        return support
