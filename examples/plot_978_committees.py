"""
Committees, out of bag
======================

Many networks that learn from different samples may make fewer errors together than alone. This page compares ensembles
whose members have equal votes on one data set, whose test samples are too few to separate them, and estimates their
accuracy without a test set.
"""

# %%
# Members of *bagging* learn from bootstrap samples, of *subagging* from halves, of *partitions* from disjoint parts; a
# *committee* keeps all networks of a cross-validation. ``oob_score_`` classifies each training sample by the members
# that did not learn from it, so it costs no further training.
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import binom, bootstrap

from pppca_bench import RpropMLPClassifier, load_problem
from pppca_bench.classifiers.bagging import (
    BaggingClassifier,
    CommitteeClassifier,
    PartitionClassifier,
)

diabetes = load_problem("diabetes1")
splits = diabetes.X_train, diabetes.y_train, diabetes.X_validation, diabetes.y_validation
network = RpropMLPClassifier((16,), max_epochs=300)
ensembles = {
    "bagging": BaggingClassifier(network, 51, random_state=0),
    "subagging": BaggingClassifier(network, 51, sample_share=0.5, replace=False, random_state=0),
    "partitions": PartitionClassifier(network, 5, random_state=0),
    "committee": CommitteeClassifier(network, 10, random_state=0),
}
alone = [network.set_params(random_state=seed).fit(*splits) for seed in range(10)]
single = np.mean([fitted.score(diabetes.X_test, diabetes.y_test) for fitted in alone])
print(f"a single network         test accuracy {single:.1%}")
for name, ensemble in ensembles.items():
    ensemble.fit(*splits)
    right = ensemble.score(diabetes.X_test, diabetes.y_test)
    print(
        f"{name:10} of {len(ensemble.estimators_):2d} members, test accuracy {right:.1%},"
        f" out of bag {ensemble.oob_score_:.1%}"
    )

# %%
# How far off may these accuracies be? The bootstrap draws the test samples again, with replacement, and makes no
# further assumption: resampling in place of analysis.
is_right = ensembles["bagging"].predict(diabetes.X_test) == diabetes.y_test
interval = bootstrap([is_right], np.mean, n_resamples=2000, rng=0).confidence_interval
print(
    f"bagging, test accuracy {is_right.mean():.1%}, 95 % from {interval.low:.1%} to {interval.high:.1%}"
)

# %%
# A majority of two classes is wrong if more than half of its members are. If they made their errors independently, the
# binomial law would soon leave none. Real networks make the same errors, so the gain ends early: 10 members, the
# default, do most of what the 50 of the lecture notes do.
members = ensembles["bagging"].estimators_
error = np.mean([1 - member.score(diabetes.X_test, diabetes.y_test) for member in members])
numbers = np.arange(1, len(members) + 1, 2)
wrong = np.array([member.predict(diabetes.X_test) != diabetes.y_test for member in members])
rng = np.random.default_rng(0)
drawn = [rng.permutation(len(members)) for _ in range(50)]
of_votes = [
    np.mean([(wrong[order[:n]].mean(axis=0) > 0.5).mean() for order in drawn]) for n in numbers
]
figure, axes = plt.subplots(figsize=(5.5, 3.2), layout="constrained")
axes.plot(numbers, of_votes, label="networks of bagging")
axes.plot(numbers, binom.sf(numbers // 2, numbers, error), label="as if independent")
axes.set(xlabel="members that vote", ylabel="test error", ylim=(0, None))
axes.legend()
plt.show()
