"""How many features a search keeps, given the validation error of each number."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

SizeRule = Literal["least_error", "one_standard_error"]


def chosen_size(errors: Sequence[float], sizes: Sequence[int], n_validation: int, rule: SizeRule) -> int:
    """Return which candidate to take: the smallest whose validation error is low enough, of equal sizes the best.

    Parameters
    ----------
    errors : sequence of float
        Validation errors in percent; nan where none was measured.
    sizes : sequence of int
        Numbers of features.
    n_validation : int
        Validation samples, >= 1.
    rule : {"least_error", "one_standard_error"}
        Low enough is the least error e, or e and its standard error √(e (1 − e) / n_validation), as Breiman, Friedman,
        Olshen & Stone 1984 prune trees.

    Returns
    -------
    int
        Index of the candidate; the first of equals.
    """
    measured = np.where(np.isnan(errors), np.inf, errors)
    least = measured.min()
    share = least / 100.0
    allowed = 100.0 * np.sqrt(share * (1.0 - share) / n_validation) if rule == "one_standard_error" else 0.0
    eligible = np.flatnonzero(measured <= least + allowed)
    return int(eligible[np.lexsort((measured[eligible], np.asarray(sizes)[eligible]))[0]])
