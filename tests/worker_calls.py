"""Calls that tests give to workers, which import this module and nothing of the package for them."""

import os
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
