"""Report card: the Proben1 report's checklist for configs of every method and classifier."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
from builders import small, write_config
from command_line import printed
from report_runs import FACTS, TOPOLOGIES, network_runs, search_runs
from stored_runs import cell_of, results_by_config, run_of, runs_by_cell

import pppca_bench
from pppca_bench.base.parameters import REQUIRED
from pppca_bench.methods.protocol import section_of
from pppca_bench.methods.registry import CLASSIFIERS, METHODS
from pppca_bench.reporting.document import listed
from pppca_bench.reporting.report_card import (
    POINTS,
    build_card,
    describe_entry,
    group_runs,
    render_card,
)
from pppca_bench.runs import Cell, RunResult

PROVENANCE = '{"pppca": "0.1.0", "python": "3.11.7", "numpy": "2.0", "processor": "a processor", "system": "Linux"}'
ADDRESSES = dict.fromkeys(FACTS, "Proben1 (an address)")
KNOWN = {**FACTS, "iris": replace(FACTS["cancer1"], name="iris")}
CHECKLIST = ["Problem", "Data sets", *POINTS.values(), "Runs", "Software"]


def card_of(config: str, runs: list) -> str:
    origins = [("all_features", "done", PROVENANCE, len(runs))]
    cells = results_by_config({config: runs}).cells
    return render_card(build_card(config, cells, KNOWN, ADDRESSES, origins), "markdown")


def usual(entry) -> tuple:
    """Return the settings that an entry has by default."""
    found = {
        name: one.default for name, one in section_of(entry).items() if one.default is not REQUIRED
    }
    return tuple(sorted(found.items()))


def test_a_card_has_the_points_in_order_and_shared_facts_once():
    text = card_of("proben1_pivot", list(network_runs("proben1_pivot", list(FACTS), 60)))
    lines = [line for line in text.splitlines() if line[:1].isdigit()]
    expected = [f"{n}. **{name}" for n, name in enumerate(CHECKLIST, 1)]
    assert [line.partition(".** ")[0] for line in lines] == expected
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
    def cell(**parameters: float) -> Cell:
        return cell_of("iris", "dgha", parameters, {"rule": "rprop"})

    grid = [
        cell(tau=tau, data_fraction=share, centre=True) for tau in (5, 10) for share in (100, 50)
    ]
    alone = cell(tau=5, data_fraction=100, centre=False)
    groups = group_runs(runs_by_cell(run_of(one) for one in [*grid, alone]))
    assert [(group.is_grid, group.n_settings) for group in groups] == [(True, 4), (True, 1)]
    assert dict(groups[0].varied) == {"data_fraction": (100, 50), "tau": (5, 10)}


def test_settings_without_a_split_into_grids_are_listed():
    cells = [
        cell_of("iris", "dgha", {"n_epochs": n, "tau": tau}, {"rule": "rprop"})
        for n, tau in [(1, 5), (2, 10), (1, 10), (3, 5), (3, 20)]
    ]
    text = card_of("odd", [run_of(cell, 0, test_error_percent=1.0) for cell in cells])
    assert "n_epochs = 1, tau = 5; n_epochs = 2, tau = 10" in text


def test_a_setting_that_only_some_cells_name_is_not_set_in_the_others():
    classifiers = [{"rule": "rprop", **own} for own in ({}, {"hidden_activation": "tanh"})]
    runs = [run_of(cell_of("iris", "pca", {}, own), test_error_percent=1.0) for own in classifiers]
    text = card_of("two", runs)
    assert "settings were run: classifier.hidden_activation = not set and tanh." in text


def test_failed_and_missing_runs_are_counted():
    (spec, _), *others = network_runs("proben1_pivot", ["cancer1"], 5)
    late = [(spec, RunResult(spec.key, "failed", "why")), (others[0][0], None), *others[1:]]
    text = card_of("proben1_pivot", late)
    said = "1 of 5 runs failed and are left out of the results. 1 of 5 runs are not done yet."
    assert said in text
    assert "none is left out" not in text


def test_splits_of_the_repeats_and_a_network_by_the_rule_of_size_are_described(monkeypatch):
    runs = list(network_runs("proben1_pivot", ["cancer1"], 2))
    own = [
        (replace(spec, cell=replace(spec.cell, problem="own.csv")), result) for spec, result in runs
    ]
    facts = replace(FACTS["cancer1"], name="own.csv", n_outputs=10, n_splits=5)
    monkeypatch.setitem(KNOWN, "own.csv", facts)
    text = card_of("proben1_pivot", runs + own)
    said = (
        "The examples of own.csv are split in 5 ways into a training, a validation and a test set"
    )
    assert said in text
    assert "Each other problem's examples are split once" in text
    assert "own.csv: user-defined data." in text
    (row,) = (line for line in text.splitlines() if line.startswith("| own.csv"))
    assert "| 20+10 l " in row
    assert "in 5 ways" not in card_of("proben1_pivot", runs)


ASKS_FOR_NOTHING_AT_0 = {"successive_increases", "progress_quotient"}


@pytest.mark.parametrize(
    "entry", [*METHODS.values(), *CLASSIFIERS.values()], ids=lambda entry: entry.name
)
def test_every_entry_of_the_registry_is_described_with_all_its_settings(entry):
    settings = usual(entry)
    described = describe_entry(entry, settings)
    text = " ".join(sentence for sentences in described.values() for sentence in sentences)
    assert set(described) == set(POINTS.values())
    assert set(entry.details) <= set(POINTS)
    spoken = describe_entry(entry, ())
    for name, value in settings:
        if name in ASKS_FOR_NOTHING_AT_0 and value == 0:
            assert describe_entry(entry, ((name, value),)) == spoken
            value = 3
        alone = describe_entry(entry, ((name, value),))
        assert alone != spoken, f"{name} = {value} is not described"
    assert "{" not in text


@pytest.mark.parametrize("name", [name for name, entry in CLASSIFIERS.items() if entry.is_ensemble])
def test_the_networks_of_an_ensemble_are_described(name):
    base = {
        f"base.{key}": value for key, value in (("rule", "rprop"), *usual(CLASSIFIERS["rprop"]))
    }
    classifier = {"rule": name, **dict(usual(CLASSIFIERS[name])), **base}
    text = card_of(
        "any", [run_of(cell_of("cancer1", "all_features", {}, classifier), test_error_percent=3.0)]
    )
    assert "The member is RPROP" in text
    assert "Hidden nodes have the activation x / (1 + |x|) unless stated otherwise" in text
    assert "| connections |" in " ".join(text.split())


def test_a_classifier_that_several_methods_share_is_described_once():
    classifier = {"rule": "rprop", **dict(usual(CLASSIFIERS["rprop"]))}
    runs = [
        run_of(cell_of("iris", name, {}, classifier), test_error_percent=1.0)
        for name in ("pca", "lda")
    ]
    text = card_of("two", runs)
    assert text.count("first step size") == 1
    assert "For the classifier: as in A." in text


def test_third_party_classes_are_named_and_only_trained_networks_are_described():
    rprop = tuple(sorted((("rule", "rprop"), *usual(CLASSIFIERS["rprop"]))))
    svc = (("C", 3), ("rule", "sklearn.svm:SVC"))
    mine, stump = (("power", 2),), tuple(sorted((("rule", "stump"), *usual(CLASSIFIERS["stump"]))))
    learners = [("m:Mine", mine, rprop), ("pca", (), svc)]
    learners += [("sklearn.svm:SVC", (("C", 1),), ()), ("pca", (), stump)]
    runs = [run_of(Cell("iris", "a", *one), 0, test_error_percent=1.0) for one in learners]
    lines = card_of("four", runs).splitlines()
    assert [line[3:] for line in lines if line.startswith("## ")][:4] == [
        "A. Mine, then RPROP (hidden pivot, no shortcuts)",
        "B. PCA, then SVC",
        "C. SVC",
        "D. PCA, then stump",
    ]
    networks = [
        line.partition(".** ")[2].partition(".")[0] for line in lines if "**Network.**" in line
    ]
    assert networks == [
        "The network has an input for each feature that the method leaves, and an output for each class, or each target"
        " of an approximation",
        "See the documentation of SVC",
        "See the documentation of SVC",
        "No network is trained",
    ]
    assert "The method is m:Mine, a third-party class (power = 2)." in "".join(lines)
    assert "The classifier is sklearn.svm:SVC, a third-party class (C = 3)." in "".join(lines)


def test_rules_that_are_off_have_a_sentence():
    settings = (("generalisation_loss", math.inf), ("training_progress", 0.0))
    described = describe_entry(CLASSIFIERS["backprop"], settings)["Termination"]
    assert described == [
        "Generalisation loss does not stop training.",
        "Lack of training progress does not stop training.",
    ]


def test_words_are_listed_as_in_a_sentence():
    expected = ["", "a", "a and b", "a, b and c"]
    assert [listed(words) for words in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == expected


@pytest.mark.usefixtures("isolated_folders")
def test_a_config_is_named_or_given_as_a_file_and_other_files_are_refused_in_a_line(tmp_path):
    path = write_config(tmp_path, small({"method": "pca", "tau": 5}, name="small", repeats=1))
    printed("run", path, "--workers", 0)
    named = printed("rules", "small")
    assert named == printed("rules", path)
    bundled = "# How small was run\n\n1. **Problem.** iris of the problems bundled with pppca-bench"
    assert named.startswith(bundled)
    assert "\\section*{How small was run}" in printed("rules", "small", "--format", "latex")
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
