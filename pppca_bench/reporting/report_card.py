"""Report card: how a config was run, by the checklist for authors of the Proben1 report (section 2.11)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from math import prod
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any, Literal

import yaml

from pppca_bench.methods.entry import Entry
from pppca_bench.methods.lookup import stored_classifier, stored_method, title_of
from pppca_bench.references.proben1_tables import Network, pivot_of, rule_network
from pppca_bench.reporting.architecture_search import n_connections
from pppca_bench.reporting.document import EMPTY, environment, escaped, listed, text_table
from pppca_bench.reporting.labels import grouped, setting_text, value_text
from pppca_bench.reporting.summary import Results
from pppca_bench.runs import CHOOSE, Cell, Parameters, ProblemFacts, RunResult, Scalar, StoredRun

if TYPE_CHECKING:
    from jinja2 import Environment, Template


_NETWORKS = ("classifier.", "classifier.base.", "")
"""Prefixes of the settings that may describe a network."""

_Setting = list[Cell]
"""Cells, on different problems, of one setting."""


@dataclass(frozen=True, slots=True)
class RunGroup:
    """Settings of one method and classifier that are described together."""

    method: str
    constant: Mapping[str, Scalar]  # settings, as in `Cell.settings`, that all cells have in common
    varied: Mapping[str, tuple[Scalar, ...]]  # the values of the others, in the order of the runs
    is_grid: bool  # whether all combinations of these were run, each once
    cells: Mapping[Cell, Sequence[StoredRun]]  # the runs

    @property
    def problems(self) -> list[str]:
        """Return the names of the problems, in the order of the runs."""
        return list(dict.fromkeys(cell.problem for cell in self.cells))

    @property
    def n_settings(self) -> int:
        """Return the number of different settings."""
        return len({tuple(cell.settings.items()) for cell in self.cells})

    @property
    def results(self) -> list[RunResult | None]:
        """Return the result of each run, None for a run that is not done."""
        return [result for runs in self.cells.values() for _, result in runs]

    @property
    def learners(self) -> dict[str, tuple[str, Entry | None]]:
        """Return method, classifier and member of an ensemble: name and registry entry, by the settings' prefix."""
        learners: dict[str, tuple[str, Entry | None]] = {"": (self.method, stored_method(self.method))}
        for prefix in ("classifier.", "classifier.base."):
            if (name := self.constant.get(f"{prefix}rule")) is not None:
                learners[prefix] = str(name), stored_classifier(str(name))
        return learners

    @property
    def has_network(self) -> bool:
        """Return whether a network is trained."""
        names = {*self.constant, *self.varied}
        return any(entry is not None and f"{prefix}hidden" in names for prefix, (_, entry) in self.learners.items())

    @property
    def reads_inputs(self) -> bool:
        """Return whether the classifier reads the problem's own inputs, not reduced features."""
        entry = stored_method(self.method)
        return entry is not None and (not entry.reduces or entry.makes == "classes")

    @property
    def layers(self) -> Scalar:
        """Return the hidden layers that all networks have in common; None if they vary."""
        names = [f"{prefix}hidden" for prefix in _NETWORKS]
        return next((self.constant[name] for name in names if name in self.constant), None)

    @property
    def shortcuts(self) -> Scalar:
        """Return whether the networks have shortcuts; None if this varies."""
        settings = {**dict.fromkeys(self.varied), **self.constant}
        return next((settings[name] for prefix in _NETWORKS if (name := f"{prefix}shortcuts") in settings), False)

    def section(self, prefix: str) -> Parameters:
        """Return the constant settings whose names begin with a prefix (but no deeper names), without the prefix."""
        own = {name.removeprefix(prefix): value for name, value in self.constant.items() if name.startswith(prefix)}
        return tuple((name, value) for name, value in own.items() if "." not in name)


def group_runs(cells: Mapping[Cell, Sequence[StoredRun]]) -> list[RunGroup]:
    """Group the cells of a config by their common settings, in the order of the runs.

    The settings of a group have the same method, learning rules, problems and numbers of runs. They are split by the
    values of a setting that varies, if each part is then a grid and there are few parts.
    """

    def common(setting: _Setting) -> tuple[object, ...]:
        rules = (setting[0].settings.get(name) for name in ("classifier.rule", "classifier.base.rule"))
        return (setting[0].method, *rules, *((cell.problem, len(cells[cell])) for cell in setting))

    by_settings = grouped(cells, lambda cell: (cell.method, *cell.settings.items()))
    alike = grouped(by_settings.values(), common)
    groups = []
    for part in (part for settings in alike.values() for part in _grids(settings)):
        first, varied = part[0][0], _varied(part)
        constant = {name: value for name, value in first.settings.items() if name not in varied}
        members = {cell: cells[cell] for own in part for cell in own}
        groups.append(RunGroup(first.method, constant, varied, _is_grid(part), members))
    return groups


def _grids(settings: Sequence[_Setting]) -> Sequence[Sequence[_Setting]]:
    """Split settings by the values of one of their names, if that makes a few grids of them."""
    varied = _varied(settings)
    if _is_grid(settings):
        return [settings]
    for name in sorted(varied, key=lambda name: len(varied[name])):
        parts = grouped(settings, key=lambda setting: setting[0].settings.get(name))
        if 2 * len(parts) <= len(settings) and all(map(_is_grid, parts.values())):
            return list(parts.values())
    return [settings]


def _is_grid(settings: Sequence[_Setting]) -> bool:
    return len(settings) == prod(map(len, _varied(settings).values()))


def _varied(settings: Sequence[_Setting]) -> dict[str, tuple[Scalar, ...]]:
    """Return the values of the settings that are not all the same; a missing value counts as None."""
    different = [own[0].settings for own in settings]
    names = dict.fromkeys(name for own in different for name in own)
    values = {name: tuple(dict.fromkeys(own.get(name) for own in different)) for name in names}
    return {name: given for name, given in values.items() if len(given) > 1}


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
"""Titles of the points 3 to 7 of the checklist, which describe how methods and classifiers learn."""

PIVOT = "pivot"
"""Setting for the problem's pivot architecture (table 7)."""

_ROLES = {"": "method", "classifier.": "classifier", "classifier.base.": "member"}


@dataclass(frozen=True)
class Card:
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
    results: Results,
    facts: Mapping[str, ProblemFacts],
    addresses: Mapping[str, str],
    origins: Sequence[tuple[str, str, str | None, int]],
) -> Card:
    """Fill the checklist for a config that was run.

    Parameters
    ----------
    config, results, facts
    addresses : mapping of str to str
        Source of each problem's data; a problem without is a user-defined file.
    origins : sequence of (method, status, provenance or None, count)
        As `Store.origins` gives them for the config.
    """
    run_groups = group_runs(results.of_config(config))
    groups = {ascii_uppercase[n : n + 1] or f"A{n}": group for n, group in enumerate(run_groups)}
    problems = list(dict.fromkeys(problem for group in run_groups for problem in group.problems))
    own = {problem: facts[problem] for problem in problems if problem in facts}
    by_address = grouped(problems, lambda problem: addresses.get(problem, ""))
    n_splits = {problem: own[problem].n_splits if problem in own else 1 for problem in problems}
    outcomes = [result.status if result else "" for group in run_groups for result in group.results]
    sentences: Any = _environment().get_template("rules.txt").module
    text = sentences.of_config(groups, by_address, n_splits, outcomes)
    before, after = _points(("Problem", "Data sets"), text), _points(("Runs",), text)
    algorithms = {item for group in run_groups for cell in group.cells for item in cell.algorithms}
    after["Software"] = software(origins, algorithms)
    first: dict[str, str] = {}
    described = {name: _describe_group(name, group, problems, first) for name, group in groups.items()}
    if len(groups) == 1:
        sections = [("", 1, before | points | after) for points in described.values()]
    else:
        sections = [(f"{name}. {_group_title(groups[name])}", 3, points) for name, points in described.items()]
        sections = [("", 1, before), *sections, ("All settings", 3 + len(POINTS), after)]
    return Card(f"How {config} was run", sections, *_problem_table(problems, own, groups))


def render_card(card: Card, form: CardFormat) -> str:
    """Render a card as ``markdown`` or ``latex`` text."""
    template = _environment().get_template("rules.md" if form == "markdown" else "rules.tex")
    return template.render(card=card, problems=text_table(card.headers, card.rows, form)) + "\n"


def describe_entry(entry: Entry, settings: Parameters) -> Points:
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
            # A rule is a template, or a sentence for some values; "" where a value needs none.
            sentence = rule.get(value) if isinstance(rule, dict) else rule.render(value=value, v=texts, unit=unit)
            if sentence is not None:
                points[POINTS[point]] += filter(None, [sentence])
                del given[name]
    others = [setting_text(name, value) for name, value in given.items() if value is not None]
    unset = [name for name, value in given.items() if value is None]
    if others:
        points["Algorithm"].append(f"Its other settings are {', '.join(others)}.")
    if unset:
        points["Algorithm"].append(f"Not set {'is' if len(unset) == 1 else 'are'} {listed(unset)}.")
    return points


def software(
    origins: Sequence[tuple[str, str, str | None, int]], algorithms: Collection[tuple[str, int | str]]
) -> list[str]:
    """Describe versions of code, libraries and algorithms, and the machines; see `build_card`."""
    counts = Counter[tuple[str, str]]()
    for _, status, text, n in origins:
        if status == "done" and text:
            facts: Mapping[str, Any] = json.loads(text)
            libraries = [
                f"{name} {facts[name]}" for name in ("numpy", "scipy", "numba", "scikit-learn") if name in facts
            ]
            code = ", ".join([f"pppca {facts.get('pppca', '?')}", f"Python {facts.get('python', '?')}", *libraries])
            counts[code, ", ".join(str(facts[name]) for name in ("processor", "system") if name in facts)] += n
    sentences = [
        f"{code}; on {machine or 'an unknown machine'}" + (f" ({n} runs)." if len(counts) > 1 else ".")
        for (code, machine), n in counts.most_common()
    ]
    if not sentences:
        sentences = ["What computed the runs was not recorded."]
    titles = [f"{name} {version}" for name, version in sorted(algorithms)]
    return [*sentences, f"Versions of the algorithms: {listed(titles)}."] if titles else sentences


@cache
def _environment() -> Environment:
    templates = environment()
    templates.filters |= {
        "escaped": partial(escaped, form="latex"),
        "value": value_text,
        "listed": listed,
        "combinations": _combinations,
    }
    return templates


@cache
def _setting_rules() -> dict[str, dict[str, Template | dict[Scalar, str]]]:
    """Return for each point and setting a template, or the sentence of each value."""
    text = (files("pppca_bench.reporting") / "templates" / "settings.yaml").read_text(encoding="utf-8")
    template = _environment().from_string
    return {
        point: {name: rule if isinstance(rule, dict) else template(rule) for name, rule in rules.items()}
        for point, rules in yaml.safe_load(text).items()
    }


def _points(titles: Collection[str], text: str) -> Points:
    """Sort those lines of a text that begin with one of the points' titles."""
    points: Points = {title: [] for title in titles}
    for line in map(str.strip, text.splitlines()):
        title, _, sentence = line.partition(": ")
        if title in points:
            points[title].append(sentence)
    return points


def _describe_group(name: str, group: RunGroup, problems: Sequence[str], first: dict[str, str]) -> Points:
    """Return points 3 to 7; an entry with the same settings as in an earlier group refers to that."""
    learners = []
    for prefix, (own_name, entry) in group.learners.items():
        settings = tuple(item for item in group.section(prefix) if item[0] != "rule")
        learner = {"role": _ROLES[prefix], "name": own_name, "title": entry.title if entry else title_of(own_name)}
        texts = ", ".join(f"{key} = {value_text(value)}" for key, value in settings) or "as it comes"
        described = describe_entry(entry, settings) if entry else {}
        varies = any(key.startswith(prefix) and "." not in key.removeprefix(prefix) for key in group.varied)
        key = json.dumps([own_name, described, varies])
        if key in first and not varies:
            reference = f"For the {_ROLES[prefix]}: as in {first[key]}."
            described = {point: [reference] for point, sentences in described.items() if sentences}
        first.setdefault(key, name)
        learners.append({**learner, "entry": entry, "settings": texts, "sentences": described})
    choice = {key[len(CHOOSE) :]: value for key, value in group.constant.items() if key.startswith(CHOOSE)}
    quantities = {name for result in group.results if result for name in result.values}
    sentences: Any = _environment().get_template("rules.txt").module
    points = _points(POINTS.values(), sentences.of_group(group, learners, choice, problems, quantities))
    return {title: own or ["Nothing is set."] for title, own in points.items()}


def _group_title(group: RunGroup) -> str:
    titles = [entry.title if entry else title_of(name) for name, entry in group.learners.values()]
    text = titles[0] + "".join(f", {word} {title}" for word, title in zip(("then", "of"), titles[1:], strict=False))
    shortcuts, hidden = group.constant.get("classifier.shortcuts"), group.constant.get("classifier.hidden")
    network = [f"hidden {value_text(hidden)}"] if hidden is not None else []
    network += [] if shortcuts is None else ["shortcuts" if shortcuts else "no shortcuts"]
    return f"{text} ({', '.join(network)})" if network else text


def _combinations(group: RunGroup) -> str:
    combinations = (
        ", ".join(f"{name} = {value_text(cell.settings.get(name))}" for name in group.varied) for cell in group.cells
    )
    return "; ".join(dict.fromkeys(combinations))


def _problem_table(
    problems: Sequence[str], facts: Mapping[str, ProblemFacts], groups: Mapping[str, RunGroup]
) -> tuple[list[str], list[list[str]]]:
    """Return headers and rows: sizes, then the connections of each group whose networks read the inputs."""
    counted = {name: group for name, group in groups.items() if group.reads_inputs and group.layers is not None}
    has_pivots = any(group.layers == PIVOT for group in counted.values())
    headers = ["Problem", "inputs", "outputs", "training", "validation", "test", "SHA-256"]
    headers += ["pivot"] if has_pivots else []
    headers += [f"connections, {name}" if len(groups) > 1 else "connections" for name in counted]
    rows = []
    for problem in problems:
        row, known = [problem, *[EMPTY] * 6], facts.get(problem)
        # The report's pivot architecture, or that of the rule of size.
        pivot = pivot_of(problem) or (rule_network(known.n_outputs) if known else None)
        if known:
            sizes = (known.n_features, known.n_outputs, known.n_train, known.n_validation, known.n_test)
            row[1:] = [*map(str, sizes), known.data_sha256[:12]]
        row += [str(pivot or EMPTY)] if has_pivots else []
        rows.append(row + [_connections(group, problem, known, pivot) for group in counted.values()])
    return headers, rows


def _connections(group: RunGroup, problem: str, known: ProblemFacts | None, pivot: Network | None) -> str:
    layers, shortcuts = group.layers, group.shortcuts
    if layers == PIVOT and pivot:
        layers = pivot.hidden
    if known is None or problem not in group.problems:
        return EMPTY
    if not isinstance(layers, tuple) or not isinstance(shortcuts, bool):
        return EMPTY
    return str(n_connections(known.n_features, list(map(int, layers)), known.n_outputs, shortcuts=shortcuts))
