"""The small plans whose numbers tests/golden pins, and the command that pins them again.

After a change that is meant to change numbers (and raised the method's algorithm version), write the files again and
read the difference::

    python tests/golden_numbers.py             # all of them
    python tests/golden_numbers.py ne_ppca     # those of one plan
"""

import json
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from builders import small, specs_of

from pppca_bench.experiments.cell import run_group
from pppca_bench.problems import load_problem
from pppca_bench.runs import RunResult, RunSpec

ROOT = Path(__file__).parents[1]
LIBRARIES = ("numba", "numpy", "scipy", "scikit-learn")
CLASSIFIER = {"hidden": [4], "max_epochs": 30, "input_scaling": "given"}
PLANS = {
    "methods": [
        {"method": "gha", "tau": None, "n_epochs": 10},
        {
            "method": "gha",
            "tau": None,
            "n_epochs": 10,
            "classifier": {"rule": "backprop", "hidden": [4], "max_epochs": 10},
        },
        {"method": "dgha", "n_epochs": 10, "data_fraction": [100, 50]},
        {"method": "all_features"},
        {"method": "pca"},
        {"method": "lda"},
        {"method": "filter"},
    ],
    "ne_ppca": [{"method": "ne_ppca", "n_generations": 10}],
}
NUMBERS = (
    *("dimensionality", "n_epochs", "total_epochs", "relevant_epochs"),
    *("train_error_percent", "validation_error_percent", "test_error_percent"),
)


def path_of(name: str) -> Path:
    return ROOT / "tests" / "golden" / f"numbers_{name}.json"


def pinned_versions(libraries: Sequence[str] = LIBRARIES) -> dict[str, str]:
    """Return the versions of the libraries that constraints.txt asks for."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if "==" in line)
    return {name: pins[name] for name in libraries}


def installed_versions(libraries: Sequence[str] = LIBRARIES) -> dict[str, str]:
    return {name: version(name) for name in libraries}


def planned(name: str) -> list[RunSpec]:
    settings = {
        "problems": ["iris", "wine"],
        "seed": 2012,
        "tau": [5, 20],
        "classifier": CLASSIFIER,
    }
    return specs_of(small(*PLANS[name], **settings))


def algorithms_of(name: str) -> dict[str, int]:
    """Return the versions of the methods and classifiers that take part in a plan."""
    return dict(sorted({algorithm for spec in planned(name) for algorithm in spec.cell.algorithms}))


def computed(name: str) -> list[dict[str, Any]]:
    """Return the numbers of each run of a plan, in its order, without times."""
    cells: dict[object, list[RunSpec]] = {}
    for spec in planned(name):
        cells.setdefault(spec.cell, []).append(spec)
    return [
        _numbers(spec, result)
        for group in cells.values()
        for spec, result in zip(
            group,
            run_group(group, [load_problem(spec.cell.problem) for spec in group]),
            strict=True,
        )
    ]


def _numbers(spec: RunSpec, result: RunResult) -> dict[str, Any]:
    identity = {"problem": spec.cell.problem, "method": spec.cell.method}
    identity |= {name: spec.cell.settings.get(name) for name in ("tau", "data_fraction")} | {
        "repeat": spec.repeat
    }
    others = {name: value for name, value in sorted(result.values.items()) if "time" not in name}
    return {
        **identity,
        "status": result.status,
        **{name: others.pop(name, None) for name in NUMBERS},
        **others,
    }


def write(name: str) -> None:
    """Pin today's numbers of a plan."""
    document = {
        "versions": installed_versions(),
        "algorithms": algorithms_of(name),
        "runs": computed(name),
    }
    path_of(name).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for given in sys.argv[1:] or PLANS:
        write(given)
