"""Errors that a user can cause; the command line prints the message and ends with the exit code."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import accumulate


class PppcaError(Exception):
    """Base of all errors with a message meant for the user.

    Attributes
    ----------
    exit_code : int
        Exit code of the command: 2 for a mistake in an option, a config or a file of the user's own, else 1.
    """

    exit_code = 1


class ConfigError(PppcaError):
    """A config file cannot be read or breaks a rule; the message names file and line."""

    exit_code = 2


class DataError(PppcaError):
    """A problem's data are missing, damaged or malformed; the message names file and line."""


class OwnDataError(DataError):
    """A table, a .dt file or a folder of published numbers of the user's own is missing or wrong."""

    exit_code = 2


class StoreError(PppcaError):
    """The results database cannot be opened, read or written."""


class ClusterError(PppcaError):
    """The workers of a cluster cannot be reached, or do not compute the same as this process."""


class UnknownNameError(PppcaError):
    """A name that the user typed is unknown."""

    exit_code = 2


class UnknownProblemError(DataError, UnknownNameError):
    """No problem has that name."""


class UnknownColumnError(DataError, UnknownNameError):
    """A table has no column of that name."""


class UnknownConfigError(StoreError, UnknownNameError):
    """No config of that name was ever run into the results database."""


LONGEST_LIST = 120
"""Characters of the names that a message lists."""


def listed(known: Collection[str], name: str) -> str:
    """Return the known names as a message lists them; of many only the most similar to ``name``."""
    if len(everything := ", ".join(known)) <= LONGEST_LIST:
        return everything
    from difflib import SequenceMatcher  # needed only where something is wrong, and start-up time counts

    ranked = sorted(known, key=lambda one: SequenceMatcher(None, name, one).ratio(), reverse=True)
    n_shown = max(1, sum(length <= LONGEST_LIST for length in accumulate(len(one) + 2 for one in ranked)))
    n_left = len(known) - n_shown
    return ", ".join(ranked[:n_shown]) + (f" and {n_left} more" if n_left else "")


def nearest(name: str, known: Collection[str]) -> str:
    """Return a hint at the known name that is most similar, or ""."""
    import difflib

    close = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def check_known(kind: str, names: Iterable[str], known: Collection[str]) -> None:
    """Raise UnknownNameError for the first name that is not known.

    Parameters
    ----------
    kind : str
        Noun for the names, such as ``"problem"``.
    names : iterable of str
        As the user typed them.
    known : collection of str
        Names in the results.
    """
    for name in names:
        if name not in known:
            expected = listed(known, name) or "none yet"
            raise UnknownNameError(
                f"no {kind} {name!r} in these results: expected one of {expected}{nearest(name, known)}."
            )
