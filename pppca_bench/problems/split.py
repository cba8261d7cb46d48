"""How a table's rows become training, validation and test examples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pppca_bench.problems.problem import Targets

Indices = NDArray[np.int64]

QUARTERS = 4
"""Parts of a split by share: two quarters to learn from, one to stop by, one to test on, as Proben1 has them."""

_SEED = 1994


@dataclass(frozen=True, slots=True)
class SplitRule:
    """Say how a table is split.

    Attributes
    ----------
    column : str
        Column that says ``train``, ``validation`` or ``test`` for each row; "" where the rows are dealt at random.
    folds : int
        Parts of which each is the test split once, at least 3; 0 for a share: 50, 25 and 25 percent.
    splits : int
        How often the rows are dealt anew.
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
        """Return the number of parts that the rows are dealt into."""
        return self.folds or QUARTERS

    def __str__(self) -> str:
        """Say it in words."""
        if self.column:
            return f"by the column {self.column!r}"
        if self.folds:
            again = f", dealt {self.splits} times" if self.splits > 1 else ""
            return f"{self.folds} folds: one to test on, the next to validate by, the others to learn from{again}"
        return f"50 / 25 / 25 %, {f'dealt {self.splits} times' if self.splits > 1 else 'dealt once'}"


def deal(rule: SplitRule, y: Targets, number: int, *, stratified: bool) -> tuple[Indices, Indices, Indices]:
    """Deal rows into training, validation and test examples.

    The rows are dealt into parts of equal size (scikit-learn's StratifiedKFold or KFold): four for a share, else the
    folds. One part is the test split, the next one the validation split, the others the training split.

    Choice: the seed is 1994 and the number of the deal, whatever the config's seed, so that two configs, or two methods
    in different configs, meet the same splits of the same data.

    Parameters
    ----------
    rule : SplitRule
        One without a column.
    y : array of shape (n_rows,) or (n_rows, n_outputs)
        Targets.
    number : int
        Number of the split, from 0 to ``rule.n_splits`` - 1.
    stratified : bool
        Whether each part gets its share of each class, which then has at least ``rule.n_parts`` rows.

    Returns
    -------
    tuple of three int64 arrays
        Rows of the training, validation and test split, each in random order: methods that learn from a part of the
        training split take the first of its rows.
    """
    from sklearn.model_selection import KFold, StratifiedKFold

    deals, test = divmod(number, rule.folds) if rule.folds else (number, QUARTERS - 1)
    folds = (StratifiedKFold if stratified else KFold)(rule.n_parts, shuffle=True, random_state=_SEED + deals)
    parts = [part for _, part in folds.split(np.zeros(len(y)), y if stratified else None)]
    validation = (test + 1) % rule.n_parts
    train = np.concatenate([part for place, part in enumerate(parts) if place not in (test, validation)])
    return _shuffled((train, parts[validation], parts[test]), _SEED + number)


def by_column(names: NDArray[np.str_]) -> tuple[Indices, Indices, Indices]:
    """Return the rows that a column names ``train``, ``validation`` and ``test``, each in random order."""
    rows = [np.flatnonzero(names == name) for name in SPLIT_NAMES]
    return _shuffled((rows[0], rows[1], rows[2]), _SEED)


SPLIT_NAMES = ("train", "validation", "test")


def _shuffled(parts: tuple[Indices, Indices, Indices], seed: int) -> tuple[Indices, Indices, Indices]:
    rng = np.random.RandomState(seed)  # its stream is frozen: no version of NumPy moves a row
    train, validation, test = (rng.permutation(np.sort(part)) for part in parts)
    return train, validation, test
