"""Workers of third-party code: fresh for each class and data set, without terminal, output, or a way to outlive us."""

import os
import pty
import sys
from multiprocessing import get_context

import pytest
import worker_calls as calls
from command_line import pppca_process
from third_party import write_own

from pppca_bench import load_results

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes of Linux"),
]


def runs_of(module, *names: str, options: tuple[object, ...] = (), code: int = 0, **config: str):
    """Run classes on a worker; return the runs by class, and what the command printed."""
    write_own(*(f'"{module}:{name}"' for name in names), **config)
    done = pppca_process("run", "own.yaml", "--workers", 1, *options)
    assert done.returncode == code, done.stderr
    runs = load_results()
    return runs.assign(method=runs["method"].str.partition(":")[2]), done


def test_a_worker_is_fresh_for_each_class_and_data_set_and_serves_all_its_settings_and_repeats(
    module,
):
    settings = f'{{method: "{module}:Process", parameters: {{power: [1, 2]}}}}'
    write_own(settings, f'"{module}:Other"', problems="[iris, wine]")
    assert pppca_process("run", "own.yaml", "--workers", 1, "--no-tables").returncode == 0
    runs = load_results()
    of_groups = runs.groupby(["method", "problem"])
    assert (of_groups["process"].nunique() == 1).all()
    assert runs["process"].nunique() == 4
    counts = {method.partition(":")[2]: list(n) for (method, _), n in of_groups["n_fits"]}
    assert {name: sorted(n) for name, n in counts.items()} == {
        "Process": [1, 2, 3, 4],
        "Other": [1, 2],
    }


def test_what_third_party_code_prints_goes_to_standard_error(module):
    _, done = runs_of(module, "Prints")
    assert done.stdout.startswith("X. Results of own\n")
    assert "printed by" not in done.stdout
    assert "printed by Python" in done.stderr
    assert "printed by another program" in done.stderr


def test_a_process_of_a_session_of_its_own_ends_with_the_command(module):
    runs, _ = runs_of(module, "Daemon")
    for left in runs["left"]:
        assert not os.path.exists(f"/proc/{left:.0f}/exe"), "it runs"  # noqa: PTH110


def test_a_terminal_stops_no_worker_and_one_that_is_stopped_exceeds_the_time_limit(module):
    runs, _ = runs_of(module, "Stops", "Halts", options=("--timeout", 3), code=1)
    found = runs.groupby("method")["status"].unique().map(list).to_dict()
    assert found == {"Stops": ["done"], "Halts": ["failed"]}
    assert set(runs["error"].dropna()) == {"timed out after 3 s"}


def test_a_question_for_the_user_fails_although_there_is_a_terminal():
    program = (
        "from getpass import getpass\nfrom pppca_bench.experiments.executors import Workers\n"
        "if __name__ == '__main__':\n"
        "    with Workers(1) as one:\n"
        "        print(type(one.submit(getpass).exception(timeout=100)).__name__)"
    )
    child, terminal = pty.fork()
    if not child:
        os.execv(sys.executable, [sys.executable, "-c", program])
    said = b""
    try:
        while read := os.read(terminal, 1_000):
            said += read
    except OSError:  # its end on Linux
        pass
    assert os.waitpid(child, 0)[1] == 0
    assert "EOFError" in said.decode()


def test_a_daemonic_process_is_told_to_compute_without_workers():
    with get_context("spawn").Pool(1) as daemonic:
        error = daemonic.apply(calls.start_workers)
    assert error == (
        "worker processes: expected a process that may start others, got a daemonic process, such as a worker of"
        " multiprocessing.Pool. Compute with workers=0."
    )
