"""Computing on a Dask cluster: one of this machine's cores, or one whose scheduler somebody has started."""

from __future__ import annotations

import hashlib
import logging
import platform
import signal
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from functools import cache, partial
from importlib.metadata import version
from threading import current_thread, main_thread
from typing import Any

from distributed import Client, KilledWorker, LocalCluster, WorkerPlugin, get_worker

from pppca_bench import __version__
from pppca_bench.compiled.cache import PACKAGE
from pppca_bench.errors import ClusterError
from pppca_bench.experiments.provenance import LIBRARIES
from pppca_bench.problems import Problem, ProblemSource, load_again

TIMEOUT_S = 30.0
"""How long a scheduler, and a first worker, are waited for."""

_OF_THE_ASKING_PROCESS = frozenset({"cli", "reporting", "studies"})
"""Rooms of the package that no worker enters."""

Fingerprint = dict[str, str]


class DaskCluster:
    """Compute in the workers of a Dask cluster, each of one thread, by the executor of a client (a `Backend`).

    A call whose worker dies is given to another one by the scheduler; one that kills several is lost, as one that
    kills a local process. Workers may join and leave while runs go on.

    Parameters
    ----------
    n_workers : int
        Worker processes to start on this machine, where no scheduler is given.
    scheduler : str, optional
        Address of a running scheduler, such as ``"tcp://node1:8786"``, whose workers are used.

    Raises
    ------
    ClusterError
        The scheduler does not answer or has no workers, or they cannot compute what this process would.
    """

    def __init__(self, n_workers: int, scheduler: str | None = None) -> None:
        for handler in logging.getLogger("distributed").handlers:  # one for all loggers below
            handler.setLevel(logging.CRITICAL + 1)  # what matters is raised, in a line
        own = None if scheduler else _local_cluster(n_workers)
        self._cluster = own
        self.address = str(scheduler if own is None else own.scheduler_address)
        try:
            self._client: Any = Client(self.address, timeout=TIMEOUT_S, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ClusterError(
                f"no Dask scheduler answers at {self.address} ({error}). Start one with `dask scheduler`, and name its"
                " address with --scheduler."
            ) from error
        with ExitStack() as on_failure:
            on_failure.callback(self.kill)
            self._n_there = self._wait_for_workers()
            self._check_workers()
            if self._cluster is not None:
                self._client.register_plugin(_Deaf(), name="pppca deaf")
            on_failure.pop_all()
        self._n_most: int | None = None
        self._executor = self._client.get_executor(pure=False)
        self._shared: set[str] = set()

    @property
    def dashboard(self) -> str:
        """Return the address of the scheduler's page on what goes on."""
        return str(self._client.dashboard_link)

    @property
    def n_workers(self) -> int:
        """Return the calls that are computed at a time."""
        return self._n_there if self._n_most is None else min(self._n_most, self._n_there)

    @property
    def n_held(self) -> int:
        """Return two calls a worker, so that none has to wait for its next; one where nothing may run beside it."""
        return 1 if self.n_workers == 1 else 2 * self.n_workers

    def loader(self, source: ProblemSource, problem: Problem) -> Callable[[], Problem]:
        """Send a split's data to every worker, now or as soon as it joins, and return how a call there gets them."""
        name = f"pppca data {source.sha256} {source.split}"
        if name not in self._shared:
            data = load_again(source) if source.split else problem
            self._ask(self._client.register_plugin, _Data(data), name=name)
            self._shared.add(name)
        return partial(_data_here, name)

    def submit(self, call: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Hand a call to the scheduler."""
        self._check_scheduler()
        future: Future[Any] = self._executor.submit(_call_checked, fingerprint(), call, *arguments)
        return future

    def has_lost(self, future: Future[Any]) -> bool:
        """Tell whether the workers that tried a call died.

        Raises
        ------
        ClusterError
            The scheduler is gone, or a worker that joined later cannot compute what this process would.
        """
        if future.cancelled():
            raise self._gone()
        error = future.exception()
        if error is None or isinstance(error, KilledWorker):
            return error is not None
        if isinstance(error, ClusterError):
            raise error
        # What breaks within a run is recorded by the call itself.
        raise ClusterError(f"a worker of {self.address} could not compute: {type(error).__name__}: {error}")

    def stopped(self) -> list[int]:
        """Return nothing, but look whether the scheduler is still there, and how many workers it has by now."""
        self._n_there = max(1, len(self._ask(self._client.nthreads)))
        return []

    def renew(self, n_workers: int) -> None:
        """Give up what is under way, and compute so many calls at a time from now on."""
        self._executor.shutdown(wait=False)
        self._executor = self._client.get_executor(pure=False)
        self._n_most = n_workers if n_workers < self._n_there else None

    def close(self) -> None:
        """Take back what was sent, and end what was started here."""
        for name in self._shared:
            self._ask(self._client.unregister_worker_plugin, name)
        self.kill()

    def kill(self) -> None:
        """Leave the cluster at once; one that was started here ends."""
        with suppress(OSError, TimeoutError):
            self._client.close(timeout=5)
        if self._cluster is not None:
            with suppress(OSError, TimeoutError):
                self._cluster.close(timeout=10)

    def _wait_for_workers(self) -> int:
        try:
            self._client.wait_for_workers(1, timeout=TIMEOUT_S)
        except TimeoutError:
            raise ClusterError(
                f"the Dask scheduler at {self.address} has no workers: start some with `dask worker {self.address}"
                " --nthreads 1`."
            ) from None
        threads = self._client.nthreads()
        for worker, n_threads in threads.items():
            if n_threads != 1:
                raise ClusterError(
                    f"worker {worker}: expected one thread, got {n_threads}, which would disturb each other."
                    " Start it with `--nthreads 1`, and with `--nworkers` for several cores."
                )
        return len(threads)

    def _check_workers(self) -> None:
        for worker, theirs in self._client.run(fingerprint, on_error="return").items():
            if isinstance(theirs, BaseException):
                raise ClusterError(
                    f"worker {worker} cannot load this version of pppca ({type(theirs).__name__}: {theirs}). Install"
                    f" pppca {__version__} there, the same as here."
                )
            _check(worker, fingerprint(), theirs)

    def _check_scheduler(self) -> None:
        if self._client.status != "running":
            raise self._gone()

    def _ask(self, call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        try:
            return call(*arguments, **named)
        except (OSError, TimeoutError) as error:
            raise self._gone() from error

    def _gone(self) -> ClusterError:
        return ClusterError(
            f"the Dask scheduler at {self.address} is gone. What was done is kept: start it again, and run the same"
            " command."
        )


class _Data(WorkerPlugin):
    """Hold a problem's data in a worker; one that is started again gets them from the scheduler."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem


class _Deaf(WorkerPlugin):
    """Let Ctrl-C, which a terminal sends to every process of its group, end this machine's workers by their parent."""

    def setup(self, worker: object) -> None:  # noqa: ARG002
        """Ignore SIGINT."""
        if current_thread() is main_thread():
            signal.signal(signal.SIGINT, signal.SIG_IGN)


def _local_cluster(n_workers: int) -> Any:
    return LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        silence_logs=logging.CRITICAL,
    )


@cache
def fingerprint() -> Fingerprint:
    """Return what has to be the same in all processes for the same numbers: code and libraries."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*")):
        name = path.relative_to(PACKAGE)
        if path.suffix in (".py", ".csv") and name.parts[0] not in _OF_THE_ASKING_PROCESS:
            digest.update(name.as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return {
        "pppca": __version__,
        "sources of pppca": digest.hexdigest()[:16],
        "Python": platform.python_version(),
        **{library: version(library) for library in LIBRARIES},
    }


def _check(worker: str, ours: Fingerprint, theirs: Fingerprint) -> None:
    for name, expected in ours.items():
        if theirs.get(name) != expected:
            raise ClusterError(
                f"worker {worker}: expected {name} {expected}, as here, got {theirs.get(name)}. Its numbers could"
                " differ: install the same there, and start it again."
            )


def _data_here(name: str) -> Problem:
    plugin: Any = get_worker().plugins[name]
    problem: Problem = plugin.problem
    return problem


def _call_checked(expected: Fingerprint, call: Callable[..., Any], *arguments: Any) -> Any:
    """Compute a call in a worker, which may have joined after the others were checked."""
    if expected != fingerprint():
        _check(get_worker().address, expected, fingerprint())
    return call(*arguments)
