"""
Own data, from the table to predictions
=======================================

A table of blocks of scanned pages, text or anything else, is described, two reductions are compared with none, and a
saved model predicts new rows. :doc:`Own data </own_data>` explains each step.
"""

# %%
# Describe the table before you run anything. The classes are imbalanced: an answer that is always the same has a small
# error.
import subprocess

import joblib
import pandas as pd

import pppca_bench

TABLE, RESULTS = "../data/uci/page_blocks.csv.xz", "../build/own_data"
describe = ["pppca", "data", "describe", TABLE, "--target", "class"]
print(subprocess.run(describe, check=True, capture_output=True, text=True).stdout)

# %%
# The last 200 rows serve as new rows. On each of five splits of the others, each method chooses τ by the balanced
# accuracy on the validation rows; the network gives both classes the same weight. All features and the majority class
# run beside the methods.
rows = pppca_bench.read_table(TABLE)
known, new = rows[:1800], rows[1800:]
config = {
    "name": "pages",
    "seed": 2012,
    "splits": 5,
    "tau": "auto",
    "by": "balanced_accuracy",
    "methods": ["dgha", "pca"],
    "classifier": {"max_epochs": 300, "class_weight": "balanced"},
}
blocks = {"blocks": (known.drop(columns="class"), known["class"])}
pppca_bench.run(config, blocks, results=RESULTS)

# %%
# Fit PCA, with the τ that is the best over all splits, to all known rows, save the model, and predict the new rows. The
# test scores above estimate its error, since no known row is left to test it.
model = pppca_bench.pipeline("pages/blocks/pca/0", RESULTS, problems=blocks, final=True)
joblib.dump(model, f"{RESULTS}/blocks.joblib")
predicted = joblib.load(f"{RESULTS}/blocks.joblib").predict(new.drop(columns="class"))

# %%
# The new rows of this table have classes to compare with:
pd.crosstab(new["class"], predicted, rownames=["class"], colnames=["predicted"])
