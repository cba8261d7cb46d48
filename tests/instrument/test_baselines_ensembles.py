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

from pppca_bench.classifiers import RpropMLPClassifier
from pppca_bench.classifiers.bagging import (
    BaggingClassifier,
    CommitteeClassifier,
    PartitionClassifier,
)
from pppca_bench.classifiers.boosting import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    SamplingAdaBoostClassifier,
    ThreePartBoostingClassifier,
)
from pppca_bench.classifiers.sklearn_classifiers import (
    ArcingClassifier,
    MajorityClassifier,
    StumpClassifier,
)

SMALL = RpropMLPClassifier((3,), max_epochs=100)


@pytest.mark.parametrize("make", [BaggingClassifier, CommitteeClassifier, AdaBoostClassifier])
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


class Member:
    """A third-party estimator that keeps what it learns from, and whose outputs for numbered samples are scripted."""

    script = iter(())

    def fit(self, X, y, X_val, y_val, classes, sample_weight=None):
        self.rows, self.weights = X[:, 0].astype(int), sample_weight
        self.y, self.y_val, self.classes, self.n_val = y, y_val, classes, len(X_val)
        self.outputs = next(Member.script, np.zeros(100))

    def predict(self, X):
        return self.outputs[X[:, 0].astype(int)]


def scripted(make, outputs, y, **settings):
    """Return an ensemble of members with outputs for numbered samples."""
    Member.script = iter(map(np.asarray, outputs))
    X = np.arange(float(len(y)))[:, None]
    return make(Member(), random_state=0, **settings).fit(X, y, X, y)


def drawn(make, n_samples, **settings):
    """Return the numbers of the samples of each member."""
    members = scripted(make, [], np.arange(n_samples) % 2, **settings).estimators_
    return [member.rows for member in members]


def test_bootstrap_samples_are_as_large_as_the_data_and_leave_a_third_of_them_out():
    samples = drawn(BaggingClassifier, 90, n_estimators=50)
    assert {len(rows) for rows in samples} == {90}
    found = np.mean([1 - len(np.unique(rows)) / 90 for rows in samples])
    assert found == pytest.approx(np.exp(-1), abs=0.02)


def test_subagging_draws_half_of_the_data_without_replacement_or_at_least_a_sample():
    samples = drawn(BaggingClassifier, 90, n_estimators=50, sample_share=0.5, replace=False)
    assert {(len(rows), len(set(rows))) for rows in samples} == {(45, 45)}
    assert len({tuple(rows) for rows in samples}) == 50
    assert_allclose(np.bincount(np.concatenate(samples)) / 50, 0.5, atol=0.3)
    least = drawn(BaggingClassifier, 90, n_estimators=3, sample_share=0.001)
    assert [len(rows) for rows in least] == [1, 1, 1]


def test_disjoint_parts_contain_every_example_once_and_are_never_empty():
    parts = drawn(PartitionClassifier, 90, n_estimators=4)
    assert [len(rows) for rows in parts] == [23, 23, 22, 22]
    assert_array_equal(np.sort(np.concatenate(parts)), range(90))
    assert np.any(np.diff(parts[0]) < 0), "in random order"
    assert [len(rows) for rows in drawn(PartitionClassifier, 3, n_estimators=10)] == [1, 1, 1]


def test_each_member_of_a_committee_lacks_a_fold():
    samples = drawn(CommitteeClassifier, 90, n_estimators=4)
    left_out = [sorted(set(range(90)) - set(rows)) for rows in samples]
    assert [len(rows) for rows in left_out] == [23, 23, 22, 22]
    assert_array_equal(np.sort(np.concatenate(left_out)), range(90))
    assert [len(rows) for rows in drawn(CommitteeClassifier, 3, n_estimators=10)] == [2, 2, 2]


@pytest.mark.parametrize("vote", ["mean", "majority"])
def test_accuracy_out_of_bag_is_that_of_the_members_that_did_not_learn_from_an_example(vote):
    y = np.arange(40) % 2
    outputs = np.random.default_rng(5).integers(2, size=(6, 40))
    ensemble = scripted(BaggingClassifier, outputs, y, n_estimators=6, vote=vote)
    is_right = []
    for example in range(40):
        votes = [
            member.outputs[example] for member in ensemble.estimators_ if example not in member.rows
        ]
        if votes:
            is_right.append((np.mean(votes) > 0.5) == y[example])
    assert 30 < len(is_right) < 40, "some examples are in all samples"
    assert ensemble.oob_score_ == np.mean(is_right)
    every = scripted(BaggingClassifier, outputs, y, n_estimators=6, replace=False)
    assert np.isnan(every.oob_score_)


def test_accuracy_of_a_committee_out_of_bag_is_the_cross_validated_one():
    y, outputs = np.arange(30) % 2, np.random.default_rng(5).integers(2, size=(5, 30))
    committee = scripted(CommitteeClassifier, outputs, y, n_estimators=5)
    folds = [np.setdiff1d(np.arange(30), member.rows) for member in committee.estimators_]
    n_right = sum((outputs[k][fold] == y[fold]).sum() for k, fold in enumerate(folds))
    assert committee.oob_score_ == n_right / 30


def test_members_learn_from_the_labels_of_their_samples_and_share_the_validation_data(iris):
    X, y, X_val, y_val = iris
    (member,) = BaggingClassifier(SMALL, 1, random_state=0).fit(*iris).estimators_
    rows = np.random.default_rng(0).integers(90, size=90)
    assert_array_equal(
        weights_of(member), weights_of(clone(member).fit(X[rows], y[rows], X_val, y_val))
    )


def test_members_are_any_classifiers_and_get_what_their_fit_names(iris):
    X, y, X_val, y_val = iris
    ensemble = BaggingClassifier(GaussianNB(), 3, random_state=0).fit(*iris)
    rows = np.random.default_rng(0).integers(90, size=(3, 90))
    votes = [GaussianNB().fit(X[own], y[own]).predict(X_val) for own in rows]
    assert_allclose(ensemble._outputs(X_val), np.mean(np.eye(3)[votes], axis=0))
    base = Member()
    member = BaggingClassifier(base, 1, random_state=0).fit(*iris, classes=range(5)).estimators_[0]
    assert_array_equal(member.y, y[rows[0]])
    assert_array_equal(member.y_val, y_val)
    assert (member.n_val, len(member.classes)) == (60, 5)
    assert not vars(base), "the base is copied"


STUMP = StumpClassifier()
ENSEMBLES = [
    BaggingClassifier,
    PartitionClassifier,
    ThreePartBoostingClassifier,
    AdaBoostClassifier,
    SamplingAdaBoostClassifier,
]


@pytest.mark.parametrize("make", ENSEMBLES)
def test_all_rows_are_training_rows_unless_members_learn_from_validation_data(iris, make):
    X, y, X_val, _ = iris
    alone, given = (make(STUMP, random_state=0).fit(X, y, *val) for val in ((), (X, y)))
    assert_array_equal(alone._outputs(X_val), given._outputs(X_val))
    alone, given = (make(SMALL, random_state=0).fit(X, y, *val) for val in ((), (X, y)))
    assert len(alone.estimators_[0].validation_curve_)
    assert not np.array_equal(alone._outputs(X_val), given._outputs(X_val)), "a third is held out"


def test_a_tree_of_bagging_learns_from_all_rows(iris):
    X, y = iris[:2]
    tree = DecisionTreeClassifier(random_state=0)
    ensemble = BaggingClassifier(tree, 1, sample_share=1.0, replace=False, random_state=0)
    assert ensemble.fit(X, y).estimators_[0].tree_.n_node_samples[0] == 90


def test_members_get_the_weights_of_their_samples(iris):
    X, y, X_val, _ = iris
    weights = np.arange(90.0)
    (member,) = (
        BaggingClassifier(STUMP, 1, random_state=0).fit(X, y, sample_weight=weights).estimators_
    )
    rows = np.random.default_rng(0).integers(90, size=90)
    expected = StumpClassifier(random_state=member.random_state).fit(
        X[rows], y[rows], weights[rows]
    )
    assert_array_equal(member.predict(X_val), expected.predict(X_val))


def test_weights_of_samples_are_the_first_of_boosting():
    X, y = load_iris(return_X_y=True)
    weights = np.random.default_rng(0).uniform(size=150)
    ours = AdaBoostClassifier(STUMP, 25, random_state=0).fit(X, y, sample_weight=weights)
    tree = DecisionTreeClassifier(max_depth=1, criterion="entropy")
    expected = SklearnAdaBoost(tree, n_estimators=25, random_state=0).fit(X, y, weights)
    assert_allclose(ours.estimator_weights_, expected.estimator_weights_)
    assert_array_equal(ours.predict(X), expected.predict(X))


def test_weights_that_members_do_not_take_or_that_leave_nothing_to_stop_by_are_refused(iris):
    X, y, X_val, y_val = iris
    weights = np.ones(90)
    with pytest.raises(ValueError, match="expected X_val and y_val beside it"):
        BaggingClassifier(SMALL).fit(X, y, sample_weight=weights)
    with pytest.raises(ValueError, match="expected members whose fit takes it, got RpropMLPC"):
        BaggingClassifier(SMALL).fit(X, y, X_val, y_val, sample_weight=weights)
    with pytest.raises(TypeError, match="other"):
        BaggingClassifier(STUMP).fit(X, y, other=weights)


def test_a_member_that_predicts_no_class_is_refused(iris):
    ensemble = BaggingClassifier(DecisionTreeRegressor(max_depth=1), 2, random_state=0)
    said = r"^predict of DecisionTreeRegressor: expected members of classes, got 1\.5"
    with pytest.raises(ValueError, match=said):
        ensemble.fit(*iris)


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


def labels(n_samples, wrong):
    """Return the labels 0, 1, 0, 1, … of samples, of which some are wrong."""
    return [number % 2 != (number in wrong) for number in range(n_samples)]


def boosted(wrong_of_each_round, **settings):
    """Boost ten samples with classifiers of known mistakes."""
    rounds = [labels(10, wrong) for wrong in wrong_of_each_round]
    return scripted(AdaBoostClassifier, rounds, labels(10, []), **settings)


def test_boosting_of_ten_samples_by_hand():
    """Three mistakes a round: ε = 0.30, 0.21, 0.14 and α / 2 = 0.42, 0.65, 0.92, as in Schapire's ten-point example."""
    ensemble = boosted([[0, 1, 2], [3, 4, 5], [6, 7, 8]], n_estimators=3)
    assert_allclose(ensemble.estimators_[1].weights, [1 / 6] * 3 + [1 / 14] * 7)
    assert_allclose(ensemble.estimator_weights_, np.log([7 / 3, 11 / 3, 19 / 3]))
    assert_array_equal(ensemble.predict(np.arange(10.0)[:, None]), labels(10, []))


@pytest.mark.parametrize(
    ("wrong", "votes"),
    [([[0], []], [9, 19]), ([[0], [0]], [9]), ([[0, 1, 2, 3, 4, 5]], [np.e])],
    ids=["no errors have a finite vote", "chance is dropped", "the first is kept"],
)
def test_a_member_without_errors_or_like_chance_ends_the_boosting(wrong, votes):
    assert_allclose(boosted(wrong).estimator_weights_, np.log(votes))


def test_a_sample_with_more_than_half_of_the_weight_ends_the_boosting():
    X, y = np.arange(30.0)[:, None] // 10, np.arange(30) // 10
    y[0] = 2  # the only mistake of a network that knows the others; its share becomes (K − 1) / K
    first = AdaBoostClassifier(
        RpropMLPClassifier((4,), initial_weight_range=0.5, random_state=0), 9, random_state=0
    )
    assert len(first.fit(X, y, X, y).estimators_) == 1


def test_boosting_by_sampling_draws_its_share_by_the_weights_even_if_members_take_weights():
    rounds = [labels(400, [0]), labels(400, [1])]
    ensemble = scripted(SamplingAdaBoostClassifier, rounds, labels(400, []), n_estimators=2)
    first, second = ensemble.estimators_
    assert second.weights is None
    assert len(first.rows) == len(second.rows) == 200
    assert np.mean(first.rows == 0) < 0.05
    assert np.mean(second.rows == 0) == pytest.approx(0.5, abs=0.1), "half of the weight"


def boosted_in_three(mistakes):
    """Boost 18 samples with members of mistakes at places of the random order; return the ensemble and its order."""
    order = np.random.default_rng(0).permutation(18)
    outputs = [labels(18, order[places]) for places in mistakes]
    ensemble = scripted(ThreePartBoostingClassifier, outputs, labels(18, []))
    places = np.argsort(order)
    return ensemble, [places[member.rows].tolist() for member in ensemble.estimators_], places


def mistakes_of(ensemble, places):
    predicted = ensemble.predict(np.arange(18.0)[:, None])
    return sorted(places[predicted != labels(18, [])].tolist())


def test_boosting_in_three_parts_by_hand():
    """Thirds 0-5, 6-11, 12-17: two mistakes and two of the others teach the second, disagreements the third."""
    mistakes = [[0, 7, 9, 12, 13], [1, 12, 14], [2, 12, 13]]
    ensemble, samples, places = boosted_in_three(mistakes)
    assert samples == [[0, 1, 2, 3, 4, 5], [7, 9, 6, 8], [13, 14]]
    assert mistakes_of(ensemble, places) == [12, 13], "at least two of three are wrong"


def test_boosting_in_three_parts_ends_without_mistakes_or_disagreements():
    _, samples, _ = boosted_in_three([[0, 12]])
    assert len(samples) == 1
    two, samples, places = boosted_in_three([[7], [0]])
    assert samples[1:] == [[7, 6]]
    assert mistakes_of(two, places) == [7]


def test_three_different_votes_are_decided_by_the_third():
    outputs = list(np.eye(3)[[[0, 0, 2], [1, 1, 1], [2, 1, 0]]])
    assert_array_equal(ThreePartBoostingClassifier()._combine(outputs).argmax(axis=1), [2, 1, 0])


@pytest.mark.parametrize("loss", ["linear", "square", "exponential"])
def test_boosted_regression_trees_are_scikit_learns(loss):
    """scikit-learn's trees of each round, which it draws from its own generator, have the same weights and medians."""
    X, y = load_diabetes(return_X_y=True)
    tree = DecisionTreeRegressor(max_depth=3)
    expected = SklearnAdaBoostRegressor(tree, n_estimators=8, loss=loss, random_state=0).fit(X, y)
    outputs = [own.predict(X) for own in expected.estimators_]
    ours = scripted(AdaBoostRegressor, outputs, y, n_estimators=8, loss=loss)
    assert_allclose(ours.estimator_weights_, expected.estimator_weights_)
    assert_array_equal(ours.predict(np.arange(442.0)[:, None]), expected.predict(X))


def test_boosted_regressors_of_two_outputs_by_hand():
    """Errors of norm 5, 0, 0, 0 and 0, 5, 2.5, 0: ε = 1/4, then (1/6 + 1/12) = 1/4, so that both have α = log 3."""
    outputs = [[[3, -4], [0, 0], [0, 0], [0, 0]], [[0, 0], [4, 3], [0, 2.5], [0, 0]]]
    ensemble = scripted(AdaBoostRegressor, outputs, np.zeros((4, 2)), n_estimators=2)
    assert_allclose(ensemble.estimator_weights_, np.log([3, 3]))
    # Of two equal weights the lesser output is the median, for each output by itself.
    assert_array_equal(ensemble.predict([[0.0], [1.0]]), [[0, -4], [0, 0]])


@pytest.mark.parametrize(
    ("outputs", "votes"), [([0, 0, 0, 0], [7]), ([1, 1, 1, 0], [np.e])], ids=["exact", "bad"]
)
def test_an_exact_regressor_or_a_first_one_like_chance_is_alone(outputs, votes):
    ensemble = scripted(AdaBoostRegressor, [outputs] * 3, np.zeros(4), n_estimators=3)
    assert_allclose(ensemble.estimator_weights_, np.log(votes))


def test_members_for_a_single_column_learn_from_a_vector():
    ensemble = scripted(AdaBoostRegressor, [np.zeros(4)], np.zeros((4, 1)))
    (member,) = ensemble.estimators_
    assert member.y.shape == member.y_val.shape == (4,)
    assert ensemble.predict([[0.0], [1.0]]).shape == (2, 1), "as the targets were given"


def test_the_majority_class_is_predicted_whatever_the_features():
    y = np.array([2, 0, 2, 1, 2, 0])
    fitted = MajorityClassifier().fit(np.arange(12.0).reshape(6, 2), y)
    assert_array_equal(fitted.predict(np.array([[1e9, -1e9], [0.0, 0.0]])), [2, 2])
    assert fitted.n_features_ == 0
