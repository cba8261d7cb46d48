"""Where groups of runs are computed: in this process, in processes of this machine, or in any other executor."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing.connection import wait
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pppca_bench.problems import Problem, ProblemSource

PRELOAD = "pppca_bench.experiments.preloaded"


class Backend(Protocol):
    """Compute calls, each in its turn."""

    @property
    def n_workers(self) -> int:
        """Return the calls that are computed at a time."""

    @property
    def n_held(self) -> int:
        """Return the calls that it holds at a time: those that are computed, and those that wait for a worker."""

    def loader(self, source: ProblemSource, problem: Problem) -> Callable[[], Problem] | None:
        """Return how a call gets a problem's data; None where the worker loads them itself from their source.

        Parameters
        ----------
        source : ProblemSource
            Of the split that the call is about.
        problem : Problem
            The data of the first split.
        """

    def submit(self, call: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Hand a call over, and return its future.

        Raises
        ------
        ClusterError
            No worker can be reached any more, as `has_lost` and `stopped` may find, too.
        """

    def has_lost(self, future: Future[Any]) -> bool:
        """Tell whether a call that is over was lost with its worker, so that it has no result."""

    def stopped(self) -> list[int]:
        """Return the numbers of worker processes that do not go on since somebody has stopped them."""

    def renew(self, n_workers: int) -> None:
        """Begin anew, with so many workers, after one was lost, or for calls that have to be alone.

        What is still under way is given up: the runner asks for it again.
        """

    def close(self) -> None:
        """Wait for the workers' end."""

    def kill(self) -> None:
        """End the workers at once."""


class ThisProcess:
    """Compute each call at once, in the process that asks."""

    n_workers = n_held = 1

    def loader(self, source: ProblemSource, problem: Problem) -> Callable[[], Problem] | None:
        """Return a function that returns the data, where they are here already: those of the first split."""
        return None if source.split else lambda: problem

    def submit(self, call: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Compute a call."""
        future: Future[Any] = Future()
        future.set_result(call(*arguments))
        return future

    def has_lost(self, future: Future[Any]) -> bool:  # noqa: ARG002
        """Tell that nothing is ever lost."""
        return False

    def stopped(self) -> list[int]:
        """Return nothing: this process would be stopped itself."""
        return []

    def renew(self, n_workers: int) -> None:
        """Do nothing: there is always one worker."""

    def close(self) -> None:
        """Do nothing."""

    def kill(self) -> None:
        """Do nothing."""


class Executors:
    """Compute in the workers of an executor, which is made at the first call, and anew when it has broken.

    Parameters
    ----------
    n_workers : int
        Calls that it computes at a time.
    new_executor : callable(n_workers)
        Makes an executor.
    """

    def __init__(self, n_workers: int, new_executor: Callable[[int], Executor]) -> None:
        self.n_workers = n_workers
        self._new_executor = new_executor
        self._executor: Executor | None = None

    @property
    def n_held(self) -> int:
        """Return two calls a worker, so that none has to wait for its next."""
        return 2 * self.n_workers

    def loader(self, source: ProblemSource, problem: Problem) -> None:
        """Return nothing: a process of this machine finds the files."""

    def submit(self, call: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Hand a call over; that the executor broke since the last look is told by the future, as any other loss."""
        try:
            self._executor = self._executor or self._new_executor(self.n_workers)
            return self._executor.submit(call, *arguments)
        except BrokenExecutor as error:
            return _lost(error)

    def has_lost(self, future: Future[Any]) -> bool:
        """Tell whether a worker died."""
        return isinstance(future.exception(), BrokenExecutor)

    def stopped(self) -> list[int]:
        """Return nothing: of workers elsewhere no more is known than what their futures tell."""
        return []

    def renew(self, n_workers: int) -> None:
        """Begin with new workers at the next call; what is still under way is given up."""
        self.kill()
        self.close()
        self.n_workers = n_workers

    def close(self) -> None:
        """Wait for the workers' end: the thread that manages them has to end before the interpreter does."""
        if self._executor is not None:
            self._executor.shutdown()
        self._executor = None

    def kill(self) -> None:
        """Begin nothing more, and wait for nothing."""
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)


class LocalProcesses(Executors):
    """Compute in worker processes, forked from a server that has imported what they need.

    Parameters
    ----------
    n_workers : int
        Processes.
    preload : str
        Module that the server imports.
    """

    def __init__(self, n_workers: int, preload: str) -> None:
        super().__init__(n_workers, self._new_pool)
        self._preload = preload
        self._not_ours: set[BaseProcess] = set()

    def submit(self, call: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Hand a call to a process; where none can be started since the server has died, the call is lost.

        The first call of new workers is then handed over again: their server was dying before they were asked for.
        """
        is_first = self._executor is None
        future = self._submit(call, *arguments)
        if is_first and future.done() and self.has_lost(future):
            self.renew(self.n_workers)
            future = self._submit(call, *arguments)
        return future

    def stopped(self) -> list[int]:
        """Return the numbers of the processes that were stopped (SIGSTOP, or by a debugger), where /proc tells."""
        return [child.pid for child in self._children() if child.pid is not None and _is_stopped(child.pid)]

    def renew(self, n_workers: int) -> None:
        """Begin with new processes at the next call, from the same server where it is still there."""
        self._end_workers()
        self.close()
        self.n_workers = n_workers

    def close(self) -> None:
        """Wait for the workers' end; one that was stopped would never come to it."""
        for child in self._children():
            if child.pid is not None and _is_stopped(child.pid):
                child.kill()
        super().close()

    def kill(self) -> None:
        """End the workers and the server at once, so that nothing is left of an interrupted run."""
        self._end_workers()  # first: without the server multiprocessing takes them for dead, and leaves a stopped one
        _stop_fork_server()
        super().kill()

    def _submit(self, call: Callable[..., Any], *arguments: Any) -> Future[Any]:
        try:
            return super().submit(call, *arguments)
        except (EOFError, ConnectionError, FileNotFoundError) as error:
            _stop_fork_server()
            return _lost(BrokenProcessPool(f"no process could be started ({error!r})"))

    def _new_pool(self, n_workers: int) -> Executor:
        self._not_ours = set(multiprocessing.active_children())
        return _new_pool(n_workers, self._preload)

    def _children(self) -> set[BaseProcess]:
        return set(multiprocessing.active_children()) - self._not_ours if self._executor is not None else set()

    def _end_workers(self) -> None:
        for child in self._children():
            child.kill()


def _lost(error: BrokenExecutor) -> Future[Any]:
    """Return the future of a call that was lost."""
    future: Future[Any] = Future()
    future.set_exception(error)
    return future


def _is_stopped(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(") ")[2]
    except OSError:
        return False
    return state[:1] in ("T", "t")


@contextmanager
def prepared_workers() -> Iterator[None]:
    """Let the server of worker processes import what they need while this process reads what is to be run.

    It goes on for the runs, unless there will be none.
    """
    _context(PRELOAD)
    with ExitStack() as on_failure:
        on_failure.callback(_stop_fork_server)
        yield
        on_failure.pop_all()


def _new_pool(workers: int, preload: str) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(workers, mp_context=_context(preload), initializer=_prepare_worker)


def _context(preload: str) -> BaseContext:
    """Return how processes are started, with the server running where they are forked from one."""
    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
    if context.get_start_method() == "forkserver":
        context.set_forkserver_preload([preload])
        _start_fork_server()
    return context


def _start_fork_server() -> None:
    """Start the server that forks the workers, deaf to Ctrl-C: a terminal sends it to every process."""
    from multiprocessing import forkserver, resource_tracker

    resource_tracker.ensure_running()  # first, since it unblocks the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _stop_fork_server() -> None:
    """End the server at once: still starting, it would fork workers for a parent that is gone, which then complain.

    Return when it is dead: while it dies multiprocessing takes it for alive, and asks it for the next worker.
    """
    from multiprocessing import forkserver

    # Its number is no part of the public interface: where it is not found, the workers may complain.
    number = getattr(getattr(forkserver, "_forkserver", None), "_forkserver_pid", None)
    if number is not None:
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
        if hasattr(os, "waitid"):
            with suppress(ChildProcessError):
                os.waitid(os.P_PID, number, os.WEXITED | os.WNOWAIT)  # left for multiprocessing to find it dead


def _prepare_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        # Where the server has died already this is another process, and the worker ends with its parent alone.
        server = os.pidfd_open(os.getppid()) if hasattr(os, "pidfd_open") else None
        threading.Thread(target=_end_with, args=(parent, server), daemon=True).start()


def _end_with(parent: BaseProcess, server: int | None) -> None:
    """End this worker when its parent or its server is gone, so that a killed run leaves nothing behind.

    Without the server a parent takes its workers for dead, while they go on with what is then computed twice.
    """
    wait([parent.sentinel] if server is None else [parent.sentinel, server])
    os._exit(1)
