"""NE-pPCA as an experienced NumPy user writes it from the slides: the peer of the compiled engine.

The evolution is the engine's, step by step, with the engine's defaults. Two things are the slides' and not the
engine's: each evaluation of a network computes the responses of all N samples (no covariance matrix), and r, the
direction of C q0, is the sum over the samples of response times sample.

Whatever NumPy can compute in a call is a single call: the responses of all nodes are one product of matrices (BLAS),
their variances one reduction, the crossing of two networks and the noise of a child one expression each. Gram-Schmidt
loops over the nodes of a network, projecting each on all rows before it by two products of a matrix and a vector, and
the population is a list of networks, because they differ in their numbers of nodes. Arrays are
float64.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

SETTINGS = (
    "population_size",
    "n_generations",
    "tournament_size",
    "crossover_probability",
    "mutation_scale",
)
"""Parameters of `pppca_bench.engines.NEpPCA` that `evolve` takes by the same names."""


@dataclass
class Network:
    """Nodes of an individual (rows), variances of their responses, and its fitness."""

    nodes: FloatArray
    variances: FloatArray
    fitness: float


def evolve(
    X: npt.ArrayLike,
    *,
    population_size: int = 13,
    n_generations: int = 90,
    tau: float = 10.0,
    tournament_size: int = 11,
    crossover_probability: float = 0.98,
    mutation_scale: float = 0.003,
    seed: int | None = None,
) -> tuple[FloatArray, dict[str, list[float]]]:
    """Evolve linear networks on the centred samples and return the fittest of the last generation.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    population_size, n_generations, tau, tournament_size, crossover_probability, mutation_scale
        As in `pppca_bench.engines.NEpPCA`; every gene of a child mutates.
    seed : int or None

    Returns
    -------
    components : float64 array of shape (n_components, n_features)
        Orthonormal rows by decreasing variance.
    history : dict of str to list
        "dimensionality" and "fitness" of the fittest at each of the n_generations + 1 evaluations.
    """
    samples = np.asarray(X, dtype=np.float64)
    samples = samples - samples.mean(axis=0)
    rng = np.random.default_rng(seed)
    n_features = samples.shape[1]
    population = [
        evaluate(nodes, samples, tau)
        for nodes in rng.random((population_size, n_features, n_features))
    ]
    history: dict[str, list[float]] = {"dimensionality": [], "fitness": []}
    _record(population, history)
    for _ in range(n_generations):
        offspring = []
        for _ in range(population_size):
            first, second = (_win_tournament(population, tournament_size, rng) for _ in range(2))
            child = (
                cross(first, second)
                if rng.random() < crossover_probability
                else _fitter(first, second).nodes
            )
            offspring.append(child + mutation_scale * rng.standard_normal(child.shape))
        population = [evaluate(nodes, samples, tau) for nodes in offspring]
        _record(population, history)
    return max(population, key=lambda network: network.fitness).nodes, history


def evaluate(nodes: FloatArray, samples: FloatArray, tau: float) -> Network:
    """Orthonormalise the rows and remove nodes."""
    return measure(orthonormalise(nodes), samples, tau)


def measure(nodes: FloatArray, samples: FloatArray, tau: float) -> Network:
    """Respond to all samples, sort by variance, sum the fitness, remove by criterion (1)."""
    responses = samples @ nodes.T
    variances = responses.var(axis=0)
    order = np.argsort(-variances, kind="stable")
    nodes, variances = nodes[order], variances[order]
    r = responses[:, order[0]] @ samples
    alpha = (nodes[0] @ r) ** 2 / (r @ r)
    kept = variances[0] <= tau * variances
    return Network(nodes[kept], variances[kept], float(alpha * variances.sum()))


def orthonormalise(nodes: FloatArray) -> FloatArray:
    """Gram-Schmidt, a node at a time; twice where little of it is left, and without it where nothing is."""
    rows = np.empty_like(nodes)
    n_kept = 0
    for node in nodes:
        before = np.linalg.norm(node)
        row = node - (rows[:n_kept] @ node) @ rows[:n_kept]
        after = np.linalg.norm(row)
        if after <= 1e-10 * before:
            continue
        if after < 0.1 * before:
            row -= (rows[:n_kept] @ row) @ rows[:n_kept]
            after = np.linalg.norm(row)
        rows[n_kept] = row / after
        n_kept += 1
    return rows[:n_kept]


def cross(first: Network, second: Network) -> FloatArray:
    """Formula (2) for all common nodes at once, away from the node of smaller variance; the surplus is copied."""
    longer, shorter = (first, second) if len(first.nodes) >= len(second.nodes) else (second, first)
    n_common = len(shorter.nodes)
    v_i, v_j = longer.variances[:n_common], shorter.variances
    difference = longer.nodes[:n_common] - shorter.nodes
    distance = np.linalg.norm(difference, axis=1)
    leads = (v_i >= v_j)[:, np.newaxis]
    # The step away from the node that does not lead: the difference turns round with the leader.
    signed = (v_i - v_j) / (v_i + v_j) / np.where(distance > 0.0, distance, 1.0)
    child = longer.nodes.copy()
    child[:n_common] = (
        np.where(leads, child[:n_common], shorter.nodes) + signed[:, np.newaxis] * difference
    )
    return child


def _win_tournament(population: list[Network], size: int, rng: np.random.Generator) -> Network:
    contestants = rng.integers(len(population), size=size)
    return max((population[p] for p in contestants), key=lambda network: network.fitness)


def _fitter(first: Network, second: Network) -> Network:
    return first if first.fitness >= second.fitness else second


def _record(population: list[Network], history: dict[str, list[float]]) -> None:
    best = max(population, key=lambda network: network.fitness)
    history["dimensionality"].append(len(best.nodes))
    history["fitness"].append(best.fitness)
