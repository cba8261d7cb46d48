"""Records of runs: specifications, plans, results, names of settings."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, TypeVar

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

SIGNS: Mapping[str, str] = {"tau": "τ = {}", "data_fraction": "{}%"}
"""Texts of the parameters that all names of settings state: the threshold of criterion (1), and the share of the data.

They vary fastest in a plan, in this order.
"""

THRESHOLD, DATA_FRACTION = SIGNS

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


@dataclass(frozen=True, slots=True)
class RunSpec:
    """Specification of a run, which determines its results."""

    key: str  # hexadecimal digest of cell, repeat and seed; the run's name in the store
    cell: Cell
    repeat: int  # from 0
    seed: int  # in [0, 2**63); the same for all settings of a method in a repeat
    # names of settings that differ from defaults, for labels; not in the key
    changed: Names = ()
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


def written(value: Any) -> str:
    """Write a value as configs do, such as ``"[2, 0.5]"``; texts without quotation marks."""
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        return f"[{', '.join(map(written, value))}]"
    return f"{value:.17g}" if isinstance(value, float) and value.is_integer() else json.dumps(value)


ABSENT: Any = object()
"""Value of a setting that an item does not have."""


def distinguish(
    settings: Sequence[Mapping[str, Any]], names: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Return the settings that distinguish each item from the others.

    Given names, they are the first settings, in the order of the names, that distinguish an item from all others; a
    name that the item does not have is passed over. Without names, they are all values that are not the most frequent;
    a missing value, the default of a parameter that was added later, counts as the most frequent, and of equally
    frequent values none is.
    """
    chosen: list[dict[str, Any]] = [{} for _ in settings]
    for name in () if names else dict.fromkeys(name for item in settings for name in item):
        values = [item.get(name, ABSENT) for item in settings]
        counts = Counter(values)
        usual = [value for value, n in counts.items() if n == max(counts.values())]
        if ABSENT in counts:
            usual = [ABSENT]
        for distinct, value in zip(chosen, values, strict=True):
            if usual != [value]:
                distinct[name] = value
    everyone, passed_over = list(range(len(settings))), object()  # `ABSENT` may be given as a value
    # items, and all items with the same values of the names so far: one pass over all items a name
    groups = [(everyone, everyone)]
    for name in names:
        values, split = [item.get(name, passed_over) for item in settings], []
        for items, rivals in (group for group in groups if len(group[1]) > 1):
            alike = grouped(rivals, values.__getitem__)
            for value, members in grouped(items, values.__getitem__).items():
                if value is not passed_over and len(alike[value]) < len(rivals):
                    for item in members:
                        chosen[item][name] = value
                split.append((members, rivals if value is passed_over else alike[value]))
        groups = split
    return chosen


def selections(cells: Iterable[Cell]) -> dict[Cell, dict[str, str]]:
    """Return the settings that distinguish each cell from the others: problem, method and, where needed, more.

    A setting that a cell lacks is null, as in filters of runs.
    """
    selected: dict[Cell, dict[str, str]] = {}
    for (problem, method), group in grouped(cells, PROBLEM_AND_METHOD).items():
        known = set[str]().union(*(cell.settings for cell in group))
        shared = known.intersection(*(cell.settings for cell in group))
        names = sorted(known, key=lambda name: (name not in shared, name not in SIGNS, name))
        settings = [dict.fromkeys(names) | cell.settings for cell in group]
        for cell, distinct in zip(group, distinguish(settings, names), strict=True):
            texts = {name: written(value) for name, value in distinct.items()}
            selected[cell] = {"problem": problem, "method": method} | texts
    return selected


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
