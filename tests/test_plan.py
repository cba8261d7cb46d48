"""Expansion of configs: which runs, in which order, with which keys and seeds."""

import builtins
import io
import os
import random
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pppca_bench.config import plan
from pppca_bench.config.experiment import Config
from pppca_bench.config.plan import derive_seed, expand

PROBLEMS = ["cancer1", "horse1", "iris"]
CLASSIFIER = {"hidden": [8]}
GHA = {"method": "gha"}
DGHA = {"method": "dgha", "data_fraction": [100, 10]}
NE_PPCA = {"method": "ne_ppca"}


def config(**changes) -> Config:
    """Return a config of two problems, three methods, two thresholds and two repeats, with changes."""
    values = {
        "name": "a",
        "problems": ["cancer1", "iris"],
        "repeats": 2,
        "seed": 2012,
        "tau": [5, 10],
        "methods": [GHA, DGHA, NE_PPCA],
        "classifier": CLASSIFIER,
    }
    return Config.model_validate(values | changes, context={"problems": PROBLEMS})


def keys(config: Config) -> list[str]:
    return [spec.key for spec in expand(config)]


def test_runs_are_ordered_by_problem_method_tau_fraction_and_repeat():
    one_problem = [
        ("gha", None, None, 0),
        ("gha", None, None, 1),
        ("dgha", 5.0, 100.0, 0),
        ("dgha", 5.0, 100.0, 1),
        ("dgha", 5.0, 10.0, 0),
        ("dgha", 5.0, 10.0, 1),
        ("dgha", 10.0, 100.0, 0),
        ("dgha", 10.0, 100.0, 1),
        ("dgha", 10.0, 10.0, 0),
        ("dgha", 10.0, 10.0, 1),
        ("ne_ppca", 5.0, None, 0),
        ("ne_ppca", 5.0, None, 1),
        ("ne_ppca", 10.0, None, 0),
        ("ne_ppca", 10.0, None, 1),
    ]
    specs = expand(config())
    assert [(spec.problem, spec.method, spec.tau, spec.data_fraction, spec.repeat) for spec in specs] == [
        (problem, *run) for problem in ("cancer1", "iris") for run in one_problem
    ]


def test_the_same_config_gives_the_same_runs():
    assert expand(config()) == expand(config())


# First 16 hexadecimal digits, halved, of the SHA-256 of `[2012, "cancer1", "dgha", 0]`, by sha256sum.
@pytest.mark.parametrize(
    ("identity", "seed"),
    [
        ((2012, "cancer1", "dgha", 0), 0x1582E1675A53FF04 // 2),
        ((2012, "horse1", "ne_ppca", 29), 0x7A23F8962133EACB // 2),
    ],
)
def test_seeds_are_those_of_every_machine_and_version(identity, seed):
    assert derive_seed(*identity) == seed


@given(seed=st.integers(0, 2**63 - 1), problem=st.text(max_size=20), repeat=st.integers(0, 10_000))
def test_a_seed_fits_a_signed_64_bit_integer(seed, problem, repeat):
    assert 0 <= derive_seed(seed, problem, "gha", repeat) < 2**63


def test_a_repeat_has_one_seed_whatever_the_tau_the_fraction_and_the_parameters():
    slow = {**DGHA, "learning_rate": 0.001, "tau": [7]}
    specs = expand(config(methods=[DGHA, slow], classifier={"hidden": [3]}))
    seeds = {(spec.problem, spec.repeat): set() for spec in specs}
    for spec in specs:
        seeds[spec.problem, spec.repeat].add(spec.seed)
    assert all(len(found) == 1 for found in seeds.values())
    assert len(set.union(*seeds.values())) == 4


def test_a_seed_depends_on_config_seed_problem_method_and_repeat():
    base = (1, "iris", "gha", 0)
    others = [(2, "iris", "gha", 0), (1, "wine", "gha", 0), (1, "iris", "dgha", 0), (1, "iris", "gha", 1)]
    assert len({derive_seed(*identity) for identity in [base, *others]}) == 5


def test_keys_and_seeds_do_not_depend_on_the_order_in_a_config():
    turned = config(problems=["iris", "cancer1"], tau=[10, 5], methods=[NE_PPCA, DGHA, GHA])
    assert {spec.key: spec.seed for spec in expand(turned)} == {spec.key: spec.seed for spec in expand(config())}


def test_more_repeats_add_runs_and_change_none():
    more = expand(config(), repeats=5)
    assert len(more) == len(expand(config())) * 5 // 2
    assert set(keys(config())) <= {spec.key for spec in more}
    assert {spec.repeat for spec in more} == {0, 1, 2, 3, 4}
    assert [spec.key for spec in expand(config(), repeats=1)] == [s.key for s in expand(config()) if s.repeat == 0]


def test_a_run_that_two_entries_ask_for_is_planned_once():
    twice = config(methods=[DGHA, {**DGHA, "data_fraction": [10, 50]}, DGHA])
    fractions = [spec.data_fraction for spec in expand(twice) if spec.problem == "iris" and spec.repeat == 0]
    assert sorted(fractions) == [10.0, 10.0, 50.0, 50.0, 100.0, 100.0]
    assert len(set(keys(twice))) == len(keys(twice))


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 2013},
        {"problems": ["horse1"]},
        {"tau": [5.5]},
        {"methods": [{**DGHA, "data_fraction": [99]}]},
        {"methods": [{**DGHA, "data_fraction": [100], "learning_rate": 0.05}]},
        {"methods": [{**DGHA, "data_fraction": [100], "centre": False}]},
        {"classifier": {"hidden": [9]}},
        {"classifier": {"hidden": [8], "max_epochs": 10}},
        {"methods": [{**DGHA, "data_fraction": [100], "classifier": {"hidden": [9]}}]},
    ],
    ids=str,
)
def test_whatever_decides_a_runs_numbers_is_in_its_key(changes):
    base = {"problems": ["cancer1"], "tau": [5], "repeats": 1, "methods": [{**DGHA, "data_fraction": [100]}]}
    (before,), (after,) = keys(config(**base)), keys(config(**(base | changes)))
    assert before != after


def test_a_config_of_another_name_shares_its_runs():
    assert keys(config(name="b")) == keys(config())


@pytest.mark.parametrize(("version", "n_same"), [("dgha", 12), ("classifier", 0), ("all_features", 28)])
def test_a_new_algorithm_version_gives_its_methods_runs_new_keys(monkeypatch, version, n_same):
    before = keys(config())
    monkeypatch.setitem(plan.ALGORITHM_VERSIONS, version, plan.ALGORITHM_VERSIONS[version] + 1)
    assert len(set(before) & set(keys(config()))) == n_same


def test_the_pivot_architecture_is_each_problems_own():
    specs = expand(config(problems=["cancer1", "horse1"], classifier={"hidden": "pivot"}))
    hidden = {spec.problem: dict(spec.classifier)["hidden"] for spec in specs}
    assert hidden == {"cancer1": (4, 2), "horse1": (16, 8)}
    written_out = config(problems=["cancer1"], classifier={"hidden": [4, 2]})
    assert keys(written_out) == keys(config(problems=["cancer1"], classifier={"hidden": "pivot"}))


def test_a_methods_own_classifier_takes_the_place_of_the_configs():
    linear = {**GHA, "classifier": {"hidden": []}}
    specs = expand(config(methods=[linear, NE_PPCA]))
    assert {spec.method: dict(spec.classifier)["hidden"] for spec in specs} == {"gha": (), "ne_ppca": (8,)}


def test_a_methods_own_tau_takes_the_place_of_the_configs():
    specs = expand(config(methods=[{**NE_PPCA, "tau": 3}, DGHA]))
    assert {spec.tau for spec in specs if spec.method == "ne_ppca"} == {3.0}
    assert {spec.tau for spec in specs if spec.method == "dgha"} == {5.0, 10.0}


def test_parameters_are_complete_and_sorted_by_name():
    (spec, *_) = expand(config(methods=[{**NE_PPCA, "n_elite": 2}]))
    names = [name for name, _ in spec.parameters]
    assert names == sorted(names)
    assert dict(spec.parameters)["n_elite"] == 2
    assert dict(spec.parameters)["population_size"] == 13
    assert {"method", "tau", "classifier"}.isdisjoint(names)
    assert [name for name, _ in spec.classifier] == sorted(name for name, _ in spec.classifier)


def test_a_cell_is_what_repeats_have_in_common():
    first, second, *_ = expand(config())
    assert (first.repeat, second.repeat) == (0, 1)
    assert first.cell == second.cell
    assert replace(first, tau=6.0).cell != first.cell


def test_the_plan_reads_and_writes_nothing_and_needs_no_clock_and_no_chance(monkeypatch):
    valid = config(problems=["cancer1"], classifier={"hidden": "pivot"})

    def forbidden(*_args, **_keywords):
        raise AssertionError("input, output, time or chance in the plan")

    for module, name in [(builtins, "open"), (io, "open"), (os, "open"), (os, "stat"), (os, "urandom"), (os, "getenv")]:
        monkeypatch.setattr(module, name, forbidden)
    for module, name in [(time, "time"), (random, "random"), (np.random, "default_rng")]:
        monkeypatch.setattr(module, name, forbidden)
    specs = expand(valid)
    monkeypatch.undo()
    assert len(specs) == 14
