"""Shares of NE-pPCA's time and operations."""

import time

import numpy as np
import pytest

from pppca_bench.engines.fitness_time import FitnessTime

SAMPLES = np.random.default_rng(0).uniform(size=(30, 4))


def test_shares_are_of_the_times_between_the_steps(monkeypatch):
    # Of each generation's four readings: breeding 1 s, Gram-Schmidt 2 s, responses 5 s.
    readings = iter(np.cumsum([0.0, *[1.0, 2.0, 5.0, 0.0] * 3]))
    monkeypatch.setattr(time, "perf_counter", lambda: next(readings))
    measures = FitnessTime(n_generations=2, random_state=0).fit(SAMPLES).measures_
    expected = {"fitness_time_percent": 87.5, "gram_schmidt_time_percent": 25.0}
    expected |= {"responses_time_percent": 62.5, "breeding_time_percent": 12.5}
    expected |= {"evolution_time_ms": 24_000.0}
    times = {name: value for name, value in measures.items() if "time" in name}
    assert times == pytest.approx(expected)


def test_operations_are_counted_over_all_networks_before_removal_without_times():
    # Of 4 nodes twice: responses 30 * 4 * 5, Gram-Schmidt 4 * 16; of the offspring: breeding 4 * 4 * 4.
    measures = (
        FitnessTime(1e12, n_generations=1, timed=False, random_state=0).fit(SAMPLES).measures_
    )
    assert measures == {
        "dimensionality": 4,
        "fitness_operations_percent": pytest.approx(100 * 1328 / (1328 + 64)),
    }


def test_the_scale_of_the_data_does_not_matter():
    usual, *others = (
        FitnessTime(random_state=0).fit(SAMPLES * s) for s in (1.0, 2.0**-450, 2.0**450)
    )
    for other in others:
        np.testing.assert_array_equal(
            other.explained_variance_ratio_, usual.explained_variance_ratio_
        )
