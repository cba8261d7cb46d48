"""User-defined references: the documented example and error messages."""

import json
import re
import shlex
import shutil
from pathlib import Path

import pandas as pd
import pytest
import yaml
from builders import small, write_config
from command_line import printed

from pppca_bench.references.reference import read_reference
from pppca_bench.verdicts.recorded import RECORDED, read_recorded, write_recorded

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
REFERENCE = EXAMPLES / "reference"
REFUSED = yaml.safe_load(
    Path(__file__).parents[1].joinpath("refusals_references.yaml").read_text("utf-8")
)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Run the wine config of the example, at one repeat."""
    folder, config = tmp_path_factory.mktemp("results"), EXAMPLES / "printed_wine.yaml"
    printed("run", config, "--repeats", 1, "--workers", 0, "--results", folder, "--quiet")
    return folder


@pytest.fixture
def mine(tmp_path):
    """Copy the example's reference without its module, to be changed."""
    folder = Path(shutil.copytree(REFERENCE, tmp_path / "mine"))
    for config in EXAMPLES.glob("printed_*.yaml"):
        shutil.copy(config, folder)
    change(folder, "module: printed_accuracies", "")
    # Folders of references stay in sys.path, where a copy of the module would come first.
    (folder / "printed_accuracies.py").unlink()
    return folder


def change(folder: Path, old: str, new: str) -> None:
    file = folder / "reference.yaml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


def verdicts(*arguments: object) -> dict[tuple[str, str], str]:
    shown = json.loads(printed("compare", "--format", "json", *arguments))
    return {(one["table"], one["row"]): one["verdict"] for one in shown}


def refused(command: str, *arguments: object) -> str:
    """Return the only line that a refused command prints."""
    said = printed(command, *arguments, code=2)
    assert said.count("\n") == 1
    return said


def test_the_wine_accuracies_are_those_that_the_data_sets_description_prints():
    from sklearn.datasets import load_wine

    description = " ".join(load_wine().DESCR.split())
    numbers = read_reference(REFERENCE).numbers
    for row, name in (("wine, QDA", "QDA"), ("wine, LDA", "LDA"), ("wine, z scores, 1NN", "1NN")):
        accuracy = 100.0 - numbers["U1", row, "error"]["test_error_percent"].value
        assert f"{name} {accuracy:.1f}%" in description
    assert sum(map(len, numbers.values())) == 10


def test_the_second_paper_of_the_page_is_read(tmp_path):
    page = (EXAMPLES.parent / "extending.md").read_text(encoding="utf-8")
    section = page.partition("## A second paper")[2]
    blocks = re.findall(r"```(?:yaml|text)\n(.*?)```", section, re.DOTALL)
    for name, text in zip(("reference.yaml", "numbers.csv"), blocks, strict=False):
        (tmp_path / name).write_text(text, encoding="utf-8")
    reference = read_reference(tmp_path)
    problems = ["cancer1", "card1", "diabetes1"]
    printed = [reference.published("B1", problem, "networks") for problem in problems]
    assert [len(numbers) for numbers in printed] == [1, 1, 1]
    layout = reference.layouts[1]
    formula = layout.selector(layout.rows[0], layout.columns[0])
    assert [part.problem for part in formula.members] == problems
    assert (formula.combine, formula.threshold) == ("count", 20)


def test_only_an_added_reference_is_compared(results):
    found = verdicts("--results", results, "--reference", REFERENCE)
    assert len(found) == 10
    run = {row for (_, row), verdict in found.items() if verdict != "not run"}
    assert run == {"wine, QDA", "wine, LDA", "wine, z scores, 1NN"}
    assert not {table for table, _ in verdicts("--results", results)} & {"U1", "U2"}


def test_tables_and_comparisons_print_the_same_records(results):
    arguments = ("U1", "--format", "json", "--results", results, "--reference", REFERENCE)
    table, compared = (json.loads(printed(name, *arguments)) for name in ("tables", "compare"))
    by_place = {(one["row"], one["quantity"]): one for one in table}
    judged = [one for one in compared if one["n"]]
    assert judged
    for one in judged:
        shown = by_place[one["row"], one["quantity"]]
        assert list(shown) == list(one)
        assert {**shown, "same_as": None} == {**one, "same_as": None}


@pytest.mark.parametrize(("old", "new", "expected"), REFUSED["results"])
def test_an_invalid_reference_is_an_error_of_one_line(results, mine, old, new, expected):
    change(mine, old, new)
    assert expected in refused("compare", "--reference", mine, "--results", results)


@pytest.mark.parametrize(("file", "old", "new", "expected"), REFUSED["mistakes"])
def test_a_mistake_is_found_without_runs(tmp_path, file, old, new, expected):
    folder = tmp_path / "paper"
    printed("init", "--reference", folder)
    changed = folder / file
    text = changed.read_text(encoding="utf-8")
    assert old in text
    changed.write_text(text.replace(old, new, 1), encoding="utf-8")
    said = refused("compare", "--reference", folder, "--check").replace(f"{folder}/", "")
    pattern = ".*".join(map(re.escape, expected.split("…")))
    assert re.fullmatch(f"Error: {pattern}\n", said), said


def test_the_reference_that_init_writes_runs_at_once(tmp_path):
    folder = tmp_path / "a paper"
    said = printed("init", "--reference", folder)
    checked = printed("compare", "--reference", folder, "--check")
    assert checked.endswith("fill 3 cells. Numbers: 3 compared. Rules: 1. Placebos: 1.\n")
    commands = [shlex.split(line)[1:] for line in said.splitlines() if line.startswith("  pppca")]
    check, run, compare = commands
    assert check == ["compare", "--reference", str(folder), "--check"]
    printed(*run, "--workers", 0, "--quiet", "--results", tmp_path)
    assert "not run" not in printed(*compare, "--results", tmp_path)


@pytest.mark.parametrize(("name", "others"), [("U1", "U1"), ("U3", "U1"), ("X", "mine-X")])
def test_an_identifier_belongs_to_its_reference(results, mine, name, others):
    """REFERENCE has U1, its module has U3, and X are the runs that no published table shows."""
    for file in (mine / "reference.yaml", mine / "numbers.csv"):
        file.write_text(file.read_text().replace("U1", name).replace("U2", "V2"))
    options = ("--reference", mine, "--reference", REFERENCE, "--results", results)
    places = {table for table, _ in verdicts(*options)}
    shared = {"reference-U1"} if name == "U1" else set()
    assert places == {others if name == "X" else name, "V2", "U2", *shared, *({"U1"} - shared)}
    shown = json.loads(printed("tables", "--format", "json", *options))
    if name == "U3":
        assert {"U3", "reference-U3"} <= {row["table"] for row in shown}


NODES = """figures:
  - id: U9
    title: Nodes left
    place: nowhere
    step: epoch
    y_label: nodes
    quantity: {quantity}
    runs: {{problem: wine, method: dgha}}
    configs: [nodes]
configs:"""


def nodes_config(folder: Path) -> Path:
    method = {"method": "dgha", "tau": 5}
    return write_config(folder, small(method, name="nodes", problems=["wine"], repeats=1))


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    """Run a config whose runs have learning curves."""
    folder = tmp_path_factory.mktemp("nodes")
    config = nodes_config(folder)
    printed("run", config, "--workers", 0, "--results", folder, "--quiet", "--no-tables")
    return folder


@pytest.mark.parametrize(
    ("quantity", "hint"), [("dimensionalty", " (did you mean 'dimensionality'?)"), ("loss", "")]
)
def test_a_learning_curve_that_no_run_has_is_an_error_of_one_line(mine, nodes, quantity, hint):
    change(mine, "configs:", NODES.format(quantity=quantity))
    said = refused("figures", "U9", "--reference", mine, "--results", nodes)
    assert said.startswith("Error: mine/reference.yaml: figure U9: expected learning curves that")
    assert f"got {quantity!r}{hint}." in said


def test_a_table_whose_configs_were_not_run_names_them(results, mine):
    said = printed("tables", "U2", "--reference", mine, "--results", results, code=1)
    configs = "printed_iris, printed_wine, printed_training"
    assert said.startswith(f"Error: table U2: expected runs of the configs {configs} in ")


def test_figures_name_the_missing_runs_of_the_given_reference_alone(results, mine, tmp_path):
    change(mine, "configs:", NODES.format(quantity="dimensionality"))
    nodes_config(mine)
    options = ("--results", results, "--out", tmp_path, "--reference", mine)
    said = printed("figures", *options)
    assert (tmp_path / "U1.svg").exists()
    assert [line for line in said.splitlines() if "not run" in line] == ["U9: not run: wine."]


def test_a_reference_with_parts_has_a_figure_of_published_against_our_numbers(
    results, mine, tmp_path
):
    change(mine, "tables:", "parts: [{name: accuracies, tables: [U1]}]\ntables:")
    options = ("--results", results, "--reference", mine, "--out", tmp_path / "drawn")
    printed("figures", "published_against_ours", *options)
    lines = (tmp_path / "drawn" / "published_against_ours.csv").read_text().splitlines()
    assert lines[0].startswith("panel,series,table,row,column,label,published,mean")
    assert {line.split(",")[2] for line in lines[1:]} == {"U1"}


def test_a_table_of_the_reference_is_drawn_beside_its_published_numbers(results, mine, tmp_path):
    options = ("--results", results, "--reference", mine, "--out", tmp_path / "drawn")
    said = printed("figures", "U1", *options)
    assert "Wrote 3 files to " in said
    assert "U1: not run: iris, 3NN; iris, NCA, 3NN.\n" in said
    (drawn,) = (tmp_path / "drawn").glob("*.csv")
    numbers = pd.read_csv(drawn)
    assert numbers["published"].notna().any()
    assert (numbers["n"] > 0).all()


@pytest.mark.slow
def test_a_module_beside_the_reference_adds_a_table_a_figure_and_a_claim(results, tmp_path):
    options = ("--results", results, "--reference", REFERENCE)
    assert "U1              3 " in printed("tables", "--table", "U3", *options)
    printed("figures", "U4", "--out", tmp_path / "drawn", *options)
    assert {path.stem for path in (tmp_path / "drawn").iterdir()} == {"U4"}
    report, findings = tmp_path / "report.html", tmp_path / "findings.md"
    printed("report", "--out", report, *options)
    page = report.read_text(encoding="utf-8")
    claim = "QDA errs less than LDA on wine."
    assert all(text in page for text in ("Mean difference of the", "Printed and our errors", claim))
    assert "<title>Accuracies printed in scikit-learn&#39;s documentation</title>" in page
    printed("render", "--findings", findings, *options)
    assert f"| 1 | {claim} | Yes: QDA errs on " in findings.read_text(encoding="utf-8")
    assert (results / "tables" / "U3.csv").is_file()


@pytest.mark.parametrize(("code", "expected"), REFUSED["module"])
def test_a_module_that_does_not_work_is_an_error_line(results, mine, request, code, expected):
    name = f"own{request.node.callspec.indices['code']}"
    (mine / f"{name}.py").write_text(code, encoding="utf-8")
    change(mine, "configs:", f"module: {name}\nconfigs:")
    said = refused("tables", "--reference", mine, "--results", results)
    assert said.startswith("Error: mine/reference.yaml: ")
    assert expected in said


@pytest.mark.slow
def test_all_ten_numbers_are_run_and_compared(tmp_path):
    configs = sorted(EXAMPLES.glob("printed_*.yaml"))
    printed("run", *configs, "--repeats", "1", "--results", tmp_path, "--quiet")
    found = list(verdicts("--results", tmp_path, "--reference", REFERENCE).values())
    assert (len(found), "not run" in found) == (10, False)
    assert found.count("reproduced") >= 5


@pytest.mark.slow
def test_the_workflow_for_a_repository_compares_with_what_was_recorded(mine, monkeypatch):
    monkeypatch.chdir(mine.parent)
    mine.rename("my_reference")
    shutil.copy(EXAMPLES / "printed_wine.yaml", "my_config.yaml")
    workflow = yaml.safe_load((EXAMPLES / "ci.yml").read_text())
    steps = [step.get("run", "") for step in workflow["jobs"]["compare"]["steps"]]
    run, compare = (shlex.split(step)[1:] for step in steps if step.startswith("pppca "))
    recorded = Path("my_reference", RECORDED)
    printed(*run, "--workers", "0")
    printed("compare", "--reference", "my_reference", "--record")
    shutil.copy(Path("pppca-results", RECORDED), recorded)
    printed(*compare)
    repeats = read_recorded(recorded)
    recorded.unlink()
    write_recorded(repeats.assign(value=repeats["value"] + 1.0), recorded)
    assert "in repeat 0, recorded was" in printed(*compare, code=1)
