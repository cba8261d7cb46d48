"""Atomic writing of files, and removal of rendered files that are outdated."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from pathlib import Path

MANIFEST = ".rendered"
"""File of a folder that lists the paths that were last written into it, one per line."""


def atomic_write(path: Path, content: str | bytes) -> None:
    """Write a file so that it has either the old content or the new, even after a crash or on a full disk.

    The content goes to a temporary file in the same folder, is flushed to the disk, and then renamed.

    Parameters
    ----------
    path : Path
    content : str or bytes
        Text is encoded as UTF-8; its line ends stay.
    """
    try:
        _write_beside(path.resolve(), content.encode("utf-8") if isinstance(content, str) else content)
    except OSError as error:
        error.filename = str(path)  # in place of the temporary file, unknown to the user
        raise


def _write_beside(target: Path, content: bytes) -> None:
    """Write a temporary file and rename it to the target, which is no symbolic link."""
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
    """Remove the files of a folder that were written the last time but not this time; other files stay.

    Parameters
    ----------
    folder : Path
    written : iterable of Path
        Files written this time, below the folder.
    """
    names = sorted({path.relative_to(folder).as_posix() for path in written})
    manifest = folder / MANIFEST
    before = manifest.read_text(encoding="utf-8").splitlines() if manifest.is_file() else []
    for name in sorted(set(before) - set(names)):
        # An edited manifest must not remove files outside.
        if ".." not in Path(name).parts and not Path(name).is_absolute():
            (folder / name).unlink(missing_ok=True)
    atomic_write(manifest, "".join(f"{name}\n" for name in names))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
