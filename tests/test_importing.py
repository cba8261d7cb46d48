"""What processes import before they compute: what workers call, and as little else as can be."""

import subprocess
import sys

import numpy as np
import pytest


def printed_by(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture(scope="module")
def of_the_server() -> str:
    """Return what the server of workers prints that has imported what it does, and then calls scipy.stats."""
    return printed_by(
        "import gc, sys\nimport pppca_bench.experiments.preloaded\n"
        "late = {'scipy.stats._stats_py', 'pandas.core.api', 'numpy.f2py.crackfortran'}\n"
        "print(sorted(late & set(sys.modules)), 'sklearn' in sys.modules, gc.isenabled())\n"
        "from scipy.stats import rankdata\nimport scipy.stats\n"
        "print(rankdata([3, 1, 2]), scipy.stats.rankdata is rankdata)"
    )


def test_the_server_of_workers_loads_no_statistics_or_tables_and_collects_garbage_again(of_the_server):
    assert of_the_server.splitlines()[0] == "[] True True"


def test_statistics_are_loaded_by_who_calls_them(of_the_server):
    assert of_the_server.splitlines()[1] == f"{np.array([3.0, 1.0, 2.0])} True"


def test_a_run_of_arrays_needs_neither():
    program = (
        "import sys\nimport numpy as np\nfrom pppca_bench.experiments import preloaded\n"
        "from pppca_bench.classifiers import BackpropMLPClassifier\nfrom pppca_bench.engines import DGHA, NEpPCA\n"
        "X = np.random.default_rng(0).uniform(size=(30, 4))\ny = np.arange(30) % 2\n"
        "for reducer in (DGHA(random_state=0), NEpPCA(random_state=0)):\n"
        "    Z = reducer.fit(X).transform(X)\n"
        "    BackpropMLPClassifier(max_epochs=3, random_state=0).fit(Z, y, Z, y, classes=np.arange(2)).predict(Z)\n"
        "print(sorted({'scipy.stats._stats_py', 'pandas.core.api'} & set(sys.modules)))"
    )
    assert printed_by(program) == "[]"


def test_a_worker_does_not_import_the_command_line_that_its_parent_was_started_with():
    program = "import sys, pppca_bench.__main__; print(*sorted({'click', 'pppca_bench.cli.main'} & set(sys.modules)))"
    assert printed_by(program) == ""
