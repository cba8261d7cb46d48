"""Pseudo-PCA (GHA, DGHA, NE-pPCA): estimators, and an experiment runner for the Proben1 problems.

Public names are imported at their first use, so that ``import pppca_bench`` is immediate.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pppca_bench.version import __version__ as __version__

if TYPE_CHECKING:
    from pppca_bench.base.genetic import GeneticAlgorithm
    from pppca_bench.classifiers import BackpropMLPClassifier, RpropMLPClassifier
    from pppca_bench.config.given import Table
    from pppca_bench.engines import DGHA, GHA, NEpPCA
    from pppca_bench.experiments.pipeline import pipeline
    from pppca_bench.methods.entry import Classifier, Method
    from pppca_bench.notebook import run
    from pppca_bench.problems import Problem, known_problems, load_problem
    from pppca_bench.problems.declaration import read_table
    from pppca_bench.store.export import load_predictions, load_results

__all__ = [
    "DGHA",
    "GHA",
    "BackpropMLPClassifier",
    "Classifier",
    "GeneticAlgorithm",
    "Method",
    "NEpPCA",
    "Problem",
    "RpropMLPClassifier",
    "Table",
    "known_problems",
    "load_predictions",
    "load_problem",
    "load_results",
    "pipeline",
    "read_table",
    "run",
]

_NAMES = {
    "base.genetic": ("GeneticAlgorithm",),
    "classifiers": ("BackpropMLPClassifier", "RpropMLPClassifier"),
    "config.given": ("Table",),
    "engines": ("DGHA", "GHA", "NEpPCA"),
    "experiments.pipeline": ("pipeline",),
    "methods.entry": ("Classifier", "Method"),
    "notebook": ("run",),
    "problems": ("Problem", "known_problems", "load_problem"),
    "problems.declaration": ("read_table",),
    "store.export": ("load_predictions", "load_results"),
}


def __getattr__(name: str) -> Any:
    for module, names in _NAMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
