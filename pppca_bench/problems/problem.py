"""Inputs and targets of a problem in three splits."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pppca_bench.problems.registry import Task

FloatArray = NDArray[np.float64]
Targets = NDArray[np.float64] | NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Problem:
    """Inputs and targets of a problem; the arrays are C-contiguous and read-only.

    Attributes
    ----------
    name : str
        Name in configs and tables.
    task : {"classification", "approximation"}
        Kind of targets.
    X_train, X_validation, X_test : float64 array of shape (n_samples, n_features)
        Inputs, rows are samples.
    y_train, y_validation, y_test : int64 array of shape (n_samples,) or float64 array (n_samples, n_outputs)
        Class indices from 0 to n_classes - 1, or the targets of an approximation.
    n_classes : int or None
        Number of classes, None for approximation.
    sha256 : str
        Hash of the source, stored with each run.
    feature_names : tuple of str or None
        Names of the inputs, if the source has any.
    """

    name: str
    task: Task
    X_train: FloatArray
    y_train: Targets
    X_validation: FloatArray
    y_validation: Targets
    X_test: FloatArray
    y_test: Targets
    n_classes: int | None
    sha256: str
    feature_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for name in (field.name for field in fields(self) if field.name.startswith(("X_", "y_"))):
            # A copy: the caller's array stays writable, and the split does not keep the whole file in memory.
            array = np.array(getattr(self, name), order="C")
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @classmethod
    def of_splits(cls, X: Sequence[FloatArray], y: Sequence[Targets], **about: Any) -> Self:
        """Return the problem of the training, validation and test splits, in this order, and the other attributes."""
        splits: dict[str, Any] = {}
        for split, split_X, split_y in zip(("train", "validation", "test"), X, y, strict=True):
            splits |= {f"X_{split}": split_X, f"y_{split}": split_y}
        return cls(**splits, **about)

    @property
    def n_features(self) -> int:
        """Number of input columns."""
        return int(self.X_train.shape[1])

    @property
    def n_outputs(self) -> int:
        """Number of network outputs: the classes, or the targets of an approximation."""
        return self.n_classes if self.n_classes is not None else int(self.y_train.shape[1])
