"""Configs: what is admitted, what every refusal says, and that defaults are the estimators' own."""

import inspect
import math
import re
import typing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pppca_bench.classifiers import BackpropMLPClassifier, RpropMLPClassifier
from pppca_bench.classifiers.ensembles import AdaBoostClassifier, BaggingClassifier
from pppca_bench.classifiers.ga_mlp import GAMLPClassifier
from pppca_bench.classifiers.pruned_mlp import PrunedMLPClassifier
from pppca_bench.classifiers.rfe_svm import RFESVMClassifier
from pppca_bench.config.experiment import Config, load_config
from pppca_bench.config.plan import expand
from pppca_bench.engines import DGHA, GHA, NEpPCA
from pppca_bench.errors import ConfigError
from pppca_bench.methods.classifier_sections import CLASSIFIERS, RpropClassifier
from pppca_bench.methods.config_sections import METHODS
from pppca_bench.problems import known_problems

ROOT = Path(__file__).parents[1]
SHIPPED = sorted((ROOT / "configs").glob("*.yaml"))
ESTIMATORS = {"gha": GHA, "dgha": DGHA, "ne_ppca": NEpPCA}
BASE = """\
name: small
problems: [iris, wine]
repeats: 2
seed: 1
tau: [5, 10]
methods:
  - method: gha
    learning_rate: 0.01
  - method: dgha
    data_fraction: [100, 10]
classifier: {hidden: [8]}
"""


@pytest.fixture
def load(tmp_path):
    def load_text(text: str) -> Config:
        path = tmp_path / "c.yaml"
        path.write_text(text, encoding="utf-8")
        return load_config(path, problems=known_problems())

    return load_text


@pytest.fixture
def refusal(load):
    """Return the lines, without their folder, with which BASE is refused once a piece of it is replaced."""

    def load_and_fail(old: str, new: str) -> list[str]:
        assert BASE.count(old) == 1
        with pytest.raises(ConfigError) as caught:
            load(BASE.replace(old, new))
        return [re.sub(r"^\S*/(c\.yaml)", r"\1", line) for line in str(caught.value).splitlines()]

    return load_and_fail


def test_a_config_holds_what_is_written_and_defaults_for_the_rest(load):
    config = load(BASE)
    assert (config.name, config.problems, config.repeats, config.seed) == ("small", ("iris", "wine"), 2, 1)
    assert config.tau == (5.0, 10.0)
    gha, dgha = config.methods
    assert (gha.method, gha.learning_rate, gha.n_epochs) == ("gha", 0.01, 252)
    assert (dgha.method, dgha.data_fraction, dgha.learning_rate) == ("dgha", (100.0, 10.0), 1.2)
    assert config.classifier == RpropClassifier(hidden=(8,))


def test_a_config_cannot_be_changed(load):
    with pytest.raises(ValueError, match="frozen"):
        load(BASE).repeats = 3


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_the_shipped_configs_are_valid_and_named_after_their_file(path):
    config = load_config(path, problems=known_problems())
    assert config.name == path.stem
    assert expand(config)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tau: [5, 10]", "tau: 5"),
        ("tau: [5, 10]", "tau: [1.0000001, 1.0e+12]"),
        ("repeats: 2", "repeats: 10000"),
        ("seed: 1", "seed: 9223372036854775807"),
        ("[100, 10]", "0.001"),
        ("hidden: [8]", "hidden: []"),
        ("hidden: [8]", "hidden: [8], generalisation_loss: .inf, training_progress: 0"),
        ("[iris, wine]", "iris"),
        ("[iris, wine]", "[iris, ../mine/own.dt]"),
        ("learning_rate: 0.01", "learning_rate: 1e-2"),
        ("learning_rate: 0.01", "classifier: {hidden: []}"),
        ("method: dgha\n    data_fraction: [100, 10]", "method: ne_ppca\n    tau: [3]"),
        ("method: dgha\n    data_fraction: [100, 10]", "method: all_features"),
    ],
)
def test_what_the_rules_admit_is_admitted(load, old, new):
    assert BASE.count(old) == 1
    assert expand(load(BASE.replace(old, new)), repeats=1)


KEYS_OF_GHA = (
    "method, classifier, n_components, learning_rate, learning_rate_per, n_epochs, decay_epochs, decay_samples,"
    " rows_per_epoch, initial_rows, initial_samples, initial_norm, sort_initial, centre, shuffle"
)
REFUSALS = [
    (
        "method: dgha\n",
        "method: dgha\n    min_components: 3\n    max_components: 2\n",
        "9: methods[1]: expected max_components of at least min_components (3), got 2.",
    ),
    (
        "method: dgha\n    data_fraction: [100, 10]",
        "method: ne_ppca\n    n_iter_no_change: 0",
        "10: methods[1].n_iter_no_change: expected greater than or equal to 1, got 0.",
    ),
    ("repeats: 2", "repeats: 0", "3: repeats: expected greater than or equal to 1, got 0."),
    (
        "repeats: 2",
        "repeats: 1000000000",
        "3: repeats: expected less than or equal to 10000, got 1000000000.",
    ),
    ("repeats: 2", "repeats: 1e9", "3: repeats: expected a valid integer, got 1000000000.0."),
    ("repeats: 2", "repeats: '2'", "3: repeats: expected a valid integer, got '2'."),
    ("repeats: 2", "repeats: true", "3: repeats: expected a valid integer, got True."),
    ("repeats: 2", "repeats:", "3: repeats: expected a valid integer, got None."),
    ("seed: 1", "seed: -1", "4: seed: expected greater than or equal to 0, got -1."),
    ("seed: 1", "seed: 1.0", "4: seed: expected a valid integer, got 1.0."),
    (
        "seed: 1",
        "seed: 9223372036854775808",
        "4: seed: expected less than 9223372036854775808, got 9223372036854775808.",
    ),
    ("seed: 1", "seed: 2012-12-15", "4: seed: expected a valid integer, got datetime.date(2012, 12, 15)."),
    ("tau: [5, 10]", "tau: [5, .nan]", "5: tau[1]: expected a finite number, got nan."),
    ("tau: [5, 10]", "tau: .inf", "5: tau: expected a finite number, got inf."),
    ("tau: [5, 10]", "tau: 1", "5: tau: expected greater than 1, got 1."),
    ("tau: [5, 10]", "tau: [-5]", "5: tau[0]: expected greater than 1, got -5."),
    ("tau: [5, 10]", "tau: [five]", "5: tau[0]: expected a valid number, got 'five'."),
    ("tau: [5, 10]", "tau: [true]", "5: tau[0]: expected a valid number, got True."),
    ("tau: [5, 10]", "tau: []", "5: tau: expected at least 1 value, got []."),
    ("tau: [5, 10]", "tau: [5, 5.0]", "5: tau: expected each value once, got 5.0 again."),
    ("[100, 10]", "[0]", "10: methods[1].data_fraction[0]: expected greater than 0, got 0."),
    ("[100, 10]", "101", "10: methods[1].data_fraction: expected less than or equal to 100, got 101."),
    ("[100, 10]", "[10, 10]", "10: methods[1].data_fraction: expected each value once, got 10.0 again."),
    (
        "tau: [5, 10]\n",
        "",
        "8: methods[1]: dgha needs a threshold: expected `tau: [5, 10, 15, 20]`, got none.",
    ),
    (
        "[iris, wine]",
        "[iris, wien]",
        "2: problems: expected a problem's name (see `pppca data list`) or the path of a .dt file,"
        " got 'wien' (did you mean 'wine'?).",
    ),
    (
        "[iris, wine]",
        "[zzzzzz]",
        "2: problems: expected a problem's name (see `pppca data list`) or the path of a .dt file, got 'zzzzzz'.",
    ),
    ("[iris, wine]", "[iris, iris]", "2: problems: expected each value once, got 'iris' again."),
    ("[iris, wine]", "[]", "2: problems: expected at least 1 value, got []."),
    ("[iris, wine]", "[1]", "2: problems[0]: expected a valid string, got 1."),
    (
        "name: small",
        "name: ../small",
        "1: name: expected text to match pattern '^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$', got '../small'.",
    ),
    (
        "name: small",
        'name: "small\\n"',
        "1: name: expected text to match pattern '^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$', got 'small\\n'.",
    ),
    (
        "name: small",
        f"name: {'a' * 65}",
        f"1: name: expected text to match pattern '^[A-Za-z0-9][A-Za-z0-9_-]{{0,63}}$', got '{'a' * 56}....",
    ),
    (
        "method: gha",
        "method: gah",
        f"7: methods[0]: expected method to be one of {', '.join(METHODS)}, got gah (did you mean 'gha'?).",
    ),
    (
        "method: gha",
        "methode: gha",
        f"7: methods[0]: expected method to be one of {', '.join(METHODS)}, got none.",
    ),
    (
        "- method: gha\n    learning_rate: 0.01",
        "- gha",
        "7: methods[0]: expected a mapping of keys to values, got 'gha'.",
    ),
    (
        "learning_rate: 0.01",
        "learning_rat: 0.01",
        f"8: methods[0].learning_rat: unknown key, expected one of {KEYS_OF_GHA} (did you mean 'learning_rate'?).",
    ),
    (
        "learning_rate: 0.01",
        "gha: {gha: 1}",
        f"8: methods[0].gha: unknown key, expected one of {KEYS_OF_GHA}.",
    ),
    (
        "learning_rate: 0.01",
        "learning_rate: 0",
        "8: methods[0].learning_rate: expected greater than 0, got 0.",
    ),
    (
        "learning_rate: 0.01",
        "initial_rows: ones",
        "8: methods[0].initial_rows: expected 'direction' or 'orthonormal', got 'ones'.",
    ),
    (
        "learning_rate: 0.01",
        "classifier: {hiden: [8]}",
        "8: methods[0].classifier.hiden: unknown key, expected one of "
        + ", ".join(RpropClassifier.model_fields)
        + " (did you mean 'hidden'?).",
    ),
    (
        "method: dgha\n    data_fraction: [100, 10]",
        "method: ne_ppca\n    n_elite: 13",
        "9: methods[1]: expected n_elite below population_size (13), got 13.",
    ),
    (
        "method: dgha\n    data_fraction: [100, 10]",
        "method: ne_ppca\n    n_jobs: 0",
        "10: methods[1].n_jobs: expected a number of threads, or -1 for all processors, got 0.",
    ),
    (
        "method: dgha\n    data_fraction: [100, 10]",
        "method: ne_ppca\n    n_jobs: -2",
        "10: methods[1].n_jobs: expected greater than or equal to -1, got -2.",
    ),
    (
        "hidden: [8]",
        "hidden: foo",
        "11: classifier.hidden: expected pivot or a list of layer sizes such as [16, 8], got 'foo'.",
    ),
    ("hidden: [8]", "hidden: [0]", "11: classifier.hidden[0]: expected greater than or equal to 1, got 0."),
    (
        "hidden: [8]",
        "hidden: [8, 8, 8, 8, 8, 8]",
        "11: classifier.hidden: expected at most 5 values, got [8, 8, 8, 8, 8, 8].",
    ),
    (
        "{hidden: [8]}",
        "{}",
        "11: classifier: the Proben1 report has no pivot architecture for 'iris': expected layer sizes,"
        " such as `classifier: {hidden: [16, 8]}`, got hidden: pivot (the default).",
    ),
    (
        "method: gha\n    learning_rate: 0.01",
        "method: pruned_mlp",
        "7: methods[0]: the Proben1 report has no pivot architecture for 'iris': expected layer sizes,"
        " such as `hidden: [16, 8]`, got hidden: pivot (the default).",
    ),
    (
        "{hidden: [8]}",
        "{rule: bagging}",
        "11: classifier: the Proben1 report has no pivot architecture for 'iris': expected layer sizes,"
        " such as `classifier: {hidden: [16, 8]}`, got hidden: pivot (the default).",
    ),
    (
        "{hidden: [8]}",
        "{rule: bagging, base: {rule: adaboost}}",
        "11: classifier.base: expected rule to be one of rprop, backprop, got adaboost.",
    ),
    (
        "{hidden: [8]}",
        "{rule: bagging, base: {hidden: [8], shortcut: true}}",
        "11: classifier.base.shortcut: unknown key, expected one of "
        f"{', '.join(RpropClassifier.model_fields)} (did you mean 'shortcuts'?).",
    ),
    (
        "{hidden: [8]}",
        "{rule: adaboost, n_estimators: 0, base: {hidden: [8]}}",
        "11: classifier.n_estimators: expected greater than or equal to 1, got 0.",
    ),
    (
        "method: gha\n    learning_rate: 0.01",
        "method: ga_mlp\n    hidden: [4]\n    n_elite: 24",
        "7: methods[0]: expected n_elite below population_size (24), got 24.",
    ),
    ("{hidden: [8]}", "pivot", "11: classifier: expected a mapping of keys to values, got 'pivot'."),
    (
        "hidden: [8]",
        "hidden: [8], initial_step_range: [0.1]",
        "11: classifier.initial_step_range: expected one value more, got [0.1].",
    ),
    (
        "hidden: [8]",
        "hidden: [8], initial_step_range: [0.2, 0.1]",
        "11: classifier: expected initial_step_range[0] at most initial_step_range[1] (0.1), got 0.2.",
    ),
    (
        "hidden: [8]",
        "hidden: [8], step_min: 51",
        "11: classifier: expected step_min at most step_max (50.0), got 51.0.",
    ),
    (
        "hidden: [8]",
        "hidden: [8], generalisation_loss: .nan",
        "11: classifier.generalisation_loss: expected greater than or equal to 0, got nan.",
    ),
]


@pytest.mark.parametrize(("old", "new", "message"), REFUSALS, ids=[f"{old}->{new}"[:60] for old, new, _ in REFUSALS])
def test_each_mistake_is_told_once_by_line_key_expectation_and_value(refusal, old, new, message):
    assert refusal(old, new) == [f"c.yaml:{message}"]


def test_all_mistakes_are_told_at_once_each_on_its_line(refusal):
    assert refusal("repeats: 2\nseed: 1\n", "repeat: 2\nseed: x\n") == [
        "c.yaml:1: repeats: expected a value, got none. Add the key `repeats`.",
        "c.yaml:4: seed: expected a valid integer, got 'x'.",
        "c.yaml:3: repeat: unknown key, expected one of name, problems, repeats, seed, tau, methods, classifier"
        " (did you mean 'repeats'?).",
    ]


@pytest.mark.parametrize(("text", "found"), [("", "nothing"), ("- a\n", "list"), ("hello\n", "str")])
def test_a_document_that_is_no_mapping_is_refused(load, text, found):
    with pytest.raises(ConfigError, match=rf":1: expected a mapping with the keys name, .*, got {found}\.$"):
        load(text)


def _parameters(estimator: type) -> dict[str, object]:
    signature = inspect.signature(estimator)
    return {name: parameter.default for name, parameter in signature.parameters.items()}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_methods_keys_and_defaults_are_its_estimators(name):
    # random_state comes from the run's seed; the kernel changes the time, not the numbers.
    given_by_runner = {"random_state", "kernel"}
    ours = {key: field.default for key, field in METHODS[name].model_fields.items()}
    theirs = {key: default for key, default in _parameters(ESTIMATORS[name]).items() if key not in given_by_runner}
    assert ours.keys() - {"method", "classifier"} == theirs.keys()
    grid = {"tau", "data_fraction"}
    assert {key: ours[key] for key in theirs if key not in grid} == {
        key: default for key, default in theirs.items() if key not in grid
    }


def test_a_data_fraction_left_out_is_the_estimators_default():
    assert METHODS["dgha"].model_fields["data_fraction"].default == (_parameters(DGHA)["data_fraction"],)


SYSTEMS = {"ga_mlp": GAMLPClassifier, "pruned_mlp": PrunedMLPClassifier, "rfe_svm": RFESVMClassifier}


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_systems_keys_and_defaults_are_its_estimators(name):
    ours = {key: field.default for key, field in METHODS[name].model_fields.items()}
    theirs = _parameters(SYSTEMS[name])
    assert ours.keys() - theirs.keys() <= {"method", "classifier", "hidden"}
    left_out = {"hidden_layer_sizes", "initial_step_range", "validation_fraction", "random_state"}
    assert theirs.keys() - ours.keys() <= left_out
    assert {key: ours[key] for key in ours.keys() & theirs.keys()} == {
        key: theirs[key] for key in ours.keys() & theirs.keys()
    }


@pytest.mark.parametrize("rule", ["bagging", "adaboost"])
def test_an_ensembles_keys_and_defaults_are_its_estimators(rule):
    ensemble = {"bagging": BaggingClassifier, "adaboost": AdaBoostClassifier}[rule]
    section = CLASSIFIERS[rule].model_validate({"rule": rule})
    assert section.n_estimators == _parameters(ensemble)["n_estimators"]
    assert section.base == RpropClassifier()


NETWORKS = {"rprop": RpropMLPClassifier, "backprop": BackpropMLPClassifier}


@pytest.mark.parametrize("rule", NETWORKS)
def test_the_classifiers_keys_and_defaults_are_its_estimators(rule):
    ours = {key: field.default for key, field in CLASSIFIERS[rule].model_fields.items()}
    theirs = _parameters(NETWORKS[rule])
    # The validation split is a problem's own, and the report's pivot architecture is no network's.
    assert theirs.keys() - ours.keys() == {"hidden_layer_sizes", "validation_fraction", "random_state"}
    assert ours.keys() - theirs.keys() == {"hidden", "rule"}
    training = ours.keys() - {"hidden", "rule"}
    assert {key: ours[key] for key in training} == {key: theirs[key] for key in training}


def _choices(section: type) -> list[tuple[str, object]]:
    return [
        (key, choice)
        for key, field in section.model_fields.items()
        if key not in ("method", "hidden", "rule") and typing.get_origin(field.annotation) is typing.Literal
        for choice in typing.get_args(field.annotation)
    ]


CORNERS = [
    ("gha", "decay_epochs", 0.001),
    ("gha", "n_components", 1),
    ("gha", "n_epochs", 1),
    ("dgha", "rows_per_epoch", 1e6),
    ("dgha", "first_check", 0),
    ("dgha", "first_check", 1_000_000),
    ("dgha", "check_interval", 1_000_000),
    ("ne_ppca", "population_size", 2),
    ("ne_ppca", "n_elite", 0),
    ("ne_ppca", "tournament_size", 1000),
    ("ne_ppca", "mutation_scale", 0.0),
    ("ne_ppca", "n_jobs", -1),
    ("ne_ppca", "crossover_probability", 1.0),
    *((name, key, choice) for name in ESTIMATORS for key, choice in _choices(METHODS[name])),
]


@pytest.mark.parametrize(("name", "key", "value"), CORNERS)
def test_what_a_config_admits_the_estimator_accepts(name, key, value):
    METHODS[name].model_validate({"method": name, key: value})
    rows = [[0.0, 0.1], [1.0, 0.4], [0.5, 0.9], [0.2, 0.3]]
    short = {} if key in ("n_epochs", "n_generations") else {"n_generations" if name == "ne_ppca" else "n_epochs": 2}
    ESTIMATORS[name](**{key: value}, **short, random_state=0).fit(rows)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("step_min", 0.0),
        ("generalisation_loss", math.inf),
        ("generalisation_loss", 0.0),
        ("training_progress", 0.0),
        ("initial_step_range", (0.1, 0.1)),
        ("eta_plus", 10.0),
        ("strip_length", 1_000_000),
        ("max_epochs", 1),
        *_choices(RpropClassifier),
    ],
)
def test_what_a_config_admits_the_classifier_accepts(key, value):
    RpropClassifier.model_validate({key: value})
    epochs = {} if key == "max_epochs" else {"max_epochs": 2}
    network = RpropMLPClassifier((2,), **{key: value}, **epochs, random_state=0)
    rows, classes = [[0.0], [1.0], [0.5], [0.25]], [0, 1, 0, 1]
    network.fit(rows, classes, X_val=rows, y_val=classes)


VALUES = ["0", "-1", "1e9", ".nan", ".inf", "true", "null", "''", "x", "[]", "{}", "[[]]", "101", "1", "[5, 5]", "0x10"]
SYMBOLS = [
    ":",
    "- ",
    "[",
    "]",
    "{",
    "}",
    "*a",
    "&a ",
    "!!python/name:os ",
    "\t",
    "\x00",
    "'",
    '"',
    "#",
    "\n",
    "é",
    "<<: ",
]


@st.composite
def broken_configs(draw):
    """Draw a shipped config with one to three small changes: a piece lost, moved, doubled, or put in its place."""
    text = draw(st.sampled_from([BASE, *(path.read_text(encoding="utf-8") for path in SHIPPED)]))
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["delete", "insert", "value", "line", "double", "swap"]))
        lines = text.split("\n")
        place, line = draw(st.integers(0, len(text))), draw(st.integers(0, len(lines) - 1))
        if kind == "delete":
            text = text[:place] + text[place + draw(st.integers(1, 8)) :]
        elif kind == "insert":
            text = text[:place] + draw(st.sampled_from(SYMBOLS) | st.text(max_size=3)) + text[place:]
        elif kind == "value":
            lines[line] = re.sub(r":.*", f": {draw(st.sampled_from(VALUES))}", lines[line])
            text = "\n".join(lines)
        else:
            other = draw(st.integers(0, len(lines) - 1))
            lines = {
                "line": lines[:line] + lines[line + 1 :],
                "double": [*lines[:other], lines[line], *lines[other:]],
                "swap": [*lines[:line], lines[other], *lines[line + 1 :]],
            }[kind]
            text = "\n".join(lines)
    return text


def _check_refused_or_valid(path: Path, text: str) -> None:
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        config = load_config(path, problems=known_problems())
    except ConfigError as error:
        for line in str(error).splitlines():
            assert re.match(rf"{re.escape(str(path))}:[1-9][0-9]*: .*[.)]$", line), line
    else:
        assert all(tau > 1 and math.isfinite(tau) for tau in config.tau or ())
        assert 1 <= config.repeats <= 10_000
        assert expand(config, repeats=1)


@given(text=broken_configs())
@settings(
    max_examples=200, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_damaged_config_is_refused_with_file_and_line_or_still_valid(tmp_path, text):
    _check_refused_or_valid(tmp_path / "c.yaml", text)


@pytest.mark.slow
@given(text=broken_configs())
@settings(max_examples=5000, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_thousands_of_damaged_configs_are_refused_with_file_and_line_or_still_valid(tmp_path, text):
    _check_refused_or_valid(tmp_path / "c.yaml", text)
