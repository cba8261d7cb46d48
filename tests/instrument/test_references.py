"""References of users and of installed packages, and messages about malformed references."""

import re
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
import yaml
from command_line import printed
from own_reference import FIGURE, MINIMAL, NUMBERS, with_table, written

from pppca_bench.errors import DataError
from pppca_bench.references import reference
from pppca_bench.references.numbers import Number
from pppca_bench.references.reference import REFERENCE_GROUP, installed_references, read_reference
from pppca_bench.runs import Selector


@pytest.mark.parametrize(("text", "half_unit"), [("1.44", 0.005), ("35", 0.5), ("11.0", 0.05)])
def test_a_numbers_precision_is_that_of_print(text, half_unit):
    number = Number(text)
    assert (number.value, number.half_unit) == (float(text), pytest.approx(half_unit))


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


def test_the_paper_of_a_reference_is_a_bibtex_entry(tmp_path):
    authors = [{"name": "Somebody, A.", "orcid": "0000-0002-1694-233X"}, {"name": "Other, B."}]
    document = MINIMAL | {"paper": {"title": "A paper: of ours", "authors": authors, "year": 2020}}
    assert printed("cite", "--reference", written(tmp_path, document)) == (
        "@misc{apaper,\n  author = {Somebody, A. and Other, B.},\n  title = {{A paper: of ours}},\n"
        "  year = {2020},\n}\n"
    )
    document["paper"]["bibtex"] = "@book{own,\n}\n"
    assert printed("cite", "--reference", written(tmp_path, document)) == "@book{own,\n}\n"
    assert "`paper` with" in printed("cite", "--reference", written(tmp_path), code=2)


def test_lists_become_tuples_as_settings_have_them(tmp_path):
    document = with_table(runs={"classifier.hidden": [16, 8]})
    (layout,) = read_reference(written(tmp_path, document)).layouts
    settings = layout.selector(layout.rows[0], layout.columns[0]).settings
    assert settings == (("classifier.hidden", (16, 8)),)


def test_the_short_form_of_an_axis_takes_all_keys_of_its_lines(tmp_path):
    rows = {"problem": ["iris", "wine"], "runs": {"tau": 10}, "form": "{:.3f}", "label": "{key}!"}
    (layout,) = read_reference(written(tmp_path, with_table(rows=rows))).layouts
    assert [row.label for row in layout.rows] == ["iris!", "wine!"]
    for row in layout.rows:
        assert layout.selector(row, layout.columns[0]).settings == (("tau", 10),)
        assert layout.form_of(row, layout.columns[0]) == ("{}", (".3f",))


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


REFUSALS = yaml.safe_load(
    Path(__file__).parents[1].joinpath("refusals_references.yaml").read_text("utf-8")
)
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
