"""Stand-ins for the runner's work that end their process, at module level so that worker processes can import them."""

import os
import re
from functools import partial
from pathlib import Path

from pppca_bench.experiments import worker
from pppca_bench.experiments.queue import Group


def die_at_repeat_3(group: Group, loads: worker.Loads, *_: object) -> worker.Computed:
    """Compute a group, but end the process, as the out-of-memory killer does, where repeat 3 of tau 5 is in it."""
    if any(spec.repeat == 3 and spec.cell.settings["tau"] == 5 for spec in group):
        os._exit(9)
    return worker.compute(group, loads)


def hang_at_repeat_3(group: Group, loads: worker.Loads, timeout: float | None) -> worker.Computed:
    """Compute a group, but never return, nor let another thread run, where repeat 3 of tau 5 is in it."""
    if any(spec.repeat == 3 and spec.cell.settings["tau"] == 5 for spec in group):
        with worker.limited(timeout):
            re.match(r"(a+)+$", "a" * 60 + "b")
    return worker.compute(group, loads, timeout)


def die_twice(group: Group, loads: worker.Loads, *_: object) -> worker.Computed:
    """Compute a group, but end the process at the first two calls, each of which leaves a file behind."""
    if _is_new(_data_dir(loads) / "first") or _is_new(_data_dir(loads) / "second"):
        os._exit(9)
    return worker.compute(group, loads)


def _is_new(mark: Path) -> bool:
    """Return whether a file did not exist, and create it."""
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def _data_dir(loads: worker.Loads, *_: object) -> Path:
    """Return the folder of the data, in which stand-ins leave notes for each other."""
    (load,) = loads.values()
    assert isinstance(load, partial)
    source = load.args[0]
    assert source.data_dir is not None
    return Path(source.data_dir)


def die_compiling(family: str) -> None:  # noqa: ARG001
    """End the process instead of compiling anything."""
    os._exit(9)


def die_once_loading(group: Group, loads: worker.Loads, *_: object) -> worker.Computed:
    """Compute a group, but end the process at the first call, which leaves the file that DIED names."""
    if _is_new(Path(os.environ["DIED"])):
        os._exit(9)
    return worker.compute(group, loads)
