"""Selection of the runs of table cells: settings, and formulas that combine the runs of several settings."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import chain, product
from statistics import fmean, median
from typing import Annotated, Any, Literal, NamedTuple

from annotated_types import Ge, Lt, MinLen
from pydantic import AfterValidator, Field

from pppca_bench.runs import Selector
from pppca_bench.yaml_files.section import Section, broken_rule, yaml_text

Text = Annotated[str, MinLen(1)]
Texts = tuple[Text, ...]


def _setting(value: Any) -> Any:
    parts = value if isinstance(value, tuple) else (value,)
    if not all(part is None or isinstance(part, bool | int | float | str) for part in parts):
        raise broken_rule(f"expected a setting's value, got {yaml_text(value)}")
    return value


def _settings(settings: dict[str, Any]) -> dict[str, Any]:
    for key in ("problem", "method"):
        if key in settings and not isinstance(settings[key], str):
            raise broken_rule(f"expected a {key}'s name, got {yaml_text(settings[key])}", key)
    return settings


def _lists(settings: dict[str, Any]) -> dict[str, Any]:
    for key, values in settings.items():
        if not isinstance(values, tuple) or not values:
            raise broken_rule(f"expected a list of values, got {yaml_text(values)}", key)
        for value in values:
            _settings({key: _setting(value)})
    return settings


Settings = Annotated[
    dict[Text, Annotated[Any, AfterValidator(_setting)]], AfterValidator(_settings)
]
"""Problem, method and settings of runs, by name."""


def selector_of(asked: dict[str, Any]) -> Selector:
    """Return the selector of the runs with these settings, problem and method among them."""
    names = sorted(asked.keys() - {"problem", "method"})
    settings = tuple((name, asked[name]) for name in names)
    return Selector(asked["problem"], asked["method"], settings)


class Formula(NamedTuple):
    """Formula of a cell that combines the runs of several settings, repeat by repeat.

    In each repeat, the number of a member is paired with that of its baseline, and ``combine`` makes a single number
    of all pairs: their mean, their median, or the count of successes. A success is a number of at most ``threshold``,
    or at least, if more of the quantity is better. The cell has the ``statistic`` of the repeats: their mean, their
    median, the share of successes in percent, or the best of ``best_of`` repeats.
    """

    members: tuple[Selector, ...]
    baselines: tuple[Selector, ...] = ()  # in the order of the members; empty without pairs
    pair: Literal["ratio", "difference"] = "difference"
    combine: str = "mean"
    statistic: str = "mean"
    best_of: int = 1
    threshold: float = math.nan

    @property
    def parts(self) -> tuple[Selector, ...]:
        """Return the selectors of the members, then of their baselines."""
        return self.members + self.baselines

    @property
    def operations(self) -> tuple[object, ...]:
        """Return how the numbers of the parts are combined, whatever the parts are."""
        return self.pair, self.combine, self.statistic, self.best_of, self.threshold

    def of_repeat(self, values: Sequence[float], *, more_is_better: bool) -> float:
        """Return the number of a repeat, given the values of the parts; nan if it has a ratio to 0."""
        numbers, baselines = values[: len(self.members)], values[len(self.members) :]
        if self.baselines and self.pair == "difference":
            numbers = [
                member - baseline for member, baseline in zip(numbers, baselines, strict=True)
            ]
        elif self.baselines:
            pairs = zip(numbers, baselines, strict=True)
            numbers = [member / baseline if baseline else math.nan for member, baseline in pairs]
        if any(map(math.isnan, numbers)):
            return math.nan
        if self.combine != "count":
            numbers = [median(numbers) if self.combine == "median" else fmean(numbers)]
        if math.isnan(self.threshold):
            return numbers[0]
        sign = -1.0 if more_is_better else 1.0
        n_successes = sum(sign * number <= sign * self.threshold for number in numbers)
        return (100.0 if self.statistic == "share" else 1.0) * n_successes


class CellKeys(Section):
    """Keys of a table, a row, a column and a single cell, each of which takes precedence over those before it.

    ``runs`` are the problem, method and settings of the runs, and ``over`` lists of further settings, all combinations
    of which are members of a `Formula`. ``ratio_to`` or ``difference_from`` are settings that a member's baseline has
    in place of the member's own. Settings of ``runs``, ``ratio_to`` and ``difference_from`` add up.
    """

    runs: Settings = Field(default_factory=dict)
    over: Annotated[dict[Text, Any], AfterValidator(_lists)] | None = None
    ratio_to: Settings | None = None
    difference_from: Settings | None = None
    combine: Literal["mean", "median", "count"] | None = None
    statistic: Literal["mean", "median", "share"] | None = None
    best_of: Annotated[int, Ge(1)] | None = None
    threshold: Annotated[float, Lt(1e100)] | None = None


def asked(levels: Sequence[CellKeys]) -> dict[str, Any]:
    """Return the problem, method and settings of the runs of a cell, given its keys at each level."""
    return _together(level.runs for level in levels)


def _together(levels: Iterable[Settings]) -> dict[str, Any]:
    return {name: value for settings in levels for name, value in settings.items()}


def select(levels: Sequence[CellKeys], place: str) -> Selector | Formula | None:
    """Return the selection of the runs of a cell, given its keys at each level; None for a cell without a method."""
    runs, keys = asked(levels), dict[str, Any]()
    for level in levels:
        keys |= {name: value for name, value in level if name in _FORMULA and value is not None}
    for name in _PAIRS.keys() & keys.keys():
        keys[name] = _together(getattr(level, name) or {} for level in levels)
    known = runs | keys.get("over", {})
    if "method" not in known and not keys:
        return None
    if "method" in known and "problem" not in known:
        raise broken_rule(f"expected a problem beside the method of {place}, got none")
    if not keys:
        return selector_of(runs)
    successes = [keys.get("combine") == "count", keys.get("statistic") == "share"]
    rules = {
        "a method": "method" in known,
        "one of ratio_to and difference_from": not {"ratio_to", "difference_from"} <= keys.keys(),
        "one of statistic and best_of": not {"statistic", "best_of"} <= keys.keys(),
        "over beside combine": "over" in keys or "combine" not in keys,
        "one of combine: count and statistic: share": not all(successes),
        "a threshold with count or share, and only there,": any(successes) == ("threshold" in keys),
    }
    for rule, holds in rules.items():
        if not holds:
            raise broken_rule(f"expected {rule} for {place}, got {', '.join(keys)}")
    over = keys.pop("over", {})
    members = [runs | dict(zip(over, values, strict=True)) for values in product(*over.values())]
    for name, pair in _PAIRS.items():
        if (other := keys.pop(name, None)) is not None:
            baselines = tuple(selector_of(member | other) for member in members)
            keys |= {"pair": pair, "baselines": baselines}
    if "best_of" in keys:
        keys["statistic"] = "best"
    return Formula(tuple(map(selector_of, members)), **keys)


def in_place(
    selection: Selector | Formula,
    runs: dict[str, Any],
    settings_of: Callable[[str, str], Collection[str]],
) -> Selector | Formula:
    """Return a selection of runs with other settings in place of its own, but for the baselines of a formula.

    Of its own settings, those stay that runs of the other problem and method have, whose names ``settings_of`` returns.
    """
    if isinstance(selection, Formula):
        replaced = (in_place(part, runs, settings_of).parts for part in selection.members)
        return selection._replace(members=tuple(chain(*replaced)))
    requested = {"problem": selection.problem, "method": selection.method, **runs}
    known = settings_of(requested["problem"], requested["method"])
    settings = {name: value for name, value in selection.settings if name in known}
    return selector_of(settings | requested)


_PAIRS = {"ratio_to": "ratio", "difference_from": "difference"}

_FORMULA = CellKeys.model_fields.keys() - {"runs"}
