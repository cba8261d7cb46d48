"""
GHA's rows become the principal components
==========================================

The generalized Hebbian algorithm sees one sample at a time and never computes a covariance matrix. Its rows turn into
the leading eigenvectors of that matrix, one after the other.
"""

# %%
# ``partial_fit`` makes one pass over the samples. After each pass, every row is compared with the eigenvector of the
# same rank. A cosine of 1 means that they are parallel.
import matplotlib.pyplot as plt
import numpy as np

from pppca_bench import GHA, load_problem

X = load_problem("wine").X_train
eigenvectors = np.linalg.eigh(np.cov(X.T, bias=True))[1][:, ::-1].T

gha = GHA(n_components=4, learning_rate=0.02, random_state=0)
cosines = []
for _ in range(300):
    gha.partial_fit(X)
    norms = np.linalg.norm(gha.components_, axis=1, keepdims=True)
    rows = gha.components_ / norms
    cosines.append(np.abs(np.sum(rows * eigenvectors[:4], axis=1)))

# %%
# The first rows converge first. A later row learns from the residual of earlier rows, so it converges after them.
figure, axes = plt.subplots()
for rank, course in enumerate(np.transpose(cosines), start=1):
    axes.plot(range(1, 301), course, label=f"row {rank}")
axes.set(xscale="log", xlabel="epoch", ylabel="|cosine| with the eigenvector")
axes.legend()
plt.show()

# %%
# After convergence the rows are orthonormal, though nothing normalises them: the matrix of their inner products is
# nearly the identity matrix.
print(np.abs(gha.components_ @ gha.components_.T).round(2))
