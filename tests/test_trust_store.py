"""Stored results under full disks and careless records."""

import errno
import json
import os
from pathlib import Path

import numpy as np
import pytest
from builders import opened, plan_of, small, specs_of
from command_line import printed

from pppca_bench.errors import StoreError
from pppca_bench.experiments import cell, runner
from pppca_bench.experiments.cell import run_group
from pppca_bench.files import atomic_write
from pppca_bench.reporting.baseline import RecordedCell, read_baseline, write_baseline
from pppca_bench.reporting.comparison import Place
from pppca_bench.store.database import Store

pytestmark = pytest.mark.usefixtures("isolated_folders")

SPECS = specs_of(
    small(
        {"method": "dgha", "tau": 5.0, "n_epochs": 2},
        name="small",
        classifier={"hidden": [2], "max_epochs": 5},
    )
)


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> bytes:
    """Return a database of two runs that were really computed."""
    path = tmp_path_factory.mktemp("template") / "results.sqlite"
    with Store(path) as store:
        store.plan(plan_of(SPECS, "small"))
        assert runner.run(SPECS, store, opened(["iris"]), workers=0).n_done == 2
    return path.read_bytes()


@pytest.fixture
def path(template, tmp_path) -> Path:
    found = tmp_path / "pppca-results" / "results.sqlite"
    found.parent.mkdir()
    found.write_bytes(template)
    return found


@pytest.mark.parametrize(
    ("value", "status", "error"),
    [
        (np.inf, "failed", "optimality_percent: expected a finite number, got inf"),
        (np.nan, "done", None),
    ],
)
def test_trust_an_infinite_number_is_a_failed_run_and_an_undefined_one_is_none(
    monkeypatch, value, status, error
):
    monkeypatch.setattr(
        cell, "measure_reconstruction", lambda *_: {"optimality_percent": np.float64(value)}
    )
    (result, _) = run_group(SPECS, next(iter(opened(["iris"]).values()))[1])
    assert result.status == status
    assert "optimality_percent" not in result.values
    assert (result.error or "").startswith(error or "")


class TestOrigins:
    ORIGINS = (
        {"pppca": "1+abc", "numpy": "2.1", "configs": {"a": "1"}},
        {"pppca": "1+abd", "numpy": "2.1"},
    )

    @pytest.mark.parametrize(
        ("origins", "n_notes"), [(ORIGINS, 2), ((ORIGINS[0], ORIGINS[0] | {"configs": {}}), 0)]
    )
    def test_trust_a_cell_of_different_code_is_noted(self, path, origins, n_notes):
        with Store(path) as store:
            results = [result for _, result in store.runs()]
            for result, origin in zip(results, origins, strict=True):
                store.record([result], json.dumps(origin), replace=True)
        shown = printed("tables", "--results", path.parent)
        # In the list of runs, and in the table of what they retain.
        assert shown.count("In 1 cells, the repeats were computed with different code.") == n_notes
        assert shown.count("the repeats were computed with different") == n_notes


class TestBaseline:
    CELLS: dict[Place, RecordedCell] = {  # noqa: RUF012
        ("T5", "cancer1, 100%", tau, "test_error_percent"): RecordedCell({0: 1.5, 1: 2.0}, "ab")
        for tau in ("τ = 5", "τ = 10")
    }

    def test_trust_fewer_cells_are_recorded_only_by_force(self, tmp_path):
        path = tmp_path / "baseline.json"
        write_baseline(self.CELLS, path)
        one = dict(list(self.CELLS.items())[:1])
        with pytest.raises(
            StoreError, match=r"none for 1, such as T5, cancer1, 100%, τ = 10, .*`--force`"
        ):
            write_baseline(one, path)
        assert read_baseline(path) == self.CELLS
        write_baseline(one, path, force=True)
        for force in (False, True):
            with pytest.raises(StoreError, match="got none: nothing was recorded"):
                write_baseline({}, path, force=force)
        assert read_baseline(path) == one

    def test_trust_strict_fails_on_an_empty_baseline(self, path):
        empty = path.parent / "baseline.json"
        empty.write_text('{"format": 4, "cells": []}')
        refused = printed("compare", "--strict", "--results", path.parent, code=1)
        assert "expected a baseline of at least one cell, got none" in refused


class TestAtomicWrite:
    def test_trust_a_full_disk_leaves_the_old_file_and_nothing_beside_it(self, path, monkeypatch):
        out = path.parent / "runs.csv"
        atomic_write(out, "old")
        before = list(path.parent.iterdir())

        def full(_: int) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        assert str(out) in printed("export", "--results", path.parent, "--out", out, code=1)
        assert out.read_text() == "old"
        assert list(path.parent.iterdir()) == before

    def test_trust_it_keeps_mode_and_links(self, tmp_path):
        path = tmp_path / "table.md"
        atomic_write(path, "old")
        path.chmod(0o640)
        link = tmp_path / "link.md"
        link.symlink_to(path)
        atomic_write(link, b"new \xcf\x84")
        assert link.is_symlink()
        assert path.read_text(encoding="utf-8") == "new τ"
        assert path.stat().st_mode & 0o777 == 0o640


class TestSweep:
    def test_trust_render_removes_its_old_files_only(self, path):
        folder = path.parent
        printed("render", "--results", folder)
        stray, other = folder / "tables" / "OLD.md", folder / "figures" / "scaling.png"
        other.parent.mkdir(exist_ok=True)
        stray.write_text("left by an older version")
        other.write_text("somebody's")
        with (folder / ".rendered").open("a") as manifest:
            manifest.write("tables/OLD.md\n../outside\n")
        (folder.parent / "outside").write_text("precious")
        printed("render", "--results", folder)
        assert not stray.exists()
        assert other.exists()
        assert (folder.parent / "outside").exists()
        assert (folder / "tables" / "X.md").exists()
        assert "OLD" not in (folder / ".rendered").read_text()
