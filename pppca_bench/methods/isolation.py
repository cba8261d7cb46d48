"""Isolation of third-party code: what it executes is recorded, and what it changes in the process is restored."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from sysconfig import get_paths
from types import ModuleType
from typing import Any

_INSTALLED = tuple({get_paths()[kind] for kind in ("stdlib", "platstdlib", "purelib", "platlib")})
_OWN_PACKAGE = str(Path(__file__).parents[1])

executed: dict[str, tuple[Path, str]] = {}
"""Files of third-party modules that are not installed and SHA-256 of their executed source, by name; imports first."""


class SourceLoader(SourceFileLoader):
    """Loader that executes the source, never bytecode, which may be that of other source of equal size and time."""

    def get_code(self, fullname: str) -> Any:  # noqa: ARG002 the loader's interface
        """Return the code of the source file."""
        source = self.get_data(self.path)
        self._sha256 = hashlib.sha256(source).hexdigest()
        return self.source_to_code(source, self.path)

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module and record its source."""
        super().exec_module(module)
        executed.pop(module.__name__, None)
        executed[module.__name__] = Path(self.path), self._sha256


class _Finder:
    """Finder of modules that are not installed, such as those beside a config."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or type(spec.loader) is not SourceFileLoader or is_installed(str(spec.origin)):
            return None
        spec.loader = SourceLoader(name, str(spec.origin))
        return spec


def is_installed(file: str) -> bool:
    """Return whether a file belongs to the standard library, to installed packages or to this package."""
    is_known = any(Path(file).is_relative_to(folder) for folder in (*_INSTALLED, _OWN_PACKAGE))
    return is_known or not {"site-packages", "dist-packages"}.isdisjoint(Path(file).parts)  # such as a user's own


def record_sources() -> None:
    """Record the source of all modules that are imported from now on, by imports and reloads anywhere."""
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)


def is_changed(name: str) -> bool:
    """Return whether the file of a recorded module has changed since it was executed, and is still there."""
    path, sha256 = executed[name]
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() != sha256


@contextmanager
def isolated() -> Iterator[None]:
    """Restore what the block changes in this process.

    These are the working directory, environment, warnings filters, signal handlers, alarms, standard streams, file mode
    mask, recursion limit, random states, NumPy's error state and print options, scikit-learn's configuration, and
    matplotlib's settings with its backend. A child process that the block forks, and that leaves it, ends.
    """
    import numpy as np
    import sklearn

    process, folder = os.getpid(), None
    with suppress(OSError):  # the working directory was removed
        folder = Path.cwd()
    environment, config = dict(os.environ), sklearn.get_config()
    states = random.getstate(), np.random.get_state(), np.geterrcall(), sys.getrecursionlimit()
    streams, mask = {name: vars(sys)[name] for name in ("stdout", "stderr")}, os.umask(0o077)
    os.umask(mask)
    # In contrast to dict(…), copy() leaves the choice of a backend open.
    settings = sys.modules["matplotlib"].rcParams.copy() if "matplotlib" in sys.modules else None
    in_main = threading.current_thread() is threading.main_thread()
    handlers = {number: signal.getsignal(number) for number in signal.valid_signals()} if in_main else {}
    alarm = signal.getitimer(signal.ITIMER_REAL) if hasattr(signal, "getitimer") else None
    try:
        with warnings.catch_warnings(), np.errstate(), np.printoptions():
            yield
    finally:
        if os.getpid() != process:  # a forked child, as after sys.exit() in it: it would go on in the command's place
            os._exit(1)
        if alarm == (0.0, 0.0):  # an alarm that is left would end the process, once its handler is gone
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in handlers.items():
            if handler is not None and signal.getsignal(number) is not handler:
                signal.signal(number, handler)
        if folder is not None:
            os.chdir(folder)
        if dict(os.environ) != environment:
            os.environ.clear()
            os.environ.update(environment)
        sklearn.set_config(**config)
        random.setstate(states[0])
        np.random.set_state(states[1])
        np.seterrcall(states[2])
        sys.setrecursionlimit(states[3])
        vars(sys).update(streams)
        os.umask(mask)
        if (matplotlib := sys.modules.get("matplotlib")) is not None:
            dict.update(matplotlib.rcParams, settings or matplotlib.rcParamsDefault)
