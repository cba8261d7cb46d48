"""The registered experiment: its configs, losses, tests and conclusions, on made-up results."""

from dataclasses import replace
from pathlib import Path

import pytest
from stored_runs import cell_of, results_by_config, results_of, run_of

from pppca_bench.config.request import read_request
from pppca_bench.config.shipped import find_experiment
from pppca_bench.paper.evidence import Evidence
from pppca_bench.paper.experiment import COMPARISONS, CONFIGS, SETTINGS, experiment_documents, run_tests
from pppca_bench.references.reference import own_references
from pppca_bench.reporting.pairs import corrected_t
from pppca_bench.runs import ProblemFacts

CLAIMS = own_references()[0].claims
PROBLEMS = [f"data{number}" for number in range(14)]
FACTS = {name: ProblemFacts(name, "a", "classification", name, 9, 2, 80, 10, 10) for name in PROBLEMS}
ALL = SETTINGS[-1]
FOLDS = [-0.1, 0.0, 0.1]
LITTLE = "Methods that lose at most 1 point against all features on significantly more than half of the data sets"
MUCH = "Methods that lose more than 1 point against all features on significantly more than half of the data sets"
ALIKE = "Methods whose typical loss against all features is within ±1 point with a probability above 95 %"


def evidence(**shift: float) -> Evidence:
    """Return an experiment of three folds in which all methods err alike but for the shift of some roles, in points."""
    runs = []
    for role, reading in SETTINGS:
        settings = dict(CLAIMS[reading][role])
        method = str(settings.pop("method"))
        for problem in PROBLEMS:
            cell = cell_of(problem, method, settings, {})
            for repeat, noise in enumerate(FOLDS):
                error = 10.0 + repeat + shift.get(role.replace(" ", "_"), 0.0) + noise * (role != "untouched")
                runs.append(run_of(cell, repeat, test_error_percent=error, dimensionality=3))
    return Evidence(results_by_config({CONFIGS[0]: runs}), FACTS, {}, {}, CLAIMS, CONFIGS)


def test_the_configs_run_every_setting_on_fourteen_data_sets():
    request = read_request([find_experiment(Path(name)) for name in CONFIGS], data_dir=None)
    cells = {spec.cell for spec in request.specs}
    assert len({cell.problem for cell in cells}) == 14
    for role, reading in SETTINGS:
        wanted = dict(CLAIMS[reading][role])
        method = wanted.pop("method")
        matching = [
            cell
            for cell in cells
            if cell.method == method and all(cell.settings.get(name, value) == value for name, value in wanted.items())
        ]
        assert len(matching) == 14, (role, reading)


def test_losses_have_the_interval_of_overlapping_folds():
    _, losses, _ = experiment_documents(evidence(evolved=2.0))
    first = losses.records[0]
    test = corrected_t([2.0 + noise for noise in FOLDS], 10 / 80)
    assert (first["row"], first["data_set"]) == ("NE-pPCA (as written) − all features", "data0")
    assert [first[name] for name in ("loss", "low", "high")] == pytest.approx([test.difference, test.low, test.high])
    assert len(losses.records) == len(COMPARISONS) * len(PROBLEMS)


def test_repeats_of_a_fold_are_averaged():
    twice = evidence(evolved=2.0)
    facts = {name: replace(known, n_splits=2) for name, known in FACTS.items()}
    _, losses, _ = experiment_documents(twice._replace(facts=facts))
    # Of three repeats, the first and the third are of the first of two folds.
    test = corrected_t([2.0 + (FOLDS[0] + FOLDS[2]) / 2, 2.0 + FOLDS[1]], 10 / 80)
    assert (losses.records[0]["n"], losses.records[0]["loss"]) == (2, pytest.approx(test.difference))


def test_comparisons_are_tested_over_the_data_sets():
    tests = run_tests(evidence(evolved=2.0, exact=0.5))
    lost = tests[SETTINGS[0], ALL]
    # All of 14 data sets lose more than a point: 2 / 2¹⁴, times the 13 comparisons.
    assert lost.p_holm == pytest.approx(13 * 2 / 2**14)
    assert lost.losses.verdict(lost.p_holm) == "does not hold"
    assert (lost.better, lost.alike) == (0.0, pytest.approx(0.0, abs=0.05))
    kept = tests[SETTINGS[-2], ALL]
    assert kept.losses.verdict(kept.p_holm) == "holds"
    assert kept.alike > 0.95
    assert lost.worse > 0.95


@pytest.mark.parametrize(
    ("shift", "sentence"),
    [
        ({}, f"{LITTLE}: NE-pPCA (as written), with 100 % of the features; NE-pPCA (fitted), with 100 %"),
        (dict.fromkeys(("evolved", "dynamical", "exact"), 2.0), f"{LITTLE}: none."),
        ({"evolved": 2.0}, f"{MUCH}: NE-pPCA (as written), with 100 % of the features; NE-pPCA (fitted)"),
        ({"exact": 0.5}, f"{ALIKE}: NE-pPCA (as "),
        ({"exact": 2.0}, "Better than exact PCA by more than 1 point, with a probability above 95 %: NE-pPCA (as wri"),
        ({"exact": 0.5}, "No pseudo-PCA is better than exact PCA by more than 1 point"),
    ],
)
def test_the_conclusions_follow_the_tests(shift, sentence):
    *_, tests = experiment_documents(evidence(**shift))
    assert any(note.startswith(sentence) for note in tests.notes), tests.notes


def test_without_runs_there_is_no_conclusion():
    nothing = Evidence(results_of([]), {}, {}, {}, CLAIMS, CONFIGS)
    documents = experiment_documents(nothing)
    assert [document.has_runs for document in documents] == [False] * 3
    assert len(documents[2].notes) == 1


def test_the_page_of_the_experiment_states_its_rendered_conclusions():
    root = Path(__file__).parents[1]
    rendered = (root / "results" / "experiment" / "tables" / "E_tests.md").read_text(encoding="utf-8")
    page = " ".join((root / "docs" / "experiment.md").read_text(encoding="utf-8").split())
    conclusions = [line for line in rendered.splitlines() if line and line[0] not in "#|"][1:]
    assert len(conclusions) >= 5
    assert all(f"- {sentence}" in page for sentence in conclusions)
