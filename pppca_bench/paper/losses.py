"""Losses of a method against another: verdicts within data sets, and tests over data sets."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pppca_bench.pages.document import SIGNED, printed
from pppca_bench.quantities import DECIMALS
from pppca_bench.results.statistics import PairedTest, holm, student_t
from pppca_bench.verdicts.pairs import ALPHA, MARGIN

FloatArray = NDArray[np.floating[Any]]
ClaimVerdict = Literal["holds", "does not hold", "undecided"]
Within = Literal["equivalent", "worse", "better", "unclear"]
Test = Callable[[FloatArray], tuple[float, bool]]
"""Function of `multiples`: the two-sided p, and whether less than the margin is lost."""

MIN_DATA_SETS = 6
"""Smallest number of data sets for a test, which cannot be significant with fewer."""

_SEED, _N_SAMPLES, _PRIOR = 1994, 5000, 0.5


class Margin(NamedTuple):
    """Largest loss that does not matter: points, plus a share of the other method's error."""

    points: float = MARGIN
    share: float = 0.0


ONE_POINT = Margin()

OTHER_MARGINS: Mapping[str, Margin] = {
    "0.5 points": Margin(0.5),
    "0.25 points": Margin(0.25),
    "10 % of the error": Margin(0.0, 0.1),
}


def losses(ours: Mapping[str, float], theirs: Mapping[str, float]) -> FloatArray:
    """Return ours − theirs over the data sets that both have, in points."""
    return np.array([ours[name] - theirs[name] for name in ours if name in theirs])


def multiples(losses: ArrayLike, others: ArrayLike = 0.0, margin: Margin = ONE_POINT) -> FloatArray:
    """Return losses as multiples of the margin, given the errors of the other method.

    A loss is infinite if the margin, a share of no error, is 0.
    """
    points = np.asarray(losses, dtype=float)
    margins = margin.points + margin.share * np.asarray(others, dtype=float)
    unbounded: FloatArray = np.where(points > 0.0, np.inf, 0.0)
    np.divide(points, margins, out=unbounded, where=margins > 0.0)
    return unbounded.round(DECIMALS)


def verdict_within(test: PairedTest) -> Within:
    """Return the verdict on the loss on a data set, given its corrected resampled t-test.

    "equivalent": two one-sided tests at the level `ALPHA` place the loss within ±`MARGIN`, that is, its 90 % interval
    lies there. "worse" and "better": not equivalent, and the 95 % interval is above or below 0.
    """
    from scipy.special import stdtrit

    half = (
        (test.high - test.difference)
        * stdtrit(test.n - 1, 1.0 - ALPHA)
        / student_t(0.975, test.n - 1)
    )
    if abs(test.difference) + half < MARGIN:
        return "equivalent"
    return "worse" if test.low > 0.0 else "better" if test.high < 0.0 else "unclear"


def sign_test(multiples: FloatArray) -> tuple[float, bool]:
    """Return the two-sided p of the sign test, and whether most losses are at most the margin.

    Null hypothesis: half of all data sets lose at most the margin.
    """
    from scipy.stats import binomtest

    n, n_small = len(multiples), int((multiples <= 1.0).sum())
    return float(binomtest(n_small, n).pvalue) if n >= MIN_DATA_SETS else math.nan, 2 * n_small > n


def signed_rank_test(multiples: FloatArray) -> tuple[float, bool]:
    """Return the two-sided p of Wilcoxon's signed-rank test, and whether the typical loss is below the margin.

    Null hypothesis: the losses are symmetric around the margin. It is exact without ties.
    """
    from scipy.stats import wilcoxon

    if len(multiples) < MIN_DATA_SETS:
        return math.nan, False
    beyond = np.round(multiples - 1.0, DECIMALS)
    p = float(wilcoxon(beyond, zero_method="zsplit").pvalue) if beyond.any() else 1.0
    return p, typical_loss(beyond)[1] < 0.0


def gain_test(multiples: FloatArray) -> tuple[float, bool]:
    """Return the two-sided p of the signed-rank test of a loss of 0, and whether the typical loss is below 0.

    Null hypothesis: the losses are symmetric around 0.
    """
    return signed_rank_test(multiples + 1.0)


def judge_losses(
    samples: Sequence[FloatArray], test: Test = signed_rank_test
) -> list[tuple[float, ClaimVerdict]]:
    """Return p with Holm's correction over samples of `multiples`, and the verdict on "at most the margin is lost"."""
    tested = [test(sample) for sample in samples]
    judged = list[tuple[float, ClaimVerdict]]()
    for p, (_, is_small) in zip(holm([p for p, _ in tested]), tested, strict=True):
        decided: ClaimVerdict = "holds" if is_small else "does not hold"
        judged.append((p, decided if p < ALPHA else "undecided"))
    return judged


def typical_loss(losses: ArrayLike) -> tuple[float, float, float]:
    """Return the Hodges–Lehmann estimate, the median of the means of all pairs, between the ends of its 95 % interval.

    The interval has the losses that an exact signed-rank test does not reject (Hollander and Wolfe 1999, section 3.3);
    its ends are nan for fewer than `MIN_DATA_SETS` values.
    """
    values = np.asarray(losses, dtype=float)
    n = len(values)
    walsh = np.sort(((values[:, None] + values) / 2.0)[np.triu_indices(n)])
    if n < MIN_DATA_SETS:
        return math.nan, float(np.median(walsh)), math.nan
    n_signs = np.ones(1)  # number of assignments of signs by their sum of positive ranks
    for rank in range(1, n + 1):
        n_signs = np.pad(n_signs, (0, rank)) + np.pad(n_signs, (rank, 0))
    index = int(np.searchsorted(n_signs.cumsum() / 2.0**n, 0.025)) - 1
    return float(walsh[index]), float(np.median(walsh)), float(walsh[-1 - index])


def equivalence(multiples: FloatArray) -> tuple[float, float, float]:
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


class LossComparison(NamedTuple):
    """Comparison of two methods over n data sets: typical loss with its 95 % interval, p, and the verdict.

    ``claim`` is the claim that it belongs to, ``experiment`` the identifier of the experiment; ``gain`` and ``p_gain``
    are the verdict and p at a margin of 0, of comparisons that are tested there, too; ``features_percent`` is the mean
    share of the features that are kept, and ``losses`` has the losses within the n data sets: rows of an experiment's
    table with ``data_set``, ``loss``, ``verdict`` and ``p_of_more``, the one-sided p of the corrected resampled t-test
    of a loss of `MARGIN` or more.
    """

    method: str
    other: str
    n: int
    low: float
    typical: float
    high: float
    p: float  # with Holm's correction
    verdict: ClaimVerdict
    claim: str = ""
    experiment: str = ""
    gain: ClaimVerdict | None = None
    p_gain: float = math.nan
    features_percent: float = math.nan
    losses: Sequence[Mapping[Any, Any]] = ()

    @property
    def name(self) -> str:
        """Return both methods."""
        return f"{self.method} − {self.other}"

    @property
    def has_as_many(self) -> bool:
        """Return whether the first method keeps as many components as the second, after which it is named."""
        return self.method.endswith(f" as {self.other}")

    @property
    def short(self) -> str:
        """Return both methods, without the second in the name of the first."""
        return f"{self.method.removesuffix(f' as {self.other}')} − {self.other}"

    @property
    def interval(self) -> str:
        """Return the typical loss with its 95 % interval in brackets, as in the matrix."""
        low, typical, high = (
            printed(value, SIGNED) for value in (self.low, self.typical, self.high)
        )
        return f"{typical} [{low}, {high}]"

    @property
    def result(self) -> str:
        """Return the typical loss, the number of data sets, p and the verdict."""
        text = f"{self.interval} ({self.n}), p = {self.p:.2g}, {self.verdict}"
        return text + (f", at 0 p = {self.p_gain:.2g}, {self.gain}" if self.gain else "")


def tested_losses(samples: Mapping[tuple[str, str], FloatArray]) -> list[LossComparison]:
    """Test two losses or more of pairs of methods with the signed-rank test and Holm's correction."""
    known = {pair: sample for pair, sample in samples.items() if len(sample) > 1}
    judged = judge_losses([multiples(sample) for sample in known.values()])
    return [
        LossComparison(*pair, len(sample), *typical_loss(sample), p, verdict)
        for (pair, sample), (p, verdict) in zip(known.items(), judged, strict=True)
    ]
