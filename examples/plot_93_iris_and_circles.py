"""
Iris and three circles in a plane
=================================

PCA turns the axes, LDA turns and stretches them by the classes, and kernel PCA bends them. A textbook shows the
difference on the iris data and on three circles (Marsland 2009, chapter 6).
"""

# %%
# The two components that each method learns from the training samples of iris (Marsland 2009, figures 6.5, 6.8 and
# 6.9). LDA uses the classes. Kernel PCA chooses the width of its kernel by the errors of a network on the validation
# samples.
import matplotlib.pyplot as plt

from pppca_bench import load_problem
from pppca_bench.reducers.linear_projection import LDA, CovariancePCA
from pppca_bench.reducers.nonlinear_projection import GaussianKernelPCA

MARKERS = "o^s"


def draw(panel, features, y, names):
    """Draw samples on two components, by class, with equal scales."""
    for label, (marker, name) in enumerate(zip(MARKERS, names, strict=True)):
        panel.scatter(*features[y == label].T, marker=marker, s=12, label=name)
    panel.set(xlabel="component 1", ylabel="component 2")
    panel.set_aspect("equal", adjustable="datalim")


iris = load_problem("iris")
X, y = iris.X_train, iris.y_train
reducers = {
    "PCA": CovariancePCA(n_components=2).fit(X),
    "LDA": LDA(n_components=2).fit(X, y),
    "kernel PCA": GaussianKernelPCA(n_components=2, random_state=0).fit(
        X, y, iris.X_validation, iris.y_validation
    ),
}
figure, panels = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
for panel, (title, reducer) in zip(panels, reducers.items(), strict=True):
    draw(panel, reducer.transform(X), y, ["setosa", "versicolor", "virginica"])
    panel.set_title(title)
figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
plt.show()

# %%
# Three concentric circles (Marsland 2009, figure 6.10). PCA only turns them, since they vary alike in all directions.
# The first component of kernel PCA separates all three.
circles = load_problem("three_circles")
X, y = circles.X_train, circles.y_train
pca = CovariancePCA(n_components=2).fit(X)
kernel_pca = GaussianKernelPCA(n_components=2, random_state=0)
kernel_pca.fit(X, y, circles.X_validation, circles.y_validation)

figure, panels = plt.subplots(1, 2, figsize=(7, 3.4), layout="constrained")
for panel, title, reducer in zip(panels, ["PCA", "kernel PCA"], [pca, kernel_pca], strict=True):
    draw(panel, reducer.transform(X), y, ["inner circle", "middle circle", "outer circle"])
    panel.set_title(title)
figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
plt.show()

# %%
# The width decides. Kernel PCA tries five widths, in units of the median distance between samples: a narrow kernel sees
# near neighbours alone, and a wide kernel is nearly linear.
for width, error in zip(
    kernel_pca.history_["width"], kernel_pca.history_["validation_error_percent"], strict=True
):
    print(f"width {width:.3f}: validation error {error:4.1f} %")
print(f"chosen: {kernel_pca.width_:.3f}")
