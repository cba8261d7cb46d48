"""Pinned databases, the outputs of commands on them, and the runs of the shipped configs.

The databases in tests/paper/golden/guard.tar.xz have a few repeats of some problems of the shipped configs, so that
tables, figures, rankings, documents and claims have content. To read the effect of a change, write the outputs before
and after it::

    export PYTHONPATH=tests
    python tests/paper/guard.py write build/before
    python tests/paper/guard.py write build/after
    diff -r build/before build/after

After a wanted change, pin outputs and runs again. After a change of numbers or of the database, first compute the
databases again, which takes some minutes::

    python tests/paper/guard.py compute
    python tests/paper/guard.py pin
"""

import contextlib
import hashlib
import json
import sqlite3
import subprocess
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from builders import expanded
from command_line import pppca
from matplotlib.figure import Figure

from pppca_bench.config.experiment import parse_config
from pppca_bench.config.shipped import shipped_experiments, shipped_folder
from pppca_bench.yaml_files.source import read_yaml

ROOT = Path(__file__).parents[2]
ARCHIVE = ROOT / "tests" / "paper" / "golden" / "guard.tar.xz"
PINNED = ROOT / "tests" / "paper" / "golden" / "guard.json"
LIBRARIES = ("Jinja2", "matplotlib", "numpy", "pandas", "scipy", "tabulate")
"""Libraries that the last digits and the lines of the outputs depend on."""

EXPERIMENTS = {"experiment2": "E2_matrix", "experiment3": "E3_matrix"}
"""The registered experiments, each in a database of its own, and their figures."""

REPORT = "proben1_linear proben1_no_shortcuts proben1_pivot"
FAILING = "thyroid1"
"""Config whose runs exceed a time limit."""

PROBLEMS = (
    "problem=cancer1,cancer2,glass1,heart1,horse1,hearta1,mushroom1,digits,noisy_circle,three_circles,wine"
    ",iris,iris_centred,iris_encoded,proben1:cancer,sklearn:iris"
)
DATA_SETS = (
    "problem=proben1:cancer,proben1:diabetes,proben1:glass,proben1:heart"
    ",sklearn:iris,sklearn:wine,sklearn:breast_cancer"
)
"""Filters of the runs."""

COMMANDS = {
    "tables.txt": "tables --sd",
    "tables.json": "tables --format json",
    "compare.txt": "compare --all",
    "compare.json": "compare --format json",
    "rank.txt": "rank permutations",
    "rank.json": "rank permutations --format json",
    "rank_of_all.json": "rank --format json",
    "pairs.txt": "rank permutations --within cancer1",
    "rules.md": "rules cancer1",
    "rules.tex": "rules proben1_pivot --format latex",
    "export.csv": "export",
    "show.yaml": "show cancer1/cancer1/gha/0",
    "status.txt": "status",
    "list.txt": "list",
    "failed.txt": "list --failed",
}
"""Commands whose printed outputs are pinned, by name of the output."""

UNUSED_CURVES = """
    DELETE FROM histories WHERE length(curves) > 20000 OR key NOT IN (
        SELECT plans.key FROM plans JOIN runs USING (key) JOIN cells ON cells.id = cell
        WHERE config IN ('pseudo_pca', 'streaming_curves') OR json_extract(settings, '$.parameters.tau') = 10
    )
"""
"""Statement that removes the curves that no figure shows."""


def compute() -> None:
    """Compute the databases, remove curves that no figure shows, and pack the databases."""
    apart = {*EXPERIMENTS, *REPORT.split(), FAILING, "glass1"}
    others = [
        name for name in shipped_experiments() if name not in apart and not name.endswith("_large")
    ]
    with TemporaryDirectory() as name:
        folder = Path(name)
        _run(folder, " ".join(others), f"--repeats 2 --only {PROBLEMS}")
        _run(folder, REPORT, f"--repeats 4 --only {PROBLEMS}")
        _run(folder, "glass1", "--repeats 3 --shard 1/2")
        _run(folder, FAILING, "--repeats 1 --timeout 1")
        for experiment in EXPERIMENTS:
            _run(folder / experiment, experiment, f"--repeats 2 --only {DATA_SETS}")
        with tarfile.open(ARCHIVE, "w:xz", preset=9) as archive:
            for path in sorted(folder.rglob("results.sqlite")):
                _shrink(path)
                archive.add(path, path.relative_to(folder))


def _run(folder: Path, configs: str, options: str) -> None:
    """Run shipped configs; runs that fail are stored, too."""
    files = [f"configs/{name}.yaml" for name in configs.split()]
    command = [sys.executable, "-m", "pppca_bench", "run", *files, "--no-tables", "--results"]
    if (
        subprocess.run([*command, str(folder), *options.split()], cwd=ROOT, check=False).returncode
        > 1
    ):
        sys.exit(f"{configs}: expected runs, got an error.")


def _shrink(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute(UNUSED_CURVES)
        database.commit()
        database.execute("VACUUM")


def write(folder: Path) -> None:
    """Write what the commands make of the databases into a folder."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder / "results", filter="data")
    with contextlib.chdir(folder), patch.object(Figure, "savefig", _save_vectors):
        for experiment, figure in EXPERIMENTS.items():
            _printed(
                f"tables --format csv --results results/{experiment} --out results/{experiment}/tables"
            )
            _printed(f"figures {figure} --results results/{experiment}")
        Path("verdicts.md").write_text("<!-- verdict_shares -->\n" * 2, encoding="utf-8")
        Path("results/benchmarks.md").write_text(
            "**When is each the right tool?** Always.\n", encoding="utf-8"
        )
        _printed("render --results results --findings findings.md --verdicts verdicts.md")
        _printed("report --results results --out report.html")
        for name, command in COMMANDS.items():
            Path(name).write_text(_printed(f"{command} --results results"), encoding="utf-8")


_savefig = Figure.savefig


def _save_vectors(figure: Figure, file: Any, **options: Any) -> None:
    """Save a drawing unless as PNG, which takes long and shows the same as SVG."""
    if options["format"] == "svg":
        _savefig(figure, file, **options)


def _printed(command: str) -> str:
    result = pppca(*command.split())
    if result.exit_code:
        raise RuntimeError(f"pppca {command}: {result.output}") from result.exception
    return result.stdout


def outputs(folder: Path) -> dict[str, str]:
    """Return the digest of each output, by its path in the folder that `write` fills."""
    write(folder)
    suffixes = (".sqlite", ".png")
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    kept = [path for path in files if path.suffix not in suffixes]
    return {path.relative_to(folder).as_posix(): _digest(path.read_bytes()) for path in kept}


def planned_runs() -> dict[str, list[Any]]:
    """Return the number of runs of each shipped config, and the digest of their keys and seeds in order."""
    folder = shipped_folder()
    return {
        path.relative_to(folder).as_posix(): _runs(path) for path in sorted(folder.rglob("*.yaml"))
    }


def _runs(path: Path) -> list[Any]:
    specs = expanded(parse_config(read_yaml(path)))
    text = "\n".join(f"{spec.key} {spec.repeat} {spec.seed}" for spec in specs)
    return [len(specs), _digest(text.encode())]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def pin() -> None:
    """Pin today's outputs and runs."""
    with TemporaryDirectory() as folder:
        pinned = {"runs": planned_runs(), "outputs": outputs(Path(folder))}
    PINNED.write_text(json.dumps(pinned, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["write", folder]:
            write(Path(folder))
        case ["pin"]:
            pin()
        case ["compute"]:
            compute()
        case _:
            sys.exit(__doc__)
