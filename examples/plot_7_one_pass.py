"""
One pass, no learning rate
==========================

CCIPCA sees each sample once and has no learning rate. It removes components by criterion (1) while it learns. This
example compares it with DGHA.
"""

# %%
# The samples come in chunks, for example from a file that does not fit into memory. After each chunk, the remaining
# components are compared with as many exact components.
import matplotlib.pyplot as plt
import numpy as np

from pppca_bench import DGHA, load_problem
from pppca_bench.engines.streaming import CCIPCA

X = load_problem("mushroom1").X_train
X = X[np.random.default_rng(0).permutation(len(X))]
C = np.cov(X.T, bias=True)
most = np.cumsum(np.linalg.eigvalsh(C)[::-1])


def optimality(rows):
    """Return the variance in the span of some rows, over the variance that as many exact components retain."""
    basis = np.linalg.qr(rows.T)[0]
    return np.trace(basis.T @ C @ basis) / most[len(rows) - 1]


ccipca, numbers, shares = CCIPCA(tau=15), [], []
for chunk in np.array_split(X, 40):
    ccipca.partial_fit(chunk)
    numbers.append(ccipca.n_components_)
    shares.append(optimality(ccipca.components_))
seen = np.linspace(0, len(X), 41)[1:]

figure, (left, right) = plt.subplots(1, 2, layout="constrained")
left.plot(seen, shares)
left.set(xlabel="samples seen", ylabel="optimality")
right.plot(seen, numbers)
right.set(xlabel="samples seen", ylabel="components left")
plt.show()

# %%
# DGHA learns from every sample in each of its 36 epochs.
dgha = DGHA(tau=15, random_state=0).fit(X)
for name, fitted in (("CCIPCA, one pass", ccipca), ("DGHA, 36 epochs", dgha)):
    print(
        f"{name}: {fitted.n_components_} components, optimality {optimality(fitted.components_):.4f}"
    )
