"""What the parts of a config are made of: number ranges, grids and the frozen base of every section."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError


def _as_list(value: object) -> object:
    return value if isinstance(value, list | tuple) else [value]


def _each_once(values: tuple[Any, ...]) -> tuple[Any, ...]:
    for position, value in enumerate(values):
        if value in values[:position]:
            raise PydanticCustomError("repeated", "expected each value once, got {value} again", {"value": repr(value)})
    return values


def _not_zero(value: int) -> int:
    if value == 0:
        raise PydanticCustomError("threads", "expected a number of threads, or -1 for all processors, got 0")
    return value


Positive = Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]
Probability = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
Threads = Annotated[int, Field(ge=-1, le=1000), AfterValidator(_not_zero)]
Tau = Annotated[float, Field(gt=1, le=1e12, allow_inf_nan=False)]
Percent = Annotated[float, Field(gt=0, le=100, allow_inf_nan=False)]
Width = Annotated[int, Field(ge=1, le=1000)]
Widths = Annotated[tuple[Width, ...], Field(max_length=5, strict=False)]
Range = Annotated[tuple[Positive, Positive], Field(strict=False)]
GRID = (
    Field(min_length=1, max_length=1000, strict=False),
    BeforeValidator(_as_list),
    AfterValidator(_each_once),
)
Taus = Annotated[tuple[Tau, ...], *GRID]
Percents = Annotated[tuple[Percent, ...], *GRID]


class Section(BaseModel):
    """A part of a config: frozen, no unknown keys, no silent conversion of types."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def check_components(least: int, most: int | None) -> None:
    """Refuse a largest number of nodes below the smallest."""
    if most is not None and most < least:
        raise PydanticCustomError(
            "components",
            "expected max_components of at least min_components ({least}), got {most}",
            {"least": least, "most": most},
        )


def check_elite(population_size: int, n_elite: int) -> None:
    """Refuse an elite that leaves no room for children."""
    if n_elite >= population_size:
        raise PydanticCustomError(
            "elite",
            "expected n_elite below population_size ({size}), got {elite}",
            {"size": population_size, "elite": n_elite},
        )
