"""The registry: names of the configs to the estimators behind them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pppca_bench.classifiers import BackpropMLPClassifier, RpropMLPClassifier
from pppca_bench.classifiers.ensembles import AdaBoostClassifier, BaggingClassifier
from pppca_bench.classifiers.ga_mlp import GAMLPClassifier
from pppca_bench.classifiers.pruned_mlp import PrunedMLPClassifier
from pppca_bench.classifiers.rfe_svm import RFESVMClassifier
from pppca_bench.engines import DGHA, GHA, NEpPCA
from pppca_bench.reducers.autoencoder import Autoencoder
from pppca_bench.reducers.filter_selection import ChiSquaredSelector, MutualInformationSelector
from pppca_bench.reducers.ica import ICA
from pppca_bench.reducers.kernel_pca import GaussianKernelPCA
from pppca_bench.reducers.layered_gp import LayeredGP
from pppca_bench.reducers.lda import LDA
from pppca_bench.reducers.network_rfe import NetworkRFE
from pppca_bench.reducers.pca import CovariancePCA, SingularValuePCA
from pppca_bench.reducers.sequential_selection import BackwardSelector, ForwardSelector
from pppca_bench.runs import Parameters

FloatArray = NDArray[np.float64]


class AllFeatures:
    """Hand on every feature as it is, for the classifier without any reduction."""

    history_: Mapping[str, NDArray[Any]] = {}

    def __init__(self, random_state: int | None = None) -> None:
        self.random_state = random_state

    def fit(self, X: FloatArray, y: NDArray[Any] | None = None) -> AllFeatures:  # noqa: ARG002
        """Learn nothing."""
        return self

    def transform(self, X: FloatArray) -> FloatArray:
        """Return the inputs."""
        return X

    def inverse_transform(self, X: FloatArray) -> FloatArray:
        """Return the inputs."""
        return X


METHODS: dict[str, Callable[..., Any]] = {
    "gha": GHA,
    "dgha": DGHA,
    "ne_ppca": NEpPCA,
    "all_features": AllFeatures,
    "pca": CovariancePCA,
    "pca_svd": SingularValuePCA,
    "kernel_pca": GaussianKernelPCA,
    "ica": ICA,
    "lda": LDA,
    "autoencoder": Autoencoder,
    "flgp": LayeredGP,
    "mutual_info": MutualInformationSelector,
    "chi2": ChiSquaredSelector,
    "forward": ForwardSelector,
    "backward": BackwardSelector,
    "rfe": NetworkRFE,
    "ga_mlp": GAMLPClassifier,
    "pruned_mlp": PrunedMLPClassifier,
    "rfe_svm": RFESVMClassifier,
}
"""Methods of the configs.

Each is made of its section's parameters (``hidden`` is ``hidden_layer_sizes``) and, where it has parameters of these
names, of ``random_state`` and of ``estimator``, the config's classifier. `fit` gets the training split, and the
validation split where it has ``X_val``; a method with `predict` classifies by itself, any other by `transform` and a
classifier.
"""

CLASSIFIERS: dict[str, Callable[..., Any]] = {
    "rprop": RpropMLPClassifier,
    "backprop": BackpropMLPClassifier,
    "bagging": BaggingClassifier,
    "adaboost": AdaBoostClassifier,
}
"""Learning rules of the configs; parameters as in the section, but ``hidden`` is ``hidden_layer_sizes``."""


def make_classifier(parameters: Parameters, seed: int) -> Any:
    """Make a run's classifier.

    Parameters
    ----------
    parameters : tuple of (str, scalar)
        As in `RunSpec.classifier`; names that begin with ``base.`` are of the classifier that an ensemble is made of.
    seed : int
        The classifier's ``random_state``.
    """
    given: dict[str, Any] = dict(parameters)
    base = tuple((name.removeprefix("base."), given.pop(name)) for name in list(given) if name.startswith("base."))
    if base:
        given["estimator"] = make_classifier(base, seed)
    return CLASSIFIERS[str(given.pop("rule"))](**estimator_parameters(given), random_state=seed)


def estimator_parameters(section: Mapping[str, Any]) -> dict[str, Any]:
    """Return a section's values by the names that the estimators have for them."""
    return {"hidden_layer_sizes" if name == "hidden" else name: value for name, value in section.items()}
