"""Peak of the machine, in multiply-adds a second in registers, and the share that the kernels reach."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import process_time

from benchmarks import backprop, evolution
from benchmarks.hebbian import SIZES, learn_passes, our_epoch, random_case
from benchmarks.measuring import Contestant, Row, alternate
from benchmarks.operations import (
    Peak,
    describe,
    largest_share,
    load_peak,
    measure_places,
    net_multiply_adds,
    sample_operations,
)
from benchmarks.rprop import CASES, N_NETS, RULE, Case, cell, train_ours
from pppca_bench.classifiers.early_stopping import StoppingRule
from pppca_bench.classifiers.lanes import ADD, LANES, LINEAR
from pppca_bench.classifiers.learning_rules import RpropRule, RpropState, rprop_step
from pppca_bench.classifiers.passes import Block, Network, Samples, backward, compare_outputs, forward, n_fitting
from pppca_bench.classifiers.training import BLOCK_SAMPLES, RpropLanes, Task
from pppca_bench.compiled.arrays import Floats2D
from pppca_bench.compiled.jit import kernel
from pppca_bench.engines import NEpPCA
from pppca_bench.problems import load_problem

SHARES = {
    **{"RPROP, cancer1": 0.45, "RPROP, horse1": 0.60, "RPROP, soybean1": 0.63, "RPROP, thyroid1": 0.55},
    **{f"Backpropagation, {problem}": 0.40 for problem in ("card1", "heart1", "horse1", "soybean1")},
    **{f"GHA, l = m = {size}": 0.60 for size in (200, 512)},
}
"""Shares of the peak to reach."""

PEAK = "multiply-adds in registers"


def rows(data: Path) -> Iterator[Row]:
    """Measure the share of the peak: the peak's time for the multiply-adds of a kernel, over the kernel's."""
    peak = load_peak()
    places = measure_places(peak)
    for case in CASES:
        tasks = cell(case, data, shortcuts=False)
        yield from _rprop_rows(peak, places, case, tasks)
        yield from _part_shares(case, tasks)
    for problem in backprop.PROBLEMS:
        nets = backprop.cell(problem, data)
        n_epochs = backprop.epochs_of_ours(nets)
        work = backprop.N_NETS * n_epochs * net_multiply_adds(nets[0].architecture, len(nets[0].X))
        yield _share(peak, f"Backpropagation, {problem}", partial(backprop.train_ours, nets, n_epochs), work)
    yield from _evolution_rows(peak, data)
    for size, (n_samples, *_) in SIZES.items():
        n_passes = max(1, 100_000 // size**2)
        learn = partial(learn_passes, our_epoch, random_case(size, n_samples), n_passes)
        yield _share(peak, f"GHA, l = m = {size}", learn, n_passes * n_samples * 3 * size**2)


def _rprop_rows(peak: Peak, places: dict[str, float], case: Case, tasks: list[Task]) -> Iterator[Row]:
    """Measure RPROP's share of the peak and count its upper bound."""
    architecture = tasks[0].architecture
    work = N_NETS * case.n_epochs * net_multiply_adds(architecture, len(tasks[0].X))
    yield _share(peak, f"RPROP, {case.problem}", partial(train_ours, tasks, case.n_epochs), work)
    counts = sample_operations(architecture, BLOCK_SAMPLES)
    bound, note = largest_share(counts, places, N_NETS), describe(counts, places, N_NETS)
    yield Row(f"RPROP at most, {case.problem}", PEAK, "million", None, bound, note=note)


@kernel
def take_steps(rule: RpropRule, state: RpropState, n: int) -> None:
    """Make RPROP's own step, without a gradient, n times."""
    for _ in range(n):
        rprop_step(rule, state)


@kernel
def pass_forward(network: Network, weights: Floats2D, samples: Samples, block: Block, n: int) -> None:
    """Pass all samples forward, n times."""
    for _ in range(n):
        for first in range(0, samples.n_samples, block.n_samples):
            forward(network, weights, samples, first, n_fitting(block, samples, first), block, 0)


@kernel
def measure_outputs(network: Network, samples: Samples, block: Block, n: int) -> None:
    """Take errors and squared errors of all samples from values that stand in the block, n times."""
    for _ in range(n):
        for first in range(0, samples.n_samples, block.n_samples):
            compare_outputs(network, samples, first, n_fitting(block, samples, first), block)


@kernel
def pass_back(network: Network, state: RpropState, samples: Samples, block: Block, n: int) -> None:
    """Pass the block's errors back and add up the gradient, for all samples, n times."""
    for _ in range(n):
        for first in range(0, samples.n_samples, block.n_samples):
            mode = ADD if first > 0 else LINEAR
            n_samples = n_fitting(block, samples, first)
            backward(network, state.weights, samples, first, n_samples, block, state.gradient, mode, 0)


def _part_shares(case: Case, tasks: list[Task]) -> Iterator[Row]:
    """Measure each part of an epoch, of eight nets, by itself."""
    n, seated = case.n_epochs, tasks[:LANES]
    lanes = RpropLanes(seated, RULE, StoppingRule(1, math.inf, 0.0, 1))
    lanes.assign_lanes()
    network, weights, samples, block = lanes.network, lanes.state.weights, lanes.training, lanes.block
    parts = {
        "forward pass": Contestant(partial(pass_forward, network, weights, samples, block, n), n),
        "output errors": Contestant(partial(measure_outputs, network, samples, block, n), n),
        "backward pass": Contestant(partial(pass_back, network, lanes.state, samples, block, n), n),
        "own step": Contestant(partial(take_steps, RULE, lanes.state, 100 * n), 100 * n),
    }
    times = alternate({"ours": Contestant(partial(train_ours, seated, n), n)} | parts, budget_s=2.0, clock=process_time)
    # The best rounds again, as of the shares: a part of a few microseconds is quicker disturbed than the whole.
    best = {name: 1e6 * min(times[name]) for name in times}
    for name in parts:
        what = f"RPROP's {name}, {case.problem}"
        yield Row(what, "share of the epoch", "epoch", None, best[name] / best["ours"], best["ours"], best[name])


def evolution_multiply_adds(model: NEpPCA, n_features: int) -> float:
    """Count an evolution's: Gram-Schmidt and the variances, from half of C, of all nodes, at each evaluation."""
    nodes = model.history_["mean_dimensionality"]
    before = [nodes[0], *nodes[:-1]]
    return model.population_size * sum(n * n * n_features + n * n_features**2 / 2 for n in before)


def _evolution_rows(peak: Peak, data: Path) -> Iterator[Row]:
    for name in evolution.TARGETS:
        X = load_problem(name, data).X_train
        model = NEpPCA(tau=evolution.TAU, random_state=0).fit(X)
        yield _share(peak, f"NE-pPCA, {name}", partial(model.fit, X), evolution_multiply_adds(model, X.shape[1]))


def _share(peak: Peak, what: str, call: Callable[[], object], work: float) -> Row:
    contestants = {"ours": Contestant(call, work / 1e6), "peak": peak.multiply_adds()}
    times = alternate(contestants, budget_s=2.0, clock=process_time)
    # The best round of each: other processes on a shared core halve its peak, and slow a kernel less.
    ours, best = (1e6 * min(times[name]) for name in ("ours", "peak"))
    return Row(what, PEAK, "million", SHARES.get(what), checked_share(what, best / ours), ours, best)


def checked_share(what: str, share: float) -> float:
    """Return a share of the peak.

    Raises
    ------
    ValueError
        It exceeds one, so that the peak was measured wrongly.
    """
    if share > 1.0:
        raise ValueError(
            f"{what}: expected at most the peak of the machine, got {share:.2f} times the measured peak, which is "
            "therefore too low. Measure again on an idle machine, and check that peak.c fills its registers."
        )
    return share
