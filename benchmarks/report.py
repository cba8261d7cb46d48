"""Report of the last measurements of each part, results/benchmarks.md."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

from tabulate import tabulate

from benchmarks import processor
from benchmarks.compiled import BUILD
from benchmarks.measuring import Row
from pppca_bench.experiments.provenance import code_version

HEADER = ("what", "peer", "target", "measured", "", "ours", "peer's", "of one")
LIBRARIES = ("numpy", "numba", "scipy", "scikit-learn", "torch", "jax")


@dataclass(frozen=True, slots=True)
class Measured:
    """Last measurement of a part: date, version of the code, rows and text."""

    origin: str
    rows: Sequence[Row]
    text: str = ""


def save(part: str, rows: Sequence[Row], text: str = "") -> None:
    """Save the measurement of a part, with date and version of the code."""
    BUILD.mkdir(parents=True, exist_ok=True)
    # Other processes limit the reliability of times, and of ratios of threads to one.
    load = f"load {os.getloadavg()[1]:.1f} on {os.cpu_count()} cores"
    origin = f"{datetime.now(UTC):%Y-%m-%d}, {code_version()}, {load}"
    (BUILD / f"{part}.json").write_text(json.dumps(asdict(Measured(origin, rows, text)), indent=1))


def load(part: str) -> Measured | None:
    """Return the last measurement of a part; None if it was not measured in this checkout."""
    path = BUILD / f"{part}.json"
    if not path.exists():
        return None
    kept = json.loads(path.read_text())
    return Measured(kept["origin"], [Row(**row) for row in kept["rows"]], kept["text"])


def section(title: str, measured: Measured, figure: str = "") -> str:
    """Return a part's section of the report."""
    parts = [f"### {title}", table(measured.rows, "github"), figure, measured.text, f"Measured: {measured.origin}."]
    return "\n\n".join(filter(None, parts)) + "\n"


def sections(text: str, level: int) -> dict[str, str]:
    """Return the sections of a text by their titles: a processor's on level 2 of the report, a part's on level 3."""
    mark = "#" * level
    parts = f"\n{text}".split(f"\n{mark} ")[1:]
    return {part.split("\n", 1)[0]: f"{mark} {part.rstrip()}\n" for part in parts}


def merged(report: str, name: str, machine: str, measured: Mapping[str, str], titles: Sequence[str]) -> list[str]:
    """Return the processors' chapters of a report, with new sections and description of one of them, the last if new.

    ``measured`` has the new sections by their titles; all stand in the order of ``titles``.
    """
    chapters = sections(report, 2)
    parts = sections(chapters.get(name, ""), 3) | measured
    text = [f"## {name}", machine, *(parts[title].rstrip() for title in titles if title in parts)]
    return list((chapters | {name: "\n\n".join(text) + "\n"}).values())


def table(rows: Sequence[Row], form: str = "simple") -> str:
    """Return rows as a table with their verdicts."""
    cells = [
        (
            *(row.what, row.peer, _ratio(row.target), _ratio(row.ratio), row.verdict),
            *(_time(row.ours_us), _time(row.peer_us), row.unit),
        )
        for row in rows
    ]
    text = tabulate(
        cells, HEADER, tablefmt=form, colalign=("left", "left", *["right"] * 2, "left", *["right"] * 2, "left")
    )
    notes = [f"- {row.what}, {row.peer}: {row.note}." for row in rows if row.note]
    return "\n".join([text, *(["", *notes] if notes else [])])


def _ratio(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.2f}x" if value < 10.0 else f"{value:.0f}x"


def _time(microseconds: float | None) -> str:
    """Return a time with three digits and the unit that suits it."""
    if microseconds is None:
        return ""
    for size, unit in ((1e6, "s"), (1e3, "ms"), (1.0, "µs")):
        if microseconds >= size:
            return f"{microseconds / size:.3g} {unit}"
    return f"{1e3 * microseconds:.3g} ns"


def machine() -> list[str]:
    """Describe the machine and the software in lines."""
    lscpu = processor.lscpu()
    caches = ", ".join(f"{name} {lscpu[name]}" for name in ("L1d cache", "L2 cache", "L3 cache") if name in lscpu)
    vectors = ", ".join(name for name in ("avx2", "fma", "avx512f") if name in lscpu.get("Flags", "").split())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    gcc = subprocess.run(["gcc", "-dumpfullversion"], capture_output=True, text=True, check=False).stdout.strip()
    return [
        f"{os.cpu_count()} cores, {vectors}; kernels compiled for {os.environ.get('NUMBA_CPU_NAME', 'them')}",
        f"caches of all cores together: {caches}; memory {memory:.0f} GiB",
        f"{platform.system()} {platform.release()}, Python {platform.python_version()}, gcc {gcc or 'none'}",
        ", ".join(f"{name} {_version(name)}" for name in LIBRARIES),
    ]


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "none"
