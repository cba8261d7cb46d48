"""The Pareto front of a study whose score has two parts or more: of the first two, with what is aimed at."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pppca_bench.references.reference import own_references
from pppca_bench.studies.config import Cells, Study
from pppca_bench.studies.scoring import ScoredTrial


def write_study_front(study: Study, scored: Sequence[ScoredTrial], folder: Path) -> list[Path]:
    """Draw the front of the trials that were run to their end without a failure.

    Returns
    -------
    list of Path
        ``front.svg``, ``front.png``, ``front.csv``; nothing where the score has one part or no trial came to its end.
    """
    from pppca_bench.reporting.front_drawing import Front, FrontPoint, write_front  # imports matplotlib

    whole = sorted((one for one in scored if not one.is_pruned and not one.n_failed), key=lambda one: one.trial.number)
    points = [
        FrontPoint(one.trial.number, one.parts[0].score, one.parts[1].score)
        for one in whole
        if len(one.parts) > 1 and one.parts[0].score is not None and one.parts[1].score is not None
    ]
    if not points:
        return []
    x, y = study.settings.score[:2]
    note = (
        f"{len(points)} trials run to their end, of {len(scored)}; repeats of each cell: {whole[0].n_repeats}. Scores"
        " are mean distances from published cells, less is better. Dashed: what is aimed at."
    )
    x_label, y_label = (f"{one.label} ({part.unit})" for one, part in zip((x, y), whole[0].parts[:2], strict=True))
    front = Front(f"Study {study.name}", x_label, y_label, points, (_target(x), _target(y)), note)
    return write_front(front, folder)


def _target(entry: Cells) -> float | None:
    """Return what a reference aims at for the same cells."""
    asked = set(entry.tables), entry.quantity, entry.ours or "", entry.rows, entry.columns
    for reference in own_references():
        for group in reference.scored:
            if (set(group.tables), group.quantity, group.ours, group.rows, group.columns) == asked:
                return group.target
    return None
