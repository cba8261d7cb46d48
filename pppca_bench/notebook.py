"""Runs of configs from Python, and their results in notebooks."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pppca_bench.errors import ConfigError, StoreError
from pppca_bench.experiments import runner
from pppca_bench.experiments.executors import Workers, check_main_guard
from pppca_bench.experiments.given_data import GivenData, saved, with_given
from pppca_bench.experiments.request import Request, read_request
from pppca_bench.store import DATABASE, RESULTS
from pppca_bench.store.database import Store
from pppca_bench.store.export import load_results
from pppca_bench.yaml_files.source import YamlSource, read_yaml, to_source

if TYPE_CHECKING:
    import pandas as pd

    from pppca_bench.pages.snapshot import Snapshot


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
    config : str
        Name of the config.
    folder : Path
        Folder of the results database.
    """

    runs: pd.DataFrame
    outcome: runner.Outcome
    config: str
    folder: Path

    def _repr_html_(self) -> str:
        """Return the tables of the config, the recommended cells, and the methods in pairs, for a notebook."""
        from html import escape

        from tabulate import tabulate

        from pppca_bench.pages.recommendation import recommendations
        from pppca_bench.pages.snapshot import take_snapshot
        from pppca_bench.references.reference import installed_references
        from pppca_bench.verdicts.own_tables import SCORED

        with Store(self.folder / DATABASE, read_only=True) as store:
            snapshot = take_snapshot(store, installed_references(), [self.config])
        parts, names = list[str](), [name for name in ("X", SCORED) if snapshot.has_runs(name)]
        for document in snapshot.tables(names, whole=False):
            rows = tabulate(document.rows, document.headers, "html", disable_numparse=True)
            parts += [f"<h4>{escape(document.title)}</h4>", rows]
            parts += [f"<p>{escape(text)}</p>" for text in document.paragraphs()]
        if "X" in names:
            advice = recommendations(snapshot.runs, snapshot.facts, snapshot.means("X")[1])
            parts += [f"<p>{escape(text)}</p>" for text in advice]
        summary = "<details><summary>Methods in pairs</summary><pre>"
        parts += [f"{summary}{escape(text)}</pre></details>" for text in _in_pairs(snapshot)]
        return "\n".join(parts)


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
        Worker processes; 0 computes in the calling process, where third-party code may change anything. With more, a
        script needs ``if __name__ == "__main__":``.

    Returns
    -------
    Completed
        The runs and their counts.

    Raises
    ------
    ConfigError
        The config is wrong, or worker processes cannot be started from here.
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
    with saved(problems or {}) as given, Store(Path(results) / DATABASE) as store:
        folder = Path(data_dir) if data_dir is not None else None
        request = _request_of(config, given, folder, repeats)
        for notice in request.notices:
            warnings.warn(notice, stacklevel=2)
        with Workers(workers) as used:
            outcome = runner.run(request.specs, store, request.problems, used, plans=request.plans)
        runs = _read_runs(request, Path(results))
        return Completed(runs, outcome, request.plans[0].name, Path(results))


def _source_of(config: str | Path | Mapping[str, Any], names: list[str]) -> YamlSource:
    """Return a config with the names of the given data among its problems."""
    if not isinstance(config, Mapping):
        return with_given(read_yaml(Path(config)), names)
    more = {"problems": names} if names and "problems" not in config else {}
    return to_source({**config, **more}, Path("config"))


def _request_of(
    config: str | Path | Mapping[str, Any],
    given: Mapping[str, Any],
    folder: Path | None,
    repeats: int | None,
) -> Request:
    """Read a config with given data; raise ConfigError if it does not name them all."""
    source = _source_of(config, list(given))
    request = read_request([source], data_dir=folder, repeats=repeats, given=given)
    unused = given.keys() - {name for name, _ in request.problems}
    if unused:
        raise ConfigError(
            f"{source.path}: expected {min(unused)!r} among the problems of the config, since data were given for it,"
            " got no such name. Add it, or leave `problems` out."
        )
    return request


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


def _in_pairs(snapshot: Snapshot) -> list[str]:
    """Return the comparisons of methods on each problem, by the score that they choose by, if they have enough runs."""
    from pppca_bench.pages.pair_tables import render_pairs
    from pppca_bench.results.frames import problems_of
    from pppca_bench.verdicts.pairs import compare_pairs

    texts = list[str]()
    for problem in problems_of(snapshot.runs):
        with suppress(StoreError):
            pairs = compare_pairs(snapshot.runs, snapshot.facts, problem)
            texts.append(render_pairs(pairs))
    return texts
