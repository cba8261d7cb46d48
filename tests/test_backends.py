"""Where calls are computed: in this process or in workers, which may die and are renewed."""

import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from pppca_bench.experiments.backends import Backend, LocalProcesses, ThisProcess

PRELOAD = "pppca_bench.runs"


def process_and_sum(*numbers: int) -> tuple[int, int]:
    return os.getpid(), sum(numbers)


def die(_: object = None) -> None:
    os._exit(9)


def refuse() -> None:
    raise ValueError("no")


def wait_for(path: Path) -> str:
    while not path.exists():
        time.sleep(0.01)
    return path.name


def ignores_interruptions() -> bool:
    return signal.getsignal(signal.SIGINT) == signal.SIG_IGN


@pytest.fixture
def workers():
    """Return a function that makes backends of so many workers."""
    made = []

    def make(n_workers: int) -> LocalProcesses:
        made.append(LocalProcesses(n_workers, PRELOAD))
        return made[-1]

    yield make
    for backend in made:
        backend.close()


def test_this_process_computes_a_call_at_once():
    backend = ThisProcess()
    done = []
    future = backend.submit(done.append, 1)
    assert done == [1]
    assert future.done()
    assert not backend.has_lost(future)
    assert backend.submit(process_and_sum, 2, 3).result() == (os.getpid(), 5)
    assert (backend.n_workers, backend.n_held) == (1, 1), "so that each result is recorded before the next is computed"


def test_this_process_stays_as_it_is_when_it_is_renewed_closed_or_killed():
    backend: Backend = ThisProcess()
    backend.renew(5)
    backend.close()
    backend.kill()
    assert backend.n_workers == 1
    assert backend.submit(process_and_sum, 1).result() == (os.getpid(), 1)


def test_workers_compute_calls_elsewhere_and_side_by_side(workers, tmp_path):
    backend = workers(2)
    assert (backend.n_workers, backend.n_held) == (2, 4)
    first = backend.submit(wait_for, tmp_path / "second")
    second = backend.submit((tmp_path / "second").touch)
    assert first.result(timeout=60) == "second"
    assert second.result(timeout=60) is None
    process, total = backend.submit(process_and_sum, 1, 2).result(timeout=60)
    assert total == 3
    assert process != os.getpid()


def test_no_worker_is_started_before_there_is_a_call(workers):
    workers(2)
    assert multiprocessing.active_children() == []


def test_an_error_of_a_call_is_its_result_and_loses_nothing(workers):
    backend = workers(1)
    future = backend.submit(refuse)
    with pytest.raises(ValueError, match=r"^no$"):
        future.result(timeout=60)
    assert not backend.has_lost(future)


def test_a_call_whose_worker_died_is_lost_and_the_next_may_be_computed_after_renewal(workers):
    backend = workers(1)
    lost = backend.submit(die)
    lost.exception(timeout=60)
    assert backend.has_lost(lost)
    after = backend.submit(process_and_sum)
    assert backend.has_lost(after), "told by the future, as any other"
    backend.renew(2)
    assert (backend.n_workers, backend.n_held) == (2, 4)
    assert backend.submit(process_and_sum, 4).result(timeout=60)[1] == 4


def test_workers_are_deaf_to_an_interruption_from_the_terminal(workers):
    assert workers(1).submit(ignores_interruptions).result(timeout=60)


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="Linux tells the end of a process that is no child")
@pytest.mark.parametrize(("end", "stopped"), [("close", False), ("kill", False), ("kill", True)])
def test_no_worker_and_no_thread_is_left_at_the_end(workers, end, stopped):
    before = set(threading.enumerate())
    backend = workers(2)
    number, _ = backend.submit(process_and_sum).result(timeout=60)
    worker = os.pidfd_open(number)
    if stopped:
        os.kill(number, signal.SIGSTOP)
    getattr(backend, end)()
    assert multiprocessing.connection.wait([worker], timeout=60) == [worker]
    os.close(worker)
    for thread in set(threading.enumerate()) - before:
        thread.join(timeout=60)
    assert multiprocessing.active_children() == []
    assert set(threading.enumerate()) <= before


def test_closing_waits_for_what_is_under_way_and_killing_does_not(workers, tmp_path):
    backend = workers(1)
    backend.submit(process_and_sum).result(timeout=60)
    slow = backend.submit(process_and_sum, 1)
    backend.close()
    assert slow.done()
    never = backend.submit(wait_for, tmp_path / "never")
    backend.kill()
    assert never.exception(timeout=60) is not None


def test_what_was_closed_begins_again_with_the_next_call(workers):
    backend = workers(1)
    first = backend.submit(process_and_sum).result(timeout=60)[0]
    backend.close()
    assert backend.submit(process_and_sum).result(timeout=60)[0] != first


def test_what_was_killed_begins_again_with_the_next_call(workers):
    # A server that is still dying must not be asked for the next worker.
    for number in range(5):
        backend = workers(1)
        assert backend.submit(process_and_sum, number).result(timeout=60)[1] == number
        backend.kill()
