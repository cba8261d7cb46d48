"""Wheel and sdist: contents, and use in an empty folder without a network."""

import re
import shutil
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from command_line import offline

ROOT = Path(__file__).parents[2]
FORGE = (".ci/", ".github/", ".gitignore")
"""Files that only a clone of the repository needs."""


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """Return a folder with the wheel, built from the sdist, and the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    # Of a copy, since setuptools builds in the folder that it is given, where another build would meet it.
    made = ".git", ".venv*", "__pycache__", ".*cache", "build", "*.egg-info", "*.sqlite*"
    source = shutil.copytree(ROOT, folder / "source", ignore=shutil.ignore_patterns(*made))
    offline(
        sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, source, folder=folder
    )
    return folder


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory) -> Path:
    """Return the bin folder of an environment with the wheel, beside this environment's dependencies."""
    folder = tmp_path_factory.mktemp("environment")
    offline(sys.executable, "-m", "venv", "--without-pip", folder, folder=folder)
    base = {"base": str(folder), "platbase": str(folder)}
    library = Path(sysconfig.get_path("purelib", vars=base))
    # A path that a .pth file adds has its own .pth files left unread, and so the editable install stays out.
    (library / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    pip = [folder / "bin" / "python", "-m", "pip", "install", "--no-deps", "--no-build-isolation"]
    offline(*pip, "--ignore-installed", *built.glob("*.whl"), folder=folder)
    return folder / "bin"


def names_in(built: Path) -> tuple[set[str], set[str]]:
    """Return the files of the wheel and, without their top folder, of the sdist."""
    (wheel,), (sdist,) = built.glob("*.whl"), built.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as opened, tarfile.open(sdist) as tar:
        return set(opened.namelist()), {
            member.name.partition("/")[2] for member in tar if member.isfile()
        }


@pytest.mark.slow
def test_the_sdist_has_every_file_of_the_repository(built):
    if not (ROOT / ".git").exists():
        pytest.skip("needs a clone of the repository")
    tracked = set(offline("git", "ls-files", folder=ROOT).split())
    assert {name for name in tracked - names_in(built)[1] if not name.startswith(FORGE)} == set()


@pytest.mark.slow
def test_the_wheel_has_only_the_package_the_configs_and_the_data(built):
    files, _ = names_in(built)
    files_of_package = (path for path in (ROOT / "pppca_bench").rglob("*") if path.is_file())
    sources = {path.relative_to(ROOT).as_posix() for path in files_of_package}
    outside = ["configs/*.yaml", "data/*.tar.xz", "data/uci/*.csv.xz", "data/README.md"]
    expected = {name for name in sources if "__pycache__" not in name}
    paths = (
        path.relative_to(ROOT)
        for pattern in (*outside, "CITATION.cff")
        for path in ROOT.glob(pattern)
    )
    expected |= {f"pppca_bench/{path.as_posix()}" for path in paths}
    assert {name for name in files if ".dist-info/" not in name} == expected


def files_below(package: Path) -> set[Path]:
    return {path for path in package.rglob("*") if "__pycache__" not in path.parts}


@pytest.mark.slow
def test_an_installed_package_runs_in_an_empty_folder_without_a_network_and_writes_nothing_into_itself(
    installed, tmp_path
):
    def pppca(*arguments: object) -> str:
        nowhere = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
        return offline(installed / "pppca", *arguments, folder=tmp_path, **nowhere)

    show = "import pppca_bench; print(pppca_bench.__path__[0])"
    package = Path(offline(installed / "python", "-c", show, folder=tmp_path).strip())
    assert not package.is_relative_to(ROOT)
    before = files_below(package)
    assert "files written." in pppca("init")
    assert "wdbc (30), DGHA, 10%" in pppca("run", "demo", "--repeats", 1)
    pppca("run", "cancer1", "--repeats", 1, "--only", "method=dgha", "--no-tables")
    assert (tmp_path / "pppca-results" / "results.sqlite").is_file()
    assert files_below(package) == before


@pytest.mark.slow
def test_the_library_example_of_the_readme_works_with_the_installed_package(installed, tmp_path):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    program = f"{example}\nprint(dgha.n_components_)"
    assert 1 <= int(offline(installed / "python", "-c", program, folder=tmp_path)) <= 13


@pytest.mark.slow
def test_an_installation_is_packed_into_the_wheel_that_it_came_from(built, installed, tmp_path):
    pack = "from pathlib import Path; from pppca_bench.experiments.installation import write_wheel"
    offline(installed / "python", "-c", f"{pack}; write_wheel(Path())", folder=tmp_path)
    (wheel,), (packed,) = built.glob("*.whl"), tmp_path.glob("*.whl")
    assert packed.name == wheel.name
    with zipfile.ZipFile(wheel) as one, zipfile.ZipFile(packed) as other:
        assert sorted(one.namelist()) == sorted(other.namelist())
        for name in one.namelist():
            assert sorted(one.read(name).splitlines()) == sorted(other.read(name).splitlines())


def requirements() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [*project["dependencies"], *project["optional-dependencies"]["test"]]


@pytest.mark.parametrize("requirement", requirements())
def test_the_lowest_versions_that_are_tested_are_those_that_the_project_admits(requirement):
    name, least = re.fullmatch(r"([a-z0-9-]+)>=([\d.]+)(?:,<[\d.]+)?", requirement).groups()
    lines = (ROOT / "constraints-lowest.txt").read_text(encoding="utf-8").splitlines()
    (pinned,) = [line.partition("==")[2] for line in lines if line.partition("==")[0] == name]
    assert re.sub(r"(\.0)+$", "", pinned) == re.sub(r"(\.0)+$", "", least)
