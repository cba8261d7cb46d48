"""Plain-loop transcriptions of the evolution's formulas, written from the slides and not from the kernels."""

import math

import numpy as np


def orthonormal_rows(rows, *, passes=2):
    """Modified Gram-Schmidt, row by row and repeated; a row that vanishes is left out."""
    kept = []
    for row in rows:
        original = math.sqrt(sum(value * value for value in row))
        vector = [float(value) for value in row]
        for _ in range(passes):
            for q in kept:
                overlap = sum(a * b for a, b in zip(vector, q, strict=True))
                vector = [a - overlap * b for a, b in zip(vector, q, strict=True)]
        length = math.sqrt(sum(value * value for value in vector))
        if original > 0.0 and length > 1e-10 * original:
            kept.append([value / length for value in vector])
    return np.array(kept)


def response_variances(rows, samples):
    """Variance of each node's responses to the samples, divisor N: the slides' way, sample by sample."""
    variances = []
    for row in rows:
        responses = [sum(w * x for w, x in zip(row, sample, strict=True)) for sample in samples]
        mean = sum(responses) / len(responses)
        variances.append(sum((y - mean) ** 2 for y in responses) / len(responses))
    return np.array(variances)


def evaluated(rows, samples, tau):
    """Return the rows left, their variances and the fitness, with every response computed."""
    rows = orthonormal_rows(rows)
    variances = response_variances(rows, samples)
    order = sorted(range(len(rows)), key=lambda i: -variances[i])
    rows, variances = rows[order], variances[order]
    centred = samples - samples.mean(axis=0)
    r = sum(np.dot(sample, rows[0]) * sample for sample in centred)
    alpha = (np.dot(rows[0], r) / math.sqrt(np.dot(r, r))) ** 2
    fitness = alpha * sum(variances)
    kept = [i for i in range(len(rows)) if not variances[0] / variances[i] > tau]
    return rows[kept], variances[kept], fitness


def crossed_node(w_i, w_j, v_i, v_j):
    """Formula (2) for one node, i being the parent of larger variance."""
    if v_j > v_i:
        w_i, w_j, v_i, v_j = w_j, w_i, v_j, v_i
    distance = math.sqrt(sum((a - b) ** 2 for a, b in zip(w_i, w_j, strict=True)))
    if distance == 0.0:
        return np.array(w_i)
    tilde_i, tilde_j = v_i / (v_i + v_j), v_j / (v_i + v_j)
    return np.array([a + abs(tilde_i - tilde_j) / distance * (a - b) for a, b in zip(w_i, w_j, strict=True)])


def child_of(first, second):
    """Child of two (rows, variances) parents, as long as the longer one."""
    longer, shorter = (first, second) if len(first[0]) >= len(second[0]) else (second, first)
    rows = []
    for k, (w, v) in enumerate(zip(*longer, strict=True)):
        rows.append(crossed_node(w, shorter[0][k], v, shorter[1][k]) if k < len(shorter[0]) else w)
    return np.array(rows)


def split_mix(seed, i):
    """Number i of SplitMix64, from its published C code."""
    z = (seed + (i + 1) * 0x9E3779B97F4A7C15) % 2**64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % 2**64
    return z ^ (z >> 31)


def normal_pair(seed, i):
    """Box and Muller's pair from one number: u from its upper 38 bits, the angle from its lower 26."""
    bits = split_mix(seed, i)
    u, turn = ((bits >> 26) + 0.5) / 2**38, ((bits & (2**26 - 1)) + 0.5) / 2**26 - 0.5
    radius = math.sqrt(-2.0 * math.log(u))
    return radius * math.cos(2.0 * math.pi * turn), radius * math.sin(2.0 * math.pi * turn)
