"""Calls that tests give to workers, which import this module and nothing of the package for them."""

import os
import re
import signal
import threading
import time
from pathlib import Path


def process_and_sum(*numbers: int) -> tuple[int, int]:
    return os.getpid(), sum(numbers)


def refuse() -> None:
    raise ValueError("no")


def wait_for(path: Path) -> str:
    while not path.exists():
        time.sleep(0.01)
    return path.name


def kill_the_server_and_wait() -> None:
    os.kill(os.getppid(), signal.SIGKILL)
    threading.Event().wait()


def ignores_interruptions() -> bool:
    return signal.getsignal(signal.SIGINT) == signal.SIG_IGN


def start_a_child_and_a_thread() -> int:
    """Leave a process that holds this worker's pipes, and a thread that holds its process; neither ever ends."""
    child = os.fork()
    if not child:
        threading.Event().wait()
    threading.Thread(target=threading.Event().wait, daemon=False).start()
    return child


def write_runs(path: Path, name: str, other: str) -> None:
    """Plan and record 30 runs of a config, and 30 that it shares, when another process of this call is ready too."""
    from pppca_bench.runs import Cell, Plan, RunResult, RunSpec
    from pppca_bench.store.database import Store

    path.with_name(name).touch()
    wait_for(path.with_name(other))
    cell = Cell("iris", "a", "gha", {}, {})
    specs = [RunSpec(f"{of}{n}", cell, n, n) for n in range(30) for of in (name, "shared")]
    with Store(path) as store:
        store.plan(Plan(name, "", "", tuple(specs)))
        for spec in specs:
            store.record([RunResult(spec.key, "done", values={"test_error_percent": 1.0})], "{}")


def start_workers() -> str:
    """Return the refusal of workers in this process."""
    from pppca_bench.errors import ConfigError
    from pppca_bench.experiments.executors import Workers

    try:
        Workers(1).submit(os.getpid)
    except ConfigError as error:
        return str(error)
    return ""


def hold_the_interpreter() -> None:
    re.match(r"(a+)+$", "a" * 60 + "b")


def take_longer_than_a_second(*_: object) -> None:
    end = time.perf_counter() + 1.5
    while time.perf_counter() < end:
        time.sleep(0.01)


def stop() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)
