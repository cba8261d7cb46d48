"""Data sets of openml.org, downloaded once by scikit-learn and checked against their first download."""

from __future__ import annotations

import os
from pathlib import Path

from pppca_bench.errors import DataError
from pppca_bench.files import atomic_write
from pppca_bench.problems.load import given_folders
from pppca_bench.problems.read_table import target_names
from pppca_bench.problems.table import Table, to_table

_RETRIES, _PAUSE_S = 3, 1.0
_LOCAL = Path("data")


def download_folder(data_dir: str | Path | None = None) -> Path:
    """Return the folder for downloads: the first of `data_dir`, $PPPCA_DATA, an existing ``data``, the user's cache.

    Parameters
    ----------
    data_dir : str or Path, optional
        The folder of the command line's ``--data``.

    Raises
    ------
    DataError
        If no folder is given or exists, and the user has no home folder.
    """
    return _folders(data_dir)[0]


def _folders(data_dir: str | Path | None) -> list[Path]:
    folders = [*given_folders(data_dir), *([_LOCAL] if _LOCAL.is_dir() else [])]
    try:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:
        if not folders:
            raise DataError(
                "data: expected a folder for downloads, got none, because there is no home folder. Give one with"
                " --data DIR."
            ) from None
        return folders
    return [*folders, cache / "pppca"]


def read_openml(number: str, data_dir: str | Path | None = None, *, only_local: bool = False) -> Table:
    """Return a data set of openml.org, downloaded unless a data folder holds it.

    scikit-learn keeps the files in ``openml/`` of the data folder and verifies the server's checksum. The digest of the
    table is written to ``openml/NUMBER.sha256`` after the first download and compared with it afterwards.

    Parameters
    ----------
    number : str
        The data set's number, such as ``"61"``.
    data_dir : str or Path, optional
        First folder to look for it, see `download_folder`.
    only_local : bool, default False
        Download nothing.

    Raises
    ------
    DataError
        The download failed, or the data are no longer those that were fetched first.
    """
    from sklearn.datasets import fetch_openml

    source, record = f"openml:{number}", Path("openml", f"{number}.sha256")
    folders = _folders(data_dir)
    present = next((folder for folder in folders if (folder / record).is_file()), None)
    if present is None and only_local:
        raise DataError(
            f"{source}: expected its files in the data folder, got none. Run `pppca data describe {source}`."
        )
    folder = present or folders[0]
    try:
        bunch = fetch_openml(
            data_id=int(number),
            data_home=str(folder),
            as_frame=True,
            parser="auto",
            n_retries=_RETRIES,
            delay=_PAUSE_S,
        )
    except (OSError, ValueError, KeyError) as error:  # of the network, and of the server's answers
        cause = str(error).strip().partition("\n")[0].rstrip(".")
        remedy = f"Check the number, the network and the files in {folder / 'openml'}."
        raise DataError(f"{source}: expected a data set of www.openml.org, got {cause}. {remedy}") from None
    targets = () if bunch.target is None else target_names(bunch.target)
    table = to_table(bunch.frame, source, targets=targets)
    _hold_to_record(table, folder / record)
    return table


def _hold_to_record(table: Table, record: Path) -> None:
    """Write the digest of a table down, or compare it with what was written."""
    if not record.exists():
        atomic_write(record, f"{table.sha256}\n")
        return
    recorded = record.read_text(encoding="ascii", errors="replace").strip()
    if table.sha256 != recorded:
        raise DataError(
            f"{table.source}: expected the data that were fetched first (SHA-256 {recorded[:12]}... in {record}), got"
            f" others ({table.sha256[:12]}...). Delete that file to take the new ones."
        )
