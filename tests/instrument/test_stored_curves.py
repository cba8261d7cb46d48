"""Stored curves of networks: any stopping criterion can be read off a single training."""

import numpy as np
import pytest
from builders import config_of, opened, small, specs_of
from numpy.testing import assert_array_equal

from pppca_bench.classifiers import (
    BackpropMLPClassifier,
    RpropMLPClassifier,
    RpropMLPRegressor,
    fit_together,
)
from pppca_bench.errors import ConfigError
from pppca_bench.experiments.cell import run_group
from pppca_bench.store.columns import CURVES, pack, unpack

COMMON = {"hidden_layer_sizes": (6,), "initial_weight_range": 0.1, "eta_plus": 1.1}
FAR = {"generalisation_loss": 5.0, "successive_increases": 8, "progress_quotient": 3.0}
"""Limits of a training that goes on beyond those of the trainings that stop alone."""


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


def fitted(kind, data, *, records: bool, **parameters):
    """Return networks fitted to data of their own, side by side."""
    networks = [kind(**parameters, random_state=seed) for seed in range(len(data))]
    for network in networks:
        network.records_curve = records
    return fit_together(networks, data)


@pytest.mark.parametrize(
    ("kind", "n_classes", "parameters"),
    [
        (RpropMLPClassifier, 2, COMMON | FAR),
        (RpropMLPRegressor, None, COMMON | FAR | {"max_epochs": 53}),
        (RpropMLPClassifier, 2, COMMON | {"training_progress": 0.5}),
        (BackpropMLPClassifier, 2, {"hidden_layer_sizes": (6,), "max_epochs": 33, "keep": "best"}),
    ],
)
def test_recording_changes_no_training(kind, n_classes, parameters):
    data = [noisy(seed, n_classes=n_classes) for seed in range(3)]
    recording, plain = (
        fitted(kind, data, records=records, **parameters) for records in (True, False)
    )
    for own, other, (X, y, *_) in zip(recording, plain, data, strict=True):
        assert_array_equal(own.training_curve_, other.training_curve_)
        assert_array_equal(own.validation_curve_, other.validation_curve_)
        assert own.stop_reason_ == other.stop_reason_
        curve = own.error_curve(X, y)
        assert len(curve) == len(own.validation_curve_)
        assert curve[-1] == other.squared_error_percent(X, y)


@pytest.mark.parametrize(
    ("kind", "n_classes"), [(RpropMLPClassifier, 2), (RpropMLPRegressor, None)]
)
def test_a_point_of_the_curve_is_the_error_of_a_training_that_stops_there(kind, n_classes):
    data = [noisy(seed, n_classes=n_classes) for seed in range(3)]
    recording = fitted(kind, data, records=True, **COMMON, **FAR)
    alone = fitted(kind, data, records=False, **COMMON, generalisation_loss=1.0)
    for own, other, (X, y, *_) in zip(recording, alone, data, strict=True):
        strip = len(other.validation_curve_) - 1
        assert strip < len(own.validation_curve_) - 1
        assert own.error_curve(X, y)[strip] == other.squared_error_percent(X, y)


def test_a_run_stores_its_curves_without_rounding():
    classifier = {"hidden": [4], "max_epochs": 60}
    document = small({"method": "all_features", "classifier": classifier}, repeats=1, curve=True)
    (spec,) = specs_of(document)
    ((_, problem),) = opened(["iris"]).values()
    (result,) = run_group([spec], [problem])
    curves = unpack(pack(result.history))
    training, validation, test = (curves[name] for name in CURVES)
    n_epochs = result.values["total_epochs"]
    assert (len(training), len(validation), len(test)) == (n_epochs, n_epochs // 5, n_epochs // 5)
    assert training.min() == result.values["train_squared_error_percent"]
    assert test[-1] == result.values["test_squared_error_percent"]


def test_other_runs_keep_their_keys():
    document = small({"method": "all_features"}, repeats=1)
    (plain,), (curve,) = (specs_of(document | {"curve": value}) for value in (False, True))
    assert "curve" not in plain.cell.settings
    assert (plain.key == curve.key, plain.seed == curve.seed) == (False, True)


def test_a_classifier_without_curves_is_refused():
    document = small({"method": "all_features", "classifier": "stump"}, curve=True)
    with pytest.raises(ConfigError, match="expected a network trained by RPROP or back"):
        config_of(document)
