"""Verdicts on published standard deviations, on made-up runs."""

import math

import numpy as np
import pandas as pd
import pytest
from printed_numbers import judged, number_of
from stored_runs import cell_of, results_of, run_of

from pppca_bench.references.numbers import Number, VerdictRule
from pppca_bench.results.statistics import summarise
from pppca_bench.runs import Selector
from pppca_bench.verdicts.deviations import judge_deviations

ERROR = "test_error_percent"


def deviation(values: np.ndarray, printed_sd: float | None, n_published: int = 60) -> pd.Series:
    """Return the verdict on a published deviation, given the values of our runs."""
    cell = cell_of("cancer1", "pca", {}, {})
    runs = results_of([run_of(cell, n, **{ERROR: value}) for n, value in enumerate(values)])
    rule = VerdictRule(margin=1, unit="sd", runs=n_published)
    row = number_of(Number("2.00", printed_sd), summarise(values.tolist()), rule)
    own = {"selection": Selector("cancer1", "pca"), "cells": (0,), "quantity": ERROR}
    numbers = judged([row | own])
    return judge_deviations(numbers, runs).iloc[0]


@pytest.fixture(scope="module")
def normal() -> np.ndarray:
    return np.random.default_rng(4).normal(2.0, 1.0, 240)


def test_the_interval_of_the_ratio_of_normal_deviations_is_that_of_the_formula(normal):
    found, sd = deviation(normal, 1.0), normal.std(ddof=1)
    # the trimmed mean hardly differs from the mean, so that the kurtosis is nearly that of the values
    kurtosis = np.mean((normal - normal.mean()) ** 4) / np.mean((normal - normal.mean()) ** 2) ** 2
    error = math.sqrt(0.25 * sum((kurtosis - (n - 3) / n) / (n - 1) for n in (240, 60)))
    assert found["sd_ratio"] == pytest.approx(sd)
    expected = [sd * math.exp(sign * 1.96 * error) for sign in (-1, 1)]
    assert [found["sd_low"], found["sd_high"]] == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    ("printed", "n_published", "expected"),
    [
        (1.0, 60, "reproduced"),
        (1.4, 60, "differs"),
        (0.24, 60, "differs"),
        (1.0, 10, "cannot tell"),
        (4.0, 10, "differs"),
        (1.0, 1, "cannot tell"),
        (None, 60, ""),
    ],
)
def test_the_verdict_is_that_of_means_with_a_factor_as_margin(
    normal, printed, n_published, expected
):
    assert deviation(normal, printed, n_published)["sd_verdict"] == expected


def test_equal_runs_have_no_verdict():
    assert deviation(np.full(30, 2.0), 0.5)["sd_verdict"] == "cannot tell"


@pytest.mark.slow
def test_the_interval_covers_the_ratio_of_long_tails_as_often_as_it_says():
    rng, covered = np.random.default_rng(11), 0
    for _ in range(200):
        found = deviation(rng.standard_t(8, 240), round(rng.standard_t(8, 60).std(ddof=1), 4))
        covered += found["sd_low"] <= 1.0 <= found["sd_high"]
    assert covered >= 180
