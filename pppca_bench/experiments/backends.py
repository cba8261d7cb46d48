"""Where groups of runs are computed: in this process, or in processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing.process import BaseProcess
from typing import Any, Protocol


class Backend(Protocol):
    """Compute calls, each in its turn.

    Attributes
    ----------
    n_workers : int
        Calls that are computed at a time.
    """

    n_workers: int

    @property
    def n_held(self) -> int:
        """Return the calls that it holds at a time: those that are computed, and those that wait for a worker."""

    def submit(self, call: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Hand a call over, and return its future."""

    def has_lost(self, future: Future[Any]) -> bool:
        """Tell whether a call that is over was lost with its worker, so that it has no result."""

    def renew(self, n_workers: int) -> None:
        """Begin anew, with so many workers, after one was lost, or for calls that have to be alone."""

    def close(self) -> None:
        """Wait for the workers' end."""

    def kill(self) -> None:
        """End the workers at once."""


class ThisProcess:
    """Compute each call at once, in the process that asks."""

    n_workers = n_held = 1

    def submit(self, call: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Compute a call."""
        future: Future[Any] = Future()
        future.set_result(call(*arguments))
        return future

    def has_lost(self, future: Future[Any]) -> bool:  # noqa: ARG002
        """Tell that nothing is ever lost."""
        return False

    def renew(self, n_workers: int) -> None:
        """Do nothing: there is always one worker."""

    def close(self) -> None:
        """Do nothing."""

    def kill(self) -> None:
        """Do nothing."""


class LocalProcesses:
    """Compute in worker processes, forked from a server that has imported what they need.

    Parameters
    ----------
    n_workers : int
        Processes.
    preload : str
        Module that the server imports.
    """

    def __init__(self, n_workers: int, preload: str) -> None:
        self.n_workers = n_workers
        self._preload = preload
        self._pool: Executor | None = None

    @property
    def n_held(self) -> int:
        """Return two calls a worker, so that none has to wait for its next."""
        return 2 * self.n_workers

    def submit(self, call: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Hand a call to a process; a worker that died since the last look is told by the future, as any other."""
        self._pool = self._pool or _new_pool(self.n_workers, self._preload)
        try:
            return self._pool.submit(call, *arguments)
        except BrokenProcessPool as error:
            lost: Future[Any] = Future()
            lost.set_exception(error)
            return lost

    def has_lost(self, future: Future[Any]) -> bool:
        """Tell whether the worker died."""
        return isinstance(future.exception(), BrokenProcessPool)

    def renew(self, n_workers: int) -> None:
        """Begin with new processes at the next call."""
        self.close()
        self.n_workers = n_workers

    def close(self) -> None:
        """Wait for the workers' end: the thread that manages them has to end before the interpreter does."""
        if self._pool is not None:
            self._pool.shutdown()
        self._pool = None

    def kill(self) -> None:
        """End the server and the workers at once, so that nothing is left of an interrupted run."""
        _stop_fork_server()
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
        for child in multiprocessing.active_children():
            child.kill()


def _new_pool(workers: int, preload: str) -> ProcessPoolExecutor:
    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
    if context.get_start_method() == "forkserver":
        context.set_forkserver_preload([preload])
        _start_fork_server()
    return ProcessPoolExecutor(workers, mp_context=context, initializer=_prepare_worker)


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
    """End the server at once: still starting, it would fork workers for a parent that is gone, which then complain."""
    from multiprocessing import forkserver

    # Its number is no part of the public interface: where it is not found, the workers may complain.
    number = getattr(getattr(forkserver, "_forkserver", None), "_forkserver_pid", None)
    if number is not None:
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)


def _prepare_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: BaseProcess) -> None:
    """End this worker when its parent is gone, so that a killed run leaves nothing behind."""
    parent.join()
    os._exit(1)
