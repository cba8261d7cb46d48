"""Content of pages of the site, filled in while it is built: results as rendered, keys of configs, public names.

A page that is named in `GENERATED` is a heading and an introduction; what its function returns follows them.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from numpydoc.docscrape import ClassDoc
from sphinx.application import Sphinx

import pppca_bench
from pppca_bench.config.experiment import Config
from pppca_bench.methods.entry import Classifier, Entry, Method
from pppca_bench.methods.protocol import contract_of
from pppca_bench.methods.registry import CLASSIFIERS, METHODS
from pppca_bench.methods.sections import constructor_arguments, section_of
from pppca_bench.parameters import REQUIRED, Parameter, Tau

_ABSOLUTE = re.compile(r"\|(\w+)\|")
_LEARNED = re.compile(r"(?<![`\w])([A-Za-z]\w*)_(?=[\s,.;:)\]+]|$)")
ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "results"
_WHOLE = {
    "name": "The results are kept by it; each config has its own.",
    "problems": "A name, a list of names (`pppca data list`), or [tables of your own](own_data.md).",
    "repeats": "Runs of each setting, each with another seed. With `splits` or `folds` it may be left out.",
    "splits": "Number of random splits of user-defined tables.",
    "folds": "Number of folds of user-defined tables.",
    "seed": "All seeds of the runs follow from it.",
    "tau": "The thresholds of methods that take some and have none of their own: one, a list, or `auto` to choose.",
    "methods": "A list of sections, each with `method: NAME` and any keys of that method; a bare name is short for it.",
    "classifier": "A section with `rule: NAME` and any keys of that classifier; `rule: rprop` where it is left out.",
    "choose": "Parameters of which [each run chooses](own_data.md) one of the values that the config gives.",
    "by": "By the validation split's error, or by the training split's variance that the features retain.",
    "retain": "Percent of the variance that are enough, with `by: retained_variance`.",
    "predictions": "`true` stores what each run predicts for the test split, and adds scores of it.",
}
"""Descriptions of the keys of a config; a key that is missing here ends the build."""
_ANY_METHOD = {
    "repeats": "An integer, in place of the config's.",
    "classifier": "A section, in place of the config's, where the method makes features.",
    "portrait": "`true` stores what a figure of the run is drawn from, where the method makes features.",
}
_LINKS = (
    # Tables and figures stand on the page of results, those of the experiment on its own page, under their ids.
    (
        re.compile(r"\]\(\.\./results/(?:experiment/)?(?:tables|figures)/(\w+)\.(?:md|svg)\)"),
        lambda link: f"](#{link[1].lower()})",
    ),
    (re.compile(r"\]\(\.\./data/README\.md(#[\w-]+)?\)"), lambda link: f"](data.md{link[1] or ''})"),
    (re.compile(r"\]\(\.\./results/README\.md(#\w+)?\)"), lambda link: f"](results.md{link[1] or ''})"),
)


def results_page() -> str:
    """Return the index of the results without its heading, then every table and figure as a target of links."""
    text = (RESULTS / "README.md").read_text(encoding="utf-8").partition("\n")[2]
    text = text.replace("[report](report.html)", '<a href="report.html">report</a>')
    names = re.findall(r"^\| \[(\w+)\]\((tables|figures)/\S+\. (.+?) \|", text, re.MULTILINE)
    text = re.sub(r"\]\((?:tables|figures)/(\w+)\.(?:md|png|svg)\)", lambda link: f"](#{link[1].lower()})", text)
    parts = [re.sub(r"\]\((tables|figures)/", r"](../results/\1/", text)]
    for name, folder, title in names:
        if folder == "tables":
            shown = (RESULTS / folder / f"{name}.md").read_text(encoding="utf-8")
        else:
            shown = f"## {name}. {title}\n\n![{title}](../results/figures/{name}.png)\n"
        parts.append(f"({name.lower()})=\n\n{shown}")
    return "\n\n".join(parts)


def experiment_page() -> str:
    """Return the rendered tables of the registered experiment as targets of links."""
    tables = {name: RESULTS / "experiment" / "tables" / f"{name}.md" for name in ("E_tests", "E", "E_losses")}
    return "\n\n".join(f"({name.lower()})=\n\n{path.read_text(encoding='utf-8')}" for name, path in tables.items())


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
    "experiment": experiment_page,
    "config_keys": config_keys_page,
    "api": api_page,
}


def fill(app: Sphinx, docname: str, source: list[str]) -> None:
    """Append what is generated to a page, and lead links to rendered results to their page."""
    if docname in GENERATED:
        source[0] += "\n" + GENERATED[docname]()
        app.env.note_reread()
    for pattern, target in _LINKS:
        source[0] = pattern.sub(target, source[0])


def escape_names(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:  # noqa: ARG001
    """Keep reStructuredText from taking n_components_ for a link and |x| for a substitution."""
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
    terms = [_term(parameter, own, _markdown(descriptions.get(names[own], ""))) for own, parameter in section.items()]
    text = f"### `{key}: {entry.name}`\n\n{entry.title}: {entry.does}. Source: {entry.source}."
    notes = " ".join(_notes(entry))
    return "\n\n".join(filter(None, [text, notes, *(terms or ["It has no keys of its own."])]))


def _whole_config() -> Iterator[str]:
    """Yield each key of a config, with its values and its default if it has a single value."""
    for key, field in Config.model_fields.items():
        annotation = Tau if key == "tau" else field.rebuild_annotation()
        default = REQUIRED if field.is_required() or key == "repeats" else field.default
        is_section = key in ("problems", "classifier", "methods")
        yield _term(None if is_section else Parameter(key, annotation, default), key, _WHOLE[key])


def _term(parameter: Parameter | None, key: str, text: str) -> str:
    """Return a key with its values and its default, where it has a range of values, and its description."""
    values = f"*{parameter.expected}; {_default(parameter)}.* " if parameter else ""
    return f"`{key}`\n: {values}{text}"


def _notes(entry: Entry) -> Iterator[str]:
    if isinstance(entry, Method) and entry.instead_of_tau:
        yield f"With {' or '.join(f'`{key}`' for key in entry.instead_of_tau)} the config's `tau` does not apply."
    if isinstance(entry, Method) and entry.needs_classes:
        yield "For classification problems only."
    if isinstance(entry, Classifier) and entry.is_ensemble:
        yield "It also has a `base`: the section of the classifier that it is made of."


def _descriptions(estimator: type) -> dict[str, str]:
    """Return the description of each parameter of a constructor in the docstrings of its class and of its bases."""
    descriptions: dict[str, str] = {}
    for cls in reversed(inspect.getmro(estimator)):
        if cls.__module__.startswith("pppca_bench"):
            descriptions |= {parameter.name: " ".join(parameter.desc) for parameter in ClassDoc(cls)["Parameters"]}
    return descriptions


def _default(parameter: Parameter) -> str:
    if parameter.default is REQUIRED:
        return "has to be given"
    value = parameter.default
    if isinstance(value, bool) or value is None:
        return f"default `{ {True: 'true', False: 'false', None: 'null'}[value] }`"
    return f"default `{list(value) if isinstance(value, tuple) else value}`"


def _markdown(text: str) -> str:
    """Return a docstring's text as Markdown has to have it."""
    return text.replace("``", "`").replace("*", r"\*").replace("<", "&lt;")


def _public_name(name: str) -> str:
    value = getattr(pppca_bench, name)
    lines = [f".. {'autoclass' if inspect.isclass(value) else 'autofunction'}:: pppca_bench.{name}"]
    # Without names, autodoc would take "members" for all of them.
    if inspect.isclass(value) and (methods := _own_methods(value)):
        lines.append(f"   :members: {', '.join(methods)}")
    return "\n".join([f"## {name}\n", "```{eval-rst}", *lines, "```"])


def _own_methods(cls: type) -> list[str]:
    """Return the public methods that this package defines, not those that come with scikit-learn."""
    own = [base for base in inspect.getmro(cls) if base.__module__.startswith("pppca_bench")]
    members = (item for base in own for item in vars(base).items())
    named = {name: None for name, value in members if callable(value) or isinstance(value, property)}
    return [name for name in named if not name.startswith("_")]
