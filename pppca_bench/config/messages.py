"""Mistakes of a document: collected while it is read, told in one error with a line for each place."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from pppca_bench.documents import Location, YamlSource, missing
from pppca_bench.errors import ConfigError, nearest
from pppca_bench.parameters import REQUIRED, Parameter, ParameterError, shown

_PLAIN = (float, int, str, type(None))
"""What a value, or an item of a list, may be, whatever a constructor leaves open: all that the store keeps."""


class Mistakes:
    """Collect the mistakes of one document, the first at each place.

    Parameters
    ----------
    source : YamlSource
        The document.
    """

    def __init__(self, source: YamlSource) -> None:
        self._source = source
        self._found: dict[Location, str] = {}
        self._unreadable: set[Location] = set()

    def add(self, location: Location, text: str, *, unreadable: bool = False) -> None:
        """Note what is wrong at a place.

        Parameters
        ----------
        location : tuple
            The place.
        text : str
            What was expected and what was found, without a full stop.
        unreadable : bool, default False
            Whether nothing below the place can be read, so that whatever is missed there is not told.
        """
        if self._unreadable.isdisjoint(location[:end] for end in range(len(location))):
            self._found.setdefault(location, text)
        if unreadable:
            self._unreadable.add(location)

    def at(self, location: Location) -> bool:
        """Tell whether something at or below a place is wrong."""
        return any(place[: len(location)] == location for place in self._found)

    def raise_if_any(self) -> None:
        """Raise ConfigError with a line for each mistake, in the order of the document."""
        if self._found:
            places = sorted(self._found.items(), key=lambda item: self._source.line(item[0]))
            raise ConfigError("\n".join(f"{where(self._source, place)}: {text}." for place, text in places))


class Reader:
    """Read the mappings of one document: unknown keys, missing keys and inadmissible values become mistakes.

    Parameters
    ----------
    source : YamlSource
        The document.

    Attributes
    ----------
    source : YamlSource
    mistakes : Mistakes
        What was found wrong.
    """

    def __init__(self, source: YamlSource) -> None:
        self.source = source
        self.mistakes = Mistakes(source)

    def mapping(
        self, value: Any, location: Location, keys: Collection[str], *, hint: Callable[[str], str] = lambda _: ""
    ) -> dict[str, Any]:
        """Return those entries of a mapping whose keys are known; the others are mistakes.

        Parameters
        ----------
        value : object
            What stands at the place.
        location : tuple
            The place.
        keys : collection of str
            Keys that the mapping may have.
        hint : callable(key) -> str, optional
            Gives the end of the message about an unknown key; "" for a hint at the nearest known one.
        """
        if not isinstance(value, dict):
            found = shown(value) if value is not None else "nothing"
            text = f"expected a mapping with the keys {', '.join(keys)}, got {found}"
            self.mistakes.add(location, text, unreadable=True)
            return {}
        for key in (key for key in value if key not in keys):
            told = hint(key) or nearest(key, keys)
            self.mistakes.add((*location, key), f"unknown key, expected one of {', '.join(keys) or 'none'}{told}")
        return {key: value[key] for key in keys if key in value}

    def sequence(self, value: Any, location: Location, *, most: int) -> list[Any]:
        """Return a list of 1 to ``most`` items; anything else is a mistake, and gives an empty list."""
        if not isinstance(value, list) or not 1 <= len(value) <= most:
            got = f"{len(value)} of them" if isinstance(value, list) and value else shown(value)
            self.mistakes.add(location, f"expected a list of 1 to {most} entries, got {got}")
            return []
        return value

    def grid(self, parameter: Parameter, value: Any, location: Location) -> tuple[Any, ...]:
        """Return the values of a parameter, of which a list names several, each once."""
        several = isinstance(value, list) and (not parameter.is_list or any(isinstance(item, list) for item in value))
        if not several:
            return self._checked(parameter, value, location)
        if not 1 <= len(value) <= 1000:
            self.mistakes.add(location, f"expected 1 to 1000 values, got {len(value)}")
        found: list[Any] = []
        for index, item in enumerate(value[:1000]):
            for checked in self._checked(parameter, item, (*location, index)):
                if checked in found:
                    self.mistakes.add((*location, index), f"expected each value once, got {shown(item)} again")
                found.append(checked)
        return tuple(found)

    def one(self, parameter: Parameter, given: Mapping[str, Any], location: Location) -> Any:
        """Return the value of a key that has one value: as given, or its default; None where it is a mistake."""
        if parameter.name in given:
            values = self._checked(parameter, given[parameter.name], (*location, parameter.name))
            return values[0] if values else None
        if parameter.default is REQUIRED:
            self.mistakes.add((*location, parameter.name), f"{missing(parameter.name)}")
            return None
        return parameter.default

    def _checked(self, parameter: Parameter, value: Any, location: Location) -> tuple[Any, ...]:
        try:
            checked = parameter.checked(value)
        except ParameterError as error:
            self.mistakes.add(location, f"expected {error.expected}, got {shown(error.value)}")
            return ()
        if not is_kept(checked):
            self.mistakes.add(location, f"expected a number, text, true, false, null or a list, got {shown(value)}")
            return ()
        return (checked,)


def is_kept(value: object) -> bool:
    """Tell whether the store keeps a value of a parameter: a number, a text, a flag, None, or a tuple of them."""
    parts = value if isinstance(value, tuple) else (value,)
    return all(isinstance(part, _PLAIN) and not isinstance(part, type) and part == part for part in parts)


def where(source: YamlSource, location: Location) -> str:
    """Return file, line and place, as messages begin."""
    return source.where(location)
