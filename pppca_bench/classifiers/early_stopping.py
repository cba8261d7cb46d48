"""Compiled early stopping of networks in lanes: error curves, strips and the validation minimum.

Proben1 report, section 3.3: training is divided into strips of a few epochs, and the validation error is measured
at the end of each strip.
"""

import math
from typing import Final, NamedTuple

from pppca_bench.classifiers.lanes import LANES
from pppca_bench.compiled.arrays import Floats1D, Floats2D, Indices1D
from pppca_bench.compiled.jit import shared, subroutine

IDLE: Final = 0
TRAINING: Final = 1
GENERALISATION_LOSS: Final = 2
NO_PROGRESS: Final = 3
MAX_EPOCHS: Final = 4
NOT_FINITE: Final = 5

_ALL_CONDITIONS: Final = 7


class StoppingRule(NamedTuple):
    """Constants of early stopping in the Proben1 report (section 3.3); see `RpropMLPClassifier`.

    The validation error stops the training when each of three conditions has been met at the end of any strip: GL above
    ``generalisation_loss``; ``successive_increases`` successive strips that raised the error; GL / P_k above
    ``progress_quotient``. 0 switches the second or the third condition off.
    """

    strip_length: int
    generalisation_loss: float
    training_progress: float
    max_epochs: int
    successive_increases: int = 0
    progress_quotient: float = 0.0


class Progress(NamedTuple):
    """Training state of the network in each lane.

    ``status``, ``epochs``, ``best_epoch``, ``n_validations``, ``n_increases``, ``conditions_met``: int64 (LANES,).
    ``best_error``, ``last_error``, ``strip_sum``, ``strip_min``: float64 (LANES,), squared error percentage.
    ``conditions_met`` has a bit for each condition of `StoppingRule` met so far. ``best_weights``: float64
    (n_weights, LANES); ``training_curve``: (max_epochs, LANES); ``validation_curve``: (n_strips, LANES).
    """

    status: Indices1D
    epochs: Indices1D
    best_epoch: Indices1D
    n_validations: Indices1D
    n_increases: Indices1D
    conditions_met: Indices1D
    best_error: Floats1D
    last_error: Floats1D
    strip_sum: Floats1D
    strip_min: Floats1D
    best_weights: Floats2D
    training_curve: Floats2D
    validation_curve: Floats2D


def reset_lane(progress: Progress, lane: int) -> None:
    """Reset a lane, in place, for an untrained network.

    Its first validation overwrites the best epoch and weights; the counts say how much of its curves is valid.
    """
    progress.status[lane] = TRAINING
    for counts in (
        progress.epochs,
        progress.n_validations,
        progress.n_increases,
        progress.conditions_met,
    ):
        counts[lane] = 0
    progress.strip_sum[lane] = 0.0
    for errors in (progress.best_error, progress.last_error, progress.strip_min):
        errors[lane] = math.inf


@shared
def generalisation_loss(error: float, best_error: float) -> float:
    """Return GL = 100 (E_va / E_opt - 1), in percent (Proben1 report, section 3.3).

    Choice: 0 if both errors are 0, infinity if only E_opt is 0; the report's ratio is undefined in both cases.
    """
    if error == best_error:
        return 0.0
    return 100.0 * (error / best_error - 1.0) if best_error > 0.0 else math.inf


@shared
def training_progress(mean_error: float, min_error: float) -> float:
    """Return P_k = 1000 (mean / min - 1) of a strip's training errors (Proben1 report, section 3.3).

    Choice: 0 if mean and minimum are 0 (nothing is left to learn), infinity if only the minimum is 0.
    """
    if mean_error == min_error:
        return 0.0
    return 1000.0 * (mean_error / min_error - 1.0) if min_error > 0.0 else math.inf


@subroutine
def end_epoch(rule: StoppingRule, progress: Progress, error: Floats1D) -> bool:
    """Record the training errors E_tr of an epoch; return whether any lane is at the end of a strip."""
    at_strip_end = False
    for lane in range(LANES):
        # Idle and stopped lanes compute as well; their errors are ignored.
        if progress.status[lane] == TRAINING:
            progress.training_curve[progress.epochs[lane], lane] = error[lane]
            progress.epochs[lane] += 1
            # Σ E_tr and min E_tr over the strip, for P_k.
            progress.strip_sum[lane] += error[lane]
            if error[lane] < progress.strip_min[lane]:
                progress.strip_min[lane] = error[lane]
            at_strip_end |= _is_strip_end(rule, progress.epochs[lane])
    return at_strip_end


@subroutine
def _is_strip_end(rule: StoppingRule, epochs: int) -> bool:
    return epochs % rule.strip_length == 0 or epochs == rule.max_epochs


@subroutine
def end_strips(rule: StoppingRule, progress: Progress, error: Floats1D, weights: Floats2D) -> bool:
    """Record the validation errors E_va of the lanes at the end of a strip; return whether any network stops."""
    stopped = False
    for lane in range(LANES):
        if progress.status[lane] == TRAINING and _is_strip_end(rule, progress.epochs[lane]):
            progress.validation_curve[progress.n_validations[lane], lane] = error[lane]
            progress.n_validations[lane] += 1
            # E_opt is the least validation error so far; the result has the weights of this minimum.
            if error[lane] < progress.best_error[lane]:
                progress.best_error[lane] = error[lane]
                progress.best_epoch[lane] = progress.epochs[lane]
                for row in range(weights.shape[0]):
                    progress.best_weights[row, lane] = weights[row, lane]
            progress.status[lane] = _next_status(rule, progress, lane, error[lane])
            progress.strip_sum[lane] = 0.0
            progress.strip_min[lane] = math.inf
            stopped |= progress.status[lane] != TRAINING
    return stopped


@subroutine
def _conditions_met(
    rule: StoppingRule, progress: Progress, lane: int, loss: float, speed: float, error: float
) -> int:
    """Record the conditions that are met at the end of a strip; return all conditions met so far, as bits."""
    # Bits: 1 for GL > limit, 2 for rising E_va, 4 for GL / P_k > quotient. No bit is cleared, since conditions
    # of earlier strips count.
    progress.n_increases[lane] = (
        progress.n_increases[lane] + 1 if error > progress.last_error[lane] else 0
    )
    progress.last_error[lane] = error
    if loss > rule.generalisation_loss:
        progress.conditions_met[lane] |= 1
    if progress.n_increases[lane] >= rule.successive_increases:
        progress.conditions_met[lane] |= 2
    if rule.progress_quotient == 0.0 or loss > rule.progress_quotient * speed:
        progress.conditions_met[lane] |= 4
    return progress.conditions_met[lane]


@subroutine
def _next_status(rule: StoppingRule, progress: Progress, lane: int, error: float) -> int:
    """Return the status of a lane at the end of its strip."""
    epochs = progress.epochs[lane]
    # The last strip may be shorter than the others.
    n_epochs = (epochs - 1) % rule.strip_length + 1
    if not (math.isfinite(error) and math.isfinite(progress.strip_sum[lane])):
        return NOT_FINITE
    # GL = 100 (E_va / E_opt − 1); P_k = 1000 (mean E_tr / min E_tr − 1). The recorded reason is the first of GL, P_k
    # and the number of epochs that ends the training.
    loss = generalisation_loss(error, progress.best_error[lane])
    speed = training_progress(progress.strip_sum[lane] / n_epochs, progress.strip_min[lane])
    if _conditions_met(rule, progress, lane, loss, speed, error) == _ALL_CONDITIONS:
        return GENERALISATION_LOSS
    if speed < rule.training_progress:
        return NO_PROGRESS
    return MAX_EPOCHS if epochs == rule.max_epochs else TRAINING
