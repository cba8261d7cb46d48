"""A whole NE-pPCA evolution against NumPy that computes the responses of all samples."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.measuring import Contestant, Row, compare
from benchmarks.numpy_ne_ppca import SETTINGS, evolve
from pppca_bench.engines import NEpPCA
from pppca_bench.problems import load_problem

TARGETS = {"horse1": 20.0, "thyroid1": 100.0}
TAU = 10.0


def rows(data: Path) -> Iterator[Row]:
    """Measure evolutions with the estimator's defaults."""
    defaults = NEpPCA().get_params()
    options = {name: defaults[name] for name in SETTINGS}
    for name, target in TARGETS.items():
        X = load_problem(name, data).X_train
        ours = Contestant(partial(NEpPCA(tau=TAU, random_state=0).fit, X), 1)
        peer = Contestant(partial(evolve, X, tau=TAU, seed=0, **options), 1)
        peers = {"NumPy, responses of all samples": (peer, target)}
        yield from compare(f"NE-pPCA, {name}", "evolution", ours, peers)
