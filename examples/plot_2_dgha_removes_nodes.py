"""
DGHA removes nodes while it learns
==================================

DGHA is GHA with a check before each epoch. The check removes each node whose projection variance is more than τ times
smaller than the largest variance. Removed nodes never come back.
"""

# %%
# ``history_`` has the number of nodes and the variance of each node, epoch by epoch. The variance of a removed node is
# NaN.
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
# In the first epochs only the first node learns, and no node is removed, since the variances of random nodes say
# nothing. Then most nodes are removed at once. With fewer nodes an epoch takes less time, so DGHA is fast.
print(f"{dgha.n_components_} of {X.shape[1]} nodes are left.")

# %%
# A part of the data is enough to choose the nodes to remove. With ``data_fraction=10`` each epoch learns from another
# tenth of the samples.
for percent in (100, 50, 25, 10):
    part = DGHA(tau=10, data_fraction=percent, random_state=0).fit(X)
    print(f"{percent:3d} % of the samples an epoch: {part.n_components_} nodes left")
