"""Base of streaming principal components: one pass, rows that start and are removed while they learn."""

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from pppca_bench.compiled.arrays import Floats, Indices, aligned_zeros
from pppca_bench.compiled.linear_algebra import padded, second_moments, signed
from pppca_bench.engines.streaming_updates import Rates, Stream, learn_stream
from pppca_bench.keep_rules import SpectrumRule, count_by_spectrum, count_by_tau
from pppca_bench.parameters import Count, ParameterError, Positive, Share, Tau, check_parameters, make_generator
from pppca_bench.projection import LinearProjection, most_variance, optimality, variance_of_span
from pppca_bench.samples import validated_samples

_SAMPLES_PER_ROW = 4
"""Samples per row before the first check."""


class _Record(NamedTuple):
    """Samples seen, and the optimality and number of components then."""

    samples: int
    optimality: float
    dimensionality: int


@dataclass(eq=False, repr=False)
class StreamingPCA(LinearProjection):
    """Base of principal components that are learnt from one sample after another, each seen once.

    Rows start from the parts of the first samples that the rows before them leave. With `tau`, rows are removed for
    good by criterion (1), Var(q̂0) / Var(q̂i) > tau, by the variances that the rule itself estimates: removal needs no
    pass of its own. ``components_`` satisfy the criterion at any time. Choice: a check comes whenever the number of
    samples has doubled, from four samples per row on, since estimates of fewer samples remove too much.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of rows at the start, in [1, n_features]; None stands for n_features.
    tau : float or None, default=None
        Threshold of criterion (1), >= 1; None removes no row.
    keep : {"tau", "variance", "broken_stick", "gavish_donoho"} or None, default=None
        Rule for ``components_``, by the variances of the rows, see `pppca_bench.keep_rules`: the others need samples
        that are kept. None: those with criterion (1), or all rows where tau is None. No row is removed by another rule.
    variance_ratio : float or None, default=None
        Share of the variance that keep = "variance" holds, in (0, 1].
    n_samples : int or None, default=None
        Number of samples that `fit` learns from, in a new order for each pass over X; None makes one pass.
    memory : float or None, default=None
        Number of samples, > 0, from which on means and rates change no more, so that the rows follow data that drift.
        None lets rates fall for ever.
    centre : bool, default=True
        Subtract from each sample the mean of the samples so far; False learns second moments.
    shuffle : bool, default=True
        Whether `fit` takes the samples in random order. `partial_fit` keeps their order.
    track_optimality : bool, default=False
        Whether `fit` records ``history_``; it takes time.
    random_state : int, Generator, RandomState or None, default=None
        Source of the order of the samples.

    Attributes
    ----------
    components_ : float64 array, shape (n_components_, n_features)
        Directions of unit norm by decreasing variance, the largest weight positive. Fewer than asked for if the
        samples have no more directions.
    explained_variance_, explained_variance_ratio_ : float64 array, shape (n_components_,)
        The rule's estimates of the variances, and as a share of the total variance of the samples.
    mean_ : float64 array, shape (n_features,)
    n_components_, n_samples_seen_ : int
    history_ : dict of arrays
        With track_optimality, after 1, 2, 4, … samples and at the end: ``"samples"``; ``"optimality"``, the variance
        of X that the components retain over the most that as many can; ``"dimensionality"``. Else empty.
    """

    n_components: Count | None = None
    _: KW_ONLY
    tau: Tau | None = None
    keep: SpectrumRule | None = None
    variance_ratio: Share | None = None
    n_samples: Count | None = None
    memory: Positive | None = None
    centre: bool = True
    shuffle: bool = True
    track_optimality: bool = False
    random_state: Any = None

    _samples_per_row: ClassVar[int] = 1
    """Samples before another row starts."""

    def check_agreement(self) -> None:
        """Raise ParameterError if a rule lacks its number."""
        if self.keep == "tau" and self.tau is None:
            raise ParameterError("tau", "a number where keep is tau", None)
        if (self.keep == "variance") != (self.variance_ratio is not None):
            expected = "a number where keep is variance, else null"
            raise ParameterError("variance_ratio", expected, self.variance_ratio)

    def fit(self, X: ArrayLike, y: None = None) -> Self:  # noqa: ARG002 - scikit-learn's contract
        """Learn from X, in one pass unless `n_samples` is given.

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
        check_parameters(self)
        samples = validated_samples(self, X, reset=True, min_samples=2)
        self._start()
        rng, size = make_generator(self.random_state), len(samples)
        n = self.n_samples or size
        passes = [rng.permutation(size) if self.shuffle else np.arange(size) for _ in range(0, n, size)]
        records = self._learn(samples, np.concatenate(passes)[:n], track=self.track_optimality)
        columns = np.array(records).reshape(-1, len(_Record._fields)).T
        self.history_ = dict(zip(_Record._fields, columns, strict=True)) if records else {}
        return self

    def partial_fit(self, X: ArrayLike, y: None = None) -> Self:  # noqa: ARG002 - scikit-learn's contract
        """Learn from more samples, in their order; the chunks that they come in make no difference.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
        y : None
            Ignored.

        Raises
        ------
        ValueError, TypeError
            If a parameter or X is out of its range.
        """
        check_parameters(self)
        first = not hasattr(self, "components_")
        samples = validated_samples(self, X, reset=first)
        if first:
            self._start()
        self._learn(samples, np.arange(len(samples)), track=False)
        return self

    @abstractmethod
    def _rule(self) -> tuple[int, float, float, float]:
        """Return the rule, the amnesia of its means, and scale and delay of its steps; see `Rates`."""

    @abstractmethod
    def _directions(self) -> tuple[Floats, Floats]:
        """Return directions of unit norm, padded, and their variances, of the rows that have started."""

    @abstractmethod
    def _restore(self, rows: Floats, variances: Floats) -> None:
        """Set the rows of a new stream to directions with variances."""

    def _rates(self) -> Rates:
        rule, amnesia, scale, delay = self._rule()
        memory = float(self.memory or np.inf)
        return Rates(rule, amnesia, memory, scale, delay, bool(self.centre), self._samples_per_row)

    def _start(self) -> None:
        n_rows = self._n_rows_at_start(self.n_features_in_)
        self.n_samples_seen_ = self._n_started = 0
        self._first_check = _SAMPLES_PER_ROW * n_rows
        self._stream = _make_stream(n_rows, padded(self.n_features_in_))

    def _learn(self, X: Floats, order: Indices, *, track: bool) -> list[_Record]:
        """Learn up to each power of two, where rows are checked and recorded."""
        records, rates, done = list[_Record](), self._rates(), 0
        C = second_moments(X, X.mean(axis=0) if self.centre else np.zeros(X.shape[1])) if track else np.eye(1)
        most = most_variance(C)
        while done < len(order):
            seen = self.n_samples_seen_
            part = np.ascontiguousarray(order[done : done + (1 << seen.bit_length()) - seen], dtype=np.int64)
            self._n_started = learn_stream(X, part, seen, self._n_started, self._stream, rates)
            seen = self.n_samples_seen_ = seen + len(part)
            done += len(part)
            if self.tau is not None and self.keep in (None, "tau") and seen & (seen - 1) == 0:
                self._remove(self.tau)
            if track:
                self._set_fitted()
                spanned, n = np.array([variance_of_span(self.components_, C)]), np.array([self.n_components_])
                records.append(_Record(seen, float(optimality(spanned, n, most)[0]), self.n_components_))
        self._set_fitted()
        if not np.isfinite(self.components_).all() or not np.isfinite(self._stream.total[0]):
            raise ValueError(
                f"X in {type(self).__name__}: expected values whose squares float64 can sum and divide, got values up"
                f" to {np.abs(X).max():.3g}. Scale the features."
            )
        return records

    def _remove(self, tau: float) -> None:
        """Remove the rows that criterion (1) does not keep."""
        if self.n_samples_seen_ < self._first_check or not self._n_started:
            return
        rows, variances = self._ordered()
        n, old = count_by_tau(variances, tau), self._stream
        if n < len(old.rows):
            self._stream = _make_stream(n, old.rows.shape[1])
            self._stream.mean[:], self._stream.total[:] = old.mean, old.total
            self._stream.squares[:] = np.sort(old.squares)[::-1][:n]
            self._n_started = n
            self._restore(rows[:n], variances[:n])

    def _ordered(self) -> tuple[Floats, Floats]:
        """Return directions and variances, the largest first."""
        rows, variances = self._directions()
        order = np.argsort(-variances, kind="stable")
        return rows[order], variances[order]

    def _count(self, variances: Floats) -> int:
        """Return the number of components to keep; directions that no row has learnt count as without variance."""
        spectrum = np.zeros(self.n_features_in_)
        spectrum[: len(variances)] = variances
        numbers = {"tau": self.tau, "variance_ratio": self.variance_ratio}
        return min(len(variances), count_by_spectrum(self.keep, spectrum, self.n_samples_seen_, **numbers))

    def _set_fitted(self) -> None:
        if self._n_started:
            rows, variances = self._ordered()
        else:
            # Choice: samples without variance have the first coordinate direction.
            rows, variances = np.eye(1, self._stream.rows.shape[1]), np.zeros(1)
        n = self._count(variances)
        self.components_ = np.ascontiguousarray(signed(rows[:n, : self.n_features_in_]))
        self.n_components_ = n
        self.mean_ = self._stream.mean[0, : self.n_features_in_].copy()
        self.explained_variance_ = variances[:n]
        self.explained_variance_ratio_ = variances[:n] / (self._stream.total[0] or 1.0)


def _make_stream(n_rows: int, depth: int) -> Stream:
    """Allocate a stream of up to n_rows rows."""
    return Stream(
        rows=aligned_zeros(n_rows, depth),
        mean=aligned_zeros(1, depth),
        variances=np.zeros(n_rows),
        squares=np.zeros(n_rows),
        gram=np.zeros((n_rows, n_rows)),
        inverse=np.zeros((n_rows, n_rows)),
        total=np.zeros(1),
        x=aligned_zeros(1, depth),
        y=np.zeros(n_rows),
        z=np.zeros(n_rows),
        gradients=aligned_zeros(n_rows, depth),
    )
