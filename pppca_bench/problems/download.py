"""One file from a server: patient with what may pass, quick to give up what will not, and proved by its SHA-256."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pppca_bench.errors import DataError
from pppca_bench.problems.registry import ProblemInfo

_TIMEOUT_S = 30.0
_LEAST_BYTES = 32 * 1024
"""A server that sends less than this within the timeout, unless the file ends, is as good as silent."""

_MAY_PASS = frozenset({408, 425, 429})
"""Answers below 500 that ask to come again; the others say that the request is wrong."""


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
                    f"{info.filename} from {url}: expected the registered file, "
                    f"got {_cause(error)}. With a local copy run `pppca data fetch --from DIR`; "
                    "`pppca run demo` needs no download."
                ) from error
        attempt += 1
        _pause(attempt)


def _attempt(info: ProblemInfo, staging: Path, url: str) -> Path:
    import pooch  # slow to import, and not needed where the files are there

    with _silenced(pooch.get_logger()):
        return Path(
            pooch.retrieve(url, known_hash=info.sha256, fname=info.filename, path=staging, downloader=_fetch_to)
        )


def _fetch_to(url: str, output_file: Any, _: object) -> None:
    """Write what the server sends; the form is that of pooch's downloaders."""
    import requests
    import urllib3

    with requests.get(url, stream=True, timeout=_TIMEOUT_S) as response:
        response.raise_for_status()
        if "html" in response.headers.get("Content-Type", ""):
            raise ValueError("a web page, such as a network's sign-in")
        try:
            with Path(output_file).open("wb") as file:
                file.writelines(_pieces(response.raw))
        except urllib3.exceptions.HTTPError as error:  # read past requests, which would have translated it
            raise ConnectionError(str(error)) from error


def _pieces(body: Any) -> Iterator[bytes]:
    """Yield what comes, as it comes, while it comes fast enough."""
    n_received, mark, deadline = 0, 0, time.monotonic() + _TIMEOUT_S
    while piece := body.read1(_LEAST_BYTES, decode_content=True):
        yield piece
        n_received += len(piece)
        if n_received >= mark + _LEAST_BYTES:
            mark, deadline = n_received, time.monotonic() + _TIMEOUT_S
        elif time.monotonic() > deadline:
            raise TimeoutError(f"only {n_received - mark} bytes in {_TIMEOUT_S:g} seconds")


def _pause(attempt: int) -> None:
    time.sleep(attempt)


def _may_pass(error: BaseException) -> bool:
    response = getattr(error, "response", None)
    return response is None or response.status_code >= 500 or response.status_code in _MAY_PASS


@contextmanager
def _silenced(logger: logging.Logger) -> Iterator[None]:
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


def _cause(error: BaseException) -> str:
    response = getattr(error, "response", None)
    if response is not None:
        return f"the answer {response.status_code} {response.reason}"
    if type(error) is ValueError and "hash" in str(error):
        return "a file with another SHA-256"
    while (deeper := error.__cause__ or error.__context__) is not None:
        error = deeper
    return " ".join(str(getattr(error, "strerror", None) or error or type(error).__name__).split())
