"""One file from a server: patient with what may pass, quick to give up what will not, and proved by its SHA-256."""

import io
import logging
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from pppca_bench.errors import DataError
from pppca_bench.problems.registry import ProblemInfo

_TIMEOUT_S = 30.0
_LEAST_BYTES = 32 * 1024
"""A server that sends less than this within the timeout, unless the file ends, is as good as silent."""

_MAY_PASS = frozenset({408, 425, 429})
"""Answers below 500 that ask to come again; the others say that the request is wrong."""

_CREDENTIAL = re.compile(r"//(?:[^\s/?#]*|[^\s\[/?#@:]+:(?!\d+(?:[/?#]|$))\S*)@")
"""User and password of an address, even where the password has a slash, which is no port's."""


def download(info: ProblemInfo, staging: Path, *, base_url: str, retries: int) -> Path:
    """Download a Proben1 file into a folder and return its path there, verified.

    Parameters
    ----------
    info : ProblemInfo
        The file.
    staging : Path
        An existing folder.
    base_url : str
        Server with the folders of the Proben1 repository.
    retries : int
        Further attempts after a failure that may pass, at least 0.

    Raises
    ------
    DataError
        If no attempt gave the registered file.
    """
    url = info.url_below(base_url)
    attempt = 0
    while True:
        try:
            return _attempt(info, staging, url)
        except (OSError, ValueError) as error:  # requests' errors are OSErrors, pooch's hash error a ValueError
            if attempt == retries or not _may_pass(error):
                raise DataError(
                    f"{info.filename} from {_shown(url)}: expected the registered file, "
                    f"got {_shown(_cause(error))}. With a local copy run `pppca data fetch --from DIR`; "
                    "`pppca run demo` needs no download."
                ) from None  # the errors behind it hold the address with its password
        attempt += 1
        _pause(attempt)


def _attempt(info: ProblemInfo, staging: Path, url: str) -> Path:
    import pooch  # slow to import, and not needed where the files are there

    with _silenced(pooch.get_logger()):
        return Path(
            pooch.retrieve(
                url, known_hash=info.sha256, fname=info.filename, path=staging, downloader=partial(_fetch_to, info)
            )
        )


def _fetch_to(info: ProblemInfo, url: str, output_file: Any, _: object) -> None:
    """Write what the server sends, unless it cannot be the file; the form is that of pooch's downloaders."""
    import requests
    import urllib3

    given: Any = {"stream": True, "timeout": _TIMEOUT_S, "hooks": {"response": _without_body_of_redirect}}
    with requests.get(url, headers={"Accept-Encoding": "identity"}, **given) as response:
        response.raise_for_status()
        encoding = response.headers.get("Content-Encoding", "identity")
        if encoding != "identity":
            raise ValueError(f"the content encoding {encoding}, which was not asked for")
        if "html" in response.headers.get("Content-Type", ""):
            raise ValueError("a web page, such as a network's sign-in")
        try:
            with Path(output_file).open("wb") as file:
                file.writelines(_pieces(response.raw, info.n_bytes))
        except urllib3.exceptions.HTTPError as error:  # read past requests, which would have translated it
            raise ConnectionError(str(error)) from error


def _without_body_of_redirect(response: Any, **_: object) -> Any:
    """Leave unread what comes with the way to another address: requests would read it to its end, if it has one."""
    if response.is_redirect:
        response.raw.close()
        response.raw = io.BytesIO()
    return response


def _pieces(body: Any, n_bytes: int) -> Iterator[bytes]:
    """Yield what comes, as it comes, while it comes fast enough and is not too much."""
    n_received, mark, deadline = 0, 0, time.monotonic() + _TIMEOUT_S
    while piece := body.read1(_LEAST_BYTES, decode_content=False):
        n_received += len(piece)
        if n_received > n_bytes:
            raise ValueError(f"more than its {n_bytes} bytes")
        yield piece
        if n_received >= mark + _LEAST_BYTES:
            mark, deadline = n_received, time.monotonic() + _TIMEOUT_S
        elif time.monotonic() > deadline:
            raise TimeoutError(f"only {n_received - mark} bytes in {_TIMEOUT_S:g} seconds")


def _pause(attempt: int) -> None:
    time.sleep(attempt)


def _may_pass(error: BaseException) -> bool:
    response = getattr(error, "response", None)
    return response is None or response.status_code >= 500 or response.status_code in _MAY_PASS


def _shown(text: str) -> str:
    """Return text of a server or with an address in it as a terminal may show it: no password, no control character."""
    safe = _CREDENTIAL.sub("//***@", text)
    return "".join(one if one.isprintable() else f"\\x{ord(one):02x}" for one in safe)


@contextmanager
def _silenced(logger: logging.Logger) -> Iterator[None]:
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


def _cause(error: BaseException) -> str:
    import requests

    if isinstance(error, requests.exceptions.InvalidURL):  # it quotes a piece of the address, which may be a password
        return "an address that cannot be read"
    response = getattr(error, "response", None)
    if response is not None:
        return f"the answer {response.status_code} {response.reason}"
    if type(error) is ValueError and "hash" in str(error):
        return "a file with another SHA-256"
    while (deeper := error.__cause__ or error.__context__) is not None:
        error = deeper
    return " ".join(str(getattr(error, "strerror", None) or error or type(error).__name__).split())
