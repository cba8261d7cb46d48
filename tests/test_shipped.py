"""Shipped configs: look-up by name, copies, and shell completion."""

from pathlib import Path

import pytest
from click.shell_completion import get_completion_class
from command_line import printed

from pppca_bench.cli.main import cli
from pppca_bench.config import shipped
from pppca_bench.config.shipped import find_experiment, shipped_experiments
from pppca_bench.documents import read_yaml
from pppca_bench.errors import ConfigError

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.usefixtures("nowhere_else")


def contents(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


class TestNames:
    def test_a_name_selects_the_shipped_config(self):
        assert find_experiment(Path("cancer1")) == ROOT / "configs" / "cancer1.yaml"

    def test_a_copy_in_the_working_directory_comes_before_the_shipped_config(self, tmp_path):
        own = tmp_path / "configs"
        own.mkdir()
        (own / "cancer1.yaml").write_text("name: cancer1\n")
        assert find_experiment(Path("cancer1")).resolve() == own / "cancer1.yaml"

    @pytest.mark.parametrize("make", [Path.mkdir, Path.touch])
    def test_an_existing_path_of_that_name_comes_first(self, tmp_path, make):
        (tmp_path / "configs").mkdir()
        (tmp_path / "configs" / "demo.yaml").touch()
        make(tmp_path / "demo")
        assert find_experiment(Path("demo")) == Path("demo")

    @pytest.mark.parametrize("path", ["demo.yaml", "elsewhere/demo", "./demo.yml"])
    def test_a_path_is_never_a_name(self, path):
        assert find_experiment(Path(path)) == Path(path)

    @pytest.mark.parametrize(("name", "hint"), [("cancer", " (did you mean 'cancer1'?)"), ("qqq", "")])
    def test_an_unknown_name_is_refused_with_the_nearest(self, name, hint):
        with pytest.raises(ConfigError) as caught:
            find_experiment(Path(name))
        expected = "run: expected the path of a file or the name of a shipped config"
        remedy = "`pppca init` writes all of them into a folder."
        assert str(caught.value) == f"{expected}, got {name!r}{hint}. {remedy}"

    def test_an_installation_without_configs_is_reported(self, tmp_path, monkeypatch):
        monkeypatch.setattr(shipped, "_FOLDERS", (tmp_path / "a", tmp_path / "b"))
        with pytest.raises(ConfigError, match=r"/a: expected the folder of shipped configs, got none\. Install"):
            find_experiment(Path("demo"))

    def test_a_word_too_long_for_a_file_name_is_refused(self):
        refused = printed("run", "demo" * 100, code=2)
        assert "cannot be read (File name too long)" in refused
        assert refused.count("\n") == 1


class TestInit:
    def test_it_copies_every_config(self, tmp_path):
        said = printed("init")
        copied = contents(tmp_path / "configs")
        assert copied == {path.name: path.read_text() for path in shipped_experiments().values()}
        assert said.startswith(f"configs: {len(copied)} files written.\nNext: `pppca run configs/demo.yaml`")

    def test_existing_files_are_kept_without_force(self, tmp_path):
        printed("init", "mine")
        edited = tmp_path / "mine" / "demo.yaml"
        edited.write_text("name: edited\n")
        (tmp_path / "mine" / "cancer1.yaml").unlink()
        n_files = len(contents(tmp_path / "mine"))
        assert f"mine: 1 files written, {n_files} existing files kept (--force" in printed("init", "mine")
        assert edited.read_text() == "name: edited\n"
        assert f"mine: {n_files + 1} files written." in printed("init", "mine", "--force")
        assert read_yaml(edited).value == read_yaml(ROOT / "configs" / "demo.yaml").value

    def test_configs_are_not_copied_over_the_shipped_folder(self, monkeypatch):
        before = contents(ROOT / "configs")
        monkeypatch.chdir(ROOT)
        said = "Error: configs: expected a folder to copy the shipped configs to, got theirs. Name another.\n"
        assert printed("init", "--force", code=2) == said
        assert contents(ROOT / "configs") == before

    def test_a_folder_that_is_a_file_is_refused(self, tmp_path):
        (tmp_path / "configs").touch()
        printed("init", code=2)


class TestCompletion:
    @pytest.mark.parametrize(
        ("words", "offered"),
        [
            (("run", "canc"), ["file,", "plain,cancer1"]),
            (("run", "cancer1", "dem"), ["file,", "plain,demo"]),
            (("rules", "dem"), ["file,", "plain,demo"]),
            (("data", "export", "folder", "horse"), ["plain,horse1", "plain,horse2", "plain,horse3"]),
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
