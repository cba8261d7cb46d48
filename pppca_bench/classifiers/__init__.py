"""Classifiers: multi-layer perceptrons trained by RPROP or online backpropagation, and systems that need no reducer."""

from pppca_bench.classifiers.gradient_mlp import (
    BackpropMLPClassifier,
    RpropMLPClassifier,
    RpropMLPRegressor,
)
from pppca_bench.classifiers.mlp import MLP, MLPClassifier, fit_together
from pppca_bench.classifiers.network import squared_error_percent

__all__ = [
    "MLP",
    "BackpropMLPClassifier",
    "MLPClassifier",
    "RpropMLPClassifier",
    "RpropMLPRegressor",
    "fit_together",
    "squared_error_percent",
]
