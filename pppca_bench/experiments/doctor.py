"""Environment checks and their remedies: packages, compiled kernels, data, results, studies."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from pppca_bench.compiled import cache
from pppca_bench.errors import DataError, StoreError
from pppca_bench.experiments.executors import available_cores
from pppca_bench.problems import known_problems, load_problem
from pppca_bench.runs import cause_of
from pppca_bench.store.database import Store
from pppca_bench.store.file import SCHEMA_VERSION, is_running

DISTRIBUTION = "pppca-bench"
ENOUGH_SPACE_MB = 200


class CheckResult(NamedTuple):
    """Result of a check; the remedy is None if the check passed, and "" if the text contains the remedy."""

    subject: str
    text: str
    remedy: str | None = None


def examine(data_dir: Path | None, database: Path, studies: Iterable[Path] = ()) -> Iterator[CheckResult]:
    """Check everything that a run needs, and the databases of studies, each in a folder of its name; change nothing."""
    yield from _environment()
    yield from _cache()
    yield from _data(data_dir)
    yield from _folder(database.parent)
    yield from _store(database)
    for path in studies:
        yield from (result._replace(subject=f"study {path.parent.name}") for result in _store(path, "study"))


def mend(database: Path) -> int:
    """Remove damaged rows, so that the next run computes them again; return their number."""
    with Store(database) as store:
        damaged = store.damaged_rows()
        store.remove(damaged)
    return len(damaged)


def _environment() -> Iterator[CheckResult]:
    try:
        needed = [text for text in metadata.requires(DISTRIBUTION) or [] if "extra ==" not in text]
    except metadata.PackageNotFoundError:
        remedy = f"Install it, for example with `pip install -e {shlex.quote(str(Path(__file__).parents[2]))}`."
        yield CheckResult("environment", f"{DISTRIBUTION} is not installed, so its requirements are unknown.", remedy)
    else:
        wrong = [result for requirement in needed if (result := _package(requirement)) is not None]
        yield from wrong
        text = f"{len(needed) - len(wrong)} of {len(needed)} required packages are as required."
        yield CheckResult("environment", text)
    yield CheckResult("environment", f"{available_cores()} of {os.cpu_count()} processor cores for `pppca run`.")
    if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        text = "NUMBA_DISABLE_JIT is set: nothing is compiled, and a run takes hundreds of times as long."
        yield CheckResult("environment", text, "Unset it.")


def _package(requirement: str) -> CheckResult | None:
    """Return a result if a package is missing, older than the limit ``>=``, or not below the limit ``<``."""
    name, limits = re.split(r"(?=[<>=!~])", requirement, maxsplit=1)
    least, below = (re.search(pattern, limits) for pattern in (r">=\s*([\d.]+)", r"<\s*([\d.]+)"))
    try:
        got = metadata.version(name)
        is_new_enough = least is None or _numbers(got) >= _numbers(least[1])
        if is_new_enough and (below is None or _numbers(got) < _numbers(below[1])):
            return None
    except metadata.PackageNotFoundError:
        got = "none"
    remedy = f"Run `{Path(sys.executable).name} -m pip install '{requirement}'`."
    return CheckResult("environment", f"{name}: expected version {limits}, got {got}.", remedy)


def _numbers(version: str) -> tuple[int, ...]:
    """Return the leading numbers of a version, without suffixes such as rc1 or .dev0."""
    return tuple(int(part) for part in re.split(r"[^\d.]", version)[0].split(".") if part)


def _cache() -> Iterator[CheckResult]:
    if (refusal := cache.cache_problem()) is not None:
        yield CheckResult("cache", refusal, "")
        return
    folder = next(folder for folder, reason in cache.folder_problems().items() if reason is None)
    n_kept = sum(map(cache.is_compiled, cache.FAMILIES))
    text = f"{n_kept} of {len(cache.FAMILIES)} families of kernels are compiled, others when a run needs them."
    yield CheckResult("cache", f"{folder}: can be written; {text}")


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


def _folder(results: Path) -> Iterator[CheckResult]:
    if (refused := cache.write_problem(results)) is not None:
        yield CheckResult("store", f"{results}: cannot be written ({refused}).", "Name another folder: --results DIR.")
        return
    nearest = next(folder for folder in (results, *results.absolute().parents) if folder.exists())
    free_mb = shutil.disk_usage(nearest).free // 2**20
    if free_mb < ENOUGH_SPACE_MB:
        remedy = "Free some space, or name another folder: --results DIR."
        yield CheckResult("store", f"{results}: {free_mb} MB are free on its disk.", remedy)


def _store(database: Path, command: str = "run") -> Iterator[CheckResult]:
    try:
        if not database.exists():
            yield CheckResult("store", f"{database}: does not exist yet; `pppca run CONFIG` creates it.")
            return
        with Store(database, read_only=True) as store:
            ((verdict,), *_) = store.rows("PRAGMA integrity_check")
            if verdict != "ok":
                aside = shlex.join(["mv", str(database), f"{database}.damaged"])
                remedy = f"Restore it from a backup, or move it aside (`{aside}`) and run the configs again."
                yield CheckResult("store", f"{database}: damaged ({verdict.splitlines()[0]}).", remedy)
            elif damaged := store.damaged_rows():
                yield from (CheckResult("store", str(error), "") for error in damaged.values())
            else:
                yield CheckResult("store", f"{store.path}: intact, version {SCHEMA_VERSION}.")
                yield from _runs(store, command)
    except StoreError as error:
        yield CheckResult("store", str(error), "")
    except PermissionError:  # reported by `_folder`
        return


def _runs(store: Store, command: str) -> Iterator[CheckResult]:
    """Count the runs of each config, or of all trials of a study; failed trials need no remedy."""
    asked = "plans" if command == "run" else "(SELECT DISTINCT 'all trials' AS config, key FROM plans)"
    again = f"Run it again with `pppca {command}`: completed runs are kept."
    for name, n_runs, n_done, n_failed, error, processes in store.rows(
        "SELECT config, count(*), sum(status = 'done'), sum(status = 'failed'), max(error), json_group_array(process)"
        f" FROM {asked} JOIN runs USING (key) LEFT JOIN reservations USING (key) GROUP BY config"
    ):
        if n_failed:
            cause = cause_of(error).removesuffix(".")
            text = f"{name}: {n_failed} of {n_runs} runs failed, for example with: {cause}."
            yield CheckResult("store", text, again if command == "run" else None)
        n_left = n_runs - n_done - n_failed
        if n_left and not any(map(is_running, filter(None, json.loads(processes)))):
            yield CheckResult("store", f"{name}: {n_left} of {n_runs} runs are not done.", again)
        yield CheckResult("store", f"{name}: {n_done} of {n_runs} runs are done.")
