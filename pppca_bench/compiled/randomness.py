"""The one way from a ``random_state`` to random numbers."""

from typing import Any

import numpy as np


def make_generator(random_state: Any) -> np.random.Generator:
    """Return a NumPy Generator for an int, a SeedSequence, a Generator, a RandomState or None.

    A Generator is used as it is; a RandomState gives 128 bits as the seed of one.
    """
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**32, size=4, dtype=np.uint32))
    return np.random.default_rng(random_state)
