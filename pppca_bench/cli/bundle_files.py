"""Files of a bundle, in the working directory: configs, results, versions, the wheel, and programs that verify it."""

from __future__ import annotations

import json
import platform
import shlex
import shutil
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pppca_bench.cli._shared import notify, read_snapshot
from pppca_bench.cli.references import named_configs, own_configs
from pppca_bench.errors import ConfigError, DataError, StoreError
from pppca_bench.store import RESULTS

if TYPE_CHECKING:
    import pandas as pd

    from pppca_bench.references.reference import Reference
    from pppca_bench.store.database import Store

CONFIGS, MADE = Path("configs"), Path("results")
"""Folders of the configs that are not beside the reference, and of what the runs made."""

DESCRIBED = {
    "reference/": "the published numbers, the runs that fill their tables, and what these runs need",
    "configs/": "the configs that the reference does not have beside it, as they were run",
    "results/runs": "the runs, a row each",
    "results/recorded.csv.xz": "the repeats of each compared number",
    "results/verdicts.json": "the published numbers, ours, and the verdicts",
    "results/tables/": "the tables",
    "results/report.html": "all results on one page",
    "environment.json": "versions of all packages, digests of the data, processors and code of the runs",
    "constraints.txt": "versions of all packages, for pip",
    "pppca_bench": "the program",
    "CITATION.cff": "how to cite the program",
    "codecheck": "the configuration of a CODECHECK, or its draft",
    "verify.sh": "checks the files, computes repeats again and compares them",
    "Dockerfile": "does so in a container",
    "README.md": "this page",
}
"""Content of files, by the beginnings of their paths."""

_NOT_COPIED = shutil.ignore_patterns("__pycache__", ".*", "*.sqlite*", RESULTS)
"""Files in the folder of a reference that are no part of it."""


def texts_of(reference: Reference, store: Store) -> dict[str, str]:
    """Return the texts of the configs whose runs count in a reference, as they were run, by name.

    Without names, all configs count, except those changed by ``--set``, whose texts are no files. Raises StoreError
    if none was run.
    """
    named = {name for _, name in named_configs(reference)}
    texts = {}
    for name, text in store.config_texts().items():
        if name in named or (not named and "+" not in name):
            texts[name] = text
    if not texts:
        expected = f"runs of {', '.join(sorted(named)) or 'configs'}, which {reference.name} names"
        raise StoreError(f"{store.path}: expected {expected}, got none. Run them with `pppca run`.")
    return texts


def done_runs(store: Store, names: Sequence[str]) -> pd.DataFrame:
    """Return the done runs of configs as `runs_table` does.

    Raise StoreError if runs failed, or were computed by other versions than those of this environment.
    """
    from pppca_bench.experiments.provenance import LIBRARIES, provenance_text
    from pppca_bench.store.export import runs_table

    runs = runs_table(store, names)
    n_failed = int((runs["status"] == "failed").sum())
    if n_failed:
        raise StoreError(
            f"{store.path}: expected runs without errors, got {n_failed} that failed. Run the configs again, or take"
            " their cells out (`pppca list --failed`)."
        )
    now, codes = json.loads(provenance_text()), set[str]()
    for _, status, text, _ in store.origins(names):
        then = json.loads(text or "{}") if status == "done" else now
        for library in LIBRARIES:
            if then.get(library) != now[library]:
                raise StoreError(
                    f"{store.path}: expected runs by the versions of this environment, got runs by {library}"
                    f" {then.get(library)}, not {now[library]}. Write the bundle in the environment of the runs, or run"
                    " the configs again with --fresh."
                )
        codes.add(then["pppca"])
    if codes != {now["pppca"]}:
        notify(
            f"Note: runs were computed by pppca {', '.join(sorted(codes))}, the wheel is {now['pppca']}: verify.sh"
            " shows whether both give the same numbers."
        )
    return runs[runs["status"] == "done"].reset_index(drop=True)


def write_configs(
    reference: Reference, texts: Mapping[str, str], done: Collection[str], repeats: int
) -> list[str]:
    """Write the reference and its configs, and return the words of a command that runs each config.

    A config is written where the reference has it, so that it finds data and modules there. ``done`` are the keys of
    the done runs: those of the first repeats must be among them. Raises StoreError if they are not, ConfigError if the
    bundle lacks a file.
    """
    place = Path("reference", reference.name)
    shutil.copytree(reference.folder, place, ignore=_NOT_COPIED)
    beside = own_configs(reference)
    commands = []
    for name, text in texts.items():
        path = place / beside[name].name if name in beside else CONFIGS / f"{name}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        commands.append(_run_words(path, done, repeats))
    return commands


def _run_words(path: Path, done: Collection[str], repeats: int) -> str:
    """Return the words that run a config, on the problems that were run."""
    from pppca_bench.experiments.request import read_request

    try:
        (plan,) = read_request([path], repeats=repeats, only_plan=True, force=True).plans
    except (ConfigError, DataError) as error:
        raise ConfigError(
            f"{error} In a bundle, configs find data and modules in the folder of the reference alone: move yours"
            " there, and run the config again."
        ) from None
    is_done = dict[str, list[bool]]()
    for spec in plan.specs:
        is_done.setdefault(spec.cell.problem, []).append(spec.key in done)
    problems = [problem for problem, runs in is_done.items() if any(runs)]
    partly = [problem for problem in problems if not all(is_done[problem])]
    if partly or not problems:
        got = f"only some on {', '.join(partly)}" if partly else "none"
        raise StoreError(
            f"{path}: expected the first {repeats} repeats of all cells of a problem, got {got}. Run the config with"
            " `pppca run`; again, if its files were changed since."
        )
    words = [path.as_posix()]
    if len(problems) < len(is_done):
        quoted = [f'"{problem}"' if "," in problem else problem for problem in problems]
        words += ["--only", f"problem={','.join(quoted)}"]
    return shlex.join(words)


def write_results(
    reference: Reference,
    store: Store,
    done: pd.DataFrame,
    names: Sequence[str],
    added: Sequence[Path],
) -> list[str]:
    """Write runs, repeats, tables, verdicts and the page, and return the reference's tables of numbers with runs.

    ``added`` is the folder of a reference that is not installed.
    """
    from pppca_bench.cli.tables import KEPT_FORMATS, report_page, write_tables
    from pppca_bench.pages.comparison import render_comparison
    from pppca_bench.pages.escapes import to_csv
    from pppca_bench.verdicts.numbers import with_first_places
    from pppca_bench.verdicts.recorded import RECORDED, repeats, write_recorded

    snapshot = read_snapshot(store, names, references=added)
    folder = added[0].resolve() if added else reference.folder
    of_reference = []
    for name in snapshot.with_runs:
        if name in snapshot.sources and snapshot.sources[name].folder == folder:
            of_reference.append(name)
    tables = [name for name in of_reference if name in snapshot.layouts]
    numbers = with_first_places(snapshot.numbers[snapshot.numbers["table"].isin(tables)])
    MADE.mkdir()
    if find_spec("pyarrow"):
        done.to_parquet(MADE / "runs.parquet", index=False)
    else:
        (MADE / "runs.csv").write_text(to_csv(done), encoding="utf-8")
    write_recorded(repeats(numbers, snapshot.runs), MADE / RECORDED)
    (MADE / "verdicts.json").write_text(render_comparison(numbers, "json"), encoding="utf-8")
    documents = snapshot.tables(of_reference, with_shares=True)
    for form in KEPT_FORMATS:
        write_tables(documents, form, MADE / "tables")
    (MADE / "report.html").write_text(report_page(snapshot, store), encoding="utf-8")
    return tables


def write_environment(store: Store, done: pd.DataFrame, names: Sequence[str]) -> str:
    """Write the wheel, the versions of all packages and the facts of the machine; return what pip is to install."""
    from pppca_bench.experiments.installation import needed_packages, package_versions, write_wheel

    versions = package_versions()
    by_origin = Counter[str]()
    for _, status, text, n_runs in store.origins(names):
        if status == "done":
            by_origin[text or "{}"] += n_runs
    facts = {
        "runs": [{"n_runs": n, **json.loads(text)} for text, n in by_origin.items()],
        "data_sha256": data_of(done),
        "packages": versions,
    }
    Path("environment.json").write_text(json.dumps(facts, indent=1), encoding="utf-8")
    lines = [f"{name}=={version}\n" for name, version in versions.items()]
    Path("constraints.txt").write_text("".join(lines), encoding="utf-8")
    called = set[str]()
    for column in done:
        if column == "method" or str(column).endswith(".rule"):
            called |= set(done[column].dropna())
    needed = needed_packages(called)
    has_parquet = any(path.suffix in (".parquet", ".pq") for path in Path("reference").rglob("*"))
    extra = "[parquet]" if has_parquet else ""
    return shlex.join([f"./{write_wheel(Path()).name}{extra}", *needed])


def data_of(done: pd.DataFrame) -> dict[str, str]:
    """Return the digests of the data of the runs, by problem."""
    return dict(zip(done["problem"], done["data_sha256"], strict=True))


def times_of(store: Store, done: pd.DataFrame, names: Sequence[str]) -> tuple[str, str]:
    """Return when the runs began and ended, as far as the results tell: ISO 8601 with the offset of UTC."""
    planned = [
        when.replace(" ", "T") + ":00.000Z" for name, when, *_ in store.configs() if name in names
    ]
    finished = done["finished_at"].tolist()
    times = sorted([*planned, *finished])
    first, last = times[0], max(finished)
    return first.replace("Z", "+00:00"), last.replace("Z", "+00:00")


def write_programs(values: Mapping[str, Any]) -> None:
    """Write verify.sh, the Dockerfile and the README from their templates."""
    from pppca_bench.pages.document import environment

    content = {}
    for place, text in DESCRIBED.items():
        if Path(place).exists() or list(Path().glob(f"{place}*")):
            content[place if Path(place).exists() else f"{place}*"] = text
    for name in ("verify.sh", "Dockerfile", "README.md"):
        template = environment().get_template(f"bundle/{name}")
        text = template.render(**values, python=platform.python_version(), content=content)
        Path(name).write_text(f"{text}\n", encoding="utf-8")
    Path("verify.sh").chmod(0o755)


def write_citation() -> str:
    """Write the citation of this program, and return the address of its repository, "" if it is not known."""
    import yaml

    from pppca_bench.config.shipped import shipped
    from pppca_bench.experiments.installation import repository_url

    text = shipped("CITATION.cff").read_text(encoding="utf-8")
    address = str(yaml.safe_load(text).get("repository-code", ""))
    if not address and (address := repository_url()):
        text += f"repository-code: {address}\n"
    Path("CITATION.cff").write_text(text, encoding="utf-8")
    return address
