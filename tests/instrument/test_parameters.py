"""Parameters of estimators: admissible values, error messages, and declarations by constructors."""

import pickle
from typing import Any, Literal

import numpy as np
import pytest

from pppca_bench.base.parameters import (
    REQUIRED,
    Count,
    LayerSizes,
    NotNegativeOrInfinite,
    Parameter,
    ParameterError,
    Positive,
    PositivePair,
    Tau,
    check_order,
    check_parameters,
    make_generator,
    parameters_of,
)
from pppca_bench.classifiers import RpropMLPRegressor
from pppca_bench.engines import DGHA, GHA
from pppca_bench.methods.protocol import contract_of
from pppca_bench.methods.registry import CLASSIFIERS, METHODS


class Estimator:
    """An estimator with a rule between two of its parameters."""

    def __init__(
        self, low: Count, *, high: Count | None = None, anything=None, **_others: Any
    ) -> None:
        self.low, self.high, self.anything = low, high, anything

    def check_agreement(self) -> None:
        check_order(self, "low", "high")


@pytest.mark.parametrize(
    ("annotation", "value", "canonical"),
    [
        (Positive, 1, 1.0),
        (Positive | None, None, None),
        (Count, np.int64(3), 3),
        (Tau, 1, 1.0),
        (bool, True, True),
        (Literal["a", "b"], "b", "b"),
        (LayerSizes, [16, 8], (16, 8)),
        (LayerSizes, np.array([3, 4]), (3, 4)),
        (LayerSizes, 16, (16,)),
        (LayerSizes, np.int64(16), (16,)),
        (PositivePair, [1, 2.5], (1.0, 2.5)),
        (NotNegativeOrInfinite, float("inf"), float("inf")),
        (Any, "whatever", "whatever"),
    ],
)
def test_an_admissible_value_has_a_canonical_form(annotation, value, canonical):
    checked = Parameter("x", annotation, None).checked(value)
    assert checked == canonical
    assert type(checked) is type(canonical)


def test_a_constructor_declares_its_parameters_in_order_with_their_defaults():
    parameters = parameters_of(Estimator)
    assert list(parameters) == ["low", "high", "anything"]
    assert parameters["low"].default is REQUIRED
    assert parameters["high"].expected == "an integer from 1 to 1000000 or null"
    assert parameters["anything"].annotation is Any


def test_an_estimator_is_checked_by_annotations_and_its_own_rules():
    expected = {"low": 2, "high": 3, "anything": None}
    assert check_parameters(Estimator(np.int64(2), high=3)) == expected
    for agreeing in (Estimator(3, high=3), Estimator(3)):
        check_parameters(agreeing)
    limits = (Estimator(0), "an integer from 1 to 1000000, got 0")
    for wrong, said in (limits, (Estimator(3, high=2), r"at most high \(2\), got 3")):
        with pytest.raises(ParameterError, match=rf"^low in Estimator: expected {said}\.$"):
            check_parameters(wrong)


def test_a_parameter_error_can_be_pickled():
    error = ParameterError("x", "a number > 0", -1, where="Estimator")
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), vars(copy)) == (str(error), vars(error))


ESTIMATORS = [contract_of(entry).estimator for entry in (*METHODS.values(), *CLASSIFIERS.values())]
UNSTATED = {"estimator", "random_state"}
CHECKED = [*ESTIMATORS, RpropMLPRegressor]


@pytest.mark.parametrize("estimator", CHECKED, ids=lambda one: one.__name__)
def test_every_default_is_admissible_and_agrees_with_the_others(estimator):
    expected = {name: one.default for name, one in parameters_of(estimator).items()}
    assert check_parameters(estimator()) == expected


STATED = [(one, name) for one in CHECKED for name in parameters_of(one) if name not in UNSTATED]


@pytest.mark.parametrize(("estimator", "name"), STATED)
def test_fit_checks_every_parameter(estimator, name):
    names = "|".join(one.__name__ for one in estimator.__mro__)  # a counterpart fits its base class
    said = rf"^{name} in ({names}): expected .*, got <object object"
    with pytest.raises(ParameterError, match=said):
        estimator(**{name: object()}).fit(np.eye(4), [0, 1, 0, 1])


@pytest.mark.parametrize("estimator", [GHA, DGHA])
def test_partial_fit_checks_the_parameters(estimator):
    said = r"^n_epochs in \w+: expected an integer from 1 to 1000000, got 0\.$"
    with pytest.raises(ParameterError, match=said):
        estimator(n_epochs=0).partial_fit(np.eye(4))


def test_every_kind_of_random_state_gives_the_stream_of_its_seed():
    sources = (7, np.random.default_rng(7), np.random.SeedSequence(7))
    assert len({make_generator(source).random() for source in sources}) == 1
    one, other = (make_generator(np.random.RandomState(7)).random() for _ in range(2))
    assert one == other != make_generator(np.random.RandomState(8)).random()


@pytest.mark.parametrize("source", [None, np.random])
def test_without_a_random_state_numpys_global_state_decides(source):
    draws, state = [], np.random.get_state()
    for _ in range(2):
        np.random.seed(0)
        draws.append([make_generator(source).random() for _ in range(3)])
    np.random.set_state(state)
    assert draws[0] == draws[1]
    assert len(set(draws[0])) == 3
