"""Splits of a table's rows: by a column, at random shares, or in folds, with whole groups on one side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]

Parts = tuple[Indices, Indices, Indices]
"""Training, validation and test rows of a split."""

SPLITS = ("train", "validation", "test")
"""Values of a split column."""

_QUARTERS = 4
"""Parts of a split by share: two quarters for training, a quarter for validation and testing each, as in Proben1."""

SEED = 1994
"""Seed of the first partition unless a config has another."""


@dataclass(frozen=True, slots=True)
class SplitRule:
    """Rule that splits the rows of a table."""

    column: str = ""  # with train, validation or test for each row; "" for random splits
    folds: int = 0  # at least 3, each the test split once; 0 for shares of 50, 25 and 25 percent
    splits: int = (
        1  # number of random partitions; 0 for whole, unscaled data, all of them training rows
    )
    seed: int = SEED  # of the first partition

    @property
    def n_splits(self) -> int:
        """Return the number of splits; repeat r uses split r modulo this number."""
        return max(1, self.splits) * max(1, self.folds)

    @property
    def is_whole(self) -> bool:
        """Return whether the data are not split."""
        return self.splits == 0

    @property
    def n_parts(self) -> int:
        """Return the number of parts of a random partition."""
        return 1 if self.is_whole else self.folds or _QUARTERS

    @property
    def settings(self) -> dict[str, Any]:
        """Return the values that identify the splits; the default seed is left out, as it was before it had a key."""
        return {
            name: value for name, value in asdict(self).items() if (name, value) != ("seed", SEED)
        }

    def __str__(self) -> str:
        """Return a description for tables."""
        if self.column:
            return f"by the column {self.column!r}"
        if self.is_whole:
            return "no split: all rows for training, unscaled"
        if self.folds:
            again = f", repeated {self.splits} times" if self.splits > 1 else ""
            return f"{self.folds} folds: one for testing, the next for validation, the others for training{again}"
        return f"50 / 25 / 25 %, {f'{self.splits} random splits' if self.splits > 1 else 'a single random split'}"


def split_by_column(words: NDArray[Any]) -> Parts:
    """Return the rows of each split, in random order, where ``words`` names the split of each row."""
    return _shuffled([np.flatnonzero(words == split) for split in SPLITS], SEED)


def split_at_random(
    rule: SplitRule,
    y: NDArray[Any],
    number: int,
    *,
    stratified: bool,
    groups: Indices | None = None,
) -> Parts:
    """Split rows at random into training, validation and test examples.

    The rows are partitioned into equal parts: quarters or folds, by scikit-learn's StratifiedKFold or KFold, or, with
    ``groups``, StratifiedGroupKFold or GroupKFold. A part is the test split, the next part the validation split, and
    the others are the training split.

    Choice: the seed is ``rule.seed`` plus the number of the partition, independent of the config's seed, so that all
    configs with the same ``split_seed``, by default 1994, and all methods use the same splits of the same data.

    ``y`` has class indices of shape (n_rows,) or targets of shape (n_rows, n_outputs). If ``stratified``, the parts
    have the same shares of the classes, each of at least ``rule.n_parts`` rows. Rows of a group stay in one part.
    ``number`` is below ``rule.n_splits``. The rows of a split are in random order, since methods that use a fraction of
    the training split take the first rows.
    """
    from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

    partition, test = divmod(number, rule.folds) if rule.folds else (number, _QUARTERS - 1)
    if groups is None:
        folds = StratifiedKFold if stratified else KFold
    else:
        folds = StratifiedGroupKFold if stratified else GroupKFold
    made = folds(rule.n_parts, shuffle=True, random_state=rule.seed + partition)
    parts = [part for _, part in made.split(np.zeros(len(y)), y if stratified else None, groups)]
    tested, validated, *trained = parts[test:] + parts[:test]
    return _shuffled([np.concatenate(trained), validated, tested], rule.seed + number)


def _shuffled(parts: Sequence[Indices], seed: int) -> Parts:
    rng = np.random.RandomState(seed)  # frozen stream: the same split in all NumPy versions
    train, validation, test = (rng.permutation(np.sort(part)) for part in parts)
    return train, validation, test
