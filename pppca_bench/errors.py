"""Errors with messages for users."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from difflib import get_close_matches


class PppcaError(Exception):
    """Base of errors; the command line prints the message and exits with ``exit_code``."""

    exit_code = 1
    """2 for a mistake in an option, a config or a user's file, otherwise 1."""


class ConfigError(PppcaError):
    """A config file cannot be read or breaks a rule; the message names file and line."""

    exit_code = 2


class DataError(PppcaError):
    """A problem's data are missing, damaged or malformed; the message names file and line."""


class OwnDataError(DataError):
    """A user's table, .dt file or folder of published numbers is missing or malformed."""

    exit_code = 2


class StoreError(PppcaError):
    """The results database cannot be opened, read or written."""


class ClusterError(PppcaError):
    """The workers of a cluster cannot be reached, or differ from this process in code or libraries."""


class UnknownNameError(PppcaError):
    """A name in a command is unknown."""

    exit_code = 2


class UnknownProblemError(DataError, UnknownNameError):
    """No problem has that name."""


class UnknownConfigError(StoreError, UnknownNameError):
    """The results database has no config of that name."""


_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters, and characters that reverse the direction of text."""

MAX_LISTED = 15
"""Largest number of names in a message."""


def listed(known: Collection[str], name: str) -> str:
    """Return the known names, separated by commas; if they are many, only the most similar to ``name``."""
    if len(known) <= MAX_LISTED:
        return ", ".join(known)
    similar = get_close_matches(name, list(known), n=MAX_LISTED, cutoff=0.0)
    return f"{', '.join(similar)} and {len(known) - MAX_LISTED} more"


def nearest(name: str, known: Collection[str]) -> str:
    """Return " (did you mean ...?)" with the most similar known name, or ""."""
    close = get_close_matches(name, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def check_known(kind: str, names: Iterable[str], known: Collection[str]) -> None:
    """Raise UnknownNameError for the first name that is not known; ``kind`` is a noun such as "problem"."""
    for name in names:
        if name not in known:
            expected = listed(known, name) or "none yet"
            hint = nearest(name, known)
            raise UnknownNameError(
                f"no {kind} {name!r} in these results: expected one of {expected}{hint}."
            )


def printable(text: str, keep: str = "") -> str:
    """Return text with control characters, except characters in ``keep``, escaped as ``\\x1b``."""
    return _CONTROL.sub(lambda match: match[0] if match[0] in keep else ascii(match[0])[1:-1], text)
