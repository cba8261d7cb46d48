"""Benchmarks: agreement of the peers with the package, and the report."""

import shutil
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import hebbian, large_pca, limits, rprop, scale
from benchmarks.literal_ne_ppca import evolve_literally
from benchmarks.measuring import Contestant, Row, alternate, median_ratio
from benchmarks.operations import Operations, Peak, largest_share, sample_operations
from benchmarks.report import Topic, render
from pppca_bench.classifiers.network import Architecture
from pppca_bench.engines import NEpPCA

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc compiles the peer")


@needs_gcc
@pytest.mark.parametrize("size", [1, 20])
def test_gha_updates_agree_with_those_of_the_c_loop(size):
    case = hebbian.random_case(size, 50)
    theirs, ours = case.W.copy(), case.W.copy()
    hebbian.c_epoch(theirs, case.X, case.mean, case.order, 0.01)
    hebbian.our_epoch(ours, case.X, case.mean, case.order, 0.01)
    assert not np.allclose(ours, case.W)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-13)


@pytest.mark.slow
@settings(max_examples=10)
@given(
    seed=st.integers(0, 999),
    n_features=st.integers(1, 11),
    tau=st.floats(1.5, 50.0),
    n_generations=st.integers(0, 30),
)
def test_the_literal_steps_end_with_the_nodes_of_ne_ppca(seed, n_features, tau, n_generations):
    rng = np.random.default_rng(seed)
    X = rng.random((40, n_features)) * rng.uniform(0.2, 2.0, n_features)
    ours = NEpPCA(tau=tau, n_generations=n_generations, random_state=seed).fit(X)
    variances, _ = evolve_literally(X, tau=tau, n_generations=n_generations, seed=seed)
    np.testing.assert_allclose(variances, ours.explained_variance_ratio_, rtol=1e-6)


def test_operations_of_a_sample_are_those_of_a_net_counted_by_hand():
    # 2 inputs, 4 hidden units, 1 output: 4 · 3 + 1 · 5 = 17 weights, forward and in the gradient; 4 pass errors back.
    counts = sample_operations(Architecture(2, (4,), 1, False, "linear"), block_samples=17)
    assert counts.multiply_adds == 2 * 17 + 4
    assert counts.squares == 1
    # One division, of the product (ab)(cd): ab, cd, abcd; 1/ab, 1/cd; 1/a to 1/d; four products by x. Then root², D f′.
    assert (counts.multiply, counts.divide) == (3 + 2 + 4 + 4 + 4 * 2, 1)
    # 1 + |x|, 1 − |v|, output − target.
    assert counts.add == 4 + 4 + 1
    # Four values, five errors, and 17 gradients in 17 samples.
    assert counts.store == 4 + 5 + 1


def test_the_largest_share_leaves_room_for_all_other_operations_and_empty_lanes():
    counts = Operations(multiply_adds=50, squares=2, multiply=10, add=30, divide=1, store=8)
    places = {"multiply": 1.0, "add": 0.0, "divide": 6.0, "load": 0.0, "store": 4.0}
    assert largest_share(counts, places, n_nets=8) == pytest.approx(50 / (52 + 10 + 6 + 32))
    assert largest_share(counts, places, n_nets=30) == pytest.approx(30 / 32 * 50 / 100)


def test_a_share_above_one_is_refused(monkeypatch):
    monkeypatch.setattr(Peak, "multiply_adds", lambda _: None)
    times = {"ours": [1.0, 2.0], "peak": [4.4, 5.0]}
    monkeypatch.setattr(limits, "alternate", lambda *_, **__: times)
    said = r"expected at most the peak of the machine, got 4\.40 times"
    with pytest.raises(ValueError, match=said):
        limits.share_of(Peak(None, 1, 1), lambda: None, 1e6)


def test_a_peer_that_computes_something_else_is_refused():
    rng = np.random.default_rng(3)
    X, targets = rng.uniform(size=(40, 5)), np.eye(3)[rng.integers(3, size=40)]
    nets = rprop.nets_of_a_cell(X, targets, (4, 2), shortcuts=False, n_nets=3)
    ours, start = rprop.train_ours(nets, 1), rprop.stacked(nets)[0]
    same = [np.stack(matrices) for matrices in zip(*ours, strict=True)]
    rprop.check_agreement("JAX", same, ours, rprop.FIRST_STEP)
    with pytest.raises(ValueError, match="JAX: expected the weights of our first epoch, got some"):
        rprop.check_agreement("JAX", start, ours, rprop.FIRST_STEP)


def test_contestants_take_turns_after_a_warm_up_and_the_ratio_is_the_median_of_the_rounds():
    calls = []
    contestants = {name: Contestant(lambda name=name: calls.append(name), 4) for name in "ab"}
    times = alternate(contestants, budget_s=0.0)
    assert calls == ["a", "b"] * 6
    assert [len(taken) for taken in times.values()] == [5, 5]
    assert median_ratio([2.0, 30.0, 8.0], [1.0, 3.0, 2.0]) == 4.0


def test_the_report_has_a_column_for_each_processor():
    def part(*rows):
        rows = [asdict(row) for row in rows]
        return {"date": "2026-11-25", "code": "1", "load": 0.5, "rows": rows}

    both, alone = Row("GHA", "C loop", 1.5, "2 µs", 2.0), Row("DGHA", "C loop", 12.3, "3 µs")
    there = {"gha": part(Row("GHA", "C loop", 2.5, "1 µs", 2.0))}
    kept = {"one": {"machine": ["2 cores"], "parts": {"gha": part(both, alone)}}}
    kept["two"] = {"machine": ["4 cores"], "parts": there}
    page = render(kept, [Topic("Learning", ("gha", "limits"), "In brackets our time.")])
    assert "- **B**: two\n  - 4 cores\n  - measured 2026-11-25; version 1; load up to 0.5" in page
    table = [line for line in page.splitlines() if line.startswith("|")]
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table]
    assert lines[0] == ["what", "against", "target", "A", "B"]
    assert lines[2:] == [
        ["GHA", "C loop", "2.00", "1.50 (2 µs), short", "2.50 (1 µs)"],
        ["DGHA", "C loop", "", "12 (3 µs)", ""],
    ]


@pytest.mark.slow
def test_large_data_are_measured_and_described(monkeypatch):
    sizes = {"N_SAMPLES": 3000, "N_FEATURES": 40, "N_NODES": 3, "ANGLE": 30.0}
    for name, value in sizes.items():
        monkeypatch.setattr(large_pca, name, value)
    rows = list(large_pca.rows(None))
    assert [row.what for row in rows] == list(large_pca.OURS)
    assert rows[0].ratio > 0.0
    assert large_pca.advice(rows).startswith("**When is each the right tool?** Where all samples")


@pytest.mark.slow
def test_plans_of_any_size_are_looked_up_recorded_and_tabulated(tmp_path):
    plan, tables, record = (
        measure(1000, tmp_path) for measure in (scale.plan, scale.tables, scale.record)
    )
    measured = plan | tables | record
    assert measured["n_tables"] > 0
    assert min(measured.values()) > 0.0
