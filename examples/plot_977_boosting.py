"""
Boosting, round by round
========================

Boosting adds classifiers that are hardly better than chance, each trained on the mistakes of those before it. These
are the figures of the lecture notes on ensembles (Marsland 2009, figures 13.1 to 13.4), and other boosting of the same
data.
"""

# %%
# The samples of figure 13.3: one class in the upper right corner, the other elsewhere, and a few wrong labels. The
# learner draws a single line, horizontal or vertical *at random*, at the best place for the weighted samples.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from pppca_bench import load_problem
from pppca_bench.classifiers.boosting import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    SamplingAdaBoostClassifier,
    ThreePartBoostingClassifier,
)
from pppca_bench.classifiers.sklearn_classifiers import ArcingClassifier, StumpClassifier


class RandomLine(ClassifierMixin, BaseEstimator):
    """Classify by a threshold of one feature, drawn at random."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None):
        """Learn from weighted samples."""
        self.feature_ = np.random.default_rng(self.random_state).integers(X.shape[1])
        self.stump_ = DecisionTreeClassifier(max_depth=1).fit(
            X[:, [self.feature_]], y, sample_weight
        )
        self.classes_ = self.stump_.classes_
        return self

    def predict(self, X):
        """Return the class on the side of each sample."""
        return self.stump_.predict(X[:, [self.feature_]])


def corner(n_samples, seed, n_wrong):
    """Draw samples of the unit square; the class is 1 in the upper right corner, but for some wrong labels."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_samples, 2))
    y = (X > 0.45).all(axis=1).astype(int)
    y[rng.permutation(n_samples)[:n_wrong]] ^= 1
    return X, y


def draw(panel, X, y, classifier, weights=None):
    """Draw samples, as large as their weights, on the classes of a classifier."""
    edges = np.linspace(-0.05, 1.05, 120) * np.ptp(X) + X.min()
    grid = np.stack(np.meshgrid(edges, edges), axis=-1).reshape(-1, 2)
    shades = classifier.predict(grid).reshape(120, 120)
    panel.pcolormesh(edges, edges, shades, alpha=0.2, cmap="coolwarm", vmin=0, vmax=y.max())
    sizes = 12 if weights is None else 12 * len(y) * weights
    panel.scatter(*X.T, c=y, s=sizes, cmap="coolwarm", edgecolors="black", linewidths=0.3)
    panel.set(xticks=[], yticks=[])


X, y = corner(60, seed=1, n_wrong=2)
X_test, y_test = corner(500, seed=2, n_wrong=0)
boosted = AdaBoostClassifier(RandomLine(), 40, random_state=3).fit(X, y)

# %%
# Figures 13.2 and 13.4: the first lines, each with the weights that it was trained with. A misclassified sample gets
# (1 − ε) / ε times its weight, so later lines attend to it.
figure, panels = plt.subplots(2, 4, figsize=(9, 4.6), layout="constrained")
weights = np.full(len(y), 1 / len(y))
for number, (line, alpha) in enumerate(
    zip(boosted.estimators_[:8], boosted.estimator_weights_, strict=False)
):
    panel = panels.flat[number]
    draw(panel, X, y, line, weights)
    panel.set_title(f"round {number + 1}: α = {alpha:.2f}", fontsize="medium")
    weights = weights * np.exp(alpha * (line.predict(X) != y))
    weights = weights / weights.sum()
plt.show()

# %%
# Figures 13.3 and 13.4: the vote of all lines on the test samples, and its errors by round. The loss that AdaBoost
# lowers in each round is the sum of exp(−y f(x)), with the classes ±1 and half of the votes (formulas 13.2 to 13.4).
signs = 2 * y - 1
votes = (
    0.5 * boosted.estimator_weights_[:, None] * [2 * h.predict(X) - 1 for h in boosted.estimators_]
)
votes_test = boosted.estimator_weights_[:, None] * [
    2 * h.predict(X_test) - 1 for h in boosted.estimators_
]
margins = signs * np.cumsum(votes, axis=0)
errors = {
    "training": np.mean(margins <= 0, axis=1),
    "test": np.mean((np.cumsum(votes_test, axis=0) > 0) != y_test, axis=1),
}
rounds = np.arange(1, len(votes) + 1)
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(9, 3), layout="constrained")
draw(left, X_test, y_test, boosted)
for name, course in errors.items():
    middle.plot(rounds, course, label=name)
middle.set(xlabel="rounds", ylabel="error", ylim=(0, None))
middle.legend()
right.plot(rounds, np.exp(-margins).mean(axis=1), label="mean of exp(−y f(x))")
right.plot(rounds, errors["training"], label="training error, below it")
right.set(xlabel="rounds")
right.legend(fontsize="small")
plt.show()

# %%
# Three circles of samples, as in `plot_93`, but each round a single line: AdaBoost by the weights, by samples that the
# weights draw, the boosting of 1990 in three parts, and arcing on another differentiable loss.
circles = load_problem("three_circles")
X, y = circles.X_train, circles.y_train
stump = StumpClassifier()
classifiers = {
    "a single stump": StumpClassifier(random_state=0),
    "AdaBoost": AdaBoostClassifier(stump, 300, random_state=0),
    "AdaBoost by sampling": SamplingAdaBoostClassifier(stump, 300, random_state=0),
    "boosting of 1990": ThreePartBoostingClassifier(stump, random_state=0),
    "arcing, log loss": ArcingClassifier(300, max_depth=1, random_state=0),
    "arcing of trees": ArcingClassifier(100, max_depth=3, random_state=0),
}
figure, panels = plt.subplots(2, 3, figsize=(8, 5.4), layout="constrained")
for panel, (name, classifier) in zip(panels.flat, classifiers.items(), strict=True):
    draw(panel, X, y, classifier.fit(X, y))
    error = 1 - classifier.score(circles.X_test, circles.y_test)
    panel.set_title(f"{name}: {error:.0%} test error", fontsize="medium")
plt.show()

# %%
# AdaBoost.R boosts regressors, here small trees for the consumption of energy and water in a building: later trees
# learn more often from hours that earlier trees approximate badly, and their weighted median is the prediction.
building = load_problem("building1")
tree = DecisionTreeRegressor(max_depth=5, random_state=0)
regressors = {
    "a single tree": tree,
    "AdaBoost.R, linear loss": AdaBoostRegressor(tree, 20, random_state=0),
    "AdaBoost.R, square loss": AdaBoostRegressor(tree, 20, loss="square", random_state=0),
}
for name, regressor in regressors.items():
    regressor.fit(building.X_train, building.y_train)
    squares = np.square(regressor.predict(building.X_test) - building.y_test)
    print(f"{name:24} squared error on the test samples {100 * squares.mean():.3f} %")
