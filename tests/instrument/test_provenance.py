"""Provenance of stored numbers: code version, libraries and machine."""

import json
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from unittest.mock import Mock

import pytest

from pppca_bench import __version__
from pppca_bench.experiments import provenance


@pytest.fixture(autouse=True)
def _nothing_remembered():
    provenance.code_version.cache_clear()
    yield
    provenance.code_version.cache_clear()


def git(root: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=root, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path, monkeypatch) -> Path:
    """Return a git checkout with one commit, of which the code believes to be a part."""
    module = tmp_path / "pppca_bench" / "experiments" / "provenance.py"
    module.parent.mkdir(parents=True)
    module.write_text("first\n")
    (tmp_path / "README.md").write_text("first\n")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message=first")
    monkeypatch.setattr(provenance, "__file__", str(module))
    return tmp_path


def test_the_description_names_code_libraries_interpreter_and_machine(monkeypatch):
    monkeypatch.setenv("NUMBA_CPU_NAME", "haswell")
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/home/ann")
    facts = json.loads(provenance.provenance_text({"demo": "a" * 64}))
    libraries = ("numpy", "scipy", "numba", "scikit-learn")
    expected = {"python": platform.python_version(), "configs": {"demo": "a" * 64}}
    expected |= {library: version(library) for library in libraries}
    assert expected.items() <= facts.items()
    of_machine = {"pppca", "processor", "kernels", "blas", "system"}
    assert facts.keys() == expected.keys() | of_machine
    assert all(facts[name] for name in of_machine)
    assert "NUMBA_CPU_NAME=haswell" in facts["kernels"]
    assert "ann" not in facts["kernels"], "folders reveal users"
    assert facts["pppca"].startswith(__version__)


def test_variables_of_git_name_no_other_repository(checkout, monkeypatch, tmp_path_factory):
    commit = git(checkout, "rev-parse", "HEAD")
    other = tmp_path_factory.mktemp("other")
    git(other, "init", "--quiet")
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_CEILING_DIRECTORIES"):
        monkeypatch.setenv(name, str(other / ".git"))
    assert provenance.code_version() == f"{__version__}+{commit[:12]}"


def test_changed_code_is_marked_and_other_changed_files_are_not(checkout):
    commit = git(checkout, "rev-parse", "HEAD")
    (checkout / "README.md").write_text("second\n")
    (checkout / "pppca_bench" / "notes.txt").write_text("untracked\n")
    assert provenance.code_version() == f"{__version__}+{commit[:12]}"
    provenance.code_version.cache_clear()
    (checkout / "pppca_bench" / "experiments" / "provenance.py").write_text("second\n")
    assert provenance.code_version() == f"{__version__}+{commit[:12]}.dirty"


def test_an_installed_package_and_a_checkout_without_a_working_git_are_named_by_the_version(
    checkout, monkeypatch
):
    for error in (FileNotFoundError("git"), subprocess.CalledProcessError(128, "git")):
        provenance.code_version.cache_clear()
        with monkeypatch.context() as patched:
            patched.setattr(subprocess, "run", Mock(side_effect=error))
            assert provenance.code_version() == __version__
    provenance.code_version.cache_clear()
    (checkout / ".git").rename(checkout / "git")
    assert provenance.code_version() == __version__


def test_a_system_without_cpuinfo_has_a_processor_all_the_same(monkeypatch):
    read_text = Path.read_text

    def but_for_cpuinfo(path, *given, **named):
        if path == Path("/proc/cpuinfo"):
            raise FileNotFoundError(path)
        return read_text(path, *given, **named)

    monkeypatch.setattr(Path, "read_text", but_for_cpuinfo)
    monkeypatch.setattr(platform, "processor", lambda: "")
    assert json.loads(provenance.provenance_text())["processor"] == platform.machine()
