"""
Choosing τ
==========

A node is removed if its variance is more than τ times smaller than the largest variance. A small τ keeps few features,
a large τ many. Choose τ on validation samples, never on test samples.
"""

# %%
# DGHA and a network are fitted for seven thresholds, with five seeds each.
import matplotlib.pyplot as plt
import numpy as np

from pppca_bench import DGHA, RpropMLPClassifier, load_problem

wdbc = load_problem("wdbc")
thresholds = [2, 3, 5, 10, 15, 20, 40]
seeds = range(5)
n_features, errors = np.zeros((2, len(thresholds), len(seeds)))
for i, tau in enumerate(thresholds):
    for j, seed in enumerate(seeds):
        dgha = DGHA(tau=tau, random_state=seed).fit(wdbc.X_train)
        network = RpropMLPClassifier(hidden_layer_sizes=(8,), random_state=seed)
        network.fit(dgha.transform(wdbc.X_train), wdbc.y_train)
        right = network.score(dgha.transform(wdbc.X_validation), wdbc.y_validation)
        n_features[i, j] = dgha.n_components_
        errors[i, j] = 100 * (1 - right)
means = errors.mean(axis=1)
standard_errors = errors.std(axis=1, ddof=1) / np.sqrt(len(seeds))

# %%
# More features cost time. Beyond some number, they change the error by no more than chance.
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
left.plot(thresholds, n_features.mean(axis=1), marker="o")
left.set(xlabel="τ", ylabel="features left", ylim=(0, None))
right.errorbar(thresholds, means, standard_errors, marker="o", capsize=3)
right.set(xlabel="τ", ylabel="validation error (%)", ylim=(0, None))
plt.show()

# %%
# A common rule takes the smallest τ whose error is within one standard error of the minimum.
best = means.argmin()
chosen = np.argmax(means <= means[best] + standard_errors[best])
print(f"τ = {thresholds[chosen]}: {n_features[chosen].mean():.1f} features")
print(f"validation error {means[chosen]:.1f} %")
