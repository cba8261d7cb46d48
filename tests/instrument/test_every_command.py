"""Each command on a table of a user, whose results a reference of the user is compared with."""

from pathlib import Path

import pytest
from builders import flowers, small, write_config
from click import Group
from command_line import printed
from own_reference import FIGURE, NUMBERS, with_table, written

from pppca_bench.cli.main import cli

PROBLEM = "flowers.csv"
ROW = f"A1,{PROBLEM},PCA,test_error_percent,"
"""The number that the reference prints: an error of PCA on the table."""

CALLS = {
    "bundle --help": ("", "RO-Crate (1.3, profile Process Run Crate 0.6)"),  # see test_bundle
    "cite": ("", "@misc{"),
    "compare": ("--reference theirs", "A paper: 1 published results, "),
    "compare --record": ("--reference theirs", "recorded.csv.xz"),
    "compare --strict": ("--reference theirs --against recorded", "A paper: 1 published"),
    "data describe": (f"{PROBLEM} --target kind", "setosa (50), versicolor (50), virginica (50)"),
    "data export": ("exported cancer1", "exported: 1 files written."),
    "data list": ("", "cancer1 "),
    "data path": ("", "pppca"),
    "doctor": ("", "All checks passed."),
    "export": ("", f",mine,{PROBLEM},"),
    "figures": ("G1 --reference theirs --out drawn", "Wrote 3 files to drawn."),
    "init": ("shipped", "shipped: "),
    "list": ("", "mine "),
    "list --shipped": ("", "cancer1 with all methods of its tables"),
    "merge": ("pppca-results --results merged", "merged"),
    "methods": ("", "dgha "),
    "predict": (f"mine/{PROBLEM}/dgha/0 {PROBLEM}", ",predicted,probability_setosa,"),
    "rank": (f"--within {PROBLEM}", "First − second"),
    "render": ("--reference theirs --findings findings.md", "findings.md"),
    "report": ("--reference theirs --out report.html", "report.html"),
    "rules": ("mine", f"{PROBLEM}: user-defined data."),
    "run": ("mine.yaml --workers 0", "Nothing to do: all "),
    "schema": ("", '"title": "Config"'),
    "show": (f"mine/{PROBLEM}/dgha/0", "test_error_percent: "),
    "status": ("", "mine "),
    "tables": ("A1 --reference theirs", "A1. Errors"),
}
"""Arguments of each command, and a part of what it prints."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Return a folder with a table, a config, a reference, and the results."""
    made = tmp_path_factory.mktemp("mine")
    flowers().to_csv(made / PROBLEM, index=False)
    methods = ["pca", {"method": "dgha", "n_epochs": 5}]
    problem = {"csv": PROBLEM, "target": "kind"}
    write_config(made, small(*methods, name="mine", problems=[problem], tau=15))
    (made / "theirs").mkdir()
    curves = FIGURE | {"runs": {"method": "dgha"}, "curves": {"problem": [PROBLEM]}}
    document = with_table(rows={"problem": [PROBLEM]}) | {"figures": [curves]}
    header = NUMBERS.splitlines()[0]
    written(made / "theirs", document | {"configs": ["mine"]}, f"{header}\n{ROW}4.67,1.2\n")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(made)
        printed("run", "mine.yaml", "--workers", 0, "--no-tables")
        printed("compare", "--record", "--reference", "theirs")
        (made / "recorded").mkdir()
        Path("pppca-results/recorded.csv.xz").rename("recorded/recorded.csv.xz")
    return made


def commands(group: Group, *names: str) -> list[str]:
    """Return the names of all commands of a group."""
    found = []
    for name, command in group.commands.items():
        is_group = isinstance(command, Group)
        found += commands(command, *names, name) if is_group else [" ".join([*names, name])]
    return found


def test_no_command_is_left_out():
    called = {call.partition(" --")[0] for call in CALLS}
    assert called == set(commands(cli))


def test_the_help_has_whole_sentences_in_sections():
    everyday, _, others = printed("--help").partition("\nLook:\n")
    assert "\nEveryday:\n  run " in everyday
    assert "..." not in others


@pytest.mark.parametrize("command", CALLS)
def test_the_command_works(folder, monkeypatch, quick_doctor, command):  # noqa: ARG001
    monkeypatch.chdir(folder)
    arguments, expected = CALLS[command]
    assert expected in printed(*f"{command} {arguments}".split())


def test_the_table_and_the_page_have_the_published_number_beside_ours(folder, monkeypatch):
    monkeypatch.chdir(folder)
    shown = printed("tables", "A1", "--reference", "theirs")
    ours, published = shown.partition("Published")[::2]
    assert (PROBLEM in ours, "4.67" in published) == (True, True)
    printed("report", "--reference", "theirs", "--out", "page.html")
    page = Path("page.html").read_text(encoding="utf-8")
    assert all(text in page for text in ("<title>A paper</title>", "4.67", PROBLEM))
