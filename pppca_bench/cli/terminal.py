"""Standard streams that escape control characters, and that survive old encodings and a closed or full stderr."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from typing import Any

from pppca_bench.errors import printable


class EscapingStream:
    """A text stream that escapes control characters.

    Parameters
    ----------
    stream : text stream
        All attributes except `write` and `flush` are those of this stream.
    needed : bool
        Whether a failure to write is raised; otherwise the stream discards all further text.
    """

    def __init__(self, stream: Any, *, needed: bool) -> None:
        self._stream, self._needed = stream, needed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write text."""
        start = text[: text.startswith("\r")]  # a progress bar begins each text with it
        return int(
            self._try(self._stream.write, start + printable(text[len(start) :], keep="\t\n")) or 0
        )

    def flush(self) -> None:
        """Flush the stream."""
        self._try(self._stream.flush)

    def _try(self, call: Any, *arguments: Any) -> Any:
        try:
            return call(*arguments)
        except (OSError, ValueError) as error:  # ValueError: the stream is closed
            if isinstance(error, UnicodeError) or (
                self._needed and not isinstance(error, BrokenPipeError)
            ):
                raise
            with suppress(OSError, ValueError):  # also for C libraries, and when Python ends
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, self._stream.fileno())
                os.close(nowhere)
            self._stream = io.StringIO()
            if self._needed:
                raise


@contextmanager
def escaping_streams() -> Iterator[None]:
    """Write standard output and error through `EscapingStream` during a command.

    Characters that the encoding of a stream lacks are escaped, too. Streams stay mended for the rest of the process.
    """
    for number in (0, 1, 2):
        # otherwise the next file, such as the database, would get the number of a closed stream
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    out, err = (io.StringIO() if stream is None else stream for stream in (sys.stdout, sys.stderr))
    for stream in (out, err):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    guarded_out: Any = EscapingStream(out, needed=True)
    guarded_err: Any = EscapingStream(err, needed=False)
    with redirect_stdout(guarded_out), redirect_stderr(guarded_err):
        yield
