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

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Any

import numpy as np

from pppca_bench.methods.lookup import title_of
from pppca_bench.quantities import described
from pppca_bench.references.layout import Placebo
from pppca_bench.references.numbers import Number, VerdictRule
from pppca_bench.references.selection import Formula
from pppca_bench.reporting.comparison import Place, compare, verdict_rule
from pppca_bench.reporting.document import Document
from pppca_bench.reporting.statistics import Summary, measured
from pppca_bench.reporting.summary import Results
from pppca_bench.reporting.table import MeansTable
from pppca_bench.reporting.verdicts import Verdict, contrast, off_by_margin, verdicts
from pppca_bench.runs import Names, Selector, grouped

SHARES = "verdict_shares"
"""Identifier of the document."""

N_DRAWS = 20

ALL = "all"
"""Quantity of the shares of a whole table."""

OURS, RIGHT, OFF = "ours", "a right program", "a program off by the margin"

_SEED = 60
_SHOWN: Sequence[Verdict] = ("reproduced", "consistent", "differs")

Shares = Sequence[Mapping[str, Any]]
"""Records of a table's quantities and programs; shares in percent of ``n`` numbers.

Among the numbers of a program, ``ours`` are reproduced by ours; ``right`` is the share of a right program. ``tells`` is
"yes" if the table tells our program from a placebo, "no" if not, None if unknown.
"""

_Numbers = dict[Place, tuple[Number, Summary, VerdictRule]]
"""Published numbers, the summaries that are compared with them, and the rules, by place."""


def verdict_shares(table: MeansTable, other: Callable[[str], object], results: Results) -> Shares:
    """Return the shares of the verdicts in a table, of each quantity if its cells show several.

    ``other`` returns a table, given its identifier.
    """
    reference = table.reference
    if reference is None:
        return []
    draws = _draws(table)
    programs = {RIGHT: draws, OFF: list(map(_off, draws))}
    for placebo in reference.placebos:
        if table.id in placebo.tables:
            replaced = _with_placebo(table, placebo, other, results, reference.configs)
            programs[placebo.name] = [_numbers(replaced)]
    ours = {item.place: item.verdict for item in compare([table]) if item.is_result and item.n}
    judged = {OURS: [ours]}
    for name, variants in programs.items():
        judged[name] = [_judge(numbers) for numbers in variants]
    several, records = any(len(cell.shows) > 1 for cell in table.cells.values()), []
    for quantity, counted in grouped(ours, lambda location: location[3] if several else "").items():
        title = described(quantity).title.partition(",")[0] if quantity else ALL
        for program, known in judged.items():
            if locations := [
                location for location in counted if any(location in draw for draw in known)
            ]:
                record = {"source": reference.title, "row": table.id, "quantity": title}
                records.append(record | {"program": program} | _shares(judged, program, locations))
    return records


def _numbers(table: MeansTable) -> _Numbers:
    return {
        (table.id, cell.row, cell.column, quantity): (number, cell.ours[quantity], rule)
        for cell in table.cells.values()
        for quantity, number in cell.published.items()
        if quantity in cell.ours and (rule := verdict_rule(table, cell, quantity))
    }


def _judge(numbers: _Numbers) -> dict[Place, Verdict]:
    judged = verdicts([contrast(*number) for number in numbers.values()])
    return dict(zip(numbers, judged, strict=True))


def _shares(
    judged: Mapping[str, Sequence[Mapping[Place, Verdict]]],
    program: str,
    locations: Sequence[Place],
) -> dict[str, Any]:
    """Return the shares of a program's numbers in some places, ours and those of a right program.

    ``judged`` has the verdicts on the numbers of each program, for each draw.
    """

    def share(of: str, verdict: Verdict = "reproduced") -> Any:
        found = [
            draw[location] for draw in judged[of] for location in locations if location in draw
        ]
        return 100.0 * found.count(verdict) / len(found) if found else None

    right, tells = share(RIGHT), None
    if program not in (OURS, RIGHT, OFF) and right is not None:
        tells = "yes" if 2.0 * share(program) <= right and right > 0.0 else "no"
    shares: dict[str, Any] = {verdict: share(program, verdict) for verdict in _SHOWN}
    ours = round(share(OURS) * len(locations) / 100.0)
    return {"n": len(locations), **shares, "ours": ours, "right": right, "tells": tells}


def _draws(table: MeansTable) -> list[_Numbers]:
    """Return the numbers of a right program for each draw, where we have enough runs."""
    rng, draws = np.random.default_rng(_SEED), [_Numbers() for _ in range(N_DRAWS)]
    for cell in table.cells.values():
        for quantity, number in cell.published.items():
            rule = verdict_rule(table, cell, quantity)
            values = {name: cell.runs.values(name) for name in measured(quantity)}
            repeats = list(next(iter(values.values())))
            if rule is None or rule.runs is None or len(repeats) < 2 * rule.runs:
                continue
            digits = len(number.text.partition(".")[2])
            for draw in draws:
                order = rng.permutation(repeats).tolist()
                drawn, rest = (
                    cell.runs.summarise(_of_repeats(values, chosen)).get(quantity)
                    for chosen in (order[: rule.runs], order[rule.runs :])
                )
                if drawn and rest:
                    sd = None if number.sd is None else round(drawn.sd, digits)
                    printed = Number(f"{drawn.mean:.{digits}f}", sd)
                    draw[table.id, cell.row, cell.column, quantity] = printed, rest, rule
    return draws


def _of_repeats(
    values: Mapping[str, Mapping[int, float]], repeats: Collection[int]
) -> dict[str, dict[int, float]]:
    return {
        name: {repeat: value for repeat, value in by_repeat.items() if repeat in repeats}
        for name, by_repeat in values.items()
    }


def _off(numbers: _Numbers) -> _Numbers:
    """Return numbers that are off by the margin."""
    return {
        location: (number, off_by_margin(number, ours, rule), rule)
        for location, (number, ours, rule) in numbers.items()
    }


def _with_placebo(
    table: MeansTable,
    placebo: Placebo,
    other: Callable[[str], object],
    results: Results,
    configs: Names,
) -> MeansTable:
    """Return a table with the numbers of a placebo in place of ours."""
    source = other(placebo.table) if placebo.table else table
    after = {
        row: following
        for cycle in placebo.cycles
        for row, following in pairwise((*cycle, cycle[0]))
    }
    cells = {}
    for (row, column), cell in table.cells.items():
        ours: Mapping[str, Summary] = {}
        if not placebo.includes(table.id, row, column):
            pass
        elif cell.selector and placebo.runs:
            selection = _in_place(cell.selector, placebo, results, configs)
            ours = results.repeats(selection, configs).quantities
        elif isinstance(source, MeansTable):
            key = (after.get(row, "") if after else row, column)
            ours = source.cells[key].ours if key in source.cells else {}
        cells[row, column] = cell._replace(ours=ours)
    return table._replace(cells=cells)


def _in_place(
    selector: Selector | Formula, placebo: Placebo, results: Results, configs: Names
) -> Selector | Formula:
    """Return the selection of a placebo's runs in place of the runs of a cell, but for the baselines of a formula."""
    if isinstance(selector, Formula):
        members = [_in_place(part, placebo, results, configs) for part in selector.members]
        return selector._replace(members=tuple(part for member in members for part in member.parts))
    requested = {"problem": selector.problem, "method": selector.method, **placebo.runs}
    problem, method = str(requested.pop("problem")), str(requested.pop("method"))
    known = {
        name
        for cell in results.matching(Selector(problem, method), configs)
        for name in cell.settings
    }
    requested = {name: value for name, value in selector.settings if name in known} | requested
    return Selector(problem, method, tuple(sorted(requested.items())))


def with_shares(table: MeansTable, shares: Shares) -> MeansTable:
    """Return a table with a paragraph on the shares of its verdicts, and above it the placebos it does not tell."""
    lines, lead = [], []
    for quantity, (record, *others) in grouped(shares, itemgetter("quantity")).items():
        start, n = "" if quantity == ALL else f"{quantity}: ", record["n"]
        lines.append(
            f"{start}{record['ours']} of {n} numbers are reproduced ({record['reproduced']:.0f} %)."
        )
        selections = [cell.selector for cell in table.cells.values() if cell.selector]
        methods = {part.method for selection in selections for part in selection.parts}
        program = title_of(methods.pop()) if start and len(methods) == 1 else "our program"
        texts = []
        for each in others:
            name, n_own, share = each["program"], each["n"], each["reproduced"]
            texts.append(f"{name} {share:.0f} %" + (f" of {n_own}" if n_own < n else ""))
            if each["tells"] == "no":
                counts = f"{each['ours']} against {share * n_own / 100.0:.0f} of {n_own} numbers"
                verb = f"does not tell {program} from {name}, since {counts} are reproduced"
                lead.append(f"{start}{'this' if start else 'This'} table {verb}.")
        if texts:
            lines.append(f"Other programs would get: {', '.join(texts)}.")
    return table._replace(lead=" ".join(lead), shares=" ".join(lines))


def shares_document(shares: Shares) -> Document:
    """Return the shares of the verdicts in all published tables as a document."""
    columns = (
        ("table", "{row}"),
        ("quantity", "{quantity}"),
        ("program", "{program}"),
        ("numbers", "{n}"),
        *((verdict, f"{{{verdict}:.0f}} %") for verdict in _SHOWN),
        ("told apart", "{tells}"),
    )
    title = "Shares of the verdicts of right and wrong programs"
    return Document.of_records(SHARES, title, columns, shares)


def by_source(
    shares: Iterable[Mapping[str, Any]],
) -> Mapping[str, Mapping[str, tuple[float, float]]]:
    """Return the reproduced share of right and wrong programs over the tables of each source, by program.

    The second share is ours of the same numbers; both are in percent.
    """
    return {
        source: {
            program: _over_tables(of_program)
            for program, of_program in grouped(records, itemgetter("program")).items()
            if program not in (OURS, OFF)
        }
        for source, records in grouped(shares, itemgetter("source")).items()
    }


def _over_tables(records: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """Return the share of the numbers that a program reproduces, and that ours reproduces of the same numbers."""
    n = sum(each["n"] for each in records)
    reproduced = sum(each["n"] * each["reproduced"] for each in records)
    ours = sum(each["ours"] for each in records)
    return reproduced / n, 100.0 * ours / n
