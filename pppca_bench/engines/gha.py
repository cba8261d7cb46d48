"""Generalized Hebbian algorithm (GHA), and its run in "Hebbian-Based Principal Component Analysis"."""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal, Self

import numpy as np
from annotated_types import Ge, Le
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from pppca_bench.engines.hebbian import HebbianTransformer
from pppca_bench.parameters import Count, ParameterError, Positive, check_parameters
from pppca_bench.samples import validated_samples


@dataclass(eq=False, repr=False)
class GHA(HebbianTransformer):
    """Learn principal components by the generalized Hebbian algorithm, sample by sample.

    Source: Sanger 1989; slide "Generalized Hebbian Algorithm": ΔW = η (y xᵀ − LT(y yᵀ) W), y = W x.

    Parameters
    ----------
    n_components : int or None, default None
        Number of rows, in [1, n_features]; None stands for n_features.
    learning_rate : float or None, default None
        > 0, constant unless a decay is given, as in the published runs on iris. None suits the scale of the inputs:
        η = min(0.3 / tr C, 1.5 / max ‖x − mean‖²) per sample, with decay_epochs = 100 unless a decay is given. Choice:
        below 2 / y² no sample moves a row of unit norm beyond its mirror image, and with the defaults the rows settle
        on every Proben1 problem (docs/choices.md).
    learning_rate_per : {"sample", "epoch"}, default "sample"
        Whether a given learning_rate is the step η of a sample, or the sum of the steps of an epoch,
        η = learning_rate / n for n samples.
    n_epochs : int, default 2000
        Passes over the training samples, >= 1. Choice: a fixed number, since the slides name no stopping
        criterion and their times fall almost in proportion to the data fraction; large enough for neighbouring
        eigenvalues of a ratio of 1.02.
    decay_epochs : float or None, default None
        A c > 0 makes the rate η c / (n + c) in epoch n = 0, 1, …; None keeps it constant.
    decay_samples : float or None, default None
        A c > 0 makes the rate η c / (n + c) for the n-th sample learnt, n = 0, 1, … through all epochs. Not together
        with decay_epochs. Source: "Hebbian-Based Principal Component Analysis", "Train Network": constant1 / (n +
        constant2), with constant1 = η c and constant2 = c.
    rows_per_epoch : float or None, default None
        Rows that join the learning per epoch, > 0: row j learns from epoch j / rows_per_epoch on, and stays as drawn
        until then. None: all rows learn from the start.
    initial_rows : {"direction", "orthonormal"}, default "orthonormal"
        How rows are drawn: uniformly distributed directions, or a random orthonormal set.
    initial_samples : int or None, default None
        Number of samples, >= 2, drawn without replacement, whose principal components are the first rows, in place of
        `initial_rows`. Choice: of all samples if there are fewer; if they have fewer components than there are rows,
        random directions orthogonal to these follow. Source: "Hebbian-Based Principal Component Analysis", "Summary".
    initial_norm : float, default 1.0
        Norm of each row at the start, > 0. Choice: the norm that the rows tend to.
    sort_initial : bool, default False
        Whether rows start in decreasing order of their projection variance.
    track_optimality : bool, default False
        Whether ``history_`` has "optimality"; it takes time at each epoch.
    centre : bool, default True
        Subtract the training mean (covariance); False keeps the inputs as they are (autocorrelation: each
        "variance" is then a second moment).
    shuffle : bool, default True
        Whether each epoch takes the samples in a new random order.
    kernel : {"fast", "literal", "in_place"}, default "fast"
        "literal" computes the update formula as it is written, several times slower, and counts its
        operations; the results agree to rounding. "in_place" updates row after row, each reading those
        before it as just updated, as the published runs on iris do.
    random_state : int, Generator, RandomState or None, default None
        Source of all randomness: initial rows and the order of samples.

    Attributes
    ----------
    components_ : float64 array, shape (n_components_, n_features)
        The rows as learnt, neither normalised nor orthogonalised: about orthonormal once they have settled.
    explained_variance_ : float64 array, shape (n_components_,)
        Variance (divisor N) of the samples along each row's direction, wᵀ C w / ‖w‖².
    explained_variance_ratio_ : float64 array, shape (n_components_,)
        The same over the total variance, the trace of C. Sums to 1 over any orthonormal basis.
    mean_ : float64 array, shape (n_features,)
        Training mean; zeros where centre is False.
    n_components_ : int
        Number of rows.
    n_epochs_ : int
        Number of epochs; each call of partial_fit counts as an epoch.
    n_samples_seen_ : int
        Number of samples in the mean and in C.
    n_operations_ : int
        Multiply-adds that the literal kernel counts, whichever kernel it was.
    learning_time_ms_ : float
        Wall time of the compiled learning, without validation of input and drawing of random numbers.
    history_ : dict of arrays
        "dimensionality", shape (n_epochs_ + 1,): number of rows before each epoch, and at the end.
        "variances", shape (n_epochs_ + 1, n_initial_rows): each row's projection variance at the same
        times, a column per initial row, NaN once it is removed. "direction_variances", of the same shape: the
        same over the row's squared norm, wᵀ C w / ‖w‖², the variance along its direction. "optimality", shape
        (n_epochs_ + 1,), if tracked: the variance of the rows' span before each epoch and at the end, over the
        largest of as many directions.
    """

    n_components: Count | None = None
    _: KW_ONLY
    learning_rate: Positive | None = None
    learning_rate_per: Literal["sample", "epoch"] = "sample"
    n_epochs: Count = 2000
    decay_epochs: Positive | None = None
    decay_samples: Positive | None = None
    rows_per_epoch: Positive | None = None
    initial_rows: Literal["direction", "orthonormal"] = "orthonormal"
    initial_samples: Annotated[int, Ge(2), Le(1_000_000)] | None = None
    initial_norm: Positive = 1.0
    sort_initial: bool = False
    track_optimality: bool = False
    centre: bool = True
    shuffle: bool = True
    kernel: Literal["fast", "literal", "in_place"] = "fast"
    random_state: Any = None


@dataclass(eq=False, repr=False)
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

    component: Count = 1
    _: KW_ONLY
    n_epochs: Count = 10_000
    random_state: Any = None

    def fit(self, X: ArrayLike, y: None = None) -> Self:  # noqa: ARG002 - scikit-learn's contract
        """Learn from X, shape (n_samples, n_features), n_samples >= 2; raises as `GHA.fit` does."""
        check_parameters(self)
        samples = validated_samples(self, X, reset=True, min_samples=2)
        if self.component > samples.shape[1]:
            expected = f"an integer from 1 to {samples.shape[1]}"
            raise ParameterError("component", expected, self.component, where=type(self).__name__)
        samples = np.roll(samples, -1, axis=0)
        rate = 1.0 / len(samples)
        # All passes but the last; if there is no other, the rows stay as drawn.
        n_before, rate_before = (self.n_epochs - 1, rate) if self.n_epochs > 1 else (1, 1e-300)
        gha = GHA(
            n_epochs=n_before,
            learning_rate=rate_before,
            centre=False,
            shuffle=False,
            kernel="in_place",
            random_state=self.random_state,
        )
        rows, outputs = gha.fit(samples).components_, np.zeros((len(samples), samples.shape[1]))
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
