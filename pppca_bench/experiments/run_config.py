"""Runs of configs from Python, also on data in memory."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pppca_bench.config.experiment import NAME
from pppca_bench.config.request import Request, read_request
from pppca_bench.documents import YamlSource, read_yaml, to_source
from pppca_bench.errors import ConfigError, DataError
from pppca_bench.experiments import runner
from pppca_bench.problems import registered, to_table
from pppca_bench.store import DATABASE
from pppca_bench.store.database import Store
from pppca_bench.store.export import load_results

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

GivenData = Mapping[str, tuple["pd.DataFrame | ArrayLike", "pd.DataFrame | pd.Series[Any] | ArrayLike"]]


@dataclass(frozen=True)
class Completed:
    """Results of a config's runs.

    Attributes
    ----------
    runs : pandas.DataFrame
        A row for each run that the config asks for, with the columns of `load_results`, and the number of its
        ``split``.
    outcome : Outcome
        Counts of the runs that were planned, already done, done now, and failed.
    """

    runs: pd.DataFrame
    outcome: runner.Outcome


def run(
    config: str | Path | Mapping[str, Any],
    problems: GivenData | None = None,
    *,
    results: str | Path = "results",
    data_dir: str | Path | None = None,
    repeats: int | None = None,
    workers: int = 0,
) -> Completed:
    """Run a config as ``pppca run`` does, on the problems of the config and on given data.

    Parameters
    ----------
    config : str, Path or mapping
        Path of a YAML file, or the document itself.
    problems : mapping of str to (X, y), optional
        Data by their names in the config's ``problems`` and in tables; a config without ``problems`` runs on all data.
        X is a data frame, or an array of shape (n_rows, n_features), y a series or an array of shape (n_rows,), or
        (n_rows, n_outputs) for several numbers to approximate. Text, booleans, whole numbers and categories are
        classes, other numbers are approximated. The config's ``splits`` and ``folds`` decide how rows are split.
    results : str or Path, default "results"
        Folder of the results database; runs that are stored there are not computed again.
    data_dir : str or Path, optional
        First folder to look for Proben1 files.
    repeats : int, optional
        Repeats in place of the config's own.
    workers : int, default 0
        Worker processes; 0 computes in the calling process. With more, a script needs ``if __name__ == "__main__":``.

    Returns
    -------
    Completed
        The runs and their counts.

    Raises
    ------
    ConfigError
        The config is wrong.
    DataError
        Data are missing, or cannot be used.
    StoreError
        The results cannot be written.

    Examples
    --------
    >>> document = {"name": "mine", "seed": 1, "splits": 10, "methods": [{"method": "pca"}]}
    >>> done = pppca_bench.run(document, {"flowers": (X, y)})  # doctest: +SKIP
    >>> done.runs.groupby("method").test_error_percent.mean()  # doctest: +SKIP
    """
    names = list(problems or {})
    if isinstance(config, Mapping):
        more = {"problems": names} if names and "problems" not in config else {}
        source = to_source({**config, **more}, Path("config"))
    else:
        source = with_given(read_yaml(Path(config)), names)
    with saved(problems or {}) as given, Store(Path(results) / DATABASE) as store:
        folder = Path(data_dir) if data_dir is not None else None
        request = read_request([source], data_dir=folder, repeats=repeats, given=given)
        if unused := given.keys() - {name for name, _ in request.problems}:
            raise ConfigError(
                f"{source.path}: expected {min(unused)!r} among the problems of the config, since data were given"
                " for it, got no such name. Add it, or leave `problems` out."
            )
        outcome = runner.run(request.specs, store, request.problems, plans=request.plans, workers=workers)
        return Completed(_read_runs(request, Path(results)), outcome)


def with_given(source: YamlSource, given: Collection[str]) -> YamlSource:
    """Return a document, with the given problems if it names no problems."""
    if given and isinstance(source.value, dict) and "problems" not in source.value:
        return replace(source, value=source.value | {"problems": list(given)})
    return source


@contextmanager
def saved(problems: GivenData) -> Iterator[dict[str, Path]]:
    """Save given data in temporary files, which worker processes can read; yield the files by name."""
    import pandas as pd

    with tempfile.TemporaryDirectory(prefix="pppca-") as folder:
        paths = {name: Path(folder, f"{number}.npz") for number, name in enumerate(problems)}
        for name, path in paths.items():
            if name in registered() or not (isinstance(name, str) and NAME.fullmatch(name)):
                rule = "a name of letters, digits, _ and - that is not the name of a known problem"
                raise ConfigError(f"problems: expected {rule}, got {name!r}. Choose another name.")
            inputs, targets = (_as_frame(name, part, prefix) for part, prefix in zip(problems[name], "xy", strict=True))
            if len(inputs) != len(targets):
                expected = f"as many targets as rows, {len(inputs)}"
                raise DataError(f"{name}: expected {expected}, got {len(targets)}. Correct the inputs or the targets.")
            joined = pd.concat([inputs, targets], axis=1)
            to_table(joined, name, targets=tuple(targets.columns)).save(path)
        yield paths


def _as_frame(name: str, part: Any, prefix: str) -> pd.DataFrame:
    """Return inputs or targets as a data frame; the columns of an array are named x1, x2, …, a vector is named x."""
    import numpy as np
    import pandas as pd

    if isinstance(part, pd.Series):
        part = part.to_frame(prefix if part.name is None else part.name)
    if isinstance(part, pd.DataFrame):
        return part.reset_index(drop=True).rename(columns=str)
    array = np.asanyarray(part)  # pandas knows the gaps of masked arrays
    if array.ndim not in (1, 2):
        raise DataError(f"{name}: expected {prefix} of one or two dimensions, got {array.ndim}. Reshape it.")
    names = [prefix] if array.ndim == 1 else [f"{prefix}{number + 1}" for number in range(array.shape[1])]
    return pd.DataFrame(array).set_axis(names, axis=1)


def _read_runs(request: Request, folder: Path) -> pd.DataFrame:
    """Return a row for each run of a request."""
    splits = {}
    for spec in request.specs:
        source, _ = request.problems[spec.cell.problem, spec.cell.data_sha256]
        splits[spec.key] = source.of_repeat(spec.repeat).split
    runs = load_results(folder, [plan.name for plan in request.plans])
    runs = runs[runs["key"].isin(splits)].reset_index(drop=True)
    runs.insert(runs.columns.tolist().index("repeat") + 1, "split", runs["key"].map(splits))
    return runs
