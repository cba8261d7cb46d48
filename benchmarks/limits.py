"""Peak of the machine, in multiply-adds a second in registers, and the share that the kernels reach."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import process_time

from benchmarks import backprop, evolution
from benchmarks.hebbian import SIZES, learn_passes, our_epoch, random_case
from benchmarks.measuring import Contestant, Row, alternate
from benchmarks.operations import (
    Peak,
    largest_share,
    load_peak,
    measure_places,
    net_multiply_adds,
    sample_operations,
)
from benchmarks.rprop import CASES, N_NETS, cell, train_ours
from pppca_bench.classifiers.training import BLOCK_SAMPLES
from pppca_bench.engines import NEpPCA
from pppca_bench.problems import load_problem

RPROP = {"cancer1": 0.45, "horse1": 0.60, "soybean1": 0.63, "thyroid1": 0.55}
BACKPROP = 0.40
GHA = {200: 0.60, 512: 0.60}
"""Shares of the peak to reach."""


def rows(data: Path) -> Iterator[Row]:
    """Measure the share of the peak: the peak's time for the multiply-adds of a kernel, over the kernel's."""
    peak = load_peak()
    places = measure_places(peak)
    for case in CASES:
        tasks = cell(case, data, shortcuts=False)
        architecture = tasks[0].architecture
        work = N_NETS * case.n_epochs * net_multiply_adds(architecture, len(tasks[0].X))
        share = share_of(peak, partial(train_ours, tasks, case.n_epochs), work)
        bound = largest_share(sample_operations(architecture, BLOCK_SAMPLES), places, N_NETS)
        yield _row(f"RPROP, {case.described}", share, RPROP[case.problem], f"at most {bound:.2f}")
    for problem in backprop.PROBLEMS:
        nets = backprop.cell(problem, data)
        n_epochs = backprop.epochs_of_a_turn(nets)
        work = backprop.N_NETS * n_epochs * net_multiply_adds(nets[0].architecture, len(nets[0].X))
        share = share_of(peak, partial(backprop.train_ours, nets, n_epochs), work)
        yield _row(f"Backpropagation, {problem}", share, BACKPROP)
    for size, (n_samples, _) in SIZES.items():
        n_passes = max(1, 100_000 // size**2)
        learn = partial(learn_passes, our_epoch, random_case(size, n_samples), n_passes)
        yield _row(
            f"GHA, l = m = {size}",
            share_of(peak, learn, n_passes * n_samples * 3 * size**2),
            GHA.get(size),
        )
    for name in evolution.TARGETS:
        X = load_problem(name, data).X_train
        model = NEpPCA(tau=evolution.TAU, random_state=0).fit(X)
        yield _row(
            f"NE-pPCA, {name}",
            share_of(peak, partial(model.fit, X), evolution_multiply_adds(model)),
        )


def _row(what: str, share: float, target: float | None = None, ours: str = "") -> Row:
    return Row(what, "peak", share, ours, target)


def evolution_multiply_adds(model: NEpPCA) -> float:
    """Count an evolution's: Gram-Schmidt and the variances, from half of C, of all nodes, at each evaluation."""
    nodes, n_features = model.history_["mean_dimensionality"], model.n_features_in_
    before = [nodes[0], *nodes[:-1]]
    return model.population_size * sum(n * n * n_features + n * n_features**2 / 2 for n in before)


def share_of(peak: Peak, call: Callable[[], object], work: float) -> float:
    """Return the share of the peak of a call with so many multiply-adds.

    Raises
    ------
    ValueError
        It exceeds one, so that the peak was measured wrongly.
    """
    contestants = {"ours": Contestant(call, work / 1e6), "peak": peak.multiply_adds()}
    times = alternate(contestants, clock=process_time)
    # The best round of each: other processes on a shared core halve its peak, and slow a kernel less.
    share = min(times["peak"]) / min(times["ours"])
    if share > 1.0:
        raise ValueError(
            f"Peak: expected at most the peak of the machine, got {share:.2f} times the measured peak, which is "
            "therefore too low. Measure again on an idle machine, and check that peak.c fills its registers."
        )
    return share
