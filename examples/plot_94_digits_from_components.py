"""
Digits rebuilt from few components
==================================

A sample is the mean plus a weighted sum of all principal components, and the leading components alone rebuild most of
it. The components of digits are known as eigen-digits (Mitchell 2006, lecture on PCA).
"""

# %%
# The first training sample of each digit, and what 2 to 32 of the 64 components rebuild of it. The titles state the
# share of the variance that the components retain over all training samples.
import matplotlib.pyplot as plt
import numpy as np

from pppca_bench import load_problem
from pppca_bench.reducers.linear_projection import CovariancePCA

digits = load_problem("digits")
X = digits.X_train
first = X[np.unique(digits.y_train, return_index=True)[1]]

rows = {"inputs": first}
for n_components in (2, 4, 8, 16, 32):
    pca = CovariancePCA(n_components=n_components).fit(X)
    share = pca.explained_variance_ratio_.sum()
    title = f"{n_components} components: {share:.1%} of the variance"
    rows[title] = pca.inverse_transform(pca.transform(first))


def draw(strip, title, images):
    """Draw a row of images of 8 × 8 pixels on a common scale; dark pixels have large values."""
    framed = np.pad(images.reshape(-1, 8, 8), ((0, 0), (0, 0), (0, 1)), constant_values=np.nan)
    strip.imshow(np.hstack(framed), cmap="Greys")
    strip.set_title(title, loc="left", fontsize="medium")
    strip.set_axis_off()


figure, strips = plt.subplots(len(rows), figsize=(6, 6.2), layout="constrained")
for strip, (title, images) in zip(strips, rows.items(), strict=True):
    draw(strip, title, images)
plt.show()

# %%
# The components are images, too: the first ten, dark where a weight is large.
figure, strip = plt.subplots(figsize=(6, 1), layout="constrained")
draw(strip, "components 1 to 10", pca.components_[:10])
plt.show()
