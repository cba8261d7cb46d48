"""Overrides by ``--set``, and filters by ``--only``."""

import os
from pathlib import Path
from textwrap import dedent

import pytest
import yaml
from builders import csv_of

from pppca_bench.config.overrides import changed_name, parse_changes
from pppca_bench.errors import ConfigError, UnknownNameError
from pppca_bench.experiments import request as requests
from pppca_bench.experiments.request import read_request
from pppca_bench.problems import open_problem
from pppca_bench.runs import Plan, selections

CONFIG = """\
# A comment.
name: small
problems: [iris, wine]
repeats: 2
seed: 1
tau: [5, 15]
methods:
  - {method: gha, tau: null}
  - {method: dgha, data_fraction: [100, 10]}
  - {method: dgha, centre: false, classifier: {rule: backprop, hidden: [3]}}
classifier: {hidden: [8, 4]}
"""
GHA = "- {method: gha, tau: null}"
N_RUNS = 2 * 2 * (1 + 4 + 2)

pytestmark = pytest.mark.usefixtures("isolated_folders")


@pytest.fixture
def path(tmp_path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(CONFIG)
    return path


def plan(path: Path, *changes: str, only: tuple[str, ...] = ()) -> Plan:
    return read_request([path], changes=changes, only=only).plans[0]


def taken(path: Path, *only: str) -> set[tuple[object, ...]]:
    specs = plan(path, only=only).specs
    cells = [(spec.cell, spec.repeat) for spec in specs]
    return {(own.problem, own.method, own.settings.get("tau"), n) for own, n in cells}


def test_different_keys_hold_together_and_values_of_a_key_are_alternatives(path):
    expected = {("iris", "dgha", 15.0, n) for n in range(2)}
    assert taken(path, "method=dgha,tau=15", "problem=iris") == expected
    of_dgha = taken(path, "method=dgha")
    assert taken(path, "tau=5,15") == taken(path, "tau=5", "tau=15") == of_dgha
    both = taken(path, "method=gha", "method=dgha")
    assert {method for _, method, *_ in both} == {"gha", "dgha"}


@pytest.mark.parametrize(
    ("condition", "n_runs"),
    [("classifier.hidden=3", 8), ("classifier.hidden=[8, 4],method=gha", 4), ("centre=false", 8)],
)
def test_settings_of_the_classifier_count_and_lists_are_values(path, condition, n_runs):
    assert len(plan(path, only=(condition,)).specs) == n_runs


def test_a_setting_that_only_some_runs_have_is_null_in_the_others(path):
    path.write_text(CONFIG.replace(GHA, f"{GHA}\n  - {{method: gha, tau: 7}}"))
    for condition, taus in (("method=gha", {None, 7.0}), ("method=gha,tau=null", {None})):
        assert {tau for _, _, tau, _ in taken(path, condition)} == taus


def test_selections_match_their_cells_alone_and_name_classifiers_before_their_settings(path):
    several = f"{GHA}\n  - {{method: gha, tau: 7, classifier: {{hidden: [[3], [4, 2]]}}}}\n"
    several += "  - {method: gha, tau: null, classifier: {rule: bagging, n_estimators: [2, 3]}}"
    path.write_text(CONFIG.replace(GHA, several))
    selected = selections({spec.cell for spec in plan(path).specs})
    names = {tuple(own)[2:] for own in selected.values() if own["method"] == "gha"}
    rules = ("classifier.base.rule", "classifier.rule")
    assert names == {(*rules, "tau", "classifier.hidden"), (*rules, "classifier.n_estimators")}
    for cell, own in selected.items():
        conditions = ",".join(map("=".join, own.items()))
        assert {spec.cell for spec in plan(path, only=(conditions,)).specs} == {cell}


def test_selections_have_the_settings_of_the_config_where_these_match_a_cell_alone(path):
    path.write_text(CONFIG.replace(GHA, f"{GHA}\n  - {{method: gha, centre: false, tau: 7}}"))
    specs = [spec for spec in plan(path).specs if spec.cell.method == "gha"]
    selected = selections({spec.cell for spec in specs}, {spec.cell: spec.label for spec in specs})
    names = {tuple(own)[2:] for own in selected.values()}
    assert names == {("centre", "tau")}
    listed = "- {method: gha, tau: 5}\n  - {method: gha, tau: [7, 8], centre: [false]}"
    path.write_text(CONFIG.replace(GHA, listed))
    specs = [spec for spec in plan(path).specs if spec.cell.method == "gha"]
    selected = selections({spec.cell for spec in specs}, {spec.cell: spec.label for spec in specs})
    assert {tuple(own)[2:] for own in selected.values()} == {("tau",), ("tau", "centre")}


@pytest.mark.parametrize("name", ["a,b.csv", "2024-01-01", "no", "2020", "null", "017"])
def test_names_are_compared_as_texts_and_quoted_if_they_have_a_comma(path, tmp_path, name):
    (tmp_path / name).write_text(csv_of(40, a=range(40), target="uv"))
    path.write_text(CONFIG.replace("[iris, wine]", f"[{{csv: {name!r}, target: target}}, iris]"))
    for condition in (f"tau=5,problem='{name}',method=dgha", f'problem="{name}"'):
        assert {problem for problem, *_ in taken(path, condition)} == {name}
    if "," not in name:
        assert {problem for problem, *_ in taken(path, f"problem={name}")} == {name}
        return
    with pytest.raises(UnknownNameError, match=r"""comma twice: --only 'problem="a,b\.csv"'\.$"""):
        plan(path, only=(f"problem={name}",))


def test_a_plan_lists_the_runs_that_the_filter_leaves_out(path):
    filtered = plan(path, only=("method=gha",))
    assert {spec.cell.method for spec in filtered.left_out} == {"dgha"}
    assert len(filtered.specs) == 4
    assert len(filtered.all_repeats) == N_RUNS
    expected = {spec.key for spec in filtered.all_repeats}
    assert {spec.key for spec in (*filtered.specs, *filtered.left_out)} == expected


def test_a_config_without_matching_runs_has_no_plan(path, tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text(CONFIG.replace("small", "other").replace("[iris, wine]", "[wine]"))
    (only,) = read_request([path, other], only=["problem=iris"]).plans
    assert only.name == "small"


def test_data_that_no_selected_run_needs_are_not_loaded(path, monkeypatch):
    path.write_text(CONFIG.replace("[iris, wine]", "[iris, cancer1, card1]"))
    opened = []
    monkeypatch.setattr(
        requests, "open_problem", lambda name, *_, **__: opened.append(name) or open_problem(name)
    )
    plan(path, only=("problem=iris",))
    assert opened == ["iris"]


def test_a_file_name_that_is_no_utf_8_is_escaped(tmp_path):
    path = tmp_path / os.fsdecode(b"b\xff.yaml")
    path.write_text(CONFIG)
    assert plan(path, "tau=5").text.startswith("# b\\udcff.yaml, changed by --set tau=5")


def test_a_value_of_the_classifier_of_a_method_and_of_the_config_is_changed(path):
    changed = plan(path, "classifier.hidden=[5]", "dgha.n_epochs=7", "repeats=1", "dgha.tau=10")
    assert {spec.repeat for spec in changed.specs} == {0}
    names = ("n_epochs", "tau", "classifier.hidden")
    found = {(s.cell.method, *map(s.cell.settings.get, names)) for s in changed.specs}
    # An entry's own classifier is its own.
    of_dgha = {("dgha", 7, 10.0, (5,)), ("dgha", 7, 10.0, (3,))}
    assert found == {("gha", 2000, None, (5,))} | of_dgha


def test_a_changed_config_has_a_name_that_no_file_can_have(path):
    name = plan(path, "tau=5").name
    assert name == "small+tau=5"
    path.write_text(CONFIG.replace("name: small", f"name: {name}"))
    with pytest.raises(ConfigError, match="name: expected"):
        read_request([path])


def test_the_text_is_the_changed_config_after_a_list_of_the_changes(path):
    changed = plan(path, "tau=5", "dgha.classifier.hidden=[2]")
    head, _, text = changed.text.partition("\n")
    assert "small.yaml, changed by --set dgha.classifier.hidden=[2] --set tau=5" in head
    path.write_text(text.replace(f"name: {changed.name}", "name: mine"))
    assert plan(path).specs == changed.specs
    assert yaml.safe_load(text)["name"] == changed.name


@pytest.mark.parametrize("text", ["2020", "1e3", "-0.50", "017.5"])
def test_a_number_is_text_to_a_key_that_takes_texts(path, tmp_path, monkeypatch, text):
    name = f"typed_{tmp_path.name}"
    taken = "label: str = 'a', year: Literal['2020'] = '2020', free='x', n: int = 1"
    module = f"""
        from typing import Literal
        class T:
            def __init__(self, {taken}): ...
            def fit(self, X, y=None): ...
            def transform(self, X): ...
    """
    (tmp_path / f"{name}.py").write_text(dedent(module))
    path.write_text(CONFIG.replace(GHA, f'- {{method: "{name}:T"}}'))
    monkeypatch.syspath_prepend(tmp_path)
    changes = {"label": text, "year": "2020", "free": "2020", "n": "7"}
    options = [f"{name}:T.parameters.{key}={value}" for key, value in changes.items()]
    settings = plan(path, *options).specs[0].cell.settings
    expected = {"label": text, "year": "2020", "free": 2020, "n": 7}
    assert {key: settings[key] for key in changes} == expected
    with pytest.raises(ConfigError, match=r"small\.yaml:6: tau: expected [^\n]*$"):
        plan(path, *options, "tau=0")
    assert plan(path, f"{name}:T.parameters.label=no").specs[0].cell.settings["label"] == "no"


@pytest.mark.parametrize(
    ("values", "name"),
    [
        (["classifier.hidden=[16, 8]"], "c+classifier.hidden=16,8"),
        (["gha.learning_rate=1e-3"], "c+gha.learning_rate=0.001"),
        (["tau=null", "gha.centre=false"], "c+gha.centre=false,tau=null"),
    ],
)
def test_the_name_lists_the_changes_in_their_order(values, name):
    assert changed_name("c", parse_changes(values)[0]) == name


def test_a_name_is_fit_for_a_folder_and_still_unique():
    names = {
        changed_name("c", {"problems": [text]}) for text in ("a/b", "a b", "a" * 300, "a" * 301)
    }
    assert len(names) == 4
    assert not any(set(name) & set('/ \\:"') or len(name) > 120 for name in names)
