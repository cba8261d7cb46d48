"""Problems: inputs and targets in three splits, and the registry of known problems."""

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any, Literal, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from pppca_bench.errors import UnknownProblemError, nearest

Task = Literal["classification", "approximation"]
FloatArray = NDArray[np.float64]
Targets = NDArray[np.float64] | NDArray[np.int64]
RegistryEntry = TypeVar("RegistryEntry")

PROBEN1_URL = "https://github.com/jeffheaton/proben1/tree/1c63a400c5811fdd924510e08ccdba631d118c96"


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
        Digest of the source, stored with each run.
    feature_names : tuple of str or None
        Names of the inputs, if the source has any.
    classes : tuple of str, int, float or bool
        Labels of the classes, in the order of their indices; () if the indices are the labels.
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
    classes: tuple[str | int | float | bool, ...] = ()

    def __post_init__(self) -> None:
        for name in (field.name for field in fields(self) if field.name.startswith(("X_", "y_"))):
            # A copy: the caller's array stays writable, and the split does not keep the whole file in memory.
            array = np.array(getattr(self, name), order="C")
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @classmethod
    def of_splits(cls, X: Sequence[FloatArray], y: Sequence[Targets], **about: Any) -> Self:
        """Return a problem of training, validation and test splits, in this order, and the other attributes."""
        splits: dict[str, Any] = {}
        for split, split_X, split_y in zip(("train", "validation", "test"), X, y, strict=True):
            splits |= {f"X_{split}": split_X, f"y_{split}": split_y}
        return cls(**splits, **about)

    @property
    def n_features(self) -> int:
        """Number of input columns."""
        return int(self.X_train.shape[1])

    @property
    def has_imbalanced_labels(self) -> bool:
        """Whether the classes have labels, as those of tables, and are imbalanced."""
        if not self.classes:
            return False
        y = np.concatenate([self.y_train, self.y_validation, self.y_test]).astype(np.int64)
        return are_imbalanced(np.bincount(y, minlength=len(self.classes)))

    @property
    def n_outputs(self) -> int:
        """Number of network outputs: the classes, or the targets of an approximation."""
        return self.n_classes if self.n_classes is not None else int(self.y_train.shape[1])


def are_imbalanced(counts: NDArray[np.int64]) -> bool:
    """Return whether classes of these sizes are imbalanced.

    Choice: they are if the smallest class has less than half of an equal share of the samples, such as 25 % of two
    classes.
    """
    return bool(2 * len(counts) * counts.min() < counts.sum())


@dataclass(frozen=True, slots=True)
class ProblemInfo:
    """Registry entry of a known problem."""

    name: str  # in configs and tables, such as "cancer1"
    source: Literal["proben1", "bundled"]  # bundled with scikit-learn or this package
    task: Task
    n_features: int
    n_outputs: int  # classes, or targets of an approximation
    n_train: int
    n_validation: int
    n_test: int
    sha256: str  # of the file (Proben1) or of the arrays (bundled)

    @property
    def family(self) -> str:
        """Proben1 name without the number of the permutation; any other name unchanged."""
        return self.name[:-1] if self.source == "proben1" else self.name

    @property
    def filename(self) -> str:
        """Name of the Proben1 file, such as ``"cancer1.dt"``."""
        return f"{self.name}.dt"


def read_registry(
    file: str, kind: Callable[..., RegistryEntry]
) -> MappingProxyType[str, RegistryEntry]:
    """Return the entries of a CSV file of this folder by name; values are texts, but whole numbers under ``n_…``."""
    text = resources.files(__package__).joinpath(file).read_text(encoding="ascii")
    entries = {
        row["name"]: kind(
            **{key: int(row[key]) if key.startswith("n_") else row[key] for key in row}
        )
        for row in csv.DictReader(text.splitlines())
    }
    return MappingProxyType(entries)


@cache
def registered() -> MappingProxyType[str, ProblemInfo]:
    """Return all known problems by name, Proben1 first, then the bundled problems, as a read-only mapping."""
    return read_registry("registry.csv", ProblemInfo)


def known_problems(source: Literal["proben1", "bundled"] | None = None) -> list[str]:
    """Return the names that `load_problem` accepts, in registry order.

    Parameters
    ----------
    source : {"proben1", "bundled"}, optional
        Only the problems of this source; all problems by default.

    Returns
    -------
    list of str
        Names, such as ``"cancer1"``.
    """
    return [info.name for info in registered().values() if source in (None, info.source)]


def problem_info(name: str) -> ProblemInfo:
    """Return the registry entry of a problem; raise UnknownProblemError for an unknown name."""
    info = registered().get(name)
    if info is None:
        raise UnknownProblemError(
            "problem: expected a name that `pppca data list` prints, or the path of a .dt file, "
            f"got {name!r}{nearest(name, registered())}."
        )
    return info
