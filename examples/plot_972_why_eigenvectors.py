"""
Why the eigenvectors
====================

Bishop (1995, section 8.6 and appendix E) chooses the directions of least squared error, and finds the eigenvectors of
the covariance matrix. Here are his figure 8.9, the value of the error, and two facts that the pages state in passing.
"""

# %%
# Figure 8.9: samples in two dimensions are replaced by their projections on the first eigenvector through the mean. At
# every other angle, half the sum of the squared distances, E_M, is larger (equation 8.17). The pages' Σ is N C.
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import multivariate_normal, ortho_group

from pppca_bench import load_problem
from pppca_bench.reducers.linear_projection import CovariancePCA

petals = load_problem("iris").X_train[::2, 2:]
pca = CovariancePCA(n_components=1).fit(petals)
rebuilt = pca.inverse_transform(pca.transform(petals))
centred = petals - pca.mean_
angles = np.radians(np.arange(0, 181))
directions = np.column_stack([np.cos(angles), np.sin(angles)])
errors = [0.5 * np.square(centred - np.outer(centred @ u, u)).sum() for u in directions]

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
left.plot(*np.stack([petals, rebuilt], axis=1).T, color="lightgrey", zorder=0)
left.scatter(*petals.T, s=12, label="samples")
left.scatter(*rebuilt.T, s=8, marker="s", label="projections")
left.scatter(*pca.mean_, marker="+", s=120, color="black", label="mean")
left.set(xlabel="petal length", ylabel="petal width", aspect="equal")
left.legend(fontsize="small")
right.plot(np.degrees(angles), errors)
right.axvline(np.degrees(np.arctan2(*pca.components_[0, ::-1])), color="grey", linestyle=":")
right.set(xlabel="angle of the direction, degrees", ylabel="$E_1$")
plt.show()

# %%
# The error is half the sum of the discarded eigenvalues of Σ (equation 8.23). It depends on the space of the discarded
# directions alone: any rotation of these within their space has the same error (appendix E).
X = load_problem("wine").X_train
M, (N, d) = 5, X.shape
pca = CovariancePCA(n_components=M).fit(X)
discarded = CovariancePCA().fit(X).components_[M:]
rotated = ortho_group.rvs(d - M, random_state=0) @ discarded
print(
    "half the squared distances ",
    0.5 * np.square(X - pca.inverse_transform(pca.transform(X))).sum(),
)
print("half the discarded N λ     ", 0.5 * N * pca.eigenvalues_[M:].sum())
for name, U in (("discarded eigenvectors u  ", discarded), ("the same, rotated         ", rotated)):
    print(name, 0.5 * np.square((X - pca.mean_) @ U.T).sum())

# %%
# Other criteria lead to the same directions: for samples of a normal distribution, the projections on the leading
# eigenvectors also have the largest entropy. The points are all 286 triples of eigenvectors and 500 random triples.
C = np.cov(X.T, bias=True)


def scores(U):
    """Return the share of the variance, and the entropy of a normal distribution, in the span of orthonormal rows."""
    inner = U @ C @ U.T
    return np.trace(inner) / np.trace(C), multivariate_normal(cov=inner).entropy()


eigenvectors = CovariancePCA().fit(X).components_
triples = [scores(eigenvectors[list(triple)]) for triple in combinations(range(d), 3)]
rng = np.random.default_rng(0)
randoms = [scores(np.linalg.qr(rng.standard_normal((d, 3)))[0].T) for _ in range(500)]
figure, axes = plt.subplots(figsize=(5, 3.4), layout="constrained")
axes.scatter(*np.transpose(randoms), s=6, label="random directions")
axes.scatter(*np.transpose(triples), s=6, label="three eigenvectors")
axes.scatter(*triples[0], marker="*", s=120, color="black", label="the leading three")
axes.set(xlabel="share of the variance", ylabel="entropy, nats")
axes.legend()
plt.show()

# %%
# How many to keep? The lecture notes reject eigenvalues below some number, ``least_eigenvalue``.
for least in (0.1, 0.03, 0.01, 0.003):
    kept = CovariancePCA(keep="eigenvalue", least_eigenvalue=least).fit(X)
    share = kept.explained_variance_ratio_.sum()
    print(
        f"eigenvalues of at least {least:5}: {kept.n_components_:2d} components, {share:.0%} of the variance"
    )
