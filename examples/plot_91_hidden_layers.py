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
from pppca_bench.classifiers import BackpropMLPClassifier, RpropMLPClassifier
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
# The method ``hidden_layer`` trains an RPROP network on the classes of the data, and keeps its last hidden layer, by
# default of softsign nodes; here also of logistic nodes, and behind another layer, which makes the features "highly
# nonlinear". LDA uses the classes, too, but is linear.
wine = load_problem("wine")
splits = wine.X_train, wine.y_train, wine.X_validation, wine.y_validation
figure, panels = plt.subplots(2, 2, figsize=(7, 6), layout="constrained")
reducers = {
    "softsign nodes": HiddenLayer(random_state=0),
    "logistic nodes": HiddenLayer(hidden_activation="logistic", random_state=2),
    "second of two hidden layers": HiddenLayer(layers_before=(8,), random_state=0),
    "LDA": LDA(),
}
for panel, (title, reducer) in zip(panels.flat, reducers.items(), strict=True):
    reducer.fit(*(splits[:2] if title == "LDA" else splits))
    features = reducer.transform(wine.X_test)
    for label, marker in zip(np.unique(wine.y_test), "o^s", strict=True):
        panel.scatter(*features[wine.y_test == label].T, marker=marker, s=18)
    panel.set(title=f"{title}, test samples", xlabel="feature 1", ylabel="feature 2")
plt.show()

# %%
# RPROP has variants: it takes back a step that changed the sign of a derivative, or does not, or does only if the error
# rose (``improved``: iRPROP+ and iRPROP−, Igel and Hüsken 2000). Epochs to the end of the training, and the test error:
for takes_back in (True, False):
    for improved in (False, True):
        networks = [
            RpropMLPClassifier(
                (8,), weight_backtracking=takes_back, improved=improved, random_state=seed
            ).fit(*splits)
            for seed in range(10)
        ]
        epochs = np.mean([fitted.n_epochs_ for fitted in networks])
        error = 1 - np.mean([fitted.score(wine.X_test, wine.y_test) for fitted in networks])
        print(f"{takes_back=!s:5} {improved=!s:5} {epochs:4.0f} epochs, test error {error:.1%}")
