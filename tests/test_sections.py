"""Sections of configs: keys, defaults and ranges from the estimators' constructors."""

from typing import Any

import pytest
from builders import config_of

from pppca_bench.base.parameters import Count, LayerSizes, Positive
from pppca_bench.errors import ConfigError
from pppca_bench.methods.entry import Classifier, Method
from pppca_bench.methods.protocol import constructor_arguments, section_of
from pppca_bench.methods.registry import CLASSIFIERS, METHODS

ENTRIES = [*METHODS.values(), *CLASSIFIERS.values()]
DOCUMENT = {"name": "a", "problems": ["iris"], "repeats": 1, "seed": 1}


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_key_states_its_values_and_admits_its_default(entry):
    for key, parameter in section_of(entry).items():
        assert parameter.name == key
        assert "a value" not in parameter.expected
        assert parameter.checked(parameter.default) == parameter.default


class Toy:
    def __init__(
        self,
        rate: Positive,
        *,
        hidden_layer_sizes: LayerSizes = (3,),
        n_steps: Count = 5,
        unstated=None,
        random_state: Any = None,
        estimator: Any = None,
        validation_fraction: Any = None,
    ) -> None:
        pass

    def fit(self, X, y):
        pass

    def transform(self, X):
        pass

    predict = transform


@pytest.fixture
def toy(register):
    return register(
        Method(name="toy", title="", does="", source="", estimator=f"{__name__}:Toy", defaults={"n_steps": 7})
    )


def test_a_section_is_read_from_the_annotations_of_a_constructor(toy):
    section = section_of(toy)
    assert {key: parameter.expected for key, parameter in section.items()} == {
        "rate": "a number > 0",
        "hidden": "'pivot' or a list of at most 5 integers from 1 to 1000",
        "n_steps": "an integer from 1 to 1000000",
        "unstated": "a value",
    }
    assert section["n_steps"].default == 7, "of the entry, not of the constructor"
    assert section["hidden"].default == (3,)


def test_a_sections_values_are_given_to_the_constructor_by_its_own_names():
    class Other:
        def __init__(self, hidden: Count = 3) -> None:
            pass

    given = constructor_arguments(Toy, {"rate": 1.0, "hidden": (2,), "n_steps": 1})
    assert given == {"rate": 1.0, "hidden_layer_sizes": (2,), "n_steps": 1}
    assert constructor_arguments(Other, {"hidden": 3}) == {"hidden": 3}


def methods_of(**section: object):
    return config_of(DOCUMENT | {"methods": [{"method": "toy", **section}]}).methods


@pytest.mark.usefixtures("toy")
def test_a_parameter_without_a_default_has_to_be_given():
    (method,) = methods_of(rate=0.5)
    assert method.grid == {"rate": (0.5,), "hidden": ((3,),), "n_steps": (7,), "unstated": (None,)}
    with pytest.raises(ConfigError, match=r"^a\.yaml:\d+: methods\[0\]\.rate: expected a value, got none\."):
        methods_of()


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize("value", [{"a": 1}, [{"a": 1}], [[[1, 2]]]])
def test_a_parameter_without_annotation_takes_storable_values_only(value):
    with pytest.raises(ConfigError, match=r"unstated.*: expected a number, text, true, false, null or a list, got "):
        methods_of(rate=1, unstated=value)


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize(
    ("given", "values"), [("x", ("x",)), (None, (None,)), ([1, 2.5], (1, 2.5)), ([[1, 2]], ((1, 2),))]
)
def test_a_storable_value_of_a_parameter_without_annotation_is_kept(given, values):
    (method,) = methods_of(rate=1, unstated=given)
    assert method.grid["unstated"] == values


def test_a_classifiers_section_is_read_from_its_constructor(register):
    entry = register(Classifier(name="toy", title="", does="", source="", estimator=f"{__name__}:Toy"))
    (method,) = config_of(
        DOCUMENT | {"methods": ["all_features"], "classifier": {"rule": "toy", "rate": [1, 2]}}
    ).methods
    defaults = {key: (one.default,) for key, one in section_of(entry).items()}
    assert method.classifier == defaults | {"rule": ("toy",), "rate": (1.0, 2.0)}
