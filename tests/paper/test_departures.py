"""The table of departures from the sources in docs/choices.md, against the reasons in the modules."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TITLE = "## Where we depart from the sources"
DEPARTURES = [
    ("Special crossing operator", "engines/evolution.py", "i is the node of larger variance"),
    ("step 6", "engines/ne_ppca.py", "the slides' step 6"),
    ("Dynamical GHA", "engines/dgha.py", "after the head start"),
    ("Speed-up and Accuracy", "engines/counterparts.py", "speed-ups are ratios of times"),
    ("Train Network", "engines/counterparts.py", "not uniform with centred columns"),
    ("Forward2", "reducers/filter_selection.py", "on a single feature in its formula"),
    ("Hidden Layers", "reducers/nonlinear_projection.py", "softsign nodes"),
    ("(8.17)", "experiments/measures.py", "half the *mean* over the samples"),
    ("Truncation Selection", "base/genetic.py", '"truncation" shuffles two pools'),
    ("Crossover", "base/genetic.py", "a pair of parents has a single child"),
    ("Genetic Programming", "classifiers/flgp.py", "swaps subtrees and has two"),
    ("lecture notes: AdaBoost", "classifiers/boosting.py", "for networks, which take no weights"),
    ("adaboost.R", "classifiers/boosting.py", "Drucker's takes any regressor"),
    ("Bagging", "classifiers/bagging.py", "at least 50 samples"),
    ("(6.1), (6.2)", "reducers/linear_projection.py", "S_W = Σ_c p_c C_c"),
]
"""Part of a row's first cell, its module, and words of the reason, which follow "Choice:"."""


def rows() -> list[list[str]]:
    section = (ROOT / "docs" / "choices.md").read_text(encoding="utf-8").partition(TITLE)[2]
    table = section.partition("|---|---|---|---|---|\n")[2].partition("\n\n")[0]
    return [line.strip("| ").split(" | ") for line in table.splitlines()]


def test_the_table_lists_every_departure_in_its_order():
    listed = [(cells[0], cells[3].strip("`")) for cells in rows()]
    assert [module for _, module in listed] == [module for _, module, _ in DEPARTURES]
    for (section, _), (part, _, _) in zip(listed, DEPARTURES, strict=True):
        assert part in section


@pytest.mark.parametrize(("part", "module", "words"), DEPARTURES)
def test_the_module_gives_the_reason_of_a_departure(part, module, words):
    text = (ROOT / "pppca_bench" / module).read_text(encoding="utf-8")
    text = re.sub(r"\s+(# )?", " ", text)
    reasons = [reason[:600] for reason in text.split("Choice: ")[1:]]
    assert any(words in reason for reason in reasons), part
