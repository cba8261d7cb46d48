"""Benchmarks: agreement of the peers with the package, and the report."""

import numpy as np
import pytest

from benchmarks import (
    alternatives,
    compilation,
    hebbian,
    large_pca,
    limits,
    numpy_dgha,
    numpy_systems,
    rprop,
    scale,
    systems,
)
from benchmarks.compiled import PeerMissingError
from benchmarks.measuring import Contestant, Row, alternate, median_ratio
from benchmarks.operations import Operations, describe, largest_share, sample_operations
from benchmarks.plan import METHODS, planned_runs
from benchmarks.report import Measured, merged, section, sections, table
from pppca_bench.classifiers import fit_together
from pppca_bench.classifiers.network import Architecture
from pppca_bench.compiled.operation import INTERPRETED
from pppca_bench.engines import DGHA
from pppca_bench.reducers.wrapper_selection import BackwardSelector, ForwardSelector, NetworkRFE


def or_skip(call, *arguments):
    try:
        return call(*arguments)
    except PeerMissingError as missing:
        pytest.skip(f"a peer is not on this machine: {missing}")


@pytest.mark.parametrize("size", [1, 9, 20])
@pytest.mark.parametrize("peer", [hebbian.c_epoch, hebbian.numpy_epoch])
def test_gha_updates_agree_with_those_of_the_peers(peer, size):
    case = hebbian.random_case(size, 50)
    theirs, ours = case.W.copy(), case.W.copy()
    or_skip(peer, theirs, case.X, case.mean, case.order, 0.01)
    hebbian.our_epoch(ours, case.X, case.mean, case.order, 0.01)
    assert not np.allclose(ours, case.W)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-13)


def test_both_ways_to_check_keep_the_same_rows():
    case = hebbian.random_case(12, 60)
    W = case.W * np.linspace(0.1, 1.0, 12)[:, None]
    kept = hebbian.check_from_moments(W, case.X, 2)
    assert 1 < len(kept) < 12
    assert kept.tolist() == hebbian.check_from_responses(W, case.X, 2).tolist()


def test_a_check_in_numpy_leaves_as_many_rows_as_the_engine():
    X = np.random.default_rng(0).standard_normal((80, 6)) * [3.0, 2.5, 1.0, 0.9, 0.3, 0.1]
    tau, settings = 20.0, {"data_fraction": 100.0, "n_epochs": 500, "learning_rate": 0.2}
    theirs = numpy_dgha.learn(X, tau=tau, initial_norm=1.0, seed=0, **settings)
    ours = DGHA(tau=tau, initial_norm=1.0, head_start=0, first_check=0, random_state=0, **settings).fit(X)
    assert len(theirs) == ours.n_components_ == 4


def small_nets(shortcuts):
    rng = np.random.default_rng(3)
    X, targets = rng.uniform(size=(40, 5)), np.eye(3)[rng.integers(3, size=40)]
    return rprop.nets_of_a_cell(X, targets, (4, 2), shortcuts=shortcuts, n_nets=3)


@pytest.mark.parametrize("shortcuts", [False, True])
def test_an_epoch_of_rprop_agrees_with_pytorch(shortcuts):
    pytest.importorskip("torch")
    nets = small_nets(shortcuts)
    for net, ours in zip(nets, rprop.train_ours(nets, 1), strict=True):
        for matrix, expected in zip(rprop.train_torch(net, 1), ours, strict=True):
            np.testing.assert_allclose(matrix, expected, rtol=0, atol=1e-12)


def test_jax_trains_all_nets_to_the_same_weights():
    pytest.importorskip("jax")
    nets = small_nets(shortcuts=False)
    stacked = rprop.together("JAX", nets, 20, np.float64)()
    for k, ours in enumerate(rprop.train_ours(nets, 20)):
        for matrices, expected in zip(stacked, ours, strict=True):
            np.testing.assert_allclose(matrices[k], expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("peer", ["JAX", "torch, batched"])
@pytest.mark.parametrize(("dtype", "atol"), [(np.float64, 1e-12), (np.float32, 1e-6)])
def test_an_epoch_of_peers_that_train_all_nets_agrees(peer, dtype, atol):
    nets = small_nets(shortcuts=False)
    stacked = or_skip(rprop.together, peer, nets, 1, dtype)()
    for k, ours in enumerate(rprop.train_ours(nets, 1)):
        for matrices, expected in zip(stacked, ours, strict=True):
            assert matrices.dtype == dtype
            np.testing.assert_allclose(matrices[k], expected, rtol=0, atol=atol)


def test_an_epoch_of_rprop_agrees_with_fann_whose_first_step_has_grown():
    nets = small_nets(shortcuts=False)
    for net, ours in zip(nets, rprop.train_ours(nets, 1), strict=True):
        for matrix, expected, start in zip(or_skip(rprop.train_fann, net, 1), ours, net.weights, strict=True):
            np.testing.assert_allclose(matrix - start, 1.2 * (expected - start), rtol=0, atol=1e-8)


@pytest.mark.slow
def test_the_slower_alternatives_train_the_same_nets():
    nets = small_nets(shortcuts=False)
    expected = rprop.train_ours(nets, 10)
    stacked = alternatives.train_stacked(nets, 10)
    for k, (net, ours) in enumerate(zip(nets, expected, strict=True)):
        looped = alternatives.train_by_loops(net, 10)
        for layer, matrix in enumerate(ours):
            np.testing.assert_allclose(stacked[layer][k], matrix, rtol=0, atol=1e-12)
            np.testing.assert_allclose(looped[layer], matrix, rtol=0, atol=1e-12)


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
    assert "8.0 stores (4.00)" in describe(counts, places, n_nets=30)
    assert describe(counts, places, n_nets=30).endswith("30 nets in 32 lanes")


def test_a_share_above_one_is_refused():
    assert limits.checked_share("RPROP", 0.7) == 0.7
    with pytest.raises(ValueError, match=r"RPROP: expected at most the peak of the machine, got 4\.40 times"):
        limits.checked_share("RPROP", 4.4)


def test_a_peer_that_computes_something_else_is_refused():
    (net,) = small_nets(shortcuts=False)[:1]
    (ours,) = rprop.train_ours([net], 1)
    rprop.check_agreement("ours", ours, ours)
    with pytest.raises(ValueError, match="FANN: expected the weights of our first epoch, got some"):
        rprop.check_agreement("FANN", net.weights, ours)


def test_epochs_of_backpropagation_agree_with_pytorch():
    pytest.importorskip("torch")
    from benchmarks import backprop

    rng = np.random.default_rng(3)
    tasks = backprop.nets_of_a_cell(rng.uniform(size=(40, 5)), np.eye(3)[rng.integers(3, size=40)], (4,), 1)
    backprop.check_agreement(tasks[0])
    tasks[0].weights[0][0, 0] = np.nan
    with pytest.raises(ValueError, match="torch: expected the weights of our first epoch, got some nan apart"):
        backprop.check_agreement(tasks[0])


@pytest.fixture(scope="module")
def systems_data():
    rng = np.random.default_rng(5)
    X, X_val = rng.uniform(size=(60, 5)), rng.uniform(size=(30, 5))
    return X, (X[:, 0] + X[:, 2] > 1.0).astype(int), X_val, (X_val[:, 0] + X_val[:, 2] > 1.0).astype(int)


def test_pruning_in_numpy_gives_the_same_network(systems_data):
    networks = [systems.pruned_network((4, 2), seed) for seed in range(2)]
    fit_together(networks, [systems_data] * 2)
    for seed, ours in enumerate(networks):
        theirs = numpy_systems.prune(systems.pruned_network((4, 2), seed), systems_data)
        assert theirs.error == pytest.approx(ours.measures_["validation_squared_error_percent"], rel=1e-9)
        for matrix, expected in zip(theirs.coefs_, ours.coefs_, strict=True):
            np.testing.assert_allclose(matrix, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("way", [numpy_systems.one_by_one, numpy_systems.stacked])
def test_an_evolution_in_numpy_gives_the_same_numbers(way, systems_data):
    network = systems.evolved_network((4, 2), 20)
    theirs = numpy_systems.evolve(network, systems_data, way)
    np.testing.assert_allclose(theirs, network.fit(*systems_data).training_curve_, rtol=1e-12)


def test_selections_in_numpy_choose_the_same_features(systems_data):
    network = systems.selected_network(60)
    forward = ForwardSelector(3, estimator=network).fit(*systems_data)
    assert numpy_systems.select_forward(network, systems_data, 3) == tuple(np.argsort(forward.ranking_)[:3])
    backward = BackwardSelector(2, estimator=network).fit(*systems_data)
    assert numpy_systems.select_backward(network, systems_data, 2) == tuple(np.flatnonzero(backward.support_))


def test_an_elimination_in_numpy_removes_the_same_features(systems_data):
    network = systems.selected_network(60)
    ours = NetworkRFE(1, estimator=network, n_networks=3, random_state=0)
    removed = numpy_systems.eliminate(network, systems_data, systems.elimination_seeds(ours))
    assert removed == np.argsort(-ours.fit(*systems_data).ranking_).tolist()


@pytest.mark.slow
def test_large_data_are_measured_and_described(tmp_path, monkeypatch):
    sizes = {"N_SAMPLES": 3000, "N_FEATURES": 40, "MORE_FEATURES": 48, "N_NODES": 3, "FIGURES": tmp_path}
    for name, value in sizes.items():
        monkeypatch.setattr(large_pca, name, value)
    monkeypatch.setattr("benchmarks.figures.FIGURES", tmp_path)
    *rows, text = large_pca.rows(tmp_path)
    assert {row.what.split(",")[0] for row in rows} == {"GHA", "DGHA", "NE-pPCA"}
    assert text.startswith("**When is each the right tool?** 3 directions of 3000 samples of 40 features")
    assert {path.name for path in tmp_path.iterdir()} == {f"large_pca.{form}" for form in ("svg", "png", "csv")}
    numbers = [line.rsplit(",", 4) for line in (tmp_path / "large_pca.csv").read_text().splitlines()[1:]]
    angles = {what[0].split(",b")[0]: float(what[3]) for what in numbers}
    exact = [angle for what, angle in angles.items() if "full" in what or "covariance" in what]
    assert len(exact) == 2
    assert max(exact) < 1e-6 < min(angle for what, angle in angles.items() if "GHA" in what)


def test_the_report_keeps_what_was_measured_before_and_on_other_processors():
    def measured(text):
        return Measured("today", [Row("what", "peer", "net", None, 3.0, note="a note")], text)

    titles = ["First", "Second, longer"]
    one, two = (section(title, measured("In words.")) for title in titles)
    (chapter,) = merged("# Benchmarks\n", "A", "- a machine", {titles[1]: two}, titles)
    report = "\n".join(["# Benchmarks\n\nAll.\n", *merged(chapter, "B", "- another", {titles[0]: one}, titles)])
    ours, theirs = merged(report, "A", "- the machine", {titles[0]: one}, titles)
    assert sections(report, 2) == {"A": chapter, "B": theirs}
    assert ours == f"## A\n\n- the machine\n\n{one}\n{two}"
    assert two.endswith("\n\nIn words.\n\nMeasured: today.\n")


def test_contestants_take_turns_after_a_warm_up():
    calls = []
    times = alternate({name: Contestant(lambda name=name: calls.append(name), 4) for name in "ab"}, budget_s=0.0)
    assert calls == ["a", "b"] * 6
    assert [len(taken) for taken in times.values()] == [5, 5]


def test_the_ratio_is_the_median_of_the_rounds_own_ratios():
    assert median_ratio([2.0, 30.0, 8.0], [1.0, 3.0, 2.0]) == 4.0


def test_the_table_states_why_a_peer_was_not_run():
    text = table([Row("what", "FANN", "net", 2.5, None, note="FANN missing: no doublefann.h")])
    assert "not run" in text
    assert "FANN missing: no doublefann.h" in text


def test_the_compared_plan_holds_the_slides_methods_with_single_nets():
    runs = planned_runs(2)
    assert {run.cell.method for run in runs} == METHODS
    assert {run.repeat for run in runs} == {0, 1}
    assert len({run.key for run in runs}) == len(runs)


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
@pytest.mark.slow
def test_compilation_is_measured_without_a_cache(monkeypatch):
    monkeypatch.setattr(compilation, "FAMILIES", ("network_errors",))
    (row,) = compilation.rows(None)
    assert row.ours_us > 0.0
    assert row.ratio == pytest.approx(compilation.LIMIT_S / (1e-6 * row.ours_us))
    assert row.note.startswith("network_errors ")


@pytest.mark.slow
def test_plans_of_any_size_are_looked_up_recorded_and_tabulated(tmp_path):
    measured = scale.measure(1000, tmp_path) | scale.tables(tmp_path) | scale.record(400, 1, tmp_path)
    assert measured["n_runs"] == 1000
    assert measured["n_tables"] > 0
    assert min(measured.values()) > 0.0
