"""Streaming principal components: CCIPCA, fast similarity matching, AdaOja and μ-EigenGame."""

from dataclasses import dataclass

import numpy as np

from pppca_bench.compiled.arrays import Floats
from pppca_bench.compiled.linear_algebra import principal_components, product
from pppca_bench.engines import streaming_updates
from pppca_bench.engines.streaming import StreamingPCA
from pppca_bench.parameters import NotNegative, Positive


@dataclass(eq=False, repr=False)
class CCIPCA(StreamingPCA):
    """Candid covariance-free incremental PCA, which has no learning rate.

    Source: Weng, Zhang and Hwang 2003, "Candid covariance-free incremental principal component analysis", algorithm 1:
    v ← (t − 1 − l) / t v + (1 + l) / t (x·û) x with û = v / ‖v‖, then x ← x − (x·û) û for the next row. ‖v‖ estimates
    the variance along û. The parameters and attributes are those of `StreamingPCA`, and

    Parameters
    ----------
    amnesia : float, default=0.5
        l >= 0, by which later samples weigh more. Choice: the source takes 2 to 4, for data that drift; on samples
        in random order 0.5 retained the most variance.
    """

    amnesia: NotNegative = 0.5

    def _rule(self) -> tuple[int, float, float, float]:
        return streaming_updates.CCIPCA, float(self.amnesia), 0.0, 0.0

    def _directions(self) -> tuple[Floats, Floats]:
        norms = np.sqrt(self._stream.variances[: self._n_started])
        return self._stream.rows[: self._n_started] / norms[:, np.newaxis], norms

    def _restore(self, rows: Floats, variances: Floats) -> None:
        self._stream.rows[: len(rows)] = rows * variances[:, np.newaxis]
        self._stream.variances[: len(rows)] = variances**2


@dataclass(eq=False, repr=False)
class EigenGame(StreamingPCA):
    """μ-EigenGame: every row climbs its own utility on the sphere, and avoids the rows before it.

    Source: Gemp, McWilliams, Vernade and Graepel 2021, "EigenGame unloaded", algorithm 1, one sample per step:
    g = y_i x − Σ_{j<i} y_i y_j v_j, v_i ← v_i + η (g − (g·v_i) v_i), then ‖v_i‖ = 1. Choice: a row's variance is the
    mean of (r·v_i)², r = x − Σ_{j<i} y_j v_j, so that rows that overlap do not count it twice;
    sample t weighs 2 / t. The parameters and attributes are those of `StreamingPCA`, and

    Parameters
    ----------
    learning_rate : float, default=1.0
        η of the first sample, > 0, over the total variance, so that it does not depend on the scale of the data.
    decay_samples : float, default=100.0
        A c > 0 makes the rate η c / (t + c) at sample t. Choice: of rates 1 and 3 and c = 10, 100 and 1000, these
        retained the most variance.
    """

    learning_rate: Positive = 1.0
    decay_samples: Positive = 100.0

    def _rule(self) -> tuple[int, float, float, float]:
        # η c / (t + c)
        scale = float(self.learning_rate * self.decay_samples)
        return streaming_updates.EIGENGAME, 1.0, scale, float(self.decay_samples)

    def _directions(self) -> tuple[Floats, Floats]:
        return self._stream.rows[: self._n_started].copy(), self._stream.variances[: self._n_started].copy()

    def _restore(self, rows: Floats, variances: Floats) -> None:
        self._stream.rows[: len(rows)], self._stream.variances[: len(rows)] = rows, variances


class _Subspace(StreamingPCA):
    """Base of rules that learn a subspace; their directions are eigenvectors of M, the mean of y yᵀ.

    Choice: a row starts at every second sample at most, since M of as many samples as rows is singular.
    """

    _samples_per_row = 2

    def _directions(self) -> tuple[Floats, Floats]:
        n = self._n_started
        variances, vectors = principal_components(self._stream.gram[:n, :n])
        rows = product(product(vectors, self._stream.inverse[:n, :n]), self._stream.rows[:n])
        return rows / np.sqrt(np.einsum("ji,ji->j", rows, rows))[:, np.newaxis], variances

    def _restore(self, rows: Floats, variances: Floats) -> None:
        n = len(rows)
        self._stream.rows[:n] = rows
        self._stream.gram[:n, :n], self._stream.inverse[:n, :n] = np.diag(variances), np.eye(n)


@dataclass(eq=False, repr=False)
class FastSimilarityMatching(_Subspace):
    """Fast similarity matching: Hebbian rows W and anti-Hebbian connections M between the outputs.

    Source: Giovannucci, Minden, Pehlevan and Chklovskii 2018, "Efficient principal subspace projection of streaming
    data through fast similarity matching", algorithm 1: y = M⁻¹ W x, W ← W + η (y xᵀ − W), M ← M + η (y yᵀ − M), with
    η = 2 / (t + 5). Choice: M learns at the rate of W, where the source's code doubles it: it retained more variance.
    The parameters and attributes are those of `StreamingPCA`.
    """

    def _rule(self) -> tuple[int, float, float, float]:
        return streaming_updates.SIMILARITY, 0.0, 2.0, 5.0

    def _restore(self, rows: Floats, variances: Floats) -> None:
        super()._restore(rows * variances[:, np.newaxis], variances)
        self._stream.inverse[: len(rows), : len(rows)] = np.diag(1.0 / variances)


@dataclass(eq=False, repr=False)
class AdaOja(_Subspace):
    """AdaOja: Oja's rule for a subspace, with rates that follow from the gradients.

    Source: Henriksen and Ward 2019, "AdaOja: adaptive learning rates for streaming PCA", algorithm 2: for batches X_b,
    g = X_bᵀ X_b q, b² ← b² + ‖g‖², q ← q + g / b for each row q, then all rows are orthonormalised. Choice: 8 samples a
    batch, where the source takes 10; in M, sample t weighs 2 / t. The parameters and attributes are those of
    `StreamingPCA`.
    """

    def _rule(self) -> tuple[int, float, float, float]:
        return streaming_updates.ADAOJA, 1.0, 0.0, 0.0
