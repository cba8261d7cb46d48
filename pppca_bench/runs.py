"""What to run and what came of it: the two records that every layer hands on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from numpy.typing import NDArray

Scalar = float | int | bool | str | tuple[float | int, ...] | None
Parameters = tuple[tuple[str, Scalar], ...]


@dataclass(frozen=True, slots=True)
class RunSpec:
    """Say all that decides one run's numbers, except the data themselves.

    Attributes
    ----------
    key : str
        Hexadecimal digest of the other fields and of the algorithm versions; the run's name in the store.
    problem : str
        A problem's registered name, or the path of a user's own ``.dt`` file.
    method : str
        Name of the method, such as ``"dgha"``.
    parameters : tuple of (str, scalar)
        The method's parameters, sorted by name, defaults filled in.
    tau : float or None
        Threshold of criterion (1); None for a method that removes nothing.
    data_fraction : float or None
        Share of the training set that an epoch learns from, in percent; None where it has no meaning.
    repeat : int
        Number of the repeat, from 0.
    seed : int
        Seed of the run, in [0, 2**63); the same for all tau and data fractions of a repeat.
    classifier : tuple of (str, scalar)
        The classifier's parameters, sorted by name, defaults filled in.
    """

    key: str
    problem: str
    method: str
    parameters: Parameters
    tau: float | None
    data_fraction: float | None
    repeat: int
    seed: int
    classifier: Parameters

    @property
    def cell(self) -> tuple[object, ...]:
        """Return what the repeats of one table cell have in common."""
        return (self.problem, self.method, self.parameters, self.tau, self.data_fraction, self.classifier)


@dataclass(frozen=True, slots=True)
class RunResult:
    """Hold what one run gave.

    Attributes
    ----------
    key : str
        The run's ``RunSpec.key``.
    status : {"done", "failed"}
        Whether the numbers below are there.
    data_sha256 : str
        Digest of the problem's data, so that a stored result can be tied to them.
    error : str or None
        Traceback or cause of a failed run.
    dimensionality : int or None
        Number of features that the classifier saw.
    fit_time_ms, classifier_time_ms : float or None
        Wall time of the method's fit, and the run's share of its group's classifier training.
    n_epochs : int or None
        Epochs or generations of the method.
    total_epochs, relevant_epochs : int or None
        Epochs that the classifier trained, and the epoch of its validation minimum.
    train_error_percent, validation_error_percent, test_error_percent : float or None
        Misclassified examples in percent.
    measures : mapping of str to float
        Further numbers by name, such as the speed-ups of a timed run.
    history : mapping of str to ndarray
        The method's learning curves, one value (or row) a step.
    """

    key: str
    status: Literal["done", "failed"]
    data_sha256: str
    error: str | None = None
    dimensionality: int | None = None
    fit_time_ms: float | None = None
    classifier_time_ms: float | None = None
    n_epochs: int | None = None
    total_epochs: int | None = None
    relevant_epochs: int | None = None
    train_error_percent: float | None = None
    validation_error_percent: float | None = None
    test_error_percent: float | None = None
    measures: Mapping[str, float] = field(default_factory=dict)
    history: Mapping[str, NDArray] = field(default_factory=dict)  # type: ignore[type-arg]


def failed(spec: RunSpec, data_sha256: str, cause: str) -> RunResult:
    """Return the record of a run that ended without numbers."""
    return RunResult(spec.key, "failed", data_sha256, error=cause)


@dataclass(frozen=True, slots=True)
class Source:
    """Say which runs fill a table cell.

    Attributes
    ----------
    problem, method : str
        As in a run.
    tau, data_fraction : float or None
        As in a run.
    settings : tuple of (str, scalar)
        Parameters that must have these values, named ``parameter.<name>`` or ``classifier.<name>``.
    """

    problem: str
    method: str
    tau: float | None = None
    data_fraction: float | None = None
    settings: tuple[tuple[str, Scalar], ...] = ()


@dataclass(frozen=True, slots=True)
class ProblemFacts:
    """Hold a problem's sizes, as read from its data."""

    name: str
    data_sha256: str
    n_features: int
    n_classes: int
    n_train: int
    n_validation: int
    n_test: int


StoredRun = tuple[RunSpec, RunResult | None]
"""A planned run and what came of it: None until it is done or failed."""
