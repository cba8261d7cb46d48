"""Shares of the verdicts of correct and wrong programs, on made-up tables."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from printed_numbers import judged, number_of
from stored_runs import cell_of, results_of, run_of

from pppca_bench.pages.document import render_documents
from pppca_bench.pages.snapshot import Snapshot
from pppca_bench.references.layout import Layout, NamedPart, Placebo
from pppca_bench.references.numbers import Number, VerdictRule
from pppca_bench.references.reference import Reference
from pppca_bench.results.statistics import Summary
from pppca_bench.verdicts.judge import off_by_half_an_sd
from pppca_bench.verdicts.shares import SHARES, simulate

ERROR, SIZE = "test_error_percent", "dimensionality"
ROWS = [f"{family}{number}" for family in "abcdefghij" for number in (1, 2)]
CYCLES = tuple((f"{family}1", f"{family}2") for family in "abcdefghij")
PLACEBOS = {
    "equal runs": {"runs": {"method": "pca"}},
    "other runs": {"runs": {"method": "all_features"}},
    "other table": {"table": "B"},
    "next row": {"cycles": CYCLES, "rows": ("a1", "b1")},
    "no runs": {"runs": {"method": "lda"}},
}


def made_up(n_runs: int) -> Snapshot:
    """Return forty errors and sizes of DGHA, each the mean of 60 published runs; PCA's numbers are like DGHA's.

    The standard deviation of our runs is 1.
    """
    rng, runs, numbers = np.random.default_rng(1), [], {}
    settings = [("dgha", 10.0, {"centre": True, "tau": tau}) for tau in (5, 10)]
    settings += [("pca", 10.0, {"tau": tau}) for tau in (5, 10)] + [("all_features", 12.0, {})]
    for place, problem in enumerate(ROWS):
        for method, mean, own in settings:
            cell = cell_of(problem, method, own, {})
            values = rng.normal((mean + 5.0 * place, mean + place), 1.0, (n_runs, 2))
            for repeat, (error, size) in enumerate(values):
                runs.append(run_of(cell, repeat, **{ERROR: error, SIZE: size}))
        for tau in ("5", "10"):
            error, size = rng.normal((10.0 + 5.0 * place, 10.0 + place), 1.0 / 60**0.5)
            own = {ERROR: Number(f"{error:.2f}", 1.0), SIZE: Number(f"{size:.2f}")}
            numbers["A", problem, tau] = own
    rows = tuple({"key": row, "runs": {"problem": row}} for row in ROWS)
    columns = tuple({"key": str(tau), "runs": {"tau": tau}} for tau in (5, 10))
    keys = {
        "title": "t",
        "place": "p",
        "row_header": "Problem",
        "shows": (ERROR, SIZE),
        "rows": rows,
    }
    dgha, others = {"method": "dgha", "centre": True}, {"method": "all_features"}
    reference = Reference.model_construct(
        **{
            "folder": Path("mine"),
            "title": "Mine",
            "configs": (),
            "searched": (),
            "parts": (
                NamedPart(name="first", tables=("A",), rows=tuple(ROWS[:5])),
                NamedPart(name="rest", tables=("A",)),
            ),
            "numbers": numbers,
        },
        rules=(VerdictRule(margin=0.5, unit="sd", runs=60),),
        placebos=[Placebo(name=name, tables=("A",), **own) for name, own in PLACEBOS.items()],
        layouts=(
            Layout(id="A", runs=dgha, columns=columns, **keys),
            Layout(id="B", runs=others, columns=({"key": "5"},), **keys),
        ),
    )
    return Snapshot(results_of(runs), {}, [reference])


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return made_up(240)


def shares(snapshot: Snapshot, quantity: str = "Test error") -> dict[str, dict[str, object]]:
    shares = snapshot.shares("A")
    of_quantity = shares[shares["quantity"] == quantity].astype(object)
    records = of_quantity.where(of_quantity.notna(), None).to_dict("records")
    return {record["program"]: record for record in records}


def test_a_right_program_is_mostly_reproduced_and_a_shifted_program_hardly(snapshot):
    for quantity in ("Test error", "Dimensionality"):
        own = shares(snapshot, quantity)
        right, off = own["a correct program"], own["off by half an sd"]
        assert (right["n"], right["differs"]) == (40, pytest.approx(0.0, abs=1))
        # of normal values, 93 % are reproduced, and 92 % of a program off by the margin differ
        assert right["reproduced"] == pytest.approx(37, abs=2)
        assert [off["reproduced"], off["differs"]] == pytest.approx([2, 36], abs=3)
        assert right["reproduced_low"] <= own["ours"]["ours"] <= right["reproduced_high"]
        assert right["reproduced_low"] < right["reproduced"] < right["reproduced_high"]


def test_a_placebo_has_the_numbers_of_its_runs_of_another_table_or_of_the_next_row(snapshot):
    own = shares(snapshot)
    assert "no runs" not in own
    found = [own[name]["n"] for name in ("equal runs", "other runs", "other table", "next row")]
    assert found == [40, 40, 20, 4]
    assert [own[name]["tells"] for name in own] == [None, None, None, "no", "yes", "yes", "yes"]
    assert (own["other runs"]["differs"], own["next row"]["differs"]) == (40.0, 4.0)


def test_all_programs_of_a_line_are_counted_on_the_same_numbers(snapshot):
    own = shares(snapshot)
    verdicts = snapshot.numbers[snapshot.numbers["row"].isin(["a1", "b1"])]
    errors = verdicts[(verdicts["quantity"] == ERROR) & (verdicts["compare"] != "")]
    assert own["next row"]["ours"] == (errors["verdict"] == "reproduced").sum()
    assert own["next row"]["right"] <= 4.0 < own["other runs"]["right"]


def test_numbers_of_the_same_row_are_drawn_together():
    """Both columns have the same runs, so that their verdicts agree in each draw."""
    snapshot = made_up(60)
    numbers = snapshot.numbers
    first = numbers[(numbers["table"] == "A") & (numbers["column"] == "5")]
    both = pd.concat([first, first.assign(column="again")], ignore_index=True)
    right = simulate(both, [], snapshot.runs)["a correct program"]
    half = len(first)
    assert (right.verdicts[:half] == right.verdicts[half:]).all()
    assert len(np.unique(right.verdicts)) > 1


def test_the_parts_of_a_reference_count_each_number_once(snapshot):
    shares = snapshot.shares_of_parts
    ours = shares[shares["program"] == "ours"].set_index(["row", "quantity"])["n"]
    assert ours.to_dict() == {
        ("all", "all"): 80,
        ("all", "not searched"): 80,
        ("first", "all"): 20,
        ("first", "not searched"): 20,
        ("rest", "all"): 60,
        ("rest", "not searched"): 60,
    }


def test_the_first_line_names_the_placebos_that_a_quantity_does_not_tell_apart(snapshot):
    tables, plain = (snapshot.tables(["A"], with_shares=own) for own in (True, False))
    own, lines = shares(snapshot), render_documents(tables, "markdown").splitlines()
    right, equal = own["a correct program"]["reproduced"], own["equal runs"]["reproduced"]
    counts = f"{right:.1f} against {equal:.1f} of 40 numbers would be reproduced"
    sentence = f"this table does not tell DGHA from equal runs, since {counts}."
    assert lines[2].startswith(
        f"Test error: {sentence} Dimensionality: this table does not tell DGHA from equal runs"
    )
    assert "other runs" not in lines[2]
    below = f"Test error: {own['ours']['ours']} of 40 numbers are reproduced, and"
    (note,) = [line for line in lines if line.startswith(below)]
    assert "other runs 0 (0 to 0); other table 0 (0 to 0) of 20, of which ours are" in note
    assert sentence in render_documents(tables, "latex").replace("\n", " ")
    assert render_documents(plain, "csv") == render_documents(tables, "csv")


def test_a_comparison_draws_nothing(monkeypatch):
    snapshot = made_up(4)
    monkeypatch.setattr(snapshot, "shares", lambda *_: pytest.fail("drawn"))
    assert {"A", "B"} == set(snapshot.numbers["table"])
    assert all(document.id != SHARES for document in snapshot.documents)


@pytest.mark.parametrize(
    ("scale", "number", "mean"),
    [
        ("means", "4.00", 5.0),
        ("ratios", "4.00", 4.0 * math.exp(0.25)),
        ("correlations", "0.00", math.tanh(0.5)),
    ],
)
def test_a_mean_off_by_half_an_sd_is_shifted_on_the_scale_of_the_rule(scale, number, mean):
    rule = VerdictRule(margin=0.5, unit="sd", runs=60, compare=scale)
    ours = Summary(float(number), 2.0, 240, -0.1, 0.1)
    (shifted,) = off_by_half_an_sd(judged([number_of(Number(number, 2.0), ours, rule)]))["mean"]
    assert shifted == pytest.approx(mean)
