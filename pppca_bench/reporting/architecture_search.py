"""The Proben1 report's search for architectures, from runs of ours: its tables 5, 6 and 7 (section 3.3.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pppca_bench.references.proben1_tables import LINEAR, Network, PublishedSearch, published_searches
from pppca_bench.reporting.document import Agreement, Document
from pppca_bench.reporting.number_text import EMPTY
from pppca_bench.reporting.summary import Results
from pppca_bench.runs import Cell, ProblemFacts, StoredRun

CONFIG = "proben1_search"
"""The config whose runs are the search."""

NEEDED = ("validation_squared_error_percent", "test_squared_error_percent", "relevant_epochs")
_CLASS_ERRORS = ("validation_error_percent", "test_error_percent")


@dataclass(frozen=True, slots=True)
class Trained:
    """Hold one run of the search.

    Attributes
    ----------
    network : Network
    validation_error, test_error : float
        Squared error percentages at the validation minimum.
    epochs : int
        Epoch of the validation minimum. Choice: the report says "trained", but by its rule a run trains for 45 epochs
        at least, and its tables go down to 15.
    validation_class_error, test_class_error : float or None
        In percent; None for approximation.
    """

    network: Network
    validation_error: float
    test_error: float
    epochs: int
    validation_class_error: float | None = None
    test_class_error: float | None = None


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Describe a problem's search as tables 5 and 6 do.

    Attributes
    ----------
    best : Trained
        The run with the least validation error.
    n_within_5, n_within_10 : int
        Other runs whose validation error is at most so many percent above its.
    epochs : (int, int)
        Least and most epochs of the runs within 10 %, the best among them.
    test_range : (float, float) or None
        Least and greatest test error of the runs within 10 %, the best left out; None without others.
    """

    best: Trained
    n_within_5: int
    n_within_10: int
    epochs: tuple[int, int]
    test_range: tuple[float, float] | None


def n_connections(n_inputs: int, hidden: Sequence[int], n_outputs: int, *, shortcuts: bool = True) -> int:
    """Count the connections of a feed-forward network, a bias in each node among them (table 7).

    Parameters
    ----------
    n_inputs, n_outputs : int
    hidden : sequence of int
        Nodes of each hidden layer.
    shortcuts : bool, default True
        Whether each layer takes the inputs and all earlier layers, or only the layer before it.
    """
    count, n_sources = 0, 1 + n_inputs
    for size in (*hidden, n_outputs):
        count += size * n_sources
        n_sources = n_sources + size if shortcuts else 1 + size
    return count


def within(runs: Sequence[Trained], percent: float) -> list[Trained]:
    """Return the runs whose validation error is at most so much above the least, the least first.

    Runs of one error keep their order.
    """
    ordered = sorted(runs, key=lambda run: run.validation_error)
    return [run for run in ordered if run.validation_error <= ordered[0].validation_error * (1.0 + percent / 100.0)]


def describe_search(runs: Sequence[Trained]) -> SearchResult:
    """Describe a problem's search.

    Parameters
    ----------
    runs : sequence of Trained, length >= 1
        All of it.
    """
    best, *others = within(runs, 10.0)
    epochs = [run.epochs for run in (best, *others)]
    errors = [run.test_error for run in others]
    return SearchResult(
        best,
        len(within(runs, 5.0)) - 1,
        len(others),
        (min(epochs), max(epochs)),
        (min(errors), max(errors)) if errors else None,
    )


def pivot(candidates: Sequence[Network], n_inputs: int, n_outputs: int) -> Network:
    """Return the pivot architecture by the report's rule.

    The largest topology, by its connections; where its runs have both output activations that of the least validation
    error, but linear outputs where they stand there twice. Choice: of two topologies with as many connections the one
    with more layers; in the report glass2 decides so, for 16+8 and against 32+0, which have 572 each.

    Parameters
    ----------
    candidates : sequence of Network, length >= 1
        Of the runs within 5 % of the least validation error, that one first, in its order.
    n_inputs, n_outputs : int
        Of the problem.
    """
    largest = max(candidates, key=lambda one: (n_connections(n_inputs, one.hidden, n_outputs), len(one.hidden)))
    same = [network for network in candidates if network.hidden == largest.hidden]
    linear = Network(largest.hidden, LINEAR)
    return linear if same.count(linear) >= 2 else same[0]


def search_documents(results: Results, facts: Mapping[str, ProblemFacts]) -> list[Document]:
    """Return P5, P6 and P7: the best networks of the search, and the pivots that follow from it.

    Parameters
    ----------
    results : Results
        What was run; the runs of `CONFIG` count.
    facts : mapping of str to ProblemFacts
        Sizes of the problems, by name.
    """
    searches = _gathered(results)
    published = published_searches()
    of_classes = [name for name, one in published.items() if one.is_classification]
    others = [name for name, one in published.items() if not one.is_classification]
    return [
        _best_networks("P5", "classification", of_classes, searches),
        _best_networks("P6", "approximation", others, searches),
        _pivots(searches, facts),
    ]


@dataclass(frozen=True, slots=True)
class _Search:
    """Hold what is stored of a problem's search."""

    cells: tuple[Cell, ...]
    runs: tuple[Trained, ...]
    n_planned: int

    @property
    def n_missing(self) -> int:
        return self.n_planned - len(self.runs)


_NOTHING = _Search((), (), 0)


def _gathered(results: Results) -> dict[str, _Search]:
    found: dict[str, list[tuple[Cell, Sequence[StoredRun]]]] = {}
    for cell, runs in results.of_config(CONFIG).items():
        found.setdefault(cell.problem, []).append((cell, runs))
    return {
        problem: _Search(
            tuple(cell for cell, _ in own),
            tuple(one for cell, runs in own for run in runs if (one := _trained(cell, run)) is not None),
            sum(len(runs) for _, runs in own),
        )
        for problem, own in found.items()
    }


def _trained(cell: Cell, run: StoredRun) -> Trained | None:
    """Return a run as the search knows it; None where it is not done or says too little."""
    settings, (_, result) = cell.settings, run
    hidden = settings.get("classifier.hidden")
    if result is None or not result.values.keys() >= set(NEEDED) or not isinstance(hidden, tuple):
        return None
    validation, test, epochs = (result.values[name] for name in NEEDED)
    network = Network(tuple(int(size) for size in hidden), str(settings.get("classifier.output_activation")))
    return Trained(network, validation, test, int(epochs), *(result.values.get(name) for name in _CLASS_ERRORS))


_COLUMNS: Mapping[str, str] = {
    "network": "Arch",
    "validation_error": "Validation err",
    "validation_class_error": "classif. err",
    "test_error": "Test err",
    "test_class_error": "classif. err",
    "n_within_5": "5%",
    "n_within_10": "10%",
    "epochs": "Epochs",
    "test_range": "Test range",
}
"""Columns of tables 5 and 6, by the names of the records; those of classification errors only in the former."""


def _best_networks(table: str, task: str, problems: Sequence[str], searches: Mapping[str, _Search]) -> Document:
    names = [name for name in _COLUMNS if table == "P5" or not name.endswith("class_error")]
    rows, records, n_run, n_same = list[tuple[str, ...]](), list[dict[str, object]](), 0, 0
    for problem in problems:
        theirs, search = published_searches()[problem], searches.get(problem, _NOTHING)
        ours = describe_search(search.runs) if search.runs else None
        n_run += ours is not None
        n_same += ours is not None and ours.best.network == theirs.best
        mine, printed = _texts(ours), _published_texts(theirs)
        mine["network"] += "*" if search.n_missing else ""
        rows.append((problem, *(text for name in names for text in (mine[name], printed[name]))))
        records.append(_record(problem, search, ours, theirs))
    return Document(
        table,
        f"Architecture finding results of {task} problems",
        f"Proben1 report, table {table[1:]}",
        ("Problem", *(header for name in names for header in (_COLUMNS[name], "publ."))),
        tuple(rows),
        (
            "Of the run with the least validation error: its network, squared error percentages"
            + (", classification errors in percent" if table == "P5" else "")
            + "; how many other runs have a validation error at most 5 % and 10 % above its; the epochs of the"
            " validation minimum of the runs within 10 %, and the test errors of those without the best.",
            "Each column is followed by the published one.",
        ),
        tuple(records),
        (Agreement("P5 + P6 same best network", len(problems), n_run, n_same),),
        any(searches.get(problem, _NOTHING).cells for problem in problems),
        sum(searches.get(problem, _NOTHING).n_missing for problem in problems),
    )


def _texts(found: SearchResult | None) -> dict[str, str]:
    if found is None:
        return dict.fromkeys(_COLUMNS, EMPTY)
    best = found.best
    errors = {name: getattr(best, name) for name in _COLUMNS if name.endswith("error")}
    return {
        "network": str(best.network),
        **{name: EMPTY if value is None else f"{value:#.4g}" for name, value in errors.items()},
        "n_within_5": str(found.n_within_5),
        "n_within_10": str(found.n_within_10),
        "epochs": _range(found.epochs, "d"),
        "test_range": _range(found.test_range, "#.4g") if found.test_range else EMPTY,
    }


def _range(ends: tuple[Any, Any], form: str) -> str:
    return "-".join(format(end, form) for end in dict.fromkeys(ends))


def _published_texts(theirs: PublishedSearch) -> dict[str, str]:
    known = {name: str(getattr(theirs, name)) for name in _COLUMNS if name != "network"}
    return {name: text or EMPTY for name, text in {**known, "network": str(theirs.best)}.items()}


def _record(problem: str, search: _Search, ours: SearchResult | None, theirs: PublishedSearch) -> dict[str, object]:
    errors = [name for name in _COLUMNS if name.endswith("error")]
    names = ("network", *errors, "n_within_5", "n_within_10", "epochs_least", "epochs_most", "test_least", "test_most")
    mine: dict[str, object] = dict.fromkeys(names)
    if ours is not None:
        values = (str(ours.best.network), *(getattr(ours.best, name) for name in errors))
        ends = (*ours.epochs, *(ours.test_range or (None, None)))
        mine = dict(zip(names, (*values, ours.n_within_5, ours.n_within_10, *ends), strict=True))
    printed: dict[str, object] = {"published_network": str(theirs.best)}
    for name in errors:
        text = getattr(theirs, name)
        printed[f"published_{name}"] = float(text) if text else None
    printed |= {"published_n_within_5": theirs.n_within_5, "published_n_within_10": theirs.n_within_10}
    printed |= {"published_epochs": theirs.epochs or None, "published_test_range": theirs.test_range or None}
    return {"row": problem, "n": len(search.runs), "n_planned": search.n_planned, **mine, **printed}


def _pivots(searches: Mapping[str, _Search], facts: Mapping[str, ProblemFacts]) -> Document:
    rows, records, agrees = list[tuple[str, ...]](), list[dict[str, object]](), list[bool | None]()
    published = published_searches()
    for problem, theirs in published.items():
        search, known = searches.get(problem, _NOTHING), facts.get(problem)
        ours, size = None, None
        if search.runs and known is not None:
            ours = pivot([run.network for run in within(search.runs, 5.0)], known.n_features, known.n_outputs)
            size = n_connections(known.n_features, ours.hidden, known.n_outputs)
        agrees.append(None if ours is None else ours == theirs.pivot)
        text = EMPTY if ours is None else f"{ours}{'*' if search.n_missing else ''}"
        same = EMPTY if ours is None else "yes" if ours == theirs.pivot else "no"
        sizes = EMPTY if size is None else str(size), str(theirs.n_connections)
        rows.append((problem, text, sizes[0], str(theirs.pivot), sizes[1], same))
        record: dict[str, object] = {"row": problem, "n": len(search.runs), "n_planned": search.n_planned}
        record |= {"network": None if ours is None else str(ours), "n_connections": size}
        records.append(
            record | {"published_network": str(theirs.pivot), "published_n_connections": theirs.n_connections}
        )
    return Document(
        "P7",
        "Pivot architectures of the problems",
        "Proben1 report, table 7",
        ("Problem", "Pivot arch", "w", "publ. arch", "publ. w", "same"),
        tuple(rows),
        (
            "The largest network of the runs whose validation error is at most 5 % above the least; w is its number of"
            " connections, biases and all shortcuts among them.",
        ),
        tuple(records),
        (Agreement("P7 same pivot", len(published), len(agrees) - agrees.count(None), agrees.count(True)),),
        any(searches.get(problem, _NOTHING).cells for problem in published),
        sum(searches.get(problem, _NOTHING).n_missing for problem in published),
        tuple(agrees),
    )
