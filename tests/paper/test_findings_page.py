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
TESTS = pd.read_csv(EXPERIMENT / "E2_tests.csv").set_index("row")
THIRD_TABLES = ROOT / "results" / "experiment3" / "tables"
THIRD = pd.read_csv(THIRD_TABLES / "E3_tests.csv").set_index("row")
MARGINS = pd.read_csv(THIRD_TABLES / "E3_margins.csv")
LOSSES = pd.read_csv(EXPERIMENT / "E2_losses.csv")
CUT = LOSSES[~LOSSES["is_apart"]]
RIVALS = ("GA", "Pruning", "FLGP", "RFENN", "RFESVM")
PSEUDO_PCA = [
    f"{name} ({reading})" for name in ("NE-pPCA", "DGHA") for reading in ("as written", "fitted")
]


def answer(claim: int) -> str:
    """Return the answer to a claim in the table of claims."""
    (row,) = re.findall(rf"^\| {claim} \| .* \| (.*) \|$", PAGE, re.MULTILINE)
    return str(row)


def test_the_page_is_short_and_pools_no_comparisons():
    assert len(PAGE.split()) <= 1700
    assert "in part" not in PAGE
    assert "onfirmed" not in PAGE


def said_of(tests: pd.DataFrame) -> dict[str, str]:
    """Return by comparison the numbers and the verdict as the page prints them."""
    said = dict[str, str]()
    for name, row in tests.iterrows():
        typical, low, high = (printed(row[each], SIGNED) for each in ("typical", "low", "high"))
        numbers = f"{typical} [{low}, {high}] ({row['n']}), p = {row['p_holm']:.2g}"
        said[str(name)] = f"{numbers}, {row['verdict']}"
    return said


def sentence(first: str, second: str, said: dict[str, str]) -> str:
    """Return the sentence on both readings of the second method, {} in the name of the first."""
    short = first.removesuffix(" as {}").format(second)
    results = []
    for reading in ("as written", "fitted"):
        name = f"{second} ({reading})"
        results.append(f"{reading} {said[f'{first.format(name)} − {name}']}")
    return f"{short} − {second}: {'; '.join(results)}."


def test_typical_losses_are_those_of_the_experiments():
    said = said_of(TESTS)
    for method in ("NE-pPCA", "DGHA"):
        written, fitted = (
            said[f"{method} ({reading}) − all features"] for reading in ("as written", "fitted")
        )
        assert f"- {method} − all features: as written {written}; fitted {fitted}." in PAGE
        for first in ("PCA", "PCA, as many as {}"):
            assert f"- {sentence(first, method, said)}" in PAGE
    for method in ("CCIPCA", "FSM"):
        assert f"- {method} − DGHA: fitted {said[f'{method} − DGHA (fitted)']}." in PAGE


def test_losses_with_as_many_components_have_the_tests_at_a_margin_of_0():
    said = said_of(THIRD)
    at_0 = MARGINS[MARGINS["variant"] == "0 points"].set_index("row")
    assert [*at_0.index] == [*said]
    for name, row in at_0.iterrows():
        said[name] += f", at 0 p = {row['p_holm']:.2g}, {row['verdict']}"
    for method in ("NE-pPCA", "DGHA"):
        assert f"- τ = 5: {sentence('PCA, as many as {}', method, said)}" in PAGE
    dgha = "DGHA (fitted) at τ = 15"
    for method in ("CCIPCA", "FSM"):
        own = said[f"{method}, as many as {dgha} − {dgha}"]
        assert f"- {method}, as many − DGHA at τ = 15: fitted {own}." in PAGE
    assert (at_0["verdict"] == "does not hold").sum() == 0
    better = [name.partition(" − ")[2] for name in at_0.index[at_0["verdict"] == "holds"]]
    n_pca = at_0.index.str.startswith("PCA").sum()
    assert (THIRD["verdict"] == "holds").all()
    assert answer(7).endswith(
        f"At τ = 5, with as many components, {n_pca} of {n_pca} comparisons against, none for; at 0 points, exact PCA"
        f" is better than {join_words(better)}."
    )
    n_one_pass = len(THIRD) - n_pca
    assert (
        f"with as many components as DGHA keeps, {n_one_pass} of {n_one_pass} comparisons for, none against;"
        in answer(8)
    )


def test_data_sets_beyond_a_point_are_those_of_t_tests_with_holms_correction():
    above, below, without = list[str](), list[str](), list[str]()
    for reading in ("as written", "fitted"):
        is_own = CUT["row"].str.endswith(f"({reading}) − all features")
        own = CUT[is_own].dropna(subset="low").reset_index(drop=True)
        error = (own["high"] - own["low"]) / 2.0 / stats.t.ppf(0.975, own["n"] - 1)
        p = pd.Series(stats.t.cdf((own["loss"] - 1.0) / error.clip(lower=1e-12), own["n"] - 1))
        small, large = (np.array(holm(each.tolist())) < 0.05 for each in (p, 1.0 - p))
        for row in dict.fromkeys(own["row"]):
            method, of_row = row.partition(" − ")[0], own["row"] == row
            names = own["data_set"][of_row & large].tolist()
            above.append(f"{method} on {join_words(names) or 'none'}")
            is_equal = error == 0.0
            below += [f"{method} {name}" for name in own["data_set"][of_row & small & ~is_equal]]
            without += [f"{method} {name}" for name in own["data_set"][of_row & is_equal]]
    said = (
        f"- Significantly above 1 point: {'; '.join(above)}. Below: {join_words(below) or 'none'}. Without any loss:"
        f" {join_words(without) or 'none'}."
    )
    assert said in PAGE


@pytest.mark.parametrize(
    ("claim", "groups", "is_against"),
    [(1, ["all features"], False), (5, RIVALS, False), (7, PSEUDO_PCA, True), (8, [], False)],
)
def test_the_answers_count_the_registered_comparisons(claim, groups, is_against):
    others = TESTS.index.str.rpartition(" − ").get_level_values(2)
    own = TESTS[others.isin(groups)]
    if claim == 8:
        own = TESTS.loc[["CCIPCA − DGHA (fitted)", "FSM − DGHA (fitted)"]]
    own = own.drop(
        ["PCA − all features", "CCIPCA − DGHA (fitted)", "FSM − DGHA (fitted)"]
        if claim != 8
        else [],
        errors="ignore",
    )
    n_held = int((own["verdict"] == "holds").sum())
    assert (own["verdict"] == "does not hold").sum() == 0
    side, other = ("against", "for") if is_against else ("for", "against")
    said = f"{n_held} of {len(own)} comparisons {side}, none {other}"
    if not n_held:
        said = "undecided in both" if len(own) == 2 else f"undecided in all {len(own)}"
    assert said in answer(claim)
    if claim in (1, 8):
        assert f"{(own['low'] > 0.0).sum()} of {len(own)} intervals lie above 0" in answer(claim)
    if claim == 7:
        n_around = ((own["low"] <= 0.0) & (own["high"] >= 0.0)).sum()
        assert f"{n_around} of {len(own)} intervals contain 0" in answer(claim)


@pytest.mark.parametrize("rival", RIVALS)
def test_cases_against_a_rival_are_counted_by_data_set(rival):
    by_method = [CUT[CUT["row"] == f"{method} − {rival}"] for method in PSEUDO_PCA]
    medians = ", ".join(printed(own["loss"].median(), SIGNED) for own in by_method)
    worse, better = (
        ", ".join(str((own["verdict"] == verdict).sum()) for own in by_method)
        for verdict in ("worse", "better")
    )
    assert f"- {rival}: medians {medians}; worse on {worse}, better on {better}" in PAGE
    written = pd.concat([by_method[0], by_method[2]])["verdict"]
    n_worse, n_better = (int((written == verdict).sum()) for verdict in ("worse", "better"))
    cases = rf"{rival} in {n_worse}( of {len(written)} cases)? and gains in {n_better}[,.]"
    assert re.search(cases, answer(5))


def test_exact_pca_is_compared_by_data_set_at_the_same_criterion():
    own = CUT[CUT["row"].isin([f"PCA − {method}" for method in PSEUDO_PCA])]["verdict"]
    n_worse, n_better = (own == "worse").sum(), (own == "better").sum()
    said = f"exact PCA is worse in {n_worse} of {len(own)} cases and better in {n_better}."
    assert said in answer(7)


def test_most_of_ne_ppcas_losses_come_too_late_to_be_regained():
    curves = pd.read_csv(ROOT / "results" / "figures" / "F8.csv")
    curves = curves[curves["curve"] == "NE-pPCA, by generation"]
    n_late, n_half, n = 0, 0, 0
    for _, curve in curves.groupby("panel"):
        least = curve["mean"].min()
        if least > 1.0 - 1e-6:
            continue
        n += 1
        n_late += curve["step"].iloc[curve["mean"].argmin()] >= 0.9 * curve["step"].max()
        n_half += curve["mean"].iloc[-1] - least >= 0.5 * (1.0 - least)
    assert f"NE-pPCA on {n_half} of {n} problems (on {n_late}, the largest loss is" in answer(3)
