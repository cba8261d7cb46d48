"""Installed packages: their versions, those that runs need beside this package, and the wheel of this package."""

from __future__ import annotations

import shutil
import subprocess
import sys
from base64 import urlsafe_b64encode
from collections.abc import Iterable
from hashlib import sha256
from importlib.metadata import PackagePath, distribution, distributions, packages_distributions
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZIP_DEFLATED, ZipFile

from pppca_bench.compiled.cache import PACKAGE
from pppca_bench.errors import PppcaError
from pppca_bench.methods.third_party import is_path

DISTRIBUTION = "pppca-bench"

_SOURCES = (
    *("pyproject.toml", "setup.py", "README.md", "LICENSE", "CITATION.cff"),
    *("pppca_bench", "configs", "data"),
)
"""Files and folders of a source tree from which the wheel is built."""

_OF_THE_INSTALLER = frozenset({"INSTALLER", "REQUESTED", "RECORD", "direct_url.json"})
"""Files of an installation's metadata that a wheel does not have, or that are written again."""


def package_versions() -> dict[str, str]:
    """Return the versions of all installed packages except this, by name, sorted; the first found of each counts."""
    versions = dict[str, str]()
    for found in distributions():
        if found.name != DISTRIBUTION:
            versions.setdefault(found.name, found.version)
    return dict(sorted(versions.items(), key=lambda item: item[0].lower()))


def needed_packages(names: Iterable[str]) -> list[str]:
    """Return the packages that runs need beside this package and its dependencies, sorted.

    They are those that installed the classes of dotted paths among the ``names`` of methods and classifiers, and those
    that give short names or references by an entry point.
    """
    owners = packages_distributions()
    needed = set[str]()
    for name in names:
        if is_path(name):
            top = name.partition(":")[0].partition(".")[0]
            needed |= set(owners.get(top, ()))
    for found in distributions():
        if any(point.group.startswith("pppca_bench.") for point in found.entry_points):
            needed.add(found.name)
    return sorted(needed - {DISTRIBUTION})


def repository_url() -> str:
    """Return the web address from which the source tree was cloned, "" without any."""
    git = ["git", "-C", str(PACKAGE.parent), "config", "--get", "remote.origin.url"]
    if not (PACKAGE.parent / ".git").exists() or shutil.which("git") is None:
        return ""
    address = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    # an address with a user may have a password
    return address if address.startswith("https://") and "@" not in address else ""


def write_wheel(folder: Path) -> Path:
    """Write the wheel of this package into a folder, and return its path.

    It is built from the source tree of a clone, by pip, or packed from the files of an installation.

    Raises
    ------
    PppcaError
        The wheel cannot be built, or an installed file was changed.
    """
    tree = PACKAGE.parent
    return _built(tree, folder) if (tree / "setup.py").is_file() else _packed(folder)


def _built(tree: Path, folder: Path) -> Path:
    """Build the wheel from a copy of the sources, since setuptools writes into the folder that it is given."""
    with TemporaryDirectory() as copy:
        for name in _SOURCES:
            source, target = tree / name, Path(copy, name)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, target)
        pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir"]
        built = subprocess.run([*pip, folder, copy], capture_output=True, text=True, check=False)
    wheels = list(folder.glob("*.whl"))
    if built.returncode or not wheels:
        cause = (built.stderr.strip().splitlines() or ["pip wrote no file"])[-1]
        raise PppcaError(
            f"{tree}: expected a wheel of this source tree by `pip wheel`, got an error ({cause})."
            " Install pip in this environment, and check its index."
        )
    return wheels[0]


def _packed(folder: Path) -> Path:
    """Pack the installed files into a wheel; each must have the digest that the installation recorded."""
    owner = distribution(DISTRIBUTION)
    (tag,) = [line for line in (owner.read_text("WHEEL") or "").splitlines() if "Tag: " in line]
    path = folder / f"pppca_bench-{owner.version}-{tag.partition(': ')[2]}.whl"
    record, lines = "", list[str]()
    with ZipFile(path, "w", ZIP_DEFLATED) as wheel:
        for file in filter(_is_of_wheel, owner.files or ()):
            content = Path(str(owner.locate_file(file))).read_bytes()
            digest = urlsafe_b64encode(sha256(content).digest()).decode().rstrip("=")
            if file.hash is None or file.hash.value != digest:
                raise PppcaError(
                    f"{file}: expected the file as it was installed, got a changed file."
                    f" Install {DISTRIBUTION} again."
                )
            wheel.writestr(file.as_posix(), content)
            lines.append(f"{file.as_posix()},sha256={digest},{len(content)}\n")
            if file.name == "METADATA":
                record = file.with_name("RECORD").as_posix()
        wheel.writestr(record, "".join([*lines, f"{record},,\n"]))
    return path


def _is_of_wheel(file: PackagePath) -> bool:
    """Return whether an installed file came from the wheel."""
    is_metadata = file.parent.suffix == ".dist-info" and file.name in _OF_THE_INSTALLER
    return not is_metadata and ".." not in file.parts and "__pycache__" not in file.parts
