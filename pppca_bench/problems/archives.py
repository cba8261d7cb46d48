"""Packaged Proben1 files, in an xz archive for each family of problems."""

import hashlib
import io
import lzma
import tarfile
from collections.abc import Iterable
from pathlib import Path

from pppca_bench.errors import DataError
from pppca_bench.files import atomic_write
from pppca_bench.problems.registry import PROBEN1_URL, ProblemInfo, proben1_infos

_PACKAGE = Path(__file__).resolve().parents[1]
_FOLDERS = (_PACKAGE / "data", _PACKAGE.parent / "data")
"""Folder of the archives in an installed package, and in the repository."""


def find_archive(info: ProblemInfo) -> Path | None:
    """Return the path of the archive of a Proben1 problem, or None if the package lacks it."""
    paths = (folder / f"{info.family}.tar.xz" for folder in _FOLDERS)
    return next((path for path in paths if path.is_file()), None)


def read_packaged(info: ProblemInfo) -> bytes:
    """Return the packaged .dt file of a Proben1 problem, checked against its SHA-256.

    Parameters
    ----------
    info : ProblemInfo
        Registry entry of a Proben1 problem.

    Raises
    ------
    DataError
        If the archive is missing or damaged, or the file differs from the registered one.
    """
    archive = find_archive(info)
    if archive is None:
        raise DataError(
            f"{info.filename}: expected in the package, got no archive {info.family}.tar.xz. Install pppca-bench again,"
            f" or give the folder of a copy with --data DIR (source: {PROBEN1_URL})."
        )
    try:
        packed = archive.read_bytes()
        with tarfile.open(fileobj=io.BytesIO(lzma.decompress(packed)), mode="r:") as tar:
            member = tar.extractfile(info.filename)
            content = b"" if member is None else member.read()
    except (OSError, lzma.LZMAError, tarfile.TarError, KeyError) as error:
        raise _damaged(info, archive, f"an archive that cannot be read ({error})") from error
    sha256 = hashlib.sha256(content).hexdigest()
    if sha256 != info.sha256:
        raise _damaged(info, archive, sha256)
    return content


def export_files(names: Iterable[str] | None, folder: str | Path) -> list[Path]:
    """Write packaged Proben1 files, as they were published, into a folder.

    Parameters
    ----------
    names : iterable of str or None
        Problems, all of Proben1 by default; bundled problems have no file and are skipped.
    folder : str or Path
        Created if necessary. Existing files of the same names are replaced.

    Returns
    -------
    list of Path
        The written files, in the order of the names.

    Raises
    ------
    DataError
        If a name is unknown, an archive is missing or damaged, or the folder cannot be written.
    """
    folder = Path(folder)
    infos = proben1_infos(names)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for info in infos:
            atomic_write(folder / info.filename, read_packaged(info))
    except OSError as error:
        raise DataError(f"{folder}: expected a writable folder, got {error.strerror}. Give another folder.") from error
    return [folder / info.filename for info in infos]


def _damaged(info: ProblemInfo, archive: Path, got: str) -> DataError:
    return DataError(
        f"{info.filename} in {archive}: expected SHA-256 {info.sha256}, got {got}. The archive is damaged: install"
        " pppca-bench again, or give the folder of a copy with --data DIR."
    )
