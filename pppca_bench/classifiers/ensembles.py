"""Owns the ensembles of networks, `BaggingClassifier` and `AdaBoostClassifier`."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from pppca_bench.classifiers import RpropMLPClassifier, fit_together
from pppca_bench.classifiers.mlp import Labels, Split, hold_out, validated_split
from pppca_bench.compiled.arrays import Flags, Floats, Indices
from pppca_bench.parameters import Count, OpenShare, check_parameters, make_generator


class _Ensemble(ClassifierMixin, BaseEstimator):
    """Train networks on samples of the training data; a subclass draws these and combines the networks."""

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: Count = 10,
        *,
        validation_fraction: OpenShare = 1 / 3,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        X_val: ArrayLike | None = None,
        y_val: ArrayLike | None = None,
        *,
        classes: ArrayLike | None = None,
    ) -> Self:
        """Train every network on samples of (X, y); each stops by (X_val, y_val).

        Parameters
        ----------
        X, X_val : array-like of shape (n_samples, n_features)
            Finite numbers. Without X_val a share of X is held out, the same for all networks.
        y, y_val : array-like of shape (n_samples,)
            Class labels.
        classes : array-like, optional
            All classes of the problem; else those of y and y_val.

        Raises
        ------
        ValueError
            If a parameter is out of its range, the data are unfit, or the training is no longer finite.
        """
        check_parameters(self)
        split = validated_split(self, X, y, X_val, y_val, classes)
        rng = make_generator(self.random_state)
        if not len(split.X_val):
            split = hold_out(split, self.validation_fraction, rng)
        self._train(split, rng)
        self.n_epochs_ = sum(net.n_epochs_ for net in self.estimators_)
        self.best_epoch_ = sum(net.best_epoch_ for net in self.estimators_)
        return self

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return the support of each class, (n_samples, n_classes); for two the second less the first, (n_samples,)."""
        support = self._support(X)
        return support[:, 1] - support[:, 0] if support.shape[1] == 2 else support

    def predict(self, X: ArrayLike) -> Labels:
        """Return the class with the largest support for each sample."""
        winners = self._support(X).argmax(axis=1)
        return self.classes_[winners]

    @abstractmethod
    def _train(self, split: Split, rng: np.random.Generator) -> None:
        """Train the networks and set ``estimators_``."""

    @abstractmethod
    def _combine(self, outputs: list[Floats]) -> Floats:
        """Combine the networks' outputs into the support of each class, (n_samples, n_classes)."""

    def _support(self, X: ArrayLike) -> Floats:
        """Validate X and return the support of each class."""
        check_is_fitted(self)
        inputs = validate_data(self, X, dtype=np.float64, reset=False)
        return self._combine([net._outputs(inputs) for net in self.estimators_])

    def _fit_networks(self, split: Split, samples: Indices, rng: np.random.Generator) -> list[Any]:
        """Train a network on each row of sample numbers."""
        base = RpropMLPClassifier() if self.estimator is None else self.estimator
        seeds = rng.integers(2**31, size=len(samples))
        networks = [clone(base).set_params(random_state=int(seed)) for seed in seeds]
        data = [(split.X[rows], split.y[rows], split.X_val, split.y_val) for rows in samples]
        return fit_together(networks, data, classes=self.classes_)


class BaggingClassifier(_Ensemble):
    """Average networks that are trained on bootstrap samples of the training data (Breiman 1996).

    Choice: the outputs are averaged, as scikit-learn averages probabilities, since votes of few networks often tie.
    scikit-learn's own ensemble is not used because it hands no validation data to its members.

    Parameters
    ----------
    estimator : RpropMLPClassifier, BackpropMLPClassifier or None, default=None
        The network that is cloned for each sample; its ``random_state`` is not used. None is `RpropMLPClassifier()`.
    n_estimators : int, default=10
        Number of networks, >= 1. Choice: scikit-learn's default.
    validation_fraction : float, default=1/3
        Share of the training data held out, stratified, where `fit` gets no validation data; in (0, 1).
    random_state : int, RandomState, Generator or None, default=None
        Source of the bootstrap samples, the networks' seeds and the held-out share.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    estimators_ : list of the fitted networks
    n_epochs_, best_epoch_ : int
        Sums over the networks.
    """

    def _train(self, split: Split, rng: np.random.Generator) -> None:
        """Train all networks side by side."""
        n_samples = len(split.X)
        samples = rng.integers(n_samples, size=(self.n_estimators, n_samples))
        self.estimators_ = self._fit_networks(split, samples, rng)

    def _combine(self, outputs: list[Floats]) -> Floats:
        """Average the outputs."""
        return np.mean(outputs, axis=0)


class AdaBoostClassifier(_Ensemble):
    """Let networks vote, each trained on a sample that favours what its predecessors got wrong.

    AdaBoost (Freund & Schapire 1996), for more than two classes SAMME (Zhu, Zou, Rosset & Hastie 2009): with the
    weighted training error ε of a network and K classes its vote counts α = log((1 − ε) / ε) + log(K − 1), and the
    weights of the samples that it misclassifies are multiplied by exp(α).

    Choice: samples are drawn with probabilities equal to their weights, since the networks take no weights; the
    variant is Freund and Schapire's own. A network no better than chance, ε ≥ 1 − 1 / K, ends the
    boosting and is dropped, unless it is the first; one without errors ends it too and votes with the ε of half a
    sample, since α would be infinite.

    Parameters
    ----------
    estimator : RpropMLPClassifier, BackpropMLPClassifier or None, default=None
        The network that is cloned in each round; its ``random_state`` is not used. None is `RpropMLPClassifier()`.
    n_estimators : int, default=10
        Largest number of networks, >= 1. Choice: as for bagging.
    validation_fraction : float, default=1/3
        Share of the training data held out, stratified, where `fit` gets no validation data; in (0, 1).
    random_state : int, RandomState, Generator or None, default=None
        Source of the samples, the networks' seeds and the held-out share.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    estimators_ : list of the fitted networks
    estimator_weights_ : float64 ndarray of shape (n_networks,)
        α of each.
    n_epochs_, best_epoch_ : int
        Sums over the networks.
    """

    def _train(self, split: Split, rng: np.random.Generator) -> None:
        """Train one network after the other."""
        n_samples, n_classes = len(split.X), len(self.classes_)
        weights = np.full(n_samples, 1.0 / n_samples)
        self.estimators_, votes = [], list[float]()
        while len(votes) < self.n_estimators:
            rows = rng.choice(n_samples, size=(1, n_samples), p=weights)
            network = self._fit_networks(split, rows, rng)[0]
            wrong = network.predict(split.X) != split.y
            error = float(weights[wrong].sum())
            no_better_than_chance = error >= 1.0 - 1.0 / n_classes
            if no_better_than_chance and votes:
                break
            self.estimators_.append(network)
            votes.append(1.0 if no_better_than_chance else vote(max(error, 0.5 / n_samples), n_classes))
            if no_better_than_chance or not wrong.any():
                break
            weights = reweighted(weights, wrong, votes[-1])
        self.estimator_weights_ = np.array(votes)

    def _combine(self, outputs: list[Floats]) -> Floats:
        """Add up the votes."""
        support = np.zeros_like(outputs[0])
        for weight, output in zip(self.estimator_weights_, outputs, strict=True):
            support[np.arange(len(support)), output.argmax(axis=1)] += weight
        return support


def vote(error: float, n_classes: int) -> float:
    """Return what a network's vote counts, α = log((1 - ε) / ε) + log(K - 1) (Zhu et al. 2009).

    Parameters
    ----------
    error : float
        Weighted training error ε, in (0, 1 - 1 / K).
    n_classes : int
        K, >= 2.
    """
    return float(np.log((1.0 - error) / error) + np.log(n_classes - 1.0))


def reweighted(weights: Floats, wrong: Flags, vote: float) -> Floats:
    """Return the samples' weights, float64 (n_samples,), with those of misclassified samples raised; their sum is 1."""
    raised = weights * np.exp(vote * wrong)
    return raised / raised.sum()
