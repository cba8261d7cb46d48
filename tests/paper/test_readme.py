"""README: its steps work in a clone, and leave the versioned files alone."""

import re
import shutil
import sys
from pathlib import Path

import pytest
from command_line import offline

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SHORTER = {
    "pppca run demo": "--repeats 1 --workers 0",
    "pppca run cancer1": "--repeats 1 --workers 0 --only method=dgha,tau=15",
}
"""Options that shorten a command."""


def steps() -> list[str]:
    """Return the commands, in their order."""
    section = README.partition("## Documentation")[0]
    return [text.strip() for text in re.findall(r"^((?:pip|pppca) [^#\n]+)", section, re.MULTILINE)]


@pytest.fixture
def clone(tmp_path) -> Path:
    """Return a repository with the versioned files as they are now, all committed."""
    if not (ROOT / ".git").exists():
        pytest.skip("needs a clone of the repository")
    folder = tmp_path / "clone"
    for name in git(ROOT, "ls-files", "--cached", "--others", "--exclude-standard").splitlines():
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    git(folder, "init")
    git(folder, "add", ".")
    git(folder, *["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--message=all"])
    return folder


def git(folder: Path, *arguments: str) -> str:
    return offline("git", *arguments, folder=folder)


def test_the_readme_is_short_and_begins_with_the_answer_and_two_commands():
    assert len(README.splitlines()) <= 100
    assert len(README.partition("## Next steps")[0].split()) <= 220
    assert README.index("pppca run demo") < README.index("- Reducing features") < 1500


@pytest.mark.slow
def test_no_step_changes_a_versioned_file_or_leaves_one_to_add(clone, tmp_path):
    installed = str(tmp_path / "installed")
    pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-build-isolation"]
    assert steps()[:3] == ["pip install .", *SHORTER]
    for step in steps():
        program, *arguments = f"{step} {SHORTER.get(step, '')}".split()
        command = [sys.executable, "-P", "-m", "pppca_bench", *arguments]
        if program == "pip":
            command = [*pip, "--target", installed, "."]
        offline(*command, folder=clone, PYTHONPATH=installed)
        assert git(clone, "status", "--porcelain") == "", step
    assert (clone / "pppca-results" / "report.html").is_file()
