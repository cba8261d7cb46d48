"""What each method and each downstream classifier is, in a line, and where it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """Describe one name of the configs.

    Attributes
    ----------
    title : str
        As tables print it.
    does : str
        What it does, in a clause.
    source : str
        Where it comes from.
    """

    title: str
    does: str
    source: str


METHODS: Mapping[str, Entry] = {
    "gha": Entry("GHA", "generalized Hebbian algorithm, all nodes learn", "Sanger 1989; slides"),
    "dgha": Entry("DGHA", "GHA that removes nodes by criterion (1) while it learns", "slides"),
    "dgha_speedup": Entry("DGHA against GHA", "times and operations of the two, measured alternately", "slides"),
    "ne_ppca": Entry("NE-pPCA", "genetic algorithm that evolves an orthonormal linear network", "slides"),
    "all_features": Entry("all features", "no reduction, the classifier alone", "Proben1 report"),
    "pca": Entry("PCA", "exact principal components, by eigenvectors of the covariance matrix", "Hotelling 1933"),
    "pca_svd": Entry("PCA (SVD)", "exact principal components, by singular values", "Eckart & Young 1936"),
    "kernel_pca": Entry("kernel PCA", "components in the space of a Gaussian kernel", "Schölkopf, Smola & Müller 1998"),
    "ica": Entry("ICA", "independent components (FastICA)", "Hyvärinen & Oja 2000"),
    "lda": Entry("LDA", "Fisher's linear discriminants", "Fisher 1936; Rao 1948"),
    "autoencoder": Entry("autoencoder", "middle layer of an auto-associative network", "Bourlard & Kamp 1988"),
    "flgp": Entry("FLGP", "expressions evolved in layers by genetic programming", "slides; gplearn"),
    "mutual_info": Entry("mutual information", "features that tell most of the class", "Battiti 1994"),
    "chi2": Entry("chi-squared", "features of the greatest chi-squared statistic", "Liu & Setiono 1995"),
    "forward": Entry("forward selection", "features added one by one by validation error", "Whitney 1971"),
    "backward": Entry("backward elimination", "features removed one by one by validation error", "Marill & Green 1963"),
    "rfe": Entry("RFENN", "features removed one by one by the weights of networks", "slides; Guyon et al. 2002"),
    "ga_mlp": Entry(
        "GA", "network whose weights a genetic algorithm evolves; classifies by itself", "textbook GA; slides"
    ),
    "pruned_mlp": Entry(
        "Pruning",
        "network that loses weights by saliency and is trained again; classifies by itself",
        "LeCun, Denker & Solla 1990; slides",
    ),
    "rfe_svm": Entry(
        "RFESVM",
        "recursive feature elimination with a linear support vector machine; classifies by itself",
        "Guyon et al. 2002; slides",
    ),
}
"""Methods by the name that ``method:`` gives them, the slides' own first."""

CLASSIFIERS: Mapping[str, Entry] = {
    "rprop": Entry("RPROP", "one network, trained by RPROP with early stopping", "Proben1 report, section 3.3"),
    "backprop": Entry("backpropagation", "one network, trained by online backpropagation", "slides (unstated)"),
    "bagging": Entry("bagging", "mean of networks of bootstrap samples", "Breiman 1996"),
    "adaboost": Entry("AdaBoost", "vote of networks, each trained on what others got wrong", "Freund & Schapire 1996"),
}
"""Downstream classifiers by the name that ``rule:`` gives them."""
