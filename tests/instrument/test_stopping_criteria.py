"""Stops of criteria, read off a single training."""

import math

import numpy as np
import pytest
from builders import opened, small, specs_of
from numpy.testing import assert_array_equal

from pppca_bench.classifiers import RpropMLPClassifier, RpropMLPRegressor, fit_together
from pppca_bench.classifiers.stopping_criteria import (
    ALL_NAMES,
    CriteriaMLPClassifier,
    CriteriaMLPRegressor,
    criteria_met,
    slowest_to_fastest,
)
from pppca_bench.experiments.cell import run_group

SEARCH = {"generalisation_loss": 5.0, "successive_increases": 8, "progress_quotient": 3.0}
"""Limits of the report's search, beyond which no criterion is left."""

COMMON = {"hidden_layer_sizes": (6,), "initial_weight_range": 0.1, "eta_plus": 1.1}


def noisy(seed: int, *, n_classes: int | None) -> list[np.ndarray]:
    """Return training and validation data that networks soon overfit, with few samples and many inputs."""
    rng = np.random.default_rng(seed)
    X, X_val = rng.uniform(size=(40, 8)), rng.uniform(size=(30, 8))
    y, y_val = (
        np.clip(own[:, :2] + rng.normal(0.0, 0.3, (len(own), 2)), 0.0, 1.0) for own in (X, X_val)
    )
    if n_classes:
        y, y_val = ((own[:, 0] > own[:, 1]).astype(int) for own in (y, y_val))
    return [X, y, X_val, y_val]


def alone(name: str) -> dict[str, float]:
    """Return the parameters of a network that a single criterion stops.

    A strip that raised the error, and a quotient above a limit, imply a loss above 0.
    """
    kind, limit = name.split("_")
    parameter = {
        "GL": "generalisation_loss",
        "PQ": "progress_quotient",
        "UP": "successive_increases",
    }[kind]
    return {"generalisation_loss": 0.0, parameter: int(limit) if kind == "UP" else float(limit)}


def fitted(kind, data, **parameters):
    """Return networks fitted to data of their own, side by side."""
    return fit_together([kind(**parameters, random_state=seed) for seed in range(len(data))], data)


@pytest.mark.parametrize("name", ALL_NAMES)
@pytest.mark.parametrize("max_epochs", [53, 400])
def test_reading_off_a_criterion_equals_training_with_it(name, max_epochs):
    common = COMMON | {"max_epochs": max_epochs}
    for n_classes, recorder, plain in (
        (2, CriteriaMLPClassifier, RpropMLPClassifier),
        (None, CriteriaMLPRegressor, RpropMLPRegressor),
    ):
        data = [noisy(seed, n_classes=n_classes) for seed in range(3)]
        recording = fitted(recorder, data, **common, **SEARCH)
        for own, other in zip(recording, fitted(plain, data, **common, **alone(name)), strict=True):
            stop = own.stops_[name]
            assert (stop.epochs, stop.best_epoch) == (other.n_epochs_, other.best_epoch_)
            for matrix, same in zip(stop.weights, other._weights, strict=True):
                assert_array_equal(matrix, same)


def test_recording_does_not_change_the_training_which_ends_with_the_last_criterion():
    data = [noisy(seed, n_classes=2) for seed in range(3)]
    recording, plain = (
        fitted(kind, data, **COMMON, **SEARCH)
        for kind in (CriteriaMLPClassifier, RpropMLPClassifier)
    )
    for own, other in zip(recording, plain, strict=True):
        assert_array_equal(own.validation_curve_, other.validation_curve_)
        assert own.stop_reason_ == other.stop_reason_ == "generalisation_loss"
        assert max(stop.epochs for stop in own.stops_.values()) == other.n_epochs_


def test_each_criterion_is_met_above_its_limit_and_after_enough_increases():
    assert criteria_met(2.0, 4.0, 2) == ["GL_1", "UP_2"]
    assert criteria_met(2.1, 4.0, 3) == ["GL_1", "GL_2", "PQ_0.5", "UP_2", "UP_3"]
    assert criteria_met(0.0, 0.0, 0) == []


def test_the_ratio_of_the_slowest_to_the_fastest_is_a_mean_over_the_classes():
    values = dict.fromkeys(ALL_NAMES, 1.0) | {"GL_5": 2.0, "PQ_3": 3.0, "UP_8": 4.0}
    assert slowest_to_fastest(values) == 3.0
    assert math.isnan(slowest_to_fastest(values | {"GL_1": 0.0}))


def test_a_run_records_the_errors_that_each_criterion_leads_to_on_the_test_split():
    classifier = {"rule": "rprop_criteria", "hidden": [4], "max_epochs": 60, **SEARCH}
    document = small({"method": "all_features", "classifier": classifier}, repeats=1)
    (spec,) = specs_of(document)
    ((_, problem),) = opened(["iris"]).values()
    (result,) = run_group([spec], [problem])
    errors = [result.values[f"test_squared_error_percent_{name}"] for name in ALL_NAMES]
    assert min(errors) > 0.0
    # The last criterion keeps the network that the run itself keeps.
    last = max(ALL_NAMES, key=lambda name: result.values[f"epochs_{name}"])
    own = result.values[f"test_squared_error_percent_{last}"]
    assert own == result.values["test_squared_error_percent"]
