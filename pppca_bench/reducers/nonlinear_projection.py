"""Nonlinear projections: an autoencoder, trained by L-BFGS, kernel PCA, and the hidden layer of a classifier."""

from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.spatial.distance import pdist
from sklearn.decomposition import KernelPCA
from sklearn.utils.validation import check_is_fitted

from pppca_bench.base.parameters import Count, LayerSizes, Positive, Positives, make_generator
from pppca_bench.base.projection import Projection, UnsupervisedMixin
from pppca_bench.base.samples import unit_of, validated_projections
from pppca_bench.classifiers import RpropMLPClassifier
from pppca_bench.classifiers.network import HiddenActivation, activated
from pppca_bench.classifiers.training_data import Split, SplitEstimator
from pppca_bench.compiled.arrays import Floats
from pppca_bench.compiled.linear_algebra import principal_components, product, rounded
from pppca_bench.reducers.linear_projection import SpectrumReducer, covariance
from pppca_bench.reducers.wrapper_selection import candidate_classifier, validation_errors

_EVALUATIONS = 20
"""Most evaluations of the loss for each iteration of L-BFGS."""


@dataclass(eq=False, repr=False, kw_only=True)
class Autoencoder(UnsupervisedMixin, SpectrumReducer):
    """Reduce features to the middle layer of a network that is trained to reproduce its inputs.

    Bishop 1995, section 8.6.2 and figure 8.12: with two layers of weights, the M middle nodes, linear or not, span the
    space of the first M principal components (Bourlard & Kamp 1988), since the linear outputs lie in M dimensions and
    no other M dimensions have a smaller error; four layers with nonlinear hidden nodes give a curved space. Inputs are
    centred, and divided by a power of ten (`unit_of`), so that their scale does not matter; half the mean squared error
    (eq. 8.24) of all samples is minimised by SciPy's L-BFGS-B, and the weights are `rounded`.

    Choice: initial weights and biases are uniform in ±√(6 / (n_sources + n_units)) (Glorot and Bengio 2010).

    Parameters
    ----------
    n_components, variance_ratio, tau
        Number M of nodes in the middle layer, as in `SpectrumReducer`, by eigenvalues of the covariance matrix.
    kind : {"linear", "two_layer", "nonlinear"}, default="linear"
        M linear nodes between inputs and linear outputs; M tanh nodes; or tanh nodes before, in and after the middle
        layer.
    n_hidden : int or None, default=None
        Number of nodes in the layers before and after the middle layer, >= 1; for the nonlinear kind only.
        Choice: None means n_features, the smallest number without loss before the middle layer.
    max_iter : int, default=1000
        >= 1. Choice: the weights after the last iteration are used even if L-BFGS has not converged, since further
        iterations hardly change the projections; ``converged_`` is then False.
    tol : float, default=1e-6
        Bound of the entries of the gradient, by scaled inputs, at which L-BFGS ends; > 0.
    random_state : int, RandomState, Generator or None, default=None
        Source of the initial weights.

    Attributes
    ----------
    mean_ : float64 array, shape (n_features,)
    n_components_ : int
    coefs_, intercepts_ : lists of float64 arrays
        Weights and biases of each layer, shapes (n_sources, n_units) and (n_units,).
    n_iter_ : int
    converged_ : bool
    """

    kind: Literal["linear", "two_layer", "nonlinear"] = "linear"
    n_hidden: Count | None = None
    max_iter: Count = 1000
    tol: Positive = 1e-6
    random_state: Any = None

    def _learn(self, X: Floats) -> None:
        self.n_components_ = self._count(principal_components(covariance(X))[0])
        self.mean_ = X.mean(axis=0)
        unit = unit_of(X)
        layers = self._trained((X - self.mean_) / unit)
        layers[0][:-1] /= unit
        layers[-1] *= unit
        self.coefs_ = [layer[:-1] for layer in layers]
        self.intercepts_ = [layer[-1] for layer in layers]

    def _projected(self, X: Floats) -> Floats:
        return self._apply_layers(X - self.mean_, range(self._n_encoding))

    def inverse_transform(self, X: ArrayLike) -> Floats:
        """Map projections, (n_samples, n_components_), to outputs of the network, (n_samples, n_features)."""
        check_is_fitted(self)
        code = validated_projections(self, X, self.n_components_)
        return self._apply_layers(code, range(self._n_encoding, len(self.coefs_))) + self.mean_

    @property
    def _n_encoding(self) -> int:
        """Number of layers of weights before the middle nodes."""
        return len(self.coefs_) // 2

    def _trained(self, centred: Floats) -> list[Floats]:
        """Return the weights of each layer, with biases in the last row."""
        sizes = centred.shape[1], *self._layer_sizes(), centred.shape[1]
        shapes = [(before + 1, units) for before, units in pairwise(sizes)]
        rng = make_generator(self.random_state)
        start = list[Floats]()
        for n_rows, n_units in shapes:
            limit = np.sqrt(6.0 / (n_rows - 1 + n_units))
            start.append(rng.uniform(-limit, limit, size=n_rows * n_units))
        ends = np.cumsum([len(weights) for weights in start])[:-1]

        def layers_of(weights: Floats) -> list[Floats]:
            return [
                part.reshape(shape)
                for part, shape in zip(np.split(weights, ends), shapes, strict=True)
            ]

        def objective(weights: Floats) -> tuple[float, Floats]:
            return self._loss(layers_of(weights), centred)

        limits = {"maxiter": self.max_iter, "maxfun": _EVALUATIONS * self.max_iter}
        ends_by = {"gtol": self.tol, "ftol": 0.0}
        found = minimize(
            objective, np.concatenate(start), method="L-BFGS-B", jac=True, options=limits | ends_by
        )
        self.n_iter_ = int(found.nit)
        self.converged_ = self.n_iter_ < self.max_iter
        return layers_of(rounded(found.x))

    def _loss(self, layers: list[Floats], X: Floats) -> tuple[float, Floats]:
        """Return half the mean squared error E of the network, and the gradient of E."""
        values = [X]
        for number, layer in enumerate(layers):
            net = product(values[-1], layer[:-1]) + layer[-1]
            values.append(np.tanh(net) if self._is_nonlinear(number, len(layers)) else net)
        error = values[-1] - X
        # ∂E/∂net of the last layer is error / size; of each layer ∂E/∂W = valuesᵀ ∂E/∂net, and for the layer below
        # ∂E/∂net ← (∂E/∂net Wᵀ) (1 − values²) with tanh.
        slope, gradients = error / error.size, list[Floats]()
        for number in reversed(range(len(layers))):
            of_weights = product(values[number].T, slope)
            gradients.append(np.concatenate([of_weights.ravel(), slope.sum(axis=0)]))
            if number:
                slope = product(slope, layers[number][:-1].T)
                if self._is_nonlinear(number - 1, len(layers)):
                    slope = slope * (1.0 - np.square(values[number]))
        return 0.5 * float(np.square(error).mean()), np.concatenate(gradients[::-1])

    def _layer_sizes(self) -> tuple[int, ...]:
        if self.kind != "nonlinear":
            return (self.n_components_,)
        n_hidden = self.n_hidden or self.n_features_in_
        return n_hidden, self.n_components_, n_hidden

    def _is_nonlinear(self, layer: int, n_layers: int) -> bool:
        """Return whether the nodes of a layer are tanh: not in linear networks, and not the outputs."""
        return self.kind != "linear" and layer < n_layers - 1

    def _apply_layers(self, values: Floats, layers: range) -> Floats:
        """Pass values through a range of layers of weights."""
        for layer in layers:
            values = product(values, self.coefs_[layer]) + self.intercepts_[layer]
            if self._is_nonlinear(layer, len(self.coefs_)):
                values = np.tanh(values)
        return values


@dataclass(eq=False, repr=False, kw_only=True)
class GaussianKernelPCA(SpectrumReducer, SplitEstimator):
    """Project on principal components in the space of the kernel exp(−‖x − x'‖² / (2 width²)), by scikit-learn.

    Schölkopf, Smola & Müller 1998. Choice: at most n_features components, since a narrow kernel has n_samples
    nearly equal eigenvalues.

    Parameters
    ----------
    n_components, variance_ratio, tau
        As in `SpectrumReducer`, for eigenvalues of the centred kernel matrix.
    width_factors : sequence of float, default=(0.25, 0.5, 1.0, 2.0, 4.0)
        Candidates for the width, in units of the median distance of training samples; > 0. The validation error
        chooses. Choice: with equal errors the fewest components, then the first; the widths double from kernels of near
        neighbours to a nearly linear kernel.
    estimator : classifier or None, default=None
        Unfitted; its validation error chooses the width. None: `RpropMLPClassifier` with 16 hidden nodes.
    random_state : int, RandomState, Generator or None, default=None
        Source of the held-out share and of the classifier's seed.

    Attributes
    ----------
    width_ : float
    n_components_ : int
    eigenvalues_ : float64 array
        Decreasing eigenvalues of the centred kernel matrix.
    kernel_pca_ : sklearn.decomposition.KernelPCA
    history_ : dict
        ``width``, ``n_components`` and ``validation_error_percent`` of each width.
    """

    width_factors: Positives = (0.25, 0.5, 1.0, 2.0, 4.0)
    estimator: Any = None
    random_state: Any = None

    @property
    def _uses_validation(self) -> bool:
        return len(self.width_factors) > 1

    def _learn(self, split: Split, rng: np.random.Generator) -> None:
        widths = median_distance(split.X) * np.asarray(self.width_factors, dtype=np.float64)
        size = min(split.X.shape)
        pcas = [
            KernelPCA(size, kernel="rbf", gamma=0.5 / width**2, eigen_solver="dense")
            for width in widths
        ]
        fits = [pca.set_output(transform="default").fit(split.X) for pca in pcas]
        counts = np.array([self._count(fit.eigenvalues_) for fit in fits])
        candidates = [
            split._replace(
                X=fit.transform(split.X)[:, :n].copy(),
                X_val=fit.transform(split.X_val)[:, :n].copy(),
            )
            for fit, n in zip(fits, counts, strict=True)
        ]
        errors = validation_errors(candidate_classifier(self.estimator, rng), candidates)
        best = int(np.lexsort((counts, errors))[0])
        self.kernel_pca_ = fits[best]
        self.width_ = float(widths[best])
        self.n_components_ = int(counts[best])
        self.eigenvalues_ = self.kernel_pca_.eigenvalues_
        self.history_ = {
            "width": widths,
            "n_components": counts,
            "validation_error_percent": errors,
        }

    def _projected(self, X: Floats) -> Floats:
        projections: Floats = self.kernel_pca_.transform(X)[:, : self.n_components_]
        return rounded(np.ascontiguousarray(projections))


@dataclass(eq=False, repr=False)
class HiddenLayer(Projection, SplitEstimator):
    """Reduce features to the activations of a classifier's last hidden layer (Mitchell 2006, "Hidden Layers").

    An RPROP network learns the classes; its outputs are not used. Choice: softsign nodes, as in Proben1, in place of
    the source's logistic nodes, and ``input_scaling="rms"``, so that the scale of the features does not matter.

    Parameters
    ----------
    n_components : int, default=2
        Number of nodes in the last hidden layer, >= 1. Choice: 2, for a plane to draw.
    layers_before : sequence of int, or int, default=()
        Nodes of each hidden layer before it, >= 1: the features are then nonlinear in more than a single step.
    hidden_activation : {"softsign", "logistic", "tanh"}, default="softsign"
        Activation of the hidden nodes; "logistic" is the source's.
    random_state : int, RandomState, Generator or None, default=None
        Source of the held-out share and of the network's seed.

    Attributes
    ----------
    network_ : RpropMLPClassifier
    n_components_ : int
    """

    n_components: Count = 2
    _: KW_ONLY
    layers_before: LayerSizes = ()
    hidden_activation: HiddenActivation = "softsign"
    random_state: Any = None

    def _learn(self, split: Split, rng: np.random.Generator) -> None:
        network = RpropMLPClassifier(
            (*np.ravel(self.layers_before).astype(int).tolist(), self.n_components),
            hidden_activation=self.hidden_activation,
            input_scaling="rms",
            random_state=int(rng.integers(2**31)),
        )
        self.network_ = network.fit(*split, classes=self.classes_)
        self.n_components_ = int(self.n_components)

    def _projected(self, X: Floats) -> Floats:
        network = self.network_
        values = (X - network.mean_) / network.scale_
        # All layers of weights but that of the outputs
        for coefs, intercepts in zip(network.coefs_[:-1], network.intercepts_[:-1], strict=True):
            values = activated(product(values, coefs) + intercepts, self.hidden_activation)
        return values


def median_distance(X: Floats) -> float:
    """Return the median distance between different training samples.

    Choice: pairs of equal samples, which are frequent in discrete data, do not count; 1 if all samples are equal.
    """
    distances = pdist(X)
    positive = distances[distances > 0.0]
    return float(np.median(positive)) if positive.size else 1.0
