"""The downstream classifier: multi-layer perceptrons trained by RPROP or by online backpropagation."""

from pppca_bench.classifiers.backprop_mlp import BackpropMLPClassifier
from pppca_bench.classifiers.mlp import MLPClassifier, fit_together
from pppca_bench.classifiers.rprop_mlp import RpropMLPClassifier

__all__ = ["BackpropMLPClassifier", "MLPClassifier", "RpropMLPClassifier", "fit_together"]
