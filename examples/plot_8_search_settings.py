"""
Searching for published settings
================================

The slides do not print the settings of DGHA. Optuna searches for settings whose runs come near the published numbers.
Such a search looks at numbers of the problems that it uses, so it shows what the authors may have run, not how well a
method does on new data. Score it on other problems before you believe it.
"""

# %%
# The published numbers are those of a reference: the slides here, or your own folder (`read_reference(Path("mine"))`).
# A group names the table, rows and quantity to come near to. The problem of the search is cancer1; no error is used. A
# group of test errors makes this a search by test errors: its setting must not be compared with others on that problem.
import math
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import optuna

import pppca_bench
from pppca_bench.references.layout import Scored
from pppca_bench.references.reference import installed_references
from pppca_bench.results.frames import read_runs
from pppca_bench.store.database import Store
from pppca_bench.verdicts.numbers import published_numbers
from pppca_bench.verdicts.scores import score_group

slides = next(each for each in installed_references() if each.name == "slides")
reference = slides.model_copy(update={"configs": ()})  # runs of any config count
group = Scored(name="T5", tables=("T5",), quantity="dimensionality")
results = Path(tempfile.mkdtemp())


# %%
# A trial is a config: `pppca_bench.run` runs it, the reference's tables take its runs by their settings, and
# `score_group` returns the mean distance: for dimensionalities the absolute logarithm of ours / published. A single
# epoch of the classifier is enough where only dimensionalities are scored.
def distance(trial):
    """Run a trial, and return its distance from the published dimensionalities."""
    settings = {
        "learning_rate": trial.suggest_float("learning_rate", 0.8, 2.0, log=True),
        "n_epochs": trial.suggest_int("n_epochs", 24, 80, log=True),
        "head_start": trial.suggest_int("head_start", 0, 8),
    }
    config = {
        "name": f"trial{trial.number}",
        "problems": ["cancer1"],
        "seed": 5000,  # another seed than that of the shipped configs
        "repeats": 5,
        "tau": [5, 10, 15, 20],
        "methods": [{"method": "dgha", "data_fraction": [100, 50, 25, 10], **settings}],
        "classifier": {"hidden": [], "max_epochs": 1},
    }
    if pppca_bench.run(config, results=results).outcome.n_failed:
        return math.inf  # such as runs that diverge
    with Store(results / "results.sqlite", read_only=True) as store:
        runs = read_runs(store, [config["name"]])
    return score_group(published_numbers([reference], runs, {}), group)["score"]


optuna.logging.set_verbosity(optuna.logging.ERROR)
search = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=14, n_startup_trials=6))
search.enqueue_trial({"learning_rate": 1.2, "n_epochs": 36, "head_start": 3})  # the shipped setting
search.optimize(distance, n_trials=12)

# %%
# The distance of each trial, and the smallest distance so far.
values = [trial.value for trial in search.trials]
figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
axes.plot(values, "o", label="trial")
axes.step(
    range(len(values)),
    [min(values[: n + 1]) for n in range(len(values))],
    where="post",
    label="best so far",
)
axes.set(xlabel="trial", ylabel="mean |ln(ours / published)|", ylim=(0, None))
axes.legend()
plt.show()
print(f"shipped setting {values[0]:.3f}, best {search.best_value:.3f} with {search.best_params}")
