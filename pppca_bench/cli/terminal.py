"""Standard output and error as they may be: of an old encoding, closed, full, or a terminal that obeys what it shows.

Nothing that a server, a file's name or a config holds may steer the terminal, no character may end a command that an
old encoding lacks, and progress and warnings are no reason to lose a run: where stderr fails it goes on without them.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import click

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""All but tab and line feed, and what turns the direction of text."""

_PLAIN = {"−": "-", "–": "-", "—": "-", "τ": "tau", "χ": "chi", "²": "2", "×": "x", "≥": ">=", "≤": "<=", "…": "..."}
"""What tables hold that Latin-1, cp1252 or ASCII lacks."""

_FALLBACK = "pppca_plain"


def printable(text: str) -> str:
    """Return text with control characters shown as codes, such as ``\\x1b``."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


class Guarded:
    """A text stream that obeys the rules above; whatever else is asked of it, the stream itself answers.

    Parameters
    ----------
    stream : text stream
    needed : bool
        Whether a failure to write is an error; else the stream is silent from then on, and `lost` says why.
    """

    def __init__(self, stream: Any, *, needed: bool) -> None:
        self.lost: str | None = None
        self._stream = stream
        self._needed = needed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write text that a terminal may show."""
        return self.write_as_it_is(printable(text) if isinstance(text, str) else text)

    def write_as_it_is(self, text: str) -> int:
        """Write text that may steer the terminal."""
        return int(self._try(self._stream.write, text) or 0)

    def flush(self) -> None:
        """Write what was kept back."""
        self._try(self._stream.flush)

    def _try(self, call: Any, *arguments: Any) -> Any:
        if self.lost is not None:
            return None
        try:
            return call(*arguments)
        except (OSError, ValueError) as error:  # ValueError: it was closed
            if self._needed or isinstance(error, UnicodeError):
                raise
            self.lost = getattr(error, "strerror", None) or str(error)
            _silence(self._stream)
            return None


class Steering:
    """What a progress bar writes to: a stream that may be told to go back to the line's beginning."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write text as it is."""
        return int(getattr(self._stream, "write_as_it_is", self._stream.write)(text))


class _Nowhere(io.TextIOBase):
    """What a closed stream is replaced by."""

    def write(self, text: str) -> int:
        return len(text)


@contextmanager
def guarded() -> Iterator[None]:
    """Guard standard output and error for the time of a command."""
    _fill_closed()
    codecs.register_error(_FALLBACK, _fall_back)
    before = sys.stdout, sys.stderr
    for stream in before:
        if hasattr(stream, "reconfigure"):
            # click, too, takes ASCII for a locale that was never set, and would write UTF-8 past the guard.
            is_ascii = codecs.lookup(stream.encoding).name == "ascii"
            stream.reconfigure(encoding="utf-8" if is_ascii else None, errors=_FALLBACK)
    out, err = (stream if stream is not None else _Nowhere() for stream in before)
    during = Guarded(out, needed=True), Guarded(err, needed=False)
    sys.stdout, sys.stderr = during
    try:
        yield
    finally:
        # One that is another now was replaced by click, whose reader has gone, so that the end of Python is silent too.
        if sys.stdout is during[0]:
            sys.stdout = before[0]
        if sys.stderr is during[1]:
            sys.stderr = before[1]


def tell_of_lost_stderr() -> None:
    """Say on stdout that warnings and progress could not be shown, where that is so."""
    lost = getattr(sys.stderr, "lost", None)
    if lost is not None:
        click.echo(f"Progress and warnings could not be written to stderr ({lost}).")


def _fill_closed() -> None:
    """Put nothing in the place of streams that are closed, else the next file, such as the database, would be there."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # for workers, too


def _silence(stream: Any) -> None:
    """Let what a stream still holds, and what C libraries write beside it, go nowhere."""
    with suppress(OSError, ValueError):
        number = stream.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, number)
        os.close(nowhere)


def _fall_back(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    plain = "".join(_PLAIN.get(one, one) for one in text)
    return plain.encode("ascii", "backslashreplace").decode("ascii"), error.end
