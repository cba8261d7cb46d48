"""
How much variance is retained
=============================

With a given number of directions, exact PCA retains the most variance. Pseudo-PCA retains less. This example measures
the difference.
"""

# %%
# Each method is fitted with several thresholds. The figure compares the number of features and the share of the
# variance in the space that they span.
import matplotlib.pyplot as plt
import numpy as np

from pppca_bench import DGHA, NEpPCA, load_problem

X = load_problem("digits").X_train
C = np.cov(X.T, bias=True)
eigenvalues = np.linalg.eigvalsh(C)[::-1]
most = np.cumsum(eigenvalues) / eigenvalues.sum()


def retained(rows):
    """Return the share of the variance in the span of some rows."""
    basis = np.linalg.qr(rows.T)[0]
    return np.trace(basis.T @ C @ basis) / np.trace(C)


figure, axes = plt.subplots()
axes.plot(np.arange(1, len(most) + 1), 100 * most, color="grey", label="exact PCA")
for make, label, marker in ((DGHA, "DGHA", "o"), (NEpPCA, "NE-pPCA", "s")):
    fitted = [make(tau=tau, random_state=0).fit(X) for tau in (2, 3, 5, 10, 15, 20)]
    numbers = [projection.n_components_ for projection in fitted]
    shares = [100 * retained(projection.components_) for projection in fitted]
    axes.plot(numbers, shares, marker, label=label)
axes.set(xlabel="features left", ylabel="variance retained (%)", ylim=(0, 102))
axes.legend()
plt.show()

# %%
# The distance to the grey line is the loss of pseudo-PCA. *Optimality* is the retained variance over the retained
# variance of exact PCA with as many features: 1 on the line, less below it.
