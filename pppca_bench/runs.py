"""Records of runs: specifications, plans, results, quantities."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from numpy.typing import NDArray

Scalar = float | int | bool | str | tuple[float | int, ...] | None
Parameters = tuple[tuple[str, Scalar], ...]
"""Values by name, sorted by name."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """Number of a run: its title with the unit, and the format of its printed mean in Python's format language."""

    title: str
    form: str = ".2f"
    is_count: bool = False  # whether its values are integers
    more_is_better: bool = False
    is_timing: bool = False  # whether it depends on the speed of the machine, so that no two runs give the same
    short: str = ""  # a shorter title; "" for the title itself
    meaning: str = ""  # explanation of the title; "" where it needs none


QUANTITIES: Mapping[str, Quantity] = {
    "test_error_percent": Quantity("Error, %"),
    "validation_error_percent": Quantity("Validation error, %"),
    "train_error_percent": Quantity("Training error, %"),
    "dimensionality": Quantity("Dimensionality", ".1f", is_count=True, short="Dim."),
    "fit_time_ms": Quantity("Fit, ms", ".1f", is_timing=True),
    "classifier_time_ms": Quantity("Classifier, ms", ".1f", is_timing=True),
    "train_squared_error_percent": Quantity("Least training error, squared error percentage"),
    "validation_squared_error_percent": Quantity("Least validation error, squared error percentage"),
    "test_squared_error_percent": Quantity("Test error at the validation minimum, squared error percentage"),
    "correlation": Quantity("Correlation of validation and test error over the repeats"),
    "overfit_percent": Quantity("Overfit: generalisation loss at the end, %"),
    "connection_traversals": Quantity("Connection traversals", ".3g"),
    "n_epochs": Quantity("Epochs or generations", ".0f", is_count=True),
    "total_epochs": Quantity("Total epochs", ".0f", is_count=True),
    "relevant_epochs": Quantity("Relevant epochs", ".0f", is_count=True),
    "retained_variance_percent": Quantity("Retained variance, %", ".1f", short="Var., %"),
    "optimality_percent": Quantity(
        "Optimality, %",
        ".1f",
        short="Opt., %",
        meaning="the retained variance over the most that as many features can hold",
    ),
    "reconstruction_error": Quantity("Reconstruction error", ".3g", short="Rec. error"),
    "speedup": Quantity("Speed-up", is_timing=True),
    "speedup_operations": Quantity("Ratio of multiply-adds instead of times (exact on any machine)"),
    "speedup_fast": Quantity(
        "Ratio of times of the fast kernel, whose cost grows with l instead of l²", is_timing=True
    ),
    "gha_time_ms": Quantity("Time of GHA, ms", is_timing=True),
    "dgha_time_ms": Quantity("Time of DGHA, ms", is_timing=True),
}
"""Numbers that the package measures, by name; a method may add others (``measures_``)."""

SCORES: Mapping[str, Quantity] = {
    "accuracy_percent": Quantity("Accuracy, %", more_is_better=True),
    "balanced_accuracy_percent": Quantity("Balanced accuracy, %", more_is_better=True),
    "macro_f1_percent": Quantity("Macro F1, %", more_is_better=True),
    "log_loss": Quantity("Log loss, nats", ".3f"),
    "r2": Quantity("R²", ".3f", more_is_better=True),
}
"""Scores on the test split of runs that store their predictions, by name."""

CHOOSE = "choose."
"""Prefix of the parameters of runs that choose their settings.

``choose.by``, ``choose.retain``, and ``choose.tau`` with the candidates of ``tau``, which itself is `AUTO`.
"""

CHOOSE_BY, CHOOSE_RETAIN = f"{CHOOSE}by", f"{CHOOSE}retain"

AUTO = "auto"
"""Value of a parameter that each run chooses."""

CHOSEN = "chosen_"
"""Prefix of chosen values, such as ``chosen_tau``."""

MEASURES: Mapping[str, Quantity] = {
    **SCORES,
    "chosen_tau": Quantity("Chosen τ", ".1f"),
    "chosen_data_fraction": Quantity("Chosen data fraction, %", ".1f"),
    "failed_candidates": Quantity("Candidates that failed", ".1f", is_count=True),
    **{f"weight_{place}": Quantity(f"Weight of input {place}", ".7f") for place in range(1, 5)},
    "residual_norm": Quantity("Spectral norm of X − Y W", ".7f"),
    "disturbed_rounds": Quantity("Disturbed rounds behind the measured times", ".1f", is_count=True, is_timing=True),
}
"""Numbers of some methods (``measures_``), by name."""

SIZES = ("n_features", "n_outputs", "n_train", "n_validation", "n_test")
"""Attributes of `ProblemFacts` that are sizes."""


def described(quantity: str) -> Quantity:
    """Return the description of a number; its own name is the title of a number that only its method knows."""
    if quantity in SIZES:
        return Quantity(quantity, ".0f", is_count=True)
    return QUANTITIES.get(quantity) or MEASURES.get(quantity, Quantity(quantity, ".3g"))


@dataclass(frozen=True, slots=True)
class Cell:
    """Setting of a method on a problem's data: everything that decides the numbers of its repeats but the seed."""

    problem: str  # as the config names it: a registered name, or the path of a user's file
    data_sha256: str
    method: str
    parameters: Parameters  # with all defaults, the threshold ``tau`` and ``data_fraction`` (percent) among them
    classifier: Parameters  # ``rule`` and parameters with all defaults; empty if no classifier follows the method
    algorithms: tuple[tuple[str, int | str], ...] = ()  # versions by name; texts for third-party algorithms

    @property
    def settings(self) -> dict[str, Scalar]:
        """Return all parameters by name, a classifier's as ``classifier.<name>``."""
        return dict(self.parameters) | {f"classifier.{name}": value for name, value in self.classifier}


def candidates(cell: Cell) -> list[Parameters]:
    """Return the candidates of a cell's runs, every combination of values; ``[()]`` where nothing is chosen."""
    grids: dict[str, Any] = {
        name.removeprefix(CHOOSE): value
        for name, value in cell.parameters
        if name.startswith(CHOOSE) and name not in (CHOOSE_BY, CHOOSE_RETAIN)
    }
    return [tuple(zip(grids, values, strict=True)) for values in itertools.product(*grids.values())]


def n_trainings(cell: Cell) -> int:
    """Return how often a run of a cell learns: once, or once for each candidate and once more for the chosen."""
    n_candidates = len(candidates(cell))
    return n_candidates + 1 if n_candidates > 1 else 1


@dataclass(frozen=True, slots=True)
class RunSpec:
    """Specification of a run: everything that decides its numbers."""

    key: str  # hexadecimal digest of cell, repeat and seed; the run's name in the store
    cell: Cell
    repeat: int  # from 0
    seed: int  # in [0, 2**63); the same for all settings of a method in a repeat
    changed: tuple[str, ...] = ()  # names of settings that are not a config's defaults, for labels; no part of the key
    place: int = field(default=0, compare=False)  # number of the cell in the config, for the order of tables


def by_cell(specs: Iterable[RunSpec]) -> dict[Cell, list[RunSpec]]:
    """Return the runs of each cell, in their order."""
    cells: dict[Cell, list[RunSpec]] = {}
    # Repeats follow one another; comparing their cells by identity saves microseconds of hashing a run.
    for _, repeats in itertools.groupby(specs, key=lambda spec: id(spec.cell)):
        own = list(repeats)
        cells.setdefault(own[0].cell, []).extend(own)
    return cells


@dataclass(frozen=True, slots=True)
class Plan:
    """Runs of a config: its name, the digest and text of its file, and three sets of runs."""

    name: str
    sha256: str
    text: str
    specs: tuple[RunSpec, ...]  # of this command
    all_repeats: tuple[RunSpec, ...] = ()  # at the config's own repeats; completed runs among them stay in its tables
    left_out: tuple[RunSpec, ...] = ()  # runs that this command leaves out; they stay planned if they were


@dataclass(frozen=True, slots=True)
class RunResult:
    """Result of a run."""

    key: str  # of its `RunSpec`
    status: Literal["done", "failed"]
    error: str | None = None  # traceback or cause of a failed run
    values: Mapping[str, float] = field(default_factory=dict)  # by the names of `QUANTITIES` or the method's own
    history: Mapping[str, NDArray] = field(default_factory=dict)  # type: ignore[type-arg]  # a value or row a step
    origin: str = field(default="", compare=False)  # provenance of a stored result (`provenance.describe`), as JSON


_FOLDERS = re.compile(r"""(?<=["'])/([^"'/\n]+/)+|(?<![\w.:/…])/([^\s"'/]+/)+""")
"""Folders of absolute paths, which name users and machines; paths with spaces are in quotation marks."""


def failed(spec: RunSpec, cause: str) -> RunResult:
    """Return the record of a failed run; its cause names no folders, and is escaped where UTF-8 does not encode it."""
    return RunResult(spec.key, "failed", error=_FOLDERS.sub("…/", cause).encode("utf-8", "backslashreplace").decode())


def cause_of(error: str | None) -> str:
    """Return the first line of the exception at the end of a traceback; of another text, the last line."""
    lines = (error or "").strip().splitlines() or ["unknown cause"]
    frames = [number for number, line in enumerate(lines) if line.startswith("  File ")]
    if not frames:
        return lines[-1]
    # The code and marks of a frame are indented, the exception after the last frame is not.
    return next((line for line in lines[frames[-1] :] if not line.startswith(" ")), lines[-1])


StoredRun = tuple[RunSpec, RunResult | None]
"""A planned run and its result; None before it is done or failed."""


@dataclass(frozen=True, slots=True)
class Selector:
    """Filter of the runs that fill a table cell: problem, method and values of some settings (`Cell.settings`)."""

    problem: str
    method: str
    settings: Parameters = ()

    def matches(self, cell: Cell) -> bool:
        """Return whether the runs of a cell fill the table cell."""
        if (cell.problem, cell.method) != (self.problem, self.method):
            return False
        settings = cell.settings
        return all(name in settings and settings[name] == value for name, value in self.settings)


@dataclass(frozen=True, slots=True)
class ProblemFacts:
    """Sizes of a problem, as read from its data."""

    name: str
    data_sha256: str
    task: str  # "classification" or "approximation"
    family: str  # shared by permutations, such as "cancer" of cancer1; without permutations the name itself
    n_features: int
    n_outputs: int  # classes, or targets of an approximation
    n_train: int
    n_validation: int
    n_test: int
    n_splits: int = 1  # of own data: repeat r has split r modulo this number; sizes differ by a few examples

    @property
    def test_ratio(self) -> float:
        """n_test / n_train, of the corrected resampled t-test."""
        return self.n_test / self.n_train
