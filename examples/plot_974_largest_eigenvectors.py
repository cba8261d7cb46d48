"""
Largest eigenvectors only
=========================

If only the first few components are wanted, the others need not be computed (Mitchell 2006, "Very Nice When Initial
Dimension Not Too Big"; Bishop 1995, section 8.6). Here are four ways without the rest, on mushrooms with 125 inputs.
"""

# %%
# Power iteration multiplies a vector by C = XᵀX / N again and again, without ever forming C: x ← Xᵀ(X x). After it has
# converged, the direction is subtracted from the samples, and the next is found (deflation).
import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh, svds

from pppca_bench import GHA, load_problem
from pppca_bench.reducers.linear_projection import CovariancePCA, SingularValuePCA

X = load_problem("mushroom1").X_train
centred = X - X.mean(axis=0)
N, d = X.shape
exact = CovariancePCA().fit(X)


def power_iteration(D, n_steps, rng):
    """Yield the direction after each multiplication."""
    w = rng.standard_normal(D.shape[1])
    for _ in range(n_steps):
        w = D.T @ (D @ w)
        w = w / np.linalg.norm(w)
        yield w


rng, rest, found, angles = np.random.default_rng(0), centred.copy(), [], []
for rank in range(3):
    course = np.array(list(power_iteration(rest, 60, rng)))
    component = exact.components_[rank]
    along = np.outer(course @ component, component)
    angles.append(np.degrees(np.arcsin(np.linalg.norm(course - along, axis=1))))
    found.append(course[-1])
    rest -= np.outer(rest @ found[-1], found[-1])

# %%
# The angle to the exact component falls by the ratio of neighbouring eigenvalues in each step: the dotted lines, drawn
# at twice the angle.
figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
steps = np.arange(1, 61)
for rank, course in enumerate(angles):
    ratio = exact.eigenvalues_[rank + 1] / exact.eigenvalues_[rank]
    axes.plot(steps, course, color=f"C{rank}", label=f"component {rank + 1}, λ' / λ = {ratio:.2f}")
    axes.plot(
        steps[24:], 2 * course[24] * ratio ** (steps[24:] - 25.0), color=f"C{rank}", linestyle=":"
    )
axes.set(xlabel="multiplications", ylabel="angle to the component, degrees", yscale="log")
axes.legend()
plt.show()

# %%
# SciPy's Lanczos method needs the same products and fewer of them, `svds` takes the samples themselves, and GHA learns
# the rows sample by sample. `SingularValuePCA` computes all singular vectors, for comparison.
n_products = 0


def times_covariance(w):
    """Return C w, and count."""
    global n_products
    n_products += 1
    return centred.T @ (centred @ w) / N


operator = LinearOperator((d, d), matvec=times_covariance, dtype=np.float64)
lanczos = eigsh(operator, k=3, v0=np.ones(d))[1].T[::-1]
ways = {
    "power iteration, 180 products": np.array(found),
    f"eigsh, {n_products} products": lanczos,
    "svds": svds(centred, k=3, v0=np.ones(min(N, d)))[2][::-1],
    "GHA, 100 epochs": GHA(3, n_epochs=100, random_state=0).fit(X).components_,
    "all singular vectors": SingularValuePCA(n_components=3).fit(X).components_,
}
for name, rows in ways.items():
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = np.abs(np.sum(units * exact.components_[:3], axis=1))
    print(f"{name:30} cosines with the exact components", *(f"{cosine:.6f}" for cosine in cosines))
