"""Owns the admissible ranges that the classifiers' parameters share, and how a value outside is refused."""

import math
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, NoReturn

import numpy as np

Rule = tuple[str, Callable[[Any], bool]]
"""What is expected of a parameter, in words and as a test."""


def is_flag(value: Any) -> bool:
    """Tell whether a value is True or False."""
    return isinstance(value, bool | np.bool_)


def is_number(value: Any) -> bool:
    """Tell whether a value is a real number."""
    return isinstance(value, Real) and value is not True and value is not False and not math.isnan(value)


def is_count(value: Any) -> bool:
    """Tell whether a value is an integer >= 1."""
    return is_number(value) and isinstance(value, Integral) and int(value) >= 1


def is_counts(value: Any) -> bool:
    """Tell whether a value is a sequence of integers >= 1."""
    return isinstance(value, Sequence | np.ndarray) and all(is_count(size) for size in value)


def is_range(value: Any) -> bool:
    """Tell whether a value is a pair 0 < low <= high of finite numbers."""
    return (
        isinstance(value, Sequence | np.ndarray)
        and len(value) == 2
        and all(is_number(bound) for bound in value)
        and 0 < value[0] <= value[1] < math.inf
    )


def is_positive(value: Any) -> bool:
    """Tell whether a value is a finite number > 0."""
    return is_number(value) and 0 < value < math.inf


def one_of(*names: str) -> Rule:
    """Return the rule of a parameter that names something."""
    return " or ".join(map(repr, names)), lambda value: isinstance(value, str) and value in names


SHARED_RULES: dict[str, Rule] = {
    "hidden_layer_sizes": ("a sequence of integers >= 1, or ()", is_counts),
    "initial_weight_range": ("a number > 0", is_positive),
    "max_epochs": ("an integer >= 1", is_count),
    "strip_length": ("an integer >= 1", is_count),
    "generalisation_loss": ("a number >= 0", lambda value: is_number(value) and value >= 0),
    "training_progress": ("a number >= 0", lambda value: is_number(value) and value >= 0),
    "validation_fraction": ("a number between 0 and 1", lambda value: is_number(value) and 0 < value < 1),
}


def check_parameters(estimator: Any, rules: Mapping[str, Rule]) -> None:
    """Check every parameter's range.

    Raises
    ------
    ValueError
        If a value is outside its range.
    """
    for name, (rule, admits) in rules.items():
        if not admits(getattr(estimator, name)):
            refuse(estimator, name, rule)


def refuse(estimator: Any, name: str, rule: str) -> NoReturn:
    """Say what was expected of a parameter."""
    raise ValueError(f"{name} in {type(estimator).__name__}: expected {rule}, got {getattr(estimator, name)!r}")


def generator(random_state: Any) -> np.random.Generator:
    """Return the generator that a ``random_state`` stands for: int, RandomState, Generator or None."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    return np.random.default_rng(random_state)
