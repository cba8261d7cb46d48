"""Tables of a caller: inputs and targets in memory, with their declaration."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pydantic import ValidationError

from pppca_bench.config.experiment import TableSection
from pppca_bench.errors import DataError, nearest
from pppca_bench.problems import OwnData, SplitRule
from pppca_bench.problems.declaration import names_of
from pppca_bench.problems.read_files import as_frame

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

_LISTS = ("inputs", "categorical", "drop")
_KEYS = (*_LISTS, "task", "duplicates", "group", "read")


class Table:
    """Inputs and targets in memory, with the keys of a table in a config.

    Parameters
    ----------
    X : data frame, series, or array of shape (n_rows, n_features)
        Inputs; columns of any type that a table may have.
    y : series, data frame, or array of shape (n_rows,) or (n_rows, n_outputs)
        If X and y both have an index, the index must be the same.
    **keys
        ``task``, ``inputs``, ``categorical``, ``drop``, ``duplicates``, ``group`` and ``read``, as in a config. Of
        ``read``, the keys for texts: ``decimal``, ``thousands``, ``na_values`` and ``keep_default_na``.

    Raises
    ------
    DataError
        An unknown key, or a value that a config does not take.
    """

    def __init__(
        self, X: pd.DataFrame | ArrayLike, y: pd.DataFrame | pd.Series[Any] | ArrayLike, **keys: Any
    ) -> None:
        self.X, self.y = X, y
        self._declaration = _declared(keys)

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

        try:
            inputs, targets = as_frame(self.X, "x"), as_frame(self.y, "y")
        except ValueError as error:
            raise DataError(f"{name}: {error}. Reshape it.") from None
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
        return replace(self._declaration, source="given", place=str(path), name=name)


def _declared(keys: Mapping[str, Any]) -> OwnData:
    """Return the declaration, as if a file had the rows; raise DataError for values that no config may have."""
    if unknown := [key for key in keys if key not in _KEYS]:
        raise DataError(
            f"{unknown[0]} of Table: expected one of {', '.join(_KEYS)}{nearest(unknown[0], _KEYS)}."
        )
    given = dict[str, Any]()
    for key, value in keys.items():
        if key in _LISTS:
            value = names_of(value)
        elif key == "group":
            names = names_of(value)
            value = names[0] if len(names) == 1 else names
        elif key == "read":  # None is the default of pandas
            value = {name: item for name, item in (value or {}).items() if item is not None}
        if value is not None and value != ():
            given[key] = value
    try:
        section = TableSection.model_validate({"parquet": "X", **given})
    except ValidationError as error:
        first = error.errors(include_context=False)[0]
        key = ".".join(map(str, first["loc"]))
        raise DataError(f"{key} of Table: {first['msg']}.") from None
    return cast("OwnData", section.problem(SplitRule()))
