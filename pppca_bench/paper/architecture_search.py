"""Architecture search of the Proben1 report: tables 5, 6 and 7 (section 3.3.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pppca_bench.methods.networks import Network
from pppca_bench.paper.networks import LINEAR, published_searches
from pppca_bench.reporting.document import Agreement, Document
from pppca_bench.reporting.report_card import n_connections
from pppca_bench.reporting.summary import CellRuns, Results
from pppca_bench.runs import Facts

CONFIG = "proben1_search"
"""Config of the search's runs."""

_ERRORS = ("validation_error", "validation_class_error", "test_error", "test_class_error")
_NEEDED = ("validation_squared_error_percent", "test_squared_error_percent", "relevant_epochs")

_COLUMNS: Mapping[str, tuple[str, str]] = {
    "network": ("Arch", "{network}{_late}"),
    "validation_error": ("Validation err", "{validation_error:#.4g}"),
    "validation_class_error": ("classif. err", "{validation_class_error:#.4g}"),
    "test_error": ("Test err", "{test_error:#.4g}"),
    "test_class_error": ("classif. err", "{test_class_error:#.4g}"),
    "n_within_5": ("5%", "{n_within_5}"),
    "n_within_10": ("10%", "{n_within_10}"),
    "epochs": ("Epochs", "{_epochs}"),
    "test_range": ("Test range", "{_test_range}"),
}
"""Columns of tables 5 and 6: header, and template of our values; table 6 has no `class_error`."""


class Trained(NamedTuple):
    """Run of the search: squared error percentages, and classification errors in percent (None for approximation).

    Choice: ``epochs`` is the epoch of the validation minimum. The report says "trained", but by its rule a run trains
    for 45 epochs at least, and its tables go down to 15.
    """

    network: Network
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
    """Describe all runs of a problem's search as tables 5 and 6 do, by the names of `_COLUMNS`; None without runs.

    ``network`` and errors are of the run with the least validation error; ``n_within_5`` and ``n_within_10`` are the
    numbers of other runs whose validation error is at most 5 and 10 percent above; the ranges are of the epochs of the
    runs within 10 %, and of the test errors of the same runs without the best run.
    """
    near = within(runs, 10.0) if runs else []
    best, others = (near[0] if near else None), near[1:]
    errors, epochs = [run.test_error for run in others], [run.epochs for run in near]
    return {
        "network": str(best.network) if best else None,
        **{name: getattr(best, name, None) for name in _ERRORS},
        "n_within_5": len(within(runs, 5.0)) - 1 if best else None,
        "n_within_10": len(others) if best else None,
        "epochs_least": min(epochs, default=None),
        "epochs_most": max(epochs, default=None),
        "test_least": min(errors, default=None),
        "test_most": max(errors, default=None),
        "_epochs": _range_text(epochs, "d"),
        "_test_range": _range_text(errors, "#.4g"),
    }


def _range_text(values: Sequence[float], form: str) -> str | None:
    """Return the least and the largest value, such as ``"15-45"``; equal values once; None without values."""
    return (
        "-".join(format(end, form) for end in dict.fromkeys((min(values), max(values))))
        if values
        else None
    )


def pivot(candidates: Sequence[Network], n_inputs: int, n_outputs: int) -> Network:
    """Return the pivot architecture by the report's rule, given the runs within 5 % of the least validation error.

    The topology has the most connections. If it occurs with both output activations, linear outputs are taken
    if they occur twice, otherwise the activation with the least validation error. Choice: of two topologies with equal
    numbers of connections, the topology with more layers is taken, as in the report for glass2: 16+8, not 32+0.
    """
    largest = max(
        candidates,
        key=lambda net: (n_connections(n_inputs, net.hidden, n_outputs), len(net.hidden)),
    )
    same = [network for network in candidates if network.hidden == largest.hidden]
    linear = Network(largest.hidden, LINEAR)
    return linear if same.count(linear) >= 2 else same[0]


def search_documents(results: Results, facts: Facts) -> list[Document]:
    """Return P5, P6 and P7: the best networks of the search (`CONFIG`), and the pivot architectures that follow."""
    cells = results.of_config(CONFIG)
    searches = {
        problem: [runs for cell, runs in cells.items() if cell.problem == problem]
        for problem in published_searches()
    }
    is_of_classes = {
        name: search.is_classification for name, search in published_searches().items()
    }
    first, second = (
        _best_networks(
            table,
            {name: own for name, own in searches.items() if is_of_classes[name] == (table == "P5")},
        )
        for table in ("P5", "P6")
    )
    found = [record for document in (first, second) for record in document.records]
    same = [
        record["network"] == record["published_network"] if record["network"] else None
        for record in found
    ]
    return [
        first._replace(agreement=Agreement("P5 + P6 same best network", same)),
        second,
        _pivots(searches, facts),
    ]


def _trained(searched: Sequence[CellRuns]) -> list[Trained]:
    """Return the completed runs that have every needed quantity."""
    trained = []
    for runs in searched:
        settings = runs.cell.settings
        hidden = settings.get("classifier.hidden")
        if isinstance(hidden, tuple):
            network = Network(
                tuple(map(int, hidden)), str(settings.get("classifier.output_activation"))
            )
            validation, test, epochs = map(runs.values, _NEEDED)
            classes = [
                runs.values(name) for name in ("validation_error_percent", "test_error_percent")
            ]
            for repeat in (repeat for repeat in validation if repeat in test and repeat in epochs):
                errors = (own.get(repeat) for own in classes)
                trained.append(
                    Trained(network, validation[repeat], test[repeat], int(epochs[repeat]), *errors)
                )
    return trained


def _n_planned(searched: Sequence[CellRuns]) -> int:
    return sum(runs.n_planned for runs in searched)


def _best_networks(table: str, searches: Mapping[str, Sequence[CellRuns]]) -> Document:
    columns, records = [("Problem", "{row}")], list[dict[str, Any]]()
    for name, (header, template) in _COLUMNS.items():
        if table == "P5" or not name.endswith("class_error"):
            columns += [(header, template), ("publ.", f"{{_published_{name}}}")]
    for problem, planned in searches.items():
        runs, theirs = _trained(planned), published_searches()[problem]
        record = {
            "row": problem,
            "n": len(runs),
            "n_planned": _n_planned(planned),
        } | describe_search(runs)
        record["_late"] = "*" if len(runs) < _n_planned(planned) else ""
        for name in _COLUMNS:
            text: Any = str(theirs.best) if name == "network" else getattr(theirs, name, None)
            text = None if text == "" else text
            record[f"_published_{name}"] = text
            record[f"published_{name}"] = float(text) if text and name in _ERRORS else text
        records.append(record)
    of_classes = "; classification errors in percent" if table == "P5" else ""
    note = (
        f"Network and errors (squared error percentages{of_classes}) are of the run with the least validation error."
        " 5%, 10%: numbers of other runs whose validation error is at most 5 % or 10 % above the least. Epochs: epochs"
        " of the validation minimum of the runs within 10 %. Test range: test errors of these runs without the best."
    )
    return Document.of_records(
        table,
        f"Architecture finding results of {'classification' if table == 'P5' else 'approximation'} problems",
        columns,
        records,
        place=f"Proben1 report, table {table[1:]}",
        notes=(note, "Each column is followed by the published column."),
        has_runs=any(searches.values()),
    )


def _pivots(searches: Mapping[str, Sequence[CellRuns]], facts: Facts) -> Document:
    records = list[dict[str, Any]]()
    for problem, planned in searches.items():
        theirs, runs, known = published_searches()[problem], _trained(planned), facts.get(problem)
        ours = None
        if runs and known is not None:
            ours = pivot(
                [run.network for run in within(runs, 5.0)], known.n_features, known.n_outputs
            )
        same = ours and ours == theirs.pivot
        record = {
            "row": problem,
            "n": len(runs),
            "n_planned": _n_planned(planned),
            "network": ours and str(ours),
            "n_connections": ours
            and known
            and n_connections(known.n_features, ours.hidden, known.n_outputs),
            "published_network": str(theirs.pivot),
            "published_n_connections": theirs.n_connections,
            "_agrees": same,
            "_same": same if same is None else "yes" if same else "no",
            "_late": "*" if len(runs) < _n_planned(planned) else "",
        }
        records.append(record)
    columns = (
        *(("Problem", "{row}"), ("Pivot arch", "{network}{_late}"), ("w", "{n_connections}")),
        *(
            ("publ. arch", "{published_network}"),
            ("publ. w", "{published_n_connections}"),
            ("same", "{_same}"),
        ),
    )
    note = (
        "Pivot arch: the largest network of the runs whose validation error is at most 5 % above the least; w: its"
        " number of connections, including biases and all shortcuts."
    )
    agrees = tuple(record["_agrees"] for record in records)
    return Document.of_records(
        "P7",
        "Pivot architectures of the problems",
        columns,
        records,
        place="Proben1 report, table 7",
        notes=(note,),
        agreement=Agreement("P7 same pivot", agrees),
        has_runs=any(searches.values()),
        agrees=agrees,
    )
