"""Registry of methods and classifiers, the protocol of their estimators, and sections of configs from constructors."""

import re
from dataclasses import replace
from typing import Any

import pytest
from builders import config_of

from pppca_bench.base.parameters import Count, LayerSizes, Positive, parameters_of
from pppca_bench.compiled.cache import FAMILIES
from pppca_bench.errors import ConfigError
from pppca_bench.methods.entry import Classifier, Method
from pppca_bench.methods.protocol import (
    constructor_arguments,
    contract_of,
    import_estimator,
    section_of,
)
from pppca_bench.methods.registry import CLASSIFIERS, METHODS

ENTRIES = [*METHODS.values(), *CLASSIFIERS.values()]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_entry_is_described_and_its_class_follows_the_protocol(entry):
    assert re.fullmatch(r"[a-z][a-z0-9_]*", entry.name)
    assert all((entry.title, entry.does, entry.source))
    assert entry.version >= 1
    assert contract_of(entry).estimator.__name__ == entry.estimator.partition(":")[2]
    for key, parameter in section_of(entry).items():
        assert parameter.name == key
        assert "a value" not in parameter.expected
        assert parameter.checked(parameter.default) == parameter.default
    for key in entry.of_classes if isinstance(entry, Classifier) else ():
        assert section_of(entry)[key].default is None
        assert not entry.regressor or key not in parameters_of(import_estimator(entry.regressor))


def test_names_and_titles_of_entries_are_unique():
    names = [entry.name for entry in ENTRIES]
    assert names == [*METHODS, *CLASSIFIERS]
    assert len(set(names)) == len({entry.title for entry in ENTRIES}) == len(ENTRIES)


@pytest.mark.parametrize("entry", METHODS.values(), ids=lambda entry: entry.name)
def test_the_parameters_that_an_entry_names_exist(entry):
    section = section_of(entry)
    assert {*entry.defaults, *entry.instead_of_tau} <= section.keys()
    assert "tau" in section or not entry.instead_of_tau
    assert not entry.seeded_as or not METHODS[entry.seeded_as].seeded_as


def fit(self, X, y): ...


def apply(self, X): ...


def make(name: str, **members: object) -> type:
    """Return a class of this module, which a dotted path names."""
    globals()[name] = type(name, (), {"__module__": __name__, **members})
    return globals()[name]


Learns, Reduces = make("Learns", fit=fit), make("Reduces", fit=fit, transform=apply)
Predicts = make("Predicts", fit=fit, predict=apply)
HasWordsForMethods = make("HasWordsForMethods", fit=None, transform=apply)


class Asks:
    """A class with all optional arguments."""

    def __init__(self, estimator, random_state=None): ...

    def fit(self, X, y, X_val, y_val, *, classes): ...

    transform = predict = apply


class TakesHalf:
    def fit(self, X, y, X_val=None): ...

    transform = apply


class IsNamedAsAKey:
    def __init__(self, rule=2): ...

    fit, predict = fit, apply


def method(estimator: type, makes: str = "features") -> Method:
    path = f"{__name__}:{estimator.__name__}"
    return Method(name="toy", title="", does="", source="", estimator=path, makes=makes)


def classifier(estimator: type) -> Classifier:
    path = f"{__name__}:{estimator.__name__}"
    return Classifier(name="toy", title="", does="", source="", estimator=path)


def optional_arguments(entry: Method | Classifier) -> list[bool]:
    own = contract_of(entry)
    return [own.takes_seed, own.takes_classifier, own.takes_validation, own.takes_classes]


@pytest.mark.parametrize(
    ("entry", "takes"),
    [
        (method(Reduces), False),
        (method(Predicts, "classes"), False),
        (method(Learns, "measures"), False),
        (method(Asks), True),
        (classifier(Asks), True),
    ],
)
def test_optional_arguments_are_those_of_the_signatures(entry, takes):
    assert optional_arguments(entry) == [takes] * 4


FIT = "a class with fit, got a class without fit."
TRANSFORM = "a class with fit and transform, got a class without"
PREDICT = "a class with fit and predict, got a class without predict."


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (method(Learns), f"{TRANSFORM} transform."),
        (method(HasWordsForMethods), f"{TRANSFORM} fit."),
        (method(HasWordsForMethods, "measures"), FIT),
        (method(Reduces, "classes"), PREDICT),
        (classifier(Reduces), PREDICT),
        (method(TakesHalf), "fit to take X_val and y_val together, got one of them."),
        (classifier(IsNamedAsAKey), "no parameter named rule or base or predictions, "),
    ],
)
def test_a_class_that_breaks_the_protocol_is_refused_with_the_reason(entry, expected):
    with pytest.raises(ConfigError, match=f"^{entry.estimator}: expected {expected}"):
        contract_of(entry)


@pytest.mark.parametrize(
    ("path", "got"),
    [
        ("no_such_module:Toy", "No module named 'no_such_module'"),
        ("pppca_bench.engines.gha:Toy", "module 'pppca_bench.engines.gha' has no attribute 'Toy'"),
        ("pppca_bench.engines.gha", "module 'pppca_bench.engines.gha' has no attribute ''"),
        ("", "Empty module name"),
        ("pppca_bench.engines:__all__", "list"),
    ],
)
def test_a_path_to_no_class_is_refused_with_the_reason(path, got):
    with pytest.raises(ConfigError) as caught:
        import_estimator(path)
    expected = "a class" if got == "list" else "module:Class that can be imported"
    assert str(caught.value) == f"{path}: expected {expected}, got {got}."


def test_the_families_of_kernels_are_those_of_the_entries():
    assert {family for entry in ENTRIES for family in entry.kernels} == FAMILIES.keys()


DOCUMENT = {"name": "a", "problems": ["iris"], "repeats": 1, "seed": 1}


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
    ) -> None: ...

    fit, transform, predict = fit, apply, apply


@pytest.fixture
def toy(register):
    return register(replace(method(Toy), defaults={"n_steps": 7}))


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
        def __init__(self, hidden: Count = 3) -> None: ...

    given = constructor_arguments(Toy, {"rate": 1.0, "hidden": (2,)})
    assert given == {"rate": 1.0, "hidden_layer_sizes": (2,)}
    assert constructor_arguments(Other, {"hidden": 3}) == {"hidden": 3}


def methods_of(**section: object):
    return config_of(DOCUMENT | {"methods": [{"method": "toy", **section}]}).methods


@pytest.mark.usefixtures("toy")
def test_a_parameter_without_a_default_has_to_be_given():
    (method,) = methods_of(rate=0.5)
    assert method.grid == {"rate": (0.5,), "hidden": ((3,),), "n_steps": (7,), "unstated": (None,)}
    said = r"^a\.yaml:\d+: methods\[0\]\.rate: expected a value, got none\."
    with pytest.raises(ConfigError, match=said):
        methods_of()


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize(
    ("given", "values"),
    [("x", ("x",)), (None, (None,)), ([1, 2.5], (1, 2.5)), ([[1, 2]], ((1, 2),))],
)
def test_a_parameter_without_annotation_takes_storable_values_only(given, values):
    (method,) = methods_of(rate=1, unstated=given)
    assert method.grid["unstated"] == values
    said = r"unstated.*: expected a number, text, true, false, null or a list, got "
    for wrong in ({"a": given}, [{"a": given}], [[[given]]]):
        with pytest.raises(ConfigError, match=said):
            methods_of(rate=1, unstated=wrong)
