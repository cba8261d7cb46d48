"""Auto-associative network as a transformer."""

import warnings
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor
from sklearn.utils.validation import check_is_fitted

from pppca_bench.compiled.arrays import Floats
from pppca_bench.parameters import Count, Positive, Share, Tau, check_parameters, make_generator
from pppca_bench.reducers.linear_projection import CountedByEigenvalues, covariance, descending_eigenvalues
from pppca_bench.samples import validated_samples


class Autoencoder(CountedByEigenvalues, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Reduce features to the middle layer of a network that is trained to reproduce its inputs.

    Bishop 1995, section 8.6.2 and figure 8.12: with two layers of weights the M middle nodes, linear or not, lead to
    the space of the first M principal components (Bourlard & Kamp 1988), since the linear outputs lie in M dimensions
    and no M dimensions lose less; four layers of weights, the hidden nodes nonlinear, give a curved space.
    scikit-learn's MLPRegressor on centred inputs, half the squared error (eq. 8.24), all samples at once by L-BFGS.
    Give exactly one of the first three parameters.

    Parameters
    ----------
    n_components, variance_ratio, tau
        Nodes M of the middle layer, counted as `CovariancePCA` does by the eigenvalues of the covariance matrix.
    kind : {"linear", "two_layer", "nonlinear"}, default="linear"
        Inputs, M linear nodes, linear outputs; the same with M tanh nodes; or tanh nodes before, in and after the
        middle layer.
    n_hidden : int or None, default=None
        Nodes of the layers before and after the middle layer, >= 1; for the nonlinear kind only.
        Choice: None gives the number of features, the fewest that do not narrow the data before the middle.
    max_iter : int, default=1000
        >= 1. Choice: the weights after the last iteration are used even if L-BFGS has not converged, since further
        iterations would change the code little; ``converged_`` is then False.
    tol : float, default=1e-6
        Largest entry of the gradient at which L-BFGS ends; > 0.
    random_state : int, RandomState, Generator or None, default=None
        Source of the initial weights.

    Attributes
    ----------
    mean_ : float64 array, shape (n_features,)
    n_components_ : int
    coefs_, intercepts_ : lists of float64 arrays
        Of each layer of weights, shapes (n_sources, n_units) and (n_units,).
    n_iter_ : int
    converged_ : bool
    """

    def __init__(
        self,
        n_components: Count | None = None,
        *,
        variance_ratio: Share | None = None,
        tau: Tau | None = None,
        kind: Literal["linear", "two_layer", "nonlinear"] = "linear",
        n_hidden: Count | None = None,
        max_iter: Count = 1000,
        tol: Positive = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.variance_ratio = variance_ratio
        self.tau = tau
        self.kind = kind
        self.n_hidden = n_hidden
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: None = None) -> Self:  # noqa: ARG002 - scikit-learn's contract
        """Train the network.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features), n_samples >= 2
        y : None
            Ignored.

        Raises
        ------
        ValueError
            If a parameter or X is out of its range.
        """
        check_parameters(self)
        samples = validated_samples(self, X, reset=True, min_samples=2)
        self.n_components_ = self._count(descending_eigenvalues(covariance(samples)))
        self.mean_ = samples.mean(axis=0)
        self._train(samples - self.mean_)
        return self

    def transform(self, X: ArrayLike) -> Floats:
        """Return the values of the middle nodes.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)

        Returns
        -------
        float64 array, shape (n_samples, n_components_)
        """
        check_is_fitted(self)
        samples = validated_samples(self, X)
        return self._through(samples - self.mean_, range(self._n_encoding))

    def inverse_transform(self, X: ArrayLike) -> Floats:
        """Return the network's outputs for values of the middle nodes.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_components_)

        Returns
        -------
        float64 array, shape (n_samples, n_features)
        """
        check_is_fitted(self)
        code = np.asarray(X, dtype=np.float64)
        return self._through(code, range(self._n_encoding, len(self.coefs_))) + self.mean_

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    @property
    def _n_encoding(self) -> int:
        """Number of layers of weights up to the middle nodes."""
        return len(self.coefs_) // 2

    def _train(self, centred: Floats) -> None:
        network = MLPRegressor(
            hidden_layer_sizes=self._layer_sizes(),
            activation="identity" if self.kind == "linear" else "tanh",
            solver="lbfgs",
            alpha=0.0,
            max_iter=self.max_iter,
            max_fun=100 * self.max_iter,
            tol=self.tol,
            random_state=int(make_generator(self.random_state).integers(2**31)),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            network.fit(centred, centred if centred.shape[1] > 1 else centred.ravel())
        self.coefs_, self.intercepts_ = network.coefs_, network.intercepts_
        self.n_iter_ = int(network.n_iter_)
        self.converged_ = self.n_iter_ < self.max_iter

    def _layer_sizes(self) -> tuple[int, ...]:
        if self.kind != "nonlinear":
            return (self.n_components_,)
        n_hidden = self.n_hidden or self.n_features_in_
        return n_hidden, self.n_components_, n_hidden

    def _through(self, values: Floats, layers: range) -> Floats:
        """Pass values through some of the layers of weights."""
        for layer in layers:
            values = values @ self.coefs_[layer] + self.intercepts_[layer]
            if self.kind != "linear" and layer < len(self.coefs_) - 1:
                values = np.tanh(values)
        return values
