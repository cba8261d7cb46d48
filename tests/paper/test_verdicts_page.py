"""The page on verdicts has the shares and counts of the rendered tables."""

import re
from pathlib import Path

import pandas as pd

from pppca_bench.verdicts.shares import OFF, RIGHT, SHARES

ROOT = Path(__file__).parents[2]
SHARES_TABLE = pd.read_csv(ROOT / "results" / "tables" / f"{SHARES}.csv")
PAGE = (ROOT / "docs" / "verdicts.md").read_text("utf-8")


def test_the_page_has_the_shares_of_the_rendered_table():
    lines = PAGE.split(f"<!-- {SHARES} -->\n")[1].strip().splitlines()[2:]
    names = ["row", "quantity", "program", "n", "reproduced", "consistent", "differs", "tells"]
    table = SHARES_TABLE[names].astype({"n": str}).fillna({"tells": "–"})
    for name in ("reproduced", "consistent", "differs"):
        table[name] = table[name].map("{:.0f} %".format)
    shown = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert shown == table.to_numpy().tolist()


def test_the_page_states_the_ranges_of_the_shares_and_the_placebos_that_are_not_told_apart():
    page = " ".join(PAGE.split())

    def span(program: str, tables: str, quantity: str) -> str:
        of_row = SHARES_TABLE["row"].isin(tables.split())
        is_own = (SHARES_TABLE[["program", "quantity"]] == [program, quantity]).all(axis=1)
        own = SHARES_TABLE[of_row & is_own]["reproduced"]
        return f"{own.min():.0f} to {own.max():.0f} %"

    places = ("T1 T3 T5 T7", "Error"), ("P3 P4", "all"), ("P8 P9 P10 P11", "all")
    of_right, of_off = ([span(program, *own) for own in places] for program in (RIGHT, OFF))
    assert f"gets {of_right[0]} of the errors of T1, T3, T5 and T7 (" in page
    assert f"{of_right[1]} of P3 and P4 (simulated: 74 %), and {of_right[2]} of P8 to P11." in page
    dimensionalities = span(OFF, "T1 T2 T3 T5 T7", "Dimensionality")
    said = f"in {of_off[0]}, in {of_off[1]} and in {of_off[2]} of these numbers, and in {dimensionalities} of"
    assert said in page
    untold = SHARES_TABLE[SHARES_TABLE["tells"] == "no"][["row", "quantity", "program"]]
    assert untold.to_numpy().tolist() == [
        ["T5", "Error", "exact PCA"],
        ["P9", "all", "swapped shortcuts"],
        ["P11", "all", "swapped shortcuts"],
    ]
    index = (ROOT / "results" / "README.md").read_text("utf-8")
    differing = index.split("Results that differ:")[1]
    of_report = re.findall(r"^\| P\d+ +\|.*?\|.*?\|(.*?)\|", differing, re.MULTILINE)
    n_correlations = [quantity.strip() for quantity in of_report].count("correlation")
    said = f"Of the {len(of_report)} numbers of the report that differ, {n_correlations} are"
    assert said in page
