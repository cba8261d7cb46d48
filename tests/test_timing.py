"""Speed-ups from learners whose times and operations are set by hand: the order of measuring, and the medians."""

from collections.abc import Iterator

import numpy as np
import pytest

from pppca_bench.experiments import speedup as timing
from pppca_bench.experiments.speedup import N_ROUNDS, measure_speedup

X = np.zeros((3, 2))
# Times in ms of the five rounds; the first, disturbed, must not count. Medians: 12 and 3, then 8 and 6.
TIMES = {
    ("GHA", "literal"): [900.0, 12.0, 11.0, 13.0, 10.0],
    ("DGHA", "literal"): [3.0, 2.0, 500.0, 1.0, 4.0],
    ("GHA", "fast"): [8.0, 8.0, 8.0, 8.0, 80.0],
    ("DGHA", "fast"): [5.0, 6.0, 7.0, 6.0, 5.5],
}


@pytest.fixture
def log(monkeypatch) -> Iterator[list[tuple[str, str]]]:
    """Replace the learners by ones that take the times above; return what learned, in order."""
    learned: list[tuple[str, str]] = []

    class Learner:
        def fit(self, inputs):
            assert inputs.shape == X.shape
            name = type(self).__name__
            learned.append((name, self.kernel))
            self.learning_time_ms_ = TIMES[name, self.kernel][learned.count((name, self.kernel)) - 1]
            self.n_operations_, self.n_components_ = {"GHA": (1000, 2), "DGHA": (250, 1)}[name]
            return self

    class GHA(Learner):
        def __init__(self, learning_rate=0.1, kernel="fast", random_state=None):
            self.learning_rate, self.kernel, self.random_state = learning_rate, kernel, random_state

    class DGHA(GHA):
        def __init__(self, learning_rate=0.1, tau=0, kernel="fast", random_state=None):
            super().__init__(learning_rate, kernel, random_state)
            assert (learning_rate, tau, random_state) == (0.5, 15.0, 7)

    monkeypatch.setattr(timing, "GHA", GHA)
    monkeypatch.setattr(timing, "DGHA", DGHA)
    timing._count_operations.cache_clear()
    yield learned
    timing._count_operations.cache_clear()


PARAMETERS = {"learning_rate": 0.5, "tau": 15.0}


def test_the_pair_learns_alternately_one_kernel_after_the_other(log):
    measure_speedup(PARAMETERS, 7, X)
    pairs = [[("GHA", kernel), ("DGHA", kernel)] * N_ROUNDS for kernel in ("literal", "fast")]
    assert log == pairs[0] + pairs[1]


@pytest.mark.usefixtures("log")
def test_a_speedup_is_the_ratio_of_the_medians():
    assert N_ROUNDS == 3
    measures, dimensionality = measure_speedup(PARAMETERS, 7, X)
    assert measures == {
        "speedup": 12.0 / 3.0,
        "speedup_operations": 1000 / 250,
        "speedup_fast": 8.0 / 6.0,
        "gha_time_ms": 12.0,
        "dgha_time_ms": 3.0,
    }
    assert dimensionality == 1


def test_counting_alone_learns_once_each_and_measures_no_time(log):
    assert measure_speedup(PARAMETERS, 7, X, timed=False) == ({"speedup_operations": 4.0}, 1)
    assert sorted(log) == [("DGHA", "literal"), ("GHA", "literal")]


def test_ghas_count_is_made_once_for_the_same_sizes(log):
    for _ in range(3):
        measure_speedup(PARAMETERS, 7, X, timed=False)
    assert log.count(("GHA", "literal")) == 1
