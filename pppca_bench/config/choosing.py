"""What a config says of settings that each run chooses for itself, on training and validation data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from annotated_types import MaxLen, MinLen

from pppca_bench.config.messages import Reader
from pppca_bench.documents import Location
from pppca_bench.methods.entry import Method
from pppca_bench.parameters import Parameter, Percent, shown
from pppca_bench.runs import AUTO, CHOOSE, Scalar

CHOICE_KEYS = ("choose", "by", "retain")

AUTO_TAUS = (2.0, 5.0, 10.0, 15.0, 20.0, 50.0, 100.0)
"""Candidates of ``tau: auto``. Choice: the slides' four, and others around them, for other spectra."""

By = Literal["validation_error", "retained_variance"]
_Names = Annotated[tuple[str, ...], MinLen(1), MaxLen(10)]

CHOICE_VALUES = {
    "choose": Parameter("choose", str | _Names, ()),
    "by": Parameter("by", By, "validation_error"),
    "retain": Parameter("retain", Percent, 95.0),
}


@dataclass(frozen=True, slots=True)
class ChoiceRule:
    """Say what runs choose, and by what.

    Attributes
    ----------
    names : tuple of str
        Parameters whose values in the config are candidates, where there are several.
    by : {"validation_error", "retained_variance"}
        The least error on the validation split, or the fewest features that retain enough of the training split's
        variance.
    retain : float
        Percent of the variance that is enough.
    """

    names: tuple[str, ...] = ()
    by: By = "validation_error"
    retain: float = 95.0


def read_choice(reader: Reader, given: Mapping[str, Any]) -> ChoiceRule:
    """Return the rule that a config's keys `CHOICE_KEYS` state."""
    names, by, retain = (reader.one(CHOICE_VALUES[key], given, ()) for key in CHOICE_KEYS)
    names = (names,) if isinstance(names, str) else names or ()
    if "retain" in given and by == "validation_error":
        text = "expected it beside by: retained_variance alone, got by: validation_error"
        reader.mistakes.add(("retain",), text)
    return ChoiceRule(names, by or "validation_error", retain or 100.0)


def with_candidates(given: Mapping[str, Any], rule: ChoiceRule) -> tuple[dict[str, Any], ChoiceRule]:
    """Return a mapping with the candidates of ``tau: auto`` spelled out, and the rule that chooses among them."""
    if given.get("tau") != AUTO:
        return dict(given), rule
    names = tuple(dict.fromkeys([*rule.names, "tau"]))
    return {**given, "tau": list(AUTO_TAUS)}, ChoiceRule(names, rule.by, rule.retain)


def choosing_grid(
    reader: Reader, entry: Method, grid: Mapping[str, tuple[Scalar, ...]], rule: ChoiceRule, place: Location
) -> dict[str, tuple[Scalar, ...]]:
    """Return a method's values, those that its runs choose among as one.

    Parameters
    ----------
    reader : Reader
        Takes the mistakes.
    entry : Method
    grid : mapping of str to tuple
        Values of each parameter.
    rule : ChoiceRule
    place : tuple
        Where the method stands.
    """
    candidates = {name: grid[name] for name in rule.names if len(grid.get(name, ())) > 1}
    if not candidates:
        return dict(grid)
    if entry.makes == "measures":
        reader.mistakes.add(place, f"expected no settings to choose among, since {entry.name} only measures, got some")
    if entry.makes == "classes" and rule.by == "retained_variance":
        text = (
            f"expected features whose variance is known, got {entry.name}, which classifies: choose by validation_error"
        )
        reader.mistakes.add(place, text)
    for name, values in candidates.items():
        for value in values:
            if isinstance(value, bool) or not isinstance(value, int | float):
                reader.mistakes.add((*place, name), f"expected numbers to choose among, got {shown(value)}")
    numbers: dict[str, Any] = {f"{CHOOSE}{name}": (values,) for name, values in candidates.items()}
    retain = {f"{CHOOSE}retain": (rule.retain,)} if rule.by == "retained_variance" else {}
    return {**grid, **dict.fromkeys(candidates, (AUTO,)), **numbers, f"{CHOOSE}by": (rule.by,), **retain}


def check_chosen(reader: Reader, rule: ChoiceRule, grids: Iterable[Mapping[str, object]]) -> None:
    """Make a mistake of each name that ``choose`` holds though no method has several values of it."""
    every = list(grids)
    for name in rule.names:
        if not any(f"{CHOOSE}{name}" in grid for grid in every):
            text = f"expected a parameter of which a method here has several values, got {shown(name)}"
            reader.mistakes.add(("choose",), text)
