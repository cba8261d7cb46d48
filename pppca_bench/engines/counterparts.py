"""Counterparts of pseudo-PCA: other methods of equal size, DGHA without removal, counted or literal, the notebook."""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from annotated_types import MaxLen
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from pppca_bench.base.parameters import Count, ParameterError, check_parameters
from pppca_bench.base.projection import UnsupervisedMixin
from pppca_bench.compiled.arrays import Floats, Indices
from pppca_bench.compiled.linear_algebra import principal_components, second_moments
from pppca_bench.engines.dgha import DGHA
from pppca_bench.engines.gha import GHA
from pppca_bench.engines.gha_epochs import IN_PLACE, LITERAL
from pppca_bench.engines.gha_literal import count_operations
from pppca_bench.engines.ne_ppca import NEpPCA
from pppca_bench.engines.streaming import CCIPCA, FastSimilarityMatching, StreamingPCA


class _ExactComponents:
    """Mixin that replaces the rows of a fitted pseudo-PCA by the same number of exact principal components.

    Attributes
    ----------
    components_ : float64 array, shape (n_components_, n_features)
        Eigenvectors of the covariance matrix by decreasing eigenvalue, of unit norm, the largest weight positive.
    """

    n_components_: int
    mean_: Floats

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Fit the pseudo-PCA to X, shape (n_samples, n_features), and replace its rows by exact components.

        The pseudo-PCA determines their number and the mean. Raises as the pseudo-PCA does.
        """
        super().fit(X, y)  # type: ignore[misc]
        C = second_moments(np.ascontiguousarray(X, dtype=np.float64), self.mean_)
        eigenvalues, rows = principal_components(C)
        self.components_ = rows[: self.n_components_]
        self.explained_variance_ = eigenvalues[: self.n_components_]
        # Constant features have no variance.
        self.explained_variance_ratio_ = self.explained_variance_ / (np.trace(C) or 1.0)
        return self


class PCALikeDGHA(_ExactComponents, DGHA):
    """Exact PCA with as many components as `DGHA` keeps with the same parameters and random numbers.

    Parameters and other attributes as in `DGHA`.
    """


class PCALikeNEpPCA(_ExactComponents, NEpPCA):
    """Exact PCA with as many components as `NEpPCA` keeps with the same parameters and random numbers.

    Parameters and other attributes as in `NEpPCA`.
    """


class _OnePassLikeDGHA(DGHA):
    """Base of one-pass methods that learn as many components as `DGHA` keeps.

    Choice: a one-pass method keeps its own defaults, without ``tau``, since its criterion would remove rows again; of
    DGHA's parameters it has ``centre`` and ``random_state``. Choice: with an integer, the order of the samples is that
    of the one-pass method alone with the same ``random_state``; a generator continues after DGHA.
    """

    _one_pass: ClassVar[type[StreamingPCA]]

    def fit(self, X: ArrayLike, y: None = None) -> Self:
        """Fit DGHA to X, shape (n_samples, n_features), then the one-pass method; raises as both do."""
        super().fit(X, y)
        one_pass = self._one_pass(
            self.n_components_, centre=self.centre, random_state=self.random_state
        )
        learnt = vars(one_pass.fit(X))
        self.__dict__ |= {name: value for name, value in learnt.items() if name.endswith("_")}
        return self


class CCIPCALikeDGHA(_OnePassLikeDGHA):
    """`CCIPCA` with as many components as `DGHA` keeps with the same parameters and random numbers.

    Parameters and ``history_`` as in `DGHA`, other attributes as in `StreamingPCA`. Samples that span fewer directions
    give fewer components.
    """

    _one_pass = CCIPCA


class FSMLikeDGHA(_OnePassLikeDGHA):
    """`FastSimilarityMatching` with as many components as `DGHA` keeps with the same parameters and random numbers.

    Parameters and ``history_`` as in `DGHA`, other attributes as in `StreamingPCA`. Samples that span fewer directions
    give fewer components.
    """

    _one_pass = FastSimilarityMatching


class DGHAWithoutRemoval(DGHA):
    """`DGHA` that starts with as many rows as DGHA keeps with the same parameters, and therefore removes no row.

    It tests the claim that the remaining rows regain the removed variance. Parameters and attributes as in `DGHA`.
    """

    def fit(self, X: ArrayLike, y: None = None) -> Self:
        """Fit DGHA to X, shape (n_samples, n_features), then again with the rows that it keeps; raises as DGHA."""
        kept = DGHA(**self.get_params()).fit(X, y).n_components_
        learnt = DGHA(**(self.get_params() | {"n_components": kept, "min_components": kept})).fit(
            X, y
        )
        self.__dict__ |= (
            vars(learnt) | self.get_params() | {"_first_parameters": check_parameters(self)}
        )
        return self


class DGHAOperations(DGHA, auto_wrap_output_keys=None):  # type: ignore[call-arg]  # no transform to wrap
    """Count the multiply-adds of GHA and of `DGHA` with the same settings, as the slides write their formulas.

    Choice: the slides' speed-ups are ratios of times; counts are the same on any machine. GHA learns all rows in all
    epochs, from all samples, and has no checks. Parameters as in `DGHA`; only measures are learned, no projection.

    Attributes
    ----------
    measures_ : dict of str to float
        ``speedup_operations``: multiply-adds of GHA over those of DGHA; ``dimensionality``: rows that DGHA keeps.
    """

    def fit(self, X: ArrayLike, y: None = None) -> Self:
        """Fit DGHA to X, shape (n_samples, n_features), and count; raises as DGHA."""
        dgha = DGHA(**self.get_params()).fit(X, y)
        self.n_features_in_ = dgha.n_features_in_
        n_rows = self._n_rows_at_start(self.n_features_in_)
        of_an_epoch = count_operations(dgha.n_samples_seen_, n_rows, self.n_features_in_)
        self.measures_ = {
            "speedup_operations": self.n_epochs * of_an_epoch / dgha.n_operations_,
            "dimensionality": dgha.n_components_,
        }
        return self

    @property
    def transform(self) -> Any:
        """Raise AttributeError, so that scikit-learn takes this for an estimator without a projection."""
        raise AttributeError(f"transform of {type(self).__name__}: expected measures_ alone")

    fit_transform = inverse_transform = partial_fit = transform


class LiteralDGHA(DGHA):
    """`DGHA` that evaluates updates and responses literally, several times slower; the results agree up to rounding."""

    _update = LITERAL


class InPlaceGHA(GHA):
    """`GHA` that learns samples in their order, and updates row after row, each from the updated rows before it."""

    _update = IN_PLACE

    def _orders(self, n_samples: int, n_epochs: int) -> Indices:
        return np.tile(np.arange(n_samples, dtype=np.int64), (n_epochs, 1))


@dataclass(eq=False, repr=False)
class NotebookGHA(UnsupervisedMixin, BaseEstimator):
    """Learn all components as in the notebook, and measure a row of W and the norm of X − Y W.

    Source: "Hebbian-Based Principal Component Analysis", `trainNetwork`: η = 1 / n_samples; the samples in their order,
    the first sample last; each row uses the updated rows before it; Y are the outputs of the last pass. The
    inputs are not centred. Choice: the initial rows are random and orthonormal, not uniform with centred columns, since
    only the signs of the last rows depend on them.

    Parameters
    ----------
    component : int, default 1
        The row of W to measure, in [1, n_features].
    n_epochs : int, default 10000
        Passes, >= 1; the notebook makes 10⁴, for four components.
    random_state : int, Generator, RandomState or None, default None
        Source of the initial rows, which only affect the signs of the last rows.

    Attributes
    ----------
    components_ : float64 array, shape (n_features, n_features)
        W after the last pass. Choice: the largest weight of each row is positive, since signs are arbitrary.
    residual_norm_ : float
        Spectral norm of X − Y W.
    measures_ : dict of str to float
        ``weight_1``, ``weight_2``, …: the weights of the row; ``residual_norm``.
    """

    component: Count = 1
    _: KW_ONLY
    n_epochs: Count = 10_000
    random_state: Any = None

    def _learn(self, X: Floats) -> None:
        if self.component > X.shape[1]:
            expected = f"an integer from 1 to {X.shape[1]}"
            raise ParameterError("component", expected, self.component, where=type(self).__name__)
        samples = np.roll(X, -1, axis=0)
        rate = 1.0 / len(samples)
        # All passes except the last. With a single pass, a negligible rate leaves the initial rows unchanged.
        n_before, rate_before = (self.n_epochs - 1, rate) if self.n_epochs > 1 else (1, 1e-300)
        gha = InPlaceGHA(
            n_epochs=n_before,
            learning_rate=rate_before,
            centre=False,
            random_state=self.random_state,
        )
        rows, outputs = gha.fit(samples).components_, np.zeros((len(samples), samples.shape[1]))
        # y_j = w_j x; Δw_j = η y_j (x − Σ_{k≤j} y_k w_k), where the rows before j are already updated
        for n, x in enumerate(samples):
            for j, row in enumerate(rows):
                outputs[n, j] = row @ x
                row += rate * outputs[n, j] * (x - outputs[n, : j + 1] @ rows[: j + 1])
        self.residual_norm_ = float(np.linalg.norm(samples - outputs @ rows, 2))
        largest = np.take_along_axis(rows, np.abs(rows).argmax(axis=1)[:, np.newaxis], axis=1)
        self.components_ = rows * np.where(largest < 0.0, -1.0, 1.0)
        self.measures_ = {"residual_norm": self.residual_norm_} | self._weights(self.components_)

    def _weights(self, rows: Floats) -> dict[str, float]:
        """Return the weights of the row to measure."""
        row = rows[self.component - 1].tolist()
        return {f"weight_{i}": weight for i, weight in enumerate(row, start=1)}


@dataclass(eq=False, repr=False)
class NotebookPCA(NotebookGHA):
    """Compare exact PCA with the rows W of `NotebookGHA`: measure a component, and the spectral norm of PCA − W.

    Source: "Hebbian-Based Principal Component Analysis", "Compare to built-in PCA": components of the centred inputs.

    Parameters
    ----------
    component : int, default 1
        The component to measure, in [1, n_features].
    opposite : list of int, default ()
        Rows, in [1, n_features], whose signs in PCA and W are opposite; of the other rows they are equal. Signs are
        arbitrary, and a row of opposite sign alone makes the norm about 2.
    n_epochs, random_state
        As in `NotebookGHA`.

    Attributes
    ----------
    measures_ : dict of str to float
        ``weight_1``, ``weight_2``, …: the weights of the component, the largest positive; ``pca_distance``: the norm of
        PCA − W; ``residual_norm``, as in `NotebookGHA`.
    """

    opposite: Annotated[tuple[Count, ...], MaxLen(100)] = ()

    def _learn(self, X: Floats) -> None:
        super()._learn(X)
        if beyond := [row for row in self.opposite if row > X.shape[1]]:
            expected = f"rows from 1 to {X.shape[1]}"
            raise ParameterError("opposite", expected, beyond[0], where=type(self).__name__)
        _, exact = principal_components(second_moments(X, X.mean(axis=0)))
        signs = np.sign(np.sum(exact * self.components_, axis=1))
        signs[np.array(self.opposite, dtype=int) - 1] *= -1.0
        distance = np.linalg.norm(signs[:, np.newaxis] * exact - self.components_, 2)
        self.measures_ |= self._weights(exact) | {"pca_distance": float(distance)}
