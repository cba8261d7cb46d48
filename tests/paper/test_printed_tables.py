"""The numbers of our references are those printed, and their cells ask for the runs that the sources describe."""

import re
from collections import Counter
from pathlib import Path

import pytest
import yaml
from full_results import REFERENCES, asked, layouts, published, selected_cell

from pppca_bench.paper.networks import pivot_of
from pppca_bench.problems import problem_info
from pppca_bench.references.numbers import Number
from pppca_bench.runs import Selector

PRINTED = yaml.safe_load(Path(__file__).with_name("printed_tables.yaml").read_text("utf-8"))
SLIDES, REPORT = PRINTED["slides"], PRINTED["report"]
N_REPORT = {"P3": 217, "P4": 72, "P8": 240, "P9": 84, "P10": 240, "P11": 84}
N_SLIDES = {"T0": 35, "T1": 64, "T2": 39, "T3": 36, "T4": 16, "T5": 32, "T6": 16, "T7": 32}
N_NOTEBOOK = {"N1": 16, "N2": 16, "N3": 2, "N4": 32, "N5": 2}
ROWS = {layout.id: [row.key for row in layout.rows] for layout in layouts()}
COLUMNS = {
    "training": "train_squared_error_percent",
    "validation": "validation_squared_error_percent",
    "test": "test_squared_error_percent",
    "correlation": "correlation",
    "classification": "test_error_percent",
    "overfit": "overfit_percent",
    "total epochs": "total_epochs",
    "relevant epochs": "relevant_epochs",
}
"""Columns of the report, as printed: each but the correlation is followed by its standard deviation or a bar."""


def of_slides(table: str, row: str, column: str) -> str:
    """Return a cell as the slides print it."""
    names = ("test_error_percent", "speedup_operations", "n_features", "n_outputs", "n_train")
    first = next(filter(None, (published(table, row, column, name) for name in names)), None)
    others = [published(table, row, column, name) for name in ("n_validation", "n_test")]
    size = published(table, row, column, "dimensionality")
    texts = [number.text for number in (first, *others) if number]
    return (" / ".join(texts) or "N/A") + (f" ({size.text})" if size else "")


def of_report(table: str, row: str) -> str:
    """Return a row as the report prints it."""
    texts = [row]
    for column, quantity in COLUMNS.items():
        if number := published(table, row, column, quantity):
            digits = len(number.text.partition(".")[2])
            sd = "|" if number.sd is None else f"{number.sd:.{digits}f}"
            texts += [number.text] if quantity == "correlation" else [number.text, sd]
    return " ".join(texts)


@pytest.mark.parametrize("table", SLIDES)
def test_the_slides_numbers_are_exactly_those_printed(table):
    (layout,) = (layout for layout in layouts() if layout.id == table)
    columns = [column.key for column in layout.columns]
    ours = [
        " ".join([row, *(of_slides(table, row, column) for column in columns)])
        for row in ROWS[table]
    ]
    lines = re.sub(r"(?m)^(\w+1) \(\d+\)", r"\1", SLIDES[table]).splitlines()
    assert [line for line in ours if "N/A N/A" not in line] == lines[table != "T0" :]


def test_the_reports_rows_are_as_printed_to_their_last_digit():
    for table, text in REPORT.items():
        ours = {of_report(table, row) for row in ROWS[table]}
        assert [line for line in text.splitlines() if line not in ours] == []


def test_the_report_prints_937_means_and_846_deviations():
    numbers = [
        (place[0], number)
        for reference in REFERENCES
        for place, own in reference.numbers.items()
        for number in own.values()
    ]
    counts = Counter(table for table, _ in numbers)
    assert {table: counts[table] for table in REPORT} == N_REPORT
    assert {table: counts[table] for table in SLIDES} == N_SLIDES
    assert sum(number.sd is not None for table, number in numbers if table in REPORT) == 846


def test_tables_are_those_of_the_references():
    shown = [layout.id for layout in layouts() if layout.place != "not in the slides"]
    assert shown == [*SLIDES, *REPORT, *N_NOTEBOOK]
    assert ROWS.keys() - set(shown) == {"T1b", "T4b", "T6b", "S1", "S2", "K1"}
    counts = Counter(table for reference in REFERENCES for table, _, _ in reference.numbers)
    assert {table: counts[table] for table in N_NOTEBOOK} == N_NOTEBOOK
    assert counts.keys() == set(shown)


@pytest.mark.parametrize("line", SLIDES["T0"].splitlines())
def test_sizes_are_those_of_the_slides(line):
    name, *printed = line.replace("/ ", "").split()
    info = problem_info(name)
    sizes = (info.n_features, info.n_outputs, info.n_train, info.n_validation, info.n_test)
    assert [str(size) for size in sizes] == printed


def test_the_pivot_architectures_are_the_reports_table_7_and_other_problems_have_none():
    for line in PRINTED["pivot"].splitlines():
        family = line.split()[0]
        assert " ".join([family, *(str(pivot_of(f"{family}{n}")) for n in (1, 2, 3))]) == line
    others = ("iris", "mushroom1", "cancer4", "cancer", "own/cancer1.dt")
    assert {pivot_of(problem) for problem in others} == {None}


def selector(table: str, row: str, column: str) -> Selector | None:
    (layout,) = (layout for layout in layouts() if layout.id == table)
    lines = {line.key: line for line in (*layout.rows, *layout.columns)}
    return layout.selector(lines[row], lines[column])


HALF = {"centre": True, "data_fraction": 50, "tau": 5}
AUTOCOR = {"centre": False, "data_fraction": 100, "tau": 15}
PIVOTS = (("hidden", "pivot"), ("rule", "rprop"), ("shortcuts", False))
NETWORK = {f"classifier.{name}": value for name, value in PIVOTS}
SHORTCUTS = NETWORK | {"classifier.shortcuts": True}


class TestSelectors:
    """Which runs fill a cell."""

    @pytest.mark.parametrize(
        ("place", "expected"),
        [
            (("T5", "cancer1, 50%", "tau=5"), ("cancer1", "dgha", HALF)),
            (("T3", "DGHA (autocor)", "heart1"), ("heart1", "dgha", AUTOCOR)),
            (("T3", "RFESVM", "heart1"), ("heart1", "rfe_svm", {})),
            (("P11", "flare2", "correlation"), ("flare2", "all_features", NETWORK)),
            (("T2", "cancer1", "Proben1"), ("cancer1", "all_features", NETWORK)),
            (("T2", "thyroid1", "Proben1"), ("thyroid1", "all_features", SHORTCUTS)),
        ],
    )
    def test_a_cell_asks_for_what_table_row_and_column_have_in_common(self, place, expected):
        problem, method, settings = expected
        assert selector(*place) == Selector(problem, method, tuple(sorted(settings.items())))

    def test_a_cell_of_sizes_asks_for_no_runs(self):
        assert selector("T0", "horse1", "sizes") is None

    def test_no_two_of_the_slides_cells_mean_the_same_runs_unless_they_name_the_same_settings(self):
        chosen = [one for found, layout, _ in asked() if not layout.configs for one in found]
        cells = set(map(selected_cell, chosen))
        for one in chosen:
            assert [cell for cell in cells if one.matches(cell)] == [selected_cell(one)]


def test_the_second_paper_of_the_page_on_extensions_prints_the_reports_numbers():
    page = (Path(__file__).parents[2] / "docs" / "extending.md").read_text(encoding="utf-8")
    lines = re.findall(
        r"^B1,(\w+),networks,test_error_percent,([\d.]+),([\d.]+)$", page, re.MULTILINE
    )
    assert [problem for problem, *_ in lines] == ["cancer1", "card1", "diabetes1"]
    for problem, text, sd in lines:
        number = published("P10", problem, "classification", "test_error_percent")
        assert number == Number(text, float(sd))
