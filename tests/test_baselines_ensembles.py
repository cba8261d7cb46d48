"""Ensembles: hand-worked samples, weights and votes, and scikit-learn's AdaBoost and gradient boosting."""

import numpy as np
import pytest
from networks import weights_of
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import AdaBoostClassifier as SklearnAdaBoost
from sklearn.ensemble import AdaBoostRegressor as SklearnAdaBoostRegressor
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from pppca_bench.classifiers import RpropMLPClassifier, training_data
from pppca_bench.classifiers.ensembles import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    PartitionClassifier,
    SamplingAdaBoostClassifier,
    ThreePartBoostingClassifier,
)
from pppca_bench.classifiers.sklearn_classifiers import (
    ArcingClassifier,
    MajorityClassifier,
    StumpClassifier,
)

SMALL = RpropMLPClassifier((3,), max_epochs=100)


@pytest.mark.parametrize("make", [BaggingClassifier, PartitionClassifier, AdaBoostClassifier])
def test_members_have_different_seeds_and_their_epochs_add_up_and_the_base_is_unchanged(iris, make):
    ensemble = make(SMALL, 3, random_state=0).fit(*iris)
    assert len({net.random_state for net in ensemble.estimators_}) == len(ensemble.estimators_)
    assert SMALL.random_state is None
    assert not hasattr(SMALL, "coefs_")
    assert ensemble.n_epochs_ == sum(len(net.training_curve_) for net in ensemble.estimators_)
    assert ensemble.best_epoch_ == sum(net.best_epoch_ for net in ensemble.estimators_)


def test_majority_is_counted_by_hand():
    outputs = list(np.array([[[0.9, 0.0, 0.0]], [[0.3, 0.2, 0.4]], [[0.0, 0.1, 0.2]]]))
    assert_allclose(BaggingClassifier(vote="majority")._combine(outputs), [[1 / 3, 0.0, 2 / 3]])
    assert_allclose(BaggingClassifier()._combine(outputs), [[0.4, 0.1, 0.2]])


def drawn(monkeypatch, make, *data, **settings):
    """Return the training samples of the members."""
    sets = []
    monkeypatch.setattr(
        make, "_fit_members", lambda _self, _split, samples, _rng: sets.extend(samples)
    )
    make(random_state=0, **settings).fit(*data)
    return sets


def test_bootstrap_samples_are_as_large_as_the_data_and_leave_a_third_of_them_out(
    iris, monkeypatch
):
    samples = drawn(monkeypatch, BaggingClassifier, *iris, n_estimators=50)
    assert {len(rows) for rows in samples} == {90}
    found = np.mean([1 - len(np.unique(rows)) / 90 for rows in samples])
    assert found == pytest.approx(np.exp(-1), abs=0.02)


def test_subagging_draws_half_of_the_data_without_replacement(iris, monkeypatch):
    half = {"n_estimators": 50, "sample_share": 0.5, "replace": False}
    samples = drawn(monkeypatch, BaggingClassifier, *iris, **half)
    assert {(len(rows), len(set(rows))) for rows in samples} == {(45, 45)}
    assert len({tuple(rows) for rows in samples}) == 50
    assert_allclose(np.bincount(np.concatenate(samples)) / 50, 0.5, atol=0.3)


def test_a_sample_is_never_empty(iris, monkeypatch):
    few = {"n_estimators": 3, "sample_share": 0.001}
    assert [len(rows) for rows in drawn(monkeypatch, BaggingClassifier, *iris, **few)] == [1] * 3


def test_disjoint_parts_contain_every_example_once_and_are_never_empty(iris, monkeypatch):
    parts = drawn(monkeypatch, PartitionClassifier, *iris, n_estimators=4)
    assert [len(rows) for rows in parts] == [23, 23, 22, 22]
    assert_array_equal(np.sort(np.concatenate(parts)), range(90))
    assert np.any(np.diff(parts[0]) < 0), "in random order"
    three = np.arange(3.0)[:, None], np.arange(3) % 2
    parts = drawn(monkeypatch, PartitionClassifier, *three, *three, n_estimators=10)
    assert [len(rows) for rows in parts] == [1, 1, 1]


def test_members_learn_from_the_labels_of_their_samples_and_share_the_validation_data(iris):
    X, y, X_val, y_val = iris
    (member,) = BaggingClassifier(SMALL, 1, random_state=0).fit(*iris).estimators_
    rows = np.random.default_rng(0).integers(90, size=90)
    assert_array_equal(
        weights_of(member), weights_of(clone(member).fit(X[rows], y[rows], X_val, y_val))
    )


class Copied:
    """A third-party classifier without scikit-learn's parameters; its fit returns nothing."""

    def __init__(self):
        self.given = None

    def fit(self, X, y, X_val, y_val, classes):
        self.given = [len(part) for part in (X, y, X_val, y_val, classes)]

    def predict(self, X):
        return np.full((len(X), 1), 2)


def test_members_are_any_classifiers_and_get_what_their_fit_names(iris):
    X, y, X_val, _ = iris
    ensemble = BaggingClassifier(GaussianNB(), 3, random_state=0).fit(*iris)
    rows = np.random.default_rng(0).integers(90, size=(3, 90))
    votes = [GaussianNB().fit(X[own], y[own]).predict(X_val) for own in rows]
    assert_allclose(ensemble._outputs(X_val), np.mean(np.eye(3)[votes], axis=0))
    mine = Copied()
    ensemble = BaggingClassifier(mine, 2).fit(*iris, classes=range(5))
    assert [member.given for member in ensemble.estimators_] == [[90, 90, 60, 60, 5]] * 2
    assert mine.given is None
    assert_array_equal(ensemble.predict(X_val), [2] * 60)


def test_a_member_that_predicts_no_class_is_refused(iris):
    ensemble = BaggingClassifier(DecisionTreeRegressor(max_depth=1), 2, random_state=0).fit(*iris)
    said = r"^predict of DecisionTreeRegressor: expected members of classes, got 1\.5$"
    with pytest.raises(ValueError, match=said):
        ensemble.predict(iris[2])


def test_arcing_is_scikit_learns_gradient_boosting(iris):
    X, y, X_val, _ = iris
    ours = ArcingClassifier(20, learning_rate=0.5, max_depth=1, random_state=0).fit(X, y)
    expected = GradientBoostingClassifier(
        n_estimators=20, learning_rate=0.5, max_depth=1, random_state=0
    )
    assert_array_equal(ours.predict_proba(X_val), expected.fit(X, y).predict_proba(X_val))


def test_stump_accepts_classes_without_samples():
    stump = StumpClassifier().fit([[0.0], [1.0]], [0, 2], classes=range(4))
    assert_array_equal(stump.classes_, range(4))
    assert_array_equal(stump.predict([[0.0], [1.0]]), [0, 2])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_boosted_stumps_are_scikit_learns(n_classes):
    X, y = load_iris(return_X_y=True)
    X = X + np.random.default_rng(0).normal(scale=0.8, size=X.shape)
    X, y = X[y >= 3 - n_classes], y[y >= 3 - n_classes]
    ours = AdaBoostClassifier(StumpClassifier(), 25, random_state=0).fit(X, y, X, y)
    tree = DecisionTreeClassifier(max_depth=1, criterion="entropy")
    expected = SklearnAdaBoost(tree, n_estimators=25, random_state=0).fit(X, y)
    assert len(ours.estimators_) == 25
    assert_allclose(ours.estimator_weights_, expected.estimator_weights_)
    assert_array_equal(ours.predict(X), expected.predict(X))
    assert ours.score(X, y) > StumpClassifier().fit(X, y).score(X, y) + 0.05
    assert not hasattr(ours, "n_epochs_"), "stumps have no epochs"


class Weak:
    """A network that misclassifies the given samples; its inputs are the samples' numbers."""

    n_epochs_ = best_epoch_ = 1

    def __init__(self, wrong):
        self.wrong = wrong

    def predict(self, X):
        labels = np.arange(len(X)) % 2
        labels[self.wrong] = 1 - labels[self.wrong]
        return labels

    def _outputs(self, X):
        return np.eye(2)[self.predict(X)]


def boosted(monkeypatch, wrong_of_each_round, n_estimators=10):
    """Boost ten samples with networks of known mistakes; return the ensemble and the weights of each round."""
    rounds, chosen = iter(wrong_of_each_round), []

    class Generator:
        def choice(self, n_samples, size, p):
            assert len(p) == n_samples
            chosen.append(p)
            return np.zeros(size, dtype=int)

    monkeypatch.setattr(training_data, "make_generator", lambda _: Generator())
    monkeypatch.setattr(AdaBoostClassifier, "_fit_members", lambda *_: [Weak(next(rounds))])
    X, y = np.arange(10.0)[:, None], np.arange(10) % 2
    return AdaBoostClassifier(n_estimators=n_estimators).fit(X, y, X, y), chosen


def test_boosting_of_ten_samples_by_hand(monkeypatch):
    """Three mistakes a round: ε = 0.30, 0.21, 0.14 and α / 2 = 0.42, 0.65, 0.92, as in Schapire's ten-point example."""
    ensemble, weights = boosted(monkeypatch, [[0, 1, 2], [3, 4, 5], [6, 7, 8]], n_estimators=3)
    assert_allclose(weights[1], [1 / 6] * 3 + [1 / 14] * 7)
    assert_allclose(ensemble.estimator_weights_, np.log([7 / 3, 11 / 3, 19 / 3]))
    assert_array_equal(ensemble.predict(np.zeros((10, 1))), np.arange(10) % 2)


@pytest.mark.parametrize(
    ("wrong", "votes"),
    [([[0], []], [9, 19]), ([[0], [0]], [9]), ([[0, 1, 2, 3, 4, 5]], [np.e])],
    ids=["no errors have a finite vote", "chance is dropped", "the first is kept"],
)
def test_a_network_without_errors_or_like_chance_ends_the_boosting(monkeypatch, wrong, votes):
    ensemble, _ = boosted(monkeypatch, wrong)
    assert_allclose(ensemble.estimator_weights_, np.log(votes))


def test_a_sample_with_more_than_half_of_the_weight_ends_the_boosting():
    X, y = np.arange(30.0)[:, None] // 10, np.arange(30) // 10
    y[0] = 2  # the only mistake of a network that knows the others; its share becomes (K − 1) / K
    first = AdaBoostClassifier(
        RpropMLPClassifier((4,), initial_weight_range=0.5, random_state=0), 9, random_state=0
    )
    assert len(first.fit(X, y, X, y).estimators_) == 1


def test_boosting_by_sampling_draws_its_share_by_the_weights_even_if_members_take_weights(iris):
    X, y, X_val, y_val = iris
    ensemble = SamplingAdaBoostClassifier(DecisionTreeClassifier(), 1, random_state=0).fit(*iris)
    rng = np.random.default_rng(0)
    rows, seed = rng.choice(90, size=45, p=np.full(90, 1 / 90)), rng.integers(2**31)
    alone = DecisionTreeClassifier(random_state=int(seed)).fit(X[rows], y[rows])
    assert_array_equal(ensemble.predict(X_val), alone.predict(X_val))
    assert ensemble.score(X_val, y_val) > 0.8


def boosted_in_three(monkeypatch, mistakes):
    """Boost with three networks of known mistakes; return the ensemble and the samples of each network."""
    networks, samples = iter(map(Weak, mistakes)), []

    def fit_members(_self, _split, chosen, _rng):
        samples.extend(chosen)
        return [next(networks)]

    class Ordered:
        def permutation(self, n):
            return np.arange(n)

    monkeypatch.setattr(training_data, "make_generator", lambda _: Ordered())
    monkeypatch.setattr(ThreePartBoostingClassifier, "_fit_members", fit_members)
    X, y = np.arange(18.0)[:, None], np.arange(18) % 2
    return ThreePartBoostingClassifier().fit(X, y, X, y), [rows.tolist() for rows in samples]


def mistakes_of(ensemble):
    return np.flatnonzero(ensemble.predict(np.zeros((18, 1))) != np.arange(18) % 2)


def test_boosting_in_three_parts_by_hand(monkeypatch):
    """Thirds 0-5, 6-11, 12-17: two mistakes and two of the others teach the second, disagreements the third."""
    mistakes = [[0, 7, 9, 12, 13], [1, 12, 14], [2, 12, 13]]
    ensemble, samples = boosted_in_three(monkeypatch, mistakes)
    assert samples == [[0, 1, 2, 3, 4, 5], [7, 9, 6, 8], [13, 14]]
    assert_array_equal(mistakes_of(ensemble), [12, 13]), "at least two of three are wrong"


def test_boosting_in_three_parts_ends_without_mistakes_or_disagreements(monkeypatch):
    alone, samples = boosted_in_three(monkeypatch, [[0, 12]])
    assert len(alone.estimators_) == len(samples) == 1
    two, samples = boosted_in_three(monkeypatch, [[7], [0]])
    assert len(two.estimators_) == 2
    assert samples[1:] == [[7, 6]]
    assert_array_equal(mistakes_of(two), [7])


def test_three_different_votes_are_decided_by_the_third():
    outputs = list(np.eye(3)[[[0, 0, 2], [1, 1, 1], [2, 1, 0]]])
    assert_array_equal(ThreePartBoostingClassifier()._combine(outputs).argmax(axis=1), [2, 1, 0])


@pytest.mark.parametrize("loss", ["linear", "square", "exponential"])
def test_boosted_regression_trees_are_scikit_learns(monkeypatch, loss):
    """scikit-learn's trees of each round, which it draws from its own generator, have the same weights and medians."""
    X, y = load_diabetes(return_X_y=True)
    tree = DecisionTreeRegressor(max_depth=3)
    expected = SklearnAdaBoostRegressor(tree, n_estimators=8, loss=loss, random_state=0).fit(X, y)
    trees = iter(expected.estimators_)
    monkeypatch.setattr(AdaBoostRegressor, "_fit_members", lambda *_: [next(trees)])
    ours = AdaBoostRegressor(tree, 8, loss=loss).fit(X, y, X, y)
    assert len(ours.estimators_) == 8
    assert_allclose(ours.estimator_weights_, expected.estimator_weights_)
    assert_array_equal(ours.predict(X), expected.predict(X))


class Predicts:
    def __init__(self, outputs):
        self.outputs = np.array(outputs)

    def predict(self, X):
        return self.outputs[: len(X)]


def boosted_regressors(monkeypatch, outputs_of_each_round, y, **settings):
    rounds = iter([Predicts(outputs) for outputs in outputs_of_each_round])
    monkeypatch.setattr(AdaBoostRegressor, "_fit_members", lambda *_: [next(rounds)])
    return AdaBoostRegressor(**settings).fit(*[np.zeros((4, 1)), y] * 2)


def test_boosted_regressors_of_two_outputs_by_hand(monkeypatch):
    """Errors of norm 5, 0, 0, 0 and 0, 5, 2.5, 0: ε = 1/4, then (1/6 + 1/12) = 1/4, so that both have α = log 3."""
    first, second = [[3, -4], [0, 0], [0, 0], [0, 0]], [[0, 0], [4, 3], [0, 2.5], [0, 0]]
    ensemble = boosted_regressors(monkeypatch, [first, second], np.zeros((4, 2)), n_estimators=2)
    assert_allclose(ensemble.estimator_weights_, np.log([3, 3]))
    # Of two equal weights the lesser output is the median, for each output by itself.
    assert_array_equal(ensemble.predict(np.zeros((4, 1)))[:2], [[0, -4], [0, 0]])


@pytest.mark.parametrize(
    ("outputs", "votes"), [([0, 0, 0, 0], [7]), ([1, 1, 1, 0], [np.e])], ids=["exact", "bad"]
)
def test_an_exact_regressor_or_a_first_one_like_chance_is_alone(monkeypatch, outputs, votes):
    ensemble = boosted_regressors(monkeypatch, [outputs] * 3, np.zeros(4), n_estimators=3)
    assert_allclose(ensemble.estimator_weights_, np.log(votes))


def test_members_for_a_single_column_learn_from_a_vector(monkeypatch):
    shapes = []

    def fit_members(_self, split, *_):
        shapes.append((split.y.shape, split.y_val.shape))
        return [Predicts([0.0] * 4)]

    monkeypatch.setattr(AdaBoostRegressor, "_fit_members", fit_members)
    column = np.zeros((4, 1))
    ensemble = AdaBoostRegressor().fit(column, column, column[:2], column[:2])
    assert shapes == [((4,), (2,))]
    assert ensemble.predict(column).shape == (4, 1), "as the targets were given"


def test_the_majority_class_is_predicted_whatever_the_features():
    y = np.array([2, 0, 2, 1, 2, 0])
    fitted = MajorityClassifier().fit(np.arange(12.0).reshape(6, 2), y)
    assert_array_equal(fitted.predict(np.array([[1e9, -1e9], [0.0, 0.0]])), [2, 2])
    assert fitted.n_features_ == 0
