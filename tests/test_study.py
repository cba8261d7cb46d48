"""Studies: validation, search spaces, scores, and interrupted, resumed and pruned searches."""

import csv
import json
import math
import re
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from statistics import mean

import pytest
from click.testing import Result
from command_line import pppca

pytest.importorskip("optuna")
import pandas as pd

from pppca_bench.config import request
from pppca_bench.config.experiment import parse_config
from pppca_bench.engines import DGHA
from pppca_bench.errors import ConfigError
from pppca_bench.experiments import cell as experiment
from pppca_bench.experiments import runner
from pppca_bench.problems import Problem, ProblemSource, load_problem
from pppca_bench.runs import Plan, RunSpec
from pppca_bench.store.database import Store
from pppca_bench.studies import search
from pppca_bench.studies.config import Space, Study, load_study

SMALL = """\
name: small
seed: 7
trials: 4
base:
  problems: [cancer1, card1]
  repeats: 2
  seed: 99
  tau: [5, 10, 15, 20]
  methods:
    - {method: dgha, n_epochs: 8, learning_rate: 0.05, data_fraction: [100, 10]}
    - {method: dgha, n_epochs: 8, learning_rate: 0.05, tau: 15, centre: false}
    - {method: dgha_speedup, n_epochs: 8, learning_rate: 0.05, timed: false}
  classifier: {hidden: [], max_epochs: 1}
vary:
  methods[*].learning_rate: {low: 0.01, high: 0.1, log: true}
  methods[*].n_epochs: {low: 5, high: 9}
  methods[0].variance: {choices: [raw, direction]}
score:
  - {tables: T5, quantity: dimensionality, rows: ["cancer1, 100%"]}
  - {tables: T4, quantity: speedup, ours: speedup_operations, rows: ["cancer1, 100%"], weight: 0.5}
report:
  - {name: T5 tenth, tables: [T5], quantity: dimensionality, rows: ["cancer1, 10%"]}
  - {tables: T3, quantity: dimensionality, rows: DGHA (autocor), columns: cancer1}
"""
# Of the slides, for tau = 5, 10, 15, 20.
DIMENSIONS_100, DIMENSIONS_10 = (1, 2.5, 4, 5.6), (1, 1.8, 4.7, 7)
SPEEDUPS_100 = (5.67, 3.62, 2.17, 1.38)
SHIPPED = sorted((Path(__file__).parents[1] / "configs" / "studies").glob("*.yaml"))
LEARNING = SMALL.replace("trials: 4", "trials: 6\nsampler: tpe")
FOLDER = Path("results/studies/small")

pytestmark = pytest.mark.usefixtures("nowhere_else")


@pytest.fixture
def wine_as_cancer(monkeypatch):
    """Replace cancer1 and card1 by the small bundled wine."""
    wine = load_problem("wine")

    def open_problem(name: str, data_dir: Path | None = None, **_: object) -> tuple[ProblemSource, Problem]:
        return ProblemSource(name, data_dir, wine.sha256), replace(wine, name=name)

    monkeypatch.setattr(request, "open_problem", open_problem)


@pytest.fixture
def few_at_random(monkeypatch):
    """Let the estimator and the pruner begin after two trials."""
    monkeypatch.setattr(search, "N_STARTUP", 2)


def setting(spec: RunSpec, name: str) -> object:
    return spec.cell.settings.get(name)


def loaded(text: str = SMALL, trials: int | None = None) -> Study:
    path = Path("small.yaml")
    path.write_text(text)
    study = load_study(path, trials=trials)
    search.check_cells(study)
    return study


def searched(text: str = SMALL, trials: int | None = None, folder: Path = FOLDER, **keywords) -> pd.DataFrame:
    with Store(folder / "results.sqlite") as store:
        return search.run_study(loaded(text, trials), store, folder, workers=0, **keywords)


def pppca_study(text: str = SMALL, *arguments: object) -> Result:
    Path("small.yaml").write_text(text)
    given = ["study", "small.yaml", "--workers", "0", *map(str, arguments)]
    return pppca(*given)


def trials_of(folder: Path = FOLDER) -> list[dict[str, str]]:
    with (folder / "trials.csv").open() as file:
        return list(csv.DictReader(file))


def stored(trial: int) -> list:
    with Store(FOLDER / "results.sqlite", read_only=True) as store:
        return store.runs([f"small-trial-{trial}"])


def interrupt_after(monkeypatch, n_runs: int) -> None:
    """Raise KeyboardInterrupt when more than ``n_runs`` runs have begun."""
    computed, run_group = Counter(), experiment.run_group

    def interrupted(specs, problem):
        computed["runs"] += len(specs)
        if computed["runs"] > n_runs:
            raise KeyboardInterrupt
        return run_group(specs, problem)

    monkeypatch.setattr(experiment, "run_group", interrupted)


class TestSpaces:
    def test_the_base_gives_the_parameters_of_trial_0(self):
        assert loaded().parameters == {
            "methods[*].learning_rate": 0.05,
            "methods[*].n_epochs": 8,
            "methods[0].variance": "direction",
        }

    def test_the_experiment_of_a_trial_is_the_base_with_its_parameters(self):
        study = loaded()
        parameters = {"methods[*].learning_rate": 0.07, "methods[*].n_epochs": 6, "methods[0].variance": "raw"}
        config, base = parse_config(study.experiment(3, parameters)), parse_config(study.base)
        assert config.name == "small-trial-3"
        assert {method.grid["learning_rate"] for method in config.methods} == {(0.07,)}
        assert {method.grid["n_epochs"] for method in config.methods} == {(6,)}
        assert [method.grid["variance"] for method in config.methods[:2]] == [("raw",), ("direction",)]
        assert config.seed == base.seed
        for ours, theirs in zip(config.methods, base.methods, strict=True):
            assert (ours.grid["tau"], ours.classifier) == (theirs.grid["tau"], theirs.classifier)

    def test_a_range_contains_its_ends_and_integers_only_if_both_ends_are_integers(self):
        whole, real, some = Space(low=2, high=5), Space(low=0.5, high=2.0, log=True), Space(choices=(None, (1, 2)))
        assert [value in whole for value in (1, 2, 5, 6, 2.5, True, "3", None)] == [
            *(False, True, True, False, False, False, False, False)
        ]
        assert [value in real for value in (0.5, 2.0, 2.01, 1)] == [True, True, False, True]
        assert [value in some for value in (None, (1, 2), 1)] == [True, True, False]

    @pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
    def test_the_shipped_studies_are_valid(self, path):
        shipped = load_study(path)
        search.check_cells(shipped, force=True)
        assert shipped.settings.name == path.stem
        assert shipped.base.value["seed"] != 2012


RATE = "methods[*].learning_rate: {low: 0.01, high: 0.1, log: true}"
SCORED = '{tables: T5, quantity: dimensionality, rows: ["cancer1, 100%"]}'
BROKEN = [
    ("trials: 4", "trials: 0", "3: trials: expected an integer from 1 to 100000, got 0."),
    ("repeats: 2", "repeats: two", "6: repeats: expected an integer from 1 to 10000, got 'two'."),
    ("methods[*].n_epochs: {", "methods[*].n_epoch: {", "16: vary.methods[*].n_epoch: expected a place in methods or"),
    ("methods[*].n_epochs: {", "methods[*].n_epoch: {", "(did you mean 'methods[*].n_epochs'?)."),
    ("methods[0].variance", "methods[3].variance", ", got 'methods[3].variance' (did you mean"),
    ("methods[0].variance", "seed", "17: vary.seed: expected a place in methods or classifier of base, such as"),
    ("methods[0].variance", "methods[0].n_epochs", "expected each place once, but methods[*].n_epochs varies it too."),
    (
        "methods[0].variance: {choices: [raw, direction]}",
        "methods[*].centre: {choices: [true, false]}",
        "17: vary.methods[*].centre: expected the same value in every method of base, got several.",
    ),
    ("choices: [raw, direction]", "choices: [raw, cooked]", "17: methods[0].variance: expected 'direction' or 'raw'"),
    ("choices: [raw, direction]", "choices: [raw]", "expected a range that contains the base's value, got 'direction'"),
    ("{low: 5, high: 9}", "{low: 9, high: 12}", "expected a range that contains the base's value, got 8 outside it."),
    (RATE, RATE.replace("0.01", "-1.0"), "15: vary.methods[*].learning_rate: expected low above 0 where log is true"),
    (RATE, RATE.replace("0.1,", ".inf,"), "15: vary.methods[*].learning_rate.high: expected an integer or a finite"),
    (RATE, RATE.replace("0.1,", "0.001,"), "expected low below high (0.001), got"),
    (
        RATE,
        RATE.replace("low: 0.01, ", ""),
        "15: vary.methods[*].learning_rate: expected low and high, or choices, got",
    ),
    (RATE, RATE.replace("0.01", "0").replace(", log: true", ""), "15: methods[0].learning_rate: expected a number > 0"),
    (SCORED, SCORED.replace("T5", "T9"), "19: score[0].tables: expected some of T0; T1;"),
    (SCORED, SCORED.replace("100%", "99%"), "19: score[0].rows: expected some of cancer1, 100%; cancer1, 50%;"),
    (SCORED, SCORED.replace("}", ", columns: tau=6}"), "19: score[0].columns: expected some of tau=5; tau=10;"),
    (
        SCORED,
        SCORED.replace("100%", "50%"),
        "19: score[0]: expected cells that base runs, got T5, cancer1, 50%, tau=5.",
    ),
    (
        SCORED,
        "{tables: T2, quantity: test_error_percent, rows: soybean1, columns: Pruning}",
        "expected published cells that runs can fill, got none",
    ),
    (SCORED, SCORED.replace("}", ", ours: speedup}"), "19: score[0]: expected ours only beside quantity: speedup, got"),
    (", ours: speedup_operations", "", "20: score[1]: expected ours: speedup_operations where base has timed: false"),
    ('"cancer1, 10%"', '"cancer1, 100%"', "22: report[0]: expected cells that score leaves out, got T5, cancer1, 100%"),
    ("T5 tenth", "T5 dimensionality", "22: report[0]: expected a unique name, got 'T5 dimensionality' again."),
]


class TestErrors:
    @pytest.mark.parametrize(("old", "new", "message"), BROKEN)
    def test_a_validation_error_names_file_line_and_key(self, old, new, message):
        assert SMALL.count(old) >= 1
        with pytest.raises(ConfigError, match=r"^(small\.yaml:\d+: .*\.(\n|$))+") as error:
            loaded(SMALL.replace(old, new, 1))
        assert message in str(error.value)

    def test_the_error_without_optuna_names_the_installation_command(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "optuna", None)
        monkeypatch.delitem(sys.modules, "pppca_bench.studies.search")
        monkeypatch.delattr("pppca_bench.studies.search")
        result = pppca_study()
        assert (result.exit_code, result.stderr) == (
            2,
            "Error: pppca study needs Optuna, which is not installed: `pip install 'pppca-bench[optuna]'`.\n",
        )

    def test_a_problem_of_the_wrong_task_is_refused_before_anything_runs(self, proben1_dir):
        text = SMALL.replace("card1", "building1").replace("{hidden: [],", "{rule: backprop, hidden: [],")
        result = pppca_study(text, "--data", proben1_dir)
        assert result.exit_code == 2
        assert "small.yaml:5: problems[1]: expected a classification problem, which backprop" in result.stderr
        assert not Path("results").exists()


@pytest.mark.usefixtures("wine_as_cancer")
class TestSearching:
    def test_the_score_is_the_weighted_mean_distance_of_the_cells(self):
        searched(trials=2)
        for row in trials_of():
            runs = stored(int(row["trial"]))

            def ours(method, tau, fraction, quantity, runs=runs):
                wanted = {"tau": tau, "data_fraction": fraction, "centre": True}.items()
                cell = [r for s, r in runs if s.cell.method == method and wanted <= s.cell.settings.items()]
                assert len(cell) == 2
                return mean(r.values[quantity] for r in cell)

            taus = (5.0, 10.0, 15.0, 20.0)
            whole, tenth = (
                mean(
                    abs(math.log(ours("dgha", tau, fraction, "dimensionality") / published))
                    for tau, published in zip(taus, row_of, strict=True)
                )
                for fraction, row_of in ((100.0, DIMENSIONS_100), (10.0, DIMENSIONS_10))
            )
            speedups = [ours("dgha_speedup", tau, 100.0, "speedup_operations") for tau in taus]
            faster = mean(abs(math.log(a / b)) for a, b in zip(speedups, SPEEDUPS_100, strict=True))
            autocor = mean(r.values["dimensionality"] for s, r in runs if not setting(s, "centre"))
            assert float(row["T5 dimensionality"]) == pytest.approx(whole, abs=1e-9)
            assert float(row["T4 speedup_operations"]) == pytest.approx(faster, abs=1e-9)
            assert float(row["score"]) == pytest.approx((whole + 0.5 * faster) / 1.5, abs=1e-9)
            assert float(row["T5 tenth (held out)"]) == pytest.approx(tenth, abs=1e-9)
            assert float(row["T3 dimensionality (held out)"]) == pytest.approx(abs(math.log(autocor / 1)), abs=1e-9)
            assert (row["cells"], row["failed runs"]) == ("13", "0")

    def test_a_random_search_draws_from_the_ranges_and_the_best_trial_comes_first(self):
        table = searched()
        rows = trials_of()
        scores = [float(row["score"]) for row in rows]
        assert scores == sorted(scores) == list(table["score"])
        by_number = {int(row["trial"]): row for row in rows}
        assert sorted(by_number) == [0, 1, 2, 3]
        assert by_number[0]["methods[*].learning_rate"] == "0.05"
        for row in rows:
            rate = float(row["methods[*].learning_rate"])
            assert 0.01 <= rate == float(f"{rate:.4g}") <= 0.1
            assert {setting(spec, "learning_rate") for spec, _ in stored(int(row["trial"]))} == {rate}
            assert row["methods[*].n_epochs"] in "56789"
            assert row["methods[0].variance"] in ("raw", "direction")
            assert row["repeats"] == "2"
        assert len({row["methods[*].learning_rate"] for row in rows}) == 4
        text = (FOLDER / "trials.md").read_text()
        assert "4 of 4 trials by the sampler random with seed 7." in text
        assert re.findall(r"^\| +(\d+) \|", text, re.M) == [row["trial"] for row in rows]
        searched(SMALL.replace("seed: 7", "seed: 8"), trials=2, folder=Path("other"))
        others = {int(row["trial"]): row["methods[*].learning_rate"] for row in trials_of(Path("other"))}
        assert [others[n] == by_number[n]["methods[*].learning_rate"] for n in range(2)] == [True, False]

    def test_choices_may_be_lists_and_null(self):
        spaces = "vary:\n  classifier.hidden: {choices: [[], [3]]}\n  methods[0].decay_epochs: {choices: [null, 3.0]}\n"
        searched(SMALL.replace("vary:\n", spaces), trials=2)
        for row in trials_of():
            (grid,) = {setting(spec, "decay_epochs") for spec, _ in stored(int(row["trial"])) if _is_centred_dgha(spec)}
            assert row["methods[0].decay_epochs"] == json.dumps(grid)
            assert row["classifier.hidden"] in ("[]", "[3]")

    def test_only_runs_behind_scored_and_reported_cells_are_computed_and_without_learning_curves(self):
        searched(trials=2)
        computed = Counter(
            (s.cell.problem, s.cell.method, setting(s, "centre"), setting(s, "data_fraction")) for s, _ in stored(1)
        )
        assert computed == {
            ("cancer1", "dgha", True, 100.0): 8,
            ("cancer1", "dgha", True, 10.0): 8,
            ("cancer1", "dgha", False, 100.0): 2,
            ("cancer1", "dgha_speedup", True, 100.0): 8,
        }
        with Store(FOLDER / "results.sqlite", read_only=True) as store:
            assert store.histories([spec.key for spec, _ in store.runs()]) == {}

    @pytest.mark.slow
    @pytest.mark.parametrize("text", [SMALL, LEARNING], ids=["random", "tpe"])
    def test_a_resumed_search_gives_the_same_trials_as_an_uninterrupted_search(self, monkeypatch, text):
        monkeypatch.setattr(search, "N_STARTUP", 2)
        searched(text, folder=Path("whole"))
        with monkeypatch.context() as during:
            interrupt_after(during, 70)  # in the third trial: each has at most 26 runs
            with pytest.raises(KeyboardInterrupt):
                searched(text)
        assert 0 < len(trials_of()) < len(trials_of(Path("whole")))
        searched(text, trials=3)
        assert len(trials_of()) == 3
        searched(text)
        assert trials_of() == trials_of(Path("whole"))
        before = [(FOLDER / name).read_bytes() for name in ("trials.csv", "trials.md")]
        interrupt_after(monkeypatch, 0)
        searched(text)
        assert [(FOLDER / name).read_bytes() for name in ("trials.csv", "trials.md")] == before

    @pytest.mark.slow
    def test_trust_two_searches_of_the_same_study_at_a_time_take_no_run_from_each_other(self, monkeypatch):
        computed = runner.run

        def while_another_plans(specs, store, *arguments, **keywords):
            outcome = computed(specs, store, *arguments, **keywords)
            for name in store.configs():
                store.plan(Plan(name, "", "", ()))
            return outcome

        searched(trials=2, folder=Path("alone"))
        monkeypatch.setattr(runner, "run", while_another_plans)
        searched(trials=2)
        assert trials_of() == trials_of(Path("alone"))

    @pytest.mark.slow
    @pytest.mark.usefixtures("few_at_random")
    def test_trials_below_the_median_are_pruned_and_listed_last(self):
        searched(LEARNING, trials=12)
        rows = trials_of()
        pruned = [row for row in rows if row["repeats"] == "1"]
        assert pruned
        assert rows[-len(pruned) :] == pruned
        for row in rows:
            made = {spec.repeat for spec, result in stored(int(row["trial"])) if result is not None}
            assert len(made) == int(row["repeats"])

    @pytest.mark.slow
    @pytest.mark.usefixtures("few_at_random")
    def test_a_trial_that_diverges_scores_inf_and_the_search_continues(self):
        searched(LEARNING.replace(RATE, "methods[*].learning_rate: {choices: [0.05, 950.0]}"), trials=8)
        wild = [row for row in trials_of() if row["methods[*].learning_rate"] == "950.0"]
        assert wild
        assert all((row["score"], row["repeats"], row["T5 dimensionality"]) == ("inf", "1", "") for row in wild)

    def test_a_cell_that_a_trial_does_not_fill_makes_its_score_infinite(self):
        text = re.sub(r"vary:\n(  .*\n)*", "vary:\n  methods[0].data_fraction: {choices: [[100, 10], [10]]}\n", SMALL)
        searched(text, trials=5)
        scores = {row["methods[0].data_fraction"]: row["score"] for row in trials_of()}
        assert scores["[10]"] == "inf"
        assert math.isfinite(float(scores["[100, 10]"]))

    @pytest.mark.slow
    def test_another_score_is_another_search_in_the_same_journal(self):
        searched(trials=2)
        searched(SMALL.replace("weight: 0.5", "weight: 0.7"), trials=2)
        operations = [json.loads(line) for line in (FOLDER / search.JOURNAL).read_text().splitlines()]
        assert len({operation["study_name"] for operation in operations if "study_name" in operation}) == 2

    def test_progress_counts_the_trials(self):
        shown = []
        searched(trials=2, progress=lambda *counts: shown.append(counts))
        assert shown == [(1, 2), (2, 2)]


def _is_centred_dgha(spec: RunSpec) -> bool:
    return spec.cell.method == "dgha" and setting(spec, "centre") is True


@pytest.mark.usefixtures("wine_as_cancer")
class TestCommand:
    def test_the_best_trials_and_the_failures_are_printed(self, monkeypatch):
        monkeypatch.setattr(search, "N_SHOWN", 1)
        result = pppca_study(SMALL.replace(RATE, "methods[*].learning_rate: {choices: [0.05, 950.0]}"), "--trials", 3)
        assert result.exit_code == 0
        lines = result.stdout.splitlines()
        assert lines[0].split()[:5] == ["trial", "learning_rate", "n_epochs", "variance", "score"]
        assert lines[2].split()[0] == trials_of()[0]["trial"]
        assert "All 3 trials are in results/studies/small/trials.csv." in lines
        assert re.search(
            r"Trials with failed runs: \d of 3, such as cancer1, dgha\w*, repeat \d: ValueError: ", result.stderr
        )

    def test_a_quiet_search_prints_nothing(self):
        result = pppca_study(SMALL, "--quiet", "--trials", 1)
        assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")

    def test_an_interrupted_search_prints_how_to_resume(self, monkeypatch):
        interrupt_after(monkeypatch, 30)
        stopped = pppca_study()
        assert stopped.exit_code == 130
        assert "results/studies/small" in stopped.stderr

    def test_more_runs_than_a_command_may_have_are_refused_unless_forced(self, monkeypatch):
        n_runs = 2 * (4 + 4 + 1 + 4)  # repeats, and cells of 100 %, 10 %, autocor and the speed-up
        monkeypatch.setattr(request, "MAX_RUNS", n_runs - 1)
        refused = pppca_study(SMALL, "--trials", 1)
        assert refused.exit_code == 2
        assert f"small.yaml: expected at most {n_runs - 1} runs in one command, got {n_runs}." in refused.stderr
        assert not Path("results").exists()
        assert pppca_study(SMALL, "--trials", 1, "--force").exit_code == 0

    def test_a_search_whose_trials_all_fail_has_exit_code_1(self, stand_in):
        class Fails(DGHA):
            def fit(self, X, y=None):  # noqa: ARG002
                raise ValueError("no luck")

        stand_in("dgha", Fails)
        result = pppca_study(SMALL, "--trials", 1)
        assert result.exit_code == 1
        assert result.stderr.endswith("such as cancer1, dgha, repeat 0: ValueError: no luck\n")


@pytest.mark.slow
def test_scores_do_not_depend_on_the_number_of_workers(proben1_dir):
    text = SMALL.replace("repeats: 2", "repeats: 1")
    for name, workers in (("alone", 0), ("two", 2)):
        result = pppca_study(text, "--data", proben1_dir, "--results", name, "--workers", workers)
        assert result.exit_code == 0, result.stderr
    assert trials_of(Path("alone/studies/small")) == trials_of(Path("two/studies/small"))
