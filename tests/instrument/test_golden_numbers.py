"""Small plans give the numbers that tests/golden pins, with the versions of libraries that constraints.txt pins.

`python tests/golden_numbers.py` pins them again; see there.
"""

import json

import pytest
from golden_numbers import (
    PLANS,
    algorithms_of,
    computed,
    installed_versions,
    path_of,
    pinned_versions,
)

AGAIN = "pin them again with `python tests/golden_numbers.py`"


@pytest.fixture(params=PLANS)
def name(request) -> str:
    return request.param


@pytest.fixture
def golden(name) -> dict:
    return json.loads(path_of(name).read_text(encoding="utf-8"))


def test_the_numbers_are_of_todays_constraints_and_algorithms(name, golden):
    assert golden["versions"] == pinned_versions(), AGAIN
    assert golden["algorithms"] == algorithms_of(name), AGAIN


def test_a_small_plan_gives_the_pinned_numbers(name, golden):
    if (installed := installed_versions()) != pinned_versions():
        pytest.skip(f"numbers are pinned for {pinned_versions()} alone, not for {installed}")
    runs = computed(name)
    assert len(runs) == len(golden["runs"])
    for run, expected in zip(runs, golden["runs"], strict=True):
        assert run["status"] == "done"
        assert {key: about(value) for key, value in expected.items()} == run


def about(value: object) -> object:
    """Return a number without its last digits: processors differ in the last bits of sums."""
    return pytest.approx(value, rel=1e-6, abs=1e-9) if isinstance(value, float) else value
