"""Shares of the verdicts of our numbers, and of correct and wrong programs in simulated comparisons.

A count of reproduced numbers says little without the count that a correct program would have. In each of `N_DRAWS`
draws, a correct program is compared with itself: as many of our runs as were published, drawn with replacement, stand
in the published place, rounded as printed, and as many of our runs as there are, drawn with replacement, in ours. The
repeats are drawn once for a row of a table, so that the numbers of a row, which are of the same runs, vary together.
Wrong programs are simulated in the same way, with other runs in our place:

- a program that is off by half a standard deviation: our draws, shifted up;
- the placebos of the reference (`references.layout.Placebo`).

The verdicts of a draw are corrected for all numbers of the table, as those on the published numbers. Ours, a right and
a wrong program are counted on the same numbers: those that all of them have.

Choice: numbers distinguish a placebo from a correct program if the placebo's reproduced numbers are at most half as
many.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pppca_bench.quantities import described, unitless
from pppca_bench.references.layout import Placebo
from pppca_bench.references.reference import Reference
from pppca_bench.references.selection import in_place
from pppca_bench.results.frames import Runs
from pppca_bench.results.selection import only_cells, values_of
from pppca_bench.results.statistics import measured, summaries_of
from pppca_bench.verdicts.judge import judge, off_by_half_an_sd
from pppca_bench.verdicts.numbers import (
    OURS,
    PLACE,
    PUBLISHED,
    RULE,
    in_part,
    parts_of,
    repeats_of,
    results_of,
    results_of_tables,
)

SHARES = "verdict_shares"
"""Identifier of the table of shares."""

N_DRAWS = 200

ALL, UNSEARCHED = "all", "not searched"
"""Quantities of the shares of all numbers, and of those that no search for settings looked at."""

OURS_PROGRAM, RIGHT, OFF = "ours", "a correct program", "off by half an sd"

SHOWN = ("reproduced", "differs")
"""Verdicts that are counted."""

COUNTS = ["n", "ours", "ours_differs", *SHOWN]
COUNTS += [f"{name}_{end}" for name in SHOWN for end in ("low", "high")]
COLUMNS = ["source", "row", "quantity", "program", *COUNTS, "right", "tells"]
"""Columns of shares.

``row`` is a table or a part of a reference. On ``n`` numbers, ``ours`` and ``ours_differs`` are the counts of our
verdicts, ``reproduced`` and ``differs`` the means of the program's counts over the draws, with the ends of their 95 %
intervals, and ``right`` the mean count that a correct program reproduces. ``tells`` is "yes" if the numbers distinguish
a correct program from a placebo, "no" if not, and missing for other programs.
"""

FloatArray = NDArray[np.float64]


class Program(NamedTuple):
    """Verdicts of a program on the numbers in ``places``, rows of the frame of printed numbers, in each draw.

    ``verdicts`` has the shape (n_numbers, n_draws).
    """

    places: pd.Index[Any]
    verdicts: NDArray[np.object_]

    def counts(self, counted: Collection[int], verdict: str) -> NDArray[np.int64]:
        """Return how many of some numbers have a verdict, in each draw."""
        rows = self.verdicts[self.places.isin(list(counted))]
        counts: NDArray[np.int64] = (rows == verdict).sum(axis=0)
        return counts


Programs = Mapping[str, Program]
"""Programs by name."""


def simulate(
    numbers: pd.DataFrame,
    references: Iterable[Reference],
    runs: Runs,
    tables: Collection[str] | None = None,
) -> Programs:
    """Return the verdicts on our numbers, and on those of correct and wrong programs in simulated comparisons.

    ``numbers`` are those of all published tables, since a placebo may have the numbers of another table; the verdicts
    are on those of ``tables``, by default of all.
    """
    numbers = numbers[numbers["cells"].map(len) > 0]
    compared = numbers[numbers["compare"] != ""]
    if tables is not None:
        compared = compared[compared["table"].isin(list(tables))]
    programs = {OURS_PROGRAM: Program(compared.index, compared[["verdict"]].to_numpy(object))}
    ours = {place: _values(number, runs) for place, number in _rows(numbers)}
    published = _drawn(compared, ours, "published")
    right = _in_published_place(_drawn(compared, ours, "ours"), published)
    programs[RIGHT] = _judged(right)
    programs[OFF] = _judged(off_by_half_an_sd(right))
    by_place = dict(
        zip(numbers[PLACE].itertuples(index=False, name=None), ours.values(), strict=True)
    )
    for name, values in _values_of_placebos(compared, by_place, references, runs).items():
        drawn = _drawn(compared, values, "ours")
        programs[name] = _judged(_in_published_place(drawn, published))
    return programs


def _rows(numbers: pd.DataFrame) -> Iterator[tuple[int, Any]]:
    """Yield each row and its index."""
    return zip(numbers.index, numbers.itertuples(), strict=True)


def _values(number: Any, runs: Runs) -> FloatArray:
    """Return the values of a number's quantities, a row for each, in the repeats that have all of them."""
    by_quantity = [repeats_of(runs, number, name) for name in measured(number.quantity)]
    return _in_all_repeats(by_quantity)


def _in_all_repeats(by_quantity: list[dict[int, float]]) -> FloatArray:
    first, *others = by_quantity
    repeats = [repeat for repeat in first if all(repeat in other for other in others)]
    return np.array([[values[repeat] for repeat in repeats] for values in by_quantity])


def _drawn(numbers: pd.DataFrame, values: Mapping[int, FloatArray], side: str) -> pd.DataFrame:
    """Return the statistics of drawn runs in the published place or in ours, a row for each number and draw.

    ``values`` are those of the runs from which is drawn. Numbers without sampling error are left out, those with fewer
    runs of ours than were published, and draws without statistics.
    """
    places, summaries = list[int](), [np.empty((0, len(OURS)))]
    for place, number in _rows(numbers):
        if place not in values or np.isinf(number.published_runs):
            continue
        of_number = values[place]
        n_runs = of_number.shape[1]
        n_drawn = int(number.published_runs) if side == "published" else n_runs
        if not n_runs or n_drawn > n_runs:
            continue
        seed = crc32(f"{side} {number.source} {number.table} {number.row}".encode())
        shares = np.random.default_rng(seed).random((N_DRAWS, n_drawn))
        samples = of_number[:, (n_runs * shares).astype(np.int64)]
        summaries.append(summaries_of(number.quantity, samples, number.selection))
        places += [place] * N_DRAWS
    digits = numbers["printed"].map(lambda text: len(text.partition(".")[2])).astype("int64")
    known = numbers[["table", *PUBLISHED, *RULE]].assign(unit_of_print=10.0**-digits)
    drawn = known.loc[places].reset_index(names="place")
    drawn["draw"] = np.arange(len(places)) % N_DRAWS
    return drawn.assign(**pd.DataFrame(np.concatenate(summaries), columns=OURS))


def _in_published_place(ours: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Return drawn numbers with other draws in the published place, rounded as the published numbers."""
    theirs = ours[["place", "draw"]].merge(published, "left", on=["place", "draw"])
    unit, has_sd = ours["unit_of_print"], ours["published_sd"].notna()
    replaced = ours.assign(published=(theirs["mean"] / unit).round() * unit)
    replaced["published_sd"] = ((theirs["sd"] / unit).round() * unit).where(has_sd)
    return replaced[replaced["published"].notna()]


def _judged(drawn: pd.DataFrame) -> Program:
    """Return the verdicts in each draw; numbers that some draws lack are left out."""
    verdicts = judge(drawn, ("table", "draw"))["verdict"]
    by_place = verdicts.to_frame().set_index([drawn["place"], drawn["draw"]])["verdict"].unstack()
    known = by_place.dropna()
    return Program(known.index, known.to_numpy(object))


def _values_of_placebos(
    compared: pd.DataFrame,
    ours: Mapping[tuple[str, ...], FloatArray],
    references: Iterable[Reference],
    runs: Runs,
) -> dict[str, dict[int, FloatArray]]:
    """Return by placebo the values of its runs in place of ours, by the numbers that it has.

    ``ours`` are the values of our runs by table, row, column and quantity.
    """
    found = dict[str, dict[int, FloatArray]]()
    for reference in references:
        of_source = compared[compared["source"] == reference.title]
        counting = runs.of_configs(reference.configs)
        for placebo in reference.placebos:
            part = in_part(of_source, placebo)
            if placebo.runs:
                values = {
                    place: _of_other_runs(row, placebo, counting) for place, row in _rows(part)
                }
            else:
                values = _of_other_numbers(part, ours, placebo)
            known = {place: each for place, each in values.items() if each.size}
            if known:
                found.setdefault(placebo.name, {}).update(known)
    return found


def _of_other_runs(number: Any, placebo: Placebo, runs: Runs) -> FloatArray:
    """Return the values of the runs of a placebo in place of those of a printed number; empty without them."""
    selection = in_place(number.selection, placebo.runs, runs.settings_of)
    cells = only_cells(runs, selection)
    if not cells:
        return np.empty((0, 0))
    names = measured(number.quantity)
    return _in_all_repeats([values_of(runs, selection, cells, name) for name in names])


def _of_other_numbers(
    part: pd.DataFrame, ours: Mapping[tuple[str, ...], FloatArray], placebo: Placebo
) -> dict[int, FloatArray]:
    """Return the values of the numbers of another table, or of the next row, that a placebo has in place of ours."""
    next_rows = dict[str, str]()
    for cycle in placebo.cycles:
        next_rows |= pairwise((*cycle, cycle[0]))
    values = dict[int, FloatArray]()
    for place, (table, row, column, quantity) in zip(
        part.index, part[PLACE].itertuples(index=False), strict=True
    ):
        other_row = next_rows.get(row, "") if placebo.cycles else row
        other = placebo.table or table, other_row, column, quantity
        if other in ours:
            values[place] = ours[other]
    return values


def shares_of_tables(
    numbers: pd.DataFrame, programs: Programs, tables: Collection[str] | None = None
) -> pd.DataFrame:
    """Return the shares of the verdicts in published tables, of each quantity if the cells of a table show several."""
    rows = list[dict[str, Any]]()
    for place, counted in _counted(numbers, tables):
        rows += [place | shares for shares in shares_of(programs, counted)]
    return pd.DataFrame(rows, columns=COLUMNS)


def _counted(
    numbers: pd.DataFrame, tables: Collection[str] | None
) -> Iterator[tuple[dict[str, Any], list[int]]]:
    """Yield source, table and quantity, or all quantities of the table, and the results that count there."""
    results = results_of_tables(numbers)
    results = results[results["n"] > 0]
    if tables is not None:
        results = results[results["table"].isin(list(tables))]
    in_cells = numbers[numbers["shown"] == "cell"]
    n_shown = in_cells.groupby(["table", "row", "column"])["quantity"].size()
    has_several = n_shown.groupby("table").max() > 1
    quantity = results["quantity"].where(results["table"].map(has_several), "")
    groups = results.groupby(["source", "table", quantity], sort=False)
    for (source, table, name), counted in groups:
        title = unitless(described(str(name)).title) if name else ALL
        yield {"source": source, "row": table, "quantity": title}, counted.index.tolist()


def shares_of_parts(
    numbers: pd.DataFrame, programs: Programs, references: Iterable[Reference]
) -> pd.DataFrame:
    """Return the shares of the verdicts in each part of the references, and in all their numbers.

    A number that the source prints twice is counted once, in the first part that has it. Numbers that no search for
    settings looked at are counted again, with the quantity `UNSEARCHED`.
    """
    results = results_of(numbers)
    results = results[results["n"] > 0]
    rows = list[dict[str, Any]]()
    for reference in references:
        of_source = results[results["source"] == reference.title]
        parts = {ALL: of_source} | parts_of(of_source, reference.parts)
        for name, counted in parts.items():
            place = {"source": reference.title, "row": name}
            for quantity, some in ((ALL, counted), (UNSEARCHED, counted[~counted["searched"]])):
                of_programs = shares_of(programs, some.index.tolist())
                rows += [place | {"quantity": quantity} | shares for shares in of_programs]
    return pd.DataFrame(rows, columns=COLUMNS)


def shares_of(programs: Programs, counted: Collection[int]) -> Iterator[dict[str, Any]]:
    """Yield the shares of each program on those of the counted numbers that it, ours and a correct program have."""
    right, own = programs[RIGHT], programs[OURS_PROGRAM]
    for name, program in programs.items():
        places = program.places[program.places.isin(list(counted))]
        if name not in (OURS_PROGRAM, RIGHT):
            places = places.intersection(right.places)
        if not len(places):
            continue
        shares: dict[str, Any] = {"program": name, "n": len(places), "tells": None}
        shares["ours"] = int(own.counts(places, "reproduced")[0])
        shares["ours_differs"] = int(own.counts(places, "differs")[0])
        for verdict in SHOWN:
            counts = program.counts(places, verdict)
            shares[verdict] = float(counts.mean())
            low, high = np.quantile(counts, (0.025, 0.975))
            shares[f"{verdict}_low"], shares[f"{verdict}_high"] = float(low), float(high)
        shares["right"] = None
        if places.isin(right.places).all():
            shares["right"] = float(right.counts(places, "reproduced").mean())
        if name not in (OURS_PROGRAM, RIGHT, OFF):
            is_told = 2.0 * shares["reproduced"] <= shares["right"] and shares["right"] > 0.0
            shares["tells"] = "yes" if is_told else "no"
        yield shares
