"""Requests of a command: configs, problems and plans."""

import hashlib
import os
from pathlib import Path

import pytest
from builders import write_dt
from command_line import printed

from pppca_bench.errors import ConfigError
from pppca_bench.experiments import request as requests
from pppca_bench.experiments.request import read_request
from pppca_bench.problems import load_problem, open_problem

CONFIG = """\
name: {name}
problems: {problems}
repeats: 2
seed: 1
tau: [5, 10]
baselines: false
methods:
  - {{method: gha, tau: null}}
  - method: dgha
classifier: {{hidden: [4]}}
"""
N_RUNS = 2 * (1 + 2)

pytestmark = pytest.mark.usefixtures("isolated_folders")


def write(folder: Path, name: str = "a", problems: str = "[iris]", text: str = CONFIG) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.yaml"
    path.write_text(text.format(name=name, problems=problems))
    return path


def refused(*paths: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        read_request(paths)
    return str(caught.value)


def test_a_plan_holds_the_config_and_its_runs(tmp_path):
    path = write(tmp_path)
    request = read_request([path])
    (plan,) = request.plans
    assert (plan.name, plan.text) == ("a", path.read_text())
    assert plan.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert plan.all_repeats == plan.specs == tuple(request.specs)
    assert len(plan.specs) == N_RUNS
    assert request.problems.keys() == {("iris", load_problem("iris").sha256)}
    found = {(spec.cell.problem, spec.cell.data_sha256) for spec in request.specs}
    assert found == request.problems.keys()


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="a file system of open files")
def test_a_config_from_a_pipe_is_read_once_and_known_by_its_digest(tmp_path):
    content = write(tmp_path).read_bytes()
    reader, writer = os.pipe()
    os.write(writer, content)
    os.close(writer)
    (plan,) = read_request([Path(f"/dev/fd/{reader}")] * 2).plans
    os.close(reader)
    assert (plan.text.encode(), plan.sha256) == (content, hashlib.sha256(content).hexdigest())


def test_a_problem_of_several_configs_is_opened_once(tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(
        requests, "open_problem", lambda name, **_: opened.append(name) or open_problem(name)
    )
    request = read_request([write(tmp_path, name, "[iris, wine]") for name in "abc"])
    assert sorted(opened) == ["iris", "wine"]
    assert len(request.problems) == 2


def test_other_repeats_replace_the_configs_which_stay_planned(tmp_path):
    (plan,) = read_request([write(tmp_path)], repeats=1).plans
    assert [spec for spec in plan.all_repeats if spec.repeat == 0] == list(plan.specs)
    assert len(plan.all_repeats) == N_RUNS
    (more,) = read_request([write(tmp_path)], repeats=5).plans
    assert set(plan.all_repeats) < set(more.specs)


def test_another_seed_gives_the_same_settings_other_runs_under_the_same_name(tmp_path):
    path = write(tmp_path)
    (plan,), (other,) = read_request([path]).plans, read_request([path], seed=7).plans
    assert other.name == plan.name
    assert [spec.cell for spec in other.specs] == [spec.cell for spec in plan.specs]
    assert {spec.key for spec in other.specs}.isdisjoint(spec.key for spec in plan.specs)
    path.write_text(other.text)
    assert read_request([path]).plans[0].specs == other.specs


def test_the_stored_text_has_the_options_that_its_values_do_not_show(tmp_path):
    path = write(tmp_path)
    options = {"repeats": 1, "only": ["problem=iris", "method=gha"], "seed": 7}
    (plan,) = read_request([path], **options).plans
    first, second, *_ = plan.text.splitlines()
    assert first == "# Run with --repeats 1 --only problem=iris --only method=gha"
    assert second.endswith(", with --seed 7.")
    assert read_request([path]).plans[0].text == path.read_text()


def test_shared_runs_are_listed_once_in_the_order_of_the_configs(tmp_path):
    request = read_request([write(tmp_path, "b", "[wine, iris]"), write(tmp_path, "a", "[iris]")])
    assert [plan.name for plan in request.plans] == ["b", "a"]
    assert len(request.specs) == 2 * N_RUNS
    assert request.specs == list(request.plans[0].specs)


def test_a_file_is_read_beside_its_config_and_named_after_itself(tmp_path):
    path = write(tmp_path / "mine", problems="[data/own.dt]")
    (tmp_path / "mine" / "data").mkdir()
    own = write_dt(tmp_path / "mine" / "data" / "own.dt")
    ((name, (source, problem)),) = read_request([path]).problems.items()
    assert name == ("own.dt", problem.sha256)
    assert Path(source.name).samefile(own)


def test_files_of_the_same_name_in_a_config_have_their_paths_as_labels(tmp_path):
    for folder, shift in (("one", 0.0), ("two", 0.1)):
        (tmp_path / folder).mkdir()
        write_dt(tmp_path / folder / "own.dt", shift=shift)
    write_dt(tmp_path / "third.dt")
    request = read_request([write(tmp_path, problems="[one/own.dt, two/own.dt, third.dt]")])
    assert {name for name, _ in request.problems} == {"one/own.dt", "two/own.dt", "third.dt"}


@pytest.mark.parametrize(("shift", "n_files"), [(0.1, 2), (0.0, 1)], ids=["other data", "a copy"])
def test_files_of_the_same_name_in_two_configs_share_their_runs_if_they_have_the_same_data(
    tmp_path, shift, n_files
):
    paths = [write(tmp_path / folder, folder, "own.dt") for folder in ("one", "two")]
    files = [write_dt(path.parent / "own.dt", shift=n * shift) for n, path in enumerate(paths)]
    request, digests = read_request(paths), [load_problem(str(file)).sha256 for file in files]
    assert list(request.problems) == [("own.dt", digest) for digest in digests[:n_files]]
    assert len(request.specs) == n_files * N_RUNS
    expected = [{one} for one in digests]
    assert [{spec.cell.data_sha256 for spec in plan.specs} for plan in request.plans] == expected


def test_two_configs_of_the_same_name_are_refused(tmp_path):
    one, two = write(tmp_path / "one"), write(tmp_path / "two")
    assert refused(one, two) == f"{two}: expected a unique name, got 'a', as in {one}."


def test_a_plan_needs_no_data_of_known_problems(tmp_path, monkeypatch):
    write_dt(tmp_path / "own.dt")
    path = write(tmp_path, problems="[wine, own.dt, iris]")
    whole = read_request([path])
    monkeypatch.setattr("pppca_bench.problems.proben1.read_packaged", None)
    plan = read_request([path], only_plan=True)
    assert plan.plans == whole.plans
    assert {name for name, _ in plan.problems} == {"own.dt"}
    missing = read_request([write(tmp_path, problems="[cancer1, horse3]")], only_plan=True)
    assert {spec.cell.problem for spec in missing.specs} == {"cancer1", "horse3"}


def test_a_command_of_too_many_runs_is_refused_before_it_is_planned(tmp_path, monkeypatch):
    one, other = write(tmp_path, "one"), write(tmp_path, "other")
    monkeypatch.setattr(requests, "MAX_RUNS", 2 * N_RUNS - 1)
    with monkeypatch.context() as patched:
        patched.setattr(requests, "expand", None)
        assert refused(one, other) == (
            f"{one}: expected at most {2 * N_RUNS - 1} runs in one command, got {N_RUNS} of"
            f" {2 * N_RUNS}. Use fewer values or repeats, or plan all runs with --force."
        )
    planned = printed("run", one, other, "--force", "--dry-run")
    assert f"\n{N_RUNS} runs planned" in planned, "which both ask for"
    monkeypatch.setattr(requests, "MAX_RUNS", 2 * N_RUNS)
    assert len(read_request([one, other]).plans) == 2
