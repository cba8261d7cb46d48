"""Base of linear projections that learn from one chunk of samples after another."""

from abc import abstractmethod
from copy import deepcopy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from pppca_bench.base.parameters import check_parameters
from pppca_bench.base.projection import LinearProjection
from pppca_bench.base.samples import validated_samples
from pppca_bench.compiled.arrays import Floats

_ADJUSTABLE = frozenset(
    {
        "learning_rate",
        "decay_epochs",
        "decay_samples",
        "amnesia",
        "tau",
        "data_fraction",
        "min_components",
        "max_components",
        "min_variance_ratio",
    }
)
"""Parameters that each chunk reads, so that another number takes effect; all others shape the first chunk."""


class IncrementalProjection(LinearProjection):
    """Base of linear projections with ``partial_fit``."""

    def __copy__(self) -> Self:
        # Kernels change learned arrays in place, so a copy must not share them.
        return deepcopy(self)

    def partial_fit(self, X: ArrayLike, y: None = None) -> Self:  # noqa: ARG002 - scikit-learn's contract
        """Learn from a chunk of samples, in a single pass.

        The mean and the variances are those of all chunks so far, so the first chunks are centred less exactly. Other
        numbers for rates and rules of removal take effect with the next chunk; other changed parameters are refused.

        For GHA and DGHA, a chunk is an epoch: decay_epochs, head_start and first_check count chunks, and DGHA's
        learning_rate is the sum of the steps in a chunk, so smaller chunks need a smaller rate. decay_samples counts
        samples.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
            At least a single sample.
        y : None
            Ignored.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError, TypeError
            If a parameter or X is out of its range, or a parameter differs from its value for the first chunk.
        """
        first = not hasattr(self, "components_")
        self._learn_chunk(self._next_samples(X, first=first))
        return self

    @abstractmethod
    def _start(self) -> None:
        """Initialise the learned state."""

    @abstractmethod
    def _learn_chunk(self, X: Floats) -> None:
        """Learn from validated samples."""

    def _next_samples(self, X: ArrayLike, *, first: bool, min_samples: int = 1) -> Floats:
        """Validate parameters and samples, and initialise the learned state or make its arrays writable.

        Choice: a number may not replace None, nor None a number, since this changes the rule.
        """
        parameters = check_parameters(self)
        samples = validated_samples(self, X, reset=first, min_samples=min_samples)
        if first:
            self._first_parameters = parameters
            self._start()
            return samples
        for name, value in parameters.items():
            before = self._first_parameters[name]
            if value != before and (name not in _ADJUSTABLE or None in (value, before)):
                raise ValueError(
                    f"{name} in {type(self).__name__}.partial_fit: expected {before!r}, as for the first chunk, got"
                    f" {value!r}. Call fit to learn with other parameters."
                )
        self.__dict__.update({name: _writable(value) for name, value in vars(self).items()})
        return samples


def _writable(value: Any) -> Any:
    """Copy arrays that kernels cannot change, such as those of a memory map, also in named tuples."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(_writable, value))
    is_read_only = isinstance(value, np.ndarray) and not (
        type(value) is np.ndarray and value.flags.writeable
    )
    return np.array(value) if is_read_only else value
