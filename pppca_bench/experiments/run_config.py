"""Runs of configs from Python, also on data in memory."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pppca_bench.config.experiment import NAME
from pppca_bench.errors import ConfigError
from pppca_bench.experiments import runner
from pppca_bench.experiments.executors import check_main_guard
from pppca_bench.experiments.request import Request, read_request
from pppca_bench.problems import OwnData, registered
from pppca_bench.problems.given import Table
from pppca_bench.store import DATABASE, RESULTS
from pppca_bench.store.database import Store
from pppca_bench.store.export import load_results
from pppca_bench.yaml_files.source import YamlSource, read_yaml, to_source

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

GivenData = Mapping[
    str, Table | tuple["pd.DataFrame | ArrayLike", "pd.DataFrame | pd.Series[Any] | ArrayLike"]
]


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
    results: str | Path = RESULTS,
    data_dir: str | Path | None = None,
    repeats: int | None = None,
    workers: int = 0,
) -> Completed:
    """Run a config as ``pppca run`` does, on the problems of the config and on given data.

    Parameters
    ----------
    config : str, Path or mapping
        Path of a YAML file, or the document itself.
    problems : mapping of str to (X, y) or Table, optional
        Data by their names in the config's ``problems`` and in tables; a config without ``problems`` runs on all data.
        X and y are the arguments of `Table`, whose other arguments declare task and columns. The config's ``splits``
        and ``folds`` decide how rows are split.
    results : str or Path, default "pppca-results"
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

    Warns
    -----
    UserWarning
        Something was inferred from the data, or a test split may have leaked into training: copies of rows, an
        identifier, sorted rows.

    Examples
    --------
    >>> document = {"name": "mine", "seed": 1, "splits": 10, "methods": [{"method": "pca"}]}
    >>> done = pppca_bench.run(document, {"flowers": (X, y)})  # doctest: +SKIP
    >>> done.runs.groupby("method").test_error_percent.mean()  # doctest: +SKIP
    """
    if workers:
        check_main_guard()
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
        for notice in request.notices:
            warnings.warn(notice, stacklevel=2)
        outcome = runner.run(
            request.specs, store, request.problems, plans=request.plans, workers=workers
        )
        return Completed(_read_runs(request, Path(results)), outcome)


def with_given(source: YamlSource, given: Collection[str], **changes: object) -> YamlSource:
    """Return a document with changed keys, and with the given problems if it names no problems."""
    if given and isinstance(source.value, dict) and "problems" not in source.value:
        changes["problems"] = tuple(given)
    return (
        replace(source, value=source.value | changes) if isinstance(source.value, dict) else source
    )


@contextmanager
def saved(problems: GivenData) -> Iterator[dict[str, OwnData]]:
    """Save given data in temporary files, which worker processes can read; yield the declarations by name."""
    with tempfile.TemporaryDirectory(prefix="pppca-") as folder:
        given = {}
        for number, (name, data) in enumerate(problems.items()):
            if name in registered() or not (isinstance(name, str) and NAME.fullmatch(name)):
                rule = "a name of letters, digits, _ and - that is not the name of a known problem"
                raise ConfigError(f"problems: expected {rule}, got {name!r}. Choose another name.")
            table = data if isinstance(data, Table) else Table(*data)
            given[name] = table.save(name, Path(folder, f"{number}.pickle"))
        yield given


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
