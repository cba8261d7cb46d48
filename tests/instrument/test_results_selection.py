"""Runs of a table's cell: selection, statistics of the repeats, digest of settings, provenance."""

from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import pytest
from stored_runs import PIVOT, cell_of, number_of, results_by_config, results_of, run_of

from pppca_bench.config.overrides import parse_filter
from pppca_bench.results.frames import Runs
from pppca_bench.results.selection import find_parts, only_cells, summary_of_cells
from pppca_bench.runs import Cell, Names, RunResult, Selector, StoredRun
from pppca_bench.verdicts.recorded import settings_digest

SETTINGS = {"centre": True, "n_epochs": 10, "tau": 15.0, "data_fraction": 100.0}
CENTRED = Selector("cancer1", "dgha", (("centre", True), ("data_fraction", 100), ("tau", 15)))
cell = partial(cell_of, parameters=SETTINGS)
SLOW = cell(parameters=SETTINGS | {"n_epochs": 99})
ERROR = "test_error_percent"


def planned(*errors: float | str | None, of: Cell | None = None) -> list[StoredRun]:
    """Return a repeat for each error; it is planned for None, and failed for a text."""
    found = []
    for repeat, error in enumerate(errors):
        values = {ERROR: error, "dimensionality": 3 + repeat} if isinstance(error, float) else {}
        spec, result = run_of(of or cell(), repeat, **values)
        failed = RunResult(spec.key, "failed", error) if isinstance(error, str) else None
        found.append((spec, failed or result))
    return found


def mean_error(runs: Runs, selector: Selector = CENTRED, configs: Names = ()) -> float | None:
    counting = runs.of_configs(configs)
    cells = only_cells(counting, selector)
    summary = summary_of_cells(counting, selector, cells, ERROR) if cells else None
    return summary and summary.mean


def digest(runs: Runs, number: int) -> str:
    n_done = runs.counts[number]["n_done"]
    printed = SimpleNamespace(cells=(number,), n_done=n_done, selection=CENTRED)
    return settings_digest(printed, runs)


def test_each_quantity_of_a_cell_is_summarised_over_the_repeats_that_are_done():
    runs = results_of(planned(1.0, 2.0, "Traceback", None))
    (number,) = only_cells(runs, CENTRED)
    assert runs.measured[number] == (ERROR, "dimensionality")
    summaries = {name: runs.summary(number, name) for name in runs.measured[number]}
    expected = {ERROR: (1.5, 2), "dimensionality": (3.5, 2)}
    assert {name: (own.mean, own.n) for name, own in summaries.items()} == expected
    assert runs.counts[number] == {"n_planned": 4, "n_done": 2, "n_failed": 1}
    assert runs.values(number, ERROR) == {0: 1.0, 1: 2.0}


def test_a_cell_without_completed_runs_has_no_quantities():
    runs = results_of(planned("Traceback", None))
    (number,) = only_cells(runs, CENTRED)
    assert (runs.measured[number], runs.summary(number, ERROR)) == ((), None)
    assert runs.counts[number] == {"n_planned": 2, "n_done": 0, "n_failed": 1}
    assert digest(runs, number) == ""


def test_results_without_runs_have_no_cells():
    runs = results_of([])
    assert (runs.cells, runs.quantities, only_cells(runs, CENTRED)) == ({}, (), [])


@pytest.mark.parametrize(
    "other",
    [
        {"problem": "horse1"},
        {"method": "gha"},
        {"parameters": SETTINGS | {"tau": 10.0}},
        {"parameters": {}},
    ],
    ids=str,
)
def test_a_cell_takes_only_runs_of_its_place_and_settings(other):
    assert mean_error(results_of(planned(1.0) + planned(9.0, of=cell(**other)))) == 1.0


@pytest.mark.parametrize(
    ("setting", "error"),
    [
        (("classifier.hidden", ()), 9.0),
        (("classifier.hidden", "pivot"), 1.0),
        (("classifier.no_such", None), None),
    ],
)
def test_settings_may_name_the_classifiers_parameters(setting, error):
    runs = results_of(planned(1.0) + planned(9.0, of=cell(classifier={**PIVOT, "hidden": ()})))
    assert mean_error(runs, replace(CENTRED, settings=(setting,))) == error


class TestSelection:
    OURS, OTHER = planned(1.0, 1.0, 1.0), planned(2.0, 2.0, of=SLOW)

    def test_settings_are_never_mixed_whatever_the_order_of_plans(self):
        plans = {"a": self.OURS, "b": self.OTHER}
        for runs in (results_by_config(plans), results_by_config(dict(reversed(plans.items())))):
            assert only_cells(runs, CENTRED) == []
            (part,) = find_parts(runs, CENTRED)
            assert {runs.cells[number] for number in part} == {cell(), SLOW}
            of_configs = {("a",): 1.0, ("b", "c"): 2.0, ("c",): None, ("a", "b"): None}
            assert {own: mean_error(runs, configs=own) for own in of_configs} == of_configs

    def test_a_config_has_the_repeats_alone_that_it_asks_for(self):
        runs = results_by_config({"a": self.OURS[:2], "b": self.OURS})
        number = number_of(runs, cell())
        every = (runs.of_configs(configs) for configs in (("a",), ("b",), ()))
        assert [one.counts[number]["n_planned"] for one in every] == [2, 3, 3]
        assert runs.configs(number) == {"a", "b"}

    @pytest.mark.parametrize("other", [{"data": "b"}, {"version": 2}], ids=str)
    def test_runs_on_other_data_and_of_other_versions_are_settings_of_their_own(self, other):
        runs = results_by_config({"a": self.OURS, "b": planned(9.0, of=cell(**other))})
        assert only_cells(runs, CENTRED) == []


def digest_of(own: Cell) -> str:
    return digest(results_of(planned(1.0, of=own)), 0)


def test_digests_differ_by_settings_classifier_and_data():
    cells = [cell(), SLOW, cell(classifier={}), cell(data="b"), cell(method="gha")]
    assert len(set(map(digest_of, cells))) == 5


def test_digests_ignore_the_problems_name_and_the_version():
    other_names = digest_of(cell(problem="other")), digest_of(cell(version=2))
    assert other_names == (digest_of(cell()),) * 2


def test_the_selection_of_a_cell_takes_its_runs_alone():
    usual = {"tau": 5.0, "data_fraction": 100.0}
    cells = [
        cell("iris", parameters=usual | own) for own in ({}, {"tau": 7.5}, {"data_fraction": 10.0})
    ]
    cells += [cell("iris", parameters=usual, classifier={"hidden": own}) for own in ((8,), ())]
    cells += [cell("iris", "gha", parameters={"centre": value}) for value in (True, False)]
    cells.append(cell("wine", "gha", parameters={"decay_epochs": None}))
    every = [run for own in cells for run in planned(1.0, of=own)]
    runs = results_by_config({"a": every, "b": every[:1]})
    for own in cells:
        source = runs.source(number_of(runs, own), ("a",))
        taken = parse_filter([source["only"]])
        assert [other for other in cells if taken.matches(other)] == [own]
        assert (source["config"], source["versions"]) == ("a", f"{own.method} 1")
    alone = runs.source(number_of(runs, cells[0]), ("none", "b"))
    assert (alone["config"], alone["only"]) == ("b", "problem=iris,method=dgha")
