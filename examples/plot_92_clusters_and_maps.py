"""
Clusters of features, and a map that starts from PCA
====================================================

Two reductions of other libraries: scikit-learn's feature clustering as a method of a config, and MiniSom's
self-organising map, which can start from the plane of the first two principal components.
"""

# %%
# Similar features form clusters, whose means are the new features. A config names the class by its dotted path. PCA
# with as many components runs beside it.
import matplotlib.pyplot as plt
import numpy as np
from minisom import MiniSom
from sklearn.cluster import FeatureAgglomeration

import pppca_bench

config = {
    "name": "clusters",
    "problems": ["digits"],
    "repeats": 3,
    "seed": 2012,
    "methods": [
        {"method": "sklearn.cluster:FeatureAgglomeration", "parameters": {"n_clusters": 12}},
        {"method": "pca", "n_components": 12},
        "all_features",
    ],
    "classifier": {"hidden": [16], "max_epochs": 200},
}
pppca_bench.run(config, results="../build/clusters")
runs = pppca_bench.load_results("../build/clusters")
runs.groupby("method")[["dimensionality", "test_error_percent"]].mean().round(1)

# %%
# Most clusters of pixels are regions of the image, although nothing states which pixels are neighbours.
X = pppca_bench.load_problem("digits").X_train
labels = FeatureAgglomeration(12).fit(X).labels_
plt.figure(figsize=(3, 3))
plt.imshow(labels.reshape(8, 8), cmap="tab20")
plt.axis("off")
plt.show()

# %%
# A self-organising map starts from random samples, or from a grid on the first two principal components, which saves
# learning (Marsland 2009, chapter 6). The quantisation error is the mean distance of samples from their nearest node;
# nodes that are samples have a small error at once. The topographic error is the share of samples whose two nearest
# nodes are not neighbours: the grid is in order before the map learns.
X = pppca_bench.load_problem("wine").X_train
STEPS = [0, 100, 200, 400, 800, 1600]


def errors(start, seed):
    """Return the quantisation and topographic errors of a map after each number of samples."""
    curve = []
    for n_steps in STEPS:
        som = MiniSom(8, 8, X.shape[1], sigma=1.5, learning_rate=0.5, random_seed=seed)
        getattr(som, start)(X)
        if n_steps:
            som.train(X, n_steps)
        curve.append((som.quantization_error(X), som.topographic_error(X)))
    return curve


figure, panels = plt.subplots(1, 2, figsize=(7, 3), layout="constrained")
for name, start in (("PCA", "pca_weights_init"), ("samples", "random_weights_init")):
    means = np.mean([errors(start, seed) for seed in range(5)], axis=0)
    print(f"{name}: topographic error {means[0, 1]:.2f} before, {means[-1, 1]:.2f} after learning")
    for panel, mean, title in zip(panels, means.T, ("quantisation", "topographic"), strict=True):
        panel.plot(STEPS, mean, marker="o", label=name)
        panel.set(xlabel="samples learnt", ylabel=f"{title} error")
panels[0].legend(title="start from")
plt.show()
