"""What stands in the way of an experiment: findings on environment, cache, data, store and studies, with remedies."""

from __future__ import annotations

import os
import platform
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
from pppca_bench.experiments.provenance import older_algorithms
from pppca_bench.experiments.runner import available_cores
from pppca_bench.problems import known_problems, load_problem
from pppca_bench.processes import is_running
from pppca_bench.runs import RunResult, cause_of
from pppca_bench.store.columns import DONE
from pppca_bench.store.database import Store
from pppca_bench.store.file import NETWORK_REMEDY, network_file_system
from pppca_bench.store.schema import SCHEMA_VERSION

DISTRIBUTION = "pppca-bench"
ENOUGH_SPACE_MB = 200
_NAME, _LEAST, _BELOW = (re.compile(pattern) for pattern in (r"[\w.-]+", r">=\s*([\d.]+)", r"<\s*([\d.]+)"))


@dataclass(frozen=True, slots=True)
class Finding:
    """Say in one line how a thing is.

    Attributes
    ----------
    subject : str
        ``"environment"``, ``"cache"``, ``"data"``, ``"store"`` or ``"study"`` with a study's name.
    text : str
        What was found.
    remedy : str or None
        What to do about it, empty where the text says it; None where nothing needs doing.
    """

    subject: str
    text: str
    remedy: str | None = None


def examine(data_dir: Path | None, database: Path, studies: Iterable[Path] = ()) -> Iterator[Finding]:
    """Look at everything that a run needs, and change nothing.

    Parameters
    ----------
    data_dir : Path, optional
        First place to look for Proben1 files.
    database : Path
        The results database, which need not exist.
    studies : iterable of Path
        The databases of studies, each in a folder of the study's name.
    """
    yield from _environment()
    yield from _cache()
    yield from _data(data_dir)
    yield from _folder(database.parent)
    if (network := network_file_system(database.parent)) is not None:
        yield Finding("store", f"{database.parent} is on a network file system ({network}).", NETWORK_REMEDY)
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
        about = metadata.metadata(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        remedy = f"Install it, for example with `pip install -e {shlex.quote(str(Path(__file__).parents[2]))}`."
        yield Finding(subject, f"{DISTRIBUTION} is not installed, so its requirements are unknown.", remedy)
    else:
        yield _python(about["Requires-Python"])
        yield from _packages(about.get_all("Requires-Dist") or [])
    yield Finding(subject, f"{available_cores()} of {os.cpu_count()} processor cores for `pppca run`.")
    if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        text = "NUMBA_DISABLE_JIT is set: nothing is compiled, and a run takes hundreds of times as long."
        yield Finding(subject, text, "Unset it.")


def _python(required: str) -> Finding:
    wanted = required.removeprefix(">=")
    got = platform.python_version()
    if _numbers(got) >= _numbers(wanted):
        return Finding("environment", f"Python {got}.")
    return Finding("environment", f"Python: expected {wanted} or newer, got {got}.", "Install it, and pppca into it.")


def _packages(requirements: list[str]) -> Iterator[Finding]:
    needed = [requirement for requirement in requirements if "extra ==" not in requirement]
    wrong = 0
    for requirement in needed:
        name, least, below = _limits(requirement)
        try:
            got = metadata.version(name)
        except metadata.PackageNotFoundError:
            got = "none"
        if got == "none" or _numbers(got) < _numbers(least) or (below and _numbers(got) >= _numbers(below)):
            wrong += 1
            wanted = f"{least} or newer{below and f', below {below}'}"
            remedy = f"Run `{Path(sys.executable).name} -m pip install '{requirement}'`."
            yield Finding("environment", f"{name}: expected version {wanted}, got {got}.", remedy)
    yield Finding("environment", f"{len(needed) - wrong} of {len(needed)} required packages are as required.")


def _limits(requirement: str) -> tuple[str, str, str]:
    """Return a requirement's package, its least version, "0" for any, and the one that it has to be below, or ""."""
    name = _NAME.match(requirement)
    assert name is not None  # every requirement begins with one
    least, below = _LEAST.search(requirement), _BELOW.search(requirement)
    return name[0], least[1] if least else "0", below[1] if below else ""


def _numbers(version: str) -> tuple[int, ...]:
    """Return the leading numbers of a version: what follows, such as rc1 or .dev0, is not told apart."""
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
        yield Finding("cache", f"{path}: damaged; the next run that needs it compiles it anew.")


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


def _store(database: Path, command: str = "run") -> Iterator[Finding]:
    try:
        if not database.exists():
            yield Finding("store", f"{database}: none yet; `pppca run CONFIG` makes it.")
            return
        with Store(database, read_only=True) as store:
            if errors := store.integrity_errors():
                yield Finding("store", f"{database}: damaged ({errors[0].splitlines()[0]}).", _saved(database))
                return
            if wrong := store.wrong_rows():
                yield from (Finding("store", str(error), "") for error in wrong.values())
                return
            yield Finding("store", f"{store.path}: whole, of version {SCHEMA_VERSION}.")
            yield from _runs(store) if command == "run" else _trials(store)
            yield from _stale(store, command)
            yield from _reservations(store, command)
    except StoreError as error:
        yield Finding("store", str(error), "")
    except PermissionError:  # a folder that may not be searched: `_folder` has told it
        return


def _saved(database: Path) -> str:
    aside = shlex.join(["mv", str(database), f"{database}.damaged"])
    return f"Take it back from a copy, or put it aside (`{aside}`) and run the configs again."


def _runs(store: Store) -> Iterator[Finding]:
    results = {spec.key: result for spec, result in store.runs()}
    under_way = {key for key, process in store.reserved() if is_running(process)}
    for config, keys in store.plans().items():
        statuses = Counter(result.status if (result := results[key]) else "planned" for key in keys)
        again = f"Run its config again, with `pppca run`: it does what is left of {config}."
        if statuses["failed"]:
            failure = next(result for key in keys if (result := results[key]) and result.status == "failed")
            text = f"{config}: {statuses['failed']} of {len(keys)} runs failed, one of them of: {_cause(failure)}."
            yield Finding("store", text, again)
        if statuses["planned"] and under_way.isdisjoint(keys):
            yield Finding("store", f"{config}: {statuses['planned']} of {len(keys)} runs are not done.", again)
        if statuses["done"] == len(keys):
            yield Finding("store", f"{config}: all {len(keys)} runs are done.")


def _trials(store: Store) -> Iterator[Finding]:
    """Sum up a study's trials. Choice: failed runs need nothing, since a search meets settings that diverge."""
    runs, plans = store.runs(), store.plans()
    failures = {spec.key: result for spec, result in runs if result is not None and result.status == "failed"}
    n_planned = sum(result is None for _, result in runs)
    of_all = f"of {len(runs)} runs of {len(plans)} trials"
    if failures:
        n_trials = sum(not failures.keys().isdisjoint(keys) for keys in plans.values())
        cause = _cause(next(iter(failures.values())))
        yield Finding(
            "store", f"{len(failures)} {of_all} failed, one of them of: {cause}; trials without a score: {n_trials}."
        )
    if n_planned and not any(is_running(process) for _, process in store.reserved()):
        again = "Run the study again, with `pppca study`: it does what is left."
        yield Finding("store", f"{n_planned} {of_all} are not done.", again)
    yield Finding("store", f"{len(runs) - n_planned - len(failures)} {of_all} are done.")


def _cause(failure: RunResult) -> str:
    return cause_of(failure.error).removesuffix(".")


def _stale(store: Store, command: str) -> Iterator[Finding]:
    counts: Counter[tuple[str, str, int | str, int | str]] = Counter()
    for cell, runs in store.runs_by_cell().items():
        if n_done := runs.count_of(DONE):
            counts.update({(cell.method, *older): n_done for older in older_algorithms(cell.algorithms)})
    for (method, name, old, new), n in sorted(counts.items()):
        of_what = f" of {name}" if name != method else ""
        text = f"{method}: results of version {old}{of_what}, where today's is {new}: {n}."
        yield Finding("store", text, f"Run the configs that ask for them again, with `pppca {command}`.")


def _reservations(store: Store, command: str) -> Iterator[Finding]:
    for process, n in sorted(Counter(process for _, process in store.reserved()).items()):
        number, _, machine = process.partition(" ")
        if is_running(process):
            yield Finding("store", f"process {number} on {machine} has runs under way: {n}.")
        else:
            text = f"process {number}, which is gone, left runs under way: {n}."
            yield Finding("store", text, f"Run its config again, with `pppca {command}`: it takes them up.")
