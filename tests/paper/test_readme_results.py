"""README's five lines: each number follows from the rendered tables by the arithmetic of this module alone."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

ROOT = Path(__file__).parents[2]
TABLES, EXPERIMENT = ROOT / "results" / "tables", ROOT / "results" / "experiment2" / "tables"
THIRD = ROOT / "results" / "experiment3" / "tables"
PRINTED = ROOT / "pppca_bench" / "paper" / "references" / "slides" / "numbers.csv"
OWN_ROWS = ["DGHA", "DGHA (autocor)"]


def lines() -> list[str]:
    """Return the lines, in their order."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").split("<!-- main_results -->")[1]
    return [" ".join(item.split()) for item in re.split(r"^- ", text, flags=re.MULTILINE)[1:]]


ACCURACY, EXACT_PCA, SLIDES, SPEED, REPORT = range(5)


@cache
def losses(row: str) -> pd.DataFrame:
    """Return the losses of the second experiment on the data sets on which features were cut."""
    every = pd.read_csv(EXPERIMENT / "E2_losses.csv")
    return every[(every["row"] == row) & (every["features_percent"] < 90.0)]


def test_there_are_five_lines_and_they_are_the_same_everywhere():
    assert len(lines()) == 5
    for page in ("README.md", "docs/findings.md", "results/README.md"):
        text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
        for line in lines():
            assert text.count(f"- {line}") == 1, page


@pytest.mark.parametrize(
    ("method", "row"),
    [
        ("NE-pPCA", "NE-pPCA (as written) − all features"),
        ("DGHA", "DGHA (as written) − all features"),
        ("exact PCA", "PCA − all features"),
    ],
)
def test_the_typical_loss_is_the_median_of_the_means_of_all_pairs(method, row):
    own = losses(row)
    values = own["loss"].to_numpy()
    pairs = np.add.outer(values, values)[np.triu_indices(len(values))] / 2.0
    test = pd.read_csv(EXPERIMENT / "E2_tests.csv").set_index("row").loc[row]
    assert test["typical"] == pytest.approx(np.median(pairs))
    # the interval holds the losses that the signed-rank test does not reject
    for end, beyond in ((test["low"], -1e-6), (test["high"], 1e-6)):
        assert stats.wilcoxon(values - end - beyond, method="exact").pvalue < 0.05
    assert test["low"] > 0.0
    typical, low, high, kept = *test[["typical", "low", "high"]], own["features_percent"].mean()
    said = rf"{typical:.1f}( points)? with {method} \((95 % interval )?{low:.1f}–{high:.1f};"
    said += rf" {len(own)}( data sets)?, {kept:.0f} %"
    assert re.search(said, lines()[ACCURACY])


def holms(p: dict[str, float]) -> set[str]:
    """Return the significant rows by Holm's correction over all of them."""
    significant = set()
    for place, row in enumerate(sorted(p, key=lambda row: p[row])):
        if p[row] * (len(p) - place) >= 0.05:
            break
        significant.add(row)
    return significant


@pytest.mark.slow
def test_the_second_experiment_is_undecided_on_exact_pca_against_ne_ppca_alone():
    tests = pd.read_csv(EXPERIMENT / "E2_tests.csv")
    tested = tests[tests["row"] != "PCA − all features"]["row"].tolist()
    p = {row: stats.wilcoxon(losses(row)["loss"].round(9) - 1.0).pvalue for row in tested}
    as_many = [row for row in tested if row.startswith("PCA, as many")]
    of_dgha = {row for row in as_many if "NE-pPCA" not in row}
    assert holms(p) & set(as_many) == of_dgha
    assert all(np.median(losses(row)["loss"]) < 1.0 for row in as_many)


def test_exact_pca_is_better_than_ne_ppca_and_loses_at_most_a_point_against_dgha():
    every = pd.read_csv(THIRD / "E3_losses.csv")
    own = every[every["row"].str.startswith("PCA, as many") & (every["features_percent"] < 90.0)]
    by_row = dict(list(own.groupby("row")))
    assert len(by_row) == 4
    p = {
        margin: {
            row: stats.wilcoxon(frame["loss"].round(9) - margin, zero_method="zsplit").pvalue
            for row, frame in by_row.items()
        }
        for margin in (1.0, 0.0)
    }
    assert holms(p[1.0]) == by_row.keys()
    of_ne_ppca = {row for row in by_row if "NE-pPCA" in row}
    assert holms(p[0.0]) == of_ne_ppca
    assert all(np.median(frame["loss"]) < 1.0 for frame in by_row.values())
    assert all(np.median(by_row[row]["loss"]) < 0.0 for row in of_ne_ppca)
    for row in of_ne_ppca:
        kept = by_row[row]["features_percent"].mean()
        assert kept < losses(row)["features_percent"].mean()
    assert lines()[EXACT_PCA] == (
        "Exact PCA with as many components loses at most 1 point against DGHA and is better than NE-pPCA (with fewer"
        " features cut, even 1 point is undecided). On typical data sets, pseudo-PCA showed no advantage."
    )


def slides_numbers(table: str, ours: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return our numbers of a table, or others, with the printed numbers, and whether they are reproduced or differ.

    With ours as deviation on both sides, and ten published runs: |d| + t s √(1/n + 1/10) ≤ s. Else they differ, if p of
    the t-test is below 5 % after the correction of Benjamini and Hochberg for the table.
    """
    printed = pd.read_csv(PRINTED, dtype={"value": str, "row": str, "column": str})
    keys = ["row", "column", "quantity"]
    if ours is None:
        ours = pd.read_csv(TABLES / f"{table}.csv", dtype={"row": str, "column": str})
    both = printed.loc[printed["table"] == table, [*keys, "value"]].merge(ours, on=keys)
    half_unit = both["value"].map(lambda text: 0.5 * 10.0 ** -len(text.partition(".")[2]))
    published = both["value"].astype(float)
    nearest = both["mean"].clip(published - half_unit, published + half_unit)
    sd = both["sd"].where(both["sd"] > 0.0, half_unit)
    error = np.sqrt(both["sd"] ** 2 / both["n"] + sd**2 / 10.0)
    reach = stats.t.ppf(0.95, both["n"] - 1) * error
    apart = (both["mean"] - nearest).abs()
    is_reproduced = apart + reach <= sd
    p = 2.0 * stats.t.sf(apart / error.replace(0.0, np.nan), both["n"] - 1)
    p = np.where(error > 0.0, p, np.where(apart > 0.0, 0.0, 1.0))
    is_apart = stats.false_discovery_control(p) < 0.05
    return both.assign(reproduced=is_reproduced, differs=is_apart & ~is_reproduced)


def dgha_numbers(t3: pd.DataFrame, t5: pd.DataFrame, t7: pd.DataFrame) -> pd.DataFrame:
    """Return the numbers of DGHA, of which T5 repeats two of T3."""
    own = t3[t3["row"].isin(OWN_ROWS)]
    is_repeated = (t5["row"] == "cancer1, 100%") & (t5["column"] == "tau=15")
    return pd.concat([own, t5[~is_repeated], t7], ignore_index=True)


def test_the_slides_own_methods_have_138_numbers_of_which_each_counts_once():
    t1, t3 = slides_numbers("T1"), slides_numbers("T3")
    own = t3[t3["row"].isin(OWN_ROWS)]
    repeated = own[(own["row"] == "DGHA") & (own["column"] == "cancer1")]
    t5 = slides_numbers("T5")
    first = t5[(t5["row"] == "cancer1, 100%") & (t5["column"] == "tau=15")]
    assert [float(value) for value in repeated["value"]] == [
        float(value) for value in first["value"]
    ]
    for table, place in (("T2", "column"), ("T3", "row")):
        again = slides_numbers(table)
        again = again[again[place].isin(["NE-pPCA", "NE pPCA"])]
        problem = "row" if table == "T2" else "column"
        at_15 = t1[t1["column"] == "tau=15"].set_index(["row", "quantity"])["value"]
        expected = at_15.loc[list(again[[problem, "quantity"]].itertuples(index=False, name=None))]
        assert again["value"].tolist() == expected.tolist()
    dgha = dgha_numbers(t3, t5, slides_numbers("T7"))
    assert (len(t1), len(dgha), len(t1) + len(dgha)) == (64, 74, 138)
    said = [f"({counted['reproduced'].sum()} of {len(counted)};" for counted in (t1, dgha)]
    assert all(text in lines()[SLIDES] for text in said), said


def part_of_verdicts(name: str) -> str:
    """Return the row of a part in the first table with it on the page of verdicts."""
    page = (ROOT / "docs" / "verdicts.md").read_text(encoding="utf-8")
    first, *_ = re.findall(rf"^\| {name} +\|.*", page, re.MULTILINE)
    return str(first)


@pytest.mark.parametrize(
    ("line", "row"), [(SLIDES, "– NE-pPCA"), (SLIDES, "– DGHA"), (REPORT, "Proben1 report")]
)
def test_as_often_and_less_often_follow_from_the_interval_of_a_correct_program(line, row):
    pattern = r"([\d,]+) of [\d,]+ .*?\(([\d,]+) to ([\d,]+)\)"
    counts = re.search(pattern, part_of_verdicts(row))
    ours, low, high = (int(text.replace(",", "")) for text in counts.groups())
    expected = "less often" if ours < low else "more often" if ours > high else "as often"
    subject = row.removeprefix("– ") + ("'s" if line == SLIDES else ":")
    said = lines()[line].partition(subject)[2]
    assert re.search("(less|more|as) often", said).group() == expected
    assert f"{low}–{high}" in said


def test_speed_is_a_geometric_mean_of_operation_counts_over_the_data_sets():
    measured = pd.read_csv(TABLES / "variants_as_written_speedup.csv")
    measured = measured[measured["quantity"] == "speedup_operations"]
    written = measured[measured["only"].str.contains("first_check=0,")]
    family = written["row"].str.extract(r"^([a-z]+)")[0]
    means = []
    for share in ("100%", "10%"):
        own = written[written["row"].str.endswith(f", {share}")]
        by_family = own.groupby(family)["mean"].mean()
        means.append(f"{stats.gmean(by_family):.1f}")
    start = f"Speed: GHA needs {means[0]} times DGHA's operations, {means[1]} if DGHA has a tenth of the data,"
    assert lines()[SPEED].startswith(start)


def test_speedups_are_met_within_a_factor():
    both = pd.concat([slides_numbers(table) for table in ("T4", "T6")])
    ratio = both["mean"] / both["published"]
    n_met = int(ratio.between(1.0 / 1.2, 1.2).sum())
    sds = both["sd"] / both["mean"]  # of the logarithms
    half_unit = both["value"].map(lambda text: 0.5 * 10.0 ** -len(text.partition(".")[2]))
    logarithms = np.log(both["mean"])
    ends = np.log(both["published"] - half_unit), np.log(both["published"] + half_unit)
    apart = (logarithms - logarithms.clip(*ends)).abs()
    reach = stats.t.ppf(0.95, both["n"] - 1) * sds * np.sqrt(1.0 / both["n"] + 0.1)
    n_reproduced = int((apart + reach <= np.log(1.2)).sum())
    assert (
        f"; of {len(both)} published speed-ups, {n_reproduced} are reproduced (" in lines()[SPEED]
    )
    assert lines()[SPEED].endswith(f"), {n_met} within a factor of 1.2.")


def test_the_ratios_of_fit_times_in_the_findings_are_those_of_their_tables():
    both = pd.concat([pd.read_csv(TABLES / f"{table}.csv") for table in ("T4b", "T6b")])
    assert len(both) == 32
    text = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
    ends = f"{both['mean'].min():.1f} to {both['mean'].max():.1f}"
    assert f"its fit times, as medians, are {ends} times DGHA's;" in text
    assert f", and {ends.replace(' to ', '–')} times its time;" in lines()[SPEED]


def test_the_reports_numbers_are_the_sums_over_its_tables():
    shares = pd.read_csv(TABLES / "verdict_shares.csv")
    own = shares[shares["row"].str.match("P\\d") & (shares["program"] == "ours")]
    # eight of them are printed in the slides' T2, too, where they count
    ours, n = map(int, re.findall(r"(\d+) of (\d+) numbers", lines()[REPORT])[0])
    assert n == own["n"].sum() - 8
    assert own["ours"].sum() - 8 <= ours <= own["ours"].sum()
