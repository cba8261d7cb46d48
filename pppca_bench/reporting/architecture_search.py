"""The Proben1 report's search for architectures, repeated: its tables 5, 6 and 7 (section 3.3.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pppca_bench.references.proben1_tables import LINEAR, Network, PublishedSearch, published_searches
from pppca_bench.reporting.document import Agreement, Document
from pppca_bench.reporting.number_text import EMPTY
from pppca_bench.reporting.summary import Results
from pppca_bench.runs import ProblemFacts, StoredRun

CONFIG = "proben1_search"
"""The config whose runs are the search."""

NEEDED = ("validation_squared_error_percent", "test_squared_error_percent", "relevant_epochs")


class Trained(NamedTuple):
    """Run of the search.

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


def n_connections(n_inputs: int, hidden: Sequence[int], n_outputs: int, *, shortcuts: bool = True) -> int:
    """Count the connections of a feed-forward network, with a bias in each node (table 7).

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
    """Return the runs whose validation error is at most ``percent`` above the least, by increasing error."""
    ordered = sorted(runs, key=lambda run: run.validation_error)
    return [run for run in ordered if run.validation_error <= ordered[0].validation_error * (1.0 + percent / 100.0)]


def describe_search(runs: Sequence[Trained]) -> dict[str, Any]:
    """Describe a problem's search as tables 5 and 6 do.

    Parameters
    ----------
    runs : sequence of Trained
        All runs of the search.

    Returns
    -------
    dict of str to value
        ``network`` and errors of the run with the least validation error; ``n_within_5`` and ``n_within_10``, the
        numbers of other runs whose validation error is at most 5 and 10 percent above; the range of the epochs of the
        runs within 10 %, and of the test errors of the others among them. None where there is no run.
    """
    best, *others = within(runs, 10.0) if runs else [None]
    errors = [run.test_error for run in others if run]
    epochs = [run.epochs for run in (best, *others) if run]
    return {
        "network": str(best.network) if best else None,
        **{name: getattr(best, name, None) for name in _ERRORS},
        "n_within_5": len(within(runs, 5.0)) - 1 if best else None,
        "n_within_10": len(others) if best else None,
        "epochs_least": min(epochs, default=None),
        "epochs_most": max(epochs, default=None),
        "test_least": min(errors, default=None),
        "test_most": max(errors, default=None),
    }


def pivot(candidates: Sequence[Network], n_inputs: int, n_outputs: int) -> Network:
    """Return the pivot architecture by the report's rule.

    The largest topology by its number of connections. If its runs have both output activations, that of the least
    validation error, but linear outputs if they occur twice. Choice: of two topologies with as many connections that
    with more layers; in the report glass2 decides so, for 16+8 and against 32+0, which have 572 each.

    Parameters
    ----------
    candidates : sequence of Network, length >= 1
        Of the runs within 5 % of the least validation error, by increasing error.
    n_inputs, n_outputs : int
        Of the problem.
    """
    largest = max(candidates, key=lambda one: (n_connections(n_inputs, one.hidden, n_outputs), len(one.hidden)))
    same = [network for network in candidates if network.hidden == largest.hidden]
    linear = Network(largest.hidden, LINEAR)
    return linear if same.count(linear) >= 2 else same[0]


def search_documents(results: Results, facts: Mapping[str, ProblemFacts]) -> list[Document]:
    """Return P5, P6 and P7: the best networks of the search, and the pivot architectures that follow from it.

    Parameters
    ----------
    results : Results
        Results whose runs of `CONFIG` count.
    facts : mapping of str to ProblemFacts
        Sizes of the problems, by name.
    """
    searches: dict[str, list[StoredRun]] = {problem: [] for problem in published_searches()}
    for cell, runs in results.of_config(CONFIG).items():
        searches.setdefault(cell.problem, []).extend(runs)
    of_classes = [name for name, published in published_searches().items() if published.is_classification]
    others = [name for name in published_searches() if name not in of_classes]
    return [
        _best_networks("P5", "classification", {name: searches[name] for name in of_classes}),
        _best_networks("P6", "approximation", {name: searches[name] for name in others}),
        _pivots({name: searches[name] for name in published_searches()}, facts),
    ]


def _trained(runs: Sequence[StoredRun]) -> list[Trained]:
    """Return the completed runs that have every needed quantity."""
    trained = []
    for spec, result in runs:
        settings = spec.cell.settings
        hidden = settings.get("classifier.hidden")
        if result is not None and result.values.keys() >= set(NEEDED) and isinstance(hidden, tuple):
            network = Network(tuple(map(int, hidden)), str(settings.get("classifier.output_activation")))
            validation, test, epochs = (result.values[name] for name in NEEDED)
            errors = (result.values.get(name) for name in ("validation_error_percent", "test_error_percent"))
            trained.append(Trained(network, validation, test, int(epochs), *errors))
    return trained


_ERRORS = ("validation_error", "validation_class_error", "test_error", "test_class_error")
_COLUMNS: Mapping[str, str] = {
    "network": "Arch",
    **dict(zip(_ERRORS, ("Validation err", "classif. err", "Test err", "classif. err"), strict=True)),
    "n_within_5": "5%",
    "n_within_10": "10%",
    "epochs": "Epochs",
    "test_range": "Test range",
}
"""Columns of tables 5 and 6; those of classification errors only in the former."""


def _best_networks(table: str, task: str, searches: Mapping[str, Sequence[StoredRun]]) -> Document:
    names = [name for name in _COLUMNS if table == "P5" or not name.endswith("class_error")]
    rows, records = list[list[str]](), list[dict[str, Any]]()
    for problem, planned in searches.items():
        theirs, runs = published_searches()[problem], _trained(planned)
        ours = describe_search(runs)
        texts = _texts(ours, late=len(runs) < len(planned))
        printed = {name: str(getattr(theirs, "best" if name == "network" else name)) or EMPTY for name in names}
        rows.append([problem, *(text for name in names for text in (texts[name], printed[name]))])
        counts = {"row": problem, "n": len(runs), "n_planned": len(planned)}
        records.append(counts | ours | _published_record(theirs))
    n_run = sum(record["network"] is not None for record in records)
    n_same = sum(record["network"] == record["published_network"] for record in records)
    return Document(
        table,
        f"Architecture finding results of {task} problems",
        f"Proben1 report, table {table[1:]}",
        ("Problem", *(header for name in names for header in (_COLUMNS[name], "publ."))),
        rows,
        (
            "Of the run with the least validation error: its network, squared error percentages"
            + (", classification errors in percent" if table == "P5" else "")
            + "; how many other runs have a validation error at most 5 % and 10 % above its; the epochs of the"
            " validation minimum of the runs within 10 %, and the test errors of those without the best.",
            "Each column is followed by the published one.",
        ),
        records,
        (Agreement("P5 + P6 same best network", len(searches), n_run, n_same),),
        any(searches.values()),
        sum(record["n_planned"] - record["n"] for record in records),
    )


def _texts(ours: Mapping[str, Any], *, late: bool) -> dict[str, str]:
    """Return the texts of a description; the network of a search that waits for runs is marked."""

    def span(name: str, form: str) -> str:
        ends = dict.fromkeys((ours[f"{name}_least"], ours[f"{name}_most"]))
        return "-".join(EMPTY if end is None else format(end, form) for end in ends)

    return {
        "network": f"{ours['network'] or EMPTY}{'*' if late and ours['network'] else ''}",
        **{name: EMPTY if ours[name] is None else f"{ours[name]:#.4g}" for name in _ERRORS},
        **{name: EMPTY if ours[name] is None else str(ours[name]) for name in ("n_within_5", "n_within_10")},
        "epochs": span("epochs", "d"),
        "test_range": span("test", "#.4g"),
    }


def _published_record(theirs: PublishedSearch) -> dict[str, Any]:
    errors = {f"published_{name}": getattr(theirs, name) for name in _ERRORS}
    return {
        "published_network": str(theirs.best),
        **{name: float(text) if text else None for name, text in errors.items()},
        "published_n_within_5": theirs.n_within_5,
        "published_n_within_10": theirs.n_within_10,
        "published_epochs": theirs.epochs or None,
        "published_test_range": theirs.test_range or None,
    }


def _pivots(searches: Mapping[str, Sequence[StoredRun]], facts: Mapping[str, ProblemFacts]) -> Document:
    rows, records, agrees = list[list[str]](), list[dict[str, Any]](), list[bool | None]()
    for problem, planned in searches.items():
        theirs, runs, known = published_searches()[problem], _trained(planned), facts.get(problem)
        record: dict[str, Any] = {"row": problem, "n": len(runs), "n_planned": len(planned)}
        record |= {"network": None, "n_connections": None}
        if runs and known is not None:
            ours = pivot([run.network for run in within(runs, 5.0)], known.n_features, known.n_outputs)
            size = n_connections(known.n_features, ours.hidden, known.n_outputs)
            agrees.append(ours == theirs.pivot)
            record |= {"network": str(ours), "n_connections": size}
            late = "*" if len(runs) < len(planned) else ""
            texts = [f"{ours}{late}", str(size), "yes" if agrees[-1] else "no"]
        else:
            agrees.append(None)
            texts = [EMPTY] * 3
        rows.append([problem, *texts[:2], str(theirs.pivot), str(theirs.n_connections), texts[2]])
        published = {"published_network": str(theirs.pivot), "published_n_connections": theirs.n_connections}
        records.append(record | published)
    return Document(
        "P7",
        "Pivot architectures of the problems",
        "Proben1 report, table 7",
        ("Problem", "Pivot arch", "w", "publ. arch", "publ. w", "same"),
        rows,
        (
            "The largest network of the runs whose validation error is at most 5 % above the least; w is its number of"
            " connections, biases and all shortcuts among them.",
        ),
        records,
        (Agreement("P7 same pivot", len(agrees), len(agrees) - agrees.count(None), agrees.count(True)),),
        any(searches.values()),
        sum(record["n_planned"] - record["n"] for record in records),
        tuple(agrees),
    )
