"""Own the compiled steps of the evolution: evaluation, crossing and mutation of linear networks.

A population is a weight array (n_individuals, n_nodes, n_features) with the number of nodes that each
individual still has; its rows beyond that number mean nothing. Random numbers come from the caller as arrays.
"""

import numpy as np
import numpy.typing as npt
from numba import njit

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

# Products and sums may be fused, nothing else. Sums run over rows, column by column, or in eight fixed parts: their
# order does not depend on the processor's vector width, so that an evolution takes the same course on any of them.
_FUSED = {"contract"}
_REPEAT_BELOW = 0.1
_DEPENDENT_BELOW = 1e-10


@njit(cache=True, fastmath=_FUSED)
def combine_rows(A: FloatArray, n_rows: int, n_columns: int, factors: FloatArray, out: FloatArray) -> None:
    """Write a combination of the first rows of a matrix: its transpose times a vector.

    Parameters
    ----------
    A : float64 array of shape (>= n_rows, >= n_columns)
    n_rows, n_columns : int, >= 0
    factors : float64 array of shape (>= n_rows,)
    out : float64 array of shape (>= n_columns,), overwritten up to n_columns
    """
    for k in range(n_columns):
        out[k] = 0.0
    whole = n_rows - n_rows % 4
    # Four rows at once: each element of out is loaded and stored once for four products.
    for j in range(0, whole, 4):
        f0, f1, f2, f3 = factors[j], factors[j + 1], factors[j + 2], factors[j + 3]
        for k in range(n_columns):
            out[k] += f0 * A[j, k] + f1 * A[j + 1, k] + f2 * A[j + 2, k] + f3 * A[j + 3, k]
    for j in range(whole, n_rows):
        f = factors[j]
        for k in range(n_columns):
            out[k] += f * A[j, k]


@njit(cache=True, fastmath=_FUSED)
def inner_product(x: FloatArray, y: FloatArray) -> float:
    """Return the inner product of two float64 vectors of shape (n_features,), in eight fixed partial sums."""
    n = x.shape[0]
    whole = n - n % 8
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    for k in range(0, whole, 8):
        s0 += x[k] * y[k]
        s1 += x[k + 1] * y[k + 1]
        s2 += x[k + 2] * y[k + 2]
        s3 += x[k + 3] * y[k + 3]
        s4 += x[k + 4] * y[k + 4]
        s5 += x[k + 5] * y[k + 5]
        s6 += x[k + 6] * y[k + 6]
        s7 += x[k + 7] * y[k + 7]
    for k in range(whole, n):
        s0 += x[k] * y[k]
    return ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))


@njit(cache=True, fastmath=_FUSED)
def subtract_rows(A: FloatArray, n_rows: int, factors: FloatArray, x: FloatArray) -> None:
    """Subtract a combination of the first rows of a matrix from a vector, in place.

    Parameters
    ----------
    A : float64 array of shape (>= n_rows, n_features)
    n_rows : int, >= 0
    factors : float64 array of shape (>= n_rows,)
    x : float64 array of shape (n_features,), changed in place
    """
    n_features = x.shape[0]
    whole = n_rows - n_rows % 4
    for j in range(0, whole, 4):
        f0, f1, f2, f3 = factors[j], factors[j + 1], factors[j + 2], factors[j + 3]
        for k in range(n_features):
            x[k] -= f0 * A[j, k] + f1 * A[j + 1, k] + f2 * A[j + 2, k] + f3 * A[j + 3, k]
    for j in range(whole, n_rows):
        f = factors[j]
        for k in range(n_features):
            x[k] -= f * A[j, k]


@njit(cache=True)
def norm(x: FloatArray) -> float:
    """Return the Euclidean norm of a float64 vector of shape (n_features,)."""
    return np.sqrt(inner_product(x, x))


@njit(cache=True)
def gram_schmidt(W: FloatArray, n_nodes: int, Q: FloatArray, scratch: FloatArray) -> int:
    """Orthonormalise the first rows of a matrix in their order, slide 'Fitness evaluation', step 2.

    A row that loses most of its length is projected a second time, which keeps the rows orthonormal to
    rounding even when they are nearly dependent (Daniel, Gragg, Kaufman and Stewart 1976).

    Choice: a row that depends on the rows before it (less than 1e-10 of its norm is left) is dropped. It has
    no direction of its own; as a zero row it would have no variance and criterion (1) would remove it.

    Choice: where every row is zero the first coordinate direction stands in, so no network is ever empty.

    Parameters
    ----------
    W : float64 array of shape (>= n_nodes, n_features), finite
    n_nodes : int, 1 to n_features
    Q : float64 array of the shape of W, overwritten; not W itself
    scratch : float64 array of shape (>= n_nodes,), overwritten

    Returns
    -------
    n_kept : int, 1 to n_nodes
        Number of orthonormal rows at the head of Q.
    """
    n_features = W.shape[1]
    columns = np.empty(
        (n_features, n_nodes)
    )  # Q transposed: products with all rows at once, as combine_rows takes them
    n_kept = 0
    for j in range(n_nodes):
        row = Q[n_kept]
        for k in range(n_features):
            row[k] = W[j, k]
        if _orthonormalise(Q, columns, n_kept, row, scratch):
            for k in range(n_features):
                columns[k, n_kept] = row[k]
            n_kept += 1
    if n_kept == 0:
        for k in range(n_features):
            Q[0, k] = 0.0
        Q[0, 0] = 1.0
        n_kept = 1
    return n_kept


@njit(cache=True)
def _orthonormalise(Q: FloatArray, columns: FloatArray, n_kept: int, row: FloatArray, scratch: FloatArray) -> bool:
    """Make a row orthogonal to the first rows of Q, of unit norm; return False when it depends on them."""
    before = norm(row)
    if before == 0.0:
        return False
    combine_rows(columns, row.shape[0], n_kept, row, scratch)
    subtract_rows(Q, n_kept, scratch, row)
    after = norm(row)
    if after <= _DEPENDENT_BELOW * before:
        return False
    if after < _REPEAT_BELOW * before:
        combine_rows(columns, row.shape[0], n_kept, row, scratch)
        subtract_rows(Q, n_kept, scratch, row)
        after = norm(row)
    inverse = 1.0 / after
    for k in range(row.shape[0]):
        row[k] *= inverse
    return True


@njit(cache=True, fastmath=_FUSED)
def second_moments(X: FloatArray) -> FloatArray:
    """Return C = Xᵀ X / N, summed sample by sample, so that it is the same with any BLAS library.

    Parameters
    ----------
    X : float64 array of shape (n_samples, n_features), n_samples >= 1

    Returns
    -------
    C : float64 array of shape (n_features, n_features), squared units of the data
    """
    n_samples, n_features = X.shape
    C = np.zeros((n_features, n_features))
    for i in range(n_samples):
        for a in range(n_features):
            factor = X[i, a]
            for b in range(n_features):
                C[a, b] += factor * X[i, b]
    for a in range(n_features):
        for b in range(n_features):
            C[a, b] /= n_samples
    return C


@njit(cache=True, fastmath=_FUSED)
def projection_variances(
    Q: FloatArray, n_nodes: int, C: FloatArray, variances: FloatArray, scratch: FloatArray
) -> None:
    """Write the variance of the projection on each row, q C qᵀ, which needs no sample.

    Parameters
    ----------
    Q : float64 array of shape (>= n_nodes, n_features), rows of unit norm
    n_nodes : int, >= 1
    C : float64 array of shape (n_features, n_features), symmetric, non-negative definite
    variances : float64 array of shape (>= n_nodes,), overwritten up to n_nodes, squared units of the data
    scratch : float64 array of shape (n_features,), overwritten
    """
    n_features = C.shape[0]
    for j in range(n_nodes):
        combine_rows(C, n_features, n_features, Q[j], scratch)
        variances[j] = inner_product(Q[j], scratch)


@njit(cache=True)
def alignment(q: FloatArray, C: FloatArray, scratch: FloatArray) -> float:
    """Return alpha = (qᵀ r)² with r = C q / ‖C q‖, slide 'The Neuroevolutionary Algorithm'.

    It is 1 when q is an eigenvector of C and less otherwise.

    Choice: 0 when C q = 0, where r has no direction; such a network explains nothing.

    Parameters
    ----------
    q : float64 array of shape (n_features,), unit norm
    C : float64 array of shape (n_features, n_features)
    scratch : float64 array of shape (n_features,), overwritten
    """
    combine_rows(C, C.shape[0], C.shape[0], q, scratch)
    length = norm(scratch)
    if length == 0.0:
        return 0.0
    return (inner_product(q, scratch) / length) ** 2


@njit(cache=True)
def decreasing_order(values: FloatArray) -> IntArray:
    """Return the indices that sort float64 values of shape (n,) from the largest on; equal ones keep their order.

    Insertion, because rows written back sorted are nearly in order the next time.
    """
    order = np.empty(values.shape[0], dtype=np.int64)
    for i in range(values.shape[0]):
        place = i
        while place > 0 and values[order[place - 1]] < values[i]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = i
    return order


@njit(cache=True)
def count_kept(variances: FloatArray, n_nodes: int, tau: float) -> int:
    """Return how many nodes criterion (1), Var(q0) / Var(qi) > tau, leaves; at least one.

    Parameters
    ----------
    variances : float64 array of shape (>= n_nodes,), in decreasing order up to n_nodes
    n_nodes : int, >= 1
    tau : float, >= 1
    """
    kept = 1
    # A product and no quotient: a node without variance is then removed at any finite tau.
    while kept < n_nodes and variances[0] <= tau * variances[kept]:
        kept += 1
    return kept


@njit(cache=True)
def evaluate(
    W: FloatArray,
    n_nodes: int,
    C: FloatArray,
    tau: float,
    variances: FloatArray,
    Q: FloatArray,
    scratch: FloatArray,
) -> tuple[int, float]:
    """Evaluate one network, slide 'Fitness evaluation', then remove nodes by criterion (1).

    Choice: the fitness sums the variances of all nodes, those about to be removed too. The slides name the
    sum first and the removal after it.

    Parameters
    ----------
    W : float64 array of shape (>= n_nodes, n_features)
        Genes; the nodes that stay are written back orthonormal, by decreasing variance.
    n_nodes : int, 1 to n_features
    C : float64 array of shape (n_features, n_features)
    tau : float, >= 1
    variances : float64 array of shape (>= n_nodes,)
        Overwritten with the variances of the nodes that stay, by decreasing variance.
    Q : float64 array of the shape of W, overwritten
    scratch : float64 array of shape (n_features,), overwritten

    Returns
    -------
    n_kept : int, 1 to n_nodes
    fitness : float, >= 0, squared units of the data
    """
    n_rows = gram_schmidt(W, n_nodes, Q, scratch)
    raw = np.empty(n_rows)
    projection_variances(Q, n_rows, C, raw, scratch)
    order = decreasing_order(raw)
    total = 0.0
    for j in range(n_rows):
        variances[j] = raw[order[j]]
        total += variances[j]
    n_kept = count_kept(variances, n_rows, tau)
    for j in range(n_kept):
        for k in range(W.shape[1]):
            W[j, k] = Q[order[j], k]
    return n_kept, alignment(W[0], C, scratch) * total


@njit(cache=True)
def evaluate_population(
    weights: FloatArray,
    sizes: IntArray,
    C: FloatArray,
    tau: float,
    variances: FloatArray,
    fitness: FloatArray,
) -> None:
    """Evaluate every network of a population in place.

    Parameters
    ----------
    weights : float64 array of shape (n_individuals, n_nodes, n_features), written back
    sizes : int64 array of shape (n_individuals,), nodes of each, updated
    C : float64 array of shape (n_features, n_features)
    tau : float, >= 1
    variances : float64 array of shape (n_individuals, n_nodes), overwritten up to each size
    fitness : float64 array of shape (n_individuals,), overwritten
    """
    Q = np.empty(weights.shape[1:])
    scratch = np.empty(weights.shape[2])
    for p in range(weights.shape[0]):
        sizes[p], fitness[p] = evaluate(weights[p], sizes[p], C, tau, variances[p], Q, scratch)


@njit(cache=True, fastmath=_FUSED)
def cross_node(w_i: FloatArray, w_j: FloatArray, v_i: float, v_j: float, child: FloatArray) -> None:
    """Cross one node of two parents, slide 'Special crossing operator', formula (2).

    Choice: parent i is the one with the larger variance, so the step away from the other parent climbs.

    Choice: equal nodes (‖w_i − w_j‖ = 0) give that node, where the formula's step has no direction; two nodes
    without variance, whose normalised weights are undefined, give the first.

    Parameters
    ----------
    w_i, w_j : float64 array of shape (n_features,)
    v_i, v_j : float, >= 0
        Variance of the projection on each.
    child : float64 array of shape (n_features,), overwritten; not a parent
    """
    if v_i < v_j:
        w_i, w_j, v_i, v_j = w_j, w_i, v_j, v_i
    squared = 0.0
    for k in range(child.shape[0]):
        child[k] = w_i[k] - w_j[k]
        squared += child[k] * child[k]
    step = 0.0
    if squared > 0.0 and v_i > 0.0:
        step = (v_i - v_j) / (v_i + v_j) / np.sqrt(squared)
    for k in range(child.shape[0]):
        child[k] = w_i[k] + step * child[k]


@njit(cache=True)
def _fittest(fitness: FloatArray, contestants: IntArray) -> int:
    best = contestants[0]
    for p in contestants:
        if fitness[p] > fitness[best]:
            best = p
    return best


@njit(cache=True)
def select_parents(fitness: FloatArray, contestants: IntArray) -> IntArray:
    """Return the parents of the next generation: each elite network with itself, then the tournaments' winners.

    The elite has as many networks as the children are fewer than the population. Of equal fitness the first wins.

    Parameters
    ----------
    fitness : float64 array of shape (n_individuals,)
    contestants : int64 array of shape (n_children, 2, tournament_size), n_children <= n_individuals
        Indices of individuals, a tournament for each of the two parents.

    Returns
    -------
    parents : int64 array of shape (n_individuals, 2), the fitter parent first
    """
    parents = np.empty((fitness.shape[0], 2), dtype=np.int64)
    n_elite = fitness.shape[0] - contestants.shape[0]
    if n_elite > 0:
        order = decreasing_order(fitness)
        for e in range(n_elite):
            parents[e] = order[e]
    for c in range(contestants.shape[0]):
        first, second = _fittest(fitness, contestants[c, 0]), _fittest(fitness, contestants[c, 1])
        if fitness[second] > fitness[first]:
            first, second = second, first
        parents[n_elite + c, 0], parents[n_elite + c, 1] = first, second
    return parents


@njit(cache=True)
def breed(
    weights: FloatArray,
    variances: FloatArray,
    sizes: IntArray,
    parents: IntArray,
    crossed: BoolArray,
    offspring: FloatArray,
    offspring_sizes: IntArray,
) -> None:
    """Copy the elite and make one child of each other pair of parents, node by node.

    Choice: a child has as many nodes as its longer parent, the surplus copied from it; removal stays the only
    step that shortens a network.

    Parameters
    ----------
    weights : float64 array of shape (n_individuals, n_nodes, n_features), evaluated
    variances : float64 array of shape (n_individuals, n_nodes)
    sizes : int64 array of shape (n_individuals,)
    parents : int64 array of shape (n_offspring, 2), indices of individuals
    crossed : bool array of shape (<= n_offspring,)
        For the last of the offspring: False makes a copy of the first parent. All before them are copies.
    offspring : float64 array of shape (n_offspring, n_nodes, n_features), overwritten; not weights
    offspring_sizes : int64 array of shape (n_offspring,), overwritten
    """
    n_copied = parents.shape[0] - crossed.shape[0]
    for c in range(parents.shape[0]):
        longer, shorter = parents[c, 0], parents[c, 1]
        if c < n_copied or not crossed[c - n_copied]:
            shorter = longer
        elif sizes[longer] < sizes[shorter]:
            longer, shorter = shorter, longer
        common = sizes[shorter] if shorter != longer else 0
        for k in range(common):
            v_i, v_j = variances[longer, k], variances[shorter, k]
            cross_node(weights[longer, k], weights[shorter, k], v_i, v_j, offspring[c, k])
        offspring_sizes[c] = sizes[longer]
        for k in range(common, sizes[longer]):
            for i in range(weights.shape[2]):
                offspring[c, k, i] = weights[longer, k, i]


@njit(cache=True)
def mutate(weights: FloatArray, sizes: IntArray, positions: IntArray, noise: FloatArray) -> None:
    """Add noise to chosen genes, in place; genes of nodes that an individual no longer has are passed over.

    Parameters
    ----------
    weights : float64 array of shape (n_individuals, n_nodes, n_features), changed in place
    sizes : int64 array of shape (n_individuals,)
    positions : int64 array of shape (n_mutations,)
        Increasing indices of genes in the flattened weights.
    noise : float64 array of shape (n_mutations,)
    """
    genes = weights.reshape(-1)
    m = 0
    end = 0
    for p in range(weights.shape[0]):
        for j in range(weights.shape[1]):
            end += weights.shape[2]
            while m < positions.shape[0] and positions[m] < end:
                if j < sizes[p]:
                    genes[positions[m]] += noise[m]
                m += 1
