"""``pppca methods`` and ``pppca rank`` on the command line."""

import json

import pytest
from click.testing import CliRunner

from pppca_bench.cli.main import cli
from pppca_bench.methods.registry import CLASSIFIERS, METHODS
from pppca_bench.reporting.figure_drawing import write_figures
from pppca_bench.reporting.ranking import CONTESTS, rank
from pppca_bench.store.database import Store

CONFIG = """\
name: ranked
problems: [iris, wine]
repeats: 2
seed: 1
tau: 15
methods:
  - {method: dgha, n_epochs: 5}
  - {method: ne_ppca, n_generations: 3}
  - {method: all_features}
classifier: {hidden: [], max_epochs: 30}
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranked")
    (folder / "c.yaml").write_text(CONFIG)
    arguments = ["run", str(folder / "c.yaml"), "--results", str(folder), "--workers", "0", "--quiet"]
    assert CliRunner().invoke(cli, arguments).exit_code == 0
    return folder


@pytest.mark.parametrize("form", ["terminal", "markdown", "json"])
def test_methods_lists_each_by_name_in_a_line_with_its_source(form):
    shown = CliRunner().invoke(cli, ["methods", "--format", form])
    assert shown.exit_code == 0
    if form == "json":
        assert {row["name"] for row in json.loads(shown.output)} == METHODS.keys() | CLASSIFIERS.keys()
    else:
        lines = shown.output.splitlines()
        assert len(lines) == len(METHODS) + len(CLASSIFIERS) + 2
        assert any("dgha" in line and "slides" in line for line in lines)


def test_rank_prints_mean_ranks_and_tests(results):
    shown = CliRunner().invoke(cli, ["rank", "--results", str(results)])
    assert shown.exit_code == 0
    assert "3 methods on 2 data sets. Friedman's chi-squared" in shown.output
    ranks = json.loads(CliRunner().invoke(cli, ["rank", "--results", str(results), "--format", "json"]).output)
    assert sum(ranks["mean_ranks"].values()) == pytest.approx(6.0), "1 + 2 + 3 on each data set"


def test_rank_of_an_unknown_config_is_refused(results):
    shown = CliRunner().invoke(cli, ["rank", "other", "--results", str(results)])
    assert shown.exit_code == 2
    assert "no runs of config 'other'" in shown.output


def test_the_diagram_is_drawn_with_its_numbers_the_same_each_time(results, tmp_path):
    with Store(results / "results.sqlite", read_only=True) as store:
        ranking = rank(store.runs_by_cell(), store.problems())
    one, two = (
        {path.name: path.read_bytes() for path in write_figures([], [(CONTESTS[0], ranking)], tmp_path / name)}
        for name in "ab"
    )
    assert one.keys() == {"F6.svg", "F6.png", "F6.csv"}
    assert one == two
    header, *rows = one["F6.csv"].decode().splitlines()
    assert header == "method,iris,wine,mean_rank"
    assert len(rows) == 3


def test_render_writes_the_diagram_and_names_it_in_the_index(results):
    assert CliRunner().invoke(cli, ["render", "--results", str(results)]).exit_code == 0
    assert (results / "figures" / "F6.png").exists()
    index = (results / "README.md").read_text()
    assert "| [F6](figures/F6.png). Mean ranks of test errors | " in index
    assert " published results: " in index
