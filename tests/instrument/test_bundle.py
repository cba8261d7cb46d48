"""Bundles: their metadata, the messages where one cannot be made, and their verification in a clean environment."""

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml
from builders import failed, flowers, plan_of, small, specs_of, write_config
from command_line import pppca_process, printed
from own_reference import MINIMAL, written

from pppca_bench.cli import bundle_files
from pppca_bench.experiments import installation
from pppca_bench.pages.crate import CODECHECK, PROFILE, codecheck_text, write_crate
from pppca_bench.references.paper import Author, Paper, is_orcid
from pppca_bench.references.reference import read_reference
from pppca_bench.store.database import Store
from pppca_bench.verdicts.recorded import read_recorded, write_recorded

ORCID = "0000-0002-1825-0097"
AUTHORS = [{"name": "Josiah Carberry", "orcid": ORCID}, {"name": "Jo Doe"}]
METADATA = "ro-crate-metadata.json"
PAPER = {"title": "A paper on iris", "authors": AUTHORS, "doi": "10.5555/1", "year": 1994}
PCA = {"method": "pca", "tau": 10}
CHECK = {
    "codechecker": [Author(name="Ada", orcid=ORCID)],
    "certificate": "2026-001",
    "report": "https://doi.org/10.5555/2",
    "summary": "All is as it was.",
}


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """Write a reference with its config beside it, and run the config on one of its problems."""
    made = tmp_path_factory.mktemp("own")
    folder = made / "theirs"
    folder.mkdir()
    written(folder, MINIMAL | {"configs": ["theirs"], "paper": PAPER})
    document = small(PCA, name="theirs", problems=["iris", "wine"])
    config = write_config(folder, document)
    options = ("--workers", 0, "--quiet", "--no-tables", "--results", made / "results")
    printed("run", config, "--only", "problem=iris", *options)
    with Store(made / "results" / "results.sqlite") as store:
        store.plan(plan_of(specs_of(small(PCA, name="unnamed", problems=["wine"])), "unnamed"))
    return made


def refused(own: Path, *arguments: object, code: int = 1) -> str:
    """Return the line with which a bundle of a reference is refused."""
    options = ("--reference", own / "theirs", "--results", own / "results")
    said = printed("bundle", own / "refused", *options, *arguments, code=code)
    assert not (own / "refused").exists()
    return said


@pytest.mark.parametrize("text", ["0000-0002-1825-0097", "0000-0002-1694-233X"])
def test_an_orcid_has_a_check_digit(text):
    assert is_orcid(text)
    assert not is_orcid(text.replace("000", "001", 1))
    assert not is_orcid(f"https://orcid.org/{text}")


def test_a_complete_codecheck_has_all_that_the_specification_demands(own):
    reference = read_reference(own / "theirs")
    complete = reference.paper.model_copy(update={"authors": reference.paper.authors[:1]})
    reference = reference.model_copy(update={"paper": complete})
    text, lacking = codecheck_text(reference, ["results/verdicts.json"], CHECK)
    assert (text.startswith("---\n"), lacking) == (True, [])
    assert yaml.safe_load(text) == {
        "version": CODECHECK,
        "manifest": [{"file": "results/verdicts.json"}],
        "paper": {
            "title": "A paper on iris",
            "authors": [{"name": "Josiah Carberry", "ORCID": ORCID}],
            "reference": "https://doi.org/10.5555/1",
        },
        **CHECK,
        "codechecker": [{"name": "Ada", "ORCID": ORCID}],
    }


def test_a_draft_names_what_it_lacks_and_has_no_placeholder(own):
    reference = read_reference(own / "theirs")
    text, lacking = codecheck_text(reference, [], dict.fromkeys(CHECK))
    assert lacking == [*CHECK, "the ORCID of Jo Doe"]
    assert set(yaml.safe_load(text)) == {"version", "manifest", "paper"}
    reference = reference.model_copy(update={"paper": None})
    text, lacking = codecheck_text(reference, [], CHECK)
    assert lacking == ["the authors of the paper"]
    assert yaml.safe_load(text)["paper"] == {"title": "A paper", "reference": "Somebody 1994"}


def test_the_metadata_are_a_process_run_crate(tmp_path):
    for name in ("p-1-py3-none-any.whl", "constraints.txt", "configs/a b.yaml", "results/t.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    write_crate(
        tmp_path,
        "Title",
        "Description",
        described={"results/": "tables"},
        times=("2026-01-01T00:00:00.000+00:00", "2026-01-02T00:00:00.000+00:00"),
        data={"iris": "a" * 64},
        license_id="MIT",
        address="",
        agent=Author(name="Ada", orcid=ORCID),
        paper=Paper(title="P", authors=(Author(name="Jo Doe"),), doi="10.5555/1", year=1994),
    )
    document = json.loads((tmp_path / METADATA).read_text("utf-8"))
    assert document["@context"] == "https://w3id.org/ro/crate/1.3/context"
    entities = {entity["@id"]: entity for entity in document["@graph"]}
    assert len(entities) == len(document["@graph"])
    descriptor, root, run = (entities[name] for name in (METADATA, "./", "#run"))
    assert descriptor["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.3"}
    assert descriptor["about"] == {"@id": "./"}
    assert all(root[name] for name in ("name", "description", "datePublished", "license"))
    assert root["conformsTo"] == {"@id": PROFILE}
    assert "CreativeWork" in entities[PROFILE]["@type"]
    assert root["mentions"] == {"@id": "#run"}
    assert run["@type"] == "CreateAction"
    assert {"name", "description", "startTime", "endTime"} <= set(run)
    tool = entities[run["instrument"]["@id"]]
    assert "SoftwareSourceCode" in tool["@type"]
    assert {"name", "version"} <= set(tool)
    assert run["object"] == [{"@id": "configs/a%20b.yaml"}, {"@id": "#data-iris"}]
    assert run["result"] == {"@id": "results/t.csv"}
    assert run["agent"] == {"@id": f"https://orcid.org/{ORCID}"}
    assert entities[run["agent"]["@id"]]["name"] == "Ada"
    assert entities["results/t.csv"]["sha256"] == hashlib.sha256(b"results/t.csv").hexdigest()
    assert entities["results/t.csv"]["description"] == "tables"
    parts = {part["@id"] for part in root["hasPart"]}
    data = {name for name, one in entities.items() if "File" in one["@type"]}
    assert parts == data
    references = re.findall(r'\{\s*"@id": "([^"]*)"\s*\}', json.dumps(document["@graph"]))
    assert set(references) - {"https://w3id.org/ro/crate/1.3"} <= entities.keys()


def test_a_config_beside_the_reference_runs_there_on_the_problems_that_were_run(
    own, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    reference = read_reference(own / "theirs")
    with Store(own / "results" / "results.sqlite", read_only=True) as store:
        texts = bundle_files.texts_of(reference, store)
        done = bundle_files.done_runs(store, list(texts))
    words = bundle_files.write_configs(reference, texts, set(done["key"]), 2)
    assert words == ["reference/theirs/theirs.yaml --only problem=iris"]
    assert Path("reference/theirs/theirs.yaml").read_text("utf-8") == texts["theirs"]
    assert bundle_files.data_of(done).keys() == {"iris"}


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (["--repeats", 3], 1, "expected the first 3 repeats of all cells of a problem, got only"),
        (["--certificate", "1"], 2, "expected YYYY-NNN, the identifier in the CODECHECK register"),
        (["--agent", "Ada, 1"], 2, "expected NAME or 'NAME, ORCID'"),
        (["--reference", "nowhere"], 2, "expected a folder with reference.yaml, or one of "),
    ],
)
def test_a_bundle_that_cannot_be_made_is_refused(own, arguments, code, expected):
    assert expected in refused(own, *arguments, code=code)


def test_a_bundle_needs_rocrate_and_a_new_folder(own, monkeypatch):
    assert "which exists." in printed("bundle", own, "--reference", own / "theirs", code=2)
    monkeypatch.setitem(sys.modules, "rocrate", None)
    assert "`pip install rocrate`" in refused(own)


def test_runs_of_other_versions_or_that_failed_are_no_bundle(own, tmp_path, monkeypatch):
    monkeypatch.setattr("pppca_bench.experiments.provenance.version", lambda _: "0.1")
    assert "got runs by numpy" in refused(own)
    monkeypatch.undo()
    spec = specs_of(small(PCA, name="theirs", problems=["iris"], repeats=1))[0]
    with Store(tmp_path / "results.sqlite") as store:
        store.plan(plan_of([spec], "theirs"))
        store.record([failed(spec)], '{"pppca": "0.1.0"}')
    options = ("--reference", own / "theirs", "--results", tmp_path)
    assert "got 1 that failed" in printed("bundle", tmp_path / "b", *options, code=1)


def test_data_outside_the_folder_of_the_reference_are_refused(tmp_path):
    flowers().to_csv(tmp_path / "flowers.csv", index=False)
    folder = tmp_path / "theirs"
    folder.mkdir()
    written(folder, MINIMAL | {"configs": ["mine"]})
    table = {"csv": "flowers.csv", "target": "kind"}
    config = write_config(tmp_path, small(PCA, name="mine", problems=[table]))
    printed("run", config, "--workers", 0, "--quiet", "--no-tables", "--results", tmp_path)
    said = printed("bundle", tmp_path / "b", "--reference", folder, "--results", tmp_path, code=2)
    assert said.startswith("Error: configs/mine.yaml:")
    assert "the folder of the reference alone: move yours there" in said


def test_a_source_tree_that_is_no_wheel_is_refused_in_a_line(tmp_path, monkeypatch):
    for name in installation._SOURCES:
        (tmp_path / name).write_text("no Python")
    monkeypatch.setattr(installation, "PACKAGE", tmp_path / "pppca_bench")
    with pytest.raises(installation.PppcaError, match="expected a wheel of this source tree"):
        installation.write_wheel(tmp_path)


def test_only_packages_of_third_party_classes_are_needed():
    names = ["dgha", "sklearn.svm:SVC", "beside:Mine", "yaml:Loader"]
    assert {"PyYAML", "scikit-learn"} <= set(installation.needed_packages(names))
    assert "pppca-bench" not in installation.needed_packages(["pppca_bench.engines:GHA"])


def test_the_citation_has_what_its_schema_demands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(installation, "repository_url", lambda: "https://example.org/pppca")
    assert bundle_files.write_citation() == "https://example.org/pppca"
    document = yaml.safe_load(Path("CITATION.cff").read_text("utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= document.keys()
    assert document["repository-code"] == "https://example.org/pppca"


@pytest.fixture(scope="module")
def made(own, tmp_path_factory):
    """Return a bundle, made by the command outside the folders of reference and results."""
    folder = tmp_path_factory.mktemp("made")
    options = ("--reference", own / "theirs", "--results", own / "results", "--repeats", 2)
    done = pppca_process("bundle", "checked.zip", *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "codecheck-draft.yml" in done.stderr
    shutil.unpack_archive(folder / "checked.zip", folder / "checked")
    return folder / "checked"


def shell(command: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a bundle, without a path to this package."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    kept |= {"PYTHON": sys.executable} | environment
    return subprocess.run(
        ["bash", "-c", command], cwd=folder, env=kept, capture_output=True, text=True, check=False
    )


def record_digest(made: Path, name: str) -> None:
    """Record the digest of a changed file, as an author would who hides the change."""
    file = made / METADATA
    document = json.loads(file.read_text("utf-8"))
    (entity,) = [one for one in document["@graph"] if one["@id"] == name]
    entity["sha256"] = hashlib.sha256((made / name).read_bytes()).hexdigest()
    file.write_text(json.dumps(document), "utf-8")


@pytest.mark.slow
def test_a_bundle_is_verified_by_itself_and_an_altered_repeat_is_noticed(made):
    verified = shell("bash verify.sh", made)
    assert verified.returncode == 0, verified.stderr
    assert "Verified: the first 2 repeats" in verified.stdout
    page = (made / "results" / "report.html").read_text("utf-8")
    assert ("theirs" in page, "unnamed" in page) == (True, False)
    runs, recorded = made / "results" / "runs.parquet", made / "results" / "recorded.csv.xz"
    before = {path: path.read_bytes() for path in (runs, recorded, made / METADATA)}
    frame = pd.read_parquet(runs)
    frame.loc[0, "test_error_percent"] += 1.0
    frame.to_parquet(runs, index=False)
    altered = shell("bash verify.sh", made)
    assert altered.returncode == 1
    assert "results/runs.parquet: expected the file with the digest" in altered.stderr
    runs.write_bytes(before[runs])
    repeats = read_recorded(recorded)
    repeats.loc[0, "value"] += 1.0
    write_recorded(repeats, recorded)
    record_digest(made, "results/recorded.csv.xz")
    altered = shell("bash verify.sh", made)
    assert altered.returncode == 1
    assert "in repeat 0, recorded was" in altered.stderr
    for path, content in before.items():
        path.write_bytes(content)


@pytest.mark.slow
def test_the_commands_of_the_dockerfile_work_in_a_clean_environment(made, tmp_path):
    copy = shutil.copytree(made, tmp_path / "bundle", ignore=shutil.ignore_patterns("verify"))
    lines = (copy / "Dockerfile").read_text("utf-8").splitlines()
    assert len(lines) <= 15
    commands = dict(line.split(" ", 1) for line in lines if not line.startswith("#"))
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    path = f"{environment / 'bin'}:{os.environ['PATH']}"
    installed = shell(commands["RUN"], copy, PATH=path)
    assert installed.returncode == 0, installed.stderr
    name, value = commands["ENV"].split("=")
    called = shell(shlex.join(json.loads(commands["CMD"])), copy, PATH=path, **{name: value})
    assert called.returncode == 0, called.stderr
