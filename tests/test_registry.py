"""Registry of methods and classifiers, and the protocol of their estimators."""

import re

import pytest

from pppca_bench.compiled.cache import FAMILIES
from pppca_bench.errors import ConfigError
from pppca_bench.methods.entry import Classifier, Method
from pppca_bench.methods.protocol import contract_of, import_estimator, section_of
from pppca_bench.methods.registry import CLASSIFIERS, DEFAULT_RULE, METHODS

ENTRIES = [*METHODS.values(), *CLASSIFIERS.values()]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_entry_is_described_and_its_class_follows_the_protocol(entry):
    assert re.fullmatch(r"[a-z][a-z0-9_]*", entry.name)
    assert all((entry.title, entry.does, entry.source))
    assert entry.version >= 1
    assert contract_of(entry).estimator.__name__ == entry.estimator.partition(":")[2]


def test_names_and_titles_of_entries_are_unique():
    assert len({entry.name for entry in ENTRIES}) == len({entry.title for entry in ENTRIES}) == len(ENTRIES)
    assert {name: entry.name for name, entry in METHODS.items()} == {name: name for name in METHODS}
    assert {rule: entry.name for rule, entry in CLASSIFIERS.items()} == {rule: rule for rule in CLASSIFIERS}


@pytest.mark.parametrize("entry", METHODS.values(), ids=lambda entry: entry.name)
def test_the_parameters_that_an_entry_names_exist(entry):
    section = section_of(entry)
    named = {*entry.defaults, *entry.instead_of_tau, *(name for name, _ in entry.labels), entry.timed_by} - {""}
    assert named <= section.keys()
    assert "tau" in section or not entry.instead_of_tau
    assert all(section[name].checked(value) == value for name, value in entry.labels)
    assert not entry.timed_by or isinstance(section[entry.timed_by].default, bool)
    assert not entry.seeded_as or entry.seeded_as in METHODS
    assert not METHODS.get(entry.seeded_as, entry).seeded_as or not entry.seeded_as


def test_the_default_rule_is_a_single_network():
    assert not CLASSIFIERS[DEFAULT_RULE].is_ensemble


class Learns:
    """A class with the necessary methods and no optional argument."""

    def fit(self, X, y):
        pass


class Reduces(Learns):
    def transform(self, X):
        pass


class Predicts(Learns):
    def predict(self, X):
        pass


class Asks:
    """A class with all optional arguments."""

    def __init__(self, estimator, random_state=None):
        pass

    def fit(self, X, y, X_val, y_val, *, classes):
        pass

    transform = predict = Reduces.transform


class NeverLearns:
    def transform(self, X):
        pass


class HasWordsForMethods(Reduces):
    fit = None


class TakesHalf(Reduces):
    def fit(self, X, y, X_val=None):
        pass


class IsNamedAsAKey(Reduces, Predicts):
    def __init__(self, rule=2):
        pass


def method(estimator: object, makes: str = "features") -> Method:
    path = estimator if isinstance(estimator, str) else f"{__name__}:{estimator.__name__}"
    return Method(name="toy", title="", does="", source="", estimator=path, makes=makes)


def classifier(estimator: object) -> Classifier:
    return Classifier(name="toy", title="", does="", source="", estimator=f"{__name__}:{estimator.__name__}")


@pytest.mark.parametrize("entry", [method(Reduces), method(Predicts, "classes"), method(Learns, "measures")])
def test_a_class_with_the_necessary_methods_is_accepted(entry):
    contract = contract_of(entry)
    assert not any((contract.takes_seed, contract.takes_classifier, contract.takes_validation, contract.takes_classes))


@pytest.mark.parametrize("entry", [method(Asks), classifier(Asks)])
def test_optional_arguments_are_those_of_the_signatures(entry):
    contract = contract_of(entry)
    assert all((contract.takes_seed, contract.takes_classifier, contract.takes_validation, contract.takes_classes))


@pytest.mark.parametrize(
    ("entry", "refusal"),
    [
        (method(Learns), "{path}: expected a class with fit and transform, got a class without transform."),
        (method(Reduces, "classes"), "{path}: expected a class with fit and predict, got a class without predict."),
        (classifier(Reduces), "{path}: expected a class with fit and predict, got a class without predict."),
        (method(NeverLearns), "{path}: expected a class with fit and transform, got a class without fit."),
        (method(HasWordsForMethods), "{path}: expected a class with fit and transform, got a class without fit."),
        (method(str), "{path}: expected module:Class that can be imported, got module 'test_registry' has no attri"),
        (method(NeverLearns, "measures"), "{path}: expected a class with fit, got a class without fit."),
        (method(TakesHalf), "{path}: expected fit to take X_val and y_val together, got one of them."),
        (classifier(IsNamedAsAKey), "{path}: expected no parameter named rule or base or portrait or predictions, "),
    ],
)
def test_a_class_that_breaks_the_protocol_is_refused_with_the_reason(entry, refusal):
    with pytest.raises(ConfigError) as caught:
        contract_of(entry)
    assert str(caught.value).startswith(refusal.format(path=entry.estimator))


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
