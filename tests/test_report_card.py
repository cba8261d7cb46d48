"""Report card: the Proben1 report's checklist for configs of every method and classifier."""

import math
import re
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

import pytest
from builders import small, write_config
from command_line import printed
from report_runs import FACTS, TOPOLOGIES, network_runs, search_runs
from stored_runs import cell_of, results_by_config, run_of, runs_by_cell

import pppca_bench
from pppca_bench.base.parameters import REQUIRED
from pppca_bench.methods.entry import Entry
from pppca_bench.methods.protocol import section_of
from pppca_bench.methods.registry import CLASSIFIERS, METHODS
from pppca_bench.reporting.report_card import (
    POINTS,
    build_card,
    describe_entry,
    group_runs,
    render_card,
)
from pppca_bench.runs import RunResult, Scalar

PROVENANCE = '{"pppca": "0.1.0", "python": "3.11.7", "numpy": "2.0", "processor": "a processor", "system": "Linux"}'
ADDRESSES = dict.fromkeys(FACTS, "Proben1 (an address)")
KNOWN = {**FACTS, "iris": replace(FACTS["cancer1"], name="iris")}


def card_of(config: str, runs: list) -> str:
    origins = [("all_features", "done", PROVENANCE, len(runs))]
    cells = results_by_config({config: runs}).cells
    return render_card(build_card(config, cells, KNOWN, ADDRESSES, origins), "markdown")


def usual(entry: Entry) -> dict[str, Scalar]:
    """Return the settings that an entry has by default."""
    defaults = {name: one.default for name, one in sorted(section_of(entry).items())}
    return {name: value for name, value in defaults.items() if value is not REQUIRED}


RPROP = {"rule": "rprop", **usual(CLASSIFIERS["rprop"])}


def test_a_card_has_the_points_in_order_and_shared_facts_once():
    text = card_of("proben1_pivot", list(network_runs("proben1_pivot", list(FACTS), 60)))
    lines = [line.partition(".** ")[0] for line in text.splitlines() if line[:1].isdigit()]
    names = ["Problem", "Data sets", *POINTS.values(), "Runs", "Software"]
    assert lines == [f"{n}. **{name}" for n, name in enumerate(names, 1)]
    assert text.count("The initial weights are drawn uniformly from -0.1 to 0.1.") == 1
    assert len(text.splitlines()) < 60


def test_a_search_is_two_groups_not_a_list_of_all_its_networks():
    runs = list(search_runs(["cancer1", "building1"]))
    groups = group_runs(results_by_config({"s": runs}).of_config("s"))
    assert [(group.is_grid, group.n_settings) for group in groups] == [(True, 12), (True, 12)]
    assert groups[0].varied == {"classifier.hidden": TOPOLOGIES}
    text = card_of("s", runs)
    assert "classifier.hidden = 2, 4, 8, 16, 24, 32, 2+2, 4+2, 4+4, 8+4, 8+8 and 16+8." in text
    said = (
        "2 runs of each setting on each problem in A. 1 run of each setting on each problem in B."
    )
    assert said in text


def test_settings_are_split_into_grids():
    settings = [
        {"tau": tau, "data_fraction": share, "centre": True}
        for tau in (5, 10)
        for share in (100, 50)
    ]
    settings.append({"tau": 5, "data_fraction": 100, "centre": False})
    cells = [cell_of("iris", "dgha", own, {"rule": "rprop"}) for own in settings]
    groups = group_runs(runs_by_cell(map(run_of, cells)))
    assert [(group.is_grid, group.n_settings) for group in groups] == [(True, 4), (True, 1)]
    assert dict(groups[0].varied) == {"data_fraction": (100, 50), "tau": (5, 10)}


def test_settings_without_a_split_into_grids_are_listed():
    settings = [(1, 5), (2, 10), (1, 10), (3, 5), (3, 20)]
    cells = [cell_of("iris", "dgha", {"n_epochs": n, "tau": tau}) for n, tau in settings]
    text = card_of("odd", [run_of(cell, 0, test_error_percent=1.0) for cell in cells])
    assert "n_epochs = 1, tau = 5; n_epochs = 2, tau = 10" in text


def test_a_setting_that_only_some_cells_name_is_not_set_in_the_others():
    classifiers = ({"rule": "rprop"}, {"rule": "rprop", "hidden_activation": "tanh"})
    cells = [cell_of("iris", "pca", {}, own) for own in classifiers]
    text = card_of("two", [run_of(cell, test_error_percent=1.0) for cell in cells])
    assert "settings were run: classifier.hidden_activation = not set and tanh." in text


def test_failed_and_missing_runs_are_counted():
    (spec, _), (late, _), *others = network_runs("proben1_pivot", ["cancer1"], 5)
    failed = RunResult(spec.key, "failed", "why")
    text = card_of("proben1_pivot", [(spec, failed), (late, None), *others])
    said = "1 of 5 runs failed and are left out of the results. 1 of 5 runs are not done yet."
    assert said in text
    assert "none is left out" not in text


def test_splits_of_the_repeats_and_a_network_by_the_rule_of_size_are_described(monkeypatch):
    runs = list(network_runs("proben1_pivot", ["cancer1"], 2))
    own = [(replace(s, cell=replace(s.cell, problem="own.csv")), result) for s, result in runs]
    facts = replace(FACTS["cancer1"], name="own.csv", n_outputs=10, n_splits=5)
    monkeypatch.setitem(KNOWN, "own.csv", facts)
    text = card_of("proben1_pivot", runs + own)
    assert "The examples of own.csv are split in 5 ways into a training" in text
    assert "Each other problem's examples are split once" in text
    assert "own.csv: user-defined data." in text
    (row,) = (line for line in text.splitlines() if line.startswith("| own.csv"))
    assert "| 20+10 l " in row


ASKS_FOR_NOTHING_AT_0 = {"successive_increases", "progress_quotient"}


@pytest.mark.parametrize(
    "entry", [*METHODS.values(), *CLASSIFIERS.values()], ids=attrgetter("name")
)
def test_every_entry_of_the_registry_is_described_with_all_its_settings(entry):
    settings, spoken = usual(entry), describe_entry(entry, ())
    described = describe_entry(entry, tuple(settings.items()))
    assert set(described) == set(POINTS.values())
    assert set(entry.details) <= set(POINTS)
    assert "{" not in str(list(described.values()))
    for name, value in settings.items():
        if name in ASKS_FOR_NOTHING_AT_0 and value == 0:
            assert describe_entry(entry, ((name, value),)) == spoken
            value = 3
        alone = describe_entry(entry, ((name, value),))
        assert alone != spoken, f"{name} = {value} is not described"


@pytest.mark.parametrize("name", [name for name, entry in CLASSIFIERS.items() if entry.is_ensemble])
def test_the_networks_of_an_ensemble_are_described(name):
    base = {f"base.{key}": value for key, value in RPROP.items()}
    cell = cell_of(
        "cancer1", "all_features", {}, {"rule": name, **usual(CLASSIFIERS[name]), **base}
    )
    text = card_of("any", [run_of(cell, test_error_percent=3.0)])
    assert "The member is RPROP" in text
    assert "Hidden nodes have the activation x / (1 + |x|) unless stated otherwise" in text
    assert "| connections |" in " ".join(text.split())


def test_a_classifier_that_several_methods_share_is_described_once():
    cells = [cell_of("iris", name, {}, RPROP) for name in ("pca", "lda")]
    text = card_of("two", [run_of(cell, test_error_percent=1.0) for cell in cells])
    assert text.count("first step size") == 1
    assert "For the classifier: as in A." in text


def test_third_party_classes_are_named_and_only_trained_networks_are_described():
    stump, svc = (
        {"rule": "stump", **usual(CLASSIFIERS["stump"])},
        {"C": 3, "rule": "sklearn.svm:SVC"},
    )
    cells = [cell_of("iris", "m:Mine", {"power": 2}, RPROP), cell_of("iris", "pca", {}, svc)]
    cells += [cell_of("iris", "sklearn.svm:SVC", {"C": 1}, {}), cell_of("iris", "pca", {}, stump)]
    text = card_of("four", [run_of(cell, test_error_percent=1.0) for cell in cells])
    assert re.findall("^## (.*)", text, re.MULTILINE)[:4] == [
        "A. Mine, then RPROP (hidden pivot, no shortcuts)",
        "B. PCA, then SVC",
        "C. SVC",
        "D. PCA, then stump",
    ]
    networks = re.findall(r"\*\*Network\.\*\* ([^.,]*)", text)
    of_class, none = "See the documentation of SVC", "No network is trained"
    assert networks[0].startswith("The network has an input for each feature")
    assert networks[1:] == [of_class, of_class, none]
    assert "The method is m:Mine, a third-party class (power = 2)." in text
    assert "The classifier is sklearn.svm:SVC, a third-party class (C = 3)." in text


def test_rules_that_are_off_have_a_sentence():
    settings = (("generalisation_loss", math.inf), ("training_progress", 0.0))
    described = describe_entry(CLASSIFIERS["backprop"], settings)["Termination"]
    assert described == [
        "Generalisation loss does not stop training.",
        "Lack of training progress does not stop training.",
    ]


@pytest.mark.usefixtures("isolated_folders")
def test_a_config_is_named_or_given_as_a_file_and_other_files_are_refused_in_a_line(tmp_path):
    path = write_config(tmp_path, small({"method": "pca", "tau": 5}, name="small", repeats=1))
    printed("run", path, "--workers", 0)
    named = printed("rules", "small")
    assert named == printed("rules", path)
    bundled = "# How small was run\n\n1. **Problem.** iris of the problems bundled with pppca-bench"
    assert named.startswith(bundled)
    Path("list.yaml").write_text("- 1\n")
    no_runs = "no runs of config 'list.yaml'"
    for name, said in (("none.yaml", "cannot be read"), ("list.yaml", no_runs)):
        refused = printed("rules", name, code=2)
        assert said in refused
        assert refused.count("\n") == 1


def test_the_choice_of_a_run_is_described(tmp_path):
    choice = {"tau": [5, 10], "choose": "tau", "by": "retained_variance", "retain": 80}
    pppca_bench.run(small("pca", name="own", repeats=1, **choice), results=tmp_path)
    described = printed("rules", "own", "--results", tmp_path)
    expected = (
        "Each run chooses tau among 5, 10, by the fewest features that retain 80 % of the variance"
    )
    assert f"{expected} of the training set; only the chosen setting is tested." in described
