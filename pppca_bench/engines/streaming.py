"""Streaming principal components: CCIPCA, fast similarity matching, AdaOja and μ-EigenGame."""

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from pppca_bench.base.keep_rules import count_by_tau
from pppca_bench.base.parameters import Count, NotNegative, Positive, Tau, make_generator
from pppca_bench.base.projection import max_variances, optimality, variance_of_span
from pppca_bench.compiled.arrays import Floats, Indices
from pppca_bench.compiled.linear_algebra import (
    flip_signs,
    padded,
    principal_components,
    product,
    second_moments,
)
from pppca_bench.engines import streaming_updates
from pppca_bench.engines.incremental import IncrementalProjection
from pppca_bench.engines.streaming_updates import Rates, Stream, learn_stream

_SAMPLES_PER_ROW = 4
"""Number of samples per row before the first check."""
_LEAST = 1e-30
"""Smallest magnitude of samples that are not scaled."""


@dataclass(eq=False, repr=False)
class StreamingPCA(IncrementalProjection):
    """Base of streaming PCA, which learns from single samples in a single pass, with the same result for any chunks.

    Each new row starts along the residual of a sample after its projection on the earlier rows. With `tau`, rows are
    removed for good by criterion (1), Var(q̂0) / Var(q̂i) > tau, from the variances that the learning rule estimates, so
    removal needs no extra pass. ``components_`` satisfy the criterion at any time. Choice: rows are checked when the
    number of samples has doubled, from four samples per row on, since estimates from fewer samples remove too much.

    Parameters
    ----------
    n_components : int or None, default=None
        Initial number of rows, in [1, n_features]; None means n_features.
    tau : float or None, default=None
        Threshold of criterion (1), >= 1; None removes no row.
    n_samples : int or None, default=None
        Number of samples that `fit` learns from, in a new random order in each pass over X; None: a single pass.
    centre : bool, default=True
        Whether to subtract the mean of the samples so far from each sample; False learns second moments.
    track_optimality : bool, default=False
        Whether `fit` records ``history_``, which takes time.
    random_state : int, Generator, RandomState or None, default=None
        Source of the order of the samples.

    Attributes
    ----------
    components_ : float64 array, shape (n_components_, n_features)
        Directions of unit norm by decreasing variance, the largest weight positive. Fewer than `n_components` if the
        samples span fewer directions.
    explained_variance_, explained_variance_ratio_ : float64 array, shape (n_components_,)
        Variances as estimated by the learning rule, and their shares of the total variance. Choice: the total is the
        sum over all rows plus the mean square of the residuals that the rows leave, with the same weights of samples,
        so that the shares of as many rows as features sum to 1.
    mean_ : float64 array, shape (n_features,)
    n_components_, n_samples_seen_ : int
    history_ : dict of arrays
        With track_optimality, after 1, 2, 4, … samples and at the end: ``"samples"``; ``"optimality"``, the retained
        variance of X, divided by the largest variance of as many directions; ``"dimensionality"``, the
        number of components. Otherwise empty.
    """

    n_components: Count | None = None
    _: KW_ONLY
    tau: Tau | None = None
    n_samples: Count | None = None
    centre: bool = True
    track_optimality: bool = False
    random_state: Any = None

    # Constants of the learning rule; some rules have them as parameters.
    amnesia = 1.0
    learning_rate = 0.0
    decay_samples = 0.0

    _rule: ClassVar[int]
    _samples_per_row: ClassVar[int] = 1
    """Smallest number of samples between the starts of two rows."""

    def fit(self, X: ArrayLike, y: None = None) -> Self:  # noqa: ARG002 - scikit-learn's contract
        """Learn from X in random order, in one pass unless `n_samples` is given.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features), n_samples >= 2
        y : None
            Ignored.

        Raises
        ------
        ValueError, TypeError
            If a parameter or X is out of its range.
        """
        samples = self._next_samples(X, first=True, min_samples=2)
        rng, size = make_generator(self.random_state), len(samples)
        n = self.n_samples or size
        passes = [rng.permutation(size) for _ in range(0, n, size)]
        records = self._learn(samples, np.concatenate(passes)[:n], track=self.track_optimality)
        names = "samples", "optimality", "dimensionality"
        self.history_ = dict(zip(names, np.transpose(records), strict=True)) if records else {}
        return self

    def _learn_chunk(self, X: Floats) -> None:
        self._learn(X, np.arange(len(X)), track=False)

    @abstractmethod
    def _directions(self) -> tuple[Floats, Floats]:
        """Return the directions of the rows that have started, padded and of unit norm, and their variances."""

    @abstractmethod
    def _initialise_stream(self, rows: Floats, variances: Floats) -> None:
        """Initialise a new stream from directions of unit norm and their variances."""

    def _start(self) -> None:
        n_rows = self._n_rows_at_start(self.n_features_in_)
        self.n_samples_seen_ = self._n_started = 0
        self._stream = _make_stream(n_rows, padded(self.n_features_in_))
        self._unit = 0.0

    def _learn(self, X: Floats, order: Indices, *, track: bool) -> list[tuple[int, float, int]]:
        """Learn from samples, check rows after each power of two samples, and return the rows of ``history_``."""
        # η c / (t + c) at sample t
        scale, delay = float(self.learning_rate * self.decay_samples), float(self.decay_samples)
        rates = Rates(
            self._rule, float(self.amnesia), scale, delay, bool(self.centre), self._samples_per_row
        )
        records, done = list[tuple[int, float, int]](), 0
        C = (
            second_moments(X, X.mean(axis=0) if self.centre else np.zeros(X.shape[1]))
            if track
            else np.eye(1)
        )
        most = max_variances(C)
        # Rules with fourth powers of samples would overflow or vanish. Division by a power of two is exact, so that the
        # result does not depend on the samples that set it.
        largest = max(-X.min(), X.max())
        if largest and not self._unit:
            self._unit = 1.0 if _LEAST <= largest <= 1.0 / _LEAST else 2.0 ** np.frexp(largest)[1]
        if self._unit not in (0.0, 1.0):
            X = X / self._unit
        while done < len(order):
            seen = self.n_samples_seen_
            part = order[done : done + (1 << seen.bit_length()) - seen].astype(np.int64)
            self._n_started = learn_stream(X, part, seen, self._n_started, self._stream, rates)
            seen = self.n_samples_seen_ = seen + len(part)
            done += len(part)
            if self.tau is not None and seen & (seen - 1) == 0:
                self._remove(self.tau)
            if track:
                self._set_fitted()
                share = optimality(variance_of_span(self.components_, C), self.n_components_, most)
                records.append((seen, float(share), self.n_components_))
        self._set_fitted()
        if not np.isfinite(self.components_).all() or not np.isfinite(self._stream.total[0]):
            raise ValueError(
                f"X in {type(self).__name__}: expected values whose squares float64 can sum at the scale of the first"
                f" samples, {self._unit:.3g}, got values up to {largest:.3g}. Scale the features."
            )
        return records

    def _remove(self, tau: float) -> None:
        """Remove rows by criterion (1), and continue with a smaller stream."""
        old = self._stream
        if self.n_samples_seen_ < _SAMPLES_PER_ROW * len(old.rows) or not self._n_started:
            return
        rows, variances = self._ordered()
        n = count_by_tau(variances, tau)
        if n < len(old.rows):
            self._stream = _make_stream(n, old.rows.shape[1])
            self._stream.mean[:], self._stream.total[:] = old.mean, old.total
            self._stream.left[:] = old.left + variances[n:].sum()
            self._stream.squares[:] = np.sort(old.squares)[::-1][:n]
            self._n_started = n
            self._initialise_stream(rows[:n], variances[:n])

    def _ordered(self) -> tuple[Floats, Floats]:
        """Return directions and variances by decreasing variance."""
        rows, variances = self._directions()
        order = np.argsort(-variances, kind="stable")
        return rows[order], variances[order]

    def _set_fitted(self) -> None:
        if self._n_started:
            rows, variances = self._ordered()
        else:
            # Choice: samples without variance have the first coordinate direction as component.
            rows, variances = np.eye(1, self._stream.rows.shape[1]), np.zeros(1)
        n = len(variances) if self.tau is None else count_by_tau(variances, self.tau)
        self.components_ = np.ascontiguousarray(flip_signs(rows[:n, : self.n_features_in_]))
        self.n_components_ = n
        unit = self._unit or 1.0
        self.mean_ = self._stream.mean[0, : self.n_features_in_] * unit
        self.explained_variance_ = variances[:n] * unit**2
        # As many rows as features leave no direction out, though sums of their variances over residuals may differ.
        left = float(self._stream.left[0]) if self._n_started < self.n_features_in_ else 0.0
        self.explained_variance_ratio_ = variances[:n] / (variances.sum() + left or 1.0)


@dataclass(eq=False, repr=False)
class CCIPCA(StreamingPCA):
    """Candid covariance-free incremental PCA, which has no learning rate.

    Source: Weng, Zhang and Hwang 2003, "Candid covariance-free incremental principal component analysis", algorithm 1:
    v ← (t − 1 − l) / t v + (1 + l) / t (x·û) x with û = v / ‖v‖, then x ← x − (x·û) û for the next row. ‖v‖ estimates
    the variance along û. Other parameters and the attributes are those of `StreamingPCA`.

    Parameters
    ----------
    amnesia : float, default=0.5
        l >= 0: a larger l gives later samples more weight. Choice: the source takes 2 to 4, for drifting data; with
        samples in random order, 0.5 retained the most variance.
    """

    amnesia: NotNegative = 0.5

    _rule = streaming_updates.CCIPCA

    def _directions(self) -> tuple[Floats, Floats]:
        norms = np.sqrt(self._stream.variances[: self._n_started])
        return self._stream.rows[: self._n_started] / norms[:, np.newaxis], norms

    def _initialise_stream(self, rows: Floats, variances: Floats) -> None:
        self._stream.rows[: len(rows)] = rows * variances[:, np.newaxis]
        self._stream.variances[: len(rows)] = variances**2


@dataclass(eq=False, repr=False)
class EigenGame(StreamingPCA):
    """μ-EigenGame: each row climbs its own utility on the unit sphere, which penalises overlap with earlier rows.

    Source: Gemp, McWilliams, Vernade and Graepel 2021, "EigenGame unloaded", algorithm 1, one sample per step:
    g = y_i x − Σ_{j<i} y_i y_j v_j, v_i ← v_i + η (g − (g·v_i) v_i), then ‖v_i‖ = 1. Choice: a row's variance is the
    mean of (r·v_i)², r = x − Σ_{j<i} y_j v_j, so that overlapping rows do not count variance twice; the weight of
    sample t is 2 / t. Other parameters and the attributes are those of `StreamingPCA`.

    Parameters
    ----------
    learning_rate : float, default=1.0
        η of the first sample, > 0; the kernel divides η by the total variance, so that results do not depend on the
        scale of the data.
    decay_samples : float, default=100.0
        c > 0 of the rate η c / (t + c) at sample t. Choice: of rates 1 and 3 and c = 10, 100 and 1000, the defaults
        retained the most variance.
    """

    learning_rate: Positive = 1.0
    decay_samples: Positive = 100.0

    _rule = streaming_updates.EIGENGAME

    def _directions(self) -> tuple[Floats, Floats]:
        n = self._n_started
        return self._stream.rows[:n].copy(), self._stream.variances[:n].copy()

    def _initialise_stream(self, rows: Floats, variances: Floats) -> None:
        self._stream.rows[: len(rows)], self._stream.variances[: len(rows)] = rows, variances


class _Subspace(StreamingPCA):
    """Base of rules that learn a subspace; eigenvectors of M, the mean of y yᵀ, give the directions.

    M of principal directions is diagonal. Choice: at most every second sample starts a row, else M is singular.
    """

    _samples_per_row = 2

    def _directions(self) -> tuple[Floats, Floats]:
        n = self._n_started
        variances, vectors = principal_components(self._stream.gram[:n, :n])
        rows = product(product(vectors, self._stream.inverse[:n, :n]), self._stream.rows[:n])
        return rows / np.sqrt(np.einsum("ji,ji->j", rows, rows))[:, np.newaxis], variances

    def _initialise_stream(self, rows: Floats, variances: Floats) -> None:
        n = len(rows)
        self._stream.rows[:n] = rows
        self._stream.gram[:n, :n], self._stream.inverse[:n, :n] = np.diag(variances), np.eye(n)


@dataclass(eq=False, repr=False)
class FastSimilarityMatching(_Subspace):
    """Fast similarity matching: Hebbian weights W, and anti-Hebbian weights M between the outputs.

    Source: Giovannucci, Minden, Pehlevan and Chklovskii 2018, "Efficient principal subspace projection of streaming
    data through fast similarity matching", algorithm 1: y = M⁻¹ W x, W ← W + η (y xᵀ − W), M ← M + η (y yᵀ − M), with
    η = 2 / (t + 5), by default in the source's code. Parameters and attributes are those of `StreamingPCA`.
    """

    _rule = streaming_updates.SIMILARITY
    amnesia = 0.0
    learning_rate = 0.4
    decay_samples = 5.0

    def _initialise_stream(self, rows: Floats, variances: Floats) -> None:
        super()._initialise_stream(rows * variances[:, np.newaxis], variances)
        self._stream.inverse[: len(rows), : len(rows)] = np.diag(1.0 / variances)


@dataclass(eq=False, repr=False)
class AdaOja(_Subspace):
    """AdaOja: Oja's rule for a subspace, with learning rates that adapt to the gradients.

    Source: Henriksen and Ward 2019, "AdaOja: adaptive learning rates for streaming PCA", algorithm 2: for batches X_b,
    g = X_bᵀ X_b q, b² ← b² + ‖g‖², q ← q + g / b for each row q, then all rows are orthonormalised. Choice: 8 samples
    per batch, where the source takes 10; the weight of sample t in M is 2 / t. Parameters and attributes are those of
    `StreamingPCA`.
    """

    _rule = streaming_updates.ADAOJA


def _make_stream(n_rows: int, depth: int) -> Stream:
    """Allocate a stream for n_rows rows."""
    return Stream(
        rows=np.zeros((n_rows, depth)),
        mean=np.zeros((1, depth)),
        variances=np.zeros(n_rows),
        squares=np.zeros(n_rows),
        gram=np.zeros((n_rows, n_rows)),
        inverse=np.zeros((n_rows, n_rows)),
        total=np.zeros(1),
        left=np.zeros(1),
        x=np.zeros((1, depth)),
        y=np.zeros(n_rows),
        z=np.zeros(n_rows),
        gradients=np.zeros((n_rows, depth)),
    )
