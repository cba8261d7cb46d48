"""Limits of inputs: runs of a command, and memory."""

import tracemalloc
from pathlib import Path

import pytest
from builders import write_dt
from command_line import printed

from pppca_bench.config.experiment import parse_config
from pppca_bench.config.plan import Identity, count_runs, expand
from pppca_bench.errors import DataError
from pppca_bench.experiments import request
from pppca_bench.problems import read_dt
from pppca_bench.yaml_files.source import read_yaml

CONFIG = """\
name: many
problems: [iris, wine]
repeats: 10
seed: 1
tau: [5, 10, 15]
methods:
  - {method: gha, n_epochs: [1, 2]}
  - {method: dgha, data_fraction: [100, 50], repeats: 4, classifier: {hidden: [[2], [3]]}}
classifier: {hidden: []}
"""
N_RUNS = 2 * (2 * 10 + 3 * 2 * 2 * 4)


@pytest.fixture
def config(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "many.yaml"
    path.write_text(CONFIG)
    return path


def dry_run(*arguments: str, code: int = 0) -> str:
    return printed("run", *arguments, "--dry-run", code=code)


def test_trust_a_plan_beyond_the_limit_is_refused_before_it_is_expanded(config, monkeypatch):
    monkeypatch.setattr(request, "MAX_RUNS", N_RUNS - 1)
    with monkeypatch.context() as patched:
        patched.setattr(request, "expand", None)
        refused = dry_run(config.name, code=2)
    said = f"Error: many.yaml: expected at most {N_RUNS - 1} runs in one command, got {N_RUNS}."
    assert refused == f"{said} Use fewer values or repeats, or plan all runs with --force.\n"
    assert dry_run(config.name, "--force").startswith(f"{N_RUNS} runs planned")
    monkeypatch.setattr(request, "MAX_RUNS", N_RUNS)
    assert dry_run(config.name).startswith(f"{N_RUNS} runs planned")


def test_trust_runs_are_counted_over_all_configs_of_a_command(config, monkeypatch):
    monkeypatch.setattr(request, "MAX_RUNS", 2 * N_RUNS - 1)
    Path("other.yaml").write_text(CONFIG.replace("name: many", "name: other"))
    assert f"got {N_RUNS} of {2 * N_RUNS}." in dry_run(config.name, "other.yaml", code=2)


@pytest.mark.parametrize("repeats", [None, 3])
def test_trust_the_count_is_that_of_the_expansion(config, repeats):
    parsed = parse_config(read_yaml(config))
    identities = {name: Identity(name, name, name) for name in parsed.problems}
    assert count_runs(parsed, repeats=repeats) == len(expand(parsed, identities, repeats=repeats))


@pytest.mark.parametrize(
    ("line", "promise", "expected"),
    [
        (4, "training_examples", "the end of the file after"),
        (1, "real_in", "line 8: expected 1000000001 values"),
    ],
)
def test_trust_a_header_that_promises_too_much_takes_no_memory(tmp_path, line, promise, expected):
    path = write_dt(tmp_path / "small.dt")
    lines = path.read_text().splitlines(keepends=True)
    lines[line] = f"{promise}=999999999\n"
    path.write_text("".join(lines))
    tracemalloc.start()
    with pytest.raises(DataError, match=expected):
        read_dt(path)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 10**7
