"""Experiment runner and library for pseudo-PCA (GHA, DGHA, NE-pPCA) on the Proben1 problems."""

__version__ = "0.1.0"
