"""Isolation of third-party code: what it changes in the process is restored."""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any


@contextmanager
def isolated() -> Iterator[None]:
    """Restore what the block changes in this process.

    These are the working directory, environment, warnings filters, signal handlers, alarms, standard streams, file mode
    mask, recursion limit, random states, NumPy's error state and print options, scikit-learn's configuration, and
    matplotlib's settings with its backend. A child process that the block forks, and that leaves it, ends.
    """
    import numpy as np
    import sklearn

    mask = os.umask(0o077)
    os.umask(mask)
    with ExitStack() as at_exit, warnings.catch_warnings(), np.errstate(), np.printoptions():
        # In contrast to dict(…), copy() leaves the choice of a backend open.
        settings = (
            sys.modules["matplotlib"].rcParams.copy() if "matplotlib" in sys.modules else None
        )
        at_exit.callback(_restore_drawing, settings)
        at_exit.callback(os.umask, mask)
        at_exit.callback(vars(sys).update, {name: vars(sys)[name] for name in ("stdout", "stderr")})
        at_exit.callback(sys.setrecursionlimit, sys.getrecursionlimit())
        at_exit.callback(np.seterrcall, np.geterrcall())
        at_exit.callback(np.random.set_state, np.random.get_state())
        at_exit.callback(random.setstate, random.getstate())
        at_exit.callback(sklearn.set_config, **sklearn.get_config())
        at_exit.callback(os.environ.update, dict(os.environ))
        at_exit.callback(os.environ.clear)
        with suppress(OSError):  # the working directory was removed
            at_exit.callback(os.chdir, Path.cwd())
        if threading.current_thread() is threading.main_thread():
            at_exit.callback(
                _restore_handlers,
                {number: signal.getsignal(number) for number in signal.valid_signals()},
            )
        # An alarm that is left would end the process, once its handler is gone.
        if hasattr(signal, "setitimer") and signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0):
            at_exit.callback(signal.setitimer, signal.ITIMER_REAL, 0)
        at_exit.callback(_end_child, os.getpid())
        yield


def _end_child(process: int) -> None:
    if os.getpid() != process:
        # a forked child, as after sys.exit() in it: it would go on in the command's place
        os._exit(1)


def _restore_handlers(handlers: Mapping[int, Any]) -> None:
    for number, handler in handlers.items():
        if handler is not None and signal.getsignal(number) is not handler:
            signal.signal(number, handler)


def _restore_drawing(settings: Any) -> None:
    if (matplotlib := sys.modules.get("matplotlib")) is not None:
        dict.update(matplotlib.rcParams, settings or matplotlib.rcParamsDefault)
