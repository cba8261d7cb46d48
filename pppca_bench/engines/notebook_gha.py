"""Run of "Hebbian-Based Principal Component Analysis" on iris, and its printed numbers."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from pppca_bench.compiled.arrays import Floats
from pppca_bench.engines.gha import GHA
from pppca_bench.parameters import Count, ParameterError, check_parameters
from pppca_bench.samples import validated_samples


class NotebookGHA(BaseEstimator):
    """Learn all components as the notebook does, and measure a row of W and the norm of X − Y W.

    Source: "Hebbian-Based Principal Component Analysis", `trainNetwork`: η = 1 / n_samples, the samples in their order
    from the second on, each row reading those before it as just updated, Y collected in the last pass. The inputs are
    not centred.

    Parameters
    ----------
    component : int, default 1
        The row of W to measure, in [1, n_features].
    n_epochs : int, default 10000
        Passes, >= 1; the notebook makes 10 to the power of its four components.
    random_state : int, Generator, RandomState or None, default None
        Source of the initial rows, on which only the signs of the last rows depend.

    Attributes
    ----------
    components_ : float64 array, shape (n_features, n_features)
        W after the last pass. Choice: each row's largest weight is positive, since its sign is arbitrary.
    residual_norm_ : float
        Spectral norm of X − Y W.
    measures_ : dict of str to float
        ``weight_1``, ``weight_2``, …: the weights of the row; ``residual_norm``.
    """

    def __init__(self, component: Count = 1, *, n_epochs: Count = 10_000, random_state: Any = None) -> None:
        self.component = component
        self.n_epochs = n_epochs
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: None = None) -> Self:  # noqa: ARG002 - scikit-learn's contract
        """Learn from X.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features), n_samples >= 2
        y : None
            Ignored.

        Raises
        ------
        ValueError
            When a parameter or X is out of its range.
        """
        check_parameters(self)
        samples = validated_samples(self, X, reset=True, min_samples=2)
        if self.component > samples.shape[1]:
            expected = f"an integer from 1 to {samples.shape[1]}"
            raise ParameterError("component", expected, self.component, where=type(self).__name__)
        samples = np.roll(samples, -1, axis=0)
        rate = 1.0 / len(samples)
        rows, outputs = self._first_rows(samples, rate), np.zeros((len(samples), samples.shape[1]))
        # y_j = w_j x; Δw_j = η y_j (x − Σ_{k≤j} y_k w_k), with the rows before j as just updated
        for n, x in enumerate(samples):
            for j, row in enumerate(rows):
                outputs[n, j] = row @ x
                row += rate * outputs[n, j] * (x - outputs[n, : j + 1] @ rows[: j + 1])
        self.residual_norm_ = float(np.linalg.norm(samples - outputs @ rows, 2))
        largest = np.take_along_axis(rows, np.abs(rows).argmax(axis=1)[:, np.newaxis], axis=1)
        self.components_ = rows * np.where(largest < 0.0, -1.0, 1.0)
        weights = {f"weight_{i}": float(w) for i, w in enumerate(self.components_[self.component - 1], start=1)}
        self.measures_ = weights | {"residual_norm": self.residual_norm_}
        return self

    def _first_rows(self, samples: Floats, rate: float) -> Floats:
        """Return the rows before the last pass."""
        if self.n_epochs == 1:
            return GHA(n_epochs=1, learning_rate=1e-300, random_state=self.random_state).fit(samples).components_
        gha = GHA(
            learning_rate=rate,
            n_epochs=self.n_epochs - 1,
            centre=False,
            shuffle=False,
            kernel="in_place",
            random_state=self.random_state,
        )
        rows: Floats = gha.fit(samples).components_
        return rows
