"""Changes of verdicts: results with another seed against the results that a baseline recorded.

Choice: speed-ups are compared by their operation counts, as the baseline records them. Times would change verdicts
without another seed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import NamedTuple

from pppca_bench.errors import StoreError
from pppca_bench.reporting.baseline import RECORDED_AS, RecordedCell, cells_of, first_repeats
from pppca_bench.reporting.comparison import (
    Comparison,
    Place,
    compare,
    in_json,
    mean_difference,
    text_grid,
)
from pppca_bench.reporting.document import SIGNED, printed
from pppca_bench.reporting.table import Table
from pppca_bench.reporting.verdicts import VERDICTS
from pppca_bench.runs import Names, grouped

_CHANGED = (
    "table",
    "row",
    "column",
    "quantity",
    "published",
    "recorded",
    "ours",
    "verdict",
    "verdict now",
)
_COUNTED = (
    "table",
    "quantity",
    "numbers",
    "fell",
    "rose",
    "unchanged",
    "mean of ours − published",
    "ours below",
)


class Change(NamedTuple):
    """Comparisons of a published number with the recorded results and with ours."""

    before: Comparison
    now: Comparison

    @property
    def direction(self) -> str:
        """Return whether the verdict fell (from reproduced to consistent to differs), rose or is unchanged."""
        steps = VERDICTS.index(self.now.verdict) - VERDICTS.index(self.before.verdict)
        return "fell" if steps > 0 else "rose" if steps < 0 else "unchanged"

    @property
    def obstacle(self) -> str:
        """Return why the comparisons cannot be compared, or ""."""
        if not self.now.n:
            return "without runs, or with too few"
        if not self.before.n:
            return "recorded with other settings, on other data, or not at all"
        other = "recorded with another number of repeats (`--repeats N` takes the first N of them)"
        return other if self.before.n != self.now.n else ""


def changes(
    tables: Sequence[Table], baseline: Mapping[Place, RecordedCell], n_repeats: int | None = None
) -> list[Change]:
    """Return the changes of all published results, given the first ``n_repeats`` of the baseline (all by default)."""
    cells, recorded = cells_of(tables), dict[object, dict[str, Mapping[int, float]]]()
    for place in baseline.keys() & cells.keys():
        # a correlation needs quantities in other columns with the same runs
        runs = place[0], cells[place].selector, baseline[place].settings
        recorded.setdefault(runs, {})[place[3]] = first_repeats(baseline[place].values, n_repeats)
    before, now = list[Table](), list[Table]()
    for table in tables:
        theirs, ours = {}, {}
        for key, cell in table.cells.items():
            values = recorded.get((table.id, cell.selector, cell.runs.settings), {})
            theirs[key] = cell._replace(ours=cell.runs.summarise(values))
            measured = {name: cell.ours[of] for name, of in RECORDED_AS.items() if of in cell.ours}
            ours[key] = cell._replace(ours={**cell.ours, **measured})
        before.append(table._replace(cells=theirs))
        now.append(table._replace(cells=ours))
    pairs = zip(compare(before), compare(now), strict=True)
    return [Change(*pair) for pair in pairs if pair[0].is_result]


def render_changes(every: Sequence[Change], form: str) -> str:
    """Render the changed verdicts, and counts by table and quantity, as ``terminal`` or ``markdown`` text.

    ``json`` has every number that can be compared. Raise StoreError if there is none.
    """
    left = grouped(every, attrgetter("obstacle"))
    found = left.pop("", [])
    others = [
        f"Not compared: {len(own)} numbers {why}, such as {', '.join(own[0].now.place)}."
        for why, own in left.items()
    ]
    if not found:
        raise StoreError(
            f"baseline: expected recorded numbers of our runs, got none. {' '.join(others)}"
        )
    if form == "json":
        recorded = [
            {"recorded_mean": before.mean, "recorded_verdict": before.verdict}
            for before, _ in found
        ]
        return in_json(
            change.now._asdict() | added for change, added in zip(found, recorded, strict=True)
        )
    rows, counts = list[Names](), list[Names]()
    for before, now in (change for change in found if change.direction != "unchanged"):
        means = (printed(mean, ".2f") for mean in (before.mean, now.mean))
        rows.append((*now.place, f"{now.published:g}", *means, before.verdict, now.verdict))
    for place, own in grouped(found, lambda change: itemgetter(0, 3)(change.now.place)).items():
        mean, n_below = mean_difference([change.now for change in own])
        directions = Counter(change.direction for change in own)
        numbers = (
            len(own),
            *(directions[name] for name in _COUNTED[3:6]),
            printed(mean, SIGNED),
            n_below,
        )
        counts.append((*place, *map(str, numbers)))
    totals = Counter(change.direction for change in found)
    said = (
        f"{totals['fell'] + totals['rose']} of {len(found)} verdicts change: {totals['fell']} fell,"
    )
    said = f"{said} {totals['rose']} rose. Speed-ups are compared by their operation counts."
    return "\n\n".join(
        (
            text_grid(rows, _CHANGED, form),
            text_grid(counts, _COUNTED, form),
            "\n".join((said, *others)),
        )
    )
