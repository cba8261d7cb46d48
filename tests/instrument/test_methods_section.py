"""Methods section: settings, data, runs and versions of configs."""

import re
from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from builders import small, write_config
from command_line import printed
from stored_runs import cell_of, results_of, run_of

import pppca_bench
from pppca_bench.methods import networks
from pppca_bench.methods.networks import NetworkSetting
from pppca_bench.methods.registry import CLASSIFIERS, METHODS
from pppca_bench.pages.document import escaped
from pppca_bench.pages.methods_section import describe_config, render_methods, software
from pppca_bench.runs import Cell, Label, ProblemFacts, RunResult, StoredRun

CANCER = ProblemFacts("cancer1", "a" * 64, "classification", "cancer", 9, 2, 100, 50, 50)
IRIS = replace(CANCER, name="iris")
OWN = replace(CANCER, name="own.csv", n_outputs=10, n_splits=5)
KNOWN = {one.name: one for one in (CANCER, IRIS, OWN)}


def described(runs: Sequence[StoredRun]) -> dict[str, Any]:
    return describe_config(results_of(runs), KNOWN, {"cancer1": "Proben1"}, [])


def settings_of(*cells: Cell) -> tuple[list[str], list[str]]:
    """Return the settings of the learners of a run of each cell, and the names of the rows."""
    found = described([run_of(cell, test_error_percent=1.0) for cell in cells])
    learners = [f"{role} {title}: {settings}" for role, title, *_, settings in found["learners"]]
    _, rows = found["tables"]["Settings"]
    return learners, [row[0] for row in rows]


def networks_of(*cells: Cell) -> list[str]:
    """Return the networks of each problem."""
    found = described([run_of(cell, test_error_percent=1.0) for cell in cells])
    _, rows = found["tables"]["Problems"]
    return [row[-1] for row in rows]


def test_settings_that_all_runs_of_a_method_share_stand_once_and_others_in_rows():
    dgha = [{"tau": tau, "centre": True, "n_components": None} for tau in (5.0, 10.0)]
    lda, rprop = cell_of("iris", "lda", {}, {"rule": "rprop"}), {"rule": "rprop", "hidden": (4, 2)}
    learners, rows = settings_of(*(cell_of("iris", "dgha", own, rprop) for own in dgha), lda)
    assert learners == ["Method DGHA: centre = true", "Method LDA: ", "Classifier RPROP: "]
    network = "classifier.hidden = [4, 2]"
    expected = [f"DGHA, RPROP: tau = {tau}, {network}" for tau in (5, 10)]
    assert rows == [*expected, "LDA, RPROP"]


def test_a_row_has_the_title_that_its_entry_wrote():
    spec, result = run_of(cell_of("iris", "pca", {"n_components": 2}), test_error_percent=1.0)
    titled = replace(spec, label=Label("My PCA", ()))
    _, rows = described([(titled, result)])["tables"]["Settings"]
    assert rows[0][0].startswith("My PCA")


def test_two_classes_of_one_name_have_the_titles_of_their_entries():
    runs = []
    for module, title in (("one", "first"), ("two", "second")):
        spec, result = run_of(cell_of("iris", f"{module}:Net"), test_error_percent=1.0)
        runs.append((replace(spec, label=Label(title, ())), result))
    text = render_methods("own", described(runs), "markdown")
    for module, title in (("one", "first"), ("two", "second")):
        assert f"**Method.** {title}, the third-party class {module}:Net." in text


def test_members_of_an_ensemble_have_settings_of_their_own():
    bagging = {"rule": "bagging", "n_estimators": 3, "base": {"rule": "rprop", "hidden": (4,)}}
    learners, rows = settings_of(cell_of("iris", "all_features", {}, bagging))
    members = ["Classifier bagging: n_estimators = 3", "Member RPROP: hidden = [4]"]
    assert learners == ["Method all features: ", *members]
    assert rows == ["all features, bagging, RPROP"]


def test_a_third_party_class_is_named_with_its_parameters():
    svc = {"rule": "sklearn.svm:SVC", "C": 3}
    cell = cell_of("iris", "mine:Mine", {"rule": "power"}, svc)
    learners, rows = settings_of(cell)
    assert learners == ["Method Mine: rule = power", "Classifier SVC: C = 3"]
    assert rows == ["Mine, SVC"]
    text = render_methods("own", described([run_of(cell, test_error_percent=1.0)]), "markdown")
    assert "**Classifier.** SVC, the third-party class sklearn.svm:SVC. Settings: C = 3." in text


def test_problems_and_runs_of_each_setting_are_counted():
    network = cell_of("cancer1", "all_features")
    done = [run_of(network, repeat, test_error_percent=1.0) for repeat in range(5)]
    (spec, _), (late, _), *others = done
    failed = RunResult(spec.key, "failed", "why")
    more = [run_of(cell_of("iris", "lda"), test_error_percent=1.0)]
    more += [run_of(cell_of("cancer1", "lda"), repeat, test_error_percent=1.0) for repeat in (0, 1)]
    found = described([(spec, failed), (late, None), *others, *more])
    _, rows = found["tables"]["Settings"]
    assert [row[1:] for row in rows] == [["cancer1", "5", "3", "1"], ["all 2", "3", "3", "0"]]
    text = render_methods("two", found, "markdown")
    assert "6 of 8 planned runs are done; 1 failed and are left out of the results." in text


def test_connections_are_counted_where_a_network_reads_all_inputs(monkeypatch):
    published = {"cancer1": NetworkSetting((4, 2), "linear")}
    monkeypatch.setattr(networks, "published_network", published.get)
    pivot = {"rule": "rprop", "hidden": "pivot", "output_activation": "pivot", "shortcuts": True}
    plain = {**pivot, "shortcuts": False}
    member = {"rule": "bagging", "base": pivot}
    for network in (pivot, member):
        assert networks_of(cell_of("cancer1", "all_features", {}, network)) == ["4+2 l: 100"]
    both = [cell_of("cancer1", "all_features", {}, network) for network in (pivot, plain)]
    assert networks_of(*both) == ["4+2 l: 100, 4+2 l: 56"]
    assert networks_of(cell_of("cancer1", "ga_mlp", {"hidden": (4,)}, {})) == ["4+0 l: 50"]
    chosen = {"hidden": (4,), "shortcuts": "auto"}
    choose = {"by": "macro_f1", "retain": None, "among": {"shortcuts": (True, False)}}
    assert networks_of(cell_of("cancer1", "ga_mlp", chosen, {}, choose=choose)) == ["–"]
    assert networks_of(cell_of("cancer1", "pca", {}, pivot)) == ["4+2 l"]
    assert networks_of(cell_of("own.csv", "pca", {}, pivot)) == ["20+10 l"]
    assert networks_of(cell_of("cancer1", "pca", {}, {"rule": "stump"})) == ["–"]


def test_data_have_sizes_splits_digest_and_source():
    cells = [cell_of(problem, "lda") for problem in ("cancer1", "own.csv")]
    found = described([run_of(cell, test_error_percent=1.0) for cell in cells])
    _, rows = found["tables"]["Problems"]
    sizes = ["100", "50", "50"]
    assert rows[0][:-1] == ["cancer1", "9", "2", *sizes, "1", "a" * 12]
    assert rows[1][:-1] == ["own.csv", "9", "10", *sizes, "5", "a" * 12]
    text = render_methods("two", found, "markdown")
    assert "**Problems.** cancer1: Proben1. own.csv: user-defined data." in text
    assert "In user-defined tables, a missing number" in text


def test_software_names_versions_and_machines_of_done_runs():
    origins = [
        ("dgha", "done", '{"pppca": "0.1.0", "python": "3.11", "system": "Linux"}', 5),
        ("dgha", "failed", '{"pppca": "0.0.1"}', 1),
        ("gha", "done", None, 2),
    ]
    assert software(origins, [cell_of(version=3)]) == [
        "5 runs by pppca 0.1.0, python 3.11, system Linux.",
        "2 runs by unknown software.",
        "Versions of the algorithms: dgha 3.",
    ]


@pytest.mark.parametrize(
    "entry", [*METHODS.values(), *CLASSIFIERS.values()], ids=attrgetter("name")
)
def test_latex_has_every_character_of_an_entry(entry):
    text = f"{entry.title} {entry.does} {entry.source} {entry.details}"
    assert re.findall(r"[^\x20-\xff]", escaped(text, "latex")) == []


def test_texts_and_names_are_escaped_in_latex():
    found = described([run_of(cell_of("iris", "m:My_Class"), test_error_percent=1.0)])
    text = render_methods("my_own", found, "latex")
    assert r"\section*{How my\_own was run}" in text
    assert r"\paragraph{Method.} My\_Class, the third-party class m:\allowbreak{}My\_Class." in text
    assert r"\label{tab:Settings-my_own}" in text


@pytest.mark.usefixtures("isolated_folders")
def test_a_config_is_named_or_given_as_a_file_and_other_files_are_refused_in_a_line(tmp_path):
    path = write_config(tmp_path, small({"method": "pca", "tau": 5}, name="small", repeats=1))
    printed("run", path, "--workers", 0)
    named = printed("rules", "small")
    assert named == printed("rules", path)
    bundled = "# How small was run\n\n**Problems.** iris: the problems bundled with pppca-bench"
    assert named.startswith(bundled)
    Path("list.yaml").write_text("- 1\n")
    no_runs = "no runs of config 'list.yaml'"
    for name, said in (("none.yaml", "cannot be read"), ("list.yaml", no_runs)):
        refused = printed("rules", name, code=2)
        assert said in refused
        assert refused.count("\n") == 1


def test_the_choice_of_a_run_is_among_its_settings(tmp_path):
    choice = {"tau": [5, 10], "choose": "tau", "by": "retained_variance", "retain": 80}
    pppca_bench.run(small("pca", name="own", repeats=1, **choice), results=tmp_path)
    text = printed("rules", "own", "--results", tmp_path)
    assert "choose.among.tau = [5, 10], choose.by = retained_variance, choose.retain = 80" in text
    assert "tau = auto" in text
