"""Tables of a caller: inputs and targets in memory, with their declaration."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from pydantic import ValidationError

from pppca_bench.config.experiment import TableSection
from pppca_bench.errors import DataError
from pppca_bench.problems import OwnData, SplitRule, Task
from pppca_bench.problems.declaration import Duplicates, names_of

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

_LISTS = ("inputs", "categorical", "drop", "text")


@dataclass(frozen=True, eq=False)
class Table:
    """Inputs and targets in memory, with the keys of a table in a config.

    Parameters
    ----------
    X : data frame, or array of shape (n_rows, n_features)
        Inputs; columns of any type that a table may have.
    y : series, data frame, or array of shape (n_rows,) or (n_rows, n_outputs)
        If X and y both have an index, the index must be the same.
    task : {"classification", "approximation"}, optional
        None infers the task from the target, see `DataSet`.
    inputs, categorical, drop, text : sequence of str
        Input columns (all by default), columns to treat as categories, to leave out, or to treat as text.
    dates : sequence of str, or mapping of str to str
        Columns of dates, or their formats.
    duplicates : {"keep", "drop", "group"}, optional
        What to do with copies of rows.
    group : str
        Column whose values are kept in the same part of a split; "" for none.
    read : mapping
        ``decimal``, ``thousands``, ``na_values`` and ``keep_default_na`` of `pandas.read_csv`, for columns of text.

    Raises
    ------
    DataError
        A value that is none of these.
    """

    X: pd.DataFrame | ArrayLike
    y: pd.DataFrame | pd.Series[Any] | ArrayLike
    task: Task | None = None
    inputs: Sequence[str] = ()
    categorical: Sequence[str] = ()
    drop: Sequence[str] = ()
    text: Sequence[str] = ()
    dates: Sequence[str] | Mapping[str, str] = ()
    duplicates: Duplicates | None = None
    group: str = ""
    read: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._declared()

    def _declared(self) -> OwnData:
        """Return the declaration, as if a file had the rows; raise DataError for values that no config may have."""
        # None is the default of pandas.
        read = {key: value for key, value in (self.read or {}).items() if value is not None}
        if "na_values" in read and not isinstance(read["na_values"], Mapping):
            read["na_values"] = names_of(read["na_values"])
        dates, group = names_of(self.dates), names_of(self.group)
        keys: dict[str, Any] = {
            "task": self.task,
            "dates": dict(zip(dates, self.dates.values(), strict=True))
            if isinstance(self.dates, Mapping)
            else dates,
            "duplicates": self.duplicates,
            "group": group[0] if len(group) == 1 else group,
            "read": read,
        }
        keys |= {key: names_of(getattr(self, key)) for key in _LISTS}
        given = {key: value for key, value in keys.items() if value}
        try:
            section = TableSection.model_validate({"parquet": "X", **given})
        except ValidationError as error:
            first = error.errors(include_context=False)[0]
            key = ".".join(map(str, first["loc"]))
            raise DataError(f"{key} of Table: {first['msg']}. Correct it.") from None
        return cast("OwnData", section.problem(SplitRule()))

    def save(self, name: str, path: Path) -> OwnData:
        """Save the rows for worker processes, and return the declaration.

        Parameters
        ----------
        name : str
            Name of the problem.
        path : Path
            File to write, in a private folder.

        Returns
        -------
        OwnData
            Declaration of the saved rows.

        Raises
        ------
        DataError
            X and y differ in their numbers of rows or their indices, or an array has more than two dimensions.
        """
        import pandas as pd

        inputs, targets = _as_frame(name, self.X, "x"), _as_frame(name, self.y, "y")
        if len(inputs) != len(targets):
            expected = f"as many targets as rows, {len(inputs)}"
            raise DataError(
                f"{name}: expected {expected}, got {len(targets)}. Correct the inputs or the targets."
            )
        if all(hasattr(part, "iloc") for part in (self.X, self.y)) and not inputs.index.equals(
            targets.index
        ):
            raise DataError(
                f"{name}: expected the same index in X and y, got other labels or another order. Align them, such as by"
                " `y.loc[X.index]`, or pass arrays to pair rows by their positions."
            )
        joined = pd.concat([part.reset_index(drop=True) for part in (inputs, targets)], axis=1)
        path.write_bytes(pickle.dumps((joined, tuple(targets.columns))))
        return replace(self._declared(), source="given", place=str(path), name=name)


def _as_frame(name: str, part: Any, prefix: str) -> pd.DataFrame:
    """Return inputs or targets as a data frame; the columns of an array are named x1, x2, …, a vector is named x."""
    import pandas as pd

    if hasattr(part, "to_pandas"):  # of polars and pyarrow
        part = part.to_pandas()
    if isinstance(part, pd.Series):
        part = part.to_frame(prefix if part.name is None else part.name)
    if isinstance(part, pd.DataFrame):
        return part.rename(columns=str)
    if hasattr(part, "toarray"):  # of scipy
        part = part.toarray()
    array = np.asanyarray(part)  # pandas knows the gaps of masked arrays
    if array.ndim not in (1, 2):
        raise DataError(
            f"{name}: expected {prefix} of one or two dimensions, got {array.ndim}. Reshape it."
        )
    frame = pd.DataFrame(array)
    if array.ndim == 1 and not array.dtype.names:
        return frame.set_axis([prefix], axis=1)
    return frame.rename(columns=lambda key: key if isinstance(key, str) else f"{prefix}{key + 1}")
