"""Methods ranked over problems: mean ranks, Friedman's test, and which pairs differ."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from tabulate import tabulate

from pppca_bench.errors import StoreError
from pppca_bench.reporting.ranking_columns import Column, columns
from pppca_bench.runs import Cell, ProblemFacts
from pppca_bench.store.columns import CellRuns

ALPHA = 0.05
SHOWN = 6
"""Methods left out, and cells with too few repeats, that the text names."""


HEADERS = ("Method", "Mean rank", "Mean error, %", "p against the best")


class Contest(NamedTuple):
    """Which runs are ranked together: those of some configs, of which the first must have been run, or all."""

    id: str
    title: str
    configs: tuple[str, ...]
    missing: str = ""


CONTESTS = (
    Contest("F6", "Mean ranks of test errors", ("permutations",), "no two methods share two data sets"),
    Contest(
        "F7",
        "Mean ranks of the Proben1 report's networks",
        ("proben1_pivot", "proben1_no_shortcuts", "proben1_linear"),
    ),
)
"""The rankings that have a figure; the first is of all runs where its config was not run."""


class Shortfall(NamedTuple):
    """A cell with fewer finished repeats than were planned."""

    method: str
    problem: str
    n_planned: int
    n_failed: int
    n_done: int


@dataclass(frozen=True)
class Ranking:
    """Hold the ranking of methods by mean test error; a method with other settings counts as another method.

    Attributes
    ----------
    errors : DataFrame, shape (n_data_sets, n_methods)
        Mean test error in percent; a data set's row is the mean over its permutations.
    mean_ranks : Series, shape (n_methods,)
        Rank 1 is the least error of a data set, ties share theirs; sorted, the best first.
    friedman_statistic, friedman_p : float
        Friedman's chi-squared over the data sets and its p value; nan for two methods, or where all have the same
        errors.
    critical_difference : float
        Mean ranks further apart than this differ by Nemenyi's test at `ALPHA` (Demšar 2006, section 3.2.2).
    nemenyi, wilcoxon : DataFrame, shape (n_methods, n_methods)
        p values of each pair: Nemenyi's test, and paired Wilcoxon signed-rank tests with Holm's correction.
    n_problems : int
        Problems behind the data sets, their permutations counted.
    left_out : tuple of str
        Methods that were not run on every problem.
    shortfalls : tuple of Shortfall
        Cells, of methods that were planned on every problem, whose mean is over fewer repeats than were planned; a
        method without any on a problem is left out.
    """

    errors: pd.DataFrame
    mean_ranks: pd.Series[float]
    friedman_statistic: float
    friedman_p: float
    critical_difference: float
    nemenyi: pd.DataFrame
    wilcoxon: pd.DataFrame
    n_problems: int
    left_out: tuple[str, ...]
    shortfalls: tuple[Shortfall, ...]


def rank(cells: Mapping[Cell, CellRuns], facts: Mapping[str, ProblemFacts]) -> Ranking:
    """Rank the methods that were run on all of the most problems that two or more were run on.

    Choice: the permutations of a problem share their examples, so they are no independent data sets: their errors are
    averaged first, and a data set counts once, whatever the number of its permutations.
    Choice: a method whose parameters, threshold or classifier differ is another method, so that every rank compares
    one setting over all data sets (`pppca_bench.reporting.ranking_columns`).

    Parameters
    ----------
    cells : mapping of Cell to CellRuns
        Planned runs and what came of them, those of later plans last; timed runs do not count.
    facts : mapping of str to ProblemFacts
        By problem, of whose permutations it is one.

    Raises
    ------
    StoreError
        Fewer than two methods have the problems in common, or these are fewer than two data sets.
    """
    found = columns(cells)
    problems = _shared_problems(found)
    errors = pd.DataFrame([column.errors for column in found], columns=problems).dropna()
    labels = _labels(found, ranked=list(errors.index))
    ranked = errors.T.set_axis([labels[place] for place in errors.index], axis=1)
    data_sets = ranked.groupby(
        [facts[problem].family if problem in facts else problem for problem in problems], sort=False
    ).mean()
    if data_sets.shape[1] < 2 or len(data_sets) < 2:
        raise StoreError(
            "ranking: expected at least two methods, or settings of one, run on the same two data sets or more (the"
            f" permutations of a problem are one), got {data_sets.shape[1]} on {len(data_sets)}."
            " Run `pppca run permutations`, or name other configs."
        )
    statistic, p = _friedman(data_sets)
    ranks = data_sets.rank(axis=1).mean().sort_values(kind="stable")
    left_out = tuple(label for label in labels if label not in data_sets)
    pairs = _nemenyi(data_sets), _wilcoxon(data_sets)
    distance = _critical_difference(*data_sets.shape[::-1])
    notes = left_out, _shortfalls(labels, found, problems)
    return Ranking(data_sets[ranks.index], ranks, statistic, p, distance, *pairs, len(problems), *notes)


def _shared_problems(found: Sequence[Column]) -> list[str]:
    """Return the most problems that one method and at least one other were run on."""
    sets = [set(column.errors) for column in found]
    shared = (list(column.errors) for column in found if sum(set(column.errors) <= problems for problems in sets) > 1)
    return max(shared, key=len, default=[])


def render(ranking: Ranking, form: str = "terminal") -> str:
    """Render a ranking as ``terminal`` text, ``markdown`` or ``json``."""
    if form == "json":
        return json.dumps(_plain(ranking), indent=1, ensure_ascii=False)
    style = "pipe" if form == "markdown" else "simple"
    align = ("left", *["right"] * (len(HEADERS) - 1))
    table = tabulate(ranking_rows(ranking), HEADERS, tablefmt=style, disable_numparse=True, colalign=align)
    return "\n\n".join([str(table), *ranking_remarks(ranking)])


def ranking_rows(ranking: Ranking) -> list[list[str]]:
    """Return the rows of a ranking's table below `HEADERS`, as they are printed."""
    best = str(ranking.mean_ranks.index[0])
    return [
        [
            str(method),
            f"{rank:.2f}",
            f"{ranking.errors[str(method)].mean():.2f}",
            f"{_p(ranking, best, str(method)):.2g}" if method != best else "",
        ]
        for method, rank in ranking.mean_ranks.items()
    ]


def ranking_remarks(ranking: Ranking) -> list[str]:
    """Return what stands below a ranking's table."""
    found = [
        _explanation(ranking),
        "Differing pairs (Wilcoxon, Holm): " + ("; ".join(_differing(ranking)) or "none") + ".",
    ]
    if ranking.shortfalls:
        found.append(f"Fewer repeats than planned: {_first(list(map(_told, ranking.shortfalls)))}.")
    if ranking.left_out:
        found.append(f"Not run on all of them, so not ranked: {_first(ranking.left_out)}.")
    return found


def _first(names: Sequence[str]) -> str:
    return "; ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def _told(cell: Shortfall) -> str:
    failed = f", {cell.n_failed} failed" if cell.n_failed else ""
    return f"{cell.method} on {cell.problem} ({cell.n_done} of {cell.n_planned}{failed})"


def _explanation(ranking: Ranking) -> str:
    sizes = f"{ranking.errors.shape[1]} methods on {len(ranking.errors)} data sets"
    if ranking.n_problems > len(ranking.errors):
        sizes += f" ({ranking.n_problems} problems: a data set's error is the mean over its permutations)"
    friedman = (
        f"Friedman's chi-squared {ranking.friedman_statistic:.2f}, p = {ranking.friedman_p:.2g}. "
        if math.isfinite(ranking.friedman_p)
        else ""
    )
    return (
        f"{sizes}. {friedman}Mean ranks that differ by more than {ranking.critical_difference:.2f} differ by Nemenyi's"
        f" test (α = {ALPHA}); p values are of paired Wilcoxon tests with Holm's correction{_limit(ranking)}."
    )


def _limit(ranking: Ranking) -> str:
    """Say so where the data sets are too few for any pair to differ: 2⁻ⁿ⁺¹ is Wilcoxon's least p value, before Holm."""
    n_data_sets, n_methods = ranking.errors.shape
    least = math.comb(n_methods, 2) * 2.0 ** (1 - n_data_sets)
    if least < ALPHA:
        return ""
    return f", of which so few data sets allow none below {min(1.0, least):.2g}, whatever the errors"


def _p(ranking: Ranking, one: str, other: str) -> float:
    return float(ranking.wilcoxon[other][one])


def _differing(ranking: Ranking) -> list[str]:
    methods = [str(method) for method in ranking.mean_ranks.index]
    pairs = itertools.combinations(methods, 2)
    return [
        f"{better} before {worse} (p = {p:.2g})" for better, worse in pairs if (p := _p(ranking, better, worse)) < ALPHA
    ]


def _plain(ranking: Ranking) -> dict[str, object]:
    finite = math.isfinite(ranking.friedman_p)
    return {
        "mean_ranks": ranking.mean_ranks.to_dict(),
        "errors_percent": ranking.errors.to_dict(orient="index"),
        "friedman": {"statistic": ranking.friedman_statistic, "p": ranking.friedman_p} if finite else None,
        "critical_difference": ranking.critical_difference,
        "nemenyi_p": ranking.nemenyi.to_dict(),
        "wilcoxon_holm_p": ranking.wilcoxon.to_dict(),
        "n_problems": ranking.n_problems,
        "left_out": list(ranking.left_out),
        "fewer_repeats_than_planned": [cell._asdict() for cell in ranking.shortfalls],
    }


def _labels(found: Sequence[Column], ranked: Sequence[int]) -> list[str]:
    """Name the columns, without the classifier where it is the only one of those, by their places, that are ranked."""
    classifiers = {found[place].classifier for place in ranked} - {""}
    untold = {"", *classifiers} if len(classifiers) == 1 else {""}
    return [column.name if column.classifier in untold else f"{column.name}, {column.classifier}" for column in found]


def _shortfalls(labels: Sequence[str], found: Sequence[Column], problems: Sequence[str]) -> tuple[Shortfall, ...]:
    planned = [pair for pair in zip(labels, found, strict=True) if pair[1].cells.keys() >= set(problems)]
    cells = [(label, problem, column.cells[problem]) for label, column in planned for problem in problems]
    told = [
        Shortfall(label, problem, cell.n_planned, cell.n_failed, len(cell.values.get("test_error_percent", ())))
        for label, problem, cell in cells
    ]
    return tuple(cell for cell in told if cell.n_done < cell.n_planned)


def _friedman(data_sets: pd.DataFrame) -> tuple[float, float]:
    from scipy.stats import friedmanchisquare

    if data_sets.shape[1] < 3 or (data_sets.nunique(axis=1) == 1).all():
        return math.nan, math.nan
    statistic, p = friedmanchisquare(*(data_sets[method] for method in data_sets))
    return float(statistic), float(p)


def _critical_difference(n_methods: int, n_data_sets: int) -> float:
    from scipy.stats import studentized_range

    quantile = float(studentized_range.ppf(1.0 - ALPHA, n_methods, np.inf)) / math.sqrt(2.0)
    return quantile * math.sqrt(n_methods * (n_methods + 1) / (6.0 * n_data_sets))


def _nemenyi(data_sets: pd.DataFrame) -> pd.DataFrame:
    from scikit_posthocs import posthoc_nemenyi_friedman

    return _labelled(posthoc_nemenyi_friedman(data_sets.to_numpy()), data_sets)


def _wilcoxon(data_sets: pd.DataFrame) -> pd.DataFrame:
    """Compare each pair by the paired test; equal columns, of which it has nothing to say, have p = 1."""
    from scikit_posthocs import posthoc_wilcoxon

    return _labelled(posthoc_wilcoxon(list(data_sets.to_numpy().T), zero_method="zsplit", p_adjust="holm"), data_sets)


def _labelled(p_values: pd.DataFrame, data_sets: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(p_values.to_numpy(), index=data_sets.columns, columns=data_sets.columns)
