"""
The intrinsic dimensionality of a noisy circle
==============================================

Points near a circle have two inputs, but one number, the angle, describes them: their intrinsic dimensionality is 1. A
linear component cannot find it (Bishop 1995, section 8.6, figures 8.10 to 8.12).
"""

# %%
# Four points look like the corners of a rotated rectangle, and their coordinates show no rule. They lie on a circle,
# and their angles, in units of π, are simple (Marsland 2009, figure 6.1).
import matplotlib.pyplot as plt
import numpy as np

from pppca_bench import load_problem
from pppca_bench.reducers.linear_projection import CovariancePCA
from pppca_bench.reducers.nonlinear_projection import Autoencoder

angles = np.array([1, 4, 7, 11]) / 6
print("coordinates", *(f"({np.cos(np.pi * a):.2f}, {np.sin(np.pi * a):.2f})" for a in angles))
print("angles / π ", *(f"{a:.3f}" for a in angles))

# %%
# PCA and an auto-associative network reduce noisy points of a circle to one number. The network has four layers of
# weights with nonlinear nodes before, in and after the middle layer, which has a single node.
X = load_problem("noisy_circle").X_train
reducers = {
    "PCA": CovariancePCA(n_components=1),
    "autoencoder": Autoencoder(
        n_components=1, kind="nonlinear", n_hidden=12, max_iter=3000, random_state=1
    ),
}

# %%
# ``inverse_transform`` rebuilds the points from their numbers. PCA loses half of the variance, since the points vary
# alike in all directions. The network follows nearly the whole circle; its curve has two ends, so it cannot close.
total = np.square(X - X.mean(axis=0)).sum()
figure, panels = plt.subplots(1, 2, figsize=(7, 3.6), sharey=True, layout="constrained")
for panel, (title, reducer) in zip(panels, reducers.items(), strict=True):
    rebuilt = reducer.fit(X).inverse_transform(reducer.transform(X))
    retained = 1 - np.square(X - rebuilt).sum() / total
    panel.scatter(*X.T, s=12, facecolors="none", edgecolors="grey", label="inputs")
    panel.scatter(*rebuilt.T, s=8, marker="s", label="rebuilt")
    panel.set(title=f"{title}: {retained:.1%} of the variance", xlabel="input 1", aspect="equal")
panels[0].set_ylabel("input 2")
panels[1].legend(loc="center")
plt.show()
