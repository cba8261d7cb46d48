"""The downstream classifier: multi-layer perceptrons trained by RPROP or by online backpropagation."""

from pppca_bench.classifier._mlp import fit_together
from pppca_bench.classifier.backprop_mlp import BackpropMLPClassifier
from pppca_bench.classifier.rprop_mlp import RpropMLPClassifier

__all__ = ["BackpropMLPClassifier", "RpropMLPClassifier", "fit_together"]
