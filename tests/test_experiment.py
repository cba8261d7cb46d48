"""The registered experiments: their configs, losses, tests, conclusions and matrices, on made-up results."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from scipy.stats import binomtest, wilcoxon
from stored_runs import cell_of, results_by_config, results_of, run_of

from pppca_bench.config.shipped import find_experiment
from pppca_bench.experiments.request import read_request
from pppca_bench.methods.registry import METHODS
from pppca_bench.paper.evidence import read_experiment
from pppca_bench.paper.experiment import (
    ENDINGS,
    data_set_losses,
    experiment_documents,
    experiment_figure,
    experiments,
)
from pppca_bench.reporting.figure_drawing import SHADES, draw
from pppca_bench.reporting.statistics import corrected_t
from pppca_bench.reporting.table_text import render
from pppca_bench.runs import ProblemFacts

ROOT = Path(__file__).parents[1]
FIRST, SECOND = experiments()
PROBLEMS = [f"data{number}" for number in range(14)]
FACTS = {
    name: ProblemFacts(name, "a", "classification", name, 9, 2, 80, 10, 10) for name in PROBLEMS
}
FOLDS = [-0.1, 0.0, 0.1]
WRITTEN, DGHA = "NE-pPCA (as written)", "DGHA (fitted)"
LITTLE = "Methods that lose at most 1 point against all features on significantly more than half of the data sets"
MUCH = "Methods that lose more than 1 point against all features on significantly more than half of the data sets"
ALIKE = "Methods whose typical loss against all features is within ±1 point with a probability above 95 %"
GAIN = (
    "Methods that gain more than 1 point against exact PCA at τ = 15 with a probability above 95 %"
)


def results(experiment=FIRST, *, sizes=None, apart=0.0, **shift):
    """Return runs of three folds in which all methods err alike but for the shift of some methods, in points.

    A shift is by the registry's name of the method; sizes, by data set, are numbers of features, 3 by default. Losses
    that are a little apart have no ties, with which SciPy permutes the signs of up to 13.
    """
    runs = []
    for number, selected in enumerate(experiment.methods().values()):
        method = selected["method"]
        settings = {key: value for key, value in selected.items() if key != "method"}
        for place, problem in enumerate(PROBLEMS):
            cell = cell_of(problem, method, settings, {})
            own = shift.get(method, 0.0) + apart * number * place
            for repeat, noise in enumerate(FOLDS):
                error = 10.0 + repeat + own + noise * (method != "all_features")
                size = (sizes or {}).get(problem, 3)
                runs.append(run_of(cell, repeat, test_error_percent=error, dimensionality=size))
    return results_by_config({experiment.configs[0]: runs})


def documents(experiment=FIRST, facts=FACTS, **others):
    made = experiment_documents(experiment, results(experiment, **others), facts)
    return dict(zip(ENDINGS, made, strict=True))


def of(records, row):
    return next(record for record in records if record["row"] == row)


@pytest.mark.parametrize(
    ("experiment", "n_data_sets"), [(FIRST, 14), (SECOND, 32)], ids=["first", "second"]
)
def test_the_configs_run_every_method_on_every_data_set_once(experiment, n_data_sets):
    request = read_request(
        [find_experiment(Path(name)) for name in experiment.configs], data_dir=None
    )
    cells = {spec.cell for spec in request.specs}
    assert len({cell.problem for cell in cells}) == n_data_sets
    for name, settings in experiment.methods().items():
        method, settings = (
            settings["method"],
            {key: value for key, value in settings.items() if key != "method"},
        )
        matching = [
            cell
            for cell in cells
            if cell.method == method
            and all(cell.settings.get(key, value) == value for key, value in settings.items())
        ]
        assert len(matching) == n_data_sets, name
        assert name.startswith(METHODS[method].title)


@pytest.mark.parametrize("experiment", [FIRST, SECOND], ids=["first", "second"])
def test_the_pages_state_the_number_of_tested_comparisons(experiment):
    n_tested = sum(pair.group.counted for pair in experiment.comparisons().values())
    words = {13: "the thirteen comparisons", 34: "all 34 comparisons"}
    assert words[n_tested] in " ".join((ROOT / experiment.page).read_text(encoding="utf-8").split())


def test_losses_have_the_interval_of_overlapping_folds():
    losses = documents(ne_ppca=2.0)["_losses"]
    first = losses.records[0]
    test = corrected_t([2.0 + noise for noise in FOLDS], 10 / 80)
    assert (first["row"], first["data_set"]) == ("NE-pPCA (as written) − all features", "data0")
    found = [first[name] for name in ("loss", "low", "high")]
    assert found == pytest.approx([test.difference, test.low, test.high])
    assert len(losses.records) == 13 * len(PROBLEMS)


def test_repeats_of_a_fold_are_averaged():
    losses = documents(
        facts={name: replace(known, n_splits=2) for name, known in FACTS.items()}, ne_ppca=2.0
    )["_losses"]
    # Of three repeats, the first and the third are of the first of two folds.
    test = corrected_t([2.0 + (FOLDS[0] + FOLDS[2]) / 2, 2.0 + FOLDS[1]], 10 / 80)
    expected = (2, pytest.approx(test.difference))
    assert (losses.records[0]["n"], losses.records[0]["loss"]) == expected


def test_comparisons_are_tested_over_the_data_sets():
    tests = documents(ne_ppca=2.0, pca=0.5)["_tests"].records
    lost = of(tests, "NE-pPCA (as written) − all features")
    # All of 14 data sets lose more than a point: 2 / 2¹⁴, times the 13 comparisons.
    assert lost["p_holm"] == pytest.approx(13 * 2 / 2**14)
    assert lost["verdict"] == "does not hold"
    expected = (0.0, pytest.approx(1.0, abs=0.05), pytest.approx(2.0))
    assert (lost["better"], lost["worse"], lost["typical"]) == expected
    kept = of(tests, "PCA − all features")
    assert (kept["verdict"], kept["alike"]) == ("holds", pytest.approx(1.0, abs=0.05))


BOTH = "NE-pPCA (as written), with 33 % of the features; NE-pPCA (fitted)"


@pytest.mark.parametrize(
    ("shift", "sentence"),
    [
        ({}, f"{LITTLE}: {BOTH}, with 33 %"),
        (dict.fromkeys(("ne_ppca", "dgha", "pca"), 2.0), f"{LITTLE}: none."),
        ({"ne_ppca": 2.0}, f"{MUCH}: {BOTH}"),
        ({"pca": 0.5}, f"{ALIKE}: NE-pPCA (as "),
        ({"pca": 2.0}, f"{GAIN}: NE-pPCA (as written); NE-pPCA (fitted)"),
        ({"pca": 0.5}, f"{GAIN}: none."),
    ],
)
def test_the_conclusions_follow_the_tests(shift, sentence):
    notes = documents(**shift)["_tests"].notes
    assert any(note.startswith(sentence) for note in notes), notes


@pytest.mark.parametrize(("shift", "is_advised"), [({}, True), ({"pca_like_dgha": 2.0}, False)])
def test_exact_pca_is_advised_unless_pseudo_pca_is_better_with_as_many(shift, is_advised):
    advice = "To reduce the features of data like these, use exact PCA"
    notes = documents(**shift)["_tests"].notes
    assert any(note.startswith(advice) for note in notes) == is_advised


def test_data_sets_without_a_cut_are_apart_in_the_second_experiment():
    sizes = dict.fromkeys(PROBLEMS[:4], 9)
    made = documents(SECOND, sizes=sizes, apart=1e-6, ne_ppca=2.0)
    lost = of(made["_tests"].records, "NE-pPCA (as written) − all features")
    # 2 / 2¹⁰ times 34 is above .05
    assert (lost["n"], lost["n_apart"], lost["verdict"]) == (10, 4, "undecided")
    whole = [record for record in made["_margins"].records if record["variant"] == "all data sets"]
    assert (of(whole, lost["row"])["n"], of(whole, lost["row"])["verdict"]) == (14, "does not hold")
    matrix = made["_matrix"]
    assert [row[0] for row in matrix.rows] == PROBLEMS[4:] + PROBLEMS[:4]
    assert matrix.rows[-1][1] == "(+2.00 [+1.71, +2.29] worse)"


def test_exact_pca_is_the_first_method_of_claim_7():
    tests = documents(SECOND, ne_ppca=-5.0)["_tests"].records
    assert of(tests, f"PCA − {WRITTEN}")["typical"] == pytest.approx(5.0)
    assert of(tests, f"PCA − {WRITTEN}")["verdict"] == "does not hold"
    assert of(tests, f"PCA, as many as {WRITTEN} − {WRITTEN}")["mean"] == pytest.approx(5.0)
    assert of(tests, f"PCA − {DGHA}")["verdict"] == "holds"
    assert of(tests, "PCA − all features")["p_holm"] is None


def test_the_matrix_has_a_grid_for_each_group_and_is_drawn():
    made = results(SECOND, ne_ppca=2.0, pca=-2.0)
    matrix = experiment_documents(SECOND, made, FACTS)[-1]
    assert [len(grid.headers) - 1 for grid in (matrix, *matrix.others)] == [4, 1, 8, 2, 20]
    figure = experiment_figure(SECOND, data_set_losses(SECOND, made, FACTS))
    assert [len(panel.data) for panel in figure.panels] == [14 * n for n in (4, 8, 2, 20)]
    assert {
        verdict for panel in figure.panels for verdict in panel.data["verdict"]
    } <= SHADES.keys()
    drawing = draw(figure)
    assert len(drawing.axes) == 4
    assert {text.get_text() for text in drawing.axes[0].texts} == {"+2.0", "0.0"}
    for mark in drawing.legends[0].get_lines():
        assert mark.get_markeredgecolor() == "black", "light marks need an edge"


def test_tests_and_matrix_are_read_back_from_the_tables_of_an_experiment(tmp_path):
    made = results(SECOND, ne_ppca=2.0, pca=-2.0)
    _, losses, tests, *_ = experiment_documents(SECOND, made, FACTS)
    assert read_experiment(SECOND, tmp_path) is None
    for table in (losses, tests):
        (tmp_path / f"{table.id}.csv").write_text(render(table, form="csv"), encoding="utf-8")
    document, figure = read_experiment(SECOND, tmp_path)
    assert [*document.rows] == [*tests.rows]
    drawn = experiment_figure(SECOND, data_set_losses(SECOND, made, FACTS))
    pd.testing.assert_frame_equal(figure.numbers(), drawn.numbers(), check_dtype=False)


def test_without_runs_there_is_no_conclusion():
    nothing = results_of([])
    made = experiment_documents(FIRST, nothing, {})
    assert [document.has_runs for document in made] == [False] * len(ENDINGS)
    assert len(made[2].notes) == 1
    assert not experiment_figure(FIRST, data_set_losses(FIRST, nothing, {})).panels


@pytest.mark.parametrize("experiment", [FIRST, SECOND], ids=["first", "second"])
def test_the_page_of_an_experiment_states_its_rendered_conclusions(experiment):
    folder = ROOT / "results" / experiment.configs[0] / "tables"
    rendered = (folder / f"{experiment.id}_tests.md").read_text(encoding="utf-8")
    page = " ".join((ROOT / experiment.page).read_text(encoding="utf-8").split())
    conclusions = [line for line in rendered.splitlines() if line and line[0] not in "#|"][1:]
    assert len(conclusions) >= 5
    assert all(f"- {sentence}" in page for sentence in conclusions)


def test_the_rendered_signed_rank_tests_are_scipys_with_holms_correction():
    folder = ROOT / "results" / "experiment2" / "tables"
    losses, tests = (pd.read_csv(folder / f"E2_{name}.csv") for name in ("losses", "tests"))
    cut = losses[losses["features_percent"] < SECOND.most_features]
    by_row = {row: own["loss"] for row, own in cut.groupby("row", sort=False)}
    counted = tests[tests["p_holm"].notna()].set_index("row")
    beyond = {row: by_row[row].round(10) - 1.0 for row in counted.index}
    p = pd.Series({row: wilcoxon(own, zero_method="zsplit").pvalue for row, own in beyond.items()})
    ranks = p.rank(method="first")
    adjusted = (p * (len(p) - ranks + 1)).iloc[p.argsort()].cummax().clip(upper=1.0)
    assert len(counted) == 34
    assert list(counted["n"]) == [len(by_row[row]) for row in counted.index]
    assert list(counted["p_holm"]) == pytest.approx(list(adjusted[counted.index]))
    typical = counted["typical"]
    for row in counted.index:
        verdict = "holds" if typical[row] < 1.0 else "does not hold"
        assert counted["verdict"][row] == ("undecided" if adjusted[row] >= 0.05 else verdict), row


def test_the_page_states_the_p_and_the_widths_of_the_intervals_of_the_rendered_tables():
    folder = ROOT / "results" / "experiment" / "tables"
    tests, losses = (pd.read_csv(folder / f"E_{name}.csv") for name in ("tests", "losses"))
    own = tests.set_index("row").loc["DGHA (fitted) − PCA, as many as DGHA (fitted)"]
    intervals = losses[losses["row"].str.contains("as many as")][["low", "high"]]
    widths = intervals["high"] - intervals["low"]
    inside = (intervals["low"] > -1.0) & (intervals["high"] < 1.0)
    p = binomtest(int(own["n_small"]), int(own["n"])).pvalue
    text = " ".join((ROOT / FIRST.page).read_text(encoding="utf-8").split())
    said = f"{own['n_small']} of {own['n']} data sets: a two-sided p of {p:.3f}, and of {own['p_holm']:.3f} af"
    assert said in text
    assert f"the {len(widths)} intervals of the losses against exact PCA" in text
    said = f"up to {widths.max():.1f} points wide (median {widths.median():.1f}), and {inside.sum()} of them"
    assert said in text
