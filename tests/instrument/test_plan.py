"""Expansion of configs: the order, keys and seeds of runs."""

import builtins
import io
import itertools
import os
import random
import time
from dataclasses import replace

import numpy as np
import pytest
from builders import config_of, expanded, small

from pppca_bench.config import plan
from pppca_bench.config.experiment import Config
from pppca_bench.config.plan import Identity, count_runs, derive_seed, expand
from pppca_bench.methods.entry import Classifier
from pppca_bench.methods.networks import NetworkSetting
from pppca_bench.methods.protocol import section_of
from pppca_bench.methods.registry import CLASSIFIERS, METHODS
from pppca_bench.runs import RunSpec

CLASSIFIER = {"hidden": [8]}
GHA = {"method": "gha", "tau": None}
DGHA = {"method": "dgha", "data_fraction": [100, 10]}
NE_PPCA = {"method": "ne_ppca"}


def config(**changes) -> Config:
    """Return a config of two problems, three methods, two thresholds and two repeats, with changes."""
    values = {"problems": ["cancer1", "iris"], "seed": 2012, "tau": [5, 10]}
    return config_of(small(GHA, DGHA, NE_PPCA, **values | {"classifier": CLASSIFIER} | changes))


def planned(*methods: object, **changes) -> list[RunSpec]:
    """Return the runs of methods on iris, of a single repeat by default."""
    return expanded(config(problems="iris", methods=list(methods), **{"repeats": 1} | changes))


def keys(config: Config) -> list[str]:
    return [spec.key for spec in expanded(config)]


def setting(spec: RunSpec, name: str) -> object:
    return spec.cell.settings.get(name)


def test_runs_are_ordered_by_problem_method_tau_fraction_and_repeat():
    dgha = [("dgha", tau, fraction) for tau in (5.0, 10.0) for fraction in (100.0, 10.0)]
    settings = [("gha", None, None), *dgha, ("ne_ppca", 5.0, None), ("ne_ppca", 10.0, None)]
    specs = expanded(config())
    found = []
    for spec in specs:
        own = spec.cell.method, setting(spec, "tau"), setting(spec, "data_fraction")
        found.append((spec.cell.problem, *own, spec.repeat))
    problems = ("cancer1", "iris")
    assert found == [(one, *own, n) for one in problems for own in settings for n in (0, 1)]
    assert len({(spec.cell.problem, spec.cell.method, spec.repeat) for spec in specs}) == 12
    assert len({spec.seed for spec in specs}) == 12


def test_lists_of_other_parameters_vary_before_thresholds_and_classifiers_before_all():
    lists = {"centre": [True, False], "classifier": {"hidden": [[8], []]}}
    specs = planned({**DGHA, "data_fraction": 10, **lists})
    names = ("classifier.hidden", "centre", "tau")
    found = [tuple(setting(spec, name) for name in names) for spec in specs]
    assert found == list(itertools.product(((8,), ()), (True, False), (5.0, 10.0)))
    assert len({spec.cell for spec in specs}) == 8
    assert len({spec.seed for spec in specs}) == 1


def test_gha_has_the_thresholds_of_the_config_unless_its_section_has_null():
    assert [setting(spec, "tau") for spec in planned({"method": "gha"})] == [5, 10]
    assert [spec.label.settings for spec in planned(GHA | {"tau": None})] == [()]
    assert [setting(spec, "tau") for spec in planned(GHA | {"tau": [None, 7]})] == [None, 7]
    assert (
        expanded(config_of(small({"method": "gha"})))[0].cell
        == expanded(config_of(small(GHA)))[0].cell
    )


@pytest.mark.parametrize("method", ["pca", "kernel_pca", "autoencoder"])
def test_spectral_methods_run_for_each_threshold_by_default(method):
    for own, taus in (
        ({}, [5, 10]),
        ({"n_components": 2}, [None]),
        ({"variance_ratio": 0.9}, [None]),
    ):
        assert [setting(spec, "tau") for spec in planned({"method": method, **own})] == taus


def test_seeds_are_those_of_every_machine_and_version():
    # First 16 hexadecimal digits, halved, of the SHA-256 of `[2012, "cancer1", "dgha", 0]`, by sha256sum.
    assert derive_seed(2012, "cancer1", "dgha", 0) == 0x1582E1675A53FF04 // 2
    assert derive_seed(2012, "horse1", "ne_ppca", 29) == 0x7A23F8962133EACB // 2


def test_keys_and_seeds_do_not_depend_on_the_name_and_the_order_in_a_config():
    turned = {"problems": ["iris", "cancer1"], "tau": [10, 5], "methods": [NE_PPCA, DGHA, GHA]}
    expected = {spec.key: spec.seed for spec in expanded(config())}
    assert {spec.key: spec.seed for spec in expanded(config(name="b", **turned))} == expected


def test_more_repeats_add_runs_and_change_none():
    more = expanded(config(), repeats=5)
    assert [spec.key for spec in more if spec.repeat < 2] == keys(config())
    assert len(more) == len(keys(config())) * 5 // 2


@pytest.mark.parametrize(
    ("repeats", "expected"), [(None, {"gha": 2, "ne_ppca": 1}), (3, {"gha": 3, "ne_ppca": 3})]
)
def test_repeats_of_command_method_and_config_hold_in_this_order(repeats, expected):
    few = config(methods=[GHA, {**NE_PPCA, "repeats": 1}], problems="iris", tau=5)
    found = [(spec.cell.method, spec.repeat) for spec in expanded(few, repeats=repeats)]
    assert found == [(method, repeat) for method, n in expected.items() for repeat in range(n)]


@pytest.mark.parametrize("repeats", [None, 3])
def test_runs_are_counted_before_they_are_planned(repeats):
    lists = {**DGHA, "repeats": 4, "classifier": {"hidden": [[2], [3]]}}
    many = config(methods=[{**GHA, "n_epochs": [1, 2]}, lists])
    assert count_runs(many, repeats=repeats) == len(expanded(many, repeats=repeats))


def test_equal_sections_have_each_run_once_and_the_larger_number_of_repeats():
    specs = planned({**GHA, "repeats": 1}, {**GHA, "repeats": 3})
    assert [spec.repeat for spec in specs] == [0, 1, 2]
    specs = planned(DGHA, {**DGHA, "data_fraction": [10, 50]}, DGHA)
    fractions = [setting(spec, "data_fraction") for spec in specs]
    assert sorted(fractions) == [10.0, 10.0, 50.0, 50.0, 100.0, 100.0]
    assert len({spec.key for spec in specs}) == 6


def test_every_setting_that_decides_the_numbers_is_in_the_key():
    changes = [{}, {"seed": 2013}, {"problems": "horse1"}, {"tau": 7}]
    networks = [{"hidden": [9]}, {"hidden": [8], "rule": "backprop"}]
    networks += [{"rule": "bagging", "base": {"hidden": [8]}}]
    changes += [{"classifier": network} for network in networks]
    base = {"problems": "iris", "tau": 5, "repeats": 1, "methods": [NE_PPCA]}
    assert len({key for change in changes for key in keys(config(**base | change))}) == len(changes)


def test_other_data_give_a_run_another_key_and_the_same_seed():
    one, two = (
        expand(config(problems="iris"), {"iris": Identity("iris", digest, "iris")})
        for digest in ("a" * 64, "b" * 64)
    )
    assert {spec.key for spec in one}.isdisjoint(spec.key for spec in two)
    assert [spec.seed for spec in one] == [spec.seed for spec in two]
    assert {spec.cell.data_sha256 for spec in two} == {"b" * 64}
    assert [replace(spec.cell, data_sha256="b" * 64) for spec in one] == [spec.cell for spec in two]


def test_runs_of_a_user_defined_file_are_seeded_by_its_data():
    def planned_on(label, digest):
        return expand(config(problems="own.dt"), {"own.dt": Identity(label, digest, digest)})

    one, moved = planned_on("own.dt", "a" * 64), planned_on("moved.dt", "a" * 64)
    assert [spec.seed for spec in one] == [spec.seed for spec in moved]
    assert {spec.cell.problem for spec in moved} == {"moved.dt"}
    other = {spec.seed for spec in planned_on("own.dt", "b" * 64)}
    assert other.isdisjoint(spec.seed for spec in one)


BAGGED = {"rule": "bagging", "base": {"rule": "backprop", "hidden": [3]}}


@pytest.mark.parametrize(
    ("classifier", "entry", "n_same"),
    [
        (CLASSIFIER, METHODS["dgha"], 12),
        (CLASSIFIER, METHODS["all_features"], 28),
        (CLASSIFIER, CLASSIFIERS["rprop"], 0),
        (BAGGED, CLASSIFIERS["backprop"], 0),
        (BAGGED, CLASSIFIERS["bagging"], 0),
        (BAGGED, CLASSIFIERS["rprop"], 28),
    ],
)
def test_a_new_version_of_an_algorithm_gives_its_runs_new_keys(register, classifier, entry, n_same):
    of = config(classifier=classifier)
    before = keys(of)
    register(replace(entry, version=entry.version + 1))
    assert len(set(before) & set(keys(of))) == n_same


def test_the_algorithms_of_a_cell_are_those_of_its_method_and_of_all_its_classifiers():
    (spec,) = planned(GHA, classifier=BAGGED)
    versions = {name: CLASSIFIERS[name].version for name in ("backprop", "bagging")}
    assert dict(spec.cell.algorithms) == {"gha": METHODS["gha"].version} | versions


@pytest.mark.parametrize(
    ("changes", "is_same"),
    [
        ({"classifier": {"hidden": [4], "output_activation": "pivot"}}, True),
        ({"classifier": {"hidden": "pivot"}}, False),
        ({"methods": [{"method": "ga_mlp"}]}, False),
        ({"classifier": {"rule": "bagging"}}, False),
        ({"classifier": {"hidden": [4, 2]}}, True),
    ],
)
def test_another_pivot_architecture_gives_its_runs_new_keys(monkeypatch, changes, is_same):
    of = config(problems="cancer1", **changes)
    found = []
    for hidden in ((4, 2), (32,)):
        published = NetworkSetting(hidden, "linear")
        monkeypatch.setattr(plan, "published_network", lambda _, network=published: network)
        found.append(keys(of))
    before, after = found
    assert (before == after) == is_same
    assert is_same or set(before).isdisjoint(after)


LISTS = {"hidden": [[8], []]}
LABELS = {
    "title, and the config's threshold": ({}, {"tau": 5}, ["NE-pPCA, τ = 5"]),
    "the entry's parameters in its order, then the threshold": (
        {"tol": 0.5, "centre": False},
        {"tau": 5},
        ["NE-pPCA, tol = 0.5, centre = false, τ = 5"],
    ),
    "the entry's threshold": ({"tau": 3, "tol": 0}, {"tau": 5}, ["NE-pPCA, τ = 3, tol = 0"]),
    "a default that the entry writes": ({"tol": 0}, {"tau": 5}, ["NE-pPCA, tol = 0, τ = 5"]),
    "no threshold that does not apply": (
        {"method": "pca", "n_components": 2},
        {},
        ["PCA, n_components = 2"],
    ),
    "the entry's classifier": (
        {"classifier": {"max_epochs": 9, "hidden": [4]}},
        {"tau": 5},
        ["NE-pPCA, τ = 5, classifier.max_epochs = 9, classifier.hidden = [4]"],
    ),
    "an ensemble": (
        {"classifier": {"rule": "bagging", "base": "backprop"}},
        {"tau": 5},
        ["NE-pPCA, τ = 5, classifier.rule = bagging, classifier.base.rule = backprop"],
    ),
    "lists of the config's classifier alone": (
        {},
        {"tau": 5, "classifier": {"max_epochs": 9, **LISTS}},
        ["NE-pPCA, τ = 5, classifier.hidden = [8]", "NE-pPCA, τ = 5, classifier.hidden = []"],
    ),
    "a title of the config": (
        {"title": "mine", "tol": 0.5, "classifier": {"hidden": [4]}},
        {"tau": 5},
        ["mine"],
    ),
    "lists after a title": (
        {"title": "mine", "tol": 0.5, "centre": [True, False], "classifier": {"max_epochs": [9]}},
        {},
        [f"mine, centre = {value}, τ = {tau}" for value in ("true", "false") for tau in (5, 10)],
    ),
    "neither choices nor extras that are stored": (
        {"method": "pca"},
        {"choose": "tau", "predictions": True},
        ["PCA, τ = auto"],
    ),
    "third-party parameters": (
        {"method": "sklearn.decomposition:PCA", "parameters": {"whiten": True, "n_components": 2}},
        {},
        ["PCA, whiten = true, n_components = 2"],
    ),
}


@pytest.mark.parametrize(("entry", "changes", "expected"), LABELS.values(), ids=LABELS)
def test_a_label_has_what_the_config_writes_of_the_method(entry, changes, expected):
    specs = planned({**NE_PPCA, **entry}, **changes)
    assert [spec.label.text for spec in specs] == expected


def test_titles_change_no_key():
    titled = config(methods=[{**method, "title": "mine"} for method in (GHA, DGHA, NE_PPCA)])
    assert keys(titled) == keys(config())


def test_cells_name_every_parameter_of_method_classifier_and_members_with_its_value():
    (spec,) = planned(GHA, classifier={"rule": "bagging", "base": {"rule": "rprop", "hidden": [3]}})
    ensemble = dict(spec.cell.classifier)
    members = ensemble.pop("base")
    named = spec.cell.parameters, ensemble, members
    entries = METHODS["gha"], CLASSIFIERS["bagging"], CLASSIFIERS["rprop"]
    for settings, entry in zip(named, entries, strict=True):
        of_classes = entry.of_classes if isinstance(entry, Classifier) else ()
        assert settings.keys() - {"rule"} == section_of(entry).keys() - set(of_classes)
    assert (members["hidden_activation"], members["hidden"]) == ("softsign", (3,))
    assert spec.cell.settings["classifier.base.hidden"] == (3,)


def test_only_a_run_whose_config_weights_classes_names_their_weights():
    keys = []
    for weight in ({}, {"class_weight": None}, {"class_weight": "balanced"}):
        (spec,) = planned(GHA, classifier={"rule": "rprop", **weight})
        keys.append((spec.key, setting(spec, "classifier.class_weight")))
    assert keys[0] == keys[1] != keys[2]
    assert [weight for _, weight in keys] == [None, None, "balanced"]


def test_a_methods_tau_and_classifier_replace_those_of_the_config():
    specs = planned({**NE_PPCA, "tau": 3, "classifier": {"hidden": []}}, DGHA)
    names = ("tau", "classifier.hidden")
    found = {(spec.cell.method, *(setting(spec, name) for name in names)) for spec in specs}
    assert found == {("ne_ppca", 3.0, ()), ("dgha", 5.0, (8,)), ("dgha", 10.0, (8,))}


def test_parameters_are_complete_and_sorted_by_name():
    (spec,) = planned({**NE_PPCA, "tournament_size": 2}, tau=5)
    own, network = spec.cell.parameters, spec.cell.classifier
    assert [list(own), list(network)] == [sorted(own), sorted(network)]
    assert (own["tournament_size"], own["population_size"], own["tau"]) == (2, 13, 5.0)
    assert {"method", "classifier"}.isdisjoint(own)
    of_classifier = {f"classifier.{name}": value for name, value in network.items()}
    assert spec.cell.settings == {**own, **of_classifier, "predictions": False}


def test_the_plan_has_no_input_output_time_or_randomness(monkeypatch):
    valid = config(problems=["cancer1"], classifier={"hidden": "pivot"})

    def forbidden(*_args, **_keywords):
        raise AssertionError("input, output, time or chance in the plan")

    inputs = [(os, name) for name in ("open", "stat", "urandom", "getenv")]
    chance = [(time, "time"), (random, "random"), (np.random, "default_rng")]
    for module, name in [(builtins, "open"), (io, "open"), *inputs, *chance]:
        monkeypatch.setattr(module, name, forbidden)
    specs = expanded(valid)
    monkeypatch.undo()
    assert len(specs) == 14
