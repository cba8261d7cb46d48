"""Third-party methods and classifiers: dotted paths, errors, versions and warm-up."""

import json
import re
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import printed

from pppca_bench.errors import ConfigError
from pppca_bench.experiments.measures import predictions_of
from pppca_bench.methods.lookup import find_classifier, find_method
from pppca_bench.methods.protocol import describe_parameters, section_of

MODULE = '''
import sys
import warnings

import numpy as np


class Halves:
    """Mean of the first and of the second half of the features.

    Parameters
    ----------
    power : float, default=1
        Exponent.
    weights : tuple of float
    """

    def __init__(self, power=1.0, weights=(1.0, 1.0), call=np.sum):
        self.power, self.weights, self.call = power, weights, call

    def fit(self, X):
        self.n_ = X.shape[1] // 2
        return self

    def transform(self, X):
        halves = np.column_stack([X[:, : self.n_].mean(axis=1), X[:, self.n_ :].mean(axis=1)])
        return halves**self.power * np.asarray(self.weights)


class Short(Halves):
    def transform(self, X):
        return super().transform(X)[:-1]


class Holes(Halves):
    def transform(self, X):
        return super().transform(X) * np.nan


class Complex(Halves):
    def transform(self, X):
        return super().transform(X) + 1j


class Drawn(Halves):
    """Adds noise."""

    def __init__(self, scale: float = 0.1, random_state=None):
        super().__init__()
        self.scale, self.random_state = scale, random_state

    def transform(self, X):
        noise = np.random.default_rng(self.random_state).normal(size=(len(X), 2))
        return super().transform(X) + self.scale * noise


class Picky:
    def fit(self, X, y):
        if len(X) < 30:
            raise TypeError("too few")
        return self

    def predict(self, X):
        return np.zeros(len(X))


class Exits(Halves):
    def fit(self, X):
        sys.exit(3)


class Interrupts(Halves):
    def fit(self, X):
        raise KeyboardInterrupt


class Boom(Halves):
    def fit(self, X):
        raise RuntimeError("boom\\nsecond line")


class Noisy(Halves):
    def transform(self, X):
        if len(X) < 30:
            warnings.warn("few samples")
            print("few samples")
        return super().transform(X)


class Nothing:
    pass


class Mapped:
    def fit_transform(self, X):
        return X

    def fit(self, X):
        return self


def function():
    pass
'''
CONFIG = """\
name: one
problems: [iris]
repeats: 1
seed: 1
methods:
  - {entry}
classifier: {classifier}
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Write a module beside the configs, under a name that no other test has imported, and return that name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PPPCA_DATA", raising=False)
    name = f"own_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    yield name
    sys.modules.pop(name, None)


def run_of(method, classifier="{hidden: [], max_epochs: 5}", code=0):
    """Run a method on iris by a config of its own, and return the output."""
    Path("one.yaml").write_text(CONFIG.format(entry=f"'{method}'", classifier=classifier))
    return printed("run", "one.yaml", "--workers", "0", "--quiet", "--no-tables", code=code)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("%s:Halve", "has no attribute 'Halve' (did you mean 'Halves'?)"),
        ("%s:Nothing", "expected a class with fit and transform, or fit and predict, got a class without fit and tr"),
        ("%s:Mapped", "Its fit_transform alone cannot be applied to the other splits"),
    ],
)
def test_a_path_to_anything_but_a_method_is_refused_with_the_reason(module, path, reason):
    with pytest.raises(ConfigError, match=re.escape(reason)):
        find_method(path.replace("%s", module))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ('{method: "%s:Halves", parameters: {powr: 2}}', "parameters.powr: unknown key, expected one of power,"),
        ('{method: "%s:Halves", power: 2}', "methods[0].power: unknown key, expected one of method, repeats,"),
        ('{method: "%s:Halves", parameters: {power: {a: 1}}}', "expected a number, text, true, false, null or a list"),
        ('{method: "%s:Drawn", parameters: {scale: big}}', "parameters.scale: expected a number, got 'big'"),
        ('{method: "%s:Halves", classifier: "%s:Halves"}', "a class with fit and predict, got a class without predict"),
        ('{method: "sklearn.svm:SVR"}', "expected an approximation problem, which sklearn.svm:SVR needs, got iris"),
    ],
)
def test_validation_errors_of_third_party_methods(module, entry, message):
    Path("bad.yaml").write_text(CONFIG.format(entry=entry.replace("%s", module), classifier="{hidden: []}"))
    output = printed("run", "bad.yaml", code=2)
    assert message in output
    assert output.startswith("Error: bad.yaml:")
    assert output.count("\n") == 1


def test_an_import_that_raises_is_reported_in_a_line(module):
    Path(f"{module}.py").write_text("1 / 0\n")
    message = (
        f"Error: {module}:A: expected module:Class that can be imported, got ZeroDivisionError: division by zero.\n"
    )
    assert printed("methods", f"{module}:A", code=2) == message


def test_a_module_hidden_by_another_of_its_name_is_refused(module):
    folder = Path("beside")
    folder.mkdir()
    (folder / f"{module}.py").write_text(MODULE)
    find_method(f"{module}:Halves")
    (folder / "own.yaml").write_text(CONFIG.format(entry=f'"{module}:Halves"', classifier="{hidden: []}"))
    assert "Rename yours" in printed("run", folder / "own.yaml", "--dry-run", code=2)


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("Short", "transform of Short, training split: expected finite numbers of shape (75, at least 1), got the"),
        ("Holes", "transform of Holes, training split: expected finite numbers of shape (75, at least 1), got 150"),
        ("Complex", "transform of Complex, training split: expected finite numbers of shape (75, at least 1), got com"),
        ("Exits", "repeat 0: SystemExit: 3"),
        ("Boom", "repeat 0: RuntimeError: boom\n"),
    ],
)
def test_a_run_whose_method_fails_reports_the_cause(module, name, cause):
    assert cause in run_of(f"{module}:{name}", code=1)


def test_an_interruption_raised_where_ctrl_c_is_ignored_as_in_workers_is_a_failed_run(module):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert "repeat 0: KeyboardInterrupt" in run_of(f"{module}:Interrupts", code=1)
    finally:
        signal.signal(signal.SIGINT, before)


def test_warnings_about_the_data_of_the_warm_up_are_not_shown(module):
    assert run_of(f"{module}:Noisy") == ""


def test_a_classifier_may_reject_the_data_of_the_warm_up(module):
    assert run_of("gha", classifier=f"'{module}:Picky'") == ""


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


def test_the_version_of_installed_code_begins_with_the_distributions():
    import sklearn

    assert str(find_classifier("sklearn.svm:SVC").version).startswith(f"{sklearn.__version__} ")


def test_parameters_have_the_docstrings_types_and_the_defaults(module):
    described = {
        row["parameter"]: (row["values"], row["default"])
        for row in describe_parameters(find_method(f"{module}:Halves"))
    }
    assert described["power"] == ("float", "1.0")
    assert described["weights"] == ("tuple of float", "[1.0, 1.0]")
    drawn = {row["parameter"]: row["values"] for row in describe_parameters(find_method(f"{module}:Drawn"))}
    assert drawn == {"scale": "a number"}


def test_pppca_methods_describes_one_method(module):
    output = printed("methods", f"{module}:Halves")
    assert output.startswith(
        f"method {module}:Halves: Halves. Mean of the first and of the second half of the features"
    )
    both = json.loads(printed("methods", "sklearn.svm:SVC", "--format", "json"))
    assert [one["kind"] for one in both] == ["method", "classifier"]
    assert "removes nodes by criterion" in printed("methods", "dgha")
    assert "(did you mean 'dgha'?)" in printed("methods", "dhga", code=2)


def test_only_the_runners_own_arguments_are_left_out_of_a_section():
    section = section_of(find_classifier("sklearn.neural_network:MLPClassifier"))
    assert "random_state" not in section
    assert "validation_fraction" in section
    assert "hidden_layer_sizes" in section
