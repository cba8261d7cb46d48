"""Owns the admissible ranges of `RpropMLPClassifier`'s parameters."""

import math
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, NoReturn

import numpy as np

_Rule = tuple[str, Callable[[Any], bool]]


def _number(value: Any) -> bool:
    """Tell whether a value is a real number."""
    return isinstance(value, Real) and value is not True and value is not False and not math.isnan(value)


def _count(value: Any) -> bool:
    """Tell whether a value is an integer >= 1."""
    return _number(value) and isinstance(value, Integral) and int(value) >= 1


def _counts(value: Any) -> bool:
    """Tell whether a value is a sequence of integers >= 1."""
    return isinstance(value, Sequence | np.ndarray) and all(_count(size) for size in value)


def _step_range(value: Any) -> bool:
    """Tell whether a value is a pair 0 < low <= high of finite numbers."""
    return (
        isinstance(value, Sequence | np.ndarray)
        and len(value) == 2
        and all(_number(bound) for bound in value)
        and 0 < value[0] <= value[1] < math.inf
    )


_RULES: dict[str, _Rule] = {
    "hidden_layer_sizes": ("a sequence of integers >= 1, or ()", _counts),
    "shortcuts": ("True or False", lambda value: isinstance(value, bool | np.bool_)),
    "output_activation": (
        "'linear' or 'softsign'",
        lambda value: isinstance(value, str) and value in ("linear", "softsign"),
    ),
    "eta_plus": ("a number > 1", lambda value: _number(value) and 1 < value < math.inf),
    "eta_minus": ("a number between 0 and 1", lambda value: _number(value) and 0 < value < 1),
    "initial_step_range": ("two numbers, 0 < low <= high", _step_range),
    "step_min": ("a number >= 0", lambda value: _number(value) and 0 <= value < math.inf),
    "step_max": ("a number > 0", lambda value: _number(value) and value > 0),
    "initial_weight_range": ("a number > 0", lambda value: _number(value) and 0 < value < math.inf),
    "max_epochs": ("an integer >= 1", _count),
    "strip_length": ("an integer >= 1", _count),
    "generalisation_loss": ("a number >= 0", lambda value: _number(value) and value >= 0),
    "training_progress": ("a number >= 0", lambda value: _number(value) and value >= 0),
    "validation_fraction": ("a number between 0 and 1", lambda value: _number(value) and 0 < value < 1),
}


def check_parameters(parameters: Mapping[str, Any]) -> None:
    """Check every parameter's range.

    Raises
    ------
    ValueError
        If a value is outside its range.
    """
    for name, (rule, admits) in _RULES.items():
        if not admits(parameters[name]):
            _refuse(name, rule, parameters[name])
    if parameters["step_min"] > parameters["step_max"]:
        _refuse("step_min", f"at most step_max ({parameters['step_max']})", parameters["step_min"])


def _refuse(name: str, rule: str, value: Any) -> NoReturn:
    """Say what was expected."""
    raise ValueError(f"{name} in RpropMLPClassifier: expected {rule}, got {value!r}")


def generator(random_state: Any) -> np.random.Generator:
    """Return the generator that a ``random_state`` stands for: int, RandomState, Generator or None."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    return np.random.default_rng(random_state)
