"""References: the printed tables, and messages about malformed references."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from full_results import REFERENCES, asked, layouts, published, selected_cell

from pppca_bench.errors import DataError
from pppca_bench.paper.networks import pivot_of
from pppca_bench.references.numbers import Number
from pppca_bench.references.reference import read_reference
from pppca_bench.runs import Selector

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

# Rows of the report, as printed: the eight problems of the slides, and others at random.
P3 = """
cancer1 4.25 0.00 2.91 0.01 3.52 0.04 2.93 0.18 0.55 0.59 129 13 104 31
cancer2 3.95 0.52 3.77 0.47 4.77 0.39 5.00 0.61 5.36 10.21 87 51 79 51
card1 9.82 0.01 8.89 0.11 10.61 0.11 13.37 0.67 4.57 1.05 62 9 26 3
diabetes1 15.39 0.01 16.30 0.04 17.22 0.06 25.83 0.56 0.05 0.07 209 50 203 47
glass1 8.83 0.01 9.70 0.04 9.98 0.10 46.04 2.21 3.81 0.42 129 13 23 5
heart1 11.19 0.01 13.28 0.06 14.29 0.05 20.65 0.31 1.14 0.45 134 15 41 5
horse1 11.31 0.16 15.53 0.29 12.93 0.38 26.70 1.87 6.22 0.57 27 7 9 2
mushroom1 0.014 | 0.014 | 0.011 | 0.00 | 0.00 | 3000 | 3000 |
soybean1 0.65 0.00 0.98 0.00 1.16 0.00 9.47 0.51 0.28 0.18 553 11 418 41
thyroid1 3.76 0.00 3.78 0.01 3.84 0.01 6.56 0.00 0.01 0.03 104 16 99 22
"""
P4 = """
building1 0.21 0.01 0.92 0.06 0.78 0.02 2.15 4.64 407 138 401 142
heartac2 3.37 0.11 5.21 0.21 3.87 0.16 6.99 2.27 19 4 13 4
"""
P8 = """
cancer1 2.87 0.27 1.96 0.25 1.60 0.41 0.81 1.47 0.60 4.48 4.87 152 111 133 97
card1 8.92 0.54 8.89 0.59 10.53 0.57 0.92 13.64 0.85 3.77 4.47 33 7 25 5
card3 7.58 0.87 8.42 0.37 13.03 0.50 -0.03 17.36 1.61 3.52 1.46 37 10 28 9
diabetes1 14.74 2.03 16.36 2.14 17.30 1.91 0.99 24.57 3.53 2.31 0.67 196 98 118 72
glass1 7.68 0.79 9.48 0.24 9.75 0.41 0.33 39.03 8.14 2.76 0.71 67 44 45 39
heart1 9.25 1.07 13.22 1.32 14.33 1.26 0.97 19.89 2.27 2.83 1.89 65 16 43 12
horse1 9.91 1.06 16.52 0.67 13.95 0.60 0.30 26.65 2.52 4.66 2.28 28 5 20 4
soybean1 0.32 0.08 0.85 0.07 1.03 0.05 0.54 9.06 0.80 2.55 1.37 665 259 551 218
thyroid1 0.60 0.53 1.04 0.61 1.31 0.55 0.99 2.32 0.67 3.06 3.16 491 319 432 266
"""
P9 = """
building3 0.22 0.02 0.26 0.01 0.26 0.01 0.93 0.42 1.09 1540 466 1408 505
hearta2 3.69 0.87 4.47 1.00 4.52 1.10 0.97 7.18 24.23 59 21 45 19
"""
P10 = """
cancer1 2.83 0.15 1.89 0.12 1.32 0.13 0.64 1.38 0.49 3.10 2.54 116 123 95 115
card1 8.86 0.41 8.69 0.26 10.35 0.29 0.25 14.05 1.03 3.54 1.25 30 7 22 5
diabetes1 14.36 1.14 15.93 1.04 16.99 0.91 0.95 24.10 1.91 2.23 0.53 201 119 117 83
gene2 4.55 2.60 9.46 1.95 9.54 1.91 0.97 18.41 6.93 2.29 0.28 321 284 250 255
glass1 7.16 0.65 9.15 0.21 9.24 0.32 0.13 32.70 5.34 2.69 0.64 71 31 52 27
heart1 9.24 0.82 13.10 0.65 14.19 0.64 0.89 19.72 0.96 3.16 2.38 57 15 38 12
horse1 10.43 1.23 15.47 0.37 13.32 0.48 0.24 29.19 2.62 6.09 2.53 19 3 13 3
horse2 6.68 1.85 16.07 0.79 17.68 1.41 -0.19 35.86 2.46 4.28 1.67 25 7 18 6
soybean1 1.53 0.09 1.94 0.06 2.10 0.07 0.58 29.40 2.50 3.14 1.99 219 112 159 79
thyroid1 0.59 0.20 1.01 0.16 1.28 0.12 0.84 2.38 0.35 3.99 7.14 377 308 341 280
"""
P11 = """
flare1 0.35 0.02 0.35 0.01 0.54 0.01 0.10 3.02 0.90 48 20 35 16
heartac2 2.58 0.42 5.16 0.32 4.41 0.56 -0.15 6.43 4.43 24 7 18 7
"""
# Of each problem the permutations 1, 2 and 3: nodes of the hidden layers, and l(inear) or s(igmoid) outputs.
PIVOT = """
building 16+0 l 16+8 l 16+8 s
cancer 4+2 l 8+4 l 16+8 l
card 32+0 l 24+0 l 16+8 l
diabetes 32+0 l 16+8 l 32+0 l
flare 32+0 s 32+0 s 24+0 s
gene 4+2 l 4+2 s 4+2 s
glass 16+8 l 16+8 l 16+8 l
heart 32+0 l 32+0 l 32+0 l
hearta 32+0 l 16+0 l 32+0 l
heartac 2+0 l 8+4 l 16+8 s
heartc 16+8 l 8+8 l 32+0 l
horse 16+8 l 16+8 l 32+0 l
soybean 16+8 l 32+0 l 16+0 l
thyroid 16+8 l 8+4 l 16+8 l
"""

SLIDES = {"T0": T0, "T1": T1, "T2": T2, "T3": T3, "T4": T4, "T5": T5, "T6": T6, "T7": T7}
REPORT = {"P3": P3, "P4": P4, "P8": P8, "P9": P9, "P10": P10, "P11": P11}
N_REPORT = {"P3": 217, "P4": 72, "P8": 240, "P9": 84, "P10": 240, "P11": 84}
N_SLIDES = {"T0": 35, "T1": 64, "T2": 39, "T3": 36, "T4": 17, "T5": 32, "T6": 17, "T7": 32}
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
    names = ("test_error_percent", "speedup", "n_features", "n_outputs", "n_train")
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
    lines = re.sub(r"(?m)^(\w+1) \(\d+\)", r"\1", SLIDES[table]).strip().splitlines()
    assert [line for line in ours if "N/A N/A" not in line] == lines[table != "T0" :]


def test_the_reports_rows_are_as_printed_to_their_last_digit():
    for table, text in REPORT.items():
        ours = {of_report(table, row) for row in ROWS[table]}
        assert [line for line in text.strip().splitlines() if line not in ours] == []


def test_the_slides_print_two_times_of_gha_and_the_report_937_means_and_846_deviations():
    times = [
        published(f"T{n}", name, "GHA", "gha_time_ms")
        for n, name in ((4, "cancer1"), (6, "horse1"))
    ]
    assert times == [Number("218.74"), Number("12993.62")]
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
    assert ROWS.keys() - set(shown) == {"T1b", "S1", "S2", "K1"}
    counts = Counter(table for reference in REFERENCES for table, _, _ in reference.numbers)
    assert {table: counts[table] for table in N_NOTEBOOK} == N_NOTEBOOK
    assert counts.keys() == set(shown)


@pytest.mark.parametrize(("text", "half_unit"), [("1.44", 0.005), ("35", 0.5), ("11.0", 0.05)])
def test_a_numbers_precision_is_that_of_print(text, half_unit):
    number = Number(text)
    assert (number.value, number.half_unit) == (float(text), pytest.approx(half_unit))


def test_the_pivot_architectures_are_the_reports_table_7_and_other_problems_have_none():
    for line in PIVOT.strip().splitlines():
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


MINIMAL = {
    "title": "A paper",
    "citation": "Somebody 1994",
    "verdicts": [{"quantities": ["test_error_percent"], "margin": 1.0}],
    "tables": [
        {
            "id": "A1",
            "title": "Errors",
            "place": "table 1",
            "row_header": "Problem",
            "rows": {"problem": ["iris", "wine"]},
            "columns": [{"key": "PCA", "runs": {"method": "pca"}}, {"key": "theirs"}],
            "shows": ["test_error_percent"],
        }
    ],
}
NUMBERS = "table,row,column,quantity,value,sd\nA1,iris,PCA,test_error_percent,4.67,1.2\n"
FIGURE = {
    "id": "G1",
    "title": "Curves",
    "place": "figure 1",
    "step": "epoch",
    "y_label": "nodes left",
    "quantity": "dimensionality",
    "runs": {"method": "dgha", "tau": 10},
    "curves": {"problem": ["iris", "wine"]},
}


def written(folder: Path, document: object = MINIMAL, numbers: str | bytes = NUMBERS) -> Path:
    """Write a reference into a folder, and return the folder."""
    text = yaml.safe_dump(document, allow_unicode=True)
    (folder / "reference.yaml").write_text(text, encoding="utf-8")
    (folder / "numbers.csv").write_bytes(numbers.encode() if isinstance(numbers, str) else numbers)
    return folder


def with_table(**changes: object) -> dict:
    """Return the minimal document with keys of its table changed, or left out where they are None."""
    table = {**MINIMAL["tables"][0], **changes}
    return MINIMAL | {"tables": [{key: value for key, value in table.items() if value is not None}]}


def test_a_minimal_reference_is_read(tmp_path):
    reference = read_reference(written(tmp_path))
    assert (reference.name, reference.configs, reference.figures) == (tmp_path.name, (), ())
    (layout,) = reference.layouts
    (iris, wine), (pca, cited) = layout.rows, layout.columns
    assert [line.key for line in (iris, wine, pca, cited)] == ["iris", "wine", "PCA", "theirs"]
    assert layout.selector(iris, pca) == Selector("iris", "pca")
    assert layout.selector(iris, cited) is None
    assert reference.published("A1", "iris", "PCA") == {"test_error_percent": Number("4.67", 1.2)}
    assert reference.published("A1", "wine", "PCA") == {}


def test_lists_become_tuples_as_settings_have_them(tmp_path):
    document = with_table(runs={"classifier.hidden": [16, 8]})
    (layout,) = read_reference(written(tmp_path, document)).layouts
    settings = layout.selector(layout.rows[0], layout.columns[0]).settings
    assert settings == (("classifier.hidden", (16, 8)),)


def test_a_figure_has_a_curve_for_each_value_of_the_setting_that_it_varies(tmp_path):
    panels = {"data_fraction": [100, 50], "label": "{value} %"}
    figure = FIGURE | {"panels": panels, "n_nodes": 3}
    (found,) = read_reference(written(tmp_path, MINIMAL | {"figures": [figure]})).figures
    assert {title: list(curves) for title, curves in found.panels.items()} == {
        "100 %": ["iris", "wine"],
        "50 %": ["iris", "wine"],
    }
    settings = (("data_fraction", 50), ("tau", 10))
    assert found.panels["50 %"]["wine"] == Selector("wine", "dgha", settings)


def test_a_byte_order_mark_and_empty_lines_are_accepted(tmp_path):
    numbers = b"\xef\xbb\xbf" + NUMBERS.replace("\n", "\r\n\r\n").encode()
    assert len(read_reference(written(tmp_path, numbers=numbers)).numbers) == 1


def refused(folder: Path, kind: str, given: Any) -> str:
    """Write a reference with one thing wrong, and return the name of the file that has it.

    These are rules that only references have; keys, types and ranges are those of any document (`test_refusals`).
    """
    if kind == "document":
        figures = [{**FIGURE, **own} for own in given.get("figures", ())]
        written(folder, {**MINIMAL, **given, "figures": figures})
    elif kind == "table":
        written(folder, with_table(**given))
    else:
        written(folder, numbers=NUMBERS + given if kind == "numbers" else given)
    return "reference.yaml" if kind in ("document", "table") else "numbers.csv"


REFUSALS = yaml.safe_load(Path(__file__).with_name("refusals_references.yaml").read_text("utf-8"))
CASES = [
    (kind, *case) for kind in ("document", "table", "numbers", "file") for case in REFUSALS[kind]
]


@pytest.mark.parametrize(
    ("kind", "given", "message"), CASES, ids=[f"{kind} {given}"[:60] for kind, given, _ in CASES]
)
def test_a_refusal_names_file_line_rule_and_value(tmp_path, kind, given, message):
    file = tmp_path / refused(tmp_path, kind, given)
    with pytest.raises(DataError) as caught:
        read_reference(tmp_path)
    assert re.sub(rf"^{file}(:\d+: )?", "", str(caught.value)) == message


def test_a_number_without_the_deviation_that_others_of_its_rule_have_is_refused(tmp_path):
    document = MINIMAL | {"verdicts": [{"margin": 1.0, "unit": "sd"}]}
    read_reference(written(tmp_path, document))
    expected = (
        r"reference.yaml:20: verdicts\[0\]: expected standard deviations of all numbers of the rule or of none,"
        " got none of test_error_percent of A1, wine, PCA, but of test_error_percent of A1, iris, PCA. Give"
    )
    line = "A1,wine,PCA,test_error_percent,5,"
    with pytest.raises(DataError, match=expected):
        read_reference(written(tmp_path, document, NUMBERS + line))
    read_reference(written(tmp_path, document, f"{NUMBERS}{line}0"))


@pytest.mark.parametrize("name", ["reference.yaml", "numbers.csv"])
def test_a_missing_file_is_an_error(tmp_path, name):
    (written(tmp_path) / name).unlink()
    with pytest.raises(DataError, match=rf"{name}: .*No such file or directory"):
        read_reference(tmp_path)
