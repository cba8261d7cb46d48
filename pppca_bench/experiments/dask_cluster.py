"""Dask executor: workers on this machine, or workers of a running scheduler."""

from __future__ import annotations

import faulthandler
import logging
import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, cast

from distributed import Client, KilledWorker, LocalCluster, WorkerPlugin, get_worker

from pppca_bench.errors import ClusterError
from pppca_bench.experiments.executors import Workers
from pppca_bench.experiments.pool import shielded_children
from pppca_bench.experiments.provenance import fingerprint
from pppca_bench.methods.third_party import added_folders, extend_sys_path
from pppca_bench.problems import Problem, ProblemSource, load_source
from pppca_bench.version import __version__

TIMEOUT_S = 30.0
"""Time to wait for a scheduler, and for a first worker."""


class DaskCluster(Workers):
    """Workers of a Dask cluster, each of one thread; the cluster is started or joined at the first call.

    If a worker dies, the scheduler gives its call to another worker; a call that kills several workers is lost. Workers
    may join and leave at any time. They serve all groups of third-party code.

    ``scheduler`` is the address of a running scheduler, such as ``"tcp://node1:8786"``, whose workers are used; without
    it, ``n_workers`` processes are started on this machine. ``announce`` is called with the address of the dashboard.
    A worker ends at the time limit ``timeout`` of a run, in seconds, and Dask starts another.

    Raises
    ------
    ClusterError
        In `submit`: the scheduler does not answer or has no workers, or they have other code, Python or libraries.
    """

    def __init__(
        self,
        n_workers: int,
        scheduler: str | None = None,
        announce: Callable[[str], None] | None = None,
        *,
        timeout: float | None = None,
    ) -> None:
        super().__init__(n_workers, self._join, timeout=timeout)
        self.address = scheduler or ""
        self._announce = announce
        self._cluster: Any = None
        self._client: Any = None
        self._sent: set[str] = set()

    @property
    def n_in_flight(self) -> int:
        """Number of calls to submit at a time, also while all workers are being started again."""
        return self._n_each * max(1, len(self._ask(self._client.nthreads)) if self._client else 1)

    def loader(self, source: ProblemSource, problem: Problem) -> Callable[[], Problem]:
        """Send a split's data to all workers, including later workers; return a function that gives a call the data."""
        self._executor = self._executor or self._join(self.n_workers)
        name = f"pppca data {source.sha256} {source.split}"
        if name not in self._sent:
            data = load_source(source) if source.split else problem
            self._ask(self._client.register_plugin, _Data(data), name=name)
            self._sent.add(name)
        return partial(_sent_data, name)

    def submit(
        self,
        call: Callable[..., Any],
        *arguments: Any,
        group: Hashable = None,  # noqa: ARG002
        before: Callable[..., Any] | None = None,
    ) -> Future[Any]:
        """Submit a call to the scheduler; ``before`` as in `Workers.submit`."""
        if self._client and self._client.status != "running":
            raise self._scheduler_lost()
        self._executor = self._executor or self._join(self.n_workers)
        expected, folders = fingerprint(), tuple(added_folders)
        return self._executor.submit(
            _checked_call, expected, folders, self.timeout, before, call, *arguments
        )

    def is_lost(self, future: Future[Any]) -> bool:
        """Return whether a finished call has no result because the workers that tried it died.

        Raises
        ------
        ClusterError
            The scheduler is gone, or a worker that joined later has other code, Python or libraries.
        """
        if future.cancelled():
            raise self._scheduler_lost()
        error = future.exception()
        if error is None or isinstance(error, KilledWorker):
            return error is not None
        if isinstance(error, ClusterError):
            raise error
        raise ClusterError(
            f"a worker of {self.address} could not compute: {type(error).__name__}: {error}"
        )

    def has_timed_out(self, future: Future[Any], elapsed_s: float) -> bool:  # noqa: ARG002
        """Return whether a lost call exceeded the time limit: the scheduler only knows that its worker died."""
        return self.timeout is not None and elapsed_s >= self.timeout

    def renew(self) -> None:
        """Cancel the calls in flight; the workers stay."""
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait=False)

    def __exit__(self, *raised: object) -> None:
        """Stop a cluster that was started here; without an exception, remove the data from the workers first."""
        for name in self._sent if raised[0] is None else ():
            self._ask(self._client.unregister_worker_plugin, name)
        for connection, timeout in ((self._client, 5), (self._cluster, 10)):
            with suppress(OSError, TimeoutError):
                if connection is not None:
                    connection.close(timeout=timeout)

    def _join(self, n_workers: int) -> Executor:
        if self._client is None:
            for handler in logging.getLogger("distributed").handlers:
                # shared by all of its loggers
                handler.setLevel(logging.CRITICAL + 1)  # errors are raised instead
            if not self.address:
                self._start_cluster(n_workers)
            try:
                self._client = Client(self.address, timeout=TIMEOUT_S, set_as_default=False)
            except (OSError, ValueError) as error:
                raise ClusterError(
                    f"no Dask scheduler answers at {self.address} ({error}). Start it with `dask scheduler`, and name"
                    " its address with --scheduler."
                ) from error
            self._check_workers()
            if self._announce:
                self._announce(str(self._client.dashboard_link))
        executor: Executor = self._client.get_executor(pure=False)
        return executor

    def _start_cluster(self, n_workers: int) -> None:
        """Start a cluster on this machine; the runner itself tries runs of lost workers again."""
        with shielded_children():
            self._cluster = LocalCluster(
                n_workers=n_workers,
                threads_per_worker=1,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                silence_logs=logging.CRITICAL,
            )
        self._cluster.scheduler.allowed_failures = 0
        self.address = str(self._cluster.scheduler_address)

    def _check_workers(self) -> None:
        try:
            self._client.wait_for_workers(1, timeout=TIMEOUT_S)
        except TimeoutError:
            raise ClusterError(
                f"the Dask scheduler at {self.address} has no workers: start some with `dask worker {self.address}"
                " --nthreads 1`."
            ) from None
        for worker, n_threads in self._client.nthreads().items():
            if n_threads != 1:
                raise ClusterError(
                    f"worker {worker}: expected one thread, got {n_threads}: runs would disturb each other."
                    " Start it with `--nthreads 1`, and with `--nworkers` for several cores."
                )
        errors = self._client.run(_check_fingerprint, fingerprint(), on_error="return")
        for worker, error in errors.items():
            if isinstance(error, ClusterError):
                raise error
            if error is not None:
                raise ClusterError(
                    f"worker {worker} cannot load this version of pppca ({type(error).__name__}: {error}). Install"
                    f" pppca {__version__} there, the same as here."
                )

    def _ask(self, call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        try:
            return call(*arguments, **named)
        except (OSError, TimeoutError) as error:
            raise self._scheduler_lost() from error

    def _scheduler_lost(self) -> ClusterError:
        return ClusterError(
            f"the Dask scheduler at {self.address} is gone. Completed runs are saved: start it again, and run the same"
            " command."
        )


class _Data(WorkerPlugin):
    """A problem's data in a worker; a worker that is started again gets them from the scheduler."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem


def _sent_data(name: str) -> Problem:
    plugin: Any = get_worker().plugins[name]
    return cast("Problem", plugin.problem)


def _check_fingerprint(expected: Mapping[str, str], dask_worker: Any = None) -> None:
    """Raise ClusterError if this worker's fingerprint differs from the expected fingerprint.

    `Client.run` passes the worker as ``dask_worker``; a submitted call asks `get_worker`.
    """
    for name, value in fingerprint().items():
        if value != expected.get(name):
            worker = (dask_worker or get_worker()).address
            raise ClusterError(
                f"worker {worker}: expected {name} {expected.get(name)}, as here, got {value}. Its numbers could"
                " differ: install the same code and libraries there, and start the worker again."
            )


def _checked_call(
    expected: Mapping[str, str],
    folders: Iterable[str],
    timeout: float | None,
    before: Callable[..., Any] | None,
    call: Callable[..., Any],
    *arguments: Any,
) -> Any:
    """Compute a call in a worker, which may have joined after the others were checked.

    ``folders`` are searched for modules, such as the folder of a config: they may be shared by all machines.
    """
    _check_fingerprint(expected)
    extend_sys_path(map(Path, folders))
    if timeout is None:
        return call(*arguments)
    if before is not None:
        before(*arguments)
    with limited(timeout):
        return call(*arguments)


@contextmanager
def limited(timeout: float) -> Iterator[None]:
    """End this process if the block takes longer than ``timeout`` seconds, also in compiled code that holds the GIL."""
    with Path(os.devnull).open("w") as nowhere:
        faulthandler.dump_traceback_later(timeout, exit=True, file=nowhere)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()
