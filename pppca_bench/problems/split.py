"""Training, validation and test splits of a table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pppca_bench.problems.problem import Targets

Indices = NDArray[np.int64]

QUARTERS = 4
"""Parts of a split by share: two quarters for training, one for validation, one for testing, as in Proben1."""

_SEED = 1994


@dataclass(frozen=True, slots=True)
class SplitRule:
    """Rule that splits the rows of a table.

    Attributes
    ----------
    column : str
        Column with ``train``, ``validation`` or ``test`` for each row; "" for random splits.
    folds : int
        Number of folds, at least 3, each the test split once; 0 for shares of 50, 25 and 25 percent.
    splits : int
        Number of random partitions.
    """

    column: str = ""
    folds: int = 0
    splits: int = 1

    @property
    def n_splits(self) -> int:
        """Return the number of splits; repeat r of a run has split r modulo this number."""
        return self.splits * max(1, self.folds)

    @property
    def n_parts(self) -> int:
        """Return the number of parts of a random partition."""
        return self.folds or QUARTERS

    def __str__(self) -> str:
        """Return a description for tables."""
        if self.column:
            return f"by the column {self.column!r}"
        if self.folds:
            again = f", repeated {self.splits} times" if self.splits > 1 else ""
            return f"{self.folds} folds: one for testing, the next for validation, the others for training{again}"
        return f"50 / 25 / 25 %, {f'{self.splits} random splits' if self.splits > 1 else 'a single random split'}"


def deal(rule: SplitRule, y: Targets, number: int, *, stratified: bool) -> tuple[Indices, Indices, Indices]:
    """Split rows at random into training, validation and test examples.

    The rows are partitioned into parts of equal size (scikit-learn's StratifiedKFold or KFold): quarters, or the folds.
    One part is the test split, the next the validation split, the others the training split.

    Choice: the seed is 1994 plus the number of the partition, independent of the config's seed, so that all configs and
    methods use the same splits of the same data.

    Parameters
    ----------
    rule : SplitRule
        Rule without a split column.
    y : array of shape (n_rows,) or (n_rows, n_outputs)
        Targets.
    number : int
        Number of the split, from 0 to ``rule.n_splits`` - 1.
    stratified : bool
        Whether to stratify by class; each class then has at least ``rule.n_parts`` rows.

    Returns
    -------
    tuple of three int64 arrays
        Rows of the training, validation and test split, each in random order: methods that use a fraction of the
        training split take its first rows.
    """
    from sklearn.model_selection import KFold, StratifiedKFold

    partition, test = divmod(number, rule.folds) if rule.folds else (number, QUARTERS - 1)
    folds = (StratifiedKFold if stratified else KFold)(rule.n_parts, shuffle=True, random_state=_SEED + partition)
    parts = [part for _, part in folds.split(np.zeros(len(y)), y if stratified else None)]
    validation = (test + 1) % rule.n_parts
    train = np.concatenate([part for place, part in enumerate(parts) if place not in (test, validation)])
    return _shuffled((train, parts[validation], parts[test]), _SEED + number)


def by_column(names: NDArray[np.str_]) -> tuple[Indices, Indices, Indices]:
    """Return the rows of ``train``, ``validation`` and ``test``, each in random order."""
    rows = [np.flatnonzero(names == name) for name in SPLIT_NAMES]
    return _shuffled((rows[0], rows[1], rows[2]), _SEED)


SPLIT_NAMES = ("train", "validation", "test")


def _shuffled(parts: tuple[Indices, Indices, Indices], seed: int) -> tuple[Indices, Indices, Indices]:
    rng = np.random.RandomState(seed)  # its stream is frozen: no version of NumPy moves a row
    train, validation, test = (rng.permutation(np.sort(part)) for part in parts)
    return train, validation, test
