"""Architecture search: hand-worked cases, the published searches, and documents."""

import pytest
from report_runs import FACTS, cell_of, search_runs
from stored_runs import results_by_config, run_of

from pppca_bench.classifiers.network import Architecture
from pppca_bench.methods.networks import NetworkSetting
from pppca_bench.pages.document import render_documents
from pppca_bench.paper.architecture_search import (
    Trained,
    describe_search,
    pivot,
    search_documents,
    within,
)
from pppca_bench.paper.networks import LINEAR, SIGMOID, published_searches, published_tests

PUBLISHED = published_searches()
L2, L4, L8 = (NetworkSetting((size,), LINEAR) for size in (2, 4, 8))
S8 = NetworkSetting((8,), SIGMOID)


def test_networks_are_written_as_the_report_writes_them():
    layers = {(): "0 l", (4,): "4+0 l", (16, 8): "16+8 l"}
    assert {own: str(NetworkSetting(own, LINEAR)) for own in layers} == layers
    assert str(NetworkSetting((4, 2), SIGMOID)) == "4+2 s"


def test_the_published_tables_hold_42_problems_each():
    assert list(PUBLISHED) == list(published_tests())
    assert len(PUBLISHED) == 42
    assert sum(one.is_classification for one in PUBLISHED.values()) == 30


def test_the_connections_of_the_published_pivots_are_the_published_ones():
    for problem, one in PUBLISHED.items():
        facts = FACTS[problem]
        found = one.pivot.n_connections(facts.n_features, facts.n_outputs)
        assert found == one.n_connections, problem


@pytest.mark.parametrize("shortcuts", [True, False])
@pytest.mark.parametrize("hidden", [(), (4,), (3, 2, 5)])
def test_connections_are_the_weights_of_our_own_networks(hidden, shortcuts):
    network = Architecture(9, hidden, 3, shortcuts, "linear")
    assert (
        NetworkSetting(hidden, LINEAR).n_connections(9, 3, shortcuts=shortcuts) == network.n_weights
    )


def test_38_of_the_42_published_pivots_follow_from_the_published_candidates():
    sizes = {problem: (facts.n_features, facts.n_outputs) for problem, facts in FACTS.items()}
    found = {problem: pivot(one.candidates, *sizes[problem]) for problem, one in PUBLISHED.items()}
    others = {problem for problem, one in PUBLISHED.items() if found[problem] != one.pivot}
    assert others == {"building2", "building3", "card2", "diabetes1"}


def test_the_published_candidates_begin_with_the_best_and_are_as_many_as_counted():
    assert all(one.candidates[0] == one.best for one in PUBLISHED.values())
    assert all(len(one.candidates) == one.n_within_5 + 1 for one in PUBLISHED.values())


@pytest.mark.parametrize(
    ("candidates", "expected"), [([S8, L8], S8), ([L8, S8], L8), ([S8, L8, L2, L8], L8)]
)
def test_pivot_output_is_that_of_the_smaller_error_unless_the_linear_occurs_twice(
    candidates, expected
):
    assert pivot(candidates, 9, 2) == expected


def test_of_as_many_connections_more_layers_count_as_larger():
    one, two = (NetworkSetting(hidden, LINEAR) for hidden in ((32,), (16, 8)))
    assert one.n_connections(9, 6) == two.n_connections(9, 6) == 572
    assert pivot([one, two], 9, 6) == two


def test_within_takes_the_bound_itself_and_keeps_the_order_of_equals():
    validated = ((L8, 110.0), (L4, 100.0), (L2, 105.0), (S8, 100.0), (L8, 105.1))
    runs = [Trained(network, error, 1.0, 10) for network, error in validated]
    assert [run.network for run in within(runs, 5.0)] == [L4, S8, L2]


def test_a_search_is_described_by_hand():
    runs = [
        Trained(L4, 10.0, 7.0, 50),
        Trained(L2, 10.4, 6.0, 40),
        Trained(L8, 10.9, 9.0, 90),
        Trained(S8, 11.1, 1.0, 5),
    ]
    found = describe_search(runs)
    expected = {"network": "4+0 l", "validation_error": 10.0, "test_error": 7.0}
    expected |= {"n_within_5": 1, "n_within_10": 2, "epochs_least": 40, "epochs_most": 90}
    assert found | expected | {"test_least": 6.0, "test_most": 9.0} == found
    alone = describe_search([runs[0], runs[3]])
    expected = {"n_within_10": 0, "epochs_least": 50, "epochs_most": 50, "test_least": None}
    assert alone | expected == alone


def test_the_sheets_hold_ours_beside_the_published():
    results = results_by_config({"proben1_search": list(search_runs(["cancer1", "building1"]))})
    sheets = search_documents(results, FACTS)
    expected = [("P5", 30, True), ("P6", 12, True), ("P7", 42, True)]
    assert [(sheet.id, len(sheet.rows), sheet.has_runs) for sheet in sheets] == expected
    agreements = [sheet.agreement.same for sheet in sheets if sheet.agreement]
    assert [len(same) - same.count(None) for same in agreements] == [2, 2]
    by_row = sheets[0].frame.set_index("row")
    assert by_row.loc["cancer1", ["n", "n_planned"]].tolist() == [36, 36]
    assert by_row.loc["cancer2", ["network", "published_network"]].tolist() == [None, "8+4 l"]


def test_what_was_not_run_is_a_dash_and_never_the_published_number():
    for sheet in search_documents(results_by_config({}), FACTS):
        assert not sheet.has_runs
        ours = [i for i, header in enumerate(sheet.headers) if "publ" not in header and i]
        assert {row[i] for row in sheet.rows for i in ours} == {"–"}


def test_runs_of_other_configs_and_of_other_layers_do_not_count():
    best = run_of(cell_of("cancer1", (2,)), 9, validation_squared_error_percent=0.1)
    alone = {"proben1_search": list(search_runs(["cancer1"]))}
    found, expected = (
        search_documents(results_by_config(runs), FACTS)
        for runs in (alone | {"other": [best]}, alone)
    )
    for form in ("terminal", "json"):
        assert render_documents(found, form) == render_documents(expected, form)
    assert [one.agreement for one in found] == [one.agreement for one in expected]


def test_a_search_that_waits_for_runs_is_marked():
    runs = list(search_runs(["cancer1"]))
    runs[3] = (runs[3][0], None)
    sheet, _, pivots = search_documents(results_by_config({"proben1_search": runs}), FACTS)
    row = next(row for row in sheet.rows if row[0] == "cancer1")
    assert row[1].endswith("*")
    assert (sheet.n_missing, pivots.n_missing) == (1, 1)
