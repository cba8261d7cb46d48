"""Shipped configs: look-up by name, copies, and shell completion."""

from pathlib import Path

import pytest
from click.shell_completion import get_completion_class
from command_line import printed

from pppca_bench.cli.main import cli
from pppca_bench.config import shipped
from pppca_bench.config.shipped import find_experiment
from pppca_bench.errors import ConfigError
from pppca_bench.version import __version__

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.usefixtures("isolated_folders")


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.glob("*.yaml")}


class TestNames:
    def test_a_path_comes_before_a_copy_and_a_copy_before_the_shipped_config(self, tmp_path):
        demo = Path("demo")
        assert find_experiment(demo) == ROOT / "configs" / "demo.yaml"
        (tmp_path / "configs").mkdir()
        (tmp_path / "configs" / "demo.yaml").touch()
        assert find_experiment(demo).resolve() == tmp_path / "configs" / "demo.yaml"
        demo.mkdir()
        assert find_experiment(demo) == demo

    @pytest.mark.parametrize("path", ["demo.yaml", "elsewhere/demo", "./demo.yml"])
    def test_a_path_is_never_a_name(self, path):
        assert find_experiment(Path(path)) == Path(path)

    @pytest.mark.parametrize(
        ("name", "hint"), [("cancer", " (did you mean 'cancer1'?)"), ("qqq", "")]
    )
    def test_an_unknown_name_is_refused_with_the_nearest(self, name, hint):
        with pytest.raises(ConfigError) as caught:
            find_experiment(Path(name))
        assert str(caught.value) == (
            f"run: expected the path of a file or the name of a shipped config, got {name!r}{hint}."
            " `pppca list --shipped` lists them."
        )

    def test_an_installation_without_configs_is_reported(self, tmp_path, monkeypatch):
        monkeypatch.setattr(shipped, "_ROOTS", (tmp_path / "a", tmp_path / "b"))
        said = r"/a/configs: expected a shipped file or folder, got none\. Install"
        with pytest.raises(ConfigError, match=said):
            find_experiment(Path("demo"))

    def test_a_word_too_long_for_a_file_name_is_refused(self):
        refused = printed("run", "demo" * 100, code=2)
        assert "cannot be read (File name too long)" in refused
        assert refused.count("\n") == 1


class TestInit:
    def test_it_copies_every_config_and_keeps_existing_files_without_force(self):
        shipped = contents(ROOT / "configs")
        said = printed("init")
        assert contents(Path("configs")) == shipped
        assert said.startswith(
            f"configs: {len(shipped)} files written.\nNext: `pppca run configs/demo.yaml`"
        )
        Path("configs/demo.yaml").write_text("name: edited\n")
        Path("configs/cancer1.yaml").unlink()
        kept = f"configs: 1 files written, {len(shipped) - 1} existing files kept (--force"
        assert kept in printed("init")
        assert Path("configs/demo.yaml").read_text() == "name: edited\n"
        assert f"configs: {len(shipped)} files written." in printed("init", "--force")
        assert contents(Path("configs")) == shipped

    def test_configs_are_not_copied_over_the_shipped_folder(self, monkeypatch):
        before = contents(ROOT / "configs")
        monkeypatch.chdir(ROOT)
        said = "Error: configs: expected a folder to copy the shipped configs to, got theirs. Name another.\n"
        assert printed("init", "--force", code=2) == said
        assert contents(ROOT / "configs") == before


class TestCompletion:
    @pytest.mark.parametrize(
        ("words", "offered"),
        [
            (("run", "canc"), ["file,", "plain,cancer1"]),
            (("run", "cancer1", "dem"), ["file,", "plain,demo"]),
            (("rules", "dem"), ["file,", "plain,demo"]),
            (("data", "export", "folder", "horse1"), ["plain,horse1"]),
            (("sch",), ["plain,schema"]),
        ],
    )
    def test_names_and_files_are_offered(self, words, offered):
        assert completed(words) == offered


def completed(words: tuple[str, ...]) -> list[str]:
    """Return the completions of a line, each as its sort and its value."""
    completion = get_completion_class("bash")(cli, {}, "pppca", "_PPPCA_COMPLETE")
    offered = completion.get_completions(list(words[:-1]), words[-1])
    return [completion.format_completion(one) for one in offered]


def test_the_citations_are_those_of_this_version_of_the_slides_and_of_the_report():
    program, slides, report = printed("cite").rstrip().split("\n\n")
    assert program.startswith("@misc{")
    assert f"  version = {{{__version__}}}," in program
    assert "  title = {{Slides on pseudo-PCA" in slides
    assert "  note = {Unpublished slides, author and date unknown; " in slides
    assert report.splitlines()[:2] == ["@techreport{proben1,", "  author = {Prechelt, Lutz},"]
    assert "  number = {21/94},\n  year = {1994},\n}" in report
