"""Writing files so that a reader finds the old content or the new one, whole."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def atomic_write(path: Path, content: str | bytes) -> None:
    """Put content into a file; the old one stays as it is if that fails, on a full disk or a killed process.

    The content is written beside it, flushed to the disk, and takes its name.

    Parameters
    ----------
    path : Path
    content : str or bytes
        Text is written as UTF-8, with its own line ends.
    """
    target = path.resolve()  # a link stays a link
    handle, beside = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode("utf-8") if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        Path(beside).chmod(target.stat().st_mode if target.exists() else 0o666 & ~_umask())
        Path(beside).replace(target)
    except BaseException:
        with suppress(OSError):
            Path(beside).unlink()
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
