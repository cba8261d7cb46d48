"""Base of ensembles: members on samples of the training data, and their votes."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, has_fit_parameter

from pppca_bench.base.parameters import check_parameters
from pppca_bench.base.samples import validated_samples
from pppca_bench.classifiers import RpropMLPClassifier
from pppca_bench.classifiers.mlp import MLP, LargestOutputMixin, fit_each
from pppca_bench.classifiers.training_data import Split, SplitEstimator, one_hot, uses_validation
from pppca_bench.compiled.arrays import Floats, Indices


class Ensemble(SplitEstimator):
    """Base of ensembles of estimators that are trained on samples of the training data."""

    _network: ClassVar[type[MLP]] = RpropMLPClassifier
    """Class of the members by default."""

    estimator: Any
    estimators_: list[Any]

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        X_val: ArrayLike | None = None,
        y_val: ArrayLike | None = None,
        *,
        classes: ArrayLike | None = None,
        **given: ArrayLike,
    ) -> Self:
        """Learn from (X, y), with validation data for the members whose `fit` takes them.

        Parameters
        ----------
        X, y, X_val, y_val, classes
            As in `SplitEstimator.fit`; a third of X is held out only if the members learn from validation data.
        **given
            ``sample_weight``, array-like of shape (n_samples,), >= 0: the first weights of boosting; other members get
            the weights of their samples.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError, TypeError
            As `SplitEstimator.fit`; or sample weights are given, and members take none, or learn from validation data
            and there are none; or an argument has another name.
        """
        check_parameters(self)
        weights = self._checked_weights(X, X_val, **given)
        split, rng = self._prepare((X, y, X_val, y_val), classes)
        self._learn(split, rng, weights)
        return self

    def _checked_weights(
        self, X: ArrayLike, X_val: ArrayLike | None, sample_weight: ArrayLike | None = None
    ) -> Floats | None:
        """Return the weights of the samples, or None."""
        if sample_weight is None:
            return None
        if X_val is None and self._uses_validation:
            raise ValueError(
                f"sample_weight of {self}: expected X_val and y_val beside it, since the members learn from validation"
                " data, got none"
            )
        weights: Floats = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        return weights

    @abstractmethod
    def _learn(self, split: Split, rng: np.random.Generator, weights: Floats | None = None) -> None:
        """Train the members, with weights of the samples."""

    @property
    def _base(self) -> Any:
        """The unfitted estimator that members are clones of."""
        return self._network() if self.estimator is None else self.estimator

    @property
    def _uses_validation(self) -> bool:
        return uses_validation(self._base)

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
        base = self._base
        seeds = rng.integers(2**31, size=n_members)
        # Third-party classes without scikit-learn's `get_params` are copied.
        members = [clone(base, safe=False) for _ in seeds]
        if hasattr(base, "get_params") and "random_state" in base.get_params(deep=False):
            for member, seed in zip(members, seeds, strict=True):
                member.set_params(random_state=int(seed))
        return members

    def _fit_members(
        self,
        split: Split,
        samples: Sequence[Indices] | Indices,
        rng: np.random.Generator,
        weights: Floats | None = None,
    ) -> list[Any]:
        """Train a member on each sequence of sample indices, with the weights of its samples."""
        parts = [split._replace(X=split.X[rows], y=split.y[rows]) for rows in samples]
        members = self._make_members(len(parts), rng)
        classes = getattr(self, "classes_", None)
        if weights is None:
            return fit_each(members, parts, classes=classes)
        if not has_fit_parameter(members[0], "sample_weight"):
            raise ValueError(
                f"sample_weight of {self}: expected members whose fit takes it, got {type(members[0]).__name__}"
            )
        for member, part, rows in zip(members, parts, samples, strict=True):
            fit_each([member], [part], classes=classes, sample_weight=weights[rows])
        return members

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
        inputs = validated_samples(self, X)
        return self._combine([self._outputs_of(member, inputs) for member in self.estimators_])

    def _outputs_of(self, member: Any, X: Floats) -> Floats:
        """Return the outputs of a member for validated samples."""
        if isinstance(member, MLP | Ensemble):
            return member._outputs(X)
        return self._predicted(member, X)

    def _predicted(self, member: Any, X: Floats) -> Floats:
        """Return 1 for the class that a member predicts, 0 for the others; raise ValueError for another label."""
        labels = np.ravel(member.predict(X))
        if (unknown := np.setdiff1d(labels, self.classes_)).size:
            raise ValueError(
                f"predict of {type(member).__name__}: expected members of classes, got {unknown.tolist()[0]!r}"
            )
        return one_hot(labels, self.classes_)
