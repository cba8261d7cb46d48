"""The command line with a log of each group of runs that a worker starts."""

import os
import sys
from pathlib import Path

from pppca_bench.cli import main as cli
from pppca_bench.experiments import runner, worker
from pppca_bench.experiments.queue import Group

compute = worker.compute


def compute_and_log(group: Group, loads: worker.Loads) -> worker.Computed:
    """Compute a group in a worker, after a line with its keys was added to the log."""
    with Path(os.environ["COUNTED_RUNS"]).open("ab", buffering=0) as log:
        log.write(f"{' '.join(spec.key for spec in group)}\n".encode())
    return compute(group, loads)


def main() -> None:
    """Be `pppca`."""
    # Workers import the original runner.
    setattr(runner, "compute", compute_and_log)  # noqa: B010
    sys.argv[0] = "pppca"
    cli.main()
