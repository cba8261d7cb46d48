"""Workers: in this process or others, which may die, be discarded, or lose the server that forks them."""

import multiprocessing
import multiprocessing.connection
import os
import signal
import subprocess
import sys
import threading

import pytest
import worker_calls as calls
from builders import small, write_config
from command_line import output_of, pppca_process

from pppca_bench.experiments import executors
from pppca_bench.experiments.executors import Workers

LINUX = pytest.mark.skipif(
    not hasattr(os, "pidfd_open"), reason="Linux waits for a process that is no child"
)


def test_without_workers_this_process_computes_a_call_at_once():
    here = Workers(0)
    future = here.submit(calls.process_and_sum, 2, 3)
    assert (future.done(), here.is_lost(future)) == (True, False)
    assert future.result() == (os.getpid(), 5)
    here.renew()
    assert here.n_in_flight == 1, "so that each result is recorded before the next is computed"
    assert here.submit(calls.process_and_sum, 1).result() == (os.getpid(), 1)


def test_workers_compute_calls_in_other_processes_and_side_by_side(workers, tmp_path):
    two = workers(2)
    assert two.n_in_flight == 4
    assert multiprocessing.active_children() == [], "no worker starts before there is a call"
    first = two.submit(calls.wait_for, tmp_path / "second")
    second = two.submit((tmp_path / "second").touch)
    assert first.result(timeout=60) == "second"
    assert second.result(timeout=60) is None
    process, total = two.submit(calls.process_and_sum, 1, 2).result(timeout=60)
    assert total == 3
    assert process != os.getpid()
    assert two.submit(calls.ignores_interruptions).result(timeout=60)


def test_an_error_of_a_call_is_its_result_and_loses_nothing(workers):
    one = workers(1)
    future = one.submit(calls.refuse)
    with pytest.raises(ValueError, match=r"^no$"):
        future.result(timeout=60)
    assert not one.is_lost(future)
    one.renew()
    assert one.n_in_flight == 2


def test_only_the_call_of_a_dead_worker_is_lost_and_a_new_one_computes_the_next(workers, tmp_path):
    two = workers(2)
    other = two.submit(calls.wait_for, tmp_path / "later")
    lost = two.submit(os._exit, 9)
    lost.exception(timeout=60)
    assert two.is_lost(lost)
    assert two.submit(calls.process_and_sum, 4).result(timeout=60)[1] == 4
    (tmp_path / "later").touch()
    assert other.result(timeout=60) == "later"


@LINUX
@pytest.mark.parametrize("end", ["renew", "death"])
def test_threads_and_processes_that_a_call_leaves_end_with_its_worker(workers, end):
    one = workers(1)
    left = os.pidfd_open(one.submit(calls.start_a_child_and_a_thread).result(timeout=60))
    if end == "death":
        assert one.is_lost(one.submit(os._exit, 1))
    else:
        one.renew()
    assert multiprocessing.connection.wait([left], timeout=60) == [left]
    os.close(left)


def test_signals_wait_for_the_end_of_a_block():
    recorded = []

    def record() -> None:
        with executors.uninterrupted():
            signal.raise_signal(signal.SIGINT)
            recorded.append("all")

    with pytest.raises(KeyboardInterrupt):
        record()
    assert recorded == ["all"]


@LINUX
@pytest.mark.parametrize(
    ("error", "is_stopped"), [(None, False), (KeyboardInterrupt, False), (KeyboardInterrupt, True)]
)
def test_no_worker_and_no_thread_is_left_at_the_end(workers, error, is_stopped):
    before = set(threading.enumerate())
    with pytest.raises(error) if error else workers(0), workers(2) as two:
        number, _ = two.submit(calls.process_and_sum).result(timeout=60)
        worker = os.pidfd_open(number)
        if is_stopped:
            os.kill(number, signal.SIGSTOP)
        if error:
            raise error
    assert multiprocessing.connection.wait([worker], timeout=60) == [worker]
    os.close(worker)
    for thread in set(threading.enumerate()) - before:
        thread.join(timeout=60)
    assert multiprocessing.active_children() == []
    assert set(threading.enumerate()) <= before


def test_renewing_does_not_wait_for_the_calls_in_flight(workers, tmp_path):
    one = workers(1)
    one.submit(calls.process_and_sum).result(timeout=60)
    never = one.submit(calls.wait_for, tmp_path / "never")
    one.renew()
    assert never.cancelled() or never.exception(timeout=60) is not None


@pytest.mark.skipif(
    "forkserver" not in multiprocessing.get_all_start_methods(),
    reason="workers have no server here",
)
def test_a_server_that_was_killed_is_started_again_and_the_call_of_its_worker_is_lost(workers):
    one = workers(1)
    before = one.submit(os.getppid).result(timeout=60)
    lost = one.submit(calls.kill_the_server_and_wait)
    lost.exception(timeout=60)
    assert one.is_lost(lost)
    after = one.submit(os.getppid).result(timeout=60)
    os.kill(after, signal.SIGKILL)  # it counts as alive until it has ended
    assert len({before, after, workers(1).submit(os.getppid).result(timeout=60)}) == 3


def test_a_worker_does_not_import_the_command_line_that_its_parent_was_started_with():
    loaded = "{'click', 'pppca_bench.cli.main'} & set(sys.modules)"
    assert output_of(f"import sys, pppca_bench.__main__; print(*{loaded})") == "\n"


def test_modules_of_the_working_directory_replace_none_of_pythons(tmp_path):
    for name in ("random", "queue", "numpy", "signal", "socket", "threading", "tempfile"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')")
    path = write_config(tmp_path, small({"method": "all_features"}, repeats=1))
    done = pppca_process("run", path, "--no-tables", "--workers", 1, cwd=tmp_path)
    assert done.stderr.endswith("1 runs done, 0 were already stored.\n")
    assert "imported" not in done.stderr


def test_a_long_temporary_folder_starts_workers(tmp_path):
    folder = tmp_path / ("t" * 110)
    folder.mkdir()
    program = (
        "from pppca_bench.experiments import executors, pool\n"
        "pool.PRELOADED = []\n"
        "with executors.Workers(1) as one:\n    print(one.submit(len, 'abc').result(60))"
    )
    assert output_of(program, TMPDIR=str(folder)) == "3\n"


@pytest.mark.parametrize("code", [0, 9])
def test_a_call_that_ends_its_process_is_lost_whatever_its_exit_code(workers, code):
    one = workers(1)
    lost = one.submit(os._exit, code)
    lost.exception(timeout=60)
    assert one.is_lost(lost)
    assert not one.has_timed_out(lost, 100.0)


def test_the_time_limit_ends_a_call_that_lets_no_other_thread_run_but_not_what_comes_before():
    with Workers(1, timeout=1) as one:
        endless = one.submit(calls.hold_the_interpreter)
        endless.exception(timeout=60)
        assert (one.is_lost(endless), one.has_timed_out(endless, 0.0)) == (True, True)
        prepared = one.submit(abs, 2, before=calls.take_longer_than_a_second)
        assert prepared.result(timeout=60) == 2


@LINUX
def test_a_worker_that_is_stopped_exceeds_the_time_limit():
    with Workers(1, timeout=1) as one:
        stopped = one.submit(calls.stop)
        stopped.exception(timeout=60)
        assert one.has_timed_out(stopped, 0.0)


CALL = "executors.check_main_guard()"


@pytest.mark.parametrize(
    ("script", "is_refused"),
    [
        (CALL, True),
        (f"def call():\n    {CALL}\nif True:\n    call()", True),
        (f"def call():\n    {CALL}\n\n\nif '__main__' == __name__:\n    call()", False),
    ],
)
def test_a_script_whose_workers_would_run_it_again_is_refused(tmp_path, script, is_refused):
    path = tmp_path / "s.py"
    path.write_text(f"from pppca_bench.experiments import executors\n{script}\n")
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False)
    assert done.returncode == is_refused
    said = 'expected `if __name__ == "__main__":` before a call with worker'
    assert (said in done.stderr) == is_refused
