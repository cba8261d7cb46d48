"""Opening the file of a results database: for reading or writing, on which disk, and what of an older version."""

from __future__ import annotations

import itertools
import os
import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path

from pppca_bench.store.schema import is_older, read_version

BUSY_TIMEOUT_S = 60.0
NETWORK_REMEDY = "Its locks may fail, and two writers can damage a database: give a local folder with --results DIR."

_NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ncpfs", "9p", "fuse.sshfs", "fuse.glusterfs"})
_MOUNTS = Path("/proc/self/mounts")


def connect(path: Path, read_only: bool) -> sqlite3.Connection:
    """Open a database with what keeps it whole.

    Choice: SQLite's rollback journal, flushed to the disk with every transaction (``synchronous = EXTRA``). A killed
    process or a power cut loses at most the groups of runs that were not recorded yet, the file alone is the whole
    database, and it can be read where nothing can be written; a write-ahead log is faster by milliseconds a group, but
    gives all of that up. Pages have the size of the file systems', 4096 bytes, so that one is written at once.

    Parameters
    ----------
    path : Path
    read_only : bool
        Nothing is made or changed, and everything that is read is of one moment: the connection's first look.
    """
    uri = f"{path.absolute().as_uri()}?mode={_access_mode(path, read_only)}"
    connection = sqlite3.connect(uri, uri=True, timeout=BUSY_TIMEOUT_S, isolation_level=None)
    settings: dict[str, object] = {"busy_timeout": int(BUSY_TIMEOUT_S * 1000), "page_size": 4096}
    # The cache, in KiB, holds the keys of a million runs; memory is taken as it is used.
    settings |= {"query_only": "ON"} if read_only else {"synchronous": "EXTRA", "cache_size": -131072}
    with ExitStack() as on_failure:
        on_failure.callback(connection.close)
        for name, value in settings.items():
            connection.execute(f"PRAGMA {name} = {value}")
        if read_only:
            connection.execute("BEGIN")
        on_failure.pop_all()
    return connection


def network_file_system(folder: Path) -> str | None:
    """Return the type of the network file system that a folder is on, or None; there locks may not hold.

    Parameters
    ----------
    folder : Path
        It need not exist.
    """
    try:
        mounts = [line.split() for line in _MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()]
    except OSError:  # not Linux
        return None
    path = folder.absolute().resolve()
    # A blank in a mount point is written as \\040.
    types = {Path(mount[1].replace("\\040", " ")): mount[2] for mount in mounts}
    nearest = next((types[parent] for parent in (path, *path.parents) if parent in types), "")
    return nearest if nearest in _NETWORK else None


def _access_mode(path: Path, read_only: bool) -> str:
    if not read_only:
        return "rwc"
    # After a killed run the next reader has to roll its unfinished transaction back, which takes the right to write.
    return "rw" if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK) else "ro"


def set_older_version_aside(path: Path) -> Path | None:
    """Copy the database of an older version beside it and empty it; return the copy's place, None where there is none.

    Choice: it is kept, not migrated, for its runs do not tell the data that they were computed from well enough. It is
    copied, not renamed: SQLite finds a journal by its name, so that whoever has the renamed file open takes the journal
    of the new database for its own.
    """
    if not path.exists() or not path.stat().st_size:
        return None
    with closing(connect(path, read_only=False)) as connection:
        if not is_older(read_version(connection)):
            return None
        connection.execute("BEGIN IMMEDIATE")
        version = read_version(connection)
        if not is_older(version):  # another process was faster
            return None
        aside = _copy(path, f".version-{version}")
        names = connection.execute("SELECT type, name FROM sqlite_master WHERE type IN ('view', 'table')")
        for kind, name in names.fetchall():
            connection.execute(f'DROP {kind} "{name}"')
        connection.execute("PRAGMA user_version = 0")
        connection.execute("COMMIT")
        return aside


def _copy(path: Path, suffix: str) -> Path:
    """Copy a database that nobody writes to beside it, under a name that nothing has yet; the copy is on the disk."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    beside.unlink(missing_ok=True)
    with ExitStack() as on_failure:
        on_failure.callback(beside.unlink, missing_ok=True)
        with closing(connect(path, read_only=True)) as source, closing(sqlite3.connect(beside)) as target:
            source.backup(target)
        copy = beside.rename(_free_name(path, suffix))
        on_failure.pop_all()
    return copy


def _free_name(path: Path, suffix: str) -> Path:
    """Return a name beside a file that nothing has yet: what was moved aside before stays, too."""
    names = (f"{path.stem}{suffix}{f'.{n}' if n else ''}{path.suffix}" for n in itertools.count())
    return next(free for name in names if not (free := path.with_name(name)).exists())


def remedy(error: Exception) -> str:
    """Say what to do about an error of SQLite's or of the system."""
    if getattr(error, "sqlite_errorname", None) in ("SQLITE_FULL", "SQLITE_IOERR_WRITE"):
        return "What was recorded is kept: free some space on the disk, then run the same command again."
    return "Check the disk and the file, or name another folder with --results."
