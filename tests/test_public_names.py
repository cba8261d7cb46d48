"""Public names of the package, imported at their first use."""

import subprocess
import sys

import pytest

import pppca_bench


@pytest.mark.parametrize("name", pppca_bench.__all__)
def test_each_public_name_exists_and_is_documented(name):
    assert getattr(pppca_bench, name).__doc__
    assert name in dir(pppca_bench)


def test_an_unknown_name_raises_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'NoSuchThing'"):
        _ = pppca_bench.NoSuchThing


def test_importing_the_package_imports_no_estimator():
    program = (
        "import sys, pppca_bench; before = 'numpy' in sys.modules; from pppca_bench import DGHA;"
        " print(before, DGHA.__module__)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False pppca_bench.engines.dgha\n"
