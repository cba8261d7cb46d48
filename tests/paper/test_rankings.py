"""The runs that the rankings of the references, F6 and F7, compare."""

from stored_runs import results_by_config, run_of

from pppca_bench.pages.snapshot import Snapshot
from pppca_bench.references.reference import installed_references
from pppca_bench.runs import Cell, Label, ProblemFacts, StoredRun

PROBLEMS = ("cancer1", "glass1", "heart1")
METHODS = ("gha", "dgha", "ne_ppca")
FACTS = {
    name: ProblemFacts(name, "a", "classification", name.rstrip("123"), 9, 2, 5, 5, 5)
    for name in PROBLEMS
}


def runs(*methods: str, hidden: int = 4) -> list[StoredRun]:
    """Return a run of each method on each problem."""
    cells = [
        Cell(problem, "a", method, {}, {"hidden": (hidden,)})
        for method in methods
        for problem in PROBLEMS
    ]
    return [
        run_of(cell, 0, Label(cell.method), test_error_percent=n, dimensionality=1)
        for n, cell in enumerate(cells)
    ]


def rankings(**configs: list[StoredRun]) -> dict[str, set[str]]:
    """Return the methods that the rankings of references compare."""
    snapshot = Snapshot(results_by_config(configs), FACTS, installed_references())
    return {spec.id: set(one.errors) for spec, one in snapshot.rankings()}


def test_f6_is_of_the_permutations_alone_where_they_were_run_and_else_of_all_runs():
    permutations, other = runs(*METHODS), runs("lda", "pca")
    assert rankings(permutations=permutations, mine=other) == {"F6": set(METHODS)}
    assert rankings(mine=runs("gha"), yours=runs("dgha")) == {"F6": {"gha", "dgha"}}
    assert rankings(permutations=runs("gha")) == rankings() == {}


def test_f7_is_of_the_reports_networks():
    names = ("proben1_pivot", "proben1_no_shortcuts", "proben1_linear")
    networks = {name: runs("all_features", hidden=size) for size, name in enumerate(names, 1)}
    found = rankings(permutations=runs(*METHODS), **networks)
    assert {name: len(methods) for name, methods in found.items()} == {"F6": 3, "F7": 3}
    assert found["F6"] == set(METHODS)
