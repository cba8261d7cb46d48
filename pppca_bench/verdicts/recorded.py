"""Recorded repeats of the published numbers: differences of ours from them, and verdicts that change.

The same seeds give the same numbers on every processor, so each repeat is compared with the recorded repeat: another
number is changed code.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import math
from collections.abc import Sequence
from lzma import LZMAError
from pathlib import Path
from typing import Any

import pandas as pd

from pppca_bench.errors import StoreError
from pppca_bench.files import atomic_write
from pppca_bench.quantities import TIMINGS
from pppca_bench.references.selection import Formula
from pppca_bench.results.frames import Runs, Values
from pppca_bench.results.statistics import measured, summary_of
from pppca_bench.verdicts.judge import judge
from pppca_bench.verdicts.numbers import NOT_RUN, OURS, PLACE, repeats_of, results_of

RECORDED = "recorded.csv.xz"
"""Name of the file of recorded repeats in a results folder."""

COLUMNS = [*PLACE, "settings", "repeat", "value"]
"""Columns of recorded repeats; ``settings`` is a digest of settings and data, "" for any."""

TOLERANCE = 1e-9
"""Relative difference, or absolute below 1, that is rounding: numbers are reproduced to ten digits."""

_FEATURES = "dimensionality"

Place = tuple[Any, ...]
"""Table, row, column and quantity of a number."""


def repeats(numbers: pd.DataFrame, runs: Runs) -> pd.DataFrame:
    """Return the repeats of every published number that was run; with them, the numbers of features of its cell."""
    rows = list[dict[str, Any]]()
    for number in _recordable(numbers).itertuples(index=False):
        place = {name: getattr(number, name) for name in PLACE}
        place["settings"] = settings_digest(number, runs)
        for repeat, value in repeats_of(runs, number).items():
            rows.append(place | {"repeat": repeat, "value": value})
    return pd.DataFrame(rows, columns=COLUMNS)


def _recordable(numbers: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each number whose repeats are recorded, and for the number of features of its cell.

    Times are of their moment, and are not recorded.
    """
    is_time = numbers["quantity"].isin(TIMINGS)
    published = numbers[numbers["published"].notna() & numbers["selection"].notna() & ~is_time]
    sizes = published.drop_duplicates(["table", "row", "column"]).assign(quantity=_FEATURES)
    both = pd.concat([published, sizes]).sort_index(kind="stable")
    return both.drop_duplicates(PLACE)


def settings_digest(number: Any, runs: Runs) -> str:
    """Return the digest of the method, parameters, classifier and data behind a number; "" if no run is done."""
    if not number.cells or not number.n_done:
        return ""
    digests = []
    for cell_number in number.cells:
        cell = runs.cells[cell_number]
        parts = [cell.method, cell.settings, cell.data_sha256]
        digests.append(_digest(parts))
    if isinstance(number.selection, Formula):
        return _digest([number.selection.operations, *digests])
    return digests[0]


def _digest(parts: Sequence[object]) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


RESEEDED = "reseed.csv.xz"
"""File of recorded repeats with another seed, which `make reseed` writes."""


def first_repeats(recorded: pd.DataFrame, n_repeats: int | None) -> pd.DataFrame:
    """Return the first repeats, all of them for None."""
    return recorded if n_repeats is None else recorded[recorded["repeat"] < n_repeats]


def read_recorded(path: Path) -> pd.DataFrame:
    """Read recorded repeats; raise StoreError if the file is missing or is something else."""
    remedy = "Write it with `pppca compare --record`."
    try:
        # a digest may be of digits alone, and `read_csv` of an older pandas rounds last digits
        texts = dict.fromkeys([*PLACE, "settings", "value"], str)
        recorded = pd.read_csv(path, keep_default_na=False, dtype=texts)
        recorded = recorded[COLUMNS].astype({"repeat": "int64", "value": "float64"})
        is_finite = recorded["value"].map(math.isfinite).all()
    except OSError as error:
        cause = error.strerror or error
        raise StoreError(f"{path}: recorded repeats cannot be read ({cause}). {remedy}") from None
    except (ValueError, KeyError, EOFError, LZMAError) as error:
        raise StoreError(
            f"{path}: expected recorded repeats, got something else ({error}). {remedy}"
        ) from None
    if recorded.empty or not is_finite:
        raise StoreError(f"{path}: expected repeats with finite values, got others. {remedy}")
    return recorded


def write_recorded(recorded: pd.DataFrame, path: Path) -> None:
    """Write recorded repeats.

    Raise StoreError if there are none, or if an older file has numbers that would be lost.
    """
    if recorded.empty:
        raise StoreError(
            f"{path}: expected published numbers that were run, got none: nothing was recorded."
        )
    if path.exists():
        before = read_recorded(path)[PLACE].drop_duplicates()
        places = recorded[PLACE].drop_duplicates()
        lost = before.merge(places, "left", on=PLACE, indicator=True).query("_merge == 'left_only'")
        if len(lost):
            raise StoreError(
                f"{path}: expected results for all of its numbers, got none for {len(lost)}, such as"
                f" {', '.join(lost.iloc[0][PLACE])}: nothing was recorded. Run the configs of these numbers, or delete"
                " the file."
            )
    atomic_write(path, lzma.compress(recorded.to_csv(index=False).encode()))


def differences(
    numbers: pd.DataFrame,
    runs: Runs,
    recorded: pd.DataFrame,
    n_repeats: int | None = None,
    tolerance: float = TOLERANCE,
) -> dict[Place, str]:
    """Return the places that differ from the recorded repeats, with the reason as a clause.

    Of each number, the first ``n_repeats`` are compared (all by default); of these, more than recorded may have been
    run. A place differs, too, if it was not run, has other repeats than recorded, failed runs, other settings or data.
    """
    ours = {_place(number): number for number in _recordable(numbers).itertuples(index=False)}
    before = dict(iter(recorded.groupby(PLACE, sort=False)))
    reasons = dict[Place, str]()
    for place, number in ours.items():
        if place not in before and repeats_of(runs, number):
            reasons[place] = "was not recorded"
    for place, rows in before.items():
        if place in ours:
            reasons[place] = _reason(ours[place], runs, rows, n_repeats, tolerance)
        elif len(first_repeats(rows, n_repeats)):
            reasons[place] = "was not run"
    return {place: reason for place, reason in reasons.items() if reason}


def _place(number: Any) -> Place:
    return (number.table, number.row, number.column, number.quantity)


def _reason(
    number: Any, runs: Runs, recorded: pd.DataFrame, n_repeats: int | None, tolerance: float
) -> str:
    """Return why a number differs from its recorded repeats, "" if it does not."""
    if number.n_failed:
        return f"has {number.n_failed} failed run{'s' if number.n_failed > 1 else ''}"
    now, expected = repeats_of(runs, number), _by_repeat(recorded)
    # Runs of other numbers of repeats than planned may have more repeats than recorded, but no gap between them.
    last = math.inf
    if n_repeats is not None:
        last = max(expected)
        now, expected = _first(now, n_repeats), _first(expected, n_repeats)
    if expected and not now:
        return "was not run"
    settings, known = settings_digest(number, runs), recorded["settings"].iloc[0]
    if settings and known and settings != known:
        return "was run with other settings, or on other data, than recorded"
    return _difference(now, expected, last, tolerance)


def _by_repeat(recorded: pd.DataFrame) -> dict[int, float]:
    return dict(zip(recorded["repeat"].tolist(), recorded["value"].tolist(), strict=True))


def _first(values: Values, n_repeats: int) -> dict[int, float]:
    return {repeat: value for repeat, value in values.items() if repeat < n_repeats}


def _difference(ours: Values, expected: Values, last: float, tolerance: float) -> str:
    """Return how the repeats of a number differ from the recorded repeats, "" if they do not."""
    missing = [repeat for repeat in expected if repeat not in ours]
    if missing:
        return f"lacks repeat {missing[0]}{_and_others(missing)}"
    added = [repeat for repeat in ours if repeat not in expected and repeat < last]
    if added:
        return f"has repeat {added[0]}, which was not recorded{_and_others(added)}"
    apart = []
    for repeat, value in expected.items():
        if abs(ours[repeat] - value) > tolerance * max(1.0, abs(value)):
            apart.append(repeat)
    if not apart:
        return ""
    value, before = ours[apart[0]], expected[apart[0]]
    return f"is {value:.12g} in repeat {apart[0]}, recorded was {before:.12g}{_and_others(apart)}"


def _and_others(found: Sequence[int]) -> str:
    return f", and {len(found) - 1} other repeats" if len(found) > 1 else ""


def recorded_numbers(numbers: pd.DataFrame, runs: Runs, recorded: pd.DataFrame) -> pd.DataFrame:
    """Return the published numbers with the statistics of recorded repeats in place of ours, judged again.

    Repeats of other settings or data are left out.
    """
    values = dict[Place, Values]()  # with the settings as a last part of the place
    for place, rows in recorded.groupby([*PLACE, "settings"], sort=False):
        values[place] = _by_repeat(rows)
    # a correlation needs quantities in other columns with the same runs
    by_runs = dict[tuple[Any, ...], Values]()
    number: Any
    for number in numbers.itertuples():
        place, digest = _place(number), settings_digest(number, runs)
        found = values.get((*place, digest)) or values.get((*place, ""))
        if found:
            by_runs[number.table, number.selection, number.quantity] = found
    summaries = []
    for number in numbers.itertuples():
        of_runs = number.table, number.selection
        columns = [by_runs.get((*of_runs, name), {}) for name in measured(number.quantity)]
        summary = summary_of(number.quantity, columns, number.selection)
        summaries.append(summary or NOT_RUN)
    statistics = pd.DataFrame(summaries, columns=OURS, index=numbers.index)
    return judge(numbers.assign(**statistics))


def changes(
    numbers: pd.DataFrame, runs: Runs, recorded: pd.DataFrame, n_repeats: int | None = None
) -> pd.DataFrame:
    """Return all published results with ``recorded_mean``, ``recorded_n`` and ``recorded_verdict``.

    ``direction`` is whether the verdict "fell" (from reproduced to consistent or cannot tell, from these to differs),
    "rose" or is "unchanged"; ``obstacle`` why two numbers cannot be compared, or "". The first ``n_repeats`` are
    compared (all by default).
    """
    results = results_of(numbers)
    before = recorded_numbers(numbers, runs, first_repeats(recorded, n_repeats)).loc[results.index]
    order = {"reproduced": 0, "consistent": 1, "cannot tell": 1, "differs": 2}
    steps = results["verdict"].map(order) - before["verdict"].map(order)
    direction = (
        pd.Series("unchanged", results.index).mask(steps > 0, "fell").mask(steps < 0, "rose")
    )
    other = "recorded with another number of repeats (`--repeats N` takes the first N of them)"
    obstacle = pd.Series("", results.index).mask(results["n"] != before["n"], other)
    obstacle = obstacle.mask(
        before["n"] == 0, "recorded with other settings, on other data, or not at all"
    )
    obstacle = obstacle.mask(results["n"] == 0, "without runs, or with too few")
    return results.assign(
        recorded_mean=before["mean"],
        recorded_n=before["n"],
        recorded_verdict=before["verdict"],
        direction=direction,
        obstacle=obstacle,
    )
