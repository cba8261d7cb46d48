"""Studies: which trials are drawn, what they score, what is refused, and that a search can be stopped and resumed."""

import csv
import math
import re
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from statistics import mean, median

import pytest
from click.testing import CliRunner, Result

from pppca_bench import problems
from pppca_bench.cli.main import cli
from pppca_bench.config import request
from pppca_bench.engines import DGHA
from pppca_bench.errors import ConfigError
from pppca_bench.experiments import cell as experiment
from pppca_bench.experiments import runner
from pppca_bench.problems import Problem, ProblemSource, known_problems, load_problem
from pppca_bench.runs import Plan, RunSpec
from pppca_bench.store.database import Store
from pppca_bench.studies import scoring, trial_table
from pppca_bench.studies import search as study
from pppca_bench.studies.config import Study, load_study

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


pytestmark = pytest.mark.usefixtures("nowhere_else")


@pytest.fixture
def wine_as_cancer(monkeypatch):
    """Let the bundled wine stand in for cancer1, so that published cells are filled without the Proben1 files."""

    wine = load_problem("wine")

    def open_problem(name: str, data_dir: Path | None = None) -> tuple[ProblemSource, Problem]:
        return ProblemSource(name, data_dir, wine.sha256), replace(wine, name=name)

    monkeypatch.setattr(problems, "open_problem", open_problem)
    return {(name, wine.sha256): open_problem(name) for name in ("cancer1", "card1")}


def setting(spec: RunSpec, name: str) -> object:
    return spec.cell.settings.get(name)


def loaded(text: str = SMALL, trials: int | None = None) -> Study:
    path = Path("small.yaml")
    path.write_text(text)
    return load_study(path, problems=known_problems(), trials=trials)


def pppca_study(text: str = SMALL, *arguments: object) -> Result:
    Path("small.yaml").write_text(text)
    given = ["study", "small.yaml", "--workers", "0", *map(str, arguments)]
    return CliRunner().invoke(cli, given, prog_name="pppca")


def trials_of(folder: str = "results") -> list[dict[str, str]]:
    with (Path(folder) / "studies" / "small" / "trials.csv").open() as file:
        return list(csv.DictReader(file))


def stored(trial: int) -> list:
    with Store(Path("results/studies/small/results.sqlite"), read_only=True) as store:
        return store.runs([f"small-trial-{trial}"])


class TestDrawing:
    def test_trial_0_is_the_base(self):
        first = loaded().trials[0]
        assert first.parameters == {
            "methods[*].learning_rate": 0.05,
            "methods[*].n_epochs": 8,
            "methods[0].variance": "direction",
        }
        assert [method.grid["learning_rate"] for method in first.config.methods] == [(0.05,)] * 3

    def test_a_trials_experiment_has_its_parameters_and_the_rest_of_the_base(self):
        base, *others = (trial.config for trial in loaded().trials)
        for number, trial in enumerate(loaded().trials[1:], 1):
            config = trial.config
            assert config.name == f"small-trial-{number}"
            for key in ("learning_rate", "n_epochs"):
                assert {method.grid[key] for method in config.methods} == {(trial.parameters[f"methods[*].{key}"],)}
            assert config.methods[0].grid["variance"] == (trial.parameters["methods[0].variance"],)
            assert config.methods[1].grid["variance"] == ("direction",)
            assert config.seed == base.seed
            for ours, theirs in zip(config.methods, base.methods, strict=True):
                assert (ours.grid["tau"], ours.classifier) == (theirs.grid["tau"], theirs.classifier)
        assert len({str(config.methods) for config in others}) == 3

    def test_a_trial_does_not_depend_on_the_number_of_trials_or_on_what_else_varies(self):
        text = SMALL.replace("vary:\n", "vary:\n  methods[0].check_interval: {low: 1, high: 3}\n")
        few, many, more = loaded(trials=2), loaded(trials=30), loaded(text, trials=2)
        assert [trial.parameters for trial in few.trials] == [trial.parameters for trial in many.trials[:2]]
        others = dict(more.trials[1].parameters)
        assert others.pop("methods[0].check_interval") in (1, 2, 3)
        assert others == few.trials[1].parameters

    def test_another_seed_draws_other_trials(self):
        one, two = loaded(), loaded(SMALL.replace("seed: 7", "seed: 8"))
        assert one.trials[0].parameters == two.trials[0].parameters
        assert one.trials[1].parameters != two.trials[1].parameters

    def test_numbers_are_drawn_evenly_over_their_range(self):
        drawn = [trial.parameters for trial in loaded(trials=1001).trials[1:]]
        rates = [parameters["methods[*].learning_rate"] for parameters in drawn]
        assert 0.01 <= min(rates) < 0.011 < 0.09 < max(rates) <= 0.1
        assert median(rates) == pytest.approx(math.sqrt(0.01 * 0.1), rel=0.1)
        epochs = Counter(parameters["methods[*].n_epochs"] for parameters in drawn)
        assert sorted(epochs) == [5, 6, 7, 8, 9]
        assert all(150 < count < 250 for count in epochs.values())
        kinds = Counter(parameters["methods[0].variance"] for parameters in drawn)
        assert all(430 < kinds[kind] < 570 for kind in ("raw", "direction"))

    def test_drawn_numbers_are_those_that_are_printed(self):
        for trial in loaded(trials=50).trials[1:]:
            rate = trial.parameters["methods[*].learning_rate"]
            assert float(f"{rate:.4g}") == rate

    def test_integers_of_a_logarithmic_range_reach_both_ends(self):
        text = SMALL.replace("{low: 5, high: 9}", "{low: 1, high: 8, log: true}")
        epochs = Counter(trial.parameters["methods[*].n_epochs"] for trial in loaded(text, trials=900).trials[1:])
        assert sorted(epochs) == list(range(1, 9))
        # Even in the logarithm: [1, 2) and [2, 4) are an octave each, log2 9 = 3.17 in all.
        assert epochs[1] == pytest.approx(899 / math.log2(9), rel=0.15)
        assert epochs[2] + epochs[3] == pytest.approx(899 / math.log2(9), rel=0.15)

    def test_choices_may_be_lists_and_null(self):
        text = SMALL.replace(
            "vary:\n",
            "vary:\n  classifier.hidden: {choices: [[4], [8, 2]]}\n  methods[0].decay_epochs: {choices: [null, 3]}\n",
        )
        configs = [trial.config for trial in loaded(text, trials=40).trials[1:]]
        assert {config.methods[0].classifier.grid["hidden"] for config in configs} == {((4,),), ((8, 2),)}
        assert {config.methods[0].grid["decay_epochs"] for config in configs} == {(None,), (3.0,)}

    @pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
    def test_the_studies_that_are_shipped_are_valid(self, path):
        shipped = load_study(path, problems=known_problems(), trials=20)
        scoring.check_cells(shipped)
        assert shipped.name == path.stem
        assert shipped.trials[0].config.seed != 2012

    def test_studies_are_shipped(self):
        assert {path.stem for path in SHIPPED} >= {"ne_ppca", "dgha", "classifier"}


RATE = "methods[*].learning_rate: {low: 0.01, high: 0.1, log: true}"
SCORED = '{tables: T5, quantity: dimensionality, rows: ["cancer1, 100%"]}'
BROKEN = [
    ("trials: 4", "trials: 0", "3: trials: expected an integer from 1 to 100000, got 0."),
    (
        "trials: 4",
        "trial: 4",
        "3: trial: unknown key, expected one of name, seed, trials, sampler, base, vary, score, report",
    ),
    ("trials: 4\n", "", "1: trials: expected a value, got none. Add the key `trials`."),
    ("base:\n", "base:\n  name: mine\n", "5: base.name: expected no name, got one."),
    ("repeats: 2", "repeats: two", "6: repeats: expected an integer from 1 to 10000, got 'two'."),
    (
        "problems: [cancer1,",
        "problems: [{sklearn: iris},",
        "5: base.problems[0]: expected a known problem, for which there are published cells, got a table.",
    ),
    ("problems: [cancer1,", "problems: [cancr1,", "5: problems[0]: expected a problem's name"),
    ("{method: dgha, n_epochs: 8", "{method: dgha, epochs: 8", "10: methods[0].epochs: unknown key, expected one of"),
    ("methods[*].n_epochs: {", "methods[*].epochs: {", "16: vary: methods[*].epochs: expected a place of base, but"),
    ("methods[*].n_epochs: {", "methods[*].n_epoch: {", "has no n_epoch (did you mean 'n_epochs'?)."),
    ("methods[0].variance", "methods[3].variance", "but methods has 3 entries, counted from 0, and no [3]."),
    ("methods[0].variance", "methods[0].variance.x", "17: vary: methods[0].variance.x: expected a place of base, but"),
    ("methods[0].variance", "seed", "17: vary: seed: expected a place in methods or classifier, such as"),
    ("methods[0].variance", "methods[-1].variance", "17: vary: methods[-1].variance: expected a place in"),
    ("methods[0].variance", "methods[0].n_epochs", "expected each place once, got what methods[*].n_epochs holds."),
    (
        "methods[0].variance: {choices: [raw, direction]}",
        "methods[*].centre: {choices: [true, false]}",
        "the same value",
    ),
    ("choices: [raw, direction]", "choices: [raw, cooked]", "17: methods[0].variance: expected 'direction' or 'raw'"),
    (
        "choices: [raw, direction]",
        "choices: []",
        "17: vary.methods[0].variance.choices: expected a list of 1 to 1000 entries, got [].",
    ),
    (
        "{choices: [raw, direction]}",
        "raw",
        "variance: expected a mapping with the keys low and high, or choices, got 'raw'.",
    ),
    (RATE, RATE.replace("0.01", "-1.0"), "15: vary.methods[*].learning_rate: expected low above 0 where log is true"),
    (RATE, RATE.replace("0.1,", "0.001,"), "expected low below high (0.001), got 0.01."),
    (RATE, RATE.replace("0.1,", ".inf,"), "15: vary.methods[*].learning_rate.high"),
    (RATE, RATE.replace("low: 0.01, ", ""), "15: vary.methods[*].learning_rate.low: expected a value, got none."),
    (
        RATE,
        RATE.replace("log", "lg"),
        "15: vary.methods[*].learning_rate.lg: unknown key, expected one of low, high, log",
    ),
    (
        RATE,
        "methods[*].learning_rate: {low: 0, high: 0.1}",
        "15: methods[0].learning_rate: expected a number > 0, got 0.",
    ),
    (
        "{low: 5, high: 9}",
        "{low: 5.0, high: 9.5}",
        "16: methods[0].n_epochs: expected an integer from 1 to 1000000, got",
    ),
    ("score:\n", "scores:\n", "18: scores: unknown key, expected one of"),
    (SCORED, SCORED.replace("dimensionality", "dimension"), "19: score[0].quantity: expected 'test_error_percent',"),
    (SCORED, SCORED.replace("tables", "table"), "19: score[0].table: unknown key, expected one of name, tables,"),
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
    (SCORED, SCORED.replace("}", ", ours: speedup}"), "expected ours only beside quantity: speedup, got it beside"),
    (", ours: speedup_operations", "", "20: score[1]: expected ours: speedup_operations where base has timed: false"),
    ('"cancer1, 10%"', '"cancer1, 100%"', "22: report[0]: expected cells that score leaves out, got T5, cancer1, 100%"),
    ("T5 tenth", "T5 dimensionality", "22: report[0]: expected a name of its own, got 'T5 dimensionality' again."),
    ("T5 tenth, tables", "T5 tenth, weight: 2, tables", "22: report[0].weight: unknown key"),
    ("T5 tenth", '""', "22: report[0].name: expected text of 1 to 60 characters or null, got ''."),
    ("name: small", "name: a/b", "1: name: expected text of at most 48 characters that matches '^[A-Za-z0-9]["),
    ("weight: 0.5", "weight: 0", "20: score[1].weight: expected a number > 0, got 0."),
    (
        SCORED,
        "T5",
        "19: score[0]: expected a mapping with the keys name, tables, rows, columns, quantity, ours, weight",
    ),
    (SCORED, SCORED.replace("T5", "[T5, T5]"), "19: score[0].tables: expected each value once, got ['T5', 'T5']."),
    ("repeats: 2", "repeats: [2]", "6: repeats: expected an integer from 1 to 10000, got [2]."),
]


class TestErrors:
    @pytest.mark.parametrize(("old", "new", "message"), BROKEN)
    def test_a_broken_study_is_told_in_a_line_and_the_exit_code_is_2(self, old, new, message):
        assert SMALL.count(old) >= 1
        result = pppca_study(SMALL.replace(old, new, 1))
        assert (result.exit_code, result.stdout) == (2, "")
        assert message in result.stderr
        first, *others = result.stderr.splitlines()
        assert re.match(r"Error: small\.yaml:\d+: .*\.$", first), first
        # A misspelt key is missing too.
        assert len(others) <= ("unknown key" in message)
        assert not Path("results").exists()

    def test_a_combination_that_no_method_takes_is_told(self):
        text = SMALL.replace(
            "{method: dgha_speedup, n_epochs: 8, learning_rate: 0.05, timed: false}", "{method: ne_ppca}"
        )
        ranges = "vary:\n  methods[2].population_size: {low: 2, high: 8}\n  methods[2].n_elite: {low: 0, high: 7}\n"
        text = re.sub(r"vary:\n(  .*\n)*", ranges, text)
        with pytest.raises(
            ConfigError, match=r"small\.yaml:\d+: methods\[2\]\.n_elite: expected below population_size"
        ):
            loaded(text, trials=200)

    @pytest.mark.parametrize(
        ("key", "value", "said"),
        [
            ("base", "1", "4: base: expected a mapping of keys to values, got 1."),
            ("vary", "[]", "14: vary: expected a mapping of keys to values, got []."),
            ("vary", "{}", "14: vary: expected 1 to 100 places, got 0."),
        ],
    )
    def test_a_part_that_is_no_mapping_is_told(self, key, value, said):
        result = pppca_study(re.sub(rf"{key}:\n(  .*\n)*", f"{key}: {value}\n", SMALL))
        assert (result.exit_code, result.stderr) == (2, f"Error: small.yaml:{said}\n")

    def test_a_problem_that_cannot_be_run_is_told_before_anything_runs(self, proben1_dir):
        text = SMALL.replace("card1", "building1").replace("{hidden: [],", "{rule: backprop, hidden: [],")
        result = pppca_study(text, "--data", proben1_dir)
        said = (
            "5: base.problems[1]: expected a classification problem, which backprop needs, got building1, which is"
            " approximation. Take another method, or a classifier that approximates too (`pppca methods`)."
        )
        assert (result.exit_code, result.stderr) == (2, f"Error: small.yaml:{said}\n")
        assert not Path("results").exists()

    @pytest.mark.parametrize(("text", "found"), [("- a\n", "['a']"), ("", "nothing")])
    def test_a_document_without_keys_is_refused(self, text, found):
        result = pppca_study(text)
        keys = "name, seed, trials, sampler, base, vary, score, report"
        said = f"Error: small.yaml:1: config: expected a mapping with the keys {keys}, got {found}.\n"
        assert (result.exit_code, result.stderr) == (2, said)


@pytest.mark.usefixtures("wine_as_cancer")
class TestRunning:
    def test_the_same_workers_serve_all_trials(self, monkeypatch):
        made = []
        local = runner.local
        monkeypatch.setattr(runner, "local", lambda n_workers: made.append(n_workers) or local(n_workers))
        assert pppca_study(SMALL, "--trials", 2).exit_code == 0
        assert made == [0]

    def test_the_score_is_the_weighted_mean_distance_of_the_cells(self):
        result = pppca_study()
        assert result.exit_code == 0, result.stderr
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
            assert float(row["T5 dimensionality"]) == pytest.approx(whole, abs=1e-6)
            assert float(row["T4 speedup_operations"]) == pytest.approx(faster, abs=1e-6)
            assert float(row["score"]) == pytest.approx((whole + 0.5 * faster) / 1.5, abs=1e-6)
            assert float(row["T5 tenth (held out)"]) == pytest.approx(tenth, abs=1e-6)
            assert float(row["T3 dimensionality (held out)"]) == pytest.approx(abs(math.log(autocor / 1)), abs=1e-6)
            assert (row["cells"], row["failed runs"]) == ("13", "0")

    def test_the_best_trial_comes_first_and_stands_on_the_terminal_too(self):
        result = pppca_study()
        rows = trials_of()
        scores = [float(row["score"]) for row in rows]
        assert scores == sorted(scores)
        assert {row["trial"] for row in rows} == {"0", "1", "2", "3"}
        lines = result.stdout.splitlines()
        assert lines[0].split()[:5] == ["trial", "learning_rate", "n_epochs", "variance", "score"]
        assert [line.split()[0] for line in lines[2:6]] == [row["trial"] for row in rows]
        assert "All 4 trials are in results/studies/small/trials.csv." in lines

    def test_the_markdown_table_holds_the_best(self, monkeypatch):
        monkeypatch.setattr(trial_table, "N_SHOWN", 3)
        pppca_study(SMALL, "--trials", 5)
        text = Path("results/studies/small/trials.md").read_text()
        assert "5 of 5 trials, drawn with seed 7; trial 0 is the base. Repeats of each cell: 2." in text
        assert "T5 dimensionality (weight 1), T4 speedup_operations (weight 0.5)" in text
        shown = re.findall(r"^\| (\d+) ", text, re.M)
        assert shown == [row["trial"] for row in trials_of()][:3]
        assert len(trials_of()) == 5

    def test_only_the_runs_behind_the_named_cells_are_made(self):
        pppca_study()
        made = Counter(
            (s.cell.problem, s.cell.method, setting(s, "centre"), setting(s, "data_fraction")) for s, _ in stored(1)
        )
        assert made == {
            ("cancer1", "dgha", True, 100.0): 8,
            ("cancer1", "dgha", True, 10.0): 8,
            ("cancer1", "dgha", False, 100.0): 2,
            ("cancer1", "dgha_speedup", True, 100.0): 8,
        }

    @pytest.mark.slow
    def test_a_second_time_nothing_is_computed_and_the_tables_are_the_same(self, monkeypatch):
        pppca_study()
        folder = Path("results/studies/small")
        before = [(folder / name).read_bytes() for name in ("trials.csv", "trials.md")]

        def fails(*_arguments):
            raise AssertionError("computed again")

        monkeypatch.setattr(experiment, "run_group", fails)
        assert pppca_study().exit_code == 0
        assert [(folder / name).read_bytes() for name in ("trials.csv", "trials.md")] == before

    @pytest.mark.slow
    def test_trust_a_study_of_the_same_name_at_the_same_time_takes_no_run_away(self, monkeypatch):
        computed = runner.run

        def while_another_plans(specs, store, *arguments, **keywords):
            outcome = computed(specs, store, *arguments, **keywords)
            for name in store.configs():
                store.plan(Plan(name, "", "", ()))
            return outcome

        pppca_study()
        alone = trials_of()
        shutil.rmtree("results")
        monkeypatch.setattr(runner, "run", while_another_plans)
        assert pppca_study().exit_code == 0
        assert trials_of() == alone

    @pytest.mark.slow
    def test_more_trials_leave_the_others_as_they_were(self):
        pppca_study(SMALL, "--trials", 2)
        few = trials_of()
        pppca_study(SMALL, "--trials", 5)
        many = trials_of()
        assert (len(few), len(many)) == (2, 5)
        assert all(row in many for row in few)

    @pytest.mark.slow
    def test_an_interrupted_search_keeps_its_table_and_goes_on(self, monkeypatch):
        pppca_study(SMALL, "--results", "whole")
        monkeypatch.setattr(study, "RUNS_PER_BATCH", 52)  # two trials
        computed, run_group = Counter(), experiment.run_group

        def interrupted(specs, problem):
            computed["runs"] += len(specs)
            if computed["runs"] > 60:
                raise KeyboardInterrupt
            return run_group(specs, problem)

        monkeypatch.setattr(experiment, "run_group", interrupted)
        stopped = pppca_study()
        assert stopped.exit_code == 130
        assert "Stopped. What was done is kept in results/studies/small; go on with `pppca" in stopped.stderr
        assert {row["trial"] for row in trials_of()} == {"0", "1"}
        n_done = computed["runs"]
        monkeypatch.setattr(experiment, "run_group", run_group)
        assert pppca_study().exit_code == 0
        assert n_done > 52
        assert trials_of() == trials_of("whole")

    def test_a_trial_that_diverges_is_last_and_said_so(self):
        # Trial 0 is tame; every drawn rate is too large by far.
        result = pppca_study(SMALL.replace(RATE, "methods[*].learning_rate: {low: 900.0, high: 1000.0}"))
        assert result.exit_code == 0
        first, *others = trials_of()
        assert first["trial"] == "0"
        assert math.isfinite(float(first["score"]))
        assert [row["trial"] for row in others] == ["1", "2", "3"]
        for row in others:
            assert (row["score"], row["T5 dimensionality"], row["T5 tenth (held out)"]) == ("inf", "", "")
            assert int(row["failed runs"]) > 0
        assert re.search(
            r"Trials with failed runs: 3 of 4, such as cancer1, dgha\w*, repeat \d: ValueError: ", result.stderr
        )

    @pytest.mark.slow
    def test_more_runs_than_a_command_may_have_are_refused_unless_forced(self, monkeypatch):
        n_runs = 4 * 2 * (4 + 4 + 1 + 4)  # trials, repeats, and cells of 100 %, 10 %, autocor and the speed-up
        monkeypatch.setattr(request, "MOST_RUNS", n_runs - 1)
        refused = pppca_study()
        assert (refused.exit_code, refused.stderr) == (
            2,
            f"Error: small.yaml: expected at most {n_runs - 1} runs in one command, got {n_runs}."
            " Take fewer trials, or plan them all the same with --force.\n",
        )
        assert not Path("results").exists()
        assert pppca_study(SMALL, "--force").exit_code == 0
        assert pppca_study(SMALL, "--trials", 3).exit_code == 0

    def test_a_search_of_which_every_trial_fails_has_exit_code_1(self, stand_in):
        class Fails(DGHA):
            def fit(self, X, y=None):  # noqa: ARG002
                raise ValueError("no luck")

        stand_in("dgha", Fails)
        result = pppca_study()
        assert result.exit_code == 1
        assert result.stderr.endswith("such as cancer1, dgha, repeat 0: ValueError: no luck\n")

    def test_a_cell_that_a_trial_does_not_fill_makes_it_infinite(self):
        text = re.sub(r"vary:\n(  .*\n)*", "vary:\n  methods[0].data_fraction: {choices: [[10]]}\n", SMALL)
        assert pppca_study(text, "--trials", 2).exit_code == 0
        assert [(row["trial"], row["score"]) for row in trials_of()][1] == ("1", "inf")

    def test_progress_counts_the_runs_of_all_trials(self, monkeypatch, wine_as_cancer):
        monkeypatch.setattr(study, "RUNS_PER_BATCH", 26)
        shown = []
        search, folder = loaded(), Path("own")
        with study.TrialStore(folder / "results.sqlite") as store:
            study.run_study(
                search,
                store,
                folder,
                problems=wine_as_cancer,
                workers=0,
                progress=lambda *counts: shown.append(counts),
            )
        assert {total for _, total in shown} == {4 * 26}
        assert shown[-1] == (104, 104)
        assert [done for done, _ in shown] == sorted(done for done, _ in shown)

    @pytest.mark.slow
    def test_learning_curves_are_not_kept(self):
        pppca_study()
        with Store(Path("results/studies/small/results.sqlite"), read_only=True) as store:
            assert store.histories([spec.key for spec, _ in store.runs()]) == {}

    def test_a_quiet_search_says_nothing(self):
        result = pppca_study(SMALL, "--quiet", "--trials", 1)
        assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
        assert len(trials_of()) == 1

    def test_a_database_that_lost_all_its_bytes_is_begun_anew_and_told(self):
        database = Path("results/studies/small/results.sqlite")
        database.parent.mkdir(parents=True)
        database.touch()
        result = pppca_study(SMALL, "--quiet", "--trials", 1)
        assert result.exit_code == 0
        assert result.stderr.startswith(f"{database} had 0 bytes and was created again.")

    def test_an_older_database_is_moved_aside_and_told(self):
        database = Path("results/studies/small/results.sqlite")
        database.parent.mkdir(parents=True)
        with closing(sqlite3.connect(database)) as connection:
            connection.executescript("CREATE TABLE runs (key TEXT); PRAGMA user_version = 2;")
        result = pppca_study(SMALL, "--quiet", "--trials", 1)
        assert result.exit_code == 0
        assert result.stderr.startswith(f"{database} is of an older version, whose results cannot be continued")
        assert database.with_name("results.version-2.sqlite").exists()


@pytest.mark.slow
def test_no_number_of_processes_changes_a_score(proben1_dir):
    text = SMALL.replace("repeats: 2", "repeats: 1")
    alone = pppca_study(text, "--data", proben1_dir, "--results", "alone")
    assert alone.exit_code == 0, alone.stderr
    two = pppca_study(text, "--data", proben1_dir, "--results", "two", "--workers", 2)
    assert two.exit_code == 0, two.stderr
    assert trials_of("alone") == trials_of("two")
