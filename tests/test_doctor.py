"""``pppca doctor``: checks of environment, cache, data and results, and their remedies."""

import errno
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from builders import plan_of
from command_line import printed

from pppca_bench.compiled import cache
from pppca_bench.errors import DataError
from pppca_bench.experiments import doctor
from pppca_bench.experiments.doctor import CheckResult
from pppca_bench.runs import Cell, RunResult, RunSpec
from pppca_bench.store.database import Store

SPEC = RunSpec("key0", Cell("iris", "a" * 64, "dgha", (("tau", 5.0),), ()), 0, 0)

pytestmark = pytest.mark.usefixtures("isolated_folders")


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "pppca-results" / "results.sqlite") as store:
        store.plan(plan_of([SPEC]))
        yield store


class TestCommand:
    @pytest.mark.usefixtures("quick_doctor", "store")
    def test_each_check_is_a_line(self):
        lines = printed("doctor").splitlines()
        assert lines[0] == "ok  environment: Good."
        assert lines[-1] == "All checks passed."
        expected = ["ok  cache", "ok  results", "ok  database"]
        assert [line.split(":")[0] for line in lines[1:-1]] == expected

    @pytest.mark.usefixtures("quick_doctor")
    def test_a_failed_check_is_a_line_with_its_remedy_and_nothing_changes(self, store):
        store.rows("UPDATE cells SET parameters = '{'")
        before = store.path.read_bytes()
        *_, line, last = printed("doctor", code=1).splitlines()
        assert re.match(
            r"!!  database: pppca-results/results\.sqlite: no intact .* Restore it from a backup, or move",
            line,
        )
        assert last == "1 check failed."
        assert store.path.read_bytes() == before


@pytest.mark.parametrize(("disabled", "remedy"), [("0", None), ("1", "Unset it.")])
def test_cores_are_counted_and_code_that_is_not_compiled_is_reported(monkeypatch, disabled, remedy):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", disabled)
    result = doctor._environment()
    assert " processor cores for `pppca run`, " in result.text
    assert result.remedy == remedy


class TestCache:
    @pytest.fixture
    def folder(self, tmp_path, monkeypatch) -> Path:
        monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
        monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "compiled"))
        return cache.folders()[0]

    def test_a_new_cache_is_accepted_and_unchanged(self, folder):
        assert doctor._cache() == CheckResult("cache", f"{folder}: can be written.")
        assert not folder.exists()

    def test_a_cache_that_cannot_be_written_is_reported_with_its_place(self, folder, monkeypatch):
        def refuse(**_: object) -> None:
            raise PermissionError(errno.EACCES, "Permission denied")

        monkeypatch.setattr(cache.tempfile, "TemporaryFile", refuse)
        result = doctor._cache()
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
    expected = ["mine/b.dt: damaged.", "mine/c.dt: damaged."]
    assert [result.text for result in found if result.remedy is not None] == expected
    assert found[-1].text == "2 of 4 Proben1 files are as registered."


def test_an_intact_database_is_accepted_and_damage_apart_from_runs_is_reported(store):
    store.record([RunResult("key0", "done", history={"curve": np.zeros(2)})], "{}")
    assert doctor._database(store.path).remedy is None
    store.rows("PRAGMA writable_schema = ON")
    store.rows(
        "UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master WHERE name = 'problems')"
        " WHERE name = 'configs'"
    )
    assert doctor._database(store.path).text.startswith(
        f"{store.path}: no intact results database ("
    )


class TestResults:
    def test_a_new_folder_is_accepted_and_an_unwritable_one_reported(self, tmp_path):
        assert doctor._results(tmp_path / "new" / "results").remedy is None
        path = tmp_path / "new" / "results.sqlite"
        expected = f"{path}: does not exist yet; `pppca run CONFIG` creates it."
        assert doctor._database(path).text == expected
        (tmp_path / "file").write_text("")
        text = f"{tmp_path / 'file'}: cannot be written (Not a directory)."
        found = doctor._results(tmp_path / "file")
        assert found == CheckResult("results", text, "Name another folder with --results.")
        assert [path.name for path in tmp_path.iterdir()] == ["file"]

    def test_a_folder_that_may_not_be_searched_is_reported(self, tmp_path, monkeypatch):
        def refuse(self: Path) -> bool:
            raise PermissionError(errno.EACCES, "Permission denied", str(self))

        monkeypatch.setattr(Path, "exists", refuse)
        for result in (
            doctor._results(tmp_path / "a"),
            doctor._database(tmp_path / "a" / "results.sqlite"),
        ):
            assert "Permission denied" in result.text
            assert result.remedy is not None

    def test_a_full_disk_is_reported(self, tmp_path, monkeypatch):
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=5 * 2**20))
        assert doctor._results(tmp_path) == CheckResult(
            "results",
            f"{tmp_path}: can be written, 5 MB are free on its disk.",
            "Free some space, or name another folder with --results.",
        )
