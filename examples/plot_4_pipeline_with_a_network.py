"""
A pipeline with a network
=========================

The transformers and the networks follow scikit-learn's interface. A pipeline reduces the features, then classifies.
"""

# %%
# A problem has training, validation and test samples. Its inputs are scaled to [0, 1].
import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from pppca_bench import DGHA, GHA, NEpPCA, RpropMLPClassifier, load_problem

wine = load_problem("wine")

# %%
# The network holds out a third of its training samples and stops when the error on them rises. The reduction is fitted
# to the training samples only.
reductions = {
    "all features": "passthrough",
    "GHA, 4 rows": GHA(n_components=4, random_state=0),
    "DGHA, τ = 5": DGHA(tau=5, random_state=0),
    "NE-pPCA, τ = 5": NEpPCA(tau=5, random_state=0),
    "exact PCA, 4 components": PCA(n_components=4),
}
for name, reduction in reductions.items():
    network = RpropMLPClassifier(hidden_layer_sizes=(8,), shortcuts=True, random_state=0)
    pipeline = make_pipeline(reduction, network).fit(wine.X_train, wine.y_train)
    error = 1 - pipeline.score(wine.X_test, wine.y_test)
    print(f"{name:25} {network.n_features_in_:2d} inputs, test error {error:.1%}")

# %%
# One split and one seed do not show which method is better. To compare methods, write a config with 30 repeats for
# ``pppca run``.

# %%
# The network stores the curves of its training. Its final weights are the weights at the validation minimum.
figure, axes = plt.subplots()
axes.plot(np.arange(network.n_epochs_) + 1, network.training_curve_, label="training")
validated = np.arange(len(network.validation_curve_)) + 1
axes.plot(validated * network.strip_length, network.validation_curve_, label="validation")
axes.axvline(network.best_epoch_, color="grey", linestyle=":", label="weights kept")
axes.set(xlabel="epoch", ylabel="squared error (%)", yscale="log", title=name)
axes.legend()
plt.show()
