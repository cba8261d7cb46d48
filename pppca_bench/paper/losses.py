"""Losses of a method against another: verdicts within data sets, and tests over data sets."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from pppca_bench.quantities import DECIMALS
from pppca_bench.reporting.document import SIGNED, printed
from pppca_bench.reporting.pairs import ALPHA, MARGIN
from pppca_bench.reporting.statistics import PairedTest, holm, student_t

Floats = NDArray[np.floating[Any]]
Verdict = Literal["holds", "holds in part", "does not hold", "undecided", "not run"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
Within = Literal["equivalent", "worse", "better", "unclear"]

MIN_DATA_SETS = 6
"""Smallest number of data sets for a test, which cannot be significant with fewer."""

_SEED, _N_SAMPLES, _PRIOR = 1994, 5000, 0.5


class Margin(NamedTuple):
    """Largest loss that does not matter: points, plus a share of the other method's error."""

    points: float = MARGIN
    share: float = 0.0


ONE_POINT = Margin()

MARGINS: Mapping[str, Margin] = {
    "1 point": ONE_POINT,
    "0.5 points": Margin(0.5),
    "0.25 points": Margin(0.25),
    "10 % of the error": Margin(0.0, 0.1),
}


class Losses(NamedTuple):
    """Losses of a method against another by data set, in points: its error minus the other's error."""

    by_data_set: Mapping[str, float]
    others: Mapping[str, float]  # errors of the other method, in percent

    @property
    def n_small(self) -> int:
        """Return the number of data sets with a loss of at most `MARGIN`."""
        return int((self.multiples() <= 1.0).sum())

    def multiples(self, margin: Margin = ONE_POINT) -> Floats:
        """Return the losses as multiples of the margin; a loss is infinite if the margin, a share of no error, is 0."""
        losses = np.array(list(self.by_data_set.values()))
        margins = margin.points + margin.share * np.array([self.others.get(name, 0.0) for name in self.by_data_set])
        unbounded: Floats = np.where(losses > 0.0, np.inf, 0.0)
        np.divide(losses, margins, out=unbounded, where=margins > 0.0)
        return unbounded.round(DECIMALS)


def losses(ours: Mapping[str, float], theirs: Mapping[str, float]) -> Losses | None:
    """Return ours − theirs over the data sets that both have; None if they share fewer than two."""
    shared = {name: ours[name] - theirs[name] for name in ours if name in theirs}
    return Losses(shared, theirs) if len(shared) > 1 else None


def verdict_within(test: PairedTest) -> Within:
    """Return the verdict on the loss on a data set, given its corrected resampled t-test.

    "equivalent": two one-sided tests at the level `ALPHA` place the loss within ±`MARGIN`, that is, its 90 % interval
    lies there. "worse" and "better": not equivalent, and the 95 % interval is above or below 0.
    """
    from scipy.special import stdtrit

    half = (test.high - test.difference) * stdtrit(test.n - 1, 1.0 - ALPHA) / student_t(0.975, test.n - 1)
    if abs(test.difference) + half < MARGIN:
        return "equivalent"
    return "worse" if test.low > 0.0 else "better" if test.high < 0.0 else "unclear"


def sign_test(multiples: Floats) -> tuple[float, bool]:
    """Return the two-sided p of the sign test, and whether most losses are at most the margin.

    Null hypothesis: half of all data sets lose at most the margin.
    """
    from scipy.stats import binomtest

    n, n_small = len(multiples), int((multiples <= 1.0).sum())
    return float(binomtest(n_small, n).pvalue) if n >= MIN_DATA_SETS else math.nan, 2 * n_small > n


def signed_rank_test(multiples: Floats) -> tuple[float, bool]:
    """Return the two-sided p of Wilcoxon's signed-rank test, and whether the typical loss is below the margin.

    Null hypothesis: the losses are symmetric around the margin. It is exact without ties.
    """
    from scipy.stats import wilcoxon

    if len(multiples) < MIN_DATA_SETS:
        return math.nan, False
    beyond = np.round(multiples - 1.0, DECIMALS)
    p = float(wilcoxon(beyond, zero_method="zsplit").pvalue) if beyond.any() else 1.0
    return p, typical_loss(beyond)[1] < 0.0


Test = Literal["sign test", "signed-rank test"]
TESTS: Mapping[Test, Callable[[Floats], tuple[float, bool]]] = {
    "sign test": sign_test,
    "signed-rank test": signed_rank_test,
}


def judge_losses(samples: Sequence[Losses], test: Test, margin: Margin = ONE_POINT) -> list[tuple[float, Verdict]]:
    """Return p with Holm's correction over the samples, and the verdict on "at most the margin is lost", of each."""
    tested = [TESTS[test](own.multiples(margin)) for own in samples]
    judged: list[tuple[float, Verdict]] = []
    for p, (_, is_small) in zip(holm([p for p, _ in tested]), tested, strict=True):
        judged.append((p, ("holds" if is_small else "does not hold") if p < ALPHA else "undecided"))
    return judged


def typical_loss(values: Floats) -> tuple[float, float, float]:
    """Return the Hodges–Lehmann estimate, the median of the means of all pairs, between the ends of its 95 % interval.

    The interval has the losses that an exact signed-rank test does not reject (Hollander and Wolfe 1999, section 3.3);
    its ends are nan for fewer than `MIN_DATA_SETS` values.
    """
    n = len(values)
    walsh = np.sort(((values[:, None] + values) / 2.0)[np.triu_indices(n)])
    if n < MIN_DATA_SETS:
        return math.nan, float(np.median(walsh)), math.nan
    n_signs = np.ones(1)  # number of assignments of signs by their sum of positive ranks
    for rank in range(1, n + 1):
        n_signs = np.pad(n_signs, (0, rank)) + np.pad(n_signs, (rank, 0))
    place = int(np.searchsorted(n_signs.cumsum() / 2.0**n, 0.025)) - 1
    return float(walsh[place]), float(np.median(walsh)), float(walsh[-1 - place])


def size_text(low: float, typical: float, high: float) -> str:
    """Return a typical loss with its 95 % interval as text."""
    low_end, middle, high_end = (printed(value, SIGNED) for value in (low, typical, high))
    return f"{middle} points (95 % interval {low_end} to {high_end})"


def equivalence(multiples: Floats) -> tuple[float, float, float]:
    """Return the posterior probabilities of a typical loss below −margin, within ±margin, and above the margin.

    Bayesian signed-rank test (Benavoli et al. 2014, section 3, and 2017): the losses and a loss of 0, the prior, have
    random weights; the typical loss lies where the weighted means of two losses lie most often.
    """
    values = np.append(0.0, multiples)
    weights = np.random.RandomState(_SEED).dirichlet([_PRIOR, *np.ones(len(multiples))], _N_SAMPLES)
    means = (values[:, None] + values) / 2.0
    sides = (np.heaviside(side - 1.0, 0.5) for side in (-means, means))
    below, above = (np.einsum("ij,jk,ik->i", weights, side, weights) for side in sides)
    outcomes = np.stack([below, 1.0 - below - above, above]).argmax(axis=0)
    better, alike, worse = np.bincount(outcomes, minlength=3) / _N_SAMPLES
    return float(better), float(alike), float(worse)
