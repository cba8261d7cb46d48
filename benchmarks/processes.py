"""Output, wall time and peak memory of a command and all its processes."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

INTERVAL_S = 0.2
"""How often memory is read, which takes a hundredth of a second of a processor that the command may need."""


@dataclass(frozen=True, slots=True)
class Watched:
    """Output of a command, its wall time in seconds, and its peak memory in MB."""

    output: str
    seconds: float
    peak_mb: float


def watch(command: Sequence[str]) -> Watched:
    """Run a command to its end; shared pages count once (proportional set size), summed over its processes."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    peaks = [0.0]
    sampler = threading.Thread(target=_sample, args=(process, peaks), daemon=True)
    sampler.start()
    output, _ = process.communicate()
    elapsed = time.perf_counter() - start
    sampler.join()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command, output)
    return Watched(output, elapsed, peaks[0])


def peak_mb() -> float:
    """Return the peak memory of this process, in MiB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024.0
    raise OSError("/proc/self/status: expected a line VmHWM, got none. Run on Linux.")


def _sample(process: subprocess.Popen[str], peaks: list[float]) -> None:
    while process.poll() is None:
        peaks[0] = max(peaks[0], sum(map(_proportional_mb, _family(process.pid))))
        time.sleep(INTERVAL_S)


def _family(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            children.setdefault(_parent(int(entry.name)), []).append(int(entry.name))
    family = [pid]
    for member in family:
        family.extend(children.get(member, []))
    return family


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError):
        return 0


def _proportional_mb(pid: int) -> float:
    """Return the proportional set size; 0 for a process that has just ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024.0
