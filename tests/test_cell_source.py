"""Provenance of table cells: the selection of a cell's runs."""

from pppca_bench.config.overrides import parse_only
from pppca_bench.reporting.summary import Results, source_of
from pppca_bench.runs import Cell, RunResult, RunSpec


def cells() -> list[Cell]:
    def cell(problem: str, method: str, hidden: tuple[int, ...] = (4,), **parameters: object) -> Cell:
        classifier = (("hidden", hidden), ("rule", "rprop"))
        return Cell(problem, "d" * 64, method, tuple(sorted(parameters.items())), classifier, ((method, 3),))

    return [
        *(cell("iris", "dgha", tau=tau, data_fraction=part) for tau in (5.0, 7.5) for part in (100.0, 10.0)),
        cell("iris", "dgha", (8, 4), tau=5.0, data_fraction=100.0),
        cell("iris", "dgha", (), tau=5.0, data_fraction=100.0),
        cell("iris", "gha", shuffle=True),
        cell("iris", "gha", shuffle=False),
        cell("wine", "gha", shuffle=None),
    ]


def test_the_selection_of_a_cell_takes_its_runs_alone():
    specs = [RunSpec(str(number), cell, 0, 0) for number, cell in enumerate(cells())]
    runs = [(spec, RunResult(spec.key, "done", values={"test_error_percent": 1.0})) for spec in specs]
    results = Results.of_runs(runs, {"a": [spec.key for spec in specs], "b": [specs[0].key]})
    for cell in results.cells:
        source = source_of(cell, results, ["a"])
        taken = parse_only([str(source.record()["only"])])
        assert [other for other in results.cells if taken.takes(other)] == [cell]
        assert (source.config, source.versions) == ("a", f"{cell.method} 3")
    alone = source_of(specs[0].cell, results, ["none", "b"])
    assert (alone.config, alone.only) == ("b", {"problem": "iris", "method": "dgha"})
