"""Sections of configs: their keys, defaults and ranges are those of the estimators' constructors."""

import inspect
from datetime import date
from typing import Any, Literal

import pytest
from planning import config_of

from pppca_bench.classifiers import BackpropMLPClassifier, RpropMLPClassifier
from pppca_bench.classifiers.ensembles import AdaBoostClassifier, BaggingClassifier
from pppca_bench.classifiers.flgp import FLGPClassifier
from pppca_bench.classifiers.ga_mlp import GAMLPClassifier
from pppca_bench.classifiers.ga_structure import StructureGAClassifier
from pppca_bench.classifiers.pruned_mlp import PrunedMLPClassifier
from pppca_bench.classifiers.rfe_svm import RFESVMClassifier
from pppca_bench.engines import DGHA, GHA, NEpPCA
from pppca_bench.errors import ConfigError
from pppca_bench.methods.entry import Classifier, Method
from pppca_bench.methods.registry import CLASSIFIERS, METHODS
from pppca_bench.methods.sections import constructor_arguments, section_of
from pppca_bench.parameters import Count, LayerSizes, Positive, parameters_of
from pppca_bench.reducers.autoencoder import Autoencoder
from pppca_bench.reducers.filter_selection import FilterSelector
from pppca_bench.reducers.ica import ICA
from pppca_bench.reducers.kernel_pca import GaussianKernelPCA
from pppca_bench.reducers.lda import LDA
from pppca_bench.reducers.linear_projection import CovariancePCA, SingularValuePCA
from pppca_bench.reducers.wrapper_selection import BackwardSelector, ForwardSelector, NetworkRFE

ENGINES = {"gha": GHA, "dgha": DGHA, "ne_ppca": NEpPCA}
BASELINES = {
    "pca": CovariancePCA,
    "pca_svd": SingularValuePCA,
    "kernel_pca": GaussianKernelPCA,
    "ica": ICA,
    "lda": LDA,
    "autoencoder": Autoencoder,
    "filter": FilterSelector,
    "forward": ForwardSelector,
    "backward": BackwardSelector,
    "rfe": NetworkRFE,
}
SYSTEMS = {
    "ga_mlp": GAMLPClassifier,
    "ga_structure": StructureGAClassifier,
    "pruned_mlp": PrunedMLPClassifier,
    "flgp": FLGPClassifier,
    "rfe_svm": RFESVMClassifier,
}
NETWORKS = {"rprop": RpropMLPClassifier, "backprop": BackpropMLPClassifier}
ENSEMBLES = {"bagging": BaggingClassifier, "subagging": BaggingClassifier, "adaboost": AdaBoostClassifier}


def defaults_of(section) -> dict[str, object]:
    return {key: parameter.default for key, parameter in section.items()}


def constructor_of(estimator: type, *left_out: str) -> dict[str, object]:
    signature = inspect.signature(estimator)
    return {name: one.default for name, one in signature.parameters.items() if name not in left_out}


@pytest.mark.parametrize("name", ENGINES)
def test_a_methods_keys_and_defaults_are_its_estimators(name):
    # random_state comes from the run's seed.
    assert defaults_of(section_of(METHODS[name])) == constructor_of(ENGINES[name], "random_state")


def test_a_data_fraction_left_out_is_the_estimators_default():
    document = {"name": "a", "problems": ["iris"], "repeats": 1, "seed": 1, "tau": 5, "methods": [{"method": "dgha"}]}
    (dgha,) = config_of(document | {"classifier": {"hidden": [4]}}).methods
    assert dgha.grid["data_fraction"] == (constructor_of(DGHA)["data_fraction"],)


@pytest.mark.parametrize("method", BASELINES)
def test_keys_and_defaults_are_the_estimators(method):
    ours = defaults_of(section_of(METHODS[method]))
    assert ours == constructor_of(BASELINES[method], "estimator", "random_state")


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_systems_keys_and_defaults_are_its_estimators(name):
    theirs = constructor_of(SYSTEMS[name], "random_state")
    if "hidden_layer_sizes" in theirs:
        del theirs["hidden_layer_sizes"]
    # The registry's own, such as the report's architecture, take the place of the constructor's.
    assert defaults_of(section_of(METHODS[name])) == theirs | METHODS[name].defaults


@pytest.mark.parametrize("rule", NETWORKS)
def test_the_classifiers_keys_and_defaults_are_its_estimators(rule):
    theirs = constructor_of(NETWORKS[rule], "random_state")
    hidden = theirs.pop("hidden_layer_sizes")
    expected = theirs | {"hidden": "pivot" if rule == "rprop" else hidden}
    assert defaults_of(section_of(CLASSIFIERS[rule])) == expected


@pytest.mark.parametrize("rule", ENSEMBLES)
def test_an_ensembles_keys_and_defaults_are_its_estimators(rule):
    section = section_of(CLASSIFIERS[rule])
    theirs = constructor_of(ENSEMBLES[rule], "estimator", "random_state")
    assert defaults_of(section) == theirs | CLASSIFIERS[rule].defaults
    document = {"name": "a", "problems": ["cancer1"], "repeats": 1, "seed": 1, "methods": [{"method": "gha"}]}
    (method,) = config_of(document | {"classifier": {"rule": rule}}).methods
    base = {key: (one.default,) for key, one in section_of(CLASSIFIERS["rprop"]).items()} | {"rule": ("rprop",)}
    assert {key: values for key, values in method.classifier.grid.items() if key.startswith("base.")} == {
        f"base.{key}": values for key, values in base.items()
    }


def test_a_speed_up_has_the_keys_of_the_method_that_it_measures_but_no_kernel():
    ours, dgha = (defaults_of(section_of(METHODS[name])) for name in ("dgha_speedup", "dgha"))
    assert ours == {name: default for name, default in dgha.items() if name != "kernel"} | {"timed": True}


@pytest.mark.parametrize("entry", [*METHODS.values(), *CLASSIFIERS.values()], ids=lambda entry: entry.name)
def test_every_key_states_what_it_may_be_and_admits_its_default(entry):
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
    given = constructor_arguments(Toy, {"rate": 1.0, "hidden": (2,), "n_steps": 1})
    assert given == {"rate": 1.0, "hidden_layer_sizes": (2,), "n_steps": 1}


def test_a_parameter_that_is_called_as_a_key_of_another_class_keeps_its_name():
    class Other:
        def __init__(self, hidden: Count = 3) -> None:
            pass

    assert constructor_arguments(Other, {"hidden": 3}) == {"hidden": 3}


@pytest.mark.usefixtures("toy")
def test_a_parameter_without_a_default_has_to_be_given():
    document = {"name": "a", "problems": ["iris"], "repeats": 1, "seed": 1, "classifier": {"hidden": [4]}}
    (method,) = config_of(document | {"methods": [{"method": "toy", "rate": 0.5}]}).methods
    assert method.grid == {"rate": (0.5,), "hidden": ((3,),), "n_steps": (7,), "unstated": (None,)}
    with pytest.raises(ConfigError, match=r"^a\.yaml:1: methods\[0\]\.rate: expected a value, got none\."):
        config_of(document | {"methods": [{"method": "toy"}]})


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize("value", [{"a": 1}, date(2012, 12, 15), [{"a": 1}], [[[1, 2]]]])
def test_a_parameter_that_states_nothing_takes_what_the_store_keeps_and_no_more(value):
    document = {"name": "a", "problems": ["iris"], "repeats": 1, "seed": 1, "classifier": {"hidden": [4]}}
    with pytest.raises(ConfigError, match=r"unstated.*: expected a number, text, true, false, null or a list, got "):
        config_of(document | {"methods": [{"method": "toy", "rate": 1, "unstated": value}]})
    for fine, values in (("x", ("x",)), (None, (None,)), ([1, 2.5], (1, 2.5)), ([[1, 2]], ((1, 2),))):
        (method,) = config_of(document | {"methods": [{"method": "toy", "rate": 1, "unstated": fine}]}).methods
        assert method.grid["unstated"] == values


def test_a_classifiers_section_is_read_alike(register):
    entry = register(Classifier(name="toy", title="", does="", source="", estimator=f"{__name__}:Toy"))
    document = {"name": "a", "problems": ["iris"], "repeats": 1, "seed": 1, "methods": [{"method": "all_features"}]}
    (method,) = config_of(document | {"classifier": {"rule": "toy", "rate": [1, 2]}}).methods
    defaults = {key: (one.default,) for key, one in section_of(entry).items()}
    assert method.classifier.grid == defaults | {"rule": ("toy",), "rate": (1.0, 2.0)}


def test_what_a_constructor_says_is_what_a_config_is_held_to():
    for name, estimator in {**ENGINES, **BASELINES, **SYSTEMS}.items():
        section, stated = section_of(METHODS[name]), parameters_of(estimator)
        pivotal = {"hidden", "output_activation"}
        assert all(section[key].annotation == stated[key].annotation for key in section.keys() - pivotal)
        for key in section.keys() & pivotal & stated.keys():
            assert section[key].annotation == Literal["pivot"] | stated[key].annotation
