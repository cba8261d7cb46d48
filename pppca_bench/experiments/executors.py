"""Executors: in-process, local processes, or any executor of ``concurrent.futures``."""

from __future__ import annotations

import ast
import ctypes
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pppca_bench.errors import ConfigError

if TYPE_CHECKING:
    from pppca_bench.problems import Problem, ProblemSource

_SET_CHILD_SUBREAPER = 36
"""Option of Linux's `prctl`: adopt the processes whose parents, the workers, have ended."""


def adopt_orphans() -> None:
    """Make processes that runs leave children of this process when their worker ends, so that it can end them."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


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

    As a context manager, it kills its workers at the end of the block, with the processes that they have started: calls
    in flight are lost.

    Parameters
    ----------
    n_workers : int
        Number of calls that are computed at a time; 0 computes each call in this process when it is submitted.
    new_executor : callable(n_workers) -> Executor, optional
        Creates the executor; by default a `ProcessExecutor` of this machine.
    timeout : float, optional
        Time limit of a run in seconds, at which its worker is killed. Choice: with a limit, 0 workers are a single
        worker, since a process can only be ended from outside if it hangs in compiled code.
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
        self._new_executor = new_executor or self._new_processes
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

    def submit(
        self,
        call: Callable[..., Any],
        *arguments: Any,
        group: Hashable = None,
        before: Callable[..., Any] | None = None,
    ) -> Future[Any]:
        """Submit a call; `ProcessExecutor.submit` describes ``group`` and ``before``."""
        if not self.n_workers:
            here: Future[Any] = Future()
            here.set_result(call(*arguments))
            return here
        self._executor = self._executor or self._new_executor(self.n_workers)
        return self._executor.submit(call, *arguments, group=group, before=before)

    def is_lost(self, future: Future[Any]) -> bool:
        """Return whether a finished call has no result because its worker died."""
        return isinstance(future.exception(), BrokenExecutor)

    def has_timed_out(self, future: Future[Any], elapsed_s: float) -> bool:  # noqa: ARG002
        """Return whether a lost call, whose result was awaited for some seconds, exceeded the time limit."""
        from pppca_bench.experiments.pool import TimedOutError

        return isinstance(future.exception(), TimedOutError)

    def renew(self) -> None:
        """Discard the executor and its calls."""
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait=False, cancel_futures=True)

    def _new_processes(self, n_workers: int) -> Executor:
        from pppca_bench.experiments.pool import ProcessExecutor

        return ProcessExecutor(n_workers, self.timeout)


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
