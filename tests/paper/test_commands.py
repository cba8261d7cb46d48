"""Commands on results of our references: tables, comparisons with what was recorded, and rendered folders."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import printed
from full_results import FACTS, full_runs, plans_of
from published_page import write_store
from stored_runs import store_runs

from pppca_bench.store.database import Store
from pppca_bench.verdicts.numbers import PLACE
from pppca_bench.verdicts.recorded import RECORDED, read_recorded, write_recorded

pytestmark = pytest.mark.usefixtures("isolated_folders")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> Path:
    """Return the results folder of a full store with its recorded repeats."""
    folder = tmp_path_factory.mktemp("recorded")
    with Store(folder / "results.sqlite") as store:
        store_runs(store, plans_of(full_runs(3)))
        store.describe_problems(list(FACTS.values()))
    said = printed("compare", "--record", "--results", folder)
    assert f"Wrote {folder / RECORDED}.\n" in said
    return folder


@pytest.mark.parametrize(
    ("command", "named", "configs"),
    [
        ("tables T6", "table T6", "speedup"),
        ("compare T2", "table T2", "other_approaches systems"),
        ("figures F4", "figure F4", "dgha_dimensionality"),
        ("figures F6", "figure F6", "permutations"),
    ],
)
def test_without_results_the_configs_of_a_table_or_figure_are_named(command, named, configs):
    *_, said = printed(*command.split(), "--results", "none", code=1).splitlines()
    run = f"Run `pppca run {configs} --results none`."
    assert said == f"Error: {named}: expected runs in none, got none. {run}"
    assert list(Path().iterdir()) == []


class TestCompare:
    def test_strict_names_the_cells_that_differ_from_what_was_recorded(self, recorded, tmp_path):
        repeats, path = read_recorded(recorded / RECORDED), tmp_path / RECORDED
        place = ["T1", "card1", "tau=5", "dimensionality"]
        is_other = (repeats[PLACE] == place).all(axis="columns") & (repeats["repeat"] == 2)
        write_recorded(repeats.assign(value=repeats["value"] + is_other), path)
        strict = ("compare", "--strict", "--results", recorded, "--against")
        said = printed(*strict, tmp_path, code=1)
        differs = rf"^Differs from {tmp_path}: T1, card1, tau=5, dimensionality is .+ in repeat 2, "
        assert re.match(rf"{differs}recorded was [\d.]+\.\n", said)
        assert said.count("Differs from") == 1
        assert "Differs from" not in printed(*strict, recorded / RECORDED)
        alone = printed("compare", "--strict", "--results", recorded, code=2)
        assert "Error: --strict needs other results: name them with --against.\n" in alone

    def test_against_prints_the_changes_of_verdicts(self, recorded):
        texts = {
            printed("compare", "--against", path, "--results", recorded)
            for path in (recorded, recorded / RECORDED)  # the database, and the file
        }
        (text,) = texts
        assert "verdicts change: 0 fell, 0 rose." in text
        against = ("compare", "--results", recorded, "--against", "none.csv.xz")
        missing = printed(*against, code=1)
        assert "none.csv.xz: recorded repeats cannot be read" in missing
        assert missing.endswith("Write it with `pppca compare --record`.\n")

    @pytest.mark.slow
    @pytest.mark.parametrize("command", ["compare --against .", "tables", "figures --out figures"])
    def test_reading_commands_need_no_compiler(self, recorded, command):
        block = "import sys; sys.modules['numba'] = None"
        program = f"{block}; from pppca_bench.cli.main import main; main()"
        call = [sys.executable, "-c", program, *command.split(), "--results", "."]
        pipes = {"capture_output": True, "text": True, "check": False}
        done = subprocess.run(call, cwd=recorded, timeout=120, **pipes)
        assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_render_writes_valid_links_and_the_verdicts_between_the_marks_of_a_page(recorded, tmp_path):
    folder = Path(shutil.copytree(recorded, tmp_path / "copied"))
    mark = "<!-- verdict_shares -->\n"
    page = tmp_path / "page.md"
    findings = tmp_path / "docs" / "new" / "findings.md"
    page.write_text(f"Before\n{mark}old{mark}After\n")
    printed("render", "--results", folder, "--findings", findings, "--verdicts", page)
    for path, target in (
        (folder / "README.md", "tables/T3.md"),
        (findings, "../../copied/tables/T4.md"),
    ):
        targets = re.findall(r"\]\(([^#)]+)\)", path.read_text(encoding="utf-8"))
        assert target in targets
        assert {name for name in targets if not (path.parent / name).is_file()} <= {"report.html"}
    before, table, after = page.read_text(encoding="utf-8").split(mark)
    assert (before, table[:9], after) == ("Before\n", "\n| Source", "After\n")
    mark = "<!-- main_results -->\n"
    page.write_text(f"{mark}{mark}")
    printed("render", "--results", folder, "--findings", findings, "--readme", page)
    first = page.read_text(encoding="utf-8").split(mark)[1].strip()
    assert " ".join(first.split()) in " ".join(findings.read_text(encoding="utf-8").split())
    assert first.startswith("- The slides (settings fitted): NE-pPCA's numbers are reproduced ")
    page.write_text(mark)
    said = f"page.md: expected two lines {mark.strip()}, got 1 of them. The text goes between them."
    assert said in printed("render", "--results", folder, "--readme", page, code=2)
    no_figure = "Error: no figure 'F55' in these results: expected one of F5, F6, F7 (did you mean 'F5'?).\n"
    assert printed("figures", "F55", "--results", recorded, code=2) == no_figure
    said = printed("figures", "T5", "T0", "--results", recorded, code=2)
    assert said.startswith("Error: table T0 has no means of runs to draw: expected one of T1, ")


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """Return a function that prints tables of the runs on cancer1, diabetes1 and heart1; others were not run."""
    folder = write_store(tmp_path_factory.mktemp("partial"))
    return lambda *arguments, code=0, command="tables": printed(
        command, *arguments, "--results", folder, code=code
    )


class TestTables:
    def test_rows_and_columns_that_were_not_run_are_left_out_unless_asked_for(self, shown):
        ours, _, rest = shown("--table", "T1").partition("Published")
        expected = ["cancer1", "diabetes1", "heart1"]
        assert [line.split()[0] for line in ours.splitlines()[5:8]] == expected
        assert "–" not in ours
        assert "card1" not in ours + rest
        lines = shown("--table", "T1", "--all").splitlines()
        assert ["card1", "(51)", *"––––"] in map(str.split, lines)

    def test_a_table_holds_the_runs_of_chosen_problems_and_methods_and_remarks(self, shown):
        asked = ("--problem", "diabetes1", "--method", "dgha", "--method", "rfe")
        table = shown("--table", "T3", *asked)
        rows = [line for line in table.partition("Each cell")[0].splitlines()[5:] if line]
        assert [line.split("  ")[0] for line in rows] == ["DGHA", "DGHA (autocor)", "RFENN"]
        assert "cancer1" not in table
        assert "of RFENN and RFESVM" in table
        assert "of RFENN and RFESVM" not in shown("--table", "T3", "--method", "dgha")

    def test_a_table_is_named_as_a_config_is_and_compared_alone(self, shown):
        assert shown("T5") == shown("--table", "T5")
        lines = shown("T5", command="compare").splitlines()
        assert {line.split(",")[0] for line in lines if line.startswith("T")} == {"T5"}

    @pytest.mark.parametrize(
        ("kind", "name", "first"),
        [("table", "T55", "T5, T4, "), ("problem", "cancer", ""), ("method", "dgh", "")],
    )
    def test_an_unknown_name_is_refused_with_the_nearest(self, shown, kind, name, first):
        refused = shown(f"--{kind}", name, code=2)
        assert refused.count("\n") == 1
        said = f"Error: no {kind} {name!r} in these results: expected one of {first}"
        assert refused.startswith(said)
        assert "(did you mean '" in refused
