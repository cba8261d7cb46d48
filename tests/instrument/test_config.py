"""Configs: admissible values and defaults; `test_refusals` has the validation errors."""

import math
import re
from pathlib import Path

import pytest
from builders import expanded
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from test_refusals import BASE

from pppca_bench.config.experiment import Config, parse_config
from pppca_bench.config.sections import variants
from pppca_bench.errors import ConfigError
from pppca_bench.methods.protocol import section_of
from pppca_bench.methods.registry import CLASSIFIERS, METHODS
from pppca_bench.problems import OwnData, SplitRule
from pppca_bench.problems.uci import uci_sets
from pppca_bench.yaml_files.source import parse_yaml, read_yaml

SHIPPED = sorted((Path(__file__).parents[2] / "configs").glob("*.yaml"))
RPROP = {"rule": ("rprop",)} | {
    key: (one.default,)
    for key, one in section_of(CLASSIFIERS["rprop"]).items()
    if key not in CLASSIFIERS["rprop"].of_classes
}


def load(text: str) -> Config:
    return parse_config(parse_yaml(Path("c.yaml"), text))


def changed(old: str, new: str) -> Config:
    """Return BASE's config with a piece of its text replaced."""
    assert old in BASE
    return load(BASE.replace(old, new))


def test_a_config_holds_given_values_and_defaults():
    config = load(BASE)
    assert (config.name, config.problems, config.seed) == ("small", ("iris", "wine"), 1)
    gha, dgha = config.methods
    expected = (METHODS["gha"], 2, METHODS["dgha"], 2)
    assert (gha.entry, gha.repeats, dgha.entry, dgha.repeats) == expected
    assert (gha.grid["learning_rate"], gha.grid["n_epochs"]) == ((0.01,), (2000,))
    expected = ((100.0, 10.0), (1.2,), (5, 10))
    assert (dgha.grid["data_fraction"], dgha.grid["learning_rate"], dgha.grid["tau"]) == expected
    assert gha.grid["tau"] == (5, 10)
    assert gha.classifier == dgha.classifier == RPROP | {"hidden": ((8,),)}
    with pytest.raises(ValidationError, match="Instance is frozen"):
        config.seed = 3


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_the_shipped_configs_are_valid_and_named_after_their_file(path):
    config = parse_config(read_yaml(path))
    assert config.name == path.stem
    tables = [problem for problem in config.problems if isinstance(problem, OwnData)]
    assert {own.place for own in tables if own.source == "uci"} <= uci_sets().keys()


@pytest.mark.parametrize("rule", [name for name, entry in CLASSIFIERS.items() if entry.is_ensemble])
def test_an_ensemble_combines_classifiers_of_the_default_rule(rule):
    (method, _) = changed("{hidden: [8]}", f"{{rule: {rule}}}").methods
    assert method.classifier["base"] == RPROP


TABLES = {
    "iris": "iris",
    "{csv: a/own.csv, target: y}": OwnData("csv", "a/own.csv", ("y",)),
    "{parquet: own.parquet, target: [y, z]}": OwnData("parquet", "own.parquet", ("y", "z")),
    "{sklearn: digits}": OwnData("sklearn", "digits"),
    "{openml: 61}": OwnData("openml", "61"),
    "{uci: vehicle}": OwnData("uci", "vehicle"),
    "{dt: my.dt}": "my.dt",
}


def test_tables_are_problems_of_many_kinds():
    problems = changed("[iris, wine]", f"[{', '.join(TABLES)}]").problems
    assert problems == tuple(TABLES.values())
    labels = [one.label for one in problems[1:6]]
    assert labels == ["own.csv", "own.parquet", "sklearn:digits", "openml:61", "uci:vehicle"]


def test_a_table_has_the_configs_splits_unless_it_states_its_own():
    entries = "{sklearn: iris}, {sklearn: wine, folds: 5}, {csv: own.csv, target: y, split: {column: fold}, name: mine}"
    config = changed("[iris, wine]", f"[{entries}]\nsplits: 10\nfolds: 4")
    rules = [one.rule for one in config.problems]
    assert rules == [SplitRule(splits=10, folds=4), SplitRule(folds=5), SplitRule(column="fold")]
    assert [rule.n_splits for rule in rules] == [40, 5, 1]


def test_all_tables_have_the_split_seed_of_the_config():
    entries = "{sklearn: iris}, {sklearn: wine, folds: 5}, iris"
    config = changed("[iris, wine]", f"[{entries}]\nfolds: 4\nsplit_seed: 7")
    rules = [one.rule for one in config.problems[:2]]
    assert rules == [SplitRule(folds=4, seed=7), SplitRule(folds=5, seed=7)]


@pytest.mark.parametrize(("folds", "repeats"), [(", folds: 5", 5), ("", 3)])
def test_a_config_without_repeats_has_one_for_each_split(folds, repeats):
    text = BASE.replace("[iris, wine]", f"[{{csv: own.csv, target: y{folds}}}]")
    assert load(text.replace("repeats: 2", "splits: 3")).methods[0].repeats == repeats


@pytest.mark.parametrize(
    ("key", "written", "values"),
    [
        ("centre", "[true, false]", (True, False)),
        ("decay_epochs", "[null, 3]", (None, 3.0)),
        ("n_components", "[2]", (2,)),
        ("hidden", "[8, 4]", ((8, 4),)),
        ("hidden", "[[8, 4]]", ((8, 4),)),
        ("hidden", "[[8, 4], [], [2]]", ((8, 4), (), (2,))),
        ("hidden", "[]", ((),)),
        ("hidden", "[pivot, [2]]", ("pivot", (2,))),
    ],
)
def test_each_value_of_a_list_is_a_setting_and_a_list_of_lists_has_several(key, written, values):
    piece = "learning_rate: 0.01" if key != "hidden" else "hidden: [8]"
    method = changed(piece, f"{key}: {written}").methods[0]
    grid = method.classifier if key == "hidden" else method.grid
    assert grid[key] == values
    assert len(list(variants(grid))) == len(values) * len(grid.get("tau", (None,)))


VALUES = "0 -1 1e9 .nan .inf true null '' x [] {} [[]] 101 1 [5,5] 0x10"
SYMBOLS = [*":[]{}'\"#\t\n\x00é", "- ", "*a", "&a ", "<<: ", "!!python/name:os "]


@st.composite
def broken_configs(draw):
    """Draw a shipped config with one to three small changes: a piece lost or put in, a line lost, doubled or moved."""
    text = draw(st.sampled_from([BASE, *(path.read_text(encoding="utf-8") for path in SHIPPED)]))
    for _ in range(draw(st.integers(1, 3))):
        lines = text.split("\n")
        place = draw(st.integers(0, len(text)))
        line, other = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
        with_value = re.sub(r":.*", f": {draw(st.sampled_from(VALUES.split()))}", lines[line])
        symbol = draw(st.sampled_from(SYMBOLS) | st.text(max_size=3))
        without = text[:place] + text[place + draw(st.integers(1, 8)) :]
        changes = [
            [*lines[:line], with_value, *lines[line + 1 :]],
            lines[:line] + lines[line + 1 :],
            [*lines[:other], lines[line], *lines[other:]],
            [*lines[:line], lines[other], *lines[line + 1 :]],
        ]
        texts = [without, text[:place] + symbol + text[place:], *map("\n".join, changes)]
        text = draw(st.sampled_from(texts))
    return text


@settings(max_examples=150)
@given(text=broken_configs())
def test_a_damaged_config_is_refused_with_file_and_line_or_still_valid(tmp_path, text):
    path = tmp_path / "c.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        config = parse_config(read_yaml(path))
    except ConfigError as error:
        for line in str(error).splitlines():
            assert re.match(rf"{re.escape(str(path))}:[1-9][0-9]*: .*[.)]$", line), line
    else:
        taus = [tau for method in config.methods for tau in method.grid.get("tau", ())]
        assert all(tau is None or (tau >= 1 and math.isfinite(tau)) for tau in taus)
        assert all(1 <= method.repeats <= 10_000 for method in config.methods)
        assert expanded(config, repeats=1)
