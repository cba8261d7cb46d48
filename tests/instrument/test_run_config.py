"""Configs run from Python, on tables and on given data."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from builders import flowers
from command_line import pppca, printed

import pppca_bench
from pppca_bench.errors import ConfigError, DataError
from pppca_bench.problems import OwnData, open_problem
from pppca_bench.store.database import Store

DOCUMENT = {
    "name": "own",
    "seed": 3,
    "splits": 2,
    "tau": 10,
    "baselines": False,
    "methods": ["pca"],
    "classifier": {"hidden": [3], "max_epochs": 20},
}
EXAMPLE = Path(__file__).parents[2] / "docs" / "own_data.md"

pytestmark = pytest.mark.usefixtures("isolated_folders")


@pytest.fixture
def given(isolated_folders) -> dict[str, object]:  # noqa: ARG001
    """Return a table of flowers and its target, which are also in the file own.csv."""
    frame = flowers()
    frame.to_csv("own.csv", index=False)
    return {"own": (frame.drop(columns="kind"), frame["kind"])}


@pytest.mark.slow
def test_data_at_hand_give_the_numbers_of_the_same_data_in_a_file_in_workers_too(given):
    done = pppca_bench.run(DOCUMENT, given, results="given", workers=1)
    assert (done.outcome.n_done, done.outcome.n_failed) == (2, 0)
    entry = {"csv": "own.csv", "target": "kind", "name": "own"}
    from_file = pppca_bench.run(DOCUMENT | {"problems": [entry]}, results="file")
    times = ["finished_at", "fit_time_ms", "classifier_time_ms"]
    found, expected = (one.runs.drop(columns=times) for one in (done, from_file))
    pd.testing.assert_frame_equal(found, expected)
    assert list(done.runs.split) == [0, 1]
    assert done.runs.seed.nunique() == 2
    assert pppca_bench.run(DOCUMENT, given, results="given").outcome.n_reused == 2


def test_each_repeat_learns_from_its_own_split(given):
    done = pppca_bench.run(DOCUMENT | {"repeats": 3}, given, results="given")
    assert list(done.runs.split) == [0, 1, 0]
    source, problem = open_problem(OwnData("csv", "own.csv", ("kind",)))
    assert source.n_splits == 1
    with Store(Path("given/results.sqlite"), read_only=True) as store:
        assert store.problems()["own"].n_splits == 2
    first, second, third = done.runs.reconstruction_error
    eigenvalues = np.linalg.eigvalsh(np.cov(problem.X_train.T, bias=True))
    discarded = eigenvalues[: -int(done.runs.dimensionality[0])]
    assert first == pytest.approx(discarded.sum() / 2)
    assert first == third
    assert first != pytest.approx(second)


ONE = ([[1.0]], ["a"])
SAME_NAME = (pd.DataFrame({"y": [1, 2]}), pd.Series([1, 2], name="y"))
ONE_CLASS, INFINITE = (np.zeros((8, 1)), ["a"] * 8), ([[np.inf]] * 8, list("abababab"))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"iris": ONE}, "that is not the name of a known problem, got 'iris'"),
        ({"my own": ONE}, "expected a name of letters, digits, _ and - .*, got 'my own'"),
        ({"own": ([[1.0], [2.0]], ["a"])}, "own: expected as many targets as rows, 2, got 1"),
        ({"own": (np.zeros((2, 2, 2)), [0, 1])}, "own: expected x of one or two dimensions, got 3"),
        ({"own": SAME_NAME}, "expected each column's name once, got 'y'"),
        ({"own": ONE_CLASS}, "own, column 'y': expected at least two classes, got one, 'a'"),
        ({"own": INFINITE}, "own, row 1, column 'x1': expected a number within"),
    ],
)
def test_invalid_data_are_refused(given, said):
    with pytest.raises((ConfigError, DataError), match=said):
        pppca_bench.run(DOCUMENT | {"repeats": 1}, given)


def test_given_data_are_among_the_problems_of_a_document_of_plain_values():
    others = DOCUMENT | {"repeats": 1, "splits": 1}
    said = "config: expected 'own' among the problems of the config"
    with pytest.raises(ConfigError, match=said):
        pppca_bench.run(others | {"problems": ["iris"]}, {"own": ONE})
    with pytest.raises(ConfigError, match="expected plain values of YAML"):
        pppca_bench.run(others | {"problems": [{"csv": Path("own.csv")}]}, {"own": ONE})


def config_file(problems: str) -> Path:
    text = "repeats: 1\nseed: 1\ntau: 5\nmethods: [{method: pca}]\nbaselines: false\n"
    path = Path("own.yaml").resolve()
    path.write_text(f"name: own\nproblems: [{problems}]\n{text}")
    return path


@pytest.mark.usefixtures("given")
def test_a_dry_run_plans_tables_and_an_invalid_table_is_an_error():
    dry = ("run", config_file("{csv: own.csv, target: kind}, iris"), "--dry-run")
    message = f"Reading {dry[1]} and the data.\n"
    assert printed(*dry) == f"{message}2 runs planned, 0 done, 2 to run in 2 cells.\n"
    assert ": 16 trainings, " in printed(*dry, "--set", "tau=auto")
    several = printed(*dry, "--set", "splits=3", "--set", "repeats=3")
    assert "\n6 runs planned, " in f"\n{several}"
    Path("own.csv").write_text("x,kind\n" + "1,a\n2,b\n" * 4 + "2,b,3\n")
    got = "Error tokenizing data. C error: Expected 2 fields in line 10, saw 3"
    said = f"expected a file that pandas.read_csv reads, got {got}. The file begins with 'x,kind'."
    assert printed(*dry, code=2) == f"{message}Error: {Path('own.csv').resolve()}: {said}\n"


def consoles(text: str) -> list[tuple[list[str], str]]:
    """Return the commands of a document's console blocks, each with what it prints there."""
    found = []
    for block in text.split("```console\n")[1:]:
        for part in block.split("```")[0].split("$ ")[1:]:
            command, _, output = part.partition("\n")
            found.append((command.split()[1:], output))
    return found


@pytest.mark.slow
def test_the_commands_of_the_worked_example_say_what_the_document_says():
    text = EXAMPLE.read_text(encoding="utf-8")
    folder = EXAMPLE.parent / "examples" / "own_data"
    found = text.split("```yaml\n")[1].split("```")[0]
    assert found == (folder / "own.yaml").read_text(encoding="utf-8")
    table = EXAMPLE.parents[1] / "data" / "uci" / "page_blocks.csv.xz"
    for path in (folder / "own.yaml", table):
        Path(path.name).write_bytes(path.read_bytes())
    said = {command[0]: printed(*command) for command, _ in consoles(text)}
    assert "always 'negative' has an error of 9.5 %" in said["data"]
    assert "9.5 %" in text.split("```console")[1]
    assert "page_blocks.csv.xz (10), majority class" in said["run"]
    assert (
        "No method is worth taking for its balanced accuracy on page_blocks.csv.xz: " in said["run"]
    )
    assert "Balanced accuracy, % on page_blocks.csv.xz" in said["rank"]
    fitted = pppca_bench.pipeline("pages/page_blocks.csv.xz/pca/0", final=True)
    assert set(fitted.predict(pppca_bench.read_table(table.name))) == {"negative", "positive"}


def test_a_category_is_declared_by_an_option():
    rows = [f"2024-01-{day:02},{day % 2}" for day in range(1, 29)]
    Path("own.csv").write_text("\n".join(["when,y", *rows]))
    said = printed("data", "describe", "own.csv", "--target", "y", "--categorical", "when")
    assert re.search(r"^when +category ", said, re.MULTILINE)


def test_a_known_problem_and_a_table_without_a_target_are_described_too():
    Path("own.csv").write_text("x,y\n1,a\n,b\n")
    said = printed("data", "describe", "own.csv")
    assert "target   unknown: name it with --target" in said
    assert "1, constant" in said
    same = "75 / 38 / 37 for training, validation and test: the same in every run"
    assert same in printed("data", "describe", "iris")


def test_all_problems_of_a_config_are_described_and_all_that_is_wrong_with_them():
    for name in ("a", "b"):
        Path(f"{name}.csv").write_text(
            "when,size,y\n2020-01-02,x1,p\n2020-01-03,2,q\n2020-01-04,,p\n"
        )
    path = config_file("{csv: a.csv, target: y}, iris, {csv: b.csv, target: size}")
    done = pppca("data", "describe", path)
    assert done.exit_code == 2
    assert re.findall(r"^problem +(\S+)", done.output, re.MULTILINE) == ["a.csv", "iris", "b.csv"]
    for name in ("a.csv", "b.csv"):
        said = f"{name}, column 'when': expected numbers or text, got texts that begin"
        assert said in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("scaling", "gains"), [("pivot", False), ("given", True)])
def test_a_rotation_that_loses_nothing_gains_nothing_on_ten_classes(scaling, gains):
    rng = np.random.default_rng(7)
    y = np.repeat(np.arange(10), 60)
    X = rng.normal(size=(10, 12))[y] + 0.8 * rng.normal(size=(600, 12))
    X = X @ np.linalg.qr(rng.normal(size=(12, 12)))[0]
    # so that the other values of a feature lie near 1
    X[rng.integers(0, 600, 12), np.arange(12)] = -60.0
    methods = ["all_features", {"method": "pca", "variance_ratio": 1.0}]
    document = {"name": "ten", "seed": 1, "splits": 20, "methods": methods}
    document["classifier"] = {"input_scaling": scaling}
    table = pppca_bench.Table(X, y.astype(str), task="classification")
    runs = pppca_bench.run(document, {"ten": table}).runs
    errors = runs.groupby("method").test_error_percent.mean()
    if gains:
        assert errors["pca"] < errors["all_features"] - 10.0
    else:
        assert errors["pca"] == pytest.approx(errors["all_features"], abs=1.0)


def test_baselines_run_beside_the_methods_on_own_data_and_imbalanced_classes_have_scores():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), np.repeat(["often", "rare"], [68, 12])
    document = {name: value for name, value in DOCUMENT.items() if name != "baselines"}
    with pytest.warns(UserWarning, match="imbalanced .often 85 %, rare 15 %.: always 'often' has"):
        runs = pppca_bench.run(document | {"problems": ["own", "iris"]}, {"own": (X, y)}).runs
    own, iris = (runs[runs.problem == name].set_index("method") for name in ("own", "iris"))
    assert set(iris.index) == {"pca"}
    assert iris["balanced_accuracy_percent"].isna().all()
    assert set(own.index) == {"pca", "all_features", "majority_class"}
    assert set(own.loc["all_features", "classifier.hidden"]) == {"[3]"}
    scores = ["recall_often_percent", "recall_rare_percent", "balanced_accuracy_percent"]
    assert (own.loc["majority_class", scores] == [100.0, 0.0, 50.0]).all(axis=None)
    assert "Recall of rare, %" in printed("tables", "--table", "class_scores")
    line = pppca_bench.run(document, {"line": (X, X[:, 0])}, results="line").runs
    assert set(line.method) == {"pca", "all_features"}


def test_a_notebook_shows_the_table_the_recommendation_and_the_methods_in_pairs():
    X = np.random.default_rng(0).normal(size=(60, 3))
    document = DOCUMENT | {"methods": ["pca", "all_features"], "repeats": 2}
    done = pppca_bench.run(document, {"own": (X, X[:, 0] > 0)})
    page = done._repr_html_()
    texts = [text.strip() for text in re.findall("<td[^>]*>(.*?)</td>", page)]
    mean = done.runs[done.runs.method == "pca"].test_error_percent.mean()
    assert texts[0] == "own (3), PCA"
    assert any(text.startswith(f"{mean:.2f} (") for text in texts)
    assert "<p>No method is worth taking for its error on own: " in page
    assert "PCA, τ = 10 − all features" in page


def test_scores_of_classes_do_not_choose_on_numbers_to_approximate():
    X = np.random.default_rng(0).normal(size=(40, 3))
    document = DOCUMENT | {"tau": "auto", "methods": ["pca"], "splits": 1, "repeats": 1}
    said = (
        r"problems\[0\]: expected a classification problem, since the config sets `by`, got line, which is"
        r" approximation\. Set `by: validation_error`\."
    )
    with pytest.raises(ConfigError, match=said):
        pppca_bench.run(document | {"by": "macro_f1"}, {"line": (X, X[:, 0])})
    weighted = document | {"classifier": {"class_weight": "balanced"}}
    with pytest.raises(
        ConfigError, match=r"sets `class_weight`, got line.* Set `class_weight: null`"
    ):
        pppca_bench.run(weighted, {"line": (X, X[:, 0])})
    by_error = pppca_bench.run(document | {"by": "validation_error"}, {"line": (X, X[:, 0])})
    assert by_error.outcome.n_done == 1
