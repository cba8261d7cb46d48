"""Quantities that runs measure: titles, units and formats, errors and scores."""

from __future__ import annotations

import tomllib
from collections.abc import Container, Iterable
from dataclasses import dataclass
from pathlib import Path

DECIMALS = 9
"""Decimals of quantities, and of their differences, that count in ranks, tests and choices.

Further decimals are rounding errors, which would break ties.
"""


@dataclass(frozen=True, slots=True)
class Quantity:
    """Quantity that runs measure: title with unit, and Python format of the printed mean."""

    title: str
    form: str = ".2f"
    is_count: bool = False  # whether values are integers
    more_is_better: bool = False
    matters: float = 1.0  # default of the smallest difference that matters
    is_timing: bool = (
        False  # whether values depend on the speed of the machine, and never repeat exactly
    )
    short: str = ""  # shorter title; "" for the title
    meaning: str = ""  # explanation of the title; may be ""


_GROUPS = {
    group: {name: Quantity(**fields) for name, fields in quantities.items()}
    for group, quantities in tomllib.loads(
        Path(__file__).with_name("quantities.toml").read_text("utf-8")
    ).items()
}

QUANTITIES = _GROUPS["quantities"]
"""Quantities that the package measures, by name; methods may add others (``measures_``)."""

ERRORS = ("test_error_percent", "test_squared_error_percent")
"""Errors of runs on the test split: the misclassification of classes, and the squared error of numbers."""


def error_of(known: Container[str], split: str = "test") -> str:
    """Return the name of the error of a split, given the names of the values of a run.

    Every run on classes has the misclassification; networks have the squared error of their outputs, too.
    """
    error, squared = (name.replace("test", split) for name in ERRORS)
    return squared if squared in known and error not in known else error


SCORES = _GROUPS["scores"]
"""Scores on the test split of runs that store their predictions, by name."""

RANK_SCORES = ("roc_auc_percent", "average_precision_percent")
"""Scores of the order in which a classifier ranks the samples by class; no threshold changes them."""

BALANCED_SCORES = ("balanced_accuracy_percent", "macro_f1_percent", *RANK_SCORES)
"""Scores that do not favour frequent classes. Runs may choose settings by those on the validation split."""

RECALL, RECALL_END = "recall_", "_percent"
"""Beginning and end of the names of the classes' recalls, such as ``recall_benign_percent``."""

MEASURES = SCORES | _GROUPS["measures"]
"""Quantities of some methods (``measures_``), by name."""

TIMINGS = tuple(name for name, quantity in (QUANTITIES | MEASURES).items() if quantity.is_timing)
"""Names of the quantities that differ each time a run is computed."""

SIZES = ("n_features", "n_outputs", "n_train", "n_validation", "n_test")
"""Attributes of `ProblemFacts` that are sizes."""


def described(quantity: str) -> Quantity:
    """Return the quantity of a name; for quantities that only a method knows, the name is the title."""
    if quantity in SIZES:
        return Quantity(quantity, ".0f", is_count=True)
    if quantity.startswith(RECALL):
        return Quantity(f"Recall of {recall_of(quantity)}, %", more_is_better=True)
    return QUANTITIES.get(quantity) or MEASURES.get(quantity, Quantity(quantity, ".3g"))


def recall_of(quantity: str) -> str:
    """Return the label of the class that a recall is of."""
    return quantity.removeprefix(RECALL).removesuffix(RECALL_END)


def unitless(title: str) -> str:
    """Return a quantity's title without its unit."""
    return title.partition(",")[0]


def in_sentence(title: str) -> str:
    """Return a title as it stands within a sentence; abbreviations such as ROC keep their capitals."""
    return f"{title[:1].lower()}{title[1:]}" if title[1:2].islower() else title


def in_order(names: Iterable[str]) -> list[str]:
    """Return the names of quantities in the order of `QUANTITIES`; all others follow, sorted."""
    known = {name: place for place, name in enumerate(QUANTITIES)}
    return sorted(names, key=lambda name: (known.get(name, len(known)), name))
