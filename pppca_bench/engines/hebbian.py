"""Base of GHA and DGHA: moments of the training samples, rows, schedule and history."""

import time
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import gen_batches

from pppca_bench.compiled.arrays import Flags, Floats, Indices
from pppca_bench.compiled.linear_algebra import orthonormal, second_moments
from pppca_bench.engines.gha_epochs import (
    DIVERGED_WEIGHT,
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
from pppca_bench.engines.removal import Limits
from pppca_bench.parameters import ParameterError, check_parameters, make_generator
from pppca_bench.projection import LinearProjection, most_variance, optimality, principal_directions, variance_of_span
from pppca_bench.samples import validated_samples

_SHARE_OF_TRACE, _SHARE_OF_LARGEST = 0.3, 1.5
_USUAL_DECAY_EPOCHS = 100.0
_SAMPLES_PER_BATCH = 4096
_ORDERED_SAMPLES_PER_BLOCK = 4_000_000
_UPDATES = {"fast": FAST, "literal": LITERAL, "in_place": IN_PLACE}


class HebbianTransformer(LinearProjection):
    """Linear network whose rows learn sample by sample; subclasses define which rows learn and which are removed."""

    # Choice: rows that have not settled may nearly depend on each other, which would add rounding errors alone.
    _relative_cut = 1e-6

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
            Training samples. C-contiguous float64 arrays, also a numpy.memmap, are not copied.
        y : None
            Ignored.

        Returns
        -------
        Self
            The fitted estimator.

        Raises
        ------
        ValueError
            When a parameter or X is out of its range, or when the rows diverge.
        TypeError
            When a parameter is of the wrong type.
        """
        return self._fit(X, self.n_epochs, first=True)

    def partial_fit(self, X: ArrayLike, y: None = None) -> Self:  # noqa: ARG002 - scikit-learn's contract
        """Learn from one chunk of samples, in one pass that counts as an epoch; raises as `fit` does.

        The mean and C are those of all chunks so far: the first chunks are centred less exactly.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features), n_samples >= 2
            Training samples.
        y : None
            Ignored.

        Returns
        -------
        Self
            The fitted estimator.
        """
        return self._fit(X, 1, first=not hasattr(self, "components_"))

    def check_agreement(self) -> None:
        """Raise ParameterError if both decays are given."""
        if self.decay_epochs is not None and self.decay_samples is not None:
            raise ParameterError("decay_samples", "null where decay_epochs is given", self.decay_samples)

    def _fit(self, X: ArrayLike, n_epochs: int, *, first: bool) -> Self:
        check_parameters(self)
        samples = np.asarray(validated_samples(self, X, reset=first, min_samples=2)).view()
        # A read-only view as a plain array: memory maps have a type of their own, which kernels refuse.
        samples.flags.writeable = False
        if first:
            self._reset()
        self._update_moments(samples)
        if first:
            self._draw_rows(samples)
        self._learn_epochs(samples, n_epochs)
        self._set_fitted()
        return self

    def _n_drawn(self, n_samples: int) -> int:
        """Return the number of samples of an epoch."""
        return n_samples

    def _reset(self) -> None:
        self._n_initial_rows = self._n_rows_at_start(self.n_features_in_)
        self._rng = make_generator(self.random_state)
        self.n_epochs_ = 0
        self._n_learnt = 0
        self.n_operations_ = 0
        self.learning_time_ms_ = 0.0
        self.n_samples_seen_ = 0
        self.mean_ = np.zeros(self.n_features_in_)
        self._C = np.zeros((self.n_features_in_, self.n_features_in_))
        self._largest_squared_norm = 0.0
        self._optimality: list[float] = []
        self._records: tuple[list[Any], ...] = [], [], []

    def _update_moments(self, X: Floats) -> None:
        """Merge the samples into the mean and C, batch by batch (Chan, Golub and LeVeque 1983)."""
        for rows in gen_batches(len(X), _SAMPLES_PER_BATCH):
            batch = X[rows]
            # share p = n_b / (n + n_b), shift d = mean_b − mean: C ← C + p (C_b − C) + p (1 − p) d dᵀ
            share = len(batch) / (self.n_samples_seen_ + len(batch))
            mean = batch.mean(axis=0) if self.centre else self.mean_
            shift = mean - self.mean_
            self._C += share * (second_moments(batch, mean) - self._C)
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
        self._rows = self.initial_norm * self._directions(X)
        self.nodes_ = np.arange(self._n_initial_rows)
        if self.sort_initial:
            # Of no epochs, so that w C wᵀ of each row is all that is computed.
            history, *_ = self._make_epochs(X, self._schedule(len(X), 0))
            self._rows = self._rows[np.argsort(-history.variances[0, self.nodes_], kind="stable")]

    def _directions(self, X: Floats) -> Floats:
        """Return the first rows, of unit norm."""
        shape = self._n_initial_rows, self.n_features_in_
        if self.initial_samples is not None:
            return principal_directions(self._rng, X, self.initial_samples, shape[0], centre=self.centre)
        rows = self._rng.standard_normal(shape)
        if self.initial_rows == "orthonormal":
            return orthonormal(rows)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def _learn_epochs(self, X: Floats, n_epochs: int) -> None:
        """Make epochs over X, in blocks whose orders of samples fit into memory."""
        alone = self._limits_move or self.track_optimality
        block = 1 if alone else max(1, _ORDERED_SAMPLES_PER_BLOCK // len(X))
        for first in range(0, n_epochs, block):
            if self.track_optimality:
                self._optimality.append(self._optimality_now())
            schedule = self._schedule(len(X), min(block, n_epochs - first))
            self._at_end, n_made, n_operations, time_ms = self._make_epochs(X, schedule)
            self.learning_time_ms_ += time_ms
            self.n_epochs_ += n_made
            self._n_learnt += n_made * schedule.orders.shape[1]
            self.n_operations_ += n_operations
            for records, values in zip(self._records, self._at_end, strict=True):
                records.extend(values[:-1])
            self._check_finite(X)

    def _make_epochs(self, X: Floats, schedule: Schedule) -> tuple[History, int, int, float]:
        """Change the rows; return their history and the epochs, operations and milliseconds that it took."""
        n_records = len(schedule.orders) + 1
        empty = np.full((2, n_records, self._n_initial_rows), np.nan)
        history = History(np.zeros(n_records, np.int64), empty[0], empty[1])
        C = self._C
        if len(X) < X.shape[1] and len(X) == self.n_samples_seen_:
            # Few samples: C = F Fᵀ, and variances cost less by F.
            C = np.ascontiguousarray((X - self.mean_).T / np.sqrt(len(X)))
        given = Samples(X, self.mean_[np.newaxis], C), schedule, self._rule(), history
        room = make_room(len(self._rows), self.n_features_in_)
        start = time.perf_counter()
        n_left, n_made, n_operations = learn_epochs(self._rows, self.nodes_, *given, room)
        time_ms = 1e3 * (time.perf_counter() - start)
        self._rows, self.nodes_ = self._rows[:n_left], self.nodes_[:n_left]
        return history, n_made, n_operations, time_ms

    def _schedule(self, n_samples: int, n_epochs: int) -> Schedule:
        epochs = np.arange(self.n_epochs_, self.n_epochs_ + n_epochs)
        rates, decays = self._rates(epochs, n_samples)
        return Schedule(self._orders(n_samples, n_epochs), rates, decays, self._joined(epochs), self._checked(epochs))

    def _rule(self) -> Rule:
        """Return the rule of the next epochs; GHA removes no rows."""
        return Rule(Limits(np.inf, 1, self._n_initial_rows, 0.0), False, False, _UPDATES[self.kernel])

    @property
    def _limits_move(self) -> bool:
        """Whether the limits of removal change from epoch to epoch."""
        return False

    def _rates(self, epochs: Indices, n_samples: int) -> tuple[Floats, Floats]:
        """Return η of each epoch's first sample, and its decay: sample s learns at η / (1 + decay s)."""
        decay_epochs = self.decay_epochs
        if self.learning_rate is not None:
            rate = self.learning_rate / self._rate_divisor(n_samples)
        else:
            # Samples without variance learn nothing at any rate.
            trace, largest = float(np.trace(self._C)), self._largest_squared_norm
            varies = trace > 0.0 and largest > 0.0
            rate = min(_SHARE_OF_TRACE / trace, _SHARE_OF_LARGEST / largest) if varies else 1.0
            if self.decay_samples is None:
                decay_epochs = decay_epochs or _USUAL_DECAY_EPOCHS
        # η c / (n + c) of epoch n, or of the n-th sample learnt
        rates: Floats = np.full(len(epochs), rate)
        if decay_epochs is not None:
            rates *= decay_epochs / (epochs + decay_epochs)
        if self.decay_samples is None:
            return rates, np.zeros(len(epochs))
        learnt = self._n_learnt + self._n_drawn(n_samples) * (epochs - self.n_epochs_)
        left = np.asarray(self.decay_samples + learnt, dtype=np.float64)
        return rates * (self.decay_samples / left), 1.0 / left

    def _rate_divisor(self, n_samples: int) -> int:
        return self._n_drawn(n_samples) if self.learning_rate_per == "epoch" else 1

    def _joined(self, epochs: Indices) -> Indices:
        """Return the number of rows that have joined in each epoch, whether or not they were removed."""
        if self.rows_per_epoch is None:
            return np.full(len(epochs), self._n_initial_rows)
        return np.minimum(self._n_initial_rows, (self.rows_per_epoch * epochs).astype(np.int64) + 1)

    def _checked(self, epochs: Indices) -> Flags:
        """Return before which epochs rows are removed; GHA removes none."""
        return np.zeros(len(epochs), bool)

    def _orders(self, n_samples: int, n_epochs: int) -> Indices:
        """Draw the samples of each epoch, in the order of learning, shape (n_epochs, samples drawn)."""
        n_drawn = self._n_drawn(n_samples)
        orders = np.tile(np.arange(n_samples, dtype=np.int64), (n_epochs, 1))
        if self.shuffle or n_drawn < n_samples:
            # The same numbers as by `permutation` for each epoch, in half the time.
            self._rng.permuted(orders, axis=1, out=orders)
        drawn = orders[:, :n_drawn]
        return np.ascontiguousarray(drawn if self.shuffle else np.sort(drawn, axis=1))

    def _check_finite(self, X: Floats) -> None:
        largest = float(np.abs(self._rows).max())
        if largest <= DIVERGED_WEIGHT:
            return
        squared_norm = self._measure_largest(X)
        given = "that was chosen" if self.learning_rate is None else self.learning_rate
        raise ValueError(
            f"{type(self).__name__} diverged in epoch {self.n_epochs_}: learning_rate {given} "
            f"is too large for samples of squared norm up to {squared_norm:.3g}; expected weights up to "
            f"{DIVERGED_WEIGHT:g}, got {largest:g}. Try a rate below "
            f"{self._rate_divisor(len(X)) / squared_norm:.2g} per {self.learning_rate_per}, "
            "or smaller initial rows."
        )

    def _per_direction(self, variances: Floats) -> Floats:
        """Divide variances by the rows' squared norms; a row of zeros has none."""
        squared_norms = np.einsum("ji,ji->j", self._rows, self._rows)
        return np.divide(variances, squared_norms, out=np.zeros_like(variances), where=squared_norms > 0.0)

    def _optimality_now(self) -> float:
        """Return the optimality of the rows' span for the samples seen so far."""
        spanned = np.array([variance_of_span(self._rows, self._C)])
        return float(optimality(spanned, np.array([len(self._rows)]), self._most)[0])

    def _set_fitted(self) -> None:
        """Set the learned attributes; only the history has the records of the end."""
        self.components_ = self._rows.copy()
        self.n_components_ = len(self._rows)
        self.explained_variance_ = self._per_direction(self._at_end.variances[-1, self.nodes_])
        total = float(np.trace(self._C))
        self.explained_variance_ratio_ = self.explained_variance_ / (total if total > 0.0 else 1.0)
        names = "dimensionality", "variances", "direction_variances"
        self.history_ = {
            name: np.array([*records, values[-1]])
            for name, records, values in zip(names, self._records, self._at_end, strict=True)
        }
        if self.track_optimality:
            self.history_["optimality"] = np.array([*self._optimality, self._optimality_now()])
