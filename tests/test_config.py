"""Configs: admissible values, validation errors, and lists of values."""

import math
import re
from pathlib import Path

import pytest
from builders import config_of, expanded, small
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from pppca_bench.config.experiment import Config, parse_config
from pppca_bench.config.sections import variants
from pppca_bench.documents import read_yaml
from pppca_bench.errors import ConfigError
from pppca_bench.experiments.cell import make_classifier, make_method
from pppca_bench.methods.protocol import section_of
from pppca_bench.methods.registry import CLASSIFIERS
from pppca_bench.problems import OwnData, SplitRule

ROOT = Path(__file__).parents[1]
SHIPPED = sorted((ROOT / "configs").glob("*.yaml"))
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


def load_config(path: Path) -> Config:
    return parse_config(read_yaml(path))


@pytest.fixture
def load(tmp_path):
    def load_text(text: str) -> Config:
        path = tmp_path / "c.yaml"
        path.write_text(text, encoding="utf-8")
        return load_config(path)

    return load_text


def test_a_config_holds_given_values_and_defaults(load):
    config = load(BASE)
    assert (config.name, config.problems, config.seed) == ("small", ("iris", "wine"), 1)
    assert [method.repeats for method in config.methods] == [2, 2]
    gha, dgha = config.methods
    assert (gha.entry.name, gha.grid["learning_rate"], gha.grid["n_epochs"]) == ("gha", (0.01,), (2000,))
    assert (dgha.entry.name, dgha.grid["data_fraction"], dgha.grid["learning_rate"]) == ("dgha", (100.0, 10.0), (1.2,))
    assert dgha.grid["tau"] == (5.0, 10.0)
    assert "tau" not in gha.grid
    assert gha.classifier == dgha.classifier
    defaults = {key: (one.default,) for key, one in section_of(CLASSIFIERS["rprop"]).items()}
    assert gha.classifier == defaults | {"rule": ("rprop",), "hidden": ((8,),)}


def test_a_config_cannot_be_changed(load):
    with pytest.raises(ValidationError, match="Instance is frozen"):
        load(BASE).seed = 3


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_the_shipped_configs_are_valid_and_named_after_their_file(path):
    config = load_config(path)
    assert config.name == path.stem
    assert expanded(config)


def test_a_problem_without_a_pivot_architecture_may_have_the_network_of_the_rule_of_size(load):
    (gha, _) = load(BASE.replace("{hidden: [8]}", "{rule: bagging, base: {output_activation: pivot}}")).methods
    assert gha.classifier["base.hidden"] == gha.classifier["base.output_activation"] == ("pivot",)


TABLES = """\
name: small
problems: [{csv: own.csv, target: y}]
repeats: 2
seed: 1
tau: 5
methods: [{method: gha}]
"""


def problems_of(load, entry: str, *more: str):
    text = TABLES.replace("{csv: own.csv, target: y}", entry) + "".join(f"{line}\n" for line in more)
    return load(text).problems


def test_tables_are_problems_of_many_kinds(load):
    entries = (
        "iris, {csv: a/own.csv, target: y}, {parquet: own.parquet, target: [y, z]}, {sklearn: digits}, {openml: 61},"
        " {uci: vehicle}, {dt: my.dt}"
    )
    problems = problems_of(load, entries)
    assert problems == (
        "iris",
        OwnData("csv", "a/own.csv", ("y",)),
        OwnData("parquet", "own.parquet", ("y", "z")),
        OwnData("sklearn", "digits"),
        OwnData("openml", "61"),
        OwnData("uci", "vehicle"),
        "my.dt",
    )
    assert [one.label for one in problems[1:6]] == [
        "own.csv",
        "own.parquet",
        "sklearn:digits",
        "openml:61",
        "uci:vehicle",
    ]


def test_a_table_has_the_configs_splits_unless_it_states_its_own(load):
    entries = "{sklearn: iris}, {sklearn: wine, folds: 5}, {csv: own.csv, target: y, split: {column: fold}, name: mine}"
    rules = [one.rule for one in problems_of(load, entries, "splits: 10", "folds: 4")]
    assert rules == [SplitRule(splits=10, folds=4), SplitRule(folds=5), SplitRule(column="fold")]
    assert [rule.n_splits for rule in rules] == [40, 5, 1]


def test_a_config_without_repeats_has_one_for_each_split(load):
    text = TABLES.replace("repeats: 2", "splits: 3").replace("target: y", "target: y, folds: 5")
    assert [method.repeats for method in load(text).methods] == [5]
    assert [method.repeats for method in load(text.replace(", folds: 5", "")).methods] == [3]


def grid_of(load, old: str, new: str) -> dict[str, tuple]:
    """Return the values of the parameters of BASE's first method, once a piece of it is replaced."""
    return dict(load(BASE.replace(old, new)).methods[0].grid)


@pytest.mark.parametrize(
    ("written", "values"),
    [
        ("learning_rate: [0.1, 1]", (0.1, 1.0)),
        ("n_epochs: [10, 20, 30]", (10, 20, 30)),
        ("centre: [true, false]", (True, False)),
        ("decay_epochs: [null, 3]", (None, 3.0)),
        ("n_components: [2]", (2,)),
    ],
)
def test_each_value_of_a_list_is_a_setting(load, written, values):
    grid = grid_of(load, "learning_rate: 0.01", written)
    assert grid[written.partition(":")[0]] == values
    assert len(list(variants(grid))) == len(values)


@pytest.mark.parametrize(
    ("written", "values"),
    [("[8, 4]", ((8, 4),)), ("[[8, 4]]", ((8, 4),)), ("[[8, 4], [], [2]]", ((8, 4), (), (2,))), ("[]", ((),))],
)
def test_a_list_parameter_has_several_values_where_it_is_a_list_of_lists(load, written, values):
    config = load(BASE.replace("hidden: [8]", f"hidden: {written}, max_epochs: [10, 20]"))
    assert config.methods[0].classifier["hidden"] == values
    assert len(list(variants(config.methods[0].classifier))) == 2 * len(values)


def test_a_list_may_hold_words_and_lists(load):
    text = BASE.replace("[iris, wine]", "cancer1").replace("hidden: [8]", "hidden: [pivot, [2]]")
    assert load(text).methods[0].classifier["hidden"] == ("pivot", (2,))


CORNERS = [
    ("gha", "decay_epochs", 0.001),
    ("gha", "n_components", 1),
    ("gha", "n_epochs", 1),
    ("dgha", "first_check", 0),
    ("dgha", "first_check", 1_000_000),
    ("dgha", "tau", 1),
    ("ne_ppca", "population_size", 2),
    ("ne_ppca", "tournament_size", 1000),
    ("ne_ppca", "mutation_scale", 0.0),
    ("ne_ppca", "n_jobs", -1),
    ("ne_ppca", "crossover_probability", 1.0),
]


def one_run(**document: object):
    (spec,) = expanded(config_of(small(repeats=1) | document))
    return spec


@pytest.mark.parametrize(("name", "key", "value"), CORNERS)
def test_an_estimator_accepts_every_value_that_a_config_admits(name, key, value):
    rows = [[0.0, 0.1], [1.0, 0.4], [0.5, 0.9], [0.2, 0.3]]
    short = {} if key in ("n_epochs", "n_generations") else {"n_generations" if name == "ne_ppca" else "n_epochs": 2}
    make_method(one_run(tau=10, methods=[{"method": name, key: value, **short}])).fit(rows)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("step_min", 0.0),
        ("generalisation_loss", math.inf),
        ("generalisation_loss", 0.0),
        ("training_progress", 0.0),
        ("initial_step_range", [0.1, 0.1]),
        ("eta_plus", 10.0),
        ("strip_length", 1_000_000),
        ("max_epochs", 1),
    ],
)
def test_a_classifier_accepts_every_value_that_a_config_admits(key, value):
    epochs = {} if key == "max_epochs" else {"max_epochs": 2}
    spec = one_run(methods=[{"method": "all_features"}], classifier={"hidden": [2], key: value, **epochs})
    rows, classes = [[0.0], [1.0], [0.5], [0.25]], [0, 1, 0, 1]
    make_classifier(spec.cell.classifier, "iris", 0).fit(rows, classes, X_val=rows, y_val=classes)


VALUES = ["0", "-1", "1e9", ".nan", ".inf", "true", "null", "''", "x", "[]", "{}", "[[]]", "101", "1", "[5, 5]", "0x10"]
SYMBOLS = [*":[]{}'\"#\t\n\x00é", "- ", "*a", "&a ", "<<: ", "!!python/name:os "]


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
        config = load_config(path)
    except ConfigError as error:
        for line in str(error).splitlines():
            assert re.match(rf"{re.escape(str(path))}:[1-9][0-9]*: .*[.)]$", line), line
    else:
        taus = [tau for method in config.methods for tau in method.grid.get("tau", ())]
        assert all(tau is None or (tau >= 1 and math.isfinite(tau)) for tau in taus)
        assert all(1 <= method.repeats <= 10_000 for method in config.methods)
        assert expanded(config, repeats=1)


@given(text=broken_configs())
@settings(max_examples=200)
def test_a_damaged_config_is_refused_with_file_and_line_or_still_valid(tmp_path, text):
    _check_refused_or_valid(tmp_path / "c.yaml", text)


@pytest.mark.slow
@given(text=broken_configs())
@settings(max_examples=5000)
def test_thousands_of_damaged_configs_are_refused_with_file_and_line_or_still_valid(tmp_path, text):
    _check_refused_or_valid(tmp_path / "c.yaml", text)
