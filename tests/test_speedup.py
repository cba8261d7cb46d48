"""Speed-ups from learners with given times and operations: order of measurement and medians."""

import inspect
from functools import cache

import numpy as np
import pytest

from pppca_bench.base.parameters import ParameterError, parameters_of
from pppca_bench.engines import DGHA, GHA
from pppca_bench.engines.counterparts import LiteralDGHA
from pppca_bench.experiments import speedup
from pppca_bench.experiments.speedup import N_ROUNDS, Speedup

X = np.zeros((3, 2))
# Times in ms of the rounds. Medians of the first three: 12 and 3, then 8 and 6.
TIMES = {
    ("GHA", "literal"): [900.0, 12.0, 11.0, 300.0],
    ("DGHA", "literal"): [3.0, 2.0, 1000.0, 4.0, 1.0, 4.0, 5.0, 5.0, 5.0],
    ("GHA", "fast"): [8.0, 8.0, 8.0, 7.0, 7.0, 7.0, 7.0, 7.0],
    ("DGHA", "fast"): [5.0, 6.0, 7.0, 6.0, 5.5, 6.0, 9.0, 9.0, 9.0],
}


@pytest.fixture
def log(monkeypatch) -> list[tuple[str, str]]:
    """Replace the learners by ones that take the times above; return what learned, in order."""
    learned: list[tuple[str, str]] = []

    class Fast:
        kernel = "fast"

        def __init__(self, **given):
            self.name = "DGHA" if given == PARAMETERS else "GHA"

        def fit(self, inputs):
            assert inputs.shape == X.shape
            learned.append((self.name, self.kernel))
            self.learning_time_ms_ = TIMES[learned[-1]][learned.count(learned[-1]) - 1]
            self.n_operations_, self.n_components_ = {"GHA": (1000, 2), "DGHA": (250, 1)}[self.name]
            return self

    monkeypatch.setattr(speedup, "DGHA", Fast)
    monkeypatch.setattr(speedup, "LiteralDGHA", type("Literal", (Fast,), {"kernel": "literal"}))
    for name in ("_count_operations", "_times_of_gha"):
        monkeypatch.setattr(speedup, name, cache(getattr(speedup, name).__wrapped__))
    return learned


PARAMETERS = {"learning_rate": 0.5, "tau": 15.0, "random_state": 7}


def test_gha_is_timed_before_dgha_for_each_kernel(log):
    Speedup(**PARAMETERS).fit(X)
    first, *rounds = log
    assert first == ("GHA", "fast"), "which is not timed, and shows whether it diverges"
    kernels, names = ("literal", "fast"), ("GHA", "DGHA")
    assert rounds == [(name, kernel) for kernel in kernels for name in names for _ in range(3)]


def test_gha_learns_again_when_dgha_has_learnt_as_long_and_its_last_rounds_count(log):
    first, second, third = (Speedup(**PARAMETERS).fit(X).measures_ for _ in range(3))
    assert log.count(("DGHA", "literal")) == 3 * N_ROUNDS
    # GHA's 923 ms at first and DGHA's 1005 ms call for another round of GHA; its 300 ms and DGHA's 9 ms for none.
    assert [measures["gha_time_ms"] for measures in (first, second, third)] == [12.0, 156.0, 156.0]


@pytest.mark.usefixtures("log")
def test_a_speedup_is_the_ratio_of_the_medians():
    assert N_ROUNDS == 3
    assert Speedup(**PARAMETERS).fit(X).measures_ == {
        "speedup": 12.0 / 3.0,
        "speedup_operations": 1000 / 250,
        "speedup_fast": 8.0 / 6.0,
        "gha_time_ms": 12.0,
        "dgha_time_ms": 3.0,
        "dimensionality": 1,
    }


def test_untimed_speedups_fit_each_method_once_and_gha_once_for_the_same_sizes(log):
    counted = Speedup(**PARAMETERS, timed=False).fit(X)
    assert counted.measures_ == {"speedup_operations": 4.0, "dimensionality": 1}
    Speedup(**PARAMETERS, timed=False).fit(X)
    assert sorted(log) == [("DGHA", "fast"), ("DGHA", "fast"), ("GHA", "fast")]


SAMPLES = np.random.default_rng(0).uniform(size=(30, 4))


def test_its_parameters_are_those_of_dgha_and_whether_it_measures_times():
    ours, dgha = parameters_of(Speedup), parameters_of(DGHA)
    assert ours.keys() == dgha.keys() | {"timed"}
    assert all(ours[name] == dgha[name] for name in ours.keys() - {"timed", "random_state"})
    kinds = {one.kind for one in inspect.signature(Speedup).parameters.values()}
    assert kinds == {inspect.Parameter.KEYWORD_ONLY}


def test_both_learn_with_the_settings_that_they_share_from_the_same_seed():
    settings = {"n_epochs": 6, "learning_rate": 0.7, "tau": 1e12, "first_check": 6, "head_start": 0}
    measured = Speedup(**settings, timed=False, random_state=3).fit(SAMPLES)
    gha = GHA(n_epochs=6, learning_rate=0.7 / len(SAMPLES), random_state=3).fit(SAMPLES)
    dgha = LiteralDGHA(**settings, random_state=3).fit(SAMPLES)
    assert measured.measures_["speedup_operations"] == gha.n_operations_ / dgha.n_operations_
    assert measured.measures_["dimensionality"] == dgha.n_components_


def test_unknown_parameters_and_parameters_that_do_not_agree_are_refused():
    measured = Speedup(min_components=3, max_components=2)
    for refuse in (measured.check_agreement, lambda: measured.fit(SAMPLES)):
        said = r"min_components.*: expected at most max_components \(2\), got 3"
        with pytest.raises(ParameterError, match=said):
            refuse()
    with pytest.raises(TypeError, match="kernle"):
        Speedup(kernle="fast").fit(SAMPLES)
