"""Environment checks and their remedies: packages, compiled kernels, data, results, studies."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

from pppca_bench.compiled import cache
from pppca_bench.errors import DataError, StoreError
from pppca_bench.experiments.executors import available_cores
from pppca_bench.problems import known_problems, load_problem
from pppca_bench.runs import cause_of
from pppca_bench.store.database import Store
from pppca_bench.store.file import NETWORK_REMEDY, SCHEMA_VERSION, is_running, network_file_system

DISTRIBUTION = "pppca-bench"
ENOUGH_SPACE_MB = 200


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of a check.

    Attributes
    ----------
    subject : str
        ``"environment"``, ``"cache"``, ``"data"``, ``"store"`` or ``"study"`` with a study's name.
    text : str
        Sentence.
    remedy : str or None
        Instruction, empty where the text has it; None where nothing needs doing.
    """

    subject: str
    text: str
    remedy: str | None = None


def examine(data_dir: Path | None, database: Path, studies: Iterable[Path] = ()) -> Iterator[Finding]:
    """Check everything that a run needs, and change nothing.

    Parameters
    ----------
    data_dir : Path, optional
        First folder to look for Proben1 files.
    database : Path
        The results database, which need not exist.
    studies : iterable of Path
        The databases of studies, each in a folder of the study's name.
    """
    yield from _environment()
    yield from _cache()
    yield from _data(data_dir)
    yield from _folder(database.parent)
    yield from _store(database)
    for path in studies:
        yield from (replace(finding, subject=f"study {path.parent.name}") for finding in _store(path, "study"))


def mend(database: Path) -> int:
    """Remove the rows that no run can have written, so that the next run computes them again; return how many."""
    with Store(database) as store:
        wrong = store.wrong_rows()
        store.remove(wrong)
    return len(wrong)


def _environment() -> Iterator[Finding]:
    subject = "environment"
    try:
        needed = [text for text in metadata.requires(DISTRIBUTION) or [] if "extra ==" not in text]
    except metadata.PackageNotFoundError:
        remedy = f"Install it, for example with `pip install -e {shlex.quote(str(Path(__file__).parents[2]))}`."
        yield Finding(subject, f"{DISTRIBUTION} is not installed, so its requirements are unknown.", remedy)
    else:
        wrong = [finding for requirement in needed if (finding := _package(requirement)) is not None]
        yield from wrong
        yield Finding(subject, f"{len(needed) - len(wrong)} of {len(needed)} required packages are as required.")
    yield Finding(subject, f"{available_cores()} of {os.cpu_count()} processor cores for `pppca run`.")
    if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        text = "NUMBA_DISABLE_JIT is set: nothing is compiled, and a run takes hundreds of times as long."
        yield Finding(subject, text, "Unset it.")


def _package(requirement: str) -> Finding | None:
    name, limits = re.split(r"(?=[<>=!~])", requirement, maxsplit=1)
    try:
        got = metadata.version(name)
    except metadata.PackageNotFoundError:
        got = "none"
    else:
        least, below = (re.search(pattern, limits) for pattern in (r">=\s*([\d.]+)", r"<\s*([\d.]+)"))
        if (least is None or _numbers(got) >= _numbers(least[1])) and (
            below is None or _numbers(got) < _numbers(below[1])
        ):
            return None
    remedy = f"Run `{Path(sys.executable).name} -m pip install '{requirement}'`."
    return Finding("environment", f"{name}: expected version {limits}, got {got}.", remedy)


def _numbers(version: str) -> tuple[int, ...]:
    """Return the leading numbers of a version, without such as rc1 or .dev0."""
    return tuple(int(part) for part in re.split(r"[^\d.]", version)[0].split(".") if part)


def _cache() -> Iterator[Finding]:
    if (refusal := cache.refusal()) is not None:
        yield Finding("cache", refusal, "")
        return
    folder = next(folder for folder in cache.folders() if cache.refusal_of(folder) is None)
    n_kept = sum(map(cache.is_compiled, cache.FAMILIES))
    text = f"{folder}: can be written; of {len(cache.FAMILIES)} families of kernels {n_kept} are compiled"
    yield Finding("cache", f"{text}." if n_kept == len(cache.FAMILIES) else f"{text}, others when a run needs them.")
    for path in cache.damaged():
        yield Finding("cache", f"{path}: damaged; the next run that needs it compiles it again.")


def _data(data_dir: Path | None) -> Iterator[Finding]:
    names = known_problems("proben1")
    n_good = 0
    for name in names:
        try:
            load_problem(name, data_dir)
            n_good += 1
        except DataError as error:
            yield Finding("data", str(error), "")
    yield Finding("data", f"{n_good} of {len(names)} Proben1 files are as registered.")


def _folder(results: Path) -> Iterator[Finding]:
    if (refused := cache.refusal_of(results)) is not None:
        yield Finding("store", f"{results}: cannot be written ({refused}).", "Give another folder with --results DIR.")
        return
    nearest = next(folder for folder in (results, *results.absolute().parents) if folder.exists())
    free_mb = shutil.disk_usage(nearest).free // 2**20
    if free_mb < ENOUGH_SPACE_MB:
        yield Finding("store", f"{results}: {free_mb} MB are free on its disk.", "Free some, or give --results DIR.")
    if (network := network_file_system(results)) is not None:
        yield Finding("store", f"{results} is on a network file system ({network}).", NETWORK_REMEDY)


def _store(database: Path, command: str = "run") -> Iterator[Finding]:
    try:
        if not database.exists():
            yield Finding("store", f"{database}: none yet; `pppca run CONFIG` makes it.")
            return
        with Store(database, read_only=True) as store:
            ((verdict,), *_) = store.rows("PRAGMA integrity_check")
            if verdict != "ok":
                aside = shlex.join(["mv", str(database), f"{database}.damaged"])
                remedy = f"Restore it from a backup, or move it aside (`{aside}`) and run the configs again."
                yield Finding("store", f"{database}: damaged ({verdict.splitlines()[0]}).", remedy)
                return
            if wrong := store.wrong_rows():
                yield from (Finding("store", str(error), "") for error in wrong.values())
                return
            yield Finding("store", f"{store.path}: whole, of version {SCHEMA_VERSION}.")
            yield from _runs(store, command)
    except StoreError as error:
        yield Finding("store", str(error), "")
    except PermissionError:  # reported by `_folder`
        return


def _runs(store: Store, command: str) -> Iterator[Finding]:
    """Count the runs of each config; of a study those of all trials, whose failures need no remedy."""
    results = {spec.key: result for spec, result in store.runs()}
    under_way = {key for key, process in store.reserved() if is_running(process)}
    again = f"Run it again with `pppca {command}`: completed runs are kept."
    plans = store.plans() if command == "run" else {"all trials": list(results)}
    for name, keys in plans.items():
        statuses = Counter(result.status if (result := results[key]) else "planned" for key in keys)
        if statuses["failed"]:
            errors = (result.error for key in keys if (result := results[key]) and result.status == "failed")
            cause = cause_of(next(errors)).removesuffix(".")
            text = f"{name}: {statuses['failed']} of {len(keys)} runs failed, one with: {cause}."
            yield Finding("store", text, again if command == "run" else None)
        if statuses["planned"] and under_way.isdisjoint(keys):
            yield Finding("store", f"{name}: {statuses['planned']} of {len(keys)} runs are not done.", again)
        yield Finding("store", f"{name}: {statuses['done']} of {len(keys)} runs are done.")
