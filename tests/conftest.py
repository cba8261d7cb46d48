"""Fixtures shared by all tests."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def proben1_dir() -> Path:
    """Return the folder that holds the Proben1 files, or skip; fail instead where PPPCA_REQUIRE_DATA=1."""
    places = [os.environ.get("PPPCA_DATA"), ROOT / "data", ROOT.parent / "shared" / "proben1"]
    for place in places:
        if place and (Path(place) / "cancer1.dt").is_file():
            return Path(place)
    if os.environ.get("PPPCA_REQUIRE_DATA") == "1":
        pytest.fail("the Proben1 files are required (PPPCA_REQUIRE_DATA=1) but were not found")
    pytest.skip("needs the Proben1 files: run `make data`")


@pytest.fixture
def nowhere_else(tmp_path, monkeypatch):
    """Look for data and results in this test's own folders alone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PPPCA_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
