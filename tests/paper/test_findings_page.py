"""The published page of findings: every number of its evidence is a cell of the rendered tables."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pppca_bench.pages.document import SIGNED, join_words, printed
from pppca_bench.results.statistics import holm

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
EXPERIMENT = ROOT / "results" / "experiment2" / "tables"
NUMBER = r"([+−]?[\d.]+)"


def found(pattern: str) -> list[tuple[str, ...]]:
    matches = re.findall(pattern, PAGE)
    assert matches, pattern
    return matches


def test_typical_losses_are_those_of_the_experiment():
    tests = pd.read_csv(EXPERIMENT / "E2_tests.csv").set_index("row")
    lines = found(
        rf"- (?:As written: |Fitted: )?(\S.* − .*): typical loss {NUMBER} points \(95 % interval {NUMBER} to {NUMBER}\)"
        r" on (\d+) data sets; p \(Holm\) (\S+): (.*)\."
    )
    known = [line for line in lines if line[0] in tests.index]
    assert len(known) >= 34
    for name, *numbers in known:
        row = tests.loc[name]
        texts = [printed(row[each], SIGNED) for each in ("typical", "low", "high")]
        assert numbers == [*texts, str(row["n"]), f"{row['p_holm']:.2g}", row["verdict"]], name


@pytest.mark.parametrize("reading", ["as written", "fitted"])
def test_data_sets_beyond_a_point_are_those_of_t_tests_with_holms_correction(reading):
    losses = pd.read_csv(EXPERIMENT / "E2_losses.csv").dropna(subset="low")
    own = losses[losses["row"].str.endswith(f"({reading}) − all features")]
    own = own[own["features_percent"] < 90.0]
    error = (own["high"] - own["low"]) / 2.0 / stats.t.ppf(0.975, own["n"] - 1)
    below = stats.t.cdf((own["loss"] - 1.0) / error.clip(lower=1e-12), own["n"] - 1)
    rejected = [np.array(holm(p)) < 0.05 for p in (below, 1.0 - below)]
    for row in dict.fromkeys(own["row"]):
        of_row = (own["row"] == row).to_numpy()
        small, large = (join_words(list(own["data_set"][of_row & beyond])) for beyond in rejected)
        said = (
            f"{row}: significantly below 1 point on {small or 'no data set'}, significantly above on"
            f" {large or 'no data set'}, of {of_row.sum()}."
        )
        assert said in PAGE
