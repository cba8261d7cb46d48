"""Records of runs: specifications, plans, results, names of settings."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

if TYPE_CHECKING:
    from numpy.typing import NDArray

Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)
PROBLEM_AND_METHOD = attrgetter("problem", "method")

Curves = Mapping[str, "NDArray[Any]"]
"""Learning curves and other arrays of a run, by name: a value or row a step."""
Names = tuple[str, ...]
"""Names, such as those of configs or quantities."""
Scalar = float | int | bool | str | tuple[float | int, ...] | None
Parameters = tuple[tuple[str, Scalar], ...]
"""Values by name, sorted by name."""

FASTEST = THRESHOLD, DATA_FRACTION = ("tau", "data_fraction")
"""Parameters that vary fastest in a plan, in this order: the threshold of criterion (1), and the share of the data."""

CHOOSE = "choose."
"""Prefix of the parameters of runs that choose their settings.

``choose.by``, ``choose.retain``, and ``choose.tau`` with the candidates of ``tau``, whose value is then `AUTO`.
"""

CHOOSE_BY, CHOOSE_RETAIN = f"{CHOOSE}by", f"{CHOOSE}retain"

AUTO = "auto"
"""Value of parameters that each run chooses."""

CHOSEN = "chosen_"
"""Prefix of chosen values, such as ``chosen_tau``."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Cell: method, settings and data, which determine the results of its repeats, except for seeds."""

    problem: str  # name in the config: a registered name, or the path of a user's file
    data_sha256: str
    method: str
    # with all defaults, except those of parameters that were added later (`base.parameters.Later`)
    parameters: Parameters
    classifier: Parameters  # ``rule`` and parameters with defaults likewise; empty if no classifier follows the method
    # versions by name; texts for third-party algorithms
    algorithms: tuple[tuple[str, int | str], ...] = ()

    @property
    def is_third_party(self) -> bool:
        """Whether runs call third-party code."""
        return any(isinstance(version, str) for _, version in self.algorithms)

    @property
    def settings(self) -> dict[str, Scalar]:
        """Return all parameters by name, and parameters of the classifier as ``classifier.<name>``."""
        return dict(self.parameters) | {
            f"classifier.{name}": value for name, value in self.classifier
        }

    @property
    def rules(self) -> dict[str, Scalar]:
        """Return the names of the classifier and of the members of an ensemble, as in ``settings``."""
        rules = ("classifier.rule", "classifier.base.rule")
        return {name: value for name, value in self.settings.items() if name in rules}


def candidates(cell: Cell) -> list[Parameters]:
    """Return the candidates of the runs of a cell, all combinations of values; ``[()]`` without a choice."""
    grids: dict[str, Any] = {
        name.removeprefix(CHOOSE): value
        for name, value in cell.parameters
        if name.startswith(CHOOSE) and name not in (CHOOSE_BY, CHOOSE_RETAIN)
    }
    return [tuple(zip(grids, values, strict=True)) for values in itertools.product(*grids.values())]


def n_trainings(cell: Cell) -> int:
    """Return the number of trainings of a run of a cell: 1, or the number of candidates plus 1 for the choice."""
    n_candidates = len(candidates(cell))
    return n_candidates + 1 if n_candidates > 1 else 1


class Label(NamedTuple):
    """Label of a cell: title of the method, and the settings that the config gives, in its order."""

    title: str = ""
    settings: tuple[tuple[str, Scalar], ...] = ()

    @property
    def text(self) -> str:
        """Return the label as text, such as ``"DGHA, centre = false, τ = 15"``."""
        return ", ".join([self.title, *(setting_text(*item) for item in self.settings)])


@dataclass(frozen=True, slots=True)
class RunSpec:
    """Specification of a run, which determines its results."""

    key: str  # hexadecimal digest of cell, repeat and seed; the run's name in the store
    cell: Cell
    repeat: int  # from 0
    seed: int  # in [0, 2**63); the same for all settings of a method in a repeat
    label: Label = field(default=Label(), compare=False)
    # number of the cell in the config, for the order of tables
    place: int = field(default=0, compare=False)


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Group items by key: keys in the order of their first items, items in the given order."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def by_cell(specs: Iterable[RunSpec]) -> dict[Cell, list[RunSpec]]:
    """Return the runs of each cell, in their order."""
    return grouped(specs, lambda spec: spec.cell)


def setting_text(name: str, value: Scalar) -> str:
    """Write a setting, such as ``"n_epochs = 50"``, ``"τ = 10"`` or ``"50%"``."""
    if name == DATA_FRACTION and value != AUTO:
        return f"{written(value)}%"
    return f"{'τ' if name == THRESHOLD else name} = {written(value)}"


def written(value: Any) -> str:
    """Write a value as configs do, such as ``"[2, 0.5]"``; texts without quotation marks."""
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        return f"[{', '.join(map(written, value))}]"
    return f"{value:.17g}" if isinstance(value, float) and value.is_integer() else json.dumps(value)


def selections(cells: Iterable[Cell]) -> dict[Cell, dict[str, str]]:
    """Return the settings that select each cell: problem, method, and settings in which cells with both differ.

    First of these are the classifiers. The others distinguish cells with the same classifiers, since the settings of
    different classifiers are not comparable. A setting that a cell lacks is null, as in filters of runs.
    """
    selected = {cell: {"problem": cell.problem, "method": cell.method} for cell in cells}
    for part in (attrgetter("rules"), attrgetter("settings")):
        for group in grouped(selected, lambda cell: tuple(selected[cell].items())).values():
            settings = {cell: part(cell) for cell in group}
            names = differing(list(settings.values()))
            for cell, own in settings.items():
                selected[cell] |= {name: written(own.get(name)) for name in names}
    return selected


def differing(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of settings that only some have, or whose values are not all equal.

    They are sorted, those of the classifier last.
    """
    names = set[str]().union(*settings)
    several = [
        name for name in names if len({(name in own, own.get(name)) for own in settings}) > 1
    ]
    return sorted(several, key=lambda name: (name.startswith("classifier."), name))


@dataclass(frozen=True, slots=True)
class Plan:
    """Plan of a config: name, digest and text of the file, and three sets of runs."""

    name: str
    sha256: str
    text: str
    specs: tuple[RunSpec, ...]  # of this command
    # at the config's own repeats; completed runs among them stay in its tables
    all_repeats: tuple[RunSpec, ...] = ()
    left_out: tuple[RunSpec, ...] = ()  # runs that this command omits; earlier plans for them stay
    elsewhere: frozenset[str] = frozenset()  # keys of the specs that other shards compute


@dataclass(frozen=True, slots=True)
class RunResult:
    """Result of a run."""

    key: str  # of its `RunSpec`
    status: Literal["done", "failed"]
    error: str | None = None  # traceback or cause of a failed run
    # by name in `QUANTITIES` or of the method
    values: Mapping[str, float] = field(default_factory=dict)
    history: Curves = field(default_factory=dict)
    # provenance of a stored result (`provenance.provenance_text`), as JSON
    origin: str = field(default="", compare=False)


_FOLDERS = re.compile(r"""(?<=["'])/([^"'/\n]+/)+|(?<![\w.:/…])/([^\s"'/]+/)+""")
"""Folders in absolute paths, which contain names of users and machines; paths with spaces are in quotation marks."""


MAX_ERROR = 10_000
"""Largest number of bytes of a stored error; the middle of a longer error is left out."""


def failed_result(spec: RunSpec, cause: str) -> RunResult:
    """Return the result of a failed run; its cause is stored as valid UTF-8, without folders of absolute paths."""
    error = _FOLDERS.sub("…/", cause).encode("utf-8", "backslashreplace")
    if (n_more := len(error) - MAX_ERROR) > 0:
        error = (
            error[: MAX_ERROR // 2]
            + f"\n… {n_more} bytes more …\n".encode()
            + error[-MAX_ERROR // 2 :]
        )
    return RunResult(spec.key, "failed", error=error.decode("utf-8", "ignore"))


def cause_of(error: str | None) -> str:
    """Return the first line of the exception at the end of a traceback, or the last line of other texts."""
    lines = (error or "").strip().splitlines() or ["unknown cause"]
    frames = [number for number, line in enumerate(lines) if line.startswith("  File ")]
    # Code and marks of frames are indented; the exception after the last frame is not.
    after = lines[frames[-1] :] if frames else []
    return next((line for line in after if not line.startswith(" ")), lines[-1])


StoredRun = tuple[RunSpec, RunResult | None]
"""Planned run and its result; None while it is pending."""


@dataclass(frozen=True, slots=True)
class Selector:
    """Filter of the runs that fill a table cell: problem, method and values of some settings (`Cell.settings`)."""

    problem: str
    method: str
    settings: Parameters = ()

    @property
    def parts(self) -> tuple[Selector, ...]:
        """Return the selector itself, as formulas return the selectors of their runs."""
        return (self,)

    def matches(self, cell: Cell) -> bool:
        """Return whether the runs of a cell belong in the table cell."""
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
    family: str  # shared by permutations, such as "cancer" for cancer1; otherwise the name
    n_features: int
    n_outputs: int  # classes, or targets of an approximation
    n_train: int
    n_validation: int
    n_test: int
    n_splits: int = 1  # of user-defined data: repeat r uses split r modulo this number; sizes differ by a few examples
    # labels in the order of their numbers; () for numbers alone
    classes: tuple[str | int | float | bool, ...] = ()

    @property
    def test_ratio(self) -> float:
        """Ratio n_test / n_train for the corrected resampled t-test."""
        return self.n_test / self.n_train


Facts = Mapping[str, ProblemFacts]
"""Sizes of problems, by name."""
