"""The downstream classifier: multi-layer perceptrons trained by RPROP with early stopping."""

from pppca_bench.classifier.rprop_mlp import RpropMLPClassifier, fit_together

__all__ = ["RpropMLPClassifier", "fit_together"]
