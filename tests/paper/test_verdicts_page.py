"""The page on verdicts: the counts of its tables, and simulations of correct and wrong programs beside them."""

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from test_readme_results import (
    SLIDES,
    TABLES,
    dgha_numbers,
    lines,
    part_of_verdicts,
    slides_numbers,
)

from pppca_bench.verdicts.shares import OFF, OURS_PROGRAM, RIGHT, SHARES

ROOT = Path(__file__).parents[2]
SHARES_TABLE = pd.read_csv(TABLES / f"{SHARES}.csv")
PAGE = (ROOT / "docs" / "verdicts.md").read_text("utf-8")


def test_the_page_is_short():
    assert len(PAGE.split()) <= 2000


def test_the_page_has_the_counts_of_the_rendered_table():
    found = 0
    for (table, quantity), rows in SHARES_TABLE.groupby(["row", "quantity"], sort=False):
        by_program = rows.set_index("program")
        if RIGHT not in by_program.index or table == "ES1":  # the only table of its source
            continue
        name = table if quantity == "all" else f"{table} {quantity}"
        ours, right = by_program.loc[OURS_PROGRAM], by_program.loc[RIGHT]
        texts = [f"{name} ({ours['n']})", f"{ours['ours']}/{ours['ours_differs']}"]
        texts.append(f"{right['reproduced']:.0f}/{right['differs']:.0f}")
        assert re.search(r"\| +".join(re.escape(text) + " +" for text in texts), PAGE), name
        found += 1
    assert found >= 18


def own_numbers(part: str, by_table: Mapping[str, pd.DataFrame] | None = None) -> pd.DataFrame:
    """Return our numbers of NE-pPCA or DGHA, each once; or those of other runs, by table."""
    tables = ("T1",) if part == "NE-pPCA" else ("T3", "T5", "T7")
    numbers = [slides_numbers(table, by_table[table] if by_table else None) for table in tables]
    return dgha_numbers(*numbers) if part == "DGHA" else numbers[0]


def numbers_of_another_seed() -> dict[str, pd.DataFrame]:
    """Return by table the means, deviations and numbers of the runs with another seed."""
    recorded = pd.read_csv(ROOT / "results" / "reseed.csv.xz")
    keys = ["table", "row", "column", "quantity"]
    runs = recorded.groupby(keys, sort=False)["value"]
    means = pd.DataFrame({"mean": runs.mean(), "sd": runs.std(), "n": runs.size()}).reset_index()
    return {str(table): own.drop(columns="table") for table, own in means.groupby("table")}


def test_the_verdicts_with_both_seeds_are_those_that_the_page_states():
    n_changed = n_numbers = 0
    for part in ("NE-pPCA", "DGHA"):
        ours, others = own_numbers(part), own_numbers(part, numbers_of_another_seed())
        last = re.findall(rf"^\| – {part} +\|(.*)", PAGE, re.MULTILINE)[-1]
        changed = (ours["reproduced"] != others["reproduced"]) | (
            ours["differs"] != others["differs"]
        )
        counts = [len(ours), ours["reproduced"].sum(), others["reproduced"].sum()]
        counts += [ours["differs"].sum(), others["differs"].sum(), changed.sum()]
        assert counts == list(map(int, last.replace("|", " ").split()))
        n_changed, n_numbers = n_changed + changed.sum(), n_numbers + len(ours)
    assert f"; another seed changes {n_changed} of {n_numbers} verdicts." in lines()[SLIDES]


def reproduced(numbers: pd.DataFrame, means: np.ndarray, sds: np.ndarray) -> float:
    """Return the mean number of reproduced numbers, if normal runs with some means and sds stand in our place.

    Ten runs with our means and sds stand in the published place, rounded as printed.
    """
    rng, n, counts = np.random.default_rng(5), numbers["n"].to_numpy(), []
    places = numbers["value"].str.partition(".")[2].str.len().to_numpy()
    unit = 10.0**-places
    for _ in range(200):
        drawn = rng.normal(numbers["mean"], numbers["sd"] / np.sqrt(10.0))
        theirs = np.round(drawn / unit) * unit
        ours = rng.normal(means, sds / np.sqrt(n))
        sd = sds * np.sqrt(rng.chisquare(n - 1) / (n - 1))
        on_both = np.where(sd > 0.0, sd, unit / 2.0)
        nearest = np.clip(ours, theirs - unit / 2.0, theirs + unit / 2.0)
        reach = stats.t.ppf(0.95, n - 1) * np.sqrt(sd**2 / n + on_both**2 / 10.0)
        counts.append(np.sum(np.abs(ours - nearest) + reach <= on_both))
    return float(np.mean(counts))


@pytest.mark.parametrize("part", ["NE-pPCA", "DGHA"])
@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_right_and_shifted_programs_reproduce_as_many_as_normal_runs_would(part, shift):
    numbers = own_numbers(part)
    mean, sd = numbers["mean"].to_numpy(), numbers["sd"].to_numpy()
    stated = stated_count(part, OFF if shift else r"\d+ of \d+ +\| +\d+ +\|")
    assert reproduced(numbers, mean + shift * sd, sd) == pytest.approx(stated, abs=5.0)


def stated_count(part: str, program: str) -> int:
    """Return the mean number of reproduced numbers of a program that the page states for a part."""
    found = re.search(rf"{program} +(\d+) \(", part_of_verdicts(f"– {part}"))
    if not found:
        pytest.skip(f"the rendered results have no runs of {program}")
    return int(found.group(1))


@pytest.mark.parametrize("program", ["exact PCA", "all features"])
def test_other_methods_in_our_place_reproduce_what_the_page_states(program):
    stated = stated_count("NE-pPCA", program)
    numbers = own_numbers("NE-pPCA")
    lines = pd.read_csv(TABLES / "T1b.csv").set_index(["row", "column", "quantity"])
    sizes = pd.read_csv(TABLES / "T0.csv").set_index(["row", "quantity"])["mean"]
    means, sds = [], []
    for number in numbers.itertuples():
        column = f"PCA {number.column}" if program == "exact PCA" else program
        place = number.row, column, number.quantity
        if place in lines.index:
            means.append(lines.loc[place, "mean"])
            sds.append(lines.loc[place, "sd"])
        else:
            means.append(sizes.loc[number.row, "n_features"])
            sds.append(0.0)
    found = reproduced(numbers, np.array(means), np.array(sds))
    assert found == pytest.approx(stated, abs=5.0)
