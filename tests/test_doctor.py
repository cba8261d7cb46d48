"""``pppca doctor``: what it finds in environment, cache, data and store, and that its remedies hold."""

import errno
import os
import platform
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest
from command_line import pppca

from pppca_bench.compiled import cache
from pppca_bench.experiments import doctor
from pppca_bench.experiments.doctor import Finding
from pppca_bench.methods.registry import CLASSIFIERS, METHODS
from pppca_bench.runs import Cell, Plan, RunResult, RunSpec
from pppca_bench.store.database import Store

VERSIONS = {"dgha": METHODS["dgha"].version, "rprop": CLASSIFIERS["rprop"].version}
CELL = Cell("iris", "a" * 64, "dgha", (("tau", 5.0),), (("rule", "rprop"),), tuple(VERSIONS.items()))
SPECS = [RunSpec(f"key{repeat}", CELL, repeat, repeat) for repeat in range(3)]


def plan(name: str, specs: list[RunSpec]) -> Plan:
    return Plan(name, "", "", tuple(specs))


pytestmark = pytest.mark.usefixtures("nowhere_else")


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "results" / "results.sqlite"


@pytest.fixture
def store(path):
    with Store(path) as store:
        store.plan(plan("a", SPECS))
        yield store


def done(spec: RunSpec) -> RunResult:
    return RunResult(spec.key, "done", values={"test_error_percent": 1.0})


def wrong(findings) -> list[Finding]:
    return [finding for finding in findings if finding.remedy is not None]


def told(findings) -> list[str]:
    return [f"{finding.text} {finding.remedy}".strip() for finding in wrong(findings)]


def query(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


class TestCommand:
    def test_all_is_well_with_data_and_a_finished_store(self, proben1_dir, store, monkeypatch):
        store.record([done(spec) for spec in SPECS], "{}")
        monkeypatch.setattr(doctor, "_environment", lambda: iter([Finding("environment", "Python.")]))
        result = pppca("doctor", "--data", proben1_dir)
        assert result.exit_code == 0, result.output
        lines = result.stdout.splitlines()
        assert lines[0] == "ok  environment: Python."
        assert lines[-4:] == [
            "ok  data: 45 of 45 Proben1 files are as registered.",
            "ok  store: results/results.sqlite: whole, of version 3.",
            "ok  store: a: all 3 runs are done.",
            "All is well.",
        ]

    def test_a_finding_is_a_line_with_its_remedy_and_the_exit_code_is_1(self, monkeypatch):
        monkeypatch.setattr(doctor, "_environment", lambda: iter([Finding("environment", "Bad.", "Mend it.")]))
        result = pppca("doctor", "--data", "mine")
        assert result.exit_code == 1
        lines = result.stdout.splitlines()
        assert lines[0] == "!!  environment: Bad. Mend it."
        assert lines[-1] == "1 finding to do something about."
        assert not Path("results").exists()
        assert not Path("mine").exists()

    @pytest.mark.usefixtures("store")
    def test_it_changes_no_store(self, path):
        before = path.read_bytes()
        assert pppca("doctor").exit_code == 1
        assert path.read_bytes() == before


class TestEnvironment:
    def test_what_runs_these_tests_is_as_required(self, monkeypatch):
        monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
        findings = list(doctor._environment())
        assert wrong(findings) == []
        assert findings[0].text == f"Python {platform.python_version()}."
        assert "processor cores" in findings[-1].text

    def test_an_old_python_is_told(self, monkeypatch):
        monkeypatch.setattr(platform, "python_version", lambda: "3.10.14")
        assert told([doctor._python(">=3.11")]) == [
            "Python: expected 3.11 or newer, got 3.10.14. Install it, and pppca into it."
        ]

    def test_old_and_missing_packages_are_told_and_extras_are_not_asked_for(self, monkeypatch):
        monkeypatch.setattr(metadata, "version", lambda name: {"numpy": "1.9.3", "scipy": "1.12rc1"}[name])
        findings = list(doctor._packages(["numpy>=1.26", "scipy>=1.12", 'torch>=2.6; extra == "bench"']))
        program = Path(sys.executable).name
        assert told(findings) == [
            f"numpy: expected version 1.26 or newer, got 1.9.3. Run `{program} -m pip install 'numpy>=1.26'`."
        ]
        assert findings[-1].text == "1 of 2 required packages are as required."

    def test_a_package_that_is_too_new_is_told(self, monkeypatch):
        monkeypatch.setattr(metadata, "version", lambda _: "0.70.1")
        (line,) = told(doctor._packages(["numba<0.69,>=0.62"]))
        assert line.startswith("numba: expected version 0.62 or newer, below 0.69, got 0.70.1. Run `")

    def test_a_missing_package_is_told(self, monkeypatch):
        def version(name: str) -> str:
            raise metadata.PackageNotFoundError(name)

        monkeypatch.setattr(metadata, "version", version)
        (line,) = told(doctor._packages(["tqdm"]))
        assert line.startswith("tqdm: expected version 0 or newer, got none. Run `")

    def test_a_package_that_is_not_installed_is_told(self, monkeypatch):
        monkeypatch.setattr(doctor, "DISTRIBUTION", "no-such-package-here")
        line = told(doctor._environment())[0]
        assert line.startswith("no-such-package-here is not installed, so its requirements are unknown. Install it")

    def test_code_that_is_not_compiled_is_told(self, monkeypatch):
        monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
        assert told(doctor._environment())[-1].endswith("hundreds of times as long. Unset it.")


class TestCache:
    @pytest.fixture
    def folder(self, tmp_path, monkeypatch) -> Path:
        monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
        monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "compiled"))
        return cache.folders()[0]

    @staticmethod
    def keep(folder: Path, family: str) -> list[Path]:
        """Put files in place of a family's compiled kernels, and return them."""
        folder.mkdir(parents=True, exist_ok=True)
        kernels = [f"pppca_bench.{name}".split(":") for name in cache.FAMILIES[family]]
        names = [f"{cache.file_name(*kernel)}{ending}" for kernel in kernels for ending in (".nbi", ".1.nbc")]
        for name in names:
            (folder / name).write_bytes(cache.sealed(b"code"))
        return [folder / name for name in names]

    def test_a_new_cache_is_well_and_stays_as_it_is(self, folder):
        (finding,) = doctor._cache()
        n = len(cache.FAMILIES)
        text = f"{folder}: can be written; of {n} families of kernels 0 are compiled, others when a run needs them."
        assert (finding.text, finding.remedy) == (text, None)
        assert not folder.exists()

    def test_a_full_cache_is_well(self, folder):
        for family in cache.FAMILIES:
            self.keep(folder, family)
        (finding,) = doctor._cache()
        n = len(cache.FAMILIES)
        assert finding.text == f"{folder}: can be written; of {n} families of kernels {n} are compiled."
        assert finding.remedy is None

    def test_damaged_code_is_told_and_needs_nothing(self, folder):
        code = self.keep(folder, "hebbian")[-1]
        code.write_bytes(code.read_bytes()[:-1])
        first, damaged = doctor._cache()
        assert "families of kernels 0 are compiled" in first.text
        assert damaged == Finding("cache", f"{code}: damaged; the next run that needs it compiles it anew.")

    def test_a_cache_that_cannot_be_written_is_told_with_its_place(self, folder, monkeypatch):
        def refuse(**_: object) -> None:
            raise PermissionError(errno.EACCES, "Permission denied")

        monkeypatch.setattr(cache.tempfile, "TemporaryFile", refuse)
        (finding,) = doctor._cache()
        assert finding.remedy == ""
        assert finding.text == (
            f"compiled kernels cannot be kept, so every process compiles anew ({folder}: Permission denied)."
            " Set NUMBA_CACHE_DIR."
        )


class TestData:
    def test_packaged_data_are_as_registered(self):
        (finding,) = doctor._data(None)
        assert (finding.text, finding.remedy) == ("45 of 45 Proben1 files are as registered.", None)

    def test_each_damaged_file_is_reported_with_its_remedy(self, tmp_path):
        (tmp_path / "glass1.dt").write_text("damaged")
        damaged, rest = doctor._data(tmp_path)
        assert damaged.text.startswith("glass1.dt, line 1: expected 'bool_in=<count>'")
        assert damaged.text.endswith("leave out --data to read the packaged one.")
        assert rest.text == "44 of 45 Proben1 files are as registered."


class TestStore:
    def test_none_yet_is_well_and_makes_none(self, path):
        (finding,) = doctor._store(path)
        assert (finding.text, finding.remedy) == (f"{path}: none yet; `pppca run CONFIG` makes it.", None)
        assert not path.parent.exists()

    def test_a_file_that_is_no_database_is_told(self, path):
        path.parent.mkdir()
        path.write_text("These are my notes, not a database. " * 10)
        (line,) = told(doctor._store(path))
        assert line.startswith(f"{path}: cannot be used as the results database (file is not a database")
        assert line.endswith("name another folder with --results.")

    def test_a_file_without_a_byte_is_told(self, path):
        path.parent.mkdir()
        path.touch()
        (line,) = told(doctor._store(path))
        assert line.startswith(f"{path}: expected a results database, got a file of 0 bytes")

    def test_a_newer_store_is_told(self, store, path):
        store.close()
        query(path, "PRAGMA user_version = 4")
        (line,) = told(doctor._store(path))
        assert line.endswith("got version 4. Use the pppca that wrote it, or name another folder (--results).")

    def test_a_damaged_store_is_told_and_can_be_put_aside(self, store, path):
        store.close()
        query(
            path,
            "PRAGMA writable_schema = ON",
            "UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master WHERE name = 'problems')"
            " WHERE name = 'configs'",
        )
        (finding,) = doctor._store(path)
        assert finding.text.startswith(f"{path}: damaged (")
        subprocess.run(finding.remedy.split("`")[1], shell=True, check=True)
        assert wrong(doctor._store(path)) == []

    def test_failed_runs_are_told_with_a_cause(self, store, path):
        failure = RunResult("key1", "failed", error="Traceback: …\nValueError: learning_rate is too large.")
        store.record([done(SPECS[0]), failure, done(SPECS[2])], "{}")
        assert told(doctor._store(path)) == [
            "a: 1 of 3 runs failed, one of them of: ValueError: learning_rate is too large."
            " Run its config again, with `pppca run`: it does what is left of a."
        ]

    def test_runs_that_were_not_done_are_told(self, store, path):
        store.record([done(SPECS[0])], "{}")
        (line,) = told(doctor._store(path))
        assert line.startswith("a: 2 of 3 runs are not done. Run its config again")

    def test_results_of_an_older_algorithm_are_told(self, store, path, register):
        store.record([done(spec) for spec in SPECS], "{}")
        register(replace(METHODS["dgha"], version=7))
        register(replace(CLASSIFIERS["rprop"], version=9))
        again = "Run the configs that ask for them again, with `pppca run`."
        assert told(doctor._store(path)) == [
            f"dgha: results of version {VERSIONS['dgha']}, where today's is 7: 3. {again}",
            f"dgha: results of version {VERSIONS['rprop']} of rprop, where today's is 9: 3. {again}",
        ]

    def test_what_a_process_that_is_gone_had_under_way_is_told_until_the_next_run(self, store, path):
        ended = subprocess.Popen([sys.executable, "-c", ""])
        ended.wait()
        query(path, f"INSERT INTO reservations VALUES ('key0', '{ended.pid} {platform.node()}')")
        lines = told(doctor._store(path))
        assert len(lines) == 2
        assert lines[1].startswith(f"process {ended.pid}, which is gone, left runs under way: 1. Run its config again")
        store.release()
        assert len(told(doctor._store(path))) == 1

    def test_what_a_process_has_under_way_needs_nothing(self, store, path):
        query(path, f"INSERT INTO reservations VALUES ('key0', '{os.getppid()} {platform.node()}')")
        findings = list(doctor._store(path))
        assert wrong(findings) == []
        assert findings[-1].text == f"process {os.getppid()} on {platform.node()} has runs under way: 1."
        store.release()
        assert store.reserved() == [("key0", f"{os.getppid()} {platform.node()}")]


class TestStudies:
    @pytest.fixture
    def database(self, tmp_path) -> Path:
        return tmp_path / "results" / "studies" / "search" / "results.sqlite"

    @pytest.fixture
    def trials(self, database):
        """Return a study's store with two trials, of two runs and of one."""
        with Store(database) as store:
            store.plan(plan("search-trial-0", SPECS[:2]))
            store.plan(plan("search-trial-1", SPECS[2:]))
            yield store

    @staticmethod
    def lines(beginning: str = "study search: ") -> list[str]:
        shown = pppca("doctor").stdout.splitlines()
        return [mark.strip() + " " + text for mark, _, text in (line.partition(beginning) for line in shown) if text]

    def test_a_finished_study_is_summed_up_in_a_line(self, trials, database):
        trials.record([done(spec) for spec in SPECS], "{}")
        assert self.lines() == [
            f"ok {database.relative_to(Path.cwd())}: whole, of version 3.",
            "ok 3 of 3 runs of 2 trials are done.",
        ]

    def test_runs_that_are_not_done_are_told_and_failed_ones_need_nothing(self, trials):
        failure = RunResult("key0", "failed", error="Traceback: …\nValueError: it diverged.")
        trials.record([failure, done(SPECS[2])], "{}")
        assert self.lines()[1:] == [
            "ok 1 of 3 runs of 2 trials failed, one of them of: ValueError: it diverged; trials without a score: 1.",
            "!! 1 of 3 runs of 2 trials are not done. Run the study again, with `pppca study`: it does what is left.",
            "ok 1 of 3 runs of 2 trials are done.",
        ]

    def test_what_a_process_has_under_way_needs_nothing(self, trials, database):
        query(database, f"INSERT INTO reservations VALUES ('key0', '{os.getppid()} {platform.node()}')")
        assert self.lines()[1:] == [
            "ok 0 of 3 runs of 2 trials are done.",
            f"ok process {os.getppid()} on {platform.node()} has runs under way: 1.",
        ]
        assert trials.reserved()

    def test_results_of_an_older_algorithm_are_told_with_the_command_that_renews_them(self, trials, register):
        trials.record([done(spec) for spec in SPECS], "{}")
        register(replace(METHODS["dgha"], version=7))
        assert self.lines()[-1].endswith(
            "where today's is 7: 3. Run the configs that ask for them again, with `pppca study`."
        )

    @pytest.mark.parametrize("content", [b"", b"These are my notes, not a database. " * 10])
    def test_a_database_that_is_none_any_more_is_told_and_the_others_are_looked_at(self, trials, database, content):
        trials.record([done(spec) for spec in SPECS], "{}")
        other = database.parents[1] / "broken" / database.name
        other.parent.mkdir()
        other.write_bytes(content)
        (line,) = self.lines("study broken: ")
        assert line.startswith(f"!! {other.relative_to(Path.cwd())}: ")
        assert self.lines()[-1] == "ok 3 of 3 runs of 2 trials are done."


class TestFolder:
    def test_a_folder_that_can_be_written_is_well(self, tmp_path):
        assert list(doctor._folder(tmp_path / "new" / "results")) == []
        assert not (tmp_path / "new").exists()

    def test_a_folder_that_cannot_be_written_is_told(self, tmp_path):
        (tmp_path / "file").write_text("")
        (line,) = told(doctor._folder(tmp_path / "file"))
        assert (
            line == f"{tmp_path / 'file'}: cannot be written (Not a directory). Give another folder with --results DIR."
        )

    def test_a_folder_that_may_not_be_searched_is_told_once(self, tmp_path, monkeypatch):
        def refuse(self: Path) -> bool:
            raise PermissionError(errno.EACCES, "Permission denied", str(self))

        monkeypatch.setattr(Path, "exists", refuse)
        found = [*doctor._folder(tmp_path / "a"), *doctor._store(tmp_path / "a" / "results.sqlite")]
        assert told(found) == [
            f"{tmp_path / 'a'}: cannot be written (Permission denied). Give another folder with --results DIR."
        ]

    def test_a_full_disk_is_told(self, tmp_path, monkeypatch):
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=5 * 2**20))
        assert told(doctor._folder(tmp_path)) == [
            f"{tmp_path}: 5 MB are free on its disk. Free some, or give --results DIR."
        ]
