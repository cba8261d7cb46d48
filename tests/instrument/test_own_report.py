"""The report and the figures of own data: data, recommendation, scores and confusion matrix."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from builders import small, write_config
from command_line import printed

import pppca_bench

pytestmark = pytest.mark.usefixtures("isolated_folders")

MINE = {"title": "Screening of <parts>", "splits": 3, "seed": 1, "tau": [5, 50], "methods": ["pca"]}


@pytest.fixture
def table(isolated_folders) -> None:  # noqa: ARG001
    """Write a table of 60 rows, 15 of them of the class "bad"."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)).round(3)
    y = np.where(X[:, 0] > np.sort(X[:, 0])[44], "bad", "good")
    frame = pd.DataFrame(X, columns=["x1", "x2", "x3"]).assign(y=y)
    frame.to_csv("parts.csv", index=False)


def run_on(**changes) -> None:
    document = small(name="mine", problems=[{"csv": "parts.csv", "target": "y"}])
    document = {key: value for key, value in document.items() if key != "repeats"}
    write_config(Path(), document | MINE | changes)
    printed("run", "mine.yaml", "--workers", 0, "--no-tables")


@pytest.mark.usefixtures("table")
@pytest.mark.slow
def test_the_report_of_own_data_says_what_the_data_are_and_what_to_take():
    run_on(predictions=True)
    printed("report")
    page = Path("pppca-results/report.html").read_text(encoding="utf-8")
    assert "<title>Screening of &lt;parts&gt;</title>" in page
    assert re.search(
        r"parts\.csv: 60 rows, 3 inputs, 2 classes \(bad 26.7\u00a0%, good 73.3\u00a0% of the test rows\); 3 random"
        r" splits into 30 / 15 / 15 rows for training, validation and testing\. Last run on \d{4}-\d\d-\d\d\.",
        page,
    )
    assert re.search(
        r"<strong>(Recommended: (PCA|all features)|No method is worth taking for its error)", page
    )
    titles = re.findall(r'title="Enlarge">(.*?)</a>', page)
    assert titles[:2] == [
        "Test error on parts.csv",
        "Test error and number of features on parts.csv",
    ]
    assert titles[2].startswith("Confusion matrix of ")
    headings = re.findall(r"<h3>(.*?)</h3>", page)
    assert not any(re.match(r"\w+\. ", heading) for heading in headings)


@pytest.mark.usefixtures("table")
def test_figures_of_own_data_have_the_numbers_of_their_runs():
    run_on(predictions=True)
    assert "Wrote 9 files to drawn." in printed("figures", "--out", "drawn")
    runs = pppca_bench.load_results()
    scores = pd.read_csv("drawn/scores.csv").set_index("label")
    of_pca = runs[(runs.method == "pca") & (runs["method.tau"] == 5)]
    assert scores.loc["PCA, τ = 5", "mean"] == pytest.approx(of_pca.test_error_percent.mean())
    assert scores.loc["PCA, τ = 5", "features"] == pytest.approx(of_pca.dimensionality.mean())
    assert set(scores.index[scores.is_baseline]) == {"all features", "majority class"}
    counts = pd.read_csv("drawn/confusion.csv").set_index(["target", "predicted"])["n"]
    # 15 test rows in each of 3 splits, a quarter of them bad
    assert counts.groupby("target").sum().to_dict() == {"bad": 12, "good": 33}
    taken = scores.index[scores.is_recommended]
    wrong = counts["bad", "good"] + counts["good", "bad"]
    assert len(taken) <= 1
    for label in taken:
        assert 100 * wrong / 45 == pytest.approx(scores.loc[label, "mean"])


@pytest.mark.usefixtures("table")
def test_without_predictions_the_report_says_how_to_get_the_confusion_matrix():
    run_on(baselines=False)
    printed("report")
    page = Path("pppca-results/report.html").read_text(encoding="utf-8")
    assert "For a confusion matrix, set <code>predictions: true</code> in the config." in page
    assert "<strong>Best of the methods: PCA, τ = " in page
    assert "Wrote 3 files to drawn." in printed("figures", "--out", "drawn")


def test_results_without_a_figure_are_refused():
    pppca_bench.run(small({"method": "dgha_speedup", "tau": 5}, repeats=1))
    said = printed("figures", code=1)
    assert "pppca-results: expected runs that a figure shows, got none." in said
