"""Settings in sentences, by the points of the Proben1 report's checklist for authors (section 2.11)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from pppca_bench.methods.entry import Entry
from pppca_bench.reporting.labels import setting_text
from pppca_bench.runs import Parameters, Scalar

POINTS: Mapping[str, str] = MappingProxyType(
    {
        "network": "Network",
        "initialisation": "Initialisation",
        "algorithm": "Algorithm",
        "termination": "Termination",
        "error": "Error function",
    }
)
"""Points 3 to 7 of the checklist, which say how something learns, and their titles."""

PIVOT = "pivot"
"""Value of a setting that stands for the problem's pivot architecture (table 7)."""

_ACTIVATIONS: Mapping[Scalar, str] = {
    "linear": "are linear (the identity)",
    "softsign": "have the activation x / (1 + |x|)",
    "logistic": "have the activation 1 / (1 + exp(-x))",
    PIVOT: "are linear (l) or have the activation x / (1 + |x|) (s), as the table of problems says",
}

Told = Mapping[Scalar, str] | str | Callable[[Scalar], str]
"""A sentence for each value, one with a place for the value, or a function that makes one."""


def _hidden(value: Scalar) -> str:
    if value == PIVOT:
        return (
            "The hidden nodes are those of the problem's pivot architecture (Proben1 report, table 7); a problem that"
            " has none there gets 16 and 8, or with c > 8 outputs 2 c and c, where c counts as 64 at most."
        )
    sizes = [str(size) for size in value] if isinstance(value, tuple) else [str(value)]
    if not sizes:
        return "There are no hidden nodes: the inputs feed the outputs directly."
    return f"The hidden {'layers have' if len(sizes) > 1 else 'layer has'} {' and '.join(sizes)} nodes."


def _loss(value: Scalar) -> str:
    if value == math.inf:
        return "No generalisation loss stops the training."
    return (
        "Training stops when the generalisation loss GL = 100 (E_va / E_opt - 1), by how much the validation error is"
        f" above its minimum so far, exceeds {_plain(value)} %."
    )


def _progress(value: Scalar) -> str:
    if not value:
        return "No lack of training progress stops the training."
    return (
        "Training stops when the training progress P_k = 1000 (mean / minimum - 1) of the training errors of a strip of"
        f" k epochs falls below {_plain(value)}."
    )


def _increases(value: Scalar) -> str:
    return f"It does not stop so before the validation error has risen in {value} successive strips." if value else ""


def _quotient(value: Scalar) -> str:
    return f"Nor does it before GL / P_k has exceeded {_plain(value)}." if value else ""


_SENTENCES: Mapping[str, tuple[str, Told]] = {
    "hidden": ("network", _hidden),
    "shortcuts": (
        "network",
        {
            True: "Each layer takes the inputs and all earlier layers (all feed-forward shortcuts).",
            False: "Each layer takes only the layer before it (no shortcuts).",
        },
    ),
    "hidden_activation": ("network", {name: f"The hidden nodes {text}." for name, text in _ACTIVATIONS.items()}),
    "output_activation": ("network", {name: f"The output nodes {text}." for name, text in _ACTIVATIONS.items()}),
    "bias": ("network", {True: "Every hidden and output node has a bias.", False: "No node has a bias."}),
    "standardise": (
        "network",
        {
            True: "Each input is shifted by its mean and divided by its standard deviation over the training set.",
            False: "The inputs are taken as they are.",
        },
    ),
    "initial_weight_range": ("initialisation", "The initial weights are drawn uniformly from -{0} to {0}."),
    "initial_step_range": ("initialisation", "The first step size of each weight is drawn uniformly from {0} to {1}."),
    "eta_plus": ("algorithm", "The step size of a weight is multiplied by {0} while the gradient keeps its sign."),
    "eta_minus": ("algorithm", "It is multiplied by {0} when the gradient changes its sign."),
    "weight_backtracking": (
        "algorithm",
        {
            True: "After a change of sign the weight takes its last step back.",
            False: "After a change of sign the weight moves by the smaller step (no weight backtracking).",
        },
    ),
    "step_min": ("algorithm", "The least step size is {0}."),
    "step_max": ("algorithm", "The greatest step size is {0}."),
    "learning_rate": ("algorithm", "The learning rate is {0}."),
    "momentum": ("algorithm", "The momentum is {0}."),
    "n_estimators": ("algorithm", "It is made of {0} networks."),
    "strip_length": ("termination", "The validation error is measured every {0} {unit} (a strip)."),
    "generalisation_loss": ("termination", _loss),
    "successive_increases": ("termination", _increases),
    "progress_quotient": ("termination", _quotient),
    "training_progress": ("termination", _progress),
    "max_epochs": ("termination", "Training ends after {0} epochs at the latest."),
    "max_generations": ("termination", "The evolution ends after {0} generations at the latest."),
    "n_epochs": ("termination", "Learning ends after {0} epochs."),
    "n_generations": ("termination", "The evolution ends after {0} generations."),
    "keep": (
        "termination",
        {
            "best": "The weights of the validation minimum are kept.",
            "last": "The weights after the last epoch are kept.",
        },
    ),
}
"""Settings that have a sentence of their own, in their order, with the point where it belongs; others are listed."""


def describe_entry(entry: Entry, settings: Parameters) -> dict[str, list[str]]:
    """Tell what is known of a method or a classifier by the points of the checklist.

    Parameters
    ----------
    entry : Entry
        Of the registry.
    settings : tuple of (str, scalar)
        Its settings; those that vary are left out.

    Returns
    -------
    dict of str to list of str
        Sentences by the names of `POINTS`: what holds of the entry whatever its settings, then the settings.
    """
    found: dict[str, list[str]] = {point: [] for point in POINTS}
    for point, text in entry.details.items():
        found[point].append(text)
    given, others, unset = dict(settings), list[str](), list[str]()
    unit = "generations" if any(name.endswith("generations") for name in given) else "epochs"
    for name, (point, told) in _SENTENCES.items():
        if name in given and (sentence := _sentence(told, given[name], unit)) is not None:
            found[point] += [sentence] if sentence else []
            del given[name]
    for name, value in given.items():
        if value is None:
            unset.append(name)
        else:
            others.append(setting_text(name, value))
    if others:
        found["algorithm"].append(f"Its other settings are {', '.join(others)}.")
    if unset:
        found["algorithm"].append(f"Not set {'is' if len(unset) == 1 else 'are'} {listed(unset)}.")
    return found


def listed(words: Sequence[str]) -> str:
    """Join words as a sentence does: with commas, and "and" before the last."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def _sentence(told: Told, value: Scalar, unit: str) -> str | None:
    """Return the sentence of a value, "" where there is nothing to say of it, None where there is none for it."""
    if value is None:
        return None
    if isinstance(told, Mapping):
        return told.get(value)
    if isinstance(told, str):
        return told.format(*map(_plain, value if isinstance(value, tuple) else (value,)), unit=unit)
    return told(value)


def _plain(value: Scalar) -> str:
    """Return a number as a sentence has it."""
    return f"{value:.12g}" if isinstance(value, float) else str(value)
