"""``pppca doctor``: checks of environment, cache, data and results, and their remedies."""

import errno
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterable
from contextlib import closing
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest
from command_line import pppca

from pppca_bench.compiled import cache
from pppca_bench.errors import DataError
from pppca_bench.experiments import doctor
from pppca_bench.experiments.doctor import CheckResult
from pppca_bench.runs import Cell, Plan, RunResult, RunSpec
from pppca_bench.store.database import Store
from pppca_bench.store.file import machine_digest

CELL = Cell("iris", "a" * 64, "dgha", (("tau", 5.0),), (("rule", "rprop"),), (("dgha", 1), ("rprop", 1)))
SPECS = [RunSpec(f"key{repeat}", CELL, repeat, repeat) for repeat in range(3)]
FAILURE = "Traceback: …\nValueError: it diverged."

pytestmark = pytest.mark.usefixtures("nowhere_else")


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "results" / "results.sqlite"


@pytest.fixture
def store(path):
    with Store(path) as store:
        store.plan(Plan("a", "", "", tuple(SPECS)))
        yield store


def done(spec: RunSpec) -> RunResult:
    return RunResult(spec.key, "done", values={"test_error_percent": 1.0})


def wrong(results: Iterable[CheckResult]) -> list[str]:
    return [f"{one.text} {one.remedy}".strip() for one in results if one.remedy is not None]


def query(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


class TestCommand:
    @pytest.mark.usefixtures("quick_doctor")
    def test_finished_results_are_accepted(self, store):
        store.record([done(spec) for spec in SPECS], "{}")
        result = pppca("doctor")
        assert result.exit_code == 0, result.output
        lines = result.stdout.splitlines()
        assert lines[0] == "ok  environment: Good."
        assert lines[-3].startswith("ok  store: results/results.sqlite: intact, version ")
        assert lines[-2:] == ["ok  store: a: 3 of 3 runs are done.", "All checks passed."]

    @pytest.mark.usefixtures("quick_doctor", "store")
    def test_a_finding_is_a_line_with_its_remedy_and_nothing_changes(self, path):
        before = path.read_bytes()
        result = pppca("doctor")
        assert result.exit_code == 1
        assert "!!  store: a: 3 of 3 runs are not done. Run it again with `pppca run`: " in result.stdout
        assert result.stdout.splitlines()[-1] == "1 check failed."
        assert path.read_bytes() == before


class TestEnvironment:
    def test_the_environment_of_these_tests_is_as_required(self, monkeypatch):
        monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
        results = list(doctor._environment())
        assert wrong(results) == []
        assert "processor cores" in results[-1].text

    @pytest.mark.parametrize(("got", "expected"), [("0.70.1", "got 0.70.1"), ("0.61", "got 0.61"), (None, "got none")])
    def test_old_new_and_missing_packages_are_reported(self, monkeypatch, got, expected):
        def version(name: str) -> str:
            if got is None:
                raise metadata.PackageNotFoundError(name)
            return got

        monkeypatch.setattr(metadata, "version", version)
        result = doctor._package("numba<0.69,>=0.62")
        assert result.text == f"numba: expected version <0.69,>=0.62, {expected}."
        assert result.remedy == f"Run `{Path(sys.executable).name} -m pip install 'numba<0.69,>=0.62'`."
        monkeypatch.setattr(metadata, "version", lambda _: "0.68.3")
        assert doctor._package("numba<0.69,>=0.62") is None

    def test_a_package_that_is_not_installed_is_reported(self, monkeypatch):
        monkeypatch.setattr(doctor, "DISTRIBUTION", "no-such-package-here")
        line = wrong(doctor._environment())[0]
        assert line.startswith("no-such-package-here is not installed, so its requirements are unknown. Install it")

    def test_code_that_is_not_compiled_is_reported(self, monkeypatch):
        monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
        assert wrong(doctor._environment())[-1].endswith("hundreds of times as long. Unset it.")


class TestCache:
    @pytest.fixture
    def folder(self, tmp_path, monkeypatch) -> Path:
        monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
        monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "compiled"))
        return cache.folders()[0]

    def test_a_new_cache_is_accepted_and_unchanged(self, folder):
        (result,) = doctor._cache()
        n = len(cache.FAMILIES)
        text = f"{folder}: can be written; 0 of {n} families of kernels are compiled, others when a run needs them."
        assert (result.text, result.remedy) == (text, None)
        assert not folder.exists()

    def test_a_cache_that_cannot_be_written_is_reported_with_its_place(self, folder, monkeypatch):
        def refuse(**_: object) -> None:
            raise PermissionError(errno.EACCES, "Permission denied")

        monkeypatch.setattr(cache.tempfile, "TemporaryFile", refuse)
        (result,) = doctor._cache()
        assert result.remedy == ""
        assert result.text == (
            f"compiled kernels cannot be cached, so every process compiles them again ({folder}: Permission denied)."
            " Set NUMBA_CACHE_DIR."
        )


def test_each_problem_is_read_and_an_error_is_reported(monkeypatch):
    def load(name: str, data_dir: Path) -> None:
        if name in ("b", "c"):
            raise DataError(f"{data_dir}/{name}.dt: damaged.")

    monkeypatch.setattr(doctor, "known_problems", lambda _: ["a", "b", "c", "d"])
    monkeypatch.setattr(doctor, "load_problem", load)
    found = list(doctor._data(Path("mine")))
    assert wrong(found) == ["mine/b.dt: damaged.", "mine/c.dt: damaged."]
    assert found[-1].text == "2 of 4 Proben1 files are as registered."


class TestStore:
    def test_a_missing_store_is_accepted_and_not_created(self, path):
        (result,) = doctor._store(path)
        assert (result.text, result.remedy) == (f"{path}: does not exist yet; `pppca run CONFIG` creates it.", None)
        assert not path.parent.exists()

    @pytest.mark.parametrize("content", [b"", b"These are my notes, not a database. " * 10])
    def test_a_file_that_is_no_database_is_reported(self, path, content):
        path.parent.mkdir()
        path.write_bytes(content)
        (line,) = wrong(doctor._store(path))
        assert line.startswith(f"{path}: ")

    def test_a_damaged_store_is_reported_and_can_be_moved_aside(self, store, path):
        store.close()
        query(
            path,
            "PRAGMA writable_schema = ON",
            "UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master WHERE name = 'problems')"
            " WHERE name = 'configs'",
        )
        (result,) = doctor._store(path)
        assert result.text.startswith(f"{path}: damaged (")
        subprocess.run(result.remedy.split("`")[1], shell=True, check=True)
        assert wrong(doctor._store(path)) == []

    def test_failed_runs_and_those_not_done_are_reported(self, store, path):
        store.record([RunResult("key1", "failed", error=FAILURE), done(SPECS[2])], "{}")
        again = "Run it again with `pppca run`: completed runs are kept."
        assert wrong(doctor._store(path)) == [
            f"a: 1 of 3 runs failed, for example with: ValueError: it diverged. {again}",
            f"a: 1 of 3 runs are not done. {again}",
        ]

    def test_runs_of_a_running_process_need_nothing(self, store, path):
        query(path, f"INSERT INTO reservations VALUES ('key0', '{os.getppid()} {machine_digest()}')")
        assert wrong(doctor._store(path)) == []
        assert store.reserved() == [("key0", f"{os.getppid()} {machine_digest()}")]

    @pytest.mark.usefixtures("quick_doctor")
    def test_a_study_is_summed_up_and_its_failed_runs_need_nothing(self, store, path):
        store.plan(Plan("trial-0", "", "", tuple(SPECS[:2])))
        store.record([RunResult("key0", "failed", error=FAILURE), done(SPECS[2])], "{}")
        found = [one for one in doctor.examine(None, path.parent / "none", [path]) if one.subject == "study results"]
        assert [(one.text, one.remedy is None) for one in found[1:]] == [
            ("all trials: 1 of 3 runs failed, for example with: ValueError: it diverged.", True),
            ("all trials: 1 of 3 runs are not done.", False),
            ("all trials: 1 of 3 runs are done.", True),
        ]


class TestFolder:
    def test_a_writable_folder_is_accepted(self, tmp_path):
        assert list(doctor._folder(tmp_path / "new" / "results")) == []
        assert not (tmp_path / "new").exists()

    def test_an_unwritable_folder_is_reported(self, tmp_path):
        (tmp_path / "file").write_text("")
        (line,) = wrong(doctor._folder(tmp_path / "file"))
        assert line == f"{tmp_path / 'file'}: cannot be written (Not a directory). Name another folder: --results DIR."

    def test_a_folder_that_may_not_be_searched_is_reported_once(self, tmp_path, monkeypatch):
        def refuse(self: Path) -> bool:
            raise PermissionError(errno.EACCES, "Permission denied", str(self))

        monkeypatch.setattr(Path, "exists", refuse)
        found = [*doctor._folder(tmp_path / "a"), *doctor._store(tmp_path / "a" / "results.sqlite")]
        assert wrong(found) == [
            f"{tmp_path / 'a'}: cannot be written (Permission denied). Name another folder: --results DIR."
        ]

    def test_a_full_disk_is_reported(self, tmp_path, monkeypatch):
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=5 * 2**20))
        assert wrong(doctor._folder(tmp_path)) == [
            f"{tmp_path}: 5 MB are free on its disk. Free some space, or name another folder: --results DIR."
        ]
