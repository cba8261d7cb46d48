"""Parameters of estimators, with admissible values from annotations of the constructor.

`check_parameters` validates values when an estimator is fitted; configs are validated by the same annotations before
any run; ``pppca methods NAME`` prints the admissible values.
"""

from __future__ import annotations

import inspect
import math
import re
import types
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen
from pydantic import BeforeValidator, Field, PydanticUserError, TypeAdapter, ValidationError

if TYPE_CHECKING:
    import numpy as np

FINITE = Field(allow_inf_nan=False)
Positive = Annotated[float, Gt(0), FINITE]
NotNegative = Annotated[float, Ge(0), FINITE]
NotNegativeOrInfinite = Annotated[float, Ge(0)]
Probability = Annotated[float, Ge(0), Le(1)]
Share = Annotated[float, Gt(0), Le(1)]
OpenShare = Annotated[float, Gt(0), Lt(1)]
Percent = Annotated[float, Gt(0), Le(100)]
Tau = Annotated[float, Ge(1), FINITE]
Count = Annotated[int, Ge(1), Le(1_000_000)]
NotNegativeCount = Annotated[int, Ge(0), Le(1_000_000)]
PopulationSize = Annotated[int, Ge(2), Le(100_000)]
LayerSizes = Annotated[
    tuple[Annotated[int, Ge(1), Le(1000)], ...],
    MaxLen(5),
    BeforeValidator(lambda sizes: (sizes,) if isinstance(sizes, int) else sizes),
]
"""Units of each hidden layer; an integer is a single layer, as in scikit-learn."""
PositivePair = tuple[Positive, Positive]
Positives = Annotated[tuple[Positive, ...], MinLen(1), MaxLen(100)]

REQUIRED = inspect.Parameter.empty
"""Marker for parameters without a default."""


@dataclass(eq=False)
class ParameterError(ValueError, TypeError):
    """Inadmissible value of a parameter; ValueError and TypeError, as in scikit-learn.

    Attributes
    ----------
    name : str
        Parameter.
    expected : str
        Admissible values, in words.
    value : object
        Given value.
    where : str
        Class of the estimator, or "".
    """

    name: str
    expected: str
    value: object
    where: str = ""

    def __str__(self) -> str:
        return f"{self.name}{self.where and f' in {self.where}'}: expected {self.expected}, got {shown(self.value)}."


@dataclass(frozen=True)
class Parameter:
    """Parameter of a constructor."""

    name: str
    annotation: Any
    """Type with range, such as `Positive`; `Any` if the class has no annotation."""
    default: Any
    """Default, or `REQUIRED`."""

    @property
    def expected(self) -> str:
        """Return the admissible values in words, such as ``"a number > 0"``."""
        return describe(self.annotation)

    @property
    def is_list(self) -> bool:
        """Return whether a value may be a list."""
        return any(get_origin(kind_of(kind)) is tuple for kind in _alternatives(self.annotation))

    def checked(self, value: object) -> Any:
        """Return a value as Python numbers and tuples; raise ParameterError if it is not admissible."""
        try:
            return adapter_of(self.annotation).validate_python(_plain(value), strict=True)
        except ValidationError:
            raise ParameterError(self.name, describe(self.annotation, value), value) from None


@cache
def parameters_of(estimator: type) -> Mapping[str, Parameter]:
    """Return the constructor parameters of a class by name, in order; unreadable annotations count as `Any`."""
    try:
        signature = inspect.signature(estimator, eval_str=True)
    except (NameError, AttributeError, TypeError, SyntaxError):
        signature = inspect.signature(estimator)
    parameters = {}
    for name, stated in signature.parameters.items():
        if stated.kind in (stated.POSITIONAL_OR_KEYWORD, stated.KEYWORD_ONLY):
            is_readable = (
                not isinstance(stated.annotation, str) and stated.annotation is not stated.empty
            )
            parameters[name] = Parameter(
                name, stated.annotation if is_readable else Any, stated.default
            )
    return parameters


def checkable(annotation: Any) -> Any:
    """Return an annotation of third-party code if values can be checked against it, else `Any`.

    Choice: containers other than tuples count as `Any`, since lists of configs are stored as tuples.
    """
    known = (bool, int, float, str, type(None))
    try:
        kinds = [kind_of(each) for each in _alternatives(annotation)]
        if all(
            kind in known or get_origin(kind) in (tuple, Literal) for kind in kinds
        ) and adapter_of(annotation):
            return annotation
    except (PydanticUserError, TypeError):
        pass
    return Any


def check_parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters of an estimator by name, as Python numbers and tuples.

    Raises ParameterError for a value that is not admissible, or that breaks a rule between parameters
    (``check_agreement`` of the estimator).
    """
    kind: type = type(estimator)
    try:
        parameters = parameters_of(kind).items()
        values = {
            name: parameter.checked(getattr(estimator, name)) for name, parameter in parameters
        }
        if hasattr(estimator, "check_agreement"):
            estimator.check_agreement()
    except ParameterError as error:
        raise ParameterError(error.name, error.expected, error.value, where=kind.__name__) from None
    return values


def check_order(estimator: Any, low: str, high: str) -> None:
    """Raise ParameterError unless ``low`` is at most ``high``; None sets no limit."""
    value, limit = getattr(estimator, low), getattr(estimator, high)
    if value is not None and limit is not None and value > limit:
        raise ParameterError(low, f"at most {high} ({limit})", value)


def check_limit(estimator: Any, name: str, limit: int) -> None:
    """Raise ParameterError if a parameter, unless None, is above a limit that follows from the data."""
    value = getattr(estimator, name)
    if value is not None and value > limit:
        raise ParameterError(
            name, f"an integer from 1 to {limit} or null", value, where=type(estimator).__name__
        )


def describe(annotation: Any, refused: object = None) -> str:
    """Describe the admissible values of a pydantic type in words, such as ``"an integer >= 1 or null"``.

    If the refused value is infinite, numbers are described as finite.
    """
    words = in_words(adapter_of(annotation).json_schema())
    return words.replace("a number", "a finite number") if refused == math.inf else words


def shown(value: object) -> str:
    """Return a value as text for a message, truncated if long."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def make_generator(random_state: Any) -> np.random.Generator:
    """Return a NumPy Generator for an int, a SeedSequence, a Generator, a RandomState or None.

    A Generator is returned unchanged; a RandomState seeds a new Generator. None is NumPy's global RandomState, which
    ``numpy.random.seed`` seeds, as in scikit-learn.
    """
    import numpy as np

    source: Any = np.random if random_state is None else random_state
    if source is np.random or isinstance(source, np.random.RandomState):
        return np.random.default_rng(source.randint(2**32, size=4, dtype=np.uint32))
    return np.random.default_rng(source)


_NOUNS = {"boolean": "true or false", "integer": "an integer", "number": "a number", "null": "null"}
_SIGNS = {"exclusiveMinimum": ">", "minimum": ">=", "exclusiveMaximum": "<", "maximum": "<="}


def in_words(schema: Mapping[str, Any]) -> str:
    """Describe the admissible values of a JSON schema in words."""
    match schema:
        case {"$ref": _}:
            return "a mapping"
        case {"anyOf": alternatives}:
            return " or ".join(map(in_words, alternatives))
        case {"enum": [*others, last]}:
            return f"{', '.join(map(repr, others))} or {last!r}" if others else repr(last)
        case {"const": value}:
            return repr(value)
        case {"type": "object"}:
            return "a mapping of names to values"
        case {"type": "array"}:
            items = schema.get("prefixItems") or [schema["items"]]
            noun = re.sub(
                r"integer|number|mapping|value", r"\g<0>s", re.sub("^an? ", "", in_words(items[0]))
            )
            return f"a list of {f'{len(items)} ' if 'prefixItems' in schema else _count(schema, 'Items')}{noun}"
        case {"type": "string"}:
            count = _count(schema, "Length")
            pattern = f" that matches {schema['pattern']!r}" if "pattern" in schema else ""
            return f"text{count and f' of {count}characters'}{pattern}"
    noun = _NOUNS.get(schema.get("type", ""), "a value")
    if "minimum" in schema and "maximum" in schema:
        return f"{noun} from {_bound(schema['minimum'])} to {_bound(schema['maximum'])}"
    bounds = [f"{sign} {_bound(schema[key])}" for key, sign in _SIGNS.items() if key in schema]
    return f"{noun} {' and '.join(bounds)}".rstrip()


def _bound(number: float) -> str:
    return str(number).removesuffix(".0")  # versions of pydantic differ in the type of bounds


def _count(schema: Mapping[str, Any], of: str) -> str:
    least, most = schema.get(f"min{of}"), schema.get(f"max{of}")
    return (f"{least} to {most} " if least else f"at most {most} ") if most else ""


def kind_of(annotation: Any) -> Any:
    """Return the type of an annotation without its constraints."""
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    return (
        get_args(annotation)
        if get_origin(annotation) in (Union, types.UnionType)
        else (annotation,)
    )


@cache
def adapter_of(annotation: Any) -> TypeAdapter[Any]:
    """Return the cached validator of an annotation."""
    return TypeAdapter(annotation)


def _plain(value: Any) -> Any:
    """Convert NumPy numbers and arrays to Python numbers and tuples, and lists to tuples."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    return tuple(map(_plain, plain)) if isinstance(plain, list | tuple) else plain
