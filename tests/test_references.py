"""References: the printed tables, and messages about malformed references."""

import re
from collections import Counter
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
import yaml
from full_results import REFERENCES, asked, layouts, published, selected_cell

from pppca_bench.errors import DataError
from pppca_bench.paper.networks import pivot_of
from pppca_bench.references import reference
from pppca_bench.references.numbers import Number
from pppca_bench.references.reference import REFERENCE_GROUP, installed_references, read_reference
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
    assert ROWS.keys() - set(shown) == {"T1b", "S1", "S2", "K1"}
    counts = Counter(table for reference in REFERENCES for table, _, _ in reference.numbers)
    assert {table: counts[table] for table in N_NOTEBOOK} == N_NOTEBOOK
    assert counts.keys() == set(shown)


@pytest.mark.parametrize(("text", "half_unit"), [("1.44", 0.005), ("35", 0.5), ("11.0", 0.05)])
def test_a_numbers_precision_is_that_of_print(text, half_unit):
    number = Number(text)
    assert (number.value, number.half_unit) == (float(text), pytest.approx(half_unit))


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


def test_numbers_without_a_rule_are_read_if_their_quantity_is_not_compared(tmp_path):
    document = MINIMAL | {"verdicts": [], "not_compared": ["test_error_percent"]}
    reference = read_reference(written(tmp_path, document))
    assert reference.rule("A1", "iris", "test_error_percent") is None


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


def test_an_installed_package_names_the_folders_of_its_references(tmp_path, monkeypatch):
    (tmp_path / "its_references.py").write_text(
        "from pathlib import Path\nREFERENCES = [Path(__file__).with_name(name) for name in 'ba']\n"
    )
    for name in "ab":
        (tmp_path / name).mkdir()
        written(tmp_path / name)
    monkeypatch.syspath_prepend(tmp_path)
    enter(monkeypatch, "its_references:REFERENCES")
    found = installed_references.__wrapped__()
    assert [reference.folder for reference in found] == [tmp_path / "b", tmp_path / "a"]


@pytest.mark.parametrize(
    ("value", "cause"),
    [
        ("no_such:REFERENCES", "ModuleNotFoundError: No module named 'no_such'"),
        ("math:REFERENCES", "AttributeError: module 'math' has no attribute 'REFERENCES'"),
        ("math:pi", "TypeError: 'float' object is not iterable"),
    ],
)
def test_an_entry_point_that_does_not_work_is_an_error(monkeypatch, value, cause):
    enter(monkeypatch, value)
    said = (
        "mine, entry point of pppca_bench.references: expected folders of references at "
        f"{value}, got {cause}. Repair or uninstall the package."
    )
    with pytest.raises(DataError, match=re.escape(said)):
        installed_references.__wrapped__()


def enter(monkeypatch, value: str) -> None:
    """Let a single package with references be installed."""
    point = EntryPoint("mine", value, REFERENCE_GROUP)
    monkeypatch.setattr(reference, "entry_points", lambda group: [point] * (group == point.group))


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
