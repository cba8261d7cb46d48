"""Shares of the verdicts, reproduced, consistent and different, of our numbers and of right and wrong programs.

The published numbers of a table are compared with

- our numbers;
- a right program: as many of our runs as were published, drawn at random, stand in the published place, rounded as
  printed, and the rest of our runs is compared with them. Choice: a number takes part if we have at least twice as many
  runs as were published, and the shares are means over `N_DRAWS` draws;
- a program off by the margin: the same, with the mean of the rest shifted up by the margin of the rule;
- the placebos of the reference (`references.layout.Placebo`).

Choice: a table tells a right program from a placebo if, of the numbers that the placebo has, it reproduces at most half
as many as a right program; without a draw of these numbers this is unknown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pppca_bench.quantities import described, unitless
from pppca_bench.references.layout import Placebo
from pppca_bench.references.reference import Reference
from pppca_bench.references.selection import Formula
from pppca_bench.results.frames import Runs
from pppca_bench.results.selection import only_cells, summary_of_cells
from pppca_bench.results.statistics import measured, summaries_of
from pppca_bench.runs import Selector
from pppca_bench.verdicts.judge import judge, off_by_margin
from pppca_bench.verdicts.numbers import (
    NOT_RUN,
    OURS,
    PLACE,
    in_part,
    repeats_of,
    results_of_tables,
)

SHARES = "verdict_shares"
"""Identifier of the table of shares."""

N_DRAWS = 20

ALL = "all"
"""Quantity of the shares of a whole table."""

OURS_PROGRAM, RIGHT, OFF = "ours", "a right program", "a program off by the margin"

_SEED = 60
SHOWN = ("reproduced", "consistent", "differs")
"""Verdicts whose shares are shown."""

COLUMNS = ["source", "row", "quantity", "program", "n", *SHOWN, "ours", "right", "tells"]
"""Columns of shares.

``row`` is the table; the shares are in percent of ``n`` numbers, of which ``ours`` are reproduced by ours; ``right`` is
the share that a right program reproduces. ``tells`` is "yes" if the table tells our program from a placebo, "no" if
not, and missing if unknown.
"""


Judged = dict[str, dict[int, list[str]]]
"""Verdicts by program and number, a row of the frame of printed numbers."""


def verdict_shares(
    numbers: pd.DataFrame,
    references: Iterable[Reference],
    runs: Runs,
    tables: Collection[str] | None = None,
) -> pd.DataFrame:
    """Return the shares of the verdicts in published tables, of each quantity if the cells of a table show several.

    ``numbers`` are those of all published tables, since a placebo may have the numbers of another table; the shares
    are of ``tables``, by default of all.
    """
    judged = _judged_programs(numbers, references, runs, tables)
    rows = list[dict[str, Any]]()
    for place, counted in _counted(numbers, tables):
        for shares in _shares_of_programs(judged, counted):
            rows.append(place | shares)
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


def _judged_programs(
    numbers: pd.DataFrame,
    references: Iterable[Reference],
    runs: Runs,
    tables: Collection[str] | None,
) -> Judged:
    """Return the verdicts on the numbers of each program, a verdict for each draw."""
    compared = numbers[numbers["compare"] != ""]
    if tables is not None:
        compared = compared[compared["table"].isin(list(tables))]
    compared = compared.assign(number=compared.index, draw=0)
    draws = judge(_draws(compared, runs), ("table", "draw"))
    others = [off_by_margin(draws).assign(program=OFF)]
    for reference in references:
        counting = runs.of_configs(reference.configs)
        for placebo in reference.placebos:
            part = in_part(compared[compared["source"] == reference.title], placebo)
            if len(part):
                replaced = _with_placebo(part, numbers, placebo, counting)
                others.append(replaced.assign(program=placebo.name))
    wrong = judge(pd.concat(others, ignore_index=True), ("table", "program", "draw"))
    judged: Judged = {}
    for each in (compared.assign(program=OURS_PROGRAM), draws.assign(program=RIGHT), wrong):
        for program, number, verdict in zip(
            each["program"], each["number"], each["verdict"], strict=True
        ):
            judged.setdefault(program, {}).setdefault(number, []).append(verdict)
    return judged


def _shares_of_programs(judged: Judged, counted: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield the shares of each program among the counted numbers, of ours and of a right program in its places."""
    for program, verdicts in judged.items():
        own = [number for number in counted if number in verdicts]
        if not own:
            continue
        shares: dict[str, Any] = {"program": program, "n": len(own)}
        shares |= {verdict: _share(verdicts, own, verdict) for verdict in SHOWN}
        shares["ours"] = round(_share(judged[OURS_PROGRAM], own) * len(own) / 100.0)
        right = _share(judged.get(RIGHT, {}), own)
        shares |= {"right": right, "tells": None}
        if program not in (OURS_PROGRAM, RIGHT, OFF) and right is not None:
            tells = 2.0 * shares["reproduced"] <= right and right > 0.0
            shares["tells"] = "yes" if tells else "no"
        yield shares


def _share(
    verdicts: Mapping[int, Sequence[str]], numbers: Sequence[int], verdict: str = "reproduced"
) -> Any:
    """Return the share of a verdict on some numbers, in percent; None without such numbers."""
    found = [each for number in numbers for each in verdicts.get(number, ())]
    return 100.0 * found.count(verdict) / len(found) if found else None


def _draws(numbers: pd.DataFrame, runs: Runs) -> pd.DataFrame:
    """Return the numbers of a right program for each draw, where we have enough runs."""
    places = list[int]()
    theirs, ours = [np.empty((0, len(OURS)))], [np.empty((0, len(OURS)))]
    number: Any
    has_runs = numbers["cells"].map(len) > 0
    for _, of_table in numbers[has_runs].groupby("table", sort=False):
        rng = np.random.default_rng(_SEED)
        for place, number in zip(of_table.index, of_table.itertuples(), strict=True):
            values, n_published = _values(number, runs), number.published_runs
            n_repeats = values.shape[1]
            if n_repeats < 2 * n_published:
                continue
            order = np.array([rng.permutation(n_repeats) for _ in range(N_DRAWS)])
            chosen, rest = np.split(order, [int(n_published)], axis=1)
            theirs.append(summaries_of(number.quantity, values[:, chosen], number.selection))
            ours.append(summaries_of(number.quantity, values[:, rest], number.selection))
            places += [place] * N_DRAWS
    drawn = numbers.loc[places].reset_index(drop=True)
    drawn["draw"] = np.arange(len(places)) % N_DRAWS
    return _in_their_place(drawn, np.concatenate(theirs), np.concatenate(ours))


def _values(number: Any, runs: Runs) -> NDArray[np.float64]:
    """Return the values of a number's quantities, a row for each, in the repeats that have all of them."""
    by_quantity = [repeats_of(runs, number, name) for name in measured(number.quantity)]
    repeats = [repeat for repeat in by_quantity[0] if all(repeat in each for each in by_quantity)]
    return np.array([[by_repeat[repeat] for repeat in repeats] for by_repeat in by_quantity])


def _in_their_place(
    numbers: pd.DataFrame, theirs: NDArray[np.float64], ours: NDArray[np.float64]
) -> pd.DataFrame:
    """Return numbers with statistics of runs, in the order of `OURS`, in the published place and in ours.

    The statistics in the published place are rounded as the published number. Numbers without statistics are left out.
    """
    digits = [len(text.partition(".")[2]) for text in numbers["printed"]]
    mean, sd = theirs[:, OURS.index("mean")], theirs[:, OURS.index("sd")]
    printed = [f"{value:.{n}f}" for value, n in zip(mean, digits, strict=True)]
    rounded = [round(value, n) for value, n in zip(sd, digits, strict=True)]
    replaced = numbers.assign(**pd.DataFrame(ours, numbers.index, OURS))
    replaced["printed"] = printed
    replaced["published"] = np.array(printed, dtype=float)
    replaced["published_sd"] = numbers["published_sd"].where(
        numbers["published_sd"].isna(), rounded
    )
    return replaced[~np.isnan(mean) & replaced["mean"].notna()]


def _with_placebo(
    part: pd.DataFrame, numbers: pd.DataFrame, placebo: Placebo, runs: Runs
) -> pd.DataFrame:
    """Return the numbers of a placebo's part with those of the placebo in place of ours, without those it lacks."""
    if placebo.runs:
        found = [_of_other_runs(number, placebo, runs) for number in part.itertuples()]
        replaced = pd.DataFrame(found, columns=OURS, index=part.index)
    else:
        rows = part["row"]
        if placebo.cycles:
            after = dict[str, str]()
            for cycle in placebo.cycles:
                after |= pairwise((*cycle, cycle[0]))
            rows = rows.map(after)
        tables = placebo.table or part["table"]
        wanted = part[PLACE].assign(row=rows, table=tables)
        known = numbers.drop_duplicates(PLACE)
        replaced = wanted.merge(known[[*PLACE, *OURS]], "left", on=PLACE).set_index(part.index)[
            OURS
        ]
    replaced = replaced.astype("float64")
    return part.assign(**replaced)[replaced["mean"].notna()]


def _of_other_runs(number: Any, placebo: Placebo, runs: Runs) -> tuple[float, ...]:
    """Return the statistics of the runs of a placebo in place of those of a printed number."""
    selection = _in_place(number.selection, placebo, runs)
    cells = only_cells(runs, selection)
    if not cells:
        return NOT_RUN
    return summary_of_cells(runs, selection, cells, number.quantity) or NOT_RUN


def _in_place(selection: Selector | Formula, placebo: Placebo, runs: Runs) -> Selector | Formula:
    """Return the selection of a placebo's runs in place of the runs of a cell, but for the baselines of a formula."""
    if isinstance(selection, Formula):
        members = list[Selector]()
        for part in selection.members:
            members += _in_place(part, placebo, runs).parts
        return selection._replace(members=tuple(members))
    requested = {"problem": selection.problem, "method": selection.method, **placebo.runs}
    problem, method = str(requested.pop("problem")), str(requested.pop("method"))
    known = set[str]()
    for cell in runs.find(Selector(problem, method)):
        known |= runs.cells[cell].settings.keys()
    settings = {name: value for name, value in selection.settings if name in known} | requested
    return Selector(problem, method, tuple(sorted(settings.items())))


def by_source(shares: pd.DataFrame) -> dict[str, dict[str, tuple[float, float]]]:
    """Return the reproduced share of right and wrong programs over the tables of each source, by program.

    The second share is ours of the same numbers; both are in percent.
    """
    programs = shares[~shares["program"].isin([OURS_PROGRAM, OFF])]
    found = dict[str, dict[str, tuple[float, float]]]()
    for (source, program), rows in programs.groupby(["source", "program"], sort=False):
        n = rows["n"].sum()
        reproduced = (rows["n"] * rows["reproduced"]).sum()
        both = float(reproduced / n), float(100.0 * rows["ours"].sum() / n)
        found.setdefault(str(source), {})[str(program)] = both
    return found
