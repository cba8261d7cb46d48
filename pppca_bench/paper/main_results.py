"""Main results: a line each on accuracy, exact PCA, the slides' numbers, speed, and the Proben1 report's numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import pandas as pd

from pppca_bench.pages.snapshot import Snapshot
from pppca_bench.paper.evidence import Evidence
from pppca_bench.paper.losses import LossComparison
from pppca_bench.paper.texts import rendered
from pppca_bench.references.reference import Reference
from pppca_bench.runs import grouped
from pppca_bench.verdicts.judge import margin_ends
from pppca_bench.verdicts.numbers import parts_of
from pppca_bench.verdicts.shares import ALL, OURS_PROGRAM, RIGHT

PartCounts = Mapping[str, dict[str, Any]]
"""Counts of the verdicts by part of a reference: ``n`` numbers, of which ``ours`` are reproduced.

With a simulated correct program: its mean ``right``, the ends ``low`` and ``high`` of its 95 % interval, and
``as_often``, a comparison of ours with the interval in words. With repeats of another seed: ``reseeded`` numbers, of
which the verdicts on ``changed`` are others.
"""


EXACT_PCA_LOSS = "PCA − all features"
"""Name of the comparison of exact PCA with all features."""

FIT_TIMES = ("T4b", "T6b")
"""Tables of the ratios of the fit times of GHA and DGHA."""

SPEEDUPS = "speed-ups of DGHA"
"""Part of the slides' numbers."""


def counts_of_parts(snapshot: Snapshot) -> dict[str, tuple[Reference, PartCounts]]:
    """Return by name of a reference the reference, and the counts of its parts that were run."""
    shares = snapshot.shares_of_parts
    counted = shares[shares["quantity"] == ALL]
    counts = dict[str, tuple[Reference, PartCounts]]()
    for reference in snapshot.references:
        of_source = counted[counted["source"] == reference.title]
        if of_source.empty:
            continue
        parts = dict[str, dict[str, Any]]()
        for share in of_source.to_dict("records"):
            part = parts.setdefault(share["row"], {})
            if share["program"] == OURS_PROGRAM:
                part |= {"n": share["n"], "ours": share["ours"]}
            elif share["program"] == RIGHT:
                low, high = share["reproduced_low"], share["reproduced_high"]
                part |= {"right": share["reproduced"], "low": low, "high": high}
                part["as_often"] = _as_often(share["ours"], low, high)
        counts[reference.name] = reference, parts
    _add_changes(counts, snapshot)
    return counts


def _add_changes(counts: Mapping[str, tuple[Reference, PartCounts]], snapshot: Snapshot) -> None:
    """Add how many verdicts change with another seed, where the folder of the results has its repeats."""
    if snapshot.reseeded.empty:
        return
    for reference, counted in counts.values():
        of_source = snapshot.reseeded[snapshot.reseeded["source"] == reference.title]
        for name, own in parts_of(of_source, reference.parts).items():
            n_changed = int((own["direction"] != "unchanged").sum())
            counted[name] |= {"reseeded": len(own), "changed": n_changed}


def _as_often(n: float, low: float, high: float) -> str:
    if n < low:
        return "less often"
    return "more often" if n > high else "as often"


def main_results(
    templates: Mapping[str, str],
    evidence: Evidence,
    counts: Mapping[str, tuple[Reference, PartCounts]],
    speed: Mapping[str, Any],
) -> tuple[list[str], list[str]]:
    """Return the main results, and the titles of the references whose reproduced numbers they count.

    A line without the runs or tables that it needs is left out.

    Parameters
    ----------
    templates : mapping of str to str
        Templates of the lines by name; see ``main`` in claims.yaml.
    evidence : Evidence
        With the comparisons of the experiments.
    counts : mapping of str to tuple
        See `counts_of_parts`.
    speed : mapping of str to object
        See `claims.numbers_of_speed`.

    Returns
    -------
    lines, titles : lists of str
    """
    # Of comparisons that two experiments have, the later comes first here, and the earlier replaces it.
    losses = {line.name: line for line in reversed(evidence.compared)}
    exact_pca = evidence.lines("exact_pca")
    _, of_slides = counts.get("slides", (None, {}))
    expected_speedups = of_slides.get(SPEEDUPS, {})
    numbers = {
        "losses": losses,
        "as_many": with_as_many(exact_pca),
        "has_advantage": any("does not hold" in (line.verdict, line.gain) for line in exact_pca),
        "speed": speed,
        "times": ratios_of_fit_times(evidence.numbers),
        "speedups": {**speedups_within_margin(evidence.numbers), "expected": expected_speedups},
    }
    lines, titles = list[str](), list[str]()
    for name, template in templates.items():
        reference, parts = counts.get(name, (None, {}))
        line = rendered(template, {**numbers, "parts": parts})
        lines += line
        if line and reference is not None:
            titles.append(reference.title)
    return lines, titles


def with_as_many(lines: Sequence[LossComparison]) -> list[dict[str, Any]]:
    """Return the verdict on exact PCA with as many components against each method, by the last experiment with both.

    The verdict is the worst of both readings, or "better" if exact PCA is better in both at a margin of 0.
    ``was_undecided`` says whether it was undecided in an earlier experiment, in which the method kept more features.
    """
    latest = dict[str, dict[str, Any]]()
    own = [line for line in lines if line.has_as_many]
    for (_, method), readings in grouped(own, _experiment_and_method).items():
        verdicts = [line.verdict for line in readings]
        worst = next(name for name in ("does not hold", "undecided", "holds") if name in verdicts)
        is_better = worst == "holds" and all(line.gain == "holds" for line in readings)
        kept = fmean(line.features_percent for line in readings)
        before = latest.get(method, {"verdict": "", "kept": 0.0})
        was_undecided = before["verdict"] == "undecided" and before["kept"] > kept
        latest[method] = {
            "method": method,
            "verdict": "better" if is_better else worst,
            "kept": kept,
            "was_undecided": was_undecided and worst != "undecided",
        }
    return list(latest.values())


def _experiment_and_method(line: LossComparison) -> tuple[str, str]:
    return line.experiment, line.other.partition(" (")[0]


def ratios_of_fit_times(numbers: pd.DataFrame) -> pd.Series[float]:
    """Return the ratios of the fit times of GHA and DGHA that were run."""
    return numbers.loc[numbers["table"].isin(FIT_TIMES), "mean"].dropna()


def speedups_within_margin(numbers: pd.DataFrame) -> dict[str, int]:
    """Return the number of published speed-ups that were run, of means within the margin, and of those reproduced."""
    is_speedup = numbers["quantity"] == "speedup_operations"
    run = numbers[is_speedup & numbers["published"].notna() & (numbers["n"] > 0)]
    ends = margin_ends(run)
    is_within = run["mean"].between(ends["margin_low"], ends["margin_high"])
    is_reproduced = run["verdict"] == "reproduced"
    return {
        "n": len(run),
        "within": int((is_within | is_reproduced).sum()),
        "reproduced": int(is_reproduced.sum()),
    }
