"""Architecture search of the Proben1 report: tables 5, 6 and 7 (section 3.3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pppca_bench.methods.networks import NetworkSetting
from pppca_bench.pages.document import Agreement, Document
from pppca_bench.paper.networks import LINEAR, PublishedSearch, published_searches
from pppca_bench.paper.texts import fill
from pppca_bench.results.frames import Runs
from pppca_bench.runs import Facts, ProblemFacts, grouped

CONFIG = "proben1_search"
"""Config of the search's runs."""

_ERRORS = ("validation_error", "validation_class_error", "test_error", "test_class_error")
_NEEDED = ("validation_squared_error_percent", "test_squared_error_percent", "relevant_epochs")


class Trained(NamedTuple):
    """Run of the search: squared error percentages, and classification errors in percent (None for approximation).

    Choice: ``epochs`` is the epoch of the validation minimum. The report says "trained", but by its rule a run trains
    for 45 epochs at least, and its tables go down to 15.
    """

    network: NetworkSetting
    validation_error: float
    test_error: float
    epochs: int
    validation_class_error: float | None = None
    test_class_error: float | None = None


def within(runs: Sequence[Trained], percent: float) -> list[Trained]:
    """Return the runs whose validation error is at most ``percent`` above the least, sorted by that error."""
    ordered = sorted(runs, key=lambda run: run.validation_error)
    return [
        run
        for run in ordered
        if run.validation_error <= ordered[0].validation_error * (1.0 + percent / 100.0)
    ]


def describe_search(runs: Sequence[Trained]) -> dict[str, Any]:
    """Describe all runs of a problem's search as tables 5 and 6 do; None without runs.

    ``network`` and errors are of the run with the least validation error; ``n_within_5`` and ``n_within_10`` are the
    numbers of other runs whose validation error is at most 5 and 10 percent above; the ranges are of the epochs of the
    runs within 10 %, and of the test errors of the same runs without the best run.
    """
    near = within(runs, 10.0) if runs else []
    best, others = (near[0] if near else None), near[1:]
    errors, epochs = [run.test_error for run in others], [run.epochs for run in near]
    return {
        "network": best and str(best.network),
        **{name: getattr(best, name, None) for name in _ERRORS},
        "n_within_5": best and len(within(runs, 5.0)) - 1,
        "n_within_10": best and len(others),
        "epochs_least": min(epochs, default=None),
        "epochs_most": max(epochs, default=None),
        "test_least": min(errors, default=None),
        "test_most": max(errors, default=None),
        "_epochs": _range_text(epochs, "d"),
        "_test_range": _range_text(errors, "#.4g"),
    }


def _range_text(values: Sequence[float], form: str) -> str | None:
    """Return the least and the largest value, such as ``"15-45"``; equal values once; None without values."""
    ends = dict.fromkeys(format(end(values), form) for end in (min, max) if values)
    return "-".join(ends) or None


def pivot(candidates: Sequence[NetworkSetting], n_inputs: int, n_outputs: int) -> NetworkSetting:
    """Return the pivot architecture by the report's rule, given the runs within 5 % of the least validation error.

    The topology has the most connections. If it occurs with both output activations, linear outputs are taken
    if they occur twice, otherwise the activation with the least validation error. Choice: of two topologies with equal
    numbers of connections, the topology with more layers is taken, as in the report for glass2: 16+8, not 32+0.
    """
    largest = max(
        candidates, key=lambda net: (net.n_connections(n_inputs, n_outputs), len(net.hidden))
    )
    same = [network for network in candidates if network.hidden == largest.hidden]
    linear = NetworkSetting(largest.hidden, LINEAR)
    return linear if same.count(linear) >= 2 else same[0]


def search_documents(runs: Runs, facts: Facts) -> list[Document]:
    """Return P5, P6 and P7: the best networks of the search (`CONFIG`), and the pivot architectures that follow."""
    of_search = runs.of_configs((CONFIG,))
    searches = grouped(of_search.cells, lambda number: of_search.cells[number].problem)
    published = published_searches()
    found, pivots = dict[str, dict[str, Any]](), list[dict[str, Any]]()
    for problem, search in published.items():
        planned = searches.get(problem, [])
        n_planned = sum(of_search.counts[number]["n_planned"] for number in planned)
        trained = _trained(of_search, planned)
        head = {"row": problem, "n": len(trained), "n_planned": n_planned}
        head["_late"] = "*" if len(trained) < n_planned else ""
        found[problem] = head | describe_search(trained) | _published(search)
        pivots.append(head | _pivot(trained, search, facts.get(problem)))
    of_classes, of_numbers = (
        [found[problem] for problem in found if published[problem].is_classification is kind]
        for kind in (True, False)
    )
    same = [row["network"] and row["network"] == row["published_network"] for row in found.values()]
    agrees = tuple(row["_agrees"] for row in pivots)
    return [
        fill("P5", of_classes, agreement=Agreement("P5 + P6 same best network", same)),
        fill("P6", of_numbers),
        fill("P7", pivots, agreement=Agreement("P7 same pivot", agrees), agrees=agrees),
    ]


def _trained(runs: Runs, searched: Sequence[int]) -> list[Trained]:
    """Return the completed runs of cells that have every needed quantity."""
    trained = []
    for number in searched:
        settings = runs.cells[number].settings
        hidden = settings.get("classifier.hidden")
        if isinstance(hidden, tuple):
            output = str(settings.get("classifier.output_activation"))
            network = NetworkSetting(tuple(map(int, hidden)), output)
            for record in runs.records(number):
                if record.keys() >= {*_NEEDED}:
                    validation, test, epochs = (record[name] for name in _NEEDED)
                    classes = map(record.get, ("validation_error_percent", "test_error_percent"))
                    trained.append(Trained(network, validation, test, int(epochs), *classes))
    return trained


def _published(search: PublishedSearch) -> dict[str, Any]:
    """Return the published values of tables 5 and 6; errors also as printed."""
    errors = {name: getattr(search, name) or None for name in _ERRORS}
    return {
        "published_network": str(search.best),
        **{f"published_{name}": text and float(text) for name, text in errors.items()},
        "published_n_within_5": search.n_within_5,
        "published_n_within_10": search.n_within_10,
        "published_epochs": search.epochs or None,
        "published_test_range": search.test_range or None,
        **{f"_published_{name}": text for name, text in errors.items()},
    }


def _pivot(
    runs: Sequence[Trained], search: PublishedSearch, known: ProblemFacts | None
) -> dict[str, Any]:
    """Return the values of table 7."""
    ours = None
    if runs and known:
        candidates = [run.network for run in within(runs, 5.0)]
        ours = pivot(candidates, known.n_features, known.n_outputs)
    return {
        "network": ours and str(ours),
        "n_connections": ours and known and ours.n_connections(known.n_features, known.n_outputs),
        "published_network": str(search.pivot),
        "published_n_connections": search.n_connections,
        "_agrees": ours and ours == search.pivot,
    }
