"""Report of the last measurements: results/benchmarks.json, and the page that is rendered from it."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tabulate import tabulate

from benchmarks import processor
from benchmarks.measuring import Row
from pppca_bench.experiments.provenance import code_version

RESULTS = Path(__file__).parents[1] / "results"
LIBRARIES = ("numpy", "numba", "scipy", "scikit-learn", "torch", "jax")
INTRODUCTION = """\
# Benchmarks

`make bench` measures and writes this page; [method and design](../benchmarks/README.md). Unless a table says otherwise:
one thread, float64, the same work, no compilation; a number is the median over rounds of the peer's time by ours, with
our time in brackets. The strongest peer stands first. A number that misses its target is marked "short".
"""


@dataclass(frozen=True, slots=True)
class Topic:
    """A table of the page: the parts of the command that measure its rows, and what its numbers are."""

    title: str
    parts: tuple[str, ...]
    text: str


Kept = Mapping[str, Any]
"""Of each processor: the lines that describe its machine, and of each part origin, load and rows."""


def load() -> dict[str, Any]:
    """Return the last measurements, by processor."""
    path = RESULTS / "benchmarks.json"
    kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return kept


def save(part: str, rows: Sequence[Row]) -> Kept:
    """Replace the measurement of a part on this processor; return all."""
    kept = load()
    own = kept.setdefault(processor.name(), {"parts": {}})
    own["machine"] = machine()
    # Other processes limit the reliability of times.
    origin = {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "code": code_version(),
        "load": round(os.getloadavg()[1], 1),
    }
    own["parts"][part] = origin | {"rows": [asdict(row) for row in rows]}
    (RESULTS / "benchmarks.json").write_text(
        json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    return kept


def rows_of(kept: Kept, name: str, parts: Sequence[str]) -> list[Row]:
    """Return a processor's rows of some parts."""
    measured = kept[name]["parts"]
    return [Row(**row) for part in parts if part in measured for row in measured[part]["rows"]]


def render(kept: Kept, topics: Sequence[Topic]) -> str:
    """Return the page: the machines, and a table of each topic with a column for each processor."""
    letters = {name: chr(ord("A") + place) for place, name in enumerate(kept)}
    page = [INTRODUCTION]
    page += [_described(letter, name, kept[name]) for name, letter in letters.items()]
    for topic in topics:
        columns = {letter: rows_of(kept, name, topic.parts) for name, letter in letters.items()}
        page.append(f"\n## {topic.title}\n\n{topic.text}\n\n{table(columns)}")
    return "\n".join(page) + "\n"


def _described(letter: str, name: str, measured: Mapping[str, Any]) -> str:
    parts = measured["parts"].values()
    dates, codes = ([*dict.fromkeys(part[key] for part in parts)] for key in ("date", "code"))
    load = max(part["load"] for part in parts)
    lines = [
        *measured["machine"],
        f"measured {', '.join(dates)}; version {', '.join(codes)}; load up to {load}",
    ]
    return "\n".join([f"- **{letter}**: {name}", *(f"  - {line}" for line in lines)])


def table(columns: Mapping[str, Sequence[Row]], form: str = "github") -> str:
    """Return rows as a table, with a column for each processor."""
    cells = {
        letter: {(row.what, row.peer): row for row in rows} for letter, rows in columns.items()
    }
    every = {place: row for own in reversed(cells.values()) for place, row in own.items()}
    lines = [
        [*place, "" if row.target is None else _ratio(row.target)]
        + [_cell(own[place]) if place in own else "" for own in cells.values()]
        for place, row in every.items()
    ]
    return tabulate(
        lines, ["what", "against", "target", *cells], tablefmt=form, disable_numparse=True
    )


def _cell(row: Row) -> str:
    ratio = "–" if row.ratio is None else _ratio(row.ratio)
    ours = f" ({row.ours})" if row.ours else ""
    return f"{ratio}{ours}{', short' if row.is_short else ''}"


def _ratio(value: float) -> str:
    return f"{value:.2f}" if value < 10.0 else f"{value:.0f}"


def machine() -> list[str]:
    """Describe the machine and the software in lines."""
    lscpu = processor.lscpu()
    caches = ", ".join(
        f"{name} {lscpu[name]}" for name in ("L1d cache", "L2 cache", "L3 cache") if name in lscpu
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    gcc = subprocess.run(
        ["gcc", "-dumpfullversion"], capture_output=True, text=True, check=True
    ).stdout.strip()
    return [
        f"{os.cpu_count()} cores; {caches}; memory {memory:.0f} GiB",
        f"{platform.system()} {platform.release()}, Python {platform.python_version()}, gcc {gcc}, "
        + ", ".join(f"{name} {version(name)}" for name in LIBRARIES),
    ]
