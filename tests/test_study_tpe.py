"""Searches that learn from their trials: what is asked, resumed, pruned, drawn and refused."""

import csv
import json
import re
import sys
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from test_study import SMALL, loaded, stored, wine_as_cancer  # noqa: F401 - a fixture

from pppca_bench.cli.main import cli
from pppca_bench.errors import ConfigError
from pppca_bench.experiments import cell as experiment
from pppca_bench.reporting.front_drawing import Front, FrontPoint, write_front
from pppca_bench.studies import tpe
from pppca_bench.studies.spaces import Choices, Interval

pytestmark = pytest.mark.usefixtures("nowhere_else")
LEARNING = SMALL.replace("trials: 4", "trials: 6\nsampler: tpe")
FOLDER = Path("results/studies/small")


def pppca_study(text: str = LEARNING, *arguments: object) -> Result:
    Path("small.yaml").write_text(text)
    given = ["study", "small.yaml", "--workers", "0", *map(str, arguments)]
    return CliRunner().invoke(cli, given, prog_name="pppca")


def trials_of(folder: str = "results") -> list[dict[str, str]]:
    with (Path(folder) / "studies" / "small" / "trials.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.fixture
def few_at_random(monkeypatch):
    """Let the estimator and the pruner begin after two trials, and judge trials at one repeat and at two."""
    pytest.importorskip("optuna")
    monkeypatch.setattr(tpe, "N_STARTUP", 2)


class TestRefusals:
    def test_without_optuna_one_line_says_how_to_install_it(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "optuna", None)
        result = pppca_study()
        assert result.exit_code == 2
        assert result.stderr == (
            "Error: small.yaml:4: sampler: tpe needs Optuna, which is not installed:"
            " `pip install 'pppca-bench[optuna]'`.\n"
        )
        assert not Path("results").exists()

    def test_an_unknown_sampler_is_refused(self):
        with pytest.raises(ConfigError, match=r"small\.yaml:4: sampler: expected 'random' or 'tpe', got 'grid'"):
            loaded(LEARNING.replace("tpe", "grid"))

    def test_a_base_outside_its_range_is_refused_since_the_sampler_learns_from_it(self):
        text = LEARNING.replace("{low: 5, high: 9}", "{low: 9, high: 12}")
        with pytest.raises(ConfigError, match=r"n_epochs: expected a range that holds the base's own value .* got 8"):
            loaded(text)
        assert loaded(text.replace("sampler: tpe", "sampler: random")).n_trials == 6


def test_a_range_holds_its_ends_and_integers_only_where_both_ends_are():
    whole, real = Interval(2, 5), Interval(0.5, 2.0, log=True)
    assert [whole.holds(value) for value in (1, 2, 5, 6, 2.5, 3.0, True, "3", None)] == [
        *(False, True, True, False, False, True, False, False, False)
    ]
    assert [real.holds(value) for value in (0.5, 2.0, 2.01, 1)] == [True, True, False, True]
    assert [Choices((None, [1, 2])).holds(value) for value in (None, [1, 2], 1)] == [True, True, False]


@pytest.mark.parametrize(("n", "expected"), [(1, [1]), (2, [1, 2]), (4, [1, 2, 4]), (8, [2, 4, 8]), (10, [3, 5, 10])])
def test_a_trial_is_judged_after_a_quarter_a_half_and_all_of_its_repeats(n, expected):
    assert tpe.stages(n) == expected


@pytest.mark.usefixtures("wine_as_cancer", "few_at_random")
class TestRunning:
    def test_trial_0_is_the_base_and_the_others_lie_in_their_ranges(self):
        assert pppca_study().exit_code == 0
        rows = {int(row["trial"]): row for row in trials_of()}
        assert sorted(rows) == list(range(6))
        assert (rows[0]["methods[*].learning_rate"], rows[0]["methods[*].n_epochs"]) == ("0.05", "8")
        for row in rows.values():
            assert 0.01 <= float(row["methods[*].learning_rate"]) <= 0.1
            assert row["methods[*].n_epochs"] in "56789"
            assert row["methods[0].variance"] in ("raw", "direction")
        assert len({row["methods[*].learning_rate"] for row in rows.values()}) == 6

    @pytest.mark.slow
    def test_a_random_search_scores_the_same_settings_alike(self):
        assert pppca_study(LEARNING.replace("trials: 6", "trials: 1")).exit_code == 0
        (learnt,) = trials_of()
        assert pppca_study(SMALL, "--trials", 1, "--results", "random").exit_code == 0
        (drawn,) = trials_of("random")
        assert {key: learnt[key] for key in drawn} == drawn

    @pytest.mark.slow
    def test_a_second_time_nothing_is_computed_and_the_table_is_the_same(self, monkeypatch):
        assert pppca_study().exit_code == 0
        before = (FOLDER / "trials.csv").read_bytes()

        def fails(*_arguments):
            raise AssertionError("computed again")

        monkeypatch.setattr(experiment, "run_group", fails)
        result = pppca_study()
        assert result.exit_code == 0, result.stderr
        assert (FOLDER / "trials.csv").read_bytes() == before

    @pytest.mark.slow
    def test_an_interrupted_search_goes_on_as_if_it_had_not_been(self, monkeypatch):
        assert pppca_study(LEARNING, "--results", "whole").exit_code == 0
        computed, run_group = Counter(), experiment.run_group

        def interrupted(specs, problem):
            computed["runs"] += len(specs)
            if computed["runs"] > 70:  # in the third trial: one has at most 26 runs
                raise KeyboardInterrupt
            return run_group(specs, problem)

        monkeypatch.setattr(experiment, "run_group", interrupted)
        stopped = pppca_study()
        assert stopped.exit_code == 130
        assert 0 < len(trials_of()) < 6
        monkeypatch.setattr(experiment, "run_group", run_group)
        assert pppca_study().exit_code == 0
        assert trials_of() == trials_of("whole")

    @pytest.mark.slow
    def test_more_trials_leave_the_others_as_they_were(self):
        pppca_study(LEARNING, "--trials", 3)
        few = trials_of()
        pppca_study(LEARNING, "--trials", 6)
        many = trials_of()
        assert (len(few), len(many)) == (3, 6)
        assert all(row in many for row in few)

    @pytest.mark.slow
    def test_what_promises_less_than_the_median_is_given_up_and_stands_last(self):
        assert pppca_study(LEARNING, "--trials", 12).exit_code == 0
        rows = trials_of()
        given_up = [row for row in rows if row["repeats"] == "1"]
        assert given_up
        assert rows[-len(given_up) :] == given_up
        for row in rows:
            made = {spec.repeat for spec, result in stored(int(row["trial"])) if result is not None}
            assert len(made) == int(row["repeats"])

    @pytest.mark.slow
    def test_a_trial_that_diverges_is_given_up_and_the_search_goes_on(self):
        text = LEARNING.replace(
            "methods[*].learning_rate: {low: 0.01, high: 0.1, log: true}",
            "methods[*].learning_rate: {choices: [0.05, 950.0]}",
        )
        result = pppca_study(text, "--trials", 8)
        assert result.exit_code == 0, result.stderr
        rows = trials_of()
        wild = [row for row in rows if row["methods[*].learning_rate"] == "950.0"]
        assert wild
        assert all((row["score"], row["repeats"]) == ("inf", "1") for row in wild)
        assert "Trials with failed runs: " in result.stderr

    @pytest.mark.slow
    def test_another_score_is_another_search_in_the_same_record(self):
        pppca_study(LEARNING, "--trials", 2)
        pppca_study(LEARNING.replace("weight: 0.5", "weight: 0.7"), "--trials", 2)
        operations = [json.loads(line) for line in (FOLDER / tpe.JOURNAL).read_text().splitlines()]
        names = [one["study_name"] for one in operations if "study_name" in one]
        assert len(set(names)) == 2

    @pytest.mark.slow
    def test_the_front_is_written_beside_the_table(self):
        result = pppca_study()
        assert result.stdout.endswith(
            "The front of the first two parts of the score is in results/studies/small/front.png.\n"
        )
        with (FOLDER / "front.csv").open() as file:
            drawn = list(csv.DictReader(file))
        whole = [row for row in trials_of() if row["repeats"] == "2" and row["failed runs"] == "0"]
        assert {row["trial"] for row in drawn} == {row["trial"] for row in whole}
        assert (FOLDER / "front.png").read_bytes().startswith(b"\x89PNG")

    @pytest.mark.slow
    def test_the_markdown_says_how_trials_were_chosen(self):
        pppca_study(LEARNING, "--trials", 2)
        text = (FOLDER / "trials.md").read_text()
        assert "chosen by a tree-structured Parzen estimator" in text
        assert re.search(r"\| repeats +\|", text)


class TestFront:
    POINTS = (FrontPoint(0, 3.0, 1.0), FrontPoint(1, 1.0, 3.0), FrontPoint(2, 2.0, 2.0), FrontPoint(3, 2.0, 2.5))

    def test_no_trial_of_it_is_beaten_in_one_score_without_a_loss_in_the_other(self):
        front = Front("t", "x", "y", (*self.POINTS, FrontPoint(4, 3.5, 1.0)), (None, None), "")
        assert [point.trial for point in front.best] == [1, 2, 0]

    def test_equal_numbers_give_equal_bytes_and_the_csv_has_every_trial(self, tmp_path):
        front = Front("t", "x", "y", self.POINTS, (1.5, None), "a note")
        first = [path.read_bytes() for path in write_front(front, tmp_path)]
        second = [path.read_bytes() for path in write_front(front, tmp_path)]
        assert first == second
        assert (tmp_path / "front.csv").read_text().splitlines() == [
            "trial,x,y,on the front",
            *("0,3.0,1.0,True", "1,1.0,3.0,True", "2,2.0,2.0,True", "3,2.0,2.5,False"),
        ]
