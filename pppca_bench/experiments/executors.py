"""Executors: in-process, local processes, or any executor of ``concurrent.futures``."""

from __future__ import annotations

import ast
import multiprocessing
import multiprocessing.util
import os
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pppca_bench.errors import ConfigError

if TYPE_CHECKING:
    from pppca_bench.problems import Problem, ProblemSource

PRELOADED = ["pppca_bench.experiments.choosing", "pppca_bench.experiments.worker"]
"""Modules that the server of the workers imports before it forks them: everything that a run calls."""

PATIENCE_S = 30.0
"""Time for a server that was killed to end, so that it can be started again."""

MAX_TEMPORARY = 70
"""Largest length of a temporary folder in bytes: addresses of sockets, which have 32 more, have at most 103."""


def check_main_guard() -> None:
    """Raise ConfigError if a script calls this at its top level: workers import the script, and would call it, too."""
    main = sys.modules["__main__"]
    path = getattr(main, "__file__", None)
    lines = [
        line
        for frame, line in traceback.walk_stack(sys._getframe(1))
        if frame.f_globals is vars(main) and frame.f_code.co_name == "<module>"
    ]
    if not lines or path is None or not Path(path).is_file():
        return
    statements = ast.parse(Path(path).read_bytes()).body
    reached = [each for each in statements if (each.end_lineno or 0) >= lines[0]]
    here = (reached or statements[-1:])[0]
    if not (isinstance(here, ast.If) and "__name__" in ast.dump(here.test)):
        raise ConfigError(
            f'{path}:{lines[0]}: expected `if __name__ == "__main__":` before a call with worker processes, which'
            " import this script, got none. Put the call below it, or compute with workers=0."
        )


class Workers:
    """An executor that is created at the first call, and again after it was discarded.

    As a context manager, it kills its workers at the end of the block, with all processes that they have started: calls
    in flight are lost.

    Parameters
    ----------
    n_workers : int
        Number of calls that are computed at a time; 0 computes each call in this process when it is submitted.
    new_executor : callable(n_workers) -> Executor, optional
        Creates the executor; by default a pool of local processes.
    timeout : float, optional
        Time limit of a run in seconds, at which its worker ends. Choice: with a limit, 0 workers are a single worker,
        since a process can only be ended from outside if it hangs in compiled code.
    """

    def __init__(
        self,
        n_workers: int,
        new_executor: Callable[[int], Executor] | None = None,
        *,
        timeout: float | None = None,
    ) -> None:
        self.n_workers = 1 if timeout and not n_workers else n_workers
        self.timeout = timeout
        self._n_each = 1 if timeout else 2  # calls in flight; with a limit, none waits for another
        self._new_executor = new_executor or _Processes
        self._executor: Executor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.renew()

    @property
    def n_in_flight(self) -> int:
        """Number of calls to submit at a time."""
        return self._n_each * self.n_workers if self.n_workers else 1

    def loader(self, source: ProblemSource, problem: Problem) -> Callable[[], Problem]:
        """Return a function by which a call loads the data of a source; ``problem`` is the source's first split."""
        from pppca_bench.problems import load_source

        return partial(load_source, source) if self.n_workers or source.split else lambda: problem

    def submit(self, call: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Submit a call."""
        if not self.n_workers:
            here: Future[Any] = Future()
            here.set_result(call(*arguments))
            return here
        self._executor = self._executor or self._new_executor(self.n_workers)
        return self._executor.submit(call, *arguments)

    def is_lost(self, future: Future[Any]) -> bool:
        """Return whether a finished call has no result because its worker died."""
        return isinstance(future.exception(), BrokenExecutor)

    def renew(self) -> None:
        """Discard the executor and its calls."""
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait=False, cancel_futures=True)


class _Processes(Executor):
    """Worker processes, each started and awaited by a thread: a worker that dies loses only the call it computes."""

    def __init__(self, n_workers: int) -> None:
        start_server()
        self._threads = ThreadPoolExecutor(n_workers)
        self._of_thread = threading.local()
        self._processes: list[BaseProcess] | None = []  # None after the end
        self._lock = threading.Lock()

    def submit(self, call: Callable[..., Any], /, *arguments: Any, **_: Any) -> Future[Any]:
        return self._threads.submit(self._ask, call, arguments)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Kill the workers, after the calls in flight unless these are cancelled."""
        self._threads.shutdown(wait=wait, cancel_futures=cancel_futures)
        with self._lock:
            processes, self._processes = self._processes or [], None
        for process in processes:
            _kill(process)
        self._threads.shutdown()

    def _ask(self, call: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """Return the result of a call in the worker of this thread, which is started first if there is none."""
        self._of_thread.worker = process, connection = (
            getattr(self._of_thread, "worker", None) or self._start()
        )
        try:
            connection.send((call, arguments))
            wait([connection, process.sentinel])
            if not connection.poll():
                # a process that the worker has started may hold the connection open
                raise EOFError
            result, error = connection.recv()
        except (EOFError, OSError):
            self._of_thread.worker = None
            connection.close()
            with self._lock:
                if self._processes is not None:
                    self._processes.remove(process)
                    _kill(process)
                    process.close()
            raise BrokenExecutor from None
        if error is not None:
            raise error
        return result

    def _start(self) -> tuple[BaseProcess, Connection]:
        with self._lock:
            if self._processes is None:
                raise BrokenExecutor
            worker = _start_worker()
            self._processes.append(worker[0])
        return worker


def _start_worker() -> tuple[BaseProcess, Connection]:
    """Start a worker, and return it with the connection to it.

    A server that is killed may have started a worker before: each has a connection of its own, since the lost worker
    would take the call of the next.
    """
    end = time.perf_counter() + PATIENCE_S
    while True:
        parent_end, worker_end = multiprocessing.Pipe()
        process: BaseProcess = start_server().Process(target=_serve, args=(worker_end,))  # type: ignore[attr-defined]
        try:
            process.start()
        except (EOFError, ConnectionError, FileNotFoundError):
            if time.perf_counter() > end:
                raise
            time.sleep(0.01)  # a server that was killed counts as alive until it has ended
        else:
            worker_end.close()
            return process, parent_end


def _kill(process: BaseProcess) -> None:
    """Kill a worker and the processes that it has started, and wait for its end."""
    if process.pid and hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            # no process is left, or it has not formed its group
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.join()


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


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM wait for the end of the block."""
    arrived = list[int]()
    in_main = threading.current_thread() is threading.main_thread()
    handlers = {
        number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM) if in_main
    }
    for number in handlers:
        signal.signal(number, lambda number, _: arrived.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for late in arrived:
            signal.raise_signal(late)


def start_server() -> BaseContext:
    """Start the server that imports the modules of workers and forks them, and return the context of processes."""
    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
    if context.get_start_method() == "forkserver":
        from multiprocessing import forkserver, resource_tracker

        context.set_forkserver_preload(PRELOADED)
        if len(os.fsencode(tempfile.gettempdir())) > MAX_TEMPORARY:
            before, tempfile.tempdir = tempfile.tempdir, "/tmp"
            multiprocessing.util.get_temp_dir()  # creates the folder of addresses
            tempfile.tempdir = before
        with shielded_children():
            resource_tracker.ensure_running()  # which lets Ctrl-C through again
        with shielded_children():
            forkserver.ensure_running()
    return context


def _serve(connection: Connection) -> None:
    """Compute calls in this worker until the connection is closed."""
    _prepare_worker()
    with suppress(EOFError):
        while True:
            call, arguments = connection.recv()
            made: tuple[Any, Exception | None]
            try:
                made = call(*arguments), None
            except Exception as error:  # noqa: BLE001 raised again by the caller
                made = None, error
            connection.send(made)


def _prepare_worker() -> None:
    """Ignore Ctrl-C, and end this worker with its parent, even if the parent is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.pop("PYTHONSAFEPATH", None)
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)  # of this worker and the processes that it starts
    parent: Any = multiprocessing.parent_process()

    def end_with_parent() -> None:
        parent.join()
        if hasattr(os, "killpg"):
            os.killpg(0, signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
