"""Compiled forward and backward passes of networks of the same architecture, by blocks of samples.

Both learning rules use the passes: RPROP sums the gradient over blocks; online backpropagation has blocks of a single
sample, and adds each gradient times the negative learning rate to the weights.

With samples as rows, H_k the values of layer k and S_k the values of all units that feed it (among them a constant 1
for the biases), the forward pass is H_k = f(S_k W_kᵀ). With E half the squared error, the backward pass computes
D_k = ∂E/∂(S_k W_kᵀ). The gradient of W_k is D_kᵀ S_k. The derivatives by the values that feed the layer are D_k W_k;
these are passed back and multiplied by f′, which gives the D of the layers below.
"""

from typing import Final, NamedTuple

from pppca_bench.classifiers.lanes import (
    ADD,
    LANES,
    LINEAR,
    LONGEST_SUM,
    SOFTSIGN,
    LaneMatrix,
    multiply_by_slopes,
    multiply_matrices,
)
from pppca_bench.compiled.arrays import Floats1D, Floats2D, Indices2D
from pppca_bench.compiled.jit import kernel, subroutine
from pppca_bench.compiled.simd import (
    absolute,
    add,
    divide,
    fma,
    load,
    multiply,
    select_less,
    splat,
    store,
    subtract,
)

LOGISTIC: Final = 4
EXACT_SOFTSIGN: Final = 8
TANH: Final = 32
"""Activations besides LINEAR and SOFTSIGN: 1 / (1 + exp(−x)); x / (1 + |x|) with a division for each number; tanh x."""

N_INPUTS: Final = 0
SOURCE: Final = 1
N_SOURCES: Final = 2
N_CONSTANT: Final = 3
UNIT: Final = 4
N_UNITS: Final = 5
WEIGHT: Final = 6
ADDS: Final = 7


class Network(NamedTuple):
    """Layout of an architecture for the kernels.

    A bias is the weight of a constant 1. The constant precedes the inputs of each sample and, without shortcuts, the
    units of each hidden layer, so that contiguous inputs and contiguous units feed a layer.

    ``layers`` is int64 (n_layers, 8), a row for each layer:

    - N_INPUTS: number of inputs that feed the layer, including the constant 1: all inputs or 0;
    - SOURCE, N_SOURCES, N_CONSTANT: first unit that feeds the layer, number of such units, and of constants 1 in them;
    - UNIT, N_UNITS: first unit of the layer and number of its units;
    - WEIGHT: first weight; the weights of a unit are for the inputs, then for the units;
    - ADDS: 1 if a layer above has stored errors in the units that feed the layer.

    ``n_inputs`` counts the constant 1, ``n_units`` all units of a sample; the activations are LINEAR, SOFTSIGN,
    LOGISTIC, EXACT_SOFTSIGN or TANH.
    """

    layers: Indices2D
    n_inputs: int
    n_units: int
    hidden_activation: int
    output_activation: int


class Samples(NamedTuple):
    """Samples: lane arrays with n_inputs and n_outputs rows for each sample."""

    inputs: Floats2D
    targets: Floats2D
    n_samples: int


class Block(NamedTuple):
    """Work arrays for the passes of a block of samples.

    values, errors: H and D, lane arrays with n_units rows for each sample; squared_error: Σ (o − t)², lane array with a
    row for each output; percentage: float64 (LANES,), the squared error in percent; n_samples: capacity.
    """

    values: Floats2D
    errors: Floats2D
    squared_error: Floats2D
    percentage: Floats1D
    n_samples: int


@subroutine
def forward(
    network: Network,
    weights: Floats2D,
    samples: Samples,
    first: int,
    n: int,
    block: Block,
    start: int,
) -> None:
    """Compute the unit values of samples first .. first + n - 1 in the block: H_k = f(S_k W_kᵀ).

    Sums over inputs precede sums over units. SOFTSIGN is applied while the sums are in registers. For layers before
    ``start``, the block already contains the sums over inputs.
    """
    n_layers = len(network.layers)
    for index in range(n_layers):
        layer = network.layers[index]
        activation = (
            network.output_activation if index == n_layers - 1 else network.hidden_activation
        )
        last = activation & SOFTSIGN
        # S_k W_kᵀ = X W_xᵀ + H W_hᵀ, where S_k consists of inputs X and units H, and W_k = [W_x W_h].
        n_inputs, n_sources, n_units = layer[N_INPUTS], layer[N_SOURCES], layer[N_UNITS]
        values = LaneMatrix(block.values, layer[UNIT], network.n_units, 1)
        if n_inputs > 0 and index >= start:
            # X W_xᵀ, in runs of inputs, and f of the sum unless H W_hᵀ follows.
            n_runs = (n_inputs + LONGEST_SUM - 1) // LONGEST_SUM
            length = (n_inputs + n_runs - 1) // n_runs
            for i in range(0, n_inputs, length):
                rest = n_inputs - i
                mode = LINEAR if n_sources > 0 or rest > length else last
                inputs = LaneMatrix(samples.inputs, first * n_inputs + i, n_inputs, 1)
                W = LaneMatrix(weights, layer[WEIGHT] + i, n_inputs + n_sources, 1)
                n_terms = length if rest > length else rest
                multiply_matrices(
                    values, inputs, W, n, n_units, n_terms, mode | (ADD if i > 0 else LINEAR)
                )
        if n_sources > 0:
            # f(… + H W_hᵀ).
            sources = LaneMatrix(block.values, layer[SOURCE], network.n_units, 1)
            W = LaneMatrix(weights, layer[WEIGHT] + n_inputs, n_inputs + n_sources, 1)
            multiply_matrices(
                values, sources, W, n, n_units, n_sources, last | (ADD if n_inputs > 0 else LINEAR)
            )
        # The product has no modes for the other activations: apply f to the finished sums.
        if activation > SOFTSIGN:
            for s in range(n):
                activate(activation, block.values, s * network.n_units + layer[UNIT], n_units)


@subroutine
def activate(activation: int, values: Floats2D, first: int, n: int) -> None:
    """Apply LOGISTIC, EXACT_SOFTSIGN or TANH to the sums of n units, in the rows from ``first``, in place."""
    # tanh x = 2 f(2 x) − 1 of the logistic function f; with a factor of 1, f itself, to the last bit.
    factor = 2.0 if activation == TANH else 1.0
    for row in range(first, first + n):
        x = load(values, row, 0)
        if activation == EXACT_SOFTSIGN:
            store(values, row, 0, divide(x, add(splat(1.0), absolute(x))))
        else:
            value = multiply(splat(factor), _logistic(multiply(splat(factor), x)))
            store(values, row, 0, subtract(value, splat(factor - 1.0)))


@subroutine
def _logistic(x: Floats1D) -> Floats1D:
    """Return 1 / (1 + exp(−x)) of a vector, with an error of 1e-14.

    Choice: exp(−|x|) is the 256th power of a Taylor polynomial of exp(−|x| / 256); exponents below −40
    count as −40, where the result is 4e-18 or 1 to the last bit.
    """
    # r = −min(|x|, 40) / 256; exp(r) = Σ rⁿ / n! up to n = 9, by Horner's rule; exp(−|x|) = exp(r)^(2⁸).
    magnitude = absolute(x)
    r = multiply(select_less(splat(40.0), magnitude, splat(40.0), magnitude), splat(-1 / 256))
    power = add(splat(1 / 40320), multiply(r, splat(1 / 362880)))
    power = add(splat(1 / 5040), multiply(r, power))
    power = add(splat(1 / 720), multiply(r, power))
    power = add(splat(1 / 120), multiply(r, power))
    power = add(splat(1 / 24), multiply(r, power))
    power = add(splat(1 / 6), multiply(r, power))
    power = add(splat(1 / 2), multiply(r, power))
    power = add(splat(1.0), multiply(r, power))
    power = add(splat(1.0), multiply(r, power))
    for _ in range(8):
        power = multiply(power, power)
    # f(−|x|) = exp(−|x|) / (1 + exp(−|x|)), and f(|x|) = 1 − f(−|x|).
    small = divide(power, add(splat(1.0), power))
    return select_less(x, splat(0.0), small, subtract(splat(1.0), small))


@subroutine
def compare_outputs(network: Network, samples: Samples, first: int, n: int, block: Block) -> None:
    """Store output − target as errors of the output units, and add the squares to the squared error, in place."""
    layer = network.layers[len(network.layers) - 1]
    n_outputs = layer[N_UNITS]
    # Σ (o − t)² of an output stays in a register; it is summed in the order of the samples.
    for j in range(n_outputs):
        total, unit, target = (
            load(block.squared_error, j, 0),
            layer[UNIT] + j,
            first * n_outputs + j,
        )
        for _ in range(n):
            # o − t = ∂E/∂o of E = ½ Σ (o − t)²; times f′, in `backward`, it is D of the output layer.
            error = subtract(load(block.values, unit, 0), load(samples.targets, target, 0))
            store(block.errors, unit, 0, error)
            total = fma(error, error, total)
            unit += network.n_units
            target += n_outputs
        store(block.squared_error, j, 0, total)


@subroutine
def backward(
    network: Network,
    weights: Floats2D,
    samples: Samples,
    first: int,
    n: int,
    block: Block,
    gradient: Floats2D,
    mode: int,
    end: int,
) -> None:
    """Compute the gradient of half the squared error over samples first .. first + n - 1, in place.

    The block must contain the values of all units and the errors of the output units; the errors of hidden units are
    computed from the last layer to the first. Errors of a layer are passed back before its gradient is stored, so that
    the gradient may be added to the weights themselves.

    Parameters
    ----------
    gradient : float64 (n_weights, LANES)
    mode : int
        ADD to the gradient, or LINEAR to overwrite it.
    end : int
        Layers before ``end`` get their errors D, but no gradient.
    """
    n_layers = len(network.layers)
    for index in range(n_layers - 1, -1, -1):
        layer = network.layers[index]
        activation = (
            network.output_activation if index == n_layers - 1 else network.hidden_activation
        )
        n_inputs, n_sources, n_units = layer[N_INPUTS], layer[N_SOURCES], layer[N_UNITS]
        # D_k = (∂E/∂H_k) f′; the layer above has already multiplied by the softsign's f′.
        if activation != LINEAR and (index == n_layers - 1 or activation & (LOGISTIC | TANH)):
            for s in range(n):
                _multiply_by_slope(activation, block, s * network.n_units + layer[UNIT], n_units)
        if index > 0:
            _pass_back(network, weights, index, n, block)
        if index < end:
            continue
        # ∂E/∂W_k = D_kᵀ S_k = [D_kᵀ X  D_kᵀ H]; D_k and S_k are read by columns, without a copy.
        transposed = LaneMatrix(block.errors, layer[UNIT], 1, network.n_units)
        if n_inputs > 0:
            sources = LaneMatrix(samples.inputs, first * n_inputs, 1, n_inputs)
            G = LaneMatrix(gradient, layer[WEIGHT], n_inputs + n_sources, 1)
            _sum_products(G, transposed, sources, n_units, n_inputs, n, mode)
        if n_sources > 0:
            sources = LaneMatrix(block.values, layer[SOURCE], 1, network.n_units)
            G = LaneMatrix(gradient, layer[WEIGHT] + n_inputs, n_inputs + n_sources, 1)
            _sum_products(G, transposed, sources, n_units, n_sources, n, mode)


@subroutine
def _pass_back(network: Network, weights: Floats2D, index: int, n: int, block: Block) -> None:
    """Compute D_k W_k in place: the derivatives ∂E/∂H for the hidden units that feed layer k.

    Constants 1 have no derivatives. The sums of layer k − 1 are complete here, and are multiplied by f′ of the softsign
    while they are in registers.
    """
    layer = network.layers[index]
    n_units, n_below = layer[N_UNITS], network.layers[index - 1][N_UNITS]
    n_weights, constant = layer[N_INPUTS] + layer[N_SOURCES], layer[N_CONSTANT]
    mode = ADD if layer[ADDS] > 0 else LINEAR
    errors = LaneMatrix(block.errors, layer[UNIT], network.n_units, 1)
    # ∂E/∂H += D_k W_k, without f′, for the layers below layer k − 1, to which further layers add with shortcuts.
    n_before = layer[N_SOURCES] - constant - n_below
    unit, weight = layer[SOURCE] + constant, layer[WEIGHT] + layer[N_INPUTS] + constant
    if n_before > 0:
        received = LaneMatrix(block.errors, unit, network.n_units, 1)
        W = LaneMatrix(weights, weight, 1, n_weights)
        multiply_matrices(received, errors, W, n, n_before, n_units, mode)
    # ∂E/∂H = … + D_k W_k for layer k − 1, times f′ of a softsign.
    received = LaneMatrix(block.errors, unit + n_before, network.n_units, 1)
    W = LaneMatrix(weights, weight + n_before, 1, n_weights)
    if network.hidden_activation == SOFTSIGN or network.hidden_activation == EXACT_SOFTSIGN:
        multiply_by_slopes(received, errors, W, block.values, n, n_below, n_units, mode)
    else:
        multiply_matrices(received, errors, W, n, n_below, n_units, mode)


@subroutine
def _sum_products(
    G: LaneMatrix, D: LaneMatrix, S: LaneMatrix, n_units: int, n_sources: int, n: int, mode: int
) -> None:
    """Set G, n_units x n_sources, to Dᵀ S of the errors D of a layer and the values S of its sources, n samples each.

    The arguments D and S are transposed matrices. The mode is that of `multiply_matrices`; ADD adds to G.
    """
    if n > 1 or mode != ADD:
        multiply_matrices(G, D, S, n_units, n_sources, n, mode)
        return
    # G += d sᵀ of a single sample, in memory order: each number of G is used once, so tiles would not help.
    for i in range(n_units):
        error, row = load(D.lanes, D.start + i, 0), G.start + i * G.down
        for j in range(n_sources):
            store(
                G.lanes,
                row + j,
                0,
                fma(error, load(S.lanes, S.start + j, 0), load(G.lanes, row + j, 0)),
            )


@subroutine
def _multiply_by_slope(activation: int, block: Block, first: int, n: int) -> None:
    """Multiply the errors of n units by f′ of their values v, in place.

    f′ is v (1 − v) for LOGISTIC, 1 − v² for TANH, (1 − |v|)² for both softsigns.
    """
    for row in range(first, first + n):
        error, value = load(block.errors, row, 0), load(block.values, row, 0)
        if activation == LOGISTIC:
            slope = multiply(value, subtract(splat(1.0), value))
        elif activation == TANH:
            slope = subtract(splat(1.0), multiply(value, value))
        else:
            root = subtract(splat(1.0), absolute(value))
            slope = multiply(root, root)
        store(block.errors, row, 0, multiply(error, slope))


@subroutine
def measure_error(network: Network, weights: Floats2D, samples: Samples, block: Block) -> None:
    """Compute the squared error over all samples, and its percentage, in the block."""
    clear_error(block)
    for first in range(0, samples.n_samples, block.n_samples):
        n = n_fitting(block, samples, first)
        forward(network, weights, samples, first, n, block, 0)
        compare_outputs(network, samples, first, n, block)
    compute_percentage(block, samples.n_samples)


@kernel
def measure_networks(network: Network, weights: Floats2D, samples: Samples, block: Block) -> None:
    """Run `measure_error` from Python."""
    measure_error(network, weights, samples, block)


@subroutine
def clear_error(block: Block) -> None:
    """Set the squared error to zero, in place."""
    for j in range(len(block.squared_error)):
        store(block.squared_error, j, 0, splat(0.0))


@subroutine
def n_fitting(block: Block, samples: Samples, first: int) -> int:
    """Return the number of samples from ``first`` on that fit in the block."""
    rest = samples.n_samples - first
    return block.n_samples if block.n_samples < rest else rest


@subroutine
def compute_percentage(block: Block, n_samples: int) -> None:
    """Set the percentage to 100 / (N P) times the squared error of each lane, in place, for N samples and P outputs.

    Source: Proben1 report, section 2, where the range of the targets is a further factor; here it is 1.
    """
    n_outputs = len(block.squared_error)
    for lane in range(LANES):
        total = 0.0
        for j in range(n_outputs):
            total += block.squared_error[j, lane]
        block.percentage[lane] = total * (100.0 / (n_samples * n_outputs))
