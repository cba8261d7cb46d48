"""Atomic writing of files, and removal of rendered files that are outdated."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from uuid import uuid4

MANIFEST = ".rendered"
"""File of a folder that lists the paths last written into it, one per line."""


def atomic_write(path: Path, content: str | bytes) -> None:
    """Write a file so that it has either the old content or the new, even after a crash or on a full disk.

    The content, text as UTF-8 with its line ends, goes to a temporary file in the same folder, is flushed to the disk,
    and then renamed. A symbolic link keeps its target, an existing file its permissions; a missing folder is created.
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
        error.filename = str(path)  # in place of the temporary file, which the user does not know
        raise


def sweep(folder: Path, written: Iterable[Path]) -> None:
    """Remove the files of a folder that were written last time but are not among ``written``; other files stay."""
    names = sorted({path.relative_to(folder).as_posix() for path in written})
    manifest = folder / MANIFEST
    before = manifest.read_text(encoding="utf-8").splitlines() if manifest.is_file() else []
    for name in sorted(set(before) - set(names)):
        # An edited manifest must not remove files outside.
        if ".." not in Path(name).parts and not Path(name).is_absolute():
            (folder / name).unlink(missing_ok=True)
    atomic_write(manifest, "".join(f"{name}\n" for name in names))
