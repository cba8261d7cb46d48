"""How a config was run, by the checklist for authors of the Proben1 report (section 2.11)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pppca_bench.methods.entry import Entry
from pppca_bench.methods.lookup import stored_classifier, stored_method, title_of
from pppca_bench.references.proben1_tables import LINEAR, Network, pivot_of, rule_network
from pppca_bench.reporting.architecture_search import n_connections
from pppca_bench.reporting.labels import value_text
from pppca_bench.reporting.number_text import EMPTY
from pppca_bench.reporting.rendering import escaped, text_table
from pppca_bench.reporting.report_sentences import PIVOT, POINTS, describe_entry, listed
from pppca_bench.reporting.run_groups import RunGroup, group_runs
from pppca_bench.reporting.summary import Results
from pppca_bench.runs import CHOOSE, ProblemFacts, Scalar

CardFormat = Literal["markdown", "latex"]

_SECTIONS = {"": "method", "classifier.": "classifier", "classifier.base.": "member"}
_NETWORKS = ("classifier.", "classifier.base.", "")
"""Prefixes of the settings that may describe a network."""

_MEASURES = {
    "test_squared_error_percent": (
        "The squared error percentage of a data set is 100 / (N P) times the sum of the squared differences of outputs"
        " and targets over its P examples and N outputs."
    ),
    "test_error_percent": "The classification error is the percentage of a data set's examples given a wrong class.",
}
"""Errors that results report, with their normalisation (Proben1 report, sections 2.6 and 3.3)."""


@dataclass(frozen=True, slots=True)
class Address:
    """Say where a problem's data come from.

    Attributes
    ----------
    collection : str
        Such as ``"Proben1"``.
    place : str
        Where the collection is.
    """

    collection: str
    place: str


@dataclass(frozen=True)
class Card:
    """Hold what the checklist asks for, as sentences and two tables.

    Attributes
    ----------
    title : str
    before, after : mapping of str to sequence of str
        Sentences by the points that hold for all settings: problem and data sets before, runs and software after them.
    settings : mapping of str to mapping of str to sequence of str
        By the name of a group of settings ("" for the only one), the sentences of points 3 to 7.
    headers, rows : tuple of str, and list of tuple of str
        The table of problems.
    """

    title: str
    before: Mapping[str, Sequence[str]]
    settings: Mapping[str, Mapping[str, Sequence[str]]]
    after: Mapping[str, Sequence[str]]
    headers: tuple[str, ...]
    rows: Sequence[tuple[str, ...]] = field(default_factory=list)


def build_card(
    config: str,
    results: Results,
    facts: Mapping[str, ProblemFacts],
    addresses: Mapping[str, Address],
    origins: Sequence[tuple[str, str, str | None, int]],
) -> Card:
    """Fill the checklist for a config.

    Parameters
    ----------
    config : str
        Name of a config that was run.
    results : Results
        What was run.
    facts : mapping of str to ProblemFacts
        Sizes of the problems, by name.
    addresses : mapping of str to Address
        Where the problems' data come from; a problem that is missing is a file of the user's own.
    origins : sequence of (method, status, provenance or None, count)
        As `Store.origins` gives them for the config.
    """
    groups = group_runs(results.of_config(config))
    names = [chr(ord("A") + place) if place < 26 else f"A{place}" for place in range(len(groups))]
    known = list(dict.fromkeys(problem for group in groups for problem in group.problems))
    own = {problem: facts[problem] for problem in known if problem in facts}
    first: dict[str, str] = {}
    settings = {}
    for name, group in zip(names, groups, strict=True):
        title = f"{name}. {_group_title(group)}" if len(groups) > 1 else ""
        settings[title] = _points(name, group, known, first)
    algorithms = {item for group in groups for cell in group.cells for item in cell.algorithms}
    headers, rows = _problem_table(known, own, dict(zip(names, groups, strict=True)))
    return Card(
        f"How {config} was run",
        {"Problem": _problem_sentences(known, addresses), "Data sets": _split_sentences(known, facts, groups)},
        settings,
        {"Runs": _run_sentences(groups, names), "Software": software(origins, algorithms)},
        headers,
        rows,
    )


def render_card(card: Card, form: CardFormat) -> str:
    """Render a card as ``markdown`` or ``latex`` text."""
    if len(card.settings) == 1:
        (points,) = card.settings.values()
        parts = [_title(card.title, 1, form), _items({**card.before, **points, **card.after}, 1, form)]
    else:
        parts = [_title(card.title, 1, form), *_several_settings(card, form)]
    return "\n\n".join([*parts, _title("Problems", 2, form), text_table(card.headers, card.rows, form)]) + "\n"


def _several_settings(card: Card, form: CardFormat) -> list[str]:
    """Return the points, those of each group of settings below its name, numbered as on the checklist."""
    parts = [_items(card.before, 1, form)]
    start = len(card.before) + 1
    for name, points in card.settings.items():
        parts += [_title(name, 2, form), _items(points, start, form)]
    n_points = max((len(points) for points in card.settings.values()), default=0)
    return [*parts, _title("All settings", 2, form), _items(card.after, start + n_points, form)]


def _title(text: str, level: int, form: CardFormat) -> str:
    if form == "markdown":
        return f"{'#' * level} {text}"
    return f"\\{'sub' * (level - 1)}section*{{{escaped(text, form)}}}"


def _items(points: Mapping[str, Sequence[str]], start: int, form: CardFormat) -> str:
    """Return the points as a numbered list that begins with a number."""
    texts = {title: " ".join(sentences) for title, sentences in points.items()}
    if form == "markdown":
        return "\n".join(f"{n}. **{title}.** {text}" for n, (title, text) in enumerate(texts.items(), start))
    items = [rf"\item \textbf{{{escaped(title, form)}.}} {escaped(text, form)}" for title, text in texts.items()]
    counter = rf"\setcounter{{enumi}}{{{start - 1}}}"
    return "\n".join([r"\begin{enumerate}", *([counter] if start > 1 else []), *items, r"\end{enumerate}"])


def _learners(group: RunGroup) -> dict[str, tuple[str, Entry | None]]:
    """Return what learns in a group, by the prefix of its settings: name, and entry unless it is from elsewhere."""
    found: dict[str, tuple[str, Entry | None]] = {"": (group.method, stored_method(group.method))}
    for prefix in ("classifier.", "classifier.base."):
        if (name := group.constant.get(f"{prefix}rule")) is not None:
            found[prefix] = str(name), stored_classifier(str(name))
    return found


def _group_title(group: RunGroup) -> str:
    titles = [entry.title if entry else title_of(name) for name, entry in _learners(group).values()]
    text = titles[0] + "".join(f", {word} {title}" for word, title in zip(("then", "of"), titles[1:], strict=False))
    shortcuts = group.constant.get("classifier.shortcuts")
    hidden = group.constant.get("classifier.hidden")
    told = [f"hidden {value_text(hidden)}"] if hidden is not None else []
    told += [] if shortcuts is None else ["shortcuts" if shortcuts else "no shortcuts"]
    return f"{text} ({', '.join(told)})" if told else text


def _points(name: str, group: RunGroup, problems: Sequence[str], first: dict[str, str]) -> dict[str, list[str]]:
    """Return the sentences of points 3 to 7; an entry that an earlier group has in the same settings is only named."""
    found: dict[str, list[str]] = {title: [] for title in POINTS.values()}
    for prefix, (own_name, entry) in _learners(group).items():
        role, settings = _SECTIONS[prefix], tuple(item for item in group.section(prefix) if item[0] != "rule")
        if entry is None:
            values = ", ".join(f"{key} = {value_text(value)}" for key, value in settings) or "as it comes"
            found[POINTS["algorithm"]].append(f"The {role} is {own_name}, from outside the package ({values}).")
            continue
        told = describe_entry(entry, settings)
        varies = any(one.startswith(prefix) and "." not in one.removeprefix(prefix) for one in group.varied)
        key = json.dumps([entry.name, told, varies])
        found[POINTS["algorithm"]].append(f"The {role} is {entry.title}: {entry.does} ({entry.source}).")
        if key in first and not varies:
            told = {point: [f"For the {role}: as in {first[key]}."] for point, sentences in told.items() if sentences}
        first.setdefault(key, name)
        for point, sentences in told.items():
            found[POINTS[point]] += sentences
    found[POINTS["network"]][:0] = _inputs(group)
    found[POINTS["algorithm"]] += _choice(group) + _variation(group)
    if group.problems != problems:
        found[POINTS["algorithm"]].append(f"This was run on {listed(group.problems)} alone.")
    found[POINTS["error"]] += _measures(group)
    return {title: sentences or ["Nothing is set."] for title, sentences in found.items()}


def _choice(group: RunGroup) -> list[str]:
    """Say what each run chooses for itself, among what and by what."""
    given = {name[len(CHOOSE) :]: value for name, value in group.constant.items() if name.startswith(CHOOSE)}
    if "by" not in given:
        return []
    among = [f"{name} among {', '.join(map(value_text, v))}" for name, v in given.items() if isinstance(v, tuple)]
    by = "the least error on the validation set, the fewest features of equal ones"
    if "retain" in given:
        by = f"the fewest features that retain {value_text(given['retain'])} % of the variance of the training set"
    return [f"Each run chooses {listed(among)}, by {by}; what is chosen is tested alone."]


def _inputs(group: RunGroup) -> list[str]:
    """Say what the network's inputs and outputs are, and how many connections it has."""
    *_, (name, entry) = _learners(group).values()
    if entry is None:
        return [f"How {title_of(name)} learns is in its own documentation."]
    if not _has_network(group):
        return ["No network is trained."]
    ends = "an output for each class, or each target of an approximation"
    if not _reads_inputs(group):
        return [f"The network has an input for each feature that the method leaves, and {ends}."]
    told = "; the table of problems counts its connections" if _layers(group) is not None else ""
    return [f"The network has an input for each of the problem's, and {ends}{told}."]


def _has_network(group: RunGroup) -> bool:
    names = {*group.constant, *group.varied}
    return any(entry is not None and f"{prefix}hidden" in names for prefix, (_, entry) in _learners(group).items())


def _reads_inputs(group: RunGroup) -> bool:
    """Tell whether the network reads the problem's own inputs, not fewer features."""
    entry = stored_method(group.method)
    return entry is not None and (not entry.reduces or entry.makes == "classes")


def _variation(group: RunGroup) -> list[str]:
    if not group.varied:
        return []
    if group.is_grid:
        told = "; ".join(f"{name} = {_values(values)}" for name, values in group.varied.items())
        return [f"{'In all combinations, these' if len(group.varied) > 1 else 'These'} settings were run: {told}."]
    combinations = dict.fromkeys(
        ", ".join(f"{name} = {value_text(cell.settings.get(name))}" for name in group.varied) for cell in group.cells
    )
    return [f"{group.n_settings} settings were run: {'; '.join(combinations)}."]


def _values(values: Sequence[Scalar]) -> str:
    """Join values; layers are written without spaces, so that they stay together."""
    return listed([value_text(value).replace(" ", "") for value in values])


def _measures(group: RunGroup) -> list[str]:
    given = {name for runs in group.cells.values() for _, result in runs if result for name in result.values}
    return [text for name, text in _MEASURES.items() if name in given]


def _problem_sentences(problems: Sequence[str], addresses: Mapping[str, Address]) -> list[str]:
    by_place: dict[Address | None, list[str]] = {}
    for problem in problems:
        by_place.setdefault(addresses.get(problem), []).append(problem)
    found = []
    for address, names in by_place.items():
        told = listed(names) if len(names) <= 10 else f"{len(names)} problems"
        found.append(f"{told} of {address.collection} ({address.place})." if address else f"{told}: data of our own.")
    found.append("The table of problems lists them with the first digits of the SHA-256 of their data.")
    return found


def _split_sentences(
    problems: Sequence[str], facts: Mapping[str, ProblemFacts], groups: Sequence[RunGroup]
) -> list[str]:
    n_splits = {name: facts[name].n_splits for name in problems if name in facts and facts[name].n_splits > 1}
    whose = "Each other problem's" if n_splits else "Each problem's"
    found = [
        f"The examples of {name} are split in {n} ways into a training, a validation and a test set, which the repeats"
        " take in turn, each with the same classes' shares where there are classes."
        for name, n in n_splits.items()
    ]
    if len(n_splits) < len(problems):
        found.append(
            f"{whose} examples are split once into a training, a validation and a test set, the same in all runs; the"
            " table of problems gives their sizes."
        )
    found += [
        "Only the training set is learnt from.",
    ]
    if any(_has_network(group) for group in groups):
        found.append(
            "The validation set decides what of a training is kept, or when it stops, where the settings say so."
        )
    return [*found, "The test set serves for the test errors alone."]


def _problem_table(
    problems: Sequence[str], facts: Mapping[str, ProblemFacts], groups: Mapping[str, RunGroup]
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return headers and rows: sizes, then for each group whose network reads the inputs its connections."""
    counted = {name: group for name, group in groups.items() if _reads_inputs(group) and _layers(group) is not None}
    has_pivots = any(_layers(group) == PIVOT for group in counted.values())
    headers = ["Problem", "inputs", "outputs", "training", "validation", "test", "SHA-256"]
    headers += ["pivot"] if has_pivots else []
    headers += [f"connections, {name}" if len(groups) > 1 else "connections" for name in counted]
    rows = []
    for problem in problems:
        known = facts.get(problem)
        sizes = [known.n_features, known.n_outputs, known.n_train, known.n_validation, known.n_test] if known else []
        row = [problem, *(map(str, sizes) if sizes else [EMPTY] * 5), known.data_sha256[:12] if known else EMPTY]
        if has_pivots:
            row.append(str(_pivot_of(problem, known)) if known or pivot_of(problem) else EMPTY)
        row += [_connections(group, problem, known) for group in counted.values()]
        rows.append(tuple(row))
    return tuple(headers), rows


def _layers(group: RunGroup) -> Scalar:
    """Return the hidden layers that all networks of a group have in common; None where they vary."""
    return next((group.constant[f"{place}hidden"] for place in _NETWORKS if f"{place}hidden" in group.constant), None)


def _pivot_of(problem: str, known: ProblemFacts | None) -> Network:
    """Return what ``hidden: pivot`` stands for: the report's network, or that of the rule of size."""
    return pivot_of(problem) or rule_network(known.n_outputs if known else 1)


def _connections(group: RunGroup, problem: str, known: ProblemFacts | None) -> str:
    layers = _layers(group)
    names = [name for place in _NETWORKS if (name := f"{place}shortcuts") in {*group.constant, *group.varied}]
    shortcuts = group.constant.get(names[0]) if names else False
    network = _pivot_of(problem, known) if layers == PIVOT and known else None
    if isinstance(layers, tuple):
        network = Network(tuple(int(size) for size in layers), LINEAR)
    if known is None or network is None or problem not in group.problems or not isinstance(shortcuts, bool):
        return EMPTY
    return str(n_connections(known.n_features, network.hidden, known.n_outputs, shortcuts=shortcuts))


def _run_sentences(groups: Sequence[RunGroup], names: Sequence[str]) -> list[str]:
    """Say how many runs there were, and that none was left out but those that failed."""
    found, planned, done, failed = list[str](), 0, 0, 0
    for name, group in zip(names, groups, strict=True):
        counts = sorted({len(runs) for runs in group.cells.values()})
        span = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        where = f" in {name}" if len(groups) > 1 else ""
        each = "of each setting on each problem" if group.n_settings > 1 else "of each problem"
        found.append(f"{span} {'run' if counts == [1] else 'runs'} {each}{where}.")
        outcomes = [result for runs in group.cells.values() for _, result in runs]
        planned += len(outcomes)
        done += sum(result is not None and result.status == "done" for result in outcomes)
        failed += sum(result is not None and result.status == "failed" for result in outcomes)
    found.append(
        "Each run has random numbers of its own, whose seed follows from the config's seed, the problem, the method and"
        " the number of the repeat."
    )
    if failed:
        found.append(f"{failed} of {planned} runs failed and are left out of the results.")
    if planned > done + failed:
        found.append(f"{planned - done - failed} of {planned} runs are not done yet.")
    found.append(
        "No other run is left out." if failed or planned > done else f"All {planned} runs count: none is left out."
    )
    return found


def software(
    origins: Sequence[tuple[str, str, str | None, int]], algorithms: Collection[tuple[str, int | str]]
) -> list[str]:
    """Say what computed runs: versions of code, libraries and algorithms, and the machine; see `build_card`."""
    counts = Counter[tuple[str, str]]()
    for _, status, text, n in origins:
        if status == "done" and text:
            facts: Mapping[str, Any] = json.loads(text)
            libraries = [
                f"{name} {facts[name]}" for name in ("numpy", "scipy", "numba", "scikit-learn") if name in facts
            ]
            code = ", ".join([f"pppca {facts.get('pppca', '?')}", f"Python {facts.get('python', '?')}", *libraries])
            counts[code, ", ".join(str(facts[name]) for name in ("processor", "system") if name in facts)] += n
    told = [
        f"{code}; on {machine or 'an unknown machine'}" + (f" ({n} runs)." if len(counts) > 1 else ".")
        for (code, machine), n in counts.most_common()
    ]
    titles = [f"{name} {version}" for name, version in sorted(algorithms)]
    return [
        *(told or ["What computed the runs was not recorded."]),
        *([f"Versions of the algorithms: {listed(titles)}."] if titles else []),
    ]
