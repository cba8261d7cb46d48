"""
Reduction by the hidden layer of a classifier
=============================================

A hidden layer with fewer nodes than inputs has to code what the outputs need. Eight patterns get codes of three bits,
and two hidden nodes give a plane in which the classes of wine lie apart.
"""

# %%
# The 8-3-8 encoder of the lecture notes on dimension reduction (Mitchell 2006): each pattern has a single 1, and its
# class is the place of the 1. Hidden and output nodes are logistic.
import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

from pppca_bench import load_problem
from pppca_bench.classifiers import BackpropMLPClassifier
from pppca_bench.reducers.linear_projection import LDA
from pppca_bench.reducers.nonlinear_projection import HiddenLayer

PATTERNS, PLACES = np.eye(8), np.arange(8)


def encoder(seed):
    """Return a network that learnt the patterns, and its hidden values of each pattern."""
    network = BackpropMLPClassifier(
        (3,), output_activation="logistic", learning_rate=1.0, max_epochs=3000, random_state=seed
    ).fit(PATTERNS, PLACES)
    return network, expit(PATTERNS @ network.coefs_[0] + network.intercepts_[0])


network, codes = encoder(0)
for pattern, code, place in zip(PATTERNS, codes, network.predict(PATTERNS), strict=True):
    print("".join(f"{bit:.0f}" for bit in pattern), "→", *(f"{h:.2f}" for h in code), "→", place)

# %%
# Not every start leads to eight codes of bits, but intermediate values tell the patterns apart as well.
encoders = [encoder(seed) for seed in range(20)]
n_learnt = sum(network.score(PATTERNS, PLACES) == 1.0 for network, _ in encoders)
n_binary = sum(len(np.unique(codes > 0.5, axis=0)) == 8 for _, codes in encoders)
print(f"{n_learnt} of 20 networks return all patterns, {n_binary} of them by eight different bits.")

# %%
# The method ``hidden_layer`` trains an RPROP network on the classes of the data, and keeps its hidden layer. LDA uses
# the classes, too, but is linear.
wine = load_problem("wine")
splits = wine.X_train, wine.y_train, wine.X_validation, wine.y_validation
figure, panels = plt.subplots(1, 2, figsize=(7, 3), layout="constrained")
reducers = {"hidden layer": HiddenLayer(random_state=0).fit(*splits), "LDA": LDA().fit(*splits[:2])}
for panel, (title, reducer) in zip(panels, reducers.items(), strict=True):
    features = reducer.transform(wine.X_test)
    for label, marker in zip(np.unique(wine.y_test), "o^s", strict=True):
        panel.scatter(*features[wine.y_test == label].T, marker=marker, s=18)
    panel.set(title=f"{title}, test samples", xlabel="feature 1", ylabel="feature 2")
plt.show()
