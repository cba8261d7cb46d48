"""Tables of the Proben1 report: the spread of test errors, which tables are built, and what F6 and F7 rank."""

import pytest
from report_runs import FACTS, cell_of, network_runs, search_runs
from stored_runs import results_by_config, run_of

from pppca_bench.pages.document import none_if_nan
from pppca_bench.pages.snapshot import Snapshot
from pppca_bench.paper import proben1_report
from pppca_bench.paper.proben1_report import distribution_document
from pppca_bench.references.reference import installed_references


def tables(**runs) -> Snapshot:
    return Snapshot(results_by_config(runs), FACTS, installed_references())


@pytest.mark.parametrize(("without", "best"), [(0, (8.0, 9.0)), (1, (None, None))])
def test_the_best_run_is_the_first_of_the_least_validation_error(without, best):
    measured = [(3.0, 1.0, 5.0), (2.0, 8.0, 9.0), (4.0, 2.0, 6.0), (2.0, 7.0, 4.0)]
    names = [f"{kind}_error_percent" for kind in ("validation_squared", "test_squared", "test")]
    cell = cell_of("cancer1", ())
    runs = [
        run_of(cell, repeat, **dict(list(zip(names, values, strict=True))[without:]))
        for repeat, values in enumerate(measured)
    ]
    found = results_by_config({"proben1_linear": runs})
    (record,) = distribution_document("proben1_linear", found).frame.to_dict("records")
    own = tuple(none_if_nan(record[f"{name}_best"]) for name in names[1:])
    assert own == best
    assert record["test_error_percent_minimum"] == 4.0


class TestRegistry:
    @pytest.mark.parametrize("identifier", ["T5", "X"])
    def test_a_table_of_means_is_built_once(self, identifier):
        registry = tables(proben1_pivot=list(network_runs("proben1_pivot", ["cancer1"])))
        (layout, numbers), again = registry.means(identifier), registry.means(identifier)
        assert layout.id == identifier
        assert (layout is again[0], numbers is again[1]) == (True, True)

    @pytest.mark.parametrize("identifier", ["P12", "X"])
    def test_a_table_is_built_without_the_published_numbers(self, identifier, monkeypatch):
        monkeypatch.setattr(Snapshot, "numbers", property(pytest.fail))
        registry = tables(proben1_pivot=list(network_runs("proben1_pivot", ["cancer1"])))
        assert registry.table(identifier).id == identifier

    def test_a_table_of_texts_is_built_alone_and_once(self, monkeypatch):
        for other in ("search_documents", "training_document", "distribution_document"):
            monkeypatch.setattr(proben1_report, other, pytest.fail)
        registry = tables(proben1_pivot=list(network_runs("proben1_pivot", ["cancer1"])))
        assert registry.text("P12") is registry.text("P12")

    def test_an_ambiguous_cell_names_the_tables_of_its_settings_without_building_them(
        self, monkeypatch
    ):
        monkeypatch.setattr(proben1_report, "distribution_document", pytest.fail)
        cells = [cell_of("cancer1", "pivot", output) for output in ("linear", "softsign")]
        found = tables(proben1_pivot=[run_of(cell, test_error_percent=1.0) for cell in cells])
        (note,) = (note for note in found.table("P8").notes if "several settings" in note)
        assert note.endswith("because several settings were run: see D_proben1_pivot.")

    def test_runs_of_the_search_are_in_no_list_of_settings(self):
        shown = tables(proben1_search=list(search_runs(["cancer1", "building1"])))
        assert shown.with_runs == ["T0", "P5", "P6", "P7"]
