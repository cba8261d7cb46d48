"""Safe files: atomic writing, files that no other user may write."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterable
from pathlib import Path
from uuid import uuid4

MANIFEST = ".rendered"
"""File that lists the paths written last to its folder, a path per line."""


def open_own(path: Path) -> int:
    """Open a file that no other user may write for reading, and return the file descriptor.

    Raises OSError if the file cannot be opened, is a link or a FIFO, or has an `exposure`.
    """
    flags = os.O_RDONLY
    for name in ("O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"):  # Windows only has the last
        flags |= getattr(os, name, 0)
    file = os.open(path, flags)
    facts = os.fstat(file)
    reason = exposure(facts)
    if reason is None and stat.S_ISREG(facts.st_mode):
        return file
    os.close(file)
    raise OSError(errno.EPERM, reason or "it is no regular file")


def exposure(facts: os.stat_result) -> str | None:
    """Return the reason why other users may have written a file or folder, or None."""
    if os.name != "posix":
        return None
    if facts.st_uid not in (os.geteuid(), 0):
        return "it belongs to another user"
    return "others may write to it" if facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH) else None


def atomic_write(path: Path, content: str | bytes) -> None:
    """Write a file that has either the old or the new content, even after a crash or on a full disk.

    The content, text as UTF-8 with unchanged line ends, is written to a temporary file in the same folder, flushed to
    the disk, and renamed. Symbolic links and permissions of existing files are kept; a missing folder is created.
    """
    target = path.resolve()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(f".{target.name}.{uuid4().hex[:8]}.part")
        try:
            with temporary.open("xb") as file:
                if target.exists():
                    shutil.copymode(target, temporary)
                file.write(content.encode("utf-8") if isinstance(content, str) else content)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)  # renamed, unless the lines above failed
    except OSError as error:
        error.filename = str(path)  # not the temporary file, which users do not know
        raise


def remove_stale(folder: Path, written: Iterable[Path]) -> None:
    """Remove files in a folder that were written last time but are not in ``written``; other files stay."""
    names = sorted({path.relative_to(folder).as_posix() for path in written})
    manifest = folder / MANIFEST
    before = manifest.read_text(encoding="utf-8").splitlines() if manifest.is_file() else []
    for name in sorted(set(before) - set(names)):
        # An edited manifest must not remove files outside the folder.
        if ".." not in Path(name).parts and not Path(name).is_absolute():
            (folder / name).unlink(missing_ok=True)
    atomic_write(manifest, "".join(f"{name}\n" for name in names))
