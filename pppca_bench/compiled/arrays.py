"""Owns the names of the array types of the Hebbian kernels: all are C-contiguous."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
