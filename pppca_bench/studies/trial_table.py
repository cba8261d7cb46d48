"""The table of a study's trials, the best first, as text and as files."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from tabulate import tabulate

from pppca_bench.files import atomic_write
from pppca_bench.studies.config import Study
from pppca_bench.studies.scoring import ScoredTrial

CSV, MARKDOWN = "trials.csv", "trials.md"
N_SHOWN = 20
"""Trials of the terminal's and the Markdown table; the CSV file has all."""

Part = TypeVar("Part")


def write_table(study: Study, scored: Sequence[ScoredTrial], folder: Path) -> None:
    """Write the trials, which come by rank, into a folder as `CSV` and `MARKDOWN`."""
    atomic_write(folder / CSV, render(study, scored, "csv"))
    atomic_write(folder / MARKDOWN, render(study, scored, "markdown"))


def render(study: Study, scored: Sequence[ScoredTrial], form: str) -> str:
    """Render the trials, the best first, as ``csv`` (all), ``markdown`` or ``terminal`` text (the first `N_SHOWN`)."""
    if form == "csv":
        return _csv(study, scored)
    headers = ["trial", *_short(study.settings.vary), "score", *_labels(study), *_counted(study)]
    rows = [_cells(study, one, "–", 3) for one in scored[:N_SHOWN]]
    grid = tabulate(rows, headers, tablefmt="github" if form == "markdown" else "simple", disable_numparse=True)
    return grid if form == "terminal" else f"{_introduction(study, scored)}\n\n{grid}\n"


def _csv(study: Study, scored: Sequence[ScoredTrial]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["trial", *study.settings.vary, "score", *_labels(study), *_counted(study)])
    writer.writerows(_cells(study, one, "", 6) for one in scored)
    return text.getvalue()


def _cells(study: Study, one: ScoredTrial, empty: str, decimals: int) -> list[object]:
    parameters = ["null" if value is None else value for value in one.trial.parameters.values()]
    # Cells without their failed runs would be those of the seeds that did well.
    scores = [None if one.n_failed else part.score for part in (*_several(one.parts), *one.reported)]
    numbers = [empty if score is None else f"{score:.{decimals}f}" for score in scores]
    counts = [one.n_cells, one.n_failed, *([one.n_repeats] if _prunes(study) else [])]
    return [one.trial.number, *parameters, f"{one.score:.{decimals}f}", *numbers, *counts]


def _counted(study: Study) -> list[str]:
    return ["cells", "failed runs", *(["repeats"] if _prunes(study) else [])]


def _prunes(study: Study) -> bool:
    """Tell whether trials may have fewer repeats than others."""
    return study.settings.sampler != "random"


def _labels(study: Study) -> list[str]:
    decisive = [entry.label for entry in _several(study.settings.score)]
    return decisive + [f"{entry.label} (held out)" for entry in study.settings.report]


def _several(parts: Sequence[Part]) -> Sequence[Part]:
    """Return the parts of a score, or none where the only one is the score."""
    return parts if len(parts) > 1 else ()


def _short(places: Iterable[str]) -> list[str]:
    """Return the last key of each place, or all of it where another ends alike."""
    last = {place: place.rpartition(".")[2] for place in places}
    return [name if list(last.values()).count(name) == 1 else place for place, name in last.items()]


_ABOUT_PRUNING = (
    " They were chosen by a tree-structured Parzen estimator; those with fewer repeats were given up after these and"
    " stand last."
)


def _introduction(study: Study, scored: Sequence[ScoredTrial]) -> str:
    settings = study.settings
    parts = [f"{entry.label} (weight {entry.weight:g})" for entry in settings.score]
    return (
        f"# Study {study.name}\n\n"
        f"{len(scored)} of {study.n_trials} trials, drawn with seed {settings.seed}; trial 0 is the base."
        f" Repeats of each cell: {study.trials[0].config.methods[0].repeats}."
        f" The score is the weighted mean of: {', '.join(parts)}. Each is a mean over cells: |ln(ours / published)| for"
        " dimensionalities and speed-ups, percentage points for errors. Trials with failed runs score inf."
        f"{_ABOUT_PRUNING if _prunes(study) else ''}"
        f" The best {min(N_SHOWN, len(scored))}; {CSV} has all."
    )
