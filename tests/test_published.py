"""The published numbers, against the tables as they stand on the slides and in the Proben1 report."""

import re

import pytest

from pppca_bench.errors import DataError
from pppca_bench.references import published as module
from pppca_bench.references.published import PublishedCell, pivot_hidden, published, published_cells, published_tables

# The slides' text, table by table; only "Prunning" is spelt as in our column "Pruning".
T0 = """
cancer1 9 2 350 / 175 / 174
card1 51 2 345 / 173 / 172
diabetes1 8 2 384 / 192 / 192
glass1 9 6 107 / 54 / 53
heart1 35 2 460 / 230 / 230
horse1 58 3 182 / 91 / 91
thyroid1 21 3 3600 / 1800 / 1800
"""
T1 = """
Problem τ = 5 τ = 10 τ = 15 τ = 20
cancer1 (9) 2.30 (1) 2.82 (1.2) 1.78 (4.6) 1.84 (6.3)
card1 (51) 16.28 (28.5) 15.41 (50.7) 15.64 (51) 15.76 (51)
diabetes1 (8) 24.95 (7.6) 25.00 (8) 25.00 (8) 25.00 (8)
glass1 (9) 36.23 (5.5) 33.02 (6.7) 32.07 (7.9) 32.26 (8.4)
heart1 (35) 21.13 (22.3) 19.91 (31.5) 20.00 (34.2) 20.04 (35)
horse1 (58) 28.79 (35.3) 29.23 (57.7) 30.66 (58) 29.56 (58)
soybean1 (82) 50.65 (3.3) 20.47 (11.7) 11.94 (26.1) 10.47 (37.3)
thyroid1 (21) 7.19 (8.9) 6.03 (16.3) 5.87 (18) 5.92 (19.8)
"""
T2 = """
Problem Proben1 GA Pruning NE-pPCA
cancer1 (9) 1.38 1.24 1.1 1.78 (4.6)
card1 (51) 14.05 14.27 13.7 15.64 (51)
diabetes1 (8) 24.10 23.70 20.8 25.00 (8)
glass1 (9) 32.7 47.62 30.2 32.07 (7.9)
heart1 (35) 19.72 21.87 18.5 20.00 (34.2)
horse1 (58) 29.19 26.44 26.9 30.66 (58)
soybean1 (82) 9.06 8.47 N/A 11.94 (26.1)
thyroid1 (21) 2.32 6.12 5.7 5.87 (18)
"""
T3 = """
Method cancer1 diabetes1 heart1
DGHA 1.44 (4) 24.43 (8) 22.52 (17.7)
DGHA (autocor) 2.13 (1) 25.93 (1.8) 22.17 (3.1)
FLGP 2.24 (5.2) 27.24 (6.1) 22.40 (11.0)
RFENN 4.00 (7) 24.90 (2) 21.00 (27)
RFESVM 3.70 (7) 24.50 (3) 20.00 (18)
NE pPCA 1.78 (4.6) 25.00 (8) 20.00 (34.2)
"""
T4 = """
Method τ = 5 τ = 10 τ = 15 τ = 20
cancer1, 100% 5.67 3.62 2.17 1.38
cancer1, 50% 9.13 5.93 3.35 2.37
cancer1, 25% 12.80 9.07 5.29 3.98
cancer1, 10% 20.32 13.35 8.81 7.31
"""
T5 = """
Method τ = 5 τ = 10 τ = 15 τ = 20
cancer1, 100% 2.30 (1.0) 1.78 (2.5) 1.44 (4.0) 1.67 (5.6)
cancer1, 50% 2.30 (1.0) 2.24 (1.2) 1.49 (4.3) 1.49 (6.3)
cancer1, 25% 2.30 (1.0) 2.24 (1.2) 2.30 (4.4) 1.90 (6.2)
cancer1, 10% 2.30 (1.0) 2.18 (1.8) 1.78 (4.7) 1.90 (7)
"""
T6 = """
Method τ = 5 τ = 10 τ = 15 τ = 20
horse1, 100% 11.81 4.38 2.93 2.36
horse1, 50% 21.81 8.62 5.73 4.41
horse1, 25% 43.35 16.23 10.68 8.35
horse1, 10% 90.32 34.04 22.43 17.25
"""
T7 = """
Method τ = 5 τ = 10 τ = 15 τ = 20
horse1, 100% 34.07 (1.0) 32.86 (5.3) 29.89 (27.3) 26.81 (32.4)
horse1, 50% 34.18 (1.0) 32.86 (15.9) 29.23 (26.9) 28.68 (32.6)
horse1, 25% 34.06 (1.0) 30.77 (20.1) 29.01 (28.6) 28.57 (33.7)
horse1, 10% 33.85 (1.0) 29.34 (22.8) 28.02 (30.6) 28.68 (36.3)
"""

# The report's test errors, total epochs and relevant epochs: mean, standard deviation.
P1 = """
cancer1 2.93 0.18 129 13
card1 13.37 0.67 62 9
diabetes1 25.83 0.56 209 50
glass1 46.04 2.21 129 13
heart1 20.65 0.31 134 15
horse1 26.70 1.87 27 7
soybean1 9.47 0.51 553 11
thyroid1 6.56 0.00 104 16
"""
P2 = """
cancer1 1.47 0.60 152 111 133 97
card1 13.64 0.85 33 7 25 5
diabetes1 24.57 3.53 196 98 118 72
glass1 39.03 8.14 67 44 45 39
heart1 19.89 2.27 65 16 43 12
horse1 26.65 2.52 28 5 20 4
soybean1 9.06 0.80 665 259 551 218
thyroid1 2.32 0.67 491 319 432 266
"""
P3 = """
cancer1 1.38 0.49 116 123 95 115
card1 14.05 1.03 30 7 22 5
diabetes1 24.10 1.91 201 119 117 83
glass1 32.70 5.34 71 31 52 27
heart1 19.72 0.96 57 15 38 12
horse1 29.19 2.62 19 3 13 3
soybean1 29.40 2.50 219 112 159 79
thyroid1 2.38 0.35 377 308 341 280
"""
PIVOT = """
cancer 4 2
card 32
diabetes 32
glass 16 8
heart 32
horse 16 8
soybean 16 8
thyroid 16 8
"""

Numbers = dict[tuple[str, str, str, str], str]
ROW = re.compile(r"(?P<row>[A-Za-z]+1, \d+%|[a-z]+1|DGHA \(autocor\)|NE pPCA|[A-Z]+)(?: \(\d+\))? (?P<cells>.*)")
CELL = re.compile(r"(\d+\.\d+|N/A)(?: \(([\d.]+)\))?")


def slide(table: str, text: str, quantity: str = "error_percent") -> Numbers:
    """Read a table in the slides' layout: a header of columns, then rows of "error" or "error (dimensionality)"."""
    header, *lines = text.strip().splitlines()
    columns = [column.replace("τ = ", "tau=") for column in re.findall(r"τ = \d+|\S+", header)][1:]
    numbers: Numbers = {}
    for line in lines:
        match = ROW.fullmatch(line)
        assert match, line
        cells = CELL.findall(match["cells"])
        assert len(cells) == len(columns), line
        for column, (main, dimensionality) in zip(columns, cells, strict=True):
            if main != "N/A":
                numbers[table, match["row"], column, quantity] = main
            if dimensionality:
                numbers[table, match["row"], column, "dimensionality"] = dimensionality
    return numbers


def sizes() -> Numbers:
    numbers: Numbers = {}
    for line in T0.strip().splitlines():
        row, features, classes, *splits = line.replace("/ ", "").split()
        numbers["T0", row, "features", "features"] = features
        numbers["T0", row, "classes", "classes"] = classes
        for name, size in zip(("train", "validation", "test"), splits, strict=True):
            numbers["T0", row, "sizes", name] = size
    return numbers


def report(table: str, text: str) -> Numbers:
    names = [
        ("test error", "error_percent"),
        ("test error", "error_sd"),
        ("total epochs", "total_epochs"),
        ("total epochs", "total_epochs_sd"),
        ("relevant epochs", "relevant_epochs"),
        ("relevant epochs", "relevant_epochs_sd"),
    ]
    numbers: Numbers = {}
    for line in text.strip().splitlines():
        row, *values = line.split()
        numbers |= {
            (table, row, column, quantity): value for (column, quantity), value in zip(names, values, strict=False)
        }
    return numbers


TABLES = {
    "T0": sizes(),
    "T1": slide("T1", T1),
    "T2": slide("T2", T2),
    "T3": slide("T3", T3),
    "T4": slide("T4", T4, "speedup") | {("T4", "cancer1", "GHA", "time_ms"): "218.74"},
    "T5": slide("T5", T5),
    "T6": slide("T6", T6, "speedup") | {("T6", "horse1", "GHA", "time_ms"): "12993.62"},
    "T7": slide("T7", T7),
    "P1": report("P1", P1),
    "P2": report("P2", P2),
    "P3": report("P3", P3),
}
N_NUMBERS = {
    "T0": 35,
    "T1": 64,
    "T2": 39,
    "T3": 36,
    "T4": 17,
    "T5": 32,
    "T6": 17,
    "T7": 32,
    "P1": 32,
    "P2": 48,
    "P3": 48,
}


@pytest.mark.parametrize("table", TABLES)
def test_every_number_is_as_printed_to_its_last_digit_and_none_is_added(table):
    assert len(TABLES[table]) == N_NUMBERS[table]
    ours = {(c.table, c.row, c.column, c.quantity): c.text for c in published_cells() if c.table == table}
    assert ours == TABLES[table]


def test_there_are_no_other_tables():
    assert list(published_tables()) == ["T0", "T1", "T2", "T3", "T4", "T5", "T6", "T7", "P1", "P2", "P3"]
    assert {cell.table for cell in published_cells()} == set(TABLES)
    assert all(table.title and table.place for table in published_tables().values())


def test_a_number_is_found_by_its_place():
    cell = published("T5", "cancer1, 100%", "tau=15", "error_percent")
    assert cell == PublishedCell("T5", "cancer1, 100%", "tau=15", "error_percent", "1.44")


@pytest.mark.parametrize(
    "place",
    [
        ("T2", "soybean1", "Pruning", "error_percent"),
        ("T0", "soybean1", "features", "features"),
        ("T2", "cancer1", "GA", "dimensionality"),
        ("T9", "cancer1", "tau=5", "error_percent"),
    ],
)
def test_what_is_not_printed_is_none(place):
    assert published(*place) is None


@pytest.mark.parametrize(
    ("text", "value", "decimals", "half_unit"),
    [("1.44", 1.44, 2, 0.005), ("35", 35.0, 0, 0.5), ("11.0", 11.0, 1, 0.05), ("12993.62", 12993.62, 2, 0.005)],
)
def test_a_numbers_precision_is_that_of_print(text, value, decimals, half_unit):
    cell = PublishedCell("T1", "a", "b", "error_percent", text)
    assert (cell.value, cell.decimals) == (value, decimals)
    assert cell.half_unit == pytest.approx(half_unit, rel=1e-12)


def test_the_pivot_architectures_are_the_reports_table_7():
    for line in PIVOT.strip().splitlines():
        problem, *layers = line.split()
        for permutation in "123":
            assert pivot_hidden(f"{problem}{permutation}") == tuple(map(int, layers))


@pytest.mark.parametrize("problem", ["iris", "mushroom1", "cancer4", "hearta1", "own/cancer1.dt"])
def test_a_problem_of_which_the_report_has_no_pivot_has_none(problem):
    assert pivot_hidden(problem) is None


def test_a_number_given_twice_is_refused(monkeypatch):
    monkeypatch.setattr(module, "published_cells", lambda: (published_cells()[0], published_cells()[0]))
    module._index.cache_clear()
    with pytest.raises(DataError, match=r"published\.csv: expected each number once, got a repeated one\. Reinstall"):
        published("T1", "cancer1", "tau=5", "error_percent")
    module._index.cache_clear()


def test_the_slides_proben1_column_is_the_reports_table_10_and_for_two_problems_its_table_8():
    for row in ("cancer1", "card1", "diabetes1", "glass1", "heart1", "horse1", "soybean1", "thyroid1"):
        table = "P2" if row in ("soybean1", "thyroid1") else "P3"
        slides, report = (
            published("T2", row, "Proben1", "error_percent"),
            published(table, row, "test error", "error_percent"),
        )
        assert slides.value == report.value
