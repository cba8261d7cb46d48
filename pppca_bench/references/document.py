"""``reference.yaml`` to layouts, tolerances, scores and figures; each key is checked, a mistake names its place."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import yaml

from pppca_bench.errors import OwnDataError, nearest
from pppca_bench.references.layout import SHOWN_OF_RUNS, CurveLayout, Layout, Line, PortraitLayout, Scored, selector_of
from pppca_bench.references.numbers import UNITS, Tolerance

_LARGE = 1e100
_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")

_TABLE_WORDS = ("title", "place", "row_header")
_FIGURE_WORDS = ("title", "place", "step", "y_label", "quantity")

Check = Callable[[Any, str], Any]
"""Turns a value at a place of the document into what it stands for, or raises _MalformedError."""


class _MalformedError(Exception):
    """What is wrong with a part of a document, and where it stands."""

    def __init__(self, place: str, expected: str, got: object, *, key: object = None) -> None:
        self.place = place if key is None else _below(place, key)
        super().__init__(f"{place and f'{place}: '}expected {expected}, got {got}.")


def read_document(path: Path) -> dict[str, Any]:
    """Read what a reference says of itself, its tables, scores and figures.

    Returns
    -------
    dict
        By the names of the attributes of a reference: ``title``, ``citation``, ``configs``, ``layouts``,
        ``tolerances``, ``series``, ``claims``, ``scored``, ``figures``, ``portraits``.

    Raises
    ------
    OwnDataError
        The file is missing or malformed; the message names file, line and place.
    """
    lines: dict[str, int] = {}
    try:
        given = _reference(_parsed(path, lines), "")
    except _MalformedError as error:
        place = error.place
        while place and place not in lines:
            place = place[:-1]
        at = f", line {lines[place]}" if place in lines else ""
        raise OwnDataError(f"{path}{at}: {error}") from None
    return {
        "title": given["title"],
        "citation": given["citation"],
        "configs": given.get("configs", ()),
        "layouts": given["tables"],
        "tolerances": given["verdicts"],
        "series": given.get("series", {}),
        "claims": given.get("claims", {}),
        "scored": given.get("scores", ()),
        "figures": given.get("figures", ()),
        "portraits": given.get("portraits", ()),
    }


def _parsed(path: Path, lines: dict[str, int]) -> Any:
    """Return what a file holds; the line of each place is put into ``lines``."""
    try:
        loader = yaml.SafeLoader(path.read_text(encoding="utf-8"))
        node = loader.get_single_node()
        _note_lines(node, "", lines)
        return None if node is None else loader.construct_document(node)
    except OSError as error:
        raise _MalformedError("", "a file that can be read", error.strerror) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}" if mark else ""
        raise _MalformedError(place, "YAML", getattr(error, "problem", None) or "something else") from None
    except (ValueError, RecursionError) as error:
        raise _MalformedError("", "YAML in UTF-8", f"something else ({type(error).__name__})") from None


def _note_lines(node: yaml.Node | None, place: str, lines: dict[str, int]) -> None:
    """Note the line of each key and item of a document; a key that stands twice is a mistake."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            here = _below(place, key.value)
            if here in lines:
                raise _MalformedError(place, "each key once", f"{key.value!r} again in line {key.start_mark.line + 1}")
            lines[here] = key.start_mark.line + 1
            _note_lines(value, here, lines)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            lines[f"{place}[{index}]"] = item.start_mark.line + 1
            _note_lines(item, f"{place}[{index}]", lines)


def _text(value: Any, place: str) -> str:
    if not isinstance(value, str) or not value:
        raise _MalformedError(place, "a text", _shown(value))
    return value


def _identifier(value: Any, place: str) -> str:
    if not isinstance(value, str) or not _IDENTIFIER.fullmatch(value):
        raise _MalformedError(place, "letters, digits, _ and -", _shown(value))
    return value


def _number(value: Any, place: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value < _LARGE:
        raise _MalformedError(place, "a number of at least 0", _shown(value))
    return float(value)


def _flag(value: Any, place: str) -> bool:
    if not isinstance(value, bool):
        raise _MalformedError(place, "true or false", _shown(value))
    return value


def _count(value: Any, place: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise _MalformedError(place, "a whole number of at least 1", _shown(value))
    return value


def _unit(value: Any, place: str) -> str:
    if value not in UNITS:
        raise _MalformedError(place, f"one of {', '.join(UNITS)}", _shown(value))
    return str(value)


def _list(check: Check, value: Any, place: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise _MalformedError(place, "a list", _shown(value))
    return tuple(check(item, f"{place}[{index}]") for index, item in enumerate(value))


def _by_name(check: Check, value: Any, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _MalformedError(place, "a mapping of names to values", _shown(value))
    return {_text(name, place): check(item, _below(place, name)) for name, item in value.items()}


def _setting(value: Any, place: str) -> Any:
    """Return a setting's value; a list of numbers, such as layers, as a tuple."""
    if isinstance(value, list):
        return _list(_setting, value, place)
    if value is not None and not isinstance(value, bool | int | float | str):
        raise _MalformedError(place, "a setting's value", _shown(value))
    return value


_texts: Check = partial(_list, _text)
_settings: Check = partial(_by_name, _setting)


def _keys(value: Any, place: str, required: Mapping[str, Check], optional: Mapping[str, Check]) -> dict[str, Any]:
    """Return a mapping's values, each checked; a key that is missing or unknown is a mistake."""
    if not isinstance(value, dict):
        raise _MalformedError(place, f"a mapping with the keys {', '.join(required)}", _shown(value))
    checks = {**required, **optional}
    for key in value:
        if key not in checks:
            raise _MalformedError(
                place, f"keys among {', '.join(checks)}", f"{_shown(key)}{nearest(str(key), checks)}", key=key
            )
    for key in required:
        if key not in value:
            raise _MalformedError(place, f"the key {key}", "none")
    return {key: checks[key](item, _below(place, key)) for key, item in value.items()}


def _reference(value: Any, place: str) -> dict[str, Any]:
    given = _keys(
        value,
        place,
        {
            "title": _text,
            "citation": _text,
            "verdicts": partial(_by_name, _tolerance),
            "tables": partial(_list, _layout),
        },
        {
            "configs": _texts,
            "series": partial(_by_name, _text),
            "claims": partial(_by_name, _text),
            "scores": partial(_list, _scored),
            "figures": partial(_list, _figure),
            "portraits": partial(_list, _portrait),
        },
    )
    layouts: dict[str, Layout] = {layout.id: layout for layout in given["tables"]}
    _check_once("tables", [layout.id for layout in given["tables"]])
    for label, table in given.get("series", {}).items():
        if table not in layouts:
            raise _MalformedError(_below("series", label), f"one of {', '.join(layouts)}", repr(table))
    for index, group in enumerate(given.get("scores", ())):
        _check_scored(group, layouts, f"scores[{index}]")
    return given


def _tolerance(value: Any, place: str) -> Tolerance:
    required = {"within": _number, "close": _number, "unit": _unit}
    rule = Tolerance(**_keys(value, place, required, {"least": _number, "moves": _number}))
    if rule.close < rule.within:
        raise _MalformedError(_below(place, "close"), f"at least within, {rule.within:g}", f"{rule.close:g}")
    return rule


def _layout(value: Any, place: str) -> Layout:
    given = _keys(
        value,
        place,
        {"id": _identifier, **dict.fromkeys(_TABLE_WORDS, _text), "rows": _axis, "columns": _axis},
        {
            **dict.fromkeys(("shows", "also", "notes", "configs", "remark_on"), _texts),
            "spread": _flag,
            "form": _text,
            "remark": _text,
            "runs": _settings,
            "cells": partial(_list, _override),
        },
    )
    overrides = dict[tuple[str, str], Any](given.pop("cells", ()))
    layout = Layout(**given, overrides=overrides)
    for axis in ("rows", "columns"):
        _check_once(_below(place, axis), [line.key for line in getattr(layout, axis)])
    cells = {(row.key, column.key): (row, column) for row in layout.rows for column in layout.columns}
    for key in layout.remark_on:
        if key not in {line.key for line in (*layout.rows, *layout.columns)}:
            raise _MalformedError(_below(place, "remark_on"), "keys of rows or columns", _shown(key))
    for cell in overrides:
        if cell not in cells:
            raise _MalformedError(_below(place, "cells"), "a row and a column of the table", ", ".join(cell))
    for row, column in cells.values():
        _check_cell(layout, row, column, place)
    return layout


def _override(value: Any, place: str) -> tuple[tuple[str, str], dict[str, Any]]:
    cell = _keys(value, place, {"row": _text, "column": _text, "runs": _settings}, {})
    return (cell["row"], cell["column"]), cell["runs"]


def _axis(value: Any, place: str) -> tuple[Line, ...]:
    """Return the lines of an axis: listed one by one, or the values of one setting."""
    if isinstance(value, list) and value:
        return _list(_line, value, place)
    return tuple(
        Line(key, label, runs) for key, label, runs in _varied(value, place, {"key": "{value}", "label": "{key}"})
    )


def _line(value: Any, place: str) -> Line:
    given = _keys(value, place, {"key": _text}, {"label": _text, "runs": _settings, "shows": _texts, "form": _text})
    return Line(**{"label": given["key"], **given})


def _varied(value: Any, place: str, words: Mapping[str, str]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield key, label and setting for each value of the one setting that an axis names."""
    given = _by_name(_setting, value, place)
    names = [name for name in given if name not in words]
    if len(names) != 1 or not isinstance(given[names[0]], tuple) or not given[names[0]]:
        raise _MalformedError(place, f"one setting with a list of values, beside {', '.join(words)}", _shown(value))
    patterns = {name: _text(given.get(name, usual), _below(place, name)) for name, usual in words.items()}
    for number, setting in enumerate(given[names[0]]):
        letter = ascii_lowercase[number] if number < len(ascii_lowercase) else str(number)
        key, label = (
            pattern.replace("{letter}", letter).replace("{value}", str(setting))
            for pattern in (patterns.get("key", "{value}"), patterns["label"])
        )
        yield key, label.replace("{key}", key), {names[0]: setting}


def _check_once(place: str, keys: list[str]) -> None:
    key, n = Counter(keys).most_common(1)[0] if keys else ("", 0)
    if n > 1:
        raise _MalformedError(place, "each key once", f"{key!r} again")


def _check_cell(layout: Layout, row: Line, column: Line, place: str) -> None:
    cell, asked = f"{row.key}, {column.key}", layout.asked(row, column)
    for key in ("problem", "method"):
        if key in asked and not isinstance(asked[key], str):
            raise _MalformedError(place, f"a {key}'s name for {cell}", _shown(asked[key]))
    if "method" in asked and "problem" not in asked:
        raise _MalformedError(place, f"a problem beside the method of {cell}", "none")
    shows, form = layout.quantities(row, column), layout.form_of(row, column)
    if not shows:
        raise _MalformedError(place, f"a quantity that {cell} shows", "none")
    if form.count("{}") < len(shows):
        raise _MalformedError(place, f"a form with {len(shows)} places {{}} for {cell}", repr(form))


def _scored(value: Any, place: str) -> Scored:
    required = {"name": _text, "tables": _texts, "quantity": _text}
    optional = {"target": _number, "share": _number, "rows": _texts, "columns": _texts, "ours": _text}
    return Scored(**_keys(value, place, required, optional))


def _check_scored(group: Scored, layouts: Mapping[str, Layout], place: str) -> None:
    named = [layouts[table] for table in group.tables if table in layouts]
    for key, names, known in (
        ("tables", group.tables, list(layouts)),
        ("rows", group.rows, [line.key for layout in named for line in layout.rows]),
        ("columns", group.columns, [line.key for layout in named for line in layout.columns]),
    ):
        for name in names:
            if name not in known:
                raise _MalformedError(_below(place, key), f"some of {'; '.join(dict.fromkeys(known))}", repr(name))


def _figure(value: Any, place: str) -> CurveLayout:
    given = _keys(
        value,
        place,
        {"id": _identifier, **dict.fromkeys(_FIGURE_WORDS, _text), "runs": _settings},
        {
            **dict.fromkeys(("x_linear_to", "y_linear_to"), _number),
            **dict.fromkeys(("curves", "panels"), _curves),
            "note": _text,
            "n_nodes": _count,
            "configs": _texts,
        },
    )
    runs, curves, panels = given.pop("runs"), given.pop("curves", {"": {}}), given.pop("panels", {"": {}})
    for key in ("problem", "method"):
        for settings in ({**runs, **panel, **curve} for panel in panels.values() for curve in curves.values()):
            if not isinstance(settings.get(key), str):
                raise _MalformedError(place, f"runs of one {key}", _shown(settings.get(key)))
    return CurveLayout(
        **given,
        panels={
            panel: {curve: selector_of({**runs, **of_panel, **of_curve}) for curve, of_curve in curves.items()}
            for panel, of_panel in panels.items()
        },
    )


def _portrait(value: Any, place: str) -> PortraitLayout:
    words = dict.fromkeys(("title", "place"), _text)
    required = {"id": _identifier, **words, "shows": _shown_of_runs, "runs": _settings, "panels": _curves}
    given = _keys(value, place, required, {"note": _text})
    runs, panels = given.pop("runs"), given.pop("panels")
    for key in ("problem", "method"):
        for settings in ({**runs, **panel} for panel in panels.values()):
            if not isinstance(settings.get(key), str):
                raise _MalformedError(place, f"runs of one {key}", _shown(settings.get(key)))
    return PortraitLayout(**given, panels={label: selector_of({**runs, **panel}) for label, panel in panels.items()})


def _shown_of_runs(value: Any, place: str) -> str:
    if value not in SHOWN_OF_RUNS:
        raise _MalformedError(place, f"one of {', '.join(SHOWN_OF_RUNS)}", _shown(value))
    return str(value)


def _curves(value: Any, place: str) -> dict[str, dict[str, Any]]:
    """Return the settings behind each label: listed one by one, or the values of one setting."""
    if isinstance(value, list) and value:
        lines = _list(partial(_keys, required={"label": _text, "runs": _settings}, optional={}), value, place)
        found = [(line["label"], line["runs"]) for line in lines]
    else:
        found = [(label, setting) for _, label, setting in _varied(value, place, {"label": "{value}"})]
    _check_once(place, [label for label, _ in found])
    return dict(found)


def _below(place: str, key: object) -> str:
    return f"{place}.{key}" if place else str(key)


def _shown(value: object) -> str:
    """Return a value as a message prints it, without its end where that is long."""
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
