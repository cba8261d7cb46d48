"""Records of runs: specifications, plans, results, names of settings."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from types import MappingProxyType
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

Settings = Mapping[str, Any]
"""Settings by name: values, or nested settings, such as those of the members of an ensemble."""

AUTO = "auto"
"""Value of parameters that each run chooses."""


def flattened(settings: Settings) -> dict[str, Any]:
    """Return the values of nested settings by dotted name, such as ``base.hidden``."""
    flat = dict[str, Any]()
    for name, value in settings.items():
        if isinstance(value, Mapping):
            for inner, inner_value in flattened(value).items():
                flat[f"{name}.{inner}"] = inner_value
        else:
            flat[name] = value
    return flat


def nested(flat: Settings) -> dict[str, Any]:
    """Return the nested settings of values by dotted name."""
    settings = dict[str, Any]()
    for name, value in flat.items():
        *levels, last = name.split(".")
        section = settings
        for level in levels:
            section = section.setdefault(level, {})
        section[last] = value
    return settings


@dataclass(frozen=True, slots=True)
class Cell:
    """Cell: method, settings and data, which determine the results of its repeats, except for seeds.

    Attributes
    ----------
    problem : str
        Name in the config: a registered name, or the path of a user's file.
    data_sha256 : str
        Digest of the problem's data.
    method : str
        Name in configs.
    parameters : mapping
        Of the method, each with its value.
    classifier : mapping
        ``rule``, the parameters of the classifier and, for an ensemble, ``base``, the classifier of the members; empty
        if no classifier follows the method.
    algorithms : tuple of (str, int or str)
        Versions by name; texts for third-party algorithms.
    choose : mapping
        Rule by which each run chooses parameters, whose values are then `AUTO`: ``by``, ``retain`` (None unless
        variance is retained), and ``among``, the candidates of each parameter; empty without a choice.
    predictions : bool
        Whether runs store their predictions for the test split.
    curve : bool
        Whether runs store the errors of their network during the training. It is a setting only if true, so that the
        runs of other cells keep their keys.
    settings : dict of str to value
        All of these by dotted name: ``tau``, ``classifier.hidden``, ``classifier.base.hidden``, ``choose.by``,
        ``predictions``.
    identity : tuple of (str, value)
        ``settings`` sorted by name, by which cells are compared.
    """

    problem: str
    data_sha256: str
    method: str
    parameters: Settings = field(compare=False)
    classifier: Settings = field(compare=False)
    algorithms: tuple[tuple[str, int | str], ...] = ()
    choose: Settings = field(default_factory=dict, compare=False)
    predictions: bool = False
    curve: bool = False
    settings: dict[str, Any] = field(init=False, compare=False, repr=False)
    identity: tuple[tuple[str, Any], ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Flatten the settings once, since cells are compared and looked up often."""
        settings = flattened(self.parameters)
        settings |= flattened({"classifier": self.classifier, "choose": self.choose})
        settings["predictions"] = self.predictions
        if self.curve:
            settings["curve"] = True
        object.__setattr__(self, "settings", settings)
        object.__setattr__(self, "identity", tuple(sorted(settings.items())))

    @property
    def is_third_party(self) -> bool:
        """Whether runs call third-party code."""
        return any(isinstance(version, str) for _, version in self.algorithms)

    @property
    def rules(self) -> dict[str, str]:
        """Return the names of the classifier and of the members of an ensemble, as in ``settings``."""
        rules = ("classifier.rule", "classifier.base.rule")
        return {name: self.settings[name] for name in rules if name in self.settings}


def candidates(cell: Cell) -> list[dict[str, Any]]:
    """Return the candidates of the runs of a cell, all combinations of values; ``[{}]`` without a choice."""
    among = cell.choose.get("among", {})
    return [dict(zip(among, values, strict=True)) for values in itertools.product(*among.values())]


def n_trainings(cell: Cell) -> int:
    """Return the number of trainings of a run of a cell: 1, or the number of candidates plus 1 for the choice."""
    return len(candidates(cell)) + 1 if cell.choose else 1


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


def selections(
    cells: Iterable[Cell], labels: Mapping[Cell, Label] = MappingProxyType({})
) -> dict[Cell, dict[str, str]]:
    """Return the settings that select each cell among the cells: problem, method, and what distinguishes it.

    These are the settings of its label, which the config wrote, if no other cell has their values; otherwise all
    settings in which cells differ, those of the classifiers in which cells of the same classifiers differ. A setting
    that a cell lacks is null, as in filters of runs.
    """
    selected = dict[Cell, dict[str, str]]()
    for alike in grouped(cells, PROBLEM_AND_METHOD).values():
        names = _distinguishing(alike) | _sufficient(alike, labels)
        for cell in alike:
            own = {name: written(cell.settings.get(name)) for name in names[cell]}
            selected[cell] = {"problem": cell.problem, "method": cell.method, **own}
    return selected


def _distinguishing(cells: Sequence[Cell]) -> dict[Cell, Names]:
    """Return the names of the settings in which each cell differs from any other.

    First of these are the classifiers. The others distinguish cells with the same classifiers, since the settings of
    different classifiers are not comparable.
    """
    names = dict[Cell, Names]()
    rules = differing([cell.rules for cell in cells])
    for alike in grouped(cells, lambda cell: tuple(map(cell.rules.get, rules))).values():
        several = differing([cell.settings for cell in alike])
        names |= dict.fromkeys(alike, (*rules, *several))
    return names


def _sufficient(cells: Sequence[Cell], labels: Mapping[Cell, Label]) -> dict[Cell, Names]:
    """Return the names of the settings of the cells' labels, for each cell that these distinguish from all others."""
    several = differing([cell.settings for cell in cells])
    written_names = dict[Cell, Names]()
    for cell in cells:
        of_label = [name for name, _ in labels.get(cell, Label()).settings]
        written_names[cell] = tuple(name for name in of_label if name in several)
    sufficient = dict[Cell, Names]()
    for names, own in grouped(cells, written_names.__getitem__).items():
        values = {cell: tuple(map(cell.settings.get, names)) for cell in cells}
        counts = Counter(values.values())
        sufficient |= {cell: names for cell in own if counts[values[cell]] == 1}
    return sufficient


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
    # settings that the run chose, and the compared values of all candidates (`store.choices.choice_of`)
    choice: Mapping[str, Any] = field(default_factory=dict)
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
