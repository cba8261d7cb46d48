"""Runs that choose their settings: the choice, the data it uses, storage and config keys."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from builders import config_of, specs_of

from pppca_bench.config.sections import AUTO_TAUS
from pppca_bench.experiments import cell, choosing
from pppca_bench.problems import Problem, load_problem
from pppca_bench.quantities import TIMINGS
from pppca_bench.runs import RunResult, RunSpec, candidates, n_trainings
from pppca_bench.store.choices import best_candidate

TAUS = [2, 10, 100]
BASE: dict[str, Any] = {
    "name": "small",
    "problems": ["wine"],
    "repeats": 3,
    "seed": 1,
    "tau": TAUS,
    "methods": [{"method": "dgha", "data_fraction": [100, 20], "n_epochs": 4}],
    "classifier": {"hidden": [], "max_epochs": 15},
}
BOTH = {"choose": ["tau", "data_fraction"]}


@pytest.fixture(scope="module")
def wine() -> Problem:
    return load_problem("wine")


@pytest.fixture(scope="module")
def fixed(wine) -> list[dict[tuple[float, float], Mapping[str, float]]]:
    """Return what each setting gives in each repeat, by the ordinary way."""
    repeats: list[dict[tuple[float, float], Mapping[str, float]]] = [{}, {}, {}]
    for spec in specs_of(BASE | {"predictions": True}):
        (result,) = cell.run_group([spec], [wine])
        setting = spec.cell.settings["tau"], spec.cell.settings["data_fraction"]
        repeats[spec.repeat][setting] = result.values
    return repeats


def run_group(specs: list[RunSpec], problem: Problem) -> list[RunResult]:
    """Run repeats of a cell on the data of a problem."""
    return choosing.choose_and_run(specs, [problem] * len(specs))


def chosen(results: list[RunResult]) -> list[tuple[float, float]]:
    return [(one["tau"], one["data_fraction"]) for one in (run.choice["chosen"] for run in results)]


def numbers(values: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in values.items() if name not in TIMINGS}


def test_a_run_has_the_numbers_of_the_candidate_with_the_least_validation_error(wine, fixed):
    specs = specs_of(BASE | BOTH | {"predictions": True})
    assert len(specs) == 3, "a run a repeat, however many candidates"
    assert {n_trainings(spec.cell) for spec in specs} == {len(candidates(specs[0].cell)) + 1}
    results = run_group(specs, wine)
    names = ("validation_error_percent", "dimensionality")
    for key, result, of in zip(chosen(results), results, fixed, strict=True):
        score = {setting: tuple(map(values.get, names)) for setting, values in of.items()}
        assert score[key] == min(score.values())
        assert numbers(result.values) == numbers(of[key])
        tried = {
            (one["settings"]["tau"], one["settings"]["data_fraction"]): one["values"]
            for one in result.choice["candidates"]
        }
        assert tried == {
            setting: {name: values[name] for name in names} for setting, values in of.items()
        }
    assert len({tuple(values.items()) for values in fixed[0].values()}) == 6, "candidates differ"


@pytest.mark.parametrize("retain", [40, 75, 99.9])
def test_the_fewest_features_that_retain_enough_are_chosen_by_variance(wine, fixed, retain):
    document = BASE | BOTH | {"by": "retained_variance", "retain": retain}
    for key, of in zip(chosen(run_group(specs_of(document), wine)), fixed, strict=True):
        share = {name: values["retained_variance_percent"] for name, values in of.items()}
        sizes = [of[name]["dimensionality"] for name in of if share[name] >= retain]
        if sizes:
            assert (share[key] >= retain, of[key]["dimensionality"]) == (True, min(sizes))
        else:
            assert share[key] == max(share.values())


@pytest.mark.parametrize("by", ["validation_error", "retained_variance"])
def test_the_choice_never_sees_the_test_split(wine, by, monkeypatch):
    specs = specs_of(BASE | BOTH | {"by": by})
    other = replace(wine, X_test=wine.X_test[::-1] / 2, y_test=np.roll(wine.y_test, 9))
    seen: list[tuple[tuple[object, object], Problem]] = []

    def spy(runs, problems, **only):
        settings = runs[0].cell.settings
        seen.append(((settings["tau"], settings["data_fraction"]), problems[0]))
        return original(runs, problems, **only)

    original = cell.run_group
    monkeypatch.setattr(cell, "run_group", spy)
    before = chosen(run_group(specs, wine))
    tested = {settings for settings, on in seen if np.array_equal(on.X_test, wine.X_test)}
    blind = {settings for settings, on in seen if np.array_equal(on.X_test, wine.X_validation)}
    assert tested == set(before)
    assert len(blind) == 6
    assert before == chosen(run_group(specs, other))


def test_a_candidate_that_fails_is_not_chosen_and_counted(wine):
    broken = {"method": "sklearn.decomposition:PCA", "parameters": {"n_components": [2, 99]}}
    document = BASE | {"methods": [broken], "choose": "n_components", "repeats": 1}
    (result,) = run_group(specs_of(document), wine)
    assert result.choice["chosen"] == {"n_components": 2}
    good, bad = result.choice["candidates"]
    assert good["values"].keys() == {"validation_error_percent", "dimensionality"}
    assert bad == {"settings": {"n_components": 99}, "values": {}}
    broken["parameters"] = {"n_components": [98, 99]}
    (result,) = run_group(specs_of(document), wine)
    assert result.status == "failed"
    assert "n_components=98 must be between" in result.error


def test_on_an_approximation_problem_the_least_squared_validation_error_decides():
    document = BASE | {"problems": ["heartac1"], "methods": ["pca"], "repeats": 1}
    problem = load_problem("heartac1")
    (result,) = run_group(specs_of(document | {"choose": "tau"}), problem)
    by_tau = {
        spec.cell.settings["tau"]: cell.run_group([spec], [problem])[0].values
        for spec in specs_of(document)
    }
    errors = {tau: values["validation_squared_error_percent"] for tau, values in by_tau.items()}
    assert len(set(errors.values())) == len(TAUS)
    tau = result.choice["chosen"]["tau"]
    assert errors[tau] == min(errors.values())
    assert numbers(result.values) == numbers(by_tau[tau])


def test_tau_auto_has_default_candidates_for_methods_with_a_threshold():
    config = config_of(
        BASE | {"tau": "auto", "methods": ["pca", "all_features", {"method": "dgha", "tau": 7}]}
    )
    pca, features, dgha = config.methods
    by_error = {"by": "validation_error", "retain": None, "among": {"tau": AUTO_TAUS}}
    assert (pca.grid["tau"], pca.choose) == (("auto",), by_error)
    assert features.choose == dgha.choose == {}
    assert dgha.grid["tau"] == (7.0,)
    (own,) = config_of(BASE | {"methods": [{"method": "pca", "tau": "auto"}]}).methods
    assert own.choose == by_error


def test_runs_that_choose_have_other_keys_and_the_same_seeds():
    plain, choosing = (specs_of(BASE | more) for more in ({}, {"choose": "tau"}))
    assert not {spec.key for spec in plain} & {spec.key for spec in choosing}
    assert {spec.seed for spec in plain} == {spec.seed for spec in choosing}
    assert len({spec.cell for spec in choosing}) == 2, "a cell a data fraction, which is not chosen"


def test_the_largest_balanced_accuracy_on_the_validation_split_decides(wine, fixed):
    document = BASE | BOTH | {"by": "balanced_accuracy"}
    name, scores = "validation_balanced_accuracy_percent", set()
    results = run_group(specs_of(document), wine)
    for key, result, of in zip(chosen(results), results, fixed, strict=True):
        found = {setting: values[name] for setting, values in of.items()}
        assert found[key] == max(found.values()) == result.values[name]
        scores |= set(found.values())
    assert len(scores) > 3, "the candidates differ"


@pytest.mark.parametrize(
    ("by", "number", "retain", "expected"),
    [
        ("validation_error", "validation_squared_error_percent", None, 1),
        ("retained_variance", "retained_variance_percent", 95.0, 1),
        ("retained_variance", "retained_variance_percent", 99.0, 0),
    ],
)
def test_candidates_that_differ_by_rounding_are_equal(by, number, retain, expected):
    other = np.nextafter(95.0, 0.0 if retain == 95.0 else 96.0)
    tried = [{number: 95.0, "dimensionality": 3.0}, {number: other, "dimensionality": 2.0}]
    assert best_candidate({"by": by, "retain": retain}, tried) == expected
