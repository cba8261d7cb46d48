"""The names that the package offers: each is there, none is imported before it is used."""

import subprocess
import sys

import pytest

import pppca_bench


@pytest.mark.parametrize("name", pppca_bench.__all__)
def test_each_public_name_is_there_and_documented(name):
    assert getattr(pppca_bench, name).__doc__
    assert name in dir(pppca_bench)


def test_another_name_is_no_attribute():
    with pytest.raises(AttributeError, match="has no attribute 'NoSuchThing'"):
        _ = pppca_bench.NoSuchThing


def test_a_name_is_imported_where_it_is_used_and_nothing_before():
    program = (
        "import sys, pppca_bench; before = 'numpy' in sys.modules; from pppca_bench import DGHA;"
        " print(before, DGHA.__module__)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False pppca_bench.engines.dgha\n"
