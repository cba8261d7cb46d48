"""The registered experiment: its configs, losses, tests, conclusions and matrix, on made-up results."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from builders import expanded
from scipy.stats import wilcoxon
from stored_runs import cell_of, results_by_config, results_of, run_of

from pppca_bench.config.experiment import parse_config
from pppca_bench.config.shipped import find_experiment
from pppca_bench.methods.registry import METHODS
from pppca_bench.pages.document import plain_records, render_documents
from pppca_bench.pages.figure_drawing import SHADES, draw
from pppca_bench.paper.evidence import read_experiment
from pppca_bench.paper.experiment import (
    ENDINGS,
    data_set_losses,
    experiment_documents,
    experiment_figure,
    experiments,
)
from pppca_bench.results.statistics import corrected_t
from pppca_bench.runs import ProblemFacts
from pppca_bench.yaml_files.source import read_yaml

ROOT = Path(__file__).parents[2]
EXPERIMENT = experiments()[0]
TABLES = ROOT / "results" / EXPERIMENT.configs[0] / "tables"
PROBLEMS = [f"data{number}" for number in range(14)]
FACTS = {
    name: ProblemFacts(name, "a", "classification", name, 9, 2, 80, 10, 10) for name in PROBLEMS
}
FOLDS = [-0.1, 0.0, 0.1]
WRITTEN, DGHA = "NE-pPCA (as written)", "DGHA (fitted)"
LITTLE = "Methods that lose at most 1 point against all features (claim 1) on a typical data set"
MUCH = "Methods that lose more than 1 point against all features (claim 1) on a typical data set"
ALIKE = "Methods whose typical loss against all features (claim 1) is within ±1 point with a probability above 95 %"
GAIN = "Methods that gain more than 1 point against all features (claim 1) with a probability above 95 %"


def results(*, sizes=None, apart=0.0, **shift):
    """Return runs of three folds in which all methods err alike but for the shift of some methods, in points.

    A shift is by the registry's name of the method; sizes, by data set, are numbers of features, 3 by default. Losses
    that are a little apart have no ties, with which SciPy permutes the signs of up to 13.
    """
    runs = []
    for number, selected in enumerate(EXPERIMENT.methods.values()):
        settings = dict(selected)
        method = settings.pop("method")
        for place, problem in enumerate(PROBLEMS):
            cell = cell_of(problem, method, settings, {})
            size = (sizes or {}).get(problem, 3)
            own = 10.0 + shift.get(method, 0.0) + apart * number * place
            for repeat, noise in enumerate(FOLDS):
                error = own + repeat + noise * (method != "all_features")
                runs.append(run_of(cell, repeat, test_error_percent=error, dimensionality=size))
    return results_by_config({EXPERIMENT.configs[0]: runs})


def documents(**others):
    made = experiment_documents(EXPERIMENT, results(**others), FACTS)
    return dict(zip(ENDINGS, made, strict=True))


def of(document, row):
    return next(record for record in plain_records(document.frame) if record["row"] == row)


def page() -> str:
    return " ".join((ROOT / EXPERIMENT.page).read_text(encoding="utf-8").split())


def rendered(name: str) -> pd.DataFrame:
    """Return a table of the experiment as it is rendered in the repository."""
    return pd.read_csv(TABLES / f"{EXPERIMENT.id}_{name}.csv")


def test_the_configs_run_every_method_on_every_data_set_once():
    paths = [find_experiment(Path(name)) for name in EXPERIMENT.configs]
    configs = [parse_config(read_yaml(path)) for path in paths]
    cells = {spec.cell for config in configs for spec in expanded(config)}
    assert len({cell.problem for cell in cells}) == 32
    settings = [{"method": cell.method, **cell.settings} for cell in cells]
    for name, selected in EXPERIMENT.methods.items():
        assert sum(selected.items() <= own.items() for own in settings) == 32, name
        assert name.startswith(METHODS[selected["method"]].title)


def test_every_method_is_compared():
    pairs = EXPERIMENT.comparisons().values()
    assert {name for pair in pairs for name in (pair.first, pair.second)} == {*EXPERIMENT.methods}


def test_the_page_states_the_tests_and_the_rendered_conclusions():
    assert sum(bool(pair.group.claim) for pair in EXPERIMENT.comparisons().values()) == 34
    assert "all 34 comparisons" in page()
    text = (TABLES / f"{EXPERIMENT.id}_tests.md").read_text(encoding="utf-8")
    conclusions = [line for line in text.splitlines() if line and line[0] not in "#|"][1:]
    assert len(conclusions) >= 5
    assert all(f"- {sentence}" in page() for sentence in conclusions)


def test_losses_have_the_interval_of_overlapping_folds():
    losses = data_set_losses(EXPERIMENT, results(ne_ppca=2.0), FACTS)
    first = losses.iloc[0]
    test = corrected_t([2.0 + noise for noise in FOLDS], 10 / 80)
    assert (first["row"], first["data_set"]) == ("NE-pPCA (as written) − all features", "data0")
    found = [first[name] for name in ("loss", "low", "high")]
    assert found == pytest.approx([test.difference, test.low, test.high])
    assert len(losses) == 35 * len(PROBLEMS)


def test_repeats_of_a_fold_are_averaged():
    facts = {name: replace(known, n_splits=2) for name, known in FACTS.items()}
    first = data_set_losses(EXPERIMENT, results(ne_ppca=2.0), facts).iloc[0]
    # Of three repeats, the first and the third are of the first of two folds.
    test = corrected_t([2.0 + (FOLDS[0] + FOLDS[2]) / 2, 2.0 + FOLDS[1]], 10 / 80)
    assert (first["n"], first["loss"]) == (2, pytest.approx(test.difference))


def test_comparisons_are_tested_over_the_data_sets():
    tests = documents(apart=1e-6, ne_ppca=2.0)["_tests"]
    lost = of(tests, f"{WRITTEN} − all features")
    # All of 14 data sets lose more than a point: 2 / 2¹⁴, times the 34 comparisons.
    assert lost["p_holm"] == pytest.approx(34 * 2 / 2**14)
    assert (lost["verdict"], lost["better"]) == ("does not hold", 0.0)
    assert (lost["worse"], lost["typical"]) == (
        pytest.approx(1.0, abs=0.05),
        pytest.approx(2.0, abs=1e-3),
    )
    kept = of(tests, f"{DGHA} − all features")
    assert (kept["verdict"], kept["alike"]) == ("holds", pytest.approx(1.0, abs=0.05))


BOTH = "NE-pPCA (as written), with 33 % of the features; NE-pPCA (fitted)"


@pytest.mark.parametrize(
    ("shift", "sentences"),
    [
        ({}, [f"{LITTLE}: {BOTH}, with 33 %", f"{ALIKE}: NE-pPCA (as ", f"{GAIN}: none."]),
        ({"ne_ppca": 2.0, "dgha": 2.0}, [f"{LITTLE}: none.", f"{MUCH}: {BOTH}, with 33 %"]),
        ({"ne_ppca": -2.0}, [f"{GAIN}: NE-pPCA (as written); NE-pPCA (fitted)."]),
    ],
)
def test_the_conclusions_follow_the_tests(shift, sentences):
    notes = documents(**shift)["_tests"].notes
    for sentence in sentences:
        assert any(note.startswith(sentence) for note in notes), notes


def test_data_sets_without_a_cut_are_apart():
    sizes = dict.fromkeys(PROBLEMS[:4], 9)
    made = documents(sizes=sizes, apart=1e-6, ne_ppca=2.0)
    lost = of(made["_tests"], f"{WRITTEN} − all features")
    # 2 / 2¹⁰ times 34 is above .05
    assert (lost["n"], lost["n_apart"], lost["verdict"]) == (10, 4, "undecided")
    whole = [
        record
        for record in plain_records(made["_margins"].frame)
        if record["variant"] == "all data sets"
    ]
    (all_sets,) = (record for record in whole if record["row"] == lost["row"])
    assert (all_sets["n"], all_sets["verdict"]) == (14, "does not hold")
    matrix = made["_matrix"]
    assert [row[0] for row in matrix.rows] == PROBLEMS[4:] + PROBLEMS[:4]
    assert matrix.rows[-1][1] == "(+2.00 [+1.71, +2.29] worse)"


def test_exact_pca_is_the_first_method_of_claim_7():
    tests = documents(ne_ppca=-5.0)["_tests"]
    better = of(tests, f"PCA − {WRITTEN}")
    assert (better["typical"], better["verdict"]) == (pytest.approx(5.0), "does not hold")
    assert of(tests, f"PCA, as many as {WRITTEN} − {WRITTEN}")["mean"] == pytest.approx(5.0)
    assert of(tests, f"PCA − {DGHA}")["verdict"] == "holds"
    assert of(tests, "PCA − all features")["p_holm"] is None


@pytest.mark.slow
def test_the_matrix_has_a_grid_for_each_group_and_is_drawn():
    made = results(ne_ppca=2.0, pca=-2.0)
    matrix = experiment_documents(EXPERIMENT, made, FACTS)[-1]
    assert [len(grid.headers) - 1 for grid in (matrix, *matrix.others)] == [4, 1, 8, 2, 20]
    figure = experiment_figure(EXPERIMENT, data_set_losses(EXPERIMENT, made, FACTS))
    assert [len(panel.data) for panel in figure.panels] == [14 * n for n in (4, 8, 2, 20)]
    assert {one for panel in figure.panels for one in panel.data["verdict"]} <= SHADES.keys()
    drawing = draw(figure)
    assert len(drawing.axes) == 4
    assert {text.get_text() for text in drawing.axes[0].texts} == {"+2.0", "0.0"}
    marks = drawing.legends[0].get_lines()
    assert {mark.get_markeredgecolor() for mark in marks} == {"black"}, "light marks need an edge"


def test_tests_and_matrix_are_read_back_from_the_tables_of_an_experiment(tmp_path):
    made = results(ne_ppca=2.0, pca=-2.0)
    _, losses, tests, *_ = experiment_documents(EXPERIMENT, made, FACTS)
    assert read_experiment(EXPERIMENT, tmp_path) is None
    for table in (losses, tests):
        (tmp_path / f"{table.id}.csv").write_text(
            render_documents([table], "csv"), encoding="utf-8"
        )
    document, figure = read_experiment(EXPERIMENT, tmp_path)
    assert [*document.rows] == [*tests.rows]
    drawn = experiment_figure(EXPERIMENT, data_set_losses(EXPERIMENT, made, FACTS))
    pd.testing.assert_frame_equal(figure.numbers(), drawn.numbers(), check_dtype=False)


def test_without_runs_there_is_no_conclusion():
    made = experiment_documents(EXPERIMENT, results_of([]), {})
    assert [document.has_runs for document in made] == [False] * len(ENDINGS)
    assert len(made[2].notes) == 1
    assert not experiment_figure(EXPERIMENT, data_set_losses(EXPERIMENT, results_of([]), {})).panels


@pytest.mark.slow
def test_the_rendered_signed_rank_tests_are_scipys_with_holms_correction():
    losses, tests = (rendered(name) for name in ("losses", "tests"))
    cut = losses[losses["features_percent"] < EXPERIMENT.most_features]
    beyond = {row: own["loss"].round(10) - 1.0 for row, own in cut.groupby("row")}
    counted = tests[tests["p_holm"].notna()].set_index("row")
    p = pd.Series(
        {row: wilcoxon(beyond[row], zero_method="zsplit").pvalue for row in counted.index}
    )
    adjusted = p * (len(p) + 1 - p.rank(method="first"))
    adjusted = adjusted.iloc[p.argsort()].cummax().clip(upper=1.0)[counted.index]
    assert len(counted) == 34
    assert list(counted["n"]) == [len(beyond[row]) for row in counted.index]
    assert list(counted["p_holm"]) == pytest.approx(list(adjusted))
    verdicts = np.where(counted["typical"] < 1.0, "holds", "does not hold")
    verdicts = np.where(adjusted >= 0.05, "undecided", verdicts)
    assert list(counted["verdict"]) == list(verdicts)


def corrected(beyond: dict[str, pd.Series]) -> pd.Series:
    """Return the signed-rank tests' p by comparison, with Holm's correction by independent arithmetic."""
    p = pd.Series(
        {row: wilcoxon(own, zero_method="zsplit").pvalue for row, own in beyond.items()}
    ).sort_values(kind="stable")
    return (p * np.arange(len(p), 0, -1)).cummax().clip(upper=1.0)


@pytest.mark.slow
def test_on_the_new_data_sets_alone_the_registered_test_decides_nothing():
    losses, tests = (rendered(name) for name in ("losses", "tests"))
    known = pd.read_csv(ROOT / "results" / "experiment" / "tables" / "E_losses.csv")["data_set"]
    counted = tests[tests["p_holm"].notna()]["row"]
    new = losses[~losses["data_set"].isin(known)]
    assert (known.nunique(), new["data_set"].nunique()) == (14, 18)
    cut = new[new["features_percent"] < EXPERIMENT.most_features]
    beyond = {row: cut[cut["row"] == row]["loss"].round(10) - 1.0 for row in counted}
    assert min(map(len, beyond.values())) >= 6
    p = corrected(beyond)
    assert len(p) == 34
    assert p.min() > 0.05
    said = f"the smallest corrected p is {f'{p.min():.3f}'[1:]}."
    assert (
        f"the registered test would decide nothing: no comparison holds or does not hold, and {said}"
        in page()
    )


def test_the_page_states_what_the_registered_test_says_of_claim_1_and_that_mushroom_is_a_ceiling():
    tests, errors = rendered("tests"), pd.read_csv(TABLES / f"{EXPERIMENT.id}.csv")
    claim1 = tests[tests["row"].str.endswith("− all features") & tests["p_holm"].notna()]
    assert len(claim1) == 4
    assert (claim1["verdict"] == "undecided").all()
    assert (claim1["low"] > 0.0).all()
    assert (
        "*undecided* in all four comparisons, and all four intervals of the typical loss lie above 0"
        in page()
    )
    mushroom = errors.set_index("row").loc["proben1:mushroom"]
    for method in ("DGHA (as written)", "all features"):
        assert mushroom[f"{method}, test_error_percent"] == 0.0
    assert "its error is 0 with DGHA (as written) and with all features" in page()


def test_the_page_states_on_how_many_data_sets_of_the_first_experiment_nothing_was_cut():
    losses = pd.read_csv(ROOT / "results" / "experiment" / "tables" / "E_losses.csv")
    whole = losses[losses["features_percent"] >= EXPERIMENT.most_features]
    n_whole = whole["row"].value_counts()
    ne_ppca, fitted_ne_ppca, dgha, fitted_dgha = (
        n_whole[f"{method} ({reading}) − all features"]
        for method in ("NE-pPCA", "DGHA")
        for reading in ("as written", "fitted")
    )
    assert ne_ppca == fitted_ne_ppca
    assert (
        f"In the first experiment this applies to {ne_ppca} of {losses['data_set'].nunique()} sets with NE-pPCA, and"
        f" to {dgha} (as written) and {fitted_dgha} (fitted) with DGHA."
    ) in page()
