"""Methods ranked over data sets: mean ranks, Friedman's test, and pairwise tests."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pandas as pd

from pppca_bench.errors import StoreError
from pppca_bench.quantities import DECIMALS, ERRORS, described, error_of
from pppca_bench.reporting.document import Format, in_json, text_table
from pppca_bench.reporting.labels import Setting, setting_labels, settings_of
from pppca_bench.reporting.pairs import ALPHA
from pppca_bench.reporting.statistics import holm
from pppca_bench.reporting.summary import CellRuns
from pppca_bench.runs import Cell, Facts, Names

MAX_NAMES = 6
"""Largest number of methods left out, and of cells with too few repeats, that the text names."""


class MissingRuns(NamedTuple):
    """Method and problem with fewer completed repeats than planned."""

    method: str
    problem: str
    n_planned: int
    n_failed: int
    n_done: int

    def __str__(self) -> str:
        """Return a text such as ``"GHA on glass1 (9 of 10, 1 failed)"``."""
        failed = f", {self.n_failed} failed" if self.n_failed else ""
        return f"{self.method} on {self.problem} ({self.n_done} of {self.n_planned}{failed})"


class Ranking(NamedTuple):
    """Methods ranked by mean test error, or mean score; a method with other settings counts as another method."""

    # mean errors or scores: a row per data set, the mean over its permutations
    errors: pd.DataFrame
    # the best first; rank 1 is the least error, or the best score, of a data set, ties share the mean rank
    mean_ranks: pd.Series[float]
    friedman_statistic: float  # chi-squared; nan for two methods, or where all have the same errors
    friedman_p: float
    critical_difference: (
        float  # of mean ranks, by Nemenyi's test at `ALPHA` (Demšar 2006, section 3.2.2)
    )
    nemenyi: pd.DataFrame  # p of each pair
    wilcoxon: pd.DataFrame  # p of each pair by the paired signed-rank test, with Holm's correction
    n_problems: int  # number of problems, counting the permutations of data sets
    left_out: Names  # methods that were not run on every problem
    missing_runs: tuple[MissingRuns, ...]  # cells of methods that were planned on every problem
    quantity: str = ERRORS[0]  # the error or score that is ranked
    other_problems: Names = ()  # problems with the other error, which are not ranked

    @property
    def headers(self) -> Names:
        """Return the headers of the ranking's table."""
        title = described(self.quantity).title
        title = title if title == "R²" else f"{title[0].lower()}{title[1:]}"
        return ("Method", "Mean rank", f"Mean {title}", "p against the best")

    @property
    def differs(self) -> bool:
        """Return whether any two mean ranks differ by Nemenyi's test."""
        return bool((self.nemenyi < ALPHA).any(axis=None))

    def p(self, first: object, second: object) -> float:
        """Return the p value of Wilcoxon's test of two methods."""
        return float(self.wilcoxon[str(second)][str(first)])


def rank(
    cells: Mapping[Cell, CellRuns],
    facts: Facts,
    quantity: str | None = None,
    labels: Mapping[str, str] = MappingProxyType({}),
) -> Ranking:
    """Rank the methods that were run on all of the largest set of problems that two or more methods share.

    ``labels`` name the settings of configs, by config; other settings are named by what they do not share.

    Choice: the misclassification of classes and the squared error of numbers are no common scale, so only problems
    with one error are ranked: ``quantity``, which may also be a score, or by default the error of the largest such set.

    Choice: the permutations of a problem share their examples, so they are not independent data sets: their errors are
    averaged first, and a data set counts once, whatever the number of its permutations.
    Choice: a method whose parameters, threshold or classifier differ is another method, so that every rank compares
    the same setting over all data sets (`pppca_bench.reporting.labels.settings_of`).

    Raises
    ------
    StoreError
        Fewer than two methods have the problems in common, or these are fewer than two data sets.
    """
    settings = settings_of(cells)
    names = (quantity,) if quantity and quantity not in ERRORS else ERRORS
    of_error = {name: [_means(setting, name) for setting in settings] for name in names}
    shared = {name: _shared_problems(means) for name, means in of_error.items()}
    quantity = quantity or max(shared, key=lambda name: len(shared[name]))
    problems = shared[quantity]
    others = dict.fromkeys(
        problem for name in names if name != quantity for mean in of_error[name] for problem in mean
    )
    errors = pd.DataFrame(of_error[quantity], columns=problems).dropna()
    titles = setting_labels(settings, of=[settings[index] for index in errors.index])
    for index, setting in enumerate(settings):
        configs = {config for runs in setting.cells.values() for config in runs.configs}
        titles[index] = next((labels[name] for name in labels if name in configs), titles[index])
    families = [facts[problem].family if problem in facts else problem for problem in problems]
    data_sets = (
        errors.T.set_axis([titles[index] for index in errors.index], axis=1)
        .groupby(families, sort=False)
        .mean()
    )
    n_data_sets, n_methods = data_sets.shape
    if n_methods < 2 or n_data_sets < 2:
        raise StoreError(
            "ranking: expected at least two methods, or settings of a method, run on the same two data sets or more"
            f" (the permutations of a problem are a single data set), got {n_methods} on {n_data_sets}."
            " Run `pppca run permutations`, or name other configs."
        )
    rounded = data_sets.round(DECIMALS)
    ranks = rounded.rank(axis=1, ascending=not described(quantity).more_is_better).mean()
    ranks = ranks.sort_values(kind="stable")
    data_sets = data_sets[ranks.index]
    unit = math.sqrt(n_methods * (n_methods + 1) / (6.0 * n_data_sets))
    critical, nemenyi, wilcoxon = _pairwise_tests(data_sets, ranks, unit)
    return Ranking(
        data_sets,
        ranks,
        *_friedman(data_sets.round(DECIMALS)),
        critical,
        nemenyi,
        wilcoxon,
        len(problems),
        tuple(name for name in titles if name not in data_sets),
        tuple(_missing_runs(titles, settings, problems, quantity)),
        quantity,
        tuple(others),
    )


def _shared_problems(means: Sequence[Mapping[str, float]]) -> list[str]:
    """Return the largest set of problems on which a setting and at least another setting were run."""
    shared = (
        list(mean) for mean in means if sum(mean.keys() <= other.keys() for other in means) > 1
    )
    return max(shared, key=len, default=[])


def _means(setting: Setting, quantity: str) -> dict[str, float]:
    """Return a setting's means of a score, or of an error on the problems with this error."""
    quantities = {problem: runs.quantities for problem, runs in setting.cells.items()}
    return {
        problem: summaries[quantity].mean
        for problem, summaries in quantities.items()
        if quantity in summaries and (quantity not in ERRORS or error_of(summaries) == quantity)
    }


def _missing_runs(
    names: Sequence[str], settings: Sequence[Setting], problems: Sequence[str], quantity: str
) -> Iterator[MissingRuns]:
    for name, setting in zip(names, settings, strict=True):
        for problem in problems if setting.cells.keys() >= set(problems) else ():
            runs = setting.cells[problem]
            n_done = len(runs.values(quantity))
            if n_done < runs.n_planned:
                yield MissingRuns(name, problem, runs.n_planned, runs.n_failed, n_done)


def _friedman(data_sets: pd.DataFrame) -> tuple[float, float]:
    """Return the statistic and the p value of Friedman's test, nan for two methods or if all errors are equal."""
    from scipy.stats import friedmanchisquare

    if data_sets.shape[1] < 3 or (data_sets.nunique(axis=1) == 1).all():
        return math.nan, math.nan
    statistic, p = friedmanchisquare(*(data_sets[method] for method in data_sets))
    return float(statistic), float(p)


def _pairwise_tests(
    data_sets: pd.DataFrame, ranks: pd.Series[float], unit: float
) -> tuple[float, pd.DataFrame, pd.DataFrame]:
    """Return the critical difference, and the p values of each pair by Nemenyi's test and by Wilcoxon's.

    ``unit`` is √(k (k + 1) / (6 N)) for k methods and N data sets.
    """
    from scipy.stats import studentized_range, wilcoxon

    errors, n_methods = data_sets.to_numpy(), len(ranks)
    first, second = np.triu_indices(n_methods, 1)
    # The studentized range of k ranks is their difference in units of √(k (k + 1) / (12 N)).
    critical = float(studentized_range.ppf(1.0 - ALPHA, n_methods, np.inf)) / math.sqrt(2.0) * unit
    ranges = np.abs(ranks.to_numpy()[first] - ranks.to_numpy()[second]) / unit * math.sqrt(2.0)
    signed_rank = [
        float(wilcoxon((errors[:, i] - errors[:, j]).round(DECIMALS), zero_method="zsplit").pvalue)
        for i, j in zip(first, second, strict=True)
    ]
    matrices = []
    for p_values in (studentized_range.sf(ranges, n_methods, np.inf), holm(signed_rank)):
        matrix = np.ones((n_methods, n_methods))
        matrix[first, second] = matrix[second, first] = p_values
        matrices.append(pd.DataFrame(matrix, index=ranks.index, columns=ranks.index))
    return critical, matrices[0], matrices[1]


def render_ranking(ranking: Ranking, form: Format = "terminal") -> str:
    """Render a ranking as ``terminal`` text, ``markdown`` or ``json``."""
    if form == "json":
        return in_json(_plain(ranking))
    return "\n\n".join(
        [text_table(ranking.headers, ranking_rows(ranking), form), *ranking_remarks(ranking)]
    )


def ranking_rows(ranking: Ranking) -> list[list[str]]:
    """Return the rows of a ranking's table below its headers, as printed."""
    best = ranking.mean_ranks.index[0]
    means = zip(ranking.mean_ranks.items(), ranking.errors.mean(), strict=True)
    return [
        [
            str(method),
            f"{rank:.2f}",
            f"{error:{described(ranking.quantity).form}}",
            f"{ranking.p(best, method):.2g}" if method != best else "",
        ]
        for (method, rank), error in means
    ]


def ranking_remarks(ranking: Ranking) -> list[str]:
    """Return the paragraphs below a ranking's table."""
    differing = [
        f"{better} before {worse} (p = {p:.2g})"
        for better, worse in itertools.combinations(map(str, ranking.mean_ranks.index), 2)
        if (p := ranking.p(better, worse)) < ALPHA
    ]
    remarks = [
        _explanation(ranking),
        f"Differing pairs (Wilcoxon, Holm): {'; '.join(differing) or 'none'}.",
    ]
    if ranking.missing_runs:
        remarks.append(
            f"Fewer repeats than planned: {_first(list(map(str, ranking.missing_runs)))}."
        )
    if ranking.other_problems:
        (other,) = {*ERRORS} - {ranking.quantity}
        names = _first(list(ranking.other_problems))
        remarks.append(
            f"Not ranked, since they have another error: {names}. Rank them with `--quantity {other}`."
        )
    if ranking.left_out:
        remarks.append(
            f"Not ranked, since not run on all of these data sets: {_first(ranking.left_out)}."
        )
    return remarks


def _first(names: Sequence[str]) -> str:
    return "; ".join(names[:MAX_NAMES]) + (
        f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    )


def _explanation(ranking: Ranking) -> str:
    """Return the sentences below a ranking: its size, Friedman's test, and the meaning and limit of pairwise tests."""
    n_data_sets, n_methods = ranking.errors.shape
    sizes = f"{n_methods} methods on {n_data_sets} data sets"
    if ranking.n_problems > n_data_sets:
        sizes += f" ({ranking.n_problems} problems: a data set's error is the mean over its permutations)"
    friedman = (
        f"Friedman's chi-squared {ranking.friedman_statistic:.2f}, p = {ranking.friedman_p:.2g}. "
    )
    # 2⁻ⁿ⁺¹ is Wilcoxon's least p value, before Holm's correction: with few data sets, no pair can differ.
    least = math.comb(n_methods, 2) * 2.0 ** (1 - n_data_sets)
    limit = f", which cannot be below {min(1.0, least):.2g} with this number of data sets, whatever the errors"
    return (
        f"{sizes}. {friedman if math.isfinite(ranking.friedman_p) else ''}Mean ranks that differ by more than"
        f" {ranking.critical_difference:.2f} differ by Nemenyi's test (α = {ALPHA}); p values are of paired Wilcoxon"
        f" tests with Holm's correction{limit if least >= ALPHA else ''}."
    )


def _plain(ranking: Ranking) -> dict[str, object]:
    finite = math.isfinite(ranking.friedman_p)
    return {
        "mean_ranks": ranking.mean_ranks.to_dict(),
        "quantity": ranking.quantity,
        "means": ranking.errors.to_dict(orient="index"),
        "friedman": {"statistic": ranking.friedman_statistic, "p": ranking.friedman_p}
        if finite
        else None,
        "critical_difference": ranking.critical_difference,
        "nemenyi_p": ranking.nemenyi.to_dict(),
        "wilcoxon_holm_p": ranking.wilcoxon.to_dict(),
        "n_problems": ranking.n_problems,
        "left_out": list(ranking.left_out),
        "fewer_repeats_than_planned": [cell._asdict() for cell in ranking.missing_runs],
    }
