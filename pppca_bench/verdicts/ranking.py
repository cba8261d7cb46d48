"""Methods ranked over data sets: mean ranks, Friedman's test, and pairwise tests."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pandas as pd

from pppca_bench.errors import StoreError
from pppca_bench.quantities import DECIMALS, ERRORS, described, error_of
from pppca_bench.references.layout import RankingSpec
from pppca_bench.results.frames import Runs
from pppca_bench.results.labels import names_of, settings_of
from pppca_bench.results.statistics import holm
from pppca_bench.runs import Cell, Facts, Names
from pppca_bench.verdicts.pairs import ALPHA

MISSING = ["method", "problem", "n_planned", "n_failed", "n_done"]
"""Columns of the methods and problems with fewer completed repeats than planned."""

Means = Mapping[str, float]
"""Means of a quantity by problem."""


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
    missing_runs: pd.DataFrame  # `MISSING`, of methods that were planned on every problem
    quantity: str = ERRORS[0]  # the error or score that is ranked
    other_problems: Names = ()  # problems with the other error, which are not ranked

    @property
    def differs(self) -> bool:
        """Return whether any two mean ranks differ by Nemenyi's test."""
        return bool((self.nemenyi < ALPHA).any(axis=None))

    def p(self, first: object, second: object) -> float:
        """Return the p value of Wilcoxon's test of two methods."""
        return float(self.wilcoxon[str(second)][str(first)])


def rankings_of(
    specs: Iterable[RankingSpec], runs: Runs, facts: Facts
) -> list[tuple[RankingSpec, Ranking]]:
    """Return the rankings of references that have enough runs."""
    rankings = []
    for spec in specs:
        ranked = runs.of_configs(spec.configs)
        if spec.missing and not ranked.cells:
            ranked = runs
        with suppress(StoreError):
            rankings.append((spec, rank(ranked, facts, labels=spec.labels)))
    return rankings


def rank(
    runs: Runs,
    facts: Facts,
    quantity: str | None = None,
    labels: Mapping[str, str] = MappingProxyType({}),
) -> Ranking:
    """Rank the methods that were run on all of the largest set of problems that two or more methods share.

    ``labels`` name the settings of configs, by config, in place of the configs' own labels.

    Choice: the misclassification of classes and the squared error of numbers are no common scale, so only problems
    with one error are ranked: ``quantity``, which may also be a score, or by default the error of the largest such set.

    Choice: the permutations of a problem share their examples, so they are not independent data sets: their errors are
    averaged first, and a data set counts once, whatever the number of its permutations.
    Choice: a method whose parameters, threshold or classifier differ is another method, so that every rank compares
    the same setting over all data sets (`pppca_bench.results.labels.settings_of`).

    Raises
    ------
    StoreError
        Fewer than two methods have the problems in common, or these are fewer than two data sets.
    """
    settings = settings_of(runs)
    candidates = (quantity,) if quantity and quantity not in ERRORS else ERRORS
    means = {
        name: [_means(runs, cells, name) for cells in settings.values()] for name in candidates
    }
    shared = {name: _shared_problems(means[name]) for name in candidates}
    quantity = quantity or max(shared, key=lambda name: len(shared[name]))
    problems = shared[quantity]
    has_all = [of_setting.keys() >= set(problems) for of_setting in means[quantity]]
    names = _names(runs, settings, has_all, labels)
    data_sets = _data_sets(names, means[quantity], problems, facts)
    _check_size(*data_sets.shape)
    ranks = _mean_ranks(data_sets, quantity)
    data_sets = data_sets[ranks.index]
    return Ranking(
        data_sets,
        ranks,
        *_friedman(data_sets.round(DECIMALS)),
        *_nemenyi(len(data_sets), ranks),
        _wilcoxon(data_sets),
        len(problems),
        tuple(name for name in names if name not in data_sets),
        _missing_runs(runs, names, list(settings.values()), problems, quantity),
        quantity,
        _other_problems(means, quantity),
    )


def _names(
    runs: Runs,
    settings: Mapping[Cell, Mapping[str, int]],
    is_ranked: Sequence[bool],
    labels: Mapping[str, str],
) -> list[str]:
    """Return the names of settings: the first given label of their configs or, without any, their own.

    Settings that are ranked are named as if there were no others, unless another setting has the same name then.
    """
    every = names_of(runs, settings)
    ranked = dict(itertools.compress(settings.items(), is_ranked))
    taken = {every[setting] for setting in settings if setting not in ranked}
    shorter = names_of(runs, ranked)
    names = []
    for setting, cells in settings.items():
        name = shorter.get(setting, every[setting])
        if setting in ranked and name in taken:
            name = every[setting]
        configs = frozenset[str]().union(*map(runs.configs, cells.values()))
        given = [label for config, label in labels.items() if config in configs]
        names.append(given[0] if given else name)
    return names


def _means(runs: Runs, cells: Mapping[str, int], quantity: str) -> dict[str, float]:
    """Return a setting's means of a score, or of an error on the problems with this error."""
    means = {}
    for problem, number in cells.items():
        mean = runs.mean(number, quantity)
        is_counted = quantity not in ERRORS or error_of(runs.measured[number]) == quantity
        if mean is not None and is_counted:
            means[problem] = mean
    return means


def _shared_problems(means: Sequence[Means]) -> list[str]:
    """Return the largest set of problems on which a setting and at least another setting were run."""
    shared = []
    for of_setting in means:
        n_with_all = sum(of_setting.keys() <= other.keys() for other in means)
        if n_with_all > 1:
            shared.append(list(of_setting))
    return max(shared, key=len, default=[])


def _other_problems(means: Mapping[str, Sequence[Means]], quantity: str) -> Names:
    """Return the problems with other quantities than the one that is ranked."""
    problems = dict[str, None]()
    for name, of_settings in means.items():
        for of_setting in of_settings if name != quantity else ():
            problems |= dict.fromkeys(of_setting)
    return tuple(problems)


def _data_sets(
    names: Sequence[str], means: Sequence[Means], problems: Sequence[str], facts: Facts
) -> pd.DataFrame:
    """Return the means of each setting with all problems: a row per data set, the mean over its permutations."""
    errors = pd.DataFrame(list(means), index=list(names), columns=list(problems)).dropna()
    families = [facts[problem].family if problem in facts else problem for problem in problems]
    return errors.T.groupby(families, sort=False).mean()


def _check_size(n_data_sets: int, n_methods: int) -> None:
    if n_methods < 2 or n_data_sets < 2:
        raise StoreError(
            "ranking: expected at least two methods, or settings of a method, run on the same two data sets or more"
            f" (the permutations of a problem are a single data set), got {n_methods} on {n_data_sets}."
            " Run the methods on further data sets, or name other configs."
        )


def _mean_ranks(data_sets: pd.DataFrame, quantity: str) -> pd.Series[float]:
    """Return the mean rank of each method over the data sets, the best first."""
    is_ascending = not described(quantity).more_is_better
    ranks = data_sets.round(DECIMALS).rank(axis=1, ascending=is_ascending)
    return ranks.mean().sort_values(kind="stable")


def _missing_runs(
    runs: Runs,
    names: Sequence[str],
    settings: Sequence[Mapping[str, int]],
    problems: Sequence[str],
    quantity: str,
) -> pd.DataFrame:
    """Return the runs that lack the quantity, of settings that were planned on every problem."""
    missing = []
    for name, cells in zip(names, settings, strict=True):
        if not cells.keys() >= set(problems):
            continue
        for problem in problems:
            number = cells[problem]
            counts, n_done = runs.counts[number], len(runs.values(number, quantity))
            if n_done < counts["n_planned"]:
                missing.append((name, problem, counts["n_planned"], counts["n_failed"], n_done))
    return pd.DataFrame(missing, columns=MISSING)


def _friedman(data_sets: pd.DataFrame) -> tuple[float, float]:
    """Return the statistic and the p value of Friedman's test, nan for two methods or if all errors are equal."""
    from scipy.stats import friedmanchisquare

    if data_sets.shape[1] < 3 or (data_sets.nunique(axis=1) == 1).all():
        return math.nan, math.nan
    statistic, p = friedmanchisquare(*(data_sets[method] for method in data_sets))
    return float(statistic), float(p)


def _nemenyi(n_data_sets: int, ranks: pd.Series[float]) -> tuple[float, pd.DataFrame]:
    """Return the critical difference of mean ranks, and the p value of each pair, by Nemenyi's test."""
    from scipy.stats import studentized_range

    # Demšar 2006, section 3.2.2: CD = q √(k (k + 1) / (6 N)) for k methods and N data sets, where q is a quantile of
    # the studentized range over √2. So √2 d / √(k (k + 1) / (6 N)) is the studentized range of a difference d.
    k = len(ranks)
    unit = math.sqrt(k * (k + 1) / (6.0 * n_data_sets))
    critical = float(studentized_range.ppf(1.0 - ALPHA, k, np.inf)) / math.sqrt(2.0) * unit
    first, second = np.triu_indices(k, 1)
    differences = np.abs(ranks.to_numpy()[first] - ranks.to_numpy()[second])
    p_values = studentized_range.sf(differences / unit * math.sqrt(2.0), k, np.inf)
    return critical, _of_pairs(p_values, ranks.index)


def _wilcoxon(data_sets: pd.DataFrame) -> pd.DataFrame:
    """Return the p value of each pair by the paired signed-rank test over data sets, with Holm's correction."""
    from scipy.stats import wilcoxon

    p_values = []
    for first, second in itertools.combinations(data_sets, 2):
        differences = (data_sets[first] - data_sets[second]).round(DECIMALS)
        p_values.append(float(wilcoxon(differences, zero_method="zsplit").pvalue))
    return _of_pairs(holm(p_values), data_sets.columns)


def _of_pairs(p_values: Sequence[float], methods: pd.Index[str]) -> pd.DataFrame:
    """Return p values as a symmetric matrix, given those above its diagonal, row by row."""
    first, second = np.triu_indices(len(methods), 1)
    matrix = np.ones((len(methods), len(methods)))
    matrix[first, second] = matrix[second, first] = p_values
    return pd.DataFrame(matrix, index=methods, columns=methods)
