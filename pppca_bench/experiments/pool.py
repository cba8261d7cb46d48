"""Pool of worker processes, each fresh for its group of third-party runs."""

from __future__ import annotations

import gc
import multiprocessing
import multiprocessing.util
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from multiprocessing.context import BaseContext
from typing import Any

from pebble import ProcessExpired, ProcessPool

from pppca_bench.errors import ConfigError

PRELOADED = ["pebble", "pppca_bench.experiments.choosing", "pppca_bench.experiments.worker"]
"""Modules that the server of the workers imports before it forks them: everything that a run calls."""

PATIENCE_S = 30.0
"""Time for a server that was killed to end, so that it can be started again."""

LOOK_S = 1.0
"""Time after which a process is looked for whose result is awaited."""

MAX_TEMPORARY = 70
"""Largest length of a temporary folder in bytes: addresses of sockets, which have 32 more, have at most 103."""


_starting = threading.Lock()
"""Held while the server is started, which changes the environment."""


class TimedOutError(BrokenExecutor):
    """A call exceeded its time limit, and its worker was killed."""


class ProcessExecutor(Executor):
    """Worker processes, each started and awaited by a thread.

    Choice: each worker has a pebble pool of its own. The workers of a pool share a pipe and its lock, which a worker
    that is killed may hold; here it loses only the call that it computes.

    Parameters
    ----------
    n_workers : int
        Number of calls that are computed at a time.
    timeout : float, optional
        Time limit of a call in seconds, at which this process kills the worker.
    """

    def __init__(self, n_workers: int, timeout: float | None = None) -> None:
        start_server()
        self._timeout = timeout
        self._threads = ThreadPoolExecutor(n_workers)
        self._of_thread = threading.local()
        self._workers = set[_Worker]()
        self._is_open = True
        self._lock = threading.Lock()

    def submit(self, call: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        """Submit a call.

        The option ``group`` names the third-party code that it executes on some data, None for none: no other group's
        code was executed in its worker. ``before`` is called first, with the same arguments, if calls have a time
        limit; its own time is unlimited.
        """
        return self._threads.submit(self._ask, call, arguments, **options)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Kill the workers, after the calls in flight unless these are cancelled."""
        self._threads.shutdown(wait=wait, cancel_futures=cancel_futures)
        with self._lock:
            self._is_open = False
            started = list(self._workers)
        for worker in started:
            worker.kill()
        self._threads.shutdown()  # a thread whose call was lost discards its worker
        _end(list(self._workers))

    def _ask(
        self,
        call: Callable[..., Any],
        arguments: Sequence[Any],
        group: Hashable = None,
        before: Callable[..., Any] | None = None,
    ) -> Any:
        """Return the result of a call in the worker of this thread."""
        worker = self._worker_for(group)
        try:
            if before is not None and self._timeout is not None:
                worker.call(before, arguments)
            return worker.call(call, arguments, self._timeout)
        except BrokenExecutor:
            self._discard(worker)
            raise

    def _worker_for(self, group: Hashable) -> _Worker:
        """Return this thread's worker, or a fresh worker if that has executed third-party code of another group."""
        worker: _Worker | None = getattr(self._of_thread, "worker", None)
        if worker is not None and worker.group not in (None, group):
            self._discard(worker)
            worker = None
        if worker is None:
            worker = _start_worker()
            with self._lock:
                self._workers.add(worker)
                is_late = not self._is_open
            if is_late:
                self._discard(worker)
                raise BrokenExecutor
            self._of_thread.worker = worker
        worker.group = group
        return worker

    def _discard(self, worker: _Worker) -> None:
        self._of_thread.worker = None
        with self._lock:
            self._workers.discard(worker)
        worker.kill()
        _end([worker])


class _Worker:
    """A worker process in a pebble pool; its ``group`` is that of the third-party code that it has executed."""

    def __init__(self) -> None:
        self.group: Hashable = None
        self.pool = ProcessPool(max_workers=1, initializer=prepare_worker, context=start_server())
        try:
            self._process = self.pool.schedule(os.getpid).result()
        except (OSError, EOFError, BrokenExecutor):
            _end([self])
            raise

    def call(
        self, call: Callable[..., Any], arguments: Sequence[Any], timeout: float | None = None
    ) -> Any:
        """Return the result of a call; raise BrokenExecutor if the process died, TimedOutError at the time limit."""
        try:
            future = self.pool.schedule(call, args=arguments, timeout=timeout)
            while not wait([future], LOOK_S).done:
                # pebble overlooks a process that ends itself with exit code 0
                if not self._is_alive() and not wait([future], LOOK_S).done:
                    raise BrokenExecutor
            return future.result()
        except TimeoutError as error:
            if hasattr(error, "traceback"):  # pebble's mark of an exception of the call
                raise
            raise TimedOutError from None
        except (ProcessExpired, RuntimeError) as error:
            if hasattr(error, "traceback"):
                raise
            raise BrokenExecutor from None

    def _is_alive(self) -> bool:
        try:
            if os.name == "posix":
                os.kill(self._process, 0)
        except ProcessLookupError:
            return False
        return True

    def kill(self) -> None:
        """Kill the process, with those that it has started in its session's group."""
        if hasattr(os, "killpg"):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process, signal.SIGKILL)


def _end(workers: Sequence[_Worker]) -> None:
    """End the pools of workers, all at a time."""
    for worker in workers:
        worker.pool.stop()
    for worker in workers:
        worker.pool.join()


def _start_worker() -> _Worker:
    """Start a worker, also while a server that was killed has not ended yet, and counts as alive."""
    end = time.perf_counter() + PATIENCE_S
    while True:
        try:
            return _Worker()
        except (OSError, EOFError, BrokenExecutor):
            if time.perf_counter() > end:
                raise
            time.sleep(0.01)


def prepare_worker() -> None:
    """Detach this worker from terminal and standard output, and end it with its parent, even if that is killed.

    Without a terminal, nothing that a run calls can wait for an answer, or be stopped for asking.
    """
    os.environ.pop("PYTHONSAFEPATH", None)
    # compilation allocates much and frees little: by default, garbage collection takes a fifth of its time
    gc.set_threshold(100_000)
    if hasattr(os, "setsid"):
        os.setsid()
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    os.dup2(2, 1)  # output of C libraries and of other programs, too
    parent: Any = multiprocessing.parent_process()

    def end_with_parent() -> None:
        parent.join()
        if hasattr(os, "killpg"):
            os.killpg(0, signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()


def start_server() -> BaseContext:
    """Start the server that imports the modules of workers and forks them, and return the context of processes.

    Raise ConfigError in a daemonic process, which may start no other.
    """
    if multiprocessing.current_process().daemon:
        raise ConfigError(
            "worker processes: expected a process that may start others, got a daemonic process, such as a worker of"
            " multiprocessing.Pool. Compute with workers=0."
        )
    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
    if context.get_start_method() == "forkserver":
        from multiprocessing import forkserver, resource_tracker

        context.set_forkserver_preload(PRELOADED)
        with _starting:
            if len(os.fsencode(tempfile.gettempdir())) > MAX_TEMPORARY:
                before, tempfile.tempdir = tempfile.tempdir, "/tmp"
                multiprocessing.util.get_temp_dir()  # creates the folder of addresses
                tempfile.tempdir = before
            with shielded_children():
                resource_tracker.ensure_running()  # which lets Ctrl-C through again
            with shielded_children():
                forkserver.ensure_running()
    return context


@contextmanager
def shielded_children() -> Iterator[None]:
    """Let processes that are started in the block ignore Ctrl-C, which a terminal sends to all of them.

    They import no modules of the working directory in place of Python's.
    """
    safe_path = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    has_masks = hasattr(signal, "pthread_sigmask")
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if has_masks else set()
    try:
        yield
    finally:
        if has_masks:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        del os.environ["PYTHONSAFEPATH"]
        if safe_path is not None:
            os.environ["PYTHONSAFEPATH"] = safe_path
