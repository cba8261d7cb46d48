"""Writing files so that a reader finds the old content or the new one, whole, and none that nobody writes any more."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from pathlib import Path

MANIFEST = ".rendered"
"""File of a folder that lists what was last written into it, a path a line."""


def atomic_write(path: Path, content: str | bytes) -> None:
    """Put content into a file; the old one stays as it is if that fails, on a full disk or a killed process.

    The content is written beside it, flushed to the disk, and takes its name.

    Parameters
    ----------
    path : Path
    content : str or bytes
        Text is written as UTF-8, with its own line ends.
    """
    try:
        _write_beside(path.resolve(), content.encode("utf-8") if isinstance(content, str) else content)
    except OSError as error:
        error.filename = str(path)  # the temporary file means nothing to the user
        raise


def _write_beside(target: Path, content: bytes) -> None:
    """Write into a temporary file, which then takes the place of the target; a link to it stays a link."""
    handle, beside = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    with ExitStack() as on_failure:
        on_failure.callback(_remove, Path(beside))
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(beside).chmod(target.stat().st_mode if target.exists() else 0o666 & ~_umask())
        Path(beside).replace(target)
        on_failure.pop_all()


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


def sweep(folder: Path, written: Iterable[Path]) -> None:
    """Remove what was written into a folder the last time and was not this time; files of others stay.

    Parameters
    ----------
    folder : Path
    written : iterable of Path
        What was written this time, somewhere below the folder.
    """
    names = sorted({path.relative_to(folder).as_posix() for path in written})
    manifest = folder / MANIFEST
    before = manifest.read_text(encoding="utf-8").splitlines() if manifest.is_file() else []
    for name in sorted(set(before) - set(names)):
        if ".." not in Path(name).parts and not Path(name).is_absolute():  # an edited manifest removes nothing outside
            (folder / name).unlink(missing_ok=True)
    atomic_write(manifest, "".join(f"{name}\n" for name in names))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
