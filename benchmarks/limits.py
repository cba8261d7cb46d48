"""What the machine could do at most: multiply-adds a second in registers, and the share that the kernels reach."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks import backprop, evolution
from benchmarks.compiled import load_c
from benchmarks.hebbian import SIZES, learn_passes, our_epoch, random_case
from benchmarks.measuring import Contestant, Row, alternate, median_ratio
from benchmarks.rprop import CASES, N_NETS, RULE, Case, cell, train_ours
from pppca_bench.classifiers.batch_training import Lanes, Task
from pppca_bench.classifiers.early_stopping import StoppingRule
from pppca_bench.classifiers.lanes import LANES
from pppca_bench.classifiers.network import Architecture
from pppca_bench.classifiers.rprop import RpropRule, RpropState, rprop_step
from pppca_bench.compiled.jit import kernel
from pppca_bench.engines import NEpPCA
from pppca_bench.problems import load_problem

LOOPS = 1_000_000
MULTIPLY_ADDS = LOOPS * 16 * 8


def net_multiply_adds(architecture: Architecture, n_samples: int) -> int:
    """Count an epoch of a net without shortcuts: outputs, gradient, and the errors passed back to hidden units.

    Online backpropagation adds the gradient to the weights as it computes it, which makes it the update.
    """
    weights = architecture.n_weights
    passed_back = sum(
        n_units * size
        for n_units, size in zip(architecture.layer_sizes[1:], architecture.hidden_layer_sizes, strict=True)
    )
    return n_samples * (2 * weights + passed_back)


def rows(data: Path) -> Iterator[Row]:
    """Measure the share of the peak: the peak's time for the multiply-adds of a kernel, over the kernel's."""
    library = load_c("peak")
    library.multiply_add.restype = ctypes.c_double
    for case in CASES:
        tasks = cell(case, data, shortcuts=False)
        work = N_NETS * case.n_epochs * net_multiply_adds(tasks[0].architecture, len(tasks[0].X))
        yield _share(library, f"RPROP, {case.problem}", partial(train_ours, tasks, case.n_epochs), work)
        yield _step_share(case, tasks)
    for problem in backprop.PROBLEMS:
        nets = backprop.cell(problem, data)
        n_epochs = backprop.epochs_of_ours(nets)
        work = backprop.N_NETS * n_epochs * net_multiply_adds(nets[0].architecture, len(nets[0].X))
        yield _share(library, f"Backpropagation, {problem}", partial(backprop.train_ours, nets, n_epochs), work)
    yield from _evolution_rows(library, data)
    for size, (n_samples, *_) in SIZES.items():
        n_passes = max(1, 100_000 // size**2)
        learn = partial(learn_passes, our_epoch, random_case(size, n_samples), n_passes)
        yield _share(library, f"GHA, l = m = {size}", learn, n_passes * n_samples * 3 * size**2)


@kernel
def take_steps(rule: RpropRule, state: RpropState, n: int) -> None:
    """Make RPROP's own step, without a gradient, n times."""
    for _ in range(n):
        rprop_step(rule, state)


def _step_share(case: Case, tasks: list[Task]) -> Row:
    """Measure what of an epoch is RPROP's own step, of eight nets."""
    n_epochs, seated = case.n_epochs, tasks[:LANES]
    lanes = Lanes(seated[0], seated[0].architecture.n_inputs, StoppingRule(1, math.inf, 0.0, 1))
    for lane, task in enumerate(seated):
        lanes.seat(lane, task)
    epochs = Contestant(partial(train_ours, seated, n_epochs), n_epochs)
    steps = Contestant(partial(take_steps, RULE, lanes.state, 100 * n_epochs), 100 * n_epochs)
    times = alternate({"ours": epochs, "step": steps}, budget_s=0.5)
    ours, step = (1e6 * median(times[name]) for name in ("ours", "step"))
    what = f"RPROP's own step, {case.problem}"
    return Row(what, "share of the epoch", "epoch", None, median_ratio(times["step"], times["ours"]), ours, step)


def evolution_multiply_adds(model: NEpPCA, n_features: int) -> float:
    """Count an evolution's: Gram-Schmidt and the variances, from half of C, of all nodes, at each evaluation."""
    nodes = model.history_["mean_dimensionality"]
    before = [nodes[0], *nodes[:-1]]
    return model.population_size * sum(n * n * n_features + n * n_features**2 / 2 for n in before)


def _evolution_rows(library: ctypes.CDLL, data: Path) -> Iterator[Row]:
    for name in evolution.TARGETS:
        X = load_problem(name, data).X_train
        model = NEpPCA(tau=evolution.TAU, random_state=0).fit(X)
        yield _share(library, f"NE-pPCA, {name}", partial(model.fit, X), evolution_multiply_adds(model, X.shape[1]))


def _share(library: ctypes.CDLL, what: str, call: Callable[[], object], work: float) -> Row:
    contestants = {
        "ours": Contestant(call, work / 1e6),
        "peak": Contestant(partial(library.multiply_add, ctypes.c_long(LOOPS)), MULTIPLY_ADDS / 1e6),
    }
    times = alternate(contestants, budget_s=1.0)
    # Of each the best round: what runs beside it halves the peak of a core that they share, and a kernel's less.
    ours, peak = (1e6 * min(times[name]) for name in ("ours", "peak"))
    return Row(what, "multiply-adds in registers", "million", None, peak / ours, ours, peak)
