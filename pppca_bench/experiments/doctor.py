"""Checks of environment, kernel cache, data, results folder and database, and their remedies."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from joblib import cpu_count

from pppca_bench.compiled import cache
from pppca_bench.errors import DataError, StoreError
from pppca_bench.problems import known_problems, load_problem
from pppca_bench.store.database import Store
from pppca_bench.store.file import SCHEMA_VERSION

ENOUGH_SPACE_MB = 200


class CheckResult(NamedTuple):
    """Result of a check; the remedy is None if the check passed, and "" if the text contains the remedy."""

    subject: str
    text: str
    remedy: str | None = None


def examine(data_dir: Path | None, database: Path) -> Iterator[CheckResult]:
    """Check everything that a run needs; change nothing."""
    yield _environment()
    yield _cache()
    yield from _data(data_dir)
    yield _results(database.parent)
    yield _database(database)


def _environment() -> CheckResult:
    cores = f"{cpu_count()} of {os.cpu_count()} processor cores for `pppca run`"
    if os.environ.get("NUMBA_DISABLE_JIT", "0") == "0":
        return CheckResult("environment", f"{cores}, with compiled kernels.")
    text = f"{cores}, but NUMBA_DISABLE_JIT is set: without compiled kernels, a run takes hundreds of times as long."
    return CheckResult("environment", text, "Unset it.")


def _cache() -> CheckResult:
    if (refusal := cache.cache_problem()) is not None:
        return CheckResult("cache", refusal, "")
    folder = next(folder for folder, reason in cache.folder_problems().items() if reason is None)
    return CheckResult("cache", f"{folder}: can be written.")


def _data(data_dir: Path | None) -> Iterator[CheckResult]:
    names = known_problems("proben1")
    n_good = 0
    for name in names:
        try:
            load_problem(name, data_dir)
            n_good += 1
        except DataError as error:
            yield CheckResult("data", str(error), "")
    yield CheckResult("data", f"{n_good} of {len(names)} Proben1 files are as registered.")


def _results(folder: Path) -> CheckResult:
    if (refused := cache.write_problem(folder)) is not None:
        text = f"{folder}: cannot be written ({refused})."
        return CheckResult("results", text, "Name another folder with --results.")
    nearest = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    free_mb = shutil.disk_usage(nearest).free // 2**20
    remedy = (
        None
        if free_mb >= ENOUGH_SPACE_MB
        else "Free some space, or name another folder with --results."
    )
    return CheckResult(
        "results", f"{folder}: can be written, {free_mb} MB are free on its disk.", remedy
    )


def _database(path: Path) -> CheckResult:
    try:
        if not path.exists():
            return CheckResult(
                "database", f"{path}: does not exist yet; `pppca run CONFIG` creates it."
            )
        with Store(path, read_only=True) as store:
            store.check_content()
    except (StoreError, PermissionError) as error:
        return CheckResult("database", str(error), "")
    return CheckResult("database", f"{path}: intact, version {SCHEMA_VERSION}.")
