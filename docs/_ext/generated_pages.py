"""Generated pages of the site: rendered results, keys of configs, public names.

A page in `GENERATED` has a heading and an introduction; the build appends the text that its function returns.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from numpydoc.docscrape import ClassDoc
from sphinx.application import Sphinx

import pppca_bench
from pppca_bench.base.parameters import REQUIRED, Parameter, Tau
from pppca_bench.config.experiment import Config
from pppca_bench.methods.entry import Classifier, Entry, Method
from pppca_bench.methods.protocol import constructor_arguments, contract_of, section_of
from pppca_bench.methods.registry import CLASSIFIERS, METHODS

_ABSOLUTE = re.compile(r"\|(\w+)\|")
_LEARNED = re.compile(r"(?<![`\w])([A-Za-z]\w*)_(?=[\s,.;:)\]+]|$)")
ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "results"
_WHOLE = {
    "name": "Results are stored under this name; it must be unique.",
    "title": "Title of the page that `pppca report` writes about the config, by default its name.",
    "problems": "A name, a list of names (`pppca data list`), or [tables of your own](own_data.md).",
    "repeats": "Number of runs of each setting, each with its own seed. May be left out with `splits` or `folds`.",
    "splits": "Number of random splits of user-defined tables; `none` for whole, unscaled tables, and no classifier.",
    "folds": "Number of folds of user-defined tables.",
    "split_seed": "Seed of the splits of user-defined tables; another seed gives other splits of the same rows.",
    "seed": "The seeds of all runs follow from it.",
    "tau": "Thresholds of the methods that take a threshold and set none: a number, a list, or `auto` to choose.",
    "methods": "Sections with `method: NAME` and any keys of that method. `NAME` is short for `{method: NAME}`.",
    "classifier": "A section with `rule: NAME` and any keys of that classifier; without it, `rule: rprop`.",
    "choose": "Parameters for which [each run chooses](own_data.md#which-τ-and-r) one of the config's values.",
    "by": "Choose by error, balanced accuracy or macro F1 on the validation split, or by the retained variance of the"
    " training split.",
    "retain": "Variance to retain with `by: retained_variance`, in percent.",
    "baselines": "`false` runs no [baselines](own_data.md#what-to-compare-with) beside the methods on own data.",
    "predictions": "`true` stores the predictions of each run for the test split, and adds scores.",
    "curve": "`true` stores the training, validation and test errors of each run's network during its training.",
}
"""Descriptions of the keys of a config; a key that is missing here ends the build."""
_ANY_METHOD = {
    "title": "Text that [labels](configs.md#compare-settings) the method in tables, in place of title and settings.",
    "repeats": "An integer, in place of the config's.",
    "classifier": "A section, in place of the config's, if the method makes features.",
}
_LINKS = (
    # Tables and figures are on the page of results, tables of an experiment on its own page, by their ids.
    (
        re.compile(r"\]\(\.\./results/(experiment\d)/tables/(\w+)\.md\)"),
        lambda link: f"](#{link[1]}-{link[2].lower()})",
    ),
    (
        re.compile(r"\]\(\.\./results/(?:tables|figures)/(\w+)\.(?:md|svg)\)"),
        lambda link: f"](#{link[1].lower()})",
    ),
    (
        re.compile(r"\]\(\.\./data/README\.md(#[\w-]+)?\)"),
        lambda link: f"](data.md{link[1] or ''})",
    ),
    (
        re.compile(r"\]\(\.\./results/README\.md(#\w+)?\)"),
        lambda link: f"](results.md{link[1] or ''})",
    ),
)


def results_page() -> str:
    """Return the index of the results without its heading, then every table and figure as a target of links."""
    text = (RESULTS / "README.md").read_text(encoding="utf-8").partition("\n")[2]
    text = text.replace("[report](report.html)", '<a href="report.html">report</a>')
    names = re.findall(r"^\| \[(\w+)\]\((tables|figures)/\S+\. (.+?) \|", text, re.MULTILINE)
    text = re.sub(
        r"\]\((?:tables|figures)/(\w+)\.(?:md|png|svg)\)",
        lambda link: f"](#{link[1].lower()})",
        text,
    )
    parts = [re.sub(r"\]\((tables|figures)/", r"](../results/\1/", text)]
    for name, folder, title in names:
        if folder == "tables":
            shown = (RESULTS / folder / f"{name}.md").read_text(encoding="utf-8")
        else:
            shown = f"## {name}. {title}\n\n![{title}](../results/figures/{name}.png)\n"
        parts.append(f"({name.lower()})=\n\n{shown}")
    return "\n\n".join(parts)


def experiment_page(name: str) -> str:
    """Return the rendered tables of a registered experiment as targets of links; "" before its first run."""
    tables = sorted((RESULTS / name / "tables").glob("*.md"))
    return "\n\n".join(
        f"({name}-{path.stem.lower()})=\n\n{path.read_text(encoding='utf-8')}" for path in tables
    )


def config_keys_page() -> str:
    """Return a section for each method and classifier that a config can name, with its keys."""
    parts = ["## The whole config", *_whole_config()]
    parts += ["## Any method", *(_term(None, key, text) for key, text in _ANY_METHOD.items())]
    parts += ["## Methods"]
    parts += [_entry_section("method", entry) for entry in METHODS.values()]
    parts += ["## Classifiers"]
    parts += [_entry_section("rule", entry) for entry in CLASSIFIERS.values()]
    return "\n\n".join(parts)


def api_page() -> str:
    """Return the documentation of every public name."""
    return "\n\n".join(_public_name(name) for name in pppca_bench.__all__)


GENERATED: Mapping[str, Callable[[], str]] = {
    "results": results_page,
    "experiment2": partial(experiment_page, "experiment2"),
    "experiment3": partial(experiment_page, "experiment3"),
    "config_keys": config_keys_page,
    "api": api_page,
}


def fill(app: Sphinx, docname: str, source: list[str]) -> None:
    """Append the generated text to a page, and redirect links to rendered results to their page."""
    if docname in GENERATED:
        source[0] += "\n" + GENERATED[docname]()
        app.env.note_reread()
    for pattern, target in _LINKS:
        source[0] = pattern.sub(target, source[0])


def escape_names(*arguments: Any) -> None:
    """Keep reStructuredText from taking n_components_ for a link and |x| for a substitution."""
    lines = arguments[-1]
    lines[:] = [_ABSOLUTE.sub(r"\|\1\|", _LEARNED.sub(r"\1\\_", line)) for line in lines]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("source-read", fill)
    app.connect("autodoc-process-docstring", escape_names, priority=900)  # after numpydoc
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _entry_section(key: str, entry: Entry) -> str:
    estimator = contract_of(entry).estimator
    section, descriptions = section_of(entry), _descriptions(estimator)
    names = {own: next(iter(constructor_arguments(estimator, {own: None}))) for own in section}
    terms = [
        _term(parameter, own, _markdown(descriptions.get(names[own], "")))
        for own, parameter in section.items()
    ]
    text = f"### `{key}: {entry.name}`\n\n{entry.title}: {entry.does}. Source: {entry.source}."
    notes = " ".join(_notes(entry))
    return "\n\n".join(filter(None, [text, notes, *(terms or ["It has no keys of its own."])]))


def _whole_config() -> Iterator[str]:
    """Yield each key of a config; a key with a single value has its range and default."""
    for key, field in Config.model_fields.items():
        annotation = Tau if key == "tau" else field.rebuild_annotation()
        default = REQUIRED if field.is_required() or key == "repeats" else field.default
        is_section = key in ("problems", "classifier", "methods")
        yield _term(None if is_section else Parameter(key, annotation, default), key, _WHOLE[key])


def _term(parameter: Parameter | None, key: str, text: str) -> str:
    """Return a key with its description, and with its range and default if it has a parameter."""
    values = f"*{parameter.expected}; {_default(parameter)}.* " if parameter else ""
    return f"`{key}`\n: {values}{text}"


def _notes(entry: Entry) -> Iterator[str]:
    if isinstance(entry, Method) and entry.instead_of_tau:
        yield f"With {' or '.join(f'`{key}`' for key in entry.instead_of_tau)} the config's `tau` does not apply."
    if isinstance(entry, Method) and entry.needs_classes:
        yield "For classification problems only."
    if isinstance(entry, Classifier) and entry.is_ensemble:
        yield "Its key `base` is the section of its members."


def _descriptions(estimator: type) -> dict[str, str]:
    """Return the description of each parameter of a constructor in the docstrings of its class and of its bases."""
    descriptions: dict[str, str] = {}
    for cls in reversed(inspect.getmro(estimator)):
        if cls.__module__.startswith("pppca_bench"):
            for parameter in ClassDoc(cls)["Parameters"]:
                # Parameters may share an entry: "eta_plus, eta_minus".
                descriptions |= dict.fromkeys(parameter.name.split(", "), " ".join(parameter.desc))
    return descriptions


def _default(parameter: Parameter) -> str:
    if parameter.default is REQUIRED:
        return "required"
    value = parameter.default
    if isinstance(value, bool) or value is None:
        return f"default `{ {True: 'true', False: 'false', None: 'null'}[value] }`"
    return f"default `{list(value) if isinstance(value, tuple) else value}`"


def _markdown(text: str) -> str:
    """Return a docstring's text as Markdown."""
    return text.replace("``", "`").replace("*", r"\*").replace("<", "&lt;")


def _public_name(name: str) -> str:
    value = getattr(pppca_bench, name)
    lines = [f".. {'autoclass' if inspect.isclass(value) else 'autofunction'}:: pppca_bench.{name}"]
    # Without names, "members" would stand for all members.
    if inspect.isclass(value) and (methods := _own_methods(value)):
        lines.append(f"   :members: {', '.join(methods)}")
    return "\n".join([f"## {name}\n", "```{eval-rst}", *lines, "```"])


def _own_methods(cls: type) -> list[str]:
    """Return the public methods that this package defines, without the methods of scikit-learn."""
    own = [base for base in inspect.getmro(cls) if base.__module__.startswith("pppca_bench")]
    members = (item for base in own for item in vars(base).items())
    named = {
        name: None for name, value in members if callable(value) or isinstance(value, property)
    }
    return [name for name in named if not name.startswith("_")]
