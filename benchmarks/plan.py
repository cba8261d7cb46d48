"""Plan of both sides of the comparison: a copy of the configs behind the slides' tables.

The folder kept_plan has all configs of one day, 7270 runs, so that times of different days compare; configs/ has grown.

Run as a module it carries the plan out with ours, in a process that imports nothing else.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from pppca_bench.config.experiment import Config, parse_config
from pppca_bench.config.plan import Identity, expand
from pppca_bench.documents import read_yaml
from pppca_bench.problems import open_problem, registered
from pppca_bench.runs import Cell, Plan, RunSpec

KEPT_PLAN = Path(__file__).parent / "kept_plan"
BEYOND = frozenset({"ablation", "baselines", "ensembles", "permutations", "systems"})
"""Configs that no published table of means needs."""

METHODS = frozenset({"gha", "dgha", "ne_ppca", "all_features"})
RULES = frozenset({"rprop", "slides_mlp"})


def planned_runs(repeats: int | None = None, only: str | None = None) -> list[RunSpec]:
    """List the runs of all configs behind the published tables, or of one config, each once.

    Left out are timed runs (their time is their result, and most of it is the literal kernel's), methods and
    classifiers whose work the other side would do with the very same code, and approximation problems.
    """
    names = [only] if only else sorted(path.stem for path in KEPT_PLAN.glob("*.yaml") if path.stem not in BEYOND)
    configs = [parse_config(read_yaml(KEPT_PLAN / f"{name}.yaml")) for name in names]
    specs = {spec.key: spec for config in configs for spec in expand(config, _identities(config), repeats=repeats)}
    return [spec for spec in specs.values() if _is_compared(spec.cell)]


def _is_compared(cell: Cell) -> bool:
    is_classification = registered()[cell.problem].task == "classification"
    return is_classification and cell.method in METHODS and dict(cell.classifier).get("rule") in RULES


def _identities(config: Config) -> dict[str, Identity]:
    return {name: Identity(name, registered()[name].sha256, name) for name in config.problems}


def carry_out(specs: list[RunSpec], results: Path, data: Path, workers: int) -> float:
    """Carry the runs out into a new database; return the seconds that it took."""
    from pppca_bench.experiments.runner import run
    from pppca_bench.store.database import Store

    results.mkdir(parents=True)
    with Store(results / "results.sqlite") as store:
        store.plan(Plan("all", "", "", tuple(specs)))
        start = time.perf_counter()
        opened = {name: open_problem(name, data) for name in dict.fromkeys(spec.cell.problem for spec in specs)}
        problems = {(name, source.sha256): (source, problem) for name, (source, problem) in opened.items()}
        outcome = run(specs, store, problems, workers=workers)
        elapsed = time.perf_counter() - start
    if outcome.n_failed:
        raise RuntimeError(f"{outcome.n_failed} of {len(specs)} runs failed: {outcome.first_error}")
    return elapsed


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, help="a folder that does not exist yet")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--config", help="only the runs of this config")
    options = parser.parse_args()
    specs = planned_runs(options.repeats, options.config)
    elapsed = carry_out(specs, options.results, options.data, options.workers)
    print(json.dumps({"n_runs": len(specs), "seconds": elapsed}))


if __name__ == "__main__":
    _main()
