"""Import what runs need without what they hardly ever call, and without searching for garbage meanwhile."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType

LATER = ("scipy.stats", "pandas", "numpy.f2py")
"""Modules that scikit-learn imports and its base classes do not call: half of the time of that import."""


class _Later(PathFinder):
    """Let what is hardly ever called be loaded when it is first used."""

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = super().find_spec(fullname, path, target) if fullname in LATER else None
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


@contextmanager
def quick_imports() -> Iterator[None]:
    """Import in half of the time; what `LATER` names is loaded where the first attribute is asked of it."""
    collects = gc.isenabled()
    gc.disable()  # modules are no garbage, but while they grow in number all are searched again and again
    sys.meta_path.insert(0, _Later)
    try:
        yield
    finally:
        sys.meta_path.remove(_Later)
        if collects:
            gc.enable()


def load_late() -> None:
    """Load what was imported without being loaded, so that no measured time has a part of it."""
    for name in LATER:
        getattr(sys.modules.get(name), "__file__", None)
