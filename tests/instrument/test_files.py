"""Files that others may have placed, and names in files: no text is a formula, markup or a control sequence."""

import errno
import io
import os
from pathlib import Path

import pandas as pd
import pytest

from pppca_bench.errors import printable
from pppca_bench.files import MANIFEST, atomic_write, exposure, open_own, remove_stale
from pppca_bench.pages.escapes import in_markdown, to_csv

POSIX = pytest.mark.skipif(os.name == "nt", reason="owners, modes and FIFOs of POSIX")


def test_texts_that_spreadsheets_would_compute_are_marked_and_numbers_are_not():
    odd = ["=cmd|' /C calc'!A0", "+1+1", "-x", "@SUM(A1)", "\tx", "a=b", "-2.5", "+inf", None]
    frame = pd.DataFrame({"=name": odd, "number": range(-1, 8)})
    read = pd.read_csv(io.StringIO(to_csv(frame)), dtype=str, keep_default_na=False)
    assert list(read) == ["'=name", "number"]
    assert list(read["'=name"]) == [f"'{text}" for text in odd[:5]] + ["a=b", "-2.5", "+inf", ""]
    assert list(read["number"]) == list(map(str, range(-1, 8)))


def test_numbers_of_mixed_columns_are_written_as_before():
    frame = pd.DataFrame({"mixed": [1, 2.5, None, "a", True]}, dtype=object)
    frame = frame.assign(n=[1, 2, 3, 4, 5], x=0.1)
    assert to_csv(frame) == frame.to_csv(index=False, lineterminator="\n")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a|b<img src=x>", r"a\|b&lt;img src=x>"),
        ("![x](http://x)", r"![x]\(http://x)"),
        ("one\ntwo | three", r"one\ntwo \| three"),
        ("[8, 4]", "[8, 4]"),
    ],
)
def test_a_name_stays_in_its_markdown_cell(text, shown):
    assert in_markdown(text) == shown


def test_control_characters_and_changes_of_direction_are_codes():
    assert printable("\x1b[2J\x9b\u202e\u2003é\t\n") == "\\x1b[2J\\x9b\\u202e\u2003é\\t\\n"
    assert printable("\x1b\t\n", keep="\t\n") == "\\x1b\t\n"


@POSIX
class TestOwn:
    def test_a_file_is_opened_if_it_exists(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            open_own(tmp_path / "file")
        (tmp_path / "file").write_bytes(b"code")
        with os.fdopen(open_own(tmp_path / "file"), "rb") as file:
            assert file.read() == b"code"

    @pytest.mark.parametrize(
        "place", [os.mkfifo, Path.mkdir, lambda path: path.symlink_to("/dev/zero")]
    )
    def test_anything_but_a_regular_file_is_refused_at_once(self, tmp_path, place):
        place(tmp_path / "file")
        with pytest.raises(OSError, match=r"regular|symbolic"):
            open_own(tmp_path / "file")

    def test_code_that_others_may_write_is_refused(self, tmp_path, monkeypatch):
        path = tmp_path / "file"
        path.touch()
        for mode in (0o620, 0o602):
            path.chmod(mode)
            with pytest.raises(OSError, match="others may write to it"):
                open_own(path)
        path.chmod(0o600)
        monkeypatch.setattr(os, "geteuid", lambda: 4711)
        assert exposure(Path("/").stat()) is None
        expected = "it belongs to another user"
        assert exposure(os.stat_result((0o600, 0, 0, 0, 4712, 0, 0, 0, 0, 0))) == expected


class TestAtomicWrite:
    def test_a_full_disk_leaves_the_old_file_and_nothing_beside_it(self, tmp_path, monkeypatch):
        path = tmp_path / "runs.csv"
        atomic_write(path, "old")

        def full(_: int) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match=f"No space left on device: '{path}'"):
            atomic_write(path, "new")
        assert [(one, one.read_text()) for one in tmp_path.iterdir()] == [(path, "old")]

    def test_it_keeps_mode_and_links(self, tmp_path):
        path, link = tmp_path / "table.md", tmp_path / "link.md"
        atomic_write(path, "old")
        path.chmod(0o640)
        link.symlink_to(path)
        atomic_write(link, b"new \xcf\x84")
        assert link.is_symlink()
        assert path.read_text(encoding="utf-8") == "new τ"
        assert path.stat().st_mode & 0o777 == 0o640


def test_files_that_were_written_last_time_alone_are_removed_within_the_folder(tmp_path):
    folder = tmp_path / "tables"
    names = ("new.md", "old.md", "notes.txt", "../outside")
    for name in names:
        atomic_write(folder / name, "")
    (folder / MANIFEST).write_text(f"new.md\nold.md\n../outside\n{tmp_path / 'outside'}\n")
    remove_stale(folder, [folder / "new.md"])
    assert [name for name in names if not (folder / name).exists()] == ["old.md"]
    assert (folder / MANIFEST).read_text() == "new.md\n"
