"""What GHA and DGHA share: training moments, the rows that learn, their schedule and their history."""

import time
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from pppca_bench.compiled.arrays import Flags, Floats, Indices
from pppca_bench.engines.gha_epochs import (
    FAST,
    IN_PLACE,
    LITERAL,
    History,
    Rule,
    Samples,
    Schedule,
    learn_epochs,
    make_room,
)
from pppca_bench.engines.initial_rows import draw_directions, principal_directions
from pppca_bench.engines.optimality import most_variance, optimality, variance_of_span
from pppca_bench.engines.removal import Limits
from pppca_bench.parameters import ParameterError, check_parameters, make_generator
from pppca_bench.samples import validated_samples

# Rows tend to unit norm; one this long never comes back, and its variances would overflow.
_DIVERGED_WEIGHT = 1e8
_SHARE_OF_TRACE, _SHARE_OF_LARGEST = 0.3, 1.5
_USUAL_DECAY_EPOCHS = 100.0
_SAMPLES_PER_BATCH = 4096
_ORDERED_SAMPLES_PER_BLOCK = 4_000_000
_UPDATES = {"fast": FAST, "literal": LITERAL, "in_place": IN_PLACE}


class HebbianTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Train rows of a linear network sample by sample; subclasses say what happens before an epoch."""

    n_components: int | None
    learning_rate: float | None
    learning_rate_per: str
    n_epochs: int
    decay_epochs: float | None
    decay_samples: float | None
    rows_per_epoch: float | None
    track_optimality: bool
    initial_rows: str
    initial_samples: int | None
    initial_norm: float
    sort_initial: bool
    centre: bool
    shuffle: bool
    kernel: str
    random_state: Any

    def fit(self, X: ArrayLike, y: None = None) -> Self:  # noqa: ARG002 - scikit-learn's contract
        """Learn from X for `n_epochs` epochs.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features), n_samples >= 2
            Training samples. C-contiguous float64 is read where it lies, a numpy.memmap too.
        y : None
            Ignored.

        Returns
        -------
        Self
            This estimator.

        Raises
        ------
        ValueError
            When a parameter or X is out of its range, or when the rows diverge.
        TypeError
            When a parameter is of the wrong type.
        """
        check_parameters(self)
        X = self._validated(X, reset=True)
        self._reset()
        self._update_moments(X)
        self._draw_rows(X)
        self._learn_epochs(X, self.n_epochs)
        self._publish()
        return self

    def partial_fit(self, X: ArrayLike, y: None = None) -> Self:  # noqa: ARG002 - scikit-learn's contract
        """Learn from one chunk of samples, in one pass that counts as an epoch.

        The mean and C are those of all chunks so far: the first ones are centred less exactly.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features), n_samples >= 2
            A chunk of the training samples.
        y : None
            Ignored.

        Returns
        -------
        Self
            This estimator.

        Raises
        ------
        ValueError
            When a parameter or X is out of its range, or when the rows diverge.
        TypeError
            When a parameter is of the wrong type.
        """
        first = not hasattr(self, "components_")
        check_parameters(self)
        X = self._validated(X, reset=first)
        if first:
            self._reset()
        self._update_moments(X)
        if first:
            self._draw_rows(X)
        self._learn_epochs(X, 1)
        self._publish()
        return self

    def check_agreement(self) -> None:
        """Check that one decay at most is given.

        Raises
        ------
        ParameterError
            Both are.
        """
        if self.decay_epochs is not None and self.decay_samples is not None:
            raise ParameterError("decay_samples", "null where decay_epochs is given", self.decay_samples)

    def transform(self, X: ArrayLike) -> Floats:
        """Project samples on the rows.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
            Samples; the training mean is subtracted.

        Returns
        -------
        float64 array, shape (n_samples, n_components_)
            Outputs y = W (x − mean).
        """
        check_is_fitted(self)
        samples = validated_samples(self, X)
        return (samples - self.mean_) @ self.components_.T

    def inverse_transform(self, X: ArrayLike) -> Floats:
        """Return the points of the rows' span that have these projections.

        Choice: by the pseudo-inverse, hence the orthogonal projection of a sample on the span, whatever the
        rows' norms and angles; `X @ components_` equals it once the rows are orthonormal.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_components_)
            Projections, as `transform` returns them.

        Returns
        -------
        float64 array, shape (n_samples, n_features)
            Samples in the input space, with the training mean.
        """
        check_is_fitted(self)
        return np.asarray(X, dtype=np.float64) @ np.linalg.pinv(self.components_).T + self.mean_

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def _n_drawn(self, n_samples: int) -> int:
        """Count the samples that an epoch takes."""
        return n_samples

    def _validated(self, X: ArrayLike, reset: bool) -> Floats:
        samples = validated_samples(self, X, reset=reset, min_samples=2)
        if self.n_components is not None and self.n_components > samples.shape[1]:
            raise ValueError(
                f"n_components in {type(self).__name__}: expected at most n_features = {samples.shape[1]}, "
                f"got {self.n_components}. Give fewer, or None for all."
            )
        # A plain read-only view: one compiled version of each kernel serves arrays and memory maps alike.
        view = np.asarray(samples).view()
        view.flags.writeable = False
        return view

    def _reset(self) -> None:
        self._rng = make_generator(self.random_state)
        self.n_epochs_ = 0
        self._n_learnt = 0
        self.n_operations_ = 0
        self.learning_time_ms_ = 0.0
        self.n_samples_seen_ = 0
        self.mean_ = np.zeros(self.n_features_in_)
        self._C = np.zeros((self.n_features_in_, self.n_features_in_))
        self._largest_squared_norm = 0.0
        self._dimensionality: list[int] = []
        self._optimality: list[float] = []
        self._variances: list[Floats] = []
        self._along_directions: list[Floats] = []

    def _update_moments(self, X: Floats) -> None:
        """Merge the samples into the mean and C, batch by batch (Chan, Golub and LeVeque 1983)."""
        for rows in gen_batches(len(X), _SAMPLES_PER_BATCH):
            batch = X[rows]
            share = len(batch) / (self.n_samples_seen_ + len(batch))
            mean = batch.mean(axis=0) if self.centre else self.mean_
            deviations = batch - mean
            shift = mean - self.mean_
            self._C += share * (deviations.T @ deviations / len(batch) - self._C)
            self._C += share * (1.0 - share) * np.outer(shift, shift)
            self.mean_ = self.mean_ + share * shift
            self.n_samples_seen_ += len(batch)
        if self.learning_rate is None:
            self._largest_squared_norm = max(self._largest_squared_norm, self._measure_largest(X))
        if self.track_optimality:
            self._most = most_variance(self._C)

    def _measure_largest(self, X: Floats) -> float:
        """Return the largest ‖x − mean‖² among the samples."""
        return max(
            float(np.square(X[rows] - self.mean_).sum(axis=1).max()) for rows in gen_batches(len(X), _SAMPLES_PER_BATCH)
        )

    def _draw_rows(self, X: Floats) -> None:
        self._n_initial_rows = self.n_components or self.n_features_in_
        self._rows = self.initial_norm * self._directions(X)
        self.nodes_ = np.arange(self._n_initial_rows)
        if self.sort_initial:
            self._rows = self._rows[np.argsort(-self._row_variances(X), kind="stable")]

    def _directions(self, X: Floats) -> Floats:
        if self.initial_samples is None:
            return draw_directions(self._rng, self._n_initial_rows, self.n_features_in_, kind=self.initial_rows)
        block = X[np.sort(self._rng.permutation(len(X))[: self.initial_samples])]
        return principal_directions(self._rng, block, self._n_initial_rows, centre=self.centre)

    def _learn_epochs(self, X: Floats, n_epochs: int) -> None:
        """Make epochs over X, in blocks whose orders of samples fit into memory."""
        alone = self._limits_move or self.track_optimality
        block = 1 if alone else max(1, _ORDERED_SAMPLES_PER_BLOCK // len(X))
        while n_epochs > 0:
            self._learn_block(X, min(block, n_epochs))
            n_epochs -= block

    def _learn_block(self, X: Floats, n_epochs: int) -> None:
        if self.track_optimality:
            self._optimality.append(self._optimality_now())
        schedule = self._schedule(len(X), n_epochs)
        n_made, n_operations, time_ms = self._make_epochs(X, schedule)
        self.learning_time_ms_ += time_ms
        self.n_epochs_ += n_made
        self._n_learnt += n_made * schedule.orders.shape[1]
        self.n_operations_ += n_operations
        self._dimensionality.extend(self._recorded.dimensionality[:-1])
        self._variances.extend(self._recorded.variances[:-1])
        self._along_directions.extend(self._recorded.along_directions[:-1])
        self._check_finite(X)

    def _make_epochs(self, X: Floats, schedule: Schedule) -> tuple[int, int, float]:
        """Change the rows, and record them before each epoch and at the end; return epochs, operations and time."""
        n_records, n_rows = len(schedule.orders) + 1, self._n_initial_rows
        empty = np.full((2, n_records, n_rows), np.nan)
        self._recorded = History(np.zeros(n_records, np.int64), empty[0], empty[1])
        given = self._samples(X), schedule, self._rule(), self._recorded
        room = make_room(len(self._rows), self.n_features_in_)
        start = time.perf_counter()
        n_left, n_made, n_operations = learn_epochs(self._rows, self.nodes_, *given, room)
        time_ms = 1e3 * (time.perf_counter() - start)
        self._rows, self.nodes_ = self._rows[:n_left], self.nodes_[:n_left]
        return n_made, n_operations, time_ms

    def _samples(self, X: Floats) -> Samples:
        """Give the samples and C, or where they are few a factor of it, by which variances cost less."""
        if len(X) < X.shape[1] and len(X) == self.n_samples_seen_:
            return Samples(X, self.mean_[np.newaxis], np.ascontiguousarray((X - self.mean_).T / np.sqrt(len(X))))
        return Samples(X, self.mean_[np.newaxis], self._C)

    def _schedule(self, n_samples: int, n_epochs: int) -> Schedule:
        epochs = np.arange(self.n_epochs_, self.n_epochs_ + n_epochs)
        rates, decays = self._rates(epochs, n_samples)
        return Schedule(self._orders(n_samples, n_epochs), rates, decays, self._joined(epochs), self._checked(epochs))

    def _rule(self) -> Rule:
        """Return what the next epochs have in common; plain GHA's rows are never checked."""
        everything = Limits(np.inf, 1, self._n_initial_rows, 0.0)
        return Rule(everything, False, False, _UPDATES[self.kernel], _DIVERGED_WEIGHT)

    @property
    def _limits_move(self) -> bool:
        """Whether the number of rows that a check keeps has to be worked out before each epoch."""
        return False

    def _rates(self, epochs: Indices, n_samples: int) -> tuple[Floats, Floats]:
        """Give η of each epoch's first sample, and how it falls: sample s learns at η / (1 + decay s)."""
        rates: Floats = np.full(len(epochs), self._first_rate(n_samples))
        decay_epochs = self.decay_epochs
        if self.learning_rate is None and self.decay_samples is None:
            decay_epochs = decay_epochs or _USUAL_DECAY_EPOCHS
        if decay_epochs is not None:
            rates *= decay_epochs / (epochs + decay_epochs)
        if self.decay_samples is None:
            return rates, np.zeros(len(epochs))
        learnt = self._n_learnt + self._n_drawn(n_samples) * (epochs - self.n_epochs_)
        left = np.asarray(self.decay_samples + learnt, dtype=np.float64)
        return rates * (self.decay_samples / left), 1.0 / left

    def _first_rate(self, n_samples: int) -> float:
        """Return η at the start: as given, or by the scale of the inputs; that of inputs without any does nothing."""
        if self.learning_rate is not None:
            return self.learning_rate / self._rate_divisor(n_samples)
        trace, largest = float(np.trace(self._C)), self._largest_squared_norm
        return min(_SHARE_OF_TRACE / trace, _SHARE_OF_LARGEST / largest) if trace > 0.0 and largest > 0.0 else 1.0

    def _rate_divisor(self, n_samples: int) -> int:
        return self._n_drawn(n_samples) if self.learning_rate_per == "epoch" else 1

    def _joined(self, epochs: Indices) -> Indices:
        """Count the rows of the schedule that learn in each epoch, without regard to removals."""
        if self.rows_per_epoch is None:
            return np.full(len(epochs), self._n_initial_rows)
        return np.minimum(self._n_initial_rows, (self.rows_per_epoch * epochs).astype(np.int64) + 1)

    def _checked(self, epochs: Indices) -> Flags:
        """Tell before which epochs rows are removed; plain GHA removes none."""
        return np.zeros(len(epochs), bool)

    def _orders(self, n_samples: int, n_epochs: int) -> Indices:
        """Draw the samples of each epoch, in the order in which it takes them; (n_epochs, samples drawn)."""
        n_drawn = self._n_drawn(n_samples)
        orders = np.tile(np.arange(n_samples, dtype=np.int64), (n_epochs, 1))
        if self.shuffle or n_drawn < n_samples:
            # The numbers of a call of `permutation` for each epoch, in half the time.
            self._rng.permuted(orders, axis=1, out=orders)
        drawn = orders[:, :n_drawn]
        return np.ascontiguousarray(drawn if self.shuffle else np.sort(drawn, axis=1))

    def _check_finite(self, X: Floats) -> None:
        largest = float(np.abs(self._rows).max())
        if largest <= _DIVERGED_WEIGHT:
            return
        squared_norm = self._measure_largest(X)
        given = "that was chosen" if self.learning_rate is None else self.learning_rate
        raise ValueError(
            f"{type(self).__name__} diverged in epoch {self.n_epochs_}: learning_rate {given} "
            f"is too large for samples of squared norm up to {squared_norm:.3g}; expected weights up to "
            f"{_DIVERGED_WEIGHT:g}, got {largest:g}. Try a rate below "
            f"{self._rate_divisor(len(X)) / squared_norm:.2g} per {self.learning_rate_per}, "
            "or smaller initial rows."
        )

    def _row_variances(self, X: Floats) -> Floats:
        """Return w C wᵀ of each row: its cost does not depend on the number of samples."""
        self._make_epochs(X, self._schedule(len(X), 0))
        return self._recorded.variances[0, self.nodes_]

    def _per_direction(self, variances: Floats) -> Floats:
        """Divide variances by the rows' squared norms; a row of zeros has none."""
        squared_norms = np.einsum("ji,ji->j", self._rows, self._rows)
        return np.divide(variances, squared_norms, out=np.zeros_like(variances), where=squared_norms > 0.0)

    def _optimality_now(self) -> float:
        """Return how near the rows' span comes to exact PCA of the samples seen so far."""
        spanned = np.array([variance_of_span(self._rows, self._C)])
        return float(optimality(spanned, np.array([len(self._rows)]), self._most)[0])

    def _publish(self) -> None:
        """Set the learned attributes; the record of the end stays out of the running lists."""
        at_end = self._recorded.variances[-1]
        self.components_ = self._rows.copy()
        self.n_components_ = len(self._rows)
        self.explained_variance_ = self._per_direction(at_end[self.nodes_])
        total = float(np.trace(self._C))
        self.explained_variance_ratio_ = self.explained_variance_ / (total if total > 0.0 else 1.0)
        self.history_ = {
            "dimensionality": np.array([*self._dimensionality, self.n_components_]),
            "variances": np.array([*self._variances, at_end]),
            "direction_variances": np.array([*self._along_directions, self._recorded.along_directions[-1]]),
        }
        if self.track_optimality:
            self.history_["optimality"] = np.array([*self._optimality, self._optimality_now()])
