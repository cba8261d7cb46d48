"""
Choosing features inside and outside cross-validation
=====================================================

Features must be chosen by training samples alone (Mitchell 2006). If all samples choose them, even noise seems to
predict the classes. Scores of words in e-mails follow.
"""

# %%
# The inputs of a hundred splice junctions (gene1), with shuffled classes: nothing can predict them better than the
# answer that is always the most frequent class, which half of the samples have. *Outside*, all samples score the 120
# inputs, and the classifier of the ten best is then cross-validated. *Inside*, each fold scores the inputs by its own
# training samples.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.feature_selection import VarianceThreshold
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.pipeline import make_pipeline

import pppca_bench
from pppca_bench.reducers.filter_selection import FilterSelector

CLASSIFIER = GaussianNB(var_smoothing=0.01)
FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)


def selector(n_features, criterion="mutual_information"):
    """Return an unfitted filter; with a number of features, its classifier chooses nothing."""
    return FilterSelector(n_features, criterion=criterion, estimator=CLASSIFIER, random_state=0)


gene = pppca_bench.load_problem("gene1")
accuracies = {"outside": [], "inside": []}
for seed in range(12):
    rows = np.random.default_rng(seed).permutation(len(gene.X_train))[:100]
    X, y = gene.X_train[rows], gene.y_train[np.roll(rows, 1)]
    ten_best = selector(10).fit_transform(X, y)
    accuracies["outside"].append(cross_val_score(CLASSIFIER, ten_best, y, cv=FOLDS).mean())
    both = make_pipeline(selector(10), CLASSIFIER)
    accuracies["inside"].append(cross_val_score(both, X, y, cv=FOLDS).mean())
figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
axes.boxplot(list(accuracies.values()), tick_labels=list(accuracies))
axes.axhline(0.5, color="grey", linestyle=":")
axes.set(ylabel="cross-validated accuracy", xlabel="inputs chosen … cross-validation")
plt.show()

# %%
# Choosing *how many* is a choice, too. Its best cross-validated accuracy is too large; a nested cross-validation
# chooses again in each outer fold. The scores here are the accuracies of classifiers of a single input.
plain, nested = [], []
for seed in range(4):
    rows = np.random.default_rng(seed).permutation(len(gene.X_train))[:100]
    X, y = gene.X_train[rows], gene.y_train[np.roll(rows, 1)]
    numbers = {"filterselector__n_features": [1, 2, 3, 5, 10, 20]}
    filtered = make_pipeline(selector(1, "cross_validated_accuracy"), CLASSIFIER)
    search = GridSearchCV(filtered, numbers, cv=FOLDS)
    plain.append(search.fit(X, y).best_score_)
    nested.append(cross_val_score(search, X, y, cv=FOLDS).mean())
print(
    f"best of six numbers: {np.mean(plain):.1%}, nested {np.mean(nested):.1%}, most frequent class 50%"
)

# %%
# Words in 2,000 e-mails, spam or not: a word occurs or not. *Document frequency* (DF) counts the e-mails that have it,
# whatever their class; *information gain* (IG) is its mutual information with the class; χ² tests independence.
mails = pppca_bench.read_table("../data/uci/spambase.csv.xz")
words = mails.filter(like="word_").rename(columns=lambda name: name.removeprefix("word_"))
occurs = (words.to_numpy(dtype=float) > 0).astype(float)
y = pd.factorize(mails["class"], sort=True)[0]
order = np.random.default_rng(0).permutation(len(y))
train, test = order[:1000], order[1000:]
scores = {
    "DF": occurs[train].sum(axis=0),
    "IG": selector(1).fit(occurs[train], y[train]).scores_,
    "χ²": selector(1, "chi_squared").fit(occurs[train], y[train]).scores_,
}
best = {name: np.argsort(-score, kind="stable") for name, score in scores.items()}
pd.DataFrame({name: words.columns[ranked[:10]] for name, ranked in best.items()})

# %%
# With few words, those of many e-mails alone say little; with many words the three scores agree (as on Mitchell's slide
# of Rogati and Yang's results). Scikit-learn's `VarianceThreshold` is nearest to DF: it drops the rarest words.
figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
numbers = [1, 2, 3, 5, 8, 12, 20, 30, 48]
for name, ranked in best.items():
    right = [
        BernoulliNB()
        .fit(occurs[train][:, ranked[:n]], y[train])
        .score(occurs[test][:, ranked[:n]], y[test])
        for n in numbers
    ]
    axes.plot(numbers, right, marker="o", label=name)
axes.set(xlabel="words", ylabel="test accuracy", xscale="log", xticks=numbers, xticklabels=numbers)
axes.legend()
plt.show()
rare = VarianceThreshold(0.05).fit(occurs[train])
frequent = make_pipeline(rare, LogisticRegression()).fit(occurs[train], y[train])
print(
    f"{rare.get_support().sum()} frequent words, test accuracy {frequent.score(occurs[test], y[test]):.1%}"
)
