"""Methods section: settings, data, runs and versions of a config, as the Proben1 report asks for (section 2.11)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from pppca_bench.methods.entry import Entry
from pppca_bench.methods.lookup import stored_classifier, stored_method, title_of
from pppca_bench.methods.networks import NetworkSetting, with_networks
from pppca_bench.pages.document import EMPTY, environment, escaped, latex_table, text_table
from pppca_bench.quantities import SIZES
from pppca_bench.results.frames import Runs
from pppca_bench.runs import AUTO, Cell, Facts, ProblemFacts, Scalar, flattened, grouped, written

MethodsFormat = Literal["markdown", "latex"]
Origins = Sequence[tuple[str, str, str | None, int]]
"""Numbers of runs by method, status and provenance, as `Store.origins` returns them."""
Learner = tuple[str, str]
"""Prefix of a learner's settings in `Cell.settings`, and its name in configs."""
Shared = Mapping[Learner, Mapping[str, Scalar]]
"""Settings of each learner that have the same value in all cells with the learner."""

_ROLES = {"": "Method", "classifier.": "Classifier", "classifier.base.": "Member"}
_SOFTWARE = ("pppca", "python", "numpy", "scipy", "numba", "scikit-learn", "processor", "system")
_COUNTS = ("n_planned", "n_done", "n_failed")


def describe_config(
    runs: Runs, facts: Facts, addresses: Mapping[str, str], origins: Origins
) -> dict[str, Any]:
    """Return the values of the template for a config, given its runs, and facts of the problems.

    ``addresses`` are the sources of the problems' data: a problem without a source is user-defined. Of the values,
    ``learners`` have a role, a title, the registry entry, and the shared settings; ``tables`` have headers and rows.
    """
    cells = list(runs.cells.values())
    by_problem = grouped(cells, lambda cell: cell.problem)
    shared = shared_settings(cells)
    titles = dict[str, set[str]]()
    for number, cell in runs.cells.items():
        titles.setdefault(cell.method, set()).add(runs.labels[number].title)
    learners = []
    for (prefix, name), settings in sorted(shared.items(), key=lambda item: item[0][0]):
        title, entry = _title_and_entry(prefix, name)
        if not prefix and entry is None and len(titles[name]) == 1:
            (title,) = titles[name]  # of the config's entry
        learners.append((_ROLES[prefix], title, entry, name, _assignments(settings)))
    return {
        **_totals(runs, runs.cells),
        "sources": grouped(by_problem, lambda problem: addresses.get(problem, "")),
        "learners": learners,
        "software": software(origins, cells),
        "tables": {
            "Problems": _problem_table(by_problem, facts),
            "Settings": _settings_table(runs, shared, len(by_problem)),
        },
    }


def _totals(runs: Runs, numbers: Iterable[int]) -> dict[str, int]:
    """Return the numbers of planned, done and failed runs of some cells together."""
    totals = Counter(dict.fromkeys(_COUNTS, 0))
    for number in numbers:
        totals.update(runs.counts[number])
    return dict(totals)


def render_methods(config: str, described: Mapping[str, Any], form: MethodsFormat) -> str:
    """Render the description of a config as Markdown or LaTeX."""
    templates = environment()
    templates.filters["escaped"] = partial(escaped, form=form)
    layouts = {"text_table": text_table, "latex_table": latex_table}
    template = templates.get_template("methods_section.txt")
    return template.render(**described, **layouts, config=config, form=form)


def software(origins: Origins, cells: Iterable[Cell]) -> list[str]:
    """Return sentences on the software and the machines of the done runs, and the versions of the algorithms."""
    counts = Counter[str]()
    for _, status, provenance, n_runs in origins:
        if status == "done":
            facts = json.loads(provenance or "{}")
            named = [f"{name} {facts[name]}" for name in _SOFTWARE if name in facts]
            counts[", ".join(named) or "unknown software"] += n_runs
    algorithms = sorted({item for cell in cells for item in cell.algorithms})
    versions = ", ".join(f"{name} {version}" for name, version in algorithms)
    runs = [f"{n} runs by {text}." for text, n in counts.most_common()]
    return [*runs, f"Versions of the algorithms: {versions}."]


def shared_settings(cells: Iterable[Cell]) -> Shared:
    """Return the settings of each learner that have the same value in all cells with the learner."""
    shared: dict[Learner, dict[str, Scalar]] = {}
    for cell in cells:
        for learner, settings in _learners(cell).items():
            known = shared.setdefault(learner, settings)
            shared[learner] = {
                name: value for name, value in known.items() if (name, value) in settings.items()
            }
    return shared


def _learners(cell: Cell) -> dict[Learner, dict[str, Any]]:
    """Return the settings of a cell's method, its classifier if any, and the members if that is an ensemble."""
    method = {**cell.parameters, **flattened({"choose": cell.choose})}
    learners = {("", cell.method): method}
    prefix, section = "classifier.", cell.classifier
    while section:
        settings = dict(section)
        section = settings.pop("base", {})
        learners[prefix, settings.pop("rule")] = settings
        prefix += "base."
    return learners


def _title_and_entry(prefix: str, name: str) -> tuple[str, Entry | None]:
    entry = stored_classifier(name) if prefix else stored_method(name)
    return entry.title if entry else title_of(name), entry


def _assignments(settings: Mapping[str, Scalar]) -> str:
    """Write the settings that are not None, such as ``"centre = true, tau = 5"``."""
    given = {name: value for name, value in settings.items() if value is not None}
    return ", ".join(f"{name} = {written(value)}" for name, value in given.items())


def _full_label(runs: Runs, number: int, shared: Shared) -> str:
    """Return the title of a cell, those of its classifiers, and the settings that cells with them do not share.

    Other labels have only the settings that a config wrote; a methods section states their defaults, too.
    """
    titles, own = [runs.labels[number].title], {}
    for (prefix, name), settings in _learners(runs.cells[number]).items():
        if prefix:
            titles.append(_title_and_entry(prefix, name)[0])
        for setting, value in settings.items():
            if setting not in shared[prefix, name]:
                own[f"{prefix}{setting}"] = value
    return ": ".join(filter(None, [", ".join(titles), _assignments(own)]))


def _settings_table(
    runs: Runs, shared: Shared, n_problems: int
) -> tuple[list[str], list[list[str]]]:
    rows = []
    by_label = grouped(runs.cells, lambda number: _full_label(runs, number, shared))
    for label, alike in by_label.items():
        problems = dict.fromkeys(runs.cells[number].problem for number in alike)
        where = f"all {n_problems}" if len(problems) == n_problems > 1 else ", ".join(problems)
        rows.append([label, where, *map(str, _totals(runs, alike).values())])
    return ["Setting", "problems", "planned runs", "done", "failed"], rows


def _problem_table(
    by_problem: Mapping[str, Sequence[Cell]], facts: Facts
) -> tuple[list[str], list[list[str]]]:
    headers = ["Problem", "inputs", "outputs", "training", "validation", "test", "splits"]
    rows = []
    for problem, cells in by_problem.items():
        known = facts[problem]
        sizes = [str(getattr(known, name)) for name in (*SIZES, "n_splits")]
        networks = dict[str, None]()
        for cell in cells:
            networks |= dict.fromkeys(_networks(cell, known))
        rows.append([problem, *sizes, known.data_sha256[:12], ", ".join(networks) or EMPTY])
    return [*headers, "SHA-256", "networks"], rows


def _networks(cell: Cell, known: ProblemFacts) -> list[str]:
    """Return the networks of a cell, such as ``"4+2 l: 100"`` with the number of connections if all inputs are read."""
    entry, texts = stored_method(cell.method), []
    reads_inputs = entry is not None and (entry.makes == "classes" or not entry.reduces)
    for given in _learners(cell).values():
        settings = with_networks(given, known.name, known.n_outputs)
        hidden, shortcuts = settings.get("hidden"), settings.get("shortcuts", False)
        if isinstance(hidden, tuple) and AUTO not in settings.values():
            network = NetworkSetting(hidden, settings.get("output_activation", "linear"))
            n = network.n_connections(known.n_features, known.n_outputs, shortcuts=shortcuts)
            texts.append(f"{network}: {n}" if reads_inputs else str(network))
    return texts
