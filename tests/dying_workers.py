"""Stand-ins for the runner's work that end their process, at module level so that worker processes can import them."""

import os
from pathlib import Path

from pppca_bench.experiments import runner
from pppca_bench.runs import RunSpec


def die_at_repeat_3(group: tuple[RunSpec, ...], source: str, data_dir: Path | None) -> runner.Computed:
    """Run a group, but end the process, as the out-of-memory killer does, where repeat 3 of tau 5 is in it."""
    if any(spec.repeat == 3 and spec.tau == 5 for spec in group):
        os._exit(9)
    return runner._run_group(group, source, data_dir)


def die_once(group: tuple[RunSpec, ...], source: str, data_dir: Path | None) -> runner.Computed:
    """Run a group, but end the process at the first call, which leaves a file named "died"."""
    assert data_dir is not None
    try:
        (data_dir / "died").touch(exist_ok=False)
    except FileExistsError:
        return runner._run_group(group, source, data_dir)
    os._exit(9)


def die_twice(group: tuple[RunSpec, ...], source: str, data_dir: Path | None) -> runner.Computed:
    """Run a group, but end the process at the first two calls, each of which leaves a file behind."""
    assert data_dir is not None
    for name in ("first", "second"):
        try:
            (data_dir / name).touch(exist_ok=False)
        except FileExistsError:
            continue
        os._exit(9)
    return runner._run_group(group, source, data_dir)
