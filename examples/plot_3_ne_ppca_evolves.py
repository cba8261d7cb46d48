"""
NE-pPCA's networks evolve
=========================

NE-pPCA has a population of small linear networks. Networks with a large fitness reproduce, and criterion (1) removes
nodes from every network. The networks shrink while their variance grows.
"""

# %%
# ``history_`` has an entry for each generation. The first entry is the random start.
import matplotlib.pyplot as plt

from pppca_bench import NEpPCA, load_problem

X = load_problem("wine").X_train
evolved = NEpPCA(tau=5, random_state=0).fit(X)
history = evolved.history_

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
left.plot(history["mean_dimensionality"], label="mean of the population")
left.plot(history["dimensionality"], drawstyle="steps-post", label="fittest network")
left.set(xlabel="generation", ylabel="nodes left", ylim=(0, None))
left.legend()
right.plot(history["variances"][:, :3], label=["first node", "second node", "third node"])
right.set(xlabel="generation", ylabel="variance of the projection", ylim=(0, None))
right.legend()
plt.show()

# %%
# The rows are orthonormal in every generation, since each evaluation applies the Gram–Schmidt process. Their span may
# differ from the span of the principal components: :ref:`sphx_glr_gallery_plot_6_retained_variance.py` measures the
# difference.
share = evolved.explained_variance_ratio_.sum()
print(f"{evolved.n_components_} nodes retain {share:.0%} of the variance.")
