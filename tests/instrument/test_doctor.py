"""``pppca doctor``: checks of environment, cache, data and results, and their remedies."""

import errno
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from builders import done, plan_of
from command_line import printed

from pppca_bench.compiled import cache
from pppca_bench.errors import DataError
from pppca_bench.experiments import doctor
from pppca_bench.experiments.doctor import CheckResult
from pppca_bench.runs import Cell, RunSpec
from pppca_bench.store.database import Store

SPEC = RunSpec("key0", Cell("iris", "a" * 64, "dgha", {"tau": 5.0}, {}), 0, 0)

pytestmark = pytest.mark.usefixtures("isolated_folders")


def refuse(*_: object, **__: object) -> None:
    raise PermissionError(errno.EACCES, "Permission denied")


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "pppca-results" / "results.sqlite") as store:
        store.plan(plan_of([SPEC]))
        yield store


@pytest.mark.usefixtures("quick_doctor", "store")
def test_each_check_is_a_line():
    first, *lines, last = printed("doctor").splitlines()
    assert (first, last) == ("ok  environment: Good.", "All checks passed.")
    expected = ["ok  cache", "ok  results", "ok  database"]
    assert [line.split(":")[0] for line in lines] == expected


@pytest.mark.usefixtures("quick_doctor")
def test_a_failed_check_is_a_line_with_its_remedy_and_nothing_changes(store):
    store.rows("UPDATE cells SET settings = '{'")
    before = store.path.read_bytes()
    *_, line, last = printed("doctor", code=1).splitlines()
    said = r"!!  database: pppca-results/results\.sqlite: no intact .* Restore it from a backup"
    assert re.match(said, line)
    assert last == "1 check failed."
    assert store.path.read_bytes() == before


@pytest.mark.parametrize(("disabled", "remedy"), [("0", None), ("1", "Unset it.")])
def test_cores_are_counted_and_code_that_is_not_compiled_is_reported(monkeypatch, disabled, remedy):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", disabled)
    result = doctor._environment()
    assert " processor cores for `pppca run`, " in result.text
    assert result.remedy == remedy


def test_a_new_cache_is_accepted_unchanged_and_one_that_cannot_be_written_reported(
    tmp_path, monkeypatch
):
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "compiled"))
    folder = cache.folders()[0]
    assert doctor._cache() == CheckResult("cache", f"{folder}: can be written.")
    assert not folder.exists()
    monkeypatch.setattr(cache.tempfile, "TemporaryFile", refuse)
    text = (
        f"compiled kernels cannot be cached, so every process compiles them again ({folder}: Permission denied)."
        " Set NUMBA_CACHE_DIR."
    )
    assert doctor._cache() == CheckResult("cache", text, "")


def test_each_problem_is_read_and_an_error_is_reported(monkeypatch):
    def load(name: str, data_dir: Path) -> None:
        if name in "bc":
            raise DataError(f"{data_dir}/{name}.dt: damaged.")

    monkeypatch.setattr(doctor, "known_problems", lambda _: [*"abcd"])
    monkeypatch.setattr(doctor, "load_problem", load)
    assert list(doctor._data(Path("mine"))) == [
        *(CheckResult("data", f"mine/{name}.dt: damaged.", "") for name in "bc"),
        CheckResult("data", "2 of 4 Proben1 files are as registered."),
    ]


def test_an_intact_database_is_accepted_and_damage_apart_from_runs_is_reported(store):
    store.record([done(SPEC, {"curve": np.zeros(2)})], "{}")
    assert doctor._database(store.path).remedy is None
    store.rows("PRAGMA writable_schema = ON")
    root = "SELECT rootpage FROM sqlite_master WHERE name = 'problems'"
    store.rows(f"UPDATE sqlite_master SET rootpage = ({root}) WHERE name = 'configs'")
    said = f"{store.path}: no intact results database ("
    assert doctor._database(store.path).text.startswith(said)


def test_a_new_folder_is_accepted_and_an_unwritable_one_reported(tmp_path):
    assert doctor._results(tmp_path / "new" / "results").remedy is None
    path = tmp_path / "new" / "results.sqlite"
    expected = f"{path}: does not exist yet; `pppca run CONFIG` creates it."
    assert doctor._database(path).text == expected
    (tmp_path / "file").write_text("")
    text = f"{tmp_path / 'file'}: cannot be written (Not a directory)."
    remedy = "Name another folder with --results."
    assert doctor._results(tmp_path / "file") == CheckResult("results", text, remedy)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("check", [doctor._results, doctor._database])
def test_a_folder_that_may_not_be_searched_is_reported(tmp_path, monkeypatch, check):
    monkeypatch.setattr(Path, "exists", refuse)
    result = check(tmp_path / "results.sqlite")
    assert "Permission denied" in result.text
    assert result.remedy is not None


def test_a_full_disk_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=5 * 2**20))
    text = f"{tmp_path}: can be written, 5 MB are free on its disk."
    remedy = "Free some space, or name another folder with --results."
    assert doctor._results(tmp_path) == CheckResult("results", text, remedy)
