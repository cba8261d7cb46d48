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
}
"""Methods by the name that ``method:`` gives them, the slides' own first."""

CLASSIFIERS: Mapping[str, Entry] = {
    "rprop": Entry("RPROP", "one network, trained by RPROP with early stopping", "Proben1 report, section 3.3"),
    "backprop": Entry("backpropagation", "one network, trained by online backpropagation", "slides (unstated)"),
}
"""Downstream classifiers by the name that ``rule:`` gives them."""
