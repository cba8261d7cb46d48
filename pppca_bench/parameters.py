"""Parameters of estimators: admissible values, stated once, in the annotations of the constructor.

`check_parameters` checks them when an estimator is fitted; a config is checked against the same annotations before
anything runs; ``pppca methods NAME`` prints them.
"""

from __future__ import annotations

import inspect
import math
import types
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen
from pydantic import Field, PydanticUserError, TypeAdapter, ValidationError

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
LayerSizes = Annotated[tuple[Annotated[int, Ge(1), Le(1000)], ...], MaxLen(5)]
PositivePair = tuple[Positive, Positive]
Positives = Annotated[tuple[Positive, ...], MinLen(1), MaxLen(100)]

REQUIRED = inspect.Parameter.empty
"""The default of a parameter that has none."""


class ParameterError(ValueError, TypeError):
    """A parameter's value is not admissible; both kinds of error, as in scikit-learn.

    Attributes
    ----------
    name : str
        The parameter.
    expected : str
        Its admissible values, in words.
    value : object
        The given value.
    where : str
        The estimator, or "".
    """

    def __init__(self, name: str, expected: str, value: object, *, where: str = "") -> None:
        self.name, self.expected, self.value, self.where = name, expected, value, where
        super().__init__(f"{name}{where and f' in {where}'}: expected {expected}, got {shown(value)}.")

    def __reduce__(self) -> tuple[Any, ...]:
        # By default an exception is pickled by its message alone, and could not be raised again in another process.
        return partial(type(self), where=self.where), (self.name, self.expected, self.value)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a constructor.

    Attributes
    ----------
    name : str
    annotation : object
        Its type with its range, such as `Positive`; `Any` where the class states none.
    default : object
        `REQUIRED` where it has none.
    """

    name: str
    annotation: Any
    default: Any

    @property
    def expected(self) -> str:
        """Return its admissible values in words, such as ``"a number > 0"``."""
        return describe(self.annotation)

    @property
    def is_list(self) -> bool:
        """Return whether each of its values is a list."""
        return any(get_origin(kind_of(kind)) is tuple for kind in _alternatives(self.annotation))

    def checked(self, value: object) -> Any:
        """Return a value in its canonical form: numbers of Python, sequences as tuples.

        Raises
        ------
        ParameterError
            It is not admissible.
        """
        try:
            return self._adapter.validate_python(_plain(value), strict=True)
        except ValidationError:
            raise ParameterError(self.name, describe(self.annotation, value), value) from None

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON schema of its values."""
        return self._adapter.json_schema()

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        # Kept here, since hashing the annotation to look it up takes longer than the check.
        return adapter_of(self.annotation)


@cache
def parameters_of(estimator: type) -> Mapping[str, Parameter]:
    """Return the parameters of a class's constructor by name, in its order.

    Parameters
    ----------
    estimator : type
        A class whose constructor names its parameters; an annotation that cannot be read counts as `Any`.
    """
    try:
        signature = inspect.signature(estimator, eval_str=True)
    except (NameError, AttributeError, TypeError, SyntaxError):
        signature = inspect.signature(estimator)
    return {
        one.name: Parameter(
            one.name,
            Any if isinstance(one.annotation, str) or one.annotation is one.empty else one.annotation,
            one.default,
        )
        for one in signature.parameters.values()
        if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)
    }


def readable(annotation: Any) -> Any:
    """Return an annotation of third-party code if values can be checked against it, else `Any`.

    Choice: a list or another container than a tuple counts as `Any`, since a config's lists are kept as tuples.
    """
    kinds = [kind_of(kind) for kind in _alternatives(annotation)]
    if any(
        kind not in (bool, int, float, str, type(None)) and get_origin(kind) not in (tuple, Literal) for kind in kinds
    ):
        return Any
    try:
        adapter_of(annotation)
    except (PydanticUserError, TypeError):
        return Any
    return annotation


def check_parameters(estimator: Any) -> dict[str, Any]:
    """Check every parameter of an estimator, then the rules between them.

    An estimator with rules between parameters has a method ``check_agreement``, which raises ParameterError.

    Returns
    -------
    dict
        The values in their canonical form, by name; the estimator keeps those that it was given.

    Raises
    ------
    ParameterError
        A value is not admissible.
    """
    kind: type = type(estimator)
    try:
        values = {name: one.checked(getattr(estimator, name)) for name, one in parameters_of(kind).items()}
        if hasattr(estimator, "check_agreement"):
            estimator.check_agreement()
    except ParameterError as error:
        raise ParameterError(error.name, error.expected, error.value, where=kind.__name__) from None
    return values


def check_order(estimator: Any, low: str, high: str, *, strictly: bool = False) -> None:
    """Check that one parameter is at most another, or strictly below it; None sets no limit.

    Raises
    ------
    ParameterError
        It is not; the error names ``low``.
    """
    value, limit = getattr(estimator, low), getattr(estimator, high)
    if value is None or limit is None:
        return
    if value > limit or (strictly and value == limit):
        raise ParameterError(low, f"{'below' if strictly else 'at most'} {high} ({limit})", value)


def describe(annotation: Any, refused: object = None) -> str:
    """Return the values that an annotation admits in words, such as ``"an integer >= 1 or null"``.

    Parameters
    ----------
    annotation : object
        A type that pydantic knows, with or without constraints.
    refused : object, optional
        A value that was refused: if it is infinite, the words say that numbers are finite.
    """
    schema = adapter_of(annotation).json_schema()
    words = in_words(schema, schema.get("$defs", {}))
    return words.replace("a number", "a finite number") if refused == math.inf else words


def shown(value: object) -> str:
    """Return a value as a message shows it, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def make_generator(random_state: Any) -> np.random.Generator:
    """Return a NumPy Generator for an int, a SeedSequence, a Generator, a RandomState or None.

    A Generator is used as it is; a RandomState gives the seed of one.
    """
    import numpy as np

    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**32, size=4, dtype=np.uint32))
    return np.random.default_rng(random_state)


_NOUNS = {"boolean": "true or false", "integer": "an integer", "number": "a number", "null": "null"}
_SIGNS = {"exclusiveMinimum": ">", "minimum": ">=", "exclusiveMaximum": "<", "maximum": "<="}


def in_words(schema: Mapping[str, Any], definitions: Mapping[str, Any] = MappingProxyType({})) -> str:
    """Return the values that a JSON schema admits in words; ``definitions`` are those it refers to."""
    if "$ref" in schema:
        schema = definitions.get(schema["$ref"].rpartition("/")[2], {})
    if "anyOf" in schema:
        return " or ".join(in_words(one, definitions) for one in schema["anyOf"])
    if "const" in schema or "enum" in schema:
        *others, last = map(repr, schema.get("enum") or [schema["const"]])
        return f"{', '.join(others)} or {last}" if others else last
    match schema.get("type"):
        case "object" if "properties" in schema:
            return f"a mapping with the keys {', '.join(schema['properties'])}"
        case "object":
            return "a mapping of names to values"
        case "array":
            return f"a list of {_itemsin_words(schema, definitions)}"
        case "string":
            count = _count(schema, "Length")
            pattern = f" that matches {schema['pattern']!r}" if "pattern" in schema else ""
            return f"text{count and f' of {count} characters'}{pattern}"
        case kind:
            return _NOUNS.get(str(kind), "a value") + _range(schema)


def _itemsin_words(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    of_one = (schema.get("prefixItems") or [schema["items"]])[0]
    count = str(len(schema["prefixItems"])) if "prefixItems" in schema else _count(schema, "Items")
    item = in_words(of_one, definitions).partition(" with the keys")[0].removeprefix("an ").removeprefix("a ")
    for noun in ("integer", "number", "mapping", "value"):
        item = item.replace(noun, f"{noun}s")
    return f"{count and f'{count} '}{item}"


def _count(schema: Mapping[str, Any], of: str) -> str:
    least, most = schema.get(f"min{of}"), schema.get(f"max{of}")
    if least and most:
        return f"{least} to {most}"
    return f"at most {most}" if most else ""


def _range(schema: Mapping[str, Any]) -> str:
    if "minimum" in schema and "maximum" in schema:
        return f" from {schema['minimum']} to {schema['maximum']}"
    bounds = [f"{sign} {schema[key]}" for key, sign in _SIGNS.items() if key in schema]
    return f" {' and '.join(bounds)}" if bounds else ""


def kind_of(annotation: Any) -> Any:
    """Return the type of an annotation without its constraints."""
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)


@cache
def adapter_of(annotation: Any) -> TypeAdapter[Any]:
    """Return the validator of an annotation, made once."""
    return TypeAdapter(annotation)


def _plain(value: Any) -> Any:
    """Return NumPy's numbers and arrays as Python's numbers and tuples, and lists as tuples."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    return tuple(map(_plain, plain)) if isinstance(plain, list | tuple) else plain
