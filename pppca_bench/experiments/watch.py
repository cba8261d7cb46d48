"""Waiting for calls, with a look now and then at the workers that compute them."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any

from pppca_bench.experiments.backends import Backend

WATCH_S = 20.0
"""How often it is looked whether a worker was stopped, or its scheduler is gone."""


class Watch:
    """Wait for calls, and tell of workers that will not go on by themselves.

    Parameters
    ----------
    backend : Backend
        Where the calls are computed.
    warn : callable(text)
        Called once for each worker that was stopped.
    """

    def __init__(self, backend: Backend, warn: Callable[[str], None]) -> None:
        self.backend = backend
        self._warn = warn
        self._told: set[int] = set()
        self._next_look = time.monotonic() + WATCH_S

    def wait(self, futures: Collection[Future[Any]], return_when: str = FIRST_COMPLETED) -> set[Future[Any]]:
        """Return those of the calls that are over, when one is, or all are (``ALL_COMPLETED``)."""
        while True:
            left = max(0.0, self._next_look - time.monotonic())
            finished, under_way = wait(futures, timeout=left, return_when=return_when)
            if time.monotonic() >= self._next_look:
                self._look()
            if not under_way or (finished and return_when == FIRST_COMPLETED):
                return finished

    def _look(self) -> None:
        for process in self.backend.stopped():
            if process not in self._told:
                self._warn(
                    f"Worker process {process} was stopped (SIGSTOP), and what it has under way waits. `kill -CONT"
                    f" {process}` lets it go on; `kill -KILL {process}` ends it, and its runs are tried again."
                )
                self._told.add(process)
        self._next_look = time.monotonic() + WATCH_S
