"""
All subsets, and features of a tree
===================================

Choosing features is a search. With the 13 inputs of wine, all 2¹³ − 1 subsets can be tried; greedy searches and
decision trees try few of them (Marsland 2009, chapter 6; Bishop 1995, figure 8.8).
"""

# %%
# Each of the 8,191 subsets trains a small network, and the validation samples count its errors. The method of a config
# is ``method: exhaustive``. Forward selection and backward elimination train few of them; their networks see the
# features in another order, so the same subset may have other errors.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.tree import DecisionTreeClassifier, plot_tree

from pppca_bench import RpropMLPClassifier, load_problem
from pppca_bench.reducers.wrapper_selection import (
    BackwardSelector,
    ExhaustiveSelector,
    ForwardSelector,
)

wine = load_problem("wine")
splits = wine.X_train, wine.y_train, wine.X_validation, wine.y_validation
network = RpropMLPClassifier((4,), max_epochs=200)
searches = {
    "exhaustive": ExhaustiveSelector(estimator=network, random_state=0),
    "forward": ForwardSelector(estimator=network, patience=None, random_state=0),
    "backward": BackwardSelector(estimator=network, patience=None, random_state=0),
}
figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
for (name, search), marker in zip(searches.items(), "os^", strict=True):
    history = search.fit(*splits).history_
    axes.plot(
        history["n_features"],
        history["validation_error_percent"],
        marker=marker,
        label=f"{name}, {search.n_features_} chosen",
    )
axes.set(xlabel="features", ylabel="validation error (%)")
axes.legend()
plt.show()

# %%
# The least of thousands of validation errors is too small, the more so the more subsets were tried: the test samples,
# which took no part, show what the choice is worth.
for name, search in searches.items():
    kept = search.support_
    fitted = RpropMLPClassifier((4,), max_epochs=200, random_state=0)
    fitted.fit(wine.X_train[:, kept], wine.y_train, wine.X_validation[:, kept], wine.y_validation)
    error = 1 - fitted.score(wine.X_test[:, kept], wine.y_test)
    names = ", ".join(np.array(wine.feature_names)[kept])
    print(f"{name:10} test error {error:4.0%}: {names}")

# %%
# A decision tree adds a feature with each question (*constructive*). Pruned by costs of complexity, it loses branches
# as long as the validation error does not rise (*destructive*). What is left are the selected features.
tree = DecisionTreeClassifier(criterion="entropy", random_state=0)
costs = tree.cost_complexity_pruning_path(wine.X_train, wine.y_train).ccp_alphas
pruned = []
for cost in np.maximum(costs, 0.0):
    own = DecisionTreeClassifier(criterion="entropy", ccp_alpha=cost, random_state=0)
    pruned.append(own.fit(wine.X_train, wine.y_train))
errors = [1 - own.score(wine.X_validation, wine.y_validation) for own in pruned]
best = max(i for i, error in enumerate(errors) if error == min(errors))
for own, error in zip(pruned, errors, strict=True):
    used = np.unique(own.tree_.feature[own.tree_.feature >= 0])
    print(f"{own.get_n_leaves()} leaves, {len(used)} features, validation error {error:.0%}")

figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
plot_tree(pruned[best], feature_names=wine.feature_names, impurity=False, fontsize=8, ax=axes)
plt.show()
