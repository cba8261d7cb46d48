"""
Variance is a finite resource
=============================

Principal components are new axes for the same samples. Whatever orthogonal axes are chosen, the variances along them
have the same sum: what one direction gains, the others lose.
"""

# %%
# Two correlated features of iris. The lines are the principal components, two standard deviations to each side. In
# their coordinates the samples are centred and uncorrelated, and the second axis can be left out (Marsland 2009, figure
# 6.6).
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import ortho_group

from pppca_bench import GHA, load_problem
from pppca_bench.reducers.linear_projection import CovariancePCA

petals = load_problem("iris").X_train[:, 2:]
pca = CovariancePCA().fit(petals)
spreads = 2 * np.sqrt(pca.explained_variance_)

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
left.scatter(*petals.T, s=12, color="grey")
for number, (axis, spread) in enumerate(zip(pca.components_, spreads, strict=True), start=1):
    ends = pca.mean_ + np.outer([-spread, spread], axis)
    left.plot(*ends.T, linewidth=3, label=f"component {number}")
left.set(xlabel="petal length", ylabel="petal width", aspect="equal")
left.legend()
right.scatter(*pca.transform(petals).T, s=12, color="grey")
right.set(xlabel="component 1", ylabel="component 2", aspect="equal", ylim=(-0.6, 0.6))
plt.show()

# %%
# Now all 13 features of wine, in five orthonormal bases: the features themselves, two random bases, the rows of GHA
# after a few epochs, and the principal components. A bar is the variance along a direction, the largest lowest.
X = load_problem("wine").X_train
C = np.cov(X.T, bias=True)
gha = GHA(n_epochs=3, random_state=0).fit(X)
bases = {
    "features": np.eye(13),
    "random 1": ortho_group.rvs(13, random_state=1),
    "random 2": ortho_group.rvs(13, random_state=2),
    "GHA, 3 epochs": np.linalg.qr(gha.components_.T)[0].T,
    "principal\ncomponents": CovariancePCA().fit(X).components_,
}
variances = [np.sort(np.einsum("ij,jk,ik->i", Q, C, Q))[::-1] for Q in bases.values()]

figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
base = np.zeros(len(bases))
for rank, parts in enumerate(np.transpose(variances)):
    color = plt.colormaps["viridis"](rank / 13)
    axes.bar(list(bases), parts, bottom=base, color=color, edgecolor="white", linewidth=0.5)
    base += parts
axes.axhline(np.trace(C), color="grey", linestyle=":")
axes.set(ylabel="variance, stacked by direction")
plt.show()

# %%
# The sums agree to the last digits. The components take as much as possible into the first directions, so that the last
# are left with hardly anything, and criterion (1) can remove them.
for (name, _), parts in zip(bases.items(), variances, strict=True):
    name = name.replace("\n", " ")
    print(f"{name:20} sum {parts.sum():.12f}, largest {parts[0]:.3f}, smallest {parts[-1]:.4f}")
