"""
DGHA removes nodes while it learns
==================================

DGHA is GHA with a check before each epoch: a node whose projection variance is more than τ times smaller than the
largest one is removed for good.
"""

# %%
# ``history_`` holds the number of nodes and the variance of each, epoch by epoch. A node that is removed has no
# variance from then on.
import matplotlib.pyplot as plt

from pppca_bench import DGHA, load_problem

X = load_problem("wdbc").X_train
dgha = DGHA(tau=10, random_state=0).fit(X)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
left.step(range(dgha.n_epochs_ + 1), dgha.history_["dimensionality"], where="post")
left.set(xlabel="epoch", ylabel="nodes left", ylim=(0, None))
right.plot(dgha.history_["direction_variances"])
right.set(yscale="log", xlabel="epoch", ylabel="variance along the node's direction")
plt.show()

# %%
# In the first epochs only the first node learns, and nothing is removed: the variances of random nodes are no basis for
# a decision. Then most nodes are removed at once. With fewer nodes an epoch takes less time: this makes DGHA fast.
print(f"{dgha.n_components_} of {X.shape[1]} nodes are left.")

# %%
# Part of the data is enough to choose the nodes to remove: with ``data_fraction=10`` each epoch learns from a new
# tenth of the samples.
for percent in (100, 50, 25, 10):
    part = DGHA(tau=10, data_fraction=percent, random_state=0).fit(X)
    print(f"{percent:3d} % of the samples an epoch: {part.n_components_} nodes left")
