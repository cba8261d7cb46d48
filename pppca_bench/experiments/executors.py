"""Executors: in-process, local processes, or any executor of ``concurrent.futures``."""

from __future__ import annotations

import ast
import inspect
import multiprocessing
import multiprocessing.util
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pppca_bench.errors import ConfigError, PppcaError

if TYPE_CHECKING:
    from pppca_bench.problems import Problem, ProblemSource

PRELOADED = ["pppca_bench.experiments.choosing", "pppca_bench.experiments.worker"]
"""Modules that the server of the workers imports before it forks them: everything that a run calls."""

MAX_TEMPORARY = 70
"""Largest length of a temporary folder in bytes: addresses of sockets, which have 32 more, have at most 103."""

CPU_MAX = Path("/sys/fs/cgroup/cpu.max")
"""Limit of a container: microseconds of processor time, or "max", in a period of microseconds."""


def available_cores() -> int:
    """Return the number of processor cores that this process may use, also by the limit of its control group."""
    n_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(OSError, ValueError):  # no such file, or "max"
        quota, period = map(int, CPU_MAX.read_text(encoding="ascii").split())
        n_cores = min(n_cores, max(1, -(-quota // period)))
    return n_cores


def check_main_guard() -> None:
    """Raise ConfigError if a script calls this at its top level: workers import the script, and would call it, too."""
    main, frame = sys.modules["__main__"], inspect.currentframe()
    while frame is not None and (frame.f_globals is not vars(main) or frame.f_code.co_name != "<module>"):
        frame = frame.f_back
    path = getattr(main, "__file__", None)
    if frame is None or path is None or not Path(path).is_file():
        return
    statements = ast.parse(Path(path).read_bytes()).body
    (here, *_) = [each for each in statements if (each.end_lineno or 0) >= frame.f_lineno] or statements[-1:]
    if not (isinstance(here, ast.If) and "__name__" in ast.dump(here.test)):
        raise ConfigError(
            f'{path}:{frame.f_lineno}: expected `if __name__ == "__main__":` before a call with worker processes, which'
            " import this script, got none. Put the call below it, or compute with workers=0."
        )


class Workers:
    """An executor that is created at the first call, and again after it broke or was discarded.

    As a context manager, it waits for its workers at the end of the block, or kills them after an exception.

    Parameters
    ----------
    n_workers : int
        Number of calls that are computed at a time; 0 computes each call in this process when it is submitted.
    new_executor : callable(n_workers) -> Executor, optional
        Creates the executor; by default a pool of local processes.
    """

    def __init__(self, n_workers: int, new_executor: Callable[[int], Executor] | None = None) -> None:
        self.n_workers = n_workers
        self._size = n_workers
        self._new_executor = new_executor or (_process_pool if n_workers else _InProcess)
        self._executor: Executor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.renew()
            if self._new_executor is _process_pool:
                _stop_server()

    @property
    def n_in_flight(self) -> int:
        """Number of calls to submit at a time: two for each worker, which computes the first meanwhile."""
        return 2 * self._size if self.n_workers else 1

    def loader(self, source: ProblemSource, problem: Problem) -> Callable[[], Problem]:
        """Return a function by which a call loads the data of a source; ``problem`` is the source's first split."""
        from pppca_bench.problems import load_source

        return partial(load_source, source) if self.n_workers or source.split else lambda: problem

    def submit(self, call: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Submit a call; if the executor is broken, the future has the exception."""
        try:
            self._executor = self._executor or self._new_executor(self._size)
            return self._executor.submit(call, *arguments)
        except BrokenExecutor as error:
            future: Future[Any] = Future()
            future.set_exception(error)
            return future
        except (EOFError, ConnectionError, FileNotFoundError):  # the server of the workers was killed meanwhile
            _stop_server()
            self._executor = self._new_executor(self._size)
            return self._executor.submit(call, *arguments)

    def is_lost(self, future: Future[Any]) -> bool:
        """Return whether a finished call has no result because its worker died."""
        return isinstance(future.exception(), BrokenExecutor)

    def renew(self, n_workers: int | None = None) -> None:
        """Discard the executor and its calls; the next has ``n_workers`` workers, by default the same number."""
        executor, self._executor = self._executor, None
        self._size = n_workers or self._size
        if executor is not None:
            processes = list((getattr(executor, "_processes", None) or {}).values())
            for process in processes:  # Python 3.14 has `kill_workers` for this
                process.kill()
            executor.shutdown(wait=bool(processes), cancel_futures=True)

    def close(self) -> None:
        """Wait for the calls in flight and for the end of the workers."""
        if self._executor is not None:
            self._executor.shutdown()
        self._executor = None


class _InProcess(Executor):
    def __init__(self, _n_workers: int) -> None:
        pass

    def submit(self, call: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(call(*arguments, **named))
        return future


@contextmanager
def installed_modules_first() -> Iterator[None]:
    """Let processes that are started in the block import no modules of the working directory in place of Python's."""
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        del os.environ["PYTHONSAFEPATH"]
        if before is not None:
            os.environ["PYTHONSAFEPATH"] = before


@contextmanager
def uninterrupted_children() -> Iterator[None]:
    """Let processes that are started in the block ignore Ctrl-C, which a terminal sends to all of them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


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
        with installed_modules_first():
            resource_tracker.ensure_running()  # first, since starting it later would let Ctrl-C through to the server
            with uninterrupted_children():
                forkserver.ensure_running()
    return context


def _stop_server() -> None:
    """Kill the server, if there is one, and wait for its end.

    A server that is dying counts as alive, but does not answer; a server that still imports would outlive its parent.
    """
    with suppress(ImportError):  # Windows has no server
        from multiprocessing import forkserver

        server: Any = getattr(forkserver, "_forkserver")  # noqa: B009 no public interface ends it
        if server._forkserver_pid is not None:
            with suppress(ProcessLookupError):
                os.kill(server._forkserver_pid, signal.SIGKILL)
            server._stop()


def _process_pool(n_workers: int) -> Executor:
    context = start_server()
    try:
        return ProcessPoolExecutor(n_workers, mp_context=context, initializer=_prepare_worker)
    except OSError as error:
        raise PppcaError(
            f"worker processes: expected semaphores in shared memory (/dev/shm), got {error.strerror}. Make it"
            " writable, or compute without workers (--workers 0)."
        ) from None


def _prepare_worker() -> None:
    """Ignore Ctrl-C, and end this worker with its parent, even if the parent is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.pop("PYTHONSAFEPATH", None)
    parent: Any = multiprocessing.parent_process()

    def end_with_parent() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
