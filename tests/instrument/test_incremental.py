"""Estimators with partial_fit: memory maps, copies, parameters between chunks, chunks of a single sample."""

import copy
import pickle
import re

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from pppca_bench.engines.counterparts import DGHAWithoutRemoval, InPlaceGHA, PCALikeNEpPCA
from pppca_bench.engines.dgha import DGHA
from pppca_bench.engines.gha import GHA
from pppca_bench.engines.ne_ppca import NEpPCA
from pppca_bench.engines.streaming import CCIPCA, AdaOja, EigenGame, FastSimilarityMatching

X = np.random.default_rng(0).standard_normal((60, 5)) @ np.diag([3.0, 2.0, 1.0, 0.5, 0.1])
SLOW_STEPS = {"learning_rate": 0.01, "random_state": 0}
STREAMS = [CCIPCA(), AdaOja(), EigenGame(), FastSimilarityMatching()]
MODELS = [GHA(n_epochs=2, **SLOW_STEPS), DGHA(n_epochs=4, **SLOW_STEPS), *STREAMS]
over_models = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


def taught(model, chunks):
    for chunk in chunks:
        model.partial_fit(chunk)
    return model


def assert_learnt_alike(one, other):
    assert_array_equal(one.components_, other.components_)
    assert_array_equal(one.explained_variance_, other.explained_variance_)


def mapped(mode):
    def load(model, folder):
        path = folder / "model"
        if not path.exists():
            joblib.dump(model, path)
        return joblib.load(path, mmap_mode=mode)

    return load


COPIES = {
    **{mode: mapped(mode) for mode in ("r", "c", "r+")},
    "pickle": lambda model, _: pickle.loads(pickle.dumps(model)),
    "copy": lambda model, _: copy.copy(model),
    "deepcopy": lambda model, _: copy.deepcopy(model),
}


@over_models
@pytest.mark.parametrize("kind", COPIES)
def test_a_copy_learns_on_as_the_original_and_leaves_it_alone(model, kind, tmp_path):
    fitted, chunks = clone(model).fit(X), (X[::-1], X)
    learnt = taught(COPIES[kind](fitted, tmp_path), chunks)
    for same in (COPIES[kind](fitted, tmp_path), fitted):
        assert_learnt_alike(taught(same, chunks), learnt)


FIXED = {"n_components": 2, "centre": False, "random_state": 1}


@pytest.mark.parametrize(
    ("model", "name", "value"),
    [
        *((model, *given) for model in MODELS for given in FIXED.items()),
        (MODELS[0], "decay_samples", 20.0),
        (CCIPCA(), "tau", 5.0),
    ],
    ids=str,
)
def test_parameters_of_the_first_chunk_are_those_of_all(model, name, value):
    fitted = clone(model).partial_fit(X).set_params(**{name: value})
    line = rf"^{name} in \w+\.partial_fit: expected .*, as for the first chunk, got .*\. Call fit to learn with"
    with pytest.raises(ValueError, match=line):
        fitted.partial_fit(X)
    assert fitted.fit(X).partial_fit(X).n_components_ <= (2 if name == "n_components" else 5)


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        (
            MODELS[1],
            {"tau": 7.0, "data_fraction": 50.0, "min_components": 2, "learning_rate": 0.02},
        ),
        (MODELS[1], {"min_variance_ratio": 0.5}),
        (CCIPCA(), {"amnesia": 1.0}),
        (EigenGame(), {"learning_rate": 0.02, "decay_samples": 20.0}),
    ],
    ids=str,
)
def test_rates_and_rules_of_removal_may_change_between_chunks(model, changes):
    assert clone(model).partial_fit(X).set_params(**changes).partial_fit(X).n_samples_seen_ == 120


def test_rows_found_without_removal_learn_on():
    assert DGHAWithoutRemoval(**SLOW_STEPS).fit(X).partial_fit(X).n_samples_seen_ == 120


def test_a_rate_changed_between_chunks_is_the_rate_of_the_next_chunk():
    start = InPlaceGHA(learning_rate=1e-300, random_state=0).partial_fit(X)
    changed = clone(start).partial_fit(X).set_params(learning_rate=0.01).partial_fit(X)
    assert not np.allclose(changed.components_, start.components_)


@over_models
def test_a_single_sample_is_a_first_chunk(model):
    first = clone(model).partial_fit(X[:1])
    assert_array_equal(first.mean_, X[0])
    assert_array_equal(first.explained_variance_, np.zeros(first.n_components_))
    assert np.isfinite(first.components_).all()


@pytest.mark.parametrize("model", STREAMS, ids=lambda model: type(model).__name__)
@settings(max_examples=25)
@given(
    seed=st.integers(0, 100),
    n_samples=st.integers(1, 40),
    n_zeros=st.sampled_from([0, 3]),
    scale=st.sampled_from([1e-100, 1.0, 1e100]),
    tau=st.sampled_from([None, 30.0]),
)
def test_single_samples_learn_what_their_chunk_learns(model, seed, n_samples, n_zeros, scale, tau):
    samples = scale * np.random.default_rng(seed).standard_normal((n_samples, 4))
    samples = np.vstack([np.zeros((n_zeros, 4)), samples])
    model = clone(model).set_params(tau=tau)
    single = taught(clone(model), np.split(samples, len(samples)))
    assert_learnt_alike(single, model.partial_fit(samples))


class InOrderGHA(GHA):
    _orders = InPlaceGHA._orders


class InOrderDGHA(DGHA):
    _orders = InPlaceGHA._orders


@pytest.mark.parametrize("kind", [InOrderGHA, InPlaceGHA, InOrderDGHA])
@settings(max_examples=15)
@given(seed=st.integers(0, 100), n_samples=st.integers(1, 40), decay=st.sampled_from([None, 10.0]))
def test_single_samples_teach_gha_what_their_chunk_teaches(kind, seed, n_samples, decay):
    samples = np.random.default_rng(seed).standard_normal((n_samples, 4))
    options = {"decay_samples": decay, "centre": False, "random_state": 0}
    steps = 1
    if kind is InOrderDGHA:
        steps = n_samples  # its rate is that of an epoch
        options |= {"n_components": 1, "head_start": 0, "first_check": 100}
    together = kind(learning_rate=0.02 * steps, **options).partial_fit(samples)
    single = taught(kind(learning_rate=0.02, **options), np.split(samples, n_samples))
    for name in ("components_", "explained_variance_", "explained_variance_ratio_", "mean_"):
        assert_allclose(getattr(single, name), getattr(together, name), rtol=1e-9, atol=1e-12)
    assert (single.n_epochs_, single.n_samples_seen_) == (n_samples, n_samples)
    assert len(single.history_["variances"]) == n_samples + 1


@settings(max_examples=40)
@given(st.integers(0, 100), st.sampled_from([1, 7, 60]), st.sampled_from([1e-3, 1.0, 30.0]))
def test_below_the_rate_of_the_message_the_same_chunks_do_not_diverge(seed, size, scale):
    samples = scale * np.random.default_rng(seed).standard_normal((60, 4))
    chunks = np.split(samples, range(size, 60, size))
    gha = GHA(learning_rate=50.0 / scale**2, random_state=0)
    with pytest.raises(ValueError, match="diverged in epoch") as divergence:
        taught(gha, chunks)
    rate = float(re.search(r"Try a rate below (\S+), or", str(divergence.value))[1])
    calm = taught(clone(gha).set_params(learning_rate=0.99 * rate), chunks[: gha.n_epochs_])
    assert np.abs(calm.components_).max() < 2.0


@pytest.mark.parametrize("model", [GHA(), DGHA(), NEpPCA(), PCALikeNEpPCA(), CCIPCA(2)], ids=repr)
def test_singular_values_are_the_norms_of_projected_samples(model):
    assert not hasattr(model, "singular_values_")
    fitted = clone(model).set_params(random_state=0).fit(X)
    rows = fitted.components_ / np.linalg.norm(fitted.components_, axis=1, keepdims=True)
    norms = np.linalg.norm((X - X.mean(axis=0)) @ rows.T, axis=0)
    rtol = 0.15 if isinstance(model, CCIPCA) else 1e-10
    assert_allclose(fitted.singular_values_, norms, rtol=rtol)
