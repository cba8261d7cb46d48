"""Report card: how a config was run, by the checklist for authors of the Proben1 report (section 2.11)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cache, partial
from importlib.resources import files
from math import prod
from operator import attrgetter
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import yaml

from pppca_bench.methods.entry import Entry
from pppca_bench.methods.lookup import stored_classifier, stored_method, title_of
from pppca_bench.methods.networks import rule_named
from pppca_bench.quantities import SIZES
from pppca_bench.reporting.document import EMPTY, environment, escaped, join_words, text_table
from pppca_bench.reporting.labels import setting_text, value_text
from pppca_bench.reporting.summary import CellRuns
from pppca_bench.runs import CHOOSE, Cell, Facts, ProblemFacts, Scalar, grouped

if TYPE_CHECKING:
    from jinja2 import Environment, Template


_SOFTWARE = {"pppca": "pppca", "python": "Python"} | {
    name: name for name in ("numpy", "scipy", "numba", "scikit-learn")
}
"""Facts of a provenance that the card names, with their titles."""

_ROLES = {"": "method", "classifier.": "classifier", "classifier.base.": "member"}
"""Learners of a run, by the prefix of their settings."""


class Learner(NamedTuple):
    """Method, classifier, or member of an ensemble, with the settings of a group of runs."""

    role: str
    name: str
    title: str
    entry: Entry | None  # None for a third-party class that is not installed by name
    settings: Mapping[str, Scalar]  # settings that all cells have in common
    varied: Collection[str]  # names of the other settings


class RunGroup(NamedTuple):
    """Group of settings of a method and classifier that are described together."""

    method: str
    constant: Mapping[str, Scalar]  # settings, as in `Cell.settings`, that all cells have in common
    # values of the other settings, in the order of the runs
    varied: Mapping[str, tuple[Scalar, ...]]
    n_settings: int
    cells: Mapping[Cell, CellRuns]

    @property
    def is_grid(self) -> bool:
        """Return whether all combinations of the varied values were run."""
        return self.n_settings == prod(map(len, self.varied.values()))

    @property
    def problems(self) -> list[str]:
        """Return the names of the problems, in the order of the runs."""
        return list(dict.fromkeys(cell.problem for cell in self.cells))

    @property
    def learners(self) -> list[Learner]:
        """Return the method, the classifier if any, and the member if the classifier is an ensemble."""
        learners = []
        for prefix, role in _ROLES.items():
            name = self.constant.get(f"{prefix}rule") if prefix else self.method
            if name is not None:
                entry = stored_classifier(str(name)) if prefix else stored_method(self.method)
                title = entry.title if entry else title_of(str(name))
                settings, varied = _section(self.constant, prefix), _section(self.varied, prefix)
                learners.append(Learner(role, str(name), title, entry, settings, varied))
        return learners

    @property
    def has_network(self) -> bool:
        """Return whether a network is trained."""
        return any(
            learner.entry and "hidden" in {*learner.settings, *learner.varied}
            for learner in self.learners
        )

    @property
    def reads_inputs(self) -> bool:
        """Return whether the classifier reads the problem's own inputs, not reduced features."""
        entry = stored_method(self.method)
        return entry is not None and (not entry.reduces or entry.makes == "classes")

    def of_network(self, name: str, default: Scalar = None) -> Scalar:
        """Return the value of a network's setting, such as ``"hidden"``; None if it varies."""
        having = (
            learner
            for learner in reversed(self.learners)
            if name in {*learner.settings, *learner.varied}
        )
        return next((learner.settings.get(name) for learner in having), default)


def _section(settings: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Return the settings whose names begin with a prefix (but no deeper names), without the prefix and the rule."""
    section = {
        name.removeprefix(prefix): value
        for name, value in settings.items()
        if name.startswith(prefix)
    }
    return {name: value for name, value in section.items() if "." not in name and name != "rule"}


def group_runs(cells: Mapping[Cell, CellRuns]) -> list[RunGroup]:
    """Group the cells of a config by their common settings, in the order of the runs.

    The settings of a group have the same method, learning rules, problems and numbers of runs. Settings that do not
    form a grid are split by the values of a single setting, if this gives a few parts and each part is a grid.
    """

    def common(runs: Sequence[CellRuns]) -> tuple[object, ...]:
        settings, sizes = (
            runs[0].cell.settings,
            ((item.cell.problem, item.n_planned) for item in runs),
        )
        return (
            runs[0].cell.method,
            *map(settings.get, ("classifier.rule", "classifier.base.rule")),
            *sizes,
        )

    settings = grouped(
        cells.values(), lambda runs: (runs.cell.method, *runs.cell.settings.items())
    ).values()
    groups = []
    for alike in grouped(settings, common).values():
        unsplit = _group(alike)
        splits = (
            _split(alike, name)
            for name in sorted(unsplit.varied, key=lambda name: len(unsplit.varied[name]))
        )
        grids = (split for split in splits if split and all(group.is_grid for group in split))
        groups += [unsplit] if unsplit.is_grid else next(grids, [unsplit])
    return groups


def _split(settings: Sequence[Sequence[CellRuns]], name: str) -> list[RunGroup]:
    """Return a group for each value of a setting; an empty list if these are more than half of the settings."""
    parts = grouped(settings, lambda runs: runs[0].cell.settings.get(name)).values()
    return [_group(part) for part in parts] if 2 * len(parts) <= len(settings) else []


def _group(settings: Sequence[Sequence[CellRuns]]) -> RunGroup:
    """Return the group of some settings, each with its runs on all problems; a missing value counts as None."""
    different = [runs[0].cell.settings for runs in settings]
    names = dict.fromkeys(name for item in different for name in item)
    values = {name: tuple(dict.fromkeys(item.get(name) for item in different)) for name in names}
    varied = {name: given for name, given in values.items() if len(given) > 1}
    constant = {name: value for name, value in different[0].items() if name not in varied}
    cells = {item.cell: item for runs in settings for item in runs}
    return RunGroup(settings[0][0].cell.method, constant, varied, len(settings), cells)


CardFormat = Literal["markdown", "latex"]
Points = dict[str, list[str]]
"""Sentences by the titles of the checklist's points."""

POINTS: Mapping[str, str] = {
    "network": "Network",
    "initialisation": "Initialisation",
    "algorithm": "Algorithm",
    "termination": "Termination",
    "error": "Error function",
}
"""Titles of points 3 to 7 of the checklist, on how methods and classifiers learn."""


class Card(NamedTuple):
    """Answers to the checklist, and the headers and rows of the table of problems.

    A section has a heading, the number of its first point, and sentences by point. A config with several groups of
    settings has a section for each; points that hold for all settings come before and after them.
    """

    title: str
    sections: Sequence[tuple[str, int, Points]]
    headers: Sequence[str]
    rows: Sequence[Sequence[str]]


def build_card(
    config: str,
    cells: Mapping[Cell, CellRuns],
    facts: Facts,
    addresses: Mapping[str, str],
    origins: Sequence[tuple[str, str, str | None, int]],
) -> Card:
    """Fill the checklist for a config that was run, given its runs by cell, and facts of the problems.

    ``addresses`` are the sources of the problems' data: a problem without a source is a user-defined file. ``origins``
    are the numbers of the config's runs by provenance, as `Store.origins` returns them.
    """
    run_groups = group_runs(cells)
    groups = {ascii_uppercase[n : n + 1] or f"A{n}": group for n, group in enumerate(run_groups)}
    problems = list(dict.fromkeys(problem for group in run_groups for problem in group.problems))
    by_address = grouped(problems, lambda problem: addresses.get(problem, ""))
    n_splits = {problem: facts[problem].n_splits for problem in problems}
    counts = [
        sum(map(attrgetter(name), cells.values())) for name in ("n_planned", "n_done", "n_failed")
    ]
    sentences: Any = _environment().get_template("rules.txt").module
    text = sentences.of_config(groups, by_address, n_splits, *counts)
    before, after = _parse_points(("Problem", "Data sets"), text), _parse_points(("Runs",), text)
    after["Software"] = software(origins, cells)
    first: dict[str, str] = {}
    described = {
        name: _describe_group(name, group, problems, first) for name, group in groups.items()
    }
    if len(groups) == 1:
        sections = [("", 1, before | points | after) for points in described.values()]
    else:
        sections = [
            (f"{name}. {_group_title(groups[name])}", 3, points)
            for name, points in described.items()
        ]
        sections = [("", 1, before), *sections, ("All settings", 3 + len(POINTS), after)]
    return Card(f"How {config} was run", sections, *_problem_table(problems, facts, groups))


def render_card(card: Card, form: CardFormat) -> str:
    """Render a card as ``markdown`` or ``latex`` text."""
    template = _environment().get_template("rules.md" if form == "markdown" else "rules.tex")
    return template.render(card=card, problems=text_table(card.headers, card.rows, form)) + "\n"


def describe_entry(entry: Entry, settings: Mapping[str, Scalar]) -> Points:
    """Describe a method or a classifier: facts that hold for all settings, then the settings."""
    points: Points = {title: [] for title in POINTS.values()}
    for point, text in entry.details.items():
        points[POINTS[point]].append(text)
    given = dict(settings)
    unit = "generations" if any(name.endswith("generations") for name in given) else "epochs"
    for point, rules in _setting_rules().items():
        for name, rule in rules.items():
            if given.get(name) is None:
                continue
            value = given[name]
            values = value if isinstance(value, tuple) else (value,)
            texts = [f"{part:.12g}" if isinstance(part, float) else str(part) for part in values]
            # A rule is a template, or a mapping of values to sentences; "" for a value that needs no sentence.
            sentence = (
                rule.get(value)
                if isinstance(rule, dict)
                else rule.render(value=value, v=texts, unit=unit)
            )
            if sentence is not None:
                points[POINTS[point]] += filter(None, [sentence])
                del given[name]
    others = [setting_text(name, value) for name, value in given.items() if value is not None]
    unset = [name for name, value in given.items() if value is None]
    if others:
        points["Algorithm"].append(f"Its other settings are {', '.join(others)}.")
    if unset:
        points["Algorithm"].append(
            f"{join_words(unset)} {'is' if len(unset) == 1 else 'are'} not set."
        )
    return points


def software(
    origins: Sequence[tuple[str, str, str | None, int]], cells: Collection[Cell]
) -> list[str]:
    """Describe versions of code, libraries and algorithms, and the machines; see `build_card`."""
    counts = Counter[str]()
    for _, status, text, n in origins:
        if status == "done" and text:
            known: Mapping[str, Any] = {"pppca": "?", "python": "?"} | json.loads(text)
            code = [f"{title} {known[name]}" for name, title in _SOFTWARE.items() if name in known]
            machine = [str(known[name]) for name in ("processor", "system") if name in known]
            counts[f"{', '.join(code)}; on {', '.join(machine) or 'an unknown machine'}"] += n
    sentences = [
        f"{text} ({n} runs)." if len(counts) > 1 else f"{text}." for text, n in counts.most_common()
    ] or ["No provenance was recorded."]
    algorithms = {item for cell in cells for item in cell.algorithms}
    titles = [f"{name} {version}" for name, version in sorted(algorithms)]
    return (
        [*sentences, f"Versions of the algorithms: {join_words(titles)}."] if titles else sentences
    )


@cache
def _environment() -> Environment:
    templates = environment()
    templates.filters |= {
        "escaped": partial(escaped, form="latex"),
        "value": lambda value: "not set" if value is None else value_text(value),
        "join_words": join_words,
    }
    return templates


@cache
def _setting_rules() -> dict[str, dict[str, Template | dict[Scalar, str]]]:
    """Return for each point and setting a template, or the sentence of each value."""
    text = (files("pppca_bench.reporting") / "templates" / "settings.yaml").read_text(
        encoding="utf-8"
    )
    template = _environment().from_string
    return {
        point: {
            name: rule if isinstance(rule, dict) else template(rule) for name, rule in rules.items()
        }
        for point, rules in yaml.safe_load(text).items()
    }


def _parse_points(titles: Collection[str], text: str) -> Points:
    """Parse lines ``"Title: sentence"``; return the sentences of each given title."""
    points: Points = {title: [] for title in titles}
    for line in map(str.strip, text.splitlines()):
        title, _, sentence = line.partition(": ")
        if title in points:
            points[title].append(sentence)
    return points


def _describe_group(
    name: str, group: RunGroup, problems: Sequence[str], first: dict[str, str]
) -> Points:
    """Return points 3 to 7; a learner with the same settings as in an earlier group refers to that group.

    ``first`` has the name of the first group of each description.
    """
    learners = []
    for learner in group.learners:
        described = describe_entry(learner.entry, learner.settings) if learner.entry else {}
        key = json.dumps([learner.name, described])
        if not learner.varied and (earlier := first.setdefault(key, name)) != name:
            reference = f"For the {learner.role}: as in {earlier}."
            described = {point: [reference] for point, sentences in described.items() if sentences}
        learners.append((learner, described))
    choice = _section(group.constant, CHOOSE)
    quantities = {name for runs in group.cells.values() for name in runs.numbers}
    sentences: Any = _environment().get_template("rules.txt").module
    points = _parse_points(
        POINTS.values(), sentences.of_group(group, learners, choice, problems, quantities)
    )
    return {title: texts or ["Nothing is set."] for title, texts in points.items()}


def _group_title(group: RunGroup) -> str:
    """Return the method, "then" its classifier, "of" the members of an ensemble, and the classifier's network."""
    titles = [learner.title for learner in group.learners]
    text = titles[0] + "".join(
        f", {word} {title}" for word, title in zip(("then", "of"), titles[1:], strict=False)
    )
    shortcuts = group.constant.get("classifier.shortcuts")
    hidden = group.constant.get("classifier.hidden")
    network = [f"hidden {value_text(hidden)}"] if hidden is not None else []
    network += [] if shortcuts is None else ["shortcuts" if shortcuts else "no shortcuts"]
    return f"{text} ({', '.join(network)})" if network else text


def _problem_table(
    problems: Sequence[str], facts: Facts, groups: Mapping[str, RunGroup]
) -> tuple[list[str], list[list[str]]]:
    """Return headers and rows: sizes, then networks and connections of the groups whose networks read the inputs."""
    counted = {
        name: group
        for name, group in groups.items()
        if group.reads_inputs and group.of_network("hidden") is not None
    }
    hidden = dict.fromkeys(group.of_network("hidden") for group in counted.values())
    named = {str(name): rule for name in hidden if (rule := rule_named(name))}
    headers = ["Problem", "inputs", "outputs", "training", "validation", "test", "SHA-256", *named]
    headers += [f"connections, {name}" if len(groups) > 1 else "connections" for name in counted]
    rows = []
    for problem in problems:
        known = facts[problem]
        row = [problem, *(str(getattr(known, name)) for name in SIZES), known.data_sha256[:12]]
        row += [str(rule.network(problem, known.n_outputs)) for rule in named.values()]
        row += [_connections(group, known) for group in counted.values()]
        rows.append(row)
    return headers, rows


def _connections(group: RunGroup, known: ProblemFacts) -> str:
    layers, shortcuts = group.of_network("hidden"), group.of_network("shortcuts", default=False)
    if rule := rule_named(layers):
        layers = rule.network(known.name, known.n_outputs).hidden
    if not isinstance(layers, tuple) or not isinstance(shortcuts, bool):
        return EMPTY
    nodes = list(map(int, layers))
    n = n_connections(known.n_features, nodes, known.n_outputs, shortcuts=shortcuts)
    return str(n) if known.name in group.problems else EMPTY


def n_connections(
    n_inputs: int, hidden: Sequence[int], n_outputs: int, *, shortcuts: bool = True
) -> int:
    """Count the connections of a feed-forward network, with a bias in each node (Proben1 report, table 7).

    With shortcuts each layer takes the inputs and all earlier layers, otherwise only the layer before it.
    """
    count, n_sources = 0, 1 + n_inputs
    for size in (*hidden, n_outputs):
        count += size * n_sources
        n_sources = n_sources + size if shortcuts else 1 + size
    return count
