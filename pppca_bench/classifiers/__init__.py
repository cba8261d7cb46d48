"""Classifiers: multi-layer perceptrons trained by RPROP or online backpropagation, and systems that need no reducer."""

from pppca_bench.classifiers.backprop_mlp import BackpropMLPClassifier
from pppca_bench.classifiers.mlp import MLP, MLPClassifier, fit_together
from pppca_bench.classifiers.network import squared_error_percent
from pppca_bench.classifiers.rprop_mlp import RpropMLPClassifier, RpropMLPRegressor

__all__ = [
    "MLP",
    "BackpropMLPClassifier",
    "MLPClassifier",
    "RpropMLPClassifier",
    "RpropMLPRegressor",
    "fit_together",
    "squared_error_percent",
]
