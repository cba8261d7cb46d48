"""Architecture search: hand-worked cases, the published searches, and documents."""

import pytest
from report_runs import FACTS, cell_of, search_runs
from stored_runs import results_by_config, run_of

from pppca_bench.classifiers.network import Architecture
from pppca_bench.methods.networks import NetworkSetting
from pppca_bench.paper.architecture_search import (
    Trained,
    describe_search,
    n_connections,
    pivot,
    search_documents,
    within,
)
from pppca_bench.paper.networks import LINEAR, SIGMOID, published_searches, published_tests

PUBLISHED = published_searches()
L2, L4, L8 = (NetworkSetting((size,), LINEAR) for size in (2, 4, 8))
S8 = NetworkSetting((8,), SIGMOID)


def trained(
    network: NetworkSetting, validation: float, test: float = 1.0, epochs: int = 10
) -> Trained:
    return Trained(network, validation, test, epochs)


def test_networks_are_written_as_the_report_writes_them():
    expected = ["4+0 l", "16+8 l", "0 l"]
    assert [str(NetworkSetting(hidden, LINEAR)) for hidden in ((4,), (16, 8), ())] == expected
    assert str(NetworkSetting((4, 2), SIGMOID)) == "4+2 s"


def test_the_published_tables_hold_42_problems_each():
    assert list(PUBLISHED) == list(published_tests())
    assert len(PUBLISHED) == 42
    assert sum(one.is_classification for one in PUBLISHED.values()) == 30


@pytest.mark.parametrize("problem", PUBLISHED)
def test_the_connections_of_the_published_pivots_are_the_published_ones(problem):
    facts, published = FACTS[problem], PUBLISHED[problem]
    found = n_connections(facts.n_features, published.pivot.hidden, facts.n_outputs)
    assert found == published.n_connections


@pytest.mark.parametrize("shortcuts", [True, False])
@pytest.mark.parametrize("hidden", [(), (4,), (16, 8), (3, 2, 5)])
def test_connections_are_the_weights_of_our_own_networks(hidden, shortcuts):
    network = Architecture(9, hidden, 3, shortcuts, "linear")
    assert n_connections(9, hidden, 3, shortcuts=shortcuts) == network.n_weights


def test_38_of_the_42_published_pivots_follow_from_the_published_candidates():
    others = {
        problem
        for problem, one in PUBLISHED.items()
        if pivot(one.candidates, FACTS[problem].n_features, FACTS[problem].n_outputs) != one.pivot
    }
    assert others == {"building2", "building3", "card2", "diabetes1"}


def test_the_published_candidates_begin_with_the_best_and_are_as_many_as_counted():
    assert all(one.candidates[0] == one.best for one in PUBLISHED.values())
    assert all(len(one.candidates) == one.n_within_5 + 1 for one in PUBLISHED.values())


def test_pivot_output_is_that_of_the_smaller_error_unless_the_linear_occurs_twice():
    assert pivot([S8, L8], 9, 2) == S8
    assert pivot([L8, S8], 9, 2) == L8
    assert pivot([S8, L8, L2, L8], 9, 2) == L8


def test_of_as_many_connections_more_layers_count_as_larger():
    assert n_connections(9, (32,), 6) == n_connections(9, (16, 8), 6) == 572
    found = pivot([NetworkSetting((32,), LINEAR), NetworkSetting((16, 8), LINEAR)], 9, 6)
    assert found == NetworkSetting((16, 8), LINEAR)


def test_within_takes_the_bound_itself_and_keeps_the_order_of_equals():
    validated = ((L8, 110.0), (L4, 100.0), (L2, 105.0), (S8, 100.0), (L8, 105.1))
    runs = [trained(network, error) for network, error in validated]
    assert [run.network for run in within(runs, 5.0)] == [L4, S8, L2]


def test_a_search_is_described_by_hand():
    runs = [
        trained(L4, 10.0, test=7.0, epochs=50),
        trained(L2, 10.4, test=6.0, epochs=40),
        trained(L8, 10.9, test=9.0, epochs=90),
        trained(S8, 11.1, test=1.0, epochs=5),
    ]
    found = describe_search(runs)
    expected = ("4+0 l", 10.0, 7.0)
    assert (found["network"], found["validation_error"], found["test_error"]) == expected
    assert (found["n_within_5"], found["n_within_10"]) == (1, 2)
    got = [found[f"{name}_{end}"] for name in ("epochs", "test") for end in ("least", "most")]
    assert got == [40, 90, 6.0, 9.0]


def test_a_search_without_others_has_no_range_of_test_errors():
    found = describe_search([trained(L4, 10.0, epochs=50), trained(L2, 20.0)])
    got = (found["n_within_10"], found["epochs_least"], found["epochs_most"], found["test_least"])
    assert got == (0, 50, 50, None)


def test_the_sheets_hold_ours_beside_the_published():
    problems = ["cancer1", "building1"]
    sheets = search_documents(
        results_by_config({"proben1_search": list(search_runs(problems))}), FACTS
    )
    expected = [("P5", 30, True), ("P6", 12, True), ("P7", 42, True)]
    assert [(sheet.id, len(sheet.rows), sheet.has_runs) for sheet in sheets] == expected
    assert all(len(row) == len(sheet.headers) for sheet in sheets for row in sheet.rows)
    agreements = [sheet.agreement.same for sheet in sheets if sheet.agreement]
    assert [len(same) - same.count(None) for same in agreements] == [2, 2]
    by_row = {record["row"]: record for record in sheets[0].records}
    assert by_row["cancer1"]["n"] == by_row["cancer1"]["n_planned"] == 36
    assert by_row["cancer2"]["network"] is None
    assert by_row["cancer2"]["published_network"] == "8+4 l"


def test_what_was_not_run_is_a_dash_and_never_the_published_number():
    for sheet in search_documents(results_by_config({}), FACTS):
        assert not sheet.has_runs
        ours = [i for i, header in enumerate(sheet.headers) if "publ" not in header and i]
        assert {row[i] for row in sheet.rows for i in ours} == {"–"}
        records = [record.items() for record in sheet.records]
        measured = {value for items in records for name, value in items if "publ" not in name}
        assert measured - set(FACTS) <= {None, 0}


def test_runs_of_other_configs_and_of_other_layers_do_not_count():
    best = run_of(cell_of("cancer1", (2,)), 9, validation_squared_error_percent=0.1)
    runs = {"proben1_search": list(search_runs(["cancer1"])), "other": [best]}
    alone = results_by_config({"proben1_search": runs["proben1_search"]})
    assert search_documents(results_by_config(runs), FACTS) == search_documents(alone, FACTS)


def test_a_search_that_waits_for_runs_is_marked():
    runs = list(search_runs(["cancer1"]))
    late = [(spec, None if index == 3 else result) for index, (spec, result) in enumerate(runs)]
    sheet, _, pivots = search_documents(results_by_config({"proben1_search": late}), FACTS)
    row = next(row for row in sheet.rows if row[0] == "cancer1")
    assert row[1].endswith("*")
    assert (sheet.n_missing, pivots.n_missing) == (1, 1)
