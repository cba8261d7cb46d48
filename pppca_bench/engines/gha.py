"""Generalized Hebbian algorithm (GHA)."""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Self

import numpy as np
from annotated_types import Ge, Le
from numpy.typing import ArrayLike

from pppca_bench.base.keep_rules import count_by_tau
from pppca_bench.base.parameters import Count, ParameterError, Positive, Tau, make_generator
from pppca_bench.base.projection import (
    max_variances,
    optimality,
    principal_directions,
    variance_of_span,
)
from pppca_bench.compiled.arrays import Floats, Indices
from pppca_bench.compiled.linear_algebra import orthonormal, second_moments
from pppca_bench.engines.gha_epochs import (
    DIVERGED_WEIGHT,
    FAST,
    EpochHistory,
    Schedule,
    learn_epochs,
    make_epoch_workspace,
)
from pppca_bench.engines.incremental import IncrementalProjection
from pppca_bench.engines.removal import Limits

# Factors of the default rate η = min(0.3 / tr C, 1.5 / max ‖x − mean‖²).
_SHARE_OF_TRACE, _SHARE_OF_LARGEST = 0.3, 1.5
_DEFAULT_DECAY_EPOCHS = 100.0
_SAMPLES_PER_BATCH = 4096
_ORDERED_SAMPLES_PER_BLOCK = 4_000_000


@dataclass(eq=False, repr=False)
class GHA(IncrementalProjection):
    """Learn principal components by the generalized Hebbian algorithm, sample by sample.

    Source: Sanger 1989; slide "Generalized Hebbian Algorithm": ΔW = η (y xᵀ − LT(y yᵀ) W), y = W x. Each epoch takes
    the samples in a new random order. Choice: the initial rows are a random orthonormal set.

    Parameters
    ----------
    n_components : int or None, default None
        Number of rows, in [1, n_features]; None means n_features.
    learning_rate : float or None, default None
        The step η of a sample, > 0, constant unless a decay is given, as in the published runs on iris. None adapts it
        to the scale of the inputs: η = min(0.3 / tr C, 1.5 / max ‖x − mean‖²), and decay_epochs = 100 unless a decay is
        set. Choice: below 2 / y² no sample moves a row of unit norm beyond its mirror image, and the rows converge on
        every Proben1 problem with the defaults (docs/choices.md).
    n_epochs : int, default 2000
        Passes over the training samples, >= 1. Choice: a fixed number, since the slides name no stopping criterion
        and their times fall almost in proportion to the data fraction; enough for neighbouring eigenvalues whose
        ratio is 1.02.
    decay_epochs : float or None, default None
        A c > 0 makes the rate η c / (n + c) in epoch n = 0, 1, …; None keeps it constant.
    decay_samples : float or None, default None
        A c > 0 makes the rate η c / (n + c) for the n-th sample learnt, n = 0, 1, … through all epochs. Not together
        with decay_epochs. Source: "Hebbian-Based Principal Component Analysis", "Train Network": constant1 / (n +
        constant2), with constant1 = η c and constant2 = c.
    initial_samples : int or None, default None
        Number of samples, >= 2, drawn without replacement, whose principal components are the initial rows; None
        draws the rows at random. Choice: all samples if there are fewer; if the samples have too few components,
        random orthogonal directions follow. Source: "Hebbian-Based Principal Component Analysis", "Summary".
    initial_norm : float, default 1.0
        Initial norm of each row, > 0. Choice: the norm to which the rows converge.
    track_optimality : bool, default False
        Whether ``history_`` records "optimality", which takes time in each epoch.
    centre : bool, default True
        Subtract the training mean (covariance); False keeps the inputs as they are (autocorrelation: each
        "variance" is then a second moment).
    tau : float or None, default None
        Threshold of criterion (1), >= 1: after learning, rows of a variance below 1 / tau of the largest are left out,
        and the others sorted by decreasing variance. None keeps all rows. Source: slide "Generalized Hebbian
        Algorithm", option 1: all eigenvectors are computed, and a selection reduces the dimensionality.
    random_state : int, Generator, RandomState or None, default None
        Source of all randomness: initial rows and the order of samples.

    Attributes
    ----------
    components_ : float64 array, shape (n_components_, n_features)
        Rows, neither normalised nor orthogonalised: nearly orthonormal after convergence.
    explained_variance_ : float64 array, shape (n_components_,)
        Variance (divisor N) of the samples along each row's direction, wᵀ C w / ‖w‖².
    explained_variance_ratio_ : float64 array, shape (n_components_,)
        Share of the total variance, the trace of C. The shares of an orthonormal basis sum to 1.
    mean_ : float64 array, shape (n_features,)
        Training mean; zeros if centre is False.
    n_components_ : int
        Number of rows.
    n_epochs_ : int
        Number of epochs; each call of partial_fit counts as an epoch.
    n_samples_seen_ : int
        Number of samples in the mean and in C.
    n_operations_ : int
        Multiply-adds that the formula takes if it is evaluated literally.
    history_ : dict of arrays
        Records before each epoch and at the end. "dimensionality", shape (n_epochs_ + 1,): number of rows.
        "variances", shape (n_epochs_ + 1, n_initial_rows): projection variance of each initial row, NaN after its
        removal. "direction_variances", of the same shape: wᵀ C w / ‖w‖², the variance along the row's direction.
        "optimality", shape (n_epochs_ + 1,), if tracked: variance of the span of the rows, divided by the largest
        variance of a span of the same dimension.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> gha = GHA(2, random_state=0).fit(load_iris().data)
    >>> [round(float(share), 2) for share in gha.explained_variance_ratio_]
    [0.92, 0.05]
    """

    n_components: Count | None = None
    _: KW_ONLY
    learning_rate: Positive | None = None
    n_epochs: Count = 2000
    decay_epochs: Positive | None = None
    decay_samples: Positive | None = None
    initial_samples: Annotated[int, Ge(2), Le(1_000_000)] | None = None
    initial_norm: Positive = 1.0
    track_optimality: bool = False
    centre: bool = True
    tau: Tau | None = None
    random_state: Any = None

    # Parameters of DGHA: GHA draws all samples, all rows learn, and no epoch begins with a check.
    data_fraction = 100.0
    head_start = 0
    first_check = math.inf
    min_variance_ratio = 0.0

    # Choice: larger than for exact PCA, since rows that have not converged may be nearly dependent.
    _relative_cut = 1e-6
    _update = FAST
    _rate_is_of_epoch = False

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
        self
            The fitted estimator.

        Raises
        ------
        ValueError, TypeError
            If a parameter or X is out of its range, or the rows diverge.
        """
        self._learn_chunk(self._next_samples(X, first=True, min_samples=2), self.n_epochs)
        return self

    def check_agreement(self) -> None:
        """Raise ParameterError if both decays are given."""
        if self.decay_epochs is not None and self.decay_samples is not None:
            raise ParameterError(
                "decay_samples", "null where decay_epochs is given", self.decay_samples
            )

    def _learn_chunk(self, X: Floats, n_epochs: int = 1) -> None:
        samples = np.asarray(X).view()
        # A read-only view as a plain array, since kernels reject memory maps.
        samples.flags.writeable = False
        self._update_moments(samples)
        if self.n_epochs_ == 0:
            self._draw_rows(samples)
        self._learn_epochs(samples, n_epochs)
        self._set_fitted()

    def _start(self) -> None:
        self._n_initial_rows = self._n_rows_at_start(self.n_features_in_)
        self._rng = make_generator(self.random_state)
        self.n_epochs_ = 0
        self._n_learnt = 0
        self.n_operations_ = 0
        self.n_samples_seen_ = 0
        self.mean_ = np.zeros(self.n_features_in_)
        self._C = np.zeros((self.n_features_in_, self.n_features_in_))
        self._largest_squared_norm = 0.0
        self._optimality: tuple[float, ...] = ()
        self._records: tuple[EpochHistory, ...] = ()

    def _update_moments(self, X: Floats) -> None:
        """Merge the samples into the mean and C, batch by batch (Chan, Golub and LeVeque 1983)."""
        batches = [
            X[first : first + _SAMPLES_PER_BATCH] for first in range(0, len(X), _SAMPLES_PER_BATCH)
        ]
        for batch in batches:
            # With p = n_b / (n + n_b) and d = mean_b − mean: C ← C + p (C_b − C) + p (1 − p) d dᵀ, mean ← mean + p d
            share = len(batch) / (self.n_samples_seen_ + len(batch))
            mean = batch.mean(axis=0) if self.centre else self.mean_
            shift = mean - self.mean_
            self._C += share * (second_moments(batch, mean) - self._C)
            self._C += share * (1.0 - share) * np.outer(shift, shift)
            self.mean_ = self.mean_ + share * shift
            self.n_samples_seen_ += len(batch)
        # The largest ‖x − mean‖² of all chunks, for the default rate and the remedy of a divergence
        largest = max(float(np.square(batch - self.mean_).sum(axis=1).max()) for batch in batches)
        self._largest_squared_norm = max(self._largest_squared_norm, largest)
        if self.track_optimality:
            self._max_variances = max_variances(self._C)

    def _draw_rows(self, X: Floats) -> None:
        n_rows = self._n_initial_rows
        self.nodes_ = np.arange(n_rows)
        if self.initial_samples is None:
            directions = orthonormal(self._rng.standard_normal((n_rows, self.n_features_in_)))
        else:
            directions = principal_directions(
                self._rng, X, self.initial_samples, n_rows, centre=self.centre
            )
        self._rows = self.initial_norm * directions

    def _learn_epochs(self, X: Floats, n_epochs: int) -> None:
        """Learn epochs over X, in blocks whose sample orders fit into memory."""
        one_by_one = self.min_variance_ratio > 0.0 or self.track_optimality
        block = 1 if one_by_one else max(1, _ORDERED_SAMPLES_PER_BLOCK // len(X))
        for first in range(0, n_epochs, block):
            if self.track_optimality:
                self._optimality = *self._optimality, self._current_optimality()
            self._make_epochs(X, min(block, n_epochs - first))
            self._check_divergence(len(X))

    def _make_epochs(self, X: Floats, n_epochs: int) -> None:
        schedule, n_records = self._schedule(len(X), n_epochs), n_epochs + 1
        empty = np.full((2, n_records, self._n_initial_rows), np.nan)
        history = EpochHistory(np.zeros(n_records, np.int64), empty[0], empty[1])
        C = self._C
        if len(X) < X.shape[1] and len(X) == self.n_samples_seen_:
            # With fewer samples than features, the factor F of C = F Fᵀ is smaller than C.
            C = np.ascontiguousarray((X - self.mean_).T / np.sqrt(len(X)))
        given = X, self.mean_[np.newaxis], C, schedule, self._limits(), self._update, history
        work = make_epoch_workspace(len(self._rows), self.n_features_in_)
        n_left, n_made, n_operations = learn_epochs(self._rows, self.nodes_, *given, work)
        self._rows, self.nodes_ = self._rows[:n_left], self.nodes_[:n_left]
        self.n_epochs_ += n_made
        self._n_learnt += n_made * schedule.orders.shape[1]
        self.n_operations_ += n_operations
        self._records = *self._records, history

    def _schedule(self, n_samples: int, n_epochs: int) -> Schedule:
        epochs = np.arange(self.n_epochs_, self.n_epochs_ + n_epochs)
        rates, decays = self._rates(epochs, n_samples)
        n_started = np.where(epochs < self.head_start, 1, self._n_initial_rows)
        return Schedule(
            self._orders(n_samples, n_epochs), rates, decays, n_started, epochs >= self.first_check
        )

    def _limits(self) -> Limits:
        """Return the limits of removal in the next epochs; GHA removes no rows."""
        return Limits(np.inf, 1, self._n_initial_rows, 0.0)

    def _rates(self, epochs: Indices, n_samples: int) -> tuple[Floats, Floats]:
        """Return η and the decay of each epoch: sample s = 0, 1, … learns at η / (1 + decay s)."""
        decay_epochs = self.decay_epochs
        if self.learning_rate is not None:
            rate = self.learning_rate / self._rate_divisor(n_samples)
        else:
            # Samples without variance do not move the rows at any rate.
            trace, largest = float(np.trace(self._C)), self._largest_squared_norm
            varies = trace > 0.0 and largest > 0.0
            rate = min(_SHARE_OF_TRACE / trace, _SHARE_OF_LARGEST / largest) if varies else 1.0
            if self.decay_samples is None:
                decay_epochs = decay_epochs or _DEFAULT_DECAY_EPOCHS
        # η c / (n + c), where n counts epochs or samples
        rates: Floats = np.full(len(epochs), rate)
        if decay_epochs is not None:
            rates *= decay_epochs / (epochs + decay_epochs)
        if self.decay_samples is None:
            return rates, np.zeros(len(epochs))
        learnt = self._n_learnt + self._n_drawn(n_samples) * (epochs - self.n_epochs_)
        n_plus_c = np.asarray(learnt + self.decay_samples, dtype=np.float64)
        return rates * (self.decay_samples / n_plus_c), 1.0 / n_plus_c

    def _rate_divisor(self, n_samples: int) -> int:
        """Return learning_rate / η."""
        return self._n_drawn(n_samples) if self._rate_is_of_epoch else 1

    def _n_drawn(self, n_samples: int) -> int:
        """Return the number of samples that an epoch draws."""
        return max(1, int(n_samples * self.data_fraction / 100.0 + 0.5))

    def _orders(self, n_samples: int, n_epochs: int) -> Indices:
        """Draw the sample indices of each epoch in the order of learning, shape (n_epochs, n_drawn)."""
        orders = np.tile(np.arange(n_samples, dtype=np.int64), (n_epochs, 1))
        # The same random numbers as `permutation` in each epoch, in half the time.
        self._rng.permuted(orders, axis=1, out=orders)
        return np.ascontiguousarray(orders[:, : self._n_drawn(n_samples)])

    def _check_divergence(self, n_samples: int) -> None:
        largest = float(np.abs(self._rows).max())
        if largest <= DIVERGED_WEIGHT:
            return
        squared_norm = self._largest_squared_norm
        given = "None (adaptive)" if self.learning_rate is None else self.learning_rate
        remedy = "smaller initial rows"  # of samples without variance, no rate is too large
        if squared_norm:
            remedy = f"a rate below {self._rate_divisor(n_samples) / squared_norm:.2g}, or {remedy}"
        raise ValueError(
            f"{type(self).__name__} diverged in epoch {self.n_epochs_}: learning_rate {given} "
            f"is too large for samples of squared norm up to {squared_norm:.3g}; expected weights up to "
            f"{DIVERGED_WEIGHT:g}, got {largest:g}. Try {remedy}."
        )

    def _per_direction(self, variances: Floats) -> Floats:
        """Divide variances by the rows' squared norms; a row of zeros has no variance."""
        squared_norms = np.einsum("ji,ji->j", self._rows, self._rows)
        return np.divide(
            variances, squared_norms, out=np.zeros_like(variances), where=squared_norms > 0.0
        )

    def _selected(self, variances: Floats) -> Indices:
        """Return the indices of the learnt rows that become components, from the variances along the rows."""
        if self.tau is None:
            return np.arange(len(variances))
        order = np.argsort(-variances, kind="stable")
        return order[: count_by_tau(variances[order], self.tau)]

    def _current_optimality(self) -> float:
        """Return the optimality of the rows' span for the samples seen so far."""
        return float(
            optimality(variance_of_span(self._rows, self._C), len(self._rows), self._max_variances)
        )

    def _set_fitted(self) -> None:
        variances = self._per_direction(self._records[-1].variances[-1, self.nodes_])
        kept = self._selected(variances)
        self.components_, self.explained_variance_ = self._rows[kept], variances[kept]
        self.n_components_ = len(kept)
        self.explained_variance_ratio_ = self.explained_variance_ / (np.trace(self._C) or 1.0)

    @property
    def history_(self) -> dict[str, Any]:
        """Return the records, which end with the current rows."""
        # Choice: collected on demand, since many small chunks would copy a long history again and again.
        history = {
            name: np.concatenate([*(values[:-1] for values in records[:-1]), records[-1]])
            for name, records in zip(
                EpochHistory._fields, zip(*self._records, strict=True), strict=True
            )
        }
        if self.track_optimality:
            history["optimality"] = np.array([*self._optimality, self._current_optimality()])
        return history
