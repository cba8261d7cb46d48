"""Stand-ins for the runner's work that end their process, at module level so that worker processes can import them."""

import os
import re
from pathlib import Path

from pppca_bench.experiments import worker
from pppca_bench.experiments.queue import Group


def die_at_repeat_3(group: Group, loads: worker.Loads) -> worker.Computed:
    """Compute a group, but end the process, as the out-of-memory killer does, where repeat 3 of tau 5 is in it."""
    if any(spec.repeat == 3 and spec.cell.settings["tau"] == 5 for spec in group):
        os._exit(9)
    return worker.compute(group, loads)


def hang_at_repeat_3(group: Group, loads: worker.Loads) -> worker.Computed:
    """Compute a group, but never return, nor let another thread run, where repeat 3 of tau 5 is in it."""
    if any(spec.repeat == 3 and spec.cell.settings["tau"] == 5 for spec in group):
        re.match(r"(a+)+$", "a" * 60 + "b")
    return worker.compute(group, loads)


def die_compiling(family: str) -> None:  # noqa: ARG001
    """End the process instead of compiling anything."""
    os._exit(9)


def die_once_loading(group: Group, loads: worker.Loads) -> worker.Computed:
    """Compute a group, but end the process at the first call, which leaves the file that DIED names."""
    try:
        Path(os.environ["DIED"]).touch(exist_ok=False)
    except FileExistsError:
        return worker.compute(group, loads)
    os._exit(9)
