"""Third-party methods and classifiers: dotted paths, errors, versions and warm-up."""

import json
import re
import signal
from pathlib import Path

import numpy as np
import pytest
from command_line import printed
from third_party import run_own, write_own

import pppca_bench
from pppca_bench.errors import ConfigError
from pppca_bench.experiments.measures import predictions_of
from pppca_bench.methods.lookup import find_classifier, find_method
from pppca_bench.methods.protocol import describe_parameters, section_of

NEITHER = "a class with fit and transform, or fit and predict, got a class without fit and tr"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Halve", "has no attribute 'Halve' (did you mean 'Halves'?)"),
        ("Nothing", f"expected {NEITHER}"),
        ("Mapped", "Its fit_transform alone cannot be applied to the other splits"),
    ],
)
def test_a_path_to_anything_but_a_method_is_refused_with_the_reason(module, name, reason):
    with pytest.raises(ConfigError, match=re.escape(reason)):
        find_method(f"{module}:{name}")


@pytest.mark.parametrize(
    ("name", "keys", "message"),
    [
        (
            "Halves",
            "parameters: {powr: 2}",
            "parameters.powr: unknown key (did you mean 'power'?), ",
        ),
        (
            "Halves",
            "power: 2",
            "methods[0].power: unknown key (a key of parameters:), expected one of method, repeats, title,",
        ),
        ("Drawn", "parameters: {scale: big}", "parameters.scale: expected a number, got 'big'"),
        ("Halves", 'classifier: "%s:Halves"', "a class with fit and predict, got a class without"),
    ],
)
def test_validation_errors_of_third_party_methods(module, name, keys, message):
    entry = f'{{method: "{module}:{name}", {keys}}}'
    output = run_own(entry.replace("%s", module), classifier="{hidden: []}", code=2)
    assert message in output
    assert output.startswith("Error: own.yaml:")
    assert output.count("\n") == 1


def test_a_regressor_is_refused_on_a_classification_problem(module):  # noqa: ARG001 its folder
    message = "expected an approximation problem, which sklearn.svm:SVR needs, got iris"
    assert message in run_own('"sklearn.svm:SVR"', classifier="{hidden: []}", code=2)


@pytest.mark.parametrize("rule", ["bagging", "adaboost"])
def test_a_third_party_classifier_is_a_member_of_an_ensemble(module, rule):  # noqa: ARG001 its folder
    classifier = f"{{rule: {rule}, n_estimators: 2, base: 'sklearn.linear_model:Perceptron'}}"
    assert run_own("all_features", classifier=classifier) == ""


def test_a_class_that_classifies_gets_the_classifier_of_the_config(tmp_path):
    """One Gaussian classifier of all samples, within another class, has the errors of the classifier alone."""
    one = {"n_estimators": 1}
    methods = [
        {"method": "sklearn.ensemble:BaggingClassifier", "parameters": {**one, "bootstrap": False}},
        {"method": "sklearn.ensemble:AdaBoostClassifier", "parameters": one},
        "sklearn.multiclass:OneVsOneClassifier",
        "all_features",
    ]
    config = {"name": "inner", "problems": ["wine"], "seed": 1, "repeats": 1, "methods": methods}
    config["classifier"] = "sklearn.naive_bayes:GaussianNB"
    runs = pppca_bench.run(config, results=tmp_path, workers=0).runs
    assert runs.status.tolist() == ["done"] * 4
    assert runs.test_error_percent[[0, 1]].tolist() == [runs.test_error_percent[3]] * 2


def test_an_import_that_raises_is_reported_in_a_line(module):
    Path(f"{module}.py").write_text("1 / 0\n")
    said = printed("methods", f"{module}:A", code=2)
    expected = (
        "expected module:Class that can be imported, got ZeroDivisionError: division by zero."
    )
    assert said == f"Error: {module}:A: {expected}\n"


def test_a_module_hidden_by_another_of_its_name_is_refused(module):
    Path("beside").mkdir()
    Path(f"beside/{module}.py").write_text("")
    find_method(f"{module}:Halves")
    path = write_own(f'"{module}:Halves"').rename("beside/own.yaml")
    assert "Rename yours" in printed("run", path, "--dry-run", code=2)


def test_the_first_line_of_a_cause_is_printed(module):
    assert "repeat 0: RuntimeError: boom\n" in run_own(f'"{module}:Boom"', code=1)


def test_an_interruption_raised_where_ctrl_c_is_ignored_as_in_workers_is_a_failed_run(module):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert "repeat 0: KeyboardInterrupt" in run_own(f'"{module}:Interrupts"', code=1)
    finally:
        signal.signal(signal.SIGINT, before)


def test_warnings_about_the_data_of_the_warm_up_are_not_shown(module):
    assert run_own(f'"{module}:Noisy"') == ""


def test_a_classifier_may_reject_the_data_of_the_warm_up(module):
    assert run_own("gha", classifier=f"'{module}:Picky'") == ""


CLASSES = "expected classes from 0 to 2, as passed to `fit`, got"


@pytest.mark.parametrize(
    ("value", "n_classes", "message"),
    [
        ([0.0, 0.0], 3, "expected predictions of shape (3,), got (3, 2)."),
        (7, 3, f"{CLASSES} 7."),
        ("a", 3, f"{CLASSES} 'a'."),
        (None, 3, f"{CLASSES} None."),
        (np.nan, 3, f"{CLASSES} nan."),
        (np.nan, None, "expected finite numbers, got nan."),
    ],
)
def test_predictions_that_are_not_targets_are_refused(value, n_classes, message):
    class Constant:
        def predict(self, X):
            return np.array([value] * len(X))

    with pytest.raises(ValueError, match=re.escape(f"predict of Constant: {message}")):
        predictions_of(Constant(), np.zeros((3, 1)), np.zeros(3), n_classes)


def test_the_version_of_installed_code_is_the_distributions():
    import sklearn

    assert find_classifier("sklearn.svm:SVC").version == sklearn.__version__


def test_parameters_have_the_docstrings_or_annotations_types_and_the_defaults(module):
    halves, drawn = (
        {row["parameter"]: row for row in describe_parameters(find_method(f"{module}:{name}"))}
        for name in ("Halves", "Drawn")
    )
    found = [
        tuple(halves[name][of] for of in ("values", "default")) for name in ("power", "weights")
    ]
    assert found == [("float", "1.0"), ("tuple of float", "[1.0, 1.0]")]
    assert drawn["scale"]["values"] == "a number"


def test_pppca_methods_describes_one_method(module):
    said = f"method {module}:Halves: Halves. Two features, to a power and weighted (third_"
    assert printed("methods", f"{module}:Halves").startswith(said)
    both = json.loads(printed("methods", "sklearn.svm:SVC", "--format", "json"))
    assert [one["kind"] for one in both] == ["method", "classifier"]
    assert "removes nodes by criterion" in printed("methods", "dgha")


def test_only_the_runners_own_arguments_are_left_out_of_a_section():
    section = section_of(find_classifier("sklearn.neural_network:MLPClassifier"))
    assert "random_state" not in section
    assert "validation_fraction" in section
    assert "hidden_layer_sizes" in section
